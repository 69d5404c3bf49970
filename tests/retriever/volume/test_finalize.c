/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sched.h>
#include <sys/mount.h>

#include "lib/config/attached.h"
#include "retriever/volume/attach.h"
#include "retriever/volume/copy.h"
#include "tests/retriever/core_directory.h"
#include "tests/durable.h"

START_TEST(from_attach_to_the_end)
{
	g_autofree char *private = NULL;
	struct stat before, after;
	int root, d;

	core_make(&core);
	core_source_file(&core, "f", 10000, 1);
	core_source_file(&core, "d/g", 20000, 2);
	core_open(&core);
	core_run(&core);
	core_connect(&core);
	core_expect_answer(&core, "status", "state=unattached");
	core_expect_answer(&core, "finalize", "-22 ");
	core_expect_answer(&core, "attach", "0 ");
	core_expect_answer(&core, "attach", "-114 ");
	core_expect_answer(&core, "status", "state=migrating");
	core_expect_answer(&core, "verify", "unfinished=1\n");
	core_expect_answer(&core, "finalize", "-16 ");
	root = core_root(&core);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(make_whole(d), 0);
	ck_assert_int_eq(make_whole(root), 0);
	ck_assert_int_eq(core_state(root), MIGRATE_NORMAL);
	core_expect_answer(&core, "status", "state=whole");
	core_expect_answer(&core, "status", "files-found=2\n");
	core_expect_answer(&core, "status", "files-whole=2\n");
	core_expect_answer(&core, "status", "bytes-whole=30000\n");
	core_expect_answer(&core, "verify", "unfinished=0\n");
	ck_assert_int_eq(fstat(root, &before), 0);
	core_expect_answer(&core, "finalize", "0 ");
	ck_assert_int_eq(fstat(root, &after), 0);
	ck_assert_int_eq(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
	ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	ck_assert_durable(core.root); /* else the private directory comes back */
	private = core_path(&core, MIGRATE_PRIVATE_DIR);
	ck_assert_int_eq(access(private, F_OK), -1);
	core_expect_answer(&core, "status", "state=finished");
	core_expect_answer(&core, "finalize", "0 "); /* of which no answer came */
	core_expect_answer(&core, "attach", "-39 ");
	core_restart(&core);
	core_expect_answer(&core, "status", "state=finished");
	close(root);
	core_free(&core);
}
END_TEST

#define NOTE REPORT_DIR "/test.attached"

/* A /var/lib of its own. */
static void make_noted(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("none", "/var/lib", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(mkdir(REPORT_DIR, 0755), 0);
	core_make(&core);
	core.installed = true;
}

static char *noted_last; /* when .migrate is gone */

static void read_note(const char *call, int fd, bool after)
{
	g_autofree char *private = core_path(&core, MIGRATE_PRIVATE_DIR);

	if (!noted_last && !strcmp(call, "futimens") && access(private, F_OK) < 0)
		ck_assert(g_file_get_contents(NOTE, &noted_last, NULL, NULL));
}

/* From attach to finalize, and again where it was lost.  What a kill leaves of it counts for
 * nothing, and goes. */
START_TEST(the_note_of_the_root)
{
	g_autofree char *noted = NULL, *again = NULL, *finished = NULL, *left = NULL, *ends = NULL;
	int root;

	make_noted();
	core_start(&core);
	noted = attached_root("test");
	ck_assert_pstr_eq(noted, core.root);
	ck_assert_int_eq(unlink(NOTE), 0);
	core_restart(&core);
	again = attached_root("test");
	ck_assert_pstr_eq(again, core.root);
	root = core_root(&core);
	ck_assert_int_eq(make_whole(root), 0);
	atomic_store(&core_hook, read_note);
	core_expect_answer(&core, "finalize", "0 ");
	atomic_store(&core_hook, NULL);
	finished = attached_root("test");
	ck_assert_ptr_null(finished);
	ck_assert_int_eq(access(NOTE, F_OK), -1);
	close(root);

	ends = g_strconcat(core.root, "\nends\n", NULL);
	ck_assert_pstr_eq(noted_last, ends);
	ck_assert(g_file_set_contents(NOTE, ends, -1, NULL));
	left = attached_root("test");
	ck_assert_ptr_null(left);
	core_restart(&core);
	ck_assert_int_eq(access(NOTE, F_OK), -1);
	g_free(noted_last);
	core_free(&core);
}
END_TEST

static void expect_refused(const char *text)
{
	g_autofree char *message = NULL;

	for (int way = 0; way < 3; way++) {
		struct attach how = {.adopt = way};

		g_clear_pointer(&message, g_free);
		ck_assert_int_eq(way < 2 ? attach_volume(core.retriever, &how, &message)
					 : copy_begin(core.retriever, false, &message),
				 -ENODEV);
		ck_assert_msg(strstr(message, text), "%s", message);
		ck_assert_ptr_null(strchr(message, '\n'));
	}
}

/* A file in the bare directory, and the report of a volume that had the name before: the root is
 * no finished one of this note. */
START_TEST(not_mounted_with_an_old_report)
{
	g_autofree char *line = NULL, *stray = NULL, *kept = NULL, *report = NULL, *noted = NULL;

	make_noted();
	line = g_strconcat(core.root, "\n", NULL);
	stray = core_path(&core, "stray");
	kept = g_build_filename(core.dir, "kept", NULL);
	report = g_build_filename(kept, "report", NULL);
	ck_assert_int_eq(mkdir(kept, 0700), 0);
	ck_assert(g_file_set_contents(NOTE, line, -1, NULL));
	ck_assert(g_file_set_contents(stray, "", -1, NULL));
	ck_assert(g_file_set_contents(report, "", -1, NULL));
	core_open(&core);
	core_run(&core);
	core_connect(&core);
	core_expect_answer(&core, "status", "state=finished");
	noted = attached_root("test");
	ck_assert_pstr_eq(noted, core.root);
	core_free(&core);
}
END_TEST

/* Nothing is attached, nor copied, over the empty directory of one whose file system is not
 * mounted, or was made anew; the note stays, and says where. */
START_TEST(what_is_not_mounted)
{
	g_autofree char *line = NULL, *text = NULL, *noted = NULL;

	make_noted();
	line = g_strconcat(core.root, "\n", NULL);
	ck_assert(g_file_set_contents(NOTE, line, -1, NULL));
	core_open(&core);
	text = g_strconcat(core.root,
			   ": the volume test was attached there, is not finished, and is not "
			   "there now, on the file system that is mounted at ",
			   NULL);
	expect_refused(text);
	ck_assert_int_eq(mount("none", core.root, "tmpfs", 0, NULL), 0);
	g_free(text);
	text = g_strconcat("is mounted at ", core.root, ": mount its own", NULL);
	expect_refused(text);
	expect_refused("if that was made anew, and there is no such volume any more: rm " NOTE
		       ", then attach again");
	ck_assert_int_eq(umount(core.root), 0);
	noted = attached_root("test");
	ck_assert_pstr_eq(noted, core.root);
	core_close(&core);
	ck_assert(g_file_set_contents(NOTE, "/srv/before\n", -1, NULL));
	core_open(&core);
	expect_refused("the volume test was attached in /srv/before, and is not finished");
	ck_assert_int_eq(unlink(NOTE), 0);
	core_close(&core);
	core_start(&core);
	core_free(&core);
}
END_TEST

static unsigned failures; /* of syncfs, that come next */

static void fail_syncfs(const char *call, int fd, bool after)
{
	if (!after && !strcmp(call, "syncfs"))
		core_fail_sync = failures && failures-- ? "syncfs" : NULL;
}

/* An old failure is no reason not to end; one that comes now is. */
START_TEST(what_could_not_be_written)
{
	int root;

	core_make(&core);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(make_whole(root), 0);
	failures = 2;
	atomic_store(&core_hook, fail_syncfs);
	core_expect_answer(&core, "finalize", "-5 ");
	failures = 1;
	core_expect_answer(&core, "finalize", "0 ");
	close(root);
	core_free(&core);
}
END_TEST

/* Without a place for the report the volume does not end. */
START_TEST(i12_the_report_is_kept)
{
	g_autofree char *report = NULL, *text = NULL;
	int root;

	core_make(&core);
	core_source_file(&core, "f", 0, 1);
	core.map_users = g_strdup("1:0"); /* and the owner is 0 */
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	ck_assert_int_eq(core_finish(&core, root), 0);
	report = g_strconcat(core.dir, "/kept", NULL);
	ck_assert(g_file_set_contents(report, "", 0, NULL)); /* where the directory is to be */
	core_expect_answer(&core, "finalize", "set \"report\" in the configuration");
	ck_assert_int_eq(faccessat(root, MIGRATE_PRIVATE_DIR, F_OK, 0), 0);
	ck_assert_int_eq(unlink(report), 0);
	core_expect_answer(&core, "finalize", "losses=2");
	ck_assert_int_eq(faccessat(root, MIGRATE_PRIVATE_DIR, F_OK, 0), -1);
	g_free(report);
	report = g_strconcat(core.dir, "/kept/report", NULL);
	ck_assert(g_file_get_contents(report, &text, NULL, NULL));
	ck_assert_ptr_nonnull(strstr(text, "owner\t"));
	ck_assert_ptr_nonnull(strstr(text, "carried\tacls\t0\n"));
	ck_assert_ptr_nonnull(strstr(text, "volume\t\t"));
	core_expect_answer(&core, "report", report);
	close(root);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("finalize", 60);

	tcase_add_test(tcase, from_attach_to_the_end);
	tcase_add_test(tcase, the_note_of_the_root);
	tcase_add_test(tcase, not_mounted_with_an_old_report);
	tcase_add_test(tcase, what_is_not_mounted);
	tcase_add_test(tcase, what_could_not_be_written);
	tcase_add_test(tcase, i12_the_report_is_kept);
	return run_tcase(tcase);
}
