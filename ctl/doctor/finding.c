/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/doctor/finding.h"

#include <stdarg.h>

#include "lib/base/text.h"

static void free_finding(gpointer arg)
{
	struct finding *finding = arg;

	g_free(finding->seen);
	g_free(finding->remedy);
	g_free(finding);
}

GPtrArray *findings_new(void)
{
	return g_ptr_array_new_with_free_func(free_finding);
}

void findings_add(GPtrArray *findings, enum finding_level level, const char *what,
		  const char *remedy, const char *format, ...)
{
	struct finding *finding = g_new0(struct finding, 1);
	va_list args;

	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	finding->level = level;
	finding->what = what;
	finding->seen = text_printable(text);
	finding->remedy = text_printable(remedy ? remedy : "");
	g_ptr_array_add(findings, finding);
}

enum finding_level findings_worst(const GPtrArray *findings)
{
	enum finding_level worst = FINDING_OK;

	for (guint i = 0; i < findings->len; i++)
		worst = MAX(worst, ((const struct finding *)findings->pdata[i])->level);
	return worst;
}

const char *finding_word(enum finding_level level)
{
	return (const char *const[]){"ok", "warning", "fault"}[level];
}

char *findings_text(const GPtrArray *findings)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = findings->pdata[i];

		g_string_append_printf(text, "%-8s %-13s %s%s%s\n", finding_word(finding->level),
				       finding->what, finding->seen, *finding->remedy ? "; " : "",
				       finding->remedy);
	}
	return g_string_free(text, FALSE);
}

char *finding_ask(const char *const *argv)
{
	g_autofree char *text = NULL;

	if (!g_spawn_sync(NULL, (char **)argv, NULL,
			  G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &text, NULL,
			  NULL, NULL))
		return NULL;
	return *g_strstrip(text) ? g_steal_pointer(&text) : NULL;
}
