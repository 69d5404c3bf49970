/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

static const char acl[] = "u::6 u:1000:6 g::0 m::6 o::0";

static void make_source(void)
{
	core_make(&core);
	core_source_file(&core, "d/file", 5000, 1);
	core_source_file(&core, "d/empty", 0, 2);
	core_source_file(&core, "d/hard", 3000, 4);
	source_link("d/hard", "d/hard2");
	shell("cd %s/d && ln -s target link && mknod null c 1 3 && mkfifo fifo && chmod 640 null "
	      "&& "
	      "chown -h 5:6 link fifo file && chmod 4751 file",
	      core.source);
}

/* All is taken, nothing is read; and it has the old server's attributes, nothing else. */
START_TEST(i8_attributes_of_another_tool)
{
	int fd;

	make_source();
	core_carry(&core);
	core_source_acl("d/hard", XATTR_ACL_ACCESS, acl);
	core_source_acl("d/hard2", XATTR_ACL_ACCESS, acl);
	core_source_xattr("d/empty", "user.right", "right");
	shell("chmod 660 %s/d/hard", core.source);
	copy_by_cp();
	shell("cd %s/d && chown 77:77 file hard && chmod 6777 hard && chown 0:0 file && "
	      "chown -h 9:9 link null && touch -h -d @5 link && chmod 777 null && "
	      "setfattr -n user.wrong -v x file && setfattr -n user.right -v wrong empty && "
	      "setfattr -n security.capability "
	      "-v 0x0000000200040000000000000000000000000000 file && "
	      "setfacl -m u:4711:rwx file && setfacl -m u:4711:rwx empty",
	      core.root);
	adopt((struct attach){0});
	make_all();
	ck_assert_int_eq(COUNT_GET(core.retriever, bytes_fetched), 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, made), 0);
	fd = core_find(&core, "d/file", O_RDONLY);
	core_expect_acl(fd, XATTR_ACL_ACCESS, NULL);
	ck_assert_int_eq(fgetxattr(fd, "user.wrong", NULL, 0), -1);
	ck_assert_int_eq(fgetxattr(fd, "security.capability", NULL, 0), -1);
	core_expect(fd, 0, 5000, 1);
	close(fd);
	fd = core_find(&core, "d/empty", O_RDONLY);
	core_expect_xattr(fd, "user.right", "right");
	core_expect_acl(fd, XATTR_ACL_ACCESS, NULL);
	close(fd);
	fd = core_find(&core, "d/hard2", O_RDONLY);
	core_expect_acl(fd, XATTR_ACL_ACCESS, acl);
	close(fd);
	shell("test -z \"$(rsync -niaH --checksum --delete --exclude=/.migrate %s/ %s/)\"",
	      core.source, core.root);
	ck_assert(!is_aside(""));
	core_free(&core);
}
END_TEST

/* Names that the tool has broken apart, and others that it has joined. */
/* For the record with which its content is compared. */
START_TEST(attributes_leave_little_room)
{
	core_make(&core);
	core_carry(&core);
	for (unsigned i = 0; i < 16; i++) {
		g_autofree char *file = g_strdup_printf("d/f%u", i);

		core_source_file(&core, file, 1000, i);
		leave_room(file, 20 + 10 * i);
	}
	copy_by_cp();
	core_room = CORE_BLOCK;
	adopt((struct attach){.content = true});
	make_all();
	ck_assert_int_eq(COUNT_GET(core.retriever, made), 0);
	expect_same_tree();
	core_free(&core);
}
END_TEST

START_TEST(hard_links)
{
	make_source();
	core_source_file(&core, "d/one", 2000, 8);
	core_source_file(&core, "d/two", 2000, 8);
	core_source_file(&core, "e/p", 2000, 9);
	core_source_file(&core, "e/q", 2000, 9);
	source_link("e/p", "d/p");
	source_link("e/q", "d/q");
	copy_by_cp();
	shell("cd %s && cp -p d/hard d/x && mv d/x d/hard2 && ln -f d/one d/two && "
	      "ln -f d/p d/q && ln -f d/p e/p && ln -f d/p e/q",
	      core.root);
	adopt((struct attach){0});
	make_all();
	expect_same_tree();
	ck_assert(!is_aside(""));
	shell("test $(stat -c %%i %s/d/one) != $(stat -c %%i %s/d/two)", core.root, core.root);
	shell("test $(stat -c %%i %s/d/p) = $(stat -c %%i %s/e/p)", core.root, core.root);
	shell("test $(stat -c %%i %s/d/p) != $(stat -c %%i %s/d/q)", core.root, core.root);
	core_free(&core);
}
END_TEST

/* The other type in its place, or a symbolic link that leads to the same. */
START_TEST(other_types)
{
	make_source();
	core_source_file(&core, "dir/f", 100, 5);
	core_source_file(&core, "dir2/f", 100, 6);
	copy_by_cp();
	shell("cd %s && mv d/file d/real && ln -s real d/file && rm d/link && ln -s tarGet d/link "
	      "&& "
	      "rm d/fifo d/empty && mkdir d/empty && touch d/empty/inside && mv dir elsewhere && "
	      "ln -s elsewhere dir && rm -r dir2 && echo file >dir2 && rm d/null && "
	      "mknod d/null c 1 5",
	      core.root);
	adopt((struct attach){0});
	make_all();
	expect_same_tree();
	ck_assert(is_aside("d/file"));
	ck_assert(is_aside("d/real"));
	ck_assert(is_aside("d/empty/inside"));
	ck_assert(is_aside("dir"));
	ck_assert(is_aside("dir2"));
	ck_assert(is_aside("elsewhere/f"));
	core_free(&core);
}
END_TEST

/* I1: what has the same size and another time, or the other way round, is read. */
START_TEST(i1_other_versions)
{
	make_source();
	copy_by_cp();
	shell("cd %s/d && printf x | dd of=file conv=notrunc status=none && touch -d @9 file && "
	      "truncate -s 2999 hard && touch -r %s/d/hard hard && echo y >empty && touch -d @9 "
	      "empty",
	      core.root, core.source);
	adopt((struct attach){0});
	make_all();
	expect_same_tree();
	ck_assert_int_eq(COUNT_GET(core.retriever, bytes_fetched),
			 source_size("d/file") + source_size("d/hard"));
	ck_assert(!is_aside("")); /* older */
	core_free(&core);
}
END_TEST

/* What can be seen is whole, and right. */
static void check_taken(int dir)
{
	int fd = openat(dir, "file", O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd >= 0) {
		ck_assert_int_eq(fstat(fd, &st), 0);
		ck_assert_uint_eq(st.st_mode, S_IFREG | 04751);
		ck_assert_uint_eq(st.st_uid, 5);
		ck_assert_uint_eq(core_missing(fd), 0);
		core_expect_acl(fd, XATTR_ACL_ACCESS, NULL);
		core_expect(fd, 0, 5000, 1);
		close(fd);
	}
	fd = openat(dir, "hard2", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && core_missing(fd) == 0)
		core_expect(fd, 0, 3000, 4);
	if (fd >= 0)
		close(fd);
}

/* Killed before every step; content too, so that what is taken has a record for a while. */
START_TEST(i1_killed_at_every_step)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		struct migrate_waiter *w;
		int dir;

		make_source();
		copy_by_cp();
		shell("cd %s/d && chown 77:77 file && chmod 777 file && setfacl -m u:4711:rwx file "
		      "&& "
		      "touch extra && echo newer >empty && chmod 600 hard",
		      core.root);
		adopt((struct attach){.content = nth % 2});
		core_disconnect(&core);
		core_close(&core);
		core_supervise(&core, 0);
		core_connect(&core);
		dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
		atomic_store(&core_shared->left, (nth + 1) / 2);
		w = core_ask_fill(&core, dir, 0);
		while (!(nth % 2) && !core_killed() && core_state(dir) == MIGRATE_UNFILLED)
			check_taken(dir);
		ck_assert_int_eq(core_wait(w), 0);
		killed = core_killed();
		if (!(nth % 2))
			check_taken(dir);
		core_disconnect(&core);
		core_end_supervision(&core);
		core_start(&core);
		make_all();
		expect_same_tree();
		ck_assert(is_aside("d/extra"));
		ck_assert(is_aside("d/empty"));
		core_free_with(&core, dir);
		ck_assert_int_lt(nth, 400);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("taking", 150);

	tcase_add_test(tcase, i8_attributes_of_another_tool);
	tcase_add_test(tcase, attributes_leave_little_room);
	tcase_add_test(tcase, hard_links);
	tcase_add_test(tcase, other_types);
	tcase_add_test(tcase, i1_other_versions);
	tcase_add_test(tcase, i1_killed_at_every_step);
	return run_tcase(tcase);
}
