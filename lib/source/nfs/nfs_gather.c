/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_gather.h"

#include <errno.h>

#include "lib/source/nfs/nfs4_owner.h"

enum { PART_ACLS, PART_ATTRS, PART_READ, PARTS };

struct gather {
	struct nfs_gather_ways ways;
	void *user;
	struct backend_request *req;
	struct backend_request find, parts[PARTS];
	struct source_xattrs *brought; /* the file's bytes and nothing else */
	atomic_uint left;
};

/* Moves what is in one to the other. */
static void merge_xattrs(struct source_xattrs *to, struct source_xattrs *from)
{
	g_array_append_vals(to->list, from->list->data, from->list->len);
	g_array_set_clear_func(from->list, NULL);
	while (from->lost->len > 0)
		g_ptr_array_add(to->lost, g_ptr_array_steal_index(from->lost, 0));
	to->acl_lost |= from->acl_lost;
	if (from->nfs4_acl)
		to->nfs4_acl = g_steal_pointer(&from->nfs4_acl);
	source_xattrs_free(from);
}

/* Whether a part's failure is that of the whole request.  A file can be made without its bytes. */
static bool fails_all(const struct gather *gather, const struct backend_request *part)
{
	return part->status < 0 && (part != &gather->parts[PART_READ] || part->status == -ESTALE ||
				    part->status == -ECANCELED);
}

static void complete_gathered(struct gather *gather, int status)
{
	struct backend_request *req = gather->req;
	bool one_moment = true;

	req->xattrs = source_xattrs_new();
	for (unsigned i = 0; i < PARTS; i++) {
		struct backend_request *part = &gather->parts[i];

		if (status == 0 && fails_all(gather, part)) {
			status = part->status;
			req->why = part->why;
			req->here = part->here;
		}
		if (part->has_attr) {
			const struct source_attr before = req->attr;
			const bool owned = req->has_attr && !before.no_owner;

			one_moment &= !req->has_attr || source_attr_same(&before, &part->attr);
			req->has_attr = true;
			req->attr = part->attr;
			if (part->attr.no_owner && owned) {
				req->attr.uid = before.uid;
				req->attr.gid = before.gid;
				req->attr.no_owner = 0;
			}
		}
		if (part->xattrs)
			merge_xattrs(req->xattrs, part->xattrs);
	}
	if (status == 0 && req->has_attr)
		status = nfs4_owner_status(req);
	if (gather->brought && one_moment) {
		req->xattrs->data = g_steal_pointer(&gather->brought->data);
		req->xattrs->data_len = gather->brought->data_len;
	}
	source_xattrs_free(gather->brought);
	g_free(gather);
	backend_complete(req, status);
}

static void part_done(struct backend_request *part)
{
	struct gather *gather = part->user;

	if (atomic_fetch_sub(&gather->left, 1) == 1)
		complete_gathered(gather, 0);
}

static void read_done_gathered(struct backend_request *part)
{
	struct gather *gather = part->user;

	if (part->status == 0 && part->has_attr) {
		gather->brought = source_xattrs_new();
		source_xattrs_bring(gather->brought, gather->req->listed, &part->attr, part->data,
				    part->data_len);
	}
	part_done(part);
}

static void submit_parts(struct gather *gather, const uint8_t *handle, uint8_t len)
{
	const struct backend_request *req = gather->req;
	void (*ways[PARTS])(void *user, struct backend_request *req) = {
		[PART_ACLS] = gather->ways.acls,
		[PART_ATTRS] = gather->ways.attrs,
		[PART_READ] = req->count && req->listed ? gather->ways.plain : NULL};
	/* only files and directories have user attributes */
	const mode_t type = req->listed ? req->listed->mode & S_IFMT : 0;
	const bool node = type && type != S_IFREG && type != S_IFDIR;
	unsigned n = 0;

	if (node)
		ways[PART_ATTRS] = NULL;
	for (unsigned i = 0; i < PARTS; i++) {
		struct backend_request *part = &gather->parts[i];

		part->op = i == PART_READ ? BACKEND_READ : BACKEND_XATTRS;
		if (i == PART_ACLS && gather->ways.version4) {
			part->op = BACKEND_GETATTR;
			part->with_acl = true;
		}
		part->count = i == PART_READ ? req->count : 0;
		part->priority = req->priority;
		part->attempts = req->attempts;
		part->trace = req->trace;
		part->object.handle_len = len;
		memcpy(part->object.handle, handle, len);
		part->done = i == PART_READ ? read_done_gathered : part_done;
		part->user = gather;
		n += ways[i] != NULL;
	}
	if (n == 0) {
		complete_gathered(gather, node ? 0 : -ENOTSUP);
		return;
	}
	atomic_store(&gather->left, n);
	/* The part that comes last frees `gather`: nothing of it is touched after the last part was
	 * submitted. */
	for (unsigned i = 0; n > 0; i++) {
		if (!ways[i])
			continue;
		n--;
		ways[i](gather->user, &gather->parts[i]);
	}
}

static void handle_found(struct backend_request *find)
{
	struct gather *gather = find->user;

	gather->req->why = find->why;
	gather->req->here = find->here;
	if (find->status < 0)
		complete_gathered(gather, find->status);
	else
		submit_parts(gather, find->handle, find->handle_len);
}

void nfs_gather(const struct nfs_gather_ways *ways, void *user, struct backend_request *req)
{
	struct gather *gather = g_new0(struct gather, 1);

	backend_prepare(req);
	gather->ways = *ways;
	gather->user = user;
	gather->req = req;
	if (req->object.handle_len > 0) {
		submit_parts(gather, req->object.handle, req->object.handle_len);
		return;
	}
	gather->find = (struct backend_request){
		.op = BACKEND_GETATTR,
		.priority = req->priority,
		.attempts = req->attempts,
		.trace = req->trace,
		.object = req->object,
		.done = handle_found,
		.user = gather,
	};
	ways->plain(user, &gather->find);
}
