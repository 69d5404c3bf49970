/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/file/file_xattr.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/xattr.h>

#include "lib/source/posix_acl.h"

#define LIST_BYTES  65536u /* the kernel's limits */
#define VALUE_BYTES 65536u
#define PATH_BYTES  (sizeof("/proc/self/fd/") + 3 * sizeof(int))
#define TRIES	    8
#define NFS4_ACL    "system.nfs4_acl"

/* Neither of the two xattr calls for descriptors takes one with O_PATH. */
static void path_of_fd(int fd, char *path)
{
	g_snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
}

static ssize_t list_names(const char *path, uint8_t *names)
{
	ssize_t len = listxattr(path, (char *)names, LIST_BYTES);

	return len < 0 && errno == ENOTSUP ? 0 : len;
}

/* The value's length; 0 also for an attribute that vanished meanwhile (*gone); or -1 with errno. */
static ssize_t get_value(const char *path, const char *name, uint8_t *value, bool *gone)
{
	ssize_t len = -1;

	for (unsigned i = 0; i < TRIES; i++) {
		len = getxattr(path, name, value, VALUE_BYTES);
		if (len >= 0 || errno != EINTR)
			break;
	}
	*gone = len < 0 && (errno == ENODATA || errno == EOPNOTSUPP);
	return *gone ? 0 : len;
}

static bool is_acl_xattr(const char *name)
{
	return strcmp(name, XATTR_ACL_ACCESS) == 0 || strcmp(name, XATTR_ACL_DEFAULT) == 0;
}

static void carry_xattr(const char *path, const char *name, uint8_t *value,
			struct source_xattrs *xattrs)
{
	bool gone;
	ssize_t len = get_value(path, name, value, &gone);

	if (gone)
		return;
	if (len < 0) {
		source_xattrs_lose(xattrs, "%s: cannot be read: %s", name, g_strerror(errno));
		xattrs->acl_lost |= strcmp(name, XATTR_ACL_ACCESS) == 0;
	} else if (is_acl_xattr(name))
		source_xattrs_add_acl(xattrs, strcmp(name, XATTR_ACL_DEFAULT) == 0, value,
				      (uint32_t)len);
	else
		source_xattrs_add(xattrs, name, value, (uint32_t)len);
}

/* Reports an attribute that is not carried over. */
static void lose_xattr(const char *name, struct source_xattrs *xattrs)
{
	if (strcmp(name, "security.capability") == 0)
		source_xattrs_lose(xattrs,
				   "%s: file capabilities are not carried; set them with "
				   "setcap",
				   name);
	else if (strcmp(name, MIGRATE_XATTR) == 0)
		source_xattrs_lose(xattrs, "%s: %s", name, error_kind(QM_STUB_THERE)->cause);
	else if (strcmp(name, NFS4_ACL) == 0)
		source_xattrs_lose(xattrs, "%s: ACLs of NFS version 4 are not carried", name);
	else
		source_xattrs_lose(xattrs, "%s: not carried", name);
}

/* Labels and signatures that belong to the host that made them, copies that xfs shows of the ACLs,
 * and what an earlier migration to the old server noted for itself (omissions.h). */
static bool is_noise(const char *name)
{
	return strcmp(name, "security.selinux") == 0 || strcmp(name, "security.evm") == 0 ||
	       strcmp(name, "trusted.SGI_ACL_FILE") == 0 ||
	       strcmp(name, "trusted.SGI_ACL_DEFAULT") == 0 ||
	       strcmp(name, "trusted.quickmigrate.left") == 0 ||
	       strcmp(name, "trusted.quickmigrate.told") == 0;
}

int file_get_xattrs(int fd, bool nfs4, uint8_t *memory, struct source_xattrs *xattrs)
{
	char path[PATH_BYTES];
	ssize_t len;

	path_of_fd(fd, path);
	len = list_names(path, memory);
	if (len < 0 && errno == E2BIG) {
		source_xattrs_lose(xattrs,
				   "extended attributes: there are more than can be listed");
		return 0;
	}
	if (len < 0)
		return -errno;
	for (const char *name = (char *)memory; name < (char *)memory + len;
	     name += strlen(name) + 1) {
		if (g_str_has_prefix(name, "user.") || is_acl_xattr(name))
			carry_xattr(path, name, memory + LIST_BYTES, xattrs);
		else if (!is_noise(name) && !(nfs4 && strcmp(name, NFS4_ACL) == 0))
			lose_xattr(name, xattrs);
	}
	return 0;
}

/* Flags that the file system sets by itself are not reported, and projects are handled
 * elsewhere. */
void file_tell_flags(unsigned flags, struct source_xattrs *xattrs)
{
	static const struct {
		unsigned flag;
		char letter; /* of chattr(1) */
	} told[] = {{FS_SECRM_FL, 's'},	       {FS_UNRM_FL, 'u'},      {FS_COMPR_FL, 'c'},
		    {FS_SYNC_FL, 'S'},	       {FS_IMMUTABLE_FL, 'i'}, {FS_APPEND_FL, 'a'},
		    {FS_NODUMP_FL, 'd'},       {FS_NOATIME_FL, 'A'},   {FS_NOCOMP_FL, 'm'},
		    {FS_JOURNAL_DATA_FL, 'j'}, {FS_NOTAIL_FL, 't'},    {FS_DIRSYNC_FL, 'D'},
		    {FS_TOPDIR_FL, 'T'},       {FS_NOCOW_FL, 'C'},     {FS_DAX_FL, 'x'},
		    {FS_CASEFOLD_FL, 'F'},     {FS_ENCRYPT_FL, 'E'},   {FS_VERITY_FL, 'V'}};
	char letters[G_N_ELEMENTS(told) + 1] = "";
	size_t n = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(told); i++)
		if (flags & told[i].flag)
			letters[n++] = told[i].letter;
	if (n)
		source_xattrs_lose(xattrs,
				   "flags (chattr +%s): not carried; set them when it is whole",
				   letters);
}

bool file_has_nfs4_acls(int fd, uint8_t *memory)
{
	char path[PATH_BYTES];
	bool gone;

	path_of_fd(fd, path);
	return get_value(path, NFS4_ACL, memory, &gone) >= 0 && !gone;
}
