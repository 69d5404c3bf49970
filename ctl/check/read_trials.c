/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/read_trials.h"

#include <errno.h>

#define GROUP "readable"
#define SHOWN 64 /* files of one kind that are remembered while it is tried */

enum answer { UNKNOWN, TRYING, READ, REFUSED };

struct kind {
	enum answer answer;
	int status;	  /* where it is REFUSED */
	GPtrArray *paths; /* while it is tried: of files that came after */
	uint64_t more;	  /* and of how many it does not have */
};

struct read_trials {
	GMutex lock;
	struct notices *notices;
	GHashTable *kinds; /* of struct kind, by their number */
	uint64_t untried;
};

static void free_kind(gpointer p)
{
	struct kind *kind = p;

	g_clear_pointer(&kind->paths, g_ptr_array_unref);
	g_free(kind);
}

struct read_trials *read_trials_new(struct notices *notices)
{
	struct read_trials *trials = g_new0(struct read_trials, 1);

	g_mutex_init(&trials->lock);
	trials->notices = notices;
	trials->kinds = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_kind);
	return trials;
}

void read_trials_free(struct read_trials *trials)
{
	if (!trials)
		return;
	g_hash_table_unref(trials->kinds);
	g_mutex_clear(&trials->lock);
	g_free(trials);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static void mix(uint64_t *h, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < len; i++)
		*h = (*h ^ p[i]) * UINT64_C(1099511628211);
}

static uint64_t kind_of(const struct source_attr *attr, const struct source_xattrs *xattrs)
{
	const uint32_t ids[] = {attr->uid, attr->gid, attr->mode & 0777};
	uint64_t h = UINT64_C(14695981039346656037);

	mix(&h, ids, sizeof(ids));
	if (xattrs && xattrs->windows)
		mix(&h, xattrs->windows->sd, xattrs->windows->sd ? xattrs->windows->sd_len : 0);
	for (guint i = 0; xattrs && i < xattrs->list->len; i++) {
		const struct source_xattr *xattr =
			&g_array_index(xattrs->list, struct source_xattr, i);

		if (g_str_has_prefix(xattr->name, "system."))
			mix(&h, xattr->value, xattr->len);
	}
	return h;
}

/* Lock held. */
static void note_unreadable(struct read_trials *trials, const char *path, int status)
{
	const bool busy = status == -EBUSY || status == -EAGAIN;
	g_autofree char *text = g_strdup_printf("a read ends with: %s%s", g_strerror(-status),
						busy ? "" : "; give this machine the rights there");

	notices_add(trials->notices, busy ? NOTE_BUSY : NOTICE_UNREAD, path, text);
}

static struct kind *find_kind(struct read_trials *trials, uint64_t number)
{
	struct kind *kind = g_hash_table_lookup(trials->kinds, &number);

	if (kind || g_hash_table_size(trials->kinds) >= READABLE_KINDS)
		return kind;
	kind = g_new0(struct kind, 1);
	g_hash_table_insert(trials->kinds, g_memdup2(&number, sizeof(number)), kind);
	return kind;
}

/* Lock held. */
static void remember_path(struct kind *kind, const char *path)
{
	if (!kind->paths)
		kind->paths = g_ptr_array_new_with_free_func(g_free);
	if (kind->paths->len < SHOWN)
		g_ptr_array_add(kind->paths, g_strdup(path));
	else
		kind->more++;
}

bool read_trials_ask(struct read_trials *trials, const char *path, const struct source_attr *attr,
		     const struct source_xattrs *xattrs, uint64_t *number)
{
	struct kind *kind;
	bool ask = false;

	*number = kind_of(attr, xattrs);
	g_mutex_lock(&trials->lock);
	kind = find_kind(trials, *number);
	if (!kind) {
		trials->untried++;
	} else if (kind->answer == UNKNOWN) {
		kind->answer = TRYING;
		ask = true;
	} else if (kind->answer == TRYING) {
		remember_path(kind, path);
	} else if (kind->answer == REFUSED) {
		note_unreadable(trials, path, kind->status);
	}
	g_mutex_unlock(&trials->lock);
	return ask;
}

void read_trials_answer(struct read_trials *trials, uint64_t number, const char *path, int status)
{
	struct kind *kind;

	g_mutex_lock(&trials->lock);
	kind = g_hash_table_lookup(trials->kinds, &number);
	if (status == -ECANCELED || status == -ENOENT || status == -ESTALE) {
		kind->answer = UNKNOWN;
	} else {
		/* that somebody has a file open, or that it is on tape, says nothing about another
		 * file */
		kind->answer = status && status != -EBUSY && status != -EAGAIN ? REFUSED : READ;
		kind->status = status;
	}
	if (kind->answer != UNKNOWN && status)
		note_unreadable(trials, path, status);
	for (guint i = 0; kind->answer == REFUSED && kind->paths && i < kind->paths->len; i++)
		note_unreadable(trials, kind->paths->pdata[i], status);
	if (kind->answer == REFUSED)
		notices_count(trials->notices, NOTICE_UNREAD, kind->more);
	g_clear_pointer(&kind->paths, g_ptr_array_unref);
	kind->more = 0;
	g_mutex_unlock(&trials->lock);
}

uint64_t read_trials_untried(const struct read_trials *trials)
{
	return trials->untried;
}

uint64_t read_trials_kinds(const struct read_trials *trials)
{
	return g_hash_table_size(trials->kinds);
}

/* ---- kept ------------------------------------------------------------------------------------ */

void read_trials_save(struct read_trials *trials, GKeyFile *state)
{
	g_autoptr(GString) list = g_string_new(NULL);
	GHashTableIter iter;
	gpointer number, value;

	g_mutex_lock(&trials->lock);
	g_hash_table_iter_init(&iter, trials->kinds);
	while (g_hash_table_iter_next(&iter, &number, &value)) {
		const struct kind *kind = value;

		if (kind->answer == READ || kind->answer == REFUSED)
			g_string_append_printf(list, "%" G_GUINT64_FORMAT ":%d;",
					       *(guint64 *)number,
					       kind->answer == READ ? 0 : -kind->status);
	}
	g_key_file_set_value(state, GROUP, "kinds", list->str);
	g_key_file_set_uint64(state, GROUP, "untried", trials->untried);
	g_mutex_unlock(&trials->lock);
}

bool read_trials_load(struct read_trials *trials, GKeyFile *state)
{
	g_auto(GStrv) list = g_key_file_get_string_list(state, GROUP, "kinds", NULL, NULL);
	bool good = list != NULL;

	for (unsigned i = 0; good && list[i]; i++) {
		g_auto(GStrv) fields = g_strsplit(list[i], ":", 2);
		guint64 number, status;
		struct kind *kind;

		good = g_strv_length(fields) == 2 &&
		       g_ascii_string_to_unsigned(fields[0], 10, 0, G_MAXUINT64, &number, NULL) &&
		       g_ascii_string_to_unsigned(fields[1], 10, 0, 4095, &status, NULL);
		kind = good ? find_kind(trials, number) : NULL;
		good = kind != NULL;
		if (good) {
			kind->answer = status ? REFUSED : READ;
			kind->status = -(int)status;
		}
	}
	trials->untried = g_key_file_get_uint64(state, GROUP, "untried", NULL);
	return good;
}
