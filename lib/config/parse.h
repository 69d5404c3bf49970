/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses what several keys of the configuration have in common: ids, sizes, words, URLs; and makes
 * the messages about wrong values. */
#ifndef LIB_CONFIG_PARSE_H
#define LIB_CONFIG_PARSE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define OWNER_NONE UINT32_MAX /* no id: to chown(2) it means "keep" */
/*
 * The owner of an object whose owner is not known here.  The owner of a file may change its mode,
 * so this has to be an id that no user gets: not 65534, which squashed clients, Samba's guests and
 * jailed processes have, too; but a number outside all ranges of systemd, sssd, FreeIPA and
 * containers, the same on all nodes of a cluster, and not negative as a signed 32-bit number.
 */
#define OWNER_NOBODY	    2147483646
#define OWNER_NOBODY_BEFORE 65534 /* in volumes of earlier releases */

/* TRUE if all of text is a decimal number from 0 to OWNER_NONE - 1. */
bool parse_id(const char *text, uint32_t *id);
/* "10M" -> 10485760.  FALSE: text is not a size. */
gboolean config_parse_size(const char *text, uint64_t *bytes);
/* FALSE, with error set. */
G_GNUC_PRINTF(2, 3) bool parse_wrong(GError **error, const char *format, ...);

/* Where a value stands, for the one line that says what is wrong with it. */
struct config_place {
	const char *file;
	const char *group;
	const char *key;   /* NULL: the group is wrong */
	const char *value; /* NULL: the key is missing */
};

/* FALSE, with error set. */
gboolean config_wrong(GError **error, const struct config_place *at, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Sets *number to the index of the value among the n words, some of which may be NULL.  FALSE, with
 * error set: it is no such word. */
gboolean config_take_word(unsigned *number, const char *const *words, unsigned n,
			  const struct config_place *at, GError **error);

/* Sets *text to the value, a URL; or FALSE, with error set, if mistake says that parsing it failed.
 * The mistake names the URL as it may be shown: the value itself may have a password in it. */
gboolean config_take_url(char **text, const struct config_place *at, const GError *mistake,
			 GError **error);

#endif
