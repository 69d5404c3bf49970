/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that may be called by any thread: for ThreadSanitizer, which sees where one of them
 * lacks a lock.  A check program whose locks are GLib's includes core_tsan.h as well. */
#ifndef TESTS_PAIRS_H
#define TESTS_PAIRS_H

#include <check.h>
#include <pthread.h>

struct paired_call {
	void (*fn)(void *);
	void *arg;
};

static inline void *paired_call_made(void *arg)
{
	const struct paired_call *call = arg;

	call->fn(call->arg);
	return NULL;
}

static inline void call_beside(struct paired_call *one, struct paired_call *other)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, paired_call_made, other), 0);
	paired_call_made(one);
	pthread_join(thread, NULL);
}

/* Each of the calls beside each of them, in two threads of which nothing but the locks that they
 * take themselves says who was first. */
static inline void call_in_pairs(struct paired_call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			call_beside(&calls[i], &calls[j]);
}

#endif
