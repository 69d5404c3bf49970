/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"
#include "tests/retriever/core_hook.h"
#include "tests/retriever/core_xattrs.h"

#include "lib/report/omissions.h"
#include "retriever/data/rights.h"
#include "retriever/volume/retry.h"

static unsigned refuse(const char *name)
{
	const struct fault_rule rule = {
		.ops = XATTRS, .name = name, .action = FAULT_ERROR, .status = -EACCES};

	return backend_fault_add(core.fault, &rule);
}

/* A share whose root has what this machine may not look at: "locked", "secret" and "nothing". */
static int begin_refused(unsigned rules[3])
{
	core_make(&core);
	core_carry(&core);
	core_source_file(&core, "locked/file", 100, 1);
	core_source_file(&core, "open", 200, 2);
	core_source_file(&core, "secret", 100000, 3);
	core_source_file(&core, "nothing", 0, 4);
	core_source_acl("locked", XATTR_ACL_ACCESS, "u::7 u:1234:5 g::5 m::5 o::0");
	core_start(&core);
	rules[0] = refuse("locked");
	rules[1] = refuse("secret");
	rules[2] = refuse("nothing");
	return open(core.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

#define LEFT_ALL (LEFT_OWNER | LEFT_MODE | LEFT_ACL | LEFT_OTHERS)

static unsigned left_out(const char *name)
{
	g_autofree char *path = core_path(&core, name);
	struct omissions left;

	omissions_get(path, &left);
	return left.what;
}

/* The way back takes none of it for what a client set. */
static void check_nobodys(int root, const char *name, mode_t type)
{
	struct stat st;

	ck_assert_uint_eq(left_out(name) & LEFT_ALL, LEFT_ALL);

	ck_assert_int_eq(fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_int_eq(st.st_mode, type);
	ck_assert_int_eq(st.st_uid, 0);
	ck_assert_int_eq(st.st_gid, 0);
}

static void retry(void)
{
	char *text = NULL;

	ck_assert_int_eq(retry_all(core.retriever, NULL, VERSION_NEW, &text), 0);
	g_free(text);
}

/* It is in the list, once, with the account that has to be let in. */
static void expect_error(const char *name)
{
	g_autofree char *path = core_path(&core, name);
	struct error_entry entry;
	unsigned found = 0;

	for (guint i = 0; errors_get(core.retriever->errors, &i, NULL, &entry); i++) {
		if (!strcmp(entry.path, path)) {
			found++;
			ck_assert_ptr_nonnull(strstr(entry.reason, "let this machine's account"));
		}
		error_entry_clear(&entry);
	}
	ck_assert_msg(found == 1, "%s: %u", name, found);
}

/* Their directory is served; they are nobody's, and are as they are there when that tells. */
START_TEST(what_is_refused_is_nobodys)
{
	unsigned rules[3];
	int root = begin_refused(rules), fd;
	struct stat st;

	ck_assert_int_eq(fill(root), 0);
	ck_assert_int_eq(core_state(root), MIGRATE_FILLED);
	ck_assert_int_eq(errors_count(core.retriever->errors), 3);
	check_nobodys(root, "locked", S_IFDIR);
	check_nobodys(root, "secret", S_IFREG);
	check_nobodys(root, "nothing", S_IFREG);
	expect_error("locked");
	expect_error("secret");
	expect_error("nothing");
	ck_assert_int_eq(fstatat(root, "open", &st, 0), 0);
	ck_assert_int_eq(st.st_mode, S_IFREG | 0644);
	refuse(NULL); /* a file may be asked about by its handle */
	/* root, whom no mode stops, gets an error and never zeros */
	fd = open_below(root, "locked", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	close(fd);
	fd = open_below(root, "secret", O_RDONLY);
	ck_assert_int_eq(core_range(&core, fd, 0, 10), -EREMOTEIO);
	close(fd);
	fd = open_below(root, "locked", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(errors_count(core.retriever->errors), 3);
	core_restart(&core);
	rules[0] = refuse(NULL);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	core_wait(core_ask_fill(&core, root, MIGRATE_DATA | MIGRATE_BACKGROUND));
	check_nobodys(root, "locked", S_IFDIR);
	check_nobodys(root, "nothing", S_IFREG);
	backend_fault_remove(core.fault, rules[0]);
	retry();
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(errors_count(core.retriever->errors), 0);
	core_expect_acl(fd, XATTR_ACL_ACCESS, "u::7 u:1234:5 g::5 m::5 o::0");
	ck_assert_int_eq(make_whole(fd), 0);
	close(fd);
	fd = open_below(root, "secret", O_RDONLY);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 100000, 3);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_mode, S_IFREG | 0644);
	close(fd);
	ck_assert_int_eq(make_whole(root), 0);
	ck_assert_int_eq(fstatat(root, "nothing", &st, 0), 0);
	ck_assert_int_eq(st.st_mode, S_IFREG | 0644);
	ck_assert_uint_eq(left_out("locked"), LEFT_MODE); /* which the ACL says otherwise */
	ck_assert_uint_eq(left_out("secret") | left_out("nothing"), 0);
	core_free_with(&core, root);
}
END_TEST

static void tell(const unsigned rules[3])
{
	for (unsigned i = 0; i < 3; i++)
		backend_fault_remove(core.fault, rules[i]);
}

/* Of one that had no bytes none is read that would tell. */
START_TEST(i1_what_grew_meanwhile)
{
	unsigned rules[3];
	int root = begin_refused(rules), fd;

	ck_assert_int_eq(fill(root), 0);
	tell(rules);
	core_source_file(&core, "nothing", 300, 5);
	fd = open_below(root, "nothing", O_RDONLY);
	ck_assert_int_lt(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_PARTIAL);
	retry();
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 300, 5);
	close(fd);
	core_free_with(&core, root);
}
END_TEST

/* An answer without sense is not a directory that changed while it was listed. */
START_TEST(an_answer_without_sense)
{
	const struct fault_rule senseless = {
		.ops = XATTRS, .name = "locked", .action = FAULT_ERROR, .status = -EBADMSG};
	unsigned rules[3], rule;
	int root = begin_refused(rules), fd;

	ck_assert_int_eq(fill(root), 0);
	tell(rules);
	rule = backend_fault_add(core.fault, &senseless);
	fd = open_below(root, "locked", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(fd), -EREMOTEIO);
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_uint_eq(count_names(fd), 0);
	check_nobodys(root, "locked", S_IFDIR);
	backend_fault_remove(core.fault, rule);
	retry();
	ck_assert_int_eq(fill(fd), 0);
	core_expect_acl(fd, XATTR_ACL_ACCESS, "u::7 u:1234:5 g::5 m::5 o::0");
	close(fd);
	core_free_with(&core, root);
}
END_TEST

/* A new name, or an attribute of a client's, says nothing of who may use it. */
START_TEST(i7_a_change_of_nothing_that_counts)
{
	unsigned rules[3];
	int root = begin_refused(rules), fd, file;
	char value[8];
	struct stat st;

	ck_assert_int_eq(fill(root), 0);
	fd = open_below(root, "locked", O_RDONLY | O_DIRECTORY);
	file = open_below(root, "secret", O_RDONLY);
	for (unsigned i = 0; i < 2; i++) {
		const int at = i ? file : fd;
		uint64_t begun = 0;

		ck_assert_int_eq(core_begin(&core, at, -1, MIGRATE_ATTRIBUTES, 0, 0, &begun), 0);
		ck_assert_int_eq(fsetxattr(at, "user.mine", "mine", 4, 0), 0);
		ck_assert_int_eq(core_end(&core, begun, true, false, 0, 0), 0);
	}
	tell(rules);
	retry();
	ck_assert_int_eq(core_range(&core, file, 0, UINT64_MAX), 0);
	ck_assert_int_eq(fstat(file, &st), 0);
	ck_assert_int_eq(st.st_mode, S_IFREG | 0644);
	ck_assert_uint_eq(left_out("secret"), 0);
	close(file);
	ck_assert_int_eq(fill(fd), 0);
	core_expect_acl(fd, XATTR_ACL_ACCESS, "u::7 u:1234:5 g::5 m::5 o::0");
	ck_assert_int_eq(fgetxattr(fd, "user.mine", value, sizeof(value)), 4);
	ck_assert_uint_eq(left_out("locked"), LEFT_MODE);
	close(fd);
	core_free_with(&core, root);
}
END_TEST

/* It waits for nothing of the old server, which goes on refusing. */
START_TEST(what_clients_write_anew_is_whole)
{
	unsigned rules[3];
	int root = begin_refused(rules), fd;

	ck_assert_int_eq(fill(root), 0);
	refuse(NULL);
	fd = open_below(root, "secret", O_RDWR);
	ck_assert_int_eq(core_write(&core, fd, 0, 100000, 9, true), 0);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 100000, 9);
	core_close(&core);
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	core_open(&core);
	core_run(&core);
	core_expect_report(&core, "had not told them before a client changed it here");
	close(fd);
	core_free_with(&core, root);
}
END_TEST

/* One name of it is asked for. */
START_TEST(a_name_that_is_refused_is_nobodys)
{
	unsigned rules[3];
	int root = begin_refused(rules);

	ck_assert_int_eq(core_name_in(&core, root, "locked"), 0);
	ck_assert_int_eq(core_name_in(&core, root, "secret"), 0);
	check_nobodys(root, "locked", S_IFDIR);
	check_nobodys(root, "secret", S_IFREG);
	expect_error("locked");
	expect_error("secret");
	core_free_with(&core, root);
}
END_TEST

/* I7: what root has set meanwhile stays, and the report says so. */
START_TEST(i7_what_a_client_set_stays)
{
	unsigned rules[3];
	int root = begin_refused(rules), fd;
	struct stat st;
	uint64_t begun;

	ck_assert_int_eq(fill(root), 0);
	fd = open_below(root, "locked", O_RDONLY | O_DIRECTORY);
	begun = 0;
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_ATTRIBUTES, 0, 0, &begun), 0);
	ck_assert_int_eq(fchmod(fd, 0711), 0);
	ck_assert_int_eq(core_end(&core, begun, true, false, 0, 0), 0);
	tell(rules);
	retry();
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0711);
	ck_assert_uint_eq(left_out("locked") & LEFT_ALL, LEFT_ALL);
	core_expect_report(&core, "had not told them before a client changed it here");
	close(fd);
	core_free_with(&core, root);
}
END_TEST

static atomic_uint owners, too_much;

static void look_at_mode(const char *call, int fd, bool after)
{
	struct stat st;

	if (after || strcmp(call, "fchown") != 0 || fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	atomic_fetch_add(&owners, 1);
	if (st.st_mode & 07777)
		atomic_fetch_add(&too_much, 1);
}

/* One that was killed while it got its rights has an ACL: without it the mask is the group's. */
START_TEST(i7_nobody_gets_more_meanwhile)
{
	g_autofree uint8_t *acl = NULL;
	unsigned rules[3];
	int root = begin_refused(rules), fd;
	uint32_t len;

	ck_assert_int_eq(fill(root), 0);
	acl = core_acl("u::7 u:1234:5 g::5 m::5 o::0", &len);
	fd = open_below(root, "locked", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fsetxattr(fd, XATTR_ACL_ACCESS, acl, len, 0), 0);
	tell(rules);
	retry();
	atomic_store(&core_hook, look_at_mode);
	ck_assert_int_eq(fill(fd), 0);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_gt(atomic_load(&owners), 0);
	ck_assert_uint_eq(atomic_load(&too_much), 0);
	core_expect_acl(fd, XATTR_ACL_ACCESS, "u::7 u:1234:5 g::5 m::5 o::0");
	close(fd);
	core_free_with(&core, root);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("rights", 60);

	tcase_add_test(tcase, what_is_refused_is_nobodys);
	tcase_add_test(tcase, i1_what_grew_meanwhile);
	tcase_add_test(tcase, an_answer_without_sense);
	tcase_add_test(tcase, i7_a_change_of_nothing_that_counts);
	tcase_add_test(tcase, what_clients_write_anew_is_whole);
	tcase_add_test(tcase, a_name_that_is_refused_is_nobodys);
	tcase_add_test(tcase, i7_what_a_client_set_stays);
	tcase_add_test(tcase, i7_nobody_gets_more_meanwhile);
	return run_tcase(tcase);
}
