/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/layout.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fs_id.h"

#define ROW_HEAD (sizeof(uint16_t) + sizeof(uint64_t))

size_t journal_key_encode(const struct migrate_binding *handle, uint8_t *out)
{
	out[0] = handle->type;
	memcpy(out + 1, handle->bytes, handle->len);
	return 1 + handle->len;
}

bool journal_key_decode(const void *bytes, size_t len, struct migrate_binding *handle)
{
	const uint8_t *from = bytes;

	memset(handle, 0, sizeof(*handle));
	if (len < 2 || len > JOURNAL_KEY_MAX)
		return false;
	handle->type = from[0];
	handle->len = (uint8_t)(len - 1);
	memcpy(handle->bytes, from + 1, len - 1);
	return true;
}

/* length u8, parent handle, name */
static size_t encode_place(const struct migrate_binding *parent, const char *name, uint8_t *out)
{
	size_t len = journal_key_encode(parent, out + 1), name_len = strlen(name);

	out[0] = (uint8_t)len;
	memcpy(out + 1 + len, name, name_len);
	return 1 + len + name_len;
}

static bool decode_place(const uint8_t *from, size_t len, struct migrate_binding *parent,
			 char *name)
{
	size_t name_len;

	if (!len || from[0] > len - 1 || !journal_key_decode(from + 1, from[0], parent))
		return false;
	name_len = len - 1 - from[0];
	if (!name_len || name_len > JOURNAL_NAME_MAX || memchr(from + 1 + from[0], 0, name_len) ||
	    memchr(from + 1 + from[0], '/', name_len))
		return false;
	memcpy(name, from + 1 + from[0], name_len);
	name[name_len] = '\0';
	return true;
}

size_t journal_row_encode(const struct journal_row *row, uint8_t *out)
{
	uint16_t flags = (uint16_t)row->flags;

	memcpy(out, &flags, sizeof(flags));
	memcpy(out + sizeof(flags), &row->generation, sizeof(row->generation));
	return ROW_HEAD +
	       (row->parent.len ? encode_place(&row->parent, row->name, out + ROW_HEAD) : 0);
}

bool journal_row_decode(const void *bytes, size_t len, struct journal_row *row)
{
	const uint8_t *from = bytes;
	uint16_t flags;

	memset(&row->parent, 0, sizeof(row->parent));
	row->name[0] = '\0';
	if (len < ROW_HEAD)
		return false;
	memcpy(&flags, from, sizeof(flags));
	memcpy(&row->generation, from + sizeof(flags), sizeof(row->generation));
	row->flags = flags;
	return len == ROW_HEAD ||
	       decode_place(from + ROW_HEAD, len - ROW_HEAD, &row->parent, row->name);
}

size_t journal_name_encode(const struct journal_name *name, uint8_t *out)
{
	out[0] = (uint8_t)name->kind;
	return 1 + encode_place(&name->parent, name->name, out + 1);
}

bool journal_name_decode(const void *bytes, size_t len, struct journal_name *name)
{
	const uint8_t *from = bytes;

	if (!len || from[0] > JOURNAL_NAME_MADE)
		return false;
	name->kind = from[0];
	return decode_place(from + 1, len - 1, &name->parent, name->name);
}

guint journal_handle_hash(gconstpointer p)
{
	const struct migrate_binding *handle = p;
	guint hash = handle->type;

	for (unsigned i = 0; i < handle->len; i++)
		hash = hash * 33 + handle->bytes[i];
	return hash;
}

gboolean journal_handle_equal(gconstpointer a, gconstpointer b)
{
	return migrate_binding_equal(a, b);
}

/* An earlier release kept what may be any file system's: then at least it was there by then. */
static bool was_there(int root_fd, int64_t since)
{
	struct statx st;

	return !since || statx(root_fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) < 0 ||
	       !(st.stx_mask & STATX_BTIME) ||
	       st.stx_btime.tv_sec * INT64_C(1000000000) + st.stx_btime.tv_nsec <= since;
}

bool journal_durable_is_of(const struct journal_durable *state, int root_fd)
{
	const uint64_t id = migrate_fs_id(root_fd);
	struct migrate_binding root;

	return migrate_binding_get(root_fd, NULL, &root) == 0 &&
	       migrate_binding_equal(&state->root, &root) && migrate_fs_id_is(state->fsid, id) &&
	       (state->fsid == id || was_there(root_fd, state->since));
}
