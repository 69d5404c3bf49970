/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "crawler/paths.h"

#include <string.h>

/* As strcmp(), but '/' comes before all other characters: "a", "a/b", "a b". */
static gint by_component(gconstpointer p, gconstpointer q)
{
	const unsigned char *a = *(unsigned char *const *)p, *b = *(unsigned char *const *)q;

	for (; *a && *a == *b; a++)
		b++;
	return (*a == '/' ? 1 : *a * 2) - (*b == '/' ? 1 : *b * 2);
}

void paths_sort(GPtrArray *paths)
{
	g_ptr_array_sort(paths, by_component);
}

void paths_take(const GPtrArray *paths, struct paths_part *part, char **name,
		struct paths_part *below, bool *whole)
{
	const char *const *all = (const char *const *)paths->pdata;
	const char *from = all[part->first] + part->prefix;
	const size_t len = strcspn(from, "/");

	*name = g_strndup(from, len);
	*whole = !from[len];
	*below = (struct paths_part){part->first, part->first, part->prefix + len + 1};
	while (part->first < part->end && !strncmp(all[part->first] + part->prefix, from, len) &&
	       strchr("/", all[part->first][part->prefix + len]))
		below->end = ++part->first;
}
