/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

#include <sys/resource.h>

#include "lib/base/filetree.h"
#include "tests/durable.h"

static int top(void)
{
	core_make(&core);
	return core_root(&core);
}

/* What own_save() returns where no more than so many bytes can be written.  The limit is one for
 * check, too, which writes what is asserted. */
static int save_within(int fd, rlim_t bytes)
{
	int ret;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, RLIM_INFINITY});
	ret = own_save(fd, "f", "lost", 4);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
	return ret;
}

START_TEST(saves_as_a_whole)
{
	g_autofree char *text = NULL, *path = NULL;
	int fd = top();

	ck_assert_int_eq(own_save(fd, "f", "a long text", 11), 0);
	ck_assert_int_eq(own_save(fd, "f", "short", 5), 0);
	path = core_path(&core, "f");
	ck_assert_durable(path);
	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	ck_assert_str_eq(text, "short");
	core_fail_sync = "fdatasync";
	ck_assert_int_eq(own_save(fd, "f", "lost", 4), -EIO);
	core_fail_sync = NULL;
	ck_assert_int_eq(save_within(fd, 2), -ENOSPC); /* half of it was written */
	ck_assert_int_eq(save_within(fd, 0), -EFBIG);
	g_free(text);
	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	ck_assert_str_eq(text, "short");
	core_free_with(&core, fd);
}
END_TEST

START_TEST(clears_one_level)
{
	int fd = top();

	shell("cd %s && mkdir empty && touch f && ln -s /nowhere l", core.root);
	ck_assert_int_eq(own_clear(fd), 0);
	ck_assert_uint_eq(count_names(fd), 0);
	shell("cd %s && mkdir -p a/b", core.root);
	ck_assert_int_lt(own_clear(fd), 0);
	core_free_with(&core, fd);
}
END_TEST

/* The linker wraps it: somebody removes a directory as soon as it was looked at; one cannot be; one
 * is a subvolume. */
int __real_fstatat64(int fd, const char *name, struct stat *st, int flags);
int __wrap_fstatat64(int fd, const char *name, struct stat *st, int flags);
int __wrap_fstatat64(int fd, const char *name, struct stat *st, int flags)
{
	int ret = __real_fstatat64(fd, name, st, flags);

	if (!strcmp(name, "bad")) {
		errno = EIO;
		return -1;
	}
	if (!ret && !strcmp(name, "subvolume"))
		st->st_dev++;
	if (!strcmp(name, "going"))
		ck_assert_int_eq(unlinkat(fd, name, AT_REMOVEDIR), 0);
	return ret;
}

static int note(void *arg, const struct own_entry *entry)
{
	g_string_append_printf(arg, "%s%s ", entry->path, entry->leaf ? "" : "/");
	return g_str_has_suffix(entry->path, "stop") ? 7 : 0;
}

START_TEST(walks_a_tree)
{
	g_autoptr(GString) seen = g_string_new(NULL);
	int fd = top();

	shell("cd %s && mkdir -p t/a/b t/a/b/going && touch t/a/b/f && ln -s /etc t/a/b/f2 && rm "
	      "t/a/b/f",
	      core.root);
	ck_assert_int_eq(own_walk(fd, "t", note, seen), 0);
	ck_assert_str_eq(seen->str, "a/b/f2 a/b/ a/ / ");
	ck_assert_int_eq(own_count(fd, "t", 100), 4);
	ck_assert_int_eq(own_count(fd, "t", 2), 2);
	ck_assert_int_eq(own_count(fd, "none", 100), 0);
	shell("cd %s && touch t/a/stop", core.root);
	ck_assert_int_eq(own_walk(fd, "t", note, seen), 7);
	core_free_with(&core, fd);
}
END_TEST

static int note_outside(void *arg, const struct own_entry *entry)
{
	g_string_append_printf(arg, "%s%s%s ", entry->path, entry->leaf ? "" : "/",
			       entry->outside ? "!" : "");
	return 0;
}

/* One is entered where it is the top, or where it goes with the rest. */
START_TEST(subvolumes)
{
	g_autoptr(GString) seen = g_string_new(NULL);
	int fd = top();

	shell("cd %s && mkdir -p t/subvolume/d", core.root);
	ck_assert_int_eq(own_walk_volume(fd, "t/subvolume", note_outside, seen), 0);
	ck_assert_str_eq(seen->str, "d / ");
	g_string_truncate(seen, 0);
	ck_assert_int_eq(own_walk_volume(fd, "t", note_outside, seen), 0);
	ck_assert_str_eq(seen->str, "subvolume! / ");
	g_string_truncate(seen, 0);
	ck_assert_int_eq(own_walk(fd, "t", note_outside, seen), 0);
	ck_assert_str_eq(seen->str, "subvolume/d subvolume/ / ");
	ck_assert_int_eq(own_remove(fd, "t"), 0);
	core_free_with(&core, fd);
}
END_TEST

static int note_error(void *arg, const struct own_entry *entry)
{
	g_string_append_printf(arg, "%s%s ", entry->path, entry->error == -EIO ? "?" : "");
	return 0;
}

/* Everything else is walked. */
START_TEST(one_that_cannot_be_looked_at)
{
	g_autoptr(GString) seen = g_string_new(NULL);
	int fd = top();

	shell("cd %s && mkdir -p t/a/b && touch t/a/b/bad t/a/b/f", core.root);
	ck_assert_int_eq(own_walk(fd, "t", note_error, seen), -EIO);
	ck_assert_str_eq(seen->str, "a/b/f a/b? a  ");
	ck_assert_int_eq(own_walk(fd, "t", note, seen), -EIO);
	shell("touch %s/t/stop", core.root);
	ck_assert_int_eq(own_walk(fd, "t", note, seen), 7);
	core_free_with(&core, fd);
}
END_TEST

#define DEPTH 3000 /* 6,000 bytes, more directories than may be open */

static int count_files(void *arg, const struct own_entry *entry)
{
	struct stat st;

	ck_assert_int_eq(__real_fstatat64(entry->dir_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_uint_eq(st.st_ino, entry->st->st_ino);
	*(unsigned *)arg += S_ISREG(st.st_mode);
	return 0;
}

START_TEST(walks_a_deep_tree)
{
	const struct rlimit files = {200, 200};
	unsigned count = 0;
	int fd = top(), at = fd;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	for (unsigned i = 0; i < DEPTH; i++) {
		int next;

		ck_assert_int_eq(mkdirat(at, "d", 0700), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY);
		ck_assert_int_ge(next, 0);
		if (at != fd)
			close(at);
		at = next;
		close(openat(at, "a", O_WRONLY | O_CREAT, 0600));
		ck_assert_int_eq(mkdirat(at, "c", 0700), 0); /* ways down that turn back */
		ck_assert_int_eq(mkdirat(at, "e", 0700), 0);
		close(openat(at, "z", O_WRONLY | O_CREAT, 0600));
	}
	close(at);
	ck_assert_int_eq(own_walk(fd, "d", count_files, &count), 0);
	ck_assert_uint_eq(count, 2 * DEPTH);
	ck_assert_int_eq(own_count(fd, "d", 100000), 5 * DEPTH);
	ck_assert_int_eq(own_remove(fd, "d"), 0);
	ck_assert(!is_there(core.root, "d"));
	core_free_with(&core, fd);
}
END_TEST

/* Neither through a symbolic link nor into a mount: what is there is not ours. */
START_TEST(removes_nothing_else)
{
	int fd;

	mounts_of_our_own();
	fd = top();
	shell("cd %s && mkdir -p t/mount t/d other && touch other/f t/d/f && ln -s ../other t/link "
	      "&& "
	      "mount -t tmpfs none t/mount && touch t/mount/f",
	      core.root);
	ck_assert_int_eq(own_remove(fd, "t"), -EBUSY);
	ck_assert(is_there(core.root, "other/f"));
	ck_assert(is_there(core.root, "t/mount/f"));
	ck_assert(!is_there(core.root, "t/d"));
	ck_assert(!is_there(core.root, "t/link"));
	shell("umount %s/t/mount", core.root);
	ck_assert_int_eq(own_remove(fd, "t"), 0);
	ck_assert(!is_there(core.root, "t"));
	ck_assert_int_eq(own_remove(fd, "t"), 0);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("own_files", 60);

	tcase_add_test(tcase, saves_as_a_whole);
	tcase_add_test(tcase, clears_one_level);
	tcase_add_test(tcase, walks_a_tree);
	tcase_add_test(tcase, subvolumes);
	tcase_add_test(tcase, one_that_cannot_be_looked_at);
	tcase_add_test(tcase, walks_a_deep_tree);
	tcase_add_test(tcase, removes_nothing_else);
	return run_tcase(tcase);
}
