/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the check programs of copies share: trees that another tool left, and runs of our own. */
#ifndef TESTS_RETRIEVER_CORE_COPY_H
#define TESTS_RETRIEVER_CORE_COPY_H

#include "tests/retriever/core_directory.h"
#include "tests/retriever/core_xattrs.h"

#include <sched.h>
#include <sys/mount.h>

#include "retriever/copies/aside.h"
#include "retriever/copies/copy_mark.h"
#include "retriever/volume/copy.h"

#define DATA_OPS ((1u << BACKEND_READ) | (1u << BACKEND_XATTRS) | (1u << BACKEND_READLINK))

static inline G_GNUC_PRINTF(1, 2) void shell(const char *format, ...)
{
	va_list args;
	g_autofree char *command = NULL;

	va_start(args, format);
	command = g_strdup_vprintf(format, args);
	va_end(args);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static inline void write_file(const char *dir, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Bytes. */
static inline gint64 source_size(const char *name)
{
	g_autofree char *path = g_build_filename(core.source, name, NULL);
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size;
}

/* Mounts that are made from now on are of this process; descriptors from before do not lead there.
 */
static inline void mounts_of_our_own(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
}

/* As if another tool had copied the old tree. */
static inline void copy_by_cp(void)
{
	shell("cp -a %s/. %s", core.source, core.root);
}

#define CORE_BLOCK 4096 /* of ext4, for the attributes of an object (core_room) */

static inline void leave_room(const char *path, unsigned bytes)
{
	static const uint8_t zeros[CORE_BLOCK];

	source_xattrs_add(core_xattrs_of(path), "user.a", zeros, CORE_BLOCK - bytes);
	source_xattrs_add(core_xattrs_of(path), "user.b", zeros, 20);
}

static inline void adopt(struct attach how)
{
	g_autofree char *message = NULL;
	int ret;

	how.adopt = true;
	core_open(&core);
	ret = attach_volume(core.retriever, &how, &message);
	ck_assert_msg(ret == 0, "%d %s", ret, message);
	core_run(&core);
	core_connect(&core);
}

/* As a crawler does. */
static inline void make_tree(int fd)
{
	DIR *dir;
	struct dirent *e;
	int ret = core_wait(core_ask_fill(&core, fd, MIGRATE_DATA | MIGRATE_BACKGROUND));

	ck_assert_int_eq(ret, 0);
	dir = fdopendir(open_below(fd, ".", O_RDONLY | O_DIRECTORY));
	while ((e = readdir(dir))) {
		int child;

		if (e->d_type != DT_DIR || !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    !strcmp(e->d_name, MIGRATE_PRIVATE_DIR))
			continue;
		child = open_below(fd, e->d_name, O_RDONLY | O_DIRECTORY);
		if (migrate_has_record(child))
			make_tree(child);
		close(child);
	}
	closedir(dir);
	do /* again, if the retriever was killed meanwhile */
		ret = make_whole(fd);
	while (ret == -EAGAIN);
	ck_assert_int_eq(ret, 0);
}

static inline void make_all(void)
{
	int root = core_root(&core);

	make_tree(root);
	close(root);
}

/* ---- our own copy ---- */

static char *copy_volume; /* the volume's root, while core.root is the copy's */

static inline int copy_try_begin(bool accept)
{
	g_autofree char *message = NULL;

	return copy_begin(core.retriever, accept, &message);
}

/* A retriever for the copy, which is made where there is none. */
static inline void copy_open(void)
{
	if (!copy_volume) {
		copy_volume = core.root;
		core.root = g_build_filename(copy_volume, MIGRATE_PRIVATE_DIR, COPY_DIR, NULL);
	}
	for (int made = 0; made < 2; made++) {
		char *copy = core.root;

		core.root = copy_volume;
		core_open(&core);
		core.root = copy;
		if (core.retriever->copying)
			break;
		ck_assert_int_eq(copy_try_begin(false), -ERESTART);
		core_close(&core);
	}
	ck_assert(core.retriever->copying);
	core_run(&core);
	core_connect(&core);
}

/* A value of the summary. */
static inline gint64 copy_finish(const char *key)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	g_autofree char *text = NULL;

	ck_assert_int_eq(copy_end(core.retriever, &text), 0);
	ck_assert(g_key_file_load_from_data(f, text, -1, G_KEY_FILE_NONE, NULL));
	ck_assert(g_key_file_has_key(f, "copy", key, NULL));
	return g_key_file_get_int64(f, "copy", key, NULL);
}

static inline void copy_close(void)
{
	core_disconnect(&core);
	core_close(&core);
}

/* One whole run. */
static inline gint64 copy_run(const char *key)
{
	gint64 value;

	copy_open();
	ck_assert_int_eq(copy_try_begin(false), 0);
	make_all();
	ck_assert_int_eq(volume_state(core.retriever), VOLUME_COPIED);
	value = copy_finish(key);
	copy_close();
	return value;
}

/* The copy becomes the prior copy of the volume, which is attached. */
static inline void copy_attach(void)
{
	g_autofree char *message = NULL;

	copy_open();
	ck_assert_int_eq(copy_switch(core.retriever, &(struct attach){0}, &message), -ERESTART);
	copy_close();
	g_free(core.root);
	core.root = g_steal_pointer(&copy_volume);
	core_start(&core);
}

static inline void copy_free(void)
{
	core_free(&core);
	g_clear_pointer(&copy_volume, g_free);
}

/* ---- what is there ---- */

/* Whole trees: contents, types, owners, modes, ACLs, times, links. */
static inline void expect_same_tree(void)
{
	shell("out=$(rsync -niaHA --checksum --delete --exclude=/.migrate %s/ %s/ 2>&1);"
	      "test -z \"$out\" || { echo \"$out\"; false; }",
	      core.source, core.root);
}

static inline bool is_there(const char *dir, const char *path)
{
	g_autofree char *full = g_build_filename(dir, path, NULL);

	return faccessat(AT_FDCWD, full, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline bool is_aside(const char *path)
{
	g_autofree char *full =
		g_build_filename(core.root, MIGRATE_PRIVATE_DIR, ASIDE_DIR, path, NULL);

	return faccessat(AT_FDCWD, full, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

#endif
