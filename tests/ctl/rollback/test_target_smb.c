/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/target.h"

#include "ctl/rollback/smb_attrs.h"
#include "ctl/rollback/smb_set.h"
#include "tests/ctl/rollback/smb_server.h"

static struct target *target;

static void begin(void)
{
	GError *error = NULL;
	int64_t skew;

	target = target_open_smb(server_url(), &config, &error);
	ck_assert_msg(target != NULL, "%s", error ? error->message : "");
	ck_assert_msg(target_begin(target, &skew, &error), "%s", error ? error->message : "");
	ck_assert_int_lt(ABS(skew), 1000000000);
}

static void end(void)
{
	target_end(target);
	target_close(target);
}

static uint64_t number(const char *path)
{
	struct stat st;

	return target_stat(target, path, &st) ? 0 : st.st_ino;
}

START_TEST(names)
{
	struct stat st;
	int ret;

	begin();
	ck_assert(target_has_descriptors(target));
	ck_assert_int_eq(target_mkdir(target, "names"), 0);
	ck_assert_int_eq(target_mkdir(target, "names/d"), 0);
	ck_assert_int_eq(target_mkdir(target, "names"), -EEXIST);
	ck_assert_int_eq(target_create(target, "names/a", NULL), 0);
	ck_assert_int_eq(target_create(target, "names/a", NULL), -EEXIST);
	ck_assert_int_eq(target_create(target, "names/a:b", NULL), -EINVAL);
	ck_assert_int_eq(target_stat(target, "names/a:b", &st), -ENOENT);
	ck_assert_int_eq(target_stat(target, "names/../x", &st), -ENOENT);
	uint64_t a = number("names/a");
	ck_assert_int_eq(target_link(target, "names/a", "names/d/b"), 0);
	ck_assert_uint_eq(number("names/d/b"), a);
	ck_assert_int_eq(target_stat(target, "names/a", &st), 0);
	ck_assert_uint_eq(st.st_nlink, 2);
	ck_assert_uint_eq(st.st_mode, S_IFREG);
	ck_assert_int_eq(target_create(target, "names/c", NULL), 0);
	ck_assert_int_eq(target_rename(target, "names/c", "names/d/b", false), 0);
	ck_assert_uint_ne(number("names/d/b"), a);
	ck_assert_int_eq(target_rename(target, "names/d", "names/e", true), 0);
	/* another one's name, if spelled so */
	ck_assert_int_eq(target_create(target, "names/f", NULL), 0);
	ck_assert_int_eq(target_rename(target, "names/f", "names/A", false), -EEXIST);
	ck_assert_uint_eq(number("names/A"), 0);
	ck_assert_uint_eq(number("names/a"), a);
	ck_assert_int_eq(target_remove(target, "names/f", false), 0);
	g_autoptr(GHashTable) listed = target_list(target, "names", &ret);
	ck_assert_uint_eq(g_hash_table_size(listed), 2);
	const struct target_name *found = g_hash_table_lookup(listed, "A");
	ck_assert_str_eq(found->name, "a");
	ck_assert_uint_eq(found->fileid, a);
	g_autoptr(GHashTable) root = target_list(target, "", &ret);
	ck_assert(!g_hash_table_contains(root, TARGET_STAGE));
	ck_assert_ptr_null(target_list(target, "none", &ret));
	ck_assert_int_eq(ret, -ENOENT);
	ck_assert_ptr_null(target_list(target, "none/none", &ret));
	ck_assert_int_eq(ret, -ENOENT);
	ck_assert_int_eq(target_remove(target, "names/e", true), -ENOTEMPTY);
	ck_assert_int_eq(target_remove(target, "names/e", false), -EISDIR);
	ck_assert_int_eq(target_remove(target, "names/e/b", false), 0);
	ck_assert_int_eq(target_remove(target, "names/e", true), 0);
	ck_assert_int_eq(target_remove(target, "names/e", true), -ENOENT);
	end();
}
END_TEST

START_TEST(what_has_no_words)
{
	begin();
	ck_assert_ptr_null(target_objection(target, "a/b", S_IFREG));
	ck_assert_ptr_null(target_objection(target, "a/b", S_IFDIR));
	ck_assert_ptr_nonnull(target_objection(target, "a:b/c", S_IFREG));
	ck_assert_ptr_nonnull(target_objection(target, "a", S_IFLNK));
	ck_assert_ptr_nonnull(target_objection(target, "a", S_IFIFO));
	ck_assert_int_eq(target_symlink(target, "x", "a"), -EOPNOTSUPP);
	ck_assert_int_eq(target_mknod(target, "a", S_IFIFO, 0), -EOPNOTSUPP);
	end();
}
END_TEST

static unsigned flushes;
static GString *flushed;   /* paths, a line each; NULL: nobody looks */
static const char *in_use; /* a path that cannot be flushed */

int __real_smb_flush(struct smb_call *call, const char *path, const char *stream);
int __wrap_smb_flush(struct smb_call *call, const char *path, const char *stream);
int __wrap_smb_flush(struct smb_call *call, const char *path, const char *stream)
{
	flushes++;
	if (flushed)
		g_string_append_printf(flushed, "%s\n", path);
	if (!g_strcmp0(path, in_use))
		return -EBUSY;
	return __real_smb_flush(call, path, stream);
}

/* What is written is durable before attributes are given, which may forbid it afterwards. */
START_TEST(durable_before_attributes)
{
	const struct attrs attrs = {.st = {.st_mode = S_IFREG | 0600},
				    .xattrs = g_hash_table_new(g_str_hash, g_str_equal)};
	struct target_file *file;

	begin();
	ck_assert_int_eq(target_create(target, "written", &file), 0);
	ck_assert_int_eq(target_file_resize(file, 4), 0);
	ck_assert_int_eq(target_file_write(file, "text", 4, 0), 0);
	flushes = 0;
	ck_assert_int_eq(target_file_give(file, &attrs, &config, count, NULL), 0);
	ck_assert_uint_eq(flushes, 1);
	ck_assert_int_eq(target_file_sync(file), 0);
	ck_assert_uint_eq(flushes, 1);
	/* what it was given is so with the next sync: by itself, or by what nobody else has */
	for (unsigned i = 0; i < 2; i++) {
		in_use = i ? "written" : NULL;
		ck_assert_int_eq(target_file_give(file, &attrs, &config, count, NULL), 0);
		flushed = g_string_new("\n");
		ck_assert_int_eq(target_sync(target), 0);
		ck_assert_ptr_nonnull(strstr(flushed->str, "\nwritten\n"));
		ck_assert(!strstr(flushed->str, "\n" TARGET_STAGE "/") == !i);
		g_string_free(flushed, TRUE);
	}
	flushed = NULL;
	in_use = NULL;
	target_file_close(file);
	ck_assert_int_eq(target_remove(target, "written", false), 0);
	g_hash_table_unref(attrs.xattrs);
	end();
}
END_TEST

/* Directories whose names have changed, once. */
START_TEST(names_are_durable_after_a_sync)
{
	begin();
	ck_assert_int_eq(target_mkdir(target, "changed"), 0);
	ck_assert_int_eq(target_mkdir(target, "as it was"), 0);
	ck_assert_int_eq(target_sync(target), 0);
	flushed = g_string_new("\n");
	ck_assert_int_eq(target_create(target, "changed/f", NULL), 0);
	ck_assert_int_eq(target_rename(target, "changed/f", "changed/g", false), 0);
	ck_assert_int_eq(target_sync(target), 0);
	ck_assert_msg(strstr(flushed->str, "\nchanged\n") != NULL, "%s", flushed->str);
	ck_assert_ptr_null(strstr(flushed->str, "as it was"));
	g_string_assign(flushed, "\n");
	ck_assert_int_eq(target_sync(target), 0);
	ck_assert_ptr_null(strstr(flushed->str, "\nchanged\n"));
	ck_assert_int_eq(target_remove(target, "changed/g", false), 0);
	ck_assert_int_eq(target_sync(target), 0);
	ck_assert_msg(strstr(flushed->str, "\nchanged\n") != NULL, "%s", flushed->str);
	g_string_free(flushed, TRUE);
	flushed = NULL;
	end();
}
END_TEST

/* base: NULL, or what may have what never came here. */
static void write_to(const char *path, char byte, size_t len, const struct attrs_base *base)
{
	const struct attrs attrs = {.base = base,
				    .st = {.st_mode = S_IFREG | 0600,
					   .st_mtim = {1000000000, 100},
					   .st_atim = {1000000000, 0}},
				    .xattrs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
								    (GDestroyNotify)g_bytes_unref)};
	const uint8_t bits = base ? 0x20 : SMB_READONLY;
	const uint8_t attributes[] = {0,    0, 5, 0, 5, 0, 0, 0, 1, 0, 0, 0,
				      bits, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	g_autofree char *data = g_malloc(len);
	struct target_file *file;

	memset(data, byte, len);
	g_hash_table_insert(attrs.xattrs, (char *)"user.DOSATTRIB",
			    g_bytes_new(attributes, sizeof(attributes)));
	ck_assert_int_eq(target_file_open(target, path, true, &file), 0);
	ck_assert_int_eq(target_file_resize(file, 0), 0);
	ck_assert_int_eq(target_file_resize(file, (off_t)len + 10), 0);
	ck_assert_int_eq(target_file_write(file, data, len, 5), 0);
	ck_assert_int_eq(target_file_sync(file), 0);
	ck_assert_int_eq(target_file_give(file, &attrs, &config, count, NULL), 0);
	target_file_close(file);
	g_hash_table_unref(attrs.xattrs);
}

static bool is_read_only(const char *path)
{
	struct smb_call *call = smb_call_open(server_url(), &config, NULL);
	struct source_windows *windows;
	bool is;

	ck_assert_int_eq(smb_look(call, path, &windows), 0);
	is = windows->attributes & SMB_READONLY;
	source_windows_free(windows);
	smb_call_close(call);
	return is;
}

/* A file that is read-only is written, replaced and removed all the same. */
START_TEST(data)
{
	g_autofree char *path = g_build_filename(getenv("OLD_DIR"), "data", NULL), *text = NULL;
	struct stat st;
	gsize len;

	begin();
	ck_assert_int_eq(target_create(target, "data", NULL), 0);
	write_to("data", 'a', 3 << 20, NULL);
	write_to("data", 'b', 100, NULL);
	ck_assert(g_file_get_contents(path, &text, &len, NULL));
	ck_assert_uint_eq(len, 110);
	ck_assert_mem_eq(text, "\0\0\0\0\0b", 6);
	ck_assert_int_eq(text[104], 'b');
	ck_assert_int_eq(text[105], '\0');
	ck_assert_int_eq(target_stat(target, "data", &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, 1000000000);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 100);
	const struct attrs bare = {.xattrs = g_hash_table_new(g_str_hash, g_str_equal)};
	ck_assert(!target_holds_more(target, "data", &bare));
	ck_assert(target_holds_more(target, "none", &bare));
	g_hash_table_unref(bare.xattrs);
	/* what is read-only is moved, and stays so */
	ck_assert_int_eq(target_rename(target, "data", "moved", false), 0);
	ck_assert_int_eq(target_create(target, "data", NULL), 0);
	ck_assert_int_eq(target_rename(target, "moved", "data", false), 0);
	ck_assert_int_eq(target_create(target, "other", NULL), 0);
	ck_assert_int_eq(target_rename(target, "other", "data", false), 0);
	write_to("data", 'c', 1, NULL);
	/* it is not known whether that came */
	const struct attrs_base unknown = {.old = &st, .set = true};
	write_to("data", 'd', 1, &unknown);
	ck_assert(is_read_only("data"));
	/* and where nothing comes of it */
	struct target_file *file;
	ck_assert_int_eq(target_file_open(target, "data", true, &file), 0);
	ck_assert(is_read_only("data"));
	ck_assert_int_eq(target_file_resize(file, 1), 0);
	ck_assert(!is_read_only("data"));
	target_file_close(file);
	ck_assert(is_read_only("data"));
	ck_assert_int_eq(target_remove(target, "data", false), 0);
	end();
}
END_TEST

/* Nobody else writes to a file of several names while it is written, or attributes are given. */
START_TEST(i7_held)
{
	const struct attrs attrs = {.st = {.st_mode = S_IFREG | 0600, .st_mtim = {1000000000, 100}},
				    .xattrs = g_hash_table_new(g_str_hash, g_str_equal)};
	struct smb_call *call;
	struct target_file *file;
	struct stat st;

	begin();
	call = smb_call_open(server_url(), &config, NULL);
	ck_assert_int_eq(target_create(target, "held", NULL), 0);
	ck_assert_int_eq(target_create(target, "other", NULL), 0);
	ck_assert_int_eq(target_file_open(target, "held", true, &file), 0);
	ck_assert_int_eq(target_file_stat(file, &st), 0);
	ck_assert_int_eq(smb_write_at(call, "held", "", "theirs", 6, 0), 0);
	ck_assert_int_eq(target_file_resize(file, 0), -TARGET_CHANGED);
	target_file_close(file);
	ck_assert_int_eq(target_stat(target, "held", &st), 0);
	ck_assert_int_eq(st.st_size, 6);
	ck_assert_int_eq(target_file_open(target, "held", true, &file), 0);
	ck_assert_int_eq(target_file_stat(file, &st), 0);
	ck_assert_int_eq(target_file_resize(file, 0), 0);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(smb_write_at(call, "held", "", "theirs", 6, 0), -EAGAIN);
		ck_assert_int_eq(smb_write_at(call, "other", "", "theirs", 6, 0), 0);
		ck_assert_int_eq(i == 0	  ? target_file_write(file, "ours", 4, 0)
				 : i == 1 ? target_file_sync(file)
				 : i == 2 ? target_file_give(file, &attrs, &config, count, NULL)
					  : target_file_stat(file, &st),
				 0);
	}
	ck_assert_int_eq(st.st_size, 4);
	target_file_close(file);
	ck_assert_int_eq(target_stat(target, "held", &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, 1000000000);
	ck_assert_int_eq(smb_write_at(call, "held", "", "theirs", 6, 0), 0);
	smb_call_close(call);
	g_hash_table_unref(attrs.xattrs);
	end();
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, names);
	tcase_add_test(tcase, what_has_no_words);
	tcase_add_test(tcase, data);
	tcase_add_test(tcase, i7_held);
	tcase_add_test(tcase, durable_before_attributes);
	tcase_add_test(tcase, names_are_durable_after_a_sync);
	return run_beside_server(tcase, argv);
}
