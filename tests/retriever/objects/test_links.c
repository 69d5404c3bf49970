/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

#include "lib/report/losses.h"
#include "retriever/copies/prior.h"
#include "retriever/making/make.h"
#include "retriever/objects/links.h"
#include "tests/durable.h"

/* Whichever name is seen first, they are one file. */
START_TEST(hard_links)
{
	struct stat a, b;
	int root, one, two;

	core_make(&core);
	core_source_file(&core, "x/a", 3000, 4);
	core_source_file(&core, "y/other", 10, 1);
	source_link("x/a", "y/b");
	source_link("x/a", "c");
	core_start(&core);
	root = core_root(&core);
	two = core_find(&core, "y/b", O_RDWR);
	ck_assert_int_eq(core_write(&core, two, 100, 50, 9, false), 0);
	one = core_find(&core, "x/a", O_RDONLY);
	ck_assert_int_eq(fstat(one, &a), 0);
	ck_assert_int_eq(fstat(two, &b), 0);
	ck_assert_uint_eq(a.st_ino, b.st_ino);
	ck_assert_int_eq(core_range(&core, one, 0, UINT64_MAX), 0);
	core_expect(one, 0, 100, 4);
	core_expect(one, 100, 50, 9);
	core_expect(one, 150, 2850, 4);
	ck_assert_int_eq(fill(root), 0);
	ck_assert_int_eq(fstatat(root, "c", &b, 0), 0);
	ck_assert_uint_eq(a.st_ino, b.st_ino);
	ck_assert_uint_eq(b.st_nlink, 3); /* the provisional name has gone with the last */
	close(one);
	close(two);
	core_free_with(&core, root);
}
END_TEST

/* What was made before a restart is counted, and what a client links or removes is not. */
START_TEST(hard_links_and_a_restart)
{
	struct stat st;
	int root, one;

	core_make(&core);
	core_source_file(&core, "x/a", 3000, 4);
	source_link("x/a", "y");
	source_link("x/a", "z");
	core_source_file(&core, "x/b", 10, 1);
	core_start(&core);
	one = core_find(&core, "x/a", O_RDONLY);
	root = core_root(&core);
	ck_assert_int_eq(linkat(one, "", root, ".migrate/client", AT_EMPTY_PATH), 0);
	core_restart(&core);
	ck_assert_int_eq(core_name_in(&core, root, "y"), 0);
	ck_assert_int_eq(fstat(one, &st), 0);
	ck_assert_uint_eq(st.st_nlink, 4); /* and the provisional name and the client's */
	ck_assert_int_eq(unlinkat(root, ".migrate/client", 0), 0);
	core_restart(&core);
	ck_assert_int_eq(fill(root), 0);
	ck_assert_int_eq(fstat(one, &st), 0);
	ck_assert_uint_eq(st.st_nlink, 3);
	close(one);
	one = core_find(&core, "z", O_RDONLY);
	ck_assert_int_eq(core_range(&core, one, 0, UINT64_MAX), 0);
	core_expect(one, 0, 3000, 4);
	ck_assert_int_eq(fstat(one, &st), 0);
	ck_assert_uint_eq(st.st_nlink, 3);
	close(one);
	core_free_with(&core, root);
}
END_TEST

/* Somebody has removed the directory here: its names cannot be made, and that is said. */
START_TEST(hard_links_in_a_removed_directory)
{
	g_autofree char *old = NULL, *path = NULL;
	int fd;

	core_make(&core);
	core_source_file(&core, "d/file", 10, 4);
	old = g_strconcat(core.source, "/d/a", NULL);
	ck_assert_int_eq(mkfifo(old, 0600), 0);
	source_link("d/a", "d/b");
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	path = core_path(&core, "d");
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(core_name_in(&core, fd, "a"), -EIO);
	core_free_with(&core, fd);
}
END_TEST

/* All names of one file asked for at the same time. */
START_TEST(hard_links_at_once)
{
	struct migrate_waiter *w[10];
	struct stat first, st;
	int dir;

	core_make(&core);
	core_source_file(&core, "d/0", 3000, 4);
	for (unsigned i = 1; i < G_N_ELEMENTS(w); i++) {
		g_autofree char *name = g_strdup_printf("d/%u", i);

		source_link("d/0", name);
	}
	core_start(&core);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	for (unsigned i = 0; i < G_N_ELEMENTS(w); i++) {
		char name[16];

		g_snprintf(name, sizeof(name), "%u", i);
		w[i] = CORE_WAIT(waiter, migrate_fetch_name(core.volume, dir, name, 0,
							    migrate_waiter_done, waiter));
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(w); i++)
		ck_assert_int_eq(core_wait(w[i]), 0);
	ck_assert_int_eq(fstatat(dir, "0", &first, 0), 0);
	for (unsigned i = 0; i < G_N_ELEMENTS(w); i++) {
		char name[16];

		g_snprintf(name, sizeof(name), "%u", i);
		ck_assert_int_eq(fstatat(dir, name, &st, 0), 0);
		ck_assert_uint_eq(st.st_ino, first.st_ino);
	}
	core_free_with(&core, dir);
}
END_TEST

/* ---- which names are one object ---- */

static struct source_entry entry;
static struct make_parent parent;

/* Of a file that is 5000 bytes long, and has two names, one number, and a handle that tells. */
static void begin_names_of(bool copying)
{
	core_make(&core);
	core_open(&core);
	core_attach(&core);
	core.retriever->copying = copying; /* before other threads read it */
	core_run(&core);
	core_connect(&core);
	core.retriever->carries = 0;
	entry = (struct source_entry){.has_attr = true};
	entry.attr = (struct source_attr){.mode = S_IFREG | 0640,
					  .nlink = 2,
					  .size = 5000,
					  .fileid = 7,
					  .number = 7,
					  .object = 1,
					  .mtime = 8,
					  .ctime = 9};
	parent = (struct make_parent){.fd = core_root(&core), .prior_fd = -1, .path = ""};
}

static void restart_names(void)
{
	close(parent.fd);
	core_restart(&core);
	core.retriever->carries = 0;
	parent.fd = core_root(&core);
}

static void begin_names(void)
{
	begin_names_of(false);
}

static void end_names(void)
{
	close(parent.fd);
	core_free(&core);
}

static enum make_outcome make_entry(void)
{
	enum make_outcome outcome;

	ck_assert_int_eq(make_object(core.retriever, &parent, &entry, NULL, NULL, &outcome), 0);
	return outcome;
}

/* Its inode; lines: so many are in the report then. */
static ino_t made(const char *name, unsigned lines)
{
	struct stat st;

	entry.name = (char *)name;
	entry.handle_len = entry.attr.object ? sizeof entry.attr.object : 0;
	memcpy(entry.handle, &entry.attr.object, entry.handle_len);
	ck_assert_int_eq(make_entry(), MAKE_DONE);
	ck_assert_uint_eq(losses_count(core.retriever->losses), lines);
	ck_assert_int_eq(fstatat(parent.fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_ino;
}

static unsigned links_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(fstatat(parent.fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return (unsigned)st.st_nlink;
}

/* All its bytes came. */
static void be_whole(const char *name, int64_t mtime)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, migrate_timespec(mtime)};
	g_autofree char *path = core_path(&core, name);

	ck_assert_int_eq(removexattr(path, MIGRATE_XATTR), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* I13: one number, and another handle; all else is the same, as in a snapshot, or is not. */
START_TEST(i13_numbers_that_come_again)
{
	ino_t live, snapshot, other;

	begin_names();
	live = made("live1", 0);
	entry.attr.object = 2;
	snapshot =
		made("snapshot1", 1); /* who knows whether handles tell: it may have been parted */
	entry.attr.object = 3;
	entry.attr.ctime++;
	other = made("other1", 1);
	ck_assert(live != snapshot && live != other && snapshot != other);
	ck_assert_uint_eq(made("other2", 1), other);
	entry.attr.ctime--;
	entry.attr.object = 1;
	restart_names();
	ck_assert_uint_eq(made("live2", 1), live);
	entry.attr.object = 2;
	ck_assert_uint_eq(made("snapshot2", 1), snapshot);
	ck_assert_uint_eq(links_of("live1") + links_of("snapshot1") + links_of("other1"), 6);
	shell("test -z \"$(ls %s/" MIGRATE_PRIVATE_DIR "/links)\"", core.root);
	end_names();
}
END_TEST

/* Where no handle tells, all that is told of it must agree. */
START_TEST(i13_without_handles)
{
	struct source_attr first;
	ino_t one;

	begin_names();
	entry.attr.object = entry.attr.number = 0;
	entry.attr.nlink = 9;
	first = entry.attr;
	one = made("one", 0);
	ck_assert_uint_eq(made("two", 0), one);
	entry.attr.ctime++;
	ck_assert_uint_ne(made("ctime", 1), one);
	entry.attr = first;
	entry.attr.nlink--;
	ck_assert_uint_ne(made("nlink", 2), one);
	entry.attr = first;
	entry.attr.uid = 1;
	ck_assert_uint_ne(made("owner", 3), one);
	entry.attr = first;
	entry.attr.fs = 1; /* that is no other one of the number */
	ck_assert_uint_ne(made("fs", 3), one);
	entry.attr = first;
	restart_names();
	ck_assert_uint_eq(made("three", 3), one);
	end_names();
}
END_TEST

/* The number for the whole source is another one when a file system's fsid is. */
START_TEST(another_fsid)
{
	ino_t one;

	begin_names();
	one = made("one", 0);
	entry.attr.fileid = 12345;
	ck_assert_uint_eq(made("two", 0), one);
	end_names();
}
END_TEST

/* I13, I7: a handle that tells, of what is another version there by now. */
START_TEST(i13_i7_another_version)
{
	ino_t whole, stub, clients;

	begin_names();
	entry.attr.nlink = 5;
	whole = made("whole", 0);
	be_whole("whole", 8);
	entry.attr.ctime++; /* its data is what it was */
	ck_assert_uint_eq(made("renamed", 0), whole);
	entry.attr.size = 5001;
	ck_assert_uint_ne(made("changed", 1), whole);
	ck_assert_uint_eq(links_of("whole"), 2);
	entry.attr.object++;
	entry.attr.fileid++;
	entry.attr.number++;
	stub = made("stub", 1);
	entry.attr.mtime++;
	ck_assert_uint_ne(made("another", 2), stub);
	entry.attr.object++;
	entry.attr.fileid++;
	entry.attr.number++;
	clients = made("clients", 2);
	be_whole("clients", 4711); /* written to */
	entry.attr.mtime += 1000;  /* the way back has carried that, or not */
	ck_assert_uint_eq(made("carried", 2), clients);
	shell("rm %s/" MIGRATE_PRIVATE_DIR "/linked-names; touch %s/clients", core.root, core.root);
	restart_names();
	entry.attr.size++;
	ck_assert_uint_eq(made("more", 2), clients);
	end_names();
}
END_TEST

/* More names than a file can have, say: those to come are another one's. */
START_TEST(provisional_names_that_are_gone)
{
	ino_t one, two;

	begin_names();
	entry.attr.nlink = 4;
	one = made("one", 0);
	shell("rm %s/" MIGRATE_PRIVATE_DIR "/links/*", core.root);
	two = made("two", 1);
	ck_assert_uint_ne(one, two);
	ck_assert_uint_eq(made("three", 1), two);
	end_names();
}
END_TEST

/* A volume that was begun when the number alone was the name. */
START_TEST(provisional_names_of_before)
{
	const uint64_t number = 7;
	g_autofree char *list = NULL;
	ino_t one, two;
	int fd;

	begin_names();
	entry.attr.nlink = 3;
	one = made("one", 0);
	entry.attr.object = 2;
	entry.attr.number = entry.attr.fileid = 8;
	two = made("two", 0);
	be_whole("two", 8);
	shell("cd %s/" MIGRATE_PRIVATE_DIR " && rm linked-names && cd links && mv *-*1 %016x && "
	      "mv *-*2 %016x",
	      core.root, 7, 8);
	list = core_path(&core, MIGRATE_PRIVATE_DIR "/linked");
	fd = open(list, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(fd, &number, sizeof number), sizeof number);
	close(fd);
	restart_names();
	entry.attr.size++;
	ck_assert_uint_ne(made("other2", 1), two);
	entry.attr.size--;
	entry.attr.object = 3; /* the stub knows its handle */
	entry.attr.number = entry.attr.fileid = 7;
	ck_assert_uint_ne(made("other1", 2), one);
	entry.attr.object = 1;
	ck_assert_uint_eq(made("one2", 2), one);
	ck_assert_uint_eq(made("one3", 2), one);
	ck_assert_uint_eq(links_of("one"), 3); /* the list of before counts */
	end_names();
}
END_TEST

/* I13: a copy that was made when a number alone was an object. */
START_TEST(i13_a_copy_of_before)
{
	ino_t live;

	begin_names_of(true);
	entry.attr.size = 0;
	live = made("live", 0);
	shell("ln %s/live %s/snapshot", core.root, core.root);
	ck_assert_int_eq(links_forget(core.retriever), 0); /* the next run */
	ck_assert_int_eq(make_entry(), MAKE_THERE);
	entry.attr.object = 2;
	ck_assert_uint_ne(made("snapshot", 0), live);
	entry.attr.object = 1;
	entry.name = (char *)"live";
	ck_assert_int_eq(make_entry(), MAKE_THERE);
	end_names();
}
END_TEST

START_TEST(claims)
{
	struct source_attr other;

	begin_names();
	other = entry.attr;
	other.object = 2;
	ck_assert(links_claim(core.retriever, 100, &entry.attr, true));
	ck_assert_durable_in(core.retriever->private_fd, "claimed");
	ck_assert(!links_claim(core.retriever, 100, &other, true));
	ck_assert(links_claim(core.retriever, 101, &other, false));
	ck_assert(!links_claim(core.retriever, 101, &entry.attr, true));
	ck_assert(links_claim(core.retriever, 102, &other, true));
	restart_names();
	ck_assert(!links_claim(core.retriever, 100, &other, true));
	ck_assert(links_claim(core.retriever, 101, &entry.attr, true));
	ck_assert(!links_claim(core.retriever, 102, &entry.attr, true));
	end_names();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("links", 60);

	tcase_add_test(tcase, hard_links);
	tcase_add_test(tcase, hard_links_and_a_restart);
	tcase_add_test(tcase, hard_links_in_a_removed_directory);
	tcase_add_test(tcase, hard_links_at_once);
	tcase_add_test(tcase, i13_numbers_that_come_again);
	tcase_add_test(tcase, i13_without_handles);
	tcase_add_test(tcase, another_fsid);
	tcase_add_test(tcase, i13_i7_another_version);
	tcase_add_test(tcase, provisional_names_that_are_gone);
	tcase_add_test(tcase, provisional_names_of_before);
	tcase_add_test(tcase, i13_a_copy_of_before);
	tcase_add_test(tcase, claims);
	return run_tcase(tcase);
}
