/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Portmapper (RFC 1833), MOUNT and NFS version 3 (RFC 1813), NFS version 4 (RFC 7530, 8881), and
 * RQUOTA (program 100011, versions 1 and 2 of Sun's rquota.x, which Linux' rpc.rquotad has). */
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
#include <nfsc/libnfs-raw-portmap.h>
#include <nfsc/libnfs-raw-rquota.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "ctl/discover/worker/answer.h"
#include "ctl/discover/worker/asker.h"
#include "ctl/discover/worker/rpc.h"
#include "lib/base/sandbox.h"
#include "lib/base/spawn.h"

#define NUMBER	     24
#define FLAVOURS_MAX 16

/* Connections are there, and no byte was read from them.  other: may be NULL. */
static void be_jailed(struct rpc_context *rpc, struct rpc_context *other)
{
	const int kept[] = {PROGRAM_FIRST_FD, rpc_get_fd(rpc), other ? rpc_get_fd(other) : -1};

	sandbox_drop(UINT_MAX);
	sandbox_keep(kept, G_N_ELEMENTS(kept));
	sandbox_close(false);
}

static const char *number(char text[NUMBER], uint64_t value)
{
	snprintf(text, NUMBER, "%" G_GUINT64_FORMAT, value);
	return text;
}

/* ---- services -------------------------------------------------------------------------------- */

static void take_services(void *arg, void *data)
{
	const struct pmap2_dump_result *result = data;

	for (struct pmap2_mapping_list *at = result->list; at; at = at->next) {
		const struct pmap2_mapping *map = &at->map;
		char program[NUMBER], version[NUMBER], port[NUMBER];

		if (map->prot == IPPROTO_TCP || map->prot == IPPROTO_UDP)
			answer("service", number(program, map->prog), number(version, map->vers),
			       map->prot == IPPROTO_TCP ? "tcp" : "udp", number(port, map->port));
	}
}

void ask_services(char **arguments, unsigned n)
{
	struct rpc_context *rpc = rpc_connected(arguments[0], "111");
	struct rpc_call call = {.take = take_services};

	be_jailed(rpc, NULL);
	if (!rpc_finish(rpc, &call, rpc_pmap2_dump_async(rpc, rpc_done, &call)))
		answer_failed("portmapper: %s", call.why);
}

/* ---- versions -------------------------------------------------------------------------------- */

static void take_minor(void *arg, void *data)
{
	const COMPOUND4res *res = data;

	*(bool *)arg = res->status != NFS4ERR_MINOR_VERS_MISMATCH;
}

/* Asks outside of a session, so that later versions refuse the operation, unless they refuse the
 * version. */
static void ask_minor(struct rpc_context *rpc, uint32_t minor)
{
	nfs_argop4 operation = {.argop = OP_PUTROOTFH};
	COMPOUND4args args = {.minorversion = minor,
			      .argarray = {.argarray_len = 1, .argarray_val = &operation}};
	bool spoken = false;
	struct rpc_call call = {.take = take_minor, .arg = &spoken};
	char version[NUMBER];

	if (!rpc_finish(rpc, &call, rpc_nfs4_compound_async(rpc, rpc_done, &args, &call)) ||
	    !spoken)
		return;
	snprintf(version, sizeof(version), "4.%u", minor);
	answer("version", version);
}

void ask_versions(char **arguments, unsigned n)
{
	/* one that does not speak a version may close the connection */
	struct rpc_context *nfs3 = rpc_connected(arguments[0], arguments[1]);
	struct rpc_context *nfs4 = rpc_connected(arguments[0], arguments[1]);
	struct rpc_call three = {.take = NULL}, four = {.take = NULL};

	be_jailed(nfs3, nfs4);
	if (rpc_finish(nfs3, &three, rpc_nfs3_null_async(nfs3, rpc_done, &three)))
		answer("version", "3");
	if (!rpc_finish(nfs4, &four, rpc_nfs4_null_async(nfs4, rpc_done, &four)))
		return;
	for (uint32_t minor = 0; minor <= 2; minor++)
		ask_minor(nfs4, minor);
}

/* ---- exports --------------------------------------------------------------------------------- */

static void take_exports(void *arg, void *data)
{
	const exports *list = data;

	for (struct exportnode *at = *list; at; at = at->ex_next) {
		if (!at->ex_dir)
			continue;
		answer("export", at->ex_dir);
		for (struct groupnode *group = at->ex_groups; group; group = group->gr_next)
			if (group->gr_name)
				answer("group", group->gr_name);
	}
}

void ask_exports(char **arguments, unsigned n)
{
	struct rpc_context *rpc = rpc_connected(arguments[0], arguments[1]);
	struct rpc_call call = {.take = take_exports};

	be_jailed(rpc, NULL);
	if (!rpc_finish(rpc, &call, rpc_mount3_export_async(rpc, rpc_done, &call)))
		answer_failed("MOUNT: %s", call.why);
}

/* ---- spaces ---------------------------------------------------------------------------------- */

struct mounted {
	bool silent; /* about flavours */
	mountstat3 status;
	char handle[64];
	u_int len;
};

static void take_mount(void *arg, void *data)
{
	struct mounted *mounted = arg;
	const mountres3 *res = data;
	const mountres3_ok *ok = &res->mountres3_u.mountinfo;
	char flavour[NUMBER];

	mounted->status = res->fhs_status;
	if (res->fhs_status != MNT3_OK)
		return;
	for (u_int i = 0;
	     !mounted->silent && i < MIN(ok->auth_flavors.auth_flavors_len, FLAVOURS_MAX); i++)
		answer("flavour", number(flavour, (unsigned)ok->auth_flavors.auth_flavors_val[i]));
	mounted->len = MIN(ok->fhandle.fhandle3_len, sizeof(mounted->handle));
	memcpy(mounted->handle, ok->fhandle.fhandle3_val, mounted->len);
}

static void take_space(void *arg, void *data)
{
	const FSSTAT3res *res = data;
	const FSSTAT3resok *ok = &res->FSSTAT3res_u.resok;
	char bytes[NUMBER], rest[NUMBER], available[NUMBER], files[NUMBER], free_files[NUMBER];

	if (res->status != NFS3_OK)
		answer("refused", nfsstat3_to_str(res->status));
	else
		answer("space", number(bytes, ok->tbytes), number(rest, ok->fbytes),
		       number(available, ok->abytes), number(files, ok->tfiles),
		       number(free_files, ok->ffiles));
}

static void ask_space(struct rpc_context *nfs, struct mounted *mounted)
{
	FSSTAT3args args = {.fsroot.data = {.data_len = mounted->len, .data_val = mounted->handle}};
	struct rpc_call call = {.take = take_space};

	if (!rpc_finish(nfs, &call, rpc_nfs3_fsstat_async(nfs, rpc_done, &args, &call)))
		answer_failed("NFS: %s", call.why);
}

/* ADDRESS MOUNTPORT NFSPORT PATH...: mounts each, and asks what is to be known of it. */
static void ask_each(char **arguments, unsigned n, bool silent,
		     void (*ask)(struct rpc_context *nfs, struct mounted *mounted))
{
	struct rpc_context *mount = rpc_connected(arguments[0], arguments[1]);
	struct rpc_context *nfs = rpc_connected(arguments[0], arguments[2]);
	char index[NUMBER];

	be_jailed(mount, nfs);
	for (unsigned i = 3; i < n; i++) {
		struct mounted mounted = {.status = MNT3_OK, .silent = silent};
		struct rpc_call mnt = {.take = take_mount, .arg = &mounted}, umnt = {.take = NULL};

		answer("at", number(index, i - 3));
		if (!rpc_finish(mount, &mnt,
				rpc_mount3_mnt_async(mount, rpc_done, arguments[i], &mnt)))
			answer_failed("MOUNT: %s", mnt.why);
		if (mounted.status != MNT3_OK) {
			answer("refused", mountstat3_to_str((int)mounted.status));
			continue;
		}
		ask(nfs, &mounted);
		/* its list of clients is not to keep us */
		rpc_finish(mount, &umnt,
			   rpc_mount3_umnt_async(mount, rpc_done, arguments[i], &umnt));
	}
}

void ask_spaces(char **arguments, unsigned n)
{
	ask_each(arguments, n, false, ask_space);
}

/* ---- mounts and handles ---------------------------------------------------------------------- */

static void take_mounts(void *arg, void *data)
{
	const mountlist *list = data;

	for (struct mountbody *at = *list; at; at = at->ml_next)
		if (at->ml_hostname && at->ml_directory)
			answer("mount", at->ml_hostname, at->ml_directory);
}

void ask_mounts(char **arguments, unsigned n)
{
	struct rpc_context *rpc = rpc_connected(arguments[0], arguments[1]);
	struct rpc_call call = {.take = take_mounts};

	be_jailed(rpc, NULL);
	if (!rpc_finish(rpc, &call, rpc_mount3_dump_async(rpc, rpc_done, &call)))
		answer_failed("MOUNT: %s", call.why);
}

static void take_object(void *arg, void *data)
{
	const struct mounted *mounted = arg;
	const GETATTR3res *res = data;
	const fattr3 *attr = &res->GETATTR3res_u.resok.obj_attributes;
	char hex[2 * sizeof(mounted->handle) + 1] = "", fileid[NUMBER], fsid[NUMBER];

	for (u_int i = 0; i < mounted->len; i++)
		snprintf(hex + 2 * i, 3, "%02x", (uint8_t)mounted->handle[i]);
	if (res->status != NFS3_OK)
		answer("refused", nfsstat3_to_str(res->status));
	else if (attr->type != NF3DIR)
		answer("refused", "not a directory");
	else
		answer("handle", hex, number(fileid, attr->fileid), number(fsid, attr->fsid));
}

static void ask_handle(struct rpc_context *nfs, struct mounted *mounted)
{
	GETATTR3args args = {
		.object.data = {.data_len = mounted->len, .data_val = mounted->handle}};
	struct rpc_call call = {.take = take_object, .arg = mounted};

	if (!rpc_finish(nfs, &call, rpc_nfs3_getattr_async(nfs, rpc_done, &args, &call)))
		answer_failed("NFS: %s", call.why);
}

void ask_handles(char **arguments, unsigned n)
{
	ask_each(arguments, n, true, ask_handle);
}

/* ---- quotas ---------------------------------------------------------------------------------- */

static void take_quota(void *arg, void *data)
{
	const GETQUOTA1res *res = data;
	const GETQUOTA1res_ok *ok = &res->GETQUOTA1res_u.quota;
	const uint64_t block = (uint32_t)ok->bsize;
	char hard[NUMBER], soft[NUMBER], files_hard[NUMBER], files_soft[NUMBER];

	if (res->status == RQUOTA_EPERM)
		answer("refused", "the old server does not let this machine's root ask for others");
	else if (res->status == RQUOTA_OK)
		answer("quota", number(hard, block * (uint32_t)ok->bhardlimit),
		       number(soft, block * (uint32_t)ok->bsoftlimit),
		       number(files_hard, (uint32_t)ok->fhardlimit),
		       number(files_soft, (uint32_t)ok->fsoftlimit));
}

void ask_quotas(char **arguments, unsigned n)
{
	enum { ADDRESS, PORT, VERSION, TYPE, PATH, IDS };
	struct rpc_context *rpc = rpc_connected(arguments[ADDRESS], arguments[PORT]);
	const int type = strcmp(arguments[TYPE], "group") ? RQUOTA_TYPE_UID : RQUOTA_TYPE_GID;
	char index[NUMBER];

	be_jailed(rpc, NULL);
	for (unsigned i = IDS; i < n; i++) {
		const int id = (int)(uint32_t)g_ascii_strtoull(arguments[i], NULL, 10);
		struct rpc_call call = {.take = take_quota};

		answer("at", number(index, i - IDS));
		if (!rpc_finish(rpc, &call,
				strcmp(arguments[VERSION], "2")
					? rpc_rquota1_getquota_async(rpc, rpc_done, arguments[PATH],
								     id, &call)
					: rpc_rquota2_getquota_async(rpc, rpc_done, arguments[PATH],
								     type, id, &call)))
			answer_failed("RQUOTA: %s", call.why);
	}
}
