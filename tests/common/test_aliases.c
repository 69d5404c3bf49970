/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "common/migrate.h"
#include "tests/common/support.h"

#define FIRST "quickmigrate old handles 1\n"

/* Behind so many lines is what cannot be read. */
static int fails_after;

ssize_t __getdelim(char **line, size_t *size, int end, FILE *from)
{
	if (fails_after && --fails_after == 0) {
		int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		ck_assert_int_eq(dup2(dir, fileno(from)), fileno(from));
		close(dir);
		__fpurge(from); /* what was read ahead */
	}
	return getdelim(line, size, end, from);
}

ssize_t getline(char **line, size_t *size, FILE *from)
{
	return __getdelim(line, size, '\n', from);
}

static char file[64];
static struct migrate_alias *list;
static size_t n;

static void setup(void)
{
	strcpy(file, "/tmp/migrate-aliases-XXXXXX");
	close(mkstemp(file));
}

static void teardown(void)
{
	unlink(file);
	migrate_aliases_free(list, n);
}

static int load(const char *text)
{
	FILE *out = fopen(file, "we");

	fputs(text, out);
	fclose(out);
	migrate_aliases_free(list, n);
	return migrate_aliases_load(file, &list, &n);
}

START_TEST(what_is_written_is_read)
{
	struct migrate_alias given[] = {
		{.old_len = 64,
		 .len = 128,
		 .type = 1,
		 .fileid = UINT64_MAX,
		 .fsid = 0,
		 .path = "."},
		{.old_len = 1,
		 .len = 8,
		 .type = INT32_MAX,
		 .fileid = 2,
		 .fsid = 3,
		 .path = "a directory/with blanks"},
	};
	FILE *out = fopen(file, "we");

	memset(given[0].old, 0xff, sizeof(given[0].old));
	memset(given[0].handle, 0x5a, sizeof(given[0].handle));
	ck_assert_int_eq(migrate_aliases_print(out, given, 2), 0);
	fclose(out);
	ck_assert_int_eq(migrate_aliases_load(file, &list, &n), 0);
	ck_assert_uint_eq(n, 2);
	for (unsigned i = 0; i < n; i++) {
		ck_assert_uint_eq(list[i].old_len, given[i].old_len);
		ck_assert_mem_eq(list[i].old, given[i].old, given[i].old_len);
		ck_assert_uint_eq(list[i].len, given[i].len);
		ck_assert_mem_eq(list[i].handle, given[i].handle, given[i].len);
		ck_assert_int_eq(list[i].type, given[i].type);
		ck_assert_uint_eq(list[i].fileid, given[i].fileid);
		ck_assert_uint_eq(list[i].fsid, given[i].fsid);
		ck_assert_str_eq(list[i].path, given[i].path);
	}
}
END_TEST

START_TEST(nothing_is_allowed)
{
	ck_assert_int_eq(load(FIRST), 0);
	ck_assert_uint_eq(n, 0);
	unlink(file);
	ck_assert_int_eq(migrate_aliases_load(file, &list, &n), -ENOENT);
	ck_assert_ptr_null(list);
}
END_TEST

/* Half a file would be half of the clients' mounts. */
START_TEST(damage_is_refused_as_a_whole)
{
	static const char *const wrong[] = {
		"",
		"quickmigrate old handles 2\n",
		FIRST "aa 1 2 3 bb .",			/* cut */
		FIRST "aa 1 2 3 bb .\naa 1 2 3 cc d\n", /* twice */
		FIRST "aa 1 2 3 bb .\nab 1 2",
		FIRST "a 1 2 3 bb .\n",
		FIRST "ag 1 2 3 bb .\n",
		FIRST "AA 1 2 3 bb .\n",
		FIRST " 1 2 3 bb .\n",
		FIRST "aa -1 2 3 bb .\n",
		FIRST "aa 18446744073709551616 2 3 bb .\n",
		FIRST "aa 1 2 4294967296 bb .\n",
		FIRST "aa 1 2 3  .\n",
		FIRST "aa 1 2 3 bb \n",
		FIRST "aa 1 2 3 bb\n",
		FIRST "aa 1 2 3 b .\n",
		FIRST "\n",
	};

	ck_assert_int_eq(load(FIRST "aa 1 2 3 bb .\n"), 0);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert_msg(load(wrong[i]) == -EBADMSG, "%u", i);
		ck_assert_ptr_null(list);
	}
}
END_TEST

START_TEST(too_much_is_refused)
{
	char text[sizeof(FIRST) + 300];

	snprintf(text, sizeof(text), FIRST "%0*d 1 2 3 bb .\n", 2 * MIGRATE_OLD_HANDLE_MAX, 0);
	ck_assert_int_eq(load(text), 0);
	snprintf(text, sizeof(text), FIRST "%0*d 1 2 3 bb .\n", 2 * MIGRATE_OLD_HANDLE_MAX + 2, 0);
	ck_assert_int_eq(load(text), -EBADMSG);
	snprintf(text, sizeof(text), FIRST "aa 1 2 3 %0*d .\n", 2 * MIGRATE_NEW_HANDLE_MAX + 2, 0);
	ck_assert_int_eq(load(text), -EBADMSG);

	FILE *out = fopen(file, "we");
	fputs(FIRST, out);
	for (unsigned i = 0; i <= MIGRATE_ALIASES_MAX; i++)
		fprintf(out, "%04x 1 2 3 bb .\n", i);
	fclose(out);
	ck_assert_int_eq(migrate_aliases_load(file, &list, &n), -EBADMSG);
}
END_TEST

/* It is no file's end. */
START_TEST(what_cannot_be_read_is_refused)
{
	ck_assert_int_eq(load(FIRST "aa 1 2 3 bb .\nab 1 2 3 bb .\n"), 0);
	ck_assert_uint_eq(n, 2);
	migrate_aliases_free(list, n);
	fails_after = 3;
	ck_assert_int_eq(migrate_aliases_load(file, &list, &n), -EISDIR);
	ck_assert_ptr_null(list);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("aliases");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_is_written_is_read);
	tcase_add_test(tcase, nothing_is_allowed);
	tcase_add_test(tcase, damage_is_refused_as_a_whole);
	tcase_add_test(tcase, too_much_is_refused);
	tcase_add_test(tcase, what_cannot_be_read_is_refused);
	return run_tcase(tcase);
}
