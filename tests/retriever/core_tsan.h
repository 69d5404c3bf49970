/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The thread sanitizer does not see through GLib's locks, pools and tables, which are not built
 * with it: in its builds the program has its own locks and pools, which do the same, and what uses
 * a table, an array or a queue tells it so first.
 */
#ifndef TESTS_RETRIEVER_CORE_TSAN_H
#define TESTS_RETRIEVER_CORE_TSAN_H

#include <glib.h>
#include <stdatomic.h>

/* Runs after each job that was handed to a pool, where it was: in the builds that have the pools
 * below, and with core_hook.h in all. */
static _Atomic(void (*)(void)) core_pushed;

static inline void core_run_pushed(void)
{
	void (*fn)(void) = atomic_load(&core_pushed);

	if (fn)
		fn();
}

#if defined(__SANITIZE_THREAD__)

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* It does not see that openat() makes a descriptor.  One whose number was a client's socket before
 * would be in a race with the thread that made that. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:connect_socket\n";
}

static inline pthread_mutex_t *core_mutex(GMutex *mutex)
{
	pthread_mutex_t *m = __atomic_load_n((void **)&mutex->p, __ATOMIC_ACQUIRE), *none = NULL;

	if (m)
		return m;
	m = malloc(sizeof(*m));
	pthread_mutex_init(m, NULL);
	if (__atomic_compare_exchange_n((void **)&mutex->p, (void **)&none, m, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return m;
	free(m);
	return none;
}

void g_mutex_init(GMutex *mutex)
{
	mutex->p = NULL;
	core_mutex(mutex);
}

void g_mutex_clear(GMutex *mutex)
{
	pthread_mutex_destroy(core_mutex(mutex));
	free(mutex->p);
	mutex->p = NULL;
}

void g_mutex_lock(GMutex *mutex)
{
	pthread_mutex_lock(core_mutex(mutex));
}

gboolean g_mutex_trylock(GMutex *mutex)
{
	return pthread_mutex_trylock(core_mutex(mutex)) == 0;
}

void g_mutex_unlock(GMutex *mutex)
{
	pthread_mutex_unlock(core_mutex(mutex));
}

static inline pthread_cond_t *core_cond(GCond *cond)
{
	pthread_cond_t *c = __atomic_load_n((void **)&cond->p, __ATOMIC_ACQUIRE), *none = NULL;
	pthread_condattr_t attr;

	if (c)
		return c;
	c = malloc(sizeof(*c));
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(c, &attr);
	if (__atomic_compare_exchange_n((void **)&cond->p, (void **)&none, c, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return c;
	free(c);
	return none;
}

void g_cond_init(GCond *cond)
{
	cond->p = NULL;
	core_cond(cond);
}

void g_cond_clear(GCond *cond)
{
	pthread_cond_destroy(core_cond(cond));
	free(cond->p);
	cond->p = NULL;
}

void g_cond_wait(GCond *cond, GMutex *mutex)
{
	pthread_cond_wait(core_cond(cond), core_mutex(mutex));
}

gboolean g_cond_wait_until(GCond *cond, GMutex *mutex, gint64 end)
{
	const struct timespec until = {end / G_USEC_PER_SEC, end % G_USEC_PER_SEC * 1000};

	return pthread_cond_timedwait(core_cond(cond), core_mutex(mutex), &until) == 0;
}

void g_cond_signal(GCond *cond)
{
	pthread_cond_signal(core_cond(cond));
}

void g_cond_broadcast(GCond *cond)
{
	pthread_cond_broadcast(core_cond(cond));
}

static inline pthread_rwlock_t *core_rw_lock(GRWLock *lock)
{
	return lock->p;
}

void g_rw_lock_init(GRWLock *lock)
{
	lock->p = malloc(sizeof(pthread_rwlock_t));
	pthread_rwlock_init(lock->p, NULL);
}

void g_rw_lock_clear(GRWLock *lock)
{
	pthread_rwlock_destroy(core_rw_lock(lock));
	free(lock->p);
}

void g_rw_lock_reader_lock(GRWLock *lock)
{
	pthread_rwlock_rdlock(core_rw_lock(lock));
}

void g_rw_lock_reader_unlock(GRWLock *lock)
{
	pthread_rwlock_unlock(core_rw_lock(lock));
}

void g_rw_lock_writer_lock(GRWLock *lock)
{
	pthread_rwlock_wrlock(core_rw_lock(lock));
}

void g_rw_lock_writer_unlock(GRWLock *lock)
{
	pthread_rwlock_unlock(core_rw_lock(lock));
}

/* ---- pools ---- */

struct core_pool {
	GThreadPool base;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	GQueue queue;
	int max, n;
	bool stop;
	pthread_t threads[16];
};

static void *core_pool_run(void *arg)
{
	struct core_pool *pool = arg;

	pthread_mutex_lock(&pool->lock);
	while (pool->queue.length || !pool->stop) {
		gpointer data = g_queue_pop_head(&pool->queue);

		if (!data) {
			pthread_cond_wait(&pool->changed, &pool->lock);
			continue;
		}
		pthread_mutex_unlock(&pool->lock);
		pool->base.func(data, pool->base.user_data);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

GThreadPool *g_thread_pool_new(GFunc fn, gpointer user, gint max, gboolean exclusive,
			       GError **error)
{
	struct core_pool *pool = g_new0(struct core_pool, 1);

	pool->base.func = fn;
	pool->base.user_data = user;
	pool->max = MIN(max, (gint)G_N_ELEMENTS(pool->threads));
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->changed, NULL);
	return &pool->base;
}

gboolean g_thread_pool_push(GThreadPool *base, gpointer data, GError **error)
{
	struct core_pool *pool = (struct core_pool *)base;

	pthread_mutex_lock(&pool->lock);
	g_queue_push_tail(&pool->queue, data);
	if (pool->n < pool->max)
		pthread_create(&pool->threads[pool->n++], NULL, core_pool_run, pool);
	pthread_cond_signal(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	core_run_pushed();
	return TRUE;
}

void g_thread_pool_free(GThreadPool *base, gboolean immediate, gboolean wait)
{
	struct core_pool *pool = (struct core_pool *)base;

	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	for (int i = 0; i < pool->n; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
	g_free(pool);
}

/* ---- tables, arrays and queues ---- */

void __tsan_read_range(void *at, long size);
void __tsan_write_range(void *at, long size);

/* The first argument is called a, the others b and c. */
#define CORE_TOLD(how, type, name, given, ...)                                                     \
	type name(__VA_ARGS__)                                                                     \
	{                                                                                          \
		static _Atomic(void *) next;                                                       \
		void *fn = atomic_load_explicit(&next, memory_order_relaxed);                      \
                                                                                                   \
		if (!fn) {                                                                         \
			fn = dlsym(RTLD_NEXT, #name);                                              \
			atomic_store_explicit(&next, fn, memory_order_relaxed);                    \
		}                                                                                  \
		__tsan_##how##_range(a, sizeof(*a));                                               \
		return ((type(*)(__VA_ARGS__))fn)given;                                            \
	}
/* What glib.h has no size of. */
struct _GHashTable {
	void *told;
};

CORE_TOLD(read, gpointer, g_hash_table_lookup, (a, b), GHashTable *a, gconstpointer b)
CORE_TOLD(read, gboolean, g_hash_table_contains, (a, b), GHashTable *a, gconstpointer b)
CORE_TOLD(read, guint, g_hash_table_size, (a), GHashTable *a)
CORE_TOLD(write, gboolean, g_hash_table_insert, (a, b, c), GHashTable *a, gpointer b, gpointer c)
CORE_TOLD(write, gboolean, g_hash_table_replace, (a, b, c), GHashTable *a, gpointer b, gpointer c)
CORE_TOLD(write, gboolean, g_hash_table_add, (a, b), GHashTable *a, gpointer b)
CORE_TOLD(write, gboolean, g_hash_table_remove, (a, b), GHashTable *a, gconstpointer b)
CORE_TOLD(write, void, g_hash_table_remove_all, (a), GHashTable *a)
CORE_TOLD(write, GArray *, g_array_append_vals, (a, b, c), GArray *a, gconstpointer b, guint c)
CORE_TOLD(write, GArray *, g_array_set_size, (a, b), GArray *a, guint b)
CORE_TOLD(write, GByteArray *, g_byte_array_append, (a, b, c), GByteArray *a, const guint8 *b,
	  guint c)
CORE_TOLD(write, void, g_ptr_array_add, (a, b), GPtrArray *a, gpointer b)
CORE_TOLD(write, void, g_ptr_array_set_size, (a, b), GPtrArray *a, gint b)
CORE_TOLD(write, gpointer, g_ptr_array_remove_index, (a, b), GPtrArray *a, guint b)
CORE_TOLD(write, void, g_queue_push_tail, (a, b), GQueue *a, gpointer b)
CORE_TOLD(write, void, g_queue_push_tail_link, (a, b), GQueue *a, GList *b)
CORE_TOLD(write, void, g_queue_push_head_link, (a, b), GQueue *a, GList *b)
CORE_TOLD(write, void, g_queue_unlink, (a, b), GQueue *a, GList *b)
CORE_TOLD(write, gpointer, g_queue_pop_head, (a), GQueue *a)
CORE_TOLD(write, GList *, g_queue_pop_head_link, (a), GQueue *a)
CORE_TOLD(write, gpointer, g_queue_pop_tail, (a), GQueue *a)
CORE_TOLD(write, GList *, g_queue_pop_tail_link, (a), GQueue *a)

#endif
#endif
