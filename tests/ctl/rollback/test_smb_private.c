/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/smb_private.h"

#include "ctl/rollback/smb_set.h"
#include "tests/ctl/rollback/smb_server.h"
#include "tests/retriever/nt_support.h"

static struct smb_call *call;

static void make(const char *path, uint32_t options)
{
	const struct wire_change what = {
		.access = READ_ATTRIBUTES, .options = options, .disposition = CREATE};

	ck_assert_int_eq(smb_do(call, path, "", &what, ""), 0);
}

static void give(const char *path, const char *owner, const char *dacl)
{
	g_autoptr(GByteArray) sd = nt_text(0, owner, NULL, NULL, dacl);

	sd->data[2] |= NT_DACL_PRESENT;
	ck_assert_int_eq(smb_set_descriptor(call, path, sd, DACL | (owner ? 1 : 0)), 0);
}

/* Its owner, group, and entries as "FLAGS MASK SID,": numbers in hexadecimal, without "inherited",
 * which servers keep or not; "-" before them: it is protected. */
static char *told(const char *path, struct sid *owner, struct sid *group)
{
	GString *text = g_string_new(NULL);
	struct source_windows *windows;
	const char *why;

	ck_assert_int_eq(smb_look(call, path, &windows), 0);
	struct nt_descriptor *sd = nt_decode(windows->sd, windows->sd_len, &why);
	ck_assert_ptr_nonnull(sd);
	if (sd->control & NT_DACL_PROTECTED)
		g_string_append(text, "-");
	for (guint i = 0; i < sd->dacl.aces->len; i++) {
		const struct nt_ace *ace = &g_array_index(sd->dacl.aces, struct nt_ace, i);
		g_autofree char *sid = sid_text(&ace->sid);

		ck_assert_uint_eq(ace->type, NT_ALLOW);
		g_string_append_printf(text, "%x %x %s,", ace->flags & 0xf, ace->mask, sid);
	}
	*owner = sd->owner;
	*group = sd->group;
	nt_free(sd);
	source_windows_free(windows);
	return g_string_free(text, FALSE);
}

static void begin(void)
{
	GError *error = NULL;

	call = smb_call_open(server_url(), &config, &error);
	ck_assert_msg(call != NULL, "%s", error ? error->message : "");
}

/* Of its owner and administrators, as is what is made in it; also where it was somebody else's. */
START_TEST(closed)
{
	struct sid owner, group, was;
	struct smb_private private = {0};

	begin();
	make("closed", DIRECTORY);
	g_free(told("closed", &was, &group));
	for (unsigned i = 0; i < 2; i++) {
		give("closed", i ? ANNA : NULL, "0 3 1f01ff S-1-1-0");
		ck_assert_int_eq(smb_protect(call, "closed", &private), 0);
		ck_assert(private.kept && private.made[0] && private.made[1]);
		smb_private_clear(&private);
		g_autofree char *list = told("closed", &owner, &group), *name = sid_text(&owner);
		g_autofree char *list_is =
			g_strdup_printf("-3 1f01ff %s,3 1f01ff S-1-5-32-544,", name);
		ck_assert_str_eq(list, list_is);
		ck_assert(sid_equal(&owner, &was));
	}
	make("closed/file", NO_DIRECTORY);
	g_autofree char *list = told("closed/file", &owner, &group), *name = sid_text(&owner);
	g_autofree char *list_is = g_strdup_printf("0 1f01ff %s,0 1f01ff S-1-5-32-544,", name);
	ck_assert_str_eq(list, list_is);
	ck_assert_int_eq(smb_protect(call, "none", &private), -ENOENT);
	smb_call_close(call);
}
END_TEST

static struct smb_private private;

static void inherited(const char *path, bool directory, const char *list_is)
{
	struct sid owner, group;

	make(path, directory ? DIRECTORY : NO_DIRECTORY);
	g_free(told(path, &owner, &group));
	ck_assert_int_eq(smb_inherit(call, &private, path, "handing", directory), 0);
	g_autofree char *list = told(path, &owner, &group), *name = sid_text(&owner),
			*of = sid_text(&group);
	GString *is = g_string_new(list_is);

	g_string_replace(is, "OWNER", name, 0);
	g_string_replace(is, "GROUP", of, 0);
	ck_assert_str_eq(list, is->str);
	g_string_free(is, TRUE);
}

/* MS-DTYP 2.5.3.4; 1: to files, 2: to directories, 4: not further, 8: to others only */
START_TEST(handed_on)
{
	struct sid owner, group, made_group;

	begin();
	make("handing", DIRECTORY);
	give("handing", NULL,
	     "0 3 1f01ff S-1-1-0,0 1 120089 S-1-5-11,0 6 1301bf S-1-5-32-545,"
	     "0 b 1f01ff S-1-3-0,0 9 120089 S-1-3-1,0 0 1f01ff " ANNA);
	inherited("file", false,
		  "0 1f01ff S-1-1-0,0 120089 S-1-5-11,0 1f01ff OWNER,0 120089 GROUP,");
	inherited("directory", true,
		  "3 1f01ff S-1-1-0,9 120089 S-1-5-11,0 1301bf S-1-5-32-545,0 1f01ff OWNER,"
		  "b 1f01ff S-1-3-0,9 120089 S-1-3-1,");
	/* where nothing is handed on it has what it would have been made with */
	give("handing", NULL, "0 0 1f01ff S-1-1-0");
	make("handing/file", NO_DIRECTORY);
	g_autofree char *made = told("handing/file", &owner, &made_group);
	make("private", DIRECTORY);
	ck_assert_int_eq(smb_protect(call, "private", &private), 0);
	make("private/file", NO_DIRECTORY);
	ck_assert_int_eq(smb_inherit(call, &private, "private/file", "handing", false), 0);
	g_autofree char *has = told("private/file", &owner, &group);
	ck_assert_str_eq(has, made);
	ck_assert(sid_equal(&group, &made_group));
	ck_assert_int_eq(smb_inherit(call, &private, "private/file", "none", false), -ENOENT);
	smb_private_clear(&private);
	smb_call_close(call);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, closed);
	tcase_add_test(tcase, handed_on);
	return run_beside_server(tcase, argv);
}
