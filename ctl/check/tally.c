/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/tally.h"

#include <string.h>

#define GROUP	  "tally"
#define BLOCK	  4096
#define SECOND_NS INT64_C(1000000000)
#define DAY_NS	  (86400 * SECOND_NS)

static const struct {
	const char *key, *title;
} types[TALLY_TYPES] = {
	[TALLY_FILES] = {"files", "files"},
	[TALLY_DIRECTORIES] = {"directories", "directories"},
	[TALLY_LINKS] = {"symbolic_links", "symbolic links"},
	[TALLY_SPECIAL] = {"special", "special files"},
};

static const struct {
	uint64_t most;
	const char *title;
} sizes[TALLY_SIZES] = {
	{0, "empty"},
	{UINT64_C(4) << 10, "up to 4 KiB"},
	{UINT64_C(64) << 10, "up to 64 KiB"},
	{UINT64_C(1) << 20, "up to 1 MiB"},
	{UINT64_C(16) << 20, "up to 16 MiB"},
	{UINT64_C(256) << 20, "up to 256 MiB"},
	{UINT64_C(4) << 30, "up to 4 GiB"},
	{UINT64_C(64) << 30, "up to 64 GiB"},
	{UINT64_MAX, "longer"},
};

static const struct {
	int64_t most;
	const char *title;
} ages[TALLY_AGES] = {
	{-1, "in the future"},		{DAY_NS, "up to a day"},
	{7 * DAY_NS, "up to a week"},	{30 * DAY_NS, "up to a month"},
	{365 * DAY_NS, "up to a year"}, {3 * 365 * DAY_NS, "up to three years"},
	{INT64_MAX, "older"},
};

const char *tally_type_key(enum tally_type type)
{
	return types[type].key;
}

const char *tally_type_title(enum tally_type type)
{
	return types[type].title;
}

const char *tally_size_title(unsigned class)
{
	return sizes[class].title;
}

const char *tally_age_title(unsigned class)
{
	return ages[class].title;
}

/* ---- the largest ones ------------------------------------------------------------------------ */

static void top_add(struct tally_top *top, const char *path, uint64_t value, double seconds)
{
	struct tally_place *places = top->places;
	unsigned at = top->n;

	if (!value || (at == TALLY_TOP && value <= places[at - 1].value))
		return;
	if (at == TALLY_TOP)
		g_free(places[--at].path);
	else
		top->n++;
	for (; at && places[at - 1].value < value; at--)
		places[at] = places[at - 1];
	places[at] = (struct tally_place){value, seconds, g_strdup(path)};
}

static size_t parent_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* Adds only the largest of each directory: else all places might be of one directory. */
static void top_add_of_parent(struct tally_top *top, const char *path, uint64_t value)
{
	const size_t len = parent_len(path);

	if (top->n == TALLY_TOP && value <= top->places[TALLY_TOP - 1].value)
		return;
	for (unsigned i = 0; i < top->n; i++) {
		struct tally_place *place = &top->places[i];

		if (parent_len(place->path) != len || strncmp(place->path, path, len) != 0)
			continue;
		if (value <= place->value)
			return;
		g_free(place->path);
		memmove(place, place + 1, (--top->n - i) * sizeof(*place));
		break;
	}
	top_add(top, path, value, 0);
}

static struct tally_top *top_of(struct tally *tally, unsigned i, const char **key)
{
	static const char *const keys[] = {"wide", "heavy", "paths", "names"};
	struct tally_top *const tops[] = {&tally->wide, &tally->heavy, &tally->paths,
					  &tally->names};

	*key = keys[i];
	return tops[i];
}

#define TOPS 4

void tally_clear(struct tally *tally)
{
	const char *key;

	for (unsigned i = 0; i < TOPS; i++) {
		struct tally_top *top = top_of(tally, i, &key);

		for (unsigned j = 0; j < top->n; j++)
			g_free(top->places[j].path);
	}
	memset(tally, 0, sizeof(*tally));
}

/* ---- counting -------------------------------------------------------------------------------- */

static enum tally_type type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return TALLY_FILES;
	case S_IFDIR:
		return TALLY_DIRECTORIES;
	case S_IFLNK:
		return TALLY_LINKS;
	default:
		return TALLY_SPECIAL;
	}
}

static unsigned size_class(uint64_t size)
{
	unsigned class = 0;

	while (size > sizes[class].most)
		class ++;
	return class;
}

static unsigned age_class(const struct tally *tally, int64_t mtime)
{
	unsigned class = 0;
	int64_t age;

	if (__builtin_sub_overflow(tally->now, mtime, &age))
		age = mtime < 0 ? INT64_MAX : -1;
	while (age > ages[class].most)
		class ++;
	return class;
}

static void add_file(struct tally *tally, const struct source_attr *attr, double part)
{
	struct tally_class *class = &tally->sizes[size_class(attr->size)];
	uint64_t blocks = attr->size / BLOCK + (attr->size % BLOCK != 0);

	class->objects++;
	class->bytes += attr->size;
	tally->bytes += attr->size;
	tally->used += attr->used;
	tally->own_bytes += part * (double)attr->size;
	tally->own_used += part * (double)attr->used;
	tally->own_blocks += part * (double)blocks * BLOCK;
	if (attr->size && attr->size <= TALLY_SMALL) {
		tally->small++;
		tally->small_bytes += attr->size;
	}
}

static void tally_name(struct tally *tally, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	unsigned depth = *path != '\0';

	for (const char *p = path; *p; p++)
		depth += *p == '/';
	tally->depth = MAX(tally->depth, depth);
	tally->name_bytes += strlen(name);
	top_add_of_parent(&tally->paths, path, strlen(path));
	top_add_of_parent(&tally->names, path, strlen(name));
}

void tally_add(struct tally *tally, const char *path, const struct source_attr *attr)
{
	const enum tally_type type = type_of(attr->mode);
	const bool shared = type != TALLY_DIRECTORIES && attr->nlink > 1;
	const double part = shared ? 1.0 / attr->nlink : 1;
	struct tally_class *age = &tally->ages[age_class(tally, attr->mtime)];

	tally->types[type]++;
	tally->own_objects += part;
	tally->linked += shared;
	tally->file_systems += attr->fs != 0;
	age->objects++;
	if (type == TALLY_FILES) {
		age->bytes += attr->size;
		add_file(tally, attr, part);
	}
	if (attr->ctime > tally->newest) {
		tally->newest = attr->ctime;
		tally->newest_seen = g_get_real_time() * 1000;
	}
	tally_name(tally, path);
}

void tally_listed(struct tally *tally, const char *path, uint64_t entries, uint64_t bytes,
		  double seconds)
{
	top_add(&tally->wide, path, entries, seconds);
	top_add(&tally->heavy, path, bytes, seconds);
}

uint64_t tally_objects(const struct tally *tally)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TALLY_TYPES; i++)
		sum += tally->types[i];
	return sum;
}

/* ---- kept ------------------------------------------------------------------------------------ */

#define WHOLE(field)                                                                               \
	{                                                                                          \
#field, offsetof(struct tally, field)                                              \
	}

static const struct {
	const char *key;
	size_t offset;
} whole[] =
	{
		WHOLE(now),	     WHOLE(bytes),	  WHOLE(used),	      WHOLE(linked),
		WHOLE(name_bytes),   WHOLE(small),	  WHOLE(asked),	      WHOLE(small_bytes),
		WHOLE(large_xattrs), WHOLE(acls),	  WHOLE(xattrs),      WHOLE(newest),
		WHOLE(newest_seen),  WHOLE(file_systems), WHOLE(xattr_bytes),
},
  parts[] = {
	  WHOLE(own_objects),
	  WHOLE(own_bytes),
	  WHOLE(own_used),
	  WHOLE(own_blocks),
};

static void save_numbers(GKeyFile *state, const char *key, const uint64_t *numbers, gsize n)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (gsize i = 0; i < n; i++)
		g_string_append_printf(text, "%" G_GUINT64_FORMAT ";", numbers[i]);
	g_key_file_set_value(state, GROUP, key, text->str);
}

static bool load_numbers(GKeyFile *state, const char *key, uint64_t *numbers, gsize n)
{
	g_auto(GStrv) list = g_key_file_get_string_list(state, GROUP, key, NULL, NULL);
	bool good = list && g_strv_length(list) == n;

	for (gsize i = 0; good && i < n; i++)
		good = g_ascii_string_to_unsigned(list[i], 10, 0, G_MAXUINT64, &numbers[i], NULL);
	return good;
}

static void save_top(GKeyFile *state, const char *key, const struct tally_top *top)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);

	for (unsigned i = 0; i < top->n; i++) {
		g_autofree char *path = g_strescape(top->places[i].path, NULL);

		g_ptr_array_add(list, g_strdup_printf("%" G_GUINT64_FORMAT " %.0f %s",
						      top->places[i].value,
						      top->places[i].seconds * 1e6, path));
	}
	g_key_file_set_string_list(state, GROUP, key, (const char *const *)list->pdata, list->len);
}

static bool load_top(GKeyFile *state, const char *key, struct tally_top *top)
{
	g_auto(GStrv) list = g_key_file_get_string_list(state, GROUP, key, NULL, NULL);

	for (unsigned i = 0; list && list[i]; i++) {
		g_auto(GStrv) fields = g_strsplit(list[i], " ", 3);
		guint64 value, us;

		if (g_strv_length(fields) != 3 ||
		    !g_ascii_string_to_unsigned(fields[0], 10, 1, G_MAXUINT64, &value, NULL) ||
		    !g_ascii_string_to_unsigned(fields[1], 10, 0, G_MAXUINT64, &us, NULL))
			return false;
		g_autofree char *path = g_strcompress(fields[2]);
		top_add(top, path, value, (double)us / 1e6);
	}
	return list != NULL;
}

static uint64_t *at(const struct tally *tally, size_t offset)
{
	return (uint64_t *)((char *)tally + offset);
}

void tally_save(const struct tally *tally, GKeyFile *state)
{
	const char *key;

	for (size_t i = 0; i < G_N_ELEMENTS(whole); i++)
		g_key_file_set_uint64(state, GROUP, whole[i].key, *at(tally, whole[i].offset));
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
		g_key_file_set_double(state, GROUP, parts[i].key,
				      *(double *)at(tally, parts[i].offset));
	g_key_file_set_uint64(state, GROUP, "depth", tally->depth);
	save_numbers(state, "types", tally->types, TALLY_TYPES);
	save_numbers(state, "sizes", &tally->sizes[0].objects, 2 * TALLY_SIZES);
	save_numbers(state, "ages", &tally->ages[0].objects, 2 * TALLY_AGES);
	for (unsigned i = 0; i < TOPS; i++) {
		const struct tally_top *top = top_of((struct tally *)tally, i, &key);

		save_top(state, key, top);
	}
}

bool tally_load(struct tally *tally, GKeyFile *state)
{
	const char *key;
	bool good = true;

	for (size_t i = 0; i < G_N_ELEMENTS(whole) && good; i++) {
		good = g_key_file_has_key(state, GROUP, whole[i].key, NULL);
		*at(tally, whole[i].offset) =
			g_key_file_get_uint64(state, GROUP, whole[i].key, NULL);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
		*(double *)at(tally, parts[i].offset) =
			g_key_file_get_double(state, GROUP, parts[i].key, NULL);
	tally->depth = (unsigned)g_key_file_get_uint64(state, GROUP, "depth", NULL);
	good = good && load_numbers(state, "types", tally->types, TALLY_TYPES) &&
	       load_numbers(state, "sizes", &tally->sizes[0].objects, 2 * TALLY_SIZES) &&
	       load_numbers(state, "ages", &tally->ages[0].objects, 2 * TALLY_AGES);
	for (unsigned i = 0; i < TOPS && good; i++) {
		struct tally_top *top = top_of(tally, i, &key);

		good = load_top(state, key, top);
	}
	return good;
}
