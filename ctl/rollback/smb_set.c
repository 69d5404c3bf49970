/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/smb_set.h"

#include <errno.h>

#include "ctl/rollback/smb_attrs.h"
#include "lib/source/smb/smb_text.h"

int smb_ask(struct smb_call *call, struct backend_request *req, enum backend_op op,
	    const char *path)
{
	req->op = op;
	req->object.path = (char *)path;
	return smb_path_ok(path) ? smb_call_ask(call, req) : -ENOENT;
}

int smb_do(struct smb_call *call, const char *path, const char *stream,
	   const struct wire_change *what, const void *data)
{
	return smb_path_ok(path) ? smb_call_change(call, path, stream, what, data) : -EINVAL;
}

#define HELD (WRITE_DATA | WRITE_ATTRIBUTES | READ_ATTRIBUTES)

int smb_hold(struct smb_call *call, const char *path)
{
	const struct wire_change what = {.access = HELD,
					 .options = NO_DIRECTORY,
					 .disposition = OPEN,
					 .alone = true,
					 .hold = WIRE_HOLD_TAKE};
	int ret = smb_do(call, path, "", &what, "");

	if (!ret)
		smb_call_hold(call, path, HELD);
	return ret == -EAGAIN ? -EBUSY : ret;
}

void smb_leave(struct smb_call *call, const char *path)
{
	const struct wire_change what = {.hold = WIRE_HOLD_LEAVE};

	smb_call_hold(call, NULL, 0);
	smb_do(call, path, "", &what, "");
}

int smb_set(struct smb_call *call, const char *path, uint32_t access, uint32_t options,
	    uint32_t class, const GByteArray *data)
{
	const struct wire_change what = {.access = access,
					 .options = options,
					 .disposition = OPEN,
					 .kind = WIRE_SET,
					 .type = INFO_FILE,
					 .class = class,
					 .len = data->len};

	return smb_do(call, path, "", &what, data->data);
}

void smb_put(GByteArray *data, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++) {
		uint8_t byte = (uint8_t)(value >> (8 * i));

		g_byte_array_append(data, &byte, 1);
	}
}

int smb_set_basic(struct smb_call *call, const char *path, uint64_t created, uint64_t accessed,
		  uint64_t written, uint32_t attributes)
{
	g_autoptr(GByteArray) data = g_byte_array_new();

	smb_put(data, created, 8);
	smb_put(data, accessed, 8);
	smb_put(data, written, 8);
	smb_put(data, 0, 8);
	smb_put(data, attributes, 4);
	smb_put(data, 0, 4);
	return smb_set(call, path, WRITE_ATTRIBUTES, REPARSE_POINT, BASIC, data);
}

int smb_set_descriptor(struct smb_call *call, const char *path, const GByteArray *sd,
		       uint32_t parts)
{
	const struct wire_change what = {.access = READ_CONTROL | (parts & DACL ? WRITE_DAC : 0) |
						   (parts & OWNER_GROUP ? WRITE_OWNER : 0) |
						   (parts & SACL ? SYSTEM_SECURITY : 0),
					 .options = REPARSE_POINT,
					 .disposition = OPEN,
					 .kind = WIRE_SET,
					 .type = INFO_SECURITY,
					 .additional = parts,
					 .len = sd->len};

	return smb_do(call, path, "", &what, sd->data);
}

uint32_t smb_settable(uint32_t attributes)
{
	attributes &= SMB_READONLY | HIDDEN | SYSTEM | ARCHIVE | OTHERS;
	return attributes ? attributes : SMB_NORMAL;
}

int smb_look(struct smb_call *call, const char *path, struct source_windows **windows)
{
	struct backend_request req = {0};
	int ret = smb_ask(call, &req, BACKEND_XATTRS, path);

	*windows = NULL;
	if (req.xattrs) {
		*windows = g_steal_pointer(&req.xattrs->windows);
		source_xattrs_free(req.xattrs);
	}
	if (ret)
		g_clear_pointer(windows, source_windows_free);
	return ret;
}

int smb_flush(struct smb_call *call, const char *path, const char *stream)
{
	const struct wire_change what = {
		.access = WRITE_DATA, .disposition = OPEN, .kind = WIRE_FLUSH};

	return smb_do(call, path, stream, &what, "");
}

int smb_check_gone(struct smb_call *call, const char *path, const char *stream)
{
	const struct wire_change what = {
		.access = READ_ATTRIBUTES, .options = REPARSE_POINT, .disposition = OPEN};
	int ret = smb_do(call, path, stream, &what, "");

	return ret == -ENOENT ? 0 : ret ? ret : -EBUSY;
}

int smb_make_writable(struct smb_call *call, const char *path, uint32_t *had)
{
	struct source_windows *windows;
	int ret = smb_look(call, path, &windows);
	uint32_t attributes;

	if (ret)
		return ret;
	attributes = windows->attributes;
	source_windows_free(windows);
	if (!(attributes & SMB_READONLY))
		return -EACCES;
	*had = smb_settable(attributes);
	return smb_set_basic(call, path, 0, 0, 0, smb_settable(attributes & ~SMB_READONLY));
}

int smb_write_at(struct smb_call *call, const char *path, const char *stream, const void *data,
		 size_t len, uint64_t at)
{
	int ret = 0;

	while (len && !ret) {
		const struct wire_change what = {.access = WRITE_DATA,
						 .options = NO_DIRECTORY,
						 .disposition = OPEN,
						 .kind = WIRE_WRITE,
						 .offset = at,
						 .len = (uint32_t)MIN(len, smb_call_max(call))};

		ret = smb_do(call, path, stream, &what, data);
		const uint32_t written = ret ? 0 : smb_call_written(call);

		if (!ret && !written)
			ret = -EIO;
		data = (const uint8_t *)data + written;
		at += written;
		len -= written;
	}
	return ret;
}
