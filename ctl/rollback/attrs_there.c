/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/attrs_there.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <linux/posix_acl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>

#include "lib/acl/nt_acl.h"
#include "lib/acl/smb_descriptor.h"
#include "lib/base/mtime.h"
#include "lib/source/posix_acl.h"

static bool is_acl(const char *name)
{
	return !strcmp(name, XATTR_ACL_ACCESS) || !strcmp(name, XATTR_ACL_DEFAULT);
}

bool attrs_is_carried(const char *name)
{
	return g_str_has_prefix(name, "user.") || is_acl(name) || !strcmp(name, XATTR_NTACL);
}

GBytes *attrs_read_xattr(const char *path, const char *name)
{
	g_autofree char *value = g_malloc(XATTR_SIZE_MAX);
	ssize_t len = getxattr(path, name, value, XATTR_SIZE_MAX);

	return len < 0 ? NULL : g_bytes_new(value, (gsize)len);
}

bool attrs_is_brought(GBytes *descriptor)
{
	gsize len;
	const uint8_t *value = g_bytes_get_data(descriptor, &len);

	return nt_is_brought(value, (uint32_t)len);
}

/* ---- what it was like there -------------------------------------------------------------------
 */

const char *const attrs_acls[2] = {XATTR_ACL_ACCESS, XATTR_ACL_DEFAULT};

static GHashTable *names_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

/* The text behind the name of a note. */
static const char *find_note(const struct attrs *attrs, const char *name)
{
	GHashTableIter iter;
	gpointer key;

	if (!attrs_old(attrs) || !attrs->base->given)
		return NULL;
	g_hash_table_iter_init(&iter, attrs->base->given);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		const char *text = key;

		if (*text == '=' && g_str_has_prefix(text + 1, name))
			return text + 1 + strlen(name);
	}
	return NULL;
}

/* OWN: the way back has given it nothing yet.  LEFT: its owners, mode and ACLs as the way back left
 * them.  While some may be given and some not, neither is noted. */
#define OWN  "=own"
#define LEFT "=left "

static char *left_note(const struct stat *st, GBytes *const acls[2])
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autofree char *text = g_strdup_printf("%u %u %o", st->st_uid, st->st_gid, st->st_mode);

	g_checksum_update(sum, (const guchar *)text, -1);
	for (unsigned i = 0; i < G_N_ELEMENTS(attrs_acls); i++) {
		gsize len = 0;
		const uint8_t *bytes = acls[i] ? g_bytes_get_data(acls[i], &len) : NULL;
		g_autofree char *size = g_strdup_printf(" %zu ", len);

		g_checksum_update(sum, (const guchar *)size, -1);
		if (bytes)
			g_checksum_update(sum, bytes, (gssize)len);
	}
	return g_strconcat(LEFT, g_checksum_get_string(sum), NULL);
}

/* Whether what it has is its own, or was given to it by somebody else since. */
static bool is_own(const struct attrs *attrs, const struct stat *st, GBytes *const acls[2])
{
	g_autofree char *left = left_note(st, acls);
	const char *text = find_note(attrs, "left ");

	return text ? strcmp(text, left + strlen(LEFT)) != 0 : find_note(attrs, "own") != NULL;
}

static gboolean is_note(gpointer name, gpointer value, gpointer prefix)
{
	return g_str_has_prefix(name, prefix);
}

static void forget_notes(GHashTable *given, const char *prefix)
{
	g_hash_table_foreach_remove(given, is_note, (gpointer)prefix);
}

static void note_was(GHashTable **given, const struct stat *st, GBytes *const acls[2])
{
	if (!*given)
		*given = names_new();
	g_hash_table_add(*given, g_strdup(OWN));
	g_hash_table_add(*given, g_strdup_printf("=stat %u %u %o %" PRId64, st->st_uid, st->st_gid,
						 st->st_mode & 07777, migrate_ns(st->st_mtim)));
	for (unsigned i = 0; i < G_N_ELEMENTS(attrs_acls); i++) {
		gsize len;
		const uint8_t *bytes = acls[i] ? g_bytes_get_data(acls[i], &len) : NULL;
		g_autofree char *text = bytes ? g_base64_encode(bytes, len) : NULL;

		if (text)
			g_hash_table_add(*given, g_strdup_printf("=%s %s", attrs_acls[i], text));
	}
}

void attrs_remember(GHashTable **given, const struct stat *st, GBytes *const acls[2], bool gives)
{
	const struct attrs_base base = {.old = st, .given = *given};
	const struct attrs attrs = {.base = &base};
	struct stat now = *st, was = *st;
	const bool noted = attrs_was(&attrs, &was);

	if (noted && is_own(&attrs, st, acls)) {
		if (S_ISDIR(st->st_mode)) /* that moves with names */
			now.st_mtim = was.st_mtim;
		forget_notes(*given, "=");
	}
	if (!noted || !find_note(&attrs, "stat "))
		note_was(given, &now, acls);
	if (gives) {
		forget_notes(*given, OWN);
		forget_notes(*given, LEFT);
	}
}

void attrs_note_left(GHashTable *given, const struct stat *st, GBytes *const acls[2])
{
	const struct attrs_base base = {.old = st, .given = given};
	const struct attrs attrs = {.base = &base};

	if (!find_note(&attrs, "stat "))
		return;
	forget_notes(given, OWN);
	forget_notes(given, LEFT);
	g_hash_table_add(given, left_note(st, acls));
}

bool attrs_was(const struct attrs *attrs, struct stat *st)
{
	const char *text = find_note(attrs, "stat ");
	unsigned uid, gid, mode;
	int64_t mtime;

	if (!text || sscanf(text, "%u %u %o %" SCNd64, &uid, &gid, &mode, &mtime) != 4)
		return false;
	st->st_uid = uid;
	st->st_gid = gid;
	st->st_mode = (st->st_mode & S_IFMT) | mode;
	st->st_mtim = migrate_timespec(mtime);
	return true;
}

GBytes *attrs_was_acl(const struct attrs *attrs, const char *name)
{
	const char *text = find_note(attrs, name);
	gsize len;
	guchar *bytes = text ? g_base64_decode(text + 1, &len) : NULL;

	return bytes ? g_bytes_new_take(bytes, len) : NULL;
}

/* ---- what it has there ------------------------------------------------------------------------
 */

static bool is_of_windows(const char *name)
{
	return !strcmp(name, XATTR_NTACL) || !strcmp(name, XATTR_DOSATTRIB) ||
	       g_str_has_prefix(name, XATTR_STREAM_PREFIX);
}

/* The source never told of it, or it was left out. */
static bool never_came(const struct attrs *attrs, const char *name, bool *doubted)
{
	const unsigned told = attrs->base->told;

	*doubted = !(told & TOLD_KNOWN);
	if (*doubted || is_acl(name))
		return !(told & TOLD_ACLS) || attrs->left.what & LEFT_ACL;
	*doubted = told & TOLD_WINDOWS && is_of_windows(name);
	if (!(told & TOLD_XATTRS) || omissions_has(&attrs->left, name) ||
	    !strcmp(name, XATTR_NTACL))
		return true;
	*doubted = attrs->left.what & LEFT_OTHERS;
	return *doubted;
}

bool attrs_keeps(const struct attrs *attrs, const char *name, bool *doubted)
{
	const struct attrs_base *base = attrs->base;
	bool unknown = false, keeps;

	if (!attrs_old(attrs) || (base->given && g_hash_table_contains(base->given, name)))
		return false;
	keeps = !base->set || never_came(attrs, name, &unknown);
	if (doubted)
		*doubted = unknown;
	return keeps;
}

struct acl *attrs_decode_acl(GBytes *value)
{
	gsize len;
	const uint8_t *bytes = value ? g_bytes_get_data(value, &len) : NULL;

	return bytes ? acl_decode(bytes, (uint32_t)len) : NULL;
}

/* Takes the mask out of the ACL, and applies it to the entries that it limits. */
static void apply_mask(struct acl *acl)
{
	uint16_t mask = 7;

	for (guint i = acl->entries->len; i > 0; i--) {
		const struct acl_entry *entry =
			&g_array_index(acl->entries, struct acl_entry, i - 1);

		if (entry->tag != ACL_MASK)
			continue;
		mask = entry->perm;
		g_array_remove_index(acl->entries, i - 1);
	}
	for (guint i = 0; i < acl->entries->len; i++) {
		struct acl_entry *entry = &g_array_index(acl->entries, struct acl_entry, i);

		if (entry->tag & (ACL_USER | ACL_GROUP_OBJ | ACL_GROUP))
			entry->perm &= mask;
	}
}

bool attrs_is_translated(const struct attrs *attrs, const char *name, GBytes *there)
{
	struct acl *a, *b;
	bool same;

	if (!attrs_old(attrs) || !(attrs->base->told & TOLD_NFS4))
		return false;
	a = attrs_decode_acl(g_hash_table_lookup(attrs->xattrs, name));
	b = attrs_decode_acl(there);
	if (a)
		apply_mask(a);
	if (b)
		apply_mask(b);
	same = a && b && a->entries->len == b->entries->len &&
	       !memcmp(a->entries->data, b->entries->data,
		       a->entries->len * sizeof(struct acl_entry));
	acl_free(a);
	acl_free(b);
	return same;
}

/* An NFSv4 ACL that names only the owner, the group and everybody says the same as the mode.  Its
 * bytes: u32, the number of entries; for each u32 type, flags, mask, and who (RFC 8881 section
 * 6.2.1). */
static bool is_mode(GBytes *nfs4)
{
	static const char *const special[] = {"OWNER@", "GROUP@", "EVERYONE@", NULL};
	gsize len, at = 4;
	const uint8_t *bytes = g_bytes_get_data(nfs4, &len);

	while (at + 16 <= len) {
		uint32_t size;

		memcpy(&size, bytes + at + 12, sizeof(size));
		size = g_ntohl(size);
		at += 16;
		if (size > len - at)
			return false;
		g_autofree char *who = g_strndup((const char *)bytes + at, size);
		if (!g_strv_contains(special, who))
			return false;
		at += (size + 3) & ~(gsize)3;
	}
	return at == len;
}

/* Whether an attribute that is not carried is something that a new file would lack.  Those in which
 * xfs tells of ACLs once more do not count. */
static bool is_more(const char *path, const char *name)
{
	if (g_str_has_prefix(name, "trusted.SGI_ACL_"))
		return false;
	if (strcmp(name, XATTR_NFS4_ACL) != 0)
		return true;
	g_autoptr(GBytes) value = attrs_read_xattr(path, name);
	return !value || !is_mode(value);
}

/* Whether somebody set flags of chattr(1), or a project. */
static bool has_flags(int fd)
{
	const unsigned set = FS_SECRM_FL | FS_UNRM_FL | FS_COMPR_FL | FS_SYNC_FL | FS_IMMUTABLE_FL |
			     FS_APPEND_FL | FS_NODUMP_FL | FS_NOATIME_FL | FS_NOCOMP_FL |
			     FS_JOURNAL_DATA_FL | FS_NOTAIL_FL | FS_NOCOW_FL | FS_DAX_FL;
	struct fsxattr more = {0};
	int flags = 0;

	return (!ioctl(fd, FS_IOC_GETFLAGS, &flags) && (unsigned)flags & set) ||
	       (!ioctl(fd, FS_IOC_FSGETXATTR, &more) && more.fsx_projid);
}

/* Whether an attribute of that name would be another one in a new file, although nobody set it
 * here. */
static bool differs_there(const char *path, const struct attrs *attrs, const char *name)
{
	GBytes *here = g_hash_table_lookup(attrs->xattrs, name);

	if (!here)
		return attrs_keeps(attrs, name, NULL);
	if (attrs->base->set && !is_acl(name))
		return false;
	g_autoptr(GBytes) there = attrs_read_xattr(path, name);
	return !there || (attrs->base->set ? attrs_is_translated(attrs, name, there)
					   : !g_bytes_equal(here, there));
}

bool attrs_holds_more(int fd, const struct attrs *attrs)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
	g_autofree char *list = g_malloc(XATTR_LIST_MAX);
	ssize_t len = attrs_old(attrs) ? flistxattr(fd, list, XATTR_LIST_MAX) : 0;
	bool more = len < 0 && errno != EOPNOTSUPP;

	for (const char *name = list; name < list + len && !more; name += strlen(name) + 1)
		more = attrs_is_carried(name) ? differs_there(path, attrs, name)
					      : is_more(path, name);
	return more || (attrs_old(attrs) && has_flags(fd));
}

void attrs_note_given(const struct attrs *attrs, const char *name)
{
	bool doubted;

	if (!attrs->gave || !attrs->base || !never_came(attrs, name, &doubted))
		return;
	if (!*attrs->gave)
		*attrs->gave = names_new();
	g_hash_table_add(*attrs->gave, g_strdup(name));
}

void attrs_note_to_give(const struct attrs *attrs)
{
	GHashTableIter iter;
	gpointer name;

	if (!attrs->xattrs)
		return;
	g_hash_table_iter_init(&iter, attrs->xattrs);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		if (!is_acl(name) && strcmp(name, XATTR_NTACL) != 0)
			attrs_note_given(attrs, name);
}

void attrs_times(const struct attrs *attrs, struct timespec times[2])
{
	const struct stat *old = attrs_old(attrs), *st = &attrs->st;

	times[0] = st->st_atim;
	times[1] = st->st_mtim;
	if (old && mtime_is(st->st_atim, migrate_ns(old->st_atim)))
		times[0] = old->st_atim;
	if (old) {
		struct stat was = *old;

		attrs_was(attrs, &was);
		if (attrs->left.what & LEFT_TIME && migrate_ns(st->st_mtim) == attrs->left.mtime)
			times[1] = was.st_mtim;
		else if (mtime_is_nearest(st->st_mtim, migrate_ns(old->st_mtim)))
			times[1] = old->st_mtim;
	}
}

int64_t attrs_mtime(const struct attrs *attrs)
{
	struct timespec times[2];

	attrs_times(attrs, times);
	return migrate_ns(times[1]);
}
