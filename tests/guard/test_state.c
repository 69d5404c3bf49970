/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard/process.h"

#include "tests/guard/guard_place.h"

START_TEST(one_at_a_time)
{
	g_autofree char *sock = g_build_filename(place, "sock", NULL);
	g_autofree char *path = g_strconcat(sock, ".guard", NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(GKeyFile) file = g_key_file_new();
	struct state state = {
		.mode = "fetch", .waiting = 100000, .public_server = (char *)"smbd (1)"};
	int lock, other, fd = open(path, O_RDWR | O_CREAT, 0644);

	ck_assert_int_eq(flock(fd, LOCK_SH), 0); /* by whoever may read it */
	other = fd;
	fd = state_hold(sock, &lock, &error);
	ck_assert_int_ge(fd, 0);
	close(other);
	ck_assert_int_eq(state_hold(sock, &other, &error), -1);
	ck_assert_int_eq(other, -1);
	ck_assert(strstr(error->message, "a guard already"));
	state.past = (char *)"smbd (1)";
	state_put(fd, &state);
	g_key_file_load_from_file(file, path, 0, NULL);
	g_autofree char *past = g_key_file_get_string(file, "guard", "past", NULL);
	ck_assert_str_eq(past, "smbd (1)");
	state = (struct state){.mode = "refuse", .refused = 7};
	state_put(fd, &state);
	ck_assert(g_key_file_load_from_file(file, path, 0, NULL));
	ck_assert_uint_eq(g_key_file_get_uint64(file, "guard", "refused", NULL), 7);
	ck_assert_uint_eq(g_key_file_get_uint64(file, "guard", "waiting", NULL), 0);
	ck_assert(!g_key_file_has_key(file, "guard", "public-server", NULL));
	other = open(path, O_RDONLY);
	ck_assert_int_lt(flock(other, LOCK_SH | LOCK_NB), 0); /* it runs */
	close(other);
	close(fd);
	close(lock);
	fd = state_hold(sock, &lock, NULL);
	ck_assert_int_ge(fd, 0);
	close(fd);
	close(lock);
	g_clear_error(&error);
	ck_assert_int_eq(state_hold("/nowhere/sock", &lock, &error), -1);
	ck_assert(strstr(error->message, "/nowhere/sock.guard"));
}
END_TEST

/* It is not said of a server that has ended. */
START_TEST(ended)
{
	struct state state = {.public_server = process_text(getpid()), .public_tid = getpid()};
	const pid_t child = fork();

	if (child == 0)
		_exit(0);
	state_forget_ended(&state);
	ck_assert_ptr_nonnull(state.public_server);
	g_free(state.public_server);
	state.public_server = process_text(child);
	state.public_tid = child;
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	g_free(state.public_server);
	state.public_server = g_strdup_printf("smbd (%d)", (int)child);
	state_forget_ended(&state);
	ck_assert_ptr_null(state.public_server);
	state_forget_ended(&state);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("state");

	tcase_add_checked_fixture(tcase, guard_place_make, guard_place_remove);
	tcase_add_test(tcase, one_at_a_time);
	tcase_add_test(tcase, ended);
	return run_tcase(tcase);
}
