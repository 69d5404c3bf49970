/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/store.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "journal/store/env.h"

struct journal_store {
	struct journal_env env;
	MDB_txn *txn;	     /* NULL: nothing happened since the last commit */
	int failed;	     /* of LMDB, in this transaction */
	uint64_t generation; /* of this transaction */
	struct journal_durable state, committed;
	GHashTable *linked; /* handles, until the next commit */
	struct journal_env_pages pages;
};

struct key {
	uint8_t bytes[JOURNAL_KEY_MAX];
	MDB_val val;
};

static MDB_val *key_of(struct key *key, const struct migrate_binding *object)
{
	key->val = (MDB_val){journal_key_encode(object, key->bytes), key->bytes};
	return &key->val;
}

/* Notes a failure; not finding something is none. */
static bool note_status(struct journal_store *store, int ret)
{
	if (ret && ret != MDB_NOTFOUND && !store->failed)
		store->failed = ret;
	return ret == 0;
}

static bool begin_txn(struct journal_store *store)
{
	if (!store->txn && !store->failed) {
		note_status(store, mdb_txn_begin(store->env.env, NULL, 0, &store->txn));
		store->generation = store->committed.generation + 1;
	}
	return !store->failed;
}

void journal_store_abort(struct journal_store *store)
{
	if (store->txn)
		mdb_txn_abort(store->txn);
	store->txn = NULL;
	store->failed = 0;
	store->state = store->committed;
	g_hash_table_remove_all(store->linked);
}

bool journal_store_commit(struct journal_store *store, GError **error)
{
	MDB_val key = {5, "state"}, value = {sizeof(store->state), &store->state};
	int ret;

	begin_txn(store);
	store->state.generation = store->generation;
	if (!store->failed)
		note_status(store, mdb_put(store->txn, store->env.state, &key, &value, 0));
	ret = store->failed;
	if (!ret) {
		ret = mdb_txn_commit(store->txn);
		store->txn = NULL;
	}
	if (!ret) {
		store->committed = store->state;
		/* A reader that was killed keeps room from being used again. */
		mdb_reader_check(store->env.env, NULL);
	} else
		journal_env_fail(&store->env, ret, error);
	journal_store_abort(store);
	return !ret;
}

struct journal_store *journal_store_open(const char *dir, GError **error)
{
	struct journal_store *store = g_new0(struct journal_store, 1);
	GError *why = NULL;

	store->linked =
		g_hash_table_new_full(journal_handle_hash, journal_handle_equal, g_free, NULL);
	g_mkdir_with_parents(dir, 0700);
	if (journal_env_open(&store->env, dir, true, &why) && begin_txn(store)) {
		if (journal_env_load(&store->env, store->txn, &store->state, &why)) {
			store->committed = store->state;
		} else if (g_error_matches(why, JOURNAL_ERROR, ENOENT)) {
			g_clear_error(&why);
			store->committed.format = JOURNAL_FORMAT;
			store->committed.gap = INT64_MAX;
			store->committed.salt = (uint64_t)g_random_int() << 32 | g_random_int();
		}
		if (!why)
			journal_store_abort(store);
	}
	if (!why && !store->failed)
		return store;
	if (!why)
		journal_env_fail(&store->env, store->failed, &why);
	g_propagate_error(error, why);
	journal_store_close(store);
	return NULL;
}

void journal_store_close(struct journal_store *store)
{
	if (!store)
		return;
	if (store->txn)
		mdb_txn_abort(store->txn);
	journal_env_close(&store->env);
	g_hash_table_destroy(store->linked);
	g_free(store);
}

struct journal_durable *journal_store_state(struct journal_store *store)
{
	return &store->state;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool note_damage(struct journal_store *store)
{
	return note_status(store, MDB_CORRUPTED);
}

/* The row, or one that says nothing yet.  Whether there was one. */
static bool get_row(struct journal_store *store, const struct migrate_binding *object,
		    struct journal_row *row)
{
	struct key key;
	MDB_val value;

	memset(row, 0, sizeof(*row));
	row->handle = *object;
	journal_env_let_go(store->env.env, &store->pages);
	if (!begin_txn(store) ||
	    !note_status(store, mdb_get(store->txn, store->env.rows, key_of(&key, object), &value)))
		return false;
	return journal_row_decode(value.mv_data, value.mv_size, row) || note_damage(store);
}

static void put_row(struct journal_store *store, struct journal_row *row)
{
	uint8_t bytes[JOURNAL_VALUE_MAX];
	struct key key;
	const uint64_t before = row->generation;
	MDB_val order = {sizeof(before), (void *)&before};

	if (!begin_txn(store))
		return;
	key_of(&key, &row->handle);
	if (before && before != store->generation)
		note_status(store, mdb_del(store->txn, store->env.order, &order, &key.val));
	row->generation = store->generation;
	MDB_val value = {journal_row_encode(row, bytes), bytes};
	note_status(store, mdb_put(store->txn, store->env.rows, &key.val, &value, 0));
	if (before == store->generation)
		return;
	order.mv_data = &row->generation;
	note_status(store, mdb_put(store->txn, store->env.order, &order, &key.val, 0));
}

/* Before the flags that say so are set: a scan found it, or somebody told of a change. */
static void set_maybe(struct journal_store *store, struct journal_row *row, bool scanned)
{
	const unsigned found = JOURNAL_SCANNED | JOURNAL_DIRECTORY;
	const bool was = row->flags & JOURNAL_MAYBE;
	const bool is = scanned && (was || !(row->flags & ~found));

	if (was == is)
		return;
	row->flags ^= JOURNAL_MAYBE;
	store->state.maybe += is ? 1 : -1;
}

static bool same_place(const struct journal_row *row, const struct journal_place *place)
{
	return migrate_binding_equal(&row->parent, &place->dir) && !strcmp(row->name, place->name);
}

static void set_place(struct journal_row *row, const struct journal_place *place)
{
	if (!place) {
		row->parent.len = 0;
		row->name[0] = '\0';
	} else {
		row->parent = place->dir;
		g_strlcpy(row->name, place->name, sizeof(row->name));
	}
}

static void set_leaving(struct journal_store *store, const struct journal_row *row)
{
	const unsigned both = JOURNAL_MADE | JOURNAL_GONE;
	MDB_val nothing = {0, ""};
	struct key key;

	key_of(&key, &row->handle);
	if ((row->flags & both) == both)
		note_status(store, mdb_put(store->txn, store->env.leaving, &key.val, &nothing, 0));
	else
		note_status(store, mdb_del(store->txn, store->env.leaving, &key.val, NULL));
}

static void set_gone(struct journal_store *store, struct journal_row *row, bool gone)
{
	if (gone == !!(row->flags & JOURNAL_GONE))
		return;
	set_maybe(store, row, false);
	row->flags ^= JOURNAL_GONE;
	if (row->flags & JOURNAL_MADE)
		set_leaving(store, row);
}

void journal_store_touch(struct journal_store *store, const struct migrate_binding *object,
			 unsigned flags, const struct journal_place *place)
{
	struct journal_row row;
	const bool known = get_row(store, object, &row);
	const bool sure = !(row.flags & JOURNAL_MAYBE) || flags & JOURNAL_SCANNED;

	if (store->failed ||
	    (known && sure && row.generation == store->generation &&
	     (row.flags | flags) == row.flags && (!place || same_place(&row, place))))
		return;
	set_maybe(store, &row, flags & JOURNAL_SCANNED);
	row.flags |= flags;
	if (place)
		set_place(&row, place);
	put_row(store, &row);
}

void journal_store_linked(struct journal_store *store, const struct migrate_binding *object)
{
	g_hash_table_add(store->linked, g_memdup2(object, sizeof(*object)));
}

/* ---- names ----------------------------------------------------------------------------------- */

struct name_value {
	uint8_t bytes[1 + 1 + JOURNAL_KEY_MAX + JOURNAL_NAME_MAX];
	MDB_val val;
};

static MDB_val *name_of(struct name_value *value, enum journal_name_kind kind,
			const struct journal_place *place)
{
	struct journal_name name = {.kind = kind, .parent = place->dir};

	g_strlcpy(name.name, place->name, sizeof(name.name));
	value->val = (MDB_val){journal_name_encode(&name, value->bytes), value->bytes};
	return &value->val;
}

/* Row's key in place: whether the store has this of it. */
static bool has_name(struct journal_store *store, MDB_val *key, enum journal_name_kind kind,
		     const struct journal_place *place)
{
	struct name_value value;
	MDB_val found = *name_of(&value, kind, place);
	MDB_cursor *cursor;
	int ret;

	if (!note_status(store, mdb_cursor_open(store->txn, store->env.names, &cursor)))
		return false;
	ret = mdb_cursor_get(cursor, key, &found, MDB_GET_BOTH);
	mdb_cursor_close(cursor);
	return note_status(store, ret);
}

static void set_names_flag(struct journal_store *store, struct journal_row *row, MDB_val *key)
{
	MDB_val found;

	row->flags &= ~(unsigned)JOURNAL_NAMES;
	if (note_status(store, mdb_get(store->txn, store->env.names, key, &found)))
		row->flags |= JOURNAL_NAMES;
}

/* It has the name now (made), or has it no more: either is taken back by the other. */
static void change_name(struct journal_store *store, struct journal_row *row, bool made,
			const struct journal_place *place)
{
	const enum journal_name_kind kind = made ? JOURNAL_NAME_MADE : JOURNAL_NAME_GONE;
	const enum journal_name_kind other = made ? JOURNAL_NAME_GONE : JOURNAL_NAME_MADE;
	struct name_value value;
	struct key key;

	if (!begin_txn(store))
		return;
	key_of(&key, &row->handle);
	if (!note_status(store, mdb_del(store->txn, store->env.names, &key.val,
					name_of(&value, other, place))))
		note_status(store, mdb_put(store->txn, store->env.names, &key.val,
					   name_of(&value, kind, place), 0));
	set_names_flag(store, row, &key.val);
}

static void set_came(struct journal_store *store, struct journal_row *row, bool known,
		     const struct journal_place *place)
{
	set_maybe(store, row, false);
	if (!known)
		row->flags |= JOURNAL_MADE;
	else if (!(row->flags & JOURNAL_MADE))
		change_name(store, row, true, place);
	set_gone(store, row, false);
	set_place(row, place);
}

static void set_went(struct journal_store *store, struct journal_row *row,
		     const struct journal_place *place)
{
	set_maybe(store, row, false);
	if (!(row->flags & JOURNAL_MADE))
		change_name(store, row, false, place);
	if (same_place(row, place))
		set_place(row, NULL);
}

static unsigned kind_flag(bool directory)
{
	return directory ? JOURNAL_DIRECTORY : 0;
}

static void touch_parent(struct journal_store *store, const struct journal_place *place)
{
	journal_store_touch(store, &place->dir, JOURNAL_ENTRIES | JOURNAL_DIRECTORY, NULL);
}

void journal_store_made(struct journal_store *store, const struct migrate_binding *object,
			bool directory, const struct journal_place *place)
{
	struct journal_row row;
	const bool known =
		get_row(store, object, &row) || g_hash_table_contains(store->linked, object);

	row.flags |= kind_flag(directory);
	set_came(store, &row, known, place);
	put_row(store, &row);
	touch_parent(store, place);
}

void journal_store_removed(struct journal_store *store, const struct migrate_binding *object,
			   bool directory, const struct journal_place *place)
{
	struct journal_row row;

	get_row(store, object, &row);
	row.flags |= kind_flag(directory) | (directory ? 0 : JOURNAL_META);
	set_went(store, &row, place);
	if (directory)
		set_gone(store, &row, true);
	put_row(store, &row);
	touch_parent(store, place);
}

void journal_store_moved(struct journal_store *store, const struct migrate_binding *object,
			 bool directory, const struct journal_place *from,
			 const struct journal_place *to)
{
	struct journal_row row;
	const bool known = get_row(store, object, &row);

	row.flags |= kind_flag(directory);
	if (from)
		set_went(store, &row, from);
	if (to)
		set_came(store, &row, known || from, to);
	else
		set_gone(store, &row, true);
	put_row(store, &row);
	if (from)
		touch_parent(store, from);
	if (to)
		touch_parent(store, to);
}

void journal_store_gone(struct journal_store *store, const struct migrate_binding *object)
{
	struct journal_row row;

	if (!get_row(store, object, &row) || row.flags & JOURNAL_GONE)
		return;
	set_gone(store, &row, true);
	put_row(store, &row);
}

enum journal_was journal_store_was(struct journal_store *store,
				   const struct migrate_binding *object,
				   const struct journal_place *place)
{
	struct key key;

	if (!begin_txn(store))
		return JOURNAL_WAS_UNKNOWN;
	key_of(&key, object);
	if (has_name(store, &key.val, JOURNAL_NAME_GONE, place))
		return JOURNAL_WAS_THERE;
	return has_name(store, &key.val, JOURNAL_NAME_MADE, place) ? JOURNAL_WAS_NOT_THERE
								   : JOURNAL_WAS_UNKNOWN;
}

void journal_store_name(struct journal_store *store, const struct migrate_binding *object,
			const struct journal_place *place, bool was_there, bool is_there)
{
	static const enum journal_name_kind kinds[] = {JOURNAL_NAME_GONE, JOURNAL_NAME_MADE};
	struct name_value value;
	struct journal_row row;
	bool changed = false;
	struct key key;

	if (!get_row(store, object, &row) || row.flags & JOURNAL_MADE)
		return;
	key_of(&key, object);
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		const bool wanted = was_there != is_there &&
				    kinds[i] == (is_there ? JOURNAL_NAME_MADE : JOURNAL_NAME_GONE);

		if (wanted == has_name(store, &key.val, kinds[i], place))
			continue;
		changed = true;
		name_of(&value, kinds[i], place);
		note_status(store,
			    wanted ? mdb_put(store->txn, store->env.names, &key.val, &value.val, 0)
				   : mdb_del(store->txn, store->env.names, &key.val, &value.val));
	}
	if (!changed)
		return;
	set_names_flag(store, &row, &key.val);
	if (is_there)
		set_place(&row, place);
	put_row(store, &row);
}

void journal_store_seen(struct journal_store *store, const struct migrate_binding *object,
			unsigned flags, const struct journal_place *place, bool single)
{
	struct journal_row row;

	get_row(store, object, &row);
	set_maybe(store, &row, true);
	set_gone(store, &row, false);
	row.flags |= flags | JOURNAL_SCANNED;
	if (single && row.flags & JOURNAL_NAMES)
		change_name(store, &row, true, place);
	set_place(&row, place);
	put_row(store, &row);
}

/* ---- what is known --------------------------------------------------------------------------- */

bool journal_store_find(struct journal_store *store, const struct migrate_binding *object,
			struct journal_row *row)
{
	struct journal_row unused;

	return get_row(store, object, row ? row : &unused);
}

bool journal_store_next(struct journal_store *store, const struct migrate_binding *after,
			struct journal_row *row)
{
	struct key key = {.val = {0}};
	MDB_val value, *at = after->len ? key_of(&key, after) : &key.val;
	struct migrate_binding handle;
	MDB_cursor *cursor;
	int ret;

	if (!begin_txn(store) ||
	    !note_status(store, mdb_cursor_open(store->txn, store->env.rows, &cursor)))
		return false;
	ret = mdb_cursor_get(cursor, at, &value, after->len ? MDB_SET_RANGE : MDB_FIRST);
	if (!ret && after->len && journal_key_decode(at->mv_data, at->mv_size, &handle) &&
	    migrate_binding_equal(&handle, after))
		ret = mdb_cursor_get(cursor, at, &value, MDB_NEXT);
	if (!ret && (!journal_key_decode(at->mv_data, at->mv_size, &handle) ||
		     !journal_row_decode(value.mv_data, value.mv_size, row)))
		ret = MDB_CORRUPTED;
	mdb_cursor_close(cursor);
	row->handle = handle;
	return note_status(store, ret);
}

/* Drops the names that say what is not so. */
static bool correct_names(struct journal_store *store, struct journal_row *row,
			  journal_holds_fn holds, void *arg)
{
	g_autoptr(GArray) names = g_array_new(FALSE, FALSE, sizeof(struct journal_name));
	struct name_value encoded;
	struct key key;
	MDB_val value, *at = key_of(&key, &row->handle);
	MDB_cursor *cursor;
	unsigned wrong = 0;
	int ret;

	if (!note_status(store, mdb_cursor_open(store->txn, store->env.names, &cursor)))
		return false;
	for (ret = mdb_cursor_get(cursor, at, &value, MDB_SET); !ret;
	     ret = mdb_cursor_get(cursor, at, &value, MDB_NEXT_DUP)) {
		struct journal_name name;

		if (journal_name_decode(value.mv_data, value.mv_size, &name))
			g_array_append_val(names, name);
		else
			note_damage(store);
	}
	note_status(store, ret);
	mdb_cursor_close(cursor);
	for (unsigned i = 0; i < names->len; i++) {
		const struct journal_name *name = &g_array_index(names, struct journal_name, i);
		const struct journal_place place = {name->parent, name->name};

		if (holds(arg, &row->handle, name) == (name->kind == JOURNAL_NAME_MADE))
			continue;
		wrong++;
		note_status(store, mdb_del(store->txn, store->env.names, at,
					   name_of(&encoded, name->kind, &place)));
	}
	if (wrong == names->len)
		row->flags &= ~(unsigned)JOURNAL_NAMES;
	return wrong;
}

void journal_store_correct(struct journal_store *store, const struct migrate_binding *object,
			   bool there, journal_holds_fn holds, void *arg)
{
	struct journal_row row;
	bool changed;

	if (!get_row(store, object, &row))
		return;
	changed = row.flags & JOURNAL_NAMES && correct_names(store, &row, holds, arg);
	if (there == !!(row.flags & JOURNAL_GONE)) {
		set_gone(store, &row, !there);
		changed = true;
	}
	if (!changed)
		return;
	row.flags |= JOURNAL_SCANNED;
	put_row(store, &row);
}

void journal_store_looked(struct journal_store *store, const struct migrate_binding *object)
{
	struct journal_row row;

	if (!get_row(store, object, &row) || !(row.flags & JOURNAL_RETURNED))
		return;
	row.flags &= ~(unsigned)JOURNAL_RETURNED;
	put_row(store, &row);
}

uint64_t journal_store_leaving(struct journal_store *store)
{
	MDB_stat stat = {0};

	if (begin_txn(store))
		note_status(store, mdb_stat(store->txn, store->env.leaving, &stat));
	return stat.ms_entries;
}

void journal_store_purge(struct journal_store *store, uint64_t generation)
{
	MDB_val at, value;
	MDB_cursor *cursor;
	int ret;

	if (!begin_txn(store) ||
	    !note_status(store, mdb_cursor_open(store->txn, store->env.leaving, &cursor)))
		return;
	while (!(ret = mdb_cursor_get(cursor, &at, &value, MDB_NEXT))) {
		struct migrate_binding handle;
		struct journal_row row;
		struct key key;

		if (!journal_key_decode(at.mv_data, at.mv_size, &handle)) {
			note_damage(store);
			break;
		}
		if (get_row(store, &handle, &row) && row.generation > generation)
			continue;
		MDB_val order = {sizeof(row.generation), &row.generation};
		key_of(&key, &handle);
		note_status(store, mdb_del(store->txn, store->env.order, &order, &key.val));
		note_status(store, mdb_del(store->txn, store->env.rows, &key.val, NULL));
		note_status(store, mdb_cursor_del(cursor, 0));
	}
	note_status(store, ret);
	mdb_cursor_close(cursor);
}

void journal_store_clear(struct journal_store *store)
{
	const MDB_dbi tables[] = {store->env.rows, store->env.names, store->env.order,
				  store->env.leaving};

	if (!begin_txn(store))
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
		note_status(store, mdb_drop(store->txn, tables[i], 0));
	store->state.maybe = 0;
	g_hash_table_remove_all(store->linked);
}
