/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fsal_migrate/compat.h"
#include "config_parsing.h"
#include "export_mgr.h"
#include "FSAL/fsal_config.h"
#include "fsal_migrate/bypass.h"
#include "fsal_migrate/handle.h"
#include "fsal_migrate/ops.h"
#include "fsal_migrate/park.h"
#include "fsal_migrate/takeover/takeover.h"

/* The settings in an export block. */
struct settings {
	struct subfsal_args below; /* name, fsal_node */
	char *volume;
	char *socket;
	char *takeover;
};

static struct config_item below_params[] = {CONF_ITEM_STR("Name", 1, 10, NULL, subfsal_args, name),
					    CONFIG_EOL};

static struct config_item export_params[] = {
	CONF_ITEM_NOOP("Name"),
	CONF_MAND_STR("Volume", 1, 64, NULL, settings, volume),
	CONF_ITEM_PATH("Socket", 1, 107, "", settings, socket),
	CONF_ITEM_PATH("Takeover", 1, MAXPATHLEN, "", settings, takeover),
	CONF_RELAX_BLOCK("FSAL", below_params, noop_conf_init, subfsal_commit, settings, below),
	CONFIG_EOL};

static struct config_block export_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.migrate-export%d",
	.blk_desc.name = "FSAL",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = export_params,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

static void settings_clear(struct settings *settings)
{
	gsh_free(settings->below.name);
	gsh_free(settings->volume);
	gsh_free(settings->socket);
	gsh_free(settings->takeover);
	memset(settings, 0, sizeof(*settings));
}

/* The FSAL below, with a reference; NULL after a message. */
static struct fsal_module *settings_load(void *node, struct settings *settings,
					 struct config_error_type *err)
{
	struct fsal_module *below = NULL;

	memset(settings, 0, sizeof(*settings));
	if (load_config_from_node(node, &export_block, settings, true, err) != 0)
		return NULL;
	if (!settings->below.name || strcasecmp(settings->below.name, "VFS")) {
		LogMajor(COMPONENT_FSAL,
			 "FSAL MIGRATE is stacked over VFS only: write FSAL { Name = MIGRATE; "
			 "Volume "
			 "= \"%s\"; FSAL { Name = VFS; } }",
			 settings->volume);
		return NULL;
	}
	below = lookup_fsal(settings->below.name);
	if (!below)
		LogMajor(COMPONENT_FSAL, "FSAL VFS is not loaded: install nfs-ganesha-vfs");
	return below;
}

/* Waits until nothing of the export is pending: it may not be freed before. */
static void export_drain(struct mg_export *export)
{
	struct mg_volume *volume = export->volume;
	unsigned seconds = 0;

	pthread_mutex_lock(&volume->lock);
	while (export->pending > 0) {
		struct timespec until = migrate_in_ms(1000);

		/* every time: a request may just have gone on to its next stage */
		mg_io_cancel(export);
		pthread_cond_timedwait(&volume->idle, &volume->lock, &until);
		if (++seconds % 10 == 0)
			LogMajor(COMPONENT_FSAL, "Volume %s: waiting for %u requests to end",
				 volume->name, export->pending);
	}
	pthread_mutex_unlock(&volume->lock);
}

/* Parked requests hold references to the export: they are answered now. */
static void prepare_unexport(struct fsal_export *exp)
{
	struct mg_export *export = mg_enter();

	export->fsal.sub_export->exp_ops.prepare_unexport(export->fsal.sub_export);
	mg_leave(export);
	pthread_mutex_lock(&export->volume->lock);
	export->closing = true;
	pthread_mutex_unlock(&export->volume->lock);
	export_drain(export);
}

static void release(struct fsal_export *exp)
{
	struct mg_export *export = mg_export(exp);
	struct fsal_export *sub = export->fsal.sub_export;
	struct fsal_module *below = sub->fsal;

	pthread_mutex_lock(&export->volume->lock);
	export->closing = true;
	glist_del(&export->link);
	pthread_mutex_unlock(&export->volume->lock);
	export_drain(export);
	mg_takeover_close(export);
	sub->exp_ops.release(sub);
	fsal_put(below);
	fsal_detach_export(exp->fsal, &exp->exports);
	free_export_ops(exp);
	mg_volume_put(export->volume);
	mg_pool_stop();
	gsh_free(export);
}

#define DOWN(type, name, default_args, args)                                                       \
	static type name default_args                                                              \
	{                                                                                          \
		struct mg_export *export = mg_enter();                                             \
		type result = export->fsal.sub_export->exp_ops.name args;                          \
                                                                                                   \
		mg_leave(export);                                                                  \
		return result;                                                                     \
	}
#define BELOW export->fsal.sub_export

DOWN(uint64_t, fs_maxfilesize, (struct fsal_export * exp), (BELOW))
DOWN(uint32_t, fs_maxread, (struct fsal_export * exp), (BELOW))
DOWN(uint32_t, fs_maxwrite, (struct fsal_export * exp), (BELOW))
DOWN(uint32_t, fs_maxlink, (struct fsal_export * exp), (BELOW))
DOWN(uint32_t, fs_maxnamelen, (struct fsal_export * exp), (BELOW))
DOWN(uint32_t, fs_maxpathlen, (struct fsal_export * exp), (BELOW))
DOWN(fsal_aclsupp_t, fs_acl_support, (struct fsal_export * exp), (BELOW))
DOWN(attrmask_t, fs_supported_attrs, (struct fsal_export * exp), (BELOW))
DOWN(uint32_t, fs_umask, (struct fsal_export * exp), (BELOW))
DOWN(int32_t, fs_expiretimeparent, (struct fsal_export * exp), (BELOW))
DOWN(fsal_status_t, check_quota, (struct fsal_export * exp, const char *path, int type),
     (BELOW, path, type))
DOWN(fsal_status_t, get_quota,
     (struct fsal_export * exp, const char *path, int type, int id, fsal_quota_t *quota),
     (BELOW, path, type, id, quota))
DOWN(fsal_status_t, set_quota,
     (struct fsal_export * exp, const char *path, int type, int id, fsal_quota_t *quota,
      fsal_quota_t *result_quota),
     (BELOW, path, type, id, quota, result_quota))
DOWN(fsal_status_t, wire_to_host,
     (struct fsal_export * exp, fsal_digesttype_t type, struct gsh_buffdesc *fh, int flags),
     (BELOW, type, fh, flags))
DOWN(fsal_status_t, host_to_key, (struct fsal_export * exp, struct gsh_buffdesc *fh), (BELOW, fh))
DOWN(struct state_t *, alloc_state,
     (struct fsal_export * exp, enum state_type type, struct state_t *related),
     (BELOW, type, related))
DOWN(bool, is_superuser, (struct fsal_export * exp, const struct user_cred *creds), (BELOW, creds))

static fsal_status_t get_fs_dynamic_info(struct fsal_export *exp, struct fsal_obj_handle *handle,
					 fsal_dynamicfsinfo_t *info)
{
	struct mg_export *export = mg_enter();
	fsal_status_t status =
		BELOW->exp_ops.get_fs_dynamic_info(BELOW, mg_object(handle)->sub, info);

	mg_leave(export);
	return status;
}

static bool fs_supports(struct fsal_export *exp, fsal_fsinfo_options_t option)
{
	struct mg_export *export;
	bool result;

	/* A client with a delegation would not ask this server before it reads. */
	if (option == fso_delegations_r || option == fso_delegations_w)
		return false;
	export = mg_enter();
	result = BELOW->exp_ops.fs_supports(BELOW, option);
	mg_leave(export);
	return result;
}

static void export_ops_init(struct export_ops *ops)
{
	ops->release = release;
	ops->prepare_unexport = prepare_unexport;
	ops->wire_to_host = wire_to_host;
	ops->host_to_key = host_to_key;
	ops->get_fs_dynamic_info = get_fs_dynamic_info;
	ops->fs_supports = fs_supports;
	ops->fs_maxfilesize = fs_maxfilesize;
	ops->fs_maxread = fs_maxread;
	ops->fs_maxwrite = fs_maxwrite;
	ops->fs_maxlink = fs_maxlink;
	ops->fs_maxnamelen = fs_maxnamelen;
	ops->fs_maxpathlen = fs_maxpathlen;
	ops->fs_acl_support = fs_acl_support;
	ops->fs_supported_attrs = fs_supported_attrs;
	ops->fs_umask = fs_umask;
	ops->fs_expiretimeparent = fs_expiretimeparent;
	ops->check_quota = check_quota;
	ops->get_quota = get_quota;
	ops->set_quota = set_quota;
	ops->alloc_state = alloc_state;
	ops->is_superuser = is_superuser;
	mg_handle_export_ops_init(ops);
	compat_export_ops_init(ops);
}

/*
 * Whether what is exported is unfinished for all that can be seen without opening it.  past: an
 * export without the layer shows it.
 */
static bool looks_unfinished(struct fsal_module *module, struct fsal_module *below, bool *past)
{
	const int fd = open(CTX_FULLPATH(op_ctx), O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct migrate_inspection found;
	const bool unfinished = fd < 0 || migrate_inspect(fd, &found) < 0 || found.unfinished ||
				found.to_be_finalized;

	*past = fd >= 0 && unfinished && mg_bypass_exists(module, below, fd);
	if (fd >= 0)
		close(fd);
	return unfinished;
}

/* 0, or -errno after a message. */
static int open_volume(struct mg_export *export, const struct settings *settings, bool registers)
{
	const char *path = CTX_FULLPATH(op_ctx);
	struct stat st;
	int result;

	result =
		mg_volume_get(settings->volume, settings->socket, path, registers, &export->volume);
	if (result < 0) {
		LogMajor(COMPONENT_FSAL,
			 result == -EXDEV
				 ? "Volume %s: %s is on another file system than the volume's "
				   "other exports (%s)"
				 : "Volume %s: cannot open %s: %s",
			 settings->volume, path, strerror(-result));
		return result;
	}
	result = mg_volume_inspect(export->volume, path, &export->has_root);
	if (result == 0 && stat(path, &st) < 0)
		result = -errno;
	if (result < 0) {
		LogMajor(COMPONENT_FSAL,
			 result == -EBADMSG
				 ? "Volume %s: the record of %s or of a directory above is "
				   "damaged (%s): see migratectl verify"
				 : "Volume %s: cannot look at %s: %s",
			 settings->volume, path, strerror(-result));
		mg_volume_put(export->volume);
		return result;
	}
	export->root_fileid = st.st_ino;
	if (mg_takeover_open(export, settings->takeover) < 0) {
		mg_volume_put(export->volume);
		return -EBADMSG;
	}
	if (atomic_load(&export->volume->unattached))
		LogWarn(COMPONENT_FSAL,
			"Volume %s: %s is empty and not attached: run migratectl attach %s before "
			"clients use it",
			settings->volume, path, settings->volume);
	return 0;
}

static fsal_status_t create_export(struct fsal_module *module, struct fsal_module *below,
				   const struct settings *settings, struct config_error_type *err,
				   const struct fsal_up_vector *up_ops)
{
	struct mg_export *export = gsh_calloc(1, sizeof(*export));
	fsal_status_t status;
	bool unfinished, past;

	glist_init(&export->ios);
	if (mg_pool_start(mg_limits.workers) < 0) {
		LogMajor(COMPONENT_FSAL, "Volume %s: cannot start threads", settings->volume);
		gsh_free(export);
		return fsalstat(ERR_FSAL_NOMEM, 0);
	}
	mg_bypass_watch(below);
	unfinished = looks_unfinished(module, below, &past);
	if (past)
		LogMajor(COMPONENT_FSAL, "Volume %s: it cannot be exported", settings->volume);
	if (past || open_volume(export, settings, unfinished) < 0) {
		mg_pool_stop();
		gsh_free(export);
		return fsalstat(ERR_FSAL_INVAL, 0);
	}
	if (!unfinished && !mg_volume_is_finished(export->volume)) {
		past = mg_bypass_exists(module, below, -1);
		if (!past)
			mg_volume_register(export->volume);
	}
	status = past ? fsalstat(ERR_FSAL_INVAL, 0)
		      : mg_bypass_create(below, settings->below.fsal_node, err, up_ops);
	if (FSAL_IS_ERROR(status)) {
		LogMajor(COMPONENT_FSAL, "Volume %s: it cannot be exported", settings->volume);
		mg_takeover_close(export);
		mg_volume_put(export->volume);
		mg_pool_stop();
		gsh_free(export);
		return status;
	}
	fsal_export_stack(op_ctx->fsal_export, &export->fsal);
	fsal_export_init(&export->fsal);
	export_ops_init(&export->fsal.exp_ops);
	export->fsal.up_ops = up_ops;
	export->fsal.fsal = module;
	pthread_mutex_lock(&export->volume->lock);
	glist_add_tail(&export->volume->export_list, &export->link);
	pthread_mutex_unlock(&export->volume->lock);
	op_ctx->fsal_export = &export->fsal;
	return mg_ok();
}

fsal_status_t mg_create_export(struct fsal_module *module, void *node,
			       struct config_error_type *err, const struct fsal_up_vector *up_ops)
{
	struct settings settings;
	struct fsal_module *below = settings_load(node, &settings, err);
	fsal_status_t status = fsalstat(ERR_FSAL_INVAL, 0);

	if (below) {
		status = create_export(module, below, &settings, err, up_ops);
		fsal_put(below);
	}
	settings_clear(&settings);
	return status;
}

fsal_status_t mg_update_export(struct fsal_module *module, void *node,
			       struct config_error_type *err, struct fsal_export *original,
			       struct fsal_module *super)
{
	struct mg_export *export = mg_export(original);
	struct settings settings;
	struct fsal_module *below;
	fsal_status_t status = update_export(module, node, err, original, super);

	if (FSAL_IS_ERROR(status))
		return status;
	below = settings_load(node, &settings, err);
	status = fsalstat(ERR_FSAL_INVAL, 0);
	if (below &&
	    (strcmp(settings.volume, export->volume->name) ||
	     strcmp(settings.socket, export->volume->socket) ||
	     strcmp(settings.takeover, export->takeover.file ? export->takeover.file : "")))
		LogMajor(COMPONENT_FSAL,
			 "Volume %s: Volume, Socket and Takeover change with a restart only",
			 export->volume->name);
	else if (below)
		status = below->m_ops.update_export(below, settings.below.fsal_node, err,
						    original->sub_export, module);
	if (below)
		fsal_put(below);
	settings_clear(&settings);
	return status;
}
