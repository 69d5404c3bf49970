/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A chain is sent as one compound of related requests: one round trip.  A server that does not take
 * compounds gets the steps one after the other, for as long as the worker lives.  Nothing is sent
 * before there are credits for it (MS-SMB2 3.2.4.1.2).
 */
#include "lib/source/smb/worker/chain.h"

#include "lib/source/smb/smb_listing.h"
#include "lib/source/smb/smb_text.h"

#define RANGES_MAX 16384u
#define FID_SIZE   16
#define OPTIONS_AT 40 /* of CREATE, MS-SMB2 2.2.13 */

static void send_step(struct chain *chain);
static void send_waiting(struct worker *worker);

struct chain *chain_new(TALLOC_CTX *mem, struct worker *worker, void (*done)(struct chain *chain),
			void *user)
{
	struct chain *chain = talloc_zero(mem, struct chain);

	chain->worker = worker;
	chain->done = done;
	chain->user = user;
	memset(&chain->fid, 0xff, sizeof(chain->fid));
	return chain;
}

struct step *chain_add(struct chain *chain, uint16_t cmd, uint16_t size, uint16_t fixed_len)
{
	struct step *step = &chain->steps[chain->n++];

	step->cmd = cmd;
	step->fixed_len = fixed_len;
	SSVAL(step->fixed, 0, size);
	return step;
}

static void put_fid(uint8_t *at, const struct fid *fid)
{
	SBVAL(at, 0, fid->persistent);
	SBVAL(at, 8, fid->volatile_);
}

/* Where the fid of a request stands in it. */
static uint8_t *fid_of(struct step *step)
{
	switch (step->cmd) {
	case SMB2_OP_READ:
	case SMB2_OP_WRITE:
	case SMB2_OP_SETINFO:
		return step->fixed + 16;
	case SMB2_OP_GETINFO:
		return step->fixed + 24;
	default: /* CLOSE, FLUSH, QUERY_DIRECTORY, IOCTL */
		return step->fixed + 8;
	}
}

/* path with backslashes below the base, in UTF-16. */
static uint8_t *whole_path(struct chain *chain, const char *path, size_t extra, long *len)
{
	struct worker *worker = chain->worker;
	size_t n = strlen(path);
	uint8_t *whole = talloc_array(chain, uint8_t, worker->base_len + 2 * n + extra + 1);

	if (worker->base_len)
		memcpy(whole, worker->base, worker->base_len);
	*len = smb_text_to_utf16(path, n, whole + worker->base_len);
	if (*len < 0)
		return NULL;
	for (long i = 0; i < *len; i += 2)
		if (whole[worker->base_len + i] == '/' && !whole[worker->base_len + i + 1])
			whole[worker->base_len + i] = '\\';
	*len += (long)worker->base_len;
	if (!n && worker->base_len) /* the base's own backslash */
		*len -= 2;
	return whole;
}

int chain_create(struct chain *chain, const char *path, const uint8_t *stream, size_t stream_len,
		 uint32_t access, uint32_t options)
{
	struct step *step = chain_add(chain, SMB2_OP_CREATE, 57, 56);
	long len;

	step->dyn = whole_path(chain, path, stream_len, &len);
	if (!step->dyn || len + stream_len > 65534)
		return -EINVAL;
	if (stream_len)
		memcpy(step->dyn + len, stream, stream_len);
	len += (long)stream_len;
	chain->creates = true;
	chain->of_stream = stream_len > 0;
	if (!chain->of_stream || !chain->worker->no_backup_of_streams)
		options |= OPTION_BACKUP;
	SIVAL(step->fixed, 4, SMB2_IMPERSONATION_IMPERSONATION);
	SIVAL(step->fixed, 24, access);
	SIVAL(step->fixed, 32, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE);
	SIVAL(step->fixed, 36, FILE_OPEN);
	SIVAL(step->fixed, OPTIONS_AT, options);
	SSVAL(step->fixed, 44, HEADER + 56);
	SSVAL(step->fixed, 46, len);
	if (!len) { /* never without a byte */
		step->dyn[0] = 0;
		len = 1;
	}
	step->dyn_len = (uint32_t)len;
	return 0;
}

/* MS-SMB2 2.2.13.2.9 */
void chain_ask_volume(struct chain *chain)
{
	static const uint8_t context[] = {0, 0, 0, 0, 16,  0,	4,   0,	  0, 0, 0, 0,
					  0, 0, 0, 0, 'Q', 'F', 'i', 'd', 0, 0, 0, 0};
	struct step *step = &chain->steps[0];
	size_t at = SVAL(step->fixed, 46), start = (at + 7) & ~(size_t)7;

	step->dyn = talloc_realloc(chain, step->dyn, uint8_t, start + sizeof(context));
	memset(step->dyn + at, 0, start - at);
	memcpy(step->dyn + start, context, sizeof(context));
	step->dyn_len = (uint32_t)(start + sizeof(context));
	SIVAL(step->fixed, 48, HEADER + 56 + start);
	SIVAL(step->fixed, 52, sizeof(context));
}

void chain_use(struct chain *chain, const struct fid *fid)
{
	chain->fid = *fid;
}

void chain_read(struct chain *chain, uint64_t offset, uint32_t count)
{
	struct step *step = chain_add(chain, SMB2_OP_READ, 49, 48);
	static uint8_t nothing[1];

	SCVAL(step->fixed, 2, HEADER + 16);
	SIVAL(step->fixed, 4, count);
	SBVAL(step->fixed, 8, offset);
	step->dyn = nothing;
	step->dyn_len = 1;
	step->max_dyn = count;
}

void chain_query(struct chain *chain, uint8_t type, uint8_t class, uint32_t additional,
		 uint32_t max)
{
	struct step *step = chain_add(chain, SMB2_OP_GETINFO, 41, 40);

	SCVAL(step->fixed, 2, type);
	SCVAL(step->fixed, 3, class);
	SIVAL(step->fixed, 4, max);
	SIVAL(step->fixed, 16, additional);
	step->max_dyn = max;
}

int chain_list(struct chain *chain, const char *pattern, bool restart, uint32_t max)
{
	struct step *step = chain_add(chain, SMB2_OP_QUERY_DIRECTORY, 33, 32);
	size_t n = strlen(pattern);
	long len;

	step->dyn = talloc_array(chain, uint8_t, 2 * n);
	len = smb_text_to_utf16(pattern, n, step->dyn);
	if (len < 0)
		return -EINVAL;
	SCVAL(step->fixed, 2, CLASS_ID_BOTH);
	SCVAL(step->fixed, 3, restart ? SMB2_CONTINUE_FLAG_RESTART : 0);
	SSVAL(step->fixed, 24, HEADER + 32);
	SSVAL(step->fixed, 26, len);
	SIVAL(step->fixed, 28, max);
	step->dyn_len = (uint32_t)len;
	step->max_dyn = max;
	return 0;
}

void chain_ioctl(struct chain *chain, uint32_t code, uint32_t max)
{
	struct step *step = chain_add(chain, SMB2_OP_IOCTL, 57, 56);

	SIVAL(step->fixed, 4, code);
	SIVAL(step->fixed, 44, max);
	SIVAL(step->fixed, 48, SMB2_IOCTL_FLAG_IS_FSCTL);
	step->max_dyn = max;
}

/* FSCTL_QUERY_ALLOCATED_RANGES, MS-FSCC 2.3.48 */
void chain_ranges(struct chain *chain, uint64_t offset, uint64_t len)
{
	struct step *step;

	chain_ioctl(chain, 0x940cf, RANGES_MAX);
	step = &chain->steps[chain->n - 1];
	step->dyn = talloc_array(chain, uint8_t, 16);
	step->dyn_len = 16;
	SBVAL(step->dyn, 0, offset);
	SBVAL(step->dyn, 8, len);
	SIVAL(step->fixed, 24, HEADER + 56);
	SIVAL(step->fixed, 28, step->dyn_len);
}

void chain_close(struct chain *chain)
{
	chain_add(chain, SMB2_OP_CLOSE, 24, 24);
}

/* ---- sending ---- */

static unsigned credits_for(const struct step *step)
{
	uint32_t bytes = MAX(step->dyn_len, step->max_dyn);

	return bytes ? (bytes - 1) / 65536 + 1 : 1;
}

/* Whether the statuses are those of a server that cannot do compounds: all steps after the first
 * are refused. */
static bool is_refused(const struct chain *chain)
{
	const NTSTATUS status = chain->steps[1].status;

	if (chain->n < 2 || chain->one_by_one || chain->worker->no_repeat ||
	    NT_STATUS_IS_ERR(chain->steps[0].status) ||
	    !(NT_STATUS_EQUAL(status, NT_STATUS_INTERNAL_ERROR) ||
	      NT_STATUS_EQUAL(status, NT_STATUS_INVALID_PARAMETER) ||
	      NT_STATUS_EQUAL(status, NT_STATUS_NOT_SUPPORTED) ||
	      NT_STATUS_EQUAL(status, NT_STATUS_FILE_CLOSED)))
		return false;
	for (unsigned i = 2; i < chain->n; i++)
		if (!NT_STATUS_EQUAL(chain->steps[i].status, status))
			return false;
	return true;
}

/* Whether the status is that of Samba 4.22 (streams_xattr) when a stream is opened for a backup. */
static bool is_refused_as_backup(const struct chain *chain)
{
	const struct step *create = &chain->steps[0];

	return chain->of_stream && IVAL(create->fixed, OPTIONS_AT) & OPTION_BACKUP &&
	       NT_STATUS_EQUAL(create->status, NT_STATUS_NOT_SUPPORTED);
}

/* Whether the chain has opened a file and did not reach its close. */
static bool is_left_open(const struct chain *chain)
{
	const struct step *last = &chain->steps[chain->n - 1];

	return chain->creates && NT_STATUS_IS_OK(chain->steps[0].status) &&
	       last->cmd == SMB2_OP_CLOSE && !NT_STATUS_IS_OK(last->status);
}

static void complete_chain(struct chain *chain)
{
	struct worker *worker = chain->worker;

	worker->chains--;
	if (is_left_open(chain))
		chain_leave(worker, &chain->fid);
	if (is_refused_as_backup(chain)) {
		struct step *create = &chain->steps[0];
		uint32_t options = IVAL(create->fixed, OPTIONS_AT);

		worker->no_backup_of_streams = true;
		SIVAL(create->fixed, OPTIONS_AT, options & ~OPTION_BACKUP);
		chain_submit(chain);
		return;
	}
	if (is_refused(chain)) {
		worker->one_by_one = true; /* the chain only reads, and may be repeated */
		chain_submit(chain);
		return;
	}
	chain->done(chain);
	send_waiting(worker);
}

static void take_volume(struct chain *chain, const struct step *step)
{
	const uint8_t *body = step->iov[1].iov_base;
	size_t fixed = step->iov[1].iov_len, len = step->iov[2].iov_len, at, count;

	if (fixed < 88)
		return;
	at = IVAL(body, 80);
	count = IVAL(body, 84);
	if (at < HEADER + fixed || at - HEADER - fixed > len || count > len - (at - HEADER - fixed))
		return;
	at -= HEADER + fixed;
	chain->has_volume =
		smb_volume((const uint8_t *)step->iov[2].iov_base + at, count, &chain->volume);
}

static void take_created(struct chain *chain, const struct step *step)
{
	const uint8_t *body = step->iov[1].iov_base;

	if (step->iov[1].iov_len < 80)
		return;
	chain->fid.persistent = BVAL(body, 64);
	chain->fid.volatile_ = BVAL(body, 72);
	chain->opened = (struct moment){BVAL(body, 48), BVAL(body, 24), BVAL(body, 32)};
	take_volume(chain, step);
}

static void step_done(struct tevent_req *req)
{
	struct chain *chain = tevent_req_callback_data_void(req);
	struct worker *worker = chain->worker;
	unsigned i = 0;

	while (chain->steps[i].req != req)
		i++;
	struct step *step = &chain->steps[i];

	step->status = smb2cli_req_recv(req, chain, &step->iov, NULL, 0);
	TALLOC_FREE(step->req);
	if (!smbXcli_conn_is_connected(worker->conn) || !step->iov ||
	    NT_STATUS_EQUAL(step->status, NT_STATUS_USER_SESSION_DELETED) ||
	    NT_STATUS_EQUAL(step->status, NT_STATUS_NETWORK_SESSION_EXPIRED) ||
	    NT_STATUS_EQUAL(step->status, NT_STATUS_NETWORK_NAME_DELETED))
		worker_fail(worker, WIRE_F_LOST, NT_STATUS_V(step->status));
	worker->heard = timeval_current();
	if (step->cmd == SMB2_OP_CREATE && NT_STATUS_IS_OK(step->status))
		take_created(chain, step);
	if (chain->one_by_one && ++chain->at < chain->n) {
		if (chain->creates && !NT_STATUS_IS_OK(chain->steps[0].status))
			for (; chain->at < chain->n; chain->at++)
				chain->steps[chain->at].status = chain->steps[0].status;
		else {
			send_step(chain);
			return;
		}
	}
	if (chain->one_by_one || --chain->left == 0)
		complete_chain(chain);
}

static struct tevent_req *request_of(struct chain *chain, struct step *step, bool related)
{
	struct worker *worker = chain->worker;
	struct tevent_req *req;

	/* of the chain before this one, where it is sent again */
	step->iov = NULL;
	if (step->cmd != SMB2_OP_CREATE)
		put_fid(fid_of(step), &chain->fid);
	if (related)
		memset(fid_of(step), 0xff, FID_SIZE);
	req = smb2cli_req_create(chain, worker->ev, worker->conn, step->cmd,
				 related ? SMB2_HDR_FLAG_CHAINED : 0, 0, 0, worker->tcon,
				 worker->session, step->fixed, step->fixed_len, step->dyn,
				 step->dyn_len, step->max_dyn);
	if (!req)
		worker_fail(worker, WIRE_F_INTERNAL, NT_STATUS_V(NT_STATUS_NO_MEMORY));
	step->req = req;
	tevent_req_set_callback(req, step_done, chain);
	return req;
}

static void submit_steps(struct worker *worker, struct tevent_req **reqs, unsigned n)
{
	NTSTATUS status = smb2cli_req_compound_submit(reqs, (int)n);

	if (!NT_STATUS_IS_OK(status))
		worker_fail(worker, WIRE_F_LOST, NT_STATUS_V(status));
}

static void send_step(struct chain *chain)
{
	struct tevent_req *req = request_of(chain, &chain->steps[chain->at], false);

	submit_steps(chain->worker, &req, 1);
}

static void send_all(struct chain *chain)
{
	struct tevent_req *reqs[CHAIN_MAX];

	chain->left = chain->n;
	for (unsigned i = 0; i < chain->n; i++)
		reqs[i] = request_of(chain, &chain->steps[i], i > 0);
	submit_steps(chain->worker, reqs, chain->n);
}

/* 0: there are no credits for it now. */
static bool try_send(struct chain *chain)
{
	struct worker *worker = chain->worker;
	unsigned credits = smb2cli_conn_get_cur_credits(worker->conn), all = 0, most = 0;

	for (unsigned i = 0; i < chain->n; i++) {
		all += credits_for(&chain->steps[i]);
		most = MAX(most, credits_for(&chain->steps[i]));
	}
	chain->one_by_one = worker->one_by_one || (all > credits && !worker->chains);
	if (chain->one_by_one ? most > credits && worker->chains : all > credits)
		return false;
	/* one by one, other chains may take the credits in between: so send only while there is
	 * room for that */
	if (chain->one_by_one && worker->chains && (worker->chains + 1) * most > credits)
		return false;
	worker->chains++;
	chain->at = 0;
	if (chain->one_by_one)
		send_step(chain);
	else
		send_all(chain);
	return true;
}

static void send_waiting(struct worker *worker)
{
	while (worker->waiting) {
		struct chain *chain = worker->waiting;

		DLIST_REMOVE(worker->waiting, chain);
		if (!try_send(chain)) {
			DLIST_ADD(worker->waiting, chain);
			return;
		}
	}
}

void chain_submit(struct chain *chain)
{
	struct worker *worker = chain->worker;

	if (!worker->chains)
		worker->heard = timeval_current();
	if (worker->waiting || !try_send(chain))
		DLIST_ADD_END(worker->waiting, chain);
}

/* ---- results ---- */

const uint8_t *chain_data(struct chain *chain, unsigned i, size_t *len)
{
	struct step *step = &chain->steps[i];
	const uint8_t *body;
	size_t offset, count, fixed;

	*len = 0;
	if (NT_STATUS_IS_ERR(step->status) || !step->iov)
		return NULL;
	body = step->iov[1].iov_base;
	fixed = step->iov[1].iov_len;
	switch (step->cmd) {
	case SMB2_OP_READ:
		if (fixed < 16)
			return NULL;
		offset = CVAL(body, 2);
		count = IVAL(body, 4);
		break;
	case SMB2_OP_IOCTL:
		if (fixed < 48)
			return NULL;
		offset = IVAL(body, 32);
		count = IVAL(body, 36);
		break;
	default:
		if (fixed < 8)
			return NULL;
		offset = SVAL(body, 2);
		count = IVAL(body, 4);
	}
	if (!count)
		return (const uint8_t *)"";
	if (offset < HEADER + fixed || count > step->max_dyn)
		return NULL;
	offset -= HEADER + fixed;
	if (offset > step->iov[2].iov_len || count > step->iov[2].iov_len - offset)
		return NULL;
	*len = count;
	return (const uint8_t *)step->iov[2].iov_base + offset;
}

static void free_chain(struct chain *chain)
{
	talloc_free(chain);
}

void chain_leave(struct worker *worker, const struct fid *fid)
{
	struct chain *chain = chain_new(worker, worker, free_chain, NULL);

	chain_use(chain, fid);
	chain_close(chain);
	chain_submit(chain);
}
