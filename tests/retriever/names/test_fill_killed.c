/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fill that is killed in the middle goes on where it was: what is whole is not read again. */
#include "tests/retriever/core_directory.h"

#include "lib/source/backend.h"

#define FILES 60
#define LINKS 5
#define PAIR  FILES /* of the counts: a file with two names */

/* What becomes of the bytes that are asked for in the first life. */
enum { ANSWERED, ANSWERED_LATE, NEVER, FATES };

/* Between the test and the retrievers that it has killed. */
static struct {
	atomic_uint bytes[FILES + 1]; /* how often they were asked for, by file */
	atomic_uint texts;	      /* of symbolic links */
	atomic_bool reborn;
	sem_t late; /* those that are answered late may be now */
} * counted;

static GQueue late = G_QUEUE_INIT;
static GMutex late_lock;
static bool nothing_else; /* is to be asked about a file */

static struct migrate_binding handles[FILES + 1]; /* of the old files */

/* FILES + 1: none of ours. */
static unsigned file_of_request(const struct backend_request *req)
{
	unsigned i = 0;

	/* the kernel's handle is the last part of the old server's */
	while (i <= FILES && (req->object.handle_len < handles[i].len ||
			      memcmp(req->object.handle + req->object.handle_len - handles[i].len,
				     handles[i].bytes, handles[i].len) != 0))
		i++;
	return i;
}

static void pass(struct backend *backend, struct backend_request *req)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	inner->ops->submit(inner, req);
}

static void count_submit(struct backend *backend, struct backend_request *req)
{
	unsigned file = file_of_request(req), fate;
	bool bytes = req->op == BACKEND_READ || (req->op == BACKEND_XATTRS && req->count);

	if (req->op == BACKEND_READLINK)
		atomic_fetch_add(&counted->texts, 1);
	if (!bytes || file > FILES) {
		pass(backend, req);
		return;
	}
	atomic_fetch_add(&counted->bytes[file], 1);
	fate = file == PAIR || atomic_load(&counted->reborn) ? ANSWERED : file % FATES;
	if (fate == ANSWERED) {
		pass(backend, req);
	} else if (fate == ANSWERED_LATE) {
		g_mutex_lock(&late_lock);
		g_queue_push_tail(&late, req);
		g_mutex_unlock(&late_lock);
	}
}

static gpointer answer_late(gpointer backend)
{
	struct backend_request *req;

	while (sem_wait(&counted->late) < 0)
		continue;
	g_mutex_lock(&late_lock);
	while ((req = g_queue_pop_head(&late)))
		pass(backend, req);
	g_mutex_unlock(&late_lock);
	return NULL;
}

static unsigned carries(struct backend *backend)
{
	return nothing_else ? 0 : BACKEND_CARRIES_ACL;
}

static void count_close(struct backend *backend)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	inner->ops->close(inner);
	g_free(backend);
}

static const struct backend_ops count_ops = {
	.scheme = "counting",
	.close = count_close,
	.submit = count_submit,
	.max_read = backend_layer_max_read,
	.away = backend_layer_away,
	.carries = carries,
};

static struct backend *count_wrap(struct core *c, struct backend *inner)
{
	struct backend_layer *layer = g_new0(struct backend_layer, 1);

	layer->base.ops = &count_ops;
	layer->inner = inner;
	g_thread_unref(g_thread_new("late", answer_late, layer));
	return &layer->base;
}

static void make_file(unsigned i, const char *name, uint64_t size)
{
	g_autofree char *path = g_strconcat(core.source, "/", name, NULL);
	int fd;

	core_source_file(&core, name, size, i);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(migrate_binding_get(fd, "", &handles[i]), 0);
	close(fd);
}

static void make(void)
{
	counted = mmap(NULL, sizeof(*counted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	ck_assert_ptr_ne(counted, MAP_FAILED);
	ck_assert_int_eq(sem_init(&counted->late, 1, 0), 0);
	core_make(&core);
	core.wrap = count_wrap;
	for (unsigned i = 0; i < FILES; i++) {
		g_autofree char *name = g_strdup_printf("d/f%u", i);

		make_file(i, name, 100 + i);
	}
	make_file(PAIR, "d/pair1", 5000);
	source_link("d/pair1", "d/pair2");
	for (unsigned i = 0; i < LINKS; i++) {
		g_autofree char *path = g_strdup_printf("%s/d/l%u", core.source, i);

		ck_assert_int_eq(symlink("elsewhere", path), 0);
	}
}

static int new_life(void)
{
	core_supervise(&core, 0);
	core_connect(&core);
	return core_find(&core, "d", O_RDONLY | O_DIRECTORY);
}

static struct migrate_waiter *ask_for_all(int dir)
{
	return core_ask_fill(&core, dir, MIGRATE_BACKGROUND | MIGRATE_DATA);
}

static bool is_there(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_whole(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	bool whole = fd >= 0 && core_state(fd) == MIGRATE_NORMAL;

	if (fd >= 0)
		close(fd);
	return whole;
}

static void wait_until(bool (*is)(int dir, const char *name), int dir, const char *name)
{
	while (!is(dir, name))
		sched_yield();
}

/* Until a third is whole, and another third has its bytes and may be durable or not. */
static void live_to_the_middle(int dir)
{
	char name[16];

	for (unsigned i = ANSWERED; i < FILES; i += FATES) {
		g_snprintf(name, sizeof(name), "f%u", i);
		wait_until(is_whole, dir, name);
	}
	for (unsigned i = 0; i < LINKS; i++) {
		g_snprintf(name, sizeof(name), "l%u", i);
		wait_until(is_there, dir, name);
	}
	wait_until(is_there, dir, "pair1");
	wait_until(is_there, dir, "pair2");
	sem_post(&counted->late);
	for (unsigned i = ANSWERED_LATE; i < FILES; i += FATES) {
		g_snprintf(name, sizeof(name), "f%u", i);
		wait_until(is_there, dir, name);
	}
}

static void expect_bytes(int dir, const char *name, uint64_t size, unsigned seed)
{
	int fd = open_below(dir, name, O_RDONLY);

	core_expect(fd, 0, size, seed);
	close(fd);
}

START_TEST(what_is_whole_is_not_read_again)
{
	bool whole[FILES];
	struct migrate_waiter *w;
	char name[16];
	int dir;

	nothing_else = _i;
	make();
	dir = new_life();
	w = ask_for_all(dir);
	live_to_the_middle(dir);
	core_end_supervision(&core);
	core_disconnect(&core);
	core_wait(w);

	for (unsigned i = 0; i < FILES; i++) {
		g_snprintf(name, sizeof(name), "f%u", i);
		whole[i] = is_whole(dir, name);
		ck_assert_int_eq(is_there(dir, name), i % FATES != NEVER);
		ck_assert(whole[i] || i % FATES != ANSWERED);
		ck_assert_uint_eq(atomic_exchange(&counted->bytes[i], 0), 1);
	}
	/* one of its names brings nothing that another brings too */
	ck_assert_uint_le(atomic_load(&counted->bytes[PAIR]), 1);
	ck_assert_uint_eq(atomic_exchange(&counted->texts, 0), LINKS);
	close(dir);

	atomic_store(&counted->reborn, true);
	dir = new_life();
	ck_assert_int_eq(core_wait(ask_for_all(dir)), 0);
	for (unsigned i = 0; i < FILES; i++) {
		g_snprintf(name, sizeof(name), "f%u", i);
		ck_assert_uint_eq(atomic_load(&counted->bytes[i]), !whole[i]);
		expect_bytes(dir, name, 100 + i, i);
	}
	ck_assert_uint_eq(atomic_load(&counted->bytes[PAIR]), 1);
	expect_bytes(dir, "pair2", 5000, PAIR);
	ck_assert_uint_eq(atomic_load(&counted->texts), 0);
	core_disconnect(&core);
	core_end_supervision(&core);
	core_free_with(&core, dir);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("killed", 120);

	tcase_add_loop_test(tcase, what_is_whole_is_not_read_again, 0, 2);
	return run_tcase(tcase);
}
