/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/source_bound.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/filetree.h"
#include "retriever/objects/private.h"

#define URL_MAX 8192

int source_bound_note(struct retriever *retriever)
{
	const char *url = retriever->config->source;

	return own_save(retriever->private_fd, SOURCE_FILE, url, strlen(url));
}

/* g_free; NULL: it is not known. */
static char *read_bound(int private_fd)
{
	char text[URL_MAX];
	int fd = openat(private_fd, SOURCE_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return len > 0 ? g_strstrip(g_strndup(text, len)) : NULL;
}

/* The URL without its options and user: these say how the source is read, not which source it is.
 * g_free. */
static char *tree_of_url(const char *url)
{
	g_autofree char *place = g_strndup(url, strcspn(url, "?"));
	char *host = strstr(place, "://"), *at;
	size_t len;

	if (!host)
		return g_steal_pointer(&place);
	host += 3;
	len = strcspn(host, "/");
	at = g_strrstr_len(host, (gssize)len, "@");
	return at ? g_strdup_printf("%.*s%s", (int)(host - place), place, at + 1)
		  : g_steal_pointer(&place);
}

static bool is_same_place(const char *a, const char *b)
{
	g_autofree char *first = tree_of_url(a), *second = tree_of_url(b);

	return !strcmp(first, second);
}

bool source_bound_differs(int private_fd, const char *url)
{
	g_autofree char *bound = read_bound(private_fd);

	return bound && !is_same_place(bound, url);
}

/* Whether the source's root is the one in the root's record.  The handle does not count: with
 * fsid=0 it is the same on every server. */
static bool is_same_root(const struct retriever *retriever)
{
	const struct source_attr *attr = &retriever->source_root_attr;
	struct migrate_record rec;
	bool same;

	if (migrate_record_load(retriever->root_fd, &rec) <= 0)
		return false;
	same = rec.fileid == attr->fileid && rec.ctime == attr->ctime;
	migrate_record_clear(&rec);
	return same;
}

bool source_bound_check(struct retriever *retriever, GError **error)
{
	const struct volume_config *config = retriever->config;
	g_autofree char *bound = read_bound(retriever->private_fd);

	if (bound && !strcmp(bound, config->source))
		return true;
	if (bound && !is_same_place(bound, config->source) && !is_same_root(retriever)) {
		g_set_error(
			error, RETRIEVER_ERROR, 0,
			"[volume %s] source: %s, but %s was attached to %s, and that is another "
			"tree: write that again; if it is the same one under a new address: rm "
			"%s/" MIGRATE_PRIVATE_DIR "/" SOURCE_FILE ", then start it again",
			config->name, config->source, config->root, bound, config->root);
		return false;
	}
	if (bound && !is_same_place(bound, config->source))
		g_message("%s is the same tree as %s, to which the volume was attached",
			  config->source, bound);
	source_bound_note(retriever);
	return true;
}
