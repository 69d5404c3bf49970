/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/errors_list.h"

#include <string.h>

struct errors_hashes errors_list_hashes(struct errors_list *list, const struct error_entry *e)
{
	struct errors_hashes h;

	h.object = errors_hash(list->secret, &e->key, offsetof(struct migrate_binding, bytes));
	h.object = h.entry = errors_hash(h.object, e->key.bytes, e->key.len);
	if (e->name)
		h.entry = errors_hash(h.object, e->name, strlen(e->name));
	h.path = e->path ? (uint32_t)errors_hash(list->secret, e->path, strlen(e->path)) | 1 : 0;
	return h;
}

enum errors_news errors_list_put(struct errors_list *list, const struct error_entry *e,
				 struct errors_hashes h, uint64_t offset)
{
	guint reason = errors_reasons_use(&list->reasons, e->reason, e->status, e->code);
	uint32_t place = errors_index_find(&list->index, h.entry);
	struct errors_slot *slot = errors_index_at(&list->index, place);
	struct error_reason *of = errors_reasons_at(&list->reasons, reason);
	enum errors_news news = ERRORS_NEWS_REASON;

	if (of->count == 1 || e->since < of->since)
		of->since = e->since;
	if (slot) {
		errors_reasons_leave(&list->reasons, slot->reason);
		if (slot->reason == reason && !ERRORS_REASON_OTHER(reason))
			news = slot->path == h.path ? ERRORS_NEWS_NONE : ERRORS_NEWS_LINE;
	} else {
		slot = errors_index_add(&list->index, h.object, h.entry);
	}
	slot->reason = reason;
	slot->path = h.path;
	if (news)
		slot->offset = offset;
	return news;
}

void errors_list_append(struct errors_list *list, const char *line, size_t len)
{
	g_string_append_len(list->pending, line, (gssize)len);
	list->next += len;
	list->lines++;
}

void errors_list_change(struct errors_list *list, enum error_change change,
			const struct error_entry *e)
{
	g_autofree char *line = error_entry_line(change, e);
	size_t len = strlen(line);

	/* without it something is listed that is over, until somebody looks at it (control.c) */
	if (list->pending->len + len <= ERRORS_PENDING_MAX)
		errors_list_append(list, line, len);
}

void errors_list_remove(struct errors_list *list, uint32_t place)
{
	errors_reasons_leave(&list->reasons, errors_index_at(&list->index, place)->reason);
	errors_index_remove(&list->index, place);
}

bool errors_list_remove_names(struct errors_list *list, uint64_t directory)
{
	uint32_t place, before = list->index.names;

	while ((place = errors_index_name(&list->index, directory, 0)))
		errors_list_remove(list, place);
	return list->index.names != before;
}

void errors_list_clear(struct errors_list *list)
{
	errors_index_clear(&list->index);
	errors_reasons_clear(&list->reasons);
	errors_reasons_init(&list->reasons);
}

/* Whether the reason of a slot may match, as far as that is known without its line. */
static bool may_match(struct errors_list *list, const struct errors_slot *slot,
		      const struct errors_filter *filter)
{
	const struct error_reason *of = errors_reasons_at(&list->reasons, slot->reason);

	if (!filter || (filter->code && filter->code != of->code))
		return !filter;
	return !filter->reason || ERRORS_REASON_OTHER(slot->reason) ||
	       strstr(of->text, filter->reason);
}

bool errors_list_next(struct errors_list *list, guint *place, const struct errors_filter *filter,
		      uint64_t *offset)
{
	struct errors_slot *slot;

	for (; *place < list->index.used; (*place)++) {
		slot = errors_index_at(&list->index, *place + 1);
		if (slot && may_match(list, slot, filter)) {
			*offset = slot->offset;
			return true;
		}
	}
	return false;
}

void errors_list_init(struct errors_list *list)
{
	list->secret = (uint64_t)g_random_int() << 32 | g_random_int();
	list->pending = g_string_new(NULL);
	errors_reasons_init(&list->reasons);
}

void errors_list_free(struct errors_list *list)
{
	errors_index_clear(&list->index);
	errors_reasons_clear(&list->reasons);
	g_string_free(list->pending, TRUE);
}
