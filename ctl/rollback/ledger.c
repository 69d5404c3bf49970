/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keys of the store: 'o' and a handle (type, bytes) for an object; 't' and its handle while it is
 * touched; 'f' and a fileid for the handle of its object; 's' for the journal's id; 'c' when a run
 * has come to its end that looked for what the kernel does not tell.  Numbers are in the machine's
 * own byte order: the store stays on it.
 */
#include "ctl/rollback/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "journal/store/env.h"

#define MAP_BYTES ((size_t)1 << (sizeof(size_t) > 4 ? 36 : 30))
#define FORMAT	  1

struct ledger {
	char *dir;
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	int lock;
	bool write;
	bool void_; /* of another journal */
	struct journal_env_pages pages;
};

/* Follows the names; older stores have only its beginning.  What was given follows, each name with
 * a NUL. */
struct tail {
	int64_t version;
	uint64_t staged_size;
	int64_t staged_mtime;
	uint64_t elsewhere;
};

struct fixed {
	uint64_t generation, fileid, staged, size;
	int64_t mtime, ctime;
	uint32_t touching, names;
};

static bool set_store_error(const struct ledger *ledger, int code, GError **error)
{
	if (!code)
		return false;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
		    "%s: %s; is there room on its file system?", ledger->dir, mdb_strerror(code));
	return true;
}

void ledger_clear(struct ledger_entry *object)
{
	for (guint i = 0; object->names && i < object->names->len; i++)
		g_free(g_array_index(object->names, struct ledger_name, i).name);
	g_clear_pointer(&object->names, g_array_unref);
	g_clear_pointer(&object->given, g_hash_table_unref);
	*object = (struct ledger_entry){0};
}

void ledger_stage(struct ledger_entry *object, const struct stat *st)
{
	object->staged = st->st_ino;
	object->staged_size = S_ISDIR(st->st_mode) ? UINT64_MAX : (uint64_t)st->st_size;
	object->staged_mtime = migrate_ns(st->st_mtim);
}

bool ledger_is_staged(const struct ledger_entry *object, const struct stat *st)
{
	if (!object->staged || object->staged != st->st_ino)
		return false;
	return S_ISDIR(st->st_mode) ? object->staged_size == UINT64_MAX
				    : object->staged_size == (uint64_t)st->st_size &&
					      object->staged_mtime == migrate_ns(st->st_mtim);
}

void ledger_add_name(struct ledger_entry *object, const struct migrate_binding *parent,
		     const char *name)
{
	struct ledger_name added = {.parent = *parent, .name = g_strdup(name)};

	if (!object->names)
		object->names = g_array_new(FALSE, FALSE, sizeof(added));
	g_array_append_val(object->names, added);
}

void ledger_add_given(struct ledger_entry *object, GHashTable *given)
{
	GHashTableIter iter;
	gpointer name;

	if (!object->given) {
		object->given = given;
		return;
	}
	g_hash_table_iter_init(&iter, given);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		g_hash_table_add(object->given, g_strdup(name));
	g_hash_table_unref(given);
}

static MDB_val object_key(GByteArray *key, char kind, const struct migrate_binding *handle)
{
	const uint8_t head[] = {(uint8_t)kind, handle->type};

	g_byte_array_append(key, head, sizeof(head));
	g_byte_array_append(key, handle->bytes, handle->len);
	return (MDB_val){.mv_data = key->data, .mv_size = key->len};
}

static MDB_val fileid_key(uint8_t key[9], uint64_t fileid)
{
	key[0] = 'f';
	memcpy(key + 1, &fileid, sizeof(fileid));
	return (MDB_val){.mv_data = key, .mv_size = 9};
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool begin_txn(struct ledger *ledger, GError **error)
{
	return !set_store_error(
		ledger,
		mdb_txn_begin(ledger->env, NULL, ledger->write ? 0 : MDB_RDONLY, &ledger->txn),
		error);
}

static bool take_lock(struct ledger *ledger, GError **error)
{
	g_autofree char *path = g_build_filename(ledger->dir, "running", NULL);

	ledger->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (ledger->lock < 0)
		return !set_store_error(ledger, errno, error);
	if (!flock(ledger->lock, LOCK_EX | LOCK_NB))
		return true;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_AGAIN,
		    "%s: another rollback of this volume runs; wait for it, or stop "
		    "migrate-rollback@",
		    ledger->dir);
	return false;
}

/* What was carried for another journal says nothing now. */
static bool check_id(struct ledger *ledger, int64_t id, GError **error)
{
	int64_t head[] = {FORMAT, id};
	MDB_val key = {.mv_data = "s", .mv_size = 1}, value;
	int code = mdb_get(ledger->txn, ledger->dbi, &key, &value);

	if (!code && value.mv_size == sizeof(head) && !memcmp(value.mv_data, head, sizeof(head)))
		return true;
	ledger->void_ = !ledger->write;
	if (ledger->void_)
		return true;
	value = (MDB_val){.mv_data = head, .mv_size = sizeof(head)};
	code = mdb_drop(ledger->txn, ledger->dbi, 0);
	if (!code)
		code = mdb_put(ledger->txn, ledger->dbi, &key, &value, 0);
	return !set_store_error(ledger, code, error) && ledger_commit(ledger, error);
}

static bool open_store(struct ledger *ledger, int64_t id, GError **error)
{
	int code;

	if (g_mkdir_with_parents(ledger->dir, 0700) < 0)
		return !set_store_error(ledger, errno, error);
	if (ledger->write && !take_lock(ledger, error))
		return false;
	code = mdb_env_create(&ledger->env);
	if (!code)
		code = mdb_env_set_mapsize(ledger->env, MAP_BYTES);
	if (!code)
		code = mdb_env_open(ledger->env, ledger->dir, MDB_NOTLS, 0600);
	return !set_store_error(ledger, code, error) && begin_txn(ledger, error) &&
	       !set_store_error(ledger, mdb_dbi_open(ledger->txn, NULL, 0, &ledger->dbi), error) &&
	       check_id(ledger, id, error);
}

struct ledger *ledger_open(const char *dir, int64_t id, bool write, GError **error)
{
	struct ledger *ledger = g_new0(struct ledger, 1);

	ledger->dir = g_strdup(dir);
	ledger->lock = -1;
	ledger->write = write;
	if (open_store(ledger, id, error))
		return ledger;
	ledger_close(ledger);
	return NULL;
}

void ledger_close(struct ledger *ledger)
{
	if (!ledger)
		return;
	if (ledger->txn)
		mdb_txn_abort(ledger->txn);
	if (ledger->env)
		mdb_env_close(ledger->env);
	if (ledger->lock >= 0)
		close(ledger->lock);
	g_free(ledger->dir);
	g_free(ledger);
}

FILE *ledger_scratch(struct ledger *ledger, GError **error)
{
	g_autofree char *path = g_build_filename(ledger->dir, "scratch.XXXXXX", NULL);
	const int fd = g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");

	set_store_error(ledger, file ? 0 : errno, error);
	if (fd >= 0)
		unlink(path);
	return file;
}

bool ledger_commit(struct ledger *ledger, GError **error)
{
	int code = mdb_txn_commit(g_steal_pointer(&ledger->txn));

	return !set_store_error(ledger, code, error) && begin_txn(ledger, error);
}

bool ledger_was_scanned(struct ledger *ledger)
{
	MDB_val key = {.mv_data = "c", .mv_size = 1}, value;

	return !ledger->void_ && !mdb_get(ledger->txn, ledger->dbi, &key, &value);
}

bool ledger_scanned(struct ledger *ledger, bool scanned, GError **error)
{
	MDB_val key = {.mv_data = "c", .mv_size = 1}, value = {.mv_data = "", .mv_size = 0};
	int code = scanned ? mdb_put(ledger->txn, ledger->dbi, &key, &value, 0)
			   : mdb_del(ledger->txn, ledger->dbi, &key, NULL);

	return !set_store_error(ledger, code == MDB_NOTFOUND ? 0 : code, error) &&
	       ledger_commit(ledger, error);
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool take_name(const uint8_t **p, const uint8_t *end, struct ledger_entry *object)
{
	struct ledger_name name = {0};
	uint16_t len;

	if ((size_t)(end - *p) < sizeof(name.parent) + sizeof(len))
		return false;
	memcpy(&name.parent, *p, sizeof(name.parent));
	memcpy(&len, *p + sizeof(name.parent), sizeof(len));
	*p += sizeof(name.parent) + sizeof(len);
	if (end - *p < len || name.parent.len > MIGRATE_BINDING_MAX)
		return false;
	g_autofree char *text = g_strndup((const char *)*p, len);
	ledger_add_name(object, &name.parent, text);
	*p += len;
	return true;
}

static void take_given(const uint8_t *p, const uint8_t *end, struct ledger_entry *object)
{
	for (const uint8_t *next; p < end && (next = memchr(p, 0, (size_t)(end - p)));
	     p = next + 1) {
		if (!object->given)
			object->given =
				g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		g_hash_table_add(object->given, g_strdup((const char *)p));
	}
}

/* *value: the whole row. */
static bool get_fixed(struct ledger *ledger, const struct migrate_binding *handle,
		      struct fixed *fixed, MDB_val *value)
{
	g_autoptr(GByteArray) buffer = g_byte_array_new();
	MDB_val key = object_key(buffer, 'o', handle);

	*fixed = (struct fixed){0};
	journal_env_let_go(ledger->env, &ledger->pages);
	if (ledger->void_ || mdb_get(ledger->txn, ledger->dbi, &key, value) ||
	    value->mv_size < sizeof(*fixed))
		return false;
	memcpy(fixed, value->mv_data, sizeof(*fixed));
	return true;
}

bool ledger_get(struct ledger *ledger, const struct migrate_binding *handle,
		struct ledger_entry *object)
{
	struct tail tail = {0};
	struct fixed fixed;
	MDB_val value;

	*object = (struct ledger_entry){0};
	if (!get_fixed(ledger, handle, &fixed, &value))
		return false;
	*object = (struct ledger_entry){.generation = fixed.generation,
					.fileid = fixed.fileid,
					.staged = fixed.staged,
					.size = fixed.size,
					.mtime = fixed.mtime,
					.ctime = fixed.ctime,
					.touching = fixed.touching};
	const uint8_t *p = (const uint8_t *)value.mv_data + sizeof(fixed);
	const uint8_t *end = (const uint8_t *)value.mv_data + value.mv_size;
	for (uint32_t i = 0; i < fixed.names; i++)
		if (!take_name(&p, end, object))
			return true;
	memcpy(&tail, p, MIN((size_t)(end - p), sizeof(tail)));
	object->version = tail.version;
	object->staged_size = tail.staged_size;
	object->staged_mtime = tail.staged_mtime;
	object->elsewhere = tail.elsewhere;
	take_given(p + MIN((size_t)(end - p), sizeof(tail)), end, object);
	return true;
}

bool ledger_is_elsewhere(struct ledger *ledger, const struct migrate_binding *handle)
{
	struct ledger_entry object;
	const bool is = ledger_get(ledger, handle, &object) && object.elsewhere;

	ledger_clear(&object);
	return is;
}

bool ledger_is_done(struct ledger *ledger, const struct migrate_binding *handle,
		    uint64_t generation)
{
	struct fixed fixed;
	MDB_val value;

	return get_fixed(ledger, handle, &fixed, &value) && fixed.generation == generation &&
	       !fixed.touching;
}

bool ledger_find(struct ledger *ledger, uint64_t fileid, struct migrate_binding *handle)
{
	uint8_t buffer[9];
	MDB_val key = fileid_key(buffer, fileid), value;

	if (ledger->void_ || mdb_get(ledger->txn, ledger->dbi, &key, &value) ||
	    value.mv_size != sizeof(*handle))
		return false;
	memcpy(handle, value.mv_data, sizeof(*handle));
	return true;
}

static void append_names(GByteArray *bytes, const struct ledger_entry *object)
{
	for (guint i = 0; object->names && i < object->names->len; i++) {
		const struct ledger_name *name =
			&g_array_index(object->names, struct ledger_name, i);
		uint16_t len = (uint16_t)strlen(name->name);

		g_byte_array_append(bytes, (const uint8_t *)&name->parent, sizeof(name->parent));
		g_byte_array_append(bytes, (const uint8_t *)&len, sizeof(len));
		g_byte_array_append(bytes, (const uint8_t *)name->name, len);
	}
}

static void append_given(GByteArray *bytes, const struct ledger_entry *object)
{
	GHashTableIter iter;
	gpointer name;

	if (!object->given)
		return;
	g_hash_table_iter_init(&iter, object->given);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		g_byte_array_append(bytes, name, (guint)strlen(name) + 1);
}

static int mark_touching(struct ledger *ledger, const struct migrate_binding *handle, bool touching)
{
	g_autoptr(GByteArray) buffer = g_byte_array_new();
	MDB_val key = object_key(buffer, 't', handle), value = {.mv_data = "", .mv_size = 0};
	int code = touching ? mdb_put(ledger->txn, ledger->dbi, &key, &value, 0)
			    : mdb_del(ledger->txn, ledger->dbi, &key, NULL);

	return code == MDB_NOTFOUND ? 0 : code;
}

static int own_fileid(struct ledger *ledger, const struct migrate_binding *handle, uint64_t fileid)
{
	uint8_t buffer[9];
	MDB_val key = fileid_key(buffer, fileid);
	MDB_val value = {.mv_data = (void *)handle, .mv_size = sizeof(*handle)};

	return fileid ? mdb_put(ledger->txn, ledger->dbi, &key, &value, 0) : 0;
}

bool ledger_put(struct ledger *ledger, const struct migrate_binding *handle,
		const struct ledger_entry *object, GError **error)
{
	g_autoptr(GByteArray) buffer = g_byte_array_new(), bytes = g_byte_array_new();
	const struct fixed fixed = {.generation = object->generation,
				    .fileid = object->fileid,
				    .staged = object->staged,
				    .size = object->size,
				    .mtime = object->mtime,
				    .ctime = object->ctime,
				    .touching = object->touching,
				    .names = object->names ? object->names->len : 0};
	const struct tail tail = {object->version, object->staged_size, object->staged_mtime,
				  object->elsewhere};
	MDB_val key = object_key(buffer, 'o', handle), value;
	struct fixed before;
	int code;

	get_fixed(ledger, handle, &before, &value);
	g_byte_array_append(bytes, (const uint8_t *)&fixed, sizeof(fixed));
	append_names(bytes, object);
	g_byte_array_append(bytes, (const uint8_t *)&tail, sizeof(tail));
	append_given(bytes, object);
	value = (MDB_val){.mv_data = bytes->data, .mv_size = bytes->len};
	code = mdb_put(ledger->txn, ledger->dbi, &key, &value, 0);
	if (!code && object->fileid != before.fileid)
		code = own_fileid(ledger, handle, object->fileid);
	if (!code && object->staged != before.staged)
		code = own_fileid(ledger, handle, object->staged);
	if (!code && !object->touching != !before.touching)
		code = mark_touching(ledger, handle, object->touching);
	return !set_store_error(ledger, code, error);
}

void ledger_each_touching(struct ledger *ledger, ledger_fn fn, void *arg)
{
	MDB_val key = {.mv_data = "t", .mv_size = 1}, value;
	MDB_cursor *cursor;

	if (ledger->void_ || mdb_cursor_open(ledger->txn, ledger->dbi, &cursor))
		return;
	for (int code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
	     !code && *(const char *)key.mv_data == 't' && key.mv_size >= 2 &&
	     key.mv_size - 2 <= MIGRATE_BINDING_MAX;
	     code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
		const uint8_t *bytes = key.mv_data;
		struct migrate_binding handle = {.type = bytes[1],
						 .len = (uint8_t)(key.mv_size - 2)};

		memcpy(handle.bytes, bytes + 2, handle.len);
		fn(arg, &handle);
	}
	mdb_cursor_close(cursor);
}
