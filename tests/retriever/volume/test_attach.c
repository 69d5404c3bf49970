/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From attach to the end. */
#include "tests/retriever/core_copy.h"

#include "retriever/copies/prior.h"
#include "retriever/names/fill_state.h"
#include "tests/durable.h"

START_TEST(attach_needs_an_empty_directory)
{
	g_autofree char *path = NULL, *message = NULL;
	struct stat st;

	core_make(&core);
	core_source_file(&core, "f", 10000, 1);
	path = core_path(&core, "mine");
	ck_assert_int_eq(mkdir(path, 0755), 0);
	core_open(&core);
	ck_assert_int_eq(attach_volume(core.retriever, &(struct attach){0}, &message), -ENOTEMPTY);
	ck_assert_int_eq(stat(path, &st), 0);
	core_free(&core);
}
END_TEST

/* Killed before every step of attach: afterwards it is attached, or can be. */
START_TEST(killed_while_attaching)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		int fd;

		core_make(&core);
		core_source_file(&core, "f", 10000, 1);
		core_supervise(&core, nth);
		core_connect(&core);
		fd = core_find(&core, "f", O_RDONLY);
		ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
		core_expect(fd, 0, 10000, 1);
		core_expect_answer(&core, "attach", "-114 ");
		killed = core_killed();
		close(fd);
		core_disconnect(&core);
		core_end_supervision(&core);
		core_free(&core);
		ck_assert_int_lt(nth, 200);
	}
}
END_TEST

/* I12: a damaged record is an error, is never taken for whole, and is counted as unfinished. */
START_TEST(i12_a_damaged_record)
{
	struct migrate_stub stub;
	struct verify_count count;
	g_autofree char *message = NULL;
	int fd, root;

	core_make(&core);
	core_source_file(&core, "f", 10000, 1);
	core_source_file(&core, "g", 10000, 2);
	core_start(&core);
	fd = core_find(&core, "f", O_RDWR);
	root = core_root(&core);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	core_close(&core);
	ck_assert_int_eq(fsetxattr(fd, MIGRATE_XATTR, "damaged", 7, 0), 0);
	core_open(&core);
	core_run(&core);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), -EBADMSG);
	ck_assert_int_ne(stub.state, MIGRATE_NORMAL);
	ck_assert_int_eq(core_range(&core, fd, 0, 1), -EBADMSG);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, MIGRATE_BACKGROUND | MIGRATE_DATA)),
			 0);
	ck_assert_int_eq(core_finish(&core, root), -EREMOTEIO);
	ck_assert_int_eq(verify_volume(core.retriever, true, &count, &message), 0);
	ck_assert_uint_ge(count.unfinished, 2);
	g_free(count.first);
	close(root);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(damaged_templates)
{
	g_autofree char *path = NULL, *error = NULL;
	int fd;

	fd = core_with_file(&core, 10000, O_RDONLY);
	core_close(&core);
	path = core_path(&core, ".migrate/handles");
	ck_assert_int_eq(truncate(path, 3), 0);
	error = core_try_open(&core);
	ck_assert_ptr_nonnull(error);
	ck_assert_ptr_nonnull(strstr(error, "damaged"));
	core_free_with(&core, fd);
}
END_TEST

/* pause holds the background back, and nothing else; resume lets it go. */
START_TEST(pause_and_resume)
{
	struct migrate_waiter *w;
	int fd;

	core_make(&core);
	core_source_file(&core, "f", 100000, 1);
	core_source_file(&core, "g", 100000, 2);
	core_start(&core);
	fd = core_find(&core, "f", O_RDONLY);
	core_expect_answer(&core, "pause", "0 ");
	w = core_ask_range(&core, fd, 0, UINT64_MAX, MIGRATE_BACKGROUND);
	core_expect_answer(&core, "status", "paused=true");
	core_expect_answer(&core, "status", "background-waiting=1");
	{
		int other = core_find(&core, "g", O_RDONLY);

		ck_assert_int_eq(core_range(&core, other, 0, UINT64_MAX), 0);
		core_expect(other, 0, 100000, 2);
		close(other);
	}
	ck_assert(!core_present(fd, 0, 1));
	core_expect_answer(&core, "resume", "0 ");
	ck_assert_int_eq(core_wait(w), 0);
	core_expect_answer(&core, "throttle 1M", "0 ");
	core_expect_answer(&core, "throttle much", "-22 ");
	core_expect_answer(&core, "status", "bandwidth=1048576");
	core_expect_answer(&core, "settings", "hold-ms=500");
	core_expect_answer(&core, "errors 0", "total=0");
	core_free_with(&core, fd);
}
END_TEST

/* Nothing is promised that was not tried, and nothing is left behind. */
START_TEST(attach_refuses_what_lacks_something)
{
	g_autofree char *message = NULL;
	int root;

	core_make(&core);
	core_open(&core);
	core_fail_xattr = MIGRATE_XATTR;
	core_fail_errno = EOPNOTSUPP;
	ck_assert_int_eq(attach_volume(core.retriever, &(struct attach){0}, &message), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(message, "cannot be made a volume: the file system lacks"));
	root = core_root(&core);
	ck_assert(migrate_is_vacant(root, false));
	close(root);
	ck_assert_int_eq(volume_state(core.retriever), VOLUME_UNATTACHED);
	core_fail_xattr = NULL;
	core_attach(&core);
	core_close(&core);
	core_free(&core);
}
END_TEST

/* What was parked there would not come. */
START_TEST(i12_a_way_back_that_was_killed)
{
	g_autofree char *message = NULL, *left = NULL, *moved = NULL;

	core_make(&core);
	core_source_file(&core, MIGRATE_ROLLBACK_DIR "/parked", 10, 1);
	core_open(&core);
	ck_assert_int_eq(attach_volume(core.retriever, &(struct attach){0}, &message), -EBUSY);
	ck_assert_ptr_nonnull(strstr(message, MIGRATE_ROLLBACK_DIR));
	ck_assert_int_eq(volume_state(core.retriever), VOLUME_UNATTACHED);
	left = g_strconcat(core.source, "/" MIGRATE_ROLLBACK_DIR, NULL);
	moved = g_strconcat(core.source, "/looked at", NULL);
	ck_assert_int_eq(rename(left, moved), 0);
	core_attach(&core);
	core_close(&core);
	core_free(&core);
}
END_TEST

/* The new file system is full: the file says so, nothing of it is shown, and it comes when there is
 * room. */
START_TEST(no_space)
{
	g_autofree char *image = NULL, *command = NULL, *filler = NULL, *undo = NULL;
	struct migrate_stub stub;
	int fd, fill;

	core_make(&core);
	core_source_file(&core, "f", 3 * MIB, 1);
	image = g_strconcat(core.dir, "/image", NULL);
	command = g_strdup_printf(
		"truncate -s 8M %s && mkfs.ext4 -q -b 4096 -O ^has_journal -m 0 %s && "
		"mount -o loop %s %s",
		image, image, image, core.root);
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(system(command), 0);
	core_start(&core);
	fd = core_find(&core, "f", O_RDONLY);
	filler = core_path(&core, "filler");
	fill = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fill, 0);
	for (off_t len = 8 * MIB; len >= 4096; len /= 2)
		while (fallocate(fill, 0, lseek(fill, 0, SEEK_END), len) == 0)
			continue;
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), -ENOSPC);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.error, ENOSPC);
	migrate_stub_clear(&stub);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	ck_assert(backend_fault_wait_idle(core.fault)); /* the other reads have failed too */
	ck_assert_int_eq(ftruncate(fill, 0), 0);
	close(fill);
	ck_assert_int_eq(unlink(filler), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 3 * MIB, 1);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	close(fd);
	core_close(&core);
	core_disconnect(&core);
	undo = g_strconcat("umount ", core.root, NULL);
	ck_assert_int_eq(system(undo), 0);
	core_free(&core);
}
END_TEST

static void fail_at_the_root(const char *call, int fd, bool after)
{
	if (!after && !strcmp(call, "fsync") && fd == core.retriever->root_fd)
		core_fail_sync = "fsync";
}

/* What the root's record says holds, and the administrator is told. */
START_TEST(an_attach_that_is_not_durable)
{
	g_autofree char *message = NULL;

	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
	core_open(&core);
	atomic_store(&core_hook, fail_at_the_root);
	ck_assert_int_eq(attach_volume(core.retriever, &(struct attach){0}, &message), -EIO);
	atomic_store(&core_hook, NULL);
	core_fail_sync = NULL;
	ck_assert_ptr_nonnull(message);
	ck_assert_int_eq(volume_state(core.retriever), VOLUME_MIGRATING);
	ck_assert(private_is_attached(core.retriever));
	core_close(&core);
	core_free(&core);
}
END_TEST

/* What another tool wrote may be whole at once, and nothing of it is written again. */
START_TEST(what_is_adopted_is_durable)
{
	g_autofree char *file = NULL;

	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
	write_file(core.root, "f", "copied");
	adopt((struct attach){0});
	file = core_path(&core, MIGRATE_PRIVATE_DIR "/" PRIOR_DIR "/f");
	ck_assert_durable(file);
	core_free(&core);
}
END_TEST

static unsigned removed;	   /* of what a copy's own private directory had */
static char *inherited, *inherits; /* that directory, and the volume's own */

static void see_inherited(const char *call, int fd, bool after)
{
	struct stat st, is;

	if (after || strcmp(call, "unlinkat") || stat(inherited, &is) || fstat(fd, &st) ||
	    st.st_ino != is.st_ino)
		return;
	removed++;
	ck_assert_durable(inherits);
}

/* The rest of it is removed when what is of use has its new name. */
START_TEST(what_is_inherited_is_durable)
{
	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
	copy_run("run");
	inherits = g_build_filename(copy_volume, MIGRATE_PRIVATE_DIR, NULL);
	inherited = g_build_filename(inherits, PRIOR_DIR, MIGRATE_PRIVATE_DIR, NULL);
	atomic_store(&core_hook, see_inherited);
	copy_attach();
	atomic_store(&core_hook, NULL);
	ck_assert_uint_gt(removed, 0);
	g_free(inherited);
	g_free(inherits);
	copy_free();
}
END_TEST

static char *prior;
static unsigned steps, steps_early; /* to the root's record, and those before prior was durable */

static void fail_below_prior(const char *call, int fd, bool after)
{
	struct stat st, is;

	if (strcmp(call, "fsync") || stat(prior, &is) || fstat(fd, &st) || st.st_ino != is.st_ino)
		return;
	core_fail_sync = after || access(inherited, F_OK) == 0 ? NULL : "fsync";
}

static void see_root_record(const char *call, int fd, bool after)
{
	if (after || strcmp(call, "fsetxattr") || fd != core.retriever->root_fd)
		return;
	steps++;
	steps_early += !is_durable_at(prior);
}

/* Before the root's record; at the first time, and after one that was cut short behind it. */
START_TEST(that_nothing_else_is_inherited_is_durable)
{
	g_autofree char *message = NULL;

	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
	copy_run("run");
	copy_open();
	ck_assert_int_eq(copy_switch(core.retriever, &(struct attach){0}, &message), -ERESTART);
	copy_close();
	g_free(core.root);
	core.root = g_steal_pointer(&copy_volume);
	prior = core_path(&core, MIGRATE_PRIVATE_DIR "/" PRIOR_DIR);
	inherited = g_build_filename(prior, MIGRATE_PRIVATE_DIR, NULL);
	core_open(&core);
	if (_i) {
		atomic_store(&core_hook, fail_below_prior);
		ck_assert_int_eq(attach_volume(core.retriever, &(struct attach){0}, &message),
				 -EIO);
		core_fail_sync = NULL;
		ck_assert(!private_is_attached(core.retriever));
		ck_assert(!is_durable_at(prior));
		g_clear_pointer(&message, g_free);
	}
	steps = steps_early = 0;
	atomic_store(&core_hook, see_root_record);
	ck_assert_int_eq(attach_volume(core.retriever, &(struct attach){0}, &message), 0);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_gt(steps, 0);
	ck_assert_uint_eq(steps_early, 0);
	core_close(&core);
	g_free(inherited);
	g_free(prior);
	copy_free();
}
END_TEST

static int try_adopt(char **message)
{
	return attach_volume(core.retriever, &(struct attach){.adopt = true}, message);
}

/* In a process of its own, which is killed before the nth step.  FALSE: there are not so many. */
static bool adopt_killed(int nth)
{
	pid_t pid;
	int status;

	if (!core_shared)
		core_shared =
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	atomic_store(&core_shared->left, nth);
	core_be_alone();
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		char *message = NULL;

		core_open(&core);
		atomic_store(&core_hook, core_kill_hook);
		_exit(try_adopt(&message) != 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return WIFSIGNALED(status);
}

/* Cut short at any step, and done again; also when the tool has run again since. */
START_TEST(i1_killed_while_adopting)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		g_autofree char *message = NULL;

		core_make(&core);
		make_files("d", 3);
		make_files("e/f", 3);
		core_source_file(&core, "file", 1000, 1);
		copy_by_cp();
		killed = adopt_killed((nth + 1) / 2);
		if (killed && nth % 2 && !is_there(core.root, ".migrate/state"))
			copy_by_cp();
		core_open(&core);
		if (volume_state(core.retriever) != VOLUME_MIGRATING) {
			int ret = try_adopt(&message);

			ck_assert_msg(ret == 0, "%d: %s", nth, message);
		}
		core_run(&core);
		core_connect(&core);
		make_all();
		ck_assert_uint_eq(backend_fault_submitted(core.fault, 1u << BACKEND_READ), 0);
		expect_same_tree();
		core_free(&core);
		ck_assert_int_lt(nth, 300);
	}
}
END_TEST

/* After what is there was moved. */
static void fail_late(const char *call, int fd, bool after)
{
	if (!strcmp(call, "renameat2") && after)
		shell("mkdir -p %s/" MIGRATE_PRIVATE_DIR "/" ORDERED_FILE, core.root);
}

/* The attach before failed, and was told otherwise how. */
START_TEST(adopting_as_it_is_said_last)
{
	const struct attach before = {.adopt = true, .keep_extra = true};
	g_autofree char *message = NULL;

	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
	copy_by_cp();
	core_open(&core);
	atomic_store(&core_hook, fail_late);
	ck_assert_int_eq(attach_volume(core.retriever, &before, &message), -EISDIR);
	atomic_store(&core_hook, NULL);
	ck_assert(core.retriever->prior->keep_extra);
	shell("rmdir %s/" MIGRATE_PRIVATE_DIR "/" ORDERED_FILE, core.root);
	g_clear_pointer(&message, g_free);
	ck_assert_int_eq(try_adopt(&message), 0);
	ck_assert(!core.retriever->prior->keep_extra);
	core_free(&core);
}
END_TEST

/* Mounts cannot be moved; and the root's own attributes are the old server's. */
START_TEST(adopting_what_is_in_use)
{
	g_autofree char *message = NULL;
	int root;

	core_make(&core);
	core_source_file(&core, "d/f", 1000, 1);
	copy_by_cp();
	mounts_of_our_own();
	shell("mkdir %s/m && mount -t tmpfs none %s/m && setfattr -n user.x -v x %s && "
	      "setfacl -m u:4711:rwx %s",
	      core.root, core.root, core.root, core.root);
	core_open(&core);
	ck_assert_int_eq(try_adopt(&message), -EBUSY);
	ck_assert_ptr_nonnull(strstr(message, "/m: something is mounted there: unmount it"));
	core_close(&core);
	ck_assert(is_there(core.root, "d")); /* nothing was moved */
	shell("umount %s/m && rmdir %s/m", core.root, core.root);
	adopt((struct attach){0});
	root = core_root(&core);
	ck_assert_int_eq(fgetxattr(root, "user.x", NULL, 0), -1);
	core_expect_acl(root, XATTR_ACL_ACCESS, NULL);
	close(root);
	make_all();
	expect_same_tree();
	core_free(&core);
}
END_TEST

/* Somebody makes a name while what is there is moved: it would be served, and never compared. */
static void write_hook(const char *call, int fd, bool after)
{
	static atomic_bool done;

	if (!strcmp(call, "renameat2") && after && !atomic_exchange(&done, true))
		shell("touch %s/late", core.root);
}

START_TEST(i1_adopting_while_somebody_writes)
{
	g_autofree char *message = NULL;
	int ret;

	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
	copy_by_cp();
	core_open(&core);
	atomic_store(&core_hook, write_hook);
	ret = try_adopt(&message);
	atomic_store(&core_hook, NULL);
	ck_assert(ret == -EBUSY || !is_there(core.root, "late"));
	if (ret) {
		g_clear_pointer(&message, g_free);
		ck_assert_int_eq(try_adopt(&message), 0);
	}
	ck_assert(!is_there(core.root, "late"));
	core_free(&core);
}
END_TEST

/* A copy of a whole volume's file system brings a .migrate that is bound to another inode. */
START_TEST(adopting_beside_a_private_directory_of_others)
{
	g_autofree char *message = NULL;

	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
	copy_by_cp();
	shell("mkdir -p %s/.migrate/links && touch %s/.migrate/state", core.root, core.root);
	core_open(&core);
	ck_assert_int_eq(try_adopt(&message), -EEXIST);
	ck_assert_ptr_nonnull(strstr(message, "rename it"));
	ck_assert_ptr_null(strchr(message, '\n'));
	core_close(&core);
	ck_assert(is_there(core.root, "f"));
	shell("ls -A %s/.migrate | tr '\\n' ' ' | grep -qx 'links state '", core.root);
	shell("getfattr -m - %s/.migrate | grep -q . && exit 1 || true", core.root);
	shell("mv %s/.migrate %s/was", core.root, core.root);
	adopt((struct attach){0});
	make_all();
	expect_same_tree();
	core_free(&core);
}
END_TEST

START_TEST(accepting_with_attach)
{
	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
	copy_by_cp();
	adopt((struct attach){.accept = true});
	ck_assert(g_atomic_int_get(&core.retriever->accepted));
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("volume", 60);

	tcase_add_test(tcase, attach_needs_an_empty_directory);
	tcase_add_test(tcase, killed_while_attaching);
	tcase_add_test(tcase, i12_a_damaged_record);
	tcase_add_test(tcase, damaged_templates);
	tcase_add_test(tcase, pause_and_resume);
	tcase_add_test(tcase, what_is_adopted_is_durable);
	tcase_add_test(tcase, what_is_inherited_is_durable);
	tcase_add_loop_test(tcase, that_nothing_else_is_inherited_is_durable, 0, 2);
	tcase_add_test(tcase, attach_refuses_what_lacks_something);
	tcase_add_test(tcase, i12_a_way_back_that_was_killed);
	tcase_add_test(tcase, no_space);
	tcase_add_test(tcase, an_attach_that_is_not_durable);
	tcase_add_test(tcase, i1_killed_while_adopting);
	tcase_add_test(tcase, adopting_as_it_is_said_last);
	tcase_add_test(tcase, adopting_what_is_in_use);
	tcase_add_test(tcase, i1_adopting_while_somebody_writes);
	tcase_add_test(tcase, adopting_beside_a_private_directory_of_others);
	tcase_add_test(tcase, accepting_with_attach);
	return run_tcase(tcase);
}
