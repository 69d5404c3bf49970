/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every backend must do, over a real tree.  Beside an old server (oldserver: OLD_URL, OLD_DIR,
 * OLD_RESTART, OLD_CONTROL in the environment) over what it exports, with OLD_ARGUMENTS after the
 * URL if there are; else over file://.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/retriever/conformance_many.h"
#include "tests/retriever/conformance_server.h"

START_TEST(open_finds_the_root)
{
	struct source_attr attr;

	ck_assert_str_eq(root.path, "");
	ck_assert_int_eq(root.handle_len == 0, over_smb());
	check_attr(&root_attr, tree_fd, "");
	ck_assert_int_eq(get_attr(backend, root, &attr), 0);
	check_attr(&attr, tree_fd, "");
	ck_assert_uint_ge(backend->ops->max_read(backend), 65536);
	ck_assert_uint_eq(backend->ops->away(backend), 0);
}
END_TEST

static void check_entry(const struct source_entry *entry, void *user)
{
	struct source_object dir = *(struct source_object *)user, found;
	struct source_attr attr;
	int fd = openat(tree_fd, "types", O_PATH);

	ck_assert(entry->has_attr);
	ck_assert_int_ne(entry->has_handle, over_smb());
	check_attr(&entry->attr, fd, entry->name);
	ck_assert_int_eq(look_up(backend, dir, entry->name, &found, &attr), 0);
	check_attr(&attr, fd, entry->name);
	ck_assert_uint_eq(attr.fileid, entry->attr.fileid);
	ck_assert_int_eq(get_attr(backend, found, &attr), 0);
	check_attr(&attr, fd, entry->name);
	ck_assert_uint_eq(attr.fileid, entry->attr.fileid);
	ck_assert_int_eq(found.handle_len, entry->handle_len);
	ck_assert_mem_eq(found.handle, entry->handle, entry->handle_len);
	close(fd);
}

START_TEST(every_type_has_its_attributes)
{
	struct source_object dir = find("types");

	/* smbd shows no symbolic links */
	ck_assert_int_eq(list_all(backend, dir, false, check_entry, &dir), 9 - over_smb());
}
END_TEST

static void note_name(const struct source_entry *entry, void *user)
{
	ck_assert_msg(g_hash_table_add(user, g_strdup(entry->name)), "%s twice", entry->name);
	ck_assert_uint_ne(entry->attr.fileid, 0);
}

static void expect_name(const char *name, void *user)
{
	struct source_object found;
	struct source_attr attr;

	if (!is_possible(name))
		return;
	ck_assert_msg(g_hash_table_remove(user, name), "%s is not listed", name);
	ck_assert_msg(look_up(backend, find("names"), name, &found, &attr) == 0, "%s", name);
	ck_assert_uint_eq(attr.size, strlen(name));
}

START_TEST(any_bytes_are_names)
{
	GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	ck_assert_int_gt(list_all(backend, find("names"), _i, note_name, names),
			 over_smb() ? 150 : 500);
	odd_names(expect_name, names);
	ck_assert_uint_eq(g_hash_table_size(names), 0);
	g_hash_table_destroy(names);
}
END_TEST

START_TEST(wide_directories_come_whole)
{
	GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	char name[32];

	ck_assert_int_eq(list_all(backend, find("wide"), _i, note_name, names), WIDE);
	for (unsigned i = 0; i < WIDE; i++) {
		snprintf(name, sizeof(name), "entry %u", i);
		ck_assert(g_hash_table_contains(names, name));
	}
	g_hash_table_destroy(names);
}
END_TEST

static void check_read(struct source_object object, uint64_t offset, uint32_t count,
		       const void *bytes, uint32_t len, bool eof)
{
	struct backend_request req;

	ck_assert_int_eq(read_at(backend, object, offset, count, &req), 0);
	ck_assert_uint_eq(req.data_len, len);
	if (len > 0)
		ck_assert_mem_eq(req.data, bytes, len);
	ck_assert_int_eq(req.eof, eof);
	ck_assert(req.has_attr);
	g_free((void *)req.data);
}

START_TEST(reads_end_at_the_end)
{
	struct source_object file = find("types/file");

	check_read(file, 0, 5, "hello", 5, true);
	check_read(file, 0, 1024 * 1024, "hello", 5, true);
	check_read(file, 1, 3, "ell", 3, false);
	check_read(file, 4, 100, "o", 1, true);
	check_read(file, 5, 100, "", 0, true);
	check_read(file, 1000000, 100, "", 0, true);
	check_read(find("types/empty"), 0, 4096, "", 0, true);
}
END_TEST

START_TEST(offsets_are_wide)
{
	struct source_object file = find("sparse");
	uint8_t zeros[64] = {0};

	check_read(file, 0, 5, "start", 5, false);
	check_read(file, SPARSE_AT, 6, "beyond", 6, false);
	check_read(file, SPARSE_AT - 64, 64, zeros, 64, false);
	check_read(file, SPARSE_SIZE - 3, 64, zeros, 3, true);
	check_read(file, SPARSE_SIZE + 1, 64, "", 0, true);
}
END_TEST

START_TEST(links_are_read)
{
	struct backend_request req = {.op = BACKEND_READLINK, .object = find("types/symlink")};

	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert_str_eq(req.text, "target of a link");
	g_free(req.text);
	req.object = find("long symlink");
	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert_uint_eq(strlen(req.text), 4095);
	ck_assert_uint_eq(strspn(req.text, "t"), 4095);
	g_free(req.text);
	req.object = find("types/file");
	ck_assert_int_eq(run(backend, &req), -EREMOTEIO);
	ck_assert_ptr_null(req.text);
}
END_TEST

/* One of the tree's own, when the backend brings such. */
static void check_xattr(const struct source_xattrs *xattrs, bool carried, const char *path,
			const char *name)
{
	uint8_t value[4096];
	ssize_t len = getxattr(path, name, value, sizeof(value));
	guint n = 0;

	for (guint i = 0; i < xattrs->list->len; i++) {
		const struct source_xattr *xattr =
			&g_array_index(xattrs->list, struct source_xattr, i);

		if (strcmp(xattr->name, name) != 0)
			continue;
		ck_assert_int_eq(len, xattr->len);
		if (len > 0)
			ck_assert_mem_eq(xattr->value, value, len);
		n++;
	}
	ck_assert_msg(n == (carried && len >= 0), "%s: %u times %s", path, n, name);
}

static void check_xattrs(const char *name)
{
	static const char *const acls[] = {XATTR_ACL_ACCESS, XATTR_ACL_DEFAULT};
	static const char *const others[] = {"user.one", "user.empty", "user.long"};
	const unsigned carries = backend->ops->carries(backend);
	struct backend_request req = {.op = BACKEND_XATTRS, .object = find(name)};
	g_autofree char *path = g_strdup_printf("%s/%s", tree, name);

	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert_uint_eq(req.xattrs->lost->len, 0);
	/* of version 4, which is made a POSIX ACL elsewhere: three entries say the mode */
	if (req.xattrs->nfs4_acl)
		ck_assert_int_eq(req.xattrs->nfs4_acl->aces->len > 3,
				 getxattr(path, XATTR_ACL_ACCESS, NULL, 0) >= 0);
	for (size_t i = 0; i < G_N_ELEMENTS(acls); i++)
		check_xattr(req.xattrs, carries & BACKEND_CARRIES_ACL && !req.xattrs->nfs4_acl,
			    path, acls[i]);
	for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
		check_xattr(req.xattrs, carries & BACKEND_CARRIES_XATTR, path, others[i]);
	source_xattrs_free(req.xattrs);
}

START_TEST(what_objects_have_beside_comes_whole)
{
	g_autofree char *not_carried = backend->ops->not_carried(backend);
	const unsigned carries = backend->ops->carries(backend);

	ck_assert_ptr_nonnull(not_carried);
	ck_assert(carries & BACKEND_CARRIES_ACL || strstr(not_carried, "ACLs: "));
	ck_assert(carries & BACKEND_CARRIES_XATTR || strstr(not_carried, "extended attributes: "));
	if (!carries)
		return;
	check_xattrs("xattrs");
	check_xattrs("xattrs/file");
	check_xattrs("types/directory");
	check_xattrs("types/file");
}
END_TEST

/* What is told of an object beside: transported, and made something of elsewhere. */
START_TEST(descriptors_and_streams_come_whole)
{
	struct backend_request req = {.op = BACKEND_XATTRS, .object = find("types/file")};
	const struct source_windows *windows;

	ck_assert_int_eq(run(backend, &req), 0);
	windows = req.xattrs->windows;
	ck_assert_ptr_nonnull(windows);
	ck_assert(req.has_attr);
	check_attr(&req.attr, tree_fd, "types/file");
	ck_assert_uint_ge(windows->sd_len, 20);
	ck_assert_uint_eq(windows->sd[0], 1);
	ck_assert_uint_gt(windows->create_time, 0);
	ck_assert(!windows->streams_unknown);
	ck_assert_uint_eq(windows->streams->len, 1);
	ck_assert_str_eq(g_array_index(windows->streams, struct source_stream, 0).name, "::$DATA");
	source_xattrs_free(req.xattrs);

	req = (struct backend_request){.op = BACKEND_XATTRS, .object = find("streams")};
	ck_assert_int_eq(run(backend, &req), 0);
	windows = req.xattrs->windows;
	ck_assert_uint_eq(windows->streams->len, 3);
	for (guint i = 0; i < windows->streams->len; i++) {
		const struct source_stream *stream =
			&g_array_index(windows->streams, struct source_stream, i);

		if (strcmp(stream->name, ":one:$DATA") == 0) {
			ck_assert_uint_eq(stream->size, 5);
			ck_assert_mem_eq(stream->data, "a\0b\nc", 5);
		} else if (strcmp(stream->name, ":none:$DATA") == 0) {
			ck_assert_uint_eq(stream->size, 0);
			ck_assert_ptr_nonnull(stream->data);
		} else {
			ck_assert_str_eq(stream->name, "::$DATA");
			ck_assert_uint_eq(stream->size, 4);
		}
	}
	source_xattrs_free(req.xattrs);
	req = (struct backend_request){.op = BACKEND_XATTRS, .object = find("types/directory")};
	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert_uint_eq(req.xattrs->windows->attributes & 0x10, 0x10);
	ck_assert(!req.xattrs->windows->streams_unknown);
	source_xattrs_free(req.xattrs);
	req.object = by_path("types/nothing");
	ck_assert_int_eq(run(backend, &req), -ENOENT);
}
END_TEST

/* With the attributes that it has now. */
static struct backend_request seen(const char *dir, const char *name, struct source_attr *attr)
{
	struct backend_request req = {.op = BACKEND_XATTRS, .listed = attr};

	ck_assert_int_eq(look_up(backend, find(dir), name, &req.object, attr), 0);
	return req;
}

/* All of its bytes or none; a server of SMB tells its descriptor in any case. */
static struct source_xattrs *ask_with_data(struct backend_request *req, uint32_t count)
{
	req->count = count;
	ck_assert_int_eq(run(backend, req), 0);
	ck_assert(!req->xattrs->data || (req->has_attr && req->xattrs->data_len == req->attr.size));
	ck_assert(!over_smb() || req->xattrs->windows->sd_len >= 20);
	return req->xattrs;
}

static void expect_bytes(struct backend_request *req, uint32_t count, const char *bytes)
{
	struct source_xattrs *xattrs = ask_with_data(req, count);

	if (bytes) {
		ck_assert_ptr_nonnull(xattrs->data);
		ck_assert_uint_eq(xattrs->data_len, strlen(bytes));
		ck_assert_mem_eq(xattrs->data, bytes, strlen(bytes));
	} else {
		ck_assert_ptr_null(xattrs->data);
	}
	source_xattrs_free(xattrs);
}

START_TEST(small_files_bring_their_bytes)
{
	struct source_attr attr;
	struct backend_request req = seen("types", "file", &attr);

	ck_assert_uint_eq(attr.size, 5);
	expect_bytes(&req, 5, "hello");
	expect_bytes(&req, 105, "hello");
	expect_bytes(&req, 4, NULL);
	if (backend->ops->carries(backend)) {
		expect_bytes(&req, 0, NULL);
		req = seen("types", "directory", &attr);
		expect_bytes(&req, 100, NULL);
	}
	/* by its path, too */
	req = seen("types", "file", &attr);
	req.object = by_path("types/file");
	expect_bytes(&req, 5, "hello");
	/* a large one is none, and does no harm */
	req = seen("", "blocks", &attr);
	expect_bytes(&req, 100, NULL);
}
END_TEST

static void rewrite(const char *name, const char *bytes)
{
	int fd = openat(tree_fd, name, O_CREAT | O_WRONLY | O_TRUNC, 0644);

	ck_assert_int_eq(write(fd, bytes, strlen(bytes)), (ssize_t)strlen(bytes));
	close(fd);
}

/* Bytes and attributes are of one moment, whatever was listed. */
START_TEST(a_file_that_changed_brings_no_mixture)
{
	struct source_attr attr, now;
	struct backend_request req;
	struct source_xattrs *xattrs;

	rewrite("changing", "before");
	req = seen("", "changing", &attr);
	expect_bytes(&req, 6, "before");
	rewrite("changing", "after!!");
	xattrs = ask_with_data(&req, 6);
	ck_assert_ptr_null(xattrs->data);
	source_xattrs_free(xattrs);
	req = seen("", "changing", &now);
	req.listed = &attr; /* what it was */
	xattrs = ask_with_data(&req, 7);
	if (xattrs->data) { /* then it was looked at anew */
		ck_assert_int_eq(req.attr.mtime, now.mtime);
		ck_assert_uint_eq(xattrs->data_len, 7);
		ck_assert_mem_eq(xattrs->data, "after!!", 7);
	}
	source_xattrs_free(xattrs);
	req.listed = &now;
	expect_bytes(&req, 7, "after!!");
	ck_assert_int_eq(unlinkat(tree_fd, "changing", 0), 0);
}
END_TEST

START_TEST(case_matters)
{
	struct source_object found;

	ck_assert_int_eq(look_up(backend, find("types"), "FILE", &found, NULL), -ENOENT);
	ck_assert_int_eq(look_up(backend, find("types"), "File", &found, NULL), -ENOENT);
	ck_assert_int_eq(look_up(backend, find("types"), "Directory", &found, NULL), -ENOENT);
	ck_assert_int_eq(look_up(backend, find("types"), "fil*", &found, NULL), -ENOENT);
	ck_assert_int_eq(look_up(backend, find("types"), "file:one", &found, NULL), -ENOENT);
	ck_assert_int_eq(look_up(backend, find("types"), "fi\\le", &found, NULL), -ENOENT);
}
END_TEST

START_TEST(names_that_cannot_be_are_counted)
{
	struct backend_request req = {.op = BACKEND_READDIR, .object = find("refused")};

	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert_uint_eq(req.batch->rejected, 2);
	ck_assert_uint_eq(req.batch->entries->len, 1);
	backend_batch_free(req.batch);
}
END_TEST

START_TEST(hard_links_share_a_fileid)
{
	struct source_attr one, other, unlike;
	struct source_object found;

	ck_assert_int_eq(look_up(backend, find("types"), "linked", &found, &one), 0);
	ck_assert_int_eq(look_up(backend, find("elsewhere"), "other name", &found, &other), 0);
	ck_assert_int_eq(look_up(backend, find("types"), "empty", &found, &unlike), 0);
	ck_assert_uint_eq(one.nlink, 2);
	ck_assert_uint_eq(one.fileid, other.fileid);
	ck_assert_uint_ne(one.fileid, unlike.fileid);
}
END_TEST

START_TEST(depth_has_no_limit)
{
	char name[DEEP_NAME + 1];
	g_autoptr(GString) path = g_string_new("deep");
	struct source_object at = find("deep");
	struct backend_request req;

	memset(name, 'd', DEEP_NAME);
	name[DEEP_NAME] = '\0';
	for (unsigned i = 0; i < DEPTH; i++) {
		ck_assert_int_eq(look_up(backend, at, name, &at, NULL), 0);
		g_string_append_printf(path, "/%s", name);
	}
	ck_assert_int_eq(look_up(backend, at, "bottom", &at, NULL), 0);
	check_read(at, 0, 100, "reached", 7, true);

	g_string_append(path, "/bottom");
	ck_assert_uint_gt(path->len, 4096);
	check_read(by_path(path->str), 0, 100, "reached", 7, true);
	req = (struct backend_request){.op = BACKEND_GETATTR, .object = by_path(path->str)};
	ck_assert_int_eq(run(backend, &req), 0);
	ck_assert_uint_eq(req.attr.size, 7);
	ck_assert_uint_eq(req.handle_len, at.handle_len);
	ck_assert_mem_eq(req.handle, at.handle, at.handle_len);
}
END_TEST

START_TEST(paths_stand_in_for_handles)
{
	struct source_object found, nothing = {0};
	struct source_attr attr;
	int fd = openat(tree_fd, "types", O_PATH), ret;

	ck_assert_int_eq(get_attr(backend, by_path(""), &attr), 0);
	check_attr(&attr, tree_fd, "");
	ck_assert_int_eq(look_up(backend, by_path("types"), "file", &found, &attr), 0);
	check_attr(&attr, fd, "file");
	ck_assert_int_eq(list_all(backend, by_path("types"), false, NULL, NULL), 9 - over_smb());
	ck_assert_int_eq(get_attr(backend, by_path("types/nothing"), &attr), -ENOENT);
	ck_assert_int_eq(get_attr(backend, by_path("types/file/below"), &attr), -ENOTDIR);
	ret = get_attr(backend, by_path("types/symlink/below"), &attr);
	if (ret != -ENOENT || !over_smb()) /* so says Samba 4.17 */
		ck_assert_int_eq(ret, -ENOTDIR);
	ck_assert_int_eq(get_attr(backend, by_path("../types"), &attr), -ENOENT);
	ck_assert_int_eq(get_attr(backend, by_path("types/../types"), &attr), -ENOENT);
	ck_assert_int_eq(get_attr(backend, nothing, &attr), -ESTALE);
	close(fd);
}
END_TEST

/* Of sources whose directories have handles that say it. */
START_TEST(directories_lead_upwards)
{
	const char *arguments = g_getenv("OLD_ARGUMENTS");
	const bool knows = !over_smb() && !(arguments && strstr(arguments, "version=4"));
	struct source_object above = find("types"), below = find("types/directory");
	struct backend_request req = {.op = BACKEND_LOOKUP, .up = true, .object = below};

	ck_assert_int_eq(run(backend, &req), knows ? 0 : -ENOTSUP);
	if (!knows)
		return;
	ck_assert_uint_eq(req.handle_len, above.handle_len);
	ck_assert_mem_eq(req.handle, above.handle, above.handle_len);
}
END_TEST

START_TEST(what_is_not_there)
{
	struct source_object types = find("types"), file = find("types/file"), found;
	struct backend_request req;
	char name[257];

	memset(name, 'n', 256);
	name[256] = '\0';
	ck_assert_int_eq(look_up(backend, types, "nothing", &found, NULL), -ENOENT);
	ck_assert_int_eq(look_up(backend, types, "..", &found, NULL), -ENOENT);
	ck_assert_int_eq(look_up(backend, types, ".", &found, NULL), -ENOENT);
	ck_assert_int_eq(look_up(backend, types, "", &found, NULL), -ENOENT);
	ck_assert_int_eq(look_up(backend, types, "directory/x", &found, NULL), -ENOENT);
	ck_assert_int_eq(look_up(backend, types, name, &found, NULL), -ENAMETOOLONG);
	ck_assert_int_eq(look_up(backend, file, "below", &found, NULL), -ENOTDIR);
	ck_assert_int_eq(list_all(backend, file, false, NULL, NULL), -ENOTDIR);
	ck_assert_int_eq(list_all(backend, file, true, NULL, NULL), -ENOTDIR);
	ck_assert_int_eq(read_at(backend, types, 0, 10, &req), -EISDIR);
	ck_assert_int_eq(list_all(backend, find("types/directory"), false, NULL, NULL), 0);
}
END_TEST

START_TEST(removed_objects_are_stale)
{
	const int gone = over_smb() ? -ENOENT : -ESTALE;
	struct source_object file, dir, at = find("stale");
	struct source_attr attr;
	int fd = openat(tree_fd, "stale", O_RDONLY);

	put(fd, "file", "gone", 4);
	close(subdir(fd, "dir"));
	ck_assert_int_eq(look_up(backend, at, "file", &file, NULL), 0);
	ck_assert_int_eq(look_up(backend, at, "dir", &dir, NULL), 0);
	ck_assert_int_eq(unlinkat(fd, "file", 0), 0);
	ck_assert_int_eq(unlinkat(fd, "dir", AT_REMOVEDIR), 0);
	ck_assert_int_eq(get_attr(backend, file, &attr), gone);
	ck_assert_int_eq(get_attr(backend, dir, &attr), gone);
	ck_assert_int_eq(list_all(backend, dir, false, NULL, NULL), gone);
	ck_assert_int_eq(list_all(backend, dir, true, NULL, NULL), gone);
	close(fd);
}
END_TEST

/* ---- many at once ---- */

START_TEST(a_thousand_reads_at_once)
{
	struct many *many = start_many();

	many_wait(many, MANY);
	check_many(many, MANY);
}
END_TEST

START_TEST(closing_cancels)
{
	struct many *many = start_many();

	gate_wait(&many->gate, 1);
	backend->ops->close(g_steal_pointer(&backend));
	ck_assert_uint_eq(gate_count(&many->gate), MANY);
	check_many(many, 1);
}
END_TEST

static void chain_done(struct backend_request *req)
{
	struct gate *gate = req->user;

	ck_assert_int_eq(req->status, 0);
	gate_pass(gate);
	if (gate_count(gate) < MANY)
		backend->ops->submit(backend, req);
}

START_TEST(done_may_submit)
{
	static struct backend_request req;
	static struct gate gate;

	gate_init(&gate);
	req = (struct backend_request){
		.op = BACKEND_GETATTR, .object = root, .done = chain_done, .user = &gate};
	backend->ops->submit(backend, &req);
	gate_wait(&gate, MANY);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("conformance");

	signal(SIGPIPE, SIG_IGN);
	g_log_set_default_handler(plain_log, NULL);
	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, make_source, remove_source);
	tcase_add_checked_fixture(tcase, open_backend, close_backend);
	tcase_add_test(tcase, open_finds_the_root);
	tcase_add_test(tcase, every_type_has_its_attributes);
	tcase_add_loop_test(tcase, any_bytes_are_names, 0, 2);
	tcase_add_loop_test(tcase, wide_directories_come_whole, 0, 2);
	tcase_add_test(tcase, reads_end_at_the_end);
	tcase_add_test(tcase, offsets_are_wide);
	tcase_add_test(tcase, hard_links_share_a_fileid);
	tcase_add_test(tcase, paths_stand_in_for_handles);
	tcase_add_test(tcase, what_is_not_there);
	tcase_add_test(tcase, directories_lead_upwards);
	tcase_add_test(tcase, removed_objects_are_stale);
	tcase_add_test(tcase, a_thousand_reads_at_once);
	tcase_add_test(tcase, closing_cancels);
	tcase_add_test(tcase, done_may_submit);
	tcase_add_test(tcase, small_files_bring_their_bytes);
	tcase_add_test(tcase, a_file_that_changed_brings_no_mixture);
	if (over_smb()) {
		tcase_add_test(tcase, descriptors_and_streams_come_whole);
		tcase_add_test(tcase, case_matters);
		tcase_add_test(tcase, names_that_cannot_be_are_counted);
	} else {
		tcase_add_test(tcase, links_are_read);
		tcase_add_test(tcase, what_objects_have_beside_comes_whole);
		tcase_add_test(tcase, depth_has_no_limit);
	}
	if (over_network())
		add_server_tests(tcase);
	return run_tcase(tcase);
}
