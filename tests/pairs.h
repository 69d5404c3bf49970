/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that may be called by any thread: for ThreadSanitizer, which sees where one of them
 * lacks a lock.  A check program whose locks are GLib's includes core_tsan.h as well. */
#ifndef TESTS_PAIRS_H
#define TESTS_PAIRS_H

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

struct paired_call {
	void (*fn)(void *);
	void *arg;
};

static atomic_bool paired_call_ended;

static inline void *make_paired_call(void *arg)
{
	const struct paired_call *call = arg;

	while (!atomic_load_explicit(&paired_call_ended, memory_order_relaxed))
		sched_yield();
	call->fn(call->arg);
	return NULL;
}

/* In two threads, one before the other: what was first is then no matter of chance, and yet nothing
 * but the locks that they take themselves says so. */
static inline void call_beside(struct paired_call *one, struct paired_call *other)
{
	pthread_t thread;

	atomic_store_explicit(&paired_call_ended, false, memory_order_relaxed);
	ck_assert_int_eq(pthread_create(&thread, NULL, make_paired_call, other), 0);
	one->fn(one->arg);
	atomic_store_explicit(&paired_call_ended, true, memory_order_relaxed);
	pthread_join(thread, NULL);
}

/* Each of the calls beside each of them, and itself. */
static inline void call_in_pairs(struct paired_call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			call_beside(&calls[i], &calls[j]);
}

#endif
