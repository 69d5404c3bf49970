/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"
#include "tests/common/support.h"

#define OBJECTS	   20000 /* more than the smallest table has chains */
#define FIRST_AT   (4096 + 2 * 8 * 4096)
#define EPOCH_AT   16
#define HEADER_END 32

static char file[64];
static struct migrate_old_index *index_;

static void setup(void)
{
	strcpy(file, "/tmp/migrate-index-XXXXXX");
	close(mkstemp(file));
	ck_assert_int_eq(migrate_old_index_create(file, 1000, &index_), 0);
}

static void teardown(void)
{
	migrate_old_index_close(index_);
	unlink(file);
}

static struct migrate_alias alias_of(uint64_t n)
{
	struct migrate_alias alias = {
		.old_len = (uint8_t)(8 + n % 57), .len = 12, .type = 1, .fileid = n * 1000003};

	memset(alias.old, (int)(n % 57), alias.old_len);
	memcpy(alias.old, &n, sizeof(n));
	memcpy(alias.handle, &n, sizeof(n));
	return alias;
}

static int add_at(uint64_t inode, const struct migrate_alias *alias)
{
	uint64_t at;
	int ret = migrate_old_index_add(index_, inode, alias, &at);

	return ret ? ret : migrate_old_index_name(index_, at);
}

static int add(uint64_t n)
{
	struct migrate_alias alias = alias_of(n);

	return add_at(n + 7, &alias);
}

static bool is_same(const struct migrate_alias *found, uint64_t n)
{
	struct migrate_alias alias = alias_of(n);

	return memcmp(found, &alias, sizeof(alias)) == 0;
}

static bool has(const struct migrate_old_index *index, uint64_t n)
{
	struct migrate_alias alias = alias_of(n), old, here;
	const bool found = migrate_old_index_find(index, alias.old, alias.old_len, &old);

	ck_assert(found == migrate_old_index_find_inode(index, n + 7, &here));
	ck_assert(!found || (is_same(&old, n) && is_same(&here, n)));
	return found;
}

static void reopen(void)
{
	migrate_old_index_close(index_);
	ck_assert_int_eq(migrate_old_index_create(file, 1000, &index_), 0);
}

static void put(off_t at, const void *bytes, size_t len)
{
	int fd = open(file, O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(pwrite(fd, bytes, len, at), (ssize_t)len);
	close(fd);
}

static off_t size_of_file(void)
{
	struct stat st;

	ck_assert_int_eq(stat(file, &st), 0);
	return st.st_size;
}

START_TEST(what_is_added_is_found)
{
	struct migrate_old_index *reader;

	ck_assert_int_eq(migrate_old_index_open(file, &reader), 0);
	for (uint64_t n = 0; n < OBJECTS; n++)
		ck_assert_int_eq(add(n), 0);
	for (uint64_t n = 0; n < OBJECTS; n++)
		ck_assert(has(index_, n) && has(reader, n));
	ck_assert(!has(reader, OBJECTS));
	ck_assert_int_eq(migrate_old_index_sync(index_), 0);
	reopen();
	for (uint64_t n = 0; n < OBJECTS; n++)
		ck_assert(has(index_, n));
	migrate_old_index_close(reader);
}
END_TEST

START_TEST(what_is_known_takes_no_room)
{
	off_t size;

	ck_assert_int_eq(add(1), 0);
	size = size_of_file();
	ck_assert_int_eq(add(1), 0);
	ck_assert_int_eq(size_of_file(), size);
	ck_assert_int_eq(add(2), 0);
	ck_assert_int_gt(size_of_file(), size);
}
END_TEST

/* An inode whose number was another's, and an object that was put in another's place. */
START_TEST(the_last_counts)
{
	struct migrate_alias first = alias_of(1), second = alias_of(2), found;

	ck_assert_int_eq(add_at(5, &first), 0);
	ck_assert_int_eq(add_at(5, &second), 0);
	ck_assert(migrate_old_index_find_inode(index_, 5, &found) && is_same(&found, 2));
	ck_assert(migrate_old_index_find(index_, first.old, first.old_len, &found));
	memset(first.handle, 9, first.len);
	ck_assert_int_eq(add_at(6, &first), 0);
	ck_assert(migrate_old_index_find(index_, first.old, first.old_len, &found));
	ck_assert_int_eq(found.handle[0], 9);
}
END_TEST

static bool finds(const struct migrate_alias *alias)
{
	struct migrate_alias found;

	return migrate_old_index_find(index_, alias->old, alias->old_len, &found) &&
	       !memcmp(&found, alias, sizeof(found));
}

static bool finds_inode(uint64_t inode, const struct migrate_alias *alias)
{
	struct migrate_alias found;

	return migrate_old_index_find_inode(index_, inode, &found) &&
	       !memcmp(&found, alias, sizeof(found));
}

/* Also after a power cut. */
START_TEST(what_has_no_name_is_found_by_its_inode_alone)
{
	char epoch[16] = "another mount's";
	struct migrate_alias alias = alias_of(1);
	uint64_t at, again;
	uint32_t named = migrate_old_index_named(index_);
	off_t size;

	ck_assert_int_eq(migrate_old_index_add(index_, 5, &alias, &at), 0);
	size = size_of_file();
	ck_assert(!finds(&alias) && finds_inode(5, &alias));
	put(EPOCH_AT, epoch, sizeof(epoch));
	reopen();
	ck_assert(!finds(&alias) && finds_inode(5, &alias));
	ck_assert_int_eq(migrate_old_index_add(index_, 5, &alias, &again), 0);
	ck_assert(again == at && size_of_file() == size);
	ck_assert_uint_eq(migrate_old_index_named(index_), named);
	ck_assert_int_eq(migrate_old_index_name(index_, at), 0);
	ck_assert_uint_eq(migrate_old_index_named(index_), named + 1);
	put(EPOCH_AT, epoch, sizeof(epoch));
	reopen();
	ck_assert(finds(&alias) && finds_inode(5, &alias));
}
END_TEST

/* Two are made of one object: whichever has its name is found, and whoever gets the inode of the
 * other is not taken for it. */
START_TEST(what_is_made_in_vain_is_not_found)
{
	struct migrate_alias here = alias_of(1), in_vain = alias_of(1);
	uint64_t at, other;

	in_vain.handle[0] ^= 1;
	ck_assert_int_eq(migrate_old_index_add(index_, 5, &here, &at), 0);
	ck_assert_int_eq(migrate_old_index_add(index_, 6, &in_vain, &other), 0);
	ck_assert(at != other && finds_inode(5, &here) && finds_inode(6, &in_vain));
	ck_assert_int_eq(migrate_old_index_name(index_, at), 0);
	ck_assert(finds(&here) && finds_inode(5, &here) && !finds_inode(6, &in_vain));
}
END_TEST

START_TEST(it_is_complete_when_it_is_said)
{
	struct migrate_old_index *reader;

	ck_assert_int_eq(migrate_old_index_open(file, &reader), 0);
	ck_assert(!migrate_old_index_is_complete(reader));
	migrate_old_index_set_complete(index_, true);
	ck_assert(migrate_old_index_is_complete(reader));
	reopen();
	ck_assert(migrate_old_index_is_complete(index_));
	migrate_old_index_close(reader);
}
END_TEST

/* Pages of the tables did not get to the disk, nor the end of what was added. */
START_TEST(after_a_power_cut_it_is_made_from_its_entries)
{
	static const char zeros[FIRST_AT - HEADER_END];
	char epoch[16] = "another mount's";
	off_t size;

	for (uint64_t n = 0; n < 100; n++)
		ck_assert_int_eq(add(n), 0);
	migrate_old_index_set_complete(index_, true);
	size = size_of_file();
	put(EPOCH_AT, epoch, sizeof(epoch));
	put(HEADER_END, zeros, sizeof(zeros));
	put(size - 20, zeros, 20);
	reopen();
	for (uint64_t n = 0; n < 99; n++)
		ck_assert(has(index_, n));
	ck_assert(!has(index_, 99));
	ck_assert(!migrate_old_index_is_complete(index_)); /* one may be lost */
	migrate_old_index_set_complete(index_, false);
	ck_assert(migrate_old_index_is_doubted(index_));
	migrate_old_index_set_complete(index_, true);
	ck_assert(migrate_old_index_is_complete(index_) && !migrate_old_index_is_doubted(index_));
	ck_assert_int_eq(add(99), 0);
	ck_assert(has(index_, 99));
	ck_assert_int_eq(size_of_file(), size);
}
END_TEST

/* No chain leads to the last entry yet. */
START_TEST(an_adder_that_is_killed_loses_nothing)
{
	static const char zeros[FIRST_AT - 4096];

	ck_assert_int_eq(add(1), 0);
	put(4096, zeros, sizeof(zeros));
	ck_assert(!has(index_, 1));
	reopen();
	ck_assert(has(index_, 1));
}
END_TEST

START_TEST(damage_is_not_found)
{
	const off_t at = FIRST_AT + 40;

	ck_assert_int_eq(add(1), 0);
	for (off_t n = 0; n < 40; n++) {
		char byte, other;
		int fd = open(file, O_RDWR | O_CLOEXEC);

		ck_assert_int_eq(pread(fd, &byte, 1, at - 20 + n), 1);
		other = (char)~byte;
		ck_assert_int_eq(pwrite(fd, &other, 1, at - 20 + n), 1);
		ck_assert(!has(index_, 1));
		ck_assert_int_eq(pwrite(fd, &byte, 1, at - 20 + n), 1);
		close(fd);
	}
	ck_assert(has(index_, 1));
}
END_TEST

START_TEST(other_files_are_refused)
{
	struct migrate_old_index *other;

	put(0, "something else", 14);
	ck_assert_int_eq(migrate_old_index_open(file, &other), -EBADMSG);
	ck_assert_int_eq(migrate_old_index_create(file, 1, &other), -EBADMSG);
	ck_assert_int_eq(truncate(file, 5000), 0);
	ck_assert_int_eq(migrate_old_index_open(file, &other), -EBADMSG);
	ck_assert_int_eq(migrate_old_index_open("/nonexistent/index", &other), -ENOENT);
}
END_TEST

START_TEST(handles_of_no_length_are_refused)
{
	struct migrate_alias alias = alias_of(1);

	alias.old_len = 0;
	ck_assert_int_eq(add_at(1, &alias), -EINVAL);
	alias.old_len = 65;
	ck_assert_int_eq(add_at(1, &alias), -EINVAL);
}
END_TEST

static void *add_many(void *first)
{
	for (uint64_t n = 0; n < 2000; n++)
		ck_assert_int_eq(add(*(uint64_t *)first + n), 0);
	return NULL;
}

START_TEST(threads_add_and_read)
{
	uint64_t first[] = {0, 2000, 4000};
	struct migrate_old_index *reader;
	pthread_t threads[3];

	ck_assert_int_eq(migrate_old_index_open(file, &reader), 0);
	for (unsigned i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, add_many, &first[i]);
	for (uint64_t n = 0; n < 6000; n++) {
		struct migrate_alias alias = alias_of(n), found;

		while (!migrate_old_index_find(reader, alias.old, alias.old_len, &found))
			;
		ck_assert(is_same(&found, n));
	}
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (uint64_t n = 0; n < 6000; n++)
		ck_assert(has(reader, n));
	migrate_old_index_close(reader);
}
END_TEST

static void *wait_for_more(void *arg)
{
	const struct timespec deadline = migrate_in_ms(30000);
	struct migrate_old_index *reader = arg;
	uint32_t seen;

	do
		seen = migrate_old_index_named(reader);
	while (!has(reader, 3) && migrate_old_index_wait(reader, seen, &deadline));
	return has(reader, 3) ? reader : NULL;
}

/* Also by who cannot write. */
START_TEST(what_comes_is_waited_for)
{
	const struct timespec soon = migrate_in_ms(10);
	struct migrate_old_index *reader;
	pthread_t thread;
	void *found;

	ck_assert_int_eq(migrate_old_index_open(file, &reader), 0);
	ck_assert(!migrate_old_index_wait(reader, migrate_old_index_named(reader), &soon));
	ck_assert(migrate_old_index_wait(reader, migrate_old_index_named(reader) - 1, &soon));
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_more, reader), 0);
	for (uint64_t n = 1; n <= 3; n++)
		ck_assert_int_eq(add(n), 0);
	ck_assert_int_eq(pthread_join(thread, &found), 0);
	ck_assert_ptr_eq(found, reader);
	migrate_old_index_close(reader);
}
END_TEST

/* A store through the map where there is no room would be SIGBUS. */
static unsigned syncs;
static bool sync_fails;

/* Instead of the C library's. */
int fdatasync(int fd)
{
	syncs++;
	errno = EIO;
	return sync_fails ? -1 : 0;
}

/* One that failed is tried again. */
START_TEST(it_is_synced_when_something_came)
{
	ck_assert_int_eq(add(1), 0);
	sync_fails = true;
	ck_assert_int_eq(migrate_old_index_sync(index_), -EIO);
	sync_fails = false;
	ck_assert_int_eq(migrate_old_index_sync(index_), 0);
	ck_assert_uint_eq(syncs, 2);
	ck_assert_int_eq(migrate_old_index_sync(index_), 0);
	ck_assert_uint_eq(syncs, 2);
	ck_assert_int_eq(add(2), 0);
	ck_assert_int_eq(migrate_old_index_sync(index_), 0);
	ck_assert_uint_eq(syncs, 3);
}
END_TEST

START_TEST(the_map_is_read_only)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], how[5] = "";

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, file))
			ck_assert_int_eq(sscanf(line, "%*s %4s", how), 1);
	fclose(maps);
	ck_assert_str_eq(how, "r--s");
}
END_TEST

/* What cannot be written is an error, and what was there is found. */
START_TEST(no_room)
{
	const struct rlimit none = {0, RLIM_INFINITY}, any = {RLIM_INFINITY, RLIM_INFINITY};
	struct migrate_alias alias;

	ck_assert_int_eq(add(1), 0);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	ck_assert_int_eq(add(2), -EFBIG);
	ck_assert_int_eq(migrate_old_index_set_complete(index_, true), -EFBIG);
	ck_assert_int_eq(migrate_old_index_doubt(index_), -EFBIG);
	ck_assert(!migrate_old_index_is_complete(index_));
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &any), 0);
	alias = alias_of(1);
	ck_assert(migrate_old_index_find(index_, alias.old, alias.old_len, &alias));
	ck_assert(is_same(&alias, 1));
	ck_assert_int_eq(add(2), 0);
	ck_assert_int_eq(migrate_old_index_set_complete(index_, true), 0);
	ck_assert(migrate_old_index_is_complete(index_));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("old_index");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_is_added_is_found);
	tcase_add_test(tcase, what_is_known_takes_no_room);
	tcase_add_test(tcase, the_last_counts);
	tcase_add_test(tcase, what_has_no_name_is_found_by_its_inode_alone);
	tcase_add_test(tcase, what_is_made_in_vain_is_not_found);
	tcase_add_test(tcase, it_is_complete_when_it_is_said);
	tcase_add_test(tcase, after_a_power_cut_it_is_made_from_its_entries);
	tcase_add_test(tcase, an_adder_that_is_killed_loses_nothing);
	tcase_add_test(tcase, damage_is_not_found);
	tcase_add_test(tcase, other_files_are_refused);
	tcase_add_test(tcase, handles_of_no_length_are_refused);
	tcase_add_test(tcase, threads_add_and_read);
	tcase_add_test(tcase, what_comes_is_waited_for);
	tcase_add_test(tcase, it_is_synced_when_something_came);
	tcase_add_test(tcase, the_map_is_read_only);
	tcase_add_test(tcase, no_room);
	return run_tcase(tcase);
}
