/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/suite.h"

#include <string.h>

#include "retriever/progress/source_silent.h"

static unsigned seconds, lines;
static char last[300];

static unsigned away(struct backend *backend)
{
	return seconds;
}

static void take_line(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer arg)
{
	g_strlcpy(last, message, sizeof(last));
	lines++;
}

START_TEST(once_away_and_once_back)
{
	static const struct {
		unsigned seconds, lines;
		const char *says;
	} ticks[] = {
		{0, 0, ""},
		{1, 0, ""},
		{59, 0, ""},
		{60, 1, "has not answered for 60 s"},
		{61, 1, ""},
		{5000, 1, ""},
		{7, 1, ""}, /* it has answered once */
		{0, 2, "had not answered for 5000 s"},
		{0, 2, ""},
		{59, 2, ""},
		{0, 2, ""},
		{75, 3, "has not answered for 75 s"},
	};
	const struct backend_ops ops = {.away = away};
	struct backend backend = {.ops = &ops};
	struct volume_config config = {.source = "nfs://old/x"};
	struct retriever *retriever = g_new0(struct retriever, 1);

	retriever->config = &config;
	g_log_set_default_handler(take_line, NULL);
	source_silent_tick(retriever); /* nothing could be opened yet */
	retriever->backend = &backend;
	for (size_t i = 0; i < G_N_ELEMENTS(ticks); i++) {
		seconds = ticks[i].seconds;
		source_silent_tick(retriever);
		ck_assert_uint_eq(lines, ticks[i].lines);
		ck_assert_ptr_nonnull(strstr(last, ticks[i].says));
	}
	ck_assert_ptr_nonnull(strstr(last, config.source));
	g_free(retriever);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("away");

	tcase_add_test(tcase, once_away_and_once_back);
	return run_tcase(tcase);
}
