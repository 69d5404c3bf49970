/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/fill_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

#include "common/migrate.h"
#include "common/record.h"

struct note {
	int64_t ctime; /* ns */
	uint64_t fileid;
};

static off_t place_of(const struct stat *st)
{
	return st->st_ino > INT64_MAX / sizeof(struct note)
		       ? -1
		       : (off_t)(st->st_ino * sizeof(struct note));
}

void fill_notes_add(int private_fd, int fd, uint64_t fileid, int64_t mtime)
{
	struct stat st;
	int notes;

	if (fstat(fd, &st) < 0 || migrate_ns(st.st_mtim) != mtime || place_of(&st) < 0)
		return;
	notes = openat(private_fd, FILL_NOTES_FILE, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	if (notes < 0)
		return;
	const struct note note = {migrate_ns(st.st_ctim), fileid};
	if (pwrite(notes, &note, sizeof(note), place_of(&st)) < 0)
		g_debug("inode %lu: %s: is not noted", (unsigned long)st.st_ino, g_strerror(errno));
	close(notes);
}

bool fill_notes_has(int root_fd, const struct stat *st, uint64_t fileid)
{
	int private = openat(root_fd, MIGRATE_PRIVATE_DIR,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int notes = private >= 0 && migrate_private_is_marked(private)
			    ? openat(private, FILL_NOTES_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
			    : -1;
	struct note note;
	bool is = notes >= 0 && fileid && place_of(st) >= 0 &&
		  pread(notes, &note, sizeof(note), place_of(st)) == sizeof(note) &&
		  note.fileid == fileid && note.ctime == migrate_ns(st->st_ctim);

	if (notes >= 0)
		close(notes);
	if (private >= 0)
		close(private);
	return is;
}
