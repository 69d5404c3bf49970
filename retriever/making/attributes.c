/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/acl/nfs4_nt.h"
#include "lib/acl/nfs4_posix.h"
#include "lib/acl/smb_descriptor.h"
#include "lib/base/text.h"
#include "lib/config/config_ids.h"
#include "lib/config/owners.h"
#include "lib/report/omissions.h"
#include "lib/source/posix_acl.h"
#include "retriever/making/retention.h"

#define BLOCKS_FULL 64 /* the longest attribute needs no more */
#define XATTR_HEAD  16 /* bytes that ext4 adds to a name and a value */
#define TOO_BIG	    "too big for this file system"

/* What gets something: fd, or name in it.  fd -1: nothing does, and what it could not get is said,
 * on a file system of this room. */
struct attributes_place {
	int fd;
	const char *name;
	struct attributes_room room;
	uint32_t used;
	bool no_user, no_group; /* who had it is nobody here */
	bool translated;	/* its ACL is one that was made here, and says so of who had it */
	bool acl;		/* it has one: the group's bits of the mode are its mask */
};

bool attributes_take_answer(struct backend_request *req, struct source_entry *entry,
			    struct source_xattrs **xattrs)
{
	const struct source_attr before = entry->attr;

	if (req->has_attr && (req->attr.fileid != entry->attr.fileid ||
			      (req->attr.mode & S_IFMT) != (entry->attr.mode & S_IFMT))) {
		g_clear_pointer(&req->xattrs, source_xattrs_free);
		return false;
	}
	*xattrs = req->xattrs ? g_steal_pointer(&req->xattrs) : source_xattrs_new();
	if (req->has_attr) { /* of one moment with the ACL */
		entry->attr = req->attr;
		entry->attr.object = before.object; /* its handle is the same */
	} else {
		g_clear_pointer(&(*xattrs)->data, g_free);
	}
	if (req->count || source_attr_same(&before, &entry->attr)) {
		entry->attr.atime = before.atime;
		entry->attr.far_atime = before.far_atime;
	}
	return true;
}

/* ---- owner ---- */

static uint32_t new_id(const struct volume_config *config, bool group, uint32_t id,
		       struct attributes_result *carried)
{
	const struct owners *owners = group ? config->map_groups : config->map_users;
	const char *what = group ? "group" : "owner";
	const uint32_t is = config_owner(config, group, id);

	if (id == OWNER_NONE)
		attributes_lose(carried, LOSS_OWNER,
				"the old server's %s is nobody who is known here: %u now, with no "
				"more rights "
				"than everybody",
				what, is);
	else if (owners_is_shared(owners, id))
		attributes_lose(carried, LOSS_OWNER,
				"%s %u is kept, but another id of the old server becomes the same",
				what, id);
	return is;
}

static int change_owner(const struct volume_config *config, struct attributes_place *at,
			const struct source_attr *attr, const struct windows *windows,
			struct attributes_result *carried)
{
	uint32_t uid, gid;
	int ret = 0;

	if (windows) { /* of this host already */
		uid = windows->uid;
		gid = windows->gid;
	} else if (attr->no_owner) { /* nothing is anybody's by a guess */
		return attr->no_owner;
	} else {
		at->no_user = attr->uid == OWNER_NONE;
		at->no_group = attr->gid == OWNER_NONE;
		uid = new_id(config, false, attr->uid, carried);
		gid = new_id(config, true, attr->gid, carried);
	}
	if (at->name)
		ret = fchownat(at->fd, at->name, uid, gid, AT_SYMLINK_NOFOLLOW);
	else if (at->fd >= 0)
		ret = fchown(at->fd, uid, gid);
	return ret < 0 ? -errno : 0;
}

/* The mode for who owns it now, where that is not who did; the ACL went through acl_close(). */
static mode_t close_mode(const struct attributes_place *at, mode_t mode,
			 struct attributes_result *carried)
{
	const mode_t was = mode;

	/* who had less than others may be one of these */
	if (at->no_group && !at->acl && !at->translated)
		mode &= 07770 | (mode >> 3 & 7);
	if (at->no_user && !at->acl && !at->translated)
		mode &= 07700 | (mode >> 6 & 7) << 3 | (mode >> 6 & 7);
	if (at->no_group)
		mode &= ~(mode_t)S_ISGID & (at->acl ? 07777 : 07707 | (mode & 7) << 3);
	if (at->no_user)
		mode &= ~(mode_t)(S_ISUID | S_ISGID) &
			(07077 | ((mode & 7) << 6 & (mode & 070) << 3));
	if (mode != was)
		attributes_lose(
			carried, LOSS_MODE,
			"the mode %04o became %04o, because who had its rights is nobody here", was,
			mode);
	return mode;
}

/* ---- ACLs and extended attributes ---- */

static bool is_full(int fd)
{
	struct statvfs st;

	return fstatvfs(fd, &st) < 0 || st.f_bfree < BLOCKS_FULL;
}

static int foresee_xattr(struct attributes_place *at, const char *name, uint32_t len,
			 const char **why)
{
	const uint32_t takes = XATTR_HEAD + (uint32_t)strlen(name) + len;

	if (len > (at->room.each ? at->room.each : XATTR_SIZE_MAX) ||
	    (at->room.together && takes + at->used > at->room.together)) {
		*why = TOO_BIG;
		return 1;
	}
	at->used += takes;
	return 0;
}

#define PATH_ROOM (32 + NAME_MAX)

/* Also of what cannot be opened. */
static void make_name_path(char path[PATH_ROOM], const struct attributes_place *at)
{
	g_snprintf(path, PATH_ROOM, "/proc/self/fd/%d/%s", at->fd, at->name);
}

static int store_xattr(const struct attributes_place *at, const char *name, const void *value,
		       uint32_t len)
{
	char path[PATH_ROOM];

	if (!at->name)
		return fsetxattr(at->fd, name, value, len, 0);
	make_name_path(path, at);
	return lsetxattr(path, name, value, len, 0);
}

/* 0: set.  1: it never can be, for the reason in *why.  -errno: not now. */
static int put_xattr(struct attributes_place *at, const char *name, const void *value, uint32_t len,
		     const char **why)
{
	if (at->fd < 0)
		return foresee_xattr(at, name, len, why);
	if (store_xattr(at, name, value, len) == 0)
		return 0;
	*why = g_strerror(errno);
	switch (errno) {
	case ENOSPC:
		if (is_full(at->fd))
			return -ENOSPC;
		*why = TOO_BIG;
		return 1;
	case EDQUOT:
	case EIO:
	case ENOMEM:
	case EROFS:
		return -errno;
	default:
		return 1;
	}
}

static uint32_t map_id(void *arg, bool group, uint32_t id)
{
	const struct volume_config *config = arg;

	return owners_map(group ? config->map_groups : config->map_users, id);
}

static const char *acl_word(const char *name)
{
	return strcmp(name, XATTR_ACL_DEFAULT) ? "ACL" : "default ACL";
}

/* Sets the decoded ACL.  As put_xattr(). */
static int put_acl(const struct volume_config *config, struct attributes_place *at,
		   const char *name, struct acl *acl, const char **why)
{
	g_autofree uint8_t *value = NULL;
	uint32_t len;

	if (!acl_map(acl, map_id, (void *)config)) {
		*why = "map-users or map-groups make two of its entries one";
		return 1;
	}
	value = acl_encode(acl, &len);
	return put_xattr(at, name, value, len, why);
}

/* *perms: what the mode's permission bits must be with it, or without it. */
static int set_acl(const struct volume_config *config, struct attributes_place *at,
		   const struct source_xattr *xattr, mode_t *perms,
		   struct attributes_result *carried)
{
	const char *word = acl_word(xattr->name), *why = "the old server sent what is no ACL";
	struct acl *acl = acl_decode(xattr->value, xattr->len);
	bool access = !strcmp(xattr->name, XATTR_ACL_ACCESS);
	const mode_t said = acl ? acl_mode(acl) : 0;
	mode_t mode = *perms & 0700;
	int ret = 1;

	if (acl) {
		if (access && !at->translated)
			acl_bar(acl, at->no_user, at->no_group);
		acl_close(acl, access && at->no_user, at->no_group);
		mode = acl_mode_alone(acl);
		ret = put_acl(config, at, xattr->name, acl, &why);
	}
	if (ret == 0) {
		carried->acl = true;
		at->acl |= access;
		mode = acl_mode(acl);
		if (access && said != *perms)
			attributes_lose(carried, LOSS_MODE,
					"the mode was listed as %04o, but the ACL says %04o, which "
					"it is now",
					*perms, said);
	}
	acl_free(acl);
	if (ret < 0)
		return ret;
	if (ret && access)
		attributes_lose(carried, LOSS_ACL,
				"the ACL could not be set (%s): mode %04o instead, which grants "
				"nobody more",
				why, mode);
	else if (ret)
		attributes_lose(carried, LOSS_ACL, "the %s could not be set (%s)", word, why);
	if (access)
		*perms = mode;
	return 0;
}

/* ---- what an NFSv4 server said ---- */

#define TEXT_MAX 2000 /* bytes of an ACL in a line of the report */

static int set_posix(const struct volume_config *config, struct attributes_place *at,
		     const char *name, struct acl *acl, mode_t *perms,
		     struct attributes_result *carried)
{
	struct source_xattr xattr = {.name = (char *)name};
	mode_t mode = acl_mode(acl);
	bool access = !strcmp(name, XATTR_ACL_ACCESS);
	int ret;

	if (access && acl->entries->len == 3) { /* the mode's */
		if (mode != *perms)
			attributes_lose(carried, LOSS_MODE,
					"the mode was listed as %04o, but the ACL says %04o, "
					"which it is now",
					*perms, mode);
		*perms = mode;
		return 0;
	}
	xattr.value = acl_encode(acl, &xattr.len);
	ret = set_acl(config, at, &xattr, perms, carried);
	g_free(xattr.value);
	return ret;
}

/* As put_xattr(): the whole of it as a descriptor, for Samba. */
static int put_nt(const struct volume_config *config, struct attributes_place *at,
		  const struct source_attr *attr, const struct source_nfs4_acl *acl,
		  const char **why)
{
	uint32_t uid = owners_map(config->map_users, attr->uid), len;
	uint32_t gid = owners_map(config->map_groups, attr->gid);
	g_autofree uint8_t *value =
		nfs4_nt_encode(acl, uid, gid, map_id, (void *)config, &len, why);

	return value ? put_xattr(at, XATTR_NTACL, value, len, why) : 1;
}

/* As put_xattr(): what acl-mode asks for beside the POSIX ACL. */
static int put_beside(const struct volume_config *config, struct attributes_place *at,
		      const struct source_attr *attr, const struct source_nfs4_acl *acl,
		      struct attributes_result *carried)
{
	const bool nt = config->acl_mode == ACL_MODE_NT;
	const char *why = NULL;
	int ret = 0;

	if (nt)
		ret = put_nt(config, at, attr, acl, &why);
	if (config->acl_mode == ACL_MODE_KEEP)
		ret = put_xattr(at, XATTR_NFS4_KEPT, acl->text->str, (uint32_t)acl->text->len,
				&why);
	if (ret <= 0)
		return ret;
	attributes_lose(carried, LOSS_ACL, "the NFSv4 ACL could not be %s (%s)",
			nt ? "set as a security descriptor" : "kept as " XATTR_NFS4_KEPT, why);
	omissions_add(&carried->left, nt ? XATTR_NTACL : XATTR_NFS4_KEPT);
	return 0;
}

static int set_nfs4(const struct volume_config *config, struct attributes_place *at,
		    const struct source_attr *attr, const struct source_nfs4_acl *acl,
		    mode_t *perms, struct attributes_result *carried)
{
	const bool cut = acl->text->len > TEXT_MAX;
	struct nfs4_posix posix;
	int ret;

	at->translated = true;
	nfs4_posix_init(&posix, acl, attr);
	if (posix.lost->len)
		attributes_lose(carried, LOSS_ACL,
				"the NFSv4 ACL became a POSIX ACL, without: %s; it "
				"was %.*s%s",
				posix.lost->str, TEXT_MAX, acl->text->str, cut ? " ..." : "");
	ret = set_posix(config, at, XATTR_ACL_ACCESS, posix.access, perms, carried);
	if (!ret && posix.inherited)
		ret = set_posix(config, at, XATTR_ACL_DEFAULT, posix.inherited, perms, carried);
	if (!ret)
		ret = put_beside(config, at, attr, acl, carried);
	nfs4_posix_clear(&posix);
	return ret;
}

static int set_xattr(struct attributes_place *at, const struct source_xattr *xattr,
		     struct attributes_result *carried)
{
	const char *why = "not an attribute of users";
	int ret = g_str_has_prefix(xattr->name, "user.")
			  ? put_xattr(at, xattr->name, xattr->value, xattr->len, &why)
			  : 1;

	if (ret == 0)
		carried->xattrs = true;
	if (ret > 0)
		attributes_lose_xattr(carried, xattr->name, xattr->len, why);
	return MIN(ret, 0);
}

static bool is_acl_attribute(const struct source_xattr *xattr)
{
	return !strcmp(xattr->name, XATTR_ACL_ACCESS) || !strcmp(xattr->name, XATTR_ACL_DEFAULT);
}

/* ACLs first: where there is not room for all, they count more. */
static int set_all(const struct volume_config *config, struct attributes_place *at,
		   const struct source_xattrs *xattrs, mode_t *perms,
		   struct attributes_result *carried)
{
	int ret = 0;

	for (unsigned pass = 0; pass < 2; pass++) {
		for (guint i = 0; i < xattrs->list->len && !ret; i++) {
			const struct source_xattr *xattr =
				&g_array_index(xattrs->list, struct source_xattr, i);

			if (is_acl_attribute(xattr) != (pass == 0))
				continue;
			ret = pass == 0 ? set_acl(config, at, xattr, perms, carried)
					: set_xattr(at, xattr, carried);
		}
	}
	if (xattrs->acl_lost)
		*perms &= 0700;
	if (xattrs->project)
		attributes_lose(
			carried, LOSS_VOLUME,
			"projects: what is in project %u there counts for none here: give its "
			"directory one with chattr -p",
			xattrs->project);
	for (guint i = 0; i < xattrs->lost->len; i++)
		attributes_lose(carried, LOSS_SOURCE, "%s", (char *)xattrs->lost->pdata[i]);
	return ret;
}

/* ---- what an SMB server said ---- */

/* Where the modes come by NFS, they and the owner stand. */
static bool is_ruling(const struct volume_config *config)
{
	return !config->acl_source;
}

/* An object that got no descriptor would be what its mode says. */
static int set_descriptor(struct attributes_place *at, const struct windows *windows, bool ruling,
			  mode_t *perms, struct attributes_result *carried)
{
	const char *why = windows->why;
	int ret =
		windows->acl ? put_xattr(at, XATTR_NTACL, windows->acl, windows->acl_len, &why) : 1;

	if (ret <= 0) {
		carried->acl = ret == 0;
		return ret;
	}
	attributes_lose(carried, LOSS_ACL,
			"the security descriptor (" TEXT_COUNT
			") could not be set (%s): nobody but the owner and "
			"administrators may do anything instead",
			TEXT_COUNTED(windows->acl_len, "bytes"), why);
	if (ruling)
		*perms = windows->closed_perms;
	ret = put_xattr(at, XATTR_NTACL, windows->closed, windows->closed_len, &why);
	return ret > 0 ? -EOPNOTSUPP : ret;
}

/* Once for the volume. */
static void lose_of_volume(struct attributes_result *carried, const struct windows *windows,
			   bool ruling)
{
	if (ruling && windows->lost_owner)
		attributes_lose(carried, LOSS_VOLUME,
				"owners: %s is nobody here: its files are user %u's",
				windows->lost_owner, windows->uid);
	if (ruling && windows->lost_group)
		attributes_lose(carried, LOSS_VOLUME,
				"groups: %s is nobody here: its files are group %u's",
				windows->lost_group, windows->gid);
	if (ruling && windows->less)
		attributes_lose(
			carried, LOSS_VOLUME,
			"permission bits: some descriptors allow what smb-modes = descriptor does "
			"not: "
			"to others than owner, group and everybody, to who may be denied it, or "
			"more "
			"than read, write, execute");
	if (windows->no_sacl)
		attributes_lose(
			carried, LOSS_VOLUME,
			"SACLs: the old server did not show them (it takes SeSecurityPrivilege)");
	if (windows->no_streams)
		attributes_lose(carried, LOSS_VOLUME, "streams: the old server cannot list them");
}

/*
 * The attributes first, then the descriptor, then streams.  Attributes are short and differ from
 * object to object; where they fill what is left of the inode, the descriptor goes to a block of
 * its own, which ext4 shares among all objects that have the same.
 */
static int set_windows(const struct volume_config *config, struct attributes_place *at,
		       const struct windows *windows, mode_t *perms,
		       struct attributes_result *carried)
{
	bool ruling = is_ruling(config);
	const struct source_xattrs *xattrs = windows->xattrs;
	int ret = 0;

	if (ruling)
		*perms = windows->perms;
	if (ruling && windows->bound_owner)
		attributes_lose(carried, LOSS_OWNER,
				"its descriptor (OWNER RIGHTS) keeps its owner %s from changing "
				"it, and the "
				"owner of a file may always change its mode: user %u's, with no "
				"more rights "
				"than everybody",
				windows->bound_owner, windows->uid);
	for (guint i = 0; i < xattrs->list->len && !ret; i++) {
		ret = set_xattr(at, &g_array_index(xattrs->list, struct source_xattr, i), carried);
		if (i == 0 && !ret)
			ret = set_descriptor(at, windows, ruling, perms, carried);
	}
	for (guint i = 0; i < xattrs->lost->len; i++)
		attributes_lose(carried, LOSS_SOURCE, "%s", (char *)xattrs->lost->pdata[i]);
	for (guint i = 0; i < windows->lost_streams->len; i++)
		attributes_lose(carried, LOSS_XATTR, "%s", (char *)windows->lost_streams->pdata[i]);
	if (windows->lost_streams->len)
		carried->left.what |= LEFT_OTHERS;
	lose_of_volume(carried, windows, ruling);
	return ret;
}

static struct windows *translate_windows(const struct volume_config *config,
					 const struct source_attr *attr,
					 const struct source_xattrs *xattrs)
{
	const struct windows_map map = {.sids = config->map_sids,
					.users = config->sid_users,
					.groups = config->sid_groups,
					.uid = config->default_uid,
					.gid = config->default_gid,
					.modes = config->smb_modes};

	if (!xattrs || !xattrs->windows)
		return NULL;
	return smb_descriptor_new(xattrs->windows, S_ISDIR(attr->mode), &map);
}

/* ---- all of it ---- */

/* *perms: the mode's permission bits. */
static int set_what_it_has(const struct volume_config *config, struct attributes_place *at,
			   bool inherits, const struct source_attr *attr,
			   const struct source_xattrs *xattrs, mode_t *perms,
			   struct attributes_result *carried)
{
	struct windows *windows = translate_windows(config, attr, xattrs);
	int ret = change_owner(config, at, attr, is_ruling(config) ? windows : NULL, carried);

	retention_note(config, attr, xattrs, carried);
	if (!ret && inherits && fremovexattr(at->fd, XATTR_ACL_ACCESS) < 0 && errno != ENODATA &&
	    errno != EOPNOTSUPP)
		ret = -errno;
	if (!ret && windows)
		ret = set_windows(config, at, windows, perms, carried);
	if (!ret && xattrs && xattrs->nfs4_acl)
		ret = set_nfs4(config, at, attr, xattrs->nfs4_acl, perms, carried);
	if (!ret && xattrs)
		ret = set_all(config, at, xattrs, perms, carried);
	smb_descriptor_free(windows);
	return ret;
}

/* The last user attribute that it got goes.  FALSE: it has none. */
static bool make_xattr_room(const struct attributes_place *at, struct attributes_result *carried)
{
	g_autofree char *list = g_malloc(XATTR_LIST_MAX), *last = NULL;
	char path[PATH_ROOM];
	ssize_t len, size;

	if (at->name)
		make_name_path(path, at);
	len = at->name ? llistxattr(path, list, XATTR_LIST_MAX)
		       : flistxattr(at->fd, list, XATTR_LIST_MAX);
	for (const char *name = list; name < list + len; name += strlen(name) + 1)
		if (g_str_has_prefix(name, "user."))
			last = (g_free(last), g_strdup(name));
	if (!last)
		return false;
	size = at->name ? lgetxattr(path, last, NULL, 0) : fgetxattr(at->fd, last, NULL, 0);
	attributes_lose_xattr(carried, last, (uint32_t)MAX(size, 0), TOO_BIG " beside others");
	return (at->name ? lremovexattr(path, last) : fremovexattr(at->fd, last)) == 0;
}

/* An object that lacks something and does not say so would have it taken away there as well. */
static int mark_omissions(const struct attributes_place *at, struct attributes_result *carried)
{
	int ret;

	while ((ret = omissions_put(at->fd, at->name, &carried->left)) == -ENOSPC &&
	       !is_full(at->fd) && make_xattr_room(at, carried))
		;
	return ret;
}

/* It may have inherited a group and an ACL.  What it is instead is nothing for the old server. */
static int close_attributes(const struct attributes_place *at, const struct source_attr *attr,
			    struct attributes_result *carried)
{
	int ret;

	if (fchown(at->fd, 0, 0) < 0 ||
	    (fremovexattr(at->fd, XATTR_ACL_ACCESS) < 0 && errno != ENODATA &&
	     errno != EOPNOTSUPP) ||
	    fchmod(at->fd, 0) < 0)
		return -errno;
	ret = attributes_set_times(at->fd, at->name, &at->room.times, attr, carried);
	carried->left.what |= LEFT_OWNER | LEFT_MODE | LEFT_ACL | LEFT_OTHERS;
	return ret ? ret : mark_omissions(at, carried);
}

int attributes_set(struct retriever *retriever, int fd, const struct source_attr *attr,
		   const struct source_xattrs *xattrs, bool inherits,
		   struct attributes_result *carried)
{
	struct attributes_place at = {.fd = fd};
	mode_t perms = attr->mode & 0777;
	int ret;

	if (xattrs && xattrs->closed)
		return close_attributes(&at, attr, carried);
	ret = set_what_it_has(retriever->config, &at, inherits, attr, xattrs, &perms, carried);

	perms = close_mode(&at, (attr->mode & 07000) | perms, carried);
	if (!ret && fchmod(fd, perms) < 0)
		ret = -errno;
	if (!ret)
		ret = attributes_set_times(at.fd, at.name, &at.room.times, attr, carried);
	return ret ? ret : mark_omissions(&at, carried);
}

uint32_t attributes_foresee(const struct volume_config *config, struct attributes_room room,
			    const struct source_attr *attr, const struct source_xattrs *xattrs,
			    struct attributes_result *carried)
{
	struct attributes_place at = {.fd = -1, .room = room};
	mode_t perms = attr->mode & 0777;

	set_what_it_has(config, &at, false, attr, xattrs, &perms, carried);
	if (!S_ISLNK(attr->mode))
		close_mode(&at, (attr->mode & 07000) | perms, carried);
	attributes_set_times(at.fd, at.name, &at.room.times, attr, carried);
	return at.used;
}

/* What goes is an ACL whose mask the group's bits are: they are none until it is gone. */
static int set_node_mode(const struct attributes_place *at, mode_t mode, bool acl)
{
	char path[PATH_ROOM];

	make_name_path(path, at);
	if (!acl &&
	    (fchmodat(at->fd, at->name, mode & ~(mode_t)070, 0) < 0 ||
	     (lremovexattr(path, XATTR_ACL_ACCESS) < 0 && errno != ENODATA && errno != EOPNOTSUPP)))
		return -errno;
	return fchmodat(at->fd, at->name, mode, 0) < 0 ? -errno : 0;
}

int attributes_set_node(struct retriever *retriever, int dir_fd, const char *name,
			const struct source_attr *attr, const struct source_xattrs *xattrs,
			struct attributes_result *carried)
{
	struct attributes_place at = {.fd = dir_fd, .name = name};
	mode_t perms = attr->mode & 0777;
	int ret = set_what_it_has(retriever->config, &at, false, attr, xattrs, &perms, carried);

	if (!ret && !S_ISLNK(attr->mode))
		ret = set_node_mode(&at, close_mode(&at, (attr->mode & 07000) | perms, carried),
				    carried->acl);
	if (!ret)
		ret = attributes_set_times(at.fd, at.name, &at.room.times, attr, carried);
	return ret ? ret : mark_omissions(&at, carried);
}

int attributes_strip(int fd)
{
	g_autofree char *names = g_malloc(XATTR_LIST_MAX);
	ssize_t len = flistxattr(fd, names, XATTR_LIST_MAX);

	if (len < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	for (const char *name = names; name < names + len; name += strlen(name) + 1)
		if ((xattr_is_carried(name) || !strcmp(name, XATTR_LEFT_OUT)) &&
		    fremovexattr(fd, name) < 0 && errno != ENODATA)
			return -errno;
	return 0;
}
