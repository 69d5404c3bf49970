/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs4_walk.h"

#include <errno.h>

#include "lib/base/text.h"
#include "lib/source/nfs/nfs4_attr.h"
#include "lib/source/nfs/nfs4_secinfo.h"

#define WALK_BYTES  300 /* of names in one call: what fits beside the rest of RPC_CALL_MAX */
#define WALK_BESIDE 3	/* operations: SEQUENCE, the handle and GETFH */

void nfs4_walk_begin(struct nfs4_walk *walk, const struct nfs_view *view,
		     const struct source_object *object)
{
	*walk = (struct nfs4_walk){.most = MAX(view->max_ops, NFS4_OPS_MIN) - WALK_BESIDE};
	if (object->handle_len > 0) {
		walk->at.len = object->handle_len;
		memcpy(walk->at.bytes, object->handle, walk->at.len);
	} else {
		walk->path = g_strconcat(view->path, "/", object->path, NULL);
		walk->rest = walk->path + strspn(walk->path, "/");
	}
}

void nfs4_walk_end(struct nfs4_walk *walk)
{
	g_clear_pointer(&walk->path, g_free);
}

bool nfs4_walk_goes_on(const struct nfs4_walk *walk)
{
	/* The server's root itself may be the source: its handle has to be asked for, too. */
	return walk->refused || (walk->path && (*walk->rest || walk->at.len == 0));
}

static const char *next_name(const char *at)
{
	at += strcspn(at, "/");
	return at + strspn(at, "/");
}

/* How many of the names that are left go into one call. */
static uint32_t names_at_once(const struct nfs4_walk *walk)
{
	size_t bytes = 0;
	uint32_t n = 0;

	for (const char *at = walk->rest; *at && n < walk->most; at = next_name(at)) {
		bytes += 8 + ((strcspn(at, "/") + 3) & ~(size_t)3);
		if (n > 0 && bytes > WALK_BYTES)
			break;
		n++;
	}
	return n;
}

uint32_t nfs4_walk_count(const struct nfs4_walk *walk)
{
	return (walk->refused ? walk->found : names_at_once(walk)) + 1;
}

void nfs4_walk_put(const struct nfs4_walk *walk, struct xdr_out *out)
{
	const char *at = walk->rest;

	for (uint32_t n = nfs4_walk_count(walk) - 1; n > 0; n--, at = next_name(at)) {
		xdr_put_u32(out, OP_LOOKUP);
		xdr_put_bytes(out, at, (uint32_t)strcspn(at, "/"));
	}
	if (walk->refused)
		nfs4_put_secinfo(out, walk->name, walk->name ? strcspn(walk->name, "/") : 0);
	else
		xdr_put_u32(out, OP_GETFH);
}

int nfs4_get_getfh(struct xdr_in *in, struct nfs_handle *handle)
{
	uint32_t status;
	int ret = nfs4_get_op(in, OP_GETFH, &status);

	if (ret == 0 && !nfs4_get_handle(in, handle))
		ret = -EBADMSG;
	return ret;
}

/* The LOOKUPs of that many names. */
static int get_names(struct nfs4_walk *walk, uint32_t n, struct xdr_in *in)
{
	uint32_t status;
	int ret = 0;

	for (walk->found = 0; walk->found < n; walk->found++) {
		ret = nfs4_get_op(in, OP_LOOKUP, &status);
		if (ret < 0)
			break;
	}
	return ret;
}

int nfs4_walk_get(struct nfs4_walk *walk, struct xdr_in *in)
{
	uint32_t n = names_at_once(walk);
	int ret = get_names(walk, n, in);

	if (ret == 0)
		ret = nfs4_get_getfh(in, &walk->at);
	if (ret < 0)
		return ret;
	while (n-- > 0)
		walk->rest = next_name(walk->rest);
	return NFS_CALL_AGAIN;
}

/* ---- flavours ---- */

int nfs4_walk_refuse(struct nfs4_walk *walk, bool started, const char *name)
{
	bool walking = started && nfs4_walk_goes_on(walk);

	if (!walking)
		walk->found = 0;
	if (walking)
		name = walk->rest;
	for (uint32_t n = walk->found; n > 0; n--)
		name = next_name(name);
	walk->name = started ? name : NULL;
	walk->refused = true;
	return NFS_CALL_AGAIN;
}

/* The path of the object that was refused, as far as it is known. */
static char *refused_path(const struct nfs4_walk *walk, const char *object)
{
	g_autofree char *path = NULL;

	if (!walk->name)
		path = g_strdup(walk->path ? walk->path : object);
	else if (walk->path)
		path = g_strndup(walk->path,
				 (gsize)(walk->name - walk->path) + strcspn(walk->name, "/"));
	else
		path = g_strconcat(object ? object : "", "/", walk->name, NULL);
	if (!path)
		return g_strdup("what is below");
	return *path ? text_line(path) : g_strdup("the source's root");
}

int nfs4_walk_get_flavours(struct nfs4_walk *walk, struct nfs_view *view, const char *object,
			   struct xdr_in *in)
{
	const char *none = NULL, *wants;
	g_autofree char *path = NULL;
	int ret = get_names(walk, walk->found, in);

	if (ret == 0)
		ret = nfs4_get_secinfo(in, walk->name, view->sec, &wants);
	if (ret == -EAGAIN)
		return ret;
	if (ret < 0 || !atomic_compare_exchange_strong(&view->wants, &none, wants))
		return -EACCES;
	path = refused_path(walk, object);
	if (view->root.len > 0) /* at open there is an error of its own */
		g_message("%s: %s is left out, and so may others be: for it the old server wants "
			  "%s, or make a volume of its own for it",
			  view->url, path, wants);
	return -EACCES;
}
