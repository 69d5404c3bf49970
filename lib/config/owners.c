/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/owners.h"
#include "lib/config/parse.h"

struct range {
	uint32_t first, last, to;
};

struct owners {
	GArray *ranges; /* of struct range, by first */
};

static bool range_contains(const struct range *range, uint32_t id)
{
	return id >= range->first && id <= range->last;
}

static uint32_t to_last(const struct range *range)
{
	return range->to + (range->last - range->first);
}

static const struct range *range_at(const struct owners *owners, guint i)
{
	return &g_array_index(owners->ranges, struct range, i);
}

static bool parse_range(const char *word, struct range *range, GError **error)
{
	g_auto(GStrv) sides = g_strsplit(word, ":", 3);
	g_auto(GStrv) ends = NULL;

	if (g_strv_length(sides) != 2)
		return parse_wrong(error, "%s: write OLD:NEW or FIRST-LAST:NEW", word);
	ends = g_strsplit(sides[0], "-", 2);
	if (!parse_id(ends[0] ? ends[0] : "", &range->first) || !parse_id(sides[1], &range->to) ||
	    (ends[1] && !parse_id(ends[1], &range->last)))
		return parse_wrong(error, "%s: an id is a number from 0 to %u", word,
				   OWNER_NONE - 1);
	if (!ends[1])
		range->last = range->first;
	if (range->last < range->first)
		return parse_wrong(error, "%s: the range ends before it begins", word);
	if (range->last - range->first > OWNER_NONE - 1 - range->to)
		return parse_wrong(error, "%s: the new ids end beyond %u", word, OWNER_NONE - 1);
	return true;
}

static gint by_first(gconstpointer a, gconstpointer b)
{
	const struct range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static gint by_to(gconstpointer a, gconstpointer b)
{
	const struct range *x = a, *y = b;

	return x->to < y->to ? -1 : x->to > y->to;
}

/* Afterwards the ranges are in the order of `first`. */
static bool check_overlaps(struct owners *owners, GError **error)
{
	g_array_sort(owners->ranges, by_to);
	for (guint i = 1; i < owners->ranges->len; i++)
		if (range_at(owners, i)->to <= to_last(range_at(owners, i - 1)))
			return parse_wrong(
				error,
				"%u and %u of the old server would both be %u: give each an "
				"id of its own",
				range_at(owners, i - 1)->first +
					(range_at(owners, i)->to - range_at(owners, i - 1)->to),
				range_at(owners, i)->first, range_at(owners, i)->to);
	g_array_sort(owners->ranges, by_first);
	for (guint i = 1; i < owners->ranges->len; i++)
		if (range_at(owners, i)->first <= range_at(owners, i - 1)->last)
			return parse_wrong(error, "%u is mapped twice: leave one",
					   range_at(owners, i)->first);
	return true;
}

static bool parse_all(struct owners *owners, const char *text, GError **error)
{
	g_auto(GStrv) words = g_strsplit_set(text, " \t,", -1);

	for (char **word = words; *word; word++) {
		struct range range;

		if (!**word)
			continue;
		if (!parse_range(*word, &range, error))
			return false;
		g_array_append_val(owners->ranges, range);
	}
	if (owners->ranges->len == 0)
		return parse_wrong(error, "nothing is mapped: write OLD:NEW, or remove the line");
	return check_overlaps(owners, error);
}

struct owners *owners_parse(const char *text, GError **error)
{
	struct owners *owners = g_new(struct owners, 1);

	owners->ranges = g_array_new(FALSE, FALSE, sizeof(struct range));
	if (parse_all(owners, text, error))
		return owners;
	owners_free(owners);
	return NULL;
}

void owners_free(struct owners *owners)
{
	if (!owners)
		return;
	g_array_unref(owners->ranges);
	g_free(owners);
}

static const struct range *find_range(const struct owners *owners, uint32_t id)
{
	guint low = 0, high = owners ? owners->ranges->len : 0;

	while (low < high) {
		guint middle = (low + high) / 2;

		if (range_contains(range_at(owners, middle), id))
			return range_at(owners, middle);
		if (id < range_at(owners, middle)->first)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

uint32_t owners_map(const struct owners *owners, uint32_t id)
{
	const struct range *range = find_range(owners, id);

	return range ? range->to + (id - range->first) : id;
}

uint32_t owners_own(const struct owners *owners, uint32_t id)
{
	return id == OWNER_NONE ? OWNER_NOBODY : owners_map(owners, id);
}

bool owners_unmap(const struct owners *owners, uint32_t id, uint32_t *old)
{
	*old = id;
	for (guint i = 0; owners && i < owners->ranges->len; i++)
		if (id >= range_at(owners, i)->to && id <= to_last(range_at(owners, i))) {
			*old = range_at(owners, i)->first + (id - range_at(owners, i)->to);
			return true;
		}
	return !find_range(owners, id);
}

bool owners_is_shared(const struct owners *owners, uint32_t id)
{
	if (!owners || find_range(owners, id))
		return false;
	for (guint i = 0; i < owners->ranges->len; i++)
		if (id >= range_at(owners, i)->to && id <= to_last(range_at(owners, i)))
			return true;
	return false;
}
