/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_xattrs.h"

#include <linux/limits.h>
#include <sys/xattr.h>

#include "lib/report/omissions.h"
#include "retriever/making/attributes.h"

static struct core core;

static char *link_to(int fd)
{
	return g_strdup_printf("/proc/self/fd/%d", fd);
}

static struct omissions mark_of(int fd)
{
	g_autofree char *path = link_to(fd);
	struct omissions left;

	omissions_get(path, &left);
	return left;
}

static int new_file(void)
{
	int fd = open(core.dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(kept)
{
	struct omissions left = {.what = LEFT_OWNER};
	int fd;

	core_make(&core);
	fd = new_file();
	ck_assert_uint_eq(mark_of(fd).what, 0);
	ck_assert_int_eq(fchmod(fd, 0640), 0);
	ck_assert_int_eq(fchown(fd, 65534, 7), 0);
	ck_assert_int_eq(futimens(fd, (struct timespec[]){{1, 2}, {-3, 4}}), 0);
	omissions_add(&left, "user.one");
	ck_assert_int_eq(omissions_put(fd, NULL, &left), 0);
	left = mark_of(fd);
	ck_assert_uint_eq(left.what, LEFT_OWNER | LEFT_NAMES);
	ck_assert_uint_eq(left.mode, 0640);
	ck_assert_uint_eq(left.uid, 65534);
	ck_assert_uint_eq(left.gid, 7);
	ck_assert_int_eq(left.mtime, -3 * G_GINT64_CONSTANT(1000000000) + 4);
	ck_assert_uint_eq(left.acl, 0);
	ck_assert(omissions_has(&left, "user.one"));
	ck_assert(!omissions_has(&left, "user.two"));
	core_free_with(&core, fd);
}
END_TEST

START_TEST(many_names)
{
	struct omissions left = {0};
	int fd;

	core_make(&core);
	fd = new_file();
	for (unsigned i = 0; i < LEFT_NAMES_MAX + 1; i++) {
		g_autofree char *name = g_strdup_printf("user.%u", i);

		ck_assert_uint_eq(left.what & (LEFT_OTHERS | LEFT_MORE), 0);
		omissions_add(&left, name);
	}
	ck_assert_int_eq(omissions_put(fd, NULL, &left), 0);
	left = mark_of(fd);
	ck_assert_uint_eq(left.what, LEFT_NAMES | LEFT_OTHERS | LEFT_MORE);
	ck_assert(omissions_has(&left, "user.7"));
	core_free_with(&core, fd);
}
END_TEST

/* Of a symbolic link, by its name; what makes no sense is anything. */
START_TEST(links_and_damage)
{
	struct omissions left = {.what = LEFT_TIME};
	g_autofree char *link = NULL;
	int fd, dir;

	core_make(&core);
	link = g_strconcat(core.dir, "/link", NULL);
	dir = open(core.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(symlink("nowhere", link), 0);
	ck_assert_int_eq(omissions_put(dir, "link", &left), 0);
	ck_assert_int_gt(lgetxattr(link, XATTR_LEFT_OUT, NULL, 0), 0);
	close(dir);
	fd = open(link, O_PATH | O_NOFOLLOW);
	ck_assert_uint_eq(mark_of(fd).what, LEFT_TIME);
	close(fd);
	fd = new_file();
	ck_assert_int_eq(fsetxattr(fd, XATTR_LEFT_OUT, "nonsense", 8, 0), 0);
	ck_assert_uint_eq(mark_of(fd).what, LEFT_ANY);
	core_free_with(&core, fd);
}
END_TEST

/* What an object gets, and what it lacks; what takes the last room for its mark goes, too. */
START_TEST(of_an_object)
{
	static const uint8_t large[8000];
	const struct source_attr attr = {
		.mode = S_IFREG | 0640, .uid = UINT32_MAX, .mtime = 1000000001};
	struct source_xattrs *xattrs = source_xattrs_new();
	struct attributes_result carried = {0};
	struct omissions left;
	int fd;

	core_make(&core);
	core_start(&core);
	fd = new_file();
	source_xattrs_add(xattrs, "user.small", "1", 1);
	source_xattrs_add(xattrs, "trusted.two", "2", 1);
	ck_assert_int_eq(attributes_set(core.retriever, fd, &attr, xattrs, false, &carried), 0);
	left = mark_of(fd);
	ck_assert_uint_eq(left.what & (LEFT_OWNER | LEFT_MODE), LEFT_OWNER | LEFT_MODE);
	ck_assert_uint_eq(left.uid, OWNER_NOBODY);
	ck_assert_uint_eq(left.mode, 0040);
	ck_assert(omissions_has(&left, "trusted.two"));
	ck_assert(!omissions_has(&left, "user.small"));
	ck_assert_int_eq(attributes_strip(fd), 0);
	ck_assert_uint_eq(mark_of(fd).what, 0);
	attributes_clear(&carried);
	source_xattrs_free(xattrs);
	close(fd);

	fd = new_file();
	carried = (struct attributes_result){0};
	xattrs = source_xattrs_new();
	source_xattrs_lose(xattrs, "security.capability: not carried");
	for (unsigned size = sizeof(large); size; size /= 2) {
		g_autofree char *name = g_strdup_printf("user.%u", size);

		source_xattrs_add(xattrs, name, large, size);
	}
	source_xattrs_add(xattrs, "user.rest", large, 40);
	source_xattrs_add(xattrs, "user.more", large, 30);
	source_xattrs_add(xattrs, "user.last", large, 9);
	ck_assert_int_eq(attributes_set(core.retriever, fd, &attr, xattrs, false, &carried), 0);
	left = mark_of(fd);
	ck_assert_uint_ne(left.what & LEFT_SOURCE, 0);
	for (guint i = 0; i < xattrs->list->len; i++) {
		const char *name = g_array_index(xattrs->list, struct source_xattr, i).name;

		ck_assert(fgetxattr(fd, name, NULL, 0) >= 0 || omissions_has(&left, name) ||
			  left.what & LEFT_OTHERS);
	}
	attributes_clear(&carried);
	source_xattrs_free(xattrs);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(told)
{
	int fd;

	core_make(&core);
	fd = open(core.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert(!omissions_was_attached(fd));
	ck_assert_int_eq(left_out_attached(fd), 0);
	ck_assert(omissions_was_attached(fd));
	ck_assert_uint_eq(omissions_get_told(fd), 0);
	/* what was made before by those who did not know of it */
	ck_assert_int_eq(omissions_told(fd, TOLD_ACLS, false), 0);
	ck_assert_uint_eq(omissions_get_told(fd), 0);
	ck_assert_int_eq(omissions_told(fd, TOLD_ACLS | TOLD_XATTRS, true), 0);
	ck_assert_uint_eq(omissions_get_told(fd), TOLD_KNOWN | TOLD_ACLS | TOLD_XATTRS);
	/* the old server was another for a while */
	ck_assert_int_eq(omissions_told(fd, TOLD_ACLS, false), 0);
	ck_assert_int_eq(omissions_told(fd, TOLD_ACLS | TOLD_XATTRS, false), 0);
	ck_assert_uint_eq(omissions_get_told(fd), TOLD_KNOWN | TOLD_ACLS);
	ck_assert_int_eq(omissions_told(fd, TOLD_XATTRS, true), 0);
	ck_assert_uint_eq(omissions_get_told(fd), TOLD_KNOWN | TOLD_XATTRS);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("omissions", 60);

	tcase_add_test(tcase, kept);
	tcase_add_test(tcase, many_names);
	tcase_add_test(tcase, links_and_damage);
	tcase_add_test(tcase, of_an_object);
	tcase_add_test(tcase, told);
	return run_tcase(tcase);
}
