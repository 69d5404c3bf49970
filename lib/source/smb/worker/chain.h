/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A chain: requests that go to the server as one compound (MS-SMB2 3.2.4.1.4). */
#ifndef LIB_SOURCE_SMB_WORKER_CHAIN_H
#define LIB_SOURCE_SMB_WORKER_CHAIN_H

#include "lib/source/smb/worker/worker.h"

#define ACCESS_READ	  0x1u
#define ACCESS_ATTRIBUTES 0x80u
#define ACCESS_CONTROL	  0x20000u
#define ACCESS_SYSTEM	  0x1000000u
#define OPTION_DIRECTORY  0x1u
#define OPTION_FILE	  0x40u
#define OPTION_BACKUP	  0x4000u
#define OPTION_REPARSE	  0x200000u
#define INFO_FILE	  1
#define INFO_SECURITY	  3
#define CLASS_ALL	  18
#define CLASS_STREAM	  22
#define CLASS_TAG	  35
#define CLASS_ID_BOTH	  37
#define ALL_INFO_MAX	  16384u

#define CHAIN_MAX 6
#define HEADER	  64

struct fid {
	uint64_t persistent, volatile_;
};

/* By these one sees whether a file was changed (NTTIME). */
struct moment {
	uint64_t size, written, changed;
};

struct step {
	uint16_t cmd;
	uint8_t fixed[56];
	uint16_t fixed_len;
	uint8_t *dyn;
	uint32_t dyn_len, max_dyn;
	struct tevent_req *req;
	NTSTATUS status;
	struct iovec *iov; /* header, fixed, dynamic part of the response */
};

struct chain {
	struct chain *prev, *next;
	struct worker *worker;
	struct step steps[CHAIN_MAX];
	unsigned n, left;
	unsigned at; /* when steps go one by one: the step under way */
	bool one_by_one, creates, of_stream;
	struct fid fid;	      /* for the steps after a create, once the create is done */
	struct moment opened; /* the same */
	bool has_volume;
	uint64_t volume; /* the same, if it was asked for */
	void (*done)(struct chain *chain);
	void *user;
};

/* A new chain, a child of mem; the function done() frees it. */
struct chain *chain_new(TALLOC_CTX *mem, struct worker *worker, void (*done)(struct chain *chain),
			void *user);
/* One more step, whose dynamic part is set by the caller. */
struct step *chain_add(struct chain *chain, uint16_t cmd, uint16_t size, uint16_t fixed_len);
/* The first step.  Opens path (below the base; stream: NULL or ":name:$DATA") with the rights in
 * access; -EINVAL: the server cannot have such a name. */
int chain_create(struct chain *chain, const char *path, const uint8_t *stream, size_t stream_len,
		 uint32_t access, uint32_t options);
/* After chain_create(): the object's volume comes with its attributes. */
void chain_ask_volume(struct chain *chain);
/* Instead of chain_create(): the steps that follow are for a file that is open. */
void chain_use(struct chain *chain, const struct fid *fid);
void chain_read(struct chain *chain, uint64_t offset, uint32_t count);
void chain_query(struct chain *chain, uint8_t type, uint8_t class, uint32_t additional,
		 uint32_t max);
/* pattern: UTF-8 */
int chain_list(struct chain *chain, const char *pattern, bool restart, uint32_t max);
void chain_ioctl(struct chain *chain, uint32_t code, uint32_t max);
/* Asks which parts of that range have data: the answer is struct { u64 offset, length; } for each
 * part. */
void chain_ranges(struct chain *chain, uint64_t offset, uint64_t len);
void chain_close(struct chain *chain);
void chain_submit(struct chain *chain);
/* The buffer of step i's answer (read, query, list, ioctl), or NULL. */
const uint8_t *chain_data(struct chain *chain, unsigned i, size_t *len);
/* Closes what a chain has opened and not closed, without waiting. */
void chain_leave(struct worker *worker, const struct fid *fid);

#endif
