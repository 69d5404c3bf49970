/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* The target; libFuzzer's name for it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): release builds define NDEBUG. */
#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

#endif
