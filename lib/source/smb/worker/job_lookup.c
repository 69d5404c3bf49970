/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/smb_listing.h"
#include "lib/source/smb/smb_text.h"
#include "lib/source/smb/worker/info.h"
#include "lib/source/smb/worker/job.h"

#define TAG_INFO_SIZE 8
#define REPARSE_MAX   16384u /* MS-FSCC 2.1.2 */
#define GET_REPARSE   0x900a8u

/* Takes the reparse tag, which no other class has. */
static void get_tag(struct chain *chain, unsigned step, struct wire_attr *attr)
{
	size_t len;
	const uint8_t *data = chain_data(chain, step, &len);

	if (data && len >= TAG_INFO_SIZE && attr->attributes & SMB_ATTR_REPARSE)
		attr->tag = IVAL(data, 4);
}

/* ---- GETATTR ---- */

static void getattr_done(struct chain *chain)
{
	struct job *job = chain->user;

	if (!NT_STATUS_IS_OK(chain->steps[0].status)) {
		job_failed(job, chain->steps[0].status);
	} else if (!info_get_all(chain, 1, job->path, &job->reply.attr)) {
		job_failed(job, chain->steps[1].status);
	} else {
		get_tag(chain, 2, &job->reply.attr);
		job->reply.flags = WIRE_HAS_ATTR;
		job_done(job, 0);
	}
}

void do_getattr(struct job *job)
{
	struct chain *chain = chain_new(job, job->worker, getattr_done, job);

	if (chain_create(chain, job->path, NULL, 0, ACCESS_ATTRIBUTES, OPTION_REPARSE) < 0) {
		job_done(job, -ENOENT);
		return;
	}
	chain_query(chain, INFO_FILE, CLASS_ALL, 0, ALL_INFO_MAX);
	chain_query(chain, INFO_FILE, CLASS_TAG, 0, TAG_INFO_SIZE);
	chain_close(chain);
	chain_submit(chain);
}

/* ---- LOOKUP ---- */

/*
 * Opening an object by its name tells everything except the name's spelling, which the directory's
 * listing of that one name tells.  Both are asked for at once.  If the listed object is not the
 * opened one, another object answers to the name (one that differs in case only); but the object
 * may also have been replaced between the two, so both are asked for once more.
 */
struct lookup {
	unsigned left;
	bool again;
	NTSTATUS object, listed;
	char *path;
	struct wire_attr attr;
	uint8_t *entry;
	size_t entry_len;
};

static void ask_both(struct job *job);

/* The listing's attributes to attr. */
static bool is_spelled_so(const struct job *job, const struct lookup *lookup,
			  struct wire_attr *attr)
{
	uint8_t room[8192];
	struct wire_pack pack = {room, room + sizeof(room)};
	uint32_t rejected = 0;
	struct wire_unpack in = {room, room};
	size_t len;

	if (smb_listing(lookup->entry, lookup->entry_len, &pack, &rejected) < 0)
		return false;
	in.end = pack.at;
	while (in.at < in.end) {
		const uint8_t *raw = wire_get(&in, sizeof(struct wire_attr));
		bool refused = wire_get_u32(&in);
		const uint8_t *name = wire_get_bytes(&in, WIRE_REFUSED_BYTES, &len);

		if (refused || !name || len != strlen(job->name) || memcmp(name, job->name, len))
			continue;
		memcpy(attr, raw, sizeof(*attr));
		if (!info_has_number(attr))
			info_make_number(attr, lookup->path);
		return true;
	}
	return false;
}

static bool is_not_found(NTSTATUS status)
{
	return NT_STATUS_EQUAL(status, NT_STATUS_OBJECT_NAME_NOT_FOUND) ||
	       NT_STATUS_EQUAL(status, NT_STATUS_OBJECT_PATH_NOT_FOUND) ||
	       NT_STATUS_EQUAL(status, NT_STATUS_OBJECT_NAME_INVALID) ||
	       NT_STATUS_EQUAL(status, NT_STATUS_NO_SUCH_FILE);
}

static void lookup_part_done(struct job *job)
{
	struct lookup *lookup = job->private_data;
	struct wire_attr listed;
	bool missing, there;

	if (--lookup->left)
		return;
	missing = is_not_found(lookup->object);
	there = NT_STATUS_IS_OK(lookup->listed) && is_spelled_so(job, lookup, &listed);
	/* the listing's status tells better than the open's whether there is a directory at all */
	if (!NT_STATUS_IS_OK(lookup->listed)) {
		job_failed(job, lookup->listed);
	} else if (there && job->worker->sees_deleted &&
		   NT_STATUS_EQUAL(lookup->object, NT_STATUS_DELETE_PENDING)) {
		job->reply.attr = listed;
		job->reply.attr.nlink = 1;
		job->reply.flags = WIRE_HAS_ATTR;
		job_done(job, 0);
	} else if (!NT_STATUS_IS_OK(lookup->object) && !missing) {
		job_failed(job, lookup->object);
	} else if (!there) {
		job_done(job, -ENOENT);
	} else if (missing || listed.fileid != lookup->attr.fileid) {
		if (lookup->again) {
			job_done(job, -ENOTUNIQ);
		} else {
			lookup->again = true;
			ask_both(job);
		}
	} else {
		job->reply.attr = lookup->attr;
		job->reply.flags = WIRE_HAS_ATTR;
		job_done(job, 0);
	}
}

static void lookup_object_done(struct chain *chain)
{
	struct job *job = chain->user;
	struct lookup *lookup = job->private_data;

	lookup->object = chain->steps[0].status;
	if (NT_STATUS_IS_OK(lookup->object)) {
		if (info_get_all(chain, 1, lookup->path, &lookup->attr))
			get_tag(chain, 2, &lookup->attr);
		else
			lookup->object = NT_STATUS_INVALID_NETWORK_RESPONSE;
	}
	talloc_free(chain);
	lookup_part_done(job);
}

static void lookup_listed_done(struct chain *chain)
{
	struct job *job = chain->user;
	struct lookup *lookup = job->private_data;
	const uint8_t *data;

	lookup->listed = chain->steps[0].status;
	if (NT_STATUS_IS_OK(lookup->listed))
		lookup->listed = chain->steps[1].status;
	if (NT_STATUS_EQUAL(lookup->listed, NT_STATUS_NO_MORE_FILES))
		lookup->listed = NT_STATUS_NO_SUCH_FILE;
	data = chain_data(chain, 1, &lookup->entry_len);
	if (NT_STATUS_IS_OK(lookup->listed) && data)
		lookup->entry = talloc_memdup(job, data, lookup->entry_len);
	else if (NT_STATUS_IS_OK(lookup->listed))
		lookup->listed = NT_STATUS_INVALID_NETWORK_RESPONSE;
	talloc_free(chain);
	lookup_part_done(job);
}

static void ask_both(struct job *job)
{
	struct worker *worker = job->worker;
	struct lookup *lookup = job->private_data;
	struct chain *object = chain_new(job, worker, lookup_object_done, job);
	struct chain *listed = chain_new(job, worker, lookup_listed_done, job);

	lookup->left = 2;
	if (!smb_name_ok(job->name, strlen(job->name)) ||
	    chain_create(object, lookup->path, NULL, 0, ACCESS_ATTRIBUTES, OPTION_REPARSE) < 0 ||
	    chain_create(listed, job->path, NULL, 0, ACCESS_READ | ACCESS_ATTRIBUTES,
			 OPTION_DIRECTORY) < 0 ||
	    chain_list(listed, job->name, true, 4096) < 0) {
		job_done(job, -ENOENT);
		return;
	}
	chain_ask_volume(object);
	chain_query(object, INFO_FILE, CLASS_ALL, 0, ALL_INFO_MAX);
	chain_query(object, INFO_FILE, CLASS_TAG, 0, TAG_INFO_SIZE);
	chain_close(object);
	chain_close(listed);
	chain_submit(object);
	chain_submit(listed);
}

void do_lookup(struct job *job)
{
	struct lookup *lookup = talloc_zero(job, struct lookup);

	lookup->path = *job->path ? talloc_asprintf(lookup, "%s/%s", job->path, job->name)
				  : talloc_strdup(lookup, job->name);
	job->private_data = lookup;
	ask_both(job);
}

/* ---- READLINK ---- */

static void readlink_done(struct chain *chain)
{
	struct job *job = chain->user;
	char text[REPARSE_MAX * 3 / 2];
	size_t len;
	const uint8_t *data;
	long n;

	if (!NT_STATUS_IS_OK(chain->steps[0].status)) {
		job_failed(job, chain->steps[0].status);
		return;
	}
	data = chain_data(chain, 1, &len);
	if (!data) {
		job_failed(job, chain->steps[1].status);
		return;
	}
	n = smb_link_text(data, len, text);
	if (n > 0)
		wire_put(&job->out, text, (size_t)n);
	job_done(job, n > 0 ? 0 : n < 0 ? (int)n : -EBADMSG);
}

void do_readlink(struct job *job)
{
	struct chain *chain = chain_new(job, job->worker, readlink_done, job);

	if (chain_create(chain, job->path, NULL, 0, ACCESS_ATTRIBUTES, OPTION_REPARSE) < 0) {
		job_done(job, -ENOENT);
		return;
	}
	chain_ioctl(chain, GET_REPARSE, REPARSE_MAX);
	chain_close(chain);
	chain_submit(chain);
}
