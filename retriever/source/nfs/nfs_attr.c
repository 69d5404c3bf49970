/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_attr.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { NF3REG = 1, NF3DIR, NF3BLK, NF3CHR, NF3LNK, NF3SOCK, NF3FIFO };

int nfs_status(uint32_t status)
{
	switch (status) {
	case 0:
		return 0;
	case 1:
		return -EPERM;
	case 2:
		return -ENOENT;
	case 13:
		return -EACCES;
	case 20:
		return -ENOTDIR;
	case 21:
		return -EISDIR;
	case 63:
		return -ENAMETOOLONG;
	case 70:    /* NFS3ERR_STALE */
	case 10001: /* NFS3ERR_BADHANDLE */
		return -ESTALE;
	case 10003: /* NFS3ERR_BAD_COOKIE */
		return -EBADMSG;
	case 10004: /* NFS3ERR_NOTSUPP */
		return -ENOTSUP;
	case 10008: /* NFS3ERR_JUKEBOX */
		return -EAGAIN;
	default:
		return -EREMOTEIO;
	}
}

bool nfs_get_handle(struct xdr_in *in, struct nfs_handle *handle)
{
	uint32_t len;
	const uint8_t *bytes = xdr_get_bytes(in, &len);

	handle->len = 0;
	if (!bytes || len == 0 || len > NFS3_FHSIZE)
		return false;
	memcpy(handle->bytes, bytes, len);
	handle->len = (uint8_t)len;
	return true;
}

static int64_t get_time(struct xdr_in *in)
{
	int64_t seconds = xdr_get_u32(in);
	uint32_t ns = xdr_get_u32(in);

	return seconds * 1000000000 + MIN(ns, 999999999u);
}

bool nfs_get_attr(struct xdr_in *in, uint64_t *fs, struct source_attr *attr)
{
	static const mode_t types[] = {
		[NF3REG] = S_IFREG, [NF3DIR] = S_IFDIR,	  [NF3BLK] = S_IFBLK,  [NF3CHR] = S_IFCHR,
		[NF3LNK] = S_IFLNK, [NF3SOCK] = S_IFSOCK, [NF3FIFO] = S_IFIFO,
	};
	uint32_t type = xdr_get_u32(in), major_number, minor_number;

	*attr = (struct source_attr){0};
	attr->mode = xdr_get_u32(in) & 07777;
	attr->nlink = xdr_get_u32(in);
	attr->uid = xdr_get_u32(in);
	attr->gid = xdr_get_u32(in);
	attr->size = xdr_get_u64(in);
	attr->used = xdr_get_u64(in);
	major_number = xdr_get_u32(in);
	minor_number = xdr_get_u32(in);
	*fs = xdr_get_u64(in);
	attr->fileid = xdr_get_u64(in);
	attr->atime = get_time(in);
	attr->mtime = get_time(in);
	attr->ctime = get_time(in);
	if (in->bad || type < NF3REG || type > NF3FIFO || attr->size > INT64_MAX)
		return false;
	attr->mode |= types[type];
	attr->nlink = MAX(attr->nlink, 1u);
	attr->used = MIN(attr->used, (uint64_t)INT64_MAX);
	attr->rdev = type == NF3BLK || type == NF3CHR ? makedev(major_number, minor_number) : 0;
	return true;
}

bool nfs_get_post_attr(const struct nfs_view *view, struct xdr_in *in, struct source_attr *attr)
{
	uint64_t fs;

	if (!xdr_get_u32(in) || !nfs_get_attr(in, &fs, attr))
		return false;
	attr->fileid = backend_fileid(attr->fileid, fs, view->root_fs);
	return true;
}
