/* SPDX-License-Identifier: GPL-3.0-or-later */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "lib/config/rules.h"

#include <pcre2.h>
#include <string.h>

struct rule {
	char *text;    /* as it stands in the configuration */
	char *literal; /* all that it matches; or NULL: code tells */
	pcre2_code *code;
	enum rule_kind kind;
	bool directories, path; /* for directories only; against the whole path */
};

struct rules {
	GArray *list; /* of struct rule */
	bool folded;
};

static void clear_rule(gpointer data)
{
	struct rule *rule = data;

	g_free(rule->text);
	g_free(rule->literal);
	pcre2_code_free(rule->code);
}

struct rules *rules_new(bool folded)
{
	struct rules *rules = g_new0(struct rules, 1);

	rules->list = g_array_new(FALSE, FALSE, sizeof(struct rule));
	g_array_set_clear_func(rules->list, clear_rule);
	rules->folded = folded;
	return rules;
}

bool rules_folded(const struct rules *rules)
{
	return rules->folded;
}

void rules_free(struct rules *rules)
{
	if (!rules)
		return;
	g_array_unref(rules->list);
	g_free(rules);
}

static char *mistake_of(int code)
{
	PCRE2_UCHAR text[256];

	if (pcre2_get_error_message(code, text, sizeof(text)) < 0)
		return g_strdup("no pattern");
	return g_strdup_printf("no pattern: %s", (const char *)text);
}

/* The pattern without the slashes at its ends: NULL, or what is wrong. */
static char *check_components(const char *bare)
{
	g_auto(GStrv) parts = g_strsplit(bare, "/", -1);

	for (unsigned i = 0; !*bare || parts[i]; i++)
		if (!*bare || !*parts[i] || !strcmp(parts[i], ".") || !strcmp(parts[i], ".."))
			return g_strdup("names nothing: no object has an empty name, . or .. in "
					"its path");
	return *bare == '!' ? g_strdup("begins with !: what is brought all the same stands in "
				       "include; a name with that character is \\!NAME")
			    : NULL;
}

char *rules_add(struct rules *rules, enum rule_kind kind, const char *pattern)
{
	static const char *const keys[] = {
		[RULE_EXCLUDE] = "exclude",
		[RULE_INCLUDE] = "include",
		[RULE_DEFAULT] = "snapshot-directories",
	};
	const uint32_t utf = rules->folded ? PCRE2_CONVERT_UTF : 0;
	const uint32_t how =
		rules->folded ? PCRE2_UTF | PCRE2_CASELESS | PCRE2_MATCH_INVALID_UTF : 0;
	const bool directories = g_str_has_suffix(pattern, "/");
	const char *begin = pattern + (*pattern == '/');
	g_autofree char *bare = g_strndup(begin, strlen(begin) - (directories && *begin));
	struct rule rule = {.kind = kind,
			    .directories = directories,
			    .path = *pattern == '/' || strchr(bare, '/')};
	char *mistake = check_components(bare);
	PCRE2_UCHAR *regex = NULL;
	PCRE2_SIZE len = 0, offset;
	int code;

	if (mistake)
		return mistake;
	code = pcre2_pattern_convert((PCRE2_SPTR)bare, PCRE2_ZERO_TERMINATED,
				     PCRE2_CONVERT_GLOB | utf, &regex, &len, NULL);
	if (!code)
		rule.code = pcre2_compile(regex, len, how | PCRE2_DOTALL, &code, &offset, NULL);
	pcre2_converted_pattern_free(regex);
	if (!rule.code)
		return mistake_of(code);
	rule.text = g_strdup_printf("%s = %s", keys[kind], pattern);
	if (!rules->folded && !strpbrk(bare, "*?[\\"))
		rule.literal = g_steal_pointer(&bare);
	g_array_append_val(rules->list, rule);
	return NULL;
}

const char *rules_text(const struct rules *rules, unsigned i)
{
	return i < rules->list->len ? g_array_index(rules->list, struct rule, i).text : NULL;
}

char *rules_sum(const struct rules *rules)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	const char *text;

	g_checksum_update(sum, (const guchar *)(rules->folded ? "1" : "0"), 1);
	for (unsigned i = 0; (text = rules_text(rules, i)); i++)
		g_checksum_update(sum, (const guchar *)text, (gssize)strlen(text) + 1);
	return g_strdup(g_checksum_get_string(sum));
}

/* What cannot be decided, as its path is not known or within PCRE's limits, is brought. */
static bool matches(const struct rule *rule, const char *subject)
{
	if (!subject)
		return rule->kind == RULE_INCLUDE;
	if (rule->literal)
		return !strcmp(subject, rule->literal);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	const int n = data ? pcre2_match(rule->code, (PCRE2_SPTR)subject, strlen(subject), 0, 0,
					 data, NULL)
			   : PCRE2_ERROR_NOMEMORY;

	pcre2_match_data_free(data);
	return n >= 0 || (n != PCRE2_ERROR_NOMATCH && rule->kind == RULE_INCLUDE);
}

static const char *find_one(const struct rules *rules, const char *path, const char *name,
			    bool directory)
{
	const char *found = NULL;

	for (guint i = 0; i < rules->list->len; i++) {
		const struct rule *rule = &g_array_index(rules->list, struct rule, i);
		const char *subject = rule->path ? path : name;

		if ((found && rule->kind != RULE_INCLUDE) || (rule->directories && !directory) ||
		    !matches(rule, subject))
			continue;
		if (rule->kind == RULE_INCLUDE)
			return NULL;
		found = rule->text;
	}
	return found;
}

static char *join_path(const char *dir, const char *name)
{
	return !dir ? NULL : *dir ? g_strconcat(dir, "/", name, NULL) : g_strdup(name);
}

const char *rules_find(const struct rules *rules, const char *dir, const char *name,
		       enum rule_type type)
{
	g_autofree char *path = rules ? join_path(dir, name) : NULL;
	const char *found = rules ? find_one(rules, path, name, type == RULE_DIRECTORY) : NULL;

	return found && type == RULE_UNKNOWN && !find_one(rules, path, name, true) ? NULL : found;
}

bool rules_need_type(const struct rules *rules, const char *dir, const char *name)
{
	return !rules_find(rules, dir, name, RULE_FILE) !=
	       !rules_find(rules, dir, name, RULE_DIRECTORY);
}
