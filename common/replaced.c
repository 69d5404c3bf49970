/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/migrate.h"

/* The state of what was found, as far as the rename cares. */
static int look_at_replaced(struct migrate_replaced *replaced, bool by_directory)
{
	bool directory = S_ISDIR(replaced->st.st_mode);
	struct migrate_stub stub;
	int ret;

	if (directory ? !by_directory : !S_ISREG(replaced->st.st_mode) || replaced->st.st_nlink < 2)
		return 0;
	ret = migrate_stub_load(replaced->fd, &stub);
	replaced->fill = directory && stub.state != MIGRATE_NORMAL && stub.state != MIGRATE_FILLED;
	replaced->touch = !directory && stub.state != MIGRATE_NORMAL;
	migrate_stub_clear(&stub);
	return directory ? ret : 0;
}

int migrate_replaced_find(int dir_fd, const char *name, const struct stat *moved,
			  struct migrate_replaced *replaced)
{
	struct stat *st = &replaced->st;
	int ret = 0;

	memset(replaced, 0, sizeof(*replaced));
	replaced->fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	/* of a name that is too long says the rename itself what is wrong first */
	if (replaced->fd < 0)
		return errno == ENOENT || errno == ENAMETOOLONG ? 0 : -errno;
	if (fstat(replaced->fd, st) < 0)
		ret = -errno;
	else if (st->st_dev == moved->st_dev && st->st_ino == moved->st_ino)
		migrate_replaced_clear(replaced);
	else
		ret = look_at_replaced(replaced, S_ISDIR(moved->st_mode));
	if (ret < 0)
		migrate_replaced_clear(replaced);
	return ret;
}

void migrate_replaced_clear(struct migrate_replaced *replaced)
{
	if (replaced->fd >= 0)
		close(replaced->fd);
	memset(replaced, 0, sizeof(*replaced));
	replaced->fd = -1;
}
