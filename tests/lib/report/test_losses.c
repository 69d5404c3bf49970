/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"
/* which is called by one here that can do something before */
int sync_durably(int fd);
#define fdatasync sync_durably
#include "tests/durable.h"
#undef fdatasync
#include "tests/pairs.h"

#include <signal.h>
#include <sys/resource.h>

#include "lib/report/losses.h"

static int dir;

static void setup(void)
{
	core_fixture_setup();
	dir = open(core_base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
}

static char *content(void)
{
	g_autofree char *path = g_strconcat(core_base, "/" LOSSES_FILE, NULL);
	char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? text : g_strdup("");
}

static void expect(const char *text)
{
	g_autofree char *is = content();

	ck_assert_str_eq(is, text);
}

START_TEST(i12_kept_across_restarts)
{
	g_autofree char *file = g_strconcat(core_base, "/" LOSSES_FILE, NULL);
	struct losses *losses = losses_new(dir);

	expect(""); /* no file for nothing */
	ck_assert_int_eq(losses_add(losses, LOSS_ACL, "/a\tb\n", "why \"\\"), 0);
	ck_assert_int_eq(losses_add(losses, LOSS_TIME, "/\303\244", "\377"), 0);
	ck_assert_int_eq(losses_add(losses, LOSS_ACL, "/a\tb\n", "why \"\\"), 0); /* known */
	ck_assert_uint_eq(losses_count(losses), 2);
	losses_free(losses); /* without a sync: as after a kill */
	losses = losses_new(dir);
	ck_assert_uint_eq(losses_count(losses), 2);
	ck_assert_int_eq(losses_add(losses, LOSS_ACL, "/a\tb\n", "why \"\\"), 0); /* still */
	ck_assert_int_eq(losses_add(losses, LOSS_XATTR, "/c", "x"), 0);
	ck_assert(!is_durable_at(file));
	ck_assert_int_eq(losses_sync(losses), 0);
	ck_assert_durable(file);
	ck_assert_uint_eq(losses_count(losses), 3);
	ck_assert_uint_eq(losses_names(losses), 0);
	expect("acl\t/a\\tb\\n\twhy \\\"\\\\\n"
	       "time\t/\303\244\t\\377\n"
	       "xattr\t/c\tx\n");
	ck_assert_int_eq(losses_add(losses, LOSS_XATTR, "/d", "x"), 0);
	losses_free(losses); /* the end of a process: nobody syncs after it */
	ck_assert_durable(file);
}
END_TEST

static struct losses *syncing; /* NULL: nobody else syncs meanwhile */
static gint synced;

/* Another thread's whole sync while the first one waits for the disk. */
int fdatasync(int fd)
{
	struct losses *losses = g_atomic_pointer_get(&syncing);

	if (losses && g_atomic_pointer_compare_and_exchange(&syncing, losses, NULL))
		ck_assert_int_eq(losses_sync(losses), 0);
	g_atomic_int_inc(&synced);
	return sync_durably(fd);
}

/* Whoever has been told that it is durable may have his directory called filled. */
START_TEST(a_sync_beside_another)
{
	struct losses *losses = losses_new(dir);

	ck_assert_int_eq(losses_add(losses, LOSS_RULE, "/a", "x"), 0);
	synced = 0;
	syncing = losses;
	ck_assert_int_eq(losses_sync(losses), 0);
	ck_assert_int_eq(synced, 2);
	ck_assert_int_eq(losses_sync(losses), 0);
	ck_assert_int_eq(synced, 2);
	losses_free(losses);
}
END_TEST

START_TEST(a_sync_without_descriptors)
{
	struct losses *losses = losses_new(dir);
	struct rlimit limit, none;

	ck_assert_int_eq(losses_add(losses, LOSS_ACL, "/a", "x"), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_lt(losses_sync(losses), 0);
	ck_assert_int_lt(losses_sync(losses), 0); /* nor afterwards */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(losses_sync(losses), 0);
	losses_free(losses);
}
END_TEST

/* Nothing is said to be noted, and no half line stays. */
START_TEST(a_full_disk)
{
	static const struct {
		rlim_t room;
		int ret;
	} cases[] = {{0, -EFBIG}, {5, -ENOSPC}};
	struct losses *losses = losses_new(dir);
	struct rlimit limit, little;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(losses_add(losses, LOSS_ACL, "/a", "x"), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	little = limit;
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		little.rlim_cur = strlen("acl\t/a\tx\n") + cases[i].room;
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
		const int ret = losses_add(losses, LOSS_ACL, "/b", "x");
		setrlimit(RLIMIT_FSIZE, &limit);
		ck_assert_int_eq(ret, cases[i].ret);
		expect("acl\t/a\tx\n");
		ck_assert_uint_eq(losses_count(losses), 1);
	}
	ck_assert_int_eq(losses_add(losses, LOSS_ACL, "/b", "x"), 0);
	expect("acl\t/a\tx\nacl\t/b\tx\n");
	losses_free(losses);
}
END_TEST

START_TEST(what_a_crash_cut)
{
	struct losses *losses;
	int fd = openat(dir, LOSSES_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, "acl\t/a\tx\nacl\t/b\tcu", 18), 18);
	close(fd);
	losses = losses_new(dir);
	ck_assert_int_eq(losses_add(losses, LOSS_ACL, "/b", "cut"), 0);
	expect("acl\t/a\tx\nacl\t/b\tcu\nacl\t/b\tcut\n");
	losses_free(losses);
}
END_TEST

START_TEST(lines)
{
	struct loss_line line;

	ck_assert(loss_parse("owner\t/a\\tb\\n\tx \\\"\\377\n", &line));
	ck_assert_int_eq(line.kind, LOSS_OWNER);
	ck_assert_str_eq(line.path, "/a\tb\n");
	ck_assert_str_eq(line.text, "x \"\377");
	loss_line_clear(&line);
	ck_assert(loss_parse("volume\t\ttext", &line));
	ck_assert_str_eq(line.path, "");
	loss_line_clear(&line);
	ck_assert(!loss_parse("", &line));
	ck_assert(!loss_parse("acl\t/b", &line));
	ck_assert(!loss_parse("nonsense\t/b\tx", &line));
	for (unsigned kind = 0; kind < LOSS_KINDS; kind++) {
		g_autofree char *text = g_strconcat(loss_kind_name(kind), "\t/p\tt\n", NULL);

		ck_assert(loss_parse(text, &line));
		ck_assert_int_eq(line.kind, kind);
		loss_line_clear(&line);
	}
}
END_TEST

/* After the volume's end; what no object comes with is not counted. */
START_TEST(kept)
{
	g_autofree char *path = g_strconcat(core_base, "/a/b/v.report", NULL);
	g_autofree char *place = g_path_get_dirname(path), *text = NULL, *again = NULL;
	struct losses *losses = losses_new(dir);

	ck_assert_int_eq(losses_keep(losses, path, "carried\tacls\t0\n"), 0);
	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	ck_assert_str_eq(text, "carried\tacls\t0\n");
	ck_assert_durable(path);
	ck_assert_durable(place);
	ck_assert_int_eq(losses_add(losses, LOSS_VOLUME, "", "x"), 0);
	ck_assert_int_eq(losses_add(losses, LOSS_ACL, "/a", "y"), 0);
	ck_assert_uint_eq(losses_count(losses), 1);
	ck_assert_int_eq(losses_keep(losses, path, "carried\tacls\t1\n"), 0);
	ck_assert(g_file_get_contents(path, &again, NULL, NULL));
	ck_assert_str_eq(again, "carried\tacls\t1\nvolume\t\tx\nacl\t/a\ty\n");
	ck_assert_int_lt(losses_keep(losses, "/proc/no/report", ""), 0);
	losses_free(losses);
	losses = losses_new(dir);
	ck_assert_uint_eq(losses_count(losses), 1);
	losses_free(losses);
}
END_TEST

/* Names that were given up are losses, and counted by themselves too. */
START_TEST(names)
{
	struct losses *losses = losses_new(dir);

	ck_assert_int_eq(losses_add(losses, LOSS_NAME, "/a/b", "x"), 0);
	ck_assert_int_eq(losses_add(losses, LOSS_NAME, "/a/c", "x"), 0);
	ck_assert_int_eq(losses_add(losses, LOSS_NAME, "/a/b", "x"), 0); /* known */
	ck_assert_int_eq(losses_add(losses, LOSS_ACL, "name", "x"), 0);
	ck_assert_uint_eq(losses_names(losses), 2);
	losses_free(losses);
	losses = losses_new(dir);
	ck_assert_uint_eq(losses_names(losses), 2);
	ck_assert_uint_eq(losses_count(losses), 3);
	losses_set_directory(losses, -1);
	ck_assert_uint_eq(losses_names(losses), 0);
	losses_free(losses);
}
END_TEST

/* Where nothing can be written the object must not be made. */
START_TEST(no_directory)
{
	struct losses *losses = losses_new(-1);

	ck_assert_int_lt(losses_add(losses, LOSS_ACL, "/a", "x"), 0);
	ck_assert_uint_eq(losses_count(losses), 0);
	losses_set_directory(losses, dir);
	ck_assert_int_eq(losses_add(losses, LOSS_ACL, "/a", "x"), 0);
	ck_assert_uint_eq(losses_count(losses), 1);
	losses_free(losses);
}
END_TEST

static struct losses *shared;

static void *work(void *arg)
{
	for (unsigned i = 0; i < 500; i++) {
		g_autofree char *path = g_strdup_printf("/%u", i);

		ck_assert_int_eq(losses_add(shared, LOSS_ACL, path, "x"), 0);
		losses_sync(shared);
	}
	return NULL;
}

START_TEST(many_threads)
{
	pthread_t threads[3];

	shared = losses_new(dir);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(losses_count(shared), 500);
	losses_free(shared);
}
END_TEST

/* So that those that are remembered stay some MB, the first is forgotten, and written once more. */
START_TEST(very_many)
{
	enum { KNOWN = 300000 };
	struct losses *losses = losses_new(dir);

	for (unsigned i = 0; i <= KNOWN; i++) {
		char path[16];

		snprintf(path, sizeof(path), "/%u", i % KNOWN);
		ck_assert_int_eq(losses_add(losses, LOSS_ACL, path, "x"), 0);
	}
	ck_assert_uint_eq(losses_count(losses), KNOWN + 1);
	losses_free(losses);
}
END_TEST

/* In place, so that who reads on finds the lines behind it. */
START_TEST(taken_back)
{
	g_autofree char *file = g_strconcat(core_base, "/" LOSSES_FILE, NULL);
	g_autoptr(GHashTable) lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	struct losses *losses = losses_new(dir);

	ck_assert_int_eq(losses_retract(losses, lines), -ENOENT);
	losses_add(losses, LOSS_RULE, "/a\n", "exclude = a");
	losses_add(losses, LOSS_ACL, "/b", "exclude = a");
	losses_add(losses, LOSS_RULE, "/b", "exclude = a");
	g_hash_table_add(lines, losses_line(LOSS_RULE, "/a\n", "exclude = a"));
	g_hash_table_add(lines, losses_line(LOSS_ACL, "/b", "exclude = a")); /* none of a rule */
	ck_assert_int_eq(losses_retract(losses, lines), 0);
	ck_assert_durable(file);
	expect("came\t/a\\n\texclude = a\nacl\t/b\texclude = a\nrule\t/b\texclude = a\n");
	ck_assert_uint_eq(losses_rules(losses), 1);
	losses_free(losses);
	losses = losses_new(dir);
	ck_assert_uint_eq(losses_rules(losses), 1);
	ck_assert_uint_eq(losses_count(losses), 1);
	losses_add(losses, LOSS_RULE, "/a\n", "exclude = a"); /* left out again */
	ck_assert_uint_eq(losses_rules(losses), 2);
	losses_free(losses);
}
END_TEST

static void add(void *arg)
{
	static gint made;
	g_autofree char *path = g_strdup_printf("/%d", g_atomic_int_add(&made, 1));

	ck_assert_int_eq(losses_add(arg, LOSS_ACL, path, "x"), 0);
	ck_assert_int_eq(losses_add(arg, LOSS_NAME, path, "x"), 0);
	ck_assert_int_eq(losses_add(arg, LOSS_RULE, path, "x"), 0);
}

static void count(void *arg)
{
	losses_count(arg);
}

static void count_names(void *arg)
{
	losses_names(arg);
}

static void count_rules(void *arg)
{
	losses_rules(arg);
}

static void sync_all(void *arg)
{
	ck_assert_int_eq(losses_sync(arg), 0);
}

static void keep(void *arg)
{
	g_autofree char *path = g_strconcat(core_base, "/kept", NULL);

	ck_assert_int_eq(losses_keep(arg, path, ""), 0);
}

/* As an attach does while others ask. */
static void set_directory(void *arg)
{
	losses_set_directory(arg, dir);
}

START_TEST(several_threads)
{
	struct losses *losses = losses_new(dir);
	struct paired_call calls[] = {
		{add, losses},	    {count, losses}, {count_names, losses},  {count_rules, losses},
		{sync_all, losses}, {keep, losses},  {set_directory, losses}};

	call_in_pairs(calls, G_N_ELEMENTS(calls));
	losses_free(losses);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("report");

	tcase_add_checked_fixture(tcase, setup, core_fixture_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, i12_kept_across_restarts);
	tcase_add_test(tcase, a_sync_beside_another);
	tcase_add_test(tcase, a_sync_without_descriptors);
	tcase_add_test(tcase, a_full_disk);
	tcase_add_test(tcase, what_a_crash_cut);
	tcase_add_test(tcase, lines);
	tcase_add_test(tcase, kept);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, taken_back);
	tcase_add_test(tcase, very_many);
	tcase_add_test(tcase, no_directory);
	tcase_add_test(tcase, many_threads);
	tcase_add_test(tcase, several_threads);
	return run_tcase(tcase);
}
