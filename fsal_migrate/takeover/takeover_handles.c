/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/takeover/takeover_handles.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rpc/rpc.h>
#include <rpc/svc_auth.h>
#include <stdlib.h>
#include <string.h>

#include "abstract_mem.h"
#include "export_mgr.h"
#include "nlm4.h"
#include "fsal_migrate/takeover/takeover_names.h"
#include "fsal_migrate/takeover/takeover_server.h"
#include "fsal_migrate/takeover/replies.h"

extern enum auth_stat _svcauth_none(struct svc_req *req);

struct owned {
	struct owned *next;
	const void *owner;
	const struct mg_takeover_objects *objects;
	size_t n;
	struct mg_takeover_handle handles[];
};

/* The table that requests look at: sorted by the takeover handle, each handle once.  A new table is
 * made for each change of an export, and old ones are not freed while requests may come. */
struct table {
	struct table *before;
	const struct mg_takeover_objects **objects; /* behind the handles */
	unsigned n_objects;
	size_t n;
	struct mg_takeover_handle handles[];
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

/* Of entries with the same takeover handle the one that counts is first. */
static int compare_handle(const void *a, const void *b)
{
	const struct mg_takeover_handle *x = a, *y = b;
	int order =
		compare_bytes(x->alias->old, x->alias->old_len, y->alias->old, y->alias->old_len);

	if (order)
		return order;
	if (x->depth != y->depth)
		return x->depth > y->depth ? -1 : 1;
	return (int)x->export_id - (int)y->export_id;
}

static const struct mg_takeover_handle *find_handle(const void *bytes, size_t len)
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
static void publish_handle(void)
{
	size_t all = 0, n = 0, exports = 0;
	struct table *made;

	for (struct owned *at = owners; at; at = at->next, exports++)
		all += at->n;
	made = gsh_calloc(1, sizeof(*made) + all * sizeof(made->handles[0]) +
				     exports * sizeof(made->objects[0]));
	made->objects = (void *)&made->handles[all];
	for (struct owned *at = owners; at; n += at->n, at = at->next) {
		memcpy(&made->handles[n], at->handles, at->n * sizeof(at->handles[0]));
		if (at->objects)
			made->objects[made->n_objects++] = at->objects;
	}
	if (all)
		qsort(made->handles, all, sizeof(made->handles[0]), compare_handle);
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

static bool is_own(const nfs_fh3 *fh)
{
	return fh->data.data_len > offsetof(file_handle_v3_t, fsopaque) &&
	       fh->data.data_len <= NFS3_FHSIZE &&
	       (uint8_t)fh->data.data_val[0] == GANESHA_FH_VERSION;
}

static bool has_flag(const nfs_fh3 *fh, uint8_t flag)
{
	return fh && is_own(fh) && (fh->data.data_val[offsetof(file_handle_v3_t, fhflags1)] & flag);
}

static bool was_old(const nfs_fh3 *fh)
{
	return has_flag(fh, MG_WAS_OLD);
}

static void clear_flag(nfs_fh3 *fh, uint8_t flag)
{
	if (is_own(fh))
		fh->data.data_val[offsetof(file_handle_v3_t, fhflags1)] &= (char)~flag;
}

/* The objects of the export that a handle of the host's is for, or NULL. */
static const struct mg_takeover_objects *objects_of(const nfs_fh3 *fh)
{
	const struct table *now = atomic_load_explicit(&table, memory_order_acquire);

	for (unsigned i = 0; now && i < now->n_objects; i++)
		if (mg_takeover_objects_has_made(now->objects[i], fh))
			return now->objects[i];
	return NULL;
}

/* Translates a takeover handle into the host's, in own, which is cleared; NULL: the handle is not
 * known. */
static struct mg_takeover_clients *find_any(const nfs_fh3 *fh, uint8_t *own, uint8_t *own_len)
{
	const struct table *now = atomic_load_explicit(&table, memory_order_acquire);
	const struct mg_takeover_handle *found = find_handle(fh->data.data_val, fh->data.data_len);

	if (found) {
		memcpy(own, found->own, found->own_len);
		*own_len = found->own_len;
		return found->clients;
	}
	for (unsigned i = 0; now && i < now->n_objects; i++)
		if (mg_takeover_objects_find(now->objects[i], fh, own, own_len))
			return now->objects[i]->clients;
	return NULL;
}

/* Whether the handle may be that of an object of the old server that is not known yet.  bad: the
 * host has not made the handle. */
static bool may_be_of(const struct mg_takeover_objects *objects, const nfs_fh3 *fh, bool bad)
{
	const file_handle_v3_t *own = (const void *)fh->data.data_val;

	/* another server of this kind had that export */
	return !migrate_old_index_is_complete(objects->index) &&
	       (bad || !is_own(fh) || ntohs(own->exportid) == objects->export_id);
}

static bool may_come(const nfs_fh3 *fh, bool bad)
{
	const struct table *now = atomic_load_explicit(&table, memory_order_acquire);
	bool may = false;

	if (objects_of(fh))
		return false;
	for (unsigned i = 0; now && i < now->n_objects; i++)
		may = may || may_be_of(now->objects[i], fh, bad);
	return may;
}

static bool is_of_no_export(const nfs_fh3 *fh)
{
	const file_handle_v3_t *own = (const void *)fh->data.data_val;
	struct gsh_export *export = is_own(fh) ? get_gsh_export(ntohs(own->exportid)) : NULL;

	if (export)
		put_gsh_export(export);
	return is_own(fh) && !export;
}

/* As find_any(), after the old server was asked for the object's directory; false: the object may
 * come later.  A handle that the old server does not know becomes one of the host's that was never
 * made, and no client is counted for it. */
static bool search(const nfs_fh3 *fh, uint8_t *own, uint8_t *own_len,
		   struct mg_takeover_clients **clients)
{
	const struct table *now = atomic_load_explicit(&table, memory_order_acquire);
	const struct mg_takeover_objects *never = NULL;
	bool bad, later = false;

	if (objects_of(fh))
		return false;
	bad = is_of_no_export(fh);
	for (unsigned i = 0; now && i < now->n_objects; i++) {
		const struct mg_takeover_objects *objects = now->objects[i];
		int status;

		if (!may_be_of(objects, fh, bad))
			continue;
		status = mg_takeover_server_find(objects->server, objects->index, fh->data.data_val,
						 fh->data.data_len);
		if (status == 0 && mg_takeover_objects_find(objects, fh, own, own_len)) {
			*clients = objects->clients;
			return true;
		}
		later = later || status != -ESTALE;
		never = objects;
	}
	if (!never || later)
		return false;
	mg_takeover_objects_make_stale(never, own, own_len);
	return true;
}

static void translate(struct svc_req *req, nfs_fh3 *fh)
{
	const struct mg_takeover_objects *objects = was_old(fh) ? objects_of(fh) : NULL;
	struct mg_takeover_clients *clients = objects ? objects->clients : NULL;
	uint8_t *own, own_len;

	clear_flag(fh, MG_GOES_ON);
	if (!objects) {
		clear_flag(fh, MG_WAS_OLD); /* a forgery */
		own = gsh_calloc(1, NFS3_FHSIZE);
		clients = find_any(fh, own, &own_len);
		if (!clients && !search(fh, own, &own_len, &clients)) {
			gsh_free(own);
			return;
		}
		own[offsetof(file_handle_v3_t, fhflags1)] |= MG_WAS_OLD;
		gsh_free(fh->data.data_val);
		fh->data.data_val = (char *)own;
		fh->data.data_len = own_len;
	}
	if (clients)
		mg_takeover_clients_count(clients, svc_getrpccaller(req->rq_xprt));
}

static bool is_known_handle(const struct svc_req *req)
{
	return req->rq_msg.cb_vers == (req->rq_msg.cb_prog == MG_NLM_PROGRAM ? 4 : 3);
}

/* Hides a cookie of the old server's from the host, which would look for it: the host then lists
 * from the start, in vain, and answers with the directory's attributes.  dir: was translated just
 * now. */
static void keep_cookie(const struct rpc_msg *msg, nfs_fh3 *dir)
{
	uint64_t *cookie = msg->cb_prog == MG_NFS_PROGRAM
				   ? mg_takeover_names_cookie(msg->cb_proc, msg->rm_xdr.where)
				   : NULL;

	if (!cookie)
		return;
	memcpy(dir->data.data_val + MG_COOKIE, cookie, sizeof(*cookie));
	dir->data.data_val[offsetof(file_handle_v3_t, fhflags1)] |= MG_GOES_ON;
	*cookie = 0;
}

static bool checksum(struct svc_req *req)
{
	const struct rpc_msg *msg = &req->rq_msg;
	const char *given;
	nfs_fh3 *handle[2];

	if (!theirs->svc_ah_checksum(req))
		return false;
	if (!is_known_handle(req))
		return true;
	mg_call_handles(msg->cb_prog, msg->cb_proc, msg->rm_xdr.where, handle);
	given = handle[0] ? handle[0]->data.data_val : NULL;
	for (unsigned i = 0; i < 2; i++)
		if (handle[i])
			translate(req, handle[i]);
	if (handle[0] && handle[0]->data.data_val != given && objects_of(handle[0]))
		keep_cookie(msg, handle[0]);
	return true;
}

/* ---- replies --------------------------------------------------------------------------------- */

/* An entry that leads to the object of this handle; all such entries have the same number. */
static const struct mg_takeover_handle *find_own(const nfs_fh3 *fh)
{
	const struct table *now = atomic_load_explicit(&table, memory_order_acquire);
	uint8_t own[NFS3_FHSIZE];

	memcpy(own, fh->data.data_val, fh->data.data_len);
	own[offsetof(file_handle_v3_t, fhflags1)] &= (uint8_t)~MG_FLAGS;
	for (size_t i = 0; now && i < now->n; i++)
		if (now->handles[i].own_len == fh->data.data_len &&
		    !memcmp(now->handles[i].own, own, fh->data.data_len))
			return &now->handles[i];
	return NULL;
}

static void show(const nfs_fh3 *fh, fattr3 *attributes)
{
	const struct mg_takeover_handle *found = attributes && was_old(fh) ? find_own(fh) : NULL;

	if (found)
		attributes->fileid = found->alias->fileid;
}

/* Clients remember handles of objects below the old server's mounts, too.  If such a handle is
 * answered as stale, clients look for the name again; if it is answered as bad, programs get an
 * error. */
static void show_stale(nfsstat3 *status, nfs_fh3 *handle[2])
{
	const bool bad = *status == NFS3ERR_BADHANDLE;
	const bool comes = may_come(handle[0], bad) || (handle[1] && may_come(handle[1], bad));

	if (bad || *status == NFS3ERR_STALE)
		*status = comes ? NFS3ERR_JUKEBOX : NFS3ERR_STALE;
}

/* A client that is told of a grace period asks for the lock again. */
static void show_lock(void *res, const nfs_fh3 *fh)
{
	nlm4_res *answer = res; /* all results for locks begin like this */

	if (answer->stat.stat == NLM4_STALE_FH && may_come(fh, false))
		answer->stat.stat = NLM4_DENIED_GRACE_PERIOD;
}

/* Refuses where the reply cannot be translated: the client would take one object for two, or names
 * would be missing. */
static void refuse_handle(void *res, nfsstat3 status)
{
	LOOKUP3res *refused = res; /* all results that failed begin like this */

	refused->status = status;
	refused->LOOKUP3res_u.resfail.dir_attributes.attributes_follow = FALSE;
}

/* Continues a listing that the old server began: whether its names are in the reply. */
static bool bring_names(const struct mg_takeover_objects *objects, const struct rpc_msg *msg,
			const nfs_fh3 *dir, const fattr3 *attributes, void *res)
{
	struct migrate_alias old;
	nfsstat3 status = NFS3ERR_IO;
	uint64_t cookie;

	memcpy(&cookie, dir->data.data_val + MG_COOKIE, sizeof(cookie));
	if (attributes && mg_takeover_objects_find_old(objects, dir, attributes->fileid, &old))
		status = mg_takeover_names_bring(objects->server, &old, cookie, msg->cb_proc,
						 msg->rm_xdr.where, res);
	if (status)
		refuse_handle(res, status);
	return !status;
}

/* False: the reply is another one, without attributes. */
static bool show_all(const struct mg_takeover_objects *objects, const struct rpc_msg *msg,
		     nfs_fh3 *handle[2], void *res, fattr3 *attributes[2])
{
	const bool old_names = has_flag(handle[0], MG_GOES_ON) && *(nfsstat3 *)res == NFS3_OK;
	struct mg_brought brought;

	if (old_names && !bring_names(objects, msg, handle[0], attributes[0], res))
		return false;
	for (unsigned i = 0; i < 2; i++)
		if (attributes[i])
			mg_takeover_objects_show_number(objects, attributes[i]);
	mg_reply_brought(msg->cb_prog, msg->cb_proc, res, &brought);
	if (old_names || mg_takeover_objects_show(objects, &brought))
		return true;
	refuse_handle(res, NFS3ERR_JUKEBOX);
	return false;
}

static const struct mg_takeover_objects *asked_by(nfs_fh3 *handle[2])
{
	for (unsigned i = 0; i < 2; i++) {
		const struct mg_takeover_objects *objects =
			was_old(handle[i]) ? objects_of(handle[i]) : NULL;

		if (objects)
			return objects;
	}
	return NULL;
}

static void show_reply(const struct rpc_msg *msg, nfs_fh3 *handle[2])
{
	const struct mg_takeover_objects *objects = asked_by(handle);
	void *res = msg->RPCM_ack.ar_results.where;
	fattr3 *attributes[2];

	show_stale(res, handle); /* all results begin with the status */
	mg_reply_attributes(msg->cb_prog, msg->cb_proc, res, attributes);
	if (objects && !show_all(objects, msg, handle, res, attributes))
		return;
	show(handle[0], attributes[0]);
	show(handle[1], attributes[1]);
}

static bool wrap(struct svc_req *req, XDR *xdrs)
{
	const struct rpc_msg *msg = &req->rq_msg;
	nfs_fh3 *handle[2] = {NULL, NULL};

	if (is_known_handle(req))
		mg_call_handles(msg->cb_prog, msg->cb_proc, msg->rm_xdr.where, handle);
	if (handle[0] && msg->cb_prog != MG_NLM_PROGRAM)
		show_reply(msg, handle);
	else if (handle[0] && mg_has_lock_result(msg->cb_proc))
		show_lock(msg->RPCM_ack.ar_results.where, handle[0]);
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
	_svcauth_none(&req); /* only tells which operations these are */
	theirs = req.rq_auth->svc_ah_ops;
	ours = *theirs;
	ours.svc_ah_checksum = checksum;
	ours.svc_ah_wrap = wrap;
	hooked = req.rq_auth;
	__atomic_store_n(&hooked->svc_ah_ops, &ours, __ATOMIC_RELEASE);
}

void mg_takeover_handles_set(const void *owner, const struct mg_takeover_handle *handles, size_t n,
			     const struct mg_takeover_objects *objects)
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
		made->objects = objects;
		made->n = n;
		memcpy(made->handles, handles, n * sizeof(handles[0]));
		made->next = owners;
		owners = made;
		hook();
	}
	if (gone || n)
		publish_handle();
	pthread_mutex_unlock(&lock);
	gsh_free(gone);
}

void mg_takeover_handles_end(void)
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
