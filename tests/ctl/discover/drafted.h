/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An old server that configurations are drafted for, and what must be in these. */
#ifndef TESTS_CTL_DISCOVER_DRAFTED_H
#define TESTS_CTL_DISCOVER_DRAFTED_H

#include <check.h>
#include <string.h>

#include "ctl/discover/draft.h"

static inline struct inventory_share *add_share(struct inventory *found, const char *name,
						const char *comment, const char *path)
{
	struct inventory_share *share = inventory_share(found, name);

	g_free(share->comment);
	share->comment = g_strdup(comment);
	share->path = g_strdup(path);
	return share;
}

static inline void fill(struct inventory *found)
{
	struct inventory_rule *rule;

	inventory_init(found);
	inventory_export(found, "/export/home")->sec = g_strdup("sys, krb5");
	rule = inventory_rule(inventory_export(found, "/export/home"), "*");
	rule->access = RULE_RO;
	rule->squash = SQUASH_ALL;
	rule->anon_uid = 99;
	rule = inventory_rule(inventory_export(found, "/export/home"), "10.0.0.0/255.0.0.0");
	rule->access = RULE_RW;
	rule->squash = SQUASH_NONE;
	rule->sec = g_strdup("krb5p");
	inventory_rule(inventory_export(found, "/a\"; }\n"), "x; } y");
	inventory_rule(inventory_export(found, "/a\"; }\n"), "no.such.invalid");
	inventory_export(found, "/export/home/sub");
	g_ptr_array_add(add_share(found, "Home", "all of 'em", "/export/home")->settings,
			g_strdup("read only = Yes"));
	add_share(found, "Deep", "100%", "/export/home/x/y");
	add_share(found, "win", "", NULL);
	add_share(found, "C$", "", NULL);
	add_share(found, "bad]\n[x", "", NULL);
	g_ptr_array_add(inventory_share(found, "win")->left, g_strdup("preexec = /bin/false"));
}

static inline void has(const char *text, const char *words)
{
	ck_assert_msg(strstr(text, words) != NULL, "%s is not in\n%s", words, text);
}

static inline void lacks(const char *text, const char *words)
{
	ck_assert_msg(strstr(text, words) == NULL, "%s is in\n%s", words, text);
}

#endif
