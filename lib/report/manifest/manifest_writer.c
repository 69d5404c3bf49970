/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/manifest/manifest_writer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "lib/base/write_fully.h"

#define LEVEL 5 /* of zstd: paths get much smaller, and hashes do not */

struct writer {
	int fd;
	ZSTD_CStream *stream;
	char *room;
	struct manifest_count *count;
	manifest_entry_fn fn;
	void *arg;
};

static gboolean compress(struct writer *writer, const char *text, size_t len, ZSTD_EndDirective how,
			 GError **error)
{
	ZSTD_inBuffer in = {text, len, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {writer->room, ZSTD_CStreamOutSize(), 0};

		left = ZSTD_compressStream2(writer->stream, &out, &in, how);
		if (ZSTD_isError(left)) {
			g_set_error(error, MANIFEST_ERROR, 0, "%s", ZSTD_getErrorName(left));
			return FALSE;
		}
		int ret = write_fully(writer->fd, writer->room, out.pos, WRITE_BEHIND);
		if (ret) {
			g_set_error(error, MANIFEST_ERROR, 0, "%s", g_strerror(-ret));
			return FALSE;
		}
	} while (how == ZSTD_e_end ? left > 0 : in.pos < in.size);
	return TRUE;
}

/* While the line is written, it has its newline in place of the NUL. */
static gboolean add_entry_line(struct writer *writer, GString *line, GError **error)
{
	struct proof_entry entry;
	gboolean ok;

	if (!proof_entry_parse(line->str, line->len, &entry)) {
		g_set_error(error, MANIFEST_ERROR, 0,
			    "what is known of the objects is damaged: verify again: %.200s",
			    line->str);
		return FALSE;
	}
	manifest_count_add(writer->count, &entry);
	if (writer->fn)
		writer->fn(writer->arg, &entry);
	proof_entry_clear(&entry);
	g_string_append_c(line, '\n');
	ok = compress(writer, line->str, line->len, ZSTD_e_continue, error);
	g_string_truncate(line, 0);
	return ok;
}

static gboolean add_all(struct writer *writer, struct proof_sorter *sorter, GError **error)
{
	g_autoptr(GError) inner = NULL;
	GString *last = g_string_new(NULL);
	gboolean ok = TRUE;
	const char *line;
	gsize len;

	while (ok && (line = proof_sorter_next(sorter, &len, &inner))) {
		if (last->len && manifest_order(last->str, line) != 0)
			ok = add_entry_line(writer, last, error);
		g_string_truncate(last, 0);
		g_string_append_len(last, line, len);
	}
	if (inner) {
		g_propagate_error(error, g_steal_pointer(&inner));
		ok = FALSE;
	}
	if (ok && last->len)
		ok = add_entry_line(writer, last, error);
	g_string_free(last, TRUE);
	return ok;
}

gboolean manifest_write(int fd, const char *comments, struct proof_sorter *sorter,
			manifest_entry_fn fn, void *arg, struct manifest_count *count,
			GError **error)
{
	struct writer writer = {
		fd, ZSTD_createCStream(), g_malloc(ZSTD_CStreamOutSize()), count, fn, arg};
	g_autofree char *head = g_strconcat(MANIFEST_MAGIC "\n", comments, NULL), *end = NULL;
	gboolean ok;

	memset(count, 0, sizeof *count);
	ZSTD_CCtx_setParameter(writer.stream, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(writer.stream, ZSTD_c_checksumFlag, 1);
	ok = compress(&writer, head, strlen(head), ZSTD_e_continue, error) &&
	     add_all(&writer, sorter, error);
	end = g_strdup_printf(MANIFEST_END "%" G_GUINT64_FORMAT "\n", count->entries);
	ok = ok && compress(&writer, end, strlen(end), ZSTD_e_end, error);
	if (ok && fsync(fd) < 0) {
		g_set_error(error, MANIFEST_ERROR, 0, "%s", g_strerror(errno));
		ok = FALSE;
	}
	ZSTD_freeCStream(writer.stream);
	g_free(writer.room);
	return ok;
}
