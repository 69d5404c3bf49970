/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/attributes_result.h"

#include "lib/base/text.h"

/* What a loss of a kind says of the object; of an extended attribute see attributes_lose_xattr().
 */
static unsigned left_by(enum loss_kind kind, const char *text)
{
	static const unsigned left[LOSS_KINDS] = {[LOSS_ACL] = LEFT_ACL,
						  [LOSS_OWNER] = LEFT_OWNER,
						  [LOSS_MODE] = LEFT_MODE,
						  [LOSS_TIME] = LEFT_TIME};

	if (kind != LOSS_SOURCE)
		return left[kind];
	/* these at least are nothing that is carried */
	return g_str_has_prefix(text, "trusted.") || g_str_has_prefix(text, "security.") ||
			       g_str_has_prefix(text, "flags (")
		       ? LEFT_SOURCE
		       : LEFT_ACL | LEFT_OTHERS;
}

static void free_line(gpointer p)
{
	loss_line_clear(p);
	g_free(p);
}

void attributes_lose(struct attributes_result *carried, enum loss_kind kind, const char *format,
		     ...)
{
	struct loss_line *line = g_new0(struct loss_line, 1);
	va_list args;

	va_start(args, format);
	line->kind = kind;
	line->text = g_strdup_vprintf(format, args);
	va_end(args);
	carried->left.what |= left_by(kind, line->text);
	if (!carried->lost)
		carried->lost = g_ptr_array_new_with_free_func(free_line);
	g_ptr_array_add(carried->lost, line);
}

void attributes_lose_xattr(struct attributes_result *carried, const char *name, uint32_t len,
			   const char *why)
{
	attributes_lose(carried, LOSS_XATTR, "%s (" TEXT_COUNT ") could not be set (%s)", name,
			TEXT_COUNTED(len, "bytes"), why);
	omissions_add(&carried->left, name);
}

int attributes_report(struct retriever *retriever, const struct attributes_result *carried,
		      int dir_fd, const char *name)
{
	g_autofree char *path = NULL;
	int ret = 0;

	for (guint i = 0; carried->lost && i < carried->lost->len && !ret; i++) {
		const struct loss_line *line = carried->lost->pdata[i];

		if (line->kind != LOSS_VOLUME && !path) {
			g_autofree char *dir = retriever_fd_path(dir_fd);

			path = g_strconcat(dir, name ? "/" : NULL, name, NULL);
		}
		ret = losses_add(retriever->losses, line->kind,
				 line->kind == LOSS_VOLUME ? "" : path, line->text);
	}
	return ret;
}

void attributes_clear(struct attributes_result *carried)
{
	g_clear_pointer(&carried->lost, g_ptr_array_unref);
}
