/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns what an SMB server's buffers say of objects (MS-FSCC 2.4) into the structures of wire.h. */
#ifndef LIB_SOURCE_SMB_SMB_LISTING_H
#define LIB_SOURCE_SMB_SMB_LISTING_H

#include "lib/source/smb/wire.h"

#define SMB_ATTR_DIRECTORY 0x10u
#define SMB_ATTR_REPARSE   0x400u
/* OFFLINE, RECALL_ON_OPEN, RECALL_ON_DATA_ACCESS */
#define SMB_ATTR_ELSEWHERE 0x441000u

/* A buffer of FileIdBothDirectoryInformation (MS-FSCC 2.4.17): puts its entries into pack, without
 * "." and "..".  0, or -EBADMSG: no such buffer.  *rejected counts names that cannot be here; the
 * first WIRE_REFUSED_MAX of them go to pack. */
int smb_listing(const uint8_t *data, size_t len, struct wire_pack *pack, uint32_t *rejected);

/* FileAllInformation (MS-FSCC 2.4.2).  0 or -EBADMSG. */
int smb_all_info(const uint8_t *data, size_t len, struct wire_attr *attr);

/* Takes the volume out of the contexts of an answer to CREATE (SMB2_CREATE_QUERY_ON_DISK_ID,
 * MS-SMB2 2.2.14.2.9).  FALSE: it is not in them. */
bool smb_volume(const uint8_t *data, size_t len, uint64_t *volume);

/* FileStreamInformation (MS-FSCC 2.4.43): calls each() for each stream; 0 or -EBADMSG. */
int smb_streams(const uint8_t *data, size_t len,
		void (*each)(void *user, const uint8_t *name, size_t name_len, uint64_t size),
		void *user);

/* REPARSE_DATA_BUFFER (MS-FSCC 2.1.2) of a link: puts the link's target in UTF-8 into text (room
 * for 3 * len / 2), and returns its length; -EBADMSG; -ENOTSUP: not a link. */
long smb_link_text(const uint8_t *data, size_t len, char *text);

/* Whether a reparse tag is that of a link, whose target READLINK can tell. */
bool smb_tag_is_link(uint32_t tag);

#endif
