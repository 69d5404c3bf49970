/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/cluster/items.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/text.h"

#define SEPARATOR ": "

static void free_item(gpointer arg)
{
	struct item *item = arg;

	g_free(item->key);
	g_free(item->value);
	g_free(item->lack);
	g_free(item);
}

struct item *items_add(GPtrArray *items, const char *key, const char *value)
{
	struct item *item = g_new0(struct item, 1);

	item->key = text_printable(key);
	item->value = text_printable(value ? value : ITEMS_ABSENT);
	g_ptr_array_add(items, item);
	return item;
}

void items_lack(struct item *item, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	g_free(item->lack);
	item->lack = text_printable(text);
}

GPtrArray *items_new(const char *volume)
{
	GPtrArray *items = g_ptr_array_new_with_free_func(free_item);

	items_add(items, ITEMS_FIRST, volume);
	return items;
}

static const struct item *find_item(GPtrArray *items, const char *key)
{
	for (unsigned i = 0; i < items->len; i++) {
		const struct item *item = items->pdata[i];

		if (!strcmp(item->key, key))
			return item;
	}
	return NULL;
}

/* FALSE: it is no line of a listing, or stands there twice. */
static bool take_line(GPtrArray *items, char *line)
{
	char *separator = strstr(line, SEPARATOR);

	if (!separator)
		return false;
	*separator = '\0';
	if (!*line || find_item(items, line))
		return false;
	items_add(items, line, separator + strlen(SEPARATOR));
	return true;
}

GPtrArray *items_read(const char *file, const char *volume, GError **error)
{
	g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(free_item);
	g_autofree char *text = NULL;
	gsize len;

	if (!g_file_get_contents(file, &text, &len, error))
		return NULL;
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (unsigned i = 0; lines[i]; i++) {
		if ((lines[i + 1] || *lines[i]) && !take_line(items, lines[i])) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
				    "%s: line %u is none of migratectl cluster check: give what "
				    "that has printed on the other node",
				    file, i + 1);
			return NULL;
		}
	}
	const struct item *first = items->len ? items->pdata[0] : NULL;
	if (strlen(text) != len || !first || strcmp(first->key, ITEMS_FIRST) ||
	    strcmp(first->value, volume)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "%s: is not what migratectl cluster check %s prints: make it anew on "
			    "the other node",
			    file, volume);
		return NULL;
	}
	return g_steal_pointer(&items);
}

unsigned items_compare(GPtrArray *here, GPtrArray *there, items_differ_fn each, void *arg)
{
	unsigned differ = 0;

	for (unsigned i = 0; i < here->len; i++) {
		const struct item *item = here->pdata[i], *other = find_item(there, item->key);

		if (other && !strcmp(item->value, other->value))
			continue;
		each(arg, item->key, item->value, other ? other->value : NULL);
		differ++;
	}
	for (unsigned i = 0; i < there->len; i++) {
		const struct item *item = there->pdata[i];

		if (find_item(here, item->key))
			continue;
		each(arg, item->key, NULL, item->value);
		differ++;
	}
	return differ;
}
