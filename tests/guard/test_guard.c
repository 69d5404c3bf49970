/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/guard.h"

#include "tests/guard/guard_place.h"

static struct volume_config config;

static void set_up(void)
{
	guard_place_make();
	config = (struct volume_config){.name = (char *)"v", .root = place, .guard_wait = 1};
	config.socket = g_build_filename(g_get_tmp_dir(), "quickmigrate-test.sock", NULL);
}

static void tear_down(void)
{
	g_autofree char *state = g_strconcat(config.socket, GUARD_STATE_SUFFIX, NULL);

	unlink(state);
	g_free(config.socket);
	guard_place_remove();
}

START_TEST(not_of_the_system)
{
	g_autoptr(GError) error = NULL;

	config.root = (char *)"/";
	ck_assert_ptr_null(guard_new(&config, false, &error));
	ck_assert(strstr(error->message, "one of its own"));
	ck_assert(g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INVAL));
}
END_TEST

/* What is whole is let through. */
START_TEST(whole)
{
	g_autofree char *path = guard_put("f");
	g_autoptr(GError) error = NULL;
	struct guard *guard = guard_new(&config, false, &error);
	int status = -1;
	pid_t child;

	ck_assert_msg(guard != NULL, "%s", error ? error->message : "");
	ck_assert_ptr_null(guard_new(&config, false, NULL)); /* one at a time */
	child = fork();
	if (child == 0)
		_exit(open(path, O_RDONLY) < 0 || open(place, O_RDONLY) < 0);
	while (waitpid(child, &status, WNOHANG) == 0)
		ck_assert(guard_turn(guard, NULL));
	ck_assert_int_eq(status, 0);
	guard_stop(guard);
	ck_assert(!guard_turn(guard, &error));
	ck_assert_ptr_null(error);
	guard_free(guard);
}
END_TEST

START_TEST(strict)
{
	g_autofree char *path = guard_put("f");
	struct guard *guard;
	int status;
	pid_t child;

	config.guard = GUARD_STRICT;
	guard = guard_new(&config, false, NULL);
	ck_assert_ptr_nonnull(guard);
	child = fork();
	if (child == 0)
		_exit(open(path, O_RDONLY) < 0);
	while (waitpid(child, &status, WNOHANG) == 0)
		ck_assert(guard_turn(guard, NULL));
	ck_assert_int_eq(WEXITSTATUS(status), 1);
	guard_free(guard);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("guard");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, not_of_the_system);
	tcase_add_test(tcase, whole);
	tcase_add_test(tcase, strict);
	return run_tcase(tcase);
}
