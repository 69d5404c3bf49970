/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/manifest/manifest.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

struct manifest {
	int fd;
	ZSTD_DStream *stream;
	char *room; /* compressed */
	ZSTD_inBuffer in;
	size_t left;   /* bytes left of the frame, as zstd says: 0 when the frame is complete */
	GString *text; /* decompressed, from the line at `at` on */
	size_t at;
	GString *line; /* of the entry that came last */
	struct proof_entry entry;
	struct manifest_count count;
	uint64_t lines;
	bool ended; /* MANIFEST_END was there */
};

void manifest_count_add(struct manifest_count *count, const struct proof_entry *entry)
{
	count->entries++;
	count->status[entry->status]++;
	count->hashed += *entry->sha256 != 0;
	if (S_ISREG(entry->mode)) {
		count->files++;
		count->bytes += entry->size;
	} else if (S_ISDIR(entry->mode)) {
		count->directories++;
	} else if (S_ISLNK(entry->mode)) {
		count->links++;
	} else {
		count->others++;
	}
}

int manifest_order(const char *line, const char *other)
{
	size_t a = strcspn(line, " "), b = strcspn(other, " ");
	int order = memcmp(line, other, MIN(a, b));

	return order ? order : a < b ? -1 : a > b;
}

static void *fail_manifest(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void *fail_manifest(GError **error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (error)
		*error = g_error_new_valist(MANIFEST_ERROR, 0, format, args);
	va_end(args);
	return NULL;
}

static void *damaged(struct manifest *manifest, const char *what, GError **error)
{
	return fail_manifest(error, "line %" G_GUINT64_FORMAT ": %s: the manifest is damaged",
			     manifest->lines, what);
}

/* Reads some more of the file.  FALSE: with error set, or without at the file's end. */
static gboolean refill(struct manifest *manifest, GError **error)
{
	ssize_t n = read(manifest->fd, manifest->room, ZSTD_DStreamInSize());

	if (n < 0)
		fail_manifest(error, "%s", g_strerror(errno));
	manifest->in = (ZSTD_inBuffer){manifest->room, MAX(n, 0), 0};
	return n > 0;
}

/* Decompresses some more text.  FALSE: with error set, or without at the end of a complete
 * frame. */
static gboolean decompress(struct manifest *manifest, GError **error)
{
	size_t had, room = ZSTD_DStreamOutSize();

	g_string_erase(manifest->text, 0, manifest->at);
	manifest->at = 0;
	had = manifest->text->len;
	while (manifest->text->len == had) {
		ZSTD_outBuffer out = {.size = room};
		g_autoptr(GError) inner = NULL;

		if (manifest->in.pos == manifest->in.size && !refill(manifest, &inner)) {
			if (!inner && manifest->left)
				fail_manifest(&inner, "it is cut off: get all of the manifest");
			if (inner)
				g_propagate_error(error, g_steal_pointer(&inner));
			return FALSE;
		}
		g_string_set_size(manifest->text, had + room);
		out.dst = manifest->text->str + had;
		manifest->left = ZSTD_decompressStream(manifest->stream, &out, &manifest->in);
		g_string_set_size(manifest->text, had + out.pos);
		if (ZSTD_isError(manifest->left))
			return damaged(manifest, ZSTD_getErrorName(manifest->left), error) != NULL;
	}
	return TRUE;
}

/* The next line, NUL in place of its newline.  NULL at the end or with error set. */
static const char *next_line(struct manifest *manifest, size_t *len, GError **error)
{
	size_t looked = 0;
	char *end;

	manifest->lines++;
	while (!(end = memchr(manifest->text->str + manifest->at + looked, '\n',
			      manifest->text->len - manifest->at - looked))) {
		g_autoptr(GError) inner = NULL;

		looked = manifest->text->len - manifest->at;
		if (looked > PROOF_LINE_MAX)
			return damaged(manifest, "it is too long", error);
		if (decompress(manifest, &inner))
			continue;
		if (inner)
			g_propagate_error(error, g_steal_pointer(&inner));
		else if (looked)
			damaged(manifest, "it has no end", error);
		return NULL;
	}
	const char *line = manifest->text->str + manifest->at;

	*len = end - line;
	*end = '\0';
	manifest->at += *len + 1;
	return line;
}

/* The last line says how many entries there are. */
static gboolean take_comment(struct manifest *manifest, const char *line, GError **error)
{
	g_autofree char *wanted =
		g_strdup_printf(MANIFEST_END "%" G_GUINT64_FORMAT, manifest->count.entries);

	if (!g_str_has_prefix(line, MANIFEST_END))
		return TRUE;
	if (manifest->ended || strcmp(line, wanted) != 0)
		return damaged(manifest, "another number of entries", error) != NULL;
	manifest->ended = true;
	return TRUE;
}

struct manifest *manifest_open(int fd, GError **error)
{
	struct manifest *manifest = g_new0(struct manifest, 1);
	g_autoptr(GError) inner = NULL;
	const char *line;
	size_t len = 0;

	manifest->fd = fd;
	manifest->stream = ZSTD_createDStream();
	ZSTD_DCtx_setParameter(manifest->stream, ZSTD_d_windowLogMax, MANIFEST_WINDOW_LOG);
	manifest->room = g_malloc(ZSTD_DStreamInSize());
	manifest->text = g_string_new(NULL);
	manifest->line = g_string_new(NULL);
	line = next_line(manifest, &len, &inner);
	if (line && !strcmp(line, MANIFEST_MAGIC))
		return manifest;
	if (inner)
		g_propagate_error(error, g_steal_pointer(&inner));
	else
		fail_manifest(error, "it is not a manifest");
	manifest_close(manifest);
	return NULL;
}

static const struct proof_entry *take_entry(struct manifest *manifest, const char *line, size_t len,
					    GError **error)
{
	if (manifest->ended)
		return damaged(manifest, "there is something behind the end", error);
	if (manifest->line->len && manifest_order(manifest->line->str, line) >= 0)
		return damaged(manifest, "it is not in order", error);
	proof_entry_clear(&manifest->entry);
	if (!proof_entry_parse(line, len, &manifest->entry))
		return damaged(manifest, "it is not an entry", error);
	g_string_truncate(manifest->line, 0);
	g_string_append_len(manifest->line, line, len);
	manifest_count_add(&manifest->count, &manifest->entry);
	return &manifest->entry;
}

const struct proof_entry *manifest_next(struct manifest *manifest, GError **error)
{
	g_autoptr(GError) inner = NULL;
	const char *line;
	size_t len;

	while ((line = next_line(manifest, &len, &inner))) {
		if (*line != '#')
			return take_entry(manifest, line, len, error);
		if (!take_comment(manifest, line, error))
			return NULL;
	}
	if (inner)
		g_propagate_error(error, g_steal_pointer(&inner));
	else if (!manifest->ended)
		damaged(manifest, "the end is missing", error);
	return NULL;
}

const char *manifest_line(const struct manifest *manifest)
{
	return manifest->line->str;
}

const struct manifest_count *manifest_counted(const struct manifest *manifest)
{
	return &manifest->count;
}

void manifest_close(struct manifest *manifest)
{
	if (!manifest)
		return;
	close(manifest->fd);
	ZSTD_freeDStream(manifest->stream);
	g_free(manifest->room);
	g_string_free(manifest->text, TRUE);
	g_string_free(manifest->line, TRUE);
	proof_entry_clear(&manifest->entry);
	g_free(manifest);
}
