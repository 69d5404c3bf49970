/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>

#include "lib/report/manifest/hash.h"
#include "tests/suite.h"

static void is(struct proof_hash *hash, const char *hex)
{
	char found[PROOF_HASH_HEX + 1];

	proof_hash_take(hash, found);
	ck_assert_str_eq(found, hex);
}

/* FIPS 180-4's examples. */
START_TEST(hashes)
{
	struct proof_hash *hash = proof_hash_new();

	is(hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	proof_hash_add(hash, "a", 1);
	proof_hash_add(hash, "bc", 2);
	is(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	proof_hash_free(hash);
	proof_hash_free(NULL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("hash");

	tcase_add_test(tcase, hashes);
	return run_tcase(tcase);
}
