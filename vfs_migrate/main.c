/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "vfs_migrate/compat.h"
#include "vfs_migrate/lookup.h"
#include "vfs_migrate/parts.h"
#include "vfs_migrate/volume.h"

#include "lib/util/samba_modules.h"
#include "system/passwd.h"

#define NTACL "security.NTACL" /* where the retriever puts descriptors */

static struct vfs_fn_pointers migrating_fns, finished_fns;

/*
 * Where other modules may stand.  A module before migrate may answer a request without it, and then
 * serves holes for data that are missing.  Migrate does not see a module after it: if that changes
 * names, they are not those of the old server, and its own changes are outside of brackets.
 * Modules that are not listed must stand after.
 */
enum place { BEFORE, ANYWHERE, NOWHERE };
static const struct {
	const char *name;
	enum place place;
	const char *why;
} places[] = {
	{"acl_tdb", ANYWHERE, NULL},
	{"acl_xattr", ANYWHERE, NULL},
	{"audit", ANYWHERE, NULL},
	{"cap", BEFORE, "it changes names"},
	{"catia", BEFORE, "it changes names"},
	{"ceph", NOWHERE, "the volume must be a local file system"},
	{"ceph_new", NOWHERE, "the volume must be a local file system"},
	{"crossrename", NOWHERE, "it would copy holes for files that are not here yet"},
	{"dirsort", ANYWHERE, NULL},
	{"extd_audit", ANYWHERE, NULL},
	{"fruit", BEFORE, "it reads and writes files by itself"},
	{"full_audit", ANYWHERE, NULL},
	{"glusterfs", NOWHERE, "the volume must be a local file system"},
	{"media_harmony", BEFORE, "it changes names"},
	{"posix_eadb", NOWHERE, "extended attributes are migrated to the file system"},
	{"recycle", BEFORE, "it moves files"},
	{"streams_depot", NOWHERE, "streams are migrated to where streams_xattr keeps them"},
	{"streams_xattr", ANYWHERE, NULL},
	{"time_audit", ANYWHERE, NULL},
	{"unityed_media", BEFORE, "it changes names"},
	{"virusfilter", NOWHERE, "it would take holes for files that are not here yet"},
	{"worm", ANYWHERE, NULL},
	{"xattr_tdb", NOWHERE, "extended attributes are migrated to the file system"},
};

/* The name of a module as in `vfs objects`, which may be NAME:PARAMETER, without the rest. */
static bool is_module(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(entry, name, len) && (entry[len] == '\0' || entry[len] == ':');
}

static bool may_stand(const char *share, const char *entry, bool before)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (!is_module(entry, places[i].name))
			continue;
		if (places[i].place == NOWHERE)
			DBG_ERR("migrate: [%s]: remove %s from `vfs objects` until the volume is "
				"migrated: %s\n",
				share, entry, places[i].why);
		else if (places[i].place == BEFORE && !before)
			DBG_ERR("migrate: [%s]: put %s before migrate in `vfs objects`: %s\n",
				share, entry, places[i].why);
		else
			return true;
		return false;
	}
	if (before)
		DBG_ERR("migrate: [%s]: put migrate before %s in `vfs objects`: %s would read what "
			"is not here yet\n",
			share, entry, entry);
	return !before;
}

/* worm keeps clients from files with an old ctime.  A file that becomes whole has a new ctime,
 * except up to Samba 4.22, whose ctime has the seconds of mtime. */
static bool may_forget_age(int snum, const char *share, const char *entry)
{
	const char **writers = lp_write_list(snum);

	if (!is_module(entry, "worm") ||
	    get_ctimespec(&(struct stat){.st_ctim.tv_sec = 1}).tv_sec != 1 ||
	    (lp_read_only(snum) && (!writers || !*writers)))
		return false;
	DBG_ERR("migrate: [%s]: set `read only = yes`, without a `write list`, until the volume "
		"is migrated and worm:grace_period has passed: worm would let clients change "
		"files that have just become whole\n",
		share);
	return true;
}

static bool check_stacking(const struct vfs_handle_struct *handle, const char *share)
{
	const char **objects = lp_vfs_objects(SNUM(handle->conn));
	bool before = true, good = true;

	for (size_t i = 0; objects && objects[i]; i++) {
		if (is_module(objects[i], "migrate")) {
			if (!before) {
				DBG_ERR("migrate: [%s]: `vfs objects` has migrate twice\n", share);
				good = false;
			}
			before = false;
		} else if (!may_stand(share, objects[i], before) ||
			   may_forget_age(SNUM(handle->conn), share, objects[i])) {
			good = false;
		}
	}
	if (lp_widelinks(SNUM(handle->conn))) {
		DBG_ERR("migrate: [%s]: set `wide links = no` until the volume is migrated: links "
			"would be followed to what is not here yet\n",
			share);
		good = false;
	}
	return good;
}

/* Whether descriptors may be all that keeps clients from the volume's files. */
static bool descriptors_may_decide(const struct vm_share *options, const char *path)
{
	if (migrate_volume_connected(options->volume->client))
		return migrate_volume_descriptors(options->volume->client);
	return options->unattached || getxattr(path, NTACL, NULL, 0) >= 0;
}

/* Descriptors are kept where acl_xattr reads them; these modules answer with other descriptors, or
 * with none. */
static bool reads_descriptors(const struct vfs_handle_struct *handle, const char *share)
{
	static const char *const others[] = {"acl_tdb", "afsacl",    "aixacl", "aixacl2",
					     "gpfs",	"fake_acls", "zfsacl", "nfs4acl_xattr"};
	static const char why[] = "the permission bits of this volume allow more than its security "
				  "descriptors, which acl_xattr alone reads";
	const char **objects = lp_vfs_objects(SNUM(handle->conn));
	const char *name =
		lp_parm_const_string(SNUM(handle->conn), "acl_xattr", "security_acl_name", NTACL);
	bool read = false;

	for (size_t i = 0; objects && objects[i]; i++) {
		read |= is_module(objects[i], "acl_xattr");
		for (size_t j = 0; j < ARRAY_SIZE(others); j++) {
			if (!is_module(objects[i], others[j]))
				continue;
			DBG_ERR("migrate: [%s]: remove %s from `vfs objects`: %s\n", share,
				objects[i], why);
			return false;
		}
	}
	if (!read)
		DBG_ERR("migrate: [%s]: put acl_xattr into `vfs objects`: %s\n", share, why);
	else if (strcmp(name, NTACL))
		DBG_ERR("migrate: [%s]: remove `acl_xattr:security_acl_name`: the descriptors of "
			"this volume are in %s\n",
			share, NTACL);
	return read && !strcmp(name, NTACL);
}

static struct vm_share *read_options(struct vfs_handle_struct *handle, const char *share,
				     const char **volume, const char **socket)
{
	int snum = SNUM(handle->conn), hold = lp_parm_int(snum, "migrate", "hold", 15);
	struct vm_share *options;

	*volume = lp_parm_const_string(snum, "migrate", "volume", NULL);
	*socket = lp_parm_const_string(snum, "migrate", "socket", "");
	if (!*volume || !**volume) {
		DBG_ERR("migrate: [%s]: `migrate:volume` is missing: name the volume of "
			"quickmigrate.conf\n",
			share);
		errno = EINVAL;
		return NULL;
	}
	if (hold < 1 || hold > 3600) {
		DBG_ERR("migrate: [%s]: `migrate:hold` is a number of seconds from 1 to 3600\n",
			share);
		errno = EINVAL;
		return NULL;
	}
	options = talloc_zero(handle->conn, struct vm_share);
	if (!options)
		return NULL;
	options->hold_ms = hold * 1000;
	options->recall = lp_parm_bool(snum, "migrate", "recall", false);
	options->ev = handle->conn->sconn->ev_ctx;
	return options;
}

static void share_free(void **data)
{
	struct vm_share *options = *data;

	vm_volume_put(options->volume);
	TALLOC_FREE(*data);
}

/* VM_..., or -1 after a message.  unfinished: looks_unfinished(). */
static int attach(struct vfs_handle_struct *handle, const char *share, bool unfinished)
{
	const char *path = handle->conn->connectpath, *volume, *socket;
	struct vm_share *options = read_options(handle, share, &volume, &socket);
	int result;

	if (!options)
		return -1;
	options->volume = vm_volume_get(options->ev, volume, socket);
	if (!options->volume) {
		DBG_ERR("migrate: [%s]: volume %s: %s\n", share, volume, strerror(errno));
		TALLOC_FREE(options);
		return -1;
	}
	SMB_VFS_HANDLE_SET_DATA(handle, options, share_free, struct vm_share, return -1);
	if (!migrate_volume_connected(options->volume->client))
		DBG_ERR("migrate: [%s]: the retriever of volume %s does not answer; unfinished "
			"files time out: see systemctl status migrate-retriever@%s\n",
			share, volume, volume);
	if (unfinished)
		vm_volume_register(options->volume);
	/* Part of the path may be in the volume. */
	result = vm_bring(handle, AT_FDCWD, path, true);
	if (result == 0)
		result = vm_volume_inspect(options->volume, path);
	options->unattached = result == VM_NOT_ATTACHED;
	if (options->unattached)
		DBG_ERR("migrate: [%s]: %s is empty and not attached: run migratectl attach %s "
			"before clients use it\n",
			share, path, volume);
	if (result >= 0)
		return result;
	if (result == -EBADMSG)
		DBG_ERR("migrate: [%s]: the record of %s or of a directory above is damaged: see "
			"migratectl verify %s\n",
			share, path, volume);
	else
		DBG_ERR("migrate: [%s]: cannot look at %s: %s\n", share, path, strerror(-result));
	return vm_fail(result);
}

/* Warns of settings that let clients see fills; they do no other harm. */
static void warn_of_settings(const char *share)
{
	static bool warned;

	if (warned)
		return;
	warned = true;
	if (lp_kernel_change_notify())
		DBG_ERR("migrate: [%s]: set `kernel change notify = no` in [global]: clients are "
			"told of fills as of changes\n",
			share);
	if (vm_compat_directory_leases())
		DBG_ERR("migrate: [%s]: set `smb3 directory leases = no` in [global]: clients "
			"would go on to show what was before a fill\n",
			share);
}

/* Whether the share, as this client would get it, shows parts of an unfinished volume without
 * migrate. */
static bool share_is_past(int snum, const char *user, int dir_fd)
{
	const char **objects = lp_vfs_objects(snum);
	TALLOC_CTX *frame = talloc_stackframe();
	const char *path = lp_path(frame, loadparm_s3_global_substitution(), snum);
	const struct passwd *home =
		*path || strcasecmp_m(lp_const_servicename(snum), "homes") ? NULL : getpwnam(user);
	char *variable, *start;
	struct migrate_inspection found;
	bool past, whole = false;
	int fd = -1;

	if (home && strcmp(home->pw_dir, "/"))
		path = home->pw_dir;
	for (size_t i = 0; objects && objects[i]; i++)
		if (is_module(objects[i], "migrate"))
			path = "";
	/* what is before the first component whose name is not known here */
	start = talloc_strdup(frame, path);
	variable = start ? strchr(start, '%') : NULL;
	if (variable)
		*variable = '\0';
	if (variable && strrchr(start, '/'))
		strrchr(start, '/')[1] = '\0';
	if (start && start[0] == '/' && strcmp(lp_const_servicename(snum), "IPC$"))
		fd = migrate_open_served(start, &whole);
	past = fd >= 0 &&
	       ((whole && !variable ? migrate_overlap(fd, dir_fd) : migrate_lies_in(fd, dir_fd)) ||
		(migrate_inspect(fd, &found) == 0 && (found.unfinished || found.to_be_finalized)));
	if (fd >= 0)
		close(fd);
	TALLOC_FREE(frame);
	return past;
}

/* What the directory, which is not opened, says of itself. */
static bool looks_unfinished(int dir_fd)
{
	struct migrate_inspection found;

	return migrate_inspect(dir_fd, &found) < 0 || found.unfinished || found.to_be_finalized;
}

/* Whether another share bypasses migrate: the guard lets this process read through that share,
 * too. */
static bool has_share_past(const struct vfs_handle_struct *handle, const char *share,
			   const char *user, int dir_fd)
{
	int past = -1;

	become_root();
	for (int snum = 0; past < 0 && snum < lp_numservices(); snum++)
		if (snum != SNUM(handle->conn) && lp_snum_ok(snum) && !lp_printable(snum) &&
		    share_is_past(snum, user, dir_fd))
			past = snum;
	unbecome_root();
	if (past >= 0)
		DBG_ERR("migrate: [%s]: [%s] serves an unfinished volume without migrate in its "
			"`vfs objects`: its clients would read zeros where data is missing; put "
			"migrate there too, or remove [%s] until the volume is finalized\n",
			share, lp_const_servicename(past), lp_const_servicename(past));
	return past >= 0;
}

/* Whether no share is past it, and the process is registered.  Where only the retriever knows that
 * anything is unfinished, and is away, the guard goes on asking about this process. */
static bool register_alone(const struct vfs_handle_struct *handle, const char *share,
			   const char *user, int dir_fd)
{
	const struct vm_share *options = vm_share(handle);

	if (!options->unattached && !options->volume->registered &&
	    !migrate_volume_connected(options->volume->client))
		return true;
	if (has_share_past(handle, share, user, dir_fd))
		return false;
	vm_volume_register(options->volume);
	return true;
}

/* As attach(); nothing that is unfinished may be opened before it is known what else this process
 * serves. */
static int attach_alone(struct vfs_handle_struct *handle, const char *share, const char *user)
{
	bool whole, unfinished;
	int dir_fd, result;

	become_root();
	dir_fd = open(handle->conn->connectpath, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		dir_fd = migrate_open_served(handle->conn->connectpath, &whole);
	unfinished = dir_fd < 0 || looks_unfinished(dir_fd);
	unbecome_root();
	if (unfinished && dir_fd >= 0 && has_share_past(handle, share, user, dir_fd))
		result = vm_fail(-EINVAL);
	else
		result = attach(handle, share, unfinished);
	if (result >= 0 && result != VM_FINISHED && !unfinished &&
	    !register_alone(handle, share, user, dir_fd))
		result = vm_fail(-EINVAL);
	if (dir_fd >= 0)
		close(dir_fd);
	return result;
}

static int vm_connect(struct vfs_handle_struct *handle, const char *service, const char *user)
{
	int result = SMB_VFS_NEXT_CONNECT(handle, service, user);

	if (result < 0)
		return result;
	if (IS_IPC(handle->conn) || IS_PRINT(handle->conn)) {
		handle->fns = &finished_fns;
		return 0;
	}
	result = attach_alone(handle, service, user);
	if (result >= 0 && ((result != VM_FINISHED && !check_stacking(handle, service)) ||
			    (descriptors_may_decide(vm_share(handle), handle->conn->connectpath) &&
			     !reads_descriptors(handle, service))))
		result = vm_fail(-EINVAL);
	if (result < 0) {
		int error = errno;

		SMB_VFS_NEXT_DISCONNECT(handle);
		errno = error;
		return -1;
	}
	/* A finished volume needs no hooks: the module then looks at nothing, and costs nothing. */
	if (result == VM_FINISHED)
		handle->fns = &finished_fns;
	else
		warn_of_settings(service);
	return 0;
}

_PUBLIC_ NTSTATUS samba_init_module(TALLOC_CTX *ctx)
{
	static void (*const parts[])(struct vfs_fn_pointers *) = {
		vm_lookup_fns, vm_open_fns,  vm_attrs_fns, vm_setters_fns, vm_names_fns,
		vm_read_fns,   vm_write_fns, vm_space_fns, vm_offload_fns, vm_compat_fns,
	};

	migrating_fns.connect_fn = vm_connect;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		parts[i](&migrating_fns);
	return smb_register_vfs(SMB_VFS_INTERFACE_VERSION, "migrate", &migrating_fns);
}
