/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of an object that has a security descriptor. */
#include "tests/retriever/core_attributes.h"

#include "lib/acl/smb_descriptor.h"
#include "retriever/objects/errors.h"
#include "tests/retriever/nt_support.h"

#define UID_1001 "S-1-22-1-1001"
#define GID_513	 "S-1-22-2-513"

/* ---- what an SMB server says ---- */

#define UID_1001 "S-1-22-1-1001"
#define GID_513	 "S-1-22-2-513"

static struct source_windows *say(const char *name, GByteArray *sd)
{
	struct source_windows *windows = source_windows_new();

	windows->has_sacl = true;
	windows->sd_len = sd->len;
	windows->sd = g_byte_array_free(sd, FALSE);
	core_xattrs_of(name)->windows = windows;
	return windows;
}

static GByteArray *usual(void)
{
	return nt_text(0x9004, UID_1001, GID_513, NULL,
		       "1 0 2 S-1-5-21-9-9-9-9,0 0 1f01ff " UID_1001 ",0 0 120089 " GID_513);
}

static void expect_value(int fd, const char *name, const void *value, size_t len)
{
	uint8_t have[65536];
	ssize_t n = fgetxattr(fd, name, have, sizeof(have));

	ck_assert_msg(n == (ssize_t)len && !memcmp(have, value, len), "%s is not as it should be",
		      name);
}

static void expect_descriptor(int fd, GByteArray *sd)
{
	GByteArray *value = nt_value(sd);

	expect_value(fd, XATTR_NTACL, value->data, value->len);
	g_byte_array_unref(value);
	g_byte_array_unref(sd);
}

START_TEST(a_descriptor)
{
	static const uint8_t attributes[] = {0, 0, 5, 0, 5, 0, 0, 0, 0x11, 0, 0, 0,
					     2, 0, 0, 0, 7, 0, 0, 0, 0,	   0, 0, 0};
	struct source_windows *windows;
	struct stat st;
	int fd;

	make();
	windows = say("f", usual());
	windows->attributes = 2;
	windows->create_time = 7;
	source_windows_add_stream(windows, "::$DATA", 5000, NULL);
	source_windows_add_stream(windows, ":s:$DATA", 3, "abc");
	source_windows_add_stream(windows, ":long:$DATA", 70000, NULL);
	core_start(&core);
	fd = open_stub("f");
	expect_descriptor(fd, usual());
	expect_value(fd, XATTR_DOSATTRIB, attributes, sizeof(attributes));
	expect_value(fd, XATTR_STREAM_PREFIX "s:$DATA", "abc", 4);
	ck_assert_uint_eq(mode_of(fd), 0540); /* a denial for somebody who may be either */
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_uid, 1001);
	ck_assert_uint_eq(st.st_gid, 513);
	expect_times(fd);
	core_expect_report(&core, "xattr\t");
	core_expect_report(&core, "/new/f\tthe stream long (70000 bytes)");
	ck_assert_uint_eq(losses_count(core.retriever->losses), 1);
	ck_assert_int_eq(COUNT_GET(core.retriever, acls_carried), 1);
	core_free_with(&core, fd);
}
END_TEST

/* Longer than the file system takes, and nothing that Samba takes: nobody gets anything. */
START_TEST(a_descriptor_that_cannot_be_set)
{
	const struct sid owner = nt_sid(UID_1001), group = nt_sid(GID_513), none = {0};
	GString *text = g_string_new("0 0 1f01ff " WORLD);
	g_autofree uint8_t *closed = NULL, *nobodys = NULL;
	uint32_t len, nobodys_len;
	int fd;

	make();
	for (unsigned i = 0; i < 1200; i++)
		g_string_append(text, ",0 0 1 S-1-5-21-1-2-3-4-5-6-7-8");
	say("f", nt_text(0x8004, UID_1001, GID_513, NULL, text->str));
	g_string_free(text, TRUE);
	say("d/g", nt_text(0x8004, UID_1001, GID_513, NULL, "4 0 1f01ff " WORLD));
	core_start(&core);
	fd = open_stub("f");
	closed = nt_closed(&owner, &group, &len);
	expect_value(fd, XATTR_NTACL, closed, len);
	ck_assert_uint_eq(mode_of(fd), 0);
	core_expect_report(&core, "acl\t");
	core_expect_report(&core, "/new/f\tthe security descriptor (62488 bytes) could not be set "
				  "(too big for this file system): nobody");
	close(fd);
	fd = open_stub("d/g");
	nobodys = nt_closed(&none, &none, &nobodys_len);
	expect_value(fd, XATTR_NTACL, nobodys, nobodys_len);
	ck_assert_uint_eq(mode_of(fd), 0);
	core_expect_report(&core, "of a kind that Samba does not know): nobody");
	ck_assert_int_eq(COUNT_GET(core.retriever, acls_carried), 0);
	core_free_with(&core, fd);
}
END_TEST

/* Not even that: then there is no object. */
START_TEST(i12_no_descriptor_at_all)
{
	make();
	say("f", usual());
	core_fail_xattr = XATTR_NTACL;
	core_fail_errno = EOPNOTSUPP;
	core_start(&core);
	ck_assert_int_eq(core_lookup(&core, "f", O_RDONLY), -1);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_fail_xattr = NULL;
	close(open_stub("f"));
	core_free(&core);
}
END_TEST

START_TEST(what_is_said_once)
{
	struct source_windows *windows;
	struct stat st;
	int fd;

	make();
	for (unsigned i = 0; i < 2; i++) {
		windows = say(i ? "f" : "d/g", nt_text(0x8004, ANNA, STAFF, NULL, "0 0 1 " WORLD));
		windows->has_sacl = false;
		windows->streams_unknown = true;
	}
	core_start(&core);
	fd = open_stub("f");
	close(open_stub("d/g"));
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_uid, 0);
	ck_assert_uint_eq(st.st_gid, 0);
	ck_assert_uint_eq(mode_of(fd), 0444);
	core_expect_report(&core, "volume\t\towners: " ANNA " is nobody here");
	core_expect_report(&core, "volume\t\tgroups: " STAFF " is nobody here");
	core_expect_report(&core, "volume\t\tSACLs: ");
	core_expect_report(&core, "volume\t\tstreams: ");
	ck_assert_uint_eq(losses_count(core.retriever->losses), 0);
	core_free_with(&core, fd);
}
END_TEST

/* acl-source: owner and mode are those of NFS, whatever becomes of the descriptor. */
START_TEST(modes_of_the_other_source)
{
	struct stat st;
	int fd;

	make();
	source_mode("f", 0641);
	source_owner("f", 7, 8);
	say("f", usual());
	source_mode("d/g", 0620);
	say("d/g", nt_text(0x8004, ANNA, STAFF, NULL, "4 0 1f01ff " WORLD));
	core_open(&core);
	core_attach(&core);
	core.retriever->config->acl_source = g_strdup("smb://old/share");
	core_run(&core);
	core_connect(&core);
	fd = open_stub("f");
	expect_descriptor(fd, usual());
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_uid, 7);
	ck_assert_uint_eq(st.st_gid, 8);
	ck_assert_uint_eq(mode_of(fd), 0641);
	close(fd);
	fd = open_stub("d/g");
	ck_assert_uint_eq(mode_of(fd), 0620);
	core_expect_report(&core, "of a kind that Samba does not know): nobody");
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("carried", 60);

	tcase_add_test(tcase, a_descriptor);
	tcase_add_test(tcase, a_descriptor_that_cannot_be_set);
	tcase_add_test(tcase, i12_no_descriptor_at_all);
	tcase_add_test(tcase, what_is_said_once);
	tcase_add_test(tcase, modes_of_the_other_source);
	return run_tcase(tcase);
}
