/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stub-attributes = lazy. */
#include "tests/retriever/core_hook.h"
#include "tests/retriever/core_xattrs.h"

#include <dirent.h>

#include "retriever/making/dummy.h"
#include "retriever/names/fill.h"

static struct core core;

static void make_source(void)
{
	core_make(&core);
	core.attributes = STUB_LAZY;
	core_source_file(&core, "d/f", 10000, 1);
	core_source_file(&core, "d/g", 20000, 2);
	core_source_file(&core, "d/sub/x", 10, 3);
}

static void named(void *arg, int status)
{
	ck_assert_int_eq(status, 0);
	sem_post(arg);
}

static void fill_names(int fd)
{
	struct object *object;
	sem_t done;

	sem_init(&done, 0, 0);
	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	directory_fill_names(object, named, &done);
	sem_wait(&done);
	object_unref(object);
}

static unsigned count_dummies(int fd)
{
	DIR *dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	unsigned n = 0;
	struct dirent *e;

	while ((e = readdir(dir)))
		n += dummy_is(fd, e->d_name);
	closedir(dir);
	return n;
}

START_TEST(i4_a_dummy_is_made_whole_before_it_is_seen)
{
	int fd, file;

	make_source();
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	fill_names(fd);
	ck_assert_uint_eq(count_dummies(fd), 3);
	file = openat(fd, "g", O_PATH | O_CLOEXEC);
	ck_assert_int_eq(core_range(&core, file, 0, UINT64_MAX), -ESTALE);
	close(file);
	ck_assert_uint_eq(count_dummies(fd), 3);
	file = openat(fd, "f", O_RDONLY | O_CLOEXEC);
	ck_assert(!core_present(file, 0, 1));
	close(file);
	ck_assert_int_eq(core_name_in(&core, fd, "f"), 0);
	ck_assert_uint_eq(count_dummies(fd), 2);
	file = openat(fd, "f", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(core_range(&core, file, 0, UINT64_MAX), 0);
	core_expect(file, 0, 10000, 1);
	close(file);
	ck_assert_int_eq(core_name_in(&core, fd, "nothing"), -ENOENT);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	ck_assert_uint_eq(count_dummies(fd), 0);
	core_free_with(&core, fd);
}
END_TEST

static ino_t watched;
static atomic_int seen, unlocked;

/* Whether a name of the watched directory is removed or replaced without the lock. */
static void see_lock(const char *call, int fd, bool after)
{
	struct stat st;

	if (after || fstat(fd, &st) < 0 || st.st_ino != watched ||
	    !(g_str_has_prefix(call, "unlink") || g_str_has_prefix(call, "rename")))
		return;
	atomic_fetch_add(&seen, 1);
	if (g_mutex_trylock(&core.retriever->dummy_lock)) {
		g_mutex_unlock(&core.retriever->dummy_lock);
		atomic_fetch_add(&unlocked, 1);
	}
}

/* To see that it is one, and to replace or remove it, is one step; also where the name vanished on
 * the old server between the listing and the fill. */
START_TEST(a_dummy_goes_under_the_lock)
{
	g_autofree char *path = NULL;
	struct stat st;
	int fd;

	if (getenv("WITHOUT")) /* files get their names by renames that replace nothing */
		return;
	make_source();
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	fill_names(fd);
	path = g_strconcat(core.source, "/d/g", NULL);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	watched = st.st_ino;
	atomic_store(&core_hook, see_lock);
	ck_assert_int_eq(core_name_in(&core, fd, "f"), 0);
	ck_assert_int_eq(atomic_load(&seen), 1);
	ck_assert_int_eq(core_name_in(&core, fd, "g"), -ENOENT);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_eq(count_dummies(fd), 0);
	ck_assert_int_eq(atomic_load(&seen), 3);
	ck_assert_int_eq(atomic_load(&unlocked), 0);
	ck_assert_int_eq(faccessat(fd, "g", F_OK, 0), -1);
	core_free_with(&core, fd);
}
END_TEST

/* Names only, whole and one by one, all at the same time. */
START_TEST(i4_no_dummy_is_left)
{
	for (unsigned round = 0; round < 20; round++) {
		struct migrate_waiter *w[3];
		int fd;

		make_source();
		core_start(&core);
		fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
		w[0] = core_ask_fill(&core, fd, round % 2 ? MIGRATE_BACKGROUND : 0);
		w[1] = CORE_WAIT(waiter, migrate_fetch_name(core.volume, fd, "g", 0,
							    migrate_waiter_done, waiter));
		fill_names(fd);
		w[2] = core_ask_fill(&core, fd, 0);
		for (size_t i = 0; i < G_N_ELEMENTS(w); i++)
			ck_assert_int_eq(core_wait(w[i]), 0);
		ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
		ck_assert_uint_eq(count_dummies(fd), 0);
		core_free_with(&core, fd);
	}
}
END_TEST

/* Dummies inherit nothing, and what replaces them has its own ACL. */
START_TEST(i7_default_acls)
{
	static const char acl[] = "u::6 u:1000:6 g::4 m::6 o::4";
	int fd, file;

	make_source();
	core_carry(&core);
	core_source_acl("d", XATTR_ACL_DEFAULT, "u::7 u:7:7 g::7 m::7 o::7");
	core_source_acl("d/f", XATTR_ACL_ACCESS, acl);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	core_expect_acl(fd, XATTR_ACL_DEFAULT, "u::7 u:7:7 g::7 m::7 o::7");
	fill_names(fd);
	file = openat(fd, "f", O_RDONLY | O_CLOEXEC);
	ck_assert(dummy_is(fd, "f"));
	core_expect_acl(file, XATTR_ACL_ACCESS, NULL);
	close(file);
	ck_assert_int_eq(core_name_in(&core, fd, "f"), 0);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	ck_assert_uint_eq(count_dummies(fd), 0);
	file = openat(fd, "f", O_RDONLY | O_CLOEXEC);
	core_expect_acl(file, XATTR_ACL_ACCESS, acl);
	close(file);
	file = openat(fd, "g", O_RDONLY | O_CLOEXEC);
	core_expect_acl(file, XATTR_ACL_ACCESS, NULL);
	close(file);
	core_free_with(&core, fd);
}
END_TEST

/* Killed at every step of replacing them. */
START_TEST(i4_killed_at_every_step)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		int fd, file;

		make_source();
		core_open(&core);
		core_attach(&core);
		core_run(&core);
		core_connect(&core);
		fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
		fill_names(fd);
		core_disconnect(&core);
		core_close(&core);
		core_supervise(&core, nth);
		core_connect(&core);
		ck_assert_int_eq(core_name_in(&core, fd, "f"), 0);
		ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
		ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
		ck_assert_uint_eq(count_dummies(fd), 0);
		file = openat(fd, "g", O_RDONLY | O_CLOEXEC);
		ck_assert_int_eq(core_range(&core, file, 0, UINT64_MAX), 0);
		core_expect(file, 0, 20000, 2);
		killed = core_killed();
		close(file);
		close(fd);
		core_disconnect(&core);
		core_end_supervision(&core);
		core_free(&core);
		ck_assert_int_lt(nth, 300);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("dummy", 100);

	tcase_add_test(tcase, i4_a_dummy_is_made_whole_before_it_is_seen);
	tcase_add_test(tcase, a_dummy_goes_under_the_lock);
	tcase_add_test(tcase, i4_no_dummy_is_left);
	tcase_add_test(tcase, i7_default_acls);
	tcase_add_test(tcase, i4_killed_at_every_step);
	return run_tcase(tcase);
}
