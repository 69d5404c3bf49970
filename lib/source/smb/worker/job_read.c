/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * READ.  A small file is opened, read and closed in one compound.  A file that is read in pieces
 * stays open from one piece to the next, for a few seconds, and is known by its path: if another
 * file takes that place on the old server meanwhile, the attributes show it, which come with each
 * piece and are asked for after its bytes.
 *
 * Of a sparse file the server is asked first whether it has data there: a hole need not be read.
 * Only the server's own answer counts: how much space the file has tells nothing (compression,
 * deduplication, tape).
 */
#include "lib/source/smb/worker/info.h"
#include "lib/source/smb/worker/job.h"

#define FILES_MAX 32
#define IDLE_S	  3
#define HOLE_MIN  65536u /* bytes; smaller ones are read */
/* MS-FSCC 2.6; elsewhere: a reparse point, offline, recalled when it is opened or read */
#define SPARSE	  0x200u
#define ELSEWHERE (0x400u | 0x1000u | 0x40000u | 0x400000u)

struct handle {
	struct handle *prev, *next;
	struct worker *worker;
	char *path;
	struct fid fid;
	bool open, dead; /* dead: not in the list any more */
	bool sparse;	 /* it may have holes where data are asked for */
	unsigned users;
	struct timeval used;
	struct job **waiting; /* jobs that wait until it is open */
	size_t n_waiting;
};

static void read_with(struct job *job, struct handle *handle);

static struct handle *find_handle(struct worker *worker, const char *path)
{
	for (struct handle *h = worker->handles; h; h = h->next)
		if (strcmp(h->path, path) == 0)
			return h;
	return NULL;
}

static void close_handle(struct handle *handle)
{
	struct worker *worker = handle->worker;

	if (!handle->dead) {
		handle->dead = true;
		DLIST_REMOVE(worker->handles, handle);
		worker->n_handles--;
	}
	if (handle->users)
		return;
	if (handle->open)
		chain_leave(worker, &handle->fid);
	talloc_free(handle);
}

/* Closes the file that was not used for longest; the list is in the order in which files were
 * opened. */
static void close_oldest_handle(struct worker *worker)
{
	struct handle *oldest = NULL;

	for (struct handle *h = worker->handles; h; h = h->next)
		if (!h->users && (!oldest || timeval_compare(&h->used, &oldest->used) < 0))
			oldest = h;
	if (oldest)
		close_handle(oldest);
}

static struct handle *add_handle(struct worker *worker, const char *path)
{
	struct handle *handle = talloc_zero(worker, struct handle);

	if (worker->n_handles >= FILES_MAX)
		close_oldest_handle(worker);
	handle->worker = worker;
	handle->path = talloc_strdup(handle, path);
	DLIST_ADD_END(worker->handles, handle);
	worker->n_handles++;
	return handle;
}

void read_expire(struct worker *worker, struct timeval now)
{
	for (struct handle *h = worker->handles, *next; h; h = next) {
		next = h->next;
		if (!h->users && usec_time_diff(&now, &h->used) > IDLE_S * 1000000)
			close_handle(h);
	}
}

static void release_handle(struct handle *handle, bool finished)
{
	handle->users--;
	handle->used = timeval_current();
	if (!handle->users && (finished || handle->dead))
		close_handle(handle);
}

/* Bytes and attributes out of the two steps from `first` on; FALSE: the job was answered with an
 * error.
 */
static bool put_read(struct job *job, struct chain *chain, unsigned first)
{
	NTSTATUS status = chain->steps[first].status;
	bool end = NT_STATUS_EQUAL(status, NT_STATUS_END_OF_FILE);
	size_t len = 0;
	const uint8_t *data = chain_data(chain, first, &len);

	if ((!NT_STATUS_IS_OK(status) || !data) && !end) {
		job_failed(job, status);
		return false;
	}
	if (!info_get_all(chain, first + 1, job->path, &job->reply.attr)) {
		job_failed(job, chain->steps[first + 1].status);
		return false;
	}
	wire_put(&job->out, data, end ? 0 : len);
	job->reply.flags = WIRE_HAS_ATTR;
	if (end || job->request.offset + len >= job->reply.attr.size)
		job->reply.flags |= WIRE_EOF;
	return true;
}

static bool is_sparse(const struct wire_attr *attr)
{
	return (attr->attributes & SPARSE) && !(attr->attributes & ELSEWHERE) &&
	       attr->allocated < attr->size;
}

static void whole_done(struct chain *chain)
{
	struct job *job = chain->user;

	if (!NT_STATUS_IS_OK(chain->steps[0].status))
		job_failed(job, chain->steps[0].status);
	else if (put_read(job, chain, 1))
		job_done(job, 0);
}

static void add_read(struct chain *chain, const struct job *job)
{
	chain_read(chain, job->request.offset, job->request.count);
	chain_query(chain, INFO_FILE, CLASS_ALL, 0, ALL_INFO_MAX);
}

static bool add_create(struct chain *chain, struct job *job)
{
	return chain_create(chain, job->path, NULL, 0, ACCESS_READ | ACCESS_ATTRIBUTES,
			    OPTION_FILE) == 0;
}

static void read_whole(struct job *job)
{
	struct chain *chain = chain_new(job, job->worker, whole_done, job);

	if (!add_create(chain, job)) {
		job_done(job, -ENOENT);
		return;
	}
	add_read(chain, job);
	chain_close(chain);
	chain_submit(chain);
}

static void piece_done(struct chain *chain)
{
	struct job *job = chain->user;
	struct handle *handle = job->private_data;

	if (NT_STATUS_EQUAL(chain->steps[0].status, NT_STATUS_FILE_CLOSED)) {
		/* the server closed the file on its own: open it once more, by its name */
		handle->open = false;
		if (!handle->dead) {
			handle->users++;
			close_handle(handle);
			handle->users--;
		}
		release_handle(handle, true);
		talloc_free(chain);
		do_read(job);
		return;
	}
	bool answered = put_read(job, chain, 0), end = answered && job->reply.flags & WIRE_EOF;

	if (answered)
		job_done(job, 0);
	release_handle(handle, end);
}

static void read_piece(struct job *job, struct handle *handle)
{
	struct chain *chain = chain_new(job, job->worker, piece_done, job);

	chain_use(chain, &handle->fid);
	add_read(chain, job);
	chain_submit(chain);
}

/* How many bytes from the offset on are a hole, by the ranges with data that the server gave for
 * [offset, end).  Ranges come in order, and may begin before the offset. */
static uint64_t hole_in(const uint8_t *ranges, size_t len, uint64_t offset, uint64_t end)
{
	for (size_t i = 0; i + 16 <= len; i += 16) {
		uint64_t start = BVAL(ranges, i), bytes = BVAL(ranges, i + 8);

		if (bytes > UINT64_MAX - start)
			return 0;
		if (start + bytes > offset)
			return start <= offset ? 0 : MIN(start, end) - offset;
	}
	return len % 16 ? 0 : end - offset;
}

static void ranges_told(struct chain *chain)
{
	static const uint8_t zeros[WIRE_READ_MAX];
	struct job *job = chain->user;
	struct handle *handle = job->private_data;
	const uint64_t offset = job->request.offset;
	struct wire_attr *attr = &job->reply.attr;
	uint64_t len = 0, end;
	size_t room;
	const uint8_t *ranges = chain_data(chain, 0, &room);

	if (ranges && NT_STATUS_IS_OK(chain->steps[0].status) &&
	    info_get_all(chain, 1, job->path, attr) && attr->size > offset) {
		end = MIN(attr->size, offset + job->request.count);
		len = hole_in(ranges, room, offset, end);
		if (len < HOLE_MIN && offset + len < end)
			len = 0;
		/* where most of the file is data, asking would cost more than it saves */
		handle->sparse = is_sparse(attr) && (len || attr->allocated < attr->size / 4);
	} else {
		handle->sparse = false;
	}
	talloc_free(chain);
	if (!len) {
		read_piece(job, handle);
		return;
	}
	wire_put(&job->out, zeros, len);
	job->reply.flags = WIRE_HAS_ATTR | (offset + len == attr->size ? WIRE_EOF : 0);
	end = job->reply.flags & WIRE_EOF;
	job_done(job, 0);
	release_handle(handle, end);
}

static void read_with(struct job *job, struct handle *handle)
{
	struct chain *chain;

	job->private_data = handle;
	if (!job->request.holes || !handle->sparse || job->request.count < HOLE_MIN) {
		read_piece(job, handle);
		return;
	}
	chain = chain_new(job, job->worker, ranges_told, job);
	chain_use(chain, &handle->fid);
	chain_ranges(chain, job->request.offset, job->request.count);
	chain_query(chain, INFO_FILE, CLASS_ALL, 0, ALL_INFO_MAX);
	chain_submit(chain);
}

/* The first piece came together with the open; the other jobs waited for it. */
static void first_done(struct chain *chain)
{
	struct job *job = chain->user;
	struct handle *handle = job->private_data;
	NTSTATUS status = chain->steps[0].status;
	struct job **waiting = handle->waiting;
	size_t n = handle->n_waiting;

	handle->waiting = NULL;
	handle->n_waiting = 0;
	handle->open = NT_STATUS_IS_OK(status);
	handle->fid = chain->fid;
	if (handle->open && put_read(job, chain, 1)) {
		handle->sparse = is_sparse(&job->reply.attr);
		job_done(job, 0);
	}
	for (size_t i = 0; i < n; i++) {
		if (handle->open) {
			read_with(waiting[i], handle);
		} else {
			job_failed(waiting[i], status);
			handle->users--;
		}
	}
	if (!handle->open) {
		job_failed(job, status);
		release_handle(handle, true);
	} else {
		release_handle(handle, false);
	}
}

static void open_and_read(struct job *job)
{
	struct chain *chain = chain_new(job, job->worker, first_done, job);

	if (!add_create(chain, job)) {
		job_done(job, -ENOENT);
		return;
	}
	struct handle *handle = add_handle(job->worker, job->path);

	handle->users = 1;
	job->private_data = handle;
	add_read(chain, job);
	chain_submit(chain);
}

static void wait_for_read(struct job *job, struct handle *handle)
{
	handle->waiting =
		talloc_realloc(handle, handle->waiting, struct job *, handle->n_waiting + 1);
	handle->waiting[handle->n_waiting++] = job;
}

void do_read(struct job *job)
{
	struct worker *worker = job->worker;
	struct handle *handle = find_handle(worker, job->path);

	job->request.count = MIN(job->request.count, worker->max_read);
	if (handle) {
		handle->users++;
		if (handle->open)
			read_with(job, handle);
		else
			wait_for_read(job, handle);
	} else if (job->request.offset == 0 && job->request.count < worker->max_read) {
		read_whole(job);
	} else {
		open_and_read(job);
	}
}
