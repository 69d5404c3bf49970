/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_RETRIEVER_CORE_STEP_H
#define TESTS_RETRIEVER_CORE_STEP_H

#include <stdlib.h>

/* Tests that kill a retriever at each of its steps do so at some in the short run, and under a
 * sanitizer, which sees nothing of what a kill leaves. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CORE_STEP 5
#else
#define CORE_STEP (getenv("QUICKMIGRATE_SHORT") ? 5 : 1)
#endif

#endif
