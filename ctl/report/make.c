/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/make.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "ctl/report/json.h"
#include "ctl/report/page.h"
#include "ctl/report/parts.h"
#include "ctl/report/sign.h"
#include "ctl/report/text.h"
#include "lib/base/text.h"
#include "lib/report/manifest/manifest_writer.h"

struct making {
	struct final *final;
	int dir_fd;
	GError **error;
};

static gboolean set_write_error(struct making *m, const char *name)
{
	if (!*m->error)
		g_set_error(m->error, G_FILE_ERROR, g_file_error_from_errno(errno), "%s: %s", name,
			    g_strerror(errno));
	return FALSE;
}

/* Lists an entry that people want to see. */
static void list_entry(void *arg, const struct proof_entry *entry)
{
	struct final *final = arg;

	switch (entry->status) {
	case PROOF_CHANGED:
	case PROOF_MADE:
	case PROOF_REMOVED:
		final_add(final, FINAL_CLIENTS, entry->path, final_status_title(entry->status));
		break;
	case PROOF_UNFINISHED:
		final_add(final, FINAL_UNFINISHED, entry->path, "not here, or not all of it");
		break;
	default:
		break;
	}
}

static char *comments(const struct final *final)
{
	g_autofree char *source = text_line(final->source), *root = text_line(final->root);
	g_autofree char *made = final_time(final->made);

	return g_strdup_printf("# Quickmigrate %s: manifest of a volume\n# volume: %s\n"
			       "# root: %s\n# source: %s\n# made: %s\n# hash: %s\n",
			       final->version, final->volume, root, source, made,
			       final->comparison.any ? "SHA-256"
						     : "none, contents were not compared");
}

static gboolean write_manifest(struct making *m, const char *name, struct proof_sorter *sorter)
{
	g_autofree char *head = comments(m->final);
	int fd = part_create(m->dir_fd, name, m->error);
	gboolean ok = fd >= 0;

	ok = ok &&
	     manifest_write(fd, head, sorter, list_entry, m->final, &m->final->count, m->error);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Adds a file that is written to the parts of the report. */
static gboolean add_part(struct making *m, const char *name)
{
	g_autofree char *new = g_strconcat(name, ".new", NULL);
	int fd = openat(m->dir_fd, new, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char hex[PROOF_HASH_HEX + 1];
	uint64_t bytes;
	gboolean ok = fd >= 0 && part_hash(fd, &bytes, hex, m->error);

	if (ok)
		final_add_part(m->final, name, bytes, hex);
	else
		set_write_error(m, new);
	if (fd >= 0)
		close(fd);
	return ok;
}

static gboolean write_text(struct making *m, const char *name, const char *text)
{
	int fd = part_create(m->dir_fd, name, m->error);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	bool ok = file != NULL;

	if (ok)
		ok = text ? fputs(text, file) >= 0 : final_text(file, m->final);
	if (file)
		ok = fclose(file) == 0 && ok;
	return ok || set_write_error(m, name);
}

/* From the JSON as it will be, except that the page itself is not yet among its parts. */
static gboolean write_page(struct making *m, const char *name)
{
	g_autofree char *json = final_json(m->final), *verdict = final_verdict(m->final);
	g_autofree char *title = g_strdup_printf("Migration of %s", m->final->volume);
	g_autofree char *page = page_of_json(title, final_is_complete(m->final), verdict, json);

	return write_text(m, name, page);
}

/* The signature of the new JSON, beside its place; without a key there is none. */
static gboolean sign(struct making *m, const char *json, const char *name, const char *key)
{
	g_autofree char *new = g_strconcat(json, ".new", NULL), *signature = NULL;
	int fd;

	if (!key)
		return unlinkat(m->dir_fd, name, 0) == 0 || errno == ENOENT ||
		       set_write_error(m, name);
	fd = openat(m->dir_fd, new, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	signature = fd < 0 ? NULL : sign_make(fd, key, m->error);
	if (fd >= 0)
		close(fd);
	return signature ? write_text(m, name, signature) : set_write_error(m, new);
}

enum { MANIFEST, TEXT, PAGE, JSON, SIGNATURE, FILES };

static gboolean write_files(struct making *m, char *const *names, struct proof_sorter *sorter,
			    const char *key)
{
	g_autofree char *json = NULL;

	if (!write_manifest(m, names[MANIFEST], sorter))
		return FALSE;
	if (!final_lists_whole(m->final))
		return set_write_error(m, "the lists");
	if (!write_text(m, names[TEXT], NULL) || !add_part(m, names[TEXT]) ||
	    !add_part(m, names[MANIFEST]) || !write_page(m, names[PAGE]) ||
	    !add_part(m, names[PAGE]))
		return FALSE;
	json = final_json(m->final);
	return write_text(m, names[JSON], json) && sign(m, names[JSON], names[SIGNATURE], key);
}

gboolean report_make(struct final *final, int dir_fd, struct proof_sorter *sorter, const char *key,
		     GError **error)
{
	g_autoptr(GError) inner = NULL;
	struct making m = {final, dir_fd, &inner};
	static const char *const suffixes[FILES] = {FINAL_MANIFEST, FINAL_TEXT, FINAL_PAGE,
						    FINAL_JSON, FINAL_JSON SIGN_SUFFIX};
	char *names[FILES];
	gboolean ok;

	for (unsigned i = 0; i < FILES; i++)
		names[i] = g_strconcat(final->volume, suffixes[i], NULL);
	ok = write_files(&m, names, sorter, key);
	for (unsigned i = 0; ok && i < FILES; i++)
		ok = (i == SIGNATURE && !key) || part_keep(dir_fd, names[i], &inner);
	for (unsigned i = 0; i < FILES; i++) {
		part_drop(dir_fd, names[i]);
		g_free(names[i]);
	}
	if (!ok)
		g_propagate_error(error, g_steal_pointer(&inner));
	return ok;
}
