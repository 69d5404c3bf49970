/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/attach_look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"
#include "common/record.h"
#include "lib/base/flags.h"
#include "retriever/objects/retriever.h"

/* Such as another tool has copied with the rest. */
static bool has_private_of_others(int root_fd)
{
	int fd = openat(root_fd, MIGRATE_PRIVATE_DIR, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool has = fd >= 0 && !migrate_private_is_marked(fd) && !migrate_is_vacant(fd, false);

	if (fd >= 0)
		close(fd);
	return has;
}

static bool covered_by_mount(int root_fd, const char *name)
{
	struct statx st;

	return statx(root_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, 0,
		     &st) == 0 &&
	       st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* What cannot be moved. */
static int refuse_name(int root_fd, const char *root, const char *name, char **message)
{
	/* first: what is mounted is not opened */
	const bool mounted = covered_by_mount(root_fd, name);
	const char *word = mounted ? NULL : flags_word(root_fd, name);

	if (mounted)
		*message = g_strdup_printf(
			"%s/%s: something is mounted there: unmount it, then attach again", root,
			name);
	else if (word)
		*message = g_strdup_printf("%s/%s: it is %s: take that off, then attach again",
					   root, name, word);
	return mounted ? -EBUSY : word ? -EPERM : 0;
}

int attach_look(int root_fd, const char *root, bool adopt, char **message)
{
	const char *word = flags_word(root_fd, "");
	struct dirent *e;
	int ret = 0;

	*message = NULL;
	if (adopt && has_private_of_others(root_fd)) {
		*message = g_strdup_printf("%s/" MIGRATE_PRIVATE_DIR
					   " is not this volume's: rename it, then attach again",
					   root);
		return -EEXIST;
	}
	if (word) {
		*message = g_strdup_printf("%s: it is %s: take that off, then attach again", root,
					   word);
		return -EPERM;
	}
	DIR *dir = adopt ? retriever_list(root_fd, ".") : NULL;
	while (dir && !ret && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			ret = refuse_name(root_fd, root, e->d_name, message);
	if (dir)
		closedir(dir);
	return ret;
}
