/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/acl/smb_descriptor.h"

#include "tests/retriever/nt_support.h"
#include "tests/suite.h"

static const struct windows_map by_descriptor = {
	.uid = 11, .gid = 12, .modes = SMB_MODES_DESCRIPTOR};
static const struct windows_map open_to_all = {.uid = 11, .gid = 12, .modes = SMB_MODES_OPEN};

static struct source_windows *source(GByteArray *sd)
{
	struct source_windows *source = source_windows_new();

	source->has_sacl = true;
	source->sd_len = sd->len;
	source->sd = g_byte_array_free(sd, FALSE);
	return source;
}

static GByteArray *for_anna(void)
{
	return nt_text(0x9004, "S-1-22-1-1001", "S-1-22-2-513", NULL,
		       "0 0 1f01ff S-1-22-1-1001,0 0 1200a9 S-1-22-2-513");
}

static const struct source_xattr *xattr(const struct windows *w, const char *name)
{
	for (guint i = 0; i < w->xattrs->list->len; i++) {
		const struct source_xattr *x =
			&g_array_index(w->xattrs->list, struct source_xattr, i);

		if (!strcmp(x->name, name))
			return x;
	}
	return NULL;
}

static void expect_line(const GPtrArray *lines, const char *part)
{
	for (guint i = 0; i < lines->len; i++)
		if (strstr(lines->pdata[i], part))
			return;
	ck_abort_msg("not told: %s", part);
}

START_TEST(a_descriptor)
{
	g_autoptr(GByteArray) sd = for_anna(), should = nt_value(sd);
	struct source_windows *from = source(for_anna());
	struct windows *w = smb_descriptor_new(from, false, &by_descriptor);

	ck_assert_uint_eq(w->acl_len, should->len);
	ck_assert_mem_eq(w->acl, should->data, should->len);
	ck_assert_uint_eq(w->uid, 1001);
	ck_assert_uint_eq(w->gid, 513);
	ck_assert_uint_eq(w->perms, 0750);
	ck_assert_ptr_null(w->lost_owner);
	ck_assert_uint_eq(w->xattrs->lost->len, 0);
	ck_assert_uint_eq(w->closed_perms, 0);
	smb_descriptor_free(w);
	w = smb_descriptor_new(from, false, &open_to_all);
	ck_assert_uint_eq(w->perms, 0666);
	ck_assert_uint_eq(w->closed_perms, 0);
	smb_descriptor_free(w);
	w = smb_descriptor_new(from, true, &open_to_all);
	ck_assert_uint_eq(w->perms, 0777);
	ck_assert_uint_eq(w->closed_perms, 0711);
	smb_descriptor_free(w);
	source_windows_free(from);
}
END_TEST

START_TEST(maps)
{
	struct sid_map *sids = sid_map_parse("S-1-22-1-1001:" ANNA, false, NULL);
	struct sid_map *users = sid_map_parse("S-1-5-21-1-2-3-*:4000", true, NULL);
	struct windows_map map = {
		.sids = sids, .users = users, .gid = 12, .modes = SMB_MODES_DESCRIPTOR};
	struct source_windows *from =
		source(nt_text(0x9004, "S-1-22-1-1001", STAFF, NULL, "0 0 1f01ff S-1-22-1-1001"));
	g_autoptr(GByteArray) sd = nt_text(0x9004, ANNA, STAFF, NULL, "0 0 1f01ff " ANNA);
	g_autoptr(GByteArray) should = nt_value(sd);
	struct windows *w = smb_descriptor_new(from, false, &map);

	ck_assert_uint_eq(w->acl_len, should->len);
	ck_assert_mem_eq(w->acl, should->data, should->len);
	ck_assert_uint_eq(w->uid, 5001);
	ck_assert_uint_eq(w->gid, 12);
	ck_assert_ptr_null(w->lost_owner);
	ck_assert_str_eq(w->lost_group, STAFF);
	ck_assert_uint_eq(w->perms, 0700);
	smb_descriptor_free(w);
	source_windows_free(from);
	sid_map_free(sids);
	sid_map_free(users);
}
END_TEST

/* Samba knows S-1-22-1-UID by its number. */
START_TEST(numbers)
{
	struct sid_map *users = sid_map_parse("S-1-22-1-*:4000 S-1-22-1-1002:7", true, NULL);
	struct sid_map *groups = sid_map_parse("S-1-22-2-513:600", true, NULL);
	const struct windows_map map = {
		.users = users, .groups = groups, .modes = SMB_MODES_DESCRIPTOR};
	const struct nt_numbers back = {users, groups, true};
	const char old[] = "0 0 1f01ff S-1-22-1-1001,0 0 1 S-1-22-1-1002,0 0 1 S-1-22-2-513,"
			   "0 0 1 S-1-22-2-1002,0 0 1 " ANNA;
	g_autoptr(GByteArray) should =
		nt_text(0x9004, "S-1-22-1-5001", "S-1-22-2-600", NULL,
			"0 0 1f01ff S-1-22-1-5001,0 0 1 S-1-22-1-7,0 0 1 S-1-22-2-600,"
			"0 0 1 S-1-22-2-1002,0 0 1 " ANNA);
	g_autoptr(GByteArray) value = nt_value(should), before = NULL;
	g_autofree uint8_t *again = NULL;
	struct source_windows *from =
		source(nt_text(0x9004, "S-1-22-1-1001", "S-1-22-2-513", NULL, old));
	struct windows *w = smb_descriptor_new(from, false, &map);
	struct nt_descriptor *sd;
	const char *why;
	uint32_t len;

	ck_assert_uint_eq(w->uid, 5001);
	ck_assert_uint_eq(w->gid, 600);
	ck_assert_uint_eq(w->perms, 0740);
	ck_assert_uint_eq(w->acl_len, value->len);
	ck_assert_mem_eq(w->acl, value->data, value->len);
	smb_descriptor_free(w);
	sd = nt_decode(should->data, should->len, &why);
	nt_renumber(sd, &back);
	again = nt_encode(sd, &len, &why);
	before = nt_text(0x9004, "S-1-22-1-1001", "S-1-22-2-513", NULL, old);
	ck_assert_uint_eq(len, 8 + before->len);
	ck_assert_mem_eq(again + 8 + 20, before->data + 20, before->len - 20);
	nt_free(sd);
	source_windows_free(from);
	sid_map_free(users);
	sid_map_free(groups);
}
END_TEST

/* Who may not change it must not own it; where the descriptor decides he may. */
START_TEST(an_owner_who_may_not_change_it)
{
	struct source_windows *from = source(nt_text(0x9004, "S-1-22-1-1001", "S-1-22-2-513", NULL,
						     "0 0 1301bf S-1-3-4,0 0 1200a9 " WORLD));
	struct windows *w = smb_descriptor_new(from, false, &by_descriptor);

	ck_assert_uint_eq(w->uid, 11);
	ck_assert_uint_eq(w->perms, 0555);
	ck_assert_str_eq(w->bound_owner, "S-1-22-1-1001");
	ck_assert_ptr_null(w->lost_owner);
	ck_assert(w->less);
	smb_descriptor_free(w);
	w = smb_descriptor_new(from, false, &open_to_all);
	ck_assert_uint_eq(w->uid, 1001);
	ck_assert_ptr_null(w->bound_owner);
	ck_assert(!w->less);
	smb_descriptor_free(w);
	source_windows_free(from);
}
END_TEST

/* What cannot be understood: nobody gets anything. */
START_TEST(no_descriptor)
{
	struct source_windows *from = source(for_anna());
	const uint8_t closed[] = {1, 0, 1, 0, 0, 0, 2,	0, 1, 0, 4, 0x90, 0, 0, 0, 0, 0, 0,
				  0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 2, 0,	  8, 0, 0, 0, 0, 0};
	struct windows *w;

	from->sd_len = 30;
	w = smb_descriptor_new(from, false, &open_to_all);
	ck_assert_ptr_null(w->acl);
	ck_assert(strstr(w->why, "no valid SID"));
	ck_assert_uint_eq(w->perms, 0);
	ck_assert_uint_eq(w->uid, 11);
	ck_assert_uint_eq(w->gid, 12);
	ck_assert_uint_eq(w->closed_len, sizeof(closed));
	ck_assert_mem_eq(w->closed, closed, sizeof(closed));
	smb_descriptor_free(w);
	g_clear_pointer(&from->sd, g_free);
	w = smb_descriptor_new(from, false, &by_descriptor);
	ck_assert_ptr_null(w->acl);
	ck_assert_uint_eq(w->perms, 0);
	smb_descriptor_free(w);
	source_windows_free(from);
}
END_TEST

START_TEST(attributes)
{
	static const uint8_t file[] = {0,    0, 5, 0, 5, 0, 0, 0, 0x11, 0, 0, 0,
				       0x27, 2, 0, 0, 1, 2, 3, 4, 5,	6, 7, 8 & 0x7f};
	static const uint8_t directory[] = {0,	  0, 5, 0, 5, 0, 0, 0, 0x01, 0, 0, 0,
					    0x12, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0};
	struct source_windows *from = source(for_anna());
	struct windows *w;
	const struct source_xattr *x;

	/* hidden, read-only, system, archive, sparse; offline is the door's to say */
	from->attributes = 0x27 | 0x200 | 0x1000 | 0x80;
	from->create_time = UINT64_C(0x0807060504030201);
	w = smb_descriptor_new(from, false, &open_to_all);
	x = xattr(w, "user.DOSATTRIB");
	ck_assert_ptr_nonnull(x);
	ck_assert_uint_eq(x->len, sizeof(file));
	ck_assert_mem_eq(x->value, file, x->len);
	ck_assert_uint_eq(w->xattrs->lost->len, 0);
	smb_descriptor_free(w);
	from->attributes = 0x2;
	from->create_time = UINT64_MAX;
	w = smb_descriptor_new(from, true, &open_to_all);
	x = xattr(w, "user.DOSATTRIB");
	ck_assert_mem_eq(x->value, directory, sizeof(directory));
	smb_descriptor_free(w);
	from->attributes = 0x4000 | 0x800 | 0x400 | 0x2100;
	from->reparse_tag = 0xa000000c;
	from->ea_size = 77;
	w = smb_descriptor_new(from, false, &open_to_all);
	ck_assert_uint_eq(w->xattrs->lost->len, 5);
	expect_line(w->xattrs->lost, "compressed");
	expect_line(w->xattrs->lost, "encrypted");
	expect_line(w->xattrs->lost, "0xa000000c");
	expect_line(w->xattrs->lost, "attributes 0x2100");
	expect_line(w->xattrs->lost, "77 bytes");
	smb_descriptor_free(w);
	source_windows_free(from);
}
END_TEST

START_TEST(streams)
{
	struct source_windows *from = source(for_anna());
	g_autofree char *longest = g_strnfill(234, 'n'), *longer = g_strnfill(235, 'n');
	g_autofree char *fits = g_strconcat(":", longest, ":$DATA", NULL);
	g_autofree char *too_long = g_strconcat(":", longer, ":$DATA", NULL);
	g_autofree uint8_t *big = g_malloc0(70000);
	const struct source_xattr *x;
	struct windows *w;

	source_windows_add_stream(from, "::$DATA", 5, "hello");
	source_windows_add_stream(from, ":Zone.Identifier:$DATA", 3, "a\0b");
	source_windows_add_stream(from, ":empty:$data", 0, "");
	source_windows_add_stream(from, ":full:$DATA", 65535, big);
	source_windows_add_stream(from, ":big:$DATA", 65536, NULL);
	source_windows_add_stream(from, ":lying:$DATA", 65536, big);
	source_windows_add_stream(from, ":index:$INDEX_ALLOCATION", 1, "x");
	source_windows_add_stream(from, ":a/b:$DATA", 1, "x");
	source_windows_add_stream(from, ":a:b:$DATA", 1, "x");
	source_windows_add_stream(from, "x:$DATA", 1, "x");
	source_windows_add_stream(from, ":$DATA", 1, "x");
	source_windows_add_stream(from, "", 1, "x");
	source_windows_add_stream(from, ":\xff:$DATA", 1, "x");
	source_windows_add_stream(from, fits, 1, "x");
	source_windows_add_stream(from, too_long, 1, "x");
	from->has_sacl = false;
	from->streams_unknown = true;
	from->more_streams = true;
	w = smb_descriptor_new(from, false, &open_to_all);
	x = xattr(w, "user.DosStream.Zone.Identifier:$DATA");
	ck_assert_ptr_nonnull(x);
	ck_assert_uint_eq(x->len, 4);
	ck_assert_mem_eq(x->value, "a\0b\0", 4);
	x = xattr(w, "user.DosStream.empty:$DATA");
	ck_assert_ptr_nonnull(x);
	ck_assert_uint_eq(x->len, 1);
	x = xattr(w, "user.DosStream.full:$DATA");
	ck_assert_ptr_nonnull(x);
	ck_assert_uint_eq(x->len, 65536);
	ck_assert_uint_eq(w->xattrs->list->len, 5); /* with user.DOSATTRIB and the longest name */
	ck_assert_uint_eq(w->lost_streams->len, 11);
	expect_line(w->lost_streams, "big (65536 bytes)");
	expect_line(w->lost_streams, "its name is too long");
	expect_line(w->lost_streams, "could not list all");
	expect_line(w->lost_streams, "$INDEX_ALLOCATION: of a kind");
	ck_assert(w->no_sacl && w->no_streams);
	smb_descriptor_free(w);
	source_windows_free(from);
}
END_TEST

START_TEST(conditions)
{
	struct source_windows *from = source(nt_text(
		0x8004, ANNA, STAFF, NULL, "9 0 1 " WORLD " 61727478,a 0 1 " STAFF " 61727478"));
	struct windows *w = smb_descriptor_new(from, false, &open_to_all);

	ck_assert_ptr_nonnull(w->acl);
	expect_line(w->xattrs->lost, "1 entry of the ACL that allowed on a condition");
	expect_line(w->xattrs->lost, "1 entry of the ACL denied something on a condition");
	smb_descriptor_free(w);
	source_windows_free(from);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("windows");

	tcase_add_test(tc, a_descriptor);
	tcase_add_test(tc, maps);
	tcase_add_test(tc, numbers);
	tcase_add_test(tc, an_owner_who_may_not_change_it);
	tcase_add_test(tc, no_descriptor);
	tcase_add_test(tc, attributes);
	tcase_add_test(tc, streams);
	tcase_add_test(tc, conditions);
	return run_tcase(tc);
}
