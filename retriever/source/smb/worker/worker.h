/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * migrate-smb-worker: one SMB connection to one share of an old server, which is read and never
 * written (I10).  One thread, one tevent loop.  It lasts as long as its connection: whatever is
 * wrong with that ends the process, and the retriever starts another.
 *
 * Built against Samba's own client library (libsmb, libcli/smb), which has no stable interface:
 * compat_*.c hold what differs between releases, and the binary runs with the release it was built
 * for only.
 */
#ifndef SMB_WORKER_H
#define SMB_WORKER_H

/* Samba's first, as it wants it. */
#include "samba.h"

#include "source/smb/smb_listing.h"
#include "source/smb/smb_text.h"
#include "source/smb/wire.h"

struct handle;
struct listing;

struct worker {
	int sock;
	uint8_t *memory;
	struct tevent_context *ev;
	struct cli_state *cli;
	struct smbXcli_conn *conn;
	struct smbXcli_session *session;
	struct smbXcli_tcon *tcon;
	bool has_volume;
	uint64_t volume; /* of the root */
	uint8_t *base;	 /* UTF-16, with a backslash at its end, or empty */
	size_t base_len;
	uint32_t max_read;
	unsigned stall_ms;
	struct timeval heard; /* from the server */
	bool echo;
	bool one_by_one;       /* the server takes no compounds */
	bool no_privilege;     /* to see SACLs */
	unsigned chains;       /* submitted and not done */
	struct chain *waiting; /* for credits, oldest first */
	struct handle *handles;
	unsigned n_handles;
	struct listing *listings;
	unsigned n_listings;
	uint32_t listing_serial;
};

/* A request of the retriever's; talloc parent of what it needs. */
struct job {
	struct worker *worker;
	struct wire_request request;
	char *path, *name; /* copies */
	struct wire_reply reply;
	struct wire_pack out; /* the slot */
	void *private_data;
};

/* ---- main.c ---- */

_Noreturn void worker_fail(struct worker *worker, enum wire_failure failure, uint32_t code);
/* To the retriever: the server answers, if slowly. */
void worker_alive(struct worker *worker);
/* Answers and frees. */
void job_done(struct job *job, int status);
/* By the server's status. */
void job_failed(struct job *job, NTSTATUS status);
int worker_errno(NTSTATUS status);

/* ---- session.c ---- */

/* Connects and says so, or fails. */
void session_open(struct worker *worker, const struct wire_start *start, struct wire_attr *root);
/* Looks whether the server is still there; for ever. */
void session_watch(struct worker *worker);

/* ---- chain.c: requests that go to the server as one compound, MS-SMB2 3.2.4.1.4 ---- */

#define CHAIN_MAX 6

struct fid {
	uint64_t persistent, volatile_;
};

/* What tells whether a file was changed (NTTIME). */
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
	unsigned at; /* one by one: the step under way */
	bool one_by_one, creates;
	struct fid fid;	      /* of steps that come after a create, once that is done */
	struct moment opened; /* likewise */
	bool has_volume;
	uint64_t volume; /* likewise, where it was asked for */
	void (*done)(struct chain *chain);
	void *user;
};

/* A child of mem; freed by whoever gets it in done(). */
struct chain *chain_new(TALLOC_CTX *mem, struct worker *worker, void (*done)(struct chain *chain),
			void *user);
/* The first step.  Opens path (below the base; stream: NULL or ":name:$DATA") for what access
 * says; -EINVAL: no such name can be there. */
int chain_create(struct chain *chain, const char *path, const uint8_t *stream, size_t stream_len,
		 uint32_t access, uint32_t options);
/* After it: on which volume the object is comes with the attributes. */
void chain_ask_volume(struct chain *chain);
/* Instead: what follows is for a file that is open. */
void chain_use(struct chain *chain, const struct fid *fid);
void chain_read(struct chain *chain, uint64_t offset, uint32_t count);
void chain_query(struct chain *chain, uint8_t type, uint8_t class, uint32_t additional,
		 uint32_t max);
/* pattern: UTF-8 */
int chain_list(struct chain *chain, const char *pattern, bool restart, uint32_t max);
void chain_ioctl(struct chain *chain, uint32_t code, uint32_t max);
void chain_close(struct chain *chain);
void chain_submit(struct chain *chain);
/* The buffer that step i brought (read, query, list, ioctl), or NULL. */
const uint8_t *chain_data(struct chain *chain, unsigned i, size_t *len);
/* Closes what a chain has opened and not closed, without waiting. */
void chain_leave(struct worker *worker, const struct fid *fid);

/* ---- ops.c, read.c, list.c, xattrs.c: what answers a job ---- */

#define ACCESS_READ	  0x1u
#define ACCESS_READ_EA	  0x8u
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

/* Out of a step that asked for FileAllInformation; FALSE: it makes no sense. */
bool get_all_info(struct chain *chain, unsigned step, const char *path, struct wire_attr *attr);
/* A server without file numbers (0 or -1): one made of the path and the time of creation, which
 * tells two objects apart that it finds by one name. */
bool has_number(const struct wire_attr *attr);
void set_number(struct wire_attr *attr, const char *path);

void do_getattr(struct job *job);
void do_lookup(struct job *job);
void do_readlink(struct job *job);
void do_read(struct job *job);
void do_readdir(struct job *job);
void do_xattrs(struct job *job);

/* Files and listings that nobody has used for a while are closed. */
void read_expire(struct worker *worker, struct timeval now);
void list_expire(struct worker *worker, struct timeval now);

/* ---- compat_*.c ---- */

NTSTATUS compat_negotiate(struct smbXcli_conn *conn, uint32_t timeout_ms);

#endif
