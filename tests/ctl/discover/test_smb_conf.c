/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/smb_conf.h"
#include "tests/ctl/discover/files.h"
#include "tests/suite.h"

static struct inventory found;

static bool has(const GPtrArray *lines, const char *wanted)
{
	for (unsigned i = 0; i < lines->len; i++)
		if (!strcmp(lines->pdata[i], wanted))
			return true;
	return false;
}

START_TEST(shares)
{
	inventory_init(&found);
	inventory_share(&found, "PROJECTS")->type = "disk";
	ck_assert(read_text(
		smb_conf_read,
		"[global]\n\tworkgroup = X\n\thosts allow = 10.\n\tnonsense = 1\n"
		"[Projects]\n\tpath = /export/home/%U\n\tcomment = what [we] = do\n"
		"\twriteable = yes\n\tvalid users = @staff, alice\n\tvfs objects = recycle\n"
		"[ro]\n\tpath = /ro\n\thosts allow = 192.0.2.\n\tpublic = yes\n"
		"[homes]\n\tbrowseable = no\n",
		&found, NULL));
	ck_assert_uint_eq(found.shares->len, 2);
	const struct inventory_share *share = inventory_share(&found, "projects");
	ck_assert_str_eq(share->path, "/export/home/%U");
	ck_assert_str_eq(share->comment, "what [we] = do");
	ck_assert(has(share->settings, "read only = No"));
	ck_assert(has(share->settings, "valid users = @staff alice"));
	ck_assert(has(share->settings, "hosts allow = 10."));
	ck_assert(has(share->left, "vfs objects = recycle"));
	share = inventory_share(&found, "ro");
	ck_assert(has(share->settings, "read only = Yes"));
	ck_assert(has(share->settings, "hosts allow = 192.0.2."));
	ck_assert(!has(share->settings, "hosts allow = 10."));
	ck_assert(has(share->settings, "guest ok = Yes"));
	ck_assert(noted(&found, "[homes]") && noted(&found, "nonsense"));
	inventory_clear(&found);
}
END_TEST

START_TEST(mistakes)
{
	g_autoptr(GError) error = NULL, other = NULL;

	inventory_init(&found);
	ck_assert(!smb_conf_read("/nowhere/smb.conf", &found, &error));
	ck_assert(strstr(error->message, "/nowhere/smb.conf is no file"));
	g_setenv("PATH", "/nowhere", TRUE);
	ck_assert(!read_text(smb_conf_read, "[a]\n", &found, &other));
	ck_assert(strstr(other->message, "install samba-common-bin"));
	inventory_clear(&found);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("smb_conf");

	tcase_add_test(tcase, shares);
	tcase_add_test(tcase, mistakes);
	return run_tcase(tcase);
}
