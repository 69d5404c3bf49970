/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of a manifest: what is taken for one is written again as it was. */
#include <string.h>

#include "lib/report/manifest/entry.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proof_entry entry;
	GString *again;

	if (!proof_entry_parse((const char *)data, size, &entry)) {
		REQUIRE(!entry.path && !entry.link);
		return 0;
	}
	again = g_string_new(NULL);
	proof_entry_format(again, &entry);
	REQUIRE(again->len == size + 1 && !memcmp(again->str, data, size));
	REQUIRE(!strstr(entry.path, "//"));
	g_string_free(again, TRUE);
	proof_entry_clear(&entry);
	return 0;
}
