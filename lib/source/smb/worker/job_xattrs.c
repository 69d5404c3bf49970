/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * XATTRS: the security descriptor as it is, attributes, the list of alternate data streams, and the
 * data of a small file if they are wanted, in one compound; then each stream that is small enough
 * to be carried, in a compound of its own.  A list of streams that does not fit beside the rest is
 * asked for alone, with as much room as the server gives.
 */
#include "lib/source/smb/smb_listing.h"
#include "lib/source/smb/smb_text.h"
#include "lib/source/smb/worker/info.h"
#include "lib/source/smb/worker/job.h"

#define OWNER_GROUP_DACL 7u
#define SACL		 8u
#define SD_HEADER	 20u /* MS-DTYP 2.4.6: four offsets, from 4 on */
#define TAG_INFO_SIZE	 8
#define STREAMS_INFO_MAX 65536u
#define STREAMS_INFO_ALL (4u * 1024 * 1024) /* WIRE_STREAMS_MAX with the longest names, about */
#define RESERVE		 4096u		    /* for what is no stream */

struct stream {
	uint8_t *name; /* UTF-16, as listed */
	size_t name_len;
	uint64_t size;
	uint8_t *data; /* NULL: not read */
	size_t len;
};

struct xattrs {
	bool sacl;
	bool told_nothing; /* when it was asked for, too */
	bool wanted; /* the data are wanted; the job goes on without them where the server refuses
			them */
	const uint8_t *data;
	size_t data_len;
	uint8_t *sd;
	size_t sd_len;
	struct stream *streams;
	size_t n, at;
	size_t heads;	/* bytes that the streams take in the slot without their data */
	bool more;	/* there are more streams than these */
	bool cut_short; /* their list */
};

static void ask_descriptor(struct job *job);
static void ask_streams(struct job *job);
static void next_stream(struct job *job);

static void each_stream(void *user, const uint8_t *name, size_t name_len, uint64_t size)
{
	struct xattrs *x = user;
	struct stream *stream;

	if (x->n >= WIRE_STREAMS_MAX || name_len > 1024) {
		x->more = true;
		return;
	}
	x->streams = talloc_realloc(x, x->streams, struct stream, x->n + 1);
	stream = &x->streams[x->n++];
	*stream = (struct stream){
		.name = talloc_memdup(x, name, name_len), .name_len = name_len, .size = size};
}

/* At most: a name, a size, two lengths and a flag. */
static size_t head_of(const struct stream *stream)
{
	return stream->name_len * 3 / 2 + 20;
}

static void put_stream(struct job *job, const struct stream *stream)
{
	struct xattrs *x = job->private_data;
	char text[1024 * 3 / 2];
	long len = smb_text_from_utf16(stream->name, stream->name_len, text);

	/* a name that cannot be here still counts: it is listed as not carried over */
	wire_put_bytes(&job->out, text, len < 0 ? 0 : (size_t)len);
	wire_put_u64(&job->out, stream->size);
	/* a stream that does not fit any more is not carried over: only its size is given */
	x->heads -= head_of(stream);
	bool carried = stream->data &&
		       stream->len + x->heads + RESERVE < (size_t)(job->out.end - job->out.at);

	wire_put_u32(&job->out, carried);
	wire_put_bytes(&job->out, stream->data, carried ? stream->len : 0);
}

/* Data that do not fit beside all streams are left out: they can be fetched later, and streams
 * cannot. */
static void make_data_fit(struct job *job)
{
	struct xattrs *x = job->private_data;
	size_t room = (size_t)(job->out.end - job->out.at) - x->sd_len - RESERVE, need, n;

	for (n = 0; n < x->n && x->heads + head_of(&x->streams[n]) <= room; n++)
		x->heads += head_of(&x->streams[n]);
	x->more |= n < x->n;
	x->n = n;
	need = x->heads + x->data_len;
	for (size_t i = 0; i < x->n; i++)
		need += x->streams[i].data ? x->streams[i].len : 0;
	if (need > room) {
		x->data = NULL;
		x->data_len = 0;
	}
}

static void put_xattrs(struct job *job)
{
	struct xattrs *x = job->private_data;

	make_data_fit(job);
	wire_put_bytes(&job->out, x->sd, x->sd_len);
	wire_put_u32(&job->out, x->data != NULL);
	wire_put_bytes(&job->out, x->data, x->data_len);
	wire_put_u32(&job->out, (uint32_t)x->n);
	for (size_t i = 0; i < x->n; i++)
		put_stream(job, &x->streams[i]);
	job->reply.flags |=
		WIRE_HAS_ATTR | (x->sacl ? WIRE_HAS_SACL : 0) | (x->more ? WIRE_MORE_STREAMS : 0);
	job_done(job, job->out.full ? -EBADMSG : 0);
}

static void stream_read(struct chain *chain)
{
	struct job *job = chain->user;
	struct xattrs *x = job->private_data;
	struct stream *stream = &x->streams[x->at];
	const uint8_t *data;

	if (!NT_STATUS_IS_OK(chain->steps[0].status)) {
		job_failed(job, chain->steps[0].status);
		return;
	}
	data = chain_data(chain, 1, &stream->len);
	/* of another size than was listed: it is being changed */
	if (!data || stream->len != stream->size) {
		job_failed(job, NT_STATUS_IS_OK(chain->steps[1].status) ? NT_STATUS_RETRY
									: chain->steps[1].status);
		return;
	}
	stream->data = talloc_memdup(x, data, MAX(stream->len, 1));
	x->at++;
	talloc_free(chain);
	next_stream(job);
}

/* "::$DATA" is the file itself. */
static bool is_main(const struct stream *stream)
{
	return stream->name_len >= 4 && !memcmp(stream->name, ":\0:", 4);
}

static bool is_wanted(const struct stream *stream)
{
	char text[1024 * 3 / 2];

	return !is_main(stream) && stream->size <= WIRE_STREAM_BYTES && stream->name_len &&
	       smb_text_from_utf16(stream->name, stream->name_len, text) > 0 && text[0] == ':' &&
	       !memchr(text, '/', stream->name_len / 2) &&
	       !memchr(text, '\\', stream->name_len / 2);
}

static void next_stream(struct job *job)
{
	struct xattrs *x = job->private_data;
	struct chain *chain;

	for (; x->at < x->n; x->at++) {
		struct stream *stream = &x->streams[x->at];

		if (!is_wanted(stream))
			continue;
		if (!stream->size) {
			stream->data = talloc_zero_size(x, 1);
			continue;
		}
		chain = chain_new(job, job->worker, stream_read, job);
		if (chain_create(chain, job->path, stream->name, stream->name_len,
				 ACCESS_READ | ACCESS_ATTRIBUTES, OPTION_FILE) < 0) {
			talloc_free(chain);
			continue;
		}
		chain_read(chain, 0, (uint32_t)stream->size + 1);
		chain_close(chain);
		chain_submit(chain);
		return;
	}
	put_xattrs(job);
}

static void ask_without_sacl(struct job *job)
{
	struct xattrs *x = job->private_data;

	x->sacl = false;
	ask_descriptor(job);
}

/* Few accounts have the privilege to see SACLs, and some servers do not know that privilege and
 * open the object all the same.  An open that is refused says nothing about other objects. */
static bool without_sacl(struct job *job, NTSTATUS status, bool opened)
{
	struct xattrs *x = job->private_data;
	bool never = NT_STATUS_EQUAL(status, NT_STATUS_PRIVILEGE_NOT_HELD) ||
		     (opened && (NT_STATUS_EQUAL(status, NT_STATUS_NOT_SUPPORTED) ||
				 NT_STATUS_EQUAL(status, NT_STATUS_INVALID_INFO_CLASS)));

	if (!x->sacl || !(never || NT_STATUS_EQUAL(status, NT_STATUS_ACCESS_DENIED)))
		return false;
	if (never)
		job->worker->no_privilege = true;
	ask_without_sacl(job);
	return true;
}

/* Whether the descriptor has neither owner nor group nor DACL: the Linux kernel's server (ksmbd)
 * gives such a descriptor when the SACL is asked for, too. */
static bool is_of_nobody(const uint8_t *sd, size_t len)
{
	return len >= SD_HEADER && !IVAL(sd, 4) && !IVAL(sd, 8) && !IVAL(sd, 16);
}

/* Few objects have one. */
static void tag_asked(struct chain *chain)
{
	struct job *job = chain->user;
	size_t len;
	const uint8_t *data = chain_data(chain, 1, &len);

	if (!NT_STATUS_IS_OK(chain->steps[0].status) || !data || len < TAG_INFO_SIZE) {
		job_failed(job, NT_STATUS_IS_OK(chain->steps[0].status) ? chain->steps[1].status
									: chain->steps[0].status);
		return;
	}
	job->reply.attr.tag = IVAL(data, 4);
	talloc_free(chain);
	ask_streams(job);
}

static void ask_tag(struct job *job)
{
	struct chain *chain = chain_new(job, job->worker, tag_asked, job);

	chain_create(chain, job->path, NULL, 0, ACCESS_ATTRIBUTES, OPTION_REPARSE);
	chain_query(chain, INFO_FILE, CLASS_TAG, 0, TAG_INFO_SIZE);
	chain_close(chain);
	chain_submit(chain);
}

/* The file system there has no streams, or the server does not know the question. */
static bool has_no_streams(NTSTATUS status)
{
	return NT_STATUS_EQUAL(status, NT_STATUS_NOT_SUPPORTED) ||
	       NT_STATUS_EQUAL(status, NT_STATUS_NOT_IMPLEMENTED) ||
	       NT_STATUS_EQUAL(status, NT_STATUS_INVALID_INFO_CLASS) ||
	       NT_STATUS_EQUAL(status, NT_STATUS_INVALID_PARAMETER) ||
	       NT_STATUS_EQUAL(status, NT_STATUS_INVALID_DEVICE_REQUEST);
}

static void take_streams(struct job *job, struct chain *chain, unsigned step)
{
	struct xattrs *x = job->private_data;
	NTSTATUS status = chain->steps[step].status;
	size_t len;
	const uint8_t *data = chain_data(chain, step, &len);

	/* a directory without any says so with nothing at all, or so */
	if (NT_STATUS_EQUAL(status, NT_STATUS_NO_MORE_ENTRIES) ||
	    NT_STATUS_EQUAL(status, NT_STATUS_END_OF_FILE))
		return;
	if (has_no_streams(status)) {
		job->reply.flags |= WIRE_NO_STREAMS;
	} else if (!data || !NT_STATUS_IS_OK(status) ||
		   smb_streams(data, len, each_stream, x) < 0) {
		x->n = 0;
		x->more = true;
	}
}

static void streams_listed(struct chain *chain)
{
	struct job *job = chain->user;

	take_streams(job, chain, 1);
	talloc_free(chain);
	next_stream(job);
}

static void list_streams(struct job *job)
{
	struct worker *worker = job->worker;
	uint32_t max = MIN(smb2cli_conn_max_trans_size(worker->conn), STREAMS_INFO_ALL);
	struct chain *chain = chain_new(job, worker, streams_listed, job);

	chain_create(chain, job->path, NULL, 0, ACCESS_ATTRIBUTES, OPTION_REPARSE);
	chain_query(chain, INFO_FILE, CLASS_STREAM, 0, MAX(max, STREAMS_INFO_MAX));
	chain_close(chain);
	chain_submit(chain);
}

static void ask_streams(struct job *job)
{
	struct xattrs *x = job->private_data;

	if (x->cut_short)
		list_streams(job);
	else
		next_stream(job);
}

/* The list is longer than there was room for. */
static bool is_cut_short(NTSTATUS status)
{
	return NT_STATUS_EQUAL(status, STATUS_BUFFER_OVERFLOW) ||
	       NT_STATUS_EQUAL(status, NT_STATUS_BUFFER_TOO_SMALL) ||
	       NT_STATUS_EQUAL(status, NT_STATUS_INFO_LENGTH_MISMATCH);
}

/* Somebody may have the file open alone, or the account may only read its descriptor. */
static bool without_data(struct job *job, NTSTATUS status)
{
	struct xattrs *x = job->private_data;

	if (!x->wanted || NT_STATUS_EQUAL(status, NT_STATUS_OBJECT_NAME_NOT_FOUND) ||
	    NT_STATUS_EQUAL(status, NT_STATUS_PRIVILEGE_NOT_HELD))
		return false;
	x->wanted = false;
	ask_descriptor(job);
	return true;
}

/* The record will say that the bytes belong to these attributes, which were asked for after the
 * bytes.  A write in between shows: the attributes then differ from those that were told when the
 * file was opened, before the bytes. */
static bool is_of_one_moment(const struct chain *chain, const struct wire_attr *attr)
{
	const struct moment *opened = &chain->opened;

	return opened->size == attr->size && opened->written == attr->written &&
	       opened->changed == attr->changed;
}

/* Takes the data only if they are all bytes that the attributes count; and not from a reparse
 * point, whose bytes are not those of its file. */
static void take_data(struct job *job, struct chain *chain, unsigned step)
{
	struct xattrs *x = job->private_data;
	const struct wire_attr *attr = &job->reply.attr;
	size_t len;
	const uint8_t *data = chain_data(chain, step, &len);

	if (!data || !NT_STATUS_IS_OK(chain->steps[step].status) || len != attr->size ||
	    !is_of_one_moment(chain, attr) ||
	    attr->attributes & (SMB_ATTR_ELSEWHERE | SMB_ATTR_REPARSE))
		return;
	x->data = talloc_memdup(x, data, MAX(len, 1));
	x->data_len = len;
}

static void descriptor_done(struct chain *chain)
{
	struct job *job = chain->user;
	struct xattrs *x = job->private_data;
	NTSTATUS status = chain->steps[0].status;
	unsigned all_info = x->wanted ? 4 : 3;
	const uint8_t *sd;

	if (NT_STATUS_IS_OK(status))
		status = chain->steps[1].status;
	if (!NT_STATUS_IS_OK(status)) {
		bool opened = NT_STATUS_IS_OK(chain->steps[0].status);

		if (!without_data(job, status) && !without_sacl(job, status, opened))
			job_failed(job, status);
		return;
	}
	sd = chain_data(chain, 1, &x->sd_len);
	if (!sd || !x->sd_len || !info_get_all(chain, all_info, job->path, &job->reply.attr)) {
		job_failed(job, sd ? chain->steps[all_info].status : status);
		return;
	}
	if (x->sacl && is_of_nobody(sd, x->sd_len)) {
		x->told_nothing = true;
		ask_without_sacl(job);
		return;
	}
	/* otherwise it is the object itself whose descriptor has neither */
	if (x->told_nothing && !is_of_nobody(sd, x->sd_len))
		job->worker->no_privilege = true;
	x->sd = talloc_memdup(x, sd, x->sd_len);
	x->cut_short = is_cut_short(chain->steps[2].status);
	if (!x->cut_short)
		take_streams(job, chain, 2);
	if (x->wanted)
		take_data(job, chain, 3);
	talloc_free(chain);
	if (job->reply.attr.attributes & SMB_ATTR_REPARSE)
		ask_tag(job);
	else
		ask_streams(job);
}

static void ask_descriptor(struct job *job)
{
	struct xattrs *x = job->private_data;
	struct chain *chain = chain_new(job, job->worker, descriptor_done, job);
	uint32_t access = ACCESS_CONTROL | ACCESS_ATTRIBUTES | (x->sacl ? ACCESS_SYSTEM : 0) |
			  (x->wanted ? ACCESS_READ : 0);

	if (chain_create(chain, job->path, NULL, 0, access, OPTION_REPARSE) < 0) {
		job_done(job, -ENOENT);
		return;
	}
	chain_ask_volume(chain);
	chain_query(chain, INFO_SECURITY, 0, OWNER_GROUP_DACL | (x->sacl ? SACL : 0), WIRE_SD_MAX);
	chain_query(chain, INFO_FILE, CLASS_STREAM, 0, STREAMS_INFO_MAX);
	if (x->wanted)
		chain_read(chain, 0, job->request.count);
	chain_query(chain, INFO_FILE, CLASS_ALL, 0, ALL_INFO_MAX);
	chain_close(chain);
	chain_submit(chain);
}

void do_xattrs(struct job *job)
{
	struct xattrs *x = talloc_zero(job, struct xattrs);

	job->private_data = x;
	x->sacl = !job->worker->no_privilege;
	job->request.count = MIN(job->request.count, MIN(WIRE_DATA_MAX, job->worker->max_read));
	x->wanted = job->request.count > 0;
	ask_descriptor(job);
}
