/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"
#include "tests/retriever/core_xattrs.h"

static unsigned probes, probes_seen; /* for the capabilities; and while there was a volume */

static void see_probe(const char *call, int fd, bool after)
{
	if (after || strcmp(call, "linkat") != 0)
		return;
	probes++;
	probes_seen += core.retriever->private_fd >= 0;
}

/* Other threads ask what the file system can do, such as for a status. */
START_TEST(what_it_can_do_is_known_before_it_is_a_volume)
{
	core_make(&core);
	core_open(&core);
	atomic_store(&core_hook, see_probe);
	core_attach(&core);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_ge(probes, 2);
	ck_assert_uint_eq(probes_seen, 0);
	core_free(&core);
}
END_TEST

static void make_in_root(struct core *core, const char *name, mode_t mode)
{
	g_autofree char *path = core_path(core, name);

	if (S_ISDIR(mode))
		ck_assert_int_eq(mkdir(path, mode & 07777), 0);
	else
		ck_assert(g_file_set_contents(path, "a client's", -1, NULL));
}

/* Before there is a .migrate/ to be locked, too. */
START_TEST(one_retriever_per_volume)
{
	struct core second;

	core_make(&core);
	core_open(&core);
	second = core;
	second.socket = g_strconcat(core.dir, "/sock2", NULL);
	for (int attached = 0; attached < 2; attached++) {
		g_autofree char *error = core_try_open(&second);

		ck_assert_ptr_nonnull(error);
		ck_assert_ptr_nonnull(strstr(error, "another migrate-retriever"));
		if (!attached)
			core_attach(&core);
	}
	g_free(second.socket);
	core_free(&core);
}
END_TEST

/* What a door wants to place there waits for the retriever. */
START_TEST(starts_while_a_door_holds_the_root)
{
	int root, held;

	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
	core_start(&core);
	root = core_root(&core);
	core_close(&core);
	held = migrate_lock_directory(root, MIGRATE_HOLD_SHARED, NULL);
	ck_assert_int_ge(held, 0);
	core_open(&core);
	core_run(&core);
	close(held);
	core_free_with(&core, root);
}
END_TEST

/* Which looks like ours.  After the end it is somebody else's. */
START_TEST(i7_a_clients_directory_of_that_name)
{
	g_autofree char *file = NULL;
	int root;

	core_make(&core);
	core_source_file(&core, "f", 0, 1);
	core_start(&core);
	file = core_path(&core, MIGRATE_PRIVATE_DIR "/staging/file");
	root = core_root(&core);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	ck_assert_int_eq(core_finish(&core, root), 0);
	core_expect_answer(&core, "status", "state=whole");
	core_restart(&core);
	core_expect_answer(&core, "status", "state=whole");
	core_expect_answer(&core, "finalize", "0 ");
	make_in_root(&core, MIGRATE_PRIVATE_DIR, S_IFDIR | 0700);
	make_in_root(&core, MIGRATE_PRIVATE_DIR "/links", S_IFDIR | 0700);
	make_in_root(&core, MIGRATE_PRIVATE_DIR "/staging", S_IFDIR | 0700);
	make_in_root(&core, MIGRATE_PRIVATE_DIR "/staging/file", S_IFREG);
	core_restart(&core);
	core_expect_answer(&core, "status", "state=finished");
	core_expect_answer(&core, "finalize", "0 ");
	core_expect_answer(&core, "attach", "-39 ");
	ck_assert_int_eq(access(file, F_OK), 0);
	core_free_with(&core, root);
}
END_TEST

/* In a directory that is to be a volume it is no place for ours. */
START_TEST(attach_takes_no_clients_directory)
{
	core_make(&core);
	make_in_root(&core, MIGRATE_PRIVATE_DIR, S_IFDIR | 0700);
	make_in_root(&core, MIGRATE_PRIVATE_DIR "/staging", S_IFDIR | 0700);
	make_in_root(&core, MIGRATE_PRIVATE_DIR "/staging/file", S_IFREG);
	core_open(&core);
	core_run(&core);
	core_connect(&core);
	core_expect_answer(&core, "status", "state=unattached");
	core_expect_answer(&core, "attach", "-39 ");
	core_free(&core);
}
END_TEST

/* By a crash before it was marked, or by a release that did not mark it. */
START_TEST(an_unmarked_private_directory)
{
	g_autofree char *private = NULL;

	core_make(&core);
	make_in_root(&core, MIGRATE_PRIVATE_DIR, S_IFDIR | PRIVATE_ATTACHING);
	core_open(&core);
	core_run(&core);
	core_connect(&core);
	core_expect_answer(&core, "status", "state=unattached");
	core_expect_answer(&core, "attach", "0 ");
	private = core_path(&core, MIGRATE_PRIVATE_DIR);
	ck_assert_int_eq(removexattr(private, MIGRATE_XATTR_PRIVATE), 0);
	core_restart(&core);
	core_expect_answer(&core, "status", "state=migrating");
	ck_assert_int_gt(getxattr(private, MIGRATE_XATTR_PRIVATE, NULL, 0), 0);
	core_free(&core);
}
END_TEST

/* .migrate/staging/ made anew where ACLs are inherited. */
START_TEST(i7_ours_inherits_nothing)
{
	uint32_t len;
	g_autofree uint8_t *value = core_acl("u::7 u:1000:7 g::7 m::7 o::7", &len);
	g_autofree char *path = NULL;
	int fd;

	core_make(&core);
	core_source_file(&core, "d/sub/file", 100, 3);
	core_start(&core);
	core_disconnect(&core);
	core_close(&core);
	path = core_path(&core, MIGRATE_PRIVATE_DIR "/staging");
	ck_assert_int_eq(rmdir(path), 0);
	g_free(path);
	path = core_path(&core, MIGRATE_PRIVATE_DIR);
	ck_assert_int_eq(setxattr(path, XATTR_ACL_DEFAULT, value, len, 0), 0);
	core_start(&core);
	fd = core_find(&core, "d/sub", O_RDONLY | O_DIRECTORY);
	core_expect_acl(fd, XATTR_ACL_ACCESS, NULL);
	core_expect_acl(fd, XATTR_ACL_DEFAULT, NULL);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(i4_what_a_crash_left_goes)
{
	int root;

	core_make(&core);
	core_start(&core);
	core_close(&core);
	make_in_root(&core, MIGRATE_PRIVATE_DIR "/staging/1", S_IFREG);
	make_in_root(&core, MIGRATE_PRIVATE_DIR "/staging/2", S_IFDIR | 0755);
	make_in_root(&core, MIGRATE_PRIVATE_DIR "/links/3", S_IFREG);
	core_open(&core);
	root = core_root(&core);
	ck_assert_int_eq(faccessat(root, MIGRATE_PRIVATE_DIR "/staging/1", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(root, MIGRATE_PRIVATE_DIR "/staging/2", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(root, MIGRATE_PRIVATE_DIR "/links/3", F_OK, 0), 0);
	core_free_with(&core, root);
}
END_TEST

/* A directory of that name in a volume's own is no copy: the volume is served. */
START_TEST(a_volume_is_no_copy)
{
	int root;

	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
	core_start(&core);
	core_close(&core);
	make_in_root(&core, MIGRATE_PRIVATE_DIR "/" COPY_DIR, S_IFDIR | 0700);
	core_open(&core);
	core_run(&core);
	ck_assert(!core.retriever->copying);
	ck_assert_int_eq(volume_state(core.retriever), VOLUME_MIGRATING);
	root = core_root(&core);
	ck_assert_int_eq(make_whole(root), 0);
	close(root);
	core_restart(&core);
	ck_assert(!core.retriever->copying);
	ck_assert_int_eq(volume_state(core.retriever), VOLUME_WHOLE);
	core_free(&core);
}
END_TEST

/* As by a mount over the directory that was empty when it was opened. */
START_TEST(another_root_is_noticed)
{
	g_autofree char *aside = NULL, *path = NULL;

	core_make(&core);
	core_source_file(&core, "f", 0, 1);
	core_start(&core);
	ck_assert(!private_root_is_replaced(core.retriever));
	path = g_strdup(core.retriever->config->root);
	aside = g_strconcat(path, ".aside", NULL);
	ck_assert_int_eq(rename(path, aside), 0);
	ck_assert(private_root_is_replaced(core.retriever));
	ck_assert_int_eq(mkdir(path, 0755), 0);
	core_expect_answer(&core, "status", "root-replaced=true");
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rename(aside, path), 0);
	ck_assert(!private_root_is_replaced(core.retriever));
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("private", 60);

	tcase_add_test(tcase, what_it_can_do_is_known_before_it_is_a_volume);
	tcase_add_test(tcase, one_retriever_per_volume);
	tcase_add_test(tcase, starts_while_a_door_holds_the_root);
	tcase_add_test(tcase, i7_a_clients_directory_of_that_name);
	tcase_add_test(tcase, attach_takes_no_clients_directory);
	tcase_add_test(tcase, an_unmarked_private_directory);
	tcase_add_test(tcase, i7_ours_inherits_nothing);
	tcase_add_test(tcase, i4_what_a_crash_left_goes);
	tcase_add_test(tcase, a_volume_is_no_copy);
	tcase_add_test(tcase, another_root_is_noticed);
	return run_tcase(tcase);
}
