/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/source_bound.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/filetree.h"
#include "lib/config/nfs_url.h"
#include "lib/config/smb_url.h"
#include "lib/config/url.h"

#define URL_MAX	 8192
#define NFS_PORT 2049

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

/* How the source's root compares with the root's record.  UNKNOWN: the record cannot tell. */
enum likeness { LIKENESS_OTHER, LIKENESS_UNKNOWN, LIKENESS_NUMBER, LIKENESS_SAME };

/* The path with single slashes; NULL where it has "..".  g_free. */
static char *path_of_file(const char *url)
{
	g_autofree char *path = g_uri_escape_string(url + strlen("file://"), "/", false);

	return url_path(url, path, strlen(path), NULL);
}

static bool is_same_nfs(const struct nfs_url *a, const struct nfs_url *b, bool *alike)
{
	const unsigned nfs_a = a->nfs_port ? a->nfs_port : NFS_PORT;
	const unsigned nfs_b = b->nfs_port ? b->nfs_port : NFS_PORT;

	*alike = a->uid == b->uid && a->gid == b->gid && a->only_v3 == b->only_v3 &&
		 a->minors == b->minors && a->mount_port == b->mount_port;
	return !g_ascii_strcasecmp(a->host, b->host) && !strcmp(a->path, b->path) &&
	       nfs_a == nfs_b &&
	       (!a->mount_port || !b->mount_port || a->mount_port == b->mount_port);
}

static bool is_same_smb(const struct smb_url *a, const struct smb_url *b, bool *alike)
{
	*alike = !g_ascii_strcasecmp(a->user, b->user) && !g_ascii_strcasecmp(a->domain, b->domain);
	return !g_ascii_strcasecmp(a->host, b->host) && !g_ascii_strcasecmp(a->share, b->share) &&
	       !strcmp(a->path, b->path) && a->port == b->port;
}

/* Sets *alike to whether user, protocol version and mount port are the same, too. */
static bool is_same_place(const char *a, const char *b, bool *alike)
{
	bool same = false;

	*alike = true;
	if (g_str_has_prefix(a, "nfs://") && g_str_has_prefix(b, "nfs://")) {
		struct nfs_url x, y;

		same = nfs_url_parse(a, &x, NULL) & nfs_url_parse(b, &y, NULL) &&
		       is_same_nfs(&x, &y, alike);
		nfs_url_clear(&x);
		nfs_url_clear(&y);
	} else if (g_str_has_prefix(a, "smb://") && g_str_has_prefix(b, "smb://")) {
		struct smb_url x, y;

		same = smb_url_parse(a, &x, NULL) & smb_url_parse(b, &y, NULL) &&
		       is_same_smb(&x, &y, alike);
		smb_url_clear(&x);
		smb_url_clear(&y);
	} else if (g_str_has_prefix(a, "file://") && g_str_has_prefix(b, "file://")) {
		g_autofree char *x = path_of_file(a), *y = path_of_file(b);

		same = x && y && !strcmp(x, y);
	}
	return same;
}

bool source_bound_differs(int private_fd, const char *url)
{
	g_autofree char *bound = read_bound(private_fd);
	bool alike;

	return bound && strcmp(bound, url) != 0 && !is_same_place(bound, url, &alike);
}

/* The handle does not count: with fsid=0 it is the same on every server. */
static enum likeness compare_root(const struct retriever *retriever)
{
	const struct source_attr *attr = &retriever->source_root_attr;
	enum likeness likeness = LIKENESS_UNKNOWN;
	struct migrate_record rec;

	if (migrate_record_load(retriever->root_fd, &rec) <= 0)
		return LIKENESS_UNKNOWN;
	if (!(rec.flags & MIGRATE_REC_RETURNED))
		likeness = rec.fileid != attr->fileid ? LIKENESS_OTHER
			   : rec.ctime != attr->ctime ? LIKENESS_NUMBER
						      : LIKENESS_SAME;
	migrate_record_clear(&rec);
	return likeness;
}

bool source_bound_check(struct retriever *retriever, GError **error)
{
	const struct volume_config *config = retriever->config;
	g_autofree char *bound = read_bound(retriever->private_fd);
	enum likeness root;
	bool place, alike;

	if (bound && !strcmp(bound, config->source))
		return true;
	if (!bound) {
		source_bound_note(retriever);
		return true;
	}
	place = is_same_place(bound, config->source, &alike);
	root = compare_root(retriever);
	if (root != LIKENESS_SAME && !(place && (alike || root == LIKENESS_NUMBER))) {
		g_set_error(
			error, RETRIEVER_ERROR, 0,
			"[volume %s] source: %s, but %s was attached to %s, and %s: write that "
			"again; if it is the same one under a new address: rm "
			"%s/" MIGRATE_PRIVATE_DIR "/" SOURCE_FILE ", then start it again",
			config->name, config->source, config->root, bound,
			root == LIKENESS_UNKNOWN
				? "the root here is no longer one that tells whether that is the "
				  "same tree"
				: "that is another tree",
			config->root);
		return false;
	}
	if (!place)
		g_message("%s is the same tree as %s, to which the volume was attached",
			  config->source, bound);
	source_bound_note(retriever);
	return true;
}
