/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"
#include "tests/retriever/core_hook.h"

#define FILES 20
#define ALL   (FILES + 3)

static struct stat d; /* in the copy */

/* A leaf with all that one can have, below a directory that is none. */
static void make_source(void)
{
	core_make(&core);
	for (int i = 0; i < FILES; i++) {
		g_autofree char *name = g_strdup_printf("a/d/f%d", i);

		core_source_file(&core, name, 100 * i, i);
	}
	shell("cd %s/a/d && ln -s target link && mkfifo fifo && mknod null c 1 3 && "
	      "chown -h 5:6 link fifo f3 . && chmod 4751 f3 && chmod 2750 . && touch -d @1234 .",
	      core.source);
}

static void copy_all(void)
{
	g_autofree char *path = NULL;

	copy_run("run");
	path = g_build_filename(copy_volume, MIGRATE_PRIVATE_DIR, COPY_DIR, "a/d", NULL);
	ck_assert_int_eq(stat(path, &d), 0);
}

static bool was_moved(void)
{
	g_autofree char *path = core_path(&core, "a/d");
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_ino == d.st_ino;
}

static void expect_clean(void)
{
	shell("test -z \"$(cd %s && find . -path ./.migrate -prune -o -print0 | "
	      "xargs -0 getfattr -h -m '^security.migrate' 2>&1)\"",
	      core.root);
}

/* With all that is in it, and nothing of the copy. */
START_TEST(one_that_is_the_same)
{
	make_source();
	copy_all();
	copy_attach();
	make_all();
	ck_assert(was_moved());
	expect_same_tree();
	expect_clean();
	ck_assert_uint_eq(backend_fault_submitted(core.fault,
						  (1u << BACKEND_READ) | (1u << BACKEND_READLINK)),
			  0);
	ck_assert_int_eq(COUNT_GET(core.retriever, same), ALL);
	ck_assert_int_eq(COUNT_GET(core.retriever, made), 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, unfilled), 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, files_found), ALL);
	ck_assert_int_eq(COUNT_GET(core.retriever, files_whole), ALL);
	ck_assert_int_eq(COUNT_GET(core.retriever, bytes_whole), 100 * FILES * (FILES - 1) / 2);
	ck_assert_int_eq(COUNT_GET(core.retriever, directories_found), 3);
	ck_assert_int_eq(COUNT_GET(core.retriever, directories_whole), 3);
	ck_assert(!is_aside(""));
	ck_assert(!is_there(core.root, ".migrate/prior/a"));
	copy_free();
}
END_TEST

/* Before anybody has looked at all that is in it there is a record. */
START_TEST(i5_it_has_a_record_at_first)
{
	int a, dir;

	make_source();
	copy_all();
	copy_attach();
	a = core_root(&core);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, a, MIGRATE_DATA | MIGRATE_BACKGROUND)), 0);
	close(a);
	a = core_find(&core, "a", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, a, MIGRATE_DATA | MIGRATE_BACKGROUND)), 0);
	dir = open_below(a, "d", O_RDONLY | O_DIRECTORY);
	ck_assert(was_moved());
	ck_assert_int_eq(core_state(dir), MIGRATE_FILLED);
	close(dir);
	close(a);
	make_all();
	expect_same_tree();
	copy_free();
}
END_TEST

/* Something is not as it is listed: each is taken by itself, and nothing else is read. */
START_TEST(i1_one_that_differs)
{
	static const struct {
		const char *there, *here; /* what is done in d */
		gint64 same;		  /* files */
		bool either; /* a link that was set aside may have become a copy by then */
	} cases[] = {
		{"echo other >f3 && touch -d @5 f3", NULL, ALL - 1},
		{"m=$(stat -c %y f3); printf x | dd of=f3 conv=notrunc status=none; "
		 "touch -d \"$m\" f3",
		 NULL, ALL - 1},
		{"chmod 600 f4", NULL, ALL - 1},
		{"echo new >new", NULL, ALL},
		{"rm f3", NULL, ALL - 1},
		{"mv f3 f3.new", NULL, ALL - 1},
		{"mkdir sub && touch sub/f", NULL, ALL},
		{"ln f3 again", NULL, ALL - 1},
		{"ln -sfn other link", NULL, ALL - 1},
		{NULL, "echo extra >extra", ALL},
		{NULL, "mkdir extra", ALL},
		{NULL, "rm f3", ALL - 1},
		{NULL, "touch f3", ALL - 1},
		{NULL, "setfattr -x security.migrate.copied f3", ALL - 1},
		{NULL, "ln f3 ../again", ALL - 1, true},
		{NULL, "setfattr -x security.migrate.listed .", ALL},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *copy = NULL;

		make_source();
		copy_all();
		copy = g_build_filename(copy_volume, MIGRATE_PRIVATE_DIR, COPY_DIR, "a/d", NULL);
		if (cases[i].there)
			shell("cd %s/a/d && %s", core.source, cases[i].there);
		if (cases[i].here)
			shell("cd %s && %s", copy, cases[i].here);
		copy_attach();
		make_all();
		expect_same_tree();
		if (!cases[i].either) {
			ck_assert_msg(!was_moved(), "%zu", i);
			ck_assert_msg(COUNT_GET(core.retriever, same) == cases[i].same, "%zu", i);
		}
		copy_free();
	}
}
END_TEST

/* Of as many directories as there are, each by itself; not one with too many entries. */
START_TEST(many)
{
	g_autofree char *copy = NULL, *was = NULL, *is = NULL;

	core_make(&core);
	shell("cd %s && for i in $(seq 40); do mkdir -p a/d$i && touch a/d$i/f; done && "
	      "mkdir a/large && cd a/large && seq 1025 | xargs touch",
	      core.source);
	copy_run("run");
	copy = g_build_filename(copy_volume, MIGRATE_PRIVATE_DIR, COPY_DIR, "a", NULL);
	was = g_strconcat(copy_volume, ".inodes", NULL);
	shell("cd %s && stat -c '%%n %%i' * | sort >%s", copy, was);
	copy_attach();
	make_all();
	is = core_path(&core, "a");
	shell("test \"$(cd %s && stat -c '%%n %%i' * | sort | diff - %s | grep '^<' | cut -d' ' "
	      "-f2)\" "
	      "= large",
	      is, was);
	expect_same_tree();
	ck_assert_uint_eq(backend_fault_submitted(core.fault, 1u << BACKEND_READ), 0);
	copy_free();
}
END_TEST

/* Then it is made, and listed again when it is filled. */
static void expect_listed_again(struct fault_rule once)
{
	unsigned rule;

	make_source();
	copy_all();
	copy_attach();
	once.ops = 1u << BACKEND_READDIR;
	once.name = "d";
	once.times = 1;
	rule = backend_fault_add(core.fault, &once);
	make_all();
	ck_assert_uint_eq(backend_fault_hits(core.fault, rule), 1);
	ck_assert(!was_moved());
	ck_assert_int_eq(COUNT_GET(core.retriever, same), ALL);
	expect_same_tree();
	copy_free();
}

/* It failed; a name is in it that nothing can have here; it is another directory. */
START_TEST(i12_one_that_cannot_be_listed)
{
	expect_listed_again((struct fault_rule){.action = FAULT_ERROR, .status = -EREMOTEIO});
	expect_listed_again((struct fault_rule){.action = FAULT_ERROR, .status = -ESTALE});
	expect_listed_again((struct fault_rule){.action = FAULT_REFUSE, .count = 1});
	expect_listed_again((struct fault_rule){.action = FAULT_CHANGE, .fileid = 1});
}
END_TEST

/* A client that came first knows the directory by its inode. */
START_TEST(i8_one_that_a_client_has_seen)
{
	struct stat before, after;
	int root, a;

	make_source();
	copy_all();
	copy_attach();
	root = core_root(&core);
	ck_assert_int_eq(core_name_in(&core, root, "a"), 0);
	a = core_find(&core, "a", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_name_in(&core, a, "d"), 0);
	ck_assert_int_eq(fstatat(a, "d", &before, 0), 0);
	make_all();
	ck_assert_int_eq(fstatat(a, "d", &after, 0), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	ck_assert(!was_moved());
	ck_assert_int_eq(COUNT_GET(core.retriever, same), ALL);
	expect_same_tree();
	close(a);
	close(root);
	copy_free();
}
END_TEST

static int client_errno;

/* Once its marks are gone, just before it would come to its name. */
static void make_name_first(const char *call, int fd, bool after)
{
	g_autofree char *parent = core_path(&core, "a"), *path = core_path(&core, "a/d");
	struct stat to, st;

	if (after || strcmp(call, "renameat2") || fstat(fd, &to) < 0 || stat(parent, &st) < 0 ||
	    to.st_ino != st.st_ino)
		return;
	client_errno = mkdir(path, 0700) < 0 ? errno : 0;
	atomic_store(&core_hook, NULL);
}

/* What keeps it from its name, which is nobody's here, leaves the marks. */
START_TEST(one_that_cannot_be_moved)
{
	int a;

	make_source();
	copy_all();
	copy_attach();
	client_errno = -1;
	a = core_root(&core);
	ck_assert_int_eq(fill(a), 0);
	close(a);
	a = core_find(&core, "a", O_RDONLY | O_DIRECTORY);
	atomic_store(&core_hook, make_name_first);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, a, MIGRATE_DATA | MIGRATE_BACKGROUND)),
			 -EREMOTEIO);
	close(a);
	ck_assert_int_eq(client_errno, 0);
	ck_assert(!was_moved());
	shell("test $(getfattr -h -m '^security.migrate.copied' %s/.migrate/prior/a/d/* | grep -c "
	      "copied) = %d",
	      core.root, ALL);
	copy_free();
}
END_TEST

/* The next one finds it in one of the two places. */
START_TEST(i1_killed_at_every_step)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		int a;

		make_source();
		copy_all();
		copy_attach();
		core_disconnect(&core);
		core_close(&core);
		core_supervise(&core, 0);
		core_connect(&core);
		a = core_root(&core);
		ck_assert_int_eq(fill(a), 0);
		close(a);
		a = core_find(&core, "a", O_RDONLY | O_DIRECTORY);
		atomic_store(&core_shared->left, nth);
		ck_assert_int_eq(
			core_wait(core_ask_fill(&core, a, MIGRATE_DATA | MIGRATE_BACKGROUND)), 0);
		killed = core_killed();
		ck_assert(killed || was_moved());
		close(a);
		core_disconnect(&core);
		core_end_supervision(&core);
		core_start(&core);
		make_all();
		expect_same_tree();
		expect_clean();
		ck_assert(!is_aside(""));
		copy_free();
		ck_assert_int_lt(nth, 400);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("taking directory", 150);

	tcase_add_test(tcase, one_that_is_the_same);
	tcase_add_test(tcase, i5_it_has_a_record_at_first);
	tcase_add_test(tcase, i1_one_that_differs);
	tcase_add_test(tcase, many);
	tcase_add_test(tcase, i12_one_that_cannot_be_listed);
	tcase_add_test(tcase, i8_one_that_a_client_has_seen);
	tcase_add_test(tcase, one_that_cannot_be_moved);
	tcase_add_test(tcase, i1_killed_at_every_step);
	return run_tcase(tcase);
}
