/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/takeover/replies.h"

#include <string.h>

#include "nfsacl.h"
#include "nlm4.h"

static bool has_arguments(uint32_t program, uint32_t procedure)
{
	const uint32_t last =
		program == MG_NFS_PROGRAM ? NFSPROC3_COMMIT : (uint32_t)NFSACLPROC_SETACL;

	return (program == MG_NFS_PROGRAM || program == MG_NFSACL_PROGRAM) && procedure > 0 &&
	       procedure <= last;
}

#define LOCKED(type, member) ((nfs_fh3 *)(void *)&((nlm4_##type *)args)->member.fh)

/* A netobj has the layout of a handle: the host, too, uses one as the other. */
static nfs_fh3 *locked(uint32_t procedure, void *args)
{
	switch (procedure) {
	case NLMPROC4_TEST:
	case NLMPROC4_TEST_MSG:
		return LOCKED(testargs, alock);
	case NLMPROC4_LOCK:
	case NLMPROC4_LOCK_MSG:
	case NLMPROC4_NM_LOCK:
		return LOCKED(lockargs, alock);
	case NLMPROC4_CANCEL:
	case NLMPROC4_CANCEL_MSG:
		return LOCKED(cancargs, alock);
	case NLMPROC4_UNLOCK:
	case NLMPROC4_UNLOCK_MSG:
		return LOCKED(unlockargs, alock);
	case NLMPROC4_SHARE:
	case NLMPROC4_UNSHARE:
		return LOCKED(shareargs, share);
	default:
		return NULL;
	}
}

bool mg_has_lock_result(uint32_t procedure)
{
	return procedure <= NLMPROC4_UNLOCK || procedure >= NLMPROC4_SHARE;
}

void mg_call_handles(uint32_t program, uint32_t procedure, void *args, nfs_fh3 *handle[2])
{
	handle[0] = program == MG_NLM_PROGRAM ? locked(procedure, args) : NULL;
	handle[1] = NULL;
	if (!has_arguments(program, procedure))
		return;
	handle[0] = args; /* all arguments begin with it */
	if (program != MG_NFS_PROGRAM)
		return;
	if (procedure == NFSPROC3_RENAME)
		handle[1] = &((RENAME3args *)args)->to.dir;
	else if (procedure == NFSPROC3_LINK)
		handle[1] = &((LINK3args *)args)->link.dir;
}

static fattr3 *inside(post_op_attr *attr)
{
	return attr->attributes_follow ? &attr->post_op_attr_u.attributes : NULL;
}

/* In a reply: one object's attributes, also those in wcc_data. */
#define OF(type, member)                                                                           \
	inside(((type##res *)res)->status ? &((type##res *)res)->type##res_u.resfail.member        \
					  : &((type##res *)res)->type##res_u.resok.member)

static void nfs_attributes(uint32_t procedure, void *res, fattr3 *of[2])
{
	GETATTR3res *got = res;

	switch (procedure) {
	case NFSPROC3_GETATTR:
		of[0] = got->status ? NULL : &got->GETATTR3res_u.resok.obj_attributes;
		break;
	case NFSPROC3_SETATTR:
		of[0] = OF(SETATTR3, obj_wcc.after);
		break;
	case NFSPROC3_LOOKUP:
		of[0] = OF(LOOKUP3, dir_attributes);
		break;
	case NFSPROC3_ACCESS:
		of[0] = OF(ACCESS3, obj_attributes);
		break;
	case NFSPROC3_READLINK:
		of[0] = OF(READLINK3, symlink_attributes);
		break;
	case NFSPROC3_READ:
		of[0] = OF(READ3, file_attributes);
		break;
	case NFSPROC3_WRITE:
		of[0] = OF(WRITE3, file_wcc.after);
		break;
	case NFSPROC3_CREATE:
		of[0] = OF(CREATE3, dir_wcc.after);
		break;
	case NFSPROC3_MKDIR:
		of[0] = OF(MKDIR3, dir_wcc.after);
		break;
	case NFSPROC3_SYMLINK:
		of[0] = OF(SYMLINK3, dir_wcc.after);
		break;
	case NFSPROC3_MKNOD:
		of[0] = OF(MKNOD3, dir_wcc.after);
		break;
	case NFSPROC3_REMOVE:
		of[0] = OF(REMOVE3, dir_wcc.after);
		break;
	case NFSPROC3_RMDIR:
		of[0] = OF(RMDIR3, dir_wcc.after);
		break;
	case NFSPROC3_RENAME:
		of[0] = OF(RENAME3, fromdir_wcc.after);
		of[1] = OF(RENAME3, todir_wcc.after);
		break;
	case NFSPROC3_LINK:
		of[0] = OF(LINK3, file_attributes);
		of[1] = OF(LINK3, linkdir_wcc.after);
		break;
	case NFSPROC3_READDIR:
		of[0] = OF(READDIR3, dir_attributes);
		break;
	case NFSPROC3_READDIRPLUS:
		of[0] = OF(READDIRPLUS3, dir_attributes);
		break;
	case NFSPROC3_FSSTAT:
		of[0] = OF(FSSTAT3, obj_attributes);
		break;
	case NFSPROC3_FSINFO:
		of[0] = OF(FSINFO3, obj_attributes);
		break;
	case NFSPROC3_PATHCONF:
		of[0] = OF(PATHCONF3, obj_attributes);
		break;
	case NFSPROC3_COMMIT:
		of[0] = OF(COMMIT3, file_wcc.after);
		break;
	}
}

static fattr3 *acl_attributes(uint32_t procedure, void *res)
{
	getaclres *got = res;
	setaclres *set = res;
	attr3 *attr;

	if (got->status)
		return NULL;
	attr = procedure == NFSACLPROC_GETACL ? &got->getaclres_u.resok.attr
					      : &set->setaclres_u.resok.attr;
	return attr->attributes_follow ? &attr->attr3_u.obj_attributes : NULL;
}

void mg_reply_attributes(uint32_t program, uint32_t procedure, void *res, fattr3 *of[2])
{
	of[0] = of[1] = NULL;
	if (!has_arguments(program, procedure))
		return;
	if (program == MG_NFS_PROGRAM)
		nfs_attributes(procedure, res, of);
	else
		of[0] = acl_attributes(procedure, res);
}

/* ---- what is brought ------------------------------------------------------------------------- */

/* Of a reply that makes an object. */
#define MADE(type)                                                                                 \
	do {                                                                                       \
		type##resok *ok = &((type##res *)res)->type##res_u.resok;                          \
                                                                                                   \
		brought->follows = &ok->obj.handle_follows;                                        \
		brought->handle = ok->obj.handle_follows ? &ok->obj.post_op_fh3_u.handle : NULL;   \
		brought->attributes = inside(&ok->obj_attributes);                                 \
	} while (0)

static void listed(bool plus, void *res, struct mg_brought *brought)
{
	READDIR3resok *names = &((READDIR3res *)res)->READDIR3res_u.resok;
	READDIRPLUS3resok *more = &((READDIRPLUS3res *)res)->READDIRPLUS3res_u.resok;

	brought->plus = plus;
	brought->verifier = plus ? more->cookieverf : names->cookieverf;
	brought->names = plus ? more->reply.uio : names->reply.uio;
}

void mg_reply_brought(uint32_t program, uint32_t procedure, void *res, struct mg_brought *brought)
{
	LOOKUP3res *found = res;

	memset(brought, 0, sizeof(*brought));
	if (program != MG_NFS_PROGRAM || found->status)
		return;
	switch (procedure) {
	case NFSPROC3_LOOKUP:
		brought->handle = &found->LOOKUP3res_u.resok.object;
		brought->attributes = inside(&found->LOOKUP3res_u.resok.obj_attributes);
		break;
	case NFSPROC3_CREATE:
		MADE(CREATE3);
		break;
	case NFSPROC3_MKDIR:
		MADE(MKDIR3);
		break;
	case NFSPROC3_SYMLINK:
		MADE(SYMLINK3);
		break;
	case NFSPROC3_MKNOD:
		MADE(MKNOD3);
		break;
	case NFSPROC3_READDIR:
	case NFSPROC3_READDIRPLUS:
		listed(procedure == NFSPROC3_READDIRPLUS, res, brought);
		break;
	}
}
