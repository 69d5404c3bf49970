/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/ops.h"

#include <limits.h>
#include <stdio.h>

#include "FSAL/fsal_init.h"
#include "fsal_migrate/compat.h"
#include "config_parsing.h"
#include "fsal_migrate/connection.h"
#include "fsal_migrate/handle.h"
#include "fsal_migrate/takeover/takeover.h"
#include "fsal_migrate/pool.h"
#include "fsal_migrate/read.h"

static struct fsal_module module = {
	.fs_info =
		{
			.maxfilesize = INT64_MAX,
			.maxlink = _POSIX_LINK_MAX,
			.maxnamelen = NAME_MAX,
			.maxpathlen = PATH_MAX,
			.no_trunc = true,
			.chown_restricted = true,
			.case_preserving = true,
			.link_support = true,
			.symlink_support = true,
			.lock_support = true,
			.named_attr = true,
			.unique_handles = true,
			.acl_support = FSAL_ACLSUPPORT_ALLOW,
			.cansettime = true,
			.homogenous = true,
			.supported_attrs = ALL_ATTRIBUTES,
			.maxread = FSAL_MAXIOSIZE,
			.maxwrite = FSAL_MAXIOSIZE,
			.link_supports_permission_checks = true,
			.expire_time_parent = -1,
		},
};

static struct config_item module_params[] = {
	CONF_ITEM_UI32("Max_Waiters", 1, 10000, 50, mg_limits, max_waiters),
	CONF_ITEM_UI32("Workers", 1, 64, 4, mg_limits, workers),
	CONF_ITEM_UI32("Max_Requests", 16, 65536, 1024, mg_limits, max_requests), CONFIG_EOL};

static struct config_block module_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.migrate",
	.blk_desc.name = "MIGRATE",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.flags = CONFIG_UNIQUE,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = module_params,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

static fsal_status_t init_config(struct fsal_module *fsal, config_file_t config,
				 struct config_error_type *err)
{
	(void)load_config_from_parse(config, &module_block, &mg_limits, true, err);
	if (!config_error_is_harmless(err))
		return fsalstat(ERR_FSAL_INVAL, 0);
	display_fsinfo(fsal);
	return mg_ok();
}

static void __attribute__((constructor)) mg_load(void)
{
	/* The host looks for libfsal<name in small letters>.so. */
	if (register_fsal(&module, "MIGRATE", FSAL_MAJOR_VERSION, FSAL_MINOR_VERSION,
			  FSAL_ID_NO_PNFS) != 0) {
		fprintf(stderr, "FSAL MIGRATE failed to register\n");
		return;
	}
	module.m_ops.create_export = mg_create_export;
	module.m_ops.update_export = mg_update_export;
	module.m_ops.init_config = init_config;
	mg_handle_ops_init(&mg_obj_ops);
	mg_namespace_ops_init(&mg_obj_ops);
	mg_rename_ops_init();
	mg_file_ops_init(&mg_obj_ops);
	mg_attrs_ops_init(&mg_obj_ops);
	mg_xattrs_ops_init(&mg_obj_ops);
	mg_write_ops_init(&mg_obj_ops);
	mg_obj_ops.read2 = mg_read2;
	compat_names_ops_init(&mg_obj_ops);
	compat_link_ops_init(&mg_obj_ops);
}

static void __attribute__((destructor)) mg_unload(void)
{
	/* Requests that are still pending when the host goes down are not answered any more. */
	mg_volumes_end();
	mg_pool_kill();
	mg_takeover_end();
	if (unregister_fsal(&module) != 0)
		fprintf(stderr, "FSAL MIGRATE failed to unregister\n");
}
