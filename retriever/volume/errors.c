/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "errors.h"

#include <limits.h>
#include <string.h>
#include "private.h"

#define FILE_NAME "errors"

struct errors {
	GMutex lock;
	GMutex saving; /* one writer of the file at a time; taken before lock */
	int dir_fd;
	GPtrArray *list;   /* of struct error_entry, in no order */
	GHashTable *index; /* position in the list + 1, by entry_name() */
	guint names;	   /* entries that are names */
	bool changed;
};

void error_entry_clear(struct error_entry *entry)
{
	g_clear_pointer(&entry->name, g_free);
	g_clear_pointer(&entry->path, g_free);
	g_clear_pointer(&entry->reason, g_free);
}

static void entry_free(gpointer p)
{
	error_entry_clear(p);
	g_free(p);
}

static char *hex(const void *bytes, size_t len)
{
	GString *s = g_string_new(NULL);

	for (size_t i = 0; i < len; i++)
		g_string_append_printf(s, "%02x", ((const uint8_t *)bytes)[i]);
	return g_string_free(s, FALSE);
}

/* What makes an entry one. */
static char *entry_name(const struct migrate_binding *key, const char *name)
{
	g_autofree char *object = hex(key->bytes, key->len);

	return name ? g_strconcat(object, "/", name, NULL) : g_steal_pointer(&object);
}

/* Lock held.  Takes the entry; replaces one of the same object.  Whether it says something new. */
static bool put(struct errors *errors, struct error_entry *entry)
{
	char *name = entry_name(&entry->key, entry->name);
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(errors->index, name));

	errors->changed = true;
	if (at) {
		struct error_entry *old = errors->list->pdata[at - 1];
		bool news = old->status != entry->status || strcmp(old->reason, entry->reason);

		entry_free(old);
		errors->list->pdata[at - 1] = entry;
		g_free(name);
		return news;
	}
	g_ptr_array_add(errors->list, entry);
	errors->names += entry->name != NULL;
	g_hash_table_insert(errors->index, name, GUINT_TO_POINTER(errors->list->len));
	return true;
}

static void add(struct errors *errors, int fd, const char *name, char *path, int status,
		const char *reason)
{
	struct error_entry *e = g_new0(struct error_entry, 1);
	g_autofree char *line = g_strdup_printf("%s: %s (%s)", path, reason, g_strerror(-status));
	bool news;

	migrate_binding_get(fd, "", &e->key);
	e->name = g_strdup(name);
	e->path = path;
	e->reason = g_strdup(reason);
	e->status = status;
	g_mutex_lock(&errors->lock);
	news = put(errors, e);
	g_mutex_unlock(&errors->lock);
	if (news) /* not once for each attempt */
		g_warning("%s", line);
}

static char *printable(const char *path)
{
	return g_utf8_validate(path, -1, NULL) ? g_strdup(path) : g_strescape(path, NULL);
}

void errors_add_fd(struct errors *errors, int fd, int status, const char *reason)
{
	g_autofree char *raw = retriever_fd_path(fd);

	add(errors, fd, NULL, printable(raw), status, reason);
}

void errors_add_name(struct errors *errors, int dir_fd, const char *name, int status,
		     const char *reason)
{
	g_autofree char *dir = retriever_fd_path(dir_fd);
	g_autofree char *raw = g_strconcat(dir, "/", name, NULL);

	add(errors, dir_fd, name, printable(raw), status, reason);
}

/* Not as long as what is shown may be. */
char *errors_refused_name(const char *shown)
{
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA1, shown, -1);

	return *shown ? g_strconcat("/", sum, NULL) : g_strdup(ERRORS_MORE);
}

void errors_add_refused(struct errors *errors, int dir_fd, const char *shown, int status,
			const char *reason)
{
	g_autofree char *raw = retriever_fd_path(dir_fd);
	g_autofree char *dir = printable(raw);
	g_autofree char *key = errors_refused_name(shown);

	add(errors, dir_fd, key, g_strconcat(dir, "/", shown, NULL), status, reason);
}

/* Lock held; i is in the list. */
static void take_out(struct errors *errors, guint i)
{
	struct error_entry *entry = errors->list->pdata[i];
	struct error_entry *last = errors->list->pdata[errors->list->len - 1];
	g_autofree char *name = entry_name(&entry->key, entry->name);

	g_hash_table_remove(errors->index, name);
	if (entry != last) /* which takes its place */
		g_hash_table_insert(errors->index, entry_name(&last->key, last->name),
				    GUINT_TO_POINTER(i + 1));
	errors->names -= entry->name != NULL;
	g_ptr_array_remove_index_fast(errors->list, i);
	errors->changed = true;
}

void errors_forget_name(struct errors *errors, const struct migrate_binding *key, const char *name)
{
	g_autofree char *entry = NULL;
	guint at;

	g_mutex_lock(&errors->lock);
	if (name ? errors->names : errors->list->len) {
		entry = entry_name(key, name);
		at = GPOINTER_TO_UINT(g_hash_table_lookup(errors->index, entry));
		if (at)
			take_out(errors, at - 1);
	}
	g_mutex_unlock(&errors->lock);
}

bool errors_has(struct errors *errors, const struct migrate_binding *key)
{
	g_autofree char *name = entry_name(key, NULL);
	bool has;

	g_mutex_lock(&errors->lock);
	has = g_hash_table_contains(errors->index, name);
	g_mutex_unlock(&errors->lock);
	return has;
}

void errors_forget(struct errors *errors, const struct migrate_binding *key)
{
	errors_forget_name(errors, key, NULL);
}

void errors_forget_names(struct errors *errors, const struct migrate_binding *dir)
{
	g_mutex_lock(&errors->lock);
	for (guint i = errors->list->len; i-- > 0 && errors->names;) {
		struct error_entry *entry = errors->list->pdata[i];

		if (entry->name && migrate_binding_equal(&entry->key, dir))
			take_out(errors, i);
	}
	g_mutex_unlock(&errors->lock);
}

guint errors_count(struct errors *errors)
{
	guint n;

	g_mutex_lock(&errors->lock);
	n = errors->list->len;
	g_mutex_unlock(&errors->lock);
	return n;
}

gboolean errors_get(struct errors *errors, guint i, struct error_entry *entry)
{
	gboolean found;

	g_mutex_lock(&errors->lock);
	found = i < errors->list->len;
	if (found) {
		*entry = *(struct error_entry *)errors->list->pdata[i];
		entry->name = g_strdup(entry->name);
		entry->path = g_strdup(entry->path);
		entry->reason = g_strdup(entry->reason);
	}
	g_mutex_unlock(&errors->lock);
	return found;
}

GPtrArray *errors_take(struct errors *errors)
{
	GPtrArray *list;

	g_mutex_lock(&errors->lock);
	list = errors->list;
	errors->list = g_ptr_array_new_with_free_func(entry_free);
	g_hash_table_remove_all(errors->index);
	errors->names = 0;
	errors->changed = true;
	g_mutex_unlock(&errors->lock);
	return list;
}

/* The number of bytes; 0 when there are more than max. */
static size_t unhex(const char *text, void *bytes, size_t max)
{
	size_t len = strlen(text) / 2;

	if (len > max)
		return 0;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)bytes)[i] = g_ascii_xdigit_value(text[2 * i]) << 4 |
					g_ascii_xdigit_value(text[2 * i + 1]);
	return len;
}

/* Lock held. */
static char *to_text(struct errors *errors, gsize *len)
{
	g_autoptr(GKeyFile) file = g_key_file_new();

	for (guint i = 0; i < errors->list->len; i++) {
		const struct error_entry *e = errors->list->pdata[i];
		g_autofree char *group = g_strdup_printf("%u", i);
		g_autofree char *key = hex(e->key.bytes, e->key.len);
		g_autofree char *name = e->name ? hex(e->name, strlen(e->name)) : NULL;

		g_key_file_set_string(file, group, "handle", key);
		g_key_file_set_integer(file, group, "type", e->key.type);
		if (name) /* any bytes */
			g_key_file_set_string(file, group, "name", name);
		g_key_file_set_string(file, group, "path", e->path);
		g_key_file_set_string(file, group, "reason", e->reason);
		g_key_file_set_integer(file, group, "errno", -e->status);
	}
	return g_key_file_to_data(file, len, NULL);
}

void errors_save(struct errors *errors)
{
	g_autofree char *text = NULL;
	gsize len = 0;
	int dir;

	g_mutex_lock(&errors->saving);
	g_mutex_lock(&errors->lock);
	dir = errors->dir_fd;
	if (errors->changed && dir >= 0)
		text = to_text(errors, &len);
	errors->changed = false;
	g_mutex_unlock(&errors->lock);
	if (text && private_save(dir, FILE_NAME, text, len) < 0) {
		g_mutex_lock(&errors->lock);
		errors->changed = true;
		g_mutex_unlock(&errors->lock);
	}
	g_mutex_unlock(&errors->saving);
}

static void load(struct errors *errors)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *path = NULL;
	g_auto(GStrv) groups = NULL;

	if (errors->dir_fd < 0)
		return;
	path = g_strdup_printf("/proc/self/fd/%d/" FILE_NAME, errors->dir_fd);
	if (!g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL))
		return;
	groups = g_key_file_get_groups(file, NULL);
	for (char **g = groups; *g; g++) {
		struct error_entry *e = g_new0(struct error_entry, 1);
		g_autofree char *key = g_key_file_get_string(file, *g, "handle", NULL);
		g_autofree char *name = g_key_file_get_string(file, *g, "name", NULL);

		e->path = g_key_file_get_string(file, *g, "path", NULL);
		e->reason = g_key_file_get_string(file, *g, "reason", NULL);
		e->status = -g_key_file_get_integer(file, *g, "errno", NULL);
		e->key.type = g_key_file_get_integer(file, *g, "type", NULL);
		if (key)
			e->key.len = unhex(key, e->key.bytes, sizeof e->key.bytes);
		if (name) {
			e->name = g_malloc0(NAME_MAX + 1);
			unhex(name, e->name, NAME_MAX);
		}
		if (e->path && e->reason)
			put(errors, e);
		else
			entry_free(e);
	}
	errors->changed = false;
}

struct errors *errors_new(int private_fd)
{
	struct errors *errors = g_new0(struct errors, 1);

	g_mutex_init(&errors->lock);
	g_mutex_init(&errors->saving);
	errors->index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	errors->dir_fd = private_fd;
	errors->list = g_ptr_array_new_with_free_func(entry_free);
	load(errors);
	return errors;
}

void errors_set_directory(struct errors *errors, int private_fd)
{
	g_mutex_lock(&errors->saving);
	g_mutex_lock(&errors->lock);
	errors->dir_fd = private_fd;
	g_mutex_unlock(&errors->lock);
	g_mutex_unlock(&errors->saving);
}

void errors_free(struct errors *errors)
{
	if (!errors)
		return;
	g_ptr_array_free(errors->list, TRUE);
	g_hash_table_destroy(errors->index);
	g_mutex_clear(&errors->lock);
	g_mutex_clear(&errors->saving);
	g_free(errors);
}
