/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "retriever/objects/errors_file.h"
#include "retriever/objects/errors_list.h"

#define PENDING_WRITE  (1 << 20) /* bytes: who adds more writes them */
#define DEAD_LINES_MIN 10000

struct errors {
	GMutex file_lock; /* the file, and where lines are in it; taken before lock */
	GMutex lock; /* what follows `unsynced`; a leaf, not held while the disk is waited for */
	struct errors_file file;
	bool unsynced;
	struct errors_list list;
	bool stuck;	/* pending lines could not be written: errors_save() tries again */
	guint left_out; /* entries, since the last warning */
};

/* File lock held. */
static int write_pending(struct errors *errors)
{
	GString *lines;
	int ret = 0;

	g_mutex_lock(&errors->lock);
	lines = errors->list.pending;
	errors->list.pending = g_string_new(NULL);
	g_mutex_unlock(&errors->lock);
	if (lines->len)
		ret = errors_file_append(&errors->file, lines->str, lines->len);
	errors->unsynced |= lines->len && !ret;
	g_mutex_lock(&errors->lock);
	errors->stuck = ret != 0;
	if (ret) { /* in front of what came meanwhile */
		g_string_append_len(lines, errors->list.pending->str,
				    (gssize)errors->list.pending->len);
		g_string_free(errors->list.pending, TRUE);
		errors->list.pending = g_steal_pointer(&lines);
	}
	g_mutex_unlock(&errors->lock);
	if (lines)
		g_string_free(lines, TRUE);
	return ret;
}

/* ---- adding ---- */

/* Lock held. */
static bool add_locked(struct errors *errors, const struct error_entry *e, const char *line)
{
	struct errors_hashes h = errors_list_hashes(&errors->list, e);
	size_t len = strlen(line);
	enum errors_news news;

	if (errors->list.pending->len + len > ERRORS_PENDING_MAX) {
		bool known = errors_index_find(&errors->list.index, h.entry) != 0;

		errors->left_out += !known;
		return !known;
	}
	news = errors_list_put(&errors->list, e, h, errors->list.next);
	if (news)
		errors_list_append(&errors->list, line, len);
	return news == ERRORS_NEWS_REASON;
}

static void add_error(struct errors *errors, int fd, const char *name, char *path, int status,
		      enum error_code error, const char *about)
{
	const struct error_kind *kind = error_kind(status == -EAGAIN ? QM_LATER : error);
	g_autofree char *told = about ? g_strconcat(about, ": ", kind->sentence, NULL) : NULL;
	struct error_entry e = {.name = (char *)name,
				.path = path,
				.reason = told ? told : (char *)kind->sentence,
				.code = kind->code,
				.status = status,
				.since = g_get_real_time() / G_USEC_PER_SEC};
	g_autofree char *line = NULL;
	bool news, many;

	migrate_binding_get(fd, "", &e.key);
	line = error_entry_line(ERROR_ADD, &e);
	g_mutex_lock(&errors->lock);
	news = add_locked(errors, &e, line);
	many = errors->list.pending->len > PENDING_WRITE && !errors->stuck;
	g_mutex_unlock(&errors->lock);
	if (many) {
		g_mutex_lock(&errors->file_lock);
		write_pending(errors);
		g_mutex_unlock(&errors->file_lock);
	}
	if (news) /* not once for each attempt */
		log_event(EVENT_OBJECT_FAILED, G_LOG_LEVEL_WARNING, path, e.reason, e.code, status,
			  "%s: %s (%s) [%s]", path, e.reason, g_strerror(-status), kind->name);
	g_free(path);
}

void errors_add_about(struct errors *errors, int fd, int status, enum error_code error,
		      const char *about)
{
	g_autofree char *raw = retriever_fd_path(fd);

	add_error(errors, fd, NULL, text_utf8(raw), status, error, about);
}

void errors_add_fd(struct errors *errors, int fd, int status, enum error_code error)
{
	errors_add_about(errors, fd, status, error, NULL);
}

void errors_add_name(struct errors *errors, int dir_fd, const char *name, int status,
		     enum error_code error, const char *about)
{
	g_autofree char *dir = retriever_fd_path(dir_fd);
	g_autofree char *raw = g_strconcat(dir, "/", name, NULL);

	add_error(errors, dir_fd, name, text_utf8(raw), status, error, about);
}

/* A checksum, because the shown name may be too long. */
char *errors_refused_name(const char *shown)
{
	g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA1, shown, -1);

	return *shown ? g_strconcat("/", sum, NULL) : g_strdup(ERRORS_MORE);
}

void errors_add_refused(struct errors *errors, int dir_fd, const char *shown, int status,
			enum error_code error, const char *about)
{
	g_autofree char *raw = retriever_fd_path(dir_fd);
	g_autofree char *dir = text_utf8(raw);
	g_autofree char *key = errors_refused_name(shown);

	add_error(errors, dir_fd, key, g_strconcat(dir, "/", shown, NULL), status, error, about);
}

/* ---- forgetting ---- */

void errors_forget_name(struct errors *errors, const struct migrate_binding *key, const char *name)
{
	struct error_entry e = {.key = *key, .name = (char *)name};
	uint32_t place;

	g_mutex_lock(&errors->lock);
	if (name ? errors->list.index.names : errors->list.index.count) {
		place = errors_index_find(&errors->list.index,
					  errors_list_hashes(&errors->list, &e).entry);
		if (place) {
			errors_list_remove(&errors->list, place);
			errors_list_change(&errors->list, ERROR_FORGET, &e);
		}
	}
	g_mutex_unlock(&errors->lock);
}

void errors_forget(struct errors *errors, const struct migrate_binding *key)
{
	errors_forget_name(errors, key, NULL);
}

void errors_forget_names(struct errors *errors, const struct migrate_binding *dir)
{
	struct error_entry e = {.key = *dir};

	g_mutex_lock(&errors->lock);
	if (errors_list_remove_names(&errors->list, errors_list_hashes(&errors->list, &e).object))
		errors_list_change(&errors->list, ERROR_NAMES, &e);
	g_mutex_unlock(&errors->lock);
}

void errors_forget_all(struct errors *errors)
{
	g_mutex_lock(&errors->lock);
	if (errors->list.index.count)
		errors_list_change(&errors->list, ERROR_ALL, NULL);
	errors_list_clear(&errors->list);
	g_mutex_unlock(&errors->lock);
}

bool errors_has(struct errors *errors, const struct migrate_binding *key)
{
	struct error_entry e = {.key = *key};
	bool has;

	g_mutex_lock(&errors->lock);
	has = errors_index_find(&errors->list.index, errors_list_hashes(&errors->list, &e).entry) !=
	      0;
	g_mutex_unlock(&errors->lock);
	return has;
}

guint errors_count(struct errors *errors)
{
	guint n;

	g_mutex_lock(&errors->lock);
	n = errors->list.index.count;
	g_mutex_unlock(&errors->lock);
	return n;
}

void errors_count_codes(struct errors *errors, guint counts[static ERROR_KINDS])
{
	struct error_reason *at;

	memset(counts, 0, ERROR_KINDS * sizeof counts[0]);
	g_mutex_lock(&errors->lock);
	for (guint n = 0; (at = errors_reasons_at(&errors->list.reasons, n)); n++)
		if (at->count)
			counts[error_kind(at->code) - error_kinds] += at->count;
	g_mutex_unlock(&errors->lock);
}

gint64 errors_since(struct errors *errors)
{
	struct error_reason *at;
	gint64 since = G_MAXINT64;

	g_mutex_lock(&errors->lock);
	for (guint n = 0; (at = errors_reasons_at(&errors->list.reasons, n)); n++)
		if (at->count)
			since = MIN(since, at->since);
	g_mutex_unlock(&errors->lock);
	return since == G_MAXINT64 ? 0 : since;
}

guint errors_places(struct errors *errors)
{
	guint n;

	g_mutex_lock(&errors->lock);
	n = errors->list.index.used;
	g_mutex_unlock(&errors->lock);
	return n;
}

/* ---- listing ---- */

/* File lock held. */
static char *line_at(struct errors *errors, uint64_t offset)
{
	char *line = NULL;

	if (offset < errors->file.end)
		return errors_file_line(&errors->file, offset);
	offset -= errors->file.end;
	g_mutex_lock(&errors->lock);
	if (offset < errors->list.pending->len) {
		const char *at = errors->list.pending->str + offset;

		line = g_strndup(at, strcspn(at, "\n") + 1);
	}
	g_mutex_unlock(&errors->lock);
	return line;
}

/* The first slot from *place on that may match: the offset of its line. */
static bool next_slot(struct errors *errors, guint *place, const struct errors_filter *filter,
		      uint64_t *offset)
{
	bool found;

	g_mutex_lock(&errors->lock);
	found = errors_list_next(&errors->list, place, filter, offset);
	g_mutex_unlock(&errors->lock);
	return found;
}

/* File lock held.  What cannot be read is listed all the same. */
static void read_entry(struct errors *errors, uint64_t offset, struct error_entry *entry)
{
	g_autofree char *line = line_at(errors, offset);

	*entry = (struct error_entry){.name = NULL};
	if (line && error_entry_parse(line, entry) == ERROR_ADD)
		return;
	error_entry_clear(entry);
	*entry = (struct error_entry){.path = g_strdup("?"),
				      .reason = g_strdup(error_kind(QM_LIST_UNREAD)->sentence),
				      .code = QM_LIST_UNREAD,
				      .status = -EIO};
}

bool errors_get(struct errors *errors, guint *place, const struct errors_filter *filter,
		struct error_entry *entry)
{
	uint64_t offset;
	bool found;

	for (;; (*place)++) {
		g_mutex_lock(&errors->file_lock);
		found = next_slot(errors, place, filter, &offset);
		if (found)
			read_entry(errors, offset, entry);
		g_mutex_unlock(&errors->file_lock);
		if (!found || !filter || error_entry_matches(entry, filter))
			return found;
		error_entry_clear(entry);
	}
}

GPtrArray *errors_names(struct errors *errors, const struct migrate_binding *dir)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) offsets = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	struct error_entry e = {.key = *dir};
	uint64_t directory = errors_list_hashes(&errors->list, &e).object;

	g_mutex_lock(&errors->file_lock);
	g_mutex_lock(&errors->lock);
	for (uint32_t place = 0;
	     (place = errors_index_name(&errors->list.index, directory, place));) {
		uint64_t offset = errors_index_at(&errors->list.index, place)->offset;

		g_array_append_val(offsets, offset);
	}
	g_mutex_unlock(&errors->lock);
	for (guint i = 0; i < offsets->len; i++) {
		read_entry(errors, g_array_index(offsets, uint64_t, i), &e);
		if (e.name)
			g_ptr_array_add(names, g_steal_pointer(&e.name));
		error_entry_clear(&e);
	}
	g_mutex_unlock(&errors->file_lock);
	return names;
}

bool errors_get_reason(struct errors *errors, guint *place, struct error_reason *reason)
{
	struct error_reason *at;

	g_mutex_lock(&errors->lock);
	while ((at = errors_reasons_at(&errors->list.reasons, *place)) && !at->count)
		(*place)++;
	if (at) {
		*reason = *at;
		reason->text = g_strdup(at->text);
	}
	g_mutex_unlock(&errors->lock);
	return at != NULL;
}

/* ---- the file ---- */

/* File lock held.  The lines of what is listed into new; where they are there, by place. */
static int copy_lines(struct errors *errors, struct errors_file *new, uint64_t *offsets, guint n)
{
	g_autoptr(GString) part = g_string_new(NULL);
	int ret = 0;

	for (guint place = 0; !ret; place++) {
		g_autofree char *line = NULL;
		uint64_t offset;
		bool more = next_slot(errors, &place, NULL, &offset) && place < n;

		if (more && offset < errors->file.end) {
			line = errors_file_line(&errors->file, offset);
			ret = line ? 0 : -EIO;
		}
		if (line) {
			offsets[place] = new->end + part->len;
			g_string_append(part, line);
		}
		if (!ret && (!more || part->len > PENDING_WRITE)) {
			ret = errors_file_append(new, part->str, part->len);
			g_string_truncate(part, 0);
		}
		if (!more)
			break;
	}
	return ret;
}

/* Both locks held: the lines have moved; those that are not in the file follow those that are. */
static void move_offsets(struct errors *errors, const uint64_t *offsets, uint64_t old_end)
{
	uint64_t lines = 0, end = errors->file.end;

	for (uint32_t place = 1; place <= errors->list.index.used; place++) {
		struct errors_slot *slot = errors_index_at(&errors->list.index, place);

		if (slot && slot->offset < old_end)
			slot->offset = offsets[place - 1];
		else if (slot)
			slot->offset = slot->offset - old_end + end;
		lines += slot != NULL;
	}
	errors->list.next = errors->list.next - old_end + end;
	errors->list.lines = lines;
}

/* File lock held.  Writes the file anew, without what is void. */
static int rewrite(struct errors *errors)
{
	g_autofree uint64_t *offsets = NULL;
	uint64_t old_end = errors->file.end;
	struct errors_file new;
	guint n;
	int ret = errors_file_begin(&errors->file, &new);

	g_mutex_lock(&errors->lock);
	n = errors->list.index.used;
	g_mutex_unlock(&errors->lock);
	offsets = g_new0(uint64_t, n + 1);
	if (!ret)
		ret = copy_lines(errors, &new, offsets, n);
	if (!ret)
		ret = errors_file_replace(&errors->file, &new);
	if (!ret) {
		g_mutex_lock(&errors->lock);
		move_offsets(errors, offsets, old_end);
		g_mutex_unlock(&errors->lock);
	}
	errors_file_clear(&new);
	return ret;
}

/* File lock held. */
static bool is_mostly_void(struct errors *errors)
{
	bool is;

	g_mutex_lock(&errors->lock);
	is = errors->list.lines > 2 * (uint64_t)errors->list.index.count + DEAD_LINES_MIN;
	g_mutex_unlock(&errors->lock);
	return is;
}

static void warn_of(struct errors *errors, int status)
{
	guint n;

	g_mutex_lock(&errors->lock);
	n = errors->left_out;
	errors->left_out = 0;
	g_mutex_unlock(&errors->lock);
	if (n)
		g_warning(TEXT_COUNT " not listed, because .migrate/" ERRORS_FILE
				     " could not be written (%s): migratectl verify finds them",
			  TEXT_COUNTED(n, "failures are"), g_strerror(-status));
}

void errors_save(struct errors *errors)
{
	int ret, fd = -1;

	g_mutex_lock(&errors->file_lock);
	ret = write_pending(errors);
	if (!ret && is_mostly_void(errors))
		ret = rewrite(errors);
	if (errors->unsynced) {
		fd = fcntl(errors->file.fd, F_DUPFD_CLOEXEC, 3);
		errors->unsynced = fd < 0; /* the next one has to do it */
	}
	g_mutex_unlock(&errors->file_lock);
	if (fd >= 0) {
		if (fdatasync(fd) < 0)
			ret = -errno;
		close(fd);
	}
	if (ret && fd >= 0) {
		g_mutex_lock(&errors->file_lock);
		errors->unsynced = true;
		g_mutex_unlock(&errors->file_lock);
	}
	warn_of(errors, ret);
}

static void load_line(void *arg, const char *line, size_t len, uint64_t offset)
{
	struct errors *errors = arg;
	struct error_entry e;
	uint32_t place;

	errors->list.lines++;
	errors->list.next = offset + len;
	switch (error_entry_parse(line, &e)) {
	case ERROR_ADD:
		errors_list_put(&errors->list, &e, errors_list_hashes(&errors->list, &e), offset);
		break;
	case ERROR_FORGET:
		place = errors_index_find(&errors->list.index,
					  errors_list_hashes(&errors->list, &e).entry);
		if (place)
			errors_list_remove(&errors->list, place);
		break;
	case ERROR_NAMES:
		errors_list_remove_names(&errors->list,
					 errors_list_hashes(&errors->list, &e).object);
		break;
	case ERROR_ALL:
		errors_list_clear(&errors->list);
		break;
	}
	error_entry_clear(&e);
}

static void load_errors(struct errors *errors, int dir_fd)
{
	errors_file_init(&errors->file, dir_fd);
	errors_file_load(&errors->file, load_line, errors);
}

struct errors *errors_new(int private_fd)
{
	struct errors *errors = g_new0(struct errors, 1);

	g_mutex_init(&errors->file_lock);
	g_mutex_init(&errors->lock);
	errors_list_init(&errors->list);
	load_errors(errors, private_fd);
	return errors;
}

void errors_set_directory(struct errors *errors, int private_fd)
{
	struct errors *new = errors_new(private_fd), old;
	const size_t start = offsetof(struct errors, file), len = sizeof old - start;

	g_mutex_lock(&errors->file_lock);
	g_mutex_lock(&errors->lock);
	memcpy((char *)&old + start, (char *)errors + start, len);
	memcpy((char *)errors + start, (char *)new + start, len);
	memcpy((char *)new + start, (char *)&old + start, len);
	g_mutex_unlock(&errors->lock);
	g_mutex_unlock(&errors->file_lock);
	errors_free(new);
}

void errors_free(struct errors *errors)
{
	if (!errors)
		return;
	errors_list_free(&errors->list);
	errors_file_clear(&errors->file);
	g_mutex_clear(&errors->file_lock);
	g_mutex_clear(&errors->lock);
	g_free(errors);
}
