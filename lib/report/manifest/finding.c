/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/manifest/finding.h"

#include <string.h>

#define RETRY "migratectl retry NAME PATH fetches it again, unless clients have written to it"

static const struct {
	const char *name, *remedy;
} kinds[PROOF_KIND_COUNT] = {
	[PROOF_CONTENT] = {"content", RETRY},
	[PROOF_TYPE] = {"type", "see which of the two is right, and copy it over the other"},
	[PROOF_ATTRIBUTES] = {"attributes", RETRY},
	[PROOF_XATTRS] = {"xattrs", RETRY},
	[PROOF_LINKS] = {"links",
			 "remove the name here and link it anew, if no client parted them"},
	[PROOF_MISSING] = {"missing", "copy it from the old server, if no client removed it"},
	[PROOF_SPELLING] = {"spelling", "rename it here to what the old server calls it"},
	[PROOF_EXTRA] = {"extra", "see who made it; it is on this side only"},
	[PROOF_UNREAD] = {"unread", "remove the reason, then compare again"},
};

void proof_finding_clear(struct proof_finding *finding)
{
	g_free(finding->path);
	g_free(finding->text);
	memset(finding, 0, sizeof *finding);
}

const char *proof_kind_name(enum proof_kind kind)
{
	return kinds[kind].name;
}

const char *proof_kind_remedy(enum proof_kind kind)
{
	return kinds[kind].remedy;
}

void proof_finding_format(GString *out, const struct proof_finding *finding)
{
	proof_path_format(out, finding->path);
	g_string_append_printf(out, " kind=%s since=%" G_GINT64_FORMAT " text=",
			       kinds[finding->kind].name, finding->since);
	proof_escape(out, finding->text);
	g_string_append_c(out, '\n');
}

static bool parse_kind(const char *text, enum proof_kind *kind)
{
	for (unsigned i = 0; text && i < PROOF_KIND_COUNT; i++) {
		if (!strcmp(text, kinds[i].name)) {
			*kind = i;
			return true;
		}
	}
	return false;
}

static bool parse_finding(char *line, struct proof_finding *f)
{
	char *rest = strchr(line, ' '), *since, *text;

	if (!rest)
		return false;
	*rest++ = 0;
	f->path = proof_path_parse(line);
	if (!f->path || !parse_kind(proof_word(&rest, "kind"), &f->kind))
		return false;
	since = proof_word(&rest, "since");
	text = proof_word(&rest, "text");
	if (!since || !text || rest ||
	    !g_ascii_string_to_signed(since, 10, 0, INT64_MAX, &f->since, NULL))
		return false;
	f->text = proof_unescape(text, strlen(text));
	return f->text != NULL;
}

bool proof_finding_parse(const char *line, size_t len, struct proof_finding *finding)
{
	g_autofree char *copy = NULL;

	memset(finding, 0, sizeof *finding);
	if (len > PROOF_LINE_MAX || memchr(line, 0, len))
		return false;
	copy = g_strndup(line, len);
	if (parse_finding(copy, finding))
		return true;
	proof_finding_clear(finding);
	return false;
}
