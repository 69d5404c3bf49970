/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <string.h>

#include "lib/source/source.h"
#include "tests/suite.h"

START_TEST(streams)
{
	struct source_xattrs *xattrs = source_xattrs_new();
	const struct source_stream *stream;
	char name[] = ":a:$DATA", data[] = "abc";

	xattrs->windows = source_windows_new();
	source_windows_add_stream(xattrs->windows, name, 3, data);
	source_windows_add_stream(xattrs->windows, ":b:$DATA", 0, "");
	source_windows_add_stream(xattrs->windows, ":c:$DATA", 70000, NULL);
	xattrs->windows->sd = g_malloc(10);
	name[1] = data[1] = 'x';
	stream = &g_array_index(xattrs->windows->streams, struct source_stream, 0);
	ck_assert_str_eq(stream[0].name, ":a:$DATA");
	ck_assert_mem_eq(stream[0].data, "abc", 3);
	ck_assert_ptr_nonnull(stream[1].data);
	ck_assert_uint_eq(stream[1].size, 0);
	ck_assert_ptr_null(stream[2].data);
	ck_assert_uint_eq(stream[2].size, 70000);
	source_xattrs_free(xattrs);
	source_windows_free(NULL);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("source_windows");

	tcase_add_test(tc, streams);
	return run_tcase(tc);
}
