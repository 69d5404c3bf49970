/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What values of the configuration have in common. */
#ifndef LIB_CONFIG_PARSE_H
#define LIB_CONFIG_PARSE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define OWNER_NONE UINT32_MAX /* no id: to chown(2) it means "keep" */
/*
 * Whose is what has no owner that is known here.  The owner of a file may change its mode, so it is
 * nobody whom anybody can be: not 65534, who is also squashed clients, Samba's guests and jailed
 * processes; a number that no range of systemd, sssd, FreeIPA or containers has, the same on all
 * nodes of a cluster, and not negative to programs that think of 32 bits.
 */
#define OWNER_NOBODY	    2147483646
#define OWNER_NOBODY_BEFORE 65534 /* in volumes of earlier releases */

/* All of text is a decimal number from 0 to OWNER_NONE - 1. */
bool parse_id(const char *text, uint32_t *id);
/* "10M" -> 10485760.  FALSE when it is no size. */
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

/* The value is one of the words, whose number it is; words end with NULL, and may have gaps. */
gboolean config_take_word(unsigned *number, const char *const *words, unsigned n,
			  const struct config_place *at, GError **error);

/* *text is the value, a URL; or FALSE where taking it apart failed.  The mistake names the URL: the
 * value itself may have a password in it. */
gboolean config_take_url(char **text, const struct config_place *at, const GError *mistake,
			 GError **error);

#endif
