/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/omissions.h"

#include <errno.h>
#include <glib.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/xattr.h>

#include "lib/acl/nfs4_posix.h"
#include "lib/acl/nt_acl.h"
#include "lib/source/posix_acl.h"
#include "lib/source/source.h"

#define VERSION 1
#define HEAD	28

static uint32_t hash_name(const char *name)
{
	const uint64_t h = source_hash(name, strlen(name));

	return (uint32_t)(h ^ h >> 32);
}

void omissions_add(struct omissions *left, const char *name)
{
	if (left->count == LEFT_NAMES_MAX) {
		left->what |= LEFT_OTHERS | LEFT_MORE;
		return;
	}
	left->what |= LEFT_NAMES;
	left->names[left->count++] = hash_name(name);
}

bool omissions_has(const struct omissions *left, const char *name)
{
	const uint32_t wanted = left->count ? hash_name(name) : 0;

	for (unsigned i = 0; i < left->count; i++)
		if (left->names[i] == wanted)
			return true;
	return false;
}

uint64_t omissions_acl(const char *path)
{
	static const char *const names[] = {XATTR_ACL_ACCESS, XATTR_ACL_DEFAULT};
	g_autofree char *value = g_malloc(XATTR_SIZE_MAX);
	uint64_t all = 0;

	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
		ssize_t len = getxattr(path, names[i], value, XATTR_SIZE_MAX);

		if (len > 0)
			all ^= source_hash(value, (size_t)len) + i;
	}
	return all;
}

static void put_integer(uint8_t **p, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*(*p)++ = (uint8_t)(value >> (8 * i));
}

static uint64_t get_integer(const uint8_t **p, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t) * (*p)++ << (8 * i);
	return value;
}

int omissions_put(int fd, const char *name, struct omissions *left)
{
	g_autofree char *path = NULL;
	uint8_t mark[HEAD + sizeof left->names], *p = mark;
	struct stat st;

	if (!left->what)
		return 0;
	path = g_strdup_printf("/proc/self/fd/%d%s%s", fd, name ? "/" : "", name ? name : "");
	if ((name ? lstat(path, &st) : fstat(fd, &st)) < 0)
		return -errno;
	left->mode = st.st_mode & 07777;
	left->uid = st.st_uid;
	left->gid = st.st_gid;
	left->mtime = migrate_ns(st.st_mtim);
	left->acl = S_ISLNK(st.st_mode) ? 0 : omissions_acl(path);
	put_integer(&p, VERSION, 1);
	put_integer(&p, left->what, 1);
	put_integer(&p, left->mode, 2);
	put_integer(&p, left->uid, 4);
	put_integer(&p, left->gid, 4);
	put_integer(&p, (uint64_t)left->mtime, 8);
	put_integer(&p, left->acl, 8);
	for (unsigned i = 0; i < left->count; i++)
		put_integer(&p, left->names[i], 4);
	return (name ? lsetxattr(path, XATTR_LEFT_OUT, mark, (size_t)(p - mark), 0)
		     : fsetxattr(fd, XATTR_LEFT_OUT, mark, (size_t)(p - mark), 0)) < 0
		       ? -errno
		       : 0;
}

void omissions_get(const char *path, struct omissions *left)
{
	uint8_t mark[HEAD + sizeof left->names];
	const uint8_t *p = mark;
	ssize_t len = getxattr(path, XATTR_LEFT_OUT, mark, sizeof mark);

	*left = (struct omissions){0};
	if (len < 0 && (errno == ENODATA || errno == EOPNOTSUPP))
		return;
	if (len < HEAD || len % 4 || get_integer(&p, 1) != VERSION) {
		left->what = LEFT_ANY;
		return;
	}
	left->what = (unsigned)get_integer(&p, 1);
	left->mode = (mode_t)get_integer(&p, 2);
	left->uid = (uint32_t)get_integer(&p, 4);
	left->gid = (uint32_t)get_integer(&p, 4);
	left->mtime = (int64_t)get_integer(&p, 8);
	left->acl = get_integer(&p, 8);
	left->count = (unsigned)(len - HEAD) / 4;
	for (unsigned i = 0; i < left->count; i++)
		left->names[i] = (uint32_t)get_integer(&p, 4);
}

unsigned omissions_get_told(int root_fd)
{
	uint8_t told;

	return fgetxattr(root_fd, XATTR_TOLD, &told, 1) == 1 ? told : 0;
}

bool omissions_was_attached(int root_fd)
{
	return fgetxattr(root_fd, XATTR_TOLD, NULL, 0) >= 0 || errno != ENODATA;
}

int left_out_attached(int root_fd)
{
	const uint8_t unknown = 0;
	int ret = fsetxattr(root_fd, XATTR_TOLD, &unknown, 1, XATTR_CREATE);

	return ret < 0 && errno != EEXIST ? -errno : 0;
}

int omissions_told(int root_fd, unsigned told, bool anew)
{
	const unsigned before = omissions_get_told(root_fd);
	const uint8_t now = (uint8_t)(TOLD_KNOWN | (anew ? told : before & told));

	if ((!anew && !(before & TOLD_KNOWN)) || now == before)
		return 0;
	return fsetxattr(root_fd, XATTR_TOLD, &now, 1, 0) < 0 ? -errno : 0;
}

bool xattr_is_carried(const char *name)
{
	return g_str_has_prefix(name, "user.") || !strcmp(name, XATTR_ACL_ACCESS) ||
	       !strcmp(name, XATTR_ACL_DEFAULT) || !strcmp(name, XATTR_NTACL) ||
	       !strcmp(name, XATTR_NFS4_KEPT);
}
