/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ways over a fake server's tree: long ones, and such as another security flavour is wanted for. */
#include "lib/source/nfs/nfs4_walk.h"

#include "tests/retriever/nfs4_served.h"

static struct source_attr attr;
static GString *lines;

static void note(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer user)
{
	g_string_append_printf(user, "%s\n", message);
}

static void setup(void)
{
	lines = g_string_new(NULL);
	g_log_set_default_handler(note, lines);
	served_start();
	served_open("4.2");
}

static void teardown(void)
{
	served_end();
	g_string_free(lines, TRUE);
}

/* Servers refuse a compound of more operations than were agreed upon. */
START_TEST(long_ways_are_walked_in_pieces)
{
	ck_assert_int_eq(get_attr(backend, by_path("1/2/3/4/5/6/7/8/9/10/11/12/file"), &attr), 0);
	ck_assert_uint_eq(attr.fileid, 102);
	ck_assert_int_eq(get_attr(backend, by_path("1/2/3/4/none/6/7/8/9/file"), &attr), -ENOENT);
	served_close();
	fake4.ops = 6;
	served_open("4.2");
	ck_assert_int_eq(get_attr(backend, by_path("1/2/3/4/5/6/7/8/9/10/11/12/file"), &attr), 0);
	ck_assert_uint_eq(attr.fileid, 102);
}
END_TEST

START_TEST(a_refused_name_on_the_way_is_said)
{
	tree.service = 3;
	ck_assert_int_eq(get_attr(backend, by_path("1/2/3/4/5/6/locked/more"), &attr), -EACCES);
	ck_assert_uint_eq(tree.asked, 1);
	ck_assert_ptr_nonnull(strstr(lines->str, "/x/1/2/3/4/5/6/locked is left out"));
	ck_assert_ptr_nonnull(strstr(lines->str, "wants krb5p: set sec=krb5p"));
	/* once */
	g_string_truncate(lines, 0);
	ck_assert_int_eq(get_attr(backend, by_path("locked"), &attr), -EACCES);
	ck_assert_str_eq(lines->str, "");
	ck_assert_int_eq(get_attr(backend, by_path("file"), &attr), 0);
}
END_TEST

START_TEST(a_refused_name_is_said)
{
	struct source_object found;

	ck_assert_int_eq(look_up(backend, root, "locked", &found, NULL), -EACCES);
	ck_assert_uint_eq(tree.asked, 1);
	ck_assert_ptr_nonnull(strstr(lines->str, "/locked is left out"));
	ck_assert_ptr_nonnull(strstr(lines->str, "xprtsec=tls"));
}
END_TEST

START_TEST(where_nothing_is_told_nothing_is_said)
{
	tree.service = -1;
	ck_assert_int_eq(get_attr(backend, by_path("locked"), &attr), -EACCES);
	ck_assert_uint_eq(tree.asked, 1);
	ck_assert_str_eq(lines->str, "");
}
END_TEST

START_TEST(a_refused_object_is_asked_for_without_a_name)
{
	struct nfs_view view = {.path = "/x", .sec = NFS_SEC_SYS, .url = "nfs://x", .root.len = 1};
	const struct source_object object = by_handle((const uint8_t *)"h", 1);
	uint8_t bytes[100];
	struct xdr_out out = {.p = bytes, .end = bytes + sizeof(bytes)};
	struct xdr_in in = {.p = bytes};
	struct nfs4_walk walk;

	nfs4_walk_begin(&walk, &view, &object);
	ck_assert(!nfs4_walk_goes_on(&walk));
	ck_assert_int_eq(nfs4_walk_refuse(&walk, false, "name"), NFS_CALL_AGAIN);
	ck_assert(nfs4_walk_goes_on(&walk));
	ck_assert_uint_eq(nfs4_walk_count(&walk), 1);
	nfs4_walk_put(&walk, &out);
	in.end = out.p;
	ck_assert_uint_eq(xdr_get_u32(&in), OP_SECINFO_NO_NAME);
	/* one flavour */
	out.p = bytes;
	xdr_put_u32(&out, OP_SECINFO_NO_NAME);
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, 1);
	xdr_put_u32(&out, 1);
	in = (struct xdr_in){.p = bytes, .end = out.p};
	ck_assert_int_eq(nfs4_walk_get_flavours(&walk, &view, "", &in), -EACCES);
	ck_assert_ptr_nonnull(strstr(lines->str, "the source's root is left out"));
	ck_assert_ptr_nonnull(strstr(lines->str, "another sec= for something in it"));
	nfs4_walk_end(&walk);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, long_ways_are_walked_in_pieces);
	tcase_add_test(tcase, a_refused_name_on_the_way_is_said);
	tcase_add_test(tcase, a_refused_name_is_said);
	tcase_add_test(tcase, where_nothing_is_told_nothing_is_said);
	tcase_add_test(tcase, a_refused_object_is_asked_for_without_a_name);
	return run_tcase(tcase);
}
