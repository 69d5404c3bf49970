/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

#include <malloc.h>
#include <sys/resource.h>

#include "retriever/objects/errors.h"

static int dir;

static void setup(void)
{
	core_fixture_setup();
	g_log_set_default_handler(core_log, NULL);
	dir = open(core_base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
}

/* The entry at that place or behind it. */
static bool get(struct errors *errors, guint place, struct error_entry *e)
{
	return errors_get(errors, &place, NULL, e);
}

static int make_file(unsigned i)
{
	char name[32];

	g_snprintf(name, sizeof(name), "f%u", i);
	return openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/* A disk that lost the list: what is counted is listed, whatever the caller's memory held. */
START_TEST(i12_a_list_that_is_lost)
{
	struct errors *errors = errors_new(dir);
	struct error_entry e;
	int fd = make_file(1);

	errors_add_fd(errors, fd, -ESTALE, QM_GONE);
	errors_save(errors);
	errors_free(errors);
	errors = errors_new(dir);
	close(fd);
	fd = openat(dir, "errors", O_WRONLY | O_TRUNC | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	memset(&e, 'x', sizeof(e));
	ck_assert(get(errors, 0, &e));
	ck_assert_str_eq(e.path, "?");
	ck_assert_int_eq(e.status, -EIO);
	error_entry_clear(&e);
	errors_free(errors);
	close(fd);
}
END_TEST

START_TEST(i12_kept_across_restarts)
{
	struct errors *errors = errors_new(dir);
	struct error_entry e;
	int fd = make_file(1);

	errors_add_fd(errors, fd, -ESTALE, QM_GONE);
	errors_add_about(errors, fd, -EREMOTEIO, QM_READ_SHORT, "a new\nline=\"[reason]\"");
	errors_add_name(errors, dir, "na\xffme\n", -EBADMSG, QM_NAME_MISSING, NULL);
	errors_add_name(errors, dir, "na\xffme\n", -EBADMSG, QM_NAME_MISSING, NULL);
	ck_assert_uint_eq(errors_count(errors), 2);
	errors_save(errors);
	errors_free(errors);
	errors = errors_new(dir);
	ck_assert_uint_eq(errors_count(errors), 2);
	ck_assert(get(errors, 0, &e));
	ck_assert_int_eq(e.status, -EREMOTEIO);
	ck_assert(g_str_has_prefix(e.reason, "a new\nline=\"[reason]\": the old server's file"));
	ck_assert_int_eq(e.code, QM_READ_SHORT);
	ck_assert_uint_gt(e.key.len, 0);
	errors_forget(errors, &e.key);
	error_entry_clear(&e);
	ck_assert_uint_eq(errors_count(errors), 1);
	ck_assert(!get(errors, 1000, &e));
	ck_assert(get(errors, 0, &e));
	ck_assert(g_utf8_validate(e.path, -1, NULL));
	error_entry_clear(&e);
	errors_free(errors);
	close(fd);
}
END_TEST

START_TEST(names)
{
	struct errors *errors = errors_new(dir);
	struct migrate_binding key, other_key;
	struct error_entry e;
	int other;

	ck_assert_int_eq(mkdirat(dir, "other", 0700), 0);
	other = openat(dir, "other", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(migrate_binding_get(dir, "", &key), 0);
	ck_assert_int_eq(migrate_binding_get(other, "", &other_key), 0);
	for (unsigned round = 0; round < 2; round++) { /* of one name there is one entry */
		errors_add_fd(errors, dir, -EIO, QM_LIST_FAILED);
		errors_add_name(errors, dir, "a\xff", -EIO, QM_NAME_MISSING, NULL);
		errors_add_name(errors, dir, "b", -EIO, QM_NAME_MISSING, NULL);
		errors_add_name(errors, dir, "c", -EIO, QM_NAME_MISSING, NULL);
		errors_add_name(errors, other, "b", -EIO, QM_NAME_MISSING, NULL);
	}
	ck_assert_uint_eq(errors_count(errors), 5);
	errors_save(errors);
	errors_free(errors);
	errors = errors_new(dir);
	errors_forget_name(errors, &key, "b");
	errors_forget_name(errors, &other_key, "c");
	ck_assert_uint_eq(errors_count(errors), 4);
	errors_forget_names(errors, &key);
	ck_assert_uint_eq(errors_count(errors), 2);
	errors_forget(errors, &key);
	ck_assert(get(errors, 0, &e));
	ck_assert_str_eq(e.name, "b");
	ck_assert(migrate_binding_equal(&e.key, &other_key));
	error_entry_clear(&e);
	errors_forget_name(errors, &other_key, "b");
	ck_assert_uint_eq(errors_count(errors), 0);
	ck_assert_int_eq(unlinkat(dir, "errors", 0), 0);
	errors_free(errors);
	close(other);
}
END_TEST

/* Every object is found, whatever was removed before it. */
START_TEST(many)
{
	struct errors *errors = errors_new(dir);
	struct migrate_binding keys[100];

	for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
		int fd = make_file(i);

		ck_assert_int_eq(migrate_binding_get(fd, "", &keys[i]), 0);
		errors_add_fd(errors, fd, -EIO, QM_READ_FAILED);
		close(fd);
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
		errors_forget(errors, &keys[i * 37 % G_N_ELEMENTS(keys)]);
		ck_assert_uint_eq(errors_count(errors), G_N_ELEMENTS(keys) - 1 - i);
	}
	errors_forget(errors, &keys[0]);
	errors_free(errors);
}
END_TEST

/* A damaged list is an empty one: records still say what failed. */
START_TEST(a_damaged_list)
{
	struct errors *errors;
	int fd = openat(dir, "errors", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, "[0]\nhandle=zz\npath=/x\n[1]\n\xff\xff", 27), 27);
	close(fd);
	errors = errors_new(dir);
	ck_assert_uint_eq(errors_count(errors), 0);
	errors_free(errors);
	ck_assert_int_eq(unlinkat(dir, "errors", 0), 0);
}
END_TEST

static struct errors *reopened(struct errors *errors)
{
	errors_save(errors);
	errors_free(errors);
	return errors_new(dir);
}

/* The list, and what a listing by page shows of it. */
static void expect_listed(struct errors *errors, unsigned n, const struct errors_filter *filter)
{
	struct error_entry e;
	unsigned seen = 0;

	for (guint place = 0; errors_get(errors, &place, filter, &e); place++) {
		ck_assert_str_ne(e.path, "?");
		error_entry_clear(&e);
		seen++;
	}
	ck_assert_uint_eq(seen, n);
}

static off_t file_size(void)
{
	struct stat st;

	ck_assert_int_eq(fstatat(dir, "errors", &st, 0), 0);
	return st.st_size;
}

static void add_names(struct errors *errors, int fd, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		char name[32];

		g_snprintf(name, sizeof name, "name-%u", i);
		errors_add_name(errors, fd, name, i % 2 ? -EIO : -EPERM,
				i % 2 ? QM_LOOKUP_REFUSED : QM_NAME_MISSING, NULL);
	}
}

/* Every way of forgetting is as good after a restart as before. */
START_TEST(forgotten_for_good)
{
	struct errors *errors = errors_new(dir);
	struct migrate_binding key;
	g_autoptr(GPtrArray) names = NULL;

	ck_assert_int_eq(migrate_binding_get(dir, "", &key), 0);
	add_names(errors, dir, 0, 100);
	errors_add_fd(errors, dir, -EIO, QM_LIST_FAILED);
	names = errors_names(errors, &key);
	ck_assert_uint_eq(names->len, 100);
	errors_forget_name(errors, &key, "name-7");
	expect_listed(errors, 100, NULL);
	errors = reopened(errors);
	expect_listed(errors, 100, NULL);
	errors_forget_names(errors, &key);
	expect_listed(errors, 1, NULL);
	add_names(errors, dir, 0, 3);
	errors = reopened(errors);
	expect_listed(errors, 4, NULL);
	ck_assert(errors_has(errors, &key));
	errors_forget_all(errors);
	expect_listed(errors, 0, NULL);
	add_names(errors, dir, 0, 2);
	errors = reopened(errors);
	expect_listed(errors, 2, NULL);
	ck_assert(!errors_has(errors, &key));
	errors_free(errors);
	ck_assert_int_eq(unlinkat(dir, "errors", 0), 0);
}
END_TEST

START_TEST(by_reason_and_by_directory)
{
	struct errors *errors = errors_new(dir);
	g_autofree char *inner = g_strconcat(core_base, "/inner/", NULL);
	struct error_reason reason;
	guint place = 0;
	int fd;

	ck_assert(mkdirat(dir, "inner", 0700) == 0 || errno == EEXIST);
	fd = openat(dir, "inner", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	add_names(errors, dir, 0, 10);
	add_names(errors, fd, 0, 5);
	expect_listed(errors, 15, &(struct errors_filter){NULL});
	expect_listed(errors, 7, &(struct errors_filter){.reason = "refused to look"});
	expect_listed(errors, 5, &(struct errors_filter){.below = inner});
	expect_listed(errors, 3,
		      &(struct errors_filter){.reason = "lists this name", .below = inner});
	errors = reopened(errors);
	expect_listed(errors, 3,
		      &(struct errors_filter){.reason = "lists this name", .below = inner});
	expect_listed(errors, 0, &(struct errors_filter){.below = "/inner"});
	ck_assert(errors_get_reason(errors, &place, &reason));
	ck_assert_str_eq(reason.text, error_kind(QM_NAME_MISSING)->sentence);
	ck_assert_int_eq(reason.code, QM_NAME_MISSING);
	ck_assert_uint_eq(reason.count, 8);
	g_free(reason.text);
	place++;
	ck_assert(errors_get_reason(errors, &place, &reason));
	ck_assert_uint_eq(reason.count, 7);
	g_free(reason.text);
	place++;
	ck_assert(!errors_get_reason(errors, &place, &reason));
	errors_free(errors);
	close(fd);
	ck_assert_int_eq(unlinkat(dir, "errors", 0), 0);
}
END_TEST

/* The list as an earlier release left it, which wrote no codes: nothing is lost, and what still has
 * the same sentence has its code. */
START_TEST(of_an_earlier_release)
{
	g_autofree char *text =
		g_strdup_printf("+\t8101\t\t116\t%s\t/a\n"
				"+\t8102\tname\t5\tin other words\t/b\t1700000000\n"
				"+\t8103\t\t11\t%s\t/c\t1700000000\n",
				error_kind(QM_CHANGED)->sentence, error_kind(QM_LATER)->sentence);
	g_autofree char *list = g_strconcat(core_base, "/errors", NULL);
	struct errors *errors;
	guint counts[ERROR_KINDS];

	ck_assert(g_file_set_contents(list, text, -1, NULL));
	errors = errors_new(dir);
	for (unsigned round = 0; round < 2; round++) {
		expect_listed(errors, 3, NULL);
		expect_listed(errors, 1, &(struct errors_filter){.code = QM_CHANGED});
		expect_listed(errors, 1, &(struct errors_filter){.code = QM_UNCODED});
		expect_listed(errors, 1, &(struct errors_filter){.code = QM_LATER});
		expect_listed(errors, 1, &(struct errors_filter){.reason = "in other words"});
		errors_count_codes(errors, counts);
		ck_assert_uint_eq(counts[error_kind(QM_CHANGED) - error_kinds], 1);
		ck_assert_uint_eq(counts[error_kind(QM_GONE) - error_kinds], 0);
		errors = reopened(errors);
	}
	errors_free(errors);
	ck_assert_int_eq(unlinkat(dir, "errors", 0), 0);
}
END_TEST

static void forget_from(struct errors *errors, unsigned from)
{
	struct migrate_binding key;
	char name[32];

	ck_assert_int_eq(migrate_binding_get(dir, "", &key), 0);
	for (unsigned i = from; i < from + 1000; i++) {
		g_snprintf(name, sizeof name, "name-%u", i);
		errors_forget_name(errors, &key, name);
	}
}

/* What fails again and again for one reason does not make the file longer; else it is written anew
 * when most of it is void. */
START_TEST(the_file_is_bounded)
{
	struct errors *errors = errors_new(dir);
	off_t size;

	add_names(errors, dir, 0, 1000);
	errors_save(errors);
	size = file_size();
	for (unsigned i = 0; i < 10; i++)
		add_names(errors, dir, 0, 1000);
	errors_save(errors);
	ck_assert_int_eq(file_size(), size);
	for (unsigned i = 0; i < 10; i++) {
		forget_from(errors, 0);
		add_names(errors, dir, 0, 1000);
		errors_save(errors);
	}
	expect_listed(errors, 1000, NULL);
	ck_assert_int_lt(file_size(), 9 * size);
	errors = reopened(errors);
	expect_listed(errors, 1000, NULL);
	errors_free(errors);
	ck_assert_int_eq(unlinkat(dir, "errors", 0), 0);
}
END_TEST

static atomic_uint syncs; /* of any thread */

int fdatasync(int fd)
{
	atomic_fetch_add(&syncs, 1);
	return 0;
}

/* It is made durable by the next one. */
START_TEST(i12_saved_without_descriptors)
{
	struct errors *errors = errors_new(dir);
	struct rlimit limit, few;

	add_names(errors, dir, 0, 10);
	errors_save(errors);
	ck_assert_uint_eq(atomic_load(&syncs), 1);
	add_names(errors, dir, 10, 20);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){3, limit.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	errors_save(errors);
	ck_assert_uint_eq(atomic_load(&syncs), 1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	errors_save(errors);
	ck_assert_uint_eq(atomic_load(&syncs), 2);
	errors_save(errors);
	ck_assert_uint_eq(atomic_load(&syncs), 2);
	errors_free(errors);
	ck_assert_int_eq(unlinkat(dir, "errors", 0), 0);
}
END_TEST

static gint adding;

static void *add_again_and_again(void *arg)
{
	while (g_atomic_int_get(&adding)) {
		forget_from(arg, 2000);
		add_names(arg, dir, 2000, 3000);
	}
	return NULL;
}

static void expect_own_lines(struct errors *errors)
{
	struct error_entry e;

	for (guint place = 0; errors_get(errors, &place, NULL, &e); place++) {
		if (!e.name || !g_str_has_suffix(e.path, e.name))
			ck_abort_msg("%s is not that of %s", e.path, e.name ? e.name : "?");
		error_entry_clear(&e);
	}
}

/* Each entry's line is its own, whatever was added while the file was written anew. */
START_TEST(written_anew_meanwhile)
{
	struct errors *errors = errors_new(dir);
	pthread_t thread;

	g_atomic_int_set(&adding, 1);
	pthread_create(&thread, NULL, add_again_and_again, errors);
	for (unsigned i = 0; i < 40; i++) {
		forget_from(errors, 0);
		add_names(errors, dir, 0, 1000);
		errors_save(errors);
		expect_own_lines(errors);
	}
	g_atomic_int_set(&adding, 0);
	pthread_join(thread, NULL);
	expect_listed(errors, 2000, NULL);
	errors_free(errors);
	ck_assert_int_eq(unlinkat(dir, "errors", 0), 0);
}
END_TEST

/* No room on the disk: what is listed is bounded, and what there is room for again comes later. */
START_TEST(a_full_disk)
{
	const struct rlimit none = {1000, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
	struct errors *errors = errors_new(dir);
	unsigned n;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none); /* no assertion meanwhile: check itself writes a file */
	add_names(errors, dir, 0, 60000);
	n = errors_count(errors);
	errors_save(errors);
	setrlimit(RLIMIT_FSIZE, &all);
	ck_assert_uint_gt(n, 1000);
	ck_assert_uint_lt(n, 59000);
	ck_assert_uint_eq(errors_count(errors), n);
	expect_listed(errors, n, NULL);
	errors = reopened(errors);
	expect_listed(errors, n, NULL);
	errors_free(errors);
	ck_assert_int_eq(unlinkat(dir, "errors", 0), 0);
}
END_TEST

/* 64 bytes for each of a million: counted in what the C library has given out. */
START_TEST(little_memory)
{
	const unsigned n = 100000, directories = 100;
	struct mallinfo2 before = mallinfo2(), after;
	struct errors *errors = errors_new(dir);
	g_autofree char *deep = g_strnfill(70, 'd');

	for (unsigned i = 0; i < directories; i++) {
		char name[128];
		int fd;

		g_snprintf(name, sizeof name, "%s-%u", deep, i);
		ck_assert(mkdirat(dir, name, 0700) == 0);
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		add_names(errors, fd, 0, n / directories);
		close(fd);
	}
	errors_save(errors);
	after = mallinfo2();
	ck_assert_uint_eq(errors_count(errors), n);
	ck_assert_uint_lt(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd,
			  64 * (size_t)n);
	errors_free(errors);
	ck_assert_int_eq(unlinkat(dir, "errors", 0), 0);
}
END_TEST

static struct errors *shared;

static void *work(void *arg)
{
	for (unsigned i = 0; i < 200; i++) {
		struct migrate_binding key;
		struct error_entry e;
		int fd = make_file(i % 10);

		errors_add_fd(shared, fd, -EIO, QM_READ_FAILED);
		if (get(shared, i % 10, &e))
			error_entry_clear(&e);
		errors_save(shared);
		if (migrate_binding_get(fd, "", &key) == 0)
			errors_forget(shared, &key);
		close(fd);
	}
	return NULL;
}

START_TEST(many_threads)
{
	pthread_t threads[3];

	shared = errors_new(dir);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(errors_count(shared), 0);
	errors_free(shared);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("errors");

	tcase_add_checked_fixture(tcase, setup, core_fixture_teardown);
	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, i12_kept_across_restarts);
	tcase_add_test(tcase, i12_a_list_that_is_lost);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, many);
	tcase_add_test(tcase, a_damaged_list);
	tcase_add_test(tcase, forgotten_for_good);
	tcase_add_test(tcase, by_reason_and_by_directory);
	tcase_add_test(tcase, of_an_earlier_release);
	tcase_add_test(tcase, the_file_is_bounded);
	tcase_add_test(tcase, i12_saved_without_descriptors);
	tcase_add_test(tcase, written_anew_meanwhile);
	tcase_add_test(tcase, a_full_disk);
	tcase_add_test(tcase, little_memory);
	tcase_add_test(tcase, many_threads);
	return run_tcase(tcase);
}
