/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the check programs of names that are given up share. */
#ifndef TESTS_RETRIEVER_CORE_SKIP_H
#define TESTS_RETRIEVER_CORE_SKIP_H

#include "tests/retriever/core_copy.h"

#include "lib/report/losses.h"
#include "retriever/volume/skip.h"

static inline char *asks(const char *what, const char *name)
{
	return g_strconcat("skip ", what, " ", core.root, "/d", name, NULL);
}

/* The answer to "skip WHAT ROOT/dNAME" contains part. */
static inline void skips(const char *what, const char *name, const char *part)
{
	g_autofree char *command = asks(what, name);

	core_expect_answer(&core, command, part);
}

static inline char *report_text(void)
{
	g_autofree char *path =
		g_strconcat(core.root, "/" MIGRATE_PRIVATE_DIR "/" LOSSES_FILE, NULL);
	char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? text : g_strdup("");
}

/* How often ROOT/dNAME is in the report. */
static inline unsigned reported(const char *name)
{
	g_autofree char *text = report_text();
	g_autofree char *escaped = g_strescape(name, NULL);
	g_autofree char *line = g_strconcat("name\t", core.root, "/d", escaped, "\t", NULL);
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, line)); at++)
		n++;
	return n;
}

static unsigned refusal; /* the rule */

static inline unsigned refuse(unsigned n)
{
	return refusal = backend_fault_add(
		       core.fault,
		       &(struct fault_rule){.ops = LISTS, .action = FAULT_REFUSE, .count = n});
}

/* A directory "d" with n files and as many refused names. */
static inline int begin_refused(unsigned n)
{
	int fd = begin(n);

	refuse(n);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	return fd;
}

static inline void expect_unfilled(int fd, unsigned errors)
{
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_uint_eq(errors_count(core.retriever->errors), errors);
	core_expect_answer(&core, "status", "names-skipped=0\n");
	ck_assert_int_lt(core_finish(&core, fd), 0);
}

static inline void expect_filled(int fd, unsigned names)
{
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	ck_assert_uint_eq(count_names(fd), names);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
}

static inline int begin_carrying(unsigned n)
{
	core_make(&core);
	core_carry(&core);
	make_files("d", n);
	core_start(&core);
	return core_find(&core, "d", O_RDONLY | O_DIRECTORY);
}

static inline unsigned fails_so_often(const char *name, int status, unsigned times)
{
	return backend_fault_add(core.fault, &(struct fault_rule){.ops = XATTRS,
								  .name = name,
								  .action = FAULT_ERROR,
								  .status = status,
								  .times = times});
}

static inline unsigned fails(const char *name, int status)
{
	return fails_so_often(name, status, 0);
}

#endif
