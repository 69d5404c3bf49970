/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "links.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "own_files.h"

#define LINKED_FILE	"linked"
#define CLAIMED_FILE	"claimed"
#define LINK_COUNTS_MAX 1000000 /* about 60 MB */

struct links {
	GMutex lock;	    /* a leaf but for the file system */
	GHashTable *counts; /* names made, by the old server's fileid */
	GHashTable *claims; /* fileids, by inode of a prior copy */
};

struct links *links_new(void)
{
	struct links *links = g_new0(struct links, 1);

	g_mutex_init(&links->lock);
	links->counts = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	links->claims = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	return links;
}

void links_free(struct links *links)
{
	g_hash_table_destroy(links->counts);
	g_hash_table_destroy(links->claims);
	g_mutex_clear(&links->lock);
	g_free(links);
}

void links_name(char name[LINK_NAME_LEN], uint64_t fileid)
{
	g_snprintf(name, LINK_NAME_LEN, "%016" G_GINT64_MODIFIER "x", fileid);
}

uint64_t links_fileid(const struct source_attr *attr)
{
	return backend_fileid(attr->fileid, attr->fs, 0);
}

/* Lock held: one more than before. */
static guint count_name(struct links *links, uint64_t fileid)
{
	GHashTable *counts = links->counts;
	guint made = 1 + GPOINTER_TO_UINT(g_hash_table_lookup(counts, &fileid));

	if (made > 1 || g_hash_table_size(counts) < LINK_COUNTS_MAX)
		g_hash_table_insert(counts, g_memdup2(&fileid, sizeof fileid),
				    GUINT_TO_POINTER(made));
	return made;
}

/*
 * One more name is made.  With the last the provisional one goes, so that the link count is right.
 * It must not go before: the rest would become another file.  So a name is counted when it is
 * there, in memory and then in .migrate/linked, a list of fileids; what a crash keeps from the list
 * is counted too low, and then the provisional name stays until the end.
 */
void links_count(struct retriever *retriever, const struct source_attr *attr)
{
	uint64_t fileid = links_fileid(attr);
	char id[LINK_NAME_LEN];
	int fd;

	g_mutex_lock(&retriever->links->lock);
	if (count_name(retriever->links, fileid) >= attr->nlink) {
		links_name(id, fileid);
		g_hash_table_remove(retriever->links->counts, &fileid);
		unlinkat(retriever->links_fd, id, 0);
	} else {
		fd = openat(retriever->private_fd, LINKED_FILE,
			    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (fd >= 0 && write(fd, &fileid, sizeof fileid) < 0)
			g_warning("%s: %s", LINKED_FILE, g_strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	g_mutex_unlock(&retriever->links->lock);
}

/* Lock held. */
static void claim(struct links *links, const uint64_t pair[2])
{
	g_hash_table_insert(links->claims, g_memdup2(&pair[0], sizeof pair[0]),
			    g_memdup2(&pair[1], sizeof pair[1]));
}

/* Lock held.  A pair that was cut short is written over. */
static bool save_claim(struct retriever *retriever, const uint64_t pair[2])
{
	const size_t size = 2 * sizeof *pair;
	off_t end = (off_t)size * g_hash_table_size(retriever->links->claims);
	int fd = openat(retriever->private_fd, CLAIMED_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	bool saved = fd >= 0 && pwrite(fd, pair, size, end) == (ssize_t)size && fdatasync(fd) == 0;

	if (fd >= 0)
		close(fd);
	return saved;
}

bool links_claim(struct retriever *retriever, uint64_t inode, uint64_t fileid)
{
	struct links *links = retriever->links;
	const uint64_t pair[2] = {inode, fileid};
	const uint64_t *owner;
	bool mine;

	g_mutex_lock(&links->lock);
	owner = g_hash_table_lookup(links->claims, &inode);
	mine = owner ? *owner == fileid
		     : g_hash_table_size(links->claims) < LINK_COUNTS_MAX &&
			       save_claim(retriever, pair);
	if (!owner && mine)
		claim(links, pair);
	g_mutex_unlock(&links->lock);
	return mine;
}

static void load_claims(struct retriever *retriever)
{
	int fd = openat(retriever->private_fd, CLAIMED_FILE, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	uint64_t pair[2];

	g_hash_table_remove_all(retriever->links->claims);
	while (file && fread(pair, sizeof pair, 1, file) == 1)
		claim(retriever->links, pair);
	if (file)
		fclose(file);
}

void links_load(struct retriever *retriever)
{
	int fd = openat(retriever->private_fd, LINKED_FILE, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char id[LINK_NAME_LEN];
	uint64_t fileid;

	g_mutex_lock(&retriever->links->lock);
	load_claims(retriever);
	g_hash_table_remove_all(retriever->links->counts);
	while (file && fread(&fileid, sizeof fileid, 1, file) == 1) {
		links_name(id, fileid);
		if (faccessat(retriever->links_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			count_name(retriever->links, fileid);
	}
	g_mutex_unlock(&retriever->links->lock);
	if (file)
		fclose(file);
}

int links_forget(struct retriever *retriever)
{
	int ret;

	g_mutex_lock(&retriever->links->lock);
	g_hash_table_remove_all(retriever->links->counts);
	unlinkat(retriever->private_fd, LINKED_FILE, 0);
	ret = own_clear(retriever->links_fd);
	g_mutex_unlock(&retriever->links->lock);
	return ret;
}
