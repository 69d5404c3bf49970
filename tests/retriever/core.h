/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A whole retriever in a check program: a source tree, a new tree, the fault decorator between
 * them, and a door.  check runs each test in a process of its own, so what a failed test leaves
 * open does not matter; only the directories are removed, by the fixture, in the parent.
 *
 * Tests wait for events, never for time.  check's time limit ends one that waits for ever.
 */
#ifndef TESTS_RETRIEVER_CORE_H
#define TESTS_RETRIEVER_CORE_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/retriever/core_step.h"
#include "tests/retriever/core_tsan.h"

#include "lib/config/owners.h"
#include "lib/config/rules.h"
#include "lib/source/file/file_source.h"
#include "lib/source/gate.h"
#include "retriever/names/prefill.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/object.h"
#include "retriever/objects/private.h"
#include "retriever/objects/retriever.h"
#include "retriever/objects/state.h"
#include "retriever/progress/counters_file.h"
#include "retriever/start.h"
#include "retriever/volume/attach.h"
#include "retriever/volume/finalize.h"
#include "retriever/volume/verify.h"
#include "tests/retriever/fault_backend.h"
#include "tests/suite.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

struct core {
	char dir[96];
	char *source, *root, *socket;
	enum stub_attributes attributes;
	struct retriever *retriever;
	struct backend *fault;
	struct backend *(*wrap)(struct core *core, struct backend *inner); /* below it, or NULL */
	char *map_users, *map_groups;
	enum takeover takeover;
	bool installed; /* as if it were of the installed configuration */
	bool prefills; /* fills directories that were looked at, when no demand waits for a while */
	GThread *loop;
	pid_t child;

	struct migrate_volume *volume;
	pthread_t dispatcher;
	atomic_bool disconnect;
};

/* ---- trees ---- */

static char core_base[64]; /* made before check forks, removed after */

static inline int core_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *ftw)
{
	return remove(path);
}

static inline void core_fixture_setup(void)
{
	umask(0);
	make_scratch(core_base, "core");
}

static inline void core_fixture_teardown(void)
{
	/* rm(1) removes what is deeper than a path can be long */
	g_autofree char *command = g_strconcat("rm -rf --one-file-system ", core_base, NULL);

	ck_assert_int_eq(system(command), 0);
}

/* The byte that a file made with seed has at offset; never zero. */
static inline uint8_t core_byte(unsigned seed, uint64_t offset)
{
	uint64_t x = (offset + 1) * 0x9e3779b97f4a7c15u + seed * 0xff51afd7ed558ccdu;

	return 1 + (x >> 33) % 255;
}

static inline uint8_t *core_bytes(unsigned seed, uint64_t offset, size_t len)
{
	uint8_t *data = g_malloc(len + 1);

	for (size_t i = 0; i < len; i++)
		data[i] = core_byte(seed, offset + i);
	return data;
}

static inline char *core_path(struct core *core, const char *name)
{
	return g_strconcat(core->root, "/", name, NULL);
}

/* In the source, with the directories that lead there, and a mtime of its own. */
static inline void core_source_file(struct core *core, const char *name, uint64_t size,
				    unsigned seed)
{
	g_autofree char *path = g_strconcat(core->source, "/", name, NULL);
	g_autofree char *dir = g_path_get_dirname(path);
	g_autofree uint8_t *data = core_bytes(seed, 0, size);
	const struct timespec times[2] = {{1000000000 + seed, 5}, {1100000000 + seed, 123456789}};
	int fd;

	ck_assert_int_eq(g_mkdir_with_parents(dir, 0755), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, size), size);
	ck_assert_int_eq(futimens(fd, times), 0);
	close(fd);
}

static inline void core_source_rename(struct core *core, const char *from, const char *to)
{
	g_autofree char *a = g_strconcat(core->source, "/", from, NULL);
	g_autofree char *b = g_strconcat(core->source, "/", to, NULL);

	ck_assert_int_eq(rename(a, b), 0);
}

static inline void core_make(struct core *core)
{
	static unsigned serial;

	ck_assert_str_ne(core_base, ""); /* the test is of a core_tcase() */
	memset(core, 0, sizeof(*core));
	core->attributes = STUB_EAGER;
	do /* the numbers of processes come again */
		ck_assert_int_lt(g_snprintf(core->dir, sizeof(core->dir), "%s/%d-%u", core_base,
					    (int)getpid(), serial++),
				 sizeof(core->dir));
	while (mkdir(core->dir, 0755) < 0 && errno == EEXIST);
	core->source = g_strconcat(core->dir, "/old", NULL);
	core->root = g_strconcat(core->dir, "/new", NULL);
	core->socket = g_strconcat(core->dir, "/sock", NULL);
	ck_assert_int_eq(mkdir(core->source, 0755), 0);
	ck_assert_int_eq(mkdir(core->root, 0755), 0);
}

/* ---- the retriever ---- */

static atomic_uint core_leaks; /* what object_table_free() warns of */

static inline void core_log(const gchar *domain, GLogLevelFlags level, const gchar *message,
			    gpointer user)
{
	if (strstr(message, "still in use"))
		atomic_fetch_add(&core_leaks, 1);
	if (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR) || getenv("CORE_VERBOSE"))
		fprintf(stderr, "%s\n", message);
	if (level & G_LOG_LEVEL_CRITICAL)
		abort();
}

/* A rule of the volume, from now on. */
static inline void core_rule(struct core *core, enum rule_kind kind, const char *pattern)
{
	struct volume_config *config = (struct volume_config *)core->retriever->config;

	if (!config->rules)
		config->rules = rules_new(false);
	ck_assert_ptr_null(rules_add(config->rules, kind, pattern));
}

static inline struct volume_config *core_config(struct core *core)
{
	struct volume_config *config = g_new0(struct volume_config, 1);

	config->name = g_strdup("test");
	config->root = g_strdup(core->root);
	config->source = g_strconcat("file://", core->source, NULL);
	config->socket = g_strdup(core->socket);
	config->report = g_strconcat(core->dir, "/kept/report", NULL);
	config->takeover = core->takeover;
	config->installed = core->installed;
	config->takeover_file = g_strconcat(core->dir, "/kept/takeover", NULL);
	config->connections = 1;
	config->demand_connections = 1;
	config->hold_ms = 500;
	config->crawler_workers = 4;
	config->stub_attributes = core->attributes;
	if (core->map_users)
		config->map_users = owners_parse(core->map_users, NULL);
	if (core->map_groups)
		config->map_groups = owners_parse(core->map_groups, NULL);
	return config;
}

/* Below the gate, as an old server's answers are. */
static inline void core_put_fault(struct core *core)
{
	struct retriever *retriever = core->retriever;
	struct backend_config config = {
		.url = retriever->config->source, .connections = 1, .demand_connections = 1};
	struct source_object root = {0};
	struct source_attr attr;
	struct backend *inner = backend_file_ops.open(&config, &root, &attr, NULL);

	ck_assert_ptr_nonnull(inner);
	source_object_clear(&root);
	if (core->wrap) {
		inner = core->wrap(core, inner);
		retriever->carries = inner->ops->carries(inner);
	}
	core->fault = backend_fault_new(inner);
	gate_close(retriever->gate);
	gate_free(retriever->gate);
	retriever->backend->ops->close(retriever->backend);
	retriever->backend = core->fault;
	retriever->gate = gate_new(retriever->backend, 0);
}

/* The error where it cannot be opened (g_free), NULL otherwise. */
static inline char *core_try_open(struct core *core)
{
	GError *error = NULL;
	char *message;

	signal(SIGPIPE, SIG_IGN);
	g_log_set_default_handler(core_log, NULL);
	core->retriever = retriever_open(core_config(core), &error);
	if (core->retriever) {
		if (!core->prefills)
			prefill_stop(core->retriever->prefill);
		core_put_fault(core);
		return NULL;
	}
	message = g_strdup(error->message);
	g_error_free(error);
	return message;
}

static inline void core_open(struct core *core)
{
	char *error = core_try_open(core);

	ck_assert_msg(!error, "%s", error);
}

static inline void core_attach(struct core *core)
{
	g_autofree char *message = NULL;
	int ret = attach_volume(core->retriever, &(struct attach){0}, &message);

	ck_assert_msg(ret == 0, "%s", message);
}

static inline gpointer core_loop(gpointer loop)
{
	g_main_loop_run(loop);
	return NULL;
}

static inline void core_run(struct core *core)
{
	core->loop = g_thread_new("loop", core_loop, core->retriever->loop);
	while (!g_main_loop_is_running(core->retriever->loop))
		sched_yield();
}

static inline void core_stop(struct core *core)
{
	if (!core->loop)
		return;
	g_main_loop_quit(core->retriever->loop);
	g_thread_join(core->loop);
	core->loop = NULL;
}

/* Fails the test when an object is still referenced. */
static inline void core_close(struct core *core)
{
	core_stop(core);
	retriever_close(core->retriever);
	core->retriever = NULL;
	ck_assert_uint_eq(atomic_load(&core_leaks), 0);
}

/* ---- a door ---- */

static inline void *core_dispatch(void *arg)
{
	struct core *core = arg;

	while (!atomic_load(&core->disconnect))
		migrate_volume_dispatch(core->volume, -1);
	return NULL;
}

static inline void core_connect(struct core *core)
{
	ck_assert_int_eq(migrate_volume_new("test", core->socket, MIGRATE_ROLE_DOOR, &core->volume),
			 0);
	atomic_store(&core->disconnect, false);
	ck_assert_int_eq(pthread_create(&core->dispatcher, NULL, core_dispatch, core), 0);
}

static inline void core_disconnect(struct core *core)
{
	atomic_store(&core->disconnect, true);
	migrate_volume_wake(core->volume);
	pthread_join(core->dispatcher, NULL);
	migrate_volume_free(core->volume);
	core->volume = NULL;
}

static inline void core_free(struct core *core)
{
	if (core->volume)
		core_disconnect(core);
	if (core->retriever)
		core_close(core);
	g_free(core->source);
	g_free(core->root);
	g_free(core->socket);
	g_free(core->map_users);
	g_free(core->map_groups);
}

/* For the end of a test: closes its last descriptor, too. */
static inline void core_free_with(struct core *core, int fd)
{
	close(fd);
	core_free(core);
}

/* A retriever in this process, attached, with a door. */
static inline void core_start(struct core *core)
{
	core_open(core);
	if (volume_state(core->retriever) == VOLUME_UNATTACHED)
		core_attach(core);
	core_run(core);
	core_connect(core);
}

/* Closes the retriever in order and opens it again; the door stays. */
static inline void core_restart(struct core *core)
{
	core_close(core);
	core_open(core);
	core_run(core);
}

/* ---- requests that are waited for ---- */

#define CORE_WAIT(waiter, call)                                                                    \
	({                                                                                         \
		struct migrate_waiter *waiter = migrate_waiter_new();                              \
		ck_assert_uint_ne(call, 0);                                                        \
		waiter;                                                                            \
	})

static inline int core_wait(struct migrate_waiter *waiter)
{
	return migrate_waiter_wait(waiter, NULL, -1);
}

static inline struct migrate_waiter *core_ask_range(struct core *core, int fd, uint64_t offset,
						    uint64_t length, unsigned flags)
{
	return CORE_WAIT(w, migrate_fetch_range(core->volume, fd, offset, length, flags,
						migrate_waiter_done, w));
}

static inline int core_range(struct core *core, int fd, uint64_t offset, uint64_t length)
{
	return core_wait(core_ask_range(core, fd, offset, length, 0));
}

static inline int core_name_in(struct core *core, int fd, const char *name)
{
	return core_wait(CORE_WAIT(
		w, migrate_fetch_name(core->volume, fd, name, 0, migrate_waiter_done, w)));
}

static inline struct migrate_waiter *core_ask_fill(struct core *core, int fd, unsigned flags)
{
	return CORE_WAIT(w,
			 migrate_fill_directory(core->volume, fd, flags, migrate_waiter_done, w));
}

static inline int core_finish(struct core *core, int fd)
{
	return core_wait(
		CORE_WAIT(w, migrate_finish_directory(core->volume, fd, migrate_waiter_done, w)));
}

static inline int core_sync(struct core *core, int fd)
{
	return core_wait(CORE_WAIT(w, migrate_sync(core->volume, fd, migrate_waiter_done, w)));
}

static inline struct migrate_waiter *core_ask_begin(struct core *core, int fd, int dir_fd,
						    enum migrate_change change, uint64_t offset,
						    uint64_t length, uint64_t *id)
{
	return CORE_WAIT(w, *id = migrate_begin(core->volume, fd, dir_fd, change, offset, length,
						migrate_waiter_done, w));
}

static inline int core_begin(struct core *core, int fd, int dir_fd, enum migrate_change change,
			     uint64_t offset, uint64_t length, uint64_t *id)
{
	return core_wait(core_ask_begin(core, fd, dir_fd, change, offset, length, id));
}

static inline int core_end(struct core *core, uint64_t begun, bool changed, bool durable,
			   uint64_t offset, uint64_t length)
{
	return core_wait(CORE_WAIT(w, migrate_end(core->volume, begun, changed, durable, offset,
						  length, migrate_waiter_done, w)));
}

/* The door's loop of migrate.h, with made-up bytes. */
static inline int core_write(struct core *core, int fd, uint64_t offset, size_t length,
			     unsigned seed, bool durable)
{
	g_autofree uint8_t *data = core_bytes(seed, offset, length);
	uint64_t id;
	int ret;

	do {
		ret = core_begin(core, fd, -1, MIGRATE_WRITE, offset, length, &id);
		if (ret)
			continue;
		ck_assert_int_eq(pwrite(fd, data, length, offset), length);
		ret = core_end(core, id, true, durable, offset, length);
	} while (ret == -ECONNRESET);
	return ret;
}

static inline int core_truncate(struct core *core, int fd, uint64_t size)
{
	uint64_t id;
	int ret;

	do {
		ret = core_begin(core, fd, -1, MIGRATE_TRUNCATE, size, 0, &id);
		if (ret)
			continue;
		ck_assert_int_eq(ftruncate(fd, size), 0);
		ret = core_end(core, id, true, false, size, 0);
	} while (ret == -ECONNRESET);
	return ret;
}

/* ---- migratectl ---- */

static inline void core_text_done(void *arg, int status, const char *text)
{
	char **out = arg;

	*out = g_strdup_printf("%d %s", status, text);
}

/* "STATUS TEXT"; g_free. */
static inline char *core_control(struct core *core, const char *command)
{
	struct migrate_volume *volume;
	char *text = NULL;

	ck_assert_int_eq(migrate_volume_new("test", core->socket, MIGRATE_ROLE_CONTROL, &volume),
			 0);
	ck_assert_uint_ne(migrate_control(volume, command, core_text_done, &text), 0);
	while (!text)
		migrate_volume_dispatch(volume, -1);
	migrate_volume_free(volume);
	return text;
}

static inline void core_expect_answer(struct core *core, const char *command, const char *part)
{
	g_autofree char *text = core_control(core, command);

	ck_assert_msg(strstr(text, part) != NULL, "%s: %s", command, text);
}

/* ---- what a client sees ---- */

static inline int core_root(struct core *core)
{
	int fd = open(core->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* Opens it as a door does: every name on the way is asked for. */
static inline int core_lookup(struct core *core, const char *path, int flags)
{
	g_auto(GStrv) names = g_strsplit(path, "/", -1);
	int fd = core_root(core);

	for (char **name = names; *name; name++) {
		int ret = core_name_in(core, fd, *name), next;

		if (ret < 0) {
			close(fd);
			errno = -ret;
			return -1;
		}
		next = openat(fd, *name,
			      name[1] ? O_RDONLY | O_DIRECTORY | O_CLOEXEC
				      : flags | O_NOFOLLOW | O_CLOEXEC);
		close(fd);
		fd = next;
		if (fd < 0)
			return -1;
	}
	return fd;
}

static inline int core_find(struct core *core, const char *path, int flags)
{
	int fd = core_lookup(core, path, flags);

	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	return fd;
}

/* Begins with the one file "f" on the old server, of pattern 1; a descriptor of its stub. */
static inline int core_with_file(struct core *core, uint64_t size, int flags)
{
	core_make(core);
	core_source_file(core, "f", size, 1);
	core_start(core);
	return core_find(core, "f", flags);
}

static inline enum migrate_state core_state(int fd)
{
	struct migrate_stub stub;
	enum migrate_state state;

	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	state = stub.state;
	migrate_stub_clear(&stub);
	return state;
}

/* What the file has is made durable, and nothing of it is missing. */
static inline void core_sync_normal(struct core *core, int fd)
{
	ck_assert_int_eq(core_sync(core, fd), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
}

static inline bool core_present(int fd, uint64_t offset, uint64_t length)
{
	struct migrate_stub stub;
	bool present;

	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	present = migrate_stub_present(&stub, offset, length);
	migrate_stub_clear(&stub);
	return present;
}

static inline uint64_t core_missing(int fd)
{
	struct migrate_record rec;
	uint64_t bytes = 0;
	int ret = migrate_record_load(fd, &rec);

	ck_assert_int_ge(ret, 0);
	if (ret) {
		bytes = migrate_extents_bytes(&rec.missing);
		migrate_record_clear(&rec);
	}
	return bytes;
}

static inline void core_expect(int fd, uint64_t offset, size_t length, unsigned seed)
{
	g_autofree uint8_t *want = core_bytes(seed, offset, length), *got = g_malloc0(length + 1);

	ck_assert_int_eq(pread(fd, got, length, offset), length);
	for (size_t i = 0; i < length; i++) /* every assertion is a message to check */
		if (got[i] != want[i])
			ck_abort_msg("byte %zu is %u, not %u", (size_t)offset + i, got[i], want[i]);
}

static inline void core_expect_zeros(int fd, uint64_t offset, size_t length)
{
	g_autofree uint8_t *got = g_malloc(length + 1);

	ck_assert_int_eq(pread(fd, got, length, offset), length);
	for (size_t i = 0; i < length; i++)
		if (got[i])
			ck_abort_msg("byte %zu is %u, not 0", (size_t)offset + i, got[i]);
}

/* ---- main ---- */

/* Tests that call core_make(): their trees are in a directory that is removed at the end. */
static inline TCase *core_tcase(const char *name, double seconds)
{
	TCase *tcase = tcase_create(name);

	tcase_add_unchecked_fixture(tcase, core_fixture_setup, core_fixture_teardown);
	tcase_set_timeout(tcase, seconds);
	return tcase;
}

#endif
