/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/templates.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEMPLATES_MAX 16
#define DIFF_MAX      12 /* a longer difference is worth a template of its own, while there is room */

struct template
{
	uint8_t len;
	uint8_t bytes[MIGRATE_HANDLE_MAX];
};

struct templates {
	GRWLock lock;
	int dir_fd; /* not owned */
	unsigned n;
	struct template v[TEMPLATES_MAX];
};

/* The file: for each template its length and its bytes. */
static bool parse_template(struct templates *t, const uint8_t *p, size_t len)
{
	while (len) {
		size_t n = p[0];

		if (n == 0 || n > MIGRATE_HANDLE_MAX || n + 1 > len || t->n == TEMPLATES_MAX)
			return false;
		t->v[t->n].len = n;
		memcpy(t->v[t->n++].bytes, p + 1, n);
		p += n + 1;
		len -= n + 1;
	}
	return true;
}

/* 0, -ENOENT, or another -errno: it is damaged. */
static int load_template(struct templates *t)
{
	uint8_t buf[TEMPLATES_MAX * (MIGRATE_HANDLE_MAX + 1) + 1];
	int fd = openat(t->dir_fd, TEMPLATES_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, buf, sizeof buf);
	close(fd);
	return len >= 0 && parse_template(t, buf, len) ? 0 : -EBADMSG;
}

struct templates *templates_new(int private_fd, bool attached, GError **error)
{
	struct templates *t = g_new0(struct templates, 1);
	int ret;

	g_rw_lock_init(&t->lock);
	t->dir_fd = private_fd;
	ret = private_fd < 0 ? 0 : load_template(t);
	if (ret && (attached || ret != -ENOENT)) {
		error_set(error, ret == -ENOENT || ret == -EBADMSG ? EKEYREJECTED : -ret,
			  "%s/%s is damaged or gone: the stubs' handles cannot be read; restore "
			  "the file, or abandon the migration (migratectl abandon)",
			  MIGRATE_PRIVATE_DIR, TEMPLATES_FILE);
		templates_free(t);
		return NULL;
	}
	return t;
}

void templates_free(struct templates *t)
{
	if (!t)
		return;
	g_rw_lock_clear(&t->lock);
	g_free(t);
}

/* Writes all templates to a new file, durable before it is in place. */
static int save(struct templates *t)
{
	int fd = openat(t->dir_fd, TEMPLATES_FILE ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0600);
	int ret = fd < 0 ? -errno : 0;

	for (unsigned i = 0; i < t->n && !ret; i++) {
		size_t len = t->v[i].len + 1;

		if (write(fd, &t->v[i], len) != (ssize_t)len)
			ret = -EIO;
	}
	if (!ret && fsync(fd) < 0)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	if (!ret && renameat(t->dir_fd, TEMPLATES_FILE ".new", t->dir_fd, TEMPLATES_FILE) < 0)
		ret = -errno;
	if (!ret && fsync(t->dir_fd) < 0)
		ret = -errno;
	return ret;
}

int templates_set_directory(struct templates *t, int private_fd)
{
	int ret;

	g_rw_lock_writer_lock(&t->lock);
	t->dir_fd = private_fd;
	t->n = 0;
	ret = private_fd < 0 ? 0 : load_template(t);
	if (ret == -ENOENT)
		ret = save(t);
	g_rw_lock_writer_unlock(&t->lock);
	return ret;
}

struct difference {
	uint8_t template, offset, len;
};

/* Lock held.  The shortest difference to any template of that length; false when there is none. */
static bool best(const struct templates *t, const uint8_t *handle, uint8_t len,
		 struct difference *found)
{
	bool any = false;

	for (unsigned i = 0; i < t->n; i++) {
		const uint8_t *bytes = t->v[i].bytes;
		unsigned first = 0, last = len;

		if (t->v[i].len != len)
			continue;
		while (first < len && bytes[first] == handle[first])
			first++;
		while (last > first && bytes[last - 1] == handle[last - 1])
			last--;
		if (!any || last - first < found->len)
			*found = (struct difference){i, first, last - first};
		any = true;
	}
	return any;
}

/* Unless another thread was first. */
static bool add_template(struct templates *t, const uint8_t *handle, uint8_t len)
{
	struct difference d;
	bool added;

	g_rw_lock_writer_lock(&t->lock);
	added = best(t, handle, len, &d) && d.len <= DIFF_MAX;
	if (!added && t->n < TEMPLATES_MAX && t->dir_fd >= 0) {
		t->v[t->n].len = len;
		memcpy(t->v[t->n].bytes, handle, len);
		t->n++;
		added = save(t) == 0;
		if (!added)
			t->n--;
	}
	g_rw_lock_writer_unlock(&t->lock);
	return added;
}

static bool find_template(struct templates *t, const uint8_t *handle, uint8_t len,
			  struct difference *found, bool *full)
{
	bool any;

	g_rw_lock_reader_lock(&t->lock);
	any = best(t, handle, len, found);
	*full = t->n == TEMPLATES_MAX;
	g_rw_lock_reader_unlock(&t->lock);
	return any;
}

void templates_shrink(struct templates *t, const uint8_t *handle, uint8_t len,
		      struct migrate_record *rec)
{
	struct difference d = {0};
	bool full, any = find_template(t, handle, len, &d, &full);

	if ((!any || d.len > DIFF_MAX) && !full && add_template(t, handle, len))
		any = find_template(t, handle, len, &d, &full);
	rec->flags &= ~(MIGRATE_REC_HANDLE | MIGRATE_REC_HANDLE_DIFF);
	if (any && d.len + 2 < len) {
		rec->flags |= MIGRATE_REC_HANDLE_DIFF;
		rec->handle_len = 0;
		rec->diff_template = d.template;
		rec->diff_offset = d.len ? d.offset : 0;
		rec->diff_len = d.len;
		memcpy(rec->handle, handle + d.offset, d.len);
	} else {
		rec->flags |= MIGRATE_REC_HANDLE;
		rec->diff_len = 0;
		rec->handle_len = len;
		memcpy(rec->handle, handle, len);
	}
}

int templates_expand(struct templates *t, const struct migrate_record *rec,
		     struct source_object *source)
{
	const struct template *template;
	int ret = 0;

	g_rw_lock_reader_lock(&t->lock);
	template = &t->v[MIN(rec->diff_template, TEMPLATES_MAX - 1)];
	if (rec->diff_template >= t->n || rec->diff_offset + rec->diff_len > template->len) {
		ret = -ESTALE;
	} else {
		source->handle_len = template->len;
		memcpy(source->handle, template->bytes, template->len);
		memcpy(source->handle + rec->diff_offset, rec->handle, rec->diff_len);
	}
	g_rw_lock_reader_unlock(&t->lock);
	return ret;
}

bool templates_has(struct templates *t, const struct migrate_record *rec, const uint8_t *handle,
		   uint8_t len)
{
	struct source_object source = {.handle_len = rec->handle_len};

	memcpy(source.handle, rec->handle, rec->handle_len);
	if (rec->flags & MIGRATE_REC_HANDLE_DIFF && templates_expand(t, rec, &source))
		return false;
	return len && source.handle_len == len && !memcmp(source.handle, handle, len);
}
