/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "ctl/check/read_trials.h"
#include "tests/ctl/report/made.h"
#include "tests/retriever/core_tsan.h"
#include "tests/pairs.h"

static struct notices *notices;
static struct read_trials *trials;

static void begin(void)
{
	notices = notices_new();
	trials = read_trials_new(notices);
}

static void end(void)
{
	read_trials_free(trials);
	notices_free(notices);
}

static bool ask(const char *path, uint32_t uid, mode_t mode, uint64_t *kind)
{
	const struct source_attr attr = {.mode = S_IFREG | mode, .uid = uid, .size = 1};

	return read_trials_ask(trials, path, &attr, NULL, kind);
}

/* One file of a kind is read from; what came of it is true of those before and after. */
START_TEST(refused)
{
	uint64_t kind, other;

	begin();
	ck_assert(ask("a", 1, 0600, &kind));
	for (unsigned i = 0; i < 100; i++)
		ck_assert(!ask("meanwhile", 1, 0600, &kind));
	ck_assert(ask("b", 2, 0600, &other));
	read_trials_answer(trials, kind, "a", -EACCES);
	read_trials_answer(trials, other, "b", 0);
	ck_assert(!ask("later", 1, 0600, &kind));
	ck_assert(!ask("later", 2, 0600, &other));
	ck_assert_uint_eq(notices_total(notices, NOTICE_UNREAD), 102);
	ck_assert_uint_eq(read_trials_kinds(trials), 2);
	end();
}
END_TEST

/* Somebody who has a file open says nothing of the next one; nor does one that is gone. */
START_TEST(busy_or_gone)
{
	uint64_t kind;

	begin();
	ck_assert(ask("a", 1, 0600, &kind));
	read_trials_answer(trials, kind, "a", -EBUSY);
	ck_assert(!ask("b", 1, 0600, &kind));
	ck_assert_uint_eq(notices_total(notices, NOTE_BUSY), 1);
	ck_assert_uint_eq(notices_total(notices, NOTICE_UNREAD), 0);
	ck_assert(ask("a", 2, 0600, &kind));
	read_trials_answer(trials, kind, "a", -ENOENT);
	ck_assert(ask("b", 2, 0600, &kind));
	read_trials_answer(trials, kind, "b", -EACCES);
	ck_assert_uint_eq(notices_total(notices, NOTICE_UNREAD), 1);
	end();
}
END_TEST

/* ACLs and descriptors make kinds of their own. */
START_TEST(kinds)
{
	const struct source_attr attr = {.mode = S_IFREG | 0644, .size = 1};
	struct source_xattrs *xattrs = source_xattrs_new();
	uint64_t kind;

	begin();
	ck_assert(read_trials_ask(trials, "a", &attr, NULL, &kind));
	source_xattrs_add(xattrs, "user.a", "1", 1);
	ck_assert(!read_trials_ask(trials, "a", &attr, xattrs, &kind));
	source_xattrs_add(xattrs, "system.posix_acl_access", "1234", 4);
	ck_assert(read_trials_ask(trials, "a", &attr, xattrs, &kind));
	xattrs->windows = source_windows_new();
	xattrs->windows->sd = g_memdup2("12345", 5);
	xattrs->windows->sd_len = 5;
	ck_assert(read_trials_ask(trials, "a", &attr, xattrs, &kind));
	source_xattrs_free(xattrs);
	end();
}
END_TEST

START_TEST(bounded)
{
	uint64_t kind;

	begin();
	for (uint32_t i = 0; i < READABLE_KINDS + 10; i++)
		ck_assert_int_eq(ask("a", i, 0600, &kind), i < READABLE_KINDS);
	ck_assert_uint_eq(read_trials_untried(trials), 10);
	end();
}
END_TEST

START_TEST(kept)
{
	g_autoptr(GKeyFile) state = g_key_file_new();
	uint64_t kind;

	begin();
	ask("a", 1, 0600, &kind);
	read_trials_answer(trials, kind, "a", -EACCES);
	ask("a", 2, 0600, &kind);
	read_trials_answer(trials, kind, "a", 0);
	ask("a", 3, 0600, &kind); /* no answer yet */
	read_trials_save(trials, state);
	end();
	begin();
	ck_assert(read_trials_load(trials, state));
	ck_assert(!ask("b", 1, 0600, &kind));
	ck_assert(!ask("b", 2, 0600, &kind));
	ck_assert(ask("b", 3, 0600, &kind));
	ck_assert_uint_eq(notices_total(notices, NOTICE_UNREAD), 1);
	end();
	begin();
	g_key_file_set_value(state, "readable", "kinds", "1:x;");
	ck_assert(!read_trials_load(trials, state));
	end();
}
END_TEST

static void ask_one(void *path)
{
	uint64_t kind;

	if (ask(path, 1, 0600, &kind))
		read_trials_answer(trials, kind, path, 0);
	ask(path, 3, 0600, &kind);
}

static void answer_one(void *path)
{
	uint64_t kind;

	if (ask(path, 2, 0600, &kind))
		read_trials_answer(trials, kind, path, -EACCES);
}

static void save_all(void *arg)
{
	g_autoptr(GKeyFile) state = g_key_file_new();

	read_trials_save(arg, state);
}

START_TEST(several_threads)
{
	begin();
	struct paired_call calls[] = {{ask_one, "a"}, {answer_one, "b"}, {save_all, trials}};
	call_in_pairs(calls, G_N_ELEMENTS(calls));
	end();
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {refused, busy_or_gone,	kinds, bounded,
				      kept,    several_threads, NULL};

	return run_made("read_trials", tests);
}
