/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/smb_listing.h"

#include <errno.h>
#include <string.h>

#include "lib/source/smb/smb_text.h"

#define ENTRY_FIXED  104
#define ALL_FIXED    96
#define STREAM_FIXED 24
#define NAME_UTF16   2048 /* bytes; none that is longer can be here */

#define TAG_MOUNT_POINT 0xa0000003u
#define TAG_SYMLINK	0xa000000cu
#define TAG_LX_SYMLINK	0xa000001du

static uint16_t le16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t le32(const uint8_t *at)
{
	return le16(at) | (uint32_t)le16(at + 2) << 16;
}

static uint64_t le64(const uint8_t *at)
{
	return le32(at) | (uint64_t)le32(at + 4) << 32;
}

static void put_attr(struct wire_pack *pack, const uint8_t *at)
{
	struct wire_attr attr = {
		.created = le64(at + 8),
		.accessed = le64(at + 16),
		.written = le64(at + 24),
		.changed = le64(at + 32),
		.size = le64(at + 40),
		.allocated = le64(at + 48),
		.attributes = le32(at + 56),
		.fileid = le64(at + 96),
	};

	/* one field for two things, MS-FSCC 2.4.17 */
	if (attr.attributes & SMB_ATTR_REPARSE)
		attr.tag = le32(at + 64);
	else
		attr.ea_size = le32(at + 64);
	wire_put(pack, &attr, sizeof(attr));
}

static void put_entry(struct wire_pack *pack, const uint8_t *at, uint32_t name_len,
		      uint32_t *rejected)
{
	char name[NAME_UTF16 * 3 / 2];
	long len =
		name_len > NAME_UTF16 ? -1 : smb_text_from_utf16(at + ENTRY_FIXED, name_len, name);

	if (len > 0 && len <= 2 && memcmp(name, "..", (size_t)len) == 0)
		return;
	if (len < 0 || !smb_name_ok(name, (size_t)len)) {
		if ((*rejected)++ < WIRE_REFUSED_MAX) {
			put_attr(pack, at);
			wire_put_u32(pack, 1);
			wire_put_bytes(pack, at + ENTRY_FIXED,
				       name_len < WIRE_REFUSED_BYTES ? name_len
								     : WIRE_REFUSED_BYTES);
		}
		return;
	}
	put_attr(pack, at);
	wire_put_u32(pack, 0);
	wire_put_bytes(pack, name, (size_t)len);
}

int smb_listing(const uint8_t *data, size_t len, struct wire_pack *pack, uint32_t *rejected)
{
	while (len >= ENTRY_FIXED) {
		uint32_t next = le32(data), name_len = le32(data + 60);

		if (name_len > len - ENTRY_FIXED)
			return -EBADMSG;
		put_entry(pack, data, name_len, rejected);
		if (pack->full)
			return -EBADMSG;
		if (!next)
			return 0;
		if (next < ENTRY_FIXED || next > len)
			return -EBADMSG;
		data += next;
		len -= next;
	}
	return -EBADMSG;
}

int smb_all_info(const uint8_t *data, size_t len, struct wire_attr *attr)
{
	if (len < ALL_FIXED)
		return -EBADMSG;
	*attr = (struct wire_attr){
		.created = le64(data),
		.accessed = le64(data + 8),
		.written = le64(data + 16),
		.changed = le64(data + 24),
		.attributes = le32(data + 32),
		.allocated = le64(data + 40),
		.size = le64(data + 48),
		.nlink = le32(data + 56),
		.fileid = le64(data + 64),
		.ea_size = le32(data + 72),
	};
	return 0;
}

#define CONTEXT_FIXED 16
#define DISK_ID	      16 /* with a number of the file before that of the volume */

bool smb_volume(const uint8_t *data, size_t len, uint64_t *volume)
{
	while (len >= CONTEXT_FIXED) {
		uint32_t next = le32(data), name = le16(data + 4), at = le16(data + 10);
		uint32_t count = le32(data + 12);

		if (le16(data + 6) == 4 && name <= len - 4 && !memcmp(data + name, "QFid", 4) &&
		    count >= DISK_ID && count <= len && at <= len - count) {
			*volume = le64(data + at + 8);
			return true;
		}
		if (next < CONTEXT_FIXED || next > len)
			return false;
		data += next;
		len -= next;
	}
	return false;
}

int smb_streams(const uint8_t *data, size_t len,
		void (*each)(void *user, const uint8_t *name, size_t name_len, uint64_t size),
		void *user)
{
	while (len) {
		uint32_t next, name_len;

		if (len < STREAM_FIXED)
			return -EBADMSG;
		next = le32(data);
		name_len = le32(data + 4);
		if (name_len > len - STREAM_FIXED)
			return -EBADMSG;
		each(user, data + STREAM_FIXED, name_len, le64(data + 8));
		if (!next)
			return 0;
		if (next < STREAM_FIXED || next > len)
			return -EBADMSG;
		data += next;
		len -= next;
	}
	return 0;
}

bool smb_tag_is_link(uint32_t tag)
{
	return tag == TAG_SYMLINK || tag == TAG_MOUNT_POINT || tag == TAG_LX_SYMLINK;
}

/* The print name where there is one: what users see. */
static long name_in(const uint8_t *names, size_t len, const uint8_t *offsets, char *text)
{
	size_t offset = le16(offsets + 4), count = le16(offsets + 6);

	if (!count) {
		offset = le16(offsets);
		count = le16(offsets + 2);
	}
	if (offset > len || count > len - offset)
		return -EBADMSG;
	len = count;
	long n = smb_text_from_utf16(names + offset, len, text);

	return n < 0 ? -EBADMSG : n;
}

static bool is_absolute(const char *text, long len)
{
	return len > 0 && (text[0] == '\\' || (len > 1 && text[1] == ':'));
}

long smb_link_text(const uint8_t *data, size_t len, char *text)
{
	uint32_t tag;
	size_t fixed;
	long n;

	if (len < 8 || le16(data + 4) > len - 8)
		return -EBADMSG;
	tag = le32(data);
	len = le16(data + 4);
	data += 8;
	if (!smb_tag_is_link(tag))
		return -ENOTSUP;
	if (tag == TAG_LX_SYMLINK) { /* a version and UTF-8 */
		if (len <= 4 || memchr(data + 4, '\0', len - 4))
			return -EBADMSG;
		memcpy(text, data + 4, len - 4);
		return (long)len - 4;
	}
	fixed = tag == TAG_SYMLINK ? 12 : 8;
	if (len < fixed)
		return -EBADMSG;
	n = name_in(data + fixed, len - fixed, data, text);
	if (n <= 0 || memchr(text, '\0', (size_t)n))
		return -EBADMSG;
	/* A relative link leads to the same place here; the text of an absolute one is kept as it
	 * is. */
	if (!is_absolute(text, n))
		for (long i = 0; i < n; i++)
			if (text[i] == '\\')
				text[i] = '/';
	return n;
}
