/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An old server that hands over ACLs and extended attributes, whatever file:// can: a backend below
 * the fault decorator answers BACKEND_XATTRS with what a test said, by the object's path.
 */
#ifndef TESTS_RETRIEVER_CORE_XATTRS_H
#define TESTS_RETRIEVER_CORE_XATTRS_H

#include "tests/retriever/core.h"

#include "lib/source/backend.h"
#include "lib/source/posix_acl.h"

#define XATTRS (1u << BACKEND_XATTRS)

/* What the test says: set up before the retriever runs. */
static GHashTable *core_xattrs; /* struct source_xattrs, by path */

static inline struct source_xattrs *core_xattrs_of(const char *path)
{
	struct source_xattrs *xattrs;

	if (!core_xattrs)
		core_xattrs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
						    (GDestroyNotify)source_xattrs_free);
	xattrs = g_hash_table_lookup(core_xattrs, path);
	if (!xattrs) {
		xattrs = source_xattrs_new();
		g_hash_table_insert(core_xattrs, g_strdup(path), xattrs);
	}
	return xattrs;
}

/* Where not 0: every directory has so many empty files, in pages of CORE_PAGE. */
#define CORE_PAGE 50
static unsigned core_width;

static inline void core_list_wide(struct backend_request *req)
{
	unsigned last = MIN(req->cookie + CORE_PAGE, core_width);

	backend_prepare(req);
	req->batch = backend_batch_new();
	for (unsigned i = req->cookie; i < last; i++) {
		struct source_entry entry = {.has_attr = true};
		char name[16];

		entry.attr.mode = S_IFREG | 0644;
		entry.attr.nlink = 1;
		entry.attr.fileid = 1000000 + i;
		g_snprintf(name, sizeof(name), "e%u", i);
		backend_batch_add(req->batch, name, strlen(name), &entry);
	}
	req->cookie = last;
	req->eof = last == core_width;
	backend_complete(req, 0);
}

static inline struct source_windows *core_windows_copy(const struct source_windows *from)
{
	struct source_windows *to = source_windows_new();
	GArray *streams = to->streams;

	*to = *from;
	to->streams = streams;
	to->sd = g_memdup2(from->sd, from->sd_len);
	for (guint i = 0; i < from->streams->len; i++) {
		struct source_stream *stream =
			&g_array_index(from->streams, struct source_stream, i);

		source_windows_add_stream(to, stream->name, stream->size, stream->data);
	}
	return to;
}

static inline struct source_nfs4_acl *core_nfs4_copy(const struct source_nfs4_acl *from)
{
	struct source_nfs4_acl *to = source_nfs4_acl_new();

	g_array_append_vals(to->aces, from->aces->data, from->aces->len);
	g_string_assign(to->text, from->text->str);
	return to;
}

static inline void core_carry_submit(struct backend *backend, struct backend_request *req)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;
	struct source_xattrs *from;

	if (req->op == BACKEND_READDIR && core_width) {
		core_list_wide(req);
		return;
	}
	if (req->op != BACKEND_XATTRS) {
		inner->ops->submit(inner, req);
		return;
	}
	backend_prepare(req);
	from = req->object.path && core_xattrs ? g_hash_table_lookup(core_xattrs, req->object.path)
					       : NULL;
	req->xattrs = source_xattrs_new();
	for (guint i = 0; from && i < from->list->len; i++) {
		struct source_xattr *x = &g_array_index(from->list, struct source_xattr, i);

		source_xattrs_add(req->xattrs, x->name, x->value, x->len);
	}
	for (guint i = 0; from && i < from->lost->len; i++)
		g_ptr_array_add(req->xattrs->lost, g_strdup(from->lost->pdata[i]));
	req->xattrs->acl_lost = from && from->acl_lost;
	req->xattrs->project = from ? from->project : 0;
	if (from && from->windows)
		req->xattrs->windows = core_windows_copy(from->windows);
	if (from && from->nfs4_acl)
		req->xattrs->nfs4_acl = core_nfs4_copy(from->nfs4_acl);
	backend_complete(req, 0);
}

static inline void core_carry_close(struct backend *backend)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	inner->ops->close(inner);
	g_free(backend);
}

static inline unsigned core_carry_away(struct backend *backend)
{
	return 0;
}

static inline unsigned core_carry_carries(struct backend *backend)
{
	return BACKEND_CARRIES_ACL | BACKEND_CARRIES_XATTR;
}

static const struct backend_ops core_carry_ops = {
	.scheme = "carrying",
	.close = core_carry_close,
	.submit = core_carry_submit,
	.max_read = backend_layer_max_read,
	.away = core_carry_away,
	.carries = core_carry_carries,
};

static inline struct backend *core_carry_wrap(struct core *core, struct backend *inner)
{
	struct backend_layer *carrying = g_new0(struct backend_layer, 1);

	carrying->base.ops = &core_carry_ops;
	carrying->inner = inner;
	return &carrying->base;
}

/* After core_make(): nothing has been said yet. */
static inline void core_carry(struct core *core)
{
	g_clear_pointer(&core_xattrs, g_hash_table_unref);
	core->wrap = core_carry_wrap;
}

/* ---- ACLs ---- */

/* "u::7 u:1000:6 g::4 m::6 o::0", ids in decimal, as the value of an extended attribute. */
static inline uint8_t *core_acl(const char *text, uint32_t *len)
{
	static const struct {
		char letter;
		uint16_t plain, named;
	} tags[] = {{'u', 1, 2}, {'g', 4, 8}, {'m', 16, 16}, {'o', 32, 32}};
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	guint n = g_strv_length(words);
	uint8_t *value = g_malloc0(4 + 8 * n);

	value[0] = 2;
	for (guint i = 0; i < n; i++) {
		g_auto(GStrv) parts = g_strsplit(words[i], ":", 3);
		uint32_t id = *parts[1] ? (uint32_t)strtoul(parts[1], NULL, 10) : UINT32_MAX;
		uint8_t *p = value + 4 + 8 * i;

		for (size_t t = 0; t < G_N_ELEMENTS(tags); t++)
			if (tags[t].letter == *words[i])
				p[0] = *parts[1] ? tags[t].named : tags[t].plain;
		p[2] = parts[2][0] - '0';
		memcpy(p + 4, &id, 4); /* little-endian hosts */
	}
	*len = 4 + 8 * n;
	return value;
}

static inline void core_source_acl(const char *path, const char *name, const char *text)
{
	uint32_t len;
	g_autofree uint8_t *value = core_acl(text, &len);

	source_xattrs_add(core_xattrs_of(path), name, value, len);
}

static inline void core_source_xattr(const char *path, const char *name, const char *value)
{
	source_xattrs_add(core_xattrs_of(path), name, value, strlen(value));
}

/* NULL text: it has none. */
static inline void core_expect_acl(int fd, const char *name, const char *text)
{
	uint8_t have[4096];
	ssize_t n = fgetxattr(fd, name, have, sizeof(have));
	g_autofree uint8_t *value = NULL;
	uint32_t len;

	if (!text) {
		ck_assert_int_eq(n, -1);
		ck_assert_int_eq(errno, ENODATA);
		return;
	}
	value = core_acl(text, &len);
	ck_assert_msg(n == len && !memcmp(have, value, len), "%s is not %s", name, text);
}

static inline void core_expect_xattr(int fd, const char *name, const char *value)
{
	char have[4096];
	ssize_t n = fgetxattr(fd, name, have, sizeof(have));

	ck_assert_msg(n == (ssize_t)strlen(value) && !memcmp(have, value, n), "%s: %zd", name, n);
}

/* The report as text; g_free. */
static inline char *core_report(struct core *core)
{
	g_autofree char *path = core_path(core, MIGRATE_PRIVATE_DIR "/report");
	char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? text : g_strdup("");
}

static inline void core_expect_report(struct core *core, const char *part)
{
	g_autofree char *text = core_report(core);

	ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text);
}

#endif
