/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an SMB server says of an object beside its attributes (MS-FSCC, MS-DTYP), as it was sent:
 * only the lengths are checked.  smb_descriptor.h makes of it what this host's Samba reads.
 */
#ifndef LIB_SOURCE_SOURCE_WINDOWS_H
#define LIB_SOURCE_SOURCE_WINDOWS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define WINDOWS_DESCRIPTOR_MAX 65536
#define WINDOWS_STREAM_MAX     65535 /* longer ones are not asked for */

#define WINDOWS_READONLY 0x1u /* FILE_ATTRIBUTE_READONLY */

struct source_stream {
	char *name;    /* UTF-8 as in FileStreamInformation: ":NAME:$DATA"; g_malloc'd */
	uint64_t size; /* bytes */
	uint8_t *data; /* size bytes, g_malloc'd; NULL: longer than WINDOWS_STREAM_MAX */
};

struct source_windows {
	uint8_t *sd; /* self-relative SECURITY_DESCRIPTOR, g_malloc'd */
	uint32_t sd_len;
	bool has_sacl;	      /* the SACL was asked for and given */
	uint32_t attributes;  /* FILE_ATTRIBUTE_* */
	uint64_t create_time; /* FILETIME: 100 ns since 1601 */
	uint32_t ea_size;     /* FileEaInformation; 0: none */
	uint32_t reparse_tag; /* 0: none */
	GArray *streams;      /* of struct source_stream; the unnamed one may be among them */
	bool streams_unknown; /* the server cannot list them */
	bool more_streams;    /* there are others, which could not be listed */
	bool short_name;      /* the server may call it so instead of what it is called */
};

struct source_windows *source_windows_new(void);
void source_windows_free(struct source_windows *windows);
/* Copies both; data NULL: too long. */
void source_windows_add_stream(struct source_windows *windows, const char *name, uint64_t size,
			       const void *data);

#endif
