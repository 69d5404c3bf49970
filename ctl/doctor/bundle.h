/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What support is given of a volume: one text, without names of files, users or hosts, and without
 * secrets.  Of what is no number, only that is kept which stands in the programs themselves: a
 * value that is one of their strings, and of messages each two words that are neighbours there. All
 * else is "#".  The volume's name is kept.
 */
#ifndef CTL_DOCTOR_BUNDLE_H
#define CTL_DOCTOR_BUNDLE_H

#include "ctl/doctor/looks.h"

/* What stands in the programs' files.  g_hash_table_unref. */
GHashTable *bundle_words(const char *const *programs);
/* Without what is not in words.  g_free. */
char *bundle_text(GHashTable *words, const char *text);

/* Makes the tar.gz, for its user alone; there must be none yet.  config_file: NULL: the usual one;
 * units: units_ask().  FALSE with error set, one line. */
gboolean bundle_write(const char *file, const struct doctor *doctor, const char *config_file,
		      const char *units, GError **error);

#endif
