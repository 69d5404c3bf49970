/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_attributes.h"

#include "retriever/objects/errors.h"

static void expect_node(int dir_fd, const char *name, const char *acl, mode_t mode)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d/%s", dir_fd, name);
	uint8_t have[256];
	ssize_t n = lgetxattr(path, XATTR_ACL_ACCESS, have, sizeof(have));
	g_autofree uint8_t *value = NULL;
	struct stat st;
	uint32_t len;

	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, mode);
	if (!acl) {
		ck_assert_int_eq(n, -1);
		return;
	}
	value = core_acl(acl, &len);
	ck_assert(n == len && !memcmp(have, value, len));
}

START_TEST(everything)
{
	static const char acl[] = "u::6 u:1000:7 g::4 g:7:2 m::6 o::0";
	int fd;

	make();
	source_owner("f", 3, 4);
	source_mode("f", 06660);
	core_source_acl("f", XATTR_ACL_ACCESS, acl);
	core_source_xattr("f", "user.one", "1");
	core_source_xattr("f", "user.two", "");
	core_start(&core);
	fd = open_stub("f");
	core_expect_acl(fd, XATTR_ACL_ACCESS, acl);
	core_expect_xattr(fd, "user.one", "1");
	core_expect_xattr(fd, "user.two", "");
	ck_assert_uint_eq(mode_of(fd), 06660);
	expect_times(fd);
	ck_assert_uint_eq(losses_count(core.retriever->losses), 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, acls_carried), 1);
	ck_assert_int_eq(COUNT_GET(core.retriever, xattrs_carried), 1);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(a_directory)
{
	int fd;

	make();
	source_mode("d", 02770);
	core_source_acl("d", XATTR_ACL_ACCESS, "u::7 u:1000:7 g::5 m::7 o::0");
	core_source_acl("d", XATTR_ACL_DEFAULT, "u::7 u:1000:7 g::5 m::7 o::0");
	core_source_xattr("d", "user.one", "1");
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	core_expect_acl(fd, XATTR_ACL_ACCESS, "u::7 u:1000:7 g::5 m::7 o::0");
	core_expect_acl(fd, XATTR_ACL_DEFAULT, "u::7 u:1000:7 g::5 m::7 o::0");
	core_expect_xattr(fd, "user.one", "1");
	ck_assert_uint_eq(mode_of(fd), 02770);
	close(fd);
	fd = open_stub("d/g"); /* inherits nothing */
	core_expect_acl(fd, XATTR_ACL_ACCESS, NULL);
	ck_assert_uint_eq(mode_of(fd), 0644);
	close(fd);
	ck_assert_uint_eq(losses_count(core.retriever->losses), 0);
	core_free(&core);
}
END_TEST

/* A file system without ACLs: nobody gets more than he had. */
START_TEST(an_acl_that_cannot_be_set)
{
	int fd;

	make();
	source_mode("f", 0674);
	core_source_acl("f", XATTR_ACL_ACCESS, "u::6 u:1000:4 g::5 m::7 o::6");
	core_source_xattr("f", "user.one", "1");
	core_fail_xattr = "system.";
	core_fail_errno = EOPNOTSUPP;
	core_start(&core);
	fd = open_stub("f");
	core_expect_acl(fd, XATTR_ACL_ACCESS, NULL);
	core_expect_xattr(fd, "user.one", "1");
	ck_assert_uint_eq(mode_of(fd), 0644);
	expect_times(fd);
	core_expect_report(&core, "acl\t");
	core_expect_report(&core, "/new/f\tthe ACL could not be set (Operation not supported): "
				  "mode 0644 instead");
	ck_assert_int_eq(COUNT_GET(core.retriever, acls_carried), 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, xattrs_carried), 1);
	core_free_with(&core, fd);
}
END_TEST

/* What the mode shows for the group is the mask: without the ACL it would be the group's. */
START_TEST(what_is_no_file)
{
	static const char acl[] = "u::6 u:1000:6 g::0 m::6 o::0";
	g_autofree char *command = NULL;
	int root;

	make();
	command = g_strdup_printf("cd %s && mkfifo -m 660 p q r && ln -s p l", core.source);
	ck_assert_int_eq(system(command), 0);
	core_source_acl("p", XATTR_ACL_ACCESS, acl);
	core_source_acl("q", XATTR_ACL_ACCESS, "u::6 u:1000:6 g::0 o::0"); /* without a mask */
	core_xattrs_of("r")->acl_lost = true;
	source_xattrs_lose(core_xattrs_of("l"), "trusted.x: not carried");
	core_xattrs_of("l")->project = 7;
	core_start(&core);
	core.retriever->carries |= BACKEND_TELLS_LINKS;
	root = core_root(&core);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	expect_node(root, "p", acl, 0660);
	expect_node(root, "q", NULL, 0600);
	expect_node(root, "r", NULL, 0600);
	core_expect_report(&core, "/new/q\tthe ACL could not be set");
	core_expect_report(&core, "/new/l\ttrusted.x: not carried");
	core_expect_report(&core, "volume\t\tprojects: what is in project 7 there");
	core_free_with(&core, root);
}
END_TEST

START_TEST(what_is_no_acl)
{
	int fd;

	make();
	source_mode("f", 0777);
	core_source_acl("f", XATTR_ACL_ACCESS, "u::7 u:1000:7 g::7 o::7"); /* without a mask */
	core_start(&core);
	fd = open_stub("f");
	ck_assert_uint_eq(mode_of(fd), 0700);
	core_expect_report(&core, "the old server sent what is no ACL");
	core_free_with(&core, fd);
}
END_TEST

/* One that did not even come. */
START_TEST(an_acl_that_is_lost)
{
	int fd;

	make();
	source_mode("f", 02777);
	core_xattrs_of("f")->acl_lost = true;
	g_ptr_array_add(core_xattrs_of("f")->lost, g_strdup("access ACL: too long"));
	core_start(&core);
	fd = open_stub("f");
	ck_assert_uint_eq(mode_of(fd), 02700);
	core_expect_report(&core, "access ACL: too long");
	core_free_with(&core, fd);
}
END_TEST

/* Changed between the listing and the question: the ACL is newer. */
START_TEST(the_mode_is_the_acls)
{
	int fd;

	make();
	source_mode("f", 04670);
	core_source_acl("f", XATTR_ACL_ACCESS, "u::6 u:1000:4 g::7 m::4 o::0");
	core_start(&core);
	fd = open_stub("f");
	core_expect_acl(fd, XATTR_ACL_ACCESS, "u::6 u:1000:4 g::7 m::4 o::0");
	ck_assert_uint_eq(mode_of(fd), 04640);
	core_expect_report(&core, "mode\t");
	core_expect_report(&core, "listed as 0670, but the ACL says 0640");
	core_free_with(&core, fd);
}
END_TEST

START_TEST(attributes_that_cannot_be_set)
{
	g_autofree char *big = g_strnfill(60000, 'x');
	int fd;

	make();
	core_source_xattr("f", "user.one", "1");
	core_source_xattr("f", "user.big", big);
	core_source_xattr("f", "security.capability", "x");
	core_source_xattr("f", MIGRATE_XATTR, "x");
	g_ptr_array_add(core_xattrs_of("f")->lost, g_strdup("an alternate data stream"));
	core_start(&core);
	fd = open_stub("f");
	core_expect_xattr(fd, "user.one", "1");
	core_expect_report(&core, "xattr\t");
	core_expect_report(&core, "user.big (60000 bytes) could not be set");
	core_expect_report(&core, "security.capability (1 byte) could not be set (not an "
				  "attribute of users)");
	core_expect_report(&core, MIGRATE_XATTR " (1 byte) could not be set");
	core_expect_report(&core, "source\t");
	core_expect_report(&core, "/new/f\tan alternate data stream\n");
	ck_assert_uint_eq(losses_count(core.retriever->losses), 4);
	ck_assert_int_eq(fgetxattr(fd, "security.capability", NULL, 0), -1);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 5000, 1);
	core_free_with(&core, fd);
}
END_TEST

/* What may work later is a failure, and no loss. */
START_TEST(i12_not_now)
{
	make();
	core_source_xattr("f", "user.one", "1");
	core_fail_xattr = "user.";
	core_fail_errno = EDQUOT;
	core_start(&core);
	ck_assert_int_eq(core_lookup(&core, "f", O_RDONLY), -1);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	ck_assert_uint_eq(losses_count(core.retriever->losses), 0);
	core_fail_xattr = NULL;
	close(open_stub("f"));
	core_free(&core);
}
END_TEST

START_TEST(owners)
{
	struct stat st;
	int fd, root;
	g_autofree char *link = NULL;

	make();
	core.map_users = g_strdup("3:30 1000-1999:5000");
	core.map_groups = g_strdup("4:40 7:70");
	link = g_strconcat(core.source, "/l", NULL);
	ck_assert_int_eq(symlink("x", link), 0);
	source_owner("f", 3, 4);
	source_owner("l", 1999, 5);
	source_owner("d", 1000, 5);
	source_owner("", 3, 4);
	core_source_acl("f", XATTR_ACL_ACCESS, "u::6 u:1000:6 u:2000:2 g::4 g:7:2 m::6 o::0");
	source_mode("f", 0660);
	core_start(&core);
	fd = open_stub("f");
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_uid, 30);
	ck_assert_uint_eq(st.st_gid, 40);
	core_expect_acl(fd, XATTR_ACL_ACCESS, "u::6 u:2000:2 u:5000:6 g::4 g:70:2 m::6 o::0");
	close(fd);
	root = core_root(&core);
	ck_assert_int_eq(fstat(root, &st), 0);
	ck_assert_uint_eq(st.st_uid, 30);
	ck_assert_uint_eq(st.st_gid, 40);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	ck_assert_int_eq(fstatat(root, "l", &st, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_uint_eq(st.st_uid, 5999);
	ck_assert_uint_eq(st.st_gid, 5);
	ck_assert_int_eq(fstatat(root, "d", &st, 0), 0);
	ck_assert_uint_eq(st.st_uid, 5000);
	ck_assert_uint_eq(losses_count(core.retriever->losses), 0);
	core_free_with(&core, root);
}
END_TEST

/* An id that is kept, and that another one became. */
START_TEST(owners_that_become_one)
{
	int fd;

	make();
	core.map_users = g_strdup("1000:2000");
	source_owner("f", 2000, 0);
	source_mode("f", 0666);
	core_source_acl("f", XATTR_ACL_ACCESS, "u::6 u:1000:0 u:2000:6 g::6 m::6 o::6");
	core_start(&core);
	fd = open_stub("f");
	core_expect_acl(fd, XATTR_ACL_ACCESS, NULL);
	ck_assert_uint_eq(mode_of(fd), 0600);
	core_expect_report(&core, "owner 2000 is kept, but another id");
	core_expect_report(&core, "make two of its entries one");
	core_free_with(&core, fd);
}
END_TEST

START_TEST(an_owner_that_is_no_id)
{
	const struct source_attr attr = {.mode = S_IFREG | 04755, .uid = UINT32_MAX, .gid = 5};
	struct attributes_result carried = {0};
	struct stat st;
	int fd;

	make();
	core_start(&core);
	fd = open(core.dir, O_TMPFILE | O_RDWR, 0600);
	ck_assert_int_eq(attributes_set(core.retriever, fd, &attr, NULL, false, &carried), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_uid, OWNER_NOBODY); /* and not root, with the set-user-id bit */
	ck_assert_uint_eq(st.st_gid, 5);
	ck_assert_uint_eq(st.st_mode & 07777, 0555);
	ck_assert_uint_eq(carried.lost->len, 2);
	ck_assert_int_eq(attributes_report(core.retriever, &carried, core.retriever->root_fd, "x"),
			 0);
	core_expect_report(&core, "owner\t");
	core_expect_report(&core, "/new/x\tthe old server's owner is nobody who is known here");
	core_expect_report(&core,
			   "the mode 4755 became 0555, because who had its rights is nobody");
	attributes_clear(&carried);
	core_free_with(&core, fd);
}
END_TEST

/* What nobody gets of what its owner, or its group, had: what everybody has. */
START_TEST(rights_of_who_is_nobody_here)
{
	static const struct {
		uint32_t uid, gid;
		const char *acl;
		mode_t mode, expected;
	} cases[] = {
		{UINT32_MAX, 5, NULL, S_IFREG | 0640, 0040},
		{5, UINT32_MAX, NULL, S_IFREG | 06674, 04644},
		{UINT32_MAX, UINT32_MAX, NULL, S_IFDIR | 07777, 01777},
		{UINT32_MAX, 5, "u::7 u:3:6 g::4 m::6 o::4", S_IFREG | 02764, 0464},
		{5, UINT32_MAX, "u::7 u:3:6 g::6 m::6 o::4", S_IFREG | 0764, 0764},
	};

	make();
	core_start(&core);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct source_attr attr = {
			.mode = cases[i].mode, .uid = cases[i].uid, .gid = cases[i].gid};
		struct source_xattrs *xattrs = source_xattrs_new();
		struct attributes_result carried = {0};
		int fd = open(core.dir, O_TMPFILE | O_RDWR, 0600);

		if (cases[i].acl) {
			uint32_t len;
			g_autofree uint8_t *value = core_acl(cases[i].acl, &len);

			source_xattrs_add_acl(xattrs, false, value, len);
		}
		ck_assert_int_eq(attributes_set(core.retriever, fd, &attr, xattrs, false, &carried),
				 0);
		ck_assert_uint_eq(mode_of(fd), cases[i].expected);
		if (i == 4)
			core_expect_acl(fd, XATTR_ACL_ACCESS, "u::7 u:3:6 g::4 m::6 o::4");
		attributes_clear(&carried);
		source_xattrs_free(xattrs);
		close(fd);
	}
	core_free(&core);
}
END_TEST

/* Nor is what is made in it later somebody's who is nobody: as its group, or by that of the maker.
 */
START_TEST(default_rights_of_a_group_that_is_nobody)
{
	const struct source_attr attr = {.mode = S_IFDIR | 0755, .uid = 5, .gid = UINT32_MAX};
	struct source_xattrs *xattrs = source_xattrs_new();
	struct attributes_result carried = {0};
	uint32_t len;
	g_autofree uint8_t *value = core_acl("u::7 u:3:6 g::7 m::7 o::4", &len);
	int fd;

	make();
	core_start(&core);
	source_xattrs_add_acl(xattrs, true, value, len);
	ck_assert_int_eq(mkdirat(core.retriever->staging_fd, "d", 0700), 0);
	fd = openat(core.retriever->staging_fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(attributes_set(core.retriever, fd, &attr, xattrs, false, &carried), 0);
	core_expect_acl(fd, XATTR_ACL_DEFAULT, "u::7 u:3:6 g::4 m::7 o::4");
	attributes_clear(&carried);
	source_xattrs_free(xattrs);
	core_free_with(&core, fd);
}
END_TEST

/* Its owner is not known yet. */
START_TEST(nothing_is_given_to_a_guess)
{
	const struct source_attr attr = {
		.mode = S_IFREG | 0755, .uid = UINT32_MAX, .gid = 5, .no_owner = -EAGAIN};
	struct attributes_result carried = {0};
	int fd;

	make();
	core_start(&core);
	fd = open(core.dir, O_TMPFILE | O_RDWR, 0600);
	ck_assert_int_eq(attributes_set(core.retriever, fd, &attr, NULL, false, &carried), -EAGAIN);
	ck_assert_ptr_null(carried.lost);
	core_free_with(&core, fd);
}
END_TEST

/* The old server moves it when the bytes are read, with the answer or for another one. */
START_TEST(i8_the_atime_is_of_before_the_bytes)
{
	const struct {
		int64_t mtime;
		uint32_t count;
		int64_t atime; /* that is taken */
	} cases[] = {{5, 0, 99}, {5, 7, 11}, {4, 0, 11}}, *c = &cases[_i];
	struct source_attr listed = {.fileid = 7, .mode = S_IFREG, .atime = 11, .mtime = 4};
	struct source_attr answered = {
		.fileid = 7, .mode = S_IFREG, .atime = 99, .mtime = c->mtime};
	struct backend_request req = {.has_attr = true, .attr = answered, .count = c->count};
	struct source_entry entry = {.has_attr = true, .attr = listed};
	struct source_xattrs *xattrs;

	ck_assert(attributes_take_answer(&req, &entry, &xattrs));
	ck_assert_int_eq(entry.attr.atime, c->atime);
	ck_assert_int_eq(entry.attr.mtime, c->mtime);
	source_xattrs_free(xattrs);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("carried", 60);

	tcase_add_test(tcase, everything);
	tcase_add_test(tcase, a_directory);
	tcase_add_test(tcase, an_acl_that_cannot_be_set);
	tcase_add_test(tcase, what_is_no_file);
	tcase_add_test(tcase, what_is_no_acl);
	tcase_add_test(tcase, an_acl_that_is_lost);
	tcase_add_test(tcase, the_mode_is_the_acls);
	tcase_add_test(tcase, attributes_that_cannot_be_set);
	tcase_add_test(tcase, i12_not_now);
	tcase_add_test(tcase, owners);
	tcase_add_test(tcase, owners_that_become_one);
	tcase_add_test(tcase, an_owner_that_is_no_id);
	tcase_add_test(tcase, rights_of_who_is_nobody_here);
	tcase_add_test(tcase, default_rights_of_a_group_that_is_nobody);
	tcase_add_test(tcase, nothing_is_given_to_a_guess);
	tcase_add_loop_test(tcase, i8_the_atime_is_of_before_the_bytes, 0, 3);
	return run_tcase(tcase);
}
