/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/config.h"
#include "lib/config/source_config.h"
#include "tests/suite.h"

static char *dir;

static struct volume_config *load(const char *lines, GError **error)
{
	g_autofree char *file = g_build_filename(dir, "conf", NULL);
	g_autofree char *text =
		g_strdup_printf("[volume v]\nroot = %s\n%s%s", dir,
				strstr(lines, "modes") ? "" : "smb-modes = open\n", lines);

	ck_assert(g_file_set_contents(file, text, -1, NULL));
	return config_load(file, "v", error);
}

START_TEST(what_is_said)
{
	struct volume_config *config =
		load("source = smb://u@h/s\nsmb-password-file = /etc/secret\nsmb-domain = OFFICE\n"
		     "smb-encryption = required\nsmb-signing = required\n"
		     "rollback-source = smb://w@h/s\nrollback-password-file = /etc/back\n",
		     NULL);

	ck_assert_ptr_nonnull(config);
	ck_assert_str_eq(config->source, "smb://u@h/s");
	ck_assert_str_eq(config->smb->password_file, "/etc/secret");
	ck_assert_str_eq(config->smb->domain, "OFFICE");
	ck_assert_str_eq(config->rollback_source, "smb://w@h/s");
	ck_assert_str_eq(config->rollback_password_file, "/etc/back");
	ck_assert_ptr_null(config->smb->ccache);
	ck_assert_uint_eq(config->smb->encryption, SMB_REQUIRED);
	ck_assert_uint_eq(config->smb->signing, SMB_REQUIRED);
	config_free(config);

	config = load("source = smb://u@h/s\nsmb-ccache = /etc/tickets\nsmb-encryption = desired\n"
		      "smb-signing = if-required\n",
		      NULL);
	ck_assert_str_eq(config->smb->ccache, "/etc/tickets");
	ck_assert_uint_eq(config->smb->encryption, SMB_DESIRED);
	ck_assert_uint_eq(config->smb->signing, SMB_OFF);
	config_free(config);

	config = load("source = smb://u@h/s\nsmb-modes = descriptor\n", NULL);
	ck_assert_int_eq(config->smb_modes, SMB_MODES_DESCRIPTOR);
	config_free(config);

	config = load("source = nfs://h/x\nacl-source = smb://u@h/s\n", NULL);
	ck_assert_str_eq(config->acl_source, "smb://u@h/s");
	ck_assert_int_eq(config->smb_modes, SMB_MODES_OPEN);
	config_free(config);

	config = load("source = nfs://h/x\n", NULL);
	ck_assert_int_eq(config->acl_mode, ACL_MODE_POSIX);
	config_free(config);
	config = load("source = nfs://h/x\nacl-mode = keep\nacl-source = smb://u@h/s\n", NULL);
	ck_assert_int_eq(config->acl_mode, ACL_MODE_KEEP);
	config_free(config);

	config = load("source = nfs://h/x?sec=krb5\nnfs-keytab = /etc/keys\n"
		      "nfs-principal = nfs/this@REALM\nnfs-ca = /etc/ca\n"
		      "nfs-certificate = /etc/own\nnfs-key = /etc/key\n",
		      NULL);
	ck_assert_str_eq(config->nfs->keytab, "/etc/keys");
	ck_assert_str_eq(config->nfs->principal, "nfs/this@REALM");
	ck_assert_ptr_null(config->nfs->ccache);
	ck_assert_str_eq(config->nfs->ca, "/etc/ca");
	ck_assert_str_eq(config->nfs->certificate, "/etc/own");
	ck_assert_str_eq(config->nfs->key, "/etc/key");
	config_free(config);

	config = load("source = smb://u@h/s\n", NULL);
	ck_assert_uint_eq(config->smb->encryption, SMB_OFF);
	ck_assert_uint_eq(config->smb->signing, SMB_OFF);
	config_free(config);
}
END_TEST

START_TEST(what_is_wrong)
{
	static const char *const bad[][2] = {
		{"source = smb://h/s\n", "no user"},
		{"source = smb://u@h\n", "no share"},
		{"source = smb://u:secret@h/s\n", "smb-password-file"},
		{"source = smb://u@h/s\nsmb-password-file = secret\n", "absolute"},
		{"source = smb://u@h/s\nsmb-ccache = tickets\n", "absolute"},
		{"source = smb://u@h/s\nsmb-password-file = /a\nsmb-ccache = /b\n", "remove one"},
		{"source = smb://u@h/s\nsmb-encryption = yes\n", "off, desired or required"},
		{"source = smb://u@h/s\nsmb-signing = off\n", "if-required or required"},
		{"source = smb://u@h/s\nsmb-modes = Open\n", "use open or descriptor"},
		{"source = nfs://h/x\nacl-source = nfs://h/x\n", "smb://user@host"},
		{"source = nfs://h/x\nnfs-keytab = keys\n", "absolute"},
		{"source = nfs://h/x\nnfs-keytab = /a\nnfs-ccache = /b\n", "remove one"},
		{"source = nfs://h/x\nacl-mode = nfs4\n", "use posix, nt or keep"},
		{"source = nfs://h/x\nacl-mode = nt\nacl-source = smb://u@h/s\n", "remove one"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert_ptr_null(load(bad[i][0], &error));
		ck_assert_msg(strstr(error->message, bad[i][1]), "%s", error->message);
		ck_assert_ptr_null(strchr(error->message, '\n'));
		ck_assert_ptr_null(strstr(error->message, "secret@"));
	}
}
END_TEST

static void make_dir(void)
{
	dir = g_dir_make_tmp("config-smb-XXXXXX", NULL);
}

static void remove_dir(void)
{
	g_autofree char *file = g_build_filename(dir, "conf", NULL);

	g_unlink(file);
	g_rmdir(dir);
	g_free(dir);
}

int main(void)
{
	TCase *tcase = tcase_create("config");

	tcase_add_checked_fixture(tcase, make_dir, remove_dir);
	tcase_add_test(tcase, what_is_said);
	tcase_add_test(tcase, what_is_wrong);
	return run_tcase(tcase);
}
