/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

#include "lib/base/flags.h"
#include "retriever/objects/errors.h"

/* The line of the list of errors for what is called so. */
static void expect_line(const char *path, const char *part)
{
	g_autofree char *full = core_path(&core, path);
	struct error_entry entry;
	bool found = false;

	for (guint place = 0; errors_get(core.retriever->errors, &place, NULL, &entry); place++) {
		if (!strcmp(entry.path, full)) {
			ck_assert_msg(strstr(entry.reason, part), "%s", entry.reason);
			found = true;
		}
		error_entry_clear(&entry);
	}
	ck_assert_msg(found, "%s is not listed", path);
}

static void chattr(const char *flag, const char *path)
{
	shell("chattr %s %s/%s", flag, core.root, path);
}

static void prepare(void)
{
	core_make(&core);
	core_source_file(&core, "held", 5000, 1);
	core_source_file(&core, "log", 5000, 2);
	core_source_file(&core, "usual", 5000, 3);
	core_source_file(&core, "listed/f", 5000, 4);
	core_source_file(&core, "unlisted/f", 5000, 5);
}

static void fill_path(const char *path)
{
	int fd = *path ? core_find(&core, path, O_RDONLY | O_DIRECTORY) : core_root(&core);

	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	close(fd);
}

static int ask_whole(const char *path)
{
	g_autofree char *full = core_path(&core, path);
	int fd = open(full, O_RDONLY | O_CLOEXEC), ret = core_range(&core, fd, 0, 5000);

	close(fd);
	return ret;
}

static int ask_fill(const char *path, bool finish)
{
	g_autofree char *full = core_path(&core, path);
	int fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = finish ? core_finish(&core, fd) : core_wait(core_ask_fill(&core, fd, 0));

	close(fd);
	return ret;
}

START_TEST(on_what_is_unfinished)
{
	prepare();
	core_start(&core);
	fill_path("");
	fill_path("listed");
	chattr("+i", "held");
	chattr("+a", "log");
	chattr("+i", "listed");
	chattr("+a", "unlisted");
	ck_assert_int_eq(ask_whole("held"), -EREMOTEIO);
	ck_assert_int_eq(ask_whole("log"), -EREMOTEIO);
	ck_assert_int_eq(ask_whole("usual"), 0);
	ck_assert_int_eq(ask_whole("listed/f"), 0);
	ck_assert_int_eq(ask_fill("unlisted", false), -EREMOTEIO);
	ck_assert_int_eq(ask_fill("listed", true), -EREMOTEIO);
	ck_assert_int_eq(ask_fill("", true), -EREMOTEIO);
	expect_line("held", "chattr -i, then retry");
	expect_line("log", "chattr -a, then retry");
	expect_line("listed", "chattr -i, then retry");
	expect_line("unlisted", "chattr -a, then retry");
	ck_assert_uint_eq(errors_count(core.retriever->errors), 4);
	chattr("-i", "held");
	chattr("-a", "log");
	chattr("-i", "listed");
	chattr("-a", "unlisted");
	core_expect_answer(&core, "retry", "");
	make_all();
	ck_assert_int_eq(volume_state(core.retriever), VOLUME_WHOLE);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free(&core);
}
END_TEST

/* At the top it is refused before anything is moved; what is deeper has its line, and the rest goes
 * on. */
START_TEST(on_what_was_copied)
{
	g_autofree char *message = NULL;
	int d;

	prepare();
	copy_by_cp();
	chattr("+i", "log");
	core_open(&core);
	ck_assert_int_eq(attach_volume(core.retriever, &(struct attach){.adopt = true}, &message),
			 -EPERM);
	ck_assert_ptr_nonnull(strstr(message, "/log: it is immutable (chattr +i)"));
	ck_assert(is_there(core.root, "held"));
	core_close(&core);
	chattr("-i", "log");
	chattr("+i", "listed/f");
	adopt((struct attach){0});
	fill_path("");
	d = core_find(&core, "listed", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, d, 0)), -EREMOTEIO);
	close(d);
	expect_line("listed/f", "in .migrate/prior, must not be changed");
	fill_path("unlisted");
	chattr("-i", ".migrate/prior/listed/f");
	core_expect_answer(&core, "retry", "");
	make_all();
	expect_same_tree();
	core_free(&core);
}
END_TEST

START_TEST(words)
{
	int fd;

	core_make(&core);
	fd = open(core.root, O_PATH | O_CLOEXEC);
	write_file(core.root, "f", "text");
	ck_assert_ptr_null(flags_word(fd, "f"));
	ck_assert_ptr_null(flags_word(fd, "none"));
	ck_assert_int_eq(flags_error(fd), QM_NONE);
	ck_assert_int_eq(flags_error(-1), QM_NONE);
	chattr("+a", "f");
	ck_assert_str_eq(flags_word(fd, "f"), "append-only (chattr +a)");
	chattr("+i", "f");
	ck_assert_str_eq(flags_word(fd, "f"), "immutable (chattr +i)");
	chattr("-ai", "f");
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("flags", 60);

	tcase_add_test(tcase, on_what_is_unfinished);
	tcase_add_test(tcase, on_what_was_copied);
	tcase_add_test(tcase, words);
	return run_tcase(tcase);
}
