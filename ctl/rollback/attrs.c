/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/attrs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/posix_acl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/migrate.h"
#include "common/record.h"
#include "lib/acl/nt_acl.h"
#include "lib/base/mtime.h"
#include "lib/config/config_ids.h"
#include "lib/config/owners.h"
#include "lib/config/parse.h"
#include "lib/config/volume_config.h"
#include "lib/source/posix_acl.h"

static char *magic_link(int fd)
{
	return g_strdup_printf("/proc/self/fd/%d", fd);
}

static bool is_acl(const char *name)
{
	return !strcmp(name, XATTR_ACL_ACCESS) || !strcmp(name, XATTR_ACL_DEFAULT);
}

/* NULL with *ret = -errno. */
static GHashTable *read_xattrs(int fd, int *ret)
{
	g_autofree char *path = magic_link(fd), *list = g_malloc(XATTR_LIST_MAX);
	g_autoptr(GHashTable) xattrs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
							     (GDestroyNotify)g_bytes_unref);
	ssize_t len = flistxattr(fd, list, XATTR_LIST_MAX);

	if (len < 0 && errno == EBADF) /* O_PATH */
		len = listxattr(path, list, XATTR_LIST_MAX);
	*ret = len < 0 && errno != EOPNOTSUPP && errno != EPERM ? -errno : 0;
	for (const char *name = list; name < list + len; name += strlen(name) + 1) {
		GBytes *value = attrs_is_carried(name) ? attrs_read_xattr(path, name) : NULL;

		if (value)
			g_hash_table_insert(xattrs, g_strdup(name), value);
		else if (attrs_is_carried(name) && errno != ENODATA)
			*ret = -errno;
	}
	return *ret ? NULL : g_steal_pointer(&xattrs);
}

static int read_target(int fd, char **target)
{
	char text[PATH_MAX];
	ssize_t len = readlinkat(fd, "", text, sizeof(text));

	if (len < 0)
		return -errno;
	*target = g_strndup(text, (gsize)len);
	return 0;
}

int attrs_read_times(int fd, struct attrs *attrs)
{
	struct migrate_stub stub;
	int ret;

	*attrs = (struct attrs){0};
	if (fstat(fd, &attrs->st) < 0)
		return -errno;
	g_autofree char *path = magic_link(fd);
	omissions_get(path, &attrs->left);
	ret = S_ISLNK(attrs->st.st_mode) ? 0 : migrate_stub_load(fd, &stub);
	if (!ret && !S_ISLNK(attrs->st.st_mode)) {
		if (stub.state != MIGRATE_NORMAL && stub.show_times)
			attrs->st.st_mtim = stub.mtime;
		if (stub.state == MIGRATE_DUMMY)
			ret = -EAGAIN;
		attrs->partial = stub.state != MIGRATE_NORMAL && stub.missing_bytes;
		migrate_stub_clear(&stub);
	}
	return ret;
}

int attrs_read(int fd, struct attrs *attrs)
{
	int ret = attrs_read_times(fd, attrs);

	if (!ret && S_ISLNK(attrs->st.st_mode))
		ret = read_target(fd, &attrs->target);
	if (!ret && attrs->left.what) {
		g_autofree char *path = magic_link(fd);

		attrs->acl = omissions_acl(path);
	}
	if (!ret)
		attrs->xattrs = read_xattrs(fd, &ret);
	return ret;
}

void attrs_clear(struct attrs *attrs)
{
	g_clear_pointer(&attrs->xattrs, g_hash_table_unref);
	g_clear_pointer(&attrs->target, g_free);
}

/* ---- giving ---------------------------------------------------------------------------------- */

struct giving {
	int fd;
	char *path;
	const struct attrs *attrs;
	const struct volume_config *config;
	struct stat has;
	struct stat was; /* as attrs_was() has it, or as it is */
	bool was_noted;
	mode_t mode; /* that it is to have */
	bool owner_set, mode_set, mtime_set;
	uint32_t uid, gid; /* the owners that were */
	attrs_lost_fn lost;
	void *arg;
};

G_GNUC_PRINTF(2, 3)
static void lose_attr(const struct giving *giving, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	giving->lost(giving->arg, text);
}

/* Whether the old server will never take it; FALSE: it fails only now. */
static bool is_refusal(int error)
{
	return error == EOPNOTSUPP || error == EPERM || error == EINVAL || error == ENODATA ||
	       error == E2BIG || error == ERANGE || error == ENAMETOOLONG;
}

/* The owner on the old server: the one that the object has there, if that is the same one here. */
static uint32_t old_id(const struct giving *giving, const struct owners *owners, uint32_t has,
		       uint32_t id, const char *what)
{
	uint32_t target;

	if (owners_map(owners, has) == id)
		return has;
	if (!owners_unmap(owners, id, &target))
		lose_attr(
			giving,
			"%s %u is none of the old server's, where it is another's: %u it is there "
			"all the same",
			what, id, id);
	return target;
}

/* id: here; left: when it was made. */
static bool is_stand_in(const struct giving *giving, bool group, uint32_t id, uint32_t left)
{
	const struct attrs *attrs = giving->attrs;

	if (!attrs_old(attrs))
		return false;
	return attrs->base->told & TOLD_KNOWN
		       ? attrs->left.what & LEFT_OWNER && id == left
		       : id == OWNER_NOBODY || id == OWNER_NOBODY_BEFORE ||
				 id == config_owner(giving->config, group, OWNER_NONE);
}

static int give_owner(struct giving *giving)
{
	const struct attrs *attrs = giving->attrs;
	const struct stat *st = &attrs->st, *has = &giving->has;
	uint32_t uid = giving->was.st_uid, gid = giving->was.st_gid;

	if (!is_stand_in(giving, false, st->st_uid, attrs->left.uid))
		uid = old_id(giving, giving->config->map_users, has->st_uid, st->st_uid, "owner");
	if (!is_stand_in(giving, true, st->st_gid, attrs->left.gid))
		gid = old_id(giving, giving->config->map_groups, has->st_gid, st->st_gid, "group");
	if (uid == has->st_uid && gid == has->st_gid)
		return 0;
	if (giving->attrs->held)
		return -EAGAIN;
	if (fchownat(giving->fd, "", uid, gid, AT_EMPTY_PATH) < 0)
		return -errno;
	giving->owner_set = true;
	giving->uid = uid;
	giving->gid = gid;
	return 0;
}

struct unmapping {
	const struct volume_config *config;
	const struct acl *has; /* there; NULL: none */
};

static uint32_t unmap_id(void *arg, bool group, uint32_t id)
{
	const struct unmapping *unmapping = arg;
	const struct owners *owners =
		group ? unmapping->config->map_groups : unmapping->config->map_users;
	uint32_t target;

	for (guint i = 0; unmapping->has && i < unmapping->has->entries->len; i++) {
		const struct acl_entry *entry =
			&g_array_index(unmapping->has->entries, struct acl_entry, i);

		if (entry->tag == (group ? ACL_GROUP : ACL_USER) &&
		    owners_map(owners, entry->id) == id)
			return entry->id;
	}
	owners_unmap(owners, id, &target);
	return target;
}

/* The ACL with the old server's ids; if the object has an ACL there, with that one's ids as far as
 * they are the same here.  Also the mode that must do if the ACL cannot be set. */
static GBytes *old_acl(const struct giving *giving, GBytes *value, GBytes *has, mode_t *alone)
{
	struct acl *acl = attrs_decode_acl(value), *there = attrs_decode_acl(has);
	struct unmapping unmapping = {giving->config, there};
	GBytes *mapped = NULL;
	uint32_t mapped_len;

	*alone = acl ? acl_mode_alone(acl) : giving->mode & 0700;
	if (acl && acl_map(acl, unmap_id, &unmapping)) {
		uint8_t *encoded = acl_encode(acl, &mapped_len);

		mapped = g_bytes_new_take(encoded, mapped_len);
	}
	acl_free(acl);
	acl_free(there);
	return mapped;
}

/* Some servers say that they took a value which they did not take: an NFS server that has no ACLs,
 * say. */
static bool set_xattr(const struct giving *giving, const char *name, GBytes *value)
{
	if (setxattr(giving->path, name, g_bytes_get_data(value, NULL), g_bytes_get_size(value),
		     0) < 0)
		return false;

	g_autoptr(GBytes) has = attrs_read_xattr(giving->path, name);
	if (has || errno == ENODATA)
		errno = EOPNOTSUPP;
	return has && g_bytes_equal(value, has);
}

/* The object has an ACL of NFS version 4 there, of which the one here is a translation, and which a
 * mode would change. */
static bool stays_nfs4(const struct giving *giving)
{
	return attrs_old(giving->attrs) && giving->mode == (giving->has.st_mode & 07777) &&
	       getxattr(giving->path, XATTR_NFS4_ACL, NULL, 0) >= 0;
}

/* Whether its ACLs are as the retriever made them, to stand for those there.  If a group is unknown
 * here, they stand for those of that group alone: another group would get its rights. */
static bool keeps_acls(const struct attrs *attrs)
{
	return attrs_old(attrs) && attrs->left.what & (LEFT_ACL | LEFT_OWNER) &&
	       attrs->acl == attrs->left.acl &&
	       (!(attrs->left.what & LEFT_OWNER) || attrs->st.st_gid == attrs->left.gid);
}

/* Whether the value is as the retriever made it, to stand for the old server's. */
static bool is_brought(const struct giving *giving, const char *name, GBytes *value, GBytes *has)
{
	const struct attrs *attrs = giving->attrs;

	if (!attrs_old(attrs))
		return false;
	if (is_acl(name))
		return keeps_acls(attrs) || attrs_is_translated(attrs, name, has);
	return !strcmp(name, XATTR_NTACL) && attrs_is_brought(value);
}

static int give_xattr(struct giving *giving, const char *name, GBytes *value, GBytes *has)
{
	mode_t alone = 0;
	g_autoptr(GBytes) mapped =
		is_acl(name) ? old_acl(giving, value, has, &alone) : g_bytes_ref(value);

	if ((mapped && has && g_bytes_equal(mapped, has)) ||
	    is_brought(giving, name, value, mapped ? has : NULL))
		return 0;
	if (giving->attrs->held)
		return -EAGAIN;
	if (mapped && set_xattr(giving, name, mapped)) {
		attrs_note_given(giving->attrs, name);
		return 0;
	}
	if (!mapped)
		errno = EINVAL;
	if (!is_refusal(errno) && !(is_acl(name) && errno == EIO))
		return -errno;
	lose_attr(giving, "%s could not be set there (%s)", name, g_strerror(errno));
	if (!strcmp(name, XATTR_ACL_ACCESS) && !stays_nfs4(giving))
		giving->mode = (giving->mode & ~(mode_t)0777) | alone;
	return 0;
}

static int drop_xattrs(const struct giving *giving, GHashTable *has)
{
	GHashTableIter iter;
	gpointer name;

	g_hash_table_iter_init(&iter, has);
	while (g_hash_table_iter_next(&iter, &name, NULL)) {
		bool doubted = false;

		if (g_hash_table_contains(giving->attrs->xattrs, name) ||
		    (is_acl(name) && giving->was_noted && keeps_acls(giving->attrs)))
			continue;
		if (attrs_keeps(giving->attrs, name, &doubted)) {
			if (doubted)
				lose_attr(giving, ATTRS_DOUBTED, (char *)name);
			continue;
		}
		if (giving->attrs->held)
			return -EAGAIN;
		if (removexattr(giving->path, name) < 0 && errno != ENODATA) {
			if (!is_refusal(errno))
				return -errno;
			lose_attr(giving, "%s could not be removed there (%s)", (char *)name,
				  g_strerror(errno));
		}
	}
	return 0;
}

/* Gives back the ACLs that the object had, in the place of those that it was given since. */
static int give_acls_back(struct giving *giving, GHashTable *has)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(attrs_acls); i++) {
		const char *name = attrs_acls[i];
		g_autoptr(GBytes) was = attrs_was_acl(giving->attrs, name);
		GBytes *now = g_hash_table_lookup(has, name);

		if (now == was || (now && was && g_bytes_equal(now, was)))
			continue;
		if (giving->attrs->held)
			return -EAGAIN;
		if (was ? set_xattr(giving, name, was) : !removexattr(giving->path, name))
			continue;
		if (!is_refusal(errno))
			return -errno;
		lose_attr(giving, "%s could not be set there (%s)", name, g_strerror(errno));
		giving->mode = giving->attrs->st.st_mode & 07777; /* its group is no mask */
	}
	return 0;
}

static int give_xattrs(struct giving *giving)
{
	int ret;
	g_autoptr(GHashTable) has = read_xattrs(giving->fd, &ret);
	GHashTableIter iter;
	gpointer name, value;

	if (!ret && giving->was_noted && keeps_acls(giving->attrs))
		ret = give_acls_back(giving, has);
	if (ret)
		return ret;
	ret = drop_xattrs(giving, has);
	g_hash_table_iter_init(&iter, giving->attrs->xattrs);
	while (!ret && g_hash_table_iter_next(&iter, &name, &value))
		ret = give_xattr(giving, name, value, g_hash_table_lookup(has, name));
	return ret;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

int attrs_give_times(int fd, const struct attrs *attrs)
{
	struct timespec times[2];

	attrs_times(attrs, times);
	return utimensat(fd, "", times, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

/* Owners and ACLs change the mode, too.  A mode that the object has already is not set: that would
 * move its ctime. */
static int give_mode(struct giving *giving)
{
	struct stat st;

	if (fstat(giving->fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode) || (st.st_mode & 07777) == giving->mode)
		return 0;
	if (giving->attrs->held)
		return -EAGAIN;
	giving->mode_set = true;
	if (!fchmod(giving->fd, giving->mode))
		return 0;
	if (errno == EBADF && !chmod(giving->path, giving->mode)) /* O_PATH */
		return 0;
	return -errno;
}

/* Whether it is under retention until a date that it does not have there (retention.h). */
static bool is_other_date(const struct giving *giving, struct timespec date)
{
	const struct stat *st = &giving->attrs->st;

	return S_ISREG(st->st_mode) && !(st->st_mode & 0222) && date.tv_sec > time(NULL) &&
	       date.tv_sec != giving->has.st_atim.tv_sec;
}

static int give_mtime(struct giving *giving)
{
	struct timespec times[2];

	attrs_times(giving->attrs, times);
	/* it was further away than what the new file system keeps */
	if (!is_other_date(giving, times[0]) &&
	    (same_time(giving->has.st_mtim, times[1]) ||
	     mtime_is_nearest(times[1], migrate_ns(giving->has.st_mtim))))
		return 0;
	if (giving->attrs->held)
		return -EAGAIN;
	giving->mtime_set = true;
	return attrs_give_times(giving->fd, giving->attrs);
}

/* Whether `has` is the time that was wanted, cut to a coarser clock: FAT's goes in steps of 2 s. */
static bool is_cut(struct timespec wanted, struct statx_timestamp has)
{
	const int64_t less =
		migrate_ns(wanted) - (has.tv_sec * G_GINT64_CONSTANT(1000000000) + has.tv_nsec);

	return less >= 0 && less < 2 * G_GINT64_CONSTANT(1000000000);
}

/* Some servers do not set times either, although they say so: those of a symbolic link, say. */
static int check_attr(const struct giving *giving)
{
	struct timespec times[2];
	struct statx there;

	if (!giving->owner_set && !giving->mode_set && !giving->mtime_set)
		return 0;
	if (statx(giving->fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &there) <
	    0)
		return -errno;
	if (giving->owner_set && (there.stx_uid != giving->uid || there.stx_gid != giving->gid))
		lose_attr(giving, "owner and group are %u and %u there, not %u and %u",
			  there.stx_uid, there.stx_gid, giving->uid, giving->gid);
	if (giving->mode_set && (there.stx_mode & 07777) != giving->mode)
		lose_attr(giving, "its mode is %o there, not %o", there.stx_mode & 07777,
			  (unsigned)giving->mode);
	attrs_times(giving->attrs, times);
	if (giving->mtime_set && !is_cut(times[1], there.stx_mtime))
		lose_attr(giving, "its time of modification could not be set there");
	return 0;
}

/* Whether the mode here only stands for the one there, which the object then has again.  That one
 * must give no rights to anybody who was made the owner or the group here, or is named in an ACL
 * here. */
static bool is_mode_left(const struct giving *giving)
{
	const struct omissions *left = &giving->attrs->left;
	const struct stat *st = &giving->attrs->st;
	const mode_t differs = st->st_mode ^ giving->was.st_mode;

	return attrs_old(giving->attrs) && left->what & (LEFT_MODE | LEFT_ACL | LEFT_OWNER) &&
	       (st->st_mode & 07777) == left->mode && giving->attrs->acl == left->acl &&
	       (st->st_uid == left->uid || !(differs & 04700)) &&
	       (st->st_gid == left->gid || !(differs & 02070));
}

/* The mode that the object is to have there.  A set-id bit that is not set here does not come back
 * there, and does not stay if the data come from here. */
static mode_t mode_there(const struct giving *giving)
{
	const struct attrs *attrs = giving->attrs;
	const mode_t here = attrs->st.st_mode & 07777, has = giving->has.st_mode & 07777;
	mode_t mode = here;

	if (attrs_old(attrs) && !attrs->base->set)
		mode = has;
	else if (is_mode_left(giving))
		mode = giving->was.st_mode & 07777;
	return mode & ~((attrs->written ? 06000 : ~has & 06000) & ~here);
}

static int give_all(struct giving *giving)
{
	const bool set = !attrs_old(giving->attrs) || giving->attrs->base->set;
	int ret = set ? give_owner(giving) : 0;

	if (!ret && set)
		ret = give_xattrs(giving);
	if (!ret)
		ret = give_mode(giving);
	if (!ret)
		ret = give_mtime(giving);
	return ret ? ret : check_attr(giving);
}

int attrs_give(int fd, const struct attrs *attrs, const struct volume_config *config,
	       attrs_lost_fn lost, void *arg)
{
	g_autofree char *path = magic_link(fd);
	struct giving giving = {
		.fd = fd, .path = path, .attrs = attrs, .config = config, .lost = lost, .arg = arg};

	if (fstat(fd, &giving.has) < 0)
		return -errno;
	giving.was = giving.has;
	giving.was_noted = attrs_was(attrs, &giving.was);
	giving.mode = mode_there(&giving);
	return give_all(&giving);
}
