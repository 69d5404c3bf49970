/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/json.h"
#include "ctl/report/summary.h"
#include "tests/ctl/report/made.h"

/* It is what the check reads. */
START_TEST(read_again)
{
	struct final *final = made_final();
	g_autofree char *json = NULL;
	g_autoptr(GError) error = NULL;
	struct summary *parsed;

	final->count.entries = 3;
	final->count.bytes = (uint64_t)1 << 50;
	final->count.status[PROOF_NOT_SAMPLED] = 3;
	final_add_part(final, "v" FINAL_MANIFEST, 77,
		       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	json = final_json(final);
	ck_assert(g_utf8_validate(json, -1, NULL));
	parsed = summary_new(json, strlen(json), &error);
	ck_assert_msg(parsed != NULL, "%s", error ? error->message : "");
	ck_assert_mem_eq(&parsed->count, &final->count, sizeof final->count);
	ck_assert_str_eq(parsed->made, "2023-11-14T22:13:20Z");
	ck_assert(!parsed->complete); /* the comparison has counted nothing */
	ck_assert_uint_eq(parsed->parts->len, 1);
	summary_free(parsed);
	final_free(final);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {read_again, NULL};

	return run_made("json", tests);
}
