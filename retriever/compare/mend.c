/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/mend.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/flags.h"
#include "lib/base/lease.h"
#include "lib/base/scratch_file.h"
#include "lib/base/text.h"
#include "lib/base/write_fully.h"
#include "retriever/compare/mend_mark.h"
#include "retriever/copies/aside.h"
#include "retriever/making/attributes.h"

#define BLOCK 4096
#define PIECE ((uint32_t)1 << 20)

/* Where bytes differ. */
struct extent {
	uint64_t offset, len;
};

struct mending {
	struct retriever *retriever;
	struct compare compare;
	const char *path, *name;
	char *dir; /* of path */
	int dir_fd;
	struct source_attr dir_attr;
	struct source_entry entry;
	struct compared compared;
	struct source_xattrs *xattrs;
	int fd, fresh; /* the file; one without a name that has the right bytes at their places */
	int former;    /* the copy in aside/ of one that is marked, or -1 */
	GArray *extents;
	uint64_t bytes;	    /* that differ, by blocks */
	struct lease lease; /* on the file */
	bool alone;	    /* it is there */
	bool is_aside;	    /* what it was */
	char **text;
};

G_GNUC_PRINTF(3, 4)
static int refuse(struct mending *m, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_free(*m->text);
	*m->text = g_strdup_vprintf(format, args);
	va_end(args);
	return status;
}

/* ---- the right bytes ---- */

static int read_there(struct mending *m, const struct source_object *object, uint64_t offset,
		      uint32_t len, uint8_t *bytes)
{
	const uint32_t max = MAX(m->retriever->max_read, BLOCK);

	while (len) {
		struct asked asked = {.req = {.op = BACKEND_READ, .object = *object}};
		struct asker_data data = {bytes, MIN(len, max), 0};
		int ret;

		asked.req.offset = offset;
		asked.req.count = data.room;
		ret = asker_read(&m->compare.asker, &asked, &data);
		if (!ret && !data.len)
			ret = -ENODATA;
		if (ret)
			return ret;
		offset += data.len;
		bytes += data.len;
		len -= data.len;
	}
	return 0;
}

static ssize_t read_fully(int fd, uint8_t *bytes, size_t len, uint64_t offset)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(fd, bytes + got, len - got, offset + got);

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += n;
	}
	return got;
}

static void add_extent(struct mending *m, uint64_t offset, uint32_t len)
{
	struct extent *last =
		m->extents->len ? &g_array_index(m->extents, struct extent, m->extents->len - 1)
				: NULL;
	const struct extent extent = {offset, len};

	m->bytes += len;
	if (last && last->offset + last->len == offset)
		last->len += len;
	else
		g_array_append_val(m->extents, extent);
}

/* For a file whose mending was cut short: whether each byte that differs from the old server's is
 * the file's former byte. */
static bool is_former(struct mending *m, uint64_t offset, const uint8_t *there, const uint8_t *here,
		      size_t len)
{
	g_autofree uint8_t *former = g_malloc(PIECE);
	ssize_t n = read_fully(m->former, former, len, offset);

	for (size_t i = 0; i < len; i++)
		if (there[i] != here[i] && ((ssize_t)i >= n || former[i] != here[i]))
			return false;
	return true;
}

/* Compares one piece, and notes and keeps the bytes that differ.  n: how much of the piece is here.
 */
static int keep_piece(struct mending *m, uint64_t offset, uint32_t len, const uint8_t *there,
		      const uint8_t *here, size_t n)
{
	int ret = 0;

	if (m->former >= 0 && !is_former(m, offset, there, here, n))
		return refuse(m, -EPERM,
			      "clients have changed it after a mending was cut short; what it was "
			      "before is set aside");
	for (uint32_t at = 0; at < len && !ret; at += BLOCK) {
		uint32_t block = MIN(BLOCK, len - at);

		if (at + block <= n && !memcmp(there + at, here + at, block))
			continue;
		add_extent(m, offset + at, block);
		ret = write_fully(m->fresh, there + at, block, offset + at);
	}
	return ret;
}

static int fetch(struct mending *m)
{
	g_autofree uint8_t *there = g_malloc(PIECE), *here = g_malloc(PIECE);
	struct source_object object = {.path = (char *)m->path, .handle_len = m->entry.handle_len};
	const uint64_t size = m->entry.attr.size;
	int ret = 0;

	memcpy(object.handle, m->entry.handle, m->entry.handle_len);
	m->fresh = scratch_file(m->retriever->staging_fd);
	if (m->fresh < 0)
		return -errno;
	for (uint64_t at = 0; at < size && !ret; at += PIECE) {
		uint32_t len = MIN(PIECE, size - at);
		ssize_t n = read_fully(m->fd, here, len, at);

		ret = n < 0 ? (int)n : read_there(m, &object, at, len, there);
		if (!ret)
			ret = keep_piece(m, at, len, there, here, n);
	}
	return ret;
}

/* ---- the former ones ---- */

static int copy_bytes(int from, int to, uint64_t size)
{
	g_autofree uint8_t *bytes = g_malloc(PIECE);
	int ret = 0;

	for (uint64_t at = 0; at < size && !ret; at += PIECE) {
		ssize_t n = read_fully(from, bytes, MIN(PIECE, size - at), at);

		ret = n < 0 ? (int)n : write_fully(to, bytes, n, at);
	}
	return ret;
}

/* A copy in aside/, durable, and its handle. */
static int set_aside(struct mending *m, const struct stat *st, struct migrate_binding *aside)
{
	g_autofree char *staged = g_strdup_printf("mend-%u", g_random_int());
	const int staging = m->retriever->staging_fd;
	int copy = openat(staging, staged, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), ret;

	if (copy < 0)
		return -errno;
	ret = copy_bytes(m->fd, copy, st->st_size);
	if (!ret &&
	    (fchown(copy, st->st_uid, st->st_gid) < 0 || fchmod(copy, st->st_mode & 0777) < 0 ||
	     futimens(copy, (struct timespec[2]){st->st_atim, st->st_mtim}) < 0))
		ret = -errno;
	if (!ret)
		ret = migrate_binding_get(copy, "", aside);
	if (!ret)
		ret = aside_put(m->retriever, staging, staged, m->dir, m->name);
	if (ret)
		unlinkat(staging, staged, 0);
	else if (syncfs(copy) < 0) /* its name too */
		ret = -errno;
	close(copy);
	return ret;
}

/* ---- writing ---- */

/* Refuses to write on when a process that opens the file waits for longer than a part of its time
 * (lease_holds()). */
static int keep_out(struct mending *m, unsigned part)
{
	if (lease_holds(&m->lease, part))
		return 0;
	return refuse(m, -EBUSY,
		      "somebody has opened it, and may have changed it: it is right in part; try "
		      "again when it is closed");
}

/* Writes one piece while no other process may write.  If the write takes longer than the kernel
 * makes the other process wait, that process may have written first. */
static int write_alone(struct mending *m, const uint8_t *bytes, size_t len, uint64_t offset)
{
	int ret = keep_out(m, 2);

	if (!ret)
		ret = write_fully(m->fd, bytes, len, offset);
	return ret ? ret : keep_out(m, 1);
}

/* Takes the lease: a process that opens the file from now on waits until fd is closed. */
static int lock_out(struct mending *m)
{
	int ret;

	if (!capabilities_has(&m->retriever->capabilities, CAPABILITY_LEASES))
		return refuse(
			m, -ENOTSUP,
			"this file system has no leases, so that clients could write between: "
			"copy the file from the old server");
	ret = lease_take(&m->lease, m->fd);
	m->alone = !ret;
	if (ret != -EBUSY)
		return ret;
	return refuse(m, -EBUSY,
		      "somebody has it open: try again when it is closed (file servers keep files "
		      "open for a while)");
}

static int write_extents(struct mending *m)
{
	g_autofree uint8_t *bytes = g_malloc(PIECE);
	int ret = 0;

	for (guint i = 0; i < m->extents->len && !ret; i++) {
		const struct extent e = g_array_index(m->extents, struct extent, i);

		for (uint64_t at = 0; at < e.len && !ret; at += PIECE) {
			uint32_t len = MIN(PIECE, e.len - at);
			ssize_t n = read_fully(m->fresh, bytes, len, e.offset + at);

			ret = n != len ? -EIO : write_alone(m, bytes, len, e.offset + at);
		}
	}
	if (!ret)
		ret = keep_out(m, 2);
	if (!ret && ftruncate(m->fd, m->entry.attr.size) < 0)
		ret = -errno;
	return ret;
}

static bool is_unchanged(int fd, const struct stat *before)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size == before->st_size &&
	       st.st_ctim.tv_sec == before->st_ctim.tv_sec &&
	       st.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

static int mend_content(struct mending *m)
{
	struct migrate_binding aside;
	const bool marked = mend_is_marked(m->fd, &aside);
	struct stat st;
	int ret;

	if (m->retriever->staging_fd < 0)
		return refuse(m, -ENOTSUP,
			      "the volume is finished, and has no place where the former content "
			      "could be set aside: copy the file from the old server");
	if (marked) {
		m->former = retriever_open_binding(m->retriever, &aside, O_RDONLY);
		if (m->former < 0)
			return refuse(m, -ESTALE,
				      "a mending was cut short, and what was set aside is gone: "
				      "copy the file from the old server");
	}
	if (fstat(m->fd, &st) < 0)
		return -errno;
	ret = fetch(m);
	if (!ret && !marked)
		ret = set_aside(m, &st, &aside);
	m->is_aside = !ret;
	if (!ret)
		ret = lock_out(m);
	if (ret)
		return ret;
	if (!is_unchanged(m->fd, &st))
		return refuse(m, -EPERM, "somebody is changing it");
	if (!marked)
		ret = mend_mark(m->fd, &aside);
	if (!ret)
		ret = write_extents(m); /* durable with its attributes */
	return ret;
}

static int mend_attributes(struct mending *m)
{
	if (S_ISREG(m->entry.attr.mode) || S_ISDIR(m->entry.attr.mode)) {
		int ret = likeness_mend(m->compare.scratches, m->fd, &m->entry.attr, m->xattrs);

		return !ret && fsync(m->fd) < 0 ? -errno : ret;
	}
	struct attributes_result carried = {0};
	int ret = attributes_set_node(m->retriever, m->dir_fd, m->name, &m->entry.attr, m->xattrs,
				      &carried);

	attributes_clear(&carried);
	return ret;
}

/* ---- all of it ---- */

static bool has_kind(const struct mending *m, unsigned kinds)
{
	for (guint i = 0; i < m->compared.findings->len; i++)
		if (kinds >> g_array_index(m->compared.findings, struct proof_finding, i).kind & 1)
			return true;
	return false;
}

/* Refuses objects that cannot be mended. */
static int check_mend(struct mending *m)
{
	const unsigned ours = 1 << PROOF_CONTENT | 1 << PROOF_ATTRIBUTES | 1 << PROOF_XATTRS;
	const struct proof_finding *first =
		&g_array_index(m->compared.findings, struct proof_finding, 0);

	if (m->compared.missing)
		return refuse(m, -ENOENT, "it is not here: copy it from the old server");
	switch (m->compared.entry.status) {
	case PROOF_SAME:
	case PROOF_LOST:
	case PROOF_DIFFERENT:
		break;
	case PROOF_CHANGED:
		return refuse(m, -EPERM, "clients have changed it: it is left as it is");
	case PROOF_UNFINISHED:
		return refuse(m, -EBUSY,
			      "it is not here yet: migratectl retry %s, then the crawler",
			      m->retriever->config->name);
	default:
		return refuse(m, -EIO, "%s", m->compared.findings->len ? first->text : "stopped");
	}
	if (has_kind(m, ~ours) ||
	    (has_kind(m, 1 << PROOF_CONTENT) && !S_ISREG(m->compared.entry.mode)))
		return refuse(m, -ENOTSUP, "%s: %s", first->text,
			      first->kind == PROOF_CONTENT ? "copy it from the old server"
							   : proof_kind_remedy(first->kind));
	return 0;
}

static int compare_again(struct mending *m)
{
	struct compare_place place = {m->dir_fd, m->dir, &m->dir_attr};

	compared_clear(&m->compared);
	compared_init(&m->compared);
	compare_entry(&m->compare, &place, &m->entry, true, &m->compared);
	return check_mend(m);
}

static int open_mended(struct mending *m)
{
	const mode_t mode = m->compared.entry.mode;
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC;

	if (!S_ISREG(mode) && !S_ISDIR(mode))
		return 0;
	m->fd = openat(m->dir_fd, m->name, flags | (S_ISREG(mode) ? O_RDWR : O_RDONLY));
	if (m->fd < 0 && flags_word(m->dir_fd, m->name))
		return refuse(m, -ENOTSUP, "it is %s: take that off, mend it, and set it again",
			      flags_word(m->dir_fd, m->name));
	return m->fd < 0 ? -errno : 0;
}

static int mend(struct mending *m)
{
	struct stat st;
	int ret = compare_again(m);

	if (!ret)
		ret = open_mended(m);
	if (ret)
		return ret;
	if (m->compared.entry.status != PROOF_DIFFERENT) {
		ret = m->fd >= 0 && S_ISREG(m->entry.attr.mode) ? mend_unmark(m->fd) : 0;
		return ret ? ret : refuse(m, 0, "it is as on the old server");
	}
	if (m->fd >= 0 && fstat(m->fd, &st) < 0)
		return -errno;
	ret = compare_ask_xattrs(&m->compare, m->dir, &m->entry, &m->xattrs);
	if (!ret && has_kind(m, 1 << PROOF_CONTENT))
		ret = mend_content(m);
	if (!ret)
		ret = m->alone ? keep_out(m, 2)
		      : m->fd < 0 || is_unchanged(m->fd, &st)
			      ? 0
			      : refuse(m, -EPERM, "somebody is changing it");
	if (!ret)
		ret = mend_attributes(m);
	if (!ret && S_ISREG(m->entry.attr.mode))
		ret = mend_unmark(m->fd);
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	if (!ret)
		ret = compare_again(m);
	if (!ret && m->compared.entry.status == PROOF_DIFFERENT)
		return refuse(m, -EIO, "it is still different: compare again");
	return ret ? ret
		   : refuse(m, 0, "mended: " TEXT_COUNT " written%s",
			    TEXT_COUNTED(m->bytes, "bytes"),
			    m->is_aside ? "; what it was before is set aside" : "");
}

static void begin_mend(struct mending *m)
{
	struct compare *compare = &m->compare;

	asker_init(&compare->asker, m->retriever);
	compare->asker.priority = BACKEND_READAHEAD; /* somebody waits, also in a pause */
	compare->retriever = m->retriever;
	compare->disk = disk_new(1);
	compare->scratches = scratches_new(m->retriever);
	compare->clients = clients_new(m->retriever);
	compare->linked = link_pairs_new();
	compared_init(&m->compared);
	m->extents = g_array_new(FALSE, FALSE, sizeof(struct extent));
}

static void close_all(struct mending *m)
{
	const int fds[] = {m->fd, m->fresh, m->former, m->dir_fd};

	for (size_t i = 0; i < G_N_ELEMENTS(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void end_mend(struct mending *m)
{
	struct compare *compare = &m->compare;

	close_all(m);
	compared_clear(&m->compared);
	g_array_unref(m->extents);
	g_clear_pointer(&m->xattrs, source_xattrs_free);
	link_pairs_free(compare->linked);
	clients_free(compare->clients);
	scratches_free(compare->scratches);
	disk_free(compare->disk);
	g_free(m->dir);
}

int mend_path(struct retriever *retriever, const char *path, char **text)
{
	const char *slash = strrchr(path, '/');
	struct mending m = {.retriever = retriever,
			    .path = path,
			    .name = slash ? slash + 1 : path,
			    .dir = slash ? g_strndup(path, slash - path) : g_strdup(""),
			    .fd = -1,
			    .fresh = -1,
			    .former = -1,
			    .text = text};
	int ret = -EINVAL;

	begin_mend(&m);
	m.entry.name = (char *)m.name;
	m.dir_fd = source_path_ok(path) && *m.name ? compare_open_here(retriever, m.dir) : -EINVAL;
	if (retriever->copying)
		refuse(&m, ret, "it is of a copy: its next run brings it up to date");
	else if (m.dir_fd < 0)
		ret = refuse(&m, m.dir_fd, "its directory cannot be opened: %s",
			     g_strerror(-m.dir_fd));
	else
		ret = mend(&m);
	if (ret && !*text)
		*text = g_strdup(g_strerror(-ret));
	end_mend(&m);
	return ret;
}
