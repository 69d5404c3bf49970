/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * migrate-smb-worker: one SMB connection to one share of an old server, which is read and never
 * written (I10).  One thread, one tevent loop.  It lasts as long as its connection: any error of
 * the connection ends the process, and the retriever starts another.
 *
 * migrate-smb-writer is the same program with job_change.c, which is in no other program; only
 * `migratectl rollback` starts it, with an account of its own.
 *
 * Built against Samba's own client library (libsmb, libcli/smb), which has no stable interface:
 * compat_*.c hold what differs between releases, and the binary runs with the release it was built
 * for only.
 */
#ifndef LIB_SOURCE_SMB_WORKER_WORKER_H
#define LIB_SOURCE_SMB_WORKER_WORKER_H

/* Samba's headers first, as they want it. */
#include "lib/source/smb/worker/samba.h"

#include "lib/source/smb/wire.h"

struct handle;
struct job_listing;

struct worker {
	int sock;
	uint8_t *memory;
	struct tevent_context *ev;
	struct cli_state *cli;
	struct smbXcli_conn *conn;
	struct cli_credentials *creds;
	struct smbXcli_session *session;
	struct smbXcli_tcon *tcon;
	bool has_volume;
	uint64_t volume; /* of the root */
	uint8_t *base;	 /* UTF-16, with a backslash at its end, or empty */
	size_t base_len;
	uint32_t max_read;
	int64_t clock; /* us: how far the server's clock is ahead */
	unsigned stall_ms;
	struct timeval heard; /* from the server */
	bool echo;
	bool one_by_one;   /* the server takes no compounds */
	bool no_repeat;	   /* a chain that was refused is not sent again one by one */
	bool sees_deleted; /* a file that others have open and whose deletion is pending counts as
			      there: it may be kept */
	bool no_privilege; /* to see SACLs */
	bool no_backup_of_streams; /* streams are opened with the user's rights alone */
	unsigned chains;	   /* submitted and not done */
	struct chain *waiting;	   /* for credits, oldest first */
	struct handle *handles;
	unsigned n_handles;
	struct job_listing *listings;
	unsigned n_listings;
	uint32_t listing_serial;
};

/* One request of the retriever; talloc parent of all that is allocated for it. */
struct job {
	struct worker *worker;
	struct wire_request request;
	char *path, *name; /* copies */
	struct wire_reply reply;
	struct wire_pack out; /* the slot */
	void *private_data;
};

/* Sends a message to the retriever; ends the process if that fails. */
void worker_say(struct worker *worker, struct wire_reply *reply);
_Noreturn void worker_fail(struct worker *worker, enum wire_failure failure, uint32_t code);
/* Tells the retriever that the server answers, even if slowly. */
void worker_alive(struct worker *worker);
/* Answers and frees. */
void job_done(struct job *job, int status);
/* The same with the server's status. */
void job_failed(struct job *job, NTSTATUS status);
int worker_errno(NTSTATUS status);

/* compat_*.c */
/* Takes over the connected socket; NULL: no memory, or it is not connected any more. */
struct cli_state *compat_connected(TALLOC_CTX *ctx, int fd, const char *host,
				   enum smb_signing_setting signing);
NTSTATUS compat_negotiate(struct smbXcli_conn *conn, uint32_t timeout_ms);

#endif
