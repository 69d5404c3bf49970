/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/notices.h"

#define GROUP "losses"

struct kind {
	uint64_t total;
	guint max;	     /* lines */
	GPtrArray *first;    /* of struct notice_line */
	GHashTable *by_text; /* lines of first, of kinds without paths */
};

struct notices {
	GMutex lock;
	struct kind kinds[NOTICE_KINDS];
};

static const struct {
	const char *key, *title;
} names[NOTICE_KINDS] = {
	[NOTICE_UNLISTED] = {"unlisted", "directories that the old server does not list"},
	[NOTICE_NAME] = {"name", "names that nothing can have here"},
	[NOTICE_UNASKED] = {"unasked", "objects of which it does not say what they have"},
	[NOTICE_UNREAD] = {"unread", "files that it does not let this machine read"},
	[NOTICE_TYPE] = {"type", "objects of a kind that is not known here"},
	[NOTICE_LOOP] = {"loop", "directories that are in themselves, or too deep"},
	[NOTICE_SIZE] = {"size", "files longer than one can be on the new file system"},
	[NOTICE_SYMLINK] = {"symlink", "symbolic links longer than one can be there"},
	[NOTICE_LINKS] = {"links", "names of files with more of them than one can have there"},
	[NOTICE_STREAM] = {"stream", "alternate data streams"},
	[NOTICE_ACL] = {"acl", "ACLs that cannot be set"},
	[NOTICE_XATTR] = {"xattr", "extended attributes that cannot be set"},
	[NOTICE_SOURCE] = {"source", "what objects have there and the old server cannot hand over"},
	[NOTICE_OWNER] = {"owner", "owners that are not their own here"},
	[NOTICE_MODE] = {"mode", "modes that do not agree with their ACL"},
	[NOTICE_TIME] = {"time", "times that the new file system may not be able to store"},
	[NOTICE_RETENTION] = {"retention", "files that must not be changed there"},
	[NOTICE_VOLUME] = {"volume", "what holds for many objects, or for all"},
	[NOTE_SMB_NAME] = {"smb-name", "names that SMB clients see as another one"},
	[NOTE_FOLDED] = {"folded", "names that differ from another in upper and lower case only"},
	[NOTE_SPECIAL] = {"special", "special files, which SMB clients do not see"},
	[NOTE_ELSEWHERE] = {"elsewhere", "files that the old server has to bring from elsewhere"},
	[NOTE_BUSY] = {"busy",
		       "files that somebody has open there for himself alone, or that are put off"},
	[NOTE_OWNER] = {"owner-unnamed", "owners and groups that have no name here"},
	[NOTE_OWNERS] = {"owners", "owners and groups of objects there"},
	[NOTE_RULE] = {"left-out", "objects that rules leave out, without what is in them"},
	[NOTE_PATH] = {"path", "paths longer than a program can say at once"},
};

const char *notice_key(enum notice_kind kind)
{
	return names[kind].key;
}

const char *notice_title(enum notice_kind kind)
{
	return names[kind].title;
}

enum notice_kind notice_of_loss(enum loss_kind kind, const char *text)
{
	static const enum notice_kind kinds[LOSS_KINDS] = {
		[LOSS_ACL] = NOTICE_ACL,
		[LOSS_XATTR] = NOTICE_XATTR,
		[LOSS_SOURCE] = NOTICE_SOURCE,
		[LOSS_OWNER] = NOTICE_OWNER,
		[LOSS_MODE] = NOTICE_MODE,
		[LOSS_TIME] = NOTICE_TIME,
		[LOSS_LINK] = NOTICE_LINKS,
		[LOSS_NAME] = NOTICE_NAME,
		[LOSS_RETENTION] = NOTICE_RETENTION,
		[LOSS_RULE] = NOTE_RULE,
		[LOSS_VOLUME] = NOTICE_VOLUME,
	};

	return kind == LOSS_XATTR && g_str_has_prefix(text, "the stream ") ? NOTICE_STREAM
									   : kinds[kind];
}

static bool has_no_path(enum notice_kind kind)
{
	return kind == NOTICE_VOLUME || kind == NOTE_OWNER || kind == NOTE_OWNERS ||
	       kind == NOTE_RULE;
}

static void free_line(gpointer p)
{
	struct notice_line *line = p;

	g_free(line->path);
	g_free(line->text);
	g_free(line);
}

struct notices *notices_new(void)
{
	struct notices *notices = g_new0(struct notices, 1);

	g_mutex_init(&notices->lock);
	for (unsigned i = 0; i < NOTICE_KINDS; i++) {
		notices->kinds[i].max = i == NOTE_OWNERS ? NOTICES_OWNERS : NOTICES_SHOWN;
		notices->kinds[i].first = g_ptr_array_new_with_free_func(free_line);
		if (has_no_path(i))
			notices->kinds[i].by_text = g_hash_table_new(g_str_hash, g_str_equal);
	}
	return notices;
}

void notices_free(struct notices *notices)
{
	if (!notices)
		return;
	for (unsigned i = 0; i < NOTICE_KINDS; i++) {
		g_clear_pointer(&notices->kinds[i].by_text, g_hash_table_unref);
		g_ptr_array_unref(notices->kinds[i].first);
	}
	g_mutex_clear(&notices->lock);
	g_free(notices);
}

/* Lock held. */
static void add_line(struct kind *kind, const char *path, const char *text, uint64_t count,
		     uint64_t bytes)
{
	struct notice_line *line = kind->by_text ? g_hash_table_lookup(kind->by_text, text) : NULL;

	kind->total += count;
	if (line) {
		line->count += count;
		line->bytes += bytes;
	} else if (kind->first->len < kind->max) {
		line = g_new0(struct notice_line, 1);
		line->path = g_strdup(path);
		line->text = g_strdup(text);
		line->count = count;
		line->bytes = bytes;
		g_ptr_array_add(kind->first, line);
		if (kind->by_text)
			g_hash_table_insert(kind->by_text, line->text, line);
	}
}

void notices_add(struct notices *notices, enum notice_kind kind, const char *path, const char *text)
{
	g_mutex_lock(&notices->lock);
	add_line(&notices->kinds[kind], has_no_path(kind) ? "" : path, text, 1, 0);
	g_mutex_unlock(&notices->lock);
}

void notices_add_rule(struct notices *notices, const char *rule, uint64_t bytes)
{
	g_mutex_lock(&notices->lock);
	add_line(&notices->kinds[NOTE_RULE], "", rule, 1, bytes);
	g_mutex_unlock(&notices->lock);
}

void notices_count(struct notices *notices, enum notice_kind kind, uint64_t more)
{
	g_mutex_lock(&notices->lock);
	notices->kinds[kind].total += more;
	g_mutex_unlock(&notices->lock);
}

uint64_t notices_total(struct notices *notices, enum notice_kind kind)
{
	uint64_t total;

	g_mutex_lock(&notices->lock);
	total = notices->kinds[kind].total;
	g_mutex_unlock(&notices->lock);
	return total;
}

const GPtrArray *notices_first(const struct notices *notices, enum notice_kind kind)
{
	return notices->kinds[kind].first;
}

uint64_t notices_sum(struct notices *notices)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < NOTICE_NOTES; i++)
		sum += has_no_path(i) ? notices->kinds[i].first->len : notices_total(notices, i);
	return sum;
}

/* ---- kept ---- */

/* COUNT TAB PATH TAB TEXT, or BYTES for a path; the list is the key file's to escape. */
static char *line_text(const struct notice_line *line)
{
	g_autofree char *path = line->bytes ? g_strdup_printf("%" G_GUINT64_FORMAT, line->bytes)
					    : loss_escape(line->path);
	g_autofree char *text = loss_escape(line->text);

	return g_strdup_printf("%" G_GUINT64_FORMAT "\t%s\t%s", line->count, path, text);
}

void notices_save(struct notices *notices, GKeyFile *state)
{
	g_mutex_lock(&notices->lock);
	for (unsigned i = 0; i < NOTICE_KINDS; i++) {
		const struct kind *kind = &notices->kinds[i];
		g_autofree char *lines_key = g_strconcat(names[i].key, "-first", NULL);
		g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

		for (guint j = 0; j < kind->first->len; j++)
			g_ptr_array_add(lines, line_text(kind->first->pdata[j]));
		g_key_file_set_uint64(state, GROUP, names[i].key, kind->total);
		g_key_file_set_string_list(state, GROUP, lines_key,
					   (const char *const *)lines->pdata, lines->len);
	}
	g_mutex_unlock(&notices->lock);
}

static bool load_line(struct kind *kind, const char *line)
{
	g_auto(GStrv) fields = g_strsplit(line, "\t", 3);
	guint64 count;

	if (g_strv_length(fields) != 3 ||
	    !g_ascii_string_to_unsigned(fields[0], 10, 1, G_MAXUINT64, &count, NULL))
		return false;
	g_autofree char *path = g_strcompress(fields[1]), *text = g_strcompress(fields[2]);
	if (kind->by_text)
		add_line(kind, "", text, count, g_ascii_strtoull(path, NULL, 10));
	else
		add_line(kind, path, text, count, 0);
	return true;
}

bool notices_load(struct notices *notices, GKeyFile *state)
{
	bool good = true;

	for (unsigned i = 0; i < NOTICE_KINDS && good; i++) {
		g_autofree char *lines_key = g_strconcat(names[i].key, "-first", NULL);
		g_auto(GStrv) lines =
			g_key_file_get_string_list(state, GROUP, lines_key, NULL, NULL);

		good = lines && g_strv_length(lines) <= notices->kinds[i].max;
		for (unsigned j = 0; good && lines[j]; j++)
			good = load_line(&notices->kinds[i], lines[j]);
		notices->kinds[i].total = g_key_file_get_uint64(state, GROUP, names[i].key, NULL);
	}
	return good;
}
