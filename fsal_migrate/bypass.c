/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/bypass.h"

#include <errno.h>
#include <unistd.h>

#include "export_mgr.h"
#include "fsal_migrate/connection.h"

/* create_export of FSAL VFS, the only FSAL under MIGRATE. */
static fsal_status_t (*create_below)(struct fsal_module *module, void *node,
				     struct config_error_type *err,
				     const struct fsal_up_vector *up_ops);

/* Whether the directory must not be exported as it is; root_fd: as of mg_bypass_exists(). */
static bool shows_holes(const char *path, int root_fd)
{
	struct migrate_inspection found;
	bool whole, unfinished;
	const int fd = migrate_open_served(path, &whole);
	int result;

	if (fd < 0)
		return false;
	result = whole ? migrate_inspect(fd, &found) : -ENOENT; /* who exports it says so */
	unfinished = result == -EBADMSG ||
		     (result == 0 && (found.unfinished || found.to_be_finalized)) ||
		     (whole && (migrate_overlap(fd, root_fd) || mg_volumes_overlap(fd)));
	close(fd);
	if (unfinished)
		LogCrit(COMPONENT_FSAL,
			"%s: an unfinished volume is at, above or below this directory, which is "
			"exported without FSAL MIGRATE: clients would read zeros where data "
			"is missing; write FSAL { Name = MIGRATE; ... } in that export, or remove "
			"it until the volume is finalized",
			path);
	return unfinished;
}

static fsal_status_t create_export(struct fsal_module *module, void *node,
				   struct config_error_type *err,
				   const struct fsal_up_vector *up_ops)
{
	if (shows_holes(CTX_FULLPATH(op_ctx), -1))
		return fsalstat(ERR_FSAL_INVAL, 0);
	return create_below(module, node, err, up_ops);
}

void mg_bypass_watch(struct fsal_module *below)
{
	if (below->m_ops.create_export == create_export)
		return;
	create_below = below->m_ops.create_export;
	below->m_ops.create_export = create_export;
}

fsal_status_t mg_bypass_create(struct fsal_module *below, void *node, struct config_error_type *err,
			       const struct fsal_up_vector *up_ops)
{
	return create_below(below, node, err, up_ops);
}

bool mg_bypass_exists(struct fsal_module *module, struct fsal_module *below, int root_fd)
{
	struct glist_head *link;
	bool exists = false;

	PTHREAD_RWLOCK_rdlock(&below->GANESHA_MODULE_LOCK);
	glist_for_each(link, &below->exports)
	{
		struct fsal_export *export = glist_entry(link, struct fsal_export, exports);
		const struct fsal_export *above = export->super_export;

		if (export->owning_export && export->owning_export->cfg_fullpath && above &&
		    above->fsal != module &&
		    shows_holes(export->owning_export->cfg_fullpath, root_fd))
			exists = true;
	}
	PTHREAD_RWLOCK_unlock(&below->GANESHA_MODULE_LOCK);
	return exists;
}
