/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/config.h"
#include "tests/ctl/discover/drafted.h"
#include "tests/suite.h"

START_TEST(volumes)
{
	struct inventory found;
	fill(&found);
	struct draft *draft = draft_new("old", "OFFICE\\me", &found);
	g_autofree char *text = draft_volumes(draft);

	has(text, "[volume home]\nroot = /srv/home\nsource = nfs://old/export/home\n");
	has(text, "# share Home: all of 'em\n");
	has(text, "#acl-source = smb://OFFICE;me@old/Home\n");
	has(text, "[volume a]\nroot = /srv/a\nsource = nfs://old/a%22%3B%20%7D%0A\n");
	has(text, "[volume sub]");
	has(text, "# It is below that of [volume home].");
	has(text, "[volume win]\nroot = /srv/win\nsource = smb://OFFICE;me@old/win\n"
		  "# made with: install -m 600 /dev/stdin /etc/quickmigrate/win.password, then");
	has(text, "\nsmb-password-file = /etc/quickmigrate/win.password\n");
	has(text, "\nsmb-modes = open\n");
	has(text, "\n#smb-modes = open\n"); /* beside acl-source */
	lacks(text, "C$");
	lacks(text, "\n[x");
	draft_free(draft);
	inventory_clear(&found);
}
END_TEST

/* It is one configuration, whatever names there are. */
START_TEST(accepted)
{
	struct inventory found;
	g_autoptr(GError) error = NULL;
	g_autofree char *file = NULL;
	const int fd = g_file_open_tmp("draft-XXXXXX", &file, NULL);

	fill(&found);
	inventory_export(&found, "/other/home");
	inventory_export(&found, "/");
	inventory_export(&found, "relative");
	struct draft *draft = draft_new("fd00::1", NULL, &found);
	g_autofree char *text = draft_volumes(draft);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	g_auto(GStrv) names = config_volumes(file, &error);
	ck_assert_msg(names != NULL, "%s", error ? error->message : "");
	ck_assert(g_strv_contains((const char *const *)names, "home-2"));
	ck_assert(g_strv_contains((const char *const *)names, "volume"));
	has(text, "There is no URL");
	unlink(file);
	draft_free(draft);
	inventory_clear(&found);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("draft");

	tcase_add_test(tcase, volumes);
	tcase_add_test(tcase, accepted);
	return run_tcase(tcase);
}
