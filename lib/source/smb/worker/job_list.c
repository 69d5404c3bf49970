/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * READDIR.  The directory stays open from one reply to the next; the cookie says which directory it
 * is, and how far its listing has come, so that a request out of step is refused, and its listing
 * begun again.
 */
#include "lib/source/smb/smb_listing.h"
#include "lib/source/smb/worker/info.h"
#include "lib/source/smb/worker/job.h"

#define LISTINGS_MAX 64
#define IDLE_S	     300
#define BUFFER	     (256u * 1024) /* two go into a reply; they grow by less than a half */

struct job_listing {
	struct job_listing *prev, *next;
	struct worker *worker;
	char *path;
	uint64_t cookie;
	struct fid fid;
	bool busy;
	struct timeval used;
};

static void close_listing(struct job_listing *listing)
{
	struct worker *worker = listing->worker;

	DLIST_REMOVE(worker->listings, listing);
	worker->n_listings--;
	chain_leave(worker, &listing->fid);
	talloc_free(listing);
}

void list_expire(struct worker *worker, struct timeval now)
{
	for (struct job_listing *l = worker->listings, *next; l; l = next) {
		next = l->next;
		if (!l->busy && usec_time_diff(&now, &l->used) > IDLE_S * INT64_C(1000000))
			close_listing(l);
	}
}

static void close_oldest_listing(struct worker *worker)
{
	struct job_listing *oldest = NULL;

	for (struct job_listing *l = worker->listings; l; l = l->next)
		if (!l->busy && (!oldest || timeval_compare(&l->used, &oldest->used) < 0))
			oldest = l;
	if (oldest)
		close_listing(oldest);
}

static struct job_listing *add_listing(struct worker *worker, const char *path,
				       const struct fid *fid)
{
	struct job_listing *listing = talloc_zero(worker, struct job_listing);

	if (worker->n_listings >= LISTINGS_MAX)
		close_oldest_listing(worker);
	listing->worker = worker;
	listing->path = talloc_strdup(listing, path);
	listing->fid = *fid;
	listing->cookie = (uint64_t)++worker->listing_serial << 32;
	DLIST_ADD(worker->listings, listing);
	worker->n_listings++;
	return listing;
}

/* For servers that have no file numbers. */
static void number_entries(struct job *job, uint8_t *from)
{
	struct wire_unpack in = {from, job->out.at};

	while (in.at < in.end) {
		uint8_t *at = (uint8_t *)wire_get(&in, sizeof(struct wire_attr));
		bool refused = wire_get_u32(&in);
		struct wire_attr attr;
		size_t len;
		const uint8_t *name = wire_get_bytes(&in, WIRE_REFUSED_BYTES, &len);

		if (!at || !name)
			return;
		memcpy(&attr, at, sizeof(attr));
		if (refused || info_has_number(&attr))
			continue;
		char *path = talloc_asprintf(job, "%s%s%.*s", job->path, *job->path ? "/" : "",
					     (int)len, name);

		info_make_number(&attr, path);
		memcpy(at, &attr, sizeof(attr));
		talloc_free(path);
	}
}

/* 0: there may be more; 1: that was all; or -errno. */
static int take_entries(struct job *job, struct chain *chain, unsigned step, uint32_t *rejected)
{
	NTSTATUS status = chain->steps[step].status;
	uint8_t *from = job->out.at;
	size_t len;
	const uint8_t *data = chain_data(chain, step, &len);
	int ret;

	if (NT_STATUS_EQUAL(status, NT_STATUS_NO_MORE_FILES) ||
	    NT_STATUS_EQUAL(status, NT_STATUS_NO_SUCH_FILE))
		return 1;
	if (!data) {
		job->reply.code = NT_STATUS_V(status);
		return worker_errno(status);
	}
	ret = smb_listing(data, len, &job->out, rejected);
	if (!ret)
		number_entries(job, from);
	return ret;
}

static void answer_listing(struct job *job, struct job_listing *listing, int ret)
{
	if (ret) {
		close_listing(listing);
		job->reply.flags |= ret > 0 ? WIRE_EOF : 0;
	} else {
		listing->busy = false;
		listing->used = timeval_current();
		job->reply.cookie = ++listing->cookie;
	}
	job_done(job, MIN(ret, 0));
}

static void listing_done(struct chain *chain)
{
	struct job *job = chain->user;
	unsigned first = chain->creates ? 2 : 0;
	uint32_t rejected = 0;
	int ret;

	if (chain->creates) {
		if (!NT_STATUS_IS_OK(chain->steps[0].status)) {
			job_failed(job, chain->steps[0].status);
			return;
		}
		job->private_data = add_listing(job->worker, job->path, &chain->fid);
		if (info_get_all(chain, 1, job->path, &job->reply.attr))
			job->reply.flags |= WIRE_HAS_ATTR;
	}
	ret = take_entries(job, chain, first, &rejected);
	if (!ret)
		ret = take_entries(job, chain, first + 1, &rejected);
	if (rejected > WIRE_REFUSED_MAX)
		job->reply.rejected = rejected - WIRE_REFUSED_MAX;
	answer_listing(job, job->private_data, ret);
}

static struct job_listing *find_listing(struct job *job)
{
	for (struct job_listing *l = job->worker->listings; l; l = l->next)
		if (l->cookie == job->request.cookie && !l->busy && !strcmp(l->path, job->path))
			return l;
	return NULL;
}

void do_readdir(struct job *job)
{
	struct chain *chain = chain_new(job, job->worker, listing_done, job);
	struct job_listing *listing;

	if (!job->request.cookie) {
		if (chain_create(chain, job->path, NULL, 0, ACCESS_READ | ACCESS_ATTRIBUTES,
				 OPTION_DIRECTORY) < 0) {
			job_done(job, -ENOENT);
			return;
		}
		chain_query(chain, INFO_FILE, CLASS_ALL, 0, ALL_INFO_MAX);
	} else {
		listing = find_listing(job);
		if (!listing) {
			job_done(job, -EBADMSG);
			return;
		}
		listing->busy = true;
		job->private_data = listing;
		chain_use(chain, &listing->fid);
	}
	chain_list(chain, "*", !job->request.cookie, BUFFER);
	chain_list(chain, "*", false, BUFFER);
	chain_submit(chain);
}
