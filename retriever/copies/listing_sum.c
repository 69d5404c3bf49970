/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/copies/listing_sum.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "retriever/copies/aside.h"
#include "retriever/copies/copy_mark.h"
#include "retriever/copies/listing_entries.h"
#include "retriever/copies/prior.h"

#define VERSION 3

#define NAMES_ALL 0 /* any name may not be whole */

/* What has several names may be made anew for the sake of another directory. */
enum files { FILES_EACH, FILES_OPEN, FILES_WHOLE };

/* Little-endian; then the directory's binding as in record.h. */
struct sum {
	uint64_t version, sum, entries, files; /* enum files */
	uint64_t names; /* of listing_entries.h: NAMES_ALL, or their sum and one */
};

#define FIELDS	  (sizeof(struct sum) / sizeof(uint64_t))
#define VALUE_MAX (sizeof(struct sum) + MIGRATE_BINDING_MAX)

struct listing_sum {
	struct retriever *retriever;
	GMutex lock;
	bool sums_up;
	bool passes;  /* over what is in `was` */
	bool shared;  /* another listing may change what this one passes over */
	bool changed; /* the attribute is gone */
	bool unknown; /* an entry's attributes were not listed */
	struct sum before, now;
	guint64 files, passed;
	struct listing_entries
		is; /* this listing, but when it is only summed up; sorted by keep_sum() */
	struct listing_entries was; /* the one before, once a page needs it */
};

/* ---- sums ---- */

/* FNV-1a */
static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
	return h;
}

uint64_t listing_sum_hash(const char *name)
{
	return hash_bytes(0xcbf29ce484222325, name, strlen(name));
}

/* The last step of splitmix64. */
uint64_t listing_sum_mix(uint64_t h)
{
	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9;
	h = (h ^ (h >> 27)) * 0x94d049bb133111eb;
	return h ^ (h >> 31);
}

/* name: its hash. */
static uint64_t sum_of(const struct source_entry *entry, uint64_t name)
{
	const struct source_attr *a = &entry->attr;
	const uint64_t fields[] = {a->fileid, a->mode,		 a->nlink, a->uid,
				   a->gid,    a->size,		 a->rdev,  (uint64_t)a->mtime,
				   a->fs,     (uint64_t)a->ctime};
	size_t n = S_ISDIR(a->mode) ? 1 : G_N_ELEMENTS(fields);
	uint64_t sum = listing_sum_mix(hash_bytes(name, fields, n * sizeof *fields));

	/* the next listing may say the same of another version: none has this sum again */
	return a->unsettled && !S_ISDIR(a->mode) ? sum ^ listing_sum_mix(sum + g_random_int())
						 : sum;
}

static uint64_t sum_entries(const GArray *entries)
{
	uint64_t sum = 0;

	for (guint i = 0; i < entries->len; i++)
		sum += g_array_index(entries, uint64_t, i);
	return sum;
}

static uint64_t sum_names(const GArray *names)
{
	uint64_t sum = NAMES_ALL + 1;

	for (guint i = 0; i < names->len; i++)
		sum += listing_sum_mix(g_array_index(names, uint64_t, i));
	return sum;
}

static size_t encode_sum(uint8_t *value, const struct sum *sum,
			 const struct migrate_binding *binding)
{
	const uint64_t fields[FIELDS] = {htole64(sum->version), htole64(sum->sum),
					 htole64(sum->entries), htole64(sum->files),
					 htole64(sum->names)};

	memcpy(value, fields, sizeof fields);
	memcpy(value + sizeof fields, binding->bytes, binding->len);
	return sizeof fields + binding->len;
}

static bool load_sum(int dir_fd, struct sum *sum)
{
	struct migrate_binding binding;
	uint8_t value[VALUE_MAX];
	uint64_t fields[FIELDS];
	ssize_t len = fgetxattr(dir_fd, XATTR_LISTED, value, sizeof value);

	if (len < 0 || migrate_binding_get(dir_fd, "", &binding) < 0 ||
	    len != (ssize_t)(sizeof *sum + binding.len) ||
	    memcmp(value + sizeof *sum, binding.bytes, binding.len) != 0)
		return false;
	memcpy(fields, value, sizeof fields);
	*sum = (struct sum){le64toh(fields[0]), le64toh(fields[1]), le64toh(fields[2]),
			    le64toh(fields[3]), le64toh(fields[4])};
	return sum->version == VERSION;
}

static int store_sum(int dir_fd, const struct sum *sum)
{
	struct migrate_binding binding;
	uint8_t value[VALUE_MAX];
	int ret = migrate_binding_get(dir_fd, "", &binding);

	if (!ret && fsetxattr(dir_fd, XATTR_LISTED, value, encode_sum(value, sum, &binding), 0) < 0)
		ret = -errno;
	return ret;
}

gint64 listing_sum_whole(int dir_fd)
{
	struct sum sum;

	return load_sum(dir_fd, &sum) && sum.files == FILES_WHOLE ? (gint64)sum.entries : -1;
}

void listing_sum_set_whole(int dir_fd)
{
	struct sum sum;

	if (!load_sum(dir_fd, &sum) || sum.files != FILES_OPEN)
		return;
	sum.files = FILES_WHOLE;
	store_sum(dir_fd, &sum);
}

/* ---- entry by entry ---- */

static bool is_listed(const struct sum *sum)
{
	return sum->files != FILES_EACH && sum->entries >= LISTING_ENTRIES_MIN &&
	       sum->entries <= LISTING_ENTRIES_MAX;
}

static void listed_clear(struct listing_entries *listed)
{
	g_clear_pointer(&listed->entries, g_array_unref);
	g_clear_pointer(&listed->names, g_array_unref);
}

/* The file's own copy of the attribute, and the directory's inode. */
static int head_of(int dir_fd, struct sum sum, uint8_t head[VALUE_MAX], size_t *len, ino_t *ino)
{
	struct migrate_binding binding;
	struct stat st;
	int ret = fstat(dir_fd, &st) < 0 ? -errno : migrate_binding_get(dir_fd, "", &binding);

	if (ret)
		return ret;
	sum.files = FILES_OPEN; /* it may be whole since */
	*len = encode_sum(head, &sum, &binding);
	*ino = st.st_ino;
	return 0;
}

/* What that attribute of the directory sums up. */
static bool load_listed(const struct retriever *retriever, int dir_fd, const struct sum *sum,
			struct listing_entries *listed)
{
	uint8_t head[VALUE_MAX];
	size_t len;
	ino_t ino;

	if (!is_listed(sum) || head_of(dir_fd, *sum, head, &len, &ino) < 0 ||
	    !listing_entries_load(retriever, ino, head, len, sum->entries, listed))
		return false;
	if (sum_entries(listed->entries) == sum->sum &&
	    (sum->names == NAMES_ALL || sum_names(listed->names) == sum->names))
		return true;
	listed_clear(listed);
	return false;
}

/* The sum is the last: without the file the next listing takes longer. */
static int keep_sum(struct listing_sum *seen, int dir_fd)
{
	uint8_t head[VALUE_MAX];
	size_t len;
	ino_t ino;
	int ret;

	seen->now.names = seen->passes && !seen->shared ? sum_names(seen->is.names) : NAMES_ALL;
	ret = head_of(dir_fd, seen->now, head, &len, &ino);
	if (!ret)
		ret = listing_entries_remove(seen->retriever, ino);
	if (ret)
		return ret;
	listing_entries_sort(seen->is.entries);
	listing_entries_sort(seen->is.names);
	if (is_listed(&seen->now) && seen->is.entries->len == seen->now.entries &&
	    listing_entries_store(seen->retriever, ino, head, len, &seen->is) < 0)
		listing_entries_remove(seen->retriever, ino);
	return store_sum(dir_fd, &seen->now);
}

GArray *listing_sum_not_whole(const struct retriever *retriever, int dir_fd)
{
	struct listing_entries listed = {0};
	struct sum sum;

	if (!retriever->copying || !load_sum(dir_fd, &sum))
		return NULL;
	if (sum.files == FILES_WHOLE)
		return listing_entries_array();
	if (sum.names == NAMES_ALL || !load_listed(retriever, dir_fd, &sum, &listed))
		return NULL;
	g_array_unref(listed.entries);
	return listed.names;
}

bool listing_sum_may_lack(const GArray *not_whole, const char *name)
{
	return !not_whole || listing_entries_has(not_whole, listing_sum_hash(name));
}

/* ---- listings ---- */

static const struct sum nothing_yet = {.version = VERSION, .files = FILES_OPEN};

struct listing_sum *listing_sum_new(struct retriever *retriever, int dir_fd)
{
	struct listing_sum *seen = g_new0(struct listing_sum, 1);

	seen->retriever = retriever;
	g_mutex_init(&seen->lock);
	seen->now = nothing_yet;
	if (load_sum(dir_fd, &seen->before)) {
		seen->passes = seen->before.files == FILES_WHOLE && is_listed(&seen->before);
		seen->sums_up = !seen->passes;
	} else {
		seen->before = (struct sum){0};
	}
	seen->is = (struct listing_entries){listing_entries_array(), listing_entries_array()};
	return seen;
}

void listing_sum_free(struct listing_sum *seen)
{
	if (!seen)
		return;
	listed_clear(&seen->is);
	listed_clear(&seen->was);
	g_mutex_clear(&seen->lock);
	g_free(seen);
}

bool listing_sum_sums_up(const struct listing_sum *seen)
{
	return seen->sums_up;
}

static bool is_single_file(const struct source_entry *e)
{
	return !S_ISDIR(e->attr.mode) && e->attr.nlink < 2;
}

/* Lock held. */
static void add_to_sum(struct listing_sum *seen, const struct source_entry *e, uint64_t name,
		       uint64_t sum)
{
	seen->now.sum += sum;
	seen->now.entries++;
	seen->unknown |= !e->has_attr;
	if (!S_ISDIR(e->attr.mode) && e->attr.nlink > 1)
		seen->now.files = FILES_EACH;
	if (!seen->sums_up && seen->is.entries->len <= LISTING_ENTRIES_MAX)
		g_array_append_val(seen->is.entries, sum);
}

void listing_sum_add(struct listing_sum *seen, const struct backend_batch *batch)
{
	g_mutex_lock(&seen->lock);
	for (guint i = 0; i < batch->entries->len; i++) {
		const struct source_entry *e =
			&g_array_index(batch->entries, struct source_entry, i);
		uint64_t name = listing_sum_hash(e->name);

		add_to_sum(seen, e, name, sum_of(e, name));
		seen->files += seen->sums_up && is_single_file(e);
		if (seen->passes && !S_ISDIR(e->attr.mode))
			g_array_append_val(seen->is.names, name);
	}
	g_mutex_unlock(&seen->lock);
}

void listing_sum_share(struct listing_sum *seen)
{
	g_mutex_lock(&seen->lock);
	seen->shared = true;
	g_mutex_unlock(&seen->lock);
}

void listing_sum_reset(struct listing_sum *seen)
{
	g_mutex_lock(&seen->lock);
	seen->now = nothing_yet;
	seen->unknown = false;
	seen->files = seen->passed = 0;
	seen->passes &= !seen->changed; /* what was changed then may be as before by now */
	g_array_set_size(seen->is.entries, 0);
	g_array_set_size(seen->is.names, 0);
	g_mutex_unlock(&seen->lock);
}

/* Before the first change. */
static void forget_sum(struct listing_sum *seen, int dir_fd)
{
	if (!seen->changed)
		fremovexattr(dir_fd, XATTR_LISTED);
	seen->changed = true;
}

/* ---- passing over ---- */

/* Whether the page alone is what was listed before. */
static bool is_all(const struct listing_sum *seen, const struct backend_batch *batch)
{
	uint64_t sum = 0;

	for (guint i = 0; i < batch->entries->len; i++) {
		const struct source_entry *e =
			&g_array_index(batch->entries, struct source_entry, i);

		if (!e->has_attr)
			return false;
		sum += sum_of(e, listing_sum_hash(e->name));
	}
	return sum == seen->before.sum && batch->entries->len == seen->before.entries;
}

/* Lock held.  all: without a look at what was listed.  No more than there were are passed over: a
 * listing that repeats itself has an end. */
static bool pass_entry(struct listing_sum *seen, int dir_fd, const struct source_entry *e, bool all)
{
	uint64_t name = listing_sum_hash(e->name), sum = sum_of(e, name);

	if (!all && !(e->has_attr && seen->passed < seen->before.entries &&
		      listing_entries_has(seen->was.entries, sum))) {
		forget_sum(seen, dir_fd);
		return false;
	}
	if (!is_single_file(e))
		return false;
	add_to_sum(seen, e, name, sum);
	seen->passed++;
	seen->files++;
	return true;
}

void listing_sum_pass(struct listing_sum *seen, int dir_fd, struct backend_batch *batch, bool last)
{
	guint left = 0;
	bool all;

	if (!seen->passes)
		return;
	g_mutex_lock(&seen->lock);
	all = last && is_all(seen, batch); /* most directories have one page, and stay */
	if (!all && !seen->was.entries &&
	    !load_listed(seen->retriever, dir_fd, &seen->before, &seen->was)) {
		forget_sum(seen, dir_fd);
		seen->passes = false;
	}
	for (guint i = 0; i < batch->entries->len && seen->passes; i++) {
		struct source_entry *e = &g_array_index(batch->entries, struct source_entry, i);

		if (!pass_entry(seen, dir_fd, e, all))
			g_array_index(batch->entries, struct source_entry, left++) = *e;
	}
	if (seen->passes)
		g_array_set_size(batch->entries, left);
	g_mutex_unlock(&seen->lock);
}

bool listing_sum_unchanged(struct listing_sum *seen, int dir_fd)
{
	bool unchanged = seen->before.version && !seen->changed && !seen->unknown &&
			 seen->now.sum == seen->before.sum &&
			 seen->now.entries == seen->before.entries;

	if (!unchanged && seen->before.version)
		forget_sum(seen, dir_fd);
	if (!unchanged)
		seen->sums_up = false;
	return unchanged;
}

guint64 listing_sum_files(const struct listing_sum *seen)
{
	return seen->files;
}

static bool is_unfinished(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
	bool unfinished = fd >= 0 && migrate_has_record(fd);

	if (fd >= 0)
		close(fd);
	return unfinished;
}

/* A file with more names stays. */
void listing_sum_uncount(struct retriever *retriever, int dir_fd, const char *name)
{
	struct stat st;
	bool whole;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		COUNT_SET(retriever, exact, 0);
	if (S_ISDIR(st.st_mode) || st.st_nlink > 1)
		return;
	whole = !S_ISREG(st.st_mode) || !is_unfinished(dir_fd, name);
	COUNT_ADD(retriever, files_found, -1);
	COUNT_ADD(retriever, files_whole, -(gint64)whole);
	if (S_ISREG(st.st_mode)) {
		COUNT_ADD(retriever, bytes_found, -st.st_size);
		COUNT_ADD(retriever, bytes_whole, whole ? -st.st_size : 0);
	}
}

/* From that one on. */
static gint64 count_names(struct retriever *retriever, const GPtrArray *names, guint i, int dir_fd)
{
	gint64 all = 0;

	for (; i < names->len; i++) {
		gint64 n = prior_names(retriever, dir_fd, names->pdata[i]);

		if (n < 0)
			return n;
		all += n;
	}
	return all;
}

int listing_sum_sweep(struct retriever *retriever, struct listing_sum *seen,
		      const GPtrArray *unlisted, int dir_fd, const char *path)
{
	gint64 n = count_names(retriever, unlisted, 0, dir_fd);
	int ret = n < 0 ? (int)n : prior_check(retriever, n);
	guint i = 0;

	if (ret)
		return ret;
	while (i < unlisted->len && !ret) {
		listing_sum_uncount(retriever, dir_fd, unlisted->pdata[i]);
		ret = aside_put_left(retriever, dir_fd, dir_fd, unlisted->pdata[i], path);
		i += !ret;
	}
	if (ret)
		prior_uncount(retriever, count_names(retriever, unlisted, i, dir_fd));
	/* without it the next listing takes longer */
	if (!ret && !seen->unknown && keep_sum(seen, dir_fd) < 0)
		g_debug("%s: no sum of its listing is kept", path);
	return ret;
}
