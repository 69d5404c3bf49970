/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/doctor/bundle.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/ctl/doctor/told.h"

#define SECRET "Kuckucksuhr"

static char tree[64];

static char *put_bundle(const char *name, const char *text)
{
	char *path = g_build_filename(tree, name, NULL);

	if (text)
		ck_assert(g_file_set_contents(path, text, -1, NULL));
	return path;
}

START_TEST(only_words_of_programs_are_kept)
{
	make_scratch(tree, "bundle");
	g_autofree char *program =
		put_bundle("program", "x\n%s: the old server refuses it: %s; see there\n"
				      "migrating\nnamespace-first\n");
	const char *const programs[] = {program, "/nonexistent", NULL};
	g_autoptr(GHashTable) words = bundle_words(programs);
	const struct {
		const char *text, *shown;
	} rows[] = {{"/srv/" SECRET "/My old plan.odt: the old server refuses it: no; see there",
		     "# the old server refuses it: # see there"},
		    {"the old " SECRET, "the old #"},
		    {SECRET ": the server", "#"},
		    {"server", "#"},
		    {"migrating", "#"},
		    {"12.5", "12.5"},
		    {"-3", "-3"},
		    {"192.0.2.17", "#"},
		    {"10.0.0", "#"},
		    {"2001:db8::17", "#"},
		    {"2001-12-24", "#"},
		    {"", ""},
		    {"see  there", "#"},
		    {"/the old/ server", "#"}};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *shown = bundle_text(words, rows[i].text);

		ck_assert_str_eq(shown, rows[i].shown);
	}
	unlink(program);
	/* a string of one word, as values are */
	program[strlen(program) - 1] = 'M';
	ck_assert(g_file_set_contents(program, "\0migrating\0old server\0", 22, NULL));
	g_autoptr(GHashTable) values = bundle_words(programs);
	g_autofree char *state = bundle_text(values, "migrating"),
			*half = bundle_text(values, "old");
	ck_assert_str_eq(state, "migrating");
	ck_assert_str_eq(half, "#");
	unlink(program);
	rmdir(tree);
}
END_TEST

/* The log line's of that second. */
static char *number_of_hidden(const char *text, int second)
{
	g_autofree char *line =
		g_strdup_printf("01:02:%02d+0000 migrate-retriever[7]: # (", second);
	const char *at = strstr(text, line);

	ck_assert_msg(at != NULL, "%s", text);
	at += strlen(line);
	return g_strndup(at, strcspn(at, ")"));
}

/* Names, hosts, users and what is in a log are not in it; numbers and the volume's name are. */
START_TEST(a_bundle_has_no_secrets)
{
	make_scratch(tree, "bundle");
	g_autofree char *config = put_bundle(
		"conf", "\357\273\277[defaults]\nhold-ms = 700\n[volume v]\nroot = /srv/" SECRET
			"\nsource = smb://" SECRET "@" SECRET ".example/" SECRET
			"\nsmb-password-file = /root/" SECRET "\nsmb-domain = " SECRET "\n");
	g_autofree char *log = put_bundle(
		"journalctl",
		"#!/bin/sh\necho '2026-11-30T01:02:03+0000 migrate-retriever[7]: /srv/" SECRET
		"/a " SECRET " b: does not answer within 5 s'\n"
		"echo '                         " SECRET " [1]: does not answer'\n"
		"echo '2026-11-30T01:02:04+0000 migrate-retriever[7]: hidden'\n"
		"echo '2026-11-30T01:02:05+0000 migrate-retriever[7]: hidden'\n");
	g_autofree char *path = g_strconcat(tree, ":", g_getenv("PATH"), NULL);
	g_autofree char *file = put_bundle("b.tar.gz", NULL);
	g_autoptr(GError) error = NULL;

	ck_assert_int_eq(chmod(log, 0755), 0);
	g_setenv("PATH", path, TRUE);
	begin_doctor("[volume]\nname=v\nsource=smb://" SECRET "\n[counters]\nerrors=2609\n"
		     "[journal]\nunread-path=" SECRET " and " SECRET "\n");
	findings_add(doctor.findings, FINDING_FAULT, "Mount", "mount " SECRET, "/srv/%s: gone",
		     SECRET);
	ck_assert(bundle_write(file, &doctor, config,
			       "Id=migrate-guard@v.service\nRequiresMountsFor=/srv/" SECRET "\n",
			       &error));
	g_autofree char *text = FINDING_ASK("tar", "-xzOf", file);
	for (const char *const *wanted =
		     (const char *const[]){"hold-ms=700", "source=smb://#", "errors=2609",
					   "fault Mount: #", "migrate-retriever[7]: #",
					   "Id=migrate-guard@v", "[volume v]", "kernel: Linux",
					   NULL};
	     *wanted; wanted++)
		ck_assert_msg(strstr(text, *wanted) != NULL, "%s: %s", *wanted, text);
	ck_assert_ptr_null(strstr(text, SECRET));
	ck_assert_ptr_null(strstr(text, "example"));
	struct stat st;
	ck_assert_int_eq(stat(file, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert(!bundle_write(file, &doctor, config, NULL, &error)); /* which is there */
	ck_assert_str_eq(strrchr(error->message, ':'), ": File exists");
	/* equal lines have equal numbers there, and others in another bundle */
	g_autofree char *number = number_of_hidden(text, 4), *equal = number_of_hidden(text, 5);
	ck_assert_str_eq(number, equal);
	unlink(file);
	g_clear_error(&error);
	ck_assert(bundle_write(file, &doctor, config, NULL, &error));
	g_autofree char *second = FINDING_ASK("tar", "-xzOf", file);
	g_autofree char *other = number_of_hidden(second, 4);
	ck_assert_str_ne(number, other);
	end_doctor("fault    Mount\n");
	unlink(config);
	unlink(log);
	unlink(file);
	rmdir(tree);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("bundle");

	tcase_add_test(tcase, only_words_of_programs_are_kept);
	tcase_add_test(tcase, a_bundle_has_no_secrets);
	return run_tcase(tcase);
}
