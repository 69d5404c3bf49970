/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file holds BLOCK directories, except the last one of a state, which holds the
 * directories that were in memory.  A file is written once, and read once or, after a kill, again.
 * Its name is a number that no other file of the survey ever has.
 */
#include "ctl/check/frontier.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/write_fully.h"

#define GROUP  "pending"
#define PREFIX "pending."
#define BLOCK  4096 /* directories */
#define ABOVE  65536
#define LONG   (1 << 20)

struct block {
	uint64_t number;
	uint64_t directories;
};

struct frontier {
	int dir_fd;
	GQueue memory; /* the last one at its tail */
	GArray *files; /* of struct block; the last one is to be read first */
	GArray *read;  /* of struct block: read since the last state */
	uint64_t number;
	uint64_t count;
};

uint64_t directory_number(const uint8_t *handle, uint8_t handle_len, const struct source_attr *attr)
{
	const uint64_t fields[] = {attr->fileid, (uint64_t)attr->mtime, (uint64_t)attr->ctime};

	return handle_len ? source_hash(handle, handle_len) : source_hash(fields, sizeof(fields));
}

struct directory *directory_new(const char *path, const uint8_t *handle, uint8_t handle_len,
				const struct directory *parent, uint64_t number)
{
	struct directory *directory = g_new0(struct directory, 1);

	directory->object.path = g_strdup(path);
	directory->object.handle_len = handle_len;
	memcpy(directory->object.handle, handle, handle_len);
	directory->above = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	if (parent)
		g_array_append_vals(directory->above, parent->above->data, parent->above->len);
	g_array_append_val(directory->above, number);
	return directory;
}

void directory_free(struct directory *directory)
{
	if (!directory)
		return;
	source_object_clear(&directory->object);
	g_array_unref(directory->above);
	g_free(directory);
}

struct frontier *frontier_new(int dir_fd)
{
	struct frontier *frontier = g_new0(struct frontier, 1);

	frontier->dir_fd = dir_fd;
	g_queue_init(&frontier->memory);
	frontier->files = g_array_new(FALSE, FALSE, sizeof(struct block));
	frontier->read = g_array_new(FALSE, FALSE, sizeof(struct block));
	return frontier;
}

void frontier_free(struct frontier *frontier)
{
	if (!frontier)
		return;
	g_queue_clear_full(&frontier->memory, (GDestroyNotify)directory_free);
	g_array_unref(frontier->files);
	g_array_unref(frontier->read);
	g_free(frontier);
}

uint64_t frontier_count(const struct frontier *frontier)
{
	return frontier->count;
}

/* ---- files ----------------------------------------------------------------------------------- */

static char *file_name(uint64_t number)
{
	return g_strdup_printf(PREFIX "%" G_GUINT64_FORMAT, number);
}

static gboolean file_failed(GError **error, const char *name, const char *why)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
		    "%s of the survey's state: %s; remove the state to begin anew", name, why);
	return FALSE;
}

static void put_number(GByteArray *to, uint32_t number)
{
	g_byte_array_append(to, (const uint8_t *)&number, sizeof(number));
}

static void put_directory(GByteArray *to, const struct directory *directory)
{
	const size_t len = strlen(directory->object.path);

	put_number(to, (uint32_t)len);
	put_number(to, directory->object.handle_len);
	put_number(to, directory->above->len);
	g_byte_array_append(to, (const uint8_t *)directory->object.path, (guint)len);
	g_byte_array_append(to, directory->object.handle, directory->object.handle_len);
	g_byte_array_append(to, (const uint8_t *)directory->above->data,
			    directory->above->len * (guint)sizeof(uint64_t));
}

static bool get_bytes(const char **at, const char *end, void *to, size_t len)
{
	if ((size_t)(end - *at) < len)
		return false;
	memcpy(to, *at, len);
	*at += len;
	return true;
}

/* NULL: it is damaged. */
static struct directory *get_directory(const char **at, const char *end)
{
	g_autofree char *path = NULL;
	struct directory *directory;
	uint32_t len, handle_len, above;
	uint8_t handle[MIGRATE_HANDLE_MAX];
	uint64_t id = 0;

	if (!get_bytes(at, end, &len, 4) || !get_bytes(at, end, &handle_len, 4) ||
	    !get_bytes(at, end, &above, 4) || len > LONG || handle_len > sizeof(handle) || !above ||
	    above > ABOVE)
		return NULL;
	path = g_malloc0(len + 1);
	if (!get_bytes(at, end, path, len) || !get_bytes(at, end, handle, handle_len))
		return NULL;
	directory = directory_new(path, handle, (uint8_t)handle_len, NULL, 0);
	g_array_set_size(directory->above, 0);
	for (uint32_t i = 0; i < above; i++) {
		if (!get_bytes(at, end, &id, sizeof(id))) {
			directory_free(directory);
			return NULL;
		}
		g_array_append_val(directory->above, id);
	}
	return directory;
}

static bool write_bytes(int fd, const GByteArray *bytes)
{
	return write_fully(fd, bytes->data, bytes->len, WRITE_BEHIND) == 0 && fsync(fd) == 0;
}

/* Writes the first n directories in memory to a file. */
static gboolean write_block(struct frontier *frontier, guint n, bool stay, GError **error)
{
	struct block block = {++frontier->number, n};
	g_autofree char *name = file_name(block.number);
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	GList *link = frontier->memory.head;
	bool good;
	int fd;

	for (guint i = 0; i < n; i++, link = link->next)
		put_directory(bytes, link->data);
	fd = openat(frontier->dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	good = fd >= 0 && write_bytes(fd, bytes);
	if (!good)
		file_failed(error, name, g_strerror(errno));
	if (fd >= 0)
		close(fd);
	if (!good)
		return FALSE;
	for (guint i = 0; i < n && !stay; i++)
		directory_free(g_queue_pop_head(&frontier->memory));
	g_array_append_val(frontier->files, block);
	return TRUE;
}

static gboolean read_block(struct frontier *frontier, const struct block *block, GError **error)
{
	g_autofree char *name = file_name(block->number);
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d/%s", frontier->dir_fd, name);
	g_autofree char *text = NULL;
	struct directory *directory;
	const char *at, *end;
	gsize len;

	if (!g_file_get_contents(path, &text, &len, NULL))
		return file_failed(error, name, "it cannot be read");
	at = text;
	end = text + len;
	for (uint64_t i = 0; i < block->directories; i++) {
		directory = get_directory(&at, end);
		if (!directory)
			return file_failed(error, name, "it is damaged");
		g_queue_push_tail(&frontier->memory, directory);
	}
	return TRUE;
}

/* ---- putting and taking ---------------------------------------------------------------------- */

gboolean frontier_put(struct frontier *frontier, struct directory *directory, GError **error)
{
	if (frontier->memory.length >= 2 * BLOCK && !write_block(frontier, BLOCK, false, error)) {
		directory_free(directory);
		return FALSE;
	}
	g_queue_push_tail(&frontier->memory, directory);
	frontier->count++;
	return TRUE;
}

struct directory *frontier_take(struct frontier *frontier, GError **error)
{
	struct directory *directory = g_queue_pop_tail(&frontier->memory);

	if (!directory && frontier->files->len) {
		struct block last =
			g_array_index(frontier->files, struct block, frontier->files->len - 1);

		if (!read_block(frontier, &last, error))
			return NULL;
		g_array_set_size(frontier->files, frontier->files->len - 1);
		g_array_append_val(frontier->read, last);
		directory = g_queue_pop_tail(&frontier->memory);
	}
	frontier->count -= directory != NULL;
	return directory;
}

/* ---- kept ------------------------------------------------------------------------------------ */

static void remove_blocks(struct frontier *frontier, GArray *blocks)
{
	for (guint i = 0; i < blocks->len; i++) {
		g_autofree char *name = file_name(g_array_index(blocks, struct block, i).number);

		unlinkat(frontier->dir_fd, name, 0);
	}
	g_array_set_size(blocks, 0);
}

gboolean frontier_keep(struct frontier *frontier, GKeyFile *state, GError **error)
{
	g_autoptr(GString) list = g_string_new(NULL);
	const guint n = frontier->memory.length;

	if (n && !write_block(frontier, n, true, error))
		return FALSE;
	for (guint i = 0; i < frontier->files->len; i++) {
		const struct block *block = &g_array_index(frontier->files, struct block, i);

		g_string_append_printf(list, "%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT ";",
				       block->number, block->directories);
	}
	g_key_file_set_value(state, GROUP, "files", list->str);
	g_key_file_set_uint64(state, GROUP, "number", frontier->number);
	return TRUE;
}

/* The directories that were in memory when the state was kept are still there. */
void frontier_kept(struct frontier *frontier)
{
	remove_blocks(frontier, frontier->read);
	if (frontier->memory.length) {
		struct block last =
			g_array_index(frontier->files, struct block, frontier->files->len - 1);

		g_array_set_size(frontier->files, frontier->files->len - 1);
		g_array_append_val(frontier->read, last);
	}
}

static void remove_unnamed(struct frontier *frontier)
{
	int fd = openat(frontier->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		bool named = !g_str_has_prefix(e->d_name, PREFIX);

		for (guint i = 0; i < frontier->files->len && !named; i++)
			named = g_array_index(frontier->files, struct block, i).number ==
				strtoull(e->d_name + strlen(PREFIX), NULL, 10);
		if (!named)
			unlinkat(frontier->dir_fd, e->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

gboolean frontier_load(struct frontier *frontier, GKeyFile *state, GError **error)
{
	g_auto(GStrv) list =
		state ? g_key_file_get_string_list(state, GROUP, "files", NULL, NULL) : NULL;

	for (unsigned i = 0; list && list[i]; i++) {
		g_auto(GStrv) fields = g_strsplit(list[i], ":", 2);
		struct block block;

		if (g_strv_length(fields) != 2 ||
		    !g_ascii_string_to_unsigned(fields[0], 10, 1, G_MAXUINT64, &block.number,
						NULL) ||
		    !g_ascii_string_to_unsigned(fields[1], 10, 1, 2 * BLOCK, &block.directories,
						NULL))
			return file_failed(error, "the list", "it is damaged");
		g_array_append_val(frontier->files, block);
		frontier->count += block.directories;
	}
	if (state && !list)
		return file_failed(error, "the list", "it is not there");
	if (state)
		frontier->number = g_key_file_get_uint64(state, GROUP, "number", NULL);
	remove_unnamed(frontier);
	return TRUE;
}
