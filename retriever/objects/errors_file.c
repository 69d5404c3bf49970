/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/errors_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/write_fully.h"

#define NEW_FILE     ERRORS_FILE ".new"
#define PART	     65536 /* read at once: most who want a line want the next one too */
#define LINE_MAX_LEN (1 << 20)

void errors_file_init(struct errors_file *file, int dir_fd)
{
	*file = (struct errors_file){.dir_fd = dir_fd, .fd = -1};
}

void errors_file_clear(struct errors_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	g_free(file->seen);
	errors_file_init(file, -1);
}

static int open_file(struct errors_file *file, const char *name, int flags)
{
	if (file->fd >= 0)
		return 0;
	file->fd = file->dir_fd < 0
			   ? memfd_create(name, MFD_CLOEXEC)
			   : openat(file->dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600);
	return file->fd < 0 ? -errno : 0;
}

bool errors_file_load(struct errors_file *file, errors_file_fn line, void *arg)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *in;
	int fd = file->dir_fd < 0 ? -1 : openat(file->dir_fd, ERRORS_FILE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return false;
	file->fd = fd;
	in = fdopen(fcntl(fd, F_DUPFD_CLOEXEC, 3), "r");
	while (in && (len = getline(&text, &room, in)) > 0 && text[len - 1] == '\n') {
		line(arg, text, (size_t)len, file->end);
		file->end += (uint64_t)len;
	}
	free(text);
	if (in)
		fclose(in);
	if (ftruncate(fd, (off_t)file->end) < 0)
		g_warning("%s: %s", ERRORS_FILE, g_strerror(errno));
	return file->end > 0;
}

int errors_file_append(struct errors_file *file, const char *lines, size_t len)
{
	int ret = open_file(file, ERRORS_FILE, 0);

	if (ret)
		return ret;
	ret = write_fully(file->fd, lines, len, (off_t)file->end);
	if (!ret)
		file->end += len;
	else if (ftruncate(file->fd, (off_t)file->end) < 0)
		g_warning("%s: %s", ERRORS_FILE, g_strerror(errno));
	return ret;
}

/* The end of the line at offset in the part that was read last, or NULL if the line's end is not in
 * it. */
static const char *seen_end(const struct errors_file *file, uint64_t offset)
{
	if (!file->seen || offset < file->seen_at || offset >= file->seen_at + file->seen_len)
		return NULL;
	offset -= file->seen_at;
	return memchr(file->seen + offset, '\n', file->seen_len - offset);
}

static bool see(struct errors_file *file, uint64_t offset, size_t len)
{
	ssize_t n;

	file->seen = g_realloc(file->seen, len);
	n = pread(file->fd, file->seen, len, (off_t)offset);
	file->seen_at = offset;
	file->seen_len = n > 0 ? MIN((size_t)n, file->end - offset) : 0;
	return file->seen_len > 0;
}

char *errors_file_line(struct errors_file *file, uint64_t offset)
{
	const char *end;

	if (file->fd < 0 || offset >= file->end)
		return NULL;
	for (size_t len = PART; !(end = seen_end(file, offset)); len *= 4)
		if (len > LINE_MAX_LEN || !see(file, offset, len))
			return NULL;
	offset -= file->seen_at;
	return g_strndup(file->seen + offset, (gsize)(end + 1 - (file->seen + offset)));
}

int errors_file_begin(const struct errors_file *file, struct errors_file *new)
{
	errors_file_init(new, file->dir_fd);
	return open_file(new, NEW_FILE, O_TRUNC);
}

int errors_file_replace(struct errors_file *file, struct errors_file *new)
{
	if (fdatasync(new->fd) < 0)
		return -errno;
	if (new->dir_fd >= 0 && renameat(new->dir_fd, NEW_FILE, new->dir_fd, ERRORS_FILE) < 0)
		return -errno;
	if (file->fd >= 0)
		close(file->fd);
	g_free(file->seen);
	*file = *new;
	errors_file_init(new, -1);
	return 0;
}
