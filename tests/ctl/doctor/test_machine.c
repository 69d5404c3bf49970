/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/ctl/doctor/told.h"

static char tree[64], secret[96], certificate[96];
static struct smb_config smb;
static struct nfs_config nfs;

/* A tmpfs, where there is one to look at, is no file system of the system's. */
static void look_machine(const char *status, time_t now, const char *expected)
{
	begin_doctor(status);
	look_at_machine(&doctor, now);
	/* the clock's line is the machine's own */
	ck_assert_str_eq(((struct finding *)doctor.findings->pdata[doctor.findings->len - 1])->what,
			 "Clock");
	g_ptr_array_set_size(doctor.findings, (gint)doctor.findings->len - 1);
	end_doctor(expected);
}

static void make_machine(void)
{
	make_scratch(tree, "machine");
	g_snprintf(secret, sizeof(secret), "%s/password", tree);
	g_snprintf(certificate, sizeof(certificate), "%s/certificate", tree);
	ck_assert(g_file_set_contents(secret, "secret", -1, NULL));
	ck_assert_int_eq(chmod(secret, 0600), 0);
	volume.root = (char *)"/dev/shm";
	volume.smb = NULL;
	volume.nfs = NULL;
}

static void remove_machine(void)
{
	unlink(secret);
	unlink(certificate);
	rmdir(tree);
}

START_TEST(mount_and_space)
{
	look_machine(
		"[namespace]\ncomplete=true\n", 0,
		"ok       Mount         /dev/shm is on a file system of its own\nok       Space\n");
	look_machine("[counters]\nbytes-found=9000000000000000\nbytes-whole=5\n", 0,
		     "ok       Mount\nwarning  Space\n");
	volume.root = (char *)"/"; /* what is below may have a mount of its own */
	look_machine("", 0, "fault    Mount         /\nok       Space\n");
	volume.guard = GUARD_NO;
	look_machine("", 0, "warning  Mount         /\nok       Space\n");
	volume.guard = GUARD_YES;
	volume.root = (char *)"/nonexistent/root";
	look_machine(
		"", 0,
		"fault    Mount         /nonexistent/root: No such file or directory; mount\n");
}
END_TEST

START_TEST(secrets)
{
	smb.password_file = secret;
	volume.smb = &smb;
	look_machine("", 0, "ok       Mount\nok       Space\nok       Secrets       /\n");
	ck_assert_int_eq(chmod(secret, 0640), 0);
	look_machine("", 0, "ok       Mount\nok       Space\nfault    Secrets       /\n");
	unlink(secret);
	look_machine("", 0, "ok       Mount\nok       Space\nfault    Secrets       /\n");
}
END_TEST

static void make_certificate(const char *const *argv)
{
	ck_assert(g_spawn_sync(NULL, (char **)argv, NULL,
			       G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
			       NULL, NULL, NULL));
}

START_TEST(certificates)
{
	const char *argv[] = {"openssl",
			      "req",
			      "-x509",
			      "-newkey",
			      "ec",
			      "-pkeyopt",
			      "ec_paramgen_curve:P-256",
			      "-nodes",
			      "-subj",
			      "/CN=v",
			      "-days",
			      "30",
			      "-keyout",
			      secret,
			      "-out",
			      certificate,
			      NULL};
	const time_t now = time(NULL);

	make_certificate(argv);
	nfs.ca = certificate;
	volume.nfs = &nfs;
	look_machine("", now, "ok       Mount\nok       Space\nok       Certificates  /\n");
	look_machine("", now + 20 * 86400,
		     "ok       Mount\nok       Space\nwarning  Certificates  /\n");
	look_machine("", now + 40 * 86400,
		     "ok       Mount\nok       Space\nfault    Certificates  /\n");
	/* of a bundle the longest counts; our own certificate is one */
	g_autofree char *ended = NULL;
	ck_assert(g_file_get_contents(certificate, &ended, NULL, NULL));
	argv[11] = "90";
	make_certificate(argv);
	g_autofree char *good = NULL;
	ck_assert(g_file_get_contents(certificate, &good, NULL, NULL));
	g_autofree char *both = g_strconcat(good, ended, NULL);
	ck_assert(g_file_set_contents(certificate, both, -1, NULL));
	look_machine("", now + 40 * 86400,
		     "ok       Mount\nok       Space\nwarning  Certificates  /\n");
	look_machine("", now + 100 * 86400,
		     "ok       Mount\nok       Space\nfault    Certificates  /\n");
	nfs.ca = NULL;
	nfs.certificate = certificate;
	look_machine("", now + 40 * 86400,
		     "ok       Mount\nok       Space\nfault    Certificates  /\n");
	nfs.certificate = NULL;
	nfs.ca = certificate;
	ck_assert(g_file_set_contents(certificate, "no certificate", -1, NULL));
	look_machine("", now, "ok       Mount\nok       Space\nfault    Certificates  /\n");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("machine");

	tcase_add_checked_fixture(tcase, make_machine, remove_machine);
	tcase_add_test(tcase, mount_and_space);
	tcase_add_test(tcase, secrets);
	tcase_add_test(tcase, certificates);
	return run_tcase(tcase);
}
