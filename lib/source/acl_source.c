/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/acl_source.h"

#include <errno.h>
#include <string.h>

#include "lib/source/backend.h"

struct acl_source {
	struct backend_layer layer; /* over main */
	struct backend *windows;
};

/*
 * One BACKEND_XATTRS out of two.  The second finds the object by its path, and must have found the
 * same one: no object may get another one's descriptor.  The same number says that it has.  Where
 * servers number objects differently, what the second is asked to look up by that exact name must
 * be what it has told about.
 */
struct call {
	struct acl_source *source;
	struct backend_request *req; /* the submitter's */
	struct backend_request first, second, look;
	char *parent; /* its path */
	struct source_xattrs *xattrs;
};

static void complete_call(struct call *call, int status)
{
	struct backend_request *req = call->req;

	backend_prepare(req);
	req->xattrs = g_steal_pointer(&call->xattrs);
	req->why = call->first.why ? call->first.why : call->second.why;
	req->here = call->first.here;
	req->at_leisure = call->second.at_leisure || call->look.at_leisure;
	req->has_attr = call->first.has_attr;
	req->attr = call->first.attr;
	g_free(call->parent);
	g_free(call);
	backend_complete(req, status);
}

static bool same_type(const struct call *call)
{
	return call->first.has_attr && call->second.has_attr &&
	       S_ISDIR(call->first.attr.mode) == S_ISDIR(call->second.attr.mode);
}

/* Takes what the second one brought.  0 or -errno. */
static int take_windows(struct call *call, struct source_xattrs *from)
{
	if (call->second.status == -ENOENT || call->second.status == -ENOTDIR ||
	    call->second.status == -ESTALE)
		return -EREMOTEIO;
	if (call->second.status)
		return call->second.status;
	if (!from || !from->windows || !same_type(call))
		return -EREMOTEIO;
	call->xattrs->windows = g_steal_pointer(&from->windows);
	call->xattrs->windows->short_name = false; /* it is called so by the first one too */
	for (guint i = 0; i < from->lost->len; i++)
		source_xattrs_lose(call->xattrs, "%s", (char *)from->lost->pdata[i]);
	return 0;
}

static void complete_with_windows(struct call *call, int ret)
{
	if (ret)
		g_clear_pointer(&call->xattrs, source_xattrs_free);
	complete_call(call, ret);
}

static void looked_up(struct backend_request *look)
{
	struct call *call = look->user;
	int ret = look->status;

	if (ret == -ENOENT || (!ret && look->attr.fileid != call->second.attr.fileid))
		ret = -ENOTUNIQ;
	complete_with_windows(call, ret);
}

static void look_up_acl(struct call *call)
{
	struct backend *windows = call->source->windows;
	const char *path = call->req->object.path, *slash = strrchr(path, '/');

	call->parent = slash ? g_strndup(path, (gsize)(slash - path)) : g_strdup("");
	call->look.attempts = call->req->attempts;
	call->look.op = BACKEND_LOOKUP;
	call->look.priority = call->req->priority;
	call->look.trace = call->req->trace;
	call->look.object.path = call->parent;
	call->look.name = slash ? slash + 1 : path;
	call->look.done = looked_up;
	call->look.user = call;
	windows->ops->submit(windows, &call->look);
}

static void second_done(struct backend_request *second)
{
	struct call *call = second->user;
	struct source_xattrs *from = g_steal_pointer(&second->xattrs);
	int ret = take_windows(call, from);

	source_xattrs_free(from);
	if (ret || second->attr.fileid == call->first.attr.fileid || !*call->req->object.path)
		complete_with_windows(call, ret);
	else
		look_up_acl(call);
}

static void first_done(struct backend_request *first)
{
	struct call *call = first->user;
	struct backend *windows = call->source->windows;

	if (first->status) {
		complete_call(call, first->status);
		return;
	}
	call->xattrs = first->xattrs ? g_steal_pointer(&first->xattrs) : source_xattrs_new();
	/* what SMB does not show */
	if (first->has_attr && !S_ISREG(first->attr.mode) && !S_ISDIR(first->attr.mode)) {
		complete_call(call, 0);
		return;
	}
	call->second.attempts = call->req->attempts;
	call->second.op = BACKEND_XATTRS;
	call->second.priority = call->req->priority;
	call->second.trace = call->req->trace;
	call->second.object.path = call->req->object.path;
	call->second.done = second_done;
	call->second.user = call;
	windows->ops->submit(windows, &call->second);
}

static void acl_source_submit(struct backend *backend, struct backend_request *req)
{
	struct acl_source *source = (struct acl_source *)backend;
	struct call *call;

	if (req->op != BACKEND_XATTRS) {
		source->layer.inner->ops->submit(source->layer.inner, req);
		return;
	}
	if (!req->object.path) { /* too long for a record */
		backend_prepare(req);
		backend_complete(req, -ENAMETOOLONG);
		return;
	}
	call = g_new0(struct call, 1);
	call->source = source;
	call->req = req;
	/* the type must be known */
	call->first.attempts = req->attempts;
	call->first.op =
		backend_layer_carries(backend) || req->count ? BACKEND_XATTRS : BACKEND_GETATTR;
	call->first.count = req->count;
	call->first.listed = req->listed;
	call->first.priority = req->priority;
	call->first.trace = req->trace;
	call->first.object = req->object;
	call->first.done = first_done;
	call->first.user = call;
	source->layer.inner->ops->submit(source->layer.inner, &call->first);
}

/* What main is through with goes to the other, so main comes first. */
static void acl_source_close(struct backend *backend)
{
	struct acl_source *source = (struct acl_source *)backend;

	source->layer.inner->ops->close(source->layer.inner);
	source->windows->ops->close(source->windows);
	g_free(source);
}

static unsigned acl_source_away(struct backend *backend)
{
	struct backend *windows = ((struct acl_source *)backend)->windows;

	return MAX(backend_layer_away(backend), windows->ops->away(windows));
}

static void acl_source_retry(struct backend *backend)
{
	struct acl_source *source = (struct acl_source *)backend;

	backend_retry(source->layer.inner);
	backend_retry(source->windows);
}

static unsigned acl_source_carries(struct backend *backend)
{
	struct backend *windows = ((struct acl_source *)backend)->windows;

	return backend_layer_carries(backend) | windows->ops->carries(windows);
}

static char *acl_source_not_carried(struct backend *backend)
{
	struct backend *windows = ((struct acl_source *)backend)->windows;
	g_autofree char *x = backend_layer_not_carried(backend);
	g_autofree char *y = windows->ops->not_carried(windows);

	return g_strconcat(x ? x : "", "\n", y, NULL);
}

static const struct backend_ops acl_source_ops = {
	.scheme = "acl-source",
	.close = acl_source_close,
	.submit = acl_source_submit,
	.max_read = backend_layer_max_read,
	.away = acl_source_away,
	.carries = acl_source_carries,
	.retry = acl_source_retry,
	.not_carried = acl_source_not_carried,
};

struct backend *backend_acl_source_new(struct backend *main, struct backend *windows)
{
	struct acl_source *source = g_new0(struct acl_source, 1);

	source->layer.base.ops = &acl_source_ops;
	source->layer.inner = main;
	source->windows = windows;
	return &source->layer.base;
}
