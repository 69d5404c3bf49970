/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The messages between the retriever and migrate-smb-worker, and between `migratectl rollback` and
 * migrate-smb-writer.  All these programs come from one build: numbers are in the machine's byte
 * order.
 *
 * A worker is one SMB connection to one share, and ends with it.  It is started with a
 * SOCK_SEQPACKET socket and a sealed memory file of WIRE_SLOTS slots of WIRE_SLOT_BYTES each.  At
 * first slot 0 says how to connect (struct wire_start, wire_start_get()); the worker wipes that,
 * and then says HELLO, or says FAILED and ends.  From then on a request names a free slot, which
 * has its path and name; the reply to it (REPLY, in any order) is in the same slot, which is then
 * free again.  Any error of the connection ends the worker: it says FAILED with WIRE_F_LOST, or its
 * socket just ends.
 *
 * The worker reads an old server's replies and is not trusted (I10): the retriever copies what is
 * in a slot before it looks at it, except the bytes of files, which can be no worse than what the
 * old server sends.
 */
#ifndef LIB_SOURCE_SMB_WIRE_H
#define LIB_SOURCE_SMB_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION   4
#define WIRE_SOCKET_FD 3
#define WIRE_MEMORY_FD 4

#define WIRE_SLOTS	   64u
#define WIRE_READ_MAX	   (1024u * 1024)
#define WIRE_SLOT_BYTES	   (WIRE_READ_MAX + 65536u)
#define WIRE_PATH_MAX	   65535u /* bytes of UTF-8 */
#define WIRE_STREAMS_MAX   4096u
#define WIRE_STREAM_BYTES  65535u /* of a stream that is read with the descriptor */
#define WIRE_SD_MAX	   65536u
#define WIRE_REFUSED_MAX   8192u /* refused names in one reply; further ones are counted */
#define WIRE_REFUSED_BYTES 600u
#define WIRE_DATA_MAX	   65536u /* of a file that is read with the descriptor */

enum wire_op {
	WIRE_GETATTR = 1,
	WIRE_LOOKUP, /* the name has to be spelled so, in upper and lower case */
	WIRE_READDIR,
	WIRE_READ,
	WIRE_READLINK,
	WIRE_XATTRS,
	WIRE_CHANGE, /* migrate-smb-writer only; name: of a stream, ":NAME:$DATA", or none */
};

/* One thing that is done to one object, which is opened for it (MS-SMB2 2.2.13). */
enum wire_change_kind { WIRE_OPEN, WIRE_SET, WIRE_WRITE, WIRE_FLUSH, WIRE_CONTROL };
/* One object at a time can be held: TAKE opens it and does not close it, USE does something to it,
 * LEAVE closes it. */
enum wire_change_hold { WIRE_HOLD_NONE, WIRE_HOLD_TAKE, WIRE_HOLD_USE, WIRE_HOLD_LEAVE };

struct wire_change {
	uint32_t access, options, disposition;
	uint32_t kind;
	uint32_t type, class, additional; /* SET: MS-SMB2 2.2.39; CONTROL: additional is the code */
	uint32_t len;			  /* SET, WRITE: of the data that follow */
	uint32_t alone;			  /* fails if others have it open for more than reading */
	uint32_t hold;			  /* enum wire_change_hold */
	uint64_t offset;		  /* WRITE */
};

struct wire_request {
	uint32_t slot, serial; /* the serial comes back */
	uint32_t op;
	uint32_t count;	 /* READ; XATTRS: bytes of data wanted, 0: none */
	uint32_t holes;	 /* READ: zeros may be given for what the server says is a hole */
	uint64_t offset; /* READ */
	uint64_t cookie; /* READDIR: 0, or the last reply's */
	uint32_t path_len, name_len; /* in the slot, one after the other, no NUL */
};

/* As the old server sent it.  Times are NTTIME: 100 ns since 1601. */
struct wire_attr {
	uint64_t size, allocated, fileid;
	uint64_t volume; /* 0: the root's, or not asked for, or not told */
	uint64_t created, accessed, written, changed;
	uint32_t attributes, nlink, tag, ea_size; /* tag: the reparse point's tag, else 0 */
};

enum wire_type { WIRE_HELLO = 1, WIRE_FAILED, WIRE_ALIVE, WIRE_REPLY };

enum {
	WIRE_EOF = 1 << 0,
	WIRE_HAS_ATTR = 1 << 1,
	WIRE_HAS_SACL = 1 << 2,
	WIRE_NO_STREAMS = 1 << 3,   /* the server cannot list them */
	WIRE_MORE_STREAMS = 1 << 4, /* there are more streams than are listed */
	WIRE_FLAGS = (1 << 5) - 1,
};

/* What FAILED is about. */
enum wire_failure {
	WIRE_F_RESOLVE = 1, /* code: of getaddrinfo() */
	WIRE_F_CONNECT,	    /* code: errno */
	WIRE_F_NEGOTIATE,   /* code: NTSTATUS, from here on, unless it says otherwise */
	WIRE_F_LOGON,
	WIRE_F_GUEST,
	WIRE_F_ENCRYPTION,
	WIRE_F_SHARE,
	WIRE_F_PATH,
	WIRE_F_NOT_A_DIRECTORY,
	WIRE_F_LOST, /* after HELLO */
	WIRE_F_INTERNAL,
	WIRE_F_KERBEROS, /* the server did not take the ticket */
	WIRE_F_TICKET,	 /* code: Kerberos's */
};

struct wire_reply {
	uint32_t version, type;
	uint32_t slot, serial;
	int32_t status; /* REPLY: as in source.h.  FAILED: enum wire_failure */
	uint32_t code;	/* NTSTATUS or what wire_failure says */
	uint32_t flags;
	uint32_t len;	   /* bytes in the slot; HELLO: largest READ */
	uint32_t rejected; /* READDIR: names left out of the slot */
	uint64_t cookie;   /* READDIR; CHANGE: the count that a WRITE was answered with; HELLO:
			      int64_t, us, how far the server's clock is ahead */
	struct wire_attr attr;
};

/* ---- the content of slots: fields one after the other, unaligned ---- */

struct wire_pack {
	uint8_t *at, *end;
	bool full; /* something did not fit and was left out */
};
void wire_put(struct wire_pack *pack, const void *bytes, size_t len);
void wire_put_u32(struct wire_pack *pack, uint32_t value);
void wire_put_u64(struct wire_pack *pack, uint64_t value);
/* A length and that many bytes. */
void wire_put_bytes(struct wire_pack *pack, const void *bytes, size_t len);

struct wire_unpack {
	const uint8_t *at, *end;
	bool bad; /* the bytes ended too early; from then on every field is 0 or empty */
};
/* len bytes, or NULL. */
const uint8_t *wire_get(struct wire_unpack *in, size_t len);
uint32_t wire_get_u32(struct wire_unpack *in);
uint64_t wire_get_u64(struct wire_unpack *in);
/* *len at most max, else bad. */
const uint8_t *wire_get_bytes(struct wire_unpack *in, size_t max, size_t *len);

/* How to connect.  Texts are NUL-terminated in the memory that was decoded. */
struct wire_start {
	uint32_t port, encryption, signing, stall_ms;
	const char *host, *share, *path; /* path: below the share, with slashes, "" for its root */
	const char *user, *domain, *password;
	const uint8_t *ccache; /* the whole file; NULL: no Kerberos */
	size_t ccache_len;
};
/* FALSE: it does not fit, or is not all there. */
bool wire_start_put(struct wire_pack *pack, const struct wire_start *start);
bool wire_start_get(struct wire_unpack *in, struct wire_start *start);

/*
 * READDIR: entries as  struct wire_attr (nlink is 0)  u32 0  name (u32 length, bytes);
 *          names that cannot be here as  struct wire_attr  u32 1  name in UTF-16, its first
 *          WIRE_REFUSED_BYTES.  With the first reply HAS_ATTR, the directory's.
 * READLINK: the text.  READ: the data.
 * XATTRS: descriptor (u32 length, bytes), u32 1 if the file's data follow, data (bytes), u32 number
 *         of streams, of each name (bytes), u64 size, u32 1 if data follow, data (bytes).
 * CHANGE: in the request, behind path and name, a struct wire_change and its data.
 */

#endif
