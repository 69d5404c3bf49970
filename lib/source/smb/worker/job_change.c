/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CHANGE: the only code here that writes to an old server; only migrate-smb-writer has it.  An
 * object is opened or made, one thing is done to it, and it is closed; or it is held until several
 * things are done to it.
 */
#include "lib/source/smb/worker/job.h"

#include "lib/source/smb/smb_text.h"
#include "lib/source/smb/worker/chain.h"

#define STREAM_MAX 255

static struct fid held; /* of the one connection that there is */

/* The reply's count (MS-SMB2 2.2.22): a server may write less, at the end of its space, say. */
static NTSTATUS take_written(struct job *job, const struct step *step)
{
	if (step->iov[1].iov_len < 8)
		return NT_STATUS_INVALID_NETWORK_RESPONSE;
	job->reply.cookie = IVAL(step->iov[1].iov_base, 4);
	return NT_STATUS_OK;
}

static void change_done(struct chain *chain)
{
	struct job *job = chain->user;

	for (unsigned i = 0; i < chain->n; i++) {
		const struct step *step = &chain->steps[i];
		NTSTATUS status = step->status;

		if (NT_STATUS_IS_OK(status) && step->cmd == SMB2_OP_WRITE)
			status = take_written(job, step);
		/* a close that fails means that what was written is lost */
		if (!NT_STATUS_IS_OK(status)) {
			job_failed(job, status);
			return;
		}
	}
	if (chain->steps[chain->n - 1].cmd != SMB2_OP_CLOSE && chain->creates)
		held = chain->fid;
	job_done(job, 0);
}

static void add_set(struct chain *chain, const struct wire_change *change, uint8_t *data)
{
	struct step *step = chain_add(chain, SMB2_OP_SETINFO, 33, 32);

	SCVAL(step->fixed, 2, change->type);
	SCVAL(step->fixed, 3, change->class);
	SIVAL(step->fixed, 4, change->len);
	SSVAL(step->fixed, 8, HEADER + 32);
	SIVAL(step->fixed, 12, change->additional);
	step->dyn = data;
	step->dyn_len = change->len;
}

static void add_write(struct chain *chain, const struct wire_change *change, uint8_t *data)
{
	struct step *step = chain_add(chain, SMB2_OP_WRITE, 49, 48);

	SSVAL(step->fixed, 2, HEADER + 48);
	SIVAL(step->fixed, 4, change->len);
	SBVAL(step->fixed, 8, change->offset);
	step->dyn = data;
	step->dyn_len = change->len;
}

static void add_change(struct chain *chain, const struct wire_change *change, uint8_t *data)
{
	switch (change->kind) {
	case WIRE_SET:
		add_set(chain, change, data);
		break;
	case WIRE_WRITE:
		add_write(chain, change, data);
		break;
	case WIRE_FLUSH:
		chain_add(chain, SMB2_OP_FLUSH, 24, 24);
		break;
	case WIRE_CONTROL:
		chain_ioctl(chain, change->additional, 0);
		break;
	default:
		break;
	}
}

void do_change(struct job *job)
{
	const struct wire_request *request = &job->request;
	const uint8_t *at = job->out.at + request->path_len + request->name_len;
	struct chain *chain = chain_new(job, job->worker, change_done, job);
	uint8_t stream[2 * STREAM_MAX];
	struct wire_change change;
	long len = smb_text_to_utf16(job->name, request->name_len, stream);

	memcpy(&change, at, sizeof(change));
	if (change.len > (size_t)(job->out.end - at) - sizeof(change))
		_exit(5);
	uint8_t *data = talloc_memdup(job, at + sizeof(change), MAX(change.len, 1));
	const bool opens = change.hold != WIRE_HOLD_USE && change.hold != WIRE_HOLD_LEAVE;
	if (len < 0 || !data ||
	    (opens && chain_create(chain, job->path, stream, (size_t)len, change.access,
				   change.options) < 0)) {
		job_done(job, -EINVAL);
		return;
	}
	if (opens)
		SIVAL(chain->steps[0].fixed, 36, change.disposition);
	else
		chain_use(chain, &held);
	if (opens && change.alone)
		SIVAL(chain->steps[0].fixed, 32, FILE_SHARE_READ);
	add_change(chain, &change, data);
	if (change.hold == WIRE_HOLD_NONE || change.hold == WIRE_HOLD_LEAVE)
		chain_close(chain);
	chain_submit(chain);
}
