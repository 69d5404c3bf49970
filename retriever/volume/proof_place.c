/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/proof_place.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/filetree.h"
#include "lib/report/manifest/finding.h"

char *proof_place_path(const struct volume_config *config)
{
	return g_strconcat(config->report, ".proof", NULL);
}

static int open_or_make(int at, const char *name)
{
	int fd;

	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_kept(const struct volume_config *config)
{
	g_autofree char *path = proof_place_path(config), *dir = g_path_get_dirname(path);

	if (g_mkdir_with_parents(dir, 0755) < 0)
		return -errno;
	return open_or_make(AT_FDCWD, path);
}

int proof_place_open(const struct retriever *retriever)
{
	return retriever->private_fd >= 0 ? open_or_make(retriever->private_fd, PROOF_DIR)
					  : open_kept(retriever->config);
}

static int copy_bytes(int from, int to)
{
	ssize_t n;

	while ((n = sendfile(to, from, NULL, 1 << 20)) > 0)
		;
	return n < 0 || fsync(to) < 0 ? -errno : 0;
}

static int copy_file(int from_dir, int to_dir, const char *name)
{
	int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), to, ret;

	if (from < 0)
		return errno == ENOENT ? 0 : -errno;
	to = openat(to_dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	ret = to < 0 ? -errno : copy_bytes(from, to);
	if (to >= 0)
		close(to);
	close(from);
	return ret;
}

/* Removes the findings of an earlier volume. */
static int remove_kept(const struct volume_config *config)
{
	g_autofree char *path = proof_place_path(config), *dir = g_path_get_dirname(path);
	g_autofree char *name = g_path_get_basename(path);
	int ret, at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (at < 0)
		return errno == ENOENT ? 0 : -errno;
	ret = own_remove(at, name); /* follows no mount, so not by the whole path */
	close(at);
	return ret;
}

int proof_place_keep(const struct retriever *retriever)
{
	static const char *const names[] = {PROOF_ENTRIES, PROOF_RUN};
	int from = openat(retriever->private_fd, PROOF_DIR,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int to, ret;

	if (from < 0 && errno == ENOENT)
		return remove_kept(retriever->config);
	if (from < 0)
		return -errno;
	to = open_kept(retriever->config);
	ret = MIN(to, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(names) && !ret; i++)
		ret = copy_file(from, to, names[i]);
	if (!ret && fsync(to) < 0)
		ret = -errno;
	if (to >= 0)
		close(to);
	close(from);
	return ret;
}
