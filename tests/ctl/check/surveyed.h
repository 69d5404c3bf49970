/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An old server that is made up, and what a survey of it takes. */
#ifndef TESTS_CTL_CHECK_SURVEYED_H
#define TESTS_CTL_CHECK_SURVEYED_H

#include <errno.h>
#include <fcntl.h>

#include "ctl/check/one_directory.h"
#include "tests/ctl/report/made.h"
#include "tests/retriever/core_tsan.h"
#include "tests/retriever/fake_backend.h"

/* A tree of objects, and of how many a page has. */
struct made_object {
	const char *path; /* "" is the root */
	mode_t mode;
	uint64_t size, fileid;
	uint32_t nlink, uid;
	int64_t mtime;	     /* s */
	int list, read;	     /* status */
	int xattrs;	     /* status */
	enum error_code why; /* of read */
	bool bare;	     /* it is listed without attributes */
	const char *lost;    /* what cannot be carried */
};

#define MADE_PAGE 3

static const struct made_object *made_objects;
static unsigned made_n;
static unsigned made_wide;	/* so many more files in "wide" */
static atomic_uint made_breaks; /* listings that still break off after their first page */

static inline const struct made_object *made_find(const char *path)
{
	for (unsigned i = 0; i < made_n; i++)
		if (!strcmp(made_objects[i].path, path))
			return &made_objects[i];
	return NULL;
}

static inline struct source_attr made_attr(const struct made_object *object)
{
	return (struct source_attr){
		.mode = object->mode,
		.size = object->size,
		.used = object->size,
		.nlink = object->nlink ? object->nlink : 1,
		.uid = object->uid,
		.fileid = object->fileid ? object->fileid : (uint64_t)(object - made_objects) + 1,
		.mtime = object->mtime * 1000000000,
		.ctime = object->mtime * 1000000000};
}

/* The name of an object right below the directory, or NULL. */
static inline const char *made_name(const struct made_object *object, const char *directory)
{
	const size_t len = strlen(directory);
	const char *name = object->path + len + (len != 0);

	if (!*object->path || strncmp(object->path, directory, len) != 0 ||
	    (len && object->path[len] != '/'))
		return NULL;
	return strchr(name, '/') ? NULL : name;
}

static inline int made_list(struct backend_request *req)
{
	const char *path = req->object.path;
	uint64_t at = 0;
	const uint64_t first = req->cookie;

	if (made_find(path)->list)
		return made_find(path)->list;
	if (first && made_breaks) {
		made_breaks--;
		return -EBADMSG;
	}
	req->batch = backend_batch_new();
	for (unsigned i = 0; i < made_n && req->batch->entries->len < MADE_PAGE; i++) {
		const char *name = made_name(&made_objects[i], path);
		struct source_entry entry = {.has_attr = !made_objects[i].bare};

		if (!name || at++ < first)
			continue;
		entry.attr = made_attr(&made_objects[i]);
		backend_batch_add(req->batch, name, strlen(name), &entry);
		req->cookie++;
	}
	for (; !strcmp(path, "wide") && req->cookie - at < made_wide &&
	       req->batch->entries->len < 1000;
	     req->cookie++) {
		struct source_entry entry = {.has_attr = true};
		char name[32];

		entry.attr = (struct source_attr){.mode = S_IFREG | 0644,
						  .nlink = 1,
						  .size = 1,
						  .fileid = 1000 + req->cookie};
		g_snprintf(name, sizeof(name), "f%u", (unsigned)req->cookie);
		backend_batch_add(req->batch, name, strlen(name), &entry);
	}
	req->eof = !req->batch->entries->len;
	return 0;
}

static inline int made_xattrs(struct backend_request *req)
{
	const struct made_object *object = made_find(req->object.path);

	if (object && object->xattrs)
		return object->xattrs;
	req->xattrs = source_xattrs_new();
	if (object && object->lost)
		source_xattrs_lose(req->xattrs, "%s", object->lost);
	return 0;
}

static inline int made_answer(struct fake_backend *fake, struct backend_request *req)
{
	const struct made_object *object = made_find(req->object.path);

	switch (req->op) {
	case BACKEND_READDIR:
		return made_list(req);
	case BACKEND_LOOKUP: {
		g_autofree char *path = judge_path(req->object.path, req->name);

		if (!made_find(path) || made_find(path)->list == -ENOENT)
			return -ENOENT;
		req->attr = made_attr(made_find(path));
		return 0;
	}
	case BACKEND_XATTRS:
		return made_xattrs(req);
	case BACKEND_READ:
		req->data = (const uint8_t *)"data";
		req->data_len = MIN(req->count, 4);
		req->why = object ? object->why : QM_NONE;
		return object ? object->read : 0;
	default:
		req->has_attr = true;
		return 0;
	}
}

/* What a walk needs, round the made-up server. */
struct made_walk {
	struct volume_config config;
	struct fake_backend fake;
	struct judge judge;
	struct samples samples;
	struct tally tally;
	struct walk walk;
	int dir_fd;
};

static inline void made_walk_begin(struct made_walk *made, const struct made_object *objects,
				   unsigned n)
{
	made_objects = objects;
	made_n = n;
	memset(made, 0, sizeof(*made));
	made->config.source = "nfs://old/export";
	made->fake = (struct fake_backend){.base.ops = &fake_backend_ops, .answer = made_answer};
	made->dir_fd = open(made_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(made->dir_fd, 0);
	samples_init(&made->samples);
	made->walk = (struct walk){.gate = gate_new(&made->fake.base, 0),
				   .judge = &made->judge,
				   .samples = &made->samples,
				   .notices = notices_new(),
				   .tally = &made->tally,
				   .frontier = frontier_new(made->dir_fd),
				   .carries = BACKEND_CARRIES_XATTR,
				   .workers = 4,
				   .share = WALK_ALL,
				   .list = one_directory_run};
	made->walk.trials = read_trials_new(made->walk.notices);
	judge_init(&made->judge, &made->config, limits_of(0, 4096, false, 0), made->walk.notices);
	made->tally.now = INT64_C(1000000000) * 1000000000;
}

static inline void made_walk_root(struct made_walk *made)
{
	const struct source_object root = {.path = ""};
	const struct source_attr attr = made_attr(made_find(""));

	walk_add_root(&made->walk, &root, &attr);
}

static inline void made_walk_run(struct made_walk *made)
{
	made_walk_root(made);
	walk_start(&made->walk);
	ck_assert(walk_wait(&made->walk, g_get_monotonic_time() + 600 * G_USEC_PER_SEC));
	walk_end(&made->walk);
	ck_assert_ptr_null(made->walk.error);
}

static inline void made_walk_end(struct made_walk *made)
{
	gate_close(made->walk.gate);
	gate_free(made->walk.gate);
	judge_clear(&made->judge);
	frontier_free(made->walk.frontier);
	read_trials_free(made->walk.trials);
	notices_free(made->walk.notices);
	samples_clear(&made->samples);
	tally_clear(&made->tally);
	close(made->dir_fd);
}

/* The first line of the kind, which is the only one. */
static inline const struct notice_line *made_only(struct made_walk *made, enum notice_kind kind)
{
	ck_assert_msg(notices_total(made->walk.notices, kind) == 1, "%s: %u", notice_key(kind),
		      (unsigned)notices_total(made->walk.notices, kind));
	return notices_first(made->walk.notices, kind)->pdata[0];
}

#endif
