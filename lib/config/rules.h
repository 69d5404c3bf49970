/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rules: what of the old server's tree is left out, and so is not brought (exclude, include,
 * snapshot-directories).
 *
 * A pattern is one of gitignore(5), without its "!".  Without a slash it names objects at any
 * depth; with one at the beginning or inside it names paths from the source's root; with one at the
 * end directories only.  '*', '?' and [...] do not match a slash, "**" does.  Names are bytes;
 * those of an SMB server are UTF-8, and upper and lower case are one.
 *
 * An object is left out if an exclude, or a default rule, names it and no include does, whatever
 * the order.  Only the object itself is looked at, not what it is in: a directory that is left out
 * is never listed, so that an include can bring nothing of what is in it.
 */
#ifndef LIB_CONFIG_RULES_H
#define LIB_CONFIG_RULES_H

#include <glib.h>
#include <stdbool.h>

enum rule_kind { RULE_EXCLUDE, RULE_INCLUDE, RULE_DEFAULT };
/* RULE_UNKNOWN: it is left out whatever it is. */
enum rule_type { RULE_FILE, RULE_DIRECTORY, RULE_UNKNOWN };

struct rules;

/* folded: upper and lower case are one. */
struct rules *rules_new(bool folded);
void rules_free(struct rules *rules);
/* As rules_new() was told. */
bool rules_folded(const struct rules *rules);
/* NULL; or why the pattern is none, and what to do (g_free): then it is not added. */
char *rules_add(struct rules *rules, enum rule_kind kind, const char *pattern);

/* The rules as they stand in the configuration, one after the other; NULL: there is no such one. */
const char *rules_text(const struct rules *rules, unsigned i);

/* A sum of all of them: rules with the same sum are the same.  g_free. */
char *rules_sum(const struct rules *rules);

/* The rule that leaves out the object of that name in the directory dir, as it stands in the
 * configuration ("exclude = *.tmp"); NULL: none does, or rules is NULL.  dir: below the source's
 * root; NULL: it is not known; then no exclude with a path names the object, and every include with
 * one may.  Any thread. */
const char *rules_find(const struct rules *rules, const char *dir, const char *name,
		       enum rule_type type);
/* Whether that depends on what the object is. */
bool rules_need_type(const struct rules *rules, const char *dir, const char *name);

#endif
