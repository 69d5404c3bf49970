/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/losses.h"

#include <string.h>

#define GROUP "losses"

struct kind {
	uint64_t total;
	GPtrArray *first;    /* of struct loss_line */
	GHashTable *by_text; /* lines of first, of kinds without paths */
};

struct losses {
	GMutex lock;
	struct kind kinds[LOSS_KINDS];
};

static const struct {
	const char *key, *title;
} names[LOSS_KINDS] = {
	[LOSS_NAME] = {"name", "names that nothing can have here"},
	[LOSS_UNLISTED] = {"unlisted", "directories that the old server does not list"},
	[LOSS_UNASKED] = {"unasked", "objects of which it does not say what they have"},
	[LOSS_UNREAD] = {"unread", "files that it does not let this machine read"},
	[LOSS_TYPE] = {"type", "objects of a kind that is not known here"},
	[LOSS_LOOP] = {"loop", "directories that are in themselves, or too deep"},
	[LOSS_SIZE] = {"size", "files longer than one can be on the new file system"},
	[LOSS_SYMLINK] = {"symlink", "symbolic links longer than one can be there"},
	[LOSS_LINKS] = {"links", "names of files with more of them than one can have there"},
	[LOSS_STREAM] = {"stream", "alternate data streams"},
	[LOSS_ACL] = {"acl", "ACLs that cannot be set"},
	[LOSS_XATTR] = {"xattr", "extended attributes that cannot be set"},
	[LOSS_SOURCE] = {"source", "what objects have there and the old server cannot hand over"},
	[LOSS_OWNER] = {"owner", "owners that are not their own here"},
	[LOSS_MODE] = {"mode", "modes that do not agree with their ACL"},
	[LOSS_TIME] = {"time", "times that the new file system may not be able to store"},
	[LOSS_VOLUME] = {"volume", "what holds for many objects, or for all"},
	[NOTE_SMB_NAME] = {"smb-name", "names that SMB clients see as another one"},
	[NOTE_FOLDED] = {"folded", "names that differ from another in upper and lower case only"},
	[NOTE_SPECIAL] = {"special", "special files, which SMB clients do not see"},
	[NOTE_ELSEWHERE] = {"elsewhere", "files that the old server has to bring from elsewhere"},
	[NOTE_BUSY] = {"busy",
		       "files that somebody has open there for himself alone, or that are put off"},
	[NOTE_OWNER] = {"owner-unnamed", "owners and groups that have no name here"},
	[NOTE_PATH] = {"path", "paths longer than a program can say at once"},
};

const char *loss_key(enum loss_kind kind)
{
	return names[kind].key;
}

const char *loss_title(enum loss_kind kind)
{
	return names[kind].title;
}

enum loss_kind loss_of_report(enum report_kind kind, const char *text)
{
	static const enum loss_kind kinds[REPORT_KINDS] = {
		[REPORT_ACL] = LOSS_ACL,       [REPORT_XATTR] = LOSS_XATTR,
		[REPORT_SOURCE] = LOSS_SOURCE, [REPORT_OWNER] = LOSS_OWNER,
		[REPORT_MODE] = LOSS_MODE,     [REPORT_TIME] = LOSS_TIME,
		[REPORT_LINK] = LOSS_LINKS,    [REPORT_NAME] = LOSS_NAME,
		[REPORT_VOLUME] = LOSS_VOLUME,
	};

	return kind == REPORT_XATTR && g_str_has_prefix(text, "the stream ") ? LOSS_STREAM
									     : kinds[kind];
}

static bool has_no_path(enum loss_kind kind)
{
	return kind == LOSS_VOLUME || kind == NOTE_OWNER;
}

static void free_line(gpointer p)
{
	struct loss_line *line = p;

	g_free(line->path);
	g_free(line->text);
	g_free(line);
}

struct losses *losses_new(void)
{
	struct losses *losses = g_new0(struct losses, 1);

	g_mutex_init(&losses->lock);
	for (unsigned i = 0; i < LOSS_KINDS; i++) {
		losses->kinds[i].first = g_ptr_array_new_with_free_func(free_line);
		if (has_no_path(i))
			losses->kinds[i].by_text = g_hash_table_new(g_str_hash, g_str_equal);
	}
	return losses;
}

void losses_free(struct losses *losses)
{
	if (!losses)
		return;
	for (unsigned i = 0; i < LOSS_KINDS; i++) {
		g_clear_pointer(&losses->kinds[i].by_text, g_hash_table_unref);
		g_ptr_array_unref(losses->kinds[i].first);
	}
	g_mutex_clear(&losses->lock);
	g_free(losses);
}

/* Lock held. */
static void add_line(struct kind *kind, const char *path, const char *text, uint64_t count)
{
	struct loss_line *line = kind->by_text ? g_hash_table_lookup(kind->by_text, text) : NULL;

	kind->total += count;
	if (line) {
		line->count += count;
	} else if (kind->first->len < LOSSES_SHOWN) {
		line = g_new0(struct loss_line, 1);
		line->path = g_strdup(path);
		line->text = g_strdup(text);
		line->count = count;
		g_ptr_array_add(kind->first, line);
		if (kind->by_text)
			g_hash_table_insert(kind->by_text, line->text, line);
	}
}

void losses_add(struct losses *losses, enum loss_kind kind, const char *path, const char *text)
{
	g_mutex_lock(&losses->lock);
	add_line(&losses->kinds[kind], has_no_path(kind) ? "" : path, text, 1);
	g_mutex_unlock(&losses->lock);
}

void losses_count(struct losses *losses, enum loss_kind kind, uint64_t more)
{
	g_mutex_lock(&losses->lock);
	losses->kinds[kind].total += more;
	g_mutex_unlock(&losses->lock);
}

uint64_t losses_total(struct losses *losses, enum loss_kind kind)
{
	uint64_t total;

	g_mutex_lock(&losses->lock);
	total = losses->kinds[kind].total;
	g_mutex_unlock(&losses->lock);
	return total;
}

const GPtrArray *losses_first(const struct losses *losses, enum loss_kind kind)
{
	return losses->kinds[kind].first;
}

uint64_t losses_sum(struct losses *losses)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LOSS_NOTES; i++)
		sum += has_no_path(i) ? losses->kinds[i].first->len : losses_total(losses, i);
	return sum;
}

/* ---- kept ---- */

/* COUNT TAB PATH TAB TEXT; the list is the key file's to escape. */
static char *line_text(const struct loss_line *line)
{
	g_autofree char *path = report_escape(line->path), *text = report_escape(line->text);

	return g_strdup_printf("%" G_GUINT64_FORMAT "\t%s\t%s", line->count, path, text);
}

void losses_save(struct losses *losses, GKeyFile *state)
{
	g_mutex_lock(&losses->lock);
	for (unsigned i = 0; i < LOSS_KINDS; i++) {
		const struct kind *kind = &losses->kinds[i];
		g_autofree char *lines_key = g_strconcat(names[i].key, "-first", NULL);
		g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

		for (guint j = 0; j < kind->first->len; j++)
			g_ptr_array_add(lines, line_text(kind->first->pdata[j]));
		g_key_file_set_uint64(state, GROUP, names[i].key, kind->total);
		g_key_file_set_string_list(state, GROUP, lines_key,
					   (const char *const *)lines->pdata, lines->len);
	}
	g_mutex_unlock(&losses->lock);
}

static bool load_line(struct kind *kind, const char *line)
{
	g_auto(GStrv) fields = g_strsplit(line, "\t", 3);
	guint64 count;

	if (g_strv_length(fields) != 3 ||
	    !g_ascii_string_to_unsigned(fields[0], 10, 1, G_MAXUINT64, &count, NULL))
		return false;
	g_autofree char *path = g_strcompress(fields[1]), *text = g_strcompress(fields[2]);
	add_line(kind, path, text, count);
	return true;
}

bool losses_load(struct losses *losses, GKeyFile *state)
{
	bool good = true;

	for (unsigned i = 0; i < LOSS_KINDS && good; i++) {
		g_autofree char *lines_key = g_strconcat(names[i].key, "-first", NULL);
		g_auto(GStrv) lines =
			g_key_file_get_string_list(state, GROUP, lines_key, NULL, NULL);

		good = lines && g_strv_length(lines) <= LOSSES_SHOWN;
		for (unsigned j = 0; good && lines[j]; j++)
			good = load_line(&losses->kinds[i], lines[j]);
		losses->kinds[i].total = g_key_file_get_uint64(state, GROUP, names[i].key, NULL);
	}
	return good;
}
