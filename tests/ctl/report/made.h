/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report of a volume that is made up, in a directory of its own. */
#ifndef TESTS_CTL_REPORT_MADE_H
#define TESTS_CTL_REPORT_MADE_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/report/final.h"
#include "ctl/report/make.h"
#include "lib/report/manifest/sorter.h"
#include "retriever/progress/history.h"
#include "tests/suite.h"

#define HOSTILE "d/<script>alert(1)</script>\"'&\n\x1b[2J\xff"

static char made_dir[64];

static inline void made_begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	make_scratch(made_dir, "report");
}

static inline void made_end(void)
{
	g_autofree char *command = g_strconcat("rm -rf --one-file-system ", made_dir, NULL);

	ck_assert_int_eq(system(command), 0);
}

/* In the directory.  g_free. */
static inline char *made_path(const char *name)
{
	return g_build_filename(made_dir, name, NULL);
}

static inline void made_run(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* A command of the shell, there. */
static inline void made_run(const char *format, ...)
{
	g_autofree char *command = NULL, *whole = NULL;
	va_list args;

	va_start(args, format);
	command = g_strdup_vprintf(format, args);
	va_end(args);
	whole = g_strdup_printf("cd %s && %s", made_dir, command);
	ck_assert_int_eq(system(whole), 0);
}

static inline struct final *made_final(void)
{
	struct final *final = final_new(made_dir, NULL);
	struct history_point point = {1700000000, 1, 0, 10, 0};

	ck_assert_ptr_nonnull(final);
	final->volume = g_strdup("v");
	final->root = g_strdup("/srv/<v>");
	final->source = g_strdup("nfs://old/<b>");
	final->server = g_strdup("new");
	final->version = g_strdup("1");
	final->state = g_strdup("whole");
	final->made = 1700000000;
	final->comparison = (struct final_comparison){
		.any = true, .began = 1600000000, .ended = 1600000100, .sample = 100000};
	final->comparison.told_by = g_strdup("journal");
	final->history = history_new();
	for (unsigned i = 0; i < 5; i++) {
		point.time += 60;
		point.objects_found += 10;
		point.bytes_whole += 2;
		history_add(final->history, &point);
	}
	final_add(final, FINAL_LOST, HOSTILE, "xattr: <img src=x>");
	return final;
}

static inline void made_entry(struct proof_sorter *sorter, const char *path, mode_t mode,
			      enum proof_status status)
{
	struct proof_entry entry = {
		.path = (char *)path, .mode = mode, .nlink = 1, .status = status};
	GString *line = g_string_new(NULL);

	proof_entry_format(line, &entry);
	ck_assert(proof_sorter_add(sorter, line->str, line->len, NULL));
	g_string_free(line, TRUE);
}

static inline struct proof_sorter *made_sorter(struct final *final)
{
	struct proof_sorter *sorter = proof_sorter_new(made_dir, NULL);
	uint64_t *status = final->comparison.status;

	made_entry(sorter, "", S_IFDIR | 0755, PROOF_SAME);
	made_entry(sorter, HOSTILE, S_IFREG | 0644, PROOF_LOST);
	made_entry(sorter, "d", S_IFDIR | 0755, PROOF_SAME);
	made_entry(sorter, "mine", S_IFREG | 0600, PROOF_MADE);
	made_entry(sorter, "gone", S_IFREG | 0600, PROOF_REMOVED);
	status[PROOF_SAME] = 2;
	status[PROOF_LOST] = status[PROOF_MADE] = status[PROOF_REMOVED] = 1;
	return sorter;
}

/* Makes the files, signed by key or not. */
static inline void made_report(const char *key)
{
	struct final *final = made_final();
	struct proof_sorter *sorter = made_sorter(final);
	int dir = open(made_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_autoptr(GError) error = NULL;

	report_make(final, dir, sorter, key, &error);
	ck_assert_msg(!error, "%s", error ? error->message : "");
	close(dir);
	proof_sorter_free(sorter);
	final_free(final);
}

static inline int run_made(const char *name, const TTest *const *tests)
{
	TCase *tcase = tcase_create(name);

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, made_begin, made_end);
	for (; *tests; tests++)
		tcase_add_test(tcase, *tests);
	return run_tcase(tcase);
}

#endif
