/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_attr.h"

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
	attr->fileid = attr->number = xdr_get_u64(in);
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

uint64_t nfs_fileid(const struct nfs_view *view, uint64_t number, uint64_t fs)
{
	const uint64_t root_fs = atomic_load(&view->root_fs);

	if (fs != root_fs)
		nfs_systems_see(view->systems, fs, g_get_monotonic_time());
	return backend_fileid(number, fs, root_fs);
}

void nfs_root_seen(struct nfs_view *view, const struct backend_request *req, uint64_t fs)
{
	const struct source_object *object = &req->object;
	const bool is_root =
		object->handle_len
			? object->handle_len == view->root.len &&
				  !memcmp(object->handle, view->root.bytes, view->root.len)
			: object->path && !object->path[strspn(object->path, "/")];

	if (is_root && req->op != BACKEND_LOOKUP)
		atomic_store(&view->root_fs, fs);
}

/*
 * How many bytes of a handle of Linux's server are the object's own; 0: the handle has nothing
 * else.  With subtree_check, a handle also names the directory through which the object was
 * reached, so that a file has as many handles as directories (fs/nfsd/nfsfh.h,
 * include/linux/exportfs.h).
 */
static uint32_t own_part(const uint8_t *handle, uint32_t len)
{
	static const uint8_t fsids[] = {8, 4, 12, 8, 8, 8, 16, 24};
	static const struct {
		uint8_t type, own, all;
	} forms[] = {
		{0x02, 8, 16},	/* ext4 and others */
		{0x02, 12, 24}, /* with larger numbers */
		{0x82, 12, 24}, /* xfs */
		{0x4e, 20, 32}, /* btrfs, which has the subvolume in the object's part */
		{0x4f, 20, 40},
	};

	if (len < 4 || handle[0] != 1 || handle[1] != 0 || handle[2] >= G_N_ELEMENTS(fsids))
		return 0;
	for (size_t i = 0; i < G_N_ELEMENTS(forms); i++)
		if (handle[3] == forms[i].type && len == 4u + fsids[handle[2]] + forms[i].all)
			return len - forms[i].all + forms[i].own;
	return 0;
}

uint64_t nfs_object(const struct nfs_view *view, const uint8_t *handle, uint32_t len)
{
	const uint32_t own = own_part(handle, len);

	return len && (own || !view->vague_handles) ? source_hash(handle, own ? own : len) : 0;
}

bool nfs_get_post_attr(const struct nfs_view *view, struct xdr_in *in, struct source_attr *attr)
{
	uint64_t fs;

	if (!xdr_get_u32(in) || !nfs_get_attr(in, &fs, attr))
		return false;
	attr->fileid = nfs_fileid(view, attr->number, fs);
	return true;
}

bool nfs_get_own_attr(struct nfs_view *view, struct xdr_in *in, struct backend_request *req)
{
	uint64_t fs;

	req->has_attr = xdr_get_u32(in) && nfs_get_attr(in, &fs, &req->attr);
	if (!req->has_attr)
		return false;
	nfs_root_seen(view, req, fs);
	req->attr.fileid = nfs_fileid(view, req->attr.number, fs);
	return true;
}
