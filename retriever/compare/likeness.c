/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/likeness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/acl/smb_descriptor.h"
#include "lib/report/omissions.h"
#include "lib/source/posix_acl.h"
#include "retriever/making/attributes.h"

#define FOR_FILES	0
#define FOR_DIRECTORIES 1

struct scratches {
	struct retriever *retriever;
	GMutex lock;	    /* a leaf */
	GQueue free_fds[2]; /* of descriptors; in between uses */
};

struct scratches *scratches_new(struct retriever *retriever)
{
	struct scratches *scratches = g_new0(struct scratches, 1);

	scratches->retriever = retriever;
	g_mutex_init(&scratches->lock);
	g_queue_init(&scratches->free_fds[FOR_FILES]);
	g_queue_init(&scratches->free_fds[FOR_DIRECTORIES]);
	return scratches;
}

static void close_fd(gpointer fd)
{
	close(GPOINTER_TO_INT(fd));
}

void scratches_free(struct scratches *scratches)
{
	if (!scratches)
		return;
	for (unsigned i = 0; i < 2; i++)
		g_queue_clear_full(&scratches->free_fds[i], close_fd);
	g_mutex_clear(&scratches->lock);
	g_free(scratches);
}

/* What gets a name for a moment gets it in .migrate/ where there is one.  Else clients may see it,
 * but not that the root's mtime has moved. */
static int make_named_scratch(const struct retriever *retriever, bool directory)
{
	int at = retriever->staging_fd >= 0 ? retriever->staging_fd : retriever->root_fd, fd;
	g_autofree char *name = g_strdup_printf(".migrate-proof-%08x", g_random_int());
	struct stat st;

	if (fstat(at, &st) < 0 || (directory && mkdirat(at, name, 0700) < 0))
		return -errno;
	fd = openat(at, name,
		    O_NOFOLLOW | O_CLOEXEC |
			    (directory ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT | O_EXCL),
		    0600);
	if (fd < 0)
		fd = -errno;
	unlinkat(at, name, directory ? AT_REMOVEDIR : 0);
	futimens(at, (struct timespec[2]){st.st_atim, st.st_mtim});
	return fd;
}

static int scratch_take(struct scratches *scratches, unsigned kind)
{
	int fd = -1;

	g_mutex_lock(&scratches->lock);
	if (!g_queue_is_empty(&scratches->free_fds[kind]))
		fd = GPOINTER_TO_INT(g_queue_pop_head(&scratches->free_fds[kind]));
	g_mutex_unlock(&scratches->lock);
	if (fd >= 0)
		return fd;
	if (kind == FOR_DIRECTORIES)
		return make_named_scratch(scratches->retriever, true);
	fd = openat(scratches->retriever->root_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EOPNOTSUPP)
		return make_named_scratch(scratches->retriever, false);
	return fd < 0 ? -errno : fd;
}

static void scratch_give(struct scratches *scratches, unsigned kind, int fd)
{
	g_mutex_lock(&scratches->lock);
	g_queue_push_tail(&scratches->free_fds[kind], GINT_TO_POINTER(fd));
	g_mutex_unlock(&scratches->lock);
}

/* ---- comparing ---- */

G_GNUC_PRINTF(2, 3)
static void differs(GString *text, const char *format, ...)
{
	va_list args;

	if (text->len)
		g_string_append(text, ", ");
	va_start(args, format);
	g_string_append_vprintf(text, format, args);
	va_end(args);
}

static void compare_attributes(const struct stat *should, const struct stat *is, GString *text)
{
	if (is->st_uid != should->st_uid)
		differs(text, "owner %u and not %u", is->st_uid, should->st_uid);
	if (is->st_gid != should->st_gid)
		differs(text, "group %u and not %u", is->st_gid, should->st_gid);
	if (!S_ISLNK(is->st_mode) && (is->st_mode ^ should->st_mode) & 07777)
		differs(text, "mode %04o and not %04o", is->st_mode & 07777,
			should->st_mode & 07777);
	if (is->st_mtim.tv_sec != should->st_mtim.tv_sec ||
	    is->st_mtim.tv_nsec != should->st_mtim.tv_nsec)
		differs(text, "mtime %lld.%09ld and not %lld.%09ld", (long long)is->st_mtim.tv_sec,
			is->st_mtim.tv_nsec, (long long)should->st_mtim.tv_sec,
			should->st_mtim.tv_nsec);
}

/* Names of what is carried over.  -errno. */
static ssize_t list(int fd, char **names)
{
	ssize_t len;

	*names = g_malloc(XATTR_LIST_MAX);
	len = flistxattr(fd, *names, XATTR_LIST_MAX);
	if (len < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	return len;
}

static ssize_t get_xattr_value(int fd, const char *name, char **value)
{
	ssize_t len;

	*value = g_malloc(XATTR_SIZE_MAX);
	len = fgetxattr(fd, name, *value, XATTR_SIZE_MAX);
	return len < 0 ? -errno : len;
}

struct pair {
	int should, is;
	const struct source_attr *attr;
	const struct source_xattrs *xattrs; /* or NULL */
	struct omissions left;		    /* what the object says that it could not get */
	struct likeness *like;
};

/*
 * While an object had its record, there was less room in its inode than the scratch has: what could
 * not get in says the mark that it keeps, and the fidelity report.  An ACL that was left out counts
 * while the mode and the ACLs are those that stand in for it.
 */
static void load_left_out(struct pair *pair, const struct stat *st)
{
	char path[32];

	g_snprintf(path, sizeof path, "/proc/self/fd/%d", pair->is);
	omissions_get(path, &pair->left);
	if (pair->left.mode != (st->st_mode & 07777) || pair->left.acl != omissions_acl(path))
		pair->left.what &= ~(unsigned)LEFT_ACL;
}

static bool is_left_out(const struct pair *pair, const char *name)
{
	const struct omissions *left = &pair->left;

	if (fgetxattr(pair->is, name, NULL, 0) >= 0 || errno != ENODATA)
		return false;
	if (!strcmp(name, XATTR_ACL_ACCESS) || !strcmp(name, XATTR_ACL_DEFAULT))
		return left->what & LEFT_ACL;
	return omissions_has(left, name) ||
	       (left->what & LEFT_MORE && g_str_has_prefix(name, "user."));
}

/* Whether the object has the source's value of an attribute that the scratch had no room for: the
 * object may lack other attributes, and so have room for this one. */
static bool is_value(const struct pair *pair, const char *name)
{
	g_autofree char *value = NULL;
	ssize_t len = get_xattr_value(pair->is, name, &value);

	for (guint i = 0; pair->xattrs && i < pair->xattrs->list->len; i++) {
		const struct source_xattr *x =
			&g_array_index(pair->xattrs->list, struct source_xattr, i);

		if (!strcmp(x->name, name) && g_str_has_prefix(name, "user."))
			return len == (ssize_t)x->len && !memcmp(x->value, value, x->len);
	}
	return false;
}

static void compare_value(const struct pair *pair, const char *name)
{
	g_autofree char *a = NULL, *b = NULL;
	ssize_t a_len = get_xattr_value(pair->should, name, &a),
		b_len = get_xattr_value(pair->is, name, &b);

	if (is_left_out(pair, name))
		pair->like->lost = true;
	else if (b_len == -ENODATA)
		differs(pair->like->xattrs, "%s is missing", name);
	else if ((a_len != b_len || (a_len > 0 && memcmp(a, b, a_len) != 0)) &&
		 (strcmp(name, XATTR_DOSATTRIB) || a_len != b_len ||
		  !windows_attributes_are(b, a, (size_t)MAX(a_len, 0), pair->attr->mtime)))
		differs(pair->like->xattrs, "%s is another one", name);
}

static int compare_xattrs(const struct pair *pair)
{
	g_autofree char *wanted = NULL, *found = NULL;
	ssize_t wanted_len = list(pair->should, &wanted), found_len = list(pair->is, &found);

	if (wanted_len < 0 || found_len < 0)
		return MIN(wanted_len, found_len);
	for (const char *n = wanted; n < wanted + wanted_len; n += strlen(n) + 1)
		if (xattr_is_carried(n))
			compare_value(pair, n);
	for (const char *n = found; n < found + found_len; n += strlen(n) + 1)
		if (xattr_is_carried(n) && fgetxattr(pair->should, n, NULL, 0) < 0 &&
		    !is_value(pair, n))
			differs(pair->like->xattrs, "%s is not there on the old server", n);
	return 0;
}

/* Gives fd what the old one's become.  inherits: as of attributes_set(). */
static int set(struct scratches *scratches, int fd, const struct source_attr *attr,
	       const struct source_xattrs *xattrs, bool inherits, bool *lost)
{
	struct attributes_result carried = {0};
	int ret = attributes_set(scratches->retriever, fd, attr, xattrs, inherits, &carried);

	*lost = false;
	for (guint i = 0; carried.lost && i < carried.lost->len; i++)
		*lost |= ((struct loss_line *)carried.lost->pdata[i])->kind != LOSS_VOLUME;
	attributes_clear(&carried);
	return ret;
}

static int compare_scratch(struct scratches *scratches, int scratch, int fd,
			   const struct source_attr *attr, const struct source_xattrs *xattrs,
			   struct likeness *like)
{
	struct pair pair = {
		.should = scratch, .is = fd, .attr = attr, .xattrs = xattrs, .like = like};
	struct stat should, is;
	int ret = attributes_strip(scratch);

	if (!ret)
		ret = set(scratches, scratch, attr, xattrs, false, &like->lost);
	if (ret)
		return ret;
	if (fstat(scratch, &should) < 0 || fstat(fd, &is) < 0)
		return -errno;
	if (!S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode)) {
		compare_attributes(&should, &is, like->attributes);
		return 0;
	}
	load_left_out(&pair, &is);
	if (fgetxattr(scratch, XATTR_ACL_ACCESS, NULL, 0) > 0 &&
	    is_left_out(&pair, XATTR_ACL_ACCESS))
		should.st_mode = is.st_mode; /* grants nobody more (attributes.h) */
	compare_attributes(&should, &is, like->attributes);
	return compare_xattrs(&pair);
}

int likeness_compare(struct scratches *scratches, int fd, const struct source_attr *attr,
		     const struct source_xattrs *xattrs, struct likeness *like)
{
	unsigned kind = S_ISDIR(attr->mode) ? FOR_DIRECTORIES : FOR_FILES;
	int scratch = scratch_take(scratches, kind), ret;

	like->attributes = g_string_new(NULL);
	like->xattrs = g_string_new(NULL);
	if (scratch < 0)
		return scratch;
	ret = compare_scratch(scratches, scratch, fd, attr, xattrs, like);
	scratch_give(scratches, kind, scratch);
	return ret;
}

static int remove_others(int should, int is)
{
	g_autofree char *found = NULL;
	ssize_t len = list(is, &found);

	for (const char *n = found; n < found + len; n += strlen(n) + 1)
		if (xattr_is_carried(n) && fgetxattr(should, n, NULL, 0) < 0 &&
		    fremovexattr(is, n) < 0 && errno != ENODATA)
			return -errno;
	return MIN(len, 0);
}

int likeness_mend(struct scratches *scratches, int fd, const struct source_attr *attr,
		  const struct source_xattrs *xattrs)
{
	unsigned kind = S_ISDIR(attr->mode) ? FOR_DIRECTORIES : FOR_FILES;
	int scratch = scratch_take(scratches, kind), ret;
	bool lost;

	if (scratch < 0)
		return scratch;
	ret = attributes_strip(scratch);
	if (!ret)
		ret = set(scratches, scratch, attr, xattrs, false, &lost);
	/* before the mode is set, which would be an ACL's mask otherwise */
	if (!ret)
		ret = remove_others(scratch, fd);
	if (!ret)
		ret = set(scratches, fd, attr, xattrs, false, &lost);
	/* what had no room beside a record is here now */
	if (!ret && !lost && fremovexattr(fd, XATTR_LEFT_OUT) < 0 && errno != ENODATA)
		ret = -errno;
	scratch_give(scratches, kind, scratch);
	return ret;
}

void likeness_clear(struct likeness *like)
{
	if (like->attributes)
		g_string_free(like->attributes, TRUE);
	if (like->xattrs)
		g_string_free(like->xattrs, TRUE);
}
