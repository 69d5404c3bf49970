/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/ctl/discover/drafted.h"
#include "tests/suite.h"

START_TEST(sections)
{
	struct inventory found;
	fill(&found);
	struct draft *draft = draft_new("old", NULL, &found);
	g_autofree char *text = draft_shares(draft);

	has(text, "\n[global]\n\tkernel change notify = no\n");
	has(text, "\n\tsmb3 directory leases = no\n");
	has(text, "[Home]\n\tpath = /srv/home\n\tcomment = all of 'em\n\tread only = Yes\n"
		  "\tvfs objects = migrate\n\tmigrate:volume = home\n");
	has(text, "[Deep]\n\tpath = /srv/home/x/y\n\t# left out: 100%\n\tread only = no\n");
	has(text, "[win]\n\tpath = /srv/win\n\tread only = no\n\t# left out: preexec = /bin/false\n"
		  "\tvfs objects = migrate streams_xattr acl_xattr\n\tmigrate:volume = win\n"
		  "\tacl_xattr:ignore system acls = yes\n");
	has(text, "# left out, a share cannot be called that here: bad]\\012[x\n");
	lacks(text, "C$");
	draft_free(draft);
	inventory_clear(&found);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("draft_shares");

	tcase_add_test(tcase, sections);
	return run_tcase(tcase);
}
