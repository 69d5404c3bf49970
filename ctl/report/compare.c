/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/compare.h"

#include <string.h>
#include <sys/stat.h>

#include "ctl/report/tree.h"
#include "lib/base/text.h"
#include "lib/report/manifest/sorter.h"

struct comparison {
	compare_fn fn;
	void *arg;
	struct compare_count *count;
};

static void differs(struct comparison *c, const char *path, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

static void differs(struct comparison *c, const char *path, const char *format, ...)
{
	g_autofree char *what = NULL;
	va_list args;

	va_start(args, format);
	what = g_strdup_vprintf(format, args);
	va_end(args);
	c->count->differences++;
	c->fn(c->arg, *path ? path : ".", what);
}

static void unreadable(void *arg, const char *path, const char *why)
{
	differs(arg, path, "it cannot be read: %s", why);
}

/* Whether the tree must have it, must not, or may. */
enum presence { MUST, MUST_NOT, MAY };

static enum presence presence_of(enum proof_status status)
{
	switch (status) {
	case PROOF_REMOVED:
	case PROOF_SKIPPED:
		return MUST_NOT;
	case PROOF_UNFINISHED:
	case PROOF_DIFFERENT:
	case PROOF_FAILED:
		return MAY;
	default:
		return MUST;
	}
}

static void compare_content(struct comparison *c, const struct proof_entry *wanted,
			    const struct proof_entry *here)
{
	if (here->status == PROOF_UNFINISHED)
		differs(c, wanted->path, "it is not whole in the tree");
	else if (here->size != wanted->size)
		differs(c, wanted->path, "it has " TEXT_COUNT ", not %" G_GUINT64_FORMAT,
			TEXT_COUNTED(here->size, "bytes"), wanted->size);
	else if (*wanted->sha256 && *here->sha256 && strcmp(here->sha256, wanted->sha256) != 0)
		differs(c, wanted->path, "its content is another");
	else if (*wanted->sha256 && *here->sha256)
		c->count->hashed++;
}

static char *time_text(int64_t ns)
{
	int64_t part = ns % 1000000000;

	part += part < 0 ? 1000000000 : 0;
	return g_strdup_printf("%" G_GINT64_FORMAT ".%09" G_GINT64_FORMAT, (ns - part) / 1000000000,
			       part);
}

static void compare_attributes(struct comparison *c, const struct proof_entry *wanted,
			       const struct proof_entry *here)
{
	if (here->mode != wanted->mode && !S_ISLNK(wanted->mode))
		differs(c, wanted->path, "its mode is %04o, not %04o", here->mode & 07777,
			wanted->mode & 07777);
	if (here->uid != wanted->uid || here->gid != wanted->gid)
		differs(c, wanted->path, "its owner is %u:%u, not %u:%u", here->uid, here->gid,
			wanted->uid, wanted->gid);
	if (here->mtime != wanted->mtime) {
		g_autofree char *is = time_text(here->mtime), *was = time_text(wanted->mtime);

		differs(c, wanted->path, "its time is %s, not %s", is, was);
	}
}

static void compare_entry(struct comparison *c, const struct proof_entry *wanted,
			  const struct proof_entry *here)
{
	uint64_t before = c->count->differences;

	if ((here->mode & S_IFMT) != (wanted->mode & S_IFMT)) {
		differs(c, wanted->path, "it is of another type");
		return;
	}
	if (S_ISREG(wanted->mode))
		compare_content(c, wanted, here);
	if (S_ISLNK(wanted->mode) && g_strcmp0(here->link, wanted->link) != 0)
		differs(c, wanted->path, "it points elsewhere");
	if (here->rdev != wanted->rdev && (S_ISCHR(wanted->mode) || S_ISBLK(wanted->mode)))
		differs(c, wanted->path, "it is another device");
	compare_attributes(c, wanted, here);
	c->count->compared += c->count->differences == before;
}

/* Compares an entry with the tree's line of the same name. */
static gboolean found(struct comparison *c, const struct proof_entry *wanted, const char *line,
		      gsize len)
{
	struct proof_entry here;

	if (!proof_entry_parse(line, len, &here))
		return FALSE;
	switch (presence_of(wanted->status)) {
	case MUST:
		compare_entry(c, wanted, &here);
		break;
	case MUST_NOT:
		differs(c, wanted->path, "it is there, and was not: %s",
			proof_status_name(wanted->status));
		break;
	case MAY:
		c->count->skipped++;
	}
	proof_entry_clear(&here);
	return TRUE;
}

static void missing(struct comparison *c, const struct proof_entry *wanted)
{
	if (presence_of(wanted->status) == MUST)
		differs(c, wanted->path, "it is missing");
	else
		c->count->skipped += presence_of(wanted->status) == MAY;
}

static gboolean extra(struct comparison *c, const char *line, gsize len)
{
	struct proof_entry here;

	if (!proof_entry_parse(line, len, &here))
		return FALSE;
	if (strcmp(here.path, "lost+found") || !S_ISDIR(here.mode)) /* e2fsck(8) makes it */
		differs(c, here.path, "the manifest does not have it");
	proof_entry_clear(&here);
	return TRUE;
}

/* Both are in the same order. */
static gboolean merge(struct comparison *c, struct manifest *manifest, struct proof_sorter *sorter,
		      GError **error)
{
	g_autoptr(GError) inner = NULL;
	const struct proof_entry *wanted = manifest_next(manifest, &inner);
	const char *line = NULL;
	gsize len;
	gboolean ok = TRUE;

	if (!inner)
		line = proof_sorter_next(sorter, &len, &inner);
	while (!inner && ok && (wanted || line)) {
		int order = !wanted ? 1
			    : !line ? -1
				    : manifest_order(manifest_line(manifest), line);

		if (order < 0)
			missing(c, wanted);
		else
			ok = order ? extra(c, line, len) : found(c, wanted, line, len);
		if (order <= 0)
			wanted = manifest_next(manifest, &inner);
		if (order >= 0 && !inner)
			line = proof_sorter_next(sorter, &len, &inner);
	}
	if (!ok)
		g_set_error(&inner, MANIFEST_ERROR, 0, "the tree has a path of more than %d bytes",
			    PROOF_PATH_MAX);
	if (inner)
		g_propagate_error(error, g_steal_pointer(&inner));
	return !*error;
}

gboolean compare_tree(struct manifest *manifest, int root_fd, const char *directory, compare_fn fn,
		      void *arg, struct compare_count *count, GError **error)
{
	struct comparison c = {fn, arg, count};
	struct proof_sorter *sorter;
	g_autoptr(GError) inner = NULL;

	memset(count, 0, sizeof *count);
	sorter = proof_sorter_new(directory, error);
	if (!sorter)
		return FALSE;
	if (tree_read(root_fd, true, sorter, unreadable, &c, &inner))
		merge(&c, manifest, sorter, &inner);
	proof_sorter_free(sorter);
	if (!inner)
		return TRUE;
	g_propagate_error(error, g_steal_pointer(&inner));
	return FALSE;
}
