/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend.h"

#include <errno.h>
#include <string.h>

#include "refused.h"

G_DEFINE_QUARK(backend - error - quark, backend_error)

static const struct backend_ops *const backends[] = {&backend_nfs_ops, &backend_smb_ops,
						     &backend_file_ops};

const struct backend_ops *backend_find(const char *url, GError **error)
{
	const char *end = strstr(url, "://");
	g_autoptr(GString) known = g_string_new(NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(backends); i++) {
		const char *scheme = backends[i]->scheme;

		if (end && strlen(scheme) == (size_t)(end - url) &&
		    g_ascii_strncasecmp(url, scheme, (gsize)(end - url)) == 0)
			return backends[i];
		g_string_append_printf(known, "%s%s://", i ? ", " : "", scheme);
	}
	backend_set_error(error, EPROTONOSUPPORT,
			  "%s: not a URL of a source; use one that starts with %s", url,
			  known->str);
	return NULL;
}

void backend_set_error(GError **error, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (error)
		*error = g_error_new_valist(BACKEND_ERROR, code, format, args);
	va_end(args);
}

char *backend_url_path(const char *url, const char *text, gsize len, GError **error)
{
	g_autofree char *raw = g_strndup(text, len);
	g_autofree char *path = g_uri_unescape_string(raw, NULL);
	g_autoptr(GString) clean = g_string_new(NULL);
	g_auto(GStrv) parts = NULL;

	if (!path) {
		backend_set_error(error, EINVAL, "%s: write a percent sign in the path as %%25",
				  url);
		return NULL;
	}
	parts = g_strsplit(path, "/", -1);
	for (char **part = parts; *part; part++) {
		if (!**part)
			continue;
		if (strcmp(*part, ".") == 0 || strcmp(*part, "..") == 0) {
			backend_set_error(error, EINVAL,
					  "%s: write the path without \".\" and \"..\"", url);
			return NULL;
		}
		g_string_append_printf(clean, "/%s", *part);
	}
	if (clean->len == 0)
		g_string_append_c(clean, '/');
	return g_string_free(g_steal_pointer(&clean), FALSE);
}

const char *backend_url_host(const char *text, gsize len, char **host, uint16_t *port)
{
	const char *end = text + len, *from = text, *close, *rest;
	g_autofree char *digits = NULL;
	guint64 number;

	*host = NULL;
	if (len && *text == '[') {
		close = memchr(text, ']', len);
		if (!close)
			return "the address has no closing bracket";
		from++;
		rest = close + 1;
	} else {
		rest = memchr(text, ':', len);
		close = rest = rest ? rest : end;
	}
	if (close == from || (rest < end && *rest != ':'))
		return "no host there";
	for (const char *p = from; p < close; p++)
		if (strchr("[]@;", *p))
			return "no host there";
	if (rest < end) {
		digits = g_strndup(rest + 1, (gsize)(end - rest - 1));
		if (!g_ascii_string_to_unsigned(digits, 10, 1, 65535, &number, NULL))
			return "no port from 1 to 65535 after the colon";
		*port = (uint16_t)number;
	}
	*host = g_strndup(from, (gsize)(close - from));
	return NULL;
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
	g_free(xattrs->data);
	g_free(xattrs);
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

bool backend_name_ok(const char *name, size_t len)
{
	if (len == 0 || len > 255 || memchr(name, '/', len) || memchr(name, '\0', len))
		return false;
	return !(name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
}

bool backend_path_ok(const char *path)
{
	path += strspn(path, "/");
	while (*path) {
		size_t len = strcspn(path, "/");

		if (!backend_name_ok(path, len))
			return false;
		path += len;
		path += strspn(path, "/");
	}
	return true;
}

void backend_batch_refuse(struct backend_batch *batch, char *name, const char *why)
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

	if (!backend_name_ok(name, len)) {
		backend_batch_refuse(batch, refused_text(name, len),
				     len > 255 ? REFUSED_LONG : REFUSED_NAME);
		return FALSE;
	}
	g_array_append_vals(batch->entries, entry, 1);
	added = &g_array_index(batch->entries, struct source_entry, batch->entries->len - 1);
	added->name = g_string_chunk_insert_len(batch->names, name, (gssize)len);
	return TRUE;
}

void backend_prepare(struct backend_request *req)
{
	req->link = (GList){.data = req};
	req->status = 0;
	req->eof = false;
	req->has_attr = false;
	req->handle_len = 0;
	req->data = NULL;
	req->data_len = 0;
	req->text = NULL;
	req->batch = NULL;
	req->xattrs = NULL;
}

void backend_complete(struct backend_request *req, int status)
{
	req->status = status;
	if (status < 0) {
		g_clear_pointer(&req->text, g_free);
		g_clear_pointer(&req->batch, backend_batch_free);
		g_clear_pointer(&req->xattrs, source_xattrs_free);
		req->data_len = 0;
		req->has_attr = false;
		req->handle_len = 0;
		req->eof = false;
	}
	req->done(req);
}

void backend_watch_begin(struct backend_watch *watch)
{
	if (atomic_fetch_add_explicit(&watch->waiting, 1, memory_order_relaxed) == 0)
		atomic_store_explicit(&watch->since, g_get_monotonic_time(), memory_order_relaxed);
}

void backend_watch_end(struct backend_watch *watch)
{
	atomic_fetch_sub_explicit(&watch->waiting, 1, memory_order_relaxed);
}

void backend_watch_answer(struct backend_watch *watch, gint64 now)
{
	atomic_store_explicit(&watch->answered, now, memory_order_relaxed);
}

unsigned backend_watch_away(struct backend_watch *watch)
{
	gint64 since = atomic_load_explicit(&watch->since, memory_order_relaxed);
	gint64 answered = atomic_load_explicit(&watch->answered, memory_order_relaxed);
	gint64 away;

	if (atomic_load_explicit(&watch->waiting, memory_order_relaxed) == 0)
		return 0;
	away = g_get_monotonic_time() - MAX(since, answered);
	return away > 0 ? (unsigned)(away / G_USEC_PER_SEC) : 0;
}

uint32_t backend_layer_max_read(struct backend *backend)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	return inner->ops->max_read(inner);
}

unsigned backend_layer_away(struct backend *backend)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	return inner->ops->away(inner);
}

unsigned backend_layer_carries(struct backend *backend)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	return inner->ops->carries ? inner->ops->carries(inner) : 0;
}

char *backend_layer_not_carried(struct backend *backend)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	return inner->ops->not_carried ? inner->ops->not_carried(inner) : NULL;
}

uint64_t backend_fileid(uint64_t fileid, uint64_t fs, uint64_t root_fs)
{
	uint64_t mix = fs - root_fs;

	mix = (mix ^ (mix >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
	return fileid ^ (mix ^ (mix >> 29));
}
