/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

static struct core core;

static void verify(struct verify_count *count)
{
	g_autofree char *message = NULL;

	ck_assert_int_eq(verify_volume(core.retriever, true, count, &message), 0);
	g_clear_pointer(&count->first, g_free);
}

/* I12: the walk finds what is unfinished below directories that say they are normal, too. */
START_TEST(i12_below_normal_directories)
{
	struct verify_count count;
	g_autofree char *message = NULL;
	int d, file, root;

	core_make(&core);
	core_source_file(&core, "d/e/f", 1000, 1);
	core_start(&core);
	root = core_root(&core);
	file = core_find(&core, "d/e/f", O_RDONLY);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, d, 0)), 0);
	core_restart(&core);
	ck_assert_int_eq(migrate_record_drop(root), 0); /* by hand: I5 is broken */
	ck_assert_int_eq(migrate_record_drop(d), 0);
	verify(&count);
	ck_assert_uint_eq(count.unfinished, 2); /* e and f */
	ck_assert_int_eq(count.directories_whole, 0);
	ck_assert_int_eq(finalize_volume(core.retriever, false, false, &message), -EBUSY);
	ck_assert_int_eq(migrate_has_record(d), 1); /* so that a crawler finds it */
	ck_assert_int_eq(migrate_has_record(root), 1);
	close(d);
	close(file);
	core_free_with(&core, root);
}
END_TEST

START_TEST(the_counters_are_set)
{
	g_autofree char *one = NULL, *two = NULL;
	struct verify_count count;
	int root;

	core_make(&core);
	core_source_file(&core, "a", 1000, 1);
	core_source_file(&core, "b", 2000, 1);
	core_source_file(&core, "sub/c", 2000, 1);
	one = g_strconcat(core.source, "/a", NULL);
	two = g_strconcat(core.source, "/a2", NULL);
	ck_assert_int_eq(link(one, two), 0);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	COUNT_SET(core.retriever, files_found, 77);
	verify(&count);
	ck_assert_int_eq(count.files, 2); /* one of them has two names */
	ck_assert_int_eq(count.directories, 2);
	ck_assert_int_eq(count.unfilled, 1);
	ck_assert_int_eq(count.bytes, 3000);
	ck_assert_int_eq(count.bytes_whole, 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, files_found), 2);
	ck_assert_int_eq(COUNT_GET(core.retriever, exact), 1);
	core_free_with(&core, root);
}
END_TEST

/* I7: a retriever is killed just after a client wrote, and nobody asks the next one for the file
 * before its file system is unmounted. */
START_TEST(i7_what_was_written_before_a_kill)
{
	g_autofree uint8_t *data = core_bytes(9, 20000, 100);
	int fd = core_with_file(&core, 30000, O_RDWR);
	struct verify_count count;
	struct migrate_record rec;

	core_close(&core);
	ck_assert_int_eq(migrate_record_load(fd, &rec), 1);
	migrate_extents_add(&rec.dirty, 20000, 20100);
	ck_assert(migrate_mount_epoch(fd, rec.epoch));
	rec.flags |= MIGRATE_REC_CLIENT;
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	migrate_record_clear(&rec);
	ck_assert_int_eq(pwrite(fd, data, 100, 20000), 100);
	core_open(&core);
	core_run(&core);
	verify(&count);
	core_close(&core);
	ck_assert_uint_eq(core_missing(fd), 30000 - 100);
	core_free_with(&core, fd);
}
END_TEST

/* The linker wraps it; for this thread, which verifies. */
static _Thread_local ino_t damaged[2];

int __real_migrate_record_load(int fd, struct migrate_record *rec);
int __wrap_migrate_record_load(int fd, struct migrate_record *rec);
int __wrap_migrate_record_load(int fd, struct migrate_record *rec)
{
	struct stat st;

	if (!fstat(fd, &st) && st.st_ino && (st.st_ino == damaged[0] || st.st_ino == damaged[1]))
		return -EIO;
	return __real_migrate_record_load(fd, rec);
}

/* The disk has lost two of them; the others are looked at. */
START_TEST(i12_what_cannot_be_looked_at)
{
	g_autofree char *message = NULL;
	struct verify_count count;
	struct stat st;

	core_make(&core);
	core_source_file(&core, "a", 1000, 1);
	core_source_file(&core, "b", 1000, 1);
	core_source_file(&core, "c", 1000, 1);
	core_start(&core);
	int root = core_root(&core);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(fstatat(root, i ? "c" : "a", &st, 0), 0);
		damaged[i] = st.st_ino;
	}
	ck_assert_int_eq(verify_volume(core.retriever, true, &count, &message), -EIO);
	ck_assert_msg(g_str_has_prefix(message, "2 objects cannot be looked at, the first is ") &&
			      strstr(message, core.root),
		      "%s", message);
	ck_assert_uint_eq(count.objects, 4);
	ck_assert_int_eq(count.files, 1);
	g_free(count.first);
	damaged[0] = damaged[1] = 0;
	verify(&count);
	ck_assert_int_eq(count.files, 3);
	core_free_with(&core, root);
}
END_TEST

START_TEST(i12_a_root_that_cannot_be_looked_at)
{
	g_autofree char *message = NULL;
	struct verify_count count;
	int root;

	core_make(&core);
	core_open(&core);
	core_attach(&core);
	root = core.retriever->root_fd;
	core.retriever->root_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(core.retriever->root_fd); /* as fstat() fails of one that is lost */
	ck_assert_int_lt(verify_volume(core.retriever, false, &count, &message), 0);
	core.retriever->root_fd = root;
	core_free(&core);
}
END_TEST

START_TEST(gives_up_when_closing)
{
	struct verify_count count;
	g_autofree char *message = NULL;

	core_make(&core);
	core_source_file(&core, "a", 1000, 1);
	core_open(&core);
	core_attach(&core);
	g_atomic_int_set(&core.retriever->closing, 1);
	ck_assert_int_eq(verify_volume(core.retriever, true, &count, &message), -ECANCELED);
	g_free(count.first);
	core_free(&core);
}
END_TEST

/* ---- what is moved behind the walk ---- */

enum behind { A_FILE, A_DIRECTORY, A_NAME, FROM_WHAT_WAS_MOVED, ALL_THE_TIME, BEHINDS };

static struct {
	char *first, *second; /* directories that are listed in this order */
	enum behind how;
	bool moves, done;
} behind;

static void move(const char *from, const char *name, const char *to, const char *as)
{
	g_autofree char *a = g_build_filename(from, name, NULL);
	g_autofree char *b = g_build_filename(to, as, NULL);

	ck_assert_msg(rename(a, b) == 0, "%s to %s: %s", a, b, strerror(errno));
}

static void move_name(void)
{
	g_autofree char *a = g_build_filename(behind.second, "s/f", NULL);
	g_autofree char *b = g_build_filename(behind.first, "f", NULL);

	ck_assert_int_eq(link(a, b), 0);
	ck_assert_int_eq(unlink(a), 0);
}

static void move_behind(bool second)
{
	const bool again = behind.done;

	if (!second && (!again || behind.how != ALL_THE_TIME))
		return;
	behind.done = true;
	if (again && behind.how == ALL_THE_TIME)
		move(second ? behind.second : behind.first, "f",
		     second ? behind.first : behind.second, "f");
	else if (again)
		return;
	else if (behind.how == A_NAME)
		move_name();
	else if (behind.how == A_FILE || behind.how == ALL_THE_TIME)
		move(behind.second, "s/f", behind.first, "f");
	else
		move(behind.second, "s", behind.first, "s");
}

static void go_on(char name); /* while the walk lists that directory */

/* The walk begins to list a directory. */
DIR *fdopendir(int fd)
{
	DIR *(*real)(int) = dlsym(RTLD_NEXT, "fdopendir");
	g_autofree char *path = retriever_fd_path(fd), *name = g_path_get_basename(path);

	if (strlen(name) == 1 && strchr("ab", *name))
		go_on(*name);
	if (!behind.moves && strlen(name) == 1 && strchr("ab", *name)) {
		g_free(behind.first);
		behind.first = behind.second;
		behind.second = g_strdup(path);
	} else if (behind.moves && strlen(name) == 1) {
		if (strchr("ab", *name))
			move_behind(!strcmp(path, behind.second));
		else if (behind.how == FROM_WHAT_WAS_MOVED && behind.done &&
			 faccessat(fd, "f", F_OK, 0) == 0)
			move(path, "f", behind.second, "f");
	}
	return real(fd);
}

static void fill(const char *name)
{
	int fd = core_find(&core, name, O_RDONLY | O_DIRECTORY);

	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	close(fd);
}

/* ---- what changes while the walk counts ---- */

static int listed = -1; /* the directory that the walk has listed, 0: none; -1: nobody asks */

static void change(char dir)
{
	char file[] = {dir, '/', 'f', 0}, unfilled[] = {dir, '/', 'd', 0},
	     empty[] = {dir, '/', 'e', 0};
	int fd = core_find(&core, file, O_RDONLY);

	ck_assert_int_eq(core_range(&core, fd, 0, 1000), 0);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_int_eq(migrate_has_record(fd), 0);
	close(fd);
	fill(unfilled);
	fd = core_find(&core, empty, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_finish(&core, fd), 0);
	ck_assert_int_eq(migrate_has_record(fd), 0);
	close(fd);
}

static void go_on(char name)
{
	const int first = listed;

	if (first < 0)
		return;
	listed = name;
	if (!first)
		return;
	listed = -1;
	change(first);
	change(name);
}

/* Both behind the walk and before it. */
START_TEST(counts_what_changes_meanwhile)
{
	static const char *const names[] = {"f", "d/g", "d/d/h", "d/none", "e/none"};
	struct counters meanwhile;
	struct verify_count count;
	int root;

	core_make(&core);
	for (const char *dir = "ab"; *dir; dir++) {
		for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
			g_autofree char *path = g_strdup_printf("%c/%s", *dir, names[i]);

			core_source_file(&core, path, strstr(path, "none") ? 0 : 1000, 1);
		}
	}
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	fill("a"), fill("a/e");
	fill("b"), fill("b/e");
	listed = 0;
	verify(&count);
	ck_assert_int_eq(listed, -1);
	meanwhile = (struct counters){
		.files_found = COUNT_GET(core.retriever, files_found),
		.files_whole = COUNT_GET(core.retriever, files_whole),
		.bytes_found = COUNT_GET(core.retriever, bytes_found),
		.bytes_whole = COUNT_GET(core.retriever, bytes_whole),
		.directories_found = COUNT_GET(core.retriever, directories_found),
		.directories_whole = COUNT_GET(core.retriever, directories_whole),
		.unfilled = COUNT_GET(core.retriever, unfilled),
	};
	verify(&count);
	ck_assert_int_eq(meanwhile.files_found, count.files);
	ck_assert_int_eq(meanwhile.files_whole, count.files_whole);
	ck_assert_int_eq(meanwhile.bytes_found, count.bytes);
	ck_assert_int_eq(meanwhile.bytes_whole, count.bytes_whole);
	ck_assert_int_eq(meanwhile.directories_found, count.directories);
	ck_assert_int_eq(meanwhile.directories_whole, count.directories_whole);
	ck_assert_int_eq(meanwhile.unfilled, count.unfilled);
	ck_assert_int_eq(count.files_whole, 6); /* f, d/none and e/none, twice */
	ck_assert_int_eq(count.directories_whole, 2);
	ck_assert_int_eq(count.unfilled, 2); /* d/d */
	core_free_with(&core, root);
}
END_TEST

static void take_for_whole(const char *path)
{
	ck_assert_int_eq(lremovexattr(path, MIGRATE_XATTR), 0);
}

/* I4: a local program takes a stub from where the walk has not been to where it has been. */
START_TEST(i4_moved_behind_the_walk)
{
	g_autofree char *message = NULL, *as = NULL;
	struct verify_count count;
	int root;

	core_make(&core);
	core_source_file(&core, "s/f", 1000, 1);
	core_source_file(&core, "a/d/none", 0, 1);
	core_source_file(&core, "b/d/none", 0, 1);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	fill("s");
	fill("a"), fill("a/d");
	fill("b"), fill("b/d");
	core_restart(&core);
	verify(&count);
	move(core.root, "s", behind.second, "s");
	for (const char *const *name = (const char *const[]){"", "a", "a/d", "b", "b/d", NULL};
	     *name; name++) {
		g_autofree char *path = core_path(&core, *name);

		if (lgetxattr(path, MIGRATE_XATTR, NULL, 0) > 0)
			take_for_whole(path);
	}
	as = g_build_filename(behind.second, "s", NULL);
	take_for_whole(as);
	behind.how = _i;
	behind.moves = true;
	ck_assert_int_eq(finalize_volume(core.retriever, false, false, &message), -EBUSY);
	ck_assert(behind.done);
	ck_assert_ptr_nonnull(strstr(
		message, behind.how == ALL_THE_TIME ? "all the time" : "1 object is unfinished"));
	ck_assert_int_eq(faccessat(root, MIGRATE_PRIVATE_DIR, F_OK, 0), 0);
	if (behind.how != ALL_THE_TIME) /* so that a crawler finds it */
		ck_assert_int_eq(migrate_has_record(root), 1);
	core_free_with(&core, root);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("verify", 60);

	tcase_add_test(tcase, i12_below_normal_directories);
	tcase_add_test(tcase, the_counters_are_set);
	tcase_add_test(tcase, counts_what_changes_meanwhile);
	tcase_add_test(tcase, i7_what_was_written_before_a_kill);
	tcase_add_loop_test(tcase, i4_moved_behind_the_walk, 0, BEHINDS);
	tcase_add_test(tcase, i12_what_cannot_be_looked_at);
	tcase_add_test(tcase, i12_a_root_that_cannot_be_looked_at);
	tcase_add_test(tcase, gives_up_when_closing);
	return run_tcase(tcase);
}
