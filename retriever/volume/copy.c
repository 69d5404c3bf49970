/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fs_id.h"
#include "lib/base/advice.h"
#include "lib/base/filetree.h"
#include "lib/base/project.h"
#include "retriever/copies/copy_mark.h"
#include "retriever/copies/lost_found.h"
#include "retriever/copies/prior.h"
#include "retriever/data/source_root.h"
#include "retriever/data/version.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/links.h"
#include "retriever/objects/object.h"
#include "retriever/objects/private.h"
#include "retriever/objects/state.h"
#include "retriever/volume/attach.h"
#include "retriever/volume/retry.h"

#define RUN_FILE "run"
#define GROUP	 "run"

static gint64 now_seconds(void)
{
	return g_get_real_time() / G_USEC_PER_SEC;
}

static int ask_restart(struct retriever *retriever)
{
	g_atomic_int_set(&retriever->reopen, 1);
	return -ERESTART;
}

/* ---- the run's own file ---- */

static GKeyFile *load_run(const struct retriever *retriever)
{
	g_autofree char *path =
		g_strdup_printf("/proc/self/fd/%d/" RUN_FILE, retriever->private_fd);
	GKeyFile *f = g_key_file_new();

	g_key_file_load_from_file(f, path, G_KEY_FILE_NONE, NULL);
	return f;
}

static int save_run(const struct retriever *retriever, GKeyFile *f)
{
	gsize len;
	g_autofree char *text = g_key_file_to_data(f, &len, NULL);

	return own_save(retriever->private_fd, RUN_FILE, text, len);
}

/*
 * What tells the old root from another one, also from that of another file system: those of ext4
 * have one number.  A server may give a root another handle when it starts anew.
 */
static char *root_text(struct retriever *retriever)
{
	struct source_object root = {0};
	struct source_attr attr;
	GString *text = g_string_new(NULL);

	source_root_get(retriever, &root, &attr);
	g_string_printf(text, "%" G_GUINT64_FORMAT " %" G_GINT64_MODIFIER "x ", attr.fileid,
			retriever->source_fs);
	for (unsigned i = 0; i < root.handle_len; i++)
		g_string_append_printf(text, "%02x", root.handle[i]);
	source_object_clear(&root);
	return g_string_free(text, FALSE);
}

static int save_begin(struct retriever *retriever)
{
	g_autoptr(GKeyFile) f = load_run(retriever);
	g_autofree char *root = root_text(retriever);

	g_key_file_set_string(f, GROUP, "root", root);
	g_key_file_set_int64(f, GROUP, "number",
			     g_key_file_get_int64(f, GROUP, "number", NULL) + 1);
	g_key_file_set_int64(f, GROUP, "began", now_seconds());
	g_key_file_set_int64(f, GROUP, "ended", 0);
	return save_run(retriever, f);
}

/* ---- beginning ---- */

static int make_copy(struct retriever *retriever, char **message)
{
	g_autofree char *missing = NULL;
	int ret = capabilities_try(retriever->root_fd, &missing);

	if (ret) { /* before there is anything that the root could inherit no more */
		*message = g_strdup_printf("%s: no copy can be made there: %s",
					   retriever->config->root, missing);
		return ret;
	}
	ret = private_open(retriever, true);
	if (!ret && mkdirat(retriever->private_fd, COPY_DIR, 0700) < 0 && errno != EEXIST)
		ret = -errno;
	/* of the project of what is going to be there */
	if (!ret && project_of(retriever->root_fd).inherited)
		ret = project_give(retriever->private_fd, COPY_DIR, project_of(retriever->root_fd));
	if (!ret && fsync(retriever->private_fd) < 0)
		ret = -errno;
	if (ret)
		*message =
			g_strdup_printf("%s: no copy can be made there: %s%s",
					retriever->config->root, g_strerror(-ret), advice_for(ret));
	return ret ? ret : ask_restart(retriever);
}

static int make_or_refuse(struct retriever *retriever, char **message)
{
	const char *root = retriever->config->root;
	bool prior = retriever->private_fd >= 0 &&
		     faccessat(retriever->private_fd, PRIOR_DIR, F_OK, AT_SYMLINK_NOFOLLOW) == 0;

	if (volume_state(retriever) != VOLUME_UNATTACHED)
		*message = g_strdup_printf("%s is attached: a copy is made before attach", root);
	else if (attach_is_away(retriever->config, message))
		return -ENODEV;
	else if (prior)
		*message = g_strdup_printf("%s: an attach was begun: migratectl attach %s", root,
					   retriever->config->name);
	else if (!migrate_is_vacant(retriever->root_fd, true))
		*message = g_strdup_printf("%s is not empty%s: a copy is made before attach, in an "
					   "empty directory; to take over what is there: "
					   "migratectl attach --adopt %s",
					   root, lost_found_text(retriever->root_fd),
					   retriever->config->name);
	else
		return make_copy(retriever, message);
	return -EALREADY;
}

/* Of a copy whose first run was killed before it had a number: its record or mark says what it was.
 */
static bool is_fileid(struct retriever *retriever)
{
	struct source_object root = {0};
	struct migrate_record rec;
	struct source_attr attr;
	uint64_t fileid;
	int64_t ctime;

	source_root_get(retriever, &root, &attr);
	source_object_clear(&root);
	if (migrate_record_load(retriever->root_fd, &rec) > 0) {
		fileid = rec.fileid;
		migrate_record_clear(&rec);
	} else if (!copy_mark_get(retriever->root_fd, &fileid, &ctime)) {
		return true;
	}
	return fileid == attr.fileid;
}

/* Texts of root_text(), that one of an earlier release, maybe. */
static bool is_root(const struct retriever *retriever, const char *was, const char *is)
{
	const char *was_fs = strchr(was, ' '), *is_fs = strchr(is, ' ');
	char *was_rest, *is_rest;
	uint64_t fs;

	if (!was_fs || was_fs - was != is_fs - is || strncmp(was, is, (size_t)(is_fs - is)) != 0)
		return false;
	fs = g_ascii_strtoull(was_fs, &was_rest, 16);
	g_ascii_strtoull(is_fs, &is_rest, 16);
	return migrate_fs_id_is(fs, retriever->source_fs) && !strcmp(was_rest, is_rest);
}

static bool is_copied_root(struct retriever *retriever)
{
	g_autoptr(GKeyFile) run = load_run(retriever);
	g_autofree char *was = g_key_file_get_string(run, GROUP, "root", NULL);
	g_autofree char *is = root_text(retriever);

	return was ? is_root(retriever, was, is) : is_fileid(retriever);
}

/* A server that lost the disk that was mounted there shows the empty directory below. */
static int check_root(struct retriever *retriever, bool accept, char **message)
{
	int ret = source_root_look(retriever);

	if (ret) {
		*message = g_strdup_printf("%s: the old server does not tell of its root: %s; see "
					   "that it is there, and let this machine's root read it",
					   retriever->config->source, g_strerror(-ret));
		return ret;
	}
	if (accept || is_copied_root(retriever))
		return 0;
	*message = g_strdup_printf("%s: the old server's root is another directory than the one "
				   "that was copied, or has another handle: see that the right "
				   "file system is mounted there; if it is right: --accept",
				   retriever->config->source);
	return -ESTALE;
}

/* The root is listed anew, and so is all below it. */
static int mark_root(struct retriever *retriever)
{
	struct source_object root = {0};
	struct migrate_record *rec;
	struct source_attr attr;
	struct object *object;
	int ret = object_get(retriever, retriever->root_fd, &object);

	if (ret)
		return ret;
	source_root_get(retriever, &root, &attr);
	g_mutex_lock(&object->lock);
	if (object->normal || object->record.state != MIGRATE_UNFILLED)
		COUNT_ADD(retriever, unfilled, 1);
	if (object->normal)
		COUNT_ADD(retriever, directories_whole, -1);
	rec = &object->record;
	migrate_record_clear(rec);
	attach_root_record(rec, &root, &attr);
	rec->binding = object->key;
	if (object->fd < 0)
		object->fd = fcntl(retriever->root_fd, F_DUPFD_CLOEXEC, 3);
	ret = object->fd < 0 ? -errno : object_store(object);
	if (!ret && fsync(object->fd) < 0)
		ret = -errno;
	if (!ret)
		object->normal = false;
	g_mutex_unlock(&object->lock);
	object_unref(object);
	source_object_clear(&root);
	return ret;
}

/* Nothing of the run before counts any more. */
static int begin_anew(struct retriever *retriever)
{
	g_autofree char *text = NULL;
	int ret = links_forget(retriever);

	if (!ret)
		ret = retry_all(retriever, NULL, VERSION_NEW, &text);
	COUNT_SET(retriever, same, 0);
	COUNT_SET(retriever, made, 0);
	COUNT_SET(retriever, left_over, 0);
	COUNT_SET(retriever, bytes_fetched, 0);
	COUNT_SET(retriever, named, 0);
	if (!ret)
		ret = attach_refresh_root(retriever);
	return ret ? ret : mark_root(retriever);
}

int copy_begin(struct retriever *retriever, bool accept, char **message)
{
	g_autoptr(GKeyFile) run = NULL;
	enum volume_state state = volume_state(retriever);
	int ret;

	if (!retriever->copying)
		return make_or_refuse(retriever, message);
	if (COUNT_GET(retriever, crawlers) > 0) {
		*message = g_strdup_printf("a copy of %s is under way: see migratectl status %s",
					   retriever->config->name, retriever->config->name);
		return -EBUSY;
	}
	g_atomic_int_set(&retriever->accepted, accept);
	if (state == VOLUME_UNATTACHED) {
		ret = attach_volume(retriever, &(struct attach){0}, message);
		return ret ? ret : save_begin(retriever);
	}
	ret = check_root(retriever, accept, message);
	if (ret)
		return ret;
	run = load_run(retriever);
	if (state == VOLUME_COPYING && !g_key_file_get_int64(run, GROUP, "ended", NULL) &&
	    is_copied_root(retriever))
		return g_key_file_get_int64(run, GROUP, "number", NULL) ? 0 : save_begin(retriever);
	/* in this order: a run that was begun and did not mark the root would list nothing */
	ret = begin_anew(retriever);
	if (!ret)
		ret = save_begin(retriever);
	if (ret && !*message)
		*message =
			g_strdup_printf("%s: the copy cannot be brought up to date: %s%s",
					retriever->config->root, g_strerror(-ret), advice_for(ret));
	return ret;
}

/* ---- the end ---- */

static void set_number(GKeyFile *f, const char *key, gint64 value)
{
	g_key_file_set_int64(f, "copy", key, value);
}

int copy_end(struct retriever *retriever, char **message)
{
	g_autoptr(GKeyFile) run = NULL, f = g_key_file_new();
	gint64 began, named = COUNT_GET(retriever, named);
	int ret;

	if (!retriever->copying) {
		*message = g_strdup("there is no copy");
		return -EINVAL;
	}
	run = load_run(retriever);
	began = g_key_file_get_int64(run, GROUP, "began", NULL);
	g_key_file_set_int64(run, GROUP, "ended", now_seconds());
	ret = save_run(retriever, run);
	if (!ret && volume_state(retriever) == VOLUME_COPIED)
		ret = links_forget(retriever);
	if (ret) {
		*message = g_strdup_printf("%s/" MIGRATE_PRIVATE_DIR ": %s",
					   retriever->config->root, g_strerror(-ret));
		return ret;
	}
	set_number(f, "run", g_key_file_get_int64(run, GROUP, "number", NULL));
	set_number(f, "seconds", now_seconds() - began);
	set_number(f, "objects",
		   COUNT_GET(retriever, files_found) + COUNT_GET(retriever, directories_found));
	set_number(f, "bytes", COUNT_GET(retriever, bytes_found));
	set_number(f, "same", COUNT_GET(retriever, same));
	set_number(f, "made", COUNT_GET(retriever, made));
	set_number(f, "bytes-fetched", COUNT_GET(retriever, bytes_fetched));
	set_number(f, "gone", COUNT_GET(retriever, left_over));
	set_number(f, "aside", COUNT_GET(retriever, aside));
	set_number(f, "aside-bytes", COUNT_GET(retriever, aside_bytes));
	set_number(f, "left", errors_count(retriever->errors));
	g_key_file_set_boolean(f, "copy", "whole", volume_state(retriever) == VOLUME_COPIED);
	/* the next one lists as much, and fetches what has changed by then */
	set_number(f, "next-seconds", named ? MAX(named - began, 1) : now_seconds() - began);
	*message = g_key_file_to_data(f, NULL, NULL);
	return 0;
}

/* ---- the switch ---- */

static int check_switch(struct retriever *retriever, bool accept, char **message)
{
	int root = openat(retriever->volume_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool vacant = root >= 0 && migrate_is_vacant(root, true);

	if (root >= 0)
		close(root);
	if (COUNT_GET(retriever, crawlers) > 0) {
		*message = g_strdup_printf("a copy is under way: wait for it, or end it: systemctl "
					   "stop migrate-copy@%s",
					   retriever->config->name);
		return -EBUSY;
	}
	if (!vacant) {
		*message = g_strdup_printf("the volume's root has something beside the copy %s: "
					   "remove it, so that nothing is covered",
					   retriever->config->root);
		return -ENOTEMPTY;
	}
	return check_root(retriever, accept, message);
}

int copy_switch(struct retriever *retriever, const struct attach *how, char **message)
{
	struct prior prior = {.content = how->content,
			      .names = COUNT_GET(retriever, files_found) +
				       COUNT_GET(retriever, directories_found)};
	int volume = retriever->volume_fd;
	int ret = check_switch(retriever, how->accept, message);

	if (ret)
		return ret;
	ret = prior_save(volume, &prior);
	if (!ret && renameat2(volume, COPY_DIR, volume, PRIOR_DIR, RENAME_NOREPLACE) < 0)
		ret = -errno;
	if (!ret && fsync(volume) < 0)
		ret = -errno;
	if (ret) {
		*message = g_strdup_printf("%s: cannot be renamed: %s%s", retriever->config->root,
					   g_strerror(-ret), advice_for(ret));
		return ret;
	}
	return ask_restart(retriever);
}
