/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/layout.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fs_id.h"
#include "tests/suite.h"

static struct migrate_binding some_handle(size_t len)
{
	struct migrate_binding handle = {.type = 0x81, .len = (uint8_t)len};

	memset(handle.bytes, 0xa5, len);
	return handle;
}

START_TEST(handles_come_back)
{
	for (size_t len = 1; len <= MIGRATE_BINDING_MAX; len++) {
		struct migrate_binding in = some_handle(len), out;
		uint8_t bytes[JOURNAL_KEY_MAX];

		ck_assert_uint_eq(journal_key_encode(&in, bytes), len + 1);
		ck_assert(journal_key_decode(bytes, len + 1, &out));
		ck_assert(migrate_binding_equal(&in, &out));
	}
}
END_TEST

START_TEST(rows_come_back)
{
	struct journal_row in = {.flags = JOURNAL_MADE | JOURNAL_DIRECTORY, .generation = 77}, out;
	uint8_t bytes[JOURNAL_VALUE_MAX];
	size_t len = journal_row_encode(&in, bytes);

	ck_assert(journal_row_decode(bytes, len, &out));
	ck_assert_uint_eq(out.flags, in.flags);
	ck_assert_uint_eq(out.generation, 77);
	ck_assert_uint_eq(out.parent.len, 0);
	in.parent = some_handle(MIGRATE_BINDING_MAX);
	memset(in.name, 'x', JOURNAL_NAME_MAX);
	len = journal_row_encode(&in, bytes);
	ck_assert_uint_eq(len, sizeof(bytes));
	ck_assert(journal_row_decode(bytes, len, &out));
	ck_assert(migrate_binding_equal(&in.parent, &out.parent));
	ck_assert_str_eq(in.name, out.name);
}
END_TEST

START_TEST(of_which_root)
{
	int root = open("/tmp", O_RDONLY | O_DIRECTORY), other = open("/", O_RDONLY | O_DIRECTORY);
	struct journal_durable state = {.fsid = migrate_fs_id(root), .since = 1};

	ck_assert_int_eq(migrate_binding_get(root, NULL, &state.root), 0);
	ck_assert(journal_durable_is_of(&state, root));
	ck_assert(!journal_durable_is_of(&state, other));
	state.fsid = UINT64_C(1) << 40; /* the same handle, on another file system */
	ck_assert(!journal_durable_is_of(&state, root));
	close(root);
	close(other);
}
END_TEST

START_TEST(names_come_back)
{
	struct journal_name in = {.kind = JOURNAL_NAME_MADE, .parent = some_handle(8)}, out;
	uint8_t bytes[JOURNAL_VALUE_MAX];

	strcpy(in.name, "a name");
	ck_assert(journal_name_decode(bytes, journal_name_encode(&in, bytes), &out));
	ck_assert_int_eq(out.kind, JOURNAL_NAME_MADE);
	ck_assert(migrate_binding_equal(&in.parent, &out.parent));
	ck_assert_str_eq(out.name, "a name");
}
END_TEST

/* Each cut, and what cannot be a name. */
START_TEST(damage_is_seen)
{
	struct journal_name in = {.kind = JOURNAL_NAME_GONE, .parent = some_handle(8)}, out;
	struct migrate_binding handle;
	struct journal_row row;
	uint8_t bytes[JOURNAL_VALUE_MAX];
	size_t len;

	strcpy(in.name, "n");
	len = journal_name_encode(&in, bytes);
	for (size_t cut = 0; cut < len; cut++)
		ck_assert(!journal_name_decode(bytes, cut, &out));
	bytes[len - 1] = '/';
	ck_assert(!journal_name_decode(bytes, len, &out));
	bytes[len - 1] = 0;
	ck_assert(!journal_name_decode(bytes, len, &out));
	bytes[len - 1] = 'n';
	bytes[0] = 2;
	ck_assert(!journal_name_decode(bytes, len, &out));
	ck_assert(!journal_key_decode(bytes, 1, &handle));
	ck_assert(!journal_key_decode(bytes, JOURNAL_KEY_MAX + 1, &handle));
	memset(bytes, 0xff, sizeof(bytes));
	ck_assert(!journal_row_decode(bytes, 9, &row));
	ck_assert(!journal_row_decode(bytes, 40, &row));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("layout");

	tcase_add_test(tcase, handles_come_back);
	tcase_add_test(tcase, rows_come_back);
	tcase_add_test(tcase, of_which_root);
	tcase_add_test(tcase, names_come_back);
	tcase_add_test(tcase, damage_is_seen);
	return run_tcase(tcase);
}
