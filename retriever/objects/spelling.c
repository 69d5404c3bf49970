/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/spelling.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

static bool has_ascii_letters(const char *name)
{
	for (; *name; name++)
		if (g_ascii_isalpha(*name))
			return true;
	return false;
}

static char *swap_ascii(const char *name)
{
	char *other = g_strdup(name);

	for (char *p = other; *p; p++)
		*p = g_ascii_islower(*p) ? g_ascii_toupper(*p) : g_ascii_tolower(*p);
	return other;
}

static char *swap_letters(const char *name)
{
	GString *other = g_string_new(NULL);

	for (const char *p = name; *p; p = g_utf8_next_char(p)) {
		gunichar c = g_utf8_get_char(p);

		g_string_append_unichar(other, g_unichar_islower(c) ? g_unichar_toupper(c)
								    : g_unichar_tolower(c));
	}
	return g_string_free(other, FALSE);
}

static char *swap_form(const char *name)
{
	g_autofree char *composed = g_utf8_normalize(name, -1, G_NORMALIZE_DEFAULT_COMPOSE);

	return composed && strcmp(composed, name) ? g_steal_pointer(&composed)
						  : g_utf8_normalize(name, -1, G_NORMALIZE_DEFAULT);
}

char *spelling_other(const char *name, unsigned kind)
{
	bool ascii = has_ascii_letters(name), text = g_utf8_validate(name, -1, NULL);
	g_autofree char *other = NULL;

	if (kind == SPELLING_CASE && ascii)
		other = swap_ascii(name);
	else if (kind == SPELLING_LETTERS && !ascii && text)
		other = swap_letters(name);
	else if (kind == SPELLING_FORM && text)
		other = swap_form(name);
	return other && strcmp(other, name) && strlen(other) <= 255 ? g_steal_pointer(&other)
								    : NULL;
}

/* ---- directories ---- */

#define KINDS ((uint64_t)(SPELLING_LASTING | SPELLING_ANY))

static uint64_t hash_directory(const struct migrate_binding *directory)
{
	uint64_t number = 0xcbf29ce484222325; /* FNV-1a */

	for (unsigned i = 0; i < directory->len; i++)
		number = (number ^ directory->bytes[i]) * 0x100000001b3;
	return (number ^ number >> 32) & ~KINDS;
}

static _Atomic uint64_t *spelling_slot(struct spellings *spellings, uint64_t number)
{
	return &spellings->known[(number >> 4) % G_N_ELEMENTS(spellings->known)];
}

unsigned spellings_known(struct spellings *spellings, const struct migrate_binding *directory)
{
	uint64_t number = hash_directory(directory);
	uint64_t known = atomic_load(spelling_slot(spellings, number));

	return (known & ~KINDS) == number ? (unsigned)(known & KINDS) : 0;
}

void spellings_note(struct spellings *spellings, const struct migrate_binding *directory,
		    unsigned kinds)
{
	uint64_t number = hash_directory(directory);

	kinds |= spellings_known(spellings, directory);
	atomic_store(spelling_slot(spellings, number), number | kinds);
}
