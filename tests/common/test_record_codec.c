/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>

#include "common/crc32c.h"
#include "common/record.h"
#include "tests/common/support.h"

static void fill_in(struct migrate_record *rec, enum migrate_state state)
{
	*rec = (struct migrate_record){
		.state = state,
		.binding = {.type = 1, .len = 8, .bytes = {1, 2, 3, 4, 5, 6, 7, 8}},
		.fileid = 123456,
		.size = 70000,
		.mtime = -1,
		.ctime = INT64_MAX,
	};
	if (state == MIGRATE_PARTIAL || state == MIGRATE_DUMMY)
		ck_assert_int_eq(migrate_extents_add(&rec->missing, 0, rec->size), 0);
}

/* Records of every shape; false when there are no more. */
static bool sample(unsigned n, struct migrate_record *rec)
{
	static const enum migrate_state states[] = {
		MIGRATE_PARTIAL,  MIGRATE_PARTIAL, MIGRATE_PARTIAL, MIGRATE_DUMMY,
		MIGRATE_UNFILLED, MIGRATE_FILLED,  MIGRATE_PARTIAL, MIGRATE_FILLED};

	if (n >= sizeof(states) / sizeof(*states))
		return false;
	fill_in(rec, states[n]);
	switch (n) {
	case 0:
		rec->flags = MIGRATE_REC_HANDLE_DIFF;
		rec->diff_template = 3;
		rec->diff_offset = 20;
		rec->diff_len = 8;
		memcpy(rec->handle, "handle!!", 8);
		break;
	case 1:
		rec->flags = MIGRATE_REC_SHOWN_MTIME | MIGRATE_REC_SHOWN_CTIME | MIGRATE_REC_CLIENT;
		rec->shown_mtime = 5;
		rec->shown_ctime = INT64_MIN;
		rec->handle_len = 32;
		memset(rec->handle, 0x5a, 32);
		rec->path = strdup("a/b");
		rec->error = 5;
		migrate_extents_remove(&rec->missing, 100, 300);
		migrate_extents_remove(&rec->missing, 60000, 70000);
		migrate_extents_add(&rec->dirty, 50, 90);
		migrate_extents_add(&rec->dirty, 400, 401);
		memset(rec->epoch, 0x5a, sizeof(rec->epoch));
		break;
	case 2: /* nothing is missing any more, but the record is still there */
		migrate_extents_remove(&rec->missing, 0, rec->size);
		break;
	case 3:
		rec->flags = MIGRATE_REC_HANDLE_DIFF; /* the template itself */
		rec->size = 0;
		migrate_extents_clip(&rec->missing, 0);
		break;
	case 4:
		rec->path = strdup("");
		rec->handle_len = MIGRATE_HANDLE_MAX;
		break;
	case 5:
		rec->flags = MIGRATE_REC_RETURNED;
		rec->fileid = UINT64_MAX;
		rec->binding.len = MIGRATE_BINDING_MAX;
		break;
	case 6:
		rec->size = INT64_MAX;
		migrate_extents_add(&rec->missing, 0, INT64_MAX);
		migrate_extents_add(&rec->dirty, INT64_MAX - 1, INT64_MAX);
		break;
	case 7:
		rec->flags = MIGRATE_REC_LISTED;
		rec->listed = UINT64_MAX - 1;
		break;
	}
	return true;
}

static void check_sets_equal(const struct migrate_extents *a, const struct migrate_extents *b)
{
	ck_assert_uint_eq(a->n, b->n);
	if (a->n)
		ck_assert_mem_eq(a->v, b->v, a->n * sizeof(*a->v));
}

static void check_equal(const struct migrate_record *a, const struct migrate_record *b)
{
	ck_assert_int_eq(a->state, b->state);
	ck_assert(migrate_binding_equal(&a->binding, &b->binding));
	ck_assert_uint_eq(a->fileid, b->fileid);
	ck_assert_uint_eq(a->size, b->size);
	ck_assert_int_eq(a->mtime, b->mtime);
	ck_assert_int_eq(a->ctime, b->ctime);
	ck_assert_int_eq(migrate_record_mtime(a), migrate_record_mtime(b));
	ck_assert_int_eq(migrate_record_ctime(a), migrate_record_ctime(b));
	ck_assert_uint_eq(a->listed, b->listed);
	ck_assert_uint_eq(a->handle_len, b->handle_len);
	ck_assert_uint_eq(a->diff_template, b->diff_template);
	ck_assert_uint_eq(a->diff_offset, b->diff_offset);
	ck_assert_uint_eq(a->diff_len, b->diff_len);
	ck_assert_mem_eq(a->handle, b->handle, sizeof(a->handle));
	ck_assert_pstr_eq(a->path, b->path);
	ck_assert_uint_eq(a->error, b->error);
	check_sets_equal(&a->missing, &b->missing);
	check_sets_equal(&a->dirty, &b->dirty);
	ck_assert_mem_eq(a->epoch, b->epoch, a->dirty.n ? sizeof(a->epoch) : 0);
}

START_TEST(round_trips)
{
	struct migrate_record rec, copy;
	uint8_t buf[MIGRATE_REC_MAX], again[MIGRATE_REC_MAX];

	for (unsigned i = 0; sample(i, &rec); i++) {
		ssize_t len = migrate_record_encode(&rec, buf, sizeof(buf));

		ck_assert_int_gt(len, 0);
		ck_assert_int_eq(migrate_record_decode(buf, len, &copy), 0);
		check_equal(&rec, &copy);
		ck_assert_int_eq(migrate_record_encode(&copy, again, len), len);
		ck_assert_mem_eq(buf, again, len);
		/* One byte less is too little room. */
		ck_assert_int_eq(migrate_record_encode(&rec, again, len - 1), -ENOSPC);
		migrate_record_clear(&rec);
		migrate_record_clear(&copy);
	}
}
END_TEST

/* Either refused, or the very same bytes again. */
static void check_tampered(const uint8_t *buf, size_t len)
{
	struct migrate_record rec;
	uint8_t again[MIGRATE_REC_MAX];
	int ret = migrate_record_decode(buf, len, &rec);

	if (ret == 0) {
		ck_assert_int_eq(migrate_record_encode(&rec, again, sizeof(again)), len);
		ck_assert_mem_eq(buf, again, len);
		migrate_record_clear(&rec);
	} else {
		ck_assert_int_eq(ret, -EBADMSG);
		ck_assert(!rec.path && !rec.missing.v && !rec.dirty.v);
	}
}

static void seal(uint8_t *buf, size_t len)
{
	uint32_t crc = migrate_crc32c(buf, len - 4);

	for (int i = 0; i < 4; i++)
		buf[len - 4 + i] = crc >> 8 * i;
}

START_TEST(truncations)
{
	struct migrate_record rec, copy;
	uint8_t buf[MIGRATE_REC_MAX];

	for (unsigned i = 0; sample(i, &rec); i++) {
		ssize_t len = migrate_record_encode(&rec, buf, sizeof(buf));

		for (ssize_t cut = 0; cut < len; cut++) {
			uint8_t *exact = malloc(cut + 1); /* so that overruns are seen */

			memcpy(exact, buf, cut);
			ck_assert_int_eq(migrate_record_decode(exact, cut, &copy), -EBADMSG);
			if (cut >= 4) {
				seal(exact, cut);
				check_tampered(exact, cut);
			}
			free(exact);
		}
		buf[len] = 0;
		ck_assert_int_eq(migrate_record_decode(buf, len + 1, &copy), -EBADMSG);
		migrate_record_clear(&rec);
	}
}
END_TEST

START_TEST(bit_flips)
{
	struct migrate_record rec, copy;
	uint8_t buf[MIGRATE_REC_MAX];

	for (unsigned i = 0; sample(i, &rec); i++) {
		ssize_t len = migrate_record_encode(&rec, buf, sizeof(buf));

		for (ssize_t bit = 0; bit < len * 8; bit++) {
			uint8_t bad[MIGRATE_REC_MAX];

			memcpy(bad, buf, len);
			bad[bit / 8] ^= 1 << bit % 8;
			ck_assert_int_eq(migrate_record_decode(bad, len, &copy), -EBADMSG);
			seal(bad, len);
			check_tampered(bad, len);
		}
		migrate_record_clear(&rec);
	}
}
END_TEST

/* Bytes that no encoder writes, behind a good checksum. */
START_TEST(canonical)
{
	struct migrate_record rec, copy;
	uint8_t buf[256], bad[256];
	ssize_t len;

	fill_in(&rec, MIGRATE_PARTIAL);
	rec.fileid = 1;
	len = migrate_record_encode(&rec, buf, sizeof(buf));
	ck_assert_int_eq(len, 4 + 2 + 8 + 1 + 3 + 16 + 4);

	memcpy(bad, buf, 15); /* fileid 1 in two bytes */
	bad[14] = 0x81;
	bad[15] = 0;
	memcpy(bad + 16, buf + 15, len - 15);
	seal(bad, len + 1);
	ck_assert_int_eq(migrate_record_decode(bad, len + 1, &copy), -EBADMSG);

	memcpy(bad, buf, len - 4); /* "all is missing" spelt out */
	bad[2] |= MIGRATE_REC_EXTENTS;
	memcpy(bad + len - 4, (uint8_t[]){1, 0, 0xf0, 0xa2, 4}, 5);
	seal(bad, len + 5);
	ck_assert_int_eq(migrate_record_decode(bad, len + 5, &copy), -EBADMSG);

	memcpy(bad + len - 4, (uint8_t[]){2, 1, 1, 1, 1}, 5); /* two of it are fine */
	seal(bad, len + 5);
	ck_assert_int_eq(migrate_record_decode(bad, len + 5, &copy), 0);
	migrate_record_clear(&copy);
	memcpy(bad + len - 4, (uint8_t[]){2, 1, 1, 0, 1}, 5); /* but not when they touch */
	seal(bad, len + 5);
	ck_assert_int_eq(migrate_record_decode(bad, len + 5, &copy), -EBADMSG);
	memcpy(bad + len - 4, (uint8_t[]){2, 1, 1, 1, 0}, 5); /* nor an empty one */
	seal(bad, len + 5);
	ck_assert_int_eq(migrate_record_decode(bad, len + 5, &copy), -EBADMSG);
	migrate_record_clear(&rec);
}
END_TEST

static void refused(struct migrate_record *rec, ssize_t error)
{
	uint8_t buf[MIGRATE_REC_MAX];

	ck_assert_int_eq(migrate_record_encode(rec, buf, sizeof(buf)), error);
	migrate_record_clear(rec);
}

START_TEST(fields_out_of_range)
{
	struct migrate_record rec;

	fill_in(&rec, MIGRATE_PARTIAL);
	rec.state = MIGRATE_NORMAL;
	refused(&rec, -EINVAL);
	fill_in(&rec, MIGRATE_PARTIAL);
	rec.binding.len = 0;
	refused(&rec, -EINVAL);
	fill_in(&rec, MIGRATE_PARTIAL);
	migrate_extents_add(&rec.missing, 70000, 70001);
	refused(&rec, -EINVAL);
	fill_in(&rec, MIGRATE_PARTIAL);
	migrate_extents_remove(&rec.missing, 10, 20);
	migrate_extents_add(&rec.dirty, 5, 11);
	refused(&rec, -EINVAL);
	fill_in(&rec, MIGRATE_FILLED);
	migrate_extents_add(&rec.missing, 0, 1);
	refused(&rec, -EINVAL);
	fill_in(&rec, MIGRATE_PARTIAL);
	rec.flags = MIGRATE_REC_RETURNED;
	refused(&rec, -EINVAL);
	fill_in(&rec, MIGRATE_PARTIAL);
	rec.diff_offset = 100;
	rec.diff_len = 29;
	refused(&rec, -EINVAL);
	fill_in(&rec, MIGRATE_UNFILLED);
	rec.flags = MIGRATE_REC_LISTED;
	refused(&rec, -EINVAL);
	fill_in(&rec, MIGRATE_PARTIAL);
	rec.path = strdup("/absolute");
	refused(&rec, -EINVAL);
	fill_in(&rec, MIGRATE_PARTIAL);
	rec.size = (uint64_t)INT64_MAX + 1;
	refused(&rec, -EINVAL);
}
END_TEST

START_TEST(limits)
{
	struct migrate_record rec, copy;
	uint8_t buf[MIGRATE_REC_MAX];
	ssize_t len;

	fill_in(&rec, MIGRATE_PARTIAL);
	rec.missing.n = 0;
	for (uint64_t i = 0; i < MIGRATE_REC_MAX_EXTENTS; i++)
		migrate_extents_add(&rec.missing, 2 * i, 2 * i + 1);
	migrate_extents_copy(&rec.dirty, &rec.missing);
	len = migrate_record_encode(&rec, buf, sizeof(buf));
	ck_assert_int_gt(len, 0);
	ck_assert_int_eq(migrate_record_decode(buf, len, &copy), 0);
	check_equal(&rec, &copy);
	migrate_record_clear(&copy);
	migrate_extents_add(&rec.missing, 60000, 60001);
	refused(&rec, -ENOSPC);

	fill_in(&rec, MIGRATE_UNFILLED);
	rec.path = malloc(MIGRATE_REC_MAX_PATH + 2);
	memset(rec.path, 'x', MIGRATE_REC_MAX_PATH + 1);
	rec.path[MIGRATE_REC_MAX_PATH] = 0;
	rec.handle_len = MIGRATE_HANDLE_MAX;
	len = migrate_record_encode(&rec, buf, sizeof(buf));
	ck_assert_int_gt(len, 0);
	ck_assert_int_eq(migrate_record_decode(buf, len, &copy), 0);
	check_equal(&rec, &copy);
	migrate_record_clear(&copy);
	rec.path[MIGRATE_REC_MAX_PATH] = 'x';
	rec.path[MIGRATE_REC_MAX_PATH + 1] = 0;
	refused(&rec, -ENOSPC);
}
END_TEST

/* What ext4 keeps inside an inode of 256 bytes is 64 bytes of value. */
START_TEST(ordinary_stub_is_small)
{
	struct migrate_record rec;
	uint8_t buf[64];

	fill_in(&rec, MIGRATE_PARTIAL);
	rec.flags = MIGRATE_REC_HANDLE_DIFF;
	rec.diff_len = 8;
	rec.mtime = rec.ctime = 1700000000123456789;
	ck_assert_int_le(migrate_record_encode(&rec, buf, sizeof(buf)), 64);
	ck_assert_int_gt(migrate_record_encode(&rec, buf, sizeof(buf)), 0);
	/* So do 2^42 files and 4 TiB. */
	migrate_extents_clear(&rec.missing);
	rec.fileid = (1ull << 42) - 1;
	rec.size = (1ull << 42) - 1;
	migrate_extents_add(&rec.missing, 0, rec.size);
	ck_assert_int_gt(migrate_record_encode(&rec, buf, sizeof(buf)), 0);
	migrate_record_clear(&rec);
}
END_TEST

/* Flags that follow from the fields may be stale in the structure. */
START_TEST(flags_follow_fields)
{
	struct migrate_record rec, copy;
	uint8_t buf[MIGRATE_REC_MAX];
	ssize_t len;

	fill_in(&rec, MIGRATE_PARTIAL);
	rec.flags = MIGRATE_REC_PATH | MIGRATE_REC_ERROR | MIGRATE_REC_DIRTY | MIGRATE_REC_EXTENTS |
		    MIGRATE_REC_HANDLE_DIFF | MIGRATE_REC_CLIENT;
	rec.handle_len = 4;
	len = migrate_record_encode(&rec, buf, sizeof(buf));
	ck_assert_int_eq(migrate_record_decode(buf, len, &copy), 0);
	ck_assert_uint_eq(copy.flags, MIGRATE_REC_HANDLE | MIGRATE_REC_CLIENT);
	migrate_record_clear(&copy);
	rec.handle_len = 0;
	rec.flags = 0;
	rec.diff_len = 1;
	len = migrate_record_encode(&rec, buf, sizeof(buf));
	ck_assert_int_eq(migrate_record_decode(buf, len, &copy), 0);
	ck_assert_uint_eq(copy.flags, MIGRATE_REC_HANDLE_DIFF);
	migrate_record_clear(&copy);
	migrate_record_clear(&rec);
}
END_TEST

START_TEST(times)
{
	static const int64_t cases[] = {0, 1, -1, 999999999, -1000000000, INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct timespec ts = migrate_timespec(cases[i]);

		ck_assert_int_ge(ts.tv_nsec, 0);
		ck_assert_int_lt(ts.tv_nsec, 1000000000);
		ck_assert_int_eq(migrate_ns(ts), cases[i]);
	}
	ck_assert_int_eq(migrate_ns((struct timespec){.tv_sec = INT64_MAX}), INT64_MAX);
	ck_assert_int_eq(migrate_ns((struct timespec){.tv_sec = -9300000000}), INT64_MIN);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("record_codec");

	tcase_add_test(tcase, round_trips);
	tcase_add_test(tcase, truncations);
	tcase_add_test(tcase, bit_flips);
	tcase_add_test(tcase, canonical);
	tcase_add_test(tcase, fields_out_of_range);
	tcase_add_test(tcase, limits);
	tcase_add_test(tcase, ordinary_stub_is_small);
	tcase_add_test(tcase, flags_follow_fields);
	tcase_add_test(tcase, times);
	return run_case(tcase);
}
