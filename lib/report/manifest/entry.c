/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/manifest/entry.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define SECOND 1000000000

static const char *const status_names[PROOF_STATUS_COUNT] = {
	[PROOF_SAME] = "same",
	[PROOF_NOT_SAMPLED] = "not-sampled",
	[PROOF_LOST] = "lost-attributes",
	[PROOF_CHANGED] = "changed-by-clients",
	[PROOF_MADE] = "made-by-clients",
	[PROOF_REMOVED] = "removed-by-clients",
	[PROOF_SKIPPED] = "given-up",
	[PROOF_UNFINISHED] = "unfinished",
	[PROOF_DIFFERENT] = "different",
	[PROOF_FAILED] = "failed",
};

static const struct {
	mode_t type;
	const char *name;
} types[] = {
	{S_IFREG, "file"}, {S_IFDIR, "dir"},   {S_IFLNK, "link"},    {S_IFIFO, "fifo"},
	{S_IFCHR, "char"}, {S_IFBLK, "block"}, {S_IFSOCK, "socket"},
};

const char *proof_status_name(enum proof_status status)
{
	return status_names[status];
}

void proof_entry_clear(struct proof_entry *entry)
{
	g_free(entry->path);
	g_free(entry->link);
	memset(entry, 0, sizeof *entry);
}

/* ---- names ---- */

static bool is_plain(unsigned char c)
{
	return c > ' ' && c < 0x7f && !strchr("\"#*=?[\\", c);
}

void proof_escape(GString *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = *text;

		if (is_plain(c))
			g_string_append_c(out, c);
		else
			g_string_append_printf(out, "\\%03o", c);
	}
}

static int octal(const char *p, const char *end)
{
	int value = 0;

	if (end - p < 3)
		return -1;
	for (unsigned i = 0; i < 3; i++) {
		if (p[i] < '0' || p[i] > '7')
			return -1;
		value = value * 8 + p[i] - '0';
	}
	return value;
}

char *proof_unescape(const char *text, size_t len)
{
	GString *out = g_string_sized_new(len);
	const char *end = text + len;

	while (text < end) {
		int c = (unsigned char)*text++;

		if (c == '\\') {
			c = octal(text, end);
			if (c <= 0 || c > 255 || is_plain(c))
				goto bad;
			text += 3;
		} else if (!is_plain(c)) {
			goto bad;
		}
		g_string_append_c(out, c);
	}
	if (out->len <= PROOF_PATH_MAX)
		return g_string_free(out, FALSE);
bad:
	g_string_free(out, TRUE);
	return NULL;
}

/* ---- writing ---- */

static const char *type_name(mode_t mode)
{
	for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
		if ((mode & S_IFMT) == types[i].type)
			return types[i].name;
	return "file";
}

static bool is_device(mode_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

void proof_path_format(GString *out, const char *path)
{
	g_string_append(out, *path ? "./" : ".");
	proof_escape(out, path);
}

void proof_entry_format(GString *out, const struct proof_entry *e)
{
	int64_t seconds = e->mtime / SECOND, ns = e->mtime % SECOND;

	if (ns < 0) {
		ns += SECOND;
		seconds--;
	}
	proof_path_format(out, e->path);
	g_string_append_printf(out, " type=%s mode=%04o uid=%u gid=%u", type_name(e->mode),
			       e->mode & 07777, e->uid, e->gid);
	if (S_ISREG(e->mode))
		g_string_append_printf(out, " size=%" G_GUINT64_FORMAT, e->size);
	g_string_append_printf(out, " time=%" G_GINT64_FORMAT ".%09" G_GINT64_FORMAT, seconds, ns);
	if (S_ISLNK(e->mode)) {
		g_string_append(out, " link=");
		proof_escape(out, e->link ? e->link : "");
	}
	if (is_device(e->mode))
		g_string_append_printf(out, " device=linux,%u,%u", major(e->rdev), minor(e->rdev));
	g_string_append_printf(out, " nlink=%u", e->nlink);
	if (*e->sha256)
		g_string_append_printf(out, " sha256digest=%s", e->sha256);
	g_string_append_printf(out, " tags=%s\n", status_names[e->status]);
}

/* ---- reading ---- */

char *proof_word(char **rest, const char *key)
{
	size_t len = strlen(key);
	char *word = *rest, *end;

	if (!word || strncmp(word, key, len) != 0 || word[len] != '=')
		return NULL;
	end = strchr(word, ' ');
	if (end)
		*end++ = 0;
	*rest = end;
	return word + len + 1;
}

static bool parse_unsigned(const char *text, unsigned base, uint64_t max, uint64_t *value)
{
	return text && g_ascii_string_to_unsigned(text, base, 0, max, value, NULL);
}

static bool parse_number32(char **rest, const char *key, uint32_t *value)
{
	uint64_t wide = 0;
	bool ok = parse_unsigned(proof_word(rest, key), 10, UINT32_MAX, &wide);

	*value = wide;
	return ok;
}

static bool parse_type(const char *text, mode_t *mode)
{
	for (size_t i = 0; text && i < G_N_ELEMENTS(types); i++) {
		if (!strcmp(text, types[i].name)) {
			*mode = types[i].type;
			return true;
		}
	}
	return false;
}

static bool parse_mode(const char *text, mode_t *mode)
{
	uint64_t value;

	if (!parse_unsigned(text, 8, 07777, &value))
		return false;
	*mode |= value;
	return true;
}

static bool parse_time(char *text, int64_t *mtime)
{
	char *dot = text ? strchr(text, '.') : NULL;
	int64_t seconds;
	uint64_t ns;

	if (!dot || strlen(dot + 1) != 9)
		return false;
	*dot = 0;
	if (!g_ascii_string_to_signed(text, 10, INT64_MIN / SECOND + 1, INT64_MAX / SECOND - 1,
				      &seconds, NULL) ||
	    !parse_unsigned(dot + 1, 10, SECOND - 1, &ns))
		return false;
	*mtime = seconds * SECOND + (int64_t)ns;
	return true;
}

static bool parse_device(const char *text, dev_t *rdev)
{
	unsigned high, low;
	int used = 0;

	if (!text || sscanf(text, "linux,%u,%u%n", &high, &low, &used) != 2 || text[used])
		return false;
	*rdev = makedev(high, low);
	return true;
}

static bool parse_link(const char *text, char **link)
{
	*link = text ? proof_unescape(text, strlen(text)) : NULL;
	return *link != NULL;
}

static bool parse_hash(const char *text, char hex[PROOF_HASH_HEX + 1])
{
	if (!text)
		return true;
	if (strlen(text) != PROOF_HASH_HEX || strspn(text, "0123456789abcdef") != PROOF_HASH_HEX)
		return false;
	memcpy(hex, text, PROOF_HASH_HEX + 1);
	return true;
}

bool proof_status_parse(const char *text, enum proof_status *status)
{
	for (unsigned i = 0; text && i < PROOF_STATUS_COUNT; i++) {
		if (!strcmp(text, status_names[i])) {
			*status = i;
			return true;
		}
	}
	return false;
}

char *proof_path_parse(const char *text)
{
	g_autofree char *path = NULL;
	g_auto(GStrv) names = NULL;

	if (!strcmp(text, "."))
		return g_strdup("");
	if (strncmp(text, "./", 2) != 0)
		return NULL;
	path = proof_unescape(text + 2, strlen(text + 2));
	if (!path || !*path)
		return NULL;
	names = g_strsplit(path, "/", -1);
	for (char **name = names; *name; name++)
		if (!**name || !strcmp(*name, ".") || !strcmp(*name, ".."))
			return NULL;
	return g_steal_pointer(&path);
}

static bool parse_words(char *rest, struct proof_entry *e)
{
	if (!parse_type(proof_word(&rest, "type"), &e->mode) ||
	    !parse_mode(proof_word(&rest, "mode"), &e->mode) ||
	    !parse_number32(&rest, "uid", &e->uid) || !parse_number32(&rest, "gid", &e->gid) ||
	    (S_ISREG(e->mode) &&
	     !parse_unsigned(proof_word(&rest, "size"), 10, INT64_MAX, &e->size)) ||
	    !parse_time(proof_word(&rest, "time"), &e->mtime) ||
	    (S_ISLNK(e->mode) && !parse_link(proof_word(&rest, "link"), &e->link)) ||
	    (is_device(e->mode) && !parse_device(proof_word(&rest, "device"), &e->rdev)) ||
	    !parse_number32(&rest, "nlink", &e->nlink) ||
	    !parse_hash(proof_word(&rest, "sha256digest"), e->sha256))
		return false;
	return proof_status_parse(proof_word(&rest, "tags"), &e->status) && !rest;
}

/* Whether the line is how the entry would be written. */
static bool is_formatted(const struct proof_entry *e, const char *line, size_t len)
{
	GString *again = g_string_sized_new(len + 1);
	bool same;

	proof_entry_format(again, e);
	same = again->len == len + 1 && !memcmp(again->str, line, len);
	g_string_free(again, TRUE);
	return same;
}

bool proof_entry_parse(const char *line, size_t len, struct proof_entry *entry)
{
	g_autofree char *copy = NULL;
	char *words;

	memset(entry, 0, sizeof *entry);
	if (len > PROOF_LINE_MAX || memchr(line, 0, len))
		return false;
	copy = g_strndup(line, len);
	words = strchr(copy, ' ');
	if (!words)
		return false;
	*words++ = 0;
	entry->path = proof_path_parse(copy);
	if (entry->path && parse_words(words, entry) && is_formatted(entry, line, len))
		return true;
	proof_entry_clear(entry);
	return false;
}
