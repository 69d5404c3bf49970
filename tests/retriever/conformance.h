/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree that the conformance suite looks at, and the backend over it. */
#ifndef TESTS_RETRIEVER_CONFORMANCE_H
#define TESTS_RETRIEVER_CONFORMANCE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/config/nfs_url.h"
#include "lib/schemes.h"
#include "lib/source/nfs/nfs.h"
#include "lib/source/posix_acl.h"
#include "tests/retriever/backend_support.h"

#define WIDE	    10000
#define DEPTH	    30
#define DEEP_NAME   200
#define MANY	    1000
#define BLOCK	    4096
#define SPARSE_SIZE (UINT64_C(5) << 30)
#define SPARSE_AT   ((UINT64_C(4) << 30) + 5)

static char tree[256]; /* the directory that is the source */
static char url[512];
static int tree_fd;

static struct backend *backend;
static struct source_object root;
static struct source_attr root_attr;

/* ---- the tree ---- */

static inline void put(int dir, const char *name, const void *bytes, size_t len)
{
	int fd = openat(dir, name, O_CREAT | O_WRONLY | O_EXCL, 0640);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static inline int subdir(int dir, const char *name)
{
	int fd;

	ck_assert_int_eq(mkdirat(dir, name, 0755), 0);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static inline void make_types(void)
{
	const struct timespec old[2] = {{.tv_sec = 86400, .tv_nsec = 1},
					{.tv_sec = 946684800, .tv_nsec = 123456789}};
	int fd = subdir(tree_fd, "types");

	put(fd, "file", "hello", 5);
	ck_assert_int_eq(fchownat(fd, "file", 1234, 4321, 0), 0);
	ck_assert_int_eq(fchmodat(fd, "file", 06751, 0), 0);
	put(fd, "empty", "", 0);
	ck_assert_int_eq(mkdirat(fd, "directory", 01777), 0);
	ck_assert_int_eq(fchmodat(fd, "directory", 03775, 0), 0);
	ck_assert_int_eq(symlinkat("target of a link", fd, "symlink"), 0);
	ck_assert_int_eq(mkfifoat(fd, "fifo", 0600), 0);
	ck_assert_int_eq(mknodat(fd, "socket", S_IFSOCK | 0622, 0), 0);
	ck_assert_int_eq(mknodat(fd, "char", S_IFCHR | 0666, makedev(1, 259)), 0);
	ck_assert_int_eq(mknodat(fd, "block", S_IFBLK | 0660, makedev(259, 70000)), 0);
	put(fd, "linked", "x", 1);
	ck_assert_int_eq(mkdirat(tree_fd, "elsewhere", 0755), 0);
	ck_assert_int_eq(linkat(fd, "linked", tree_fd, "elsewhere/other name", 0), 0);
	ck_assert_int_eq(utimensat(fd, "file", old, 0), 0);
	ck_assert_int_eq(utimensat(fd, "symlink", old, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_int_eq(utimensat(fd, "directory", old, 0), 0);
	close(fd);
}

static inline void set_xattr(int fd, const char *name, const void *value, size_t len)
{
	if (fsetxattr(fd, name, value, len, 0) < 0)
		ck_abort_msg("%s: %s", name, strerror(errno));
}

/* A directory and a file with ACLs and attributes. */
static inline void make_xattrs(void)
{
	/* u::rwx,u:1001:r--,g::r-x,g:2002:---,m::r-x,o::--- */
	static const char acl[] = "\2\0\0\0"
				  "\1\0\7\0\377\377\377\377"
				  "\2\0\4\0\351\3\0\0"
				  "\4\0\5\0\377\377\377\377"
				  "\10\0\0\0\322\7\0\0"
				  "\20\0\5\0\377\377\377\377"
				  "\40\0\0\0\377\377\377\377";
	char value[2000];
	int dir = subdir(tree_fd, "xattrs"), fd;

	memset(value, 0xfe, sizeof(value));
	put(dir, "file", "", 0);
	fd = openat(dir, "file", O_RDONLY);
	set_xattr(fd, XATTR_ACL_ACCESS, acl, sizeof(acl) - 1);
	set_xattr(fd, "user.one", "a\0b\n", 4);
	set_xattr(fd, "user.empty", "", 0);
	set_xattr(fd, "user.long", value, sizeof(value));
	set_xattr(dir, XATTR_ACL_ACCESS, acl, sizeof(acl) - 1);
	set_xattr(dir, XATTR_ACL_DEFAULT, acl, sizeof(acl) - 1);
	set_xattr(dir, "user.one", "1", 1);
	close(fd);
	close(dir);
}

/* Calls each with every odd name there is. */
static inline void odd_names(void (*each)(const char *name, void *user), void *user)
{
	char name[256];

	for (unsigned byte = 1; byte < 256; byte++) {
		if (byte == '/' || byte == '.')
			continue;
		snprintf(name, sizeof(name), "%c", byte);
		each(name, user);
		snprintf(name, sizeof(name), "%c..%c", byte, byte);
		each(name, user);
	}
	memset(name, 'n', 255);
	name[255] = '\0';
	each(name, user);
	memset(name, 0xff, 255);
	each(name, user);
	each("...", user);
	each(" leading and trailing ", user);
	each("-rf", user);
	each("new\nline", user);
	each("\303\244\314\210 umlaut", user);
}

static inline bool over_network(void)
{
	return getenv("OLD_URL") != NULL;
}

static inline bool over_smb(void)
{
	return over_network() && g_str_has_prefix(getenv("OLD_URL"), "smb:");
}

/* Which the old server can have: SMB has text there, and patterns and paths are no names. */
static inline bool is_possible(const char *name)
{
	bool control = false;

	for (const char *at = name; *at; at++)
		control |= (unsigned char)*at < ' ';
	return !over_smb() ||
	       (!control && g_utf8_validate(name, -1, NULL) && !strpbrk(name, "\\:*?<>|\""));
}

static inline void make_name(const char *name, void *user)
{
	if (is_possible(name))
		put(*(int *)user, name, name, strlen(name));
}

static inline void make_deep(void)
{
	char name[DEEP_NAME + 1];
	int fd = subdir(tree_fd, "deep");

	memset(name, 'd', DEEP_NAME);
	name[DEEP_NAME] = '\0';
	for (unsigned i = 0; i < DEPTH; i++) {
		int below = subdir(fd, name);

		close(fd);
		fd = below;
	}
	put(fd, "bottom", "reached", 7);
	close(fd);
}

static inline void make_files(void)
{
	char target[4096];
	uint8_t block[BLOCK];
	int fd;

	memset(target, 't', sizeof(target) - 1);
	target[sizeof(target) - 1] = '\0';
	ck_assert_int_eq(symlinkat(target, tree_fd, "long symlink"), 0);
	put(tree_fd, "sparse", "start", 5);
	fd = openat(tree_fd, "sparse", O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "beyond", 6, SPARSE_AT), 6);
	ck_assert_int_eq(ftruncate(fd, SPARSE_SIZE), 0);
	close(fd);
	fd = openat(tree_fd, "blocks", O_CREAT | O_WRONLY, 0644);
	for (unsigned i = 0; i < MANY; i++) {
		memset(block, (int)(i * 7 + 1), sizeof(block));
		memcpy(block, &i, sizeof(i));
		ck_assert_int_eq(write(fd, block, sizeof(block)), BLOCK);
	}
	close(fd);
}

/* As streams_xattr keeps them: a NUL after each. */
static inline void make_streams(void)
{
	int fd;

	put(tree_fd, "streams", "main", 4);
	fd = openat(tree_fd, "streams", O_RDONLY);
	set_xattr(fd, "user.DosStream.one:$DATA", "a\0b\nc", 6);
	set_xattr(fd, "user.DosStream.none:$DATA", "", 1);
	close(fd);
}

static inline void make_tree(void)
{
	char name[32];
	int fd;

	make_types();
	make_xattrs();
	make_streams();
	fd = subdir(tree_fd, "names");
	odd_names(make_name, &fd);
	close(fd);
	fd = subdir(tree_fd, "wide");
	for (unsigned i = 0; i < WIDE; i++) {
		snprintf(name, sizeof(name), "entry %u", i);
		put(fd, name, "", 0);
	}
	close(fd);
	make_deep();
	make_files();
	close(subdir(tree_fd, "stale"));
	fd = subdir(tree_fd, "refused");
	put(fd, "a*b", "", 0);
	put(fd, "c", "", 0);
	memset(name, '?', 3);
	name[3] = '\0';
	put(fd, name, "", 0);
	close(fd);
}

static inline void remove_below(int dir)
{
	DIR *stream = fdopendir(dir);
	struct dirent *entry;

	while ((entry = readdir(stream))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(dir, entry->d_name, 0) == 0 || errno != EISDIR)
			continue;
		remove_below(openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY));
		unlinkat(dir, entry->d_name, AT_REMOVEDIR);
	}
	closedir(stream);
}

static inline void make_source(void)
{
	if (over_network()) {
		snprintf(tree, sizeof(tree), "%s/conformance.XXXXXX", getenv("OLD_DIR"));
		if (!mkdtemp(tree))
			ck_abort_msg("%s: %s", tree, strerror(errno));
		snprintf(url, sizeof(url), "%s/%s%s", getenv("OLD_URL"), strrchr(tree, '/') + 1,
			 getenv("OLD_ARGUMENTS") ? getenv("OLD_ARGUMENTS") : "");
	} else {
		make_scratch(tree, "conformance");
		snprintf(url, sizeof(url), "file://%s", tree);
	}
	chmod(tree, 0755);
	tree_fd = open(tree, O_RDONLY | O_DIRECTORY);
	make_tree();
}

static inline void remove_source(void)
{
	remove_below(tree_fd);
	rmdir(tree);
}

/* ---- every test ---- */

static inline void open_backend(void)
{
	const struct smb_config smb = {.password_file = getenv("OLD_PASSWORD")};
	const struct backend_config config = {
		.url = url, .smb = &smb, .connections = 2, .demand_connections = 2};
	GError *error = NULL;

	backend = scheme_find(url, &error)->open(&config, &root, &root_attr, &error);
	if (!backend)
		ck_abort_msg("%s", error->message);
}

static inline void close_backend(void)
{
	if (backend)
		backend->ops->close(backend);
	source_object_clear(&root);
}

static inline struct source_object find(const char *path)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);
	struct source_object at = root;

	for (char **part = parts; *part; part++)
		ck_assert_int_eq(look_up(backend, at, *part, &at, NULL), 0);
	return at;
}

static inline int64_t ns(struct timespec ts)
{
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* SMB has neither modes nor owners, and counts time in units of 100 ns; smbd's ChangeTime is the
 * mtime. */
static inline void check_smb_attr(const struct source_attr *attr, const struct stat *st)
{
	ck_assert_uint_eq(attr->mode, S_ISDIR(st->st_mode) ? S_IFDIR | 0700 : S_IFREG | 0600);
	ck_assert_uint_eq(attr->size, S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size);
	ck_assert_uint_ne(attr->fileid, 0);
	ck_assert_int_eq(attr->mtime, ns(st->st_mtim) / 100 * 100);
	ck_assert_int_ge(attr->ctime, ns(st->st_mtim) / 100 * 100);
}

static inline void check_attr(const struct source_attr *attr, int dir, const char *name)
{
	struct stat st;

	ck_assert_int_eq(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH), 0);
	if (over_smb()) {
		check_smb_attr(attr, &st);
		return;
	}
	ck_assert_msg(attr->mode == st.st_mode, "%s: mode %o, not %o", name, attr->mode,
		      st.st_mode);
	ck_assert_uint_eq(attr->nlink, st.st_nlink);
	ck_assert_uint_eq(attr->uid, st.st_uid);
	ck_assert_uint_eq(attr->gid, st.st_gid);
	ck_assert_uint_eq(attr->size, (uint64_t)st.st_size);
	ck_assert_uint_eq(attr->used, (uint64_t)st.st_blocks * 512);
	ck_assert_uint_eq(attr->fileid, st.st_ino);
	ck_assert_uint_eq(attr->rdev, st.st_rdev);
	ck_assert_int_eq(attr->atime, ns(st.st_atim));
	ck_assert_int_eq(attr->mtime, ns(st.st_mtim));
	ck_assert_int_eq(attr->ctime, ns(st.st_ctim));
}

#endif
