/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ticket caches for tests, as smb_ccache.c has to take them. */
#ifndef TESTS_RETRIEVER_CCACHE_H
#define TESTS_RETRIEVER_CCACHE_H

#include <check.h>
#include <stdint.h>
#include <string.h>

struct ccache {
	uint8_t data[4096];
	size_t len;
	const char *user, *realm;
};

static void ccache_number(struct ccache *ccache, unsigned bytes, uint32_t value)
{
	ck_assert_uint_le(ccache->len + bytes, sizeof(ccache->data));
	while (bytes--)
		ccache->data[ccache->len++] = (uint8_t)(value >> 8 * bytes);
}

static void ccache_text(struct ccache *ccache, const char *text)
{
	size_t len = strlen(text);

	ccache_number(ccache, 4, (uint32_t)len);
	ck_assert_uint_le(ccache->len + len, sizeof(ccache->data));
	memcpy(ccache->data + ccache->len, text, len);
	ccache->len += len;
}

static void ccache_name(struct ccache *ccache, const char *name, const char *instance,
			const char *realm)
{
	ccache_number(ccache, 4, 1);
	ccache_number(ccache, 4, instance ? 2 : 1);
	ccache_text(ccache, realm);
	ccache_text(ccache, name);
	if (instance)
		ccache_text(ccache, instance);
}

/* With the header that MIT's library writes. */
static struct ccache ccache_begin(const char *user, const char *instance, const char *realm)
{
	struct ccache ccache = {.user = user, .realm = realm};

	ccache_number(&ccache, 2, 0x0504);
	ccache_number(&ccache, 2, 12);
	ccache_number(&ccache, 4, 0x00010008);
	ccache_number(&ccache, 4, 0);
	ccache_number(&ccache, 4, 0);
	ccache_name(&ccache, user, instance, realm);
	return ccache;
}

static void ccache_add_in(struct ccache *ccache, const char *name, const char *instance,
			  const char *realm, uint32_t end)
{
	ccache_name(ccache, ccache->user, NULL, ccache->realm);
	ccache_name(ccache, name, instance, realm);
	ccache_number(ccache, 2, 18);
	ccache_text(ccache, "the key");
	ccache_number(ccache, 4, 1);
	ccache_number(ccache, 4, 1);
	ccache_number(ccache, 4, end);
	ccache_number(ccache, 4, end);
	ccache_number(ccache, 1, 0);
	ccache_number(ccache, 4, 0x40e00000);
	for (unsigned list = 0; list < 2; list++) {
		ccache_number(ccache, 4, 2);
		ccache_number(ccache, 2, 2);
		ccache_text(ccache, "abcd");
		ccache_number(ccache, 2, 24);
		ccache_text(ccache, "");
	}
	ccache_text(ccache, "the ticket");
	ccache_text(ccache, "");
}

static inline void ccache_add(struct ccache *ccache, const char *name, const char *instance,
			      uint32_t end)
{
	ccache_add_in(ccache, name, instance, ccache->realm, end);
}

#endif
