/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/manifest/hash.h"

#include <gcrypt.h>

struct proof_hash {
	gcry_md_hd_t md;
};

static void *prepare_hash(void *unused)
{
	if (!gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P)) {
		if (!gcry_check_version("1.8.0"))
			g_error("libgcrypt is older than 1.8: install a newer one");
		gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
		gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
	}
	return NULL;
}

struct proof_hash *proof_hash_new(void)
{
	static GOnce once = G_ONCE_INIT;
	struct proof_hash *hash = g_new0(struct proof_hash, 1);
	gcry_error_t error;

	g_once(&once, prepare_hash, NULL);
	error = gcry_md_open(&hash->md, GCRY_MD_SHA256, 0);
	if (error)
		g_error("libgcrypt has no SHA-256: %s", gcry_strerror(error));
	return hash;
}

void proof_hash_add(struct proof_hash *hash, const void *bytes, size_t len)
{
	gcry_md_write(hash->md, bytes, len);
}

void proof_hash_take(struct proof_hash *hash, char hex[PROOF_HASH_HEX + 1])
{
	const unsigned char *digest = gcry_md_read(hash->md, GCRY_MD_SHA256);

	for (unsigned i = 0; i < PROOF_HASH_HEX / 2; i++)
		g_snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	gcry_md_reset(hash->md);
}

void proof_hash_free(struct proof_hash *hash)
{
	if (hash)
		gcry_md_close(hash->md);
	g_free(hash);
}
