/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The record's bytes (layout and crash argument in record.h).  There is exactly one encoding of a
 * record: the decoder refuses everything that the encoder would have written otherwise, so a
 * record that decodes is what the retriever wrote, or was made with great care.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/crc32c.h"
#include "common/record.h"

#define KNOWN_FLAGS                                                                                \
	(MIGRATE_REC_EXTENTS | MIGRATE_REC_SHOWN_MTIME | MIGRATE_REC_SHOWN_CTIME |                 \
	 MIGRATE_REC_HANDLE | MIGRATE_REC_HANDLE_DIFF | MIGRATE_REC_PATH | MIGRATE_REC_ERROR |     \
	 MIGRATE_REC_DIRTY | MIGRATE_REC_CLIENT | MIGRATE_REC_RETURNED | MIGRATE_REC_NAMED |       \
	 MIGRATE_REC_RESIZE | MIGRATE_REC_LOST | MIGRATE_REC_HOLES | MIGRATE_REC_ADOPTED |         \
	 MIGRATE_REC_LISTED)
/* These say what no field says. */
#define OWNER_FLAGS                                                                                \
	(MIGRATE_REC_CLIENT | MIGRATE_REC_RETURNED | MIGRATE_REC_NAMED | MIGRATE_REC_RESIZE |      \
	 MIGRATE_REC_LOST | MIGRATE_REC_HOLES | MIGRATE_REC_ADOPTED | MIGRATE_REC_SHOWN_MTIME |    \
	 MIGRATE_REC_SHOWN_CTIME | MIGRATE_REC_LISTED)
/* These are of files only. */
#define FILE_FLAGS (MIGRATE_REC_RESIZE | MIGRATE_REC_LOST | MIGRATE_REC_HOLES | MIGRATE_REC_ADOPTED)
#define CRC_BYTES  4

static bool is_directory(enum migrate_state state)
{
	return state == MIGRATE_UNFILLED || state == MIGRATE_FILLED;
}

static bool is_whole_record(const struct migrate_extents *set, uint64_t size)
{
	if (!size)
		return set->n == 0;
	return set->n == 1 && set->v[0].start == 0 && set->v[0].end == size;
}

/* Whether every byte of inner is in outer. */
static bool is_subset(const struct migrate_extents *inner, const struct migrate_extents *outer)
{
	size_t j = 0;

	for (size_t i = 0; i < inner->n; i++) {
		while (j < outer->n && outer->v[j].end <= inner->v[i].start)
			j++;
		if (j == outer->n || outer->v[j].start > inner->v[i].start ||
		    outer->v[j].end < inner->v[i].end)
			return false;
	}
	return true;
}

/* ---- writing: past the end of the buffer only `full` is set -------------------------------- */

struct writer {
	uint8_t *p;
	uint8_t *end;
	bool full;
};

static void put_bytes(struct writer *w, const void *bytes, size_t len)
{
	if ((size_t)(w->end - w->p) < len) {
		w->full = true;
		return;
	}
	if (len)
		memcpy(w->p, bytes, len);
	w->p += len;
}

static void put_u8(struct writer *w, uint8_t value)
{
	put_bytes(w, &value, 1);
}

static void put_u16(struct writer *w, uint16_t value)
{
	value = htole16(value);
	put_bytes(w, &value, sizeof(value));
}

static void put_u32(struct writer *w, uint32_t value)
{
	value = htole32(value);
	put_bytes(w, &value, sizeof(value));
}

static void put_i64(struct writer *w, int64_t value)
{
	uint64_t bits = htole64((uint64_t)value);

	put_bytes(w, &bits, sizeof(bits));
}

static void put_varint(struct writer *w, uint64_t value)
{
	uint8_t bytes[10];
	size_t len = 0;

	while (value >= 0x80) {
		bytes[len++] = 0x80 | (value & 0x7f);
		value >>= 7;
	}
	bytes[len++] = value;
	put_bytes(w, bytes, len);
}

static void put_extents(struct writer *w, const struct migrate_extents *set)
{
	uint64_t last = 0;

	put_varint(w, set->n);
	for (size_t i = 0; i < set->n; i++) {
		put_varint(w, set->v[i].start - last);
		put_varint(w, set->v[i].end - set->v[i].start);
		last = set->v[i].end;
	}
}

/* The flags that an encoding has. */
static uint16_t flags_of(const struct migrate_record *rec)
{
	uint16_t flags = rec->flags & OWNER_FLAGS;

	if (rec->handle_len)
		flags |= MIGRATE_REC_HANDLE;
	else if (rec->diff_len || (rec->flags & MIGRATE_REC_HANDLE_DIFF))
		flags |= MIGRATE_REC_HANDLE_DIFF;
	if (rec->path)
		flags |= MIGRATE_REC_PATH;
	if (rec->error)
		flags |= MIGRATE_REC_ERROR;
	if (rec->dirty.n)
		flags |= MIGRATE_REC_DIRTY;
	if (!is_directory(rec->state) && !is_whole_record(&rec->missing, rec->size))
		flags |= MIGRATE_REC_EXTENTS;
	return flags;
}

static bool path_ok(const char *path, size_t len)
{
	return (len == 0 || path[0] != '/') && !memchr(path, 0, len);
}

/* What holds for every record, on both ways. */
static bool fields_ok(const struct migrate_record *rec, uint16_t flags)
{
	if (rec->state < MIGRATE_DUMMY || rec->state > MIGRATE_FILLED || rec->size > INT64_MAX)
		return false;
	if (rec->binding.len < 1 || rec->binding.len > MIGRATE_BINDING_MAX)
		return false;
	if ((flags & MIGRATE_REC_HANDLE) && rec->handle_len > MIGRATE_HANDLE_MAX)
		return false;
	if (flags & MIGRATE_REC_HANDLE_DIFF) {
		if (rec->diff_offset + rec->diff_len > MIGRATE_HANDLE_MAX)
			return false;
		if (!rec->diff_len && rec->diff_offset)
			return false;
	}
	if ((flags & MIGRATE_REC_LISTED) && rec->state != MIGRATE_FILLED)
		return false;
	flags &= ~migrate_record_closed(rec);
	if (is_directory(rec->state))
		return !rec->missing.n && !rec->dirty.n && !(flags & FILE_FLAGS);
	if (flags & (MIGRATE_REC_RETURNED | MIGRATE_REC_NAMED))
		return false;
	if (rec->missing.n && rec->missing.v[rec->missing.n - 1].end > rec->size)
		return false;
	return is_subset(&rec->dirty, &rec->missing);
}

ssize_t migrate_record_encode(const struct migrate_record *rec, uint8_t *buf, size_t size)
{
	struct writer w = {buf, buf + (size < MIGRATE_REC_MAX ? size : MIGRATE_REC_MAX), false};
	size_t path_len = rec->path ? strlen(rec->path) : 0;
	uint16_t flags = flags_of(rec);

	if (!fields_ok(rec, flags) || (rec->path && !path_ok(rec->path, path_len)))
		return -EINVAL;
	if (rec->missing.n > MIGRATE_REC_MAX_EXTENTS || rec->dirty.n > MIGRATE_REC_MAX_EXTENTS ||
	    path_len > MIGRATE_REC_MAX_PATH)
		return -ENOSPC;
	put_u8(&w, MIGRATE_REC_VERSION);
	put_u8(&w, rec->state);
	put_u16(&w, flags);
	put_u8(&w, rec->binding.type);
	put_u8(&w, rec->binding.len);
	put_bytes(&w, rec->binding.bytes, rec->binding.len);
	put_varint(&w, rec->fileid);
	put_varint(&w, rec->size);
	put_i64(&w, rec->mtime);
	put_i64(&w, rec->ctime);
	if (flags & MIGRATE_REC_SHOWN_MTIME)
		put_i64(&w, rec->shown_mtime);
	if (flags & MIGRATE_REC_SHOWN_CTIME)
		put_i64(&w, rec->shown_ctime);
	if (flags & MIGRATE_REC_LISTED)
		put_i64(&w, (int64_t)rec->listed);
	if (flags & MIGRATE_REC_HANDLE) {
		put_u8(&w, rec->handle_len);
		put_bytes(&w, rec->handle, rec->handle_len);
	}
	if (flags & MIGRATE_REC_HANDLE_DIFF) {
		put_u8(&w, rec->diff_template);
		put_u8(&w, rec->diff_offset);
		put_u8(&w, rec->diff_len);
		put_bytes(&w, rec->handle, rec->diff_len);
	}
	if (flags & MIGRATE_REC_PATH) {
		put_varint(&w, path_len);
		put_bytes(&w, rec->path, path_len);
	}
	if (flags & MIGRATE_REC_ERROR)
		put_u8(&w, rec->error);
	if (flags & MIGRATE_REC_EXTENTS)
		put_extents(&w, &rec->missing);
	if (flags & MIGRATE_REC_DIRTY) {
		put_bytes(&w, rec->epoch, sizeof(rec->epoch));
		put_extents(&w, &rec->dirty);
	}
	if (!w.full)
		put_u32(&w, migrate_crc32c(buf, w.p - buf));
	return w.full ? -ENOSPC : w.p - buf;
}

/* ---- reading: past the end everything is 0 and `bad` is set -------------------------------- */

struct reader {
	const uint8_t *p;
	const uint8_t *end;
	bool bad;
	bool no_memory;
};

static const uint8_t *get_bytes(struct reader *r, size_t len)
{
	const uint8_t *p = r->p;

	if (r->bad || (size_t)(r->end - r->p) < len) {
		r->bad = true;
		return NULL;
	}
	r->p += len;
	return p;
}

static void get_copy(struct reader *r, void *to, size_t len)
{
	const uint8_t *p = get_bytes(r, len);

	if (p && len)
		memcpy(to, p, len);
}

static uint8_t get_u8(struct reader *r)
{
	uint8_t value = 0;

	get_copy(r, &value, 1);
	return value;
}

static uint16_t get_u16(struct reader *r)
{
	uint16_t value = 0;

	get_copy(r, &value, sizeof(value));
	return le16toh(value);
}

static int64_t get_i64(struct reader *r)
{
	uint64_t value = 0;

	get_copy(r, &value, sizeof(value));
	return (int64_t)le64toh(value);
}

static uint64_t get_varint(struct reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte = get_u8(r);

		/* No bits past the 64th, and no useless zero byte at the end. */
		if ((shift == 63 && byte > 1) || (shift && !byte))
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	r->bad = true;
	return 0;
}

static uint64_t get_varint_upto(struct reader *r, uint64_t max)
{
	uint64_t value = get_varint(r);

	if (value > max)
		r->bad = true;
	return r->bad ? 0 : value;
}

static void get_extents(struct reader *r, struct migrate_extents *set)
{
	uint64_t n = get_varint_upto(r, MIGRATE_REC_MAX_EXTENTS);
	uint64_t last = 0;

	for (uint64_t i = 0; i < n && !r->bad; i++) {
		uint64_t gap = get_varint_upto(r, INT64_MAX - last);
		uint64_t len = get_varint_upto(r, INT64_MAX - last - gap);

		if (!len || (i && !gap))
			r->bad = true;
		if (r->bad)
			return;
		if (migrate_extents_add(set, last + gap, last + gap + len) < 0) {
			r->bad = r->no_memory = true;
			return;
		}
		last += gap + len;
	}
}

static void get_path(struct reader *r, struct migrate_record *rec)
{
	size_t len = get_varint_upto(r, MIGRATE_REC_MAX_PATH);
	const char *path = (const char *)get_bytes(r, len);

	if (!path)
		return;
	if (!path_ok(path, len)) {
		r->bad = true;
		return;
	}
	rec->path = strndup(path, len);
	if (!rec->path)
		r->bad = r->no_memory = true;
}

static void get_handle_record(struct reader *r, struct migrate_record *rec)
{
	if (rec->flags & MIGRATE_REC_HANDLE) {
		rec->handle_len = get_u8(r);
		if (rec->handle_len < 1 || rec->handle_len > MIGRATE_HANDLE_MAX)
			r->bad = true;
		else
			get_copy(r, rec->handle, rec->handle_len);
	} else if (rec->flags & MIGRATE_REC_HANDLE_DIFF) {
		rec->diff_template = get_u8(r);
		rec->diff_offset = get_u8(r);
		rec->diff_len = get_u8(r);
		if (rec->diff_offset + rec->diff_len > MIGRATE_HANDLE_MAX)
			r->bad = true;
		else
			get_copy(r, rec->handle, rec->diff_len);
	}
}

static void get_sets(struct reader *r, struct migrate_record *rec)
{
	if (rec->flags & MIGRATE_REC_EXTENTS)
		get_extents(r, &rec->missing);
	else if (!r->bad && !is_directory(rec->state) &&
		 migrate_extents_add(&rec->missing, 0, rec->size) < 0)
		r->bad = r->no_memory = true;
	if (rec->flags & MIGRATE_REC_DIRTY) {
		get_copy(r, rec->epoch, sizeof(rec->epoch));
		get_extents(r, &rec->dirty);
	}
}

static void get_record(struct reader *r, struct migrate_record *rec)
{
	if (get_u8(r) != MIGRATE_REC_VERSION)
		r->bad = true;
	rec->state = get_u8(r);
	rec->flags = get_u16(r);
	if (rec->flags & ~KNOWN_FLAGS)
		r->bad = true;
	rec->binding.type = get_u8(r);
	rec->binding.len = get_u8(r);
	if (rec->binding.len > MIGRATE_BINDING_MAX)
		r->bad = true;
	else
		get_copy(r, rec->binding.bytes, rec->binding.len);
	rec->fileid = get_varint(r);
	rec->size = get_varint_upto(r, INT64_MAX);
	rec->mtime = get_i64(r);
	rec->ctime = get_i64(r);
	if (rec->flags & MIGRATE_REC_SHOWN_MTIME)
		rec->shown_mtime = get_i64(r);
	if (rec->flags & MIGRATE_REC_SHOWN_CTIME)
		rec->shown_ctime = get_i64(r);
	if (rec->flags & MIGRATE_REC_LISTED)
		rec->listed = (uint64_t)get_i64(r);
	get_handle_record(r, rec);
	if (rec->flags & MIGRATE_REC_PATH)
		get_path(r, rec);
	if (rec->flags & MIGRATE_REC_ERROR)
		rec->error = get_u8(r);
	get_sets(r, rec);
}

int migrate_record_decode(const uint8_t *buf, size_t len, struct migrate_record *rec)
{
	struct reader r = {.p = buf};
	uint32_t crc;

	memset(rec, 0, sizeof(*rec));
	if (len < CRC_BYTES || len > MIGRATE_REC_MAX)
		return -EBADMSG;
	r.end = buf + len - CRC_BYTES;
	memcpy(&crc, r.end, sizeof(crc));
	if (le32toh(crc) != migrate_crc32c(buf, len - CRC_BYTES))
		return -EBADMSG;
	get_record(&r, rec);
	if (!r.bad && r.p == r.end && rec->flags == flags_of(rec) && fields_ok(rec, rec->flags))
		return 0;
	migrate_record_clear(rec);
	return r.no_memory ? -ENOMEM : -EBADMSG;
}

void migrate_record_clear(struct migrate_record *rec)
{
	free(rec->path);
	migrate_extents_clear(&rec->missing);
	migrate_extents_clear(&rec->dirty);
	memset(rec, 0, sizeof(*rec));
}

uint16_t migrate_record_closed(const struct migrate_record *rec)
{
	return rec->flags & (rec->state == MIGRATE_PARTIAL    ? MIGRATE_REC_CLOSED_FILE
			     : rec->state == MIGRATE_UNFILLED ? MIGRATE_REC_CLOSED_DIRECTORY
							      : 0);
}

/* ---- times --------------------------------------------------------------------------------- */

int64_t migrate_record_mtime(const struct migrate_record *rec)
{
	return rec->flags & MIGRATE_REC_SHOWN_MTIME ? rec->shown_mtime : rec->mtime;
}

int64_t migrate_record_ctime(const struct migrate_record *rec)
{
	return rec->flags & MIGRATE_REC_SHOWN_CTIME ? rec->shown_ctime : rec->ctime;
}

struct timespec migrate_timespec(int64_t ns)
{
	struct timespec ts = {ns / 1000000000, ns % 1000000000};

	if (ts.tv_nsec < 0) {
		ts.tv_nsec += 1000000000;
		ts.tv_sec--;
	}
	return ts;
}
