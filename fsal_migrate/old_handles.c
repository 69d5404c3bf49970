/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "old_handles.h"

#include <rpc/rpc.h>
#include <rpc/svc_auth.h>
#include <stdlib.h>
#include <string.h>

#include "abstract_mem.h"
#include "replies.h"

/* A handle's flag that the host has no use for: it was an old one.  It is taken out of what comes
 * in. */
#define WAS_OLD	    0x20
#define OWN_VERSION 0x43 /* nfs_fh.h */

extern enum auth_stat _svcauth_none(struct svc_req *req);

struct owned {
	struct owned *next;
	const void *owner;
	size_t n;
	struct mg_old_handle handles[];
};

/* What requests look at: sorted by the old handle, each once.  It is never freed while requests may
 * come: it is made once for each change of an export. */
struct table {
	struct table *before;
	size_t n;
	struct mg_old_handle handles[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of owners; leaf */
static struct owned *owners;
static _Atomic(struct table *) table;
static SVCAUTH *hooked; /* lock */
static struct svc_auth_ops ours, *theirs;

/* ---- the table ------------------------------------------------------------------------------- */

static int compare_bytes(const void *a, size_t a_len, const void *b, size_t b_len)
{
	return a_len != b_len ? (a_len < b_len ? -1 : 1) : memcmp(a, b, a_len);
}

/* Of the same old handle the one that counts is first. */
static int compare(const void *a, const void *b)
{
	const struct mg_old_handle *x = a, *y = b;
	int order =
		compare_bytes(x->alias->old, x->alias->old_len, y->alias->old, y->alias->old_len);

	if (order)
		return order;
	if (x->depth != y->depth)
		return x->depth > y->depth ? -1 : 1;
	return (int)x->export_id - (int)y->export_id;
}

static const struct mg_old_handle *find(const void *bytes, size_t len)
{
	const struct table *now = atomic_load_explicit(&table, memory_order_acquire);
	size_t low = 0, high = now ? now->n : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct migrate_alias *alias = now->handles[middle].alias;
		int order = compare_bytes(bytes, len, alias->old, alias->old_len);

		if (order == 0)
			return &now->handles[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* lock */
static void publish(void)
{
	size_t all = 0, n = 0;
	struct table *made;

	for (struct owned *at = owners; at; at = at->next)
		all += at->n;
	made = gsh_calloc(1, sizeof(*made) + all * sizeof(made->handles[0]));
	for (struct owned *at = owners; at; n += at->n, at = at->next)
		memcpy(&made->handles[n], at->handles, at->n * sizeof(at->handles[0]));
	if (all)
		qsort(made->handles, all, sizeof(made->handles[0]), compare);
	for (size_t i = 0; i < all; i++)
		if (!made->n ||
		    compare_bytes(made->handles[made->n - 1].alias->old,
				  made->handles[made->n - 1].alias->old_len,
				  made->handles[i].alias->old, made->handles[i].alias->old_len))
			made->handles[made->n++] = made->handles[i];
	made->before = atomic_load(&table);
	atomic_store_explicit(&table, made, memory_order_release);
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool was_old(const nfs_fh3 *fh)
{
	return fh && fh->data.data_len > 1 && fh->data.data_len <= NFS3_FHSIZE &&
	       (uint8_t)fh->data.data_val[0] == OWN_VERSION && (fh->data.data_val[1] & WAS_OLD);
}

static void translate(struct svc_req *req, nfs_fh3 *fh)
{
	const struct mg_old_handle *found = find(fh->data.data_val, fh->data.data_len);
	char *bytes;

	if (was_old(fh))
		fh->data.data_val[1] &= ~WAS_OLD; /* a forgery */
	if (!found)
		return;
	bytes = gsh_calloc(1, NFS3_FHSIZE);
	memcpy(bytes, found->own, found->own_len);
	bytes[1] |= WAS_OLD;
	gsh_free(fh->data.data_val);
	fh->data.data_val = bytes;
	fh->data.data_len = found->own_len;
	mg_old_clients_count(found->clients, svc_getrpccaller(req->rq_xprt));
}

static bool is_version_3(const struct svc_req *req)
{
	return req->rq_msg.cb_vers == 3;
}

static bool checksum(struct svc_req *req)
{
	nfs_fh3 *handle[2];

	if (!theirs->svc_ah_checksum(req))
		return false;
	if (!is_version_3(req))
		return true;
	mg_call_handles(req->rq_msg.cb_prog, req->rq_msg.cb_proc, req->rq_msg.rm_xdr.where, handle);
	for (unsigned i = 0; i < 2; i++)
		if (handle[i])
			translate(req, handle[i]);
	return true;
}

/* ---- replies --------------------------------------------------------------------------------- */

/* What leads to the object of this handle; all that do have the same number. */
static const struct mg_old_handle *find_own(const nfs_fh3 *fh)
{
	const struct table *now = atomic_load_explicit(&table, memory_order_acquire);
	uint8_t own[NFS3_FHSIZE];

	memcpy(own, fh->data.data_val, fh->data.data_len);
	own[1] &= (uint8_t)~WAS_OLD;
	for (size_t i = 0; now && i < now->n; i++)
		if (now->handles[i].own_len == fh->data.data_len &&
		    !memcmp(now->handles[i].own, own, fh->data.data_len))
			return &now->handles[i];
	return NULL;
}

static void show(const nfs_fh3 *fh, fattr3 *attributes)
{
	const struct mg_old_handle *found = attributes && was_old(fh) ? find_own(fh) : NULL;

	if (found)
		attributes->fileid = found->alias->fileid;
}

/* What is below the old server's mounts has handles, too, that clients remember.  They look for the
 * name again when one is stale, and hand a program the error when it is bad. */
static void show_stale(nfsstat3 *status)
{
	if (*status == NFS3ERR_BADHANDLE)
		*status = NFS3ERR_STALE;
}

static bool wrap(struct svc_req *req, XDR *xdrs)
{
	const struct rpc_msg *msg = &req->rq_msg;
	void *res = msg->RPCM_ack.ar_results.where;
	nfs_fh3 *handle[2] = {NULL, NULL};
	fattr3 *attributes[2];

	if (is_version_3(req))
		mg_call_handles(msg->cb_prog, msg->cb_proc, msg->rm_xdr.where, handle);
	if (handle[0]) {
		show_stale(res); /* with which all results begin */
		mg_reply_attributes(msg->cb_prog, msg->cb_proc, res, attributes);
		show(handle[0], attributes[0]);
		show(handle[1], attributes[1]);
	}
	return theirs->svc_ah_wrap(req, xdrs);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* lock */
static void hook(void)
{
	struct svc_req req;

	if (hooked)
		return;
	memset(&req, 0, sizeof(req));
	_svcauth_none(&req); /* only says which they are */
	theirs = req.rq_auth->svc_ah_ops;
	ours = *theirs;
	ours.svc_ah_checksum = checksum;
	ours.svc_ah_wrap = wrap;
	hooked = req.rq_auth;
	__atomic_store_n(&hooked->svc_ah_ops, &ours, __ATOMIC_RELEASE);
}

void mg_old_handles_set(const void *owner, const struct mg_old_handle *handles, size_t n)
{
	struct owned **at, *gone;

	pthread_mutex_lock(&lock);
	for (at = &owners; *at && (*at)->owner != owner; at = &(*at)->next)
		;
	gone = *at;
	if (gone)
		*at = gone->next;
	if (n) {
		struct owned *made = gsh_calloc(1, sizeof(*made) + n * sizeof(made->handles[0]));

		made->owner = owner;
		made->n = n;
		memcpy(made->handles, handles, n * sizeof(handles[0]));
		made->next = owners;
		owners = made;
		hook();
	}
	if (gone || n)
		publish();
	pthread_mutex_unlock(&lock);
	gsh_free(gone);
}

void mg_old_handles_end(void)
{
	struct table *now;

	pthread_mutex_lock(&lock);
	if (hooked)
		__atomic_store_n(&hooked->svc_ah_ops, theirs, __ATOMIC_RELEASE);
	hooked = NULL;
	pthread_mutex_unlock(&lock);
	/* no request is under way any more */
	while ((now = atomic_exchange(&table, NULL))) {
		struct table *before = now->before;

		gsh_free(now);
		atomic_store(&table, before);
	}
}
