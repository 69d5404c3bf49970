/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/ctl/report/made.h"

START_TEST(all_files)
{
	made_run("ssh-keygen -q -t ed25519 -N '' -f key");
	{
		g_autofree char *key = made_path("key");

		made_report(key);
	}
	made_run("test -s v-report.json && test -s v-report.txt && test -s v-report.html && "
		 "test -s v-report.json.sig && ! ls -A | grep -E 'new|X{3}|^\\.'");
	made_run("zstd -dc v-manifest.mtree.zst | grep -c '^\\.' | grep -qx 5");
	made_run("grep -q 'mine: made by clients' v-report.txt");
	made_report(NULL); /* not the signature of another one */
	made_run("test ! -e v-report.json.sig");
}
END_TEST

/* The report that was there is as it was. */
START_TEST(fails)
{
	struct final *final = made_final();
	struct proof_sorter *sorter = made_sorter(final);
	int dir = open(made_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_autoptr(GError) error = NULL;

	made_report(NULL);
	made_run("cp v-report.json before");
	ck_assert(!report_make(final, dir, sorter, "/nonexistent", &error));
	ck_assert_ptr_nonnull(error);
	made_run("cmp before v-report.json && ! ls | grep new");
	close(dir);
	proof_sorter_free(sorter);
	final_free(final);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {all_files, fails, NULL};

	return run_made("make", tests);
}
