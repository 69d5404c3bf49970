/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/sign.h"
#include "tests/ctl/report/made.h"

static int open_made(const char *name)
{
	g_autofree char *path = made_path(name);
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static void sign_file(const char *name, const char *key_name)
{
	g_autofree char *key = made_path(key_name), *to = g_strconcat(name, SIGN_SUFFIX, NULL);
	g_autofree char *path = made_path(to), *signature = NULL;
	g_autoptr(GError) error = NULL;
	int fd = open_made(name);

	signature = sign_make(fd, key, &error);
	ck_assert_msg(signature != NULL, "%s", error ? error->message : "");
	ck_assert(g_file_set_contents(path, signature, -1, NULL));
	close(fd);
}

/* Who signed "f", or NULL: nobody, and why. */
static char *signer(const char *signers_name, char **why)
{
	g_autofree char *signature = made_path("f" SIGN_SUFFIX), *who = NULL;
	g_autofree char *signers = signers_name ? made_path(signers_name) : NULL;
	g_autoptr(GError) error = NULL;
	int fd = open_made("f");

	if (!sign_check(fd, signature, signers, &who, &error))
		*why = g_strdup(error->message);
	close(fd);
	return g_steal_pointer(&who);
}

static void keys(void)
{
	made_run("echo text >f; for k in key other; do "
		 "ssh-keygen -q -t ed25519 -N '' -C \"$k\" -f \"$k\"; done; "
		 "echo \"admin@new $(cat key.pub)\" >signers; echo \"a@b $(cat other.pub)\" "
		 ">others");
}

START_TEST(good)
{
	g_autofree char *why = NULL, *known = NULL, *unknown = NULL;

	keys();
	sign_file("f", "key");
	known = signer("signers", &why);
	ck_assert_pstr_eq(known, "admin@new");
	unknown = signer(NULL, &why);
	ck_assert(g_str_has_prefix(unknown, "ED25519 key SHA256:"));
}
END_TEST

START_TEST(bad)
{
	char *why[6] = {NULL};

	keys();
	sign_file("f", "key");
	ck_assert_ptr_null(signer("others", &why[0]));
	ck_assert_ptr_null(signer("absent", &why[1]));
	made_run("echo Text >f");
	ck_assert_ptr_null(signer("signers", &why[2]));
	ck_assert_ptr_null(signer(NULL, &why[3]));
	/* of the same key, for something else */
	made_run("ssh-keygen -q -Y sign -f key -n file f 2>&1");
	ck_assert_ptr_null(signer("signers", &why[4]));
	made_run("echo nonsense >f.sig");
	ck_assert_ptr_null(signer(NULL, &why[5]));
	for (unsigned i = 0; i < G_N_ELEMENTS(why); i++) {
		ck_assert_ptr_nonnull(why[i]);
		ck_assert_ptr_null(strchr(why[i], '\n'));
		g_free(why[i]);
	}
}
END_TEST

START_TEST(no_key)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *key = made_path("absent");
	int fd;

	keys();
	fd = open_made("f");
	ck_assert_ptr_null(sign_make(fd, key, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "ssh-keygen"));
	close(fd);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {good, bad, no_key, NULL};

	return run_made("sign", tests);
}
