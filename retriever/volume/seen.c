/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seen.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "aside.h"
#include "copied.h"
#include "prior.h"

#define VERSION 2

/* What has several names may be made anew for the sake of another directory. */
enum files { FILES_EACH, FILES_OPEN, FILES_WHOLE };

/* Little-endian; then the directory's binding as in record.h. */
struct sum {
	uint64_t version, sum, entries, files; /* enum files */
};

#define FIELDS (sizeof(struct sum) / sizeof(uint64_t))

struct seen {
	GMutex lock;
	bool sums_up;
	bool unknown; /* an entry's attributes were not listed */
	struct sum before, now;
	guint64 files;
	GArray *hashes; /* sorted by seen_sweep() */
};

/* ---- sums ---- */

/* FNV-1a */
static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
	return h;
}

static uint64_t hash(const char *name)
{
	return hash_bytes(0xcbf29ce484222325, name, strlen(name));
}

/* The last step of splitmix64, so that sums of such numbers are no more alike than the numbers. */
static uint64_t mix(uint64_t h)
{
	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9;
	h = (h ^ (h >> 27)) * 0x94d049bb133111eb;
	return h ^ (h >> 31);
}

static uint64_t sum_of(const struct source_entry *entry)
{
	const struct source_attr *a = &entry->attr;
	const uint64_t fields[] = {a->fileid, a->mode,		 a->nlink, a->uid,
				   a->gid,    a->size,		 a->rdev,  (uint64_t)a->mtime,
				   a->fs,     (uint64_t)a->ctime};
	size_t n = S_ISDIR(a->mode) ? 1 : G_N_ELEMENTS(fields);

	return mix(hash_bytes(hash(entry->name), fields, n * sizeof *fields));
}

static size_t encode(uint8_t *value, const struct sum *sum, const struct migrate_binding *binding)
{
	const uint64_t fields[FIELDS] = {htole64(sum->version), htole64(sum->sum),
					 htole64(sum->entries), htole64(sum->files)};

	memcpy(value, fields, sizeof fields);
	memcpy(value + sizeof fields, binding->bytes, binding->len);
	return sizeof fields + binding->len;
}

static bool load(int dir_fd, struct sum *sum)
{
	struct migrate_binding binding;
	uint8_t value[sizeof *sum + MIGRATE_BINDING_MAX];
	uint64_t fields[FIELDS];
	ssize_t len = fgetxattr(dir_fd, XATTR_LISTED, value, sizeof value);

	if (len < 0 || migrate_binding_get(dir_fd, "", &binding) < 0 ||
	    len != (ssize_t)(sizeof *sum + binding.len) ||
	    memcmp(value + sizeof *sum, binding.bytes, binding.len) != 0)
		return false;
	memcpy(fields, value, sizeof fields);
	*sum = (struct sum){le64toh(fields[0]), le64toh(fields[1]), le64toh(fields[2]),
			    le64toh(fields[3])};
	return sum->version == VERSION;
}

static int store(int dir_fd, const struct sum *sum)
{
	struct migrate_binding binding;
	uint8_t value[sizeof *sum + MIGRATE_BINDING_MAX];
	int ret = migrate_binding_get(dir_fd, "", &binding);

	if (!ret && fsetxattr(dir_fd, XATTR_LISTED, value, encode(value, sum, &binding), 0) < 0)
		ret = -errno;
	return ret;
}

bool seen_is_whole(int dir_fd)
{
	struct sum sum;

	return load(dir_fd, &sum) && sum.files == FILES_WHOLE;
}

void seen_set_whole(int dir_fd)
{
	struct sum sum;

	if (!load(dir_fd, &sum) || sum.files != FILES_OPEN)
		return;
	sum.files = FILES_WHOLE;
	store(dir_fd, &sum);
}

/* ---- listings ---- */

static const struct sum nothing_yet = {.version = VERSION, .files = FILES_OPEN};

struct seen *seen_new(int dir_fd)
{
	struct seen *seen = g_new0(struct seen, 1);

	g_mutex_init(&seen->lock);
	seen->now = nothing_yet;
	seen->sums_up = load(dir_fd, &seen->before);
	seen->hashes = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	return seen;
}

void seen_free(struct seen *seen)
{
	if (!seen)
		return;
	g_array_unref(seen->hashes);
	g_mutex_clear(&seen->lock);
	g_free(seen);
}

bool seen_sums_up(const struct seen *seen)
{
	return seen->sums_up;
}

void seen_add(struct seen *seen, const struct backend_batch *batch)
{
	g_mutex_lock(&seen->lock);
	for (guint i = 0; i < batch->entries->len; i++) {
		const struct source_entry *e =
			&g_array_index(batch->entries, struct source_entry, i);
		uint64_t h = hash(e->name);

		seen->now.sum += sum_of(e);
		seen->now.entries++;
		seen->unknown |= !e->has_attr;
		seen->files += !S_ISDIR(e->attr.mode) && e->attr.nlink < 2;
		if (!S_ISDIR(e->attr.mode) && e->attr.nlink > 1)
			seen->now.files = FILES_EACH;
		if (!seen->sums_up)
			g_array_append_val(seen->hashes, h);
	}
	g_mutex_unlock(&seen->lock);
}

void seen_reset(struct seen *seen)
{
	g_mutex_lock(&seen->lock);
	seen->now = nothing_yet;
	seen->unknown = false;
	seen->files = 0;
	g_array_set_size(seen->hashes, 0);
	g_mutex_unlock(&seen->lock);
}

bool seen_unchanged(struct seen *seen, int dir_fd)
{
	bool unchanged = !seen->unknown && seen->now.sum == seen->before.sum &&
			 seen->now.entries == seen->before.entries;

	if (!unchanged) {
		seen->sums_up = false;
		fremovexattr(dir_fd, XATTR_LISTED);
	}
	return unchanged;
}

guint64 seen_files(const struct seen *seen)
{
	return seen->files;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool was_seen(const struct seen *seen, const char *name)
{
	uint64_t h = hash(name);

	return seen->hashes->len && /* an empty array has no data */
	       bsearch(&h, seen->hashes->data, seen->hashes->len, sizeof h, compare);
}

/* NULL: the directory cannot be read. */
static GPtrArray *names_left(const struct seen *seen, int dir_fd, bool root)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	GPtrArray *names = dir ? g_ptr_array_new_with_free_func(g_free) : NULL;
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    !(root && !strcmp(e->d_name, MIGRATE_PRIVATE_DIR)) &&
		    !was_seen(seen, e->d_name))
			g_ptr_array_add(names, g_strdup(e->d_name));
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return names;
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
void seen_uncount(struct retriever *retriever, int dir_fd, const char *name)
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

int seen_sweep(struct retriever *retriever, struct seen *seen, int dir_fd, const char *path)
{
	g_autoptr(GPtrArray) names = NULL;
	gint64 n;
	guint i = 0;
	int ret;

	g_array_sort(seen->hashes, compare);
	names = names_left(seen, dir_fd, path && !*path);
	if (!names)
		return -EIO;
	n = count_names(retriever, names, 0, dir_fd);
	ret = n < 0 ? (int)n : prior_check(retriever, n);
	if (ret)
		return ret;
	while (i < names->len && !ret) {
		seen_uncount(retriever, dir_fd, names->pdata[i]);
		ret = aside_put_left(retriever, dir_fd, dir_fd, names->pdata[i], path);
		i += !ret;
	}
	if (ret)
		prior_uncount(retriever, count_names(retriever, names, i, dir_fd));
	/* without it the next listing takes longer */
	if (!ret && !seen->unknown && store(dir_fd, &seen->now) < 0)
		g_debug("%s: no sum of its listing is kept", path);
	return ret;
}
