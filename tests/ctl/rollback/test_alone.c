/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What befalls one object is that object's line, and the rest is carried. */
#include "tests/ctl/rollback/alone.h"

#define LONG   "a-name-of-sixty-four-bytes-and-so-about-eighty-of-them-are-many-"
#define LEVELS 80

/* The linker wraps these: what is asked of the old server for one path fails. */
static const char *failing;
static int failure;
static unsigned failures = UINT_MAX; /* so often */
static bool all_fail;

int __real_target_stat(struct target *target, const char *path, struct stat *st);
int __wrap_target_stat(struct target *target, const char *path, struct stat *st);
int __wrap_target_stat(struct target *target, const char *path, struct stat *st)
{
	const bool fails = failing && failure && failures && !strcmp(path, failing);

	failures -= fails;
	return fails ? failure : __real_target_stat(target, path, st);
}

static const char *unlisted;

GHashTable *__real_target_list(struct target *target, const char *path, int *ret);
GHashTable *__wrap_target_list(struct target *target, const char *path, int *ret);
GHashTable *__wrap_target_list(struct target *target, const char *path, int *ret)
{
	if (!unlisted || strcmp(path, unlisted) != 0)
		return __real_target_list(target, path, ret);
	*ret = -EACCES;
	return NULL;
}

int __real_target_try(struct target *target, int failed);
int __wrap_target_try(struct target *target, int failed);
int __wrap_target_try(struct target *target, int failed)
{
	return all_fail ? -EIO : __real_target_try(target, failed);
}

/* Objects that cannot be looked at here: to open one fails so, and so does to ask for it by name.
 */
static struct migrate_binding unseen[3];
static int unseen_failure, unseen_by_name;

static bool is_unseen(const struct migrate_binding *handle)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(unseen) && unseen_failure; i++)
		if (migrate_binding_equal(&unseen[i], handle))
			return true;
	return false;
}

int __real_migrate_binding_open(int fd, const struct migrate_binding *handle, int flags);
int __wrap_migrate_binding_open(int fd, const struct migrate_binding *handle, int flags);
int __wrap_migrate_binding_open(int fd, const struct migrate_binding *handle, int flags)
{
	return is_unseen(handle) ? unseen_failure : __real_migrate_binding_open(fd, handle, flags);
}

int __real_migrate_binding_get(int dir, const char *name, struct migrate_binding *handle);
int __wrap_migrate_binding_get(int dir, const char *name, struct migrate_binding *handle);
int __wrap_migrate_binding_get(int dir, const char *name, struct migrate_binding *handle)
{
	int ret = __real_migrate_binding_get(dir, name, handle);

	return !ret && name && is_unseen(handle) ? unseen_by_name : ret;
}

/* Beyond what the kernel takes at once.  The last directory of a tree; made where it is not there;
 * journal_made: it is noted so. */
static int deep(const char *tree, bool journal_made)
{
	int fd = open(tree, O_RDONLY | O_DIRECTORY), next;

	for (unsigned i = 0; i < LEVELS; i++) {
		struct migrate_binding found;
		struct journal_place place = {.name = LONG};

		ck_assert_int_eq(migrate_binding_get(fd, NULL, &place.dir), 0);
		ck_assert(mkdirat(fd, LONG, 0755) == 0 || errno == EEXIST);
		next = openat(fd, LONG, O_RDONLY | O_DIRECTORY);
		ck_assert_int_eq(migrate_binding_get(next, NULL, &found), 0);
		if (journal_made)
			journal_store_made(journal, &found, true, &place);
		close(fd);
		fd = next;
	}
	return fd;
}

static void write_deep(int dir, const char *text)
{
	int fd = openat(dir, "file", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void note_deep(int dir, bool made, unsigned flags)
{
	struct journal_place place = {.name = "file"};
	struct migrate_binding file;

	ck_assert_int_eq(migrate_binding_get(dir, NULL, &place.dir), 0);
	ck_assert_int_eq(migrate_binding_get(dir, "file", &file), 0);
	if (made)
		journal_store_made(journal, &file, false, &place);
	else
		journal_store_touch(journal, &file, flags, &place);
	close(dir);
}

static void deep_is(const char *text)
{
	char found[32] = "";
	int dir = deep(OLD_TREE, false), fd = openat(dir, "file", O_RDONLY);

	ck_assert_int_eq(read(fd, found, sizeof(found) - 1), (ssize_t)strlen(text));
	ck_assert_str_eq(found, text);
	close(fd);
	close(dir);
}

START_TEST(made_deep)
{
	trees_make(FILL);
	change("a/2", JOURNAL_DATA, "echo new >a/2");
	int dir = deep(NEW_TREE, true);
	write_deep(dir, "new");
	note_deep(dir, true, 0);
	go_back(0);
	deep_is("new");
	dir = deep(NEW_TREE, false);
	write_deep(dir, "newer");
	note_deep(dir, false, JOURNAL_DATA);
	change("a/3", JOURNAL_DATA, "echo new >a/3");
	go_back(0);
	deep_is("newer");
	sh("cd " OLD_TREE " && grep -q new a/2 && grep -q new a/3");
	/* what is removed there is removed name by name, too */
	move(LONG, "renamed");
	sh("rm -rf " NEW_TREE "/renamed/" LONG);
	note("renamed", JOURNAL_ENTRIES);
	go_back_whole();
}
END_TEST

/* It was there at the switch; neither it nor its directory has a row of its name. */
START_TEST(changed_deep)
{
	trees_make(FILL);
	for (unsigned i = 0; i < 2; i++) {
		int dir = deep(i ? OLD_TREE : NEW_TREE, false);

		write_deep(dir, "old");
		close(dir);
	}
	wait_for_clocks();
	switched = g_get_real_time() * 1000;
	journal_store_state(journal)->since = switched;
	wait_for_clocks();
	int dir = deep(NEW_TREE, false);
	write_deep(dir, "newer");
	note_deep(dir, false, JOURNAL_DATA);
	change("a/2", JOURNAL_DATA, "echo new >a/2");
	go_back(0);
	deep_is("newer");
	sh("grep -q new " OLD_TREE "/a/2");
}
END_TEST

START_TEST(unreadable_here)
{
	rows_at_once = _i ? 1 : rows_at_once;
	trees_make(FILL);
	change("a/2", JOURNAL_DATA, "echo new >a/2");
	make("d/new", "echo new >d/new");
	move("a/3", "d/3");
	move("a/4", "e/4");
	sh("setfattr -n security.migrate -v damaged " NEW_TREE "/d");
	for (unsigned i = 0; i < 2; i++) {
		go_back_but("d", "cannot be read here");
		sh("cd " OLD_TREE
		   " && grep -q new a/2 && test -e e/4 -a ! -e a/4 -a -e a/3 -a ! -e "
		   "d/new");
	}
	sh("setfattr -x security.migrate " NEW_TREE "/d");
	go_back_whole();
}
END_TEST

/* It is not taken for what is gone, though a damaged inode is told so. */
START_TEST(i12_unseen_here)
{
	const bool damaged = _i % 2;
	struct way way;

	rows_at_once = _i / 2 ? 1 : rows_at_once;
	trees_make(FILL);
	change("a/3", JOURNAL_DATA, "echo new >a/3");
	go_back(0);
	change("a/2", JOURNAL_DATA, "echo newer >a/2");
	change("a/3", JOURNAL_DATA, "echo newer >a/3");
	change("a/4", JOURNAL_DATA, "echo newer >a/4");
	take_away("a/5");
	if (!damaged) {
		make("e/new", "echo new >e/new");
		take_away("e/empty");
		unseen[2] = handle_of("e");
	}
	unseen[0] = handle_of("a/3");
	unseen[1] = handle_of("a/4");
	unseen_failure = damaged ? -ESTALE : -EACCES;
	unseen_by_name = damaged ? -EBADMSG : 0;
	for (unsigned i = 0; i < 2; i++) {
		way_begin_run(&way);
		way_go(&way);
		g_autofree char *one = line_of(&way, "a/3"), *other = line_of(&way, "a/4");
		ck_assert(strstr(one, "cannot be read here") &&
			  strstr(other, "cannot be read here"));
		ck_assert_uint_eq(way.tree->conflicts->len, damaged ? 2 : 3);
		way_end_run(&way);
		sh("cd " OLD_TREE " && grep -q newer a/2 && grep -q new a/3 && grep -q old4 a/4 && "
		   "test ! -e a/5 -a -e e/empty");
	}
	unseen_failure = 0;
	go_back_whole();
}
END_TEST

/* As a change is told whose name is not. */
static void change_nameless(const char *path, const char *command)
{
	const struct migrate_binding handle = handle_of(path);

	sh("cd " NEW_TREE " && %s", command);
	journal_store_touch(journal, &handle, JOURNAL_DATA, NULL);
}

static void change_in_it(const char *text)
{
	g_autofree char *made = g_strdup_printf("a/b/%s", text);
	g_autofree char *make_it = g_strdup_printf("echo new >a/b/%s", text);
	g_autofree char *write_it = g_strdup_printf("echo %s >a/b/x", text);
	g_autofree char *nameless = g_strdup_printf("echo %s >a/4", text);

	make(made, make_it);
	change("a/b/x", JOURNAL_DATA, write_it);
	change_nameless("a/4", nameless);
}

/* Nor is a directory, with all that no client touched in it, whether it was carried or not; nor
 * what is in it, nor that whose name no row tells.  What is gone beside them goes. */
START_TEST(i12_unseen_directory_here)
{
	const bool carried = _i % 3, gap = _i % 3 == 2;
	struct way way;

	rows_at_once = _i / 3 ? 1 : rows_at_once;
	trees_make(FILL);
	if (carried) {
		change("a/5", JOURNAL_DATA, "echo new >a/5");
		change_in_it("new");
		go_back(0);
	}
	change("a/2", JOURNAL_DATA, "echo newer >a/2");
	change_in_it("newer");
	change("e/empty", JOURNAL_META, "chmod 700 e/empty");
	take_away("e/empty");
	take_away("e");
	take_away("a/5");
	unseen[0] = handle_of("a/b");
	unseen[1] = handle_of("a/b/x");
	unseen[2] = handle_of("a/4");
	if (gap) /* a scan of it takes them for gone, too */
		for (unsigned i = 0; i < 3; i++)
			journal_store_correct(journal, &unseen[i], false, NULL, NULL);
	unseen_failure = -ESTALE;
	unseen_by_name = -EBADMSG;
	for (unsigned i = 0; i < 2; i++) {
		way_begin_run(&way);
		way_go(&way);
		ck_assert_uint_eq(way.tree->conflicts->len, 3);
		for (unsigned j = 0; j < 3; j++) {
			const struct problem *problem = way.tree->conflicts->pdata[j];
			ck_assert_ptr_nonnull(strstr(problem->text, "cannot be read here"));
		}
		way_end_run(&way);
		sh("cd " OLD_TREE " && grep -q newer a/2 && test -e a/4 -a -e a/b/x -a -e a/b/c/y "
		   "-a ! -e a/5 -a ! -e e -a ! -e a/b/newer");
	}
	unseen_failure = 0;
	if (gap)
		for (unsigned i = 0; i < 3; i++)
			journal_store_correct(journal, &unseen[i], true, NULL, NULL);
	go_back_whole();
}
END_TEST

/* Nor is what a scan could not look at, wherever it was moved in the gap. */
START_TEST(i12_unseen_here_since_a_gap)
{
	static const char *const seen[] = {"d/3", "d/4", "d/b", "a", "d"};
	GError *error = NULL;
	struct way way;

	trees_make(FILL);
	change("a/3", JOURNAL_DATA, "echo new >a/3");
	change("a/5", JOURNAL_DATA, "echo new >a/5");
	go_back(0);
	sh("cd " NEW_TREE " && mv a/[34] a/b d && rm a/5");
	for (unsigned i = 3; i < G_N_ELEMENTS(seen); i++)
		note_seen(seen[i]);
	trees_commit();
	journal_store_close(journal);
	for (unsigned i = 0; i < 3; i++)
		unseen[i] = handle_of(seen[i]);
	unseen_failure = -ESTALE;
	unseen_by_name = -EBADMSG;
	way_begin(&way);
	way.tree->unscanned = true;
	ck_assert(plan_make(way.tree, &way.plan, &error));
	way_go(&way);
	ck_assert_uint_eq(way.done.removed, 0);
	way_close(&way);
	sh("cd " OLD_TREE " && grep -q new a/3 && grep -q old a/4 && test -e a/b/x -a -e a/b/c/y");
	unseen_failure = 0;
	open_store();
	for (unsigned i = 0; i < G_N_ELEMENTS(seen); i++)
		note_seen(seen[i]);
	go_back_whole();
}
END_TEST

/* No row tells of it, but of the directory that it came with. */
START_TEST(unseen_in_what_came)
{
	trees_make(FILL);
	make("d/in", "mkdir d/in && echo x >d/in/x && echo y >d/in/y");
	unseen[0] = handle_of("d/in/x");
	unseen_failure = -ESTALE;
	unseen_by_name = -EBADMSG;
	for (unsigned i = 0; i < 2; i++) {
		go_back_but("d/in/x", "cannot be read here");
		sh("cd " OLD_TREE "/d/in && test ! -e x && grep -q y y");
	}
	unseen_failure = 0;
	go_back_whole();
}
END_TEST

/* A file that no row names is not another tree's because no walk could look where it is. */
START_TEST(unseen_by_a_search)
{
	trees_make(FILL);
	change_nameless("a/b/x", "echo newer >a/b/x");
	unseen[0] = handle_of("a/b");
	unseen_failure = -ESTALE;
	unseen_by_name = -EBADMSG;
	go_back_but("a/b", "cannot be read here");
	unseen_failure = 0;
	go_back_whole();
}
END_TEST

/* What is not there any more where it was may be in it. */
START_TEST(unreadable_here_since_a_gap)
{
	struct way way;

	trees_make(FILL);
	sh("cd " NEW_TREE " && mv a/3 d/3 && setfattr -n security.migrate -v damaged d");
	note("a", JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_SCANNED | JOURNAL_DIRECTORY);
	note("d", JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_SCANNED | JOURNAL_DIRECTORY);
	way_begin_run(&way);
	way_go(&way);
	g_autofree char *line = line_of(&way, "d"), *moved = line_of(&way, "a/3");
	ck_assert(*line && *moved);
	ck_assert_uint_eq(way.done.removed, 0);
	sh("grep -q old " OLD_TREE "/a/3");
	way_close(&way);
}
END_TEST

START_TEST(unreadable_there)
{
	rows_at_once = _i ? 1 : rows_at_once;
	trees_make(FILL);
	change("a/2", JOURNAL_DATA, "echo new >a/2");
	make("d/new", "echo new >d/new");
	move("a/3", "d/3");
	take_away("e/empty");
	unlisted = "d";
	for (unsigned i = 0; i < 2; i++) {
		go_back_but("d", "cannot be read on the old server: Permission denied");
		sh("cd " OLD_TREE
		   " && grep -q new a/2 && test -e a/3 -a ! -e d/new -a ! -e e/empty");
	}
	unlisted = NULL;
	go_back_whole();
}
END_TEST

/* The other name of a file whose one name here was removed may be in it. */
START_TEST(unreadable_where_a_name_may_be)
{
	struct journal_place was = {.name = "x"};
	struct stat st;

	trees_make("mkdir d e e/f && echo x >d/x && ln d/x e/f/y && "
		   "find . -exec touch -hd 2001-02-03 {} +");
	ck_assert_int_eq(stat(OLD_TREE "/d/x", &st), 0);
	g_autofree char *link = g_strdup_printf(MIGRATE_PRIVATE_DIR "/" MIGRATE_LINKS_DIR "/%016lx",
						(unsigned long)st.st_ino);
	sh("cd " NEW_TREE " && mkdir -p " MIGRATE_PRIVATE_DIR "/" MIGRATE_LINKS_DIR
	   " && rm -r e/f && mv d/x %s && echo more >>%s",
	   link, link);
	const struct migrate_binding x = handle_of(link);
	was.dir = handle_of("d");
	journal_store_removed(journal, &x, false, &was);
	journal_store_touch(journal, &x, JOURNAL_DATA | JOURNAL_META, NULL);
	unlisted = "e";
	go_back_but("e", "cannot be read on the old server");
	sh("cd " OLD_TREE " && test -e d/x -a -e e/f/y");
	unlisted = NULL;
	go_back(0);
	sh("cd " OLD_TREE " && test ! -e d/x && grep -q more e/f/y");
}
END_TEST

/* What is below it has no line of its own. */
START_TEST(hidden_there)
{
	rows_at_once = _i ? 1 : rows_at_once;
	trees_make(FILL);
	change("a/2", JOURNAL_DATA, "echo new >a/2");
	change("a/b", JOURNAL_META, "chmod 700 a/b");
	change("a/b/x", JOURNAL_DATA, "echo new >a/b/x");
	make("a/b/new", "echo new >a/b/new");
	make("a/b/c/new", "mkdir a/b/c/new");
	failing = "a/b";
	failure = -EACCES;
	for (unsigned i = 0; i < 2; i++) {
		go_back_but("a/b", "it cannot be looked at on the old server: Permission denied");
		sh("cd " OLD_TREE
		   " && grep -q new a/2 && ! grep -q new a/b/x && test ! -e a/b/new");
	}
	failing = NULL;
	go_back_whole();
}
END_TEST

/* And by the name that is listed it could be looked at again: it is not what is there alone. */
START_TEST(one_look_fails)
{
	trees_make(FILL);
	change("a/3", JOURNAL_DATA, "echo new >a/3");
	change("e", JOURNAL_META, "chmod 700 e");
	go_back(0);
	change("a/2", JOURNAL_DATA, "echo new >a/2");
	make("a/new", "echo new >a/new");
	failing = "a/2";
	failure = -EACCES;
	failures = 1;
	go_back_but("a/2", "it cannot be looked at on the old server: Permission denied");
	sh("cd " OLD_TREE " && grep -q old2 a/2 && test -e a/new");
	go_back_whole();
	/* what was carried, and has gone elsewhere here */
	move("a/3", "e/3");
	failing = "a/3";
	failures = 1;
	go_back_but("e/3", "it cannot be looked at on the old server: Permission denied");
	sh("grep -q new " OLD_TREE "/a/3");
	go_back_whole();
}
END_TEST

/* In a gap it may have had the name that is there alone. */
START_TEST(a_look_fails_at_what_was_moved_in_a_gap)
{
	struct way way;

	trees_make(FILL);
	sh("cd " NEW_TREE " && mv a/symlink d/symlink");
	note_seen("d/symlink");
	for (unsigned i = 0; i < 2; i++)
		note(i ? "d" : "a",
		     JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_SCANNED | JOURNAL_DIRECTORY);
	trees_commit();
	journal_store_close(journal);
	failing = "d/symlink";
	failure = -EACCES;
	way_open(&way);
	way_go(&way);
	g_autofree char *line = line_of(&way, "a/symlink");
	ck_assert_msg(strstr(line, "may be what was not found") != NULL, "%s", line);
	ck_assert_uint_eq(way.done.removed, 0);
	sh("test -h " OLD_TREE "/a/symlink");
	way_close(&way);
}
END_TEST

START_TEST(nothing_to_be_seen_there)
{
	GError *error = NULL;
	struct way way;

	trees_make(FILL);
	change("a/2", JOURNAL_DATA, "echo new >a/2");
	trees_commit();
	journal_store_close(journal);
	failing = "a/2";
	failure = -EIO;
	all_fail = true;
	way_begin(&way);
	ck_assert(!plan_make(way.tree, &way.plan, &error));
	ck_assert_msg(strstr(error->message, "is it still mounted") != NULL, "%s", error->message);
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	g_error_free(error);
	way_close(&way);
}
END_TEST
int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, made_deep);
	tcase_add_test(tcase, changed_deep);
	tcase_add_loop_test(tcase, unreadable_here, 0, 2);	     /* the second in windows */
	tcase_add_loop_test(tcase, i12_unseen_here, 0, 4);	     /* the last two in windows */
	tcase_add_loop_test(tcase, i12_unseen_directory_here, 0, 6); /* the last three likewise */
	tcase_add_test(tcase, i12_unseen_here_since_a_gap);
	tcase_add_test(tcase, unseen_in_what_came);
	tcase_add_test(tcase, unseen_by_a_search);
	tcase_add_test(tcase, unreadable_here_since_a_gap);
	tcase_add_loop_test(tcase, unreadable_there, 0, 2); /* the second in windows */
	tcase_add_test(tcase, unreadable_where_a_name_may_be);
	tcase_add_loop_test(tcase, hidden_there, 0, 2); /* the second in windows */
	tcase_add_test(tcase, one_look_fails);
	tcase_add_test(tcase, a_look_fails_at_what_was_moved_in_a_gap);
	tcase_add_test(tcase, nothing_to_be_seen_there);
	return run_tcase(tcase);
}
