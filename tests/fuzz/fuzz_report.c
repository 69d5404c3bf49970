/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON of a final report: what is taken names files beside it, in lines. */
#include <string.h>

#include "ctl/report/summary.h"
#include "tests/fuzz/fuzz.h"

static void require_line(const char *text)
{
	REQUIRE(text && !strpbrk(text, "\n\r\t"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = g_strndup((const char *)data, size);
	struct summary *parsed = summary_new(text, size, &error);

	REQUIRE(!parsed == !!error);
	if (!parsed)
		return 0;
	require_line(parsed->volume);
	require_line(parsed->source);
	require_line(parsed->made);
	require_line(parsed->verdict);
	REQUIRE(parsed->parts->len > 0);
	for (guint i = 0; i < parsed->parts->len; i++) {
		const struct final_part *part = parsed->parts->pdata[i];

		require_line(part->file);
		REQUIRE(*part->file && *part->file != '.' && !strchr(part->file, '/'));
		REQUIRE(strlen(part->sha256) == PROOF_HASH_HEX);
	}
	summary_free(parsed);
	return 0;
}
