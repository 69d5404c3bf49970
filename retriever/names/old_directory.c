/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/old_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/latch.h"
#include "lib/source/gate.h"
#include "retriever/data/source_root.h"
#include "retriever/names/fill.h"
#include "retriever/objects/old_handles.h"
#include "retriever/objects/state.h"

static bool is_same_old_directory(const struct source_object *a, const struct source_object *b)
{
	return a->handle_len == b->handle_len && !memcmp(a->handle, b->handle, a->handle_len);
}

static bool is_known(const struct retriever *retriever, const struct source_object *object)
{
	struct migrate_binding key;

	return old_handles_find(retriever, object, &key);
}

static int ask_source(struct retriever *retriever, struct backend_request *req,
		      const struct source_object *object)
{
	req->priority = BACKEND_DEMAND;
	req->hurried = true;
	req->object = *object;
	return gate_call(retriever->gate, req);
}

static int check_is_directory(struct retriever *retriever, const struct source_object *object)
{
	struct backend_request req = {.op = BACKEND_GETATTR};
	int ret = ask_source(retriever, &req, object);

	return !ret && !S_ISDIR(req.attr.mode) ? -ENOTDIR : ret;
}

/* Goes from a directory to its parent. */
static int go_up(struct retriever *retriever, struct source_object *at)
{
	struct backend_request req = {.op = BACKEND_LOOKUP, .up = true};
	struct source_object parent = {0};
	int ret = ask_source(retriever, &req, at);

	if (ret)
		return ret;
	parent.handle_len = req.handle_len;
	memcpy(parent.handle, req.handle, req.handle_len);
	if (is_same_old_directory(at, &parent))
		return -ESTALE; /* the top of what the old server has, and not the source */
	*at = parent;
	return 0;
}

/* The directory itself, what it is in, and so on, up to the first that is known. */
static int climb(struct retriever *retriever, GArray *chain)
{
	struct source_object at = g_array_index(chain, struct source_object, 0);
	int ret = is_known(retriever, &at) ? 0 : check_is_directory(retriever, &at);

	while (!ret && !is_known(retriever, &at)) {
		ret = chain->len > OLD_DIRECTORY_DEPTH ? -ELOOP : go_up(retriever, &at);
		g_array_append_val(chain, at);
	}
	return ret;
}

static int fill_old_directory(struct retriever *retriever, const struct source_object *directory)
{
	struct migrate_binding key;
	struct latch latch;
	struct object *object;
	int fd, ret;

	if (!old_handles_find(retriever, directory, &key))
		return -ESTALE; /* where it was, it is not: what is in it is not below the source */
	fd = retriever_open_binding(retriever, &key, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	ret = object_get_taking(retriever, fd, &object);
	if (ret)
		return ret;
	latch_init(&latch, 1);
	directory_fill(object, BACKEND_DEMAND, false, latch_count_down, &latch);
	ret = latch_wait(&latch);
	object_unref(object);
	return ret;
}

static int find_old_directory(struct retriever *retriever, const struct source_object *object)
{
	g_autoptr(GArray) chain = g_array_new(FALSE, FALSE, sizeof(*object));
	int ret;

	g_array_append_vals(chain, object, 1);
	ret = climb(retriever, chain);
	for (guint i = chain->len; !ret && i-- > 1;)
		ret = fill_old_directory(retriever, &g_array_index(chain, struct source_object, i));
	return ret || is_known(retriever, object) ? ret : -ESTALE;
}

int old_directory_find(struct retriever *retriever, const struct source_object *object)
{
	int ret = volume_state(retriever) == VOLUME_MIGRATING
			  ? find_old_directory(retriever, object)
			  : -EAGAIN;

	/* all handles are stale at an old server that has not its file system yet */
	if (ret == -ESTALE && source_root_look(retriever) < 0)
		ret = -EAGAIN;
	return ret;
}
