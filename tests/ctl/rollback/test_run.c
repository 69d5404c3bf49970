/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "tests/ctl/rollback/trees.h"

#define NOTED_ROOT "/mnt/test.rollback/root"

/* The linker wraps these. */
static bool watched, dies_in_plan, dies_in_carry, stops_in_carry;
static unsigned scans, syncs;

bool __real_journal_settle(struct journal_reader *reader, bool scan, int timeout_ms,
			   GError **error);
bool __wrap_journal_settle(struct journal_reader *reader, bool scan, int timeout_ms,
			   GError **error);
bool __wrap_journal_settle(struct journal_reader *reader, bool scan, int timeout_ms, GError **error)
{
	scans += scan;
	return watched || __real_journal_settle(reader, scan, timeout_ms, error);
}

int __real_target_sync(struct target *target);
int __wrap_target_sync(struct target *target);
int __wrap_target_sync(struct target *target)
{
	syncs++;
	return __real_target_sync(target);
}

bool __real_plan_make(struct tree *tree, struct plan *plan, GError **error);
bool __wrap_plan_make(struct tree *tree, struct plan *plan, GError **error);
bool __wrap_plan_make(struct tree *tree, struct plan *plan, GError **error)
{
	if (dies_in_plan)
		raise(SIGKILL);
	return __real_plan_make(tree, plan, error);
}

bool __real_carry_out(struct tree *tree, const bool *stop, struct carry_result *result,
		      GError **error);
bool __wrap_carry_out(struct tree *tree, const bool *stop, struct carry_result *result,
		      GError **error);
bool __wrap_carry_out(struct tree *tree, const bool *stop, struct carry_result *result,
		      GError **error)
{
	stop_now = stops_in_carry;
	const bool done = __real_carry_out(tree, stop, result, error);

	if (dies_in_carry)
		raise(SIGKILL);
	return done;
}

static struct volume_config config = {.name = (char *)"test",
				      .root = (char *)NEW_TREE,
				      .source = (char *)"file:///mnt/old",
				      .journal = (char *)"/mnt/journal",
				      .report = (char *)"/mnt/test.report",
				      .socket = (char *)"/mnt/none.sock"};

static void refuses(const char *to, const char *why)
{
	const struct rollback_options options = {.to = to, .stop = &stop_now};
	struct rollback_result result;
	GError *error = NULL;

	ck_assert(!rollback_run(&config, &options, &result, &error));
	ck_assert_msg(strstr(error->message, why) != NULL, "%s", error->message);
	g_error_free(error);
	rollback_clear(&result);
}

START_TEST(refused)
{
	trees_make(FILL);
	trees_commit();
	journal_store_close(journal);
	refuses(NULL, "rollback-source");
	refuses(NEW_TREE, "apart");
	refuses(OLD_TREE, "migrate-journal"); /* nobody watches */
	config.source = (char *)"smb://host/share";
	refuses(OLD_TREE, "written as it was read");
	config.source = (char *)"smb://Reader@host/share";
	refuses("smb://reader@host/share", "who is to have no write rights");
	config.source = (char *)"file:///mnt/old";
	refuses("smb://writer@host/share", "written as it was read");
	config.journal = (char *)"/mnt/none";
	refuses(OLD_TREE, "/mnt/none");
	g_autofree char *dir = rollback_directory(&config);
	ck_assert_str_eq(dir, "/mnt/test.rollback");
}
END_TEST

static void go(bool plan, unsigned conflicts)
{
	const struct rollback_options options = {.to = OLD_TREE, .plan = plan, .stop = &stop_now};
	struct rollback_result result;
	GError *error = NULL;

	ck_assert_msg(rollback_run(&config, &options, &result, &error), "%s",
		      error ? error->message : "");
	if (result.conflicts->len != conflicts)
		show(result.conflicts);
	ck_assert_uint_eq(result.conflicts->len, conflicts);
	rollback_clear(&result);
}

/* dies: in which it is killed; NULL: it is not. */
static void run(bool plan, unsigned conflicts, bool *dies)
{
	int status;

	trees_commit();
	journal_store_close(journal);
	if (!dies) {
		go(plan, conflicts);
		open_store();
		return;
	}
	const pid_t pid = fork();
	if (!pid) {
		*dies = true;
		go(plan, conflicts);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	open_store();
}

/* Both change the attributes of the root, each of his own. */
static void change_roots(const char *mode)
{
	g_autofree char *command = g_strdup_printf("chmod %s .", mode);

	wait_for_clocks();
	sh("setfacl -m u:7:rx " OLD_TREE);
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, command);
}

static void begin_run(void)
{
	trees_make(FILL);
	watched = true;
	change("a/2", JOURNAL_DATA, "echo more >>a/2");
	run(false, 0, NULL);
}

/* What is somebody's in TARGET_STAGE keeps that there. */
START_TEST(i12_root_after_one_that_could_not_begin)
{
	begin_run();
	sh("mkdir " OLD_TREE "/" TARGET_STAGE " && echo his >" OLD_TREE "/" TARGET_STAGE "/his");
	change("a/3", JOURNAL_DATA, "echo more >>a/3");
	run(false, 1, NULL);
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 751 . " OLD_TREE);
	run(false, 1, NULL);
	sh("mount -o remount,nr_inodes=$(($(stat -f -c %%c-%%d " OLD_TREE "))) " OLD_TREE);
	refuses(OLD_TREE, "cannot be written");
	sh("mount -o remount,nr_inodes=1000 " OLD_TREE);
	change_roots("711");
	run(false, 2, NULL);
	sh("getfacl -np " OLD_TREE " | grep -q user:7:");
}
END_TEST

/* As long as nothing was changed there the ctime tells others' changes. */
START_TEST(i12_root_after_one_that_was_killed)
{
	begin_run();
	for (unsigned i = 0; i < 2; i++) {
		change("a/3", JOURNAL_DATA, "echo more >>a/3");
		run(!_i, 0, &dies_in_plan);
		change(".", JOURNAL_META | JOURNAL_DIRECTORY, i ? "chmod 750 ." : "chmod 751 .");
		run(false, 0, NULL);
	}
	run(!_i, 0, &dies_in_plan);
	change_roots("711");
	run(false, 1, NULL);
	sh("getfacl -np " OLD_TREE " | grep -q user:7:");
}
END_TEST

START_TEST(root_after_one_that_was_killed_at_work)
{
	begin_run();
	make("new", "echo new >new");
	run(false, 0, &dies_in_carry);
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 711 .");
	run(true, 0, NULL);
	run(false, 0, NULL);
	same_trees();
}
END_TEST

static int64_t ctime_there(void)
{
	struct stat st;

	ck_assert_int_eq(stat(OLD_TREE, &st), 0);
	return migrate_ns(st.st_ctim);
}

/* What is noted: where a power cut may leave it. */
static void noted_root(int64_t *id, int64_t *ctime, int64_t *before)
{
	g_autofree char *text = NULL;

	ck_assert(g_file_get_contents(NOTED_ROOT, &text, NULL, NULL));
	const int numbers = sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64, id, ctime, before);
	ck_assert_int_ge(numbers, 2);
	if (numbers == 2)
		*before = *ctime;
}

static void put_noted_root(int64_t id, int64_t ctime, int64_t before)
{
	g_autofree char *text =
		g_strdup_printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", id, ctime, before);

	ck_assert(g_file_set_contents(NOTED_ROOT, text, -1, NULL));
}

/* It lost what was done to TARGET_STAGE last: before the work, or after it. */
START_TEST(i12_root_after_a_power_cut)
{
	int64_t id, ctime, before, was;

	begin_run();
	noted_root(&id, &ctime, &before);
	ck_assert_int_eq(ctime, ctime_there());
	ck_assert_int_le(before, ctime);
	was = ctime;
	change("a/3", JOURNAL_DATA, "echo more >>a/3");
	wait_for_clocks();
	run(false, 0, &dies_in_plan);
	noted_root(&id, &ctime, &before);
	ck_assert_int_eq(ctime, ctime_there());
	ck_assert_int_eq(before, was);
	ck_assert_int_lt(was, ctime);
	put_noted_root(id, ctime + 1, ctime);
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 711 .");
	run(false, 0, NULL);
	noted_root(&id, &ctime, &before);
	put_noted_root(id, ctime + 1, ctime - 1);
	change_roots("751");
	run(false, 1, NULL);
}
END_TEST

/* What is done to TARGET_STAGE is not durable until a run has carried something. */
START_TEST(i12_root_after_a_cut_in_a_plan)
{
	g_autofree char *durable = NULL, *text = NULL, *noted = NULL;
	int64_t id, ctime, before;

	begin_run();
	noted_root(&id, &ctime, &before);
	durable = g_strdup_printf(" %" PRId64, before);
	change("a/3", JOURNAL_DATA, "echo more >>a/3");
	for (unsigned i = 0; i < 2; i++) {
		wait_for_clocks();
		run(true, 0, NULL);
	}
	wait_for_clocks();
	run(false, 0, &dies_in_plan);
	ck_assert(g_file_get_contents(NOTED_ROOT, &text, NULL, NULL));
	ck_assert_msg(strstr(text, durable) != NULL, "%s", text);
	/* it is set back to the earliest of them */
	noted = g_strdup_printf("%" PRId64 " 4 3 2 %" PRId64 "\n", id, ctime_there());
	ck_assert(g_file_set_contents(NOTED_ROOT, noted, -1, NULL));
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 711 .");
	run(false, 0, NULL);
	g_free(g_steal_pointer(&text));
	ck_assert(g_file_get_contents(NOTED_ROOT, &text, NULL, NULL));
	ck_assert_msg(strstr(text, " 4 ") == NULL, "%s", text);
	change_roots("751");
	run(false, 1, NULL);
}
END_TEST

/* What the first has done is durable before the second one lets its note go. */
START_TEST(i12_root_after_two_that_were_killed)
{
	begin_run();
	make("new", "echo new >new");
	run(false, 0, &dies_in_carry);
	syncs = 0;
	run(true, 0, NULL);
	ck_assert_uint_eq(syncs, 1);
	run(true, 0, NULL);
	ck_assert_uint_eq(syncs, 1);
}
END_TEST

/* What it has done is durable before the note says where it ended. */
START_TEST(i12_root_after_one_that_was_stopped)
{
	begin_run();
	make("new", "echo new >new");
	syncs = 0;
	stops_in_carry = true;
	run(false, 0, NULL);
	stops_in_carry = stop_now = false;
	ck_assert_uint_eq(syncs, 1);
	run(false, 0, NULL);
	same_trees();
}
END_TEST

/* Nothing is known of it. */
START_TEST(root_after_another_tree)
{
	begin_run();
	sh("mkdir /mnt/kept && mount --move " OLD_TREE
	   " /mnt/kept && mount -t tmpfs tmpfs " OLD_TREE " && mkdir " OLD_TREE "/unlike");
	refuses(OLD_TREE, "not the tree");
	sh("umount " OLD_TREE " && mount --move /mnt/kept " OLD_TREE);
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 711 .");
	run(false, 0, NULL);
}
END_TEST

/* What tells of its end is not told of what the retriever removes. */
START_TEST(vanished)
{
	begin_run();
	change("a/3", JOURNAL_DATA, "echo more >>a/3");
	run(false, 0, NULL);
	ck_assert_uint_eq(scans, 1);
	const struct migrate_binding handle = handle_of("a/4");
	journal_store_touch(journal, &handle, JOURNAL_DATA, NULL);
	sh("rm " NEW_TREE "/a/4");
	run(false, 1, NULL);
	ck_assert_uint_eq(scans, 1);
	journal_store_gone(journal, &handle);
	run(false, 0, NULL);
	ck_assert_uint_eq(scans, 2);
	run(false, 0, NULL);
	ck_assert_uint_eq(scans, 2);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, i12_root_after_one_that_could_not_begin);
	tcase_add_loop_test(tcase, i12_root_after_one_that_was_killed, 0, 2); /* the first a plan */
	tcase_add_test(tcase, root_after_one_that_was_killed_at_work);
	tcase_add_test(tcase, i12_root_after_a_power_cut);
	tcase_add_test(tcase, i12_root_after_a_cut_in_a_plan);
	tcase_add_test(tcase, i12_root_after_two_that_were_killed);
	tcase_add_test(tcase, i12_root_after_one_that_was_stopped);
	tcase_add_test(tcase, root_after_another_tree);
	tcase_add_test(tcase, vanished);
	return run_tcase(tcase);
}
