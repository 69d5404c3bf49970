/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

#include "retriever/socket/control_old.h"

static char *handle_of_root(void)
{
	const struct source_object *root = &core.retriever->source_root;
	GString *text = g_string_new(NULL);

	for (unsigned i = 0; i < root->handle_len; i++)
		g_string_append_printf(text, "%02x", root->handle[i]);
	return g_string_free(text, FALSE);
}

static int ask(const char *handle, const char *rest, char **text)
{
	g_autofree char *argument = g_strconcat(handle, rest, NULL);

	return control_old_names(core.retriever, argument, text);
}

START_TEST(names_with_numbers)
{
	g_autofree char *handle = NULL, *text = NULL, *there = NULL, *line = NULL;
	struct stat st;

	core_make(&core);
	core_source_file(&core, "n\xffme", 1, 1);
	core_start(&core);
	handle = handle_of_root();
	ck_assert_int_eq(ask(handle, " 0 0", &text), 0);
	there = g_build_filename(core.source, "n\xffme", NULL);
	ck_assert_int_eq(lstat(there, &st), 0);
	line = g_strdup_printf(" 1\n%" G_GUINT64_FORMAT " 0 6eff6d65\n", (guint64)st.st_ino);
	ck_assert_msg(g_str_has_suffix(text, line), "%s", text);
	core_free(&core);
}
END_TEST

/* What does not fit is left to the next. */
START_TEST(at_most_so_many)
{
	g_autofree char *handle = NULL, *text = NULL;
	const char *rest;

	core_make(&core);
	shell("cd %s && seq -f 'a-name-of-a-file-that-is-long-enough-%%g' 2000 | xargs touch",
	      core.source);
	core_start(&core);
	handle = handle_of_root();
	ck_assert_int_eq(ask(handle, " 0 0", &text), 0);
	ck_assert_uint_le(strlen(text), 63 << 10);
	rest = strchr(text, ' ');
	ck_assert_ptr_nonnull(rest);
	ck_assert_msg(g_str_has_prefix(rest, " 0\n"), "%.20s", text);
	core_free(&core);
}
END_TEST

START_TEST(nonsense)
{
	static const char *const wrong[] = {"",	  " 0 0", "x 0 0",  "0 0 0",
					    "00", "00 1", "00 a b", "0g 0 0"};
	g_autofree char *longer = g_strnfill(2 * (MIGRATE_HANDLE_MAX + 1), '0');
	char *text = NULL;

	core_make(&core);
	core_start(&core);
	for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
		ck_assert_msg(ask(wrong[i], "", &text) == -EINVAL, "%s", wrong[i]);
		g_clear_pointer(&text, g_free);
	}
	ck_assert_int_eq(control_old_names(core.retriever, NULL, &text), -EINVAL);
	g_clear_pointer(&text, g_free);
	ck_assert_int_eq(ask(longer, " 0 0", &text), -EINVAL);
	g_clear_pointer(&text, g_free);
	ck_assert_int_lt(ask("0000", " 0 0", &text), 0);
	ck_assert_ptr_null(text);
	core_free(&core);
}
END_TEST

START_TEST(directories)
{
	g_autofree char *handle = NULL, *text = NULL, *again = NULL;

	core_make(&core);
	core.takeover = TAKEOVER_ALL;
	shell("mkdir %s/kept", core.dir);
	core_start(&core);
	handle = handle_of_root();
	ck_assert_int_eq(control_old_directory(core.retriever, handle, &text), 0);
	ck_assert_int_eq(control_old_directory(core.retriever, "0", &text), -EINVAL);
	ck_assert_int_eq(control_old_directory(core.retriever, NULL, &again), -EINVAL);
	core_free(&core);
}
END_TEST

/* Who has been answered makes room for another one. */
START_TEST(not_all_at_once)
{
	g_autofree char *handle = NULL, *text = NULL, *names = NULL;
	unsigned n = 0;

	core_make(&core);
	core_start(&core);
	handle = handle_of_root();
	names = g_strconcat(handle, " 0 0", NULL);
	while (control_old_admit(core.retriever, handle, &text) == 0)
		n++;
	ck_assert_uint_eq(n, 32);
	ck_assert_int_eq(control_old_admit(core.retriever, handle, &text), -EBUSY);
	ck_assert_int_eq(control_old_names(core.retriever, names, &text), 0);
	ck_assert_int_eq(control_old_admit(core.retriever, handle, &text), 0);
	ck_assert_int_eq(control_old_admit(core.retriever, handle, &text), -EBUSY);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("control_old", 60);

	tcase_add_test(tcase, names_with_numbers);
	tcase_add_test(tcase, at_most_so_many);
	tcase_add_test(tcase, nonsense);
	tcase_add_test(tcase, directories);
	tcase_add_test(tcase, not_all_at_once);
	return run_tcase(tcase);
}
