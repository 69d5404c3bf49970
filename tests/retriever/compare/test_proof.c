/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/manifest/finding.h"
#include "retriever/compare/proof.h"
#include "retriever/volume/proof_place.h"
#include "tests/retriever/core_copied.h"
#include "tests/durable.h"

static struct core core;

static void begin(unsigned sample)
{
	const struct proof_how how = {.sample = sample, .seed = 1, .seeded = true};
	char *message = NULL;

	ck_assert_msg(proof_begin(core.retriever->proof, &how, &message) == 0, "%s", message);
}

static GKeyFile *ask(void)
{
	g_autofree char *text = proof_text(core.retriever->proof);
	GKeyFile *f = g_key_file_new();

	ck_assert(g_key_file_load_from_data(f, text, -1, G_KEY_FILE_NONE, NULL));
	return f;
}

static GKeyFile *await(void)
{
	while (proof_is_under_way(core.retriever->proof))
		sched_yield();
	return ask();
}

static guint64 number(GKeyFile *f, const char *key)
{
	return g_key_file_get_uint64(f, "proof", key, NULL);
}

static void is_state(GKeyFile *f, const char *state)
{
	g_autofree char *found = g_key_file_get_string(f, "proof", "state", NULL);

	ck_assert_str_eq(found, state);
}

/* The kinds of findings, with their paths. */
static char *findings(void)
{
	g_autofree char *text = proof_list(core.retriever->proof, 0);
	g_autoptr(GKeyFile) f = g_key_file_new();
	g_auto(GStrv) groups = NULL;
	GString *all = g_string_new(NULL);

	ck_assert(g_key_file_load_from_data(f, text, -1, G_KEY_FILE_NONE, NULL));
	groups = g_key_file_get_groups(f, NULL);
	for (char **group = groups; *group; group++) {
		if (!g_str_has_prefix(*group, "finding "))
			continue;
		g_autofree char *kind = g_key_file_get_string(f, *group, "kind", NULL);
		g_autofree char *path = g_key_file_get_string(f, *group, "path", NULL);

		g_string_append_printf(all, "%s %s\n", kind, path);
	}
	ck_assert_int_eq(g_key_file_get_int64(f, "list", "next", NULL), -1);
	return g_string_free(all, FALSE);
}

START_TEST(the_same)
{
	g_autoptr(GKeyFile) before = NULL, after = NULL;
	g_autofree char *list = NULL;
	int place;

	core_copied(&core, NULL);
	before = ask();
	is_state(before, "none");
	begin(100000);
	after = await();
	is_state(after, "through");
	place = proof_place_open(core.retriever);
	ck_assert_durable_in(place, "");
	ck_assert_durable_in(place, PROOF_ENTRIES);
	ck_assert_durable_in(place, PROOF_RUN);
	close(place);
	ck_assert_uint_eq(number(after, "objects"), 6);
	ck_assert_uint_eq(number(after, "same"), 6);
	ck_assert_uint_eq(number(after, "files-read"), 4);
	ck_assert_uint_eq(number(after, "bytes"), 10000 + 3 * MIB + 17);
	list = findings();
	ck_assert_str_eq(list, "");
	core_free(&core);
}
END_TEST

START_TEST(differences)
{
	g_autoptr(GKeyFile) after = NULL;
	g_autofree char *list = NULL;

	core_copied(&core, NULL);
	core_shell(&core, "chmod 600 $new/d; printf x >> $new/a; touch -r $old/a $new/a");
	begin(100000);
	after = await();
	ck_assert_uint_eq(number(after, "findings"), 2);
	ck_assert_uint_eq(number(after, "different"), 2);
	list = findings();
	ck_assert(strstr(list, "content a\n") && strstr(list, "attributes d\n"));
	core_free(&core);
}
END_TEST

/* A directory that cannot be listed is no proof, also where nothing else is wrong. */
START_TEST(unread)
{
	const struct fault_rule rule = {
		.ops = 1 << BACKEND_READDIR, .name = "d", .action = FAULT_ERROR, .status = -EACCES};
	g_autoptr(GKeyFile) after = NULL;
	g_autofree char *list = NULL;

	core_copied(&core, NULL);
	backend_fault_add(core.fault, &rule);
	begin(100000);
	after = await();
	is_state(after, "through");
	ck_assert_uint_eq(number(after, "findings"), 1);
	ck_assert_uint_eq(number(after, "failed"), 1);
	list = findings();
	ck_assert_str_eq(list, "unread d\n");
	core_free(&core);
}
END_TEST

/* What was stopped goes on, also in another retriever; with another sample it begins anew. */
START_TEST(goes_on)
{
	g_autoptr(GKeyFile) stopped = NULL, after = NULL, other = NULL;

	core_copied(&core, NULL);
	gate_pause(core.retriever->gate, true);
	begin(100000);
	proof_stop(core.retriever->proof);
	stopped = await();
	is_state(stopped, "stopped");
	ck_assert_uint_eq(number(stopped, "number"), 1);
	core_restart(&core);
	begin(100000);
	after = await();
	is_state(after, "through");
	ck_assert_uint_eq(number(after, "number"), 1);
	ck_assert_uint_eq(number(after, "objects"), 6);
	gate_pause(core.retriever->gate, true);
	begin(100000);
	proof_stop(core.retriever->proof);
	g_key_file_unref(await());
	gate_pause(core.retriever->gate, false);
	begin(50000);
	other = await();
	ck_assert_uint_eq(number(other, "number"), 3);
	ck_assert_uint_eq(number(other, "sample"), 50000);
	ck_assert_uint_eq(number(other, "same") + number(other, "not-sampled"), 6);
	core_free(&core);
}
END_TEST

/* A retriever that is closed does not wait for the run's end. */
START_TEST(closed_meanwhile)
{
	core_copied(&core, NULL);
	gate_pause(core.retriever->gate, true);
	begin(100000);
	core_free(&core);
}
END_TEST

START_TEST(refused)
{
	const struct proof_how how = {.sample = 100000};
	g_autofree char *message = NULL;

	core_make(&core);
	core_open(&core);
	ck_assert_int_eq(proof_begin(core.retriever->proof, &how, &message), -EINVAL);
	ck_assert_ptr_nonnull(message);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("proof", 60);

	tcase_add_test(tcase, the_same);
	tcase_add_test(tcase, differences);
	tcase_add_test(tcase, unread);
	tcase_add_test(tcase, goes_on);
	tcase_add_test(tcase, closed_meanwhile);
	tcase_add_test(tcase, refused);
	return run_tcase(tcase);
}
