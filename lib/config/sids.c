/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/sids.h"

#include <string.h>

#include "lib/config/parse.h"

struct sid_map {
	bool ids;
	GHashTable *one, *below; /* struct sid -> struct target; below: the SIDs before "-*" */
};

struct target {
	struct sid sid;
	uint32_t id;
};

/* ---- one SID ---- */

static uint32_t part(const struct sid *sid, unsigned i)
{
	const uint8_t *p = sid->bytes + 8 + 4 * i;

	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool add_part(struct sid *sid, uint32_t value)
{
	if (sid->bytes[1] >= SID_PARTS)
		return false;
	for (unsigned i = 0; i < 4; i++)
		sid->bytes[sid->len++] = (uint8_t)(value >> (8 * i));
	sid->bytes[1]++;
	return true;
}

/* *to is sid without its last part. */
static bool cut_part(const struct sid *sid, struct sid *to, uint32_t *last)
{
	if (!sid->bytes[1])
		return false;
	*to = *sid;
	to->bytes[1]--;
	to->len -= 4;
	memset(to->bytes + to->len, 0, 4);
	*last = part(sid, to->bytes[1]);
	return true;
}

bool sid_read(const uint8_t *bytes, uint32_t len, struct sid *sid)
{
	uint32_t need;

	memset(sid, 0, sizeof *sid);
	if (len < 8 || bytes[0] != 1 || bytes[1] > SID_PARTS)
		return false;
	need = 8 + 4 * bytes[1];
	if (len < need)
		return false;
	memcpy(sid->bytes, bytes, need);
	sid->len = (uint8_t)need;
	return true;
}

static bool parse_number(const char *text, uint64_t max, uint64_t *value)
{
	bool hex = g_str_has_prefix(text, "0x") || g_str_has_prefix(text, "0X");

	return g_ascii_string_to_unsigned(text + 2 * hex, hex ? 16 : 10, 0, max, value, NULL);
}

bool sid_parse(const char *text, struct sid *sid)
{
	g_auto(GStrv) words = g_strsplit(text, "-", -1);
	guint n = g_strv_length(words);
	uint64_t value;

	memset(sid, 0, sizeof *sid);
	if (n < 3 || (strcmp(words[0], "S") && strcmp(words[0], "s")) || strcmp(words[1], "1") ||
	    !parse_number(words[2], (UINT64_C(1) << 48) - 1, &value))
		return false;
	sid->bytes[0] = 1;
	for (unsigned i = 0; i < 6; i++)
		sid->bytes[7 - i] = (uint8_t)(value >> (8 * i));
	sid->len = 8;
	for (guint i = 3; i < n; i++)
		if (!parse_number(words[i], UINT32_MAX, &value) || !add_part(sid, (uint32_t)value))
			return false;
	return true;
}

char *sid_text(const struct sid *sid)
{
	GString *text = g_string_new("S-1-");
	uint64_t authority = 0;

	for (unsigned i = 2; i < 8; i++)
		authority = authority << 8 | sid->bytes[i];
	if (authority >> 32)
		g_string_append_printf(text, "0x%012" G_GINT64_MODIFIER "x", authority);
	else
		g_string_append_printf(text, "%" G_GUINT64_FORMAT, authority);
	for (unsigned i = 0; i < sid->bytes[1]; i++)
		g_string_append_printf(text, "-%u", part(sid, i));
	return g_string_free(text, FALSE);
}

bool sid_equal(const struct sid *a, const struct sid *b)
{
	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

static bool sid_begins(const struct sid *sid, unsigned parts, uint8_t authority, uint32_t first)
{
	static const uint8_t zeros[5];

	return sid->len && sid->bytes[1] == parts && !memcmp(sid->bytes + 2, zeros, sizeof zeros) &&
	       sid->bytes[7] == authority && part(sid, 0) == first;
}

bool sid_is(const struct sid *sid, uint8_t authority, uint32_t first)
{
	return sid_begins(sid, 1, authority, first);
}

bool sid_is_two(const struct sid *sid, uint8_t authority, uint32_t first, uint32_t second)
{
	return sid_begins(sid, 2, authority, first) && part(sid, 1) == second;
}

/* ---- maps ---- */

static guint sid_hash(gconstpointer key)
{
	const struct sid *sid = key;
	guint h = 2166136261u;

	for (unsigned i = 0; i < sid->len; i++)
		h = (h ^ sid->bytes[i]) * 16777619u;
	return h;
}

static gboolean sids_are_equal(gconstpointer a, gconstpointer b)
{
	return sid_equal(a, b);
}

/* *below: whether the word ends with "-*", which is cut off. */
static bool parse_side(const char *word, struct sid *sid, bool *below)
{
	g_autofree char *text = g_strdup(word);

	*below = g_str_has_suffix(text, "-*");
	if (*below)
		text[strlen(text) - 2] = '\0';
	return sid_parse(text, sid) && (!*below || sid->bytes[1] < SID_PARTS);
}

static bool parse_target(const struct sid_map *map, const char *word, bool below,
			 struct target *target, GError **error)
{
	bool to_below;

	if (map->ids)
		return parse_id(word, &target->id) ||
		       parse_wrong(error, "%s: an id is a number from 0 to %u", word,
				   OWNER_NONE - 1);
	if (!parse_side(word, &target->sid, &to_below))
		return parse_wrong(error, "%s: not a SID (S-1-...)", word);
	if (to_below != below)
		return parse_wrong(error, "%s: -* stands on both sides or on none", word);
	return true;
}

static bool parse_pair(struct sid_map *map, const char *word, GError **error)
{
	g_auto(GStrv) sides = g_strsplit(word, ":", 3);
	struct target target = {0};
	struct sid from;
	GHashTable *table;
	bool below;

	if (g_strv_length(sides) != 2)
		return parse_wrong(error, "%s: write %s", word,
				   map->ids ? "SID:ID or SID-*:ID" : "SID:SID or SID-*:SID-*");
	if (!parse_side(sides[0], &from, &below))
		return parse_wrong(error, "%s: not a SID (S-1-...)", sides[0]);
	if (!parse_target(map, sides[1], below, &target, error))
		return false;
	table = below ? map->below : map->one;
	if (g_hash_table_contains(table, &from))
		return parse_wrong(error, "%s is mapped twice: leave one", sides[0]);
	g_hash_table_insert(table, g_memdup2(&from, sizeof from),
			    g_memdup2(&target, sizeof target));
	return true;
}

static bool parse_all(struct sid_map *map, const char *text, GError **error)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line; line++) {
		(*line)[strcspn(*line, "#")] = '\0';
		g_auto(GStrv) words = g_strsplit_set(*line, " \t\r,", -1);
		for (char **word = words; *word; word++)
			if (**word && !parse_pair(map, *word, error))
				return false;
	}
	if (!g_hash_table_size(map->one) && !g_hash_table_size(map->below))
		return parse_wrong(error, "nothing is mapped: write %s, or remove the line",
				   map->ids ? "SID:ID" : "SID:SID");
	return true;
}

static bool parse_file(struct sid_map *map, const char *path, GError **error)
{
	g_autoptr(GError) inner = NULL;
	g_autofree char *text = NULL;
	gsize len;

	if (!g_file_get_contents(path, &text, &len, &inner))
		return parse_wrong(error, "%s", inner->message);
	if (strlen(text) != len)
		return parse_wrong(error, "%s: holds a NUL byte; it must be a text file", path);
	return parse_all(map, text, error);
}

struct sid_map *sid_map_parse(const char *text, bool ids, GError **error)
{
	struct sid_map *map = g_new0(struct sid_map, 1);

	map->ids = ids;
	map->one = g_hash_table_new_full(sid_hash, sids_are_equal, g_free, g_free);
	map->below = g_hash_table_new_full(sid_hash, sids_are_equal, g_free, g_free);
	if (text[0] == '/' ? parse_file(map, text, error) : parse_all(map, text, error))
		return map;
	sid_map_free(map);
	return NULL;
}

static void reverse_table(GHashTable *from, GHashTable *to)
{
	GHashTableIter iter;
	gpointer key, value;

	g_hash_table_iter_init(&iter, from);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct target *target = value;
		struct target back = {.sid = *(const struct sid *)key};
		const struct target *other = g_hash_table_lookup(to, &target->sid);

		/* the same one each time, in whatever order the table is */
		if (other && memcmp(&other->sid, &back.sid, sizeof back.sid) < 0)
			continue;
		g_hash_table_replace(to, g_memdup2(&target->sid, sizeof target->sid),
				     g_memdup2(&back, sizeof back));
	}
}

struct sid_map *sid_map_reverse(const struct sid_map *map)
{
	struct sid_map *back;

	if (!map)
		return NULL;
	back = g_new0(struct sid_map, 1);
	back->one = g_hash_table_new_full(sid_hash, sids_are_equal, g_free, g_free);
	back->below = g_hash_table_new_full(sid_hash, sids_are_equal, g_free, g_free);
	reverse_table(map->one, back->one);
	reverse_table(map->below, back->below);
	return back;
}

void sid_map_free(struct sid_map *map)
{
	if (!map)
		return;
	g_hash_table_unref(map->one);
	g_hash_table_unref(map->below);
	g_free(map);
}

/* *last: what is to be added to the target; 0 for an entry of one SID. */
static const struct target *find_target(const struct sid_map *map, const struct sid *sid,
					bool *below, uint32_t *last)
{
	const struct target *target;
	struct sid domain;

	*below = false;
	*last = 0;
	if (!map)
		return NULL;
	target = g_hash_table_lookup(map->one, sid);
	if (target)
		return target;
	*below = true;
	return cut_part(sid, &domain, last) ? g_hash_table_lookup(map->below, &domain) : NULL;
}

bool sid_map_find(const struct sid_map *map, const struct sid *sid, struct sid *to)
{
	uint32_t last;
	bool below;
	const struct target *target = find_target(map, sid, &below, &last);

	if (!target)
		return false;
	*to = target->sid;
	return !below || add_part(to, last);
}

bool sid_id(const struct sid_map *map, const struct sid *sid, bool group, uint32_t *id)
{
	uint32_t last;
	bool below;
	const struct target *target = find_target(map, sid, &below, &last);

	if (target) {
		if (last >= OWNER_NONE - target->id)
			return false;
		*id = target->id + last;
		return true;
	}
	if (!sid_begins(sid, 2, 22, group ? 2 : 1) || part(sid, 1) == OWNER_NONE)
		return false;
	*id = part(sid, 1);
	return true;
}

static bool is_number(const struct sid *sid, bool group)
{
	return sid_begins(sid, 2, 22, group ? 2 : 1);
}

static void set_number(struct sid *sid, uint32_t id)
{
	struct sid base = *sid;
	uint32_t last;

	cut_part(&base, sid, &last);
	add_part(sid, id);
}

void sid_renumber(const struct sid_map *map, bool group, struct sid *sid)
{
	uint32_t id;

	if (is_number(sid, group) && sid_id(map, sid, group, &id))
		set_number(sid, id);
}

/* Finds the same old id each time, in whatever order the table is. */
static bool find_number(const struct sid_map *map, bool group, uint32_t id, uint32_t *old)
{
	GHashTableIter iter;
	gpointer key, value;
	bool found = false;

	g_hash_table_iter_init(&iter, map->one);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct target *target = value;

		if (target->id != id || !is_number(key, group) || (found && *old <= part(key, 1)))
			continue;
		*old = part(key, 1);
		found = true;
	}
	return found;
}

void sid_renumber_back(const struct sid_map *map, bool group, struct sid *sid)
{
	const struct target *target;
	struct sid domain;
	uint32_t id = 0, old = 0;

	if (!map || !is_number(sid, group))
		return;
	cut_part(sid, &domain, &id);
	target = g_hash_table_lookup(map->below, &domain);
	if (find_number(map, group, id, &old))
		set_number(sid, old);
	else if (target && id >= target->id)
		set_number(sid, id - target->id);
}
