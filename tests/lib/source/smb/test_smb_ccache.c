/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <glib.h>
#include <string.h>

#include "lib/source/smb/smb_ccache.h"
#include "tests/retriever/ccache.h"
#include "tests/suite.h"

#define NOW 1700000000u

static void objects(const struct ccache *ccache, size_t len, const char *user, const char *words)
{
	/* of its very length, for the sanitizer */
	g_autofree uint8_t *data = g_memdup2(ccache->data, len);
	g_autofree char *why = smb_ccache_objection(data, len, user, NOW);

	if (words)
		ck_assert_msg(why && strstr(why, words), "%s", why ? why : "(taken)");
	else
		ck_assert_msg(!why, "%s", why);
}

START_TEST(good)
{
	struct ccache alice = ccache_begin("Alice", NULL, "REALM"),
		      service = ccache_begin("host", "new.test", "REALM");

	ccache_add(&alice, "krbtgt", "REALM", NOW + 1);
	objects(&alice, alice.len, "alice", NULL);
	ccache_add_in(&alice, "krb5_ccache_conf_data", "fast_avail", "X-CACHECONF:", 0);
	objects(&alice, alice.len, "ALICE", NULL);
	ccache_add(&alice, "cifs", "old.test", NOW - 1);
	objects(&alice, alice.len, "Alice", NULL);
	ccache_add(&service, "krbtgt", "REALM", UINT32_MAX);
	objects(&service, service.len, "host/new.test", NULL);
}
END_TEST

START_TEST(others)
{
	struct ccache bob = ccache_begin("bob", NULL, "REALM"),
		      instance = ccache_begin("alice", "admin", "REALM");

	ccache_add(&bob, "krbtgt", "REALM", NOW + 1);
	objects(&bob, bob.len, "alice", "has tickets of bob@REALM, not of alice");
	ccache_add(&instance, "krbtgt", "REALM", NOW + 1);
	objects(&instance, instance.len, "alice", "has tickets of alice/admin@REALM, not of alice");
}
END_TEST

START_TEST(too_late)
{
	struct ccache alice = ccache_begin("alice", NULL, "REALM");

	objects(&alice, alice.len, "alice", "holds no ticket");
	/* configuration is none, and has no end */
	ccache_add_in(&alice, "krb5_ccache_conf_data", "pa_type", "X-CACHECONF:", NOW + 100);
	objects(&alice, alice.len, "alice", "holds no ticket");
	ccache_add(&alice, "krbtgt", "REALM", NOW);
	objects(&alice, alice.len, "alice", "tickets expired at 2023-11-14");
	ccache_add(&alice, "cifs", "old.test", NOW - 1);
	objects(&alice, alice.len, "alice", "tickets expired at 2023-11-14");
}
END_TEST

/* Of what ends too early nothing counts that is not whole. */
START_TEST(cut)
{
	struct ccache alice = ccache_begin("alice", NULL, "REALM");
	size_t begin = alice.len;

	ccache_add(&alice, "krbtgt", "REALM", NOW + 1);
	for (size_t len = 0; len < alice.len; len++)
		objects(&alice, len, "alice",
			len < begin ? "no ticket cache of the type FILE" : "holds no ticket");
	alice.data[1] = 3;
	objects(&alice, alice.len, "alice", "no ticket cache of the type FILE");
}
END_TEST

/* Numbers that no file can be as long as. */
START_TEST(lengths)
{
	struct ccache alice = ccache_begin("alice", NULL, "REALM");

	ccache_add(&alice, "krbtgt", "REALM", NOW + 1);
	for (size_t i = 2; i + 4 <= alice.len; i++) {
		g_autofree uint8_t *data = g_memdup2(alice.data, alice.len);

		memset(data + i, 0xff, 4);
		g_free(smb_ccache_objection(data, alice.len, "alice", NOW));
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("ccache");

	/* the time is told in local time */
	g_setenv("TZ", "UTC", TRUE);
	tcase_add_test(tcase, good);
	tcase_add_test(tcase, others);
	tcase_add_test(tcase, too_late);
	tcase_add_test(tcase, cut);
	tcase_add_test(tcase, lengths);
	return run_tcase(tcase);
}
