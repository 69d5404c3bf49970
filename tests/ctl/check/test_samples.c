/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/samples.h"
#include "ctl/check/tally.h"
#include "tests/ctl/report/made.h"
#include "tests/retriever/core_tsan.h"
#include "tests/pairs.h"

static void offer(struct samples *samples, unsigned i, uint64_t size, mode_t mode)
{
	struct source_entry entry = {.handle_len = 2, .handle = {1, 2}};
	g_autofree char *path = g_strdup_printf("file \"%u\"\n", i);

	entry.attr = (struct source_attr){.mode = mode, .size = size};
	samples_offer(samples, path, &entry);
}

/* Not the first ones: of many, about half are of the second half. */
START_TEST(by_chance)
{
	struct samples samples;
	unsigned late = 0;

	samples_init(&samples);
	for (unsigned i = 0; i < 20000; i++)
		offer(&samples, i, i + 1, S_IFREG);
	ck_assert_uint_eq(samples.kinds[SAMPLE_SMALL].n, SAMPLES_SMALL);
	for (unsigned i = 0; i < SAMPLES_SMALL; i++)
		late += samples.kinds[SAMPLE_SMALL].at[i].size > 10000;
	ck_assert_uint_ge(late, SAMPLES_SMALL / 4);
	ck_assert_uint_le(late, SAMPLES_SMALL * 3 / 4);
	samples_clear(&samples);
}
END_TEST

START_TEST(files_with_bytes)
{
	struct samples samples;

	samples_init(&samples);
	offer(&samples, 1, 0, S_IFREG);
	offer(&samples, 2, 9, S_IFDIR);
	offer(&samples, 3, TALLY_SMALL, S_IFREG);
	offer(&samples, 4, TALLY_SMALL + 1, S_IFREG);
	ck_assert_uint_eq(samples.kinds[SAMPLE_SMALL].n, 1);
	ck_assert_uint_eq(samples.kinds[SAMPLE_LARGE].n, 1);
	samples_clear(&samples);
}
END_TEST

START_TEST(kept)
{
	static const char *const wrong[] = {"", "1", "1 []", "0 [] a", "x [] a"};
	struct samples samples, again;
	g_autoptr(GKeyFile) state = g_key_file_new();

	samples_init(&samples);
	samples_init(&again);
	offer(&samples, 7, 5, S_IFREG);
	samples_save(&samples, state);
	ck_assert(samples_load(&again, state));
	ck_assert_uint_eq(again.kinds[SAMPLE_SMALL].seen, 1);
	ck_assert_uint_eq(again.kinds[SAMPLE_SMALL].at[0].size, 5);
	ck_assert_str_eq(again.kinds[SAMPLE_SMALL].at[0].object.path, "file \"7\"\n");
	ck_assert_uint_eq(again.kinds[SAMPLE_SMALL].at[0].object.handle_len, 2);
	ck_assert_uint_eq(again.kinds[SAMPLE_SMALL].at[0].object.handle[1], 2);
	samples_clear(&samples);
	samples_clear(&again);
	for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
		samples_init(&again);
		g_key_file_set_string_list(state, "samples", "small", &wrong[i], 1);
		ck_assert_msg(!samples_load(&again, state), "%s", wrong[i]);
		samples_clear(&again);
	}
}
END_TEST

static void offer_one(void *samples)
{
	offer(samples, 1, 5, S_IFREG);
}

static void save_all(void *samples)
{
	g_autoptr(GKeyFile) state = g_key_file_new();

	samples_save(samples, state);
}

START_TEST(several_threads)
{
	struct samples samples;
	struct paired_call calls[] = {{offer_one, &samples}, {save_all, &samples}};

	samples_init(&samples);
	call_in_pairs(calls, G_N_ELEMENTS(calls));
	samples_clear(&samples);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {by_chance, files_with_bytes, kept, several_threads, NULL};

	return run_made("samples", tests);
}
