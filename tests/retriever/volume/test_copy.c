/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"
#include "tests/retriever/core_opens.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include "lib/report/omissions.h"
#include "retriever/copies/listing_entries.h"
#include "retriever/copies/prior.h"
#include "retriever/objects/jobs.h"
#include "tests/durable.h"

static void make_source(void)
{
	core_make(&core);
	make_files("d", 5);
	core_source_file(&core, "e/f", 1000, 1);
}

START_TEST(a_run_says_what_it_did)
{
	make_source();
	ck_assert_int_eq(copy_run("run"), 1);
	ck_assert_int_eq(copy_run("run"), 2);
	ck_assert_int_eq(copy_run("objects"), 9); /* with the root */
	shell("rm %s/d/f0 && echo new >%s/d/new", core.source, core.source);
	ck_assert_int_eq(copy_run("gone"), 1);
	shell("rm %s/d/new", core.source);
	ck_assert_int_eq(copy_run("aside"), 2);
	ck_assert_int_eq(copy_run("left"), 0);
	ck_assert_int_eq(copy_run("same"), 7);
	copy_free();
}
END_TEST

/* Then the listing says it, and no file is opened. */
START_TEST(nothing_changed)
{
	int in;

	make_source();
	copy_run("run");
	in = core_watch_opens(&core, "d");
	ck_assert_int_eq(copy_run("same"), 8);
	ck_assert_uint_eq(core_opened(in), 0);
	shell("echo changed >%s/d/f0", core.source);
	in = core_watch_opens(&core, "d");
	ck_assert_int_eq(copy_run("same"), 7);
	ck_assert_uint_gt(core_opened(in), 0);
	expect_same_tree();
	copy_free();
}
END_TEST

static void make_many(void)
{
	core_make(&core);
	make_files("d", 100);
	shell("mkdir %s/d/sub %s/d/old && touch %s/d/old/f && ln -s text %s/d/link", core.source,
	      core.source, core.source, core.source);
}

/* What a directory can have changed in it. */
static void change_a_few(void)
{
	shell("cd %s/d && echo other >f0 && rm f1 && mv f2 f2.new && touch new && rm f3 && "
	      "mkdir f3 && touch f3/in && rm f4 && ln -s text f4 && rm f5 && mkfifo f5 && "
	      "chmod 600 f6 && ln -sfn other link && rmdir sub && touch sub && rm -r old && "
	      "mkdir dir && touch dir/in",
	      core.source);
}

static guint listed_files(void)
{
	g_autofree char *path =
		g_build_filename(core.root, MIGRATE_PRIVATE_DIR, LISTING_ENTRIES_DIR, NULL);
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	guint n = 0;

	while (dir && g_dir_read_name(dir))
		n++;
	return n;
}

static struct stat d_is;

/* Nothing changes in d while it says what was listed. */
static void see_order(const char *call, int fd, bool after)
{
	struct stat st;

	if (!after && fd >= 0 && strstr("linkat renameat2 unlinkat mkdirat symlinkat", call) &&
	    fstat(fd, &st) == 0 && st.st_ino == d_is.st_ino && st.st_dev == d_is.st_dev)
		ck_assert(fgetxattr(fd, XATTR_LISTED, NULL, 0) < 0);
}

/* Of the others none is opened. */
START_TEST(a_few_changed)
{
	g_autofree char *d = NULL;
	int in;

	make_many();
	copy_run("run");
	ck_assert_uint_eq(listed_files(), 1);
	change_a_few();
	in = core_watch_opens(&core, "d");
	d = core_path(&core, "d");
	ck_assert_int_eq(stat(d, &d_is), 0);
	atomic_store(&core_hook, see_order);
	copy_run("run");
	atomic_store(&core_hook, NULL);
	ck_assert_uint_lt(core_opened(in), 30);
	expect_same_tree();
	ck_assert_int_eq(copy_run("same"), 106);
	shell("rm -r %s/d && touch %s/d", core.source, core.source);
	copy_open();
	ck_assert_int_eq(copy_try_begin(true), 0);
	make_all();
	copy_close();
	ck_assert(is_aside("d.~1~/f99"));
	ck_assert_uint_eq(listed_files(), 0);
	copy_free();
}
END_TEST

/* Nothing of what was listed stays when the copy is attached. */
START_TEST(listings_go_with_the_switch)
{
	g_autofree char *message = NULL;

	make_many();
	copy_run("run");
	ck_assert_uint_eq(listed_files(), 1);
	copy_attach();
	jobs_wait(core.retriever->jobs);
	ck_assert(!is_there(core.root, ".migrate/" LISTING_ENTRIES_DIR));
	ck_assert(!is_there(core.root, ".migrate/prior/.migrate"));
	make_all();
	expect_same_tree();
	ck_assert_uint_ne(omissions_get_told(core.retriever->root_fd) & TOLD_KNOWN, 0);
	ck_assert_int_eq(finalize_volume(core.retriever, true, false, &message), 0);
	ck_assert_int_eq(volume_state(core.retriever), VOLUME_FINISHED);
	copy_free();
}
END_TEST

/* Its data comes by a read of its own, and the others are not looked at for that. */
START_TEST(a_large_file_changed)
{
	int in;

	make_many();
	core_source_file(&core, "d/large", 1 << 20, 1);
	copy_run("run");
	core_source_file(&core, "d/large", 2 << 20, 2);
	in = core_watch_opens(&core, "d");
	copy_run("run");
	ck_assert_uint_lt(core_opened(in), 30);
	expect_same_tree();
	copy_free();
}
END_TEST

/* The next run finds the old version, the new one or nothing, and what was listed says no more. */
START_TEST(i1_killed_while_a_few_changed)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		char *copy;
		int root, d;

		make_many();
		copy_run("run");
		change_a_few();
		copy = core.root;
		core.root = copy_volume;
		core_supervise(&core, 0);
		core.root = copy;
		core_connect(&core);
		close(core_root(&core));
		g_free(core_control(&core, "copy"));
		root = core_root(&core);
		atomic_store(&core_shared->left, nth);
		ck_assert_int_eq(fill(root), 0);
		d = open_below(root, "d", O_RDONLY | O_DIRECTORY);
		make_whole(d); /* unless what was not durable went with it */
		killed = core_killed();
		close(d);
		close(root);
		core_disconnect(&core);
		core_end_supervision(&core);
		copy_run("run"); /* goes on with it */
		expect_same_tree();
		shell("cd %s/d && rm -rf f1 f2.new new && echo once >f6", core.source);
		copy_run("run");
		expect_same_tree();
		ck_assert_int_eq(copy_run("made"), 0);
		copy_attach();
		make_all();
		expect_same_tree();
		copy_free();
		ck_assert_int_lt(nth, 1000);
	}
}
END_TEST

/* The next run finds a listing that has not changed, and one file that did not come. */
START_TEST(i12_nothing_changed_since_a_file_failed)
{
	int root, d;

	core_make(&core);
	core_source_file(&core, "d/large", 1 << 20, 1);
	core_source_file(&core, "d/small", 1000, 1);
	copy_open();
	ck_assert_int_eq(copy_try_begin(false), 0);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	d = open_below(root, "d", O_RDONLY | O_DIRECTORY);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ,
							   .action = FAULT_ERROR,
							   .status = -EREMOTEIO});
	ck_assert_int_eq(core_wait(core_ask_fill(&core, d, MIGRATE_DATA | MIGRATE_BACKGROUND)), 0);
	ck_assert_int_lt(core_finish(&core, d), 0);
	ck_assert_int_eq(copy_finish("whole"), 0);
	copy_close();
	close(d);
	close(root);
	copy_run("run");
	expect_same_tree();
	copy_free();
}
END_TEST

/* Which has listed the root, and no more; the next command goes on. */
START_TEST(a_run_that_was_cut_short)
{
	int root;

	make_source();
	copy_run("run");
	copy_open();
	ck_assert_int_eq(copy_try_begin(false), 0);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	copy_close();
	copy_open();
	ck_assert_int_eq(volume_state(core.retriever), VOLUME_COPYING);
	ck_assert_int_eq(copy_try_begin(false), 0);
	ck_assert(core_state(root) == MIGRATE_FILLED); /* not anew */
	make_all();
	ck_assert_int_eq(copy_finish("run"), 2);
	copy_close();
	close(root);
	copy_free();
}
END_TEST

/* One that has begun marks the root: it is never over without a listing. */
START_TEST(i1_killed_while_a_run_begins)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		char *copy;

		make_source();
		copy_run("run");
		/* one that failed in part: the root has a record */
		copy_open();
		ck_assert_int_eq(copy_try_begin(false), 0);
		{
			int root = core_root(&core);

			ck_assert_int_eq(fill(root), 0);
			close(root);
		}
		copy_finish("run");
		copy_close();
		shell("echo changed >%s/e/f && touch %s/new", core.source, core.source);
		copy = core.root;
		core.root = copy_volume;
		core_supervise(&core, 0);
		core.root = copy;
		core_connect(&core);
		close(core_root(&core));
		{
			g_autofree char *text = NULL;

			text = core_control(&core, "status"); /* it serves */
			atomic_store(&core_shared->left, nth);
			g_free(text);
			text = core_control(&core, "copy");
		}
		killed = core_killed();
		core_disconnect(&core);
		core_end_supervision(&core);
		copy_run("run");
		expect_same_tree();
		copy_free();
		ck_assert_int_lt(nth, 200);
	}
}
END_TEST

/* Whatever a kill leaves of a file is not taken for it. */
START_TEST(i1_killed_while_files_are_made)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		char *copy;
		int root, d;

		core_make(&core);
		core_source_file(&core, "d/small", 1000, 1);
		core_source_file(&core, "d/large", 100000, 2);
		core_source_file(&core, "d/empty", 0, 3);
		copy_open();
		ck_assert_int_eq(copy_try_begin(false), 0);
		copy_close();
		copy = core.root;
		core.root = copy_volume;
		core_supervise(&core, 0);
		core.root = copy;
		core_connect(&core);
		root = core_root(&core);
		ck_assert_int_eq(fill(root), 0);
		d = open_below(root, "d", O_RDONLY | O_DIRECTORY);
		atomic_store(&core_shared->left, nth);
		ck_assert_int_eq(
			core_wait(core_ask_fill(&core, d, MIGRATE_DATA | MIGRATE_BACKGROUND)), 0);
		make_whole(d); /* unless what was not durable went with it */
		killed = core_killed();
		close(d);
		close(root);
		core_disconnect(&core);
		core_end_supervision(&core);
		copy_run("run");
		expect_same_tree();
		copy_run("run");
		expect_same_tree();
		copy_attach();
		make_all();
		expect_same_tree();
		ck_assert(!is_aside(""));
		copy_free();
		ck_assert_int_lt(nth, 200);
	}
}
END_TEST

/* Nothing is left of it under its name. */
START_TEST(a_file_that_cannot_be_made)
{
	int root, d;

	make_source();
	copy_open();
	ck_assert_int_eq(copy_try_begin(false), 0);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	d = open_below(root, "d", O_RDONLY | O_DIRECTORY);
	core_fail_errno = EIO;
	core_fail_xattr = "security.migrate";
	ck_assert_int_lt(fill(d), 0);
	core_fail_xattr = NULL;
	ck_assert_uint_eq(count_names(d), 0);
	ck_assert_int_gt(copy_finish("left"), 0);
	copy_close();
	close(d);
	close(root);
	copy_run("run");
	expect_same_tree();
	copy_free();
}
END_TEST

/* Whatever room attributes leave, for a record, a mark, both, or none: they are left out where the
 * record needs it, and nothing else is lost. */
START_TEST(attributes_leave_little_room)
{
	core_make(&core);
	core_carry(&core);
	leave_room("", 60 + 90 * (unsigned)_i);
	for (unsigned i = 0; i < 32; i++) {
		/* its record is longer than all else of ours */
		g_autofree char *dir = g_strdup_printf("d%0100u", i);
		g_autofree char *file = g_strdup_printf("%s/f", dir);

		core_source_file(&core, file, 1000, i);
		leave_room(dir, 20 + 10 * i);
		leave_room(file, 20 + 10 * i);
	}
	core_room = CORE_BLOCK;
	for (unsigned n = 0; n < 2; n++)
		ck_assert_int_eq(copy_run("left"), 0);
	shell("chmod 711 %s %s/d* && for d in %s/d*; do echo new >$d/new; done", core.source,
	      core.source, core.source);
	for (unsigned n = 0; n < 2; n++)
		ck_assert_int_eq(copy_run("left"), 0);
	expect_same_tree();
	copy_attach();
	make_all();
	expect_same_tree();
	copy_free();
}
END_TEST

/* From each step on, whatever the power does. */
START_TEST(steps_of_a_copy_are_durable)
{
	g_autofree char *message = NULL, *private = NULL;

	make_source();
	private = core_path(&core, MIGRATE_PRIVATE_DIR);
	core_open(&core);
	ck_assert_int_eq(copy_try_begin(false), -ERESTART);
	ck_assert_durable(private);
	core_close(&core);
	copy_open();
	for (int run = 0; run < 2; run++) {
		ck_assert_int_eq(copy_try_begin(false), 0);
		/* or the run is noted, and has nothing to list */
		ck_assert_durable(core.root);
		make_all();
		copy_finish("run");
	}
	ck_assert_int_eq(copy_switch(core.retriever, &(struct attach){0}, &message), -ERESTART);
	ck_assert_durable(private);
	copy_close();
	copy_free();
}
END_TEST

START_TEST(another_root)
{
	make_source();
	copy_run("run");
	copy_open();
	backend_fault_add(core.fault, &(struct fault_rule){.ops = (1u << BACKEND_GETATTR) | XATTRS,
							   .action = FAULT_CHANGE,
							   .fileid = 1});
	ck_assert_int_eq(copy_try_begin(false), -ESTALE);
	ck_assert_int_eq(volume_state(core.retriever), VOLUME_COPIED);
	{
		g_autofree char *message = NULL;

		ck_assert_int_eq(copy_switch(core.retriever, &(struct attach){0}, &message),
				 -ESTALE);
		ck_assert_ptr_nonnull(strstr(message, "another directory"));
	}
	ck_assert_int_eq(copy_try_begin(true), 0);
	copy_close();
	copy_free();
}
END_TEST

/* The file system's number was its device's. */
START_TEST(the_root_of_an_earlier_release)
{
	make_source();
	copy_run("run");
	for (int other = 0; other < 2; other++) {
		shell("sed -i -E 's/^(root=[0-9]+) [0-9a-f]+ /\\1 %s /' %s/.migrate/run",
		      other ? "8000000000000801" : "801", core.root);
		copy_open();
		core.retriever->source_fs = UINT64_C(0x8000000000000007);
		ck_assert_int_eq(copy_try_begin(false), other ? -ESTALE : 0);
		if (!other) {
			make_all();
			copy_finish("run");
		}
		copy_close();
	}
	copy_free();
}
END_TEST

static void mount_other(int n)
{
	g_autofree char *image = g_strdup_printf("%s/image%d", core.dir, n);

	shell("test -e %s || { truncate -s 8M %s && mkfs.ext4 -q %s; }; mount -o loop %s %s", image,
	      image, image, image, core.source);
}

/* Of another file system, with the same number and a handle that is the same. */
START_TEST(the_root_of_another_file_system)
{
	core_make(&core);
	mounts_of_our_own();
	mount_other(1);
	make_files("d", 3);
	copy_run("run");
	shell("umount %s", core.source);
	mount_other(2);
	copy_open();
	ck_assert_int_eq(core.retriever->source_root_attr.fileid, 2);
	ck_assert_int_eq(copy_try_begin(false), -ESTALE);
	copy_close();
	shell("umount %s", core.source);
	mount_other(1);
	ck_assert_int_eq(copy_run("run"), 2);
	shell("umount %s", core.source);
	mount_other(2);
	copy_open();
	ck_assert_int_eq(copy_try_begin(true), 0); /* and from now on it is the right one */
	copy_close();
	copy_open();
	ck_assert_int_eq(copy_try_begin(false), 0);
	make_all();
	ck_assert_int_eq(copy_finish("run"), 3);
	ck_assert(is_aside("d/f0"));
	copy_close();
	shell("umount %s", core.source);
	copy_free();
}
END_TEST

/* As of a server that gives it anew. */
START_TEST(another_handle_of_the_root)
{
	make_source();
	copy_run("run");
	shell("sed -i '/^root=/s/.$/x/' %s/.migrate/run", core.root);
	copy_open();
	ck_assert_int_eq(copy_try_begin(false), -ESTALE);
	ck_assert_int_eq(copy_try_begin(true), 0);
	copy_close();
	ck_assert_int_eq(copy_run("run"), 2);
	copy_free();
}
END_TEST

/* The old server shows next to nothing: nothing goes, and it says so. */
START_TEST(a_tenth_of_the_names)
{
	int root;

	core_make(&core);
	make_files("d/sub", 150);
	make_files("e", 5);
	copy_run("run");
	shell("mv %s/d %s/lost && mkdir %s/d", core.source, core.dir, core.source);
	copy_open();
	ck_assert_int_eq(copy_try_begin(false), 0);
	root = core_root(&core);
	ck_assert_int_eq(fill(root), 0);
	{
		int d = open_below(root, "d", O_RDONLY | O_DIRECTORY);

		ck_assert_int_lt(fill(d), 0);
		close(d);
	}
	ck_assert(is_there(core.root, "d/sub/f149"));
	ck_assert_int_eq(copy_finish("left"), 1);
	copy_close();
	copy_open();
	ck_assert_int_eq(copy_try_begin(true), 0);
	make_all();
	copy_finish("gone");
	ck_assert(is_aside("d/sub/f149"));
	expect_same_tree();
	copy_close();
	close(root);
	copy_free();
}
END_TEST

/* The retriever begins anew between the two halves of attach. */
START_TEST(accepting_with_the_switch)
{
	g_autofree char *message = NULL;

	core_make(&core);
	make_files("d", 150);
	make_files("e", 5);
	copy_run("run");
	shell("rm -r %s/d", core.source);
	copy_open();
	ck_assert_int_eq(copy_switch(core.retriever, &(struct attach){.accept = true}, &message),
			 -ERESTART);
	copy_close();
	g_free(core.root);
	core.root = g_steal_pointer(&copy_volume);
	core_open(&core);
	ck_assert_int_eq(attach_volume(core.retriever, &(struct attach){.accept = true}, &message),
			 0);
	core_run(&core);
	core_connect(&core);
	make_all();
	expect_same_tree();
	ck_assert(is_aside("d/f149"));
	copy_free();
}
END_TEST

/* But for the copy all is in project 7, and what is made in it inherits it. */
static atomic_bool in_project;
static atomic_bool given; /* the copy was given it */

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;

	va_start(args, request);
	struct fsxattr *attr = va_arg(args, void *);
	va_end(args);
	if (in_project && (request == FS_IOC_FSGETXATTR || request == FS_IOC_FSSETXATTR)) {
		g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
		g_autofree char *path = g_file_read_link(link, NULL);
		const bool copy = path && g_str_has_suffix(path, "/" COPY_DIR);

		if (copy && request == FS_IOC_FSSETXATTR && attr->fsx_projid == 7)
			given = true;
		if (request == FS_IOC_FSGETXATTR)
			*attr = (struct fsxattr){.fsx_projid = copy ? 0 : 7,
						 .fsx_xflags = FS_XFLAG_PROJINHERIT};
		return 0;
	}
	return (int)syscall(SYS_ioctl, fd, request, attr);
}

/* What it counts for is what is going to be there. */
START_TEST(a_copy_is_of_its_volume_s_project)
{
	make_source();
	core_open(&core);
	in_project = true;
	ck_assert_int_eq(copy_try_begin(false), -ERESTART);
	in_project = false;
	ck_assert(given);
	core_close(&core);
	core_free(&core);
}
END_TEST

START_TEST(refusals)
{
	g_autofree char *message = NULL, *again = NULL, *third = NULL;

	make_source();
	shell("touch %s/mine", core.root);
	core_open(&core);
	ck_assert_int_eq(copy_begin(core.retriever, false, &message), -EALREADY);
	ck_assert_int_eq(copy_end(core.retriever, &again), -EINVAL);
	shell("rm %s/mine", core.root);
	core_attach(&core);
	ck_assert_int_eq(copy_begin(core.retriever, false, &third), -EALREADY);
	core_free(&core);
}
END_TEST

/* A copy is not adopted, and nothing is covered by the switch. */
START_TEST(refusals_of_a_copy)
{
	g_autofree char *message = NULL, *again = NULL, *mine = NULL;

	make_source();
	copy_run("run");
	copy_open();
	ck_assert_int_eq(attach_volume(core.retriever, &(struct attach){.adopt = true}, &message),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(message, "--adopt"));
	mine = g_build_filename(copy_volume, "mine", NULL);
	shell("touch %s", mine);
	ck_assert_int_eq(copy_switch(core.retriever, &(struct attach){0}, &again), -ENOTEMPTY);
	copy_close();
	copy_free();
}
END_TEST

/* What is aside goes along, and the templates; finalize asks before it destroys. */
START_TEST(the_switch)
{
	g_autofree char *message = NULL, *again = NULL;

	make_source();
	copy_run("run");
	shell("rm %s/d/f0", core.source);
	copy_run("run");
	copy_attach();
	ck_assert(is_aside("d/f0"));
	ck_assert_int_eq(COUNT_GET(core.retriever, aside), 1);
	make_all();
	ck_assert_uint_eq(backend_fault_submitted(core.fault, 1u << BACKEND_READ), 0);
	expect_same_tree();
	ck_assert_int_eq(finalize_volume(core.retriever, false, false, &message), -EBUSY);
	ck_assert_ptr_nonnull(strstr(message, "set aside"));
	ck_assert_int_eq(aside_restore(core.retriever, "d/f0"), 0);
	ck_assert_int_eq(finalize_volume(core.retriever, false, false, &again), 0);
	ck_assert(is_there(core.root, "d/f0"));
	ck_assert(!is_there(core.root, ".migrate"));
	copy_free();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("copy", 150);

	tcase_add_test(tcase, a_run_says_what_it_did);
	tcase_add_test(tcase, nothing_changed);
	tcase_add_test(tcase, a_few_changed);
	tcase_add_test(tcase, listings_go_with_the_switch);
	tcase_add_test(tcase, a_large_file_changed);
	tcase_add_test(tcase, i1_killed_while_a_few_changed);
	tcase_add_test(tcase, i12_nothing_changed_since_a_file_failed);
	tcase_add_test(tcase, a_run_that_was_cut_short);
	tcase_add_test(tcase, i1_killed_while_a_run_begins);
	tcase_add_test(tcase, i1_killed_while_files_are_made);
	tcase_add_test(tcase, a_file_that_cannot_be_made);
	tcase_add_loop_test(tcase, attributes_leave_little_room, 0, 3);
	tcase_add_test(tcase, steps_of_a_copy_are_durable);
	tcase_add_test(tcase, another_root);
	tcase_add_test(tcase, the_root_of_an_earlier_release);
	tcase_add_test(tcase, the_root_of_another_file_system);
	tcase_add_test(tcase, another_handle_of_the_root);
	tcase_add_test(tcase, a_tenth_of_the_names);
	tcase_add_test(tcase, accepting_with_the_switch);
	tcase_add_test(tcase, a_copy_is_of_its_volume_s_project);
	tcase_add_test(tcase, refusals);
	tcase_add_test(tcase, refusals_of_a_copy);
	tcase_add_test(tcase, the_switch);
	return run_tcase(tcase);
}
