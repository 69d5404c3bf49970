/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/proof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/advice.h"
#include "lib/base/filetree.h"
#include "lib/base/thread.h"
#include "lib/report/losses.h"
#include "retriever/compare/findings.h"
#include "retriever/compare/visit.h"
#include "retriever/objects/state.h"
#include "retriever/volume/proof_place.h"

#define DIRECTORIES 4
#define FILES	    8
#define READERS	    4
#define GROUP	    "run"
#define FOLLOWED_US (3 * G_USEC_PER_SEC)
#define GIVE_WAY_US (30 * G_USEC_PER_SEC)

/* The parameters of a run, as its file holds them. */
struct order {
	guint64 number, seed;
	gint64 began, ended;
	unsigned sample;
};

struct proof {
	struct retriever *retriever;
	GMutex lock; /* a leaf: what follows */
	GThread *thread;
	bool under_way;
	bool counting; /* counts are those of the run */
	struct order order;
	struct proof_counts counts; /* with those of directories that are not done */
	struct proof_counts done;
	gint64 started; /* monotonic, microseconds */
	gint64 asked;	/* monotonic, microseconds: when migratectl last asked about the run */
	guint64 objects_before;
	const char *told_by;  /* what clients changed */
	char *error;	      /* why the last run ended early, or NULL */
	struct visits visits; /* the run's thread's; asker: any */
};

/* ---- files ---- */

static GKeyFile *load_run(int dir_fd, const char *name)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d/%s", dir_fd, name);
	GKeyFile *f = g_key_file_new();

	g_key_file_load_from_file(f, path, G_KEY_FILE_NONE, NULL);
	return f;
}

static struct order order_of(GKeyFile *f)
{
	return (struct order){
		.number = g_key_file_get_uint64(f, GROUP, "number", NULL),
		.seed = g_key_file_get_uint64(f, GROUP, "seed", NULL),
		.began = g_key_file_get_int64(f, GROUP, "began", NULL),
		.ended = g_key_file_get_int64(f, GROUP, "ended", NULL),
		.sample = g_key_file_get_integer(f, GROUP, "sample", NULL),
	};
}

static void set_order(GKeyFile *f, const char *group, const struct order *order)
{
	g_key_file_set_uint64(f, group, "number", order->number);
	g_key_file_set_int64(f, group, "began", order->began);
	g_key_file_set_int64(f, group, "ended", order->ended);
	g_key_file_set_integer(f, group, "sample", order->sample);
	g_key_file_set_uint64(f, group, "seed", order->seed);
}

static void set_counts(GKeyFile *f, const char *group, const struct proof_counts *counts)
{
	g_key_file_set_uint64(f, group, "objects", counts->objects);
	g_key_file_set_uint64(f, group, "bytes", counts->bytes);
	g_key_file_set_uint64(f, group, "files-read", counts->sampled);
	g_key_file_set_uint64(f, group, "files-cached", counts->cached);
	g_key_file_set_uint64(f, group, "findings", counts->findings);
	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++)
		g_key_file_set_uint64(f, group, proof_status_name(i), counts->status[i]);
}

static int save_run(struct proof *proof, int dir_fd)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	g_autofree char *text = NULL;
	gsize len;

	g_mutex_lock(&proof->lock);
	set_order(f, GROUP, &proof->order);
	set_counts(f, GROUP, &proof->counts);
	if (proof->told_by)
		g_key_file_set_string(f, GROUP, "told-by", proof->told_by);
	g_mutex_unlock(&proof->lock);
	text = g_key_file_to_data(f, &len, NULL);
	return own_save(dir_fd, PROOF_NEXT PROOF_RUN, text, len);
}

/* The run is through: it takes the place of the one before.  A kill in between is made good by the
 * next run's beginning. */
static int put_in_place(int dir_fd)
{
	if (renameat(dir_fd, PROOF_NEXT PROOF_ENTRIES, dir_fd, PROOF_ENTRIES) < 0 &&
	    errno != ENOENT)
		return -errno;
	if (renameat(dir_fd, PROOF_NEXT PROOF_RUN, dir_fd, PROOF_RUN) < 0)
		return -errno;
	return fsync(dir_fd) < 0 ? -errno : 0;
}

/* ---- a run ---- */

static void set_error(struct proof *proof, const char *what, int status)
{
	if (!status || status == -ECANCELED)
		return;
	g_mutex_lock(&proof->lock);
	if (!proof->error)
		proof->error = g_strdup_printf("%s: %s", what, g_strerror(-status));
	g_mutex_unlock(&proof->lock);
}

static void count_run(void *arg, const struct compared *compared)
{
	struct proof *proof = arg;
	struct proof_counts *counts = &proof->counts;

	g_mutex_lock(&proof->lock);
	counts->objects++;
	counts->status[compared->entry.status]++;
	counts->findings += compared->findings->len;
	counts->sampled += compared->sampled;
	counts->cached += compared->cached;
	counts->bytes += compared->sampled ? compared->entry.size : 0;
	g_mutex_unlock(&proof->lock);
}

/* line: of a rule, or one that was taken back: a name of its directory came, or went. */
static void note_ruled(struct visits *visits, const char *root, const char *line)
{
	g_auto(GStrv) parts = g_strsplit(line, "\t", 3);
	g_autofree char *path = parts[0] && parts[1] &&
						(!strcmp(parts[0], loss_kind_name(LOSS_RULE)) ||
						 !strcmp(parts[0], LOSS_RETRACTED))
					? g_strcompress(parts[1])
					: NULL;
	const size_t len = strlen(root);
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (slash && g_str_has_prefix(path, root) && slash >= path + len)
		g_hash_table_add(visits->compare.ruled,
				 slash == path + len ? g_strdup("")
						     : g_strndup(path + len + 1,
								 (gsize)(slash - path) - len - 1));
}

static void note_skipped(struct visits *visits, const char *root, const char *line)
{
	struct loss_line parsed;

	note_ruled(visits, root, line);
	if (!loss_parse(line, &parsed))
		return;
	if ((parsed.kind == LOSS_NAME || parsed.kind == LOSS_RULE) &&
	    g_str_has_prefix(parsed.path, root))
		g_hash_table_insert(visits->skipped,
				    g_strdup(parsed.path + strlen(root) +
					     strspn(parsed.path + strlen(root), "/")),
				    parsed.kind == LOSS_RULE ? VISIT_RULE : NULL);
	loss_line_clear(&parsed);
}

static void load_skipped(struct visits *visits)
{
	struct retriever *retriever = visits->compare.retriever;
	g_autofree char *root = retriever_fd_path(retriever->root_fd);
	g_autofree char *path =
		retriever->private_fd >= 0
			? g_strdup_printf("/proc/self/fd/%d/" LOSSES_FILE, retriever->private_fd)
			: g_strdup(retriever->config->report);
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while (file && (n = getline(&line, &room, file)) > 0) {
		line[n - (line[n - 1] == '\n')] = 0;
		note_skipped(visits, root, line);
	}
	free(line);
	if (file)
		fclose(file);
}

struct driver {
	struct proof *proof;
	struct proof_log *log;
	int status;
};

static int drive_one(struct driver *driver, const struct proof_task *task)
{
	struct visits *visits = &driver->proof->visits;
	struct proof_block block;
	int ret;

	proof_block_init(&block, visits->dir_fd);
	ret = visit_directory(visits, task, &block);
	if (ret)
		proof_log_drop(driver->log);
	else
		ret = proof_log_append(driver->log, task, &block);
	if (!ret) {
		g_mutex_lock(&driver->proof->lock);
		proof_counts_add(&driver->proof->done, &block.counts);
		g_mutex_unlock(&driver->proof->lock);
	}
	proof_block_clear(&block);
	return ret;
}

static gpointer drive(gpointer data)
{
	struct driver *driver = data;
	struct proof_task task;
	int ret;

	while ((ret = proof_log_take(driver->log, &task)) > 0) {
		ret = drive_one(driver, &task);
		g_free(task.path);
		if (ret)
			break;
	}
	driver->status = ret;
	if (ret)
		proof_log_stop(driver->log);
	return NULL;
}

static int drive_all(struct proof *proof, struct proof_log *log)
{
	struct driver drivers[DIRECTORIES];
	GThread *threads[DIRECTORIES];
	int ret = 0;

	for (unsigned i = 0; i < DIRECTORIES; i++) {
		drivers[i] = (struct driver){.proof = proof, .log = log};
		threads[i] = g_thread_new("proof", drive, &drivers[i]);
	}
	for (unsigned i = 0; i < DIRECTORIES; i++) {
		g_thread_join(threads[i]);
		if (!ret || ret == -ECANCELED)
			ret = drivers[i].status ? drivers[i].status : ret;
	}
	return ret;
}

static void relink(void *linked, guint64 fileid, guint64 inode)
{
	link_pairs_note(linked, fileid, inode);
}

static int run_log(struct proof *proof)
{
	struct visits *visits = &proof->visits;
	struct proof_counts counts = {0};
	struct proof_log *log;
	int ret;

	log = proof_log_open(visits->dir_fd, PROOF_NEXT PROOF_ENTRIES, false, &counts, relink,
			     visits->compare.linked, &ret);
	if (!log)
		return ret;
	g_mutex_lock(&proof->lock);
	proof->counts = proof->done = counts;
	proof->counting = true;
	proof->objects_before = counts.objects;
	proof->started = g_get_monotonic_time();
	g_mutex_unlock(&proof->lock);
	ret = drive_all(proof, log);
	if (!ret)
		ret = proof_log_sync(log);
	proof_log_close(log);
	g_mutex_lock(&proof->lock);
	proof->counts = proof->done;
	g_mutex_unlock(&proof->lock);
	return ret;
}

static int finish_run(struct proof *proof, int ret)
{
	int dir_fd = proof->visits.dir_fd;

	if (ret) {
		save_run(proof, dir_fd);
		return ret;
	}
	g_mutex_lock(&proof->lock);
	proof->order.ended = g_get_real_time() / G_USEC_PER_SEC;
	g_mutex_unlock(&proof->lock);
	ret = save_run(proof, dir_fd);
	return ret ? ret : put_in_place(dir_fd);
}

static gpointer run(gpointer data)
{
	struct proof *proof = data;
	struct visits *visits = &proof->visits;
	struct compare *compare = &visits->compare;
	int ret;

	thread_background(true);
	thread_unhurried(true);
	compare->retriever = proof->retriever;
	compare->disk = disk_new(READERS);
	compare->scratches = scratches_new(proof->retriever);
	compare->linked = link_pairs_new();
	visits->skipped = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	visits->compare.ruled = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	load_skipped(visits);
	visits->counted = count_run;
	visits->arg = proof;
	visits->files = g_thread_pool_new(visit_run_file, visits, FILES, TRUE, NULL);
	ret = run_log(proof);
	ret = finish_run(proof, ret);
	set_error(proof, "the comparison was cut short", ret);
	g_thread_pool_free(visits->files, FALSE, TRUE);
	g_hash_table_destroy(visits->skipped);
	g_clear_pointer(&visits->compare.ruled, g_hash_table_destroy);
	link_pairs_free(compare->linked);
	scratches_free(compare->scratches);
	disk_free(compare->disk);
	clients_free(compare->clients);
	close(visits->dir_fd);
	g_mutex_lock(&proof->lock);
	proof->under_way = false;
	g_mutex_unlock(&proof->lock);
	return NULL;
}

/* ---- beginning and ending ---- */

struct proof *proof_new(struct retriever *retriever)
{
	struct proof *proof = g_new0(struct proof, 1);

	proof->retriever = retriever;
	g_mutex_init(&proof->lock);
	return proof;
}

static void join_run(struct proof *proof)
{
	if (proof->thread)
		g_thread_join(proof->thread);
	proof->thread = NULL;
}

void proof_free(struct proof *proof)
{
	if (!proof)
		return;
	join_run(proof);
	g_mutex_clear(&proof->lock);
	g_free(proof->error);
	g_free(proof);
}

bool proof_is_under_way(struct proof *proof)
{
	bool under_way;

	g_mutex_lock(&proof->lock);
	under_way = proof->under_way;
	g_mutex_unlock(&proof->lock);
	return under_way;
}

static guint64 any_seed(void)
{
	return (guint64)g_random_int() << 31 ^ g_random_int(); /* a positive int64 in JSON */
}

static bool goes_on(const struct order *order, const struct proof_how *how)
{
	return order->number && !order->ended && order->sample == how->sample &&
	       (!how->seeded || order->seed == how->seed);
}

/* Lock held.  What of the run before is there yet decides. */
static int take_order(struct proof *proof, int dir_fd, const struct proof_how *how)
{
	g_autoptr(GKeyFile) cut_short = load_run(dir_fd, PROOF_NEXT PROOF_RUN);
	g_autoptr(GKeyFile) last = load_run(dir_fd, PROOF_RUN);
	struct order order = order_of(cut_short);
	int ret = order.ended ? put_in_place(dir_fd) : 0;

	if (ret)
		return ret;
	if (!goes_on(&order, how)) {
		guint64 before = MAX(order.number, order_of(last).number);

		if (unlinkat(dir_fd, PROOF_NEXT PROOF_ENTRIES, 0) < 0 && errno != ENOENT)
			return -errno;
		order = (struct order){.number = before + 1,
				       .seed = how->seeded ? how->seed : any_seed(),
				       .began = g_get_real_time() / G_USEC_PER_SEC,
				       .sample = how->sample};
	}
	proof->order = order;
	proof->counts = (struct proof_counts){0};
	return 0;
}

static int begin_run(struct proof *proof, const struct proof_how *how)
{
	struct visits *visits = &proof->visits;
	int dir_fd = proof_place_open(proof->retriever), ret;

	if (dir_fd < 0)
		return dir_fd;
	join_run(proof);
	ret = take_order(proof, dir_fd, how);
	if (ret) {
		close(dir_fd);
		return ret;
	}
	memset(visits, 0, sizeof *visits);
	asker_init(&visits->compare.asker, proof->retriever);
	visits->compare.clients = clients_new(proof->retriever);
	visits->sample = proof->order.sample;
	visits->seed = proof->order.seed;
	visits->dir_fd = dir_fd;
	proof->told_by = clients_told_by(visits->compare.clients);
	proof->counting = false;
	g_clear_pointer(&proof->error, g_free);
	proof->under_way = true;
	return 0;
}

int proof_begin(struct proof *proof, const struct proof_how *how, char **message)
{
	const char *name = proof->retriever->config->name;
	int ret = -EALREADY;

	if (volume_state(proof->retriever) == VOLUME_UNATTACHED) {
		*message = g_strdup_printf("%s is not attached: attach it before anything can be "
					   "compared: migratectl attach %s",
					   name, name);
		return -EINVAL;
	}
	g_mutex_lock(&proof->lock);
	if (!proof->under_way)
		ret = begin_run(proof, how);
	g_mutex_unlock(&proof->lock);
	if (!ret)
		ret = save_run(proof, proof->visits.dir_fd);
	if (!ret || ret == -EALREADY) {
		if (!ret)
			proof->thread = g_thread_new("proof", run, proof);
		return ret;
	}
	*message = g_strdup_printf("%s: what the comparison finds cannot be kept: %s%s", name,
				   g_strerror(-ret), advice_for(ret));
	return ret;
}

void proof_stop(struct proof *proof)
{
	g_mutex_lock(&proof->lock);
	if (proof->under_way)
		asker_stop(&proof->visits.compare.asker);
	g_mutex_unlock(&proof->lock);
}

bool proof_give_way(struct proof *proof)
{
	const gint64 until = g_get_monotonic_time() + GIVE_WAY_US;
	bool followed;

	g_mutex_lock(&proof->lock);
	followed = g_get_monotonic_time() - proof->asked < FOLLOWED_US;
	g_mutex_unlock(&proof->lock);
	if (!followed)
		proof_stop(proof);
	while (!followed && proof_is_under_way(proof) && g_get_monotonic_time() < until)
		g_usleep(GIVE_WAY_US / 1000);
	return !proof_is_under_way(proof);
}

/* ---- what is told ---- */

/* Lock held. */
static const char *state_of(const struct proof *proof, const struct order *order)
{
	if (proof->under_way)
		return g_atomic_int_get(&proof->visits.compare.asker.stopped) ? "stopping"
									      : "running";
	if (!order->number)
		return "none";
	return order->ended ? "through" : "stopped";
}

/* Lock held.  Seconds, -1: not known. */
static gint64 remaining(const struct proof *proof, double seconds)
{
	struct retriever *r = proof->retriever;
	gint64 all = COUNT_GET(r, files_found) + COUNT_GET(r, directories_found);
	gint64 left = all - (gint64)proof->counts.objects;
	gint64 bytes_left = COUNT_GET(r, bytes_found) / VISIT_ALL * proof->order.sample -
			    (gint64)proof->counts.bytes;
	double objects_rate = (proof->counts.objects - proof->objects_before) / seconds;
	double bytes_rate = proof->visits.compare.bytes / seconds;
	double by_objects = objects_rate > 0 ? MAX(left, 0) / objects_rate : -1;
	double by_bytes = bytes_rate > 0 ? MAX(bytes_left, 0) / bytes_rate : -1;

	return COUNT_GET(r, exact) && all ? (gint64)MAX(by_objects, by_bytes) : -1;
}

/* Lock held. */
static void set_rates(const struct proof *proof, GKeyFile *f)
{
	double seconds = MAX(1, g_get_monotonic_time() - proof->started) / 1e6;
	gint64 bytes = __atomic_load_n(&proof->visits.compare.bytes, __ATOMIC_RELAXED);

	if (!proof->under_way || !proof->counting)
		return;
	g_key_file_set_int64(f, "proof", "bytes-per-second", bytes / seconds);
	g_key_file_set_int64(f, "proof", "objects-per-second",
			     (proof->counts.objects - proof->objects_before) / seconds);
	g_key_file_set_int64(f, "proof", "remaining", remaining(proof, seconds));
}

static void copy_group(GKeyFile *from, GKeyFile *f)
{
	g_auto(GStrv) keys = g_key_file_get_keys(from, GROUP, NULL, NULL);

	for (char **key = keys; key && *key; key++) {
		g_autofree char *value = g_key_file_get_value(from, GROUP, *key, NULL);

		g_key_file_set_value(f, "proof", *key, value);
	}
}

/* The run that was begun last. */
static GKeyFile *load_last(int dir_fd)
{
	GKeyFile *f = load_run(dir_fd, PROOF_NEXT PROOF_RUN);

	if (order_of(f).number)
		return f;
	g_key_file_unref(f);
	return load_run(dir_fd, PROOF_RUN);
}

char *proof_text(struct proof *proof)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	int dir_fd = proof_place_open(proof->retriever);
	g_autoptr(GKeyFile) last = dir_fd < 0 ? g_key_file_new() : load_last(dir_fd);
	struct order order;

	g_mutex_lock(&proof->lock);
	proof->asked = g_get_monotonic_time();
	if (proof->under_way) {
		set_order(f, "proof", &proof->order);
		set_counts(f, "proof", &proof->counts);
		g_key_file_set_string(f, "proof", "told-by", proof->told_by);
	} else {
		copy_group(last, f);
	}
	order = order_of(last);
	g_key_file_set_string(f, "proof", "state", state_of(proof, &order));
	if (proof->error)
		g_key_file_set_string(f, "proof", "error", proof->error);
	set_rates(proof, f);
	g_mutex_unlock(&proof->lock);
	if (dir_fd >= 0)
		close(dir_fd);
	return g_key_file_to_data(f, NULL, NULL);
}

char *proof_list(struct proof *proof, guint64 start)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	int dir_fd = proof_place_open(proof->retriever);

	findings_list(dir_fd, start, f);
	if (dir_fd >= 0)
		close(dir_fd);
	return g_key_file_to_data(f, NULL, NULL);
}
