/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "retriever/objects/errors_entry.h"
#include "tests/suite.h"

static const struct error_entry entry = {
	.key = {.type = 0x81, .len = 3, .bytes = {0, 0xff, 0x0a}},
	.name = (char *)"a\tname\n\xff\\",
	.path = (char *)"/a\tp\303\244th\n",
	.reason = (char *)"because\tof \"this\"",
	.status = -EREMOTEIO,
	.code = QM_GONE,
	.since = 1700000000,
};

static void expect_back(enum error_change change, const struct error_entry *said)
{
	g_autofree char *line = error_entry_line(change, said);
	struct error_entry e;

	ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
	ck_assert_int_eq(error_entry_parse(line, &e), change);
	if (change != ERROR_ALL)
		ck_assert(migrate_binding_equal(&e.key, &said->key));
	if (change == ERROR_ADD || change == ERROR_FORGET)
		ck_assert_pstr_eq(e.name, said->name);
	if (change == ERROR_ADD) {
		ck_assert_str_eq(e.path, said->path);
		ck_assert_str_eq(e.reason, said->reason);
		ck_assert_int_eq(e.status, said->status);
		ck_assert_int_eq(e.code, said->code);
		ck_assert_int_eq(e.since, said->since);
	}
	error_entry_clear(&e);
}

START_TEST(comes_back_as_it_was)
{
	struct error_entry object = entry;

	object.name = NULL;
	object.key.len = 0; /* none could be told */
	object.since = 0;   /* nor that, by an earlier release */
	expect_back(ERROR_ADD, &entry);
	expect_back(ERROR_ADD, &object);
	expect_back(ERROR_FORGET, &entry);
	expect_back(ERROR_FORGET, &object);
	expect_back(ERROR_NAMES, &entry);
	expect_back(ERROR_ALL, NULL);
}
END_TEST

START_TEST(what_makes_no_sense)
{
	static const char *const lines[] = {
		"",
		"\n",
		"+\n",
		"+\t81\n",
		"++\t81\ta\t5\tr\tp\n",
		"+\t8\ta\t5\tr\tp\n",
		"+\t8z\ta\t5\tr\tp\n",
		"+\t81\ta\t5\tr\tp\tq\n",
		"+\t81\ta\t5\tr\tp\t0\n",
		"+\t81\ta\t5\tr\tp\t9\t9\n",
		"-\t81\n",
		"/\t81\ta\n",
		"*\t81\n",
		"?\t81\n",
		"+\t81\ta\t5\tr",
		"/\t\n",
	};
	g_autofree char *key = g_strnfill(2 * (1 + MIGRATE_BINDING_MAX + 1), '0');
	g_autofree char *long_key = g_strconcat("/\t", key, "\n", NULL);
	struct error_entry e;

	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++)
		ck_assert_msg(!error_entry_parse(lines[i], &e), "%s", lines[i]);
	ck_assert_int_eq(error_entry_parse(long_key, &e), 0);
	ck_assert_int_eq(error_entry_parse("\x80\t81\n", &e), 0);
}
END_TEST

/* Earlier releases wrote no code, and read a line with one. */
START_TEST(of_other_releases)
{
	static const struct {
		const char *line;
		enum error_code code;
	} lines[] = {
		{"+\t81\ta\t116\tthe file was changed on the old server since its stub was made: "
		 "migratectl retry takes the new version\tp\n",
		 QM_CHANGED},
		{"+\t81\ta\t5\tin other words\tp\t9\n", QM_UNCODED},
		{"+\t81\ta\t5\tthe old server answered READ with an error\tp\t9\n", QM_READ_FAILED},
		{"+\t81\ta\t5\tno space on the new server's file system\tp\t9\n", QM_NO_SPACE},
		{"+\t81\ta\t5 1009\tin other words\tp\t9\n", QM_NAME_MISSING},
		{"+\t81\ta\t5 9999\tof a later one\tp\t9\n", QM_UNCODED},
		{"+\t81\ta\t5 0\tx\tp\t9\n", QM_UNCODED},
	};
	g_autofree char *line = error_entry_line(ERROR_ADD, &entry);
	g_auto(GStrv) fields = g_strsplit(line, "\t", -1);
	struct error_entry e;

	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
		ck_assert_int_eq(error_entry_parse(lines[i].line, &e), ERROR_ADD);
		ck_assert_int_eq(e.code, lines[i].code);
		ck_assert_int_eq(e.status, lines[i].code == QM_CHANGED ? -ESTALE : -EIO);
		error_entry_clear(&e);
	}
	ck_assert_uint_eq(g_strv_length(fields), 7); /* as many as before */
	ck_assert_int_eq(atoi(fields[3]), EREMOTEIO);
}
END_TEST

static bool is_let_through(const char *reason, const char *below)
{
	return error_entry_matches(&entry,
				   &(struct errors_filter){.reason = reason, .below = below});
}

static bool is_whole(const char *reason)
{
	return error_entry_matches(&entry,
				   &(struct errors_filter){.reason = reason, .whole = true});
}

START_TEST(filters)
{
	struct errors_filter filter = {NULL};

	ck_assert(is_let_through(NULL, NULL));
	ck_assert(is_let_through("of \"th", NULL));
	ck_assert(!is_let_through("nothing", NULL));
	ck_assert(is_whole("because\tof \"this\""));
	ck_assert(is_whole("because\\011of \"this\""));
	ck_assert(!is_whole("because"));
	ck_assert(!is_whole("because\tof \"this\" or that"));
	ck_assert(is_let_through(NULL, "/"));
	ck_assert(errors_filter_take(&filter, "code QM1403"));
	ck_assert(error_entry_matches(&entry, &filter));
	ck_assert(errors_filter_take(&filter, "code QM1402"));
	ck_assert(!error_entry_matches(&entry, &filter));
	ck_assert(!errors_filter_take(&filter, "code 1403"));
	ck_assert(!errors_filter_take(&filter, "code "));
	ck_assert(is_let_through("because", "/a\\011p\303\244th\\012"));
	ck_assert(is_let_through("because", "/a\\011p\303\244th\\012/"));
	ck_assert(!is_let_through(NULL, "/a"));
	ck_assert(!is_let_through(NULL, "/a\\011p\303\244th\\012/b"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("errors_entry");

	tcase_add_test(tcase, comes_back_as_it_was);
	tcase_add_test(tcase, what_makes_no_sense);
	tcase_add_test(tcase, of_other_releases);
	tcase_add_test(tcase, filters);
	return run_tcase(tcase);
}
