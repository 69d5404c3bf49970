/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/smb_give.h"

#include "ctl/rollback/smb_set.h"
#include "tests/ctl/rollback/smb_server.h"
#include "tests/retriever/nt_support.h"

#define CREATED 125000000000000000

static struct smb_call *call;

/* The linker wraps this: the server takes it so often no more. */
static unsigned refusals;

int __real_smb_set_basic(struct smb_call *smb, const char *path, uint64_t created,
			 uint64_t accessed, uint64_t written, uint32_t attributes);
int __wrap_smb_set_basic(struct smb_call *smb, const char *path, uint64_t created,
			 uint64_t accessed, uint64_t written, uint32_t attributes);
int __wrap_smb_set_basic(struct smb_call *smb, const char *path, uint64_t created,
			 uint64_t accessed, uint64_t written, uint32_t attributes)
{
	if (!refusals)
		return __real_smb_set_basic(smb, path, created, accessed, written, attributes);
	refusals--;
	return -EREMOTEIO;
}

static unsigned streams_flushed;

int __real_smb_flush(struct smb_call *smb, const char *path, const char *stream);
int __wrap_smb_flush(struct smb_call *smb, const char *path, const char *stream);
int __wrap_smb_flush(struct smb_call *smb, const char *path, const char *stream)
{
	streams_flushed += *stream != '\0';
	return __real_smb_flush(smb, path, stream);
}

static void make(const char *path)
{
	const struct wire_change what = {
		.access = READ_ATTRIBUTES, .options = NO_DIRECTORY, .disposition = CREATE};
	GError *error = NULL;

	call = smb_call_open(server_url(), &config, &error);
	ck_assert_msg(call != NULL, "%s", error ? error->message : "");
	ck_assert_int_eq(smb_do(call, path, "", &what, ""), 0);
}

static void stream(struct smb_attrs *smb, const char *name, const char *text)
{
	g_hash_table_replace(smb->streams, g_strdup(name), g_bytes_new(text, strlen(text)));
}

static struct source_windows *give(const char *path, const struct smb_attrs *smb)
{
	struct source_windows *windows;

	lost = 0;
	ck_assert_int_eq(smb_give_attrs(call, path, smb, count, NULL), 0);
	ck_assert_int_eq(smb_look(call, path, &windows), 0);
	return windows;
}

static unsigned streams_of(const struct source_windows *windows)
{
	unsigned n = 0;

	for (guint i = 0; i < windows->streams->len; i++)
		n += g_array_index(windows->streams, struct source_stream, i).data != NULL;
	return n;
}

START_TEST(all_of_it)
{
	struct smb_attrs smb = {.created = CREATED, .attributes = 3};

	make("all of it");
	smb.streams = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
					    (GDestroyNotify)g_bytes_unref);
	smb.sd = nt_text(4, "S-1-1-0", "S-1-1-0", NULL, "0 0 1f01ff S-1-1-0");
	stream(&smb, ":one:$DATA", "one");
	stream(&smb, ":two:$DATA", "");
	struct source_windows *windows = give("all of it", &smb);
	ck_assert_uint_eq(streams_flushed, 2);
	ck_assert_uint_eq(windows->attributes & 0x27, 3);
	ck_assert_uint_eq(windows->create_time, CREATED);
	ck_assert_uint_eq(streams_of(windows), 2);
	source_windows_free(windows);

	/* it is to be read only, by now */
	g_hash_table_remove(smb.streams, ":two:$DATA");
	stream(&smb, ":one:$DATA", "another");
	smb.attributes = 0;
	windows = give("all of it", &smb);
	ck_assert_uint_eq(windows->attributes & 0x27, 3);
	ck_assert_uint_eq(streams_of(windows), 1);
	source_windows_free(windows);
	/* and is so where what follows is refused */
	refusals = 1;
	ck_assert_int_eq(smb_give_attrs(call, "all of it", &smb, count, NULL), -EREMOTEIO);
	ck_assert_int_eq(smb_look(call, "all of it", &windows), 0);
	ck_assert_uint_eq(windows->attributes & 0x27, 3);
	source_windows_free(windows);
	ck_assert_int_eq(smb_give_attrs(call, "none", &smb, count, NULL), -ENOENT);
	smb_attrs_clear(&smb);
	smb_call_close(call);
}
END_TEST

/* What is there and not here, and may never have come, stays. */
START_TEST(what_never_came)
{
	const struct stat old = {0};
	GHashTable *gave = NULL;
	struct attrs_base base = {
		.told = TOLD_KNOWN | TOLD_ACLS | TOLD_XATTRS, .old = &old, .set = true};
	struct attrs attrs = {.base = &base, .gave = &gave};
	struct smb_attrs smb = {.of = &attrs, .attributes = SMB_NORMAL};
	struct source_windows *windows;

	make("never came");
	smb.streams = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
					    (GDestroyNotify)g_bytes_unref);
	stream(&smb, ":one:$DATA", "one");
	stream(&smb, ":two:$DATA", "two");
	smb.attributes = 3;
	source_windows_free(give("never came", &smb));
	ck_assert_ptr_null(gave);
	g_hash_table_remove_all(smb.streams);
	omissions_add(&attrs.left, "user.DosStream.one:$DATA");
	smb.attributes = 4;
	smb.added = true;
	windows = give("never came", &smb);
	ck_assert_uint_eq(streams_of(windows), 1);
	ck_assert_uint_eq(windows->attributes & 0x27, 7);
	ck_assert_uint_eq(lost, 0);
	source_windows_free(windows);

	base.told = 0;
	windows = give("never came", &smb);
	ck_assert_uint_eq(streams_of(windows), 1);
	ck_assert_uint_eq(lost, 1); /* nobody knows */
	source_windows_free(windows);
	stream(&smb, ":one:$DATA", "another");
	source_windows_free(give("never came", &smb));
	ck_assert(gave && g_hash_table_contains(gave, "user.DosStream.one:$DATA"));
	base.given = gave;
	g_hash_table_remove_all(smb.streams);
	windows = give("never came", &smb);
	ck_assert_uint_eq(streams_of(windows), 0);
	source_windows_free(windows);
	g_hash_table_unref(gave);
	smb_attrs_clear(&smb);
	smb_call_close(call);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, all_of_it);
	tcase_add_test(tcase, what_never_came);
	return run_beside_server(tcase, argv);
}
