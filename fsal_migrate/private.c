/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/private.h"

#include <string.h>
#include <unistd.h>

bool mg_is_root(const struct mg_object *dir)
{
	const struct mg_export *export = mg_export(op_ctx->fsal_export);

	return export->has_root && dir->handle.fileid == export->root_fileid && dir->on_volume;
}

bool mg_has_private(struct mg_object *root)
{
	int fd = mg_object_open(root);
	bool has = fd < 0 || migrate_has_private(fd);

	if (fd >= 0)
		close(fd);
	return has;
}

/* After the end of the migration the directory is gone, and any client may use the name. */
bool mg_hidden(struct mg_object *dir, const char *name)
{
	return name[0] == '.' && !strcmp(name, MIGRATE_PRIVATE_DIR) && mg_is_root(dir) &&
	       (!atomic_load(&dir->volume->finished) || mg_has_private(dir));
}
