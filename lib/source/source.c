/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/source.h"

#include <string.h>

#include "lib/base/text.h"
#include "lib/source/posix_acl.h"

#define EMPTY_LEN 4 /* of the format's header */

bool source_name_ok(const char *name, size_t len)
{
	if (len == 0 || len > 255 || memchr(name, '/', len) || memchr(name, '\0', len))
		return false;
	return !(name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
}

bool source_path_ok(const char *path)
{
	path += strspn(path, "/");
	while (*path) {
		size_t len = strcspn(path, "/");

		if (!source_name_ok(path, len))
			return false;
		path += len;
		path += strspn(path, "/");
	}
	return true;
}

void source_object_clear(struct source_object *object)
{
	g_clear_pointer(&object->path, g_free);
	object->handle_len = 0;
}

void source_object_copy(struct source_object *to, const struct source_object *from)
{
	to->handle_len = from->handle_len;
	memcpy(to->handle, from->handle, from->handle_len);
	to->path = g_strdup(from->path);
}

static void refusal_clear(gpointer p)
{
	g_free(((struct source_refusal *)p)->name);
}

struct backend_batch *backend_batch_new(void)
{
	struct backend_batch *batch = g_new(struct backend_batch, 1);

	batch->entries = g_array_sized_new(FALSE, FALSE, sizeof(struct source_entry), 64);
	batch->names = g_string_chunk_new(16384);
	batch->refused = g_array_new(FALSE, FALSE, sizeof(struct source_refusal));
	g_array_set_clear_func(batch->refused, refusal_clear);
	batch->rejected = 0;
	return batch;
}

void backend_batch_free(struct backend_batch *batch)
{
	if (!batch)
		return;
	g_array_free(batch->entries, TRUE);
	g_string_chunk_free(batch->names);
	g_array_free(batch->refused, TRUE);
	g_free(batch);
}

static void xattr_clear(gpointer p)
{
	struct source_xattr *xattr = p;

	g_free(xattr->name);
	g_free(xattr->value);
}

struct source_xattrs *source_xattrs_new(void)
{
	struct source_xattrs *xattrs = g_new0(struct source_xattrs, 1);

	xattrs->list = g_array_new(FALSE, FALSE, sizeof(struct source_xattr));
	g_array_set_clear_func(xattrs->list, xattr_clear);
	xattrs->lost = g_ptr_array_new_with_free_func(g_free);
	return xattrs;
}

void source_xattrs_free(struct source_xattrs *xattrs)
{
	if (!xattrs)
		return;
	g_array_unref(xattrs->list);
	g_ptr_array_unref(xattrs->lost);
	source_windows_free(xattrs->windows);
	source_nfs4_acl_free(xattrs->nfs4_acl);
	g_free(xattrs->data);
	g_free(xattrs);
}

int64_t source_time(int64_t seconds, uint32_t ns, int64_t *far)
{
	const int64_t time = migrate_ns((struct timespec){seconds, MIN(ns, 999999999u)});

	if (far)
		*far = time == INT64_MIN || time == INT64_MAX ? seconds : 0;
	return time;
}

bool source_attr_same(const struct source_attr *a, const struct source_attr *b)
{
	return a->fileid == b->fileid && a->size == b->size && a->mtime == b->mtime &&
	       a->ctime == b->ctime;
}

void source_xattrs_bring(struct source_xattrs *xattrs, const struct source_attr *before,
			 const struct source_attr *after, const uint8_t *data, uint32_t len)
{
	if (len != after->size || !source_attr_same(before, after))
		return;
	xattrs->data = g_memdup2(data, len);
	xattrs->data_len = len;
}

void source_xattrs_add(struct source_xattrs *xattrs, const char *name, const void *value,
		       uint32_t len)
{
	struct source_xattr xattr = {g_strdup(name), g_memdup2(value, len), len};

	g_array_append_val(xattrs->list, xattr);
}

void source_xattrs_lose(struct source_xattrs *xattrs, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_ptr_array_add(xattrs->lost, g_strdup_vprintf(format, args));
	va_end(args);
}

void source_xattrs_lose_acl(struct source_xattrs *xattrs, bool is_default, const char *why)
{
	source_xattrs_lose(xattrs, "%s: %s", is_default ? "default ACL" : "ACL", why);
	xattrs->acl_lost |= !is_default;
}

void source_xattrs_add_acl(struct source_xattrs *xattrs, bool is_default, const uint8_t *value,
			   uint32_t len)
{
	const char *name = is_default ? XATTR_ACL_DEFAULT : XATTR_ACL_ACCESS;
	struct acl *acl = acl_decode(value, len);
	g_autofree uint8_t *ordered = NULL;

	if (!acl && len != EMPTY_LEN)
		source_xattrs_lose_acl(xattrs, is_default,
				       "the old server's is none that acl(5) allows");
	/* Three entries are the mode's. */
	if (acl && (is_default || acl->entries->len > 3)) {
		ordered = acl_encode(acl, &len);
		source_xattrs_add(xattrs, name, ordered, len);
	}
	acl_free(acl);
}

void backend_batch_refuse(struct backend_batch *batch, char *name, enum error_code why)
{
	struct source_refusal refusal = {name, why};

	batch->rejected++;
	if (batch->refused->len < BATCH_REFUSED_MAX)
		g_array_append_val(batch->refused, refusal);
	else
		g_free(name);
}

gboolean backend_batch_add(struct backend_batch *batch, const char *name, size_t len,
			   const struct source_entry *entry)
{
	struct source_entry *added;

	if (!source_name_ok(name, len)) {
		backend_batch_refuse(batch, text_name(name, len),
				     len > 255 ? QM_NAME_LONG : QM_NAME_IMPOSSIBLE);
		return FALSE;
	}
	g_array_append_vals(batch->entries, entry, 1);
	added = &g_array_index(batch->entries, struct source_entry, batch->entries->len - 1);
	added->name = g_string_chunk_insert_len(batch->names, name, (gssize)len);
	return TRUE;
}

void trace_request(enum trace_step step, const struct backend_request *req, uint64_t number,
		   int result)
{
	static const char *const names[] = {
		[BACKEND_GETATTR] = "getattr",	 [BACKEND_LOOKUP] = "lookup",
		[BACKEND_READDIR] = "readdir",	 [BACKEND_READ] = "read",
		[BACKEND_READLINK] = "readlink", [BACKEND_XATTRS] = "xattrs",
	};
	bool ahead = req->op == BACKEND_READ && req->priority == BACKEND_READAHEAD;

	trace_event(step, &req->trace, ahead ? "read-ahead" : names[req->op], req->offset,
		    req->count, number, result);
}

uint64_t source_hash(const void *bytes, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a, and a step of splitmix64 */

	for (const uint8_t *p = bytes; len--; p++)
		h = (h ^ *p) * UINT64_C(0x100000001b3);
	h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (h ^ (h >> 31)) | !h;
}

uint64_t backend_fileid(uint64_t fileid, uint64_t fs, uint64_t root_fs)
{
	uint64_t mix = fs - root_fs;

	mix = (mix ^ (mix >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
	return fileid ^ (mix ^ (mix >> 29));
}
