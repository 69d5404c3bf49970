/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/retention.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/source/source_windows.h"
#include "retriever/objects/links.h"

#define MARK	  "retention" /* in the names of struct omissions */
#define CLOCK_OFF 86400	      /* s; a file that was just read has such a date by another clock */
#define DATE_LEN  40

static char *date_text(int64_t seconds)
{
	g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(seconds);

	return date ? g_date_time_format(date, "%Y-%m-%dT%H:%M:%SZ")
		    : g_strdup_printf("%" G_GINT64_FORMAT " seconds from 1970", seconds);
}

/* The name that tells the date, beside MARK. */
static const char *date_mark(char mark[static DATE_LEN], int64_t seconds)
{
	g_snprintf(mark, DATE_LEN, MARK " until %" PRId64, seconds);
	return mark;
}

void retention_note(const struct volume_config *config, const struct source_attr *attr,
		    const struct source_xattrs *xattrs, struct attributes_result *carried)
{
	const bool read_only =
		!(attr->mode & 0222) ||
		(xattrs && xattrs->windows && xattrs->windows->attributes & WINDOWS_READONLY);
	const bool flagged = xattrs && xattrs->immutable;
	const int64_t until =
		attr->far_atime ? attr->far_atime : migrate_timespec(attr->atime).tv_sec;
	const int64_t now = time(NULL);
	char mark[DATE_LEN];
	const bool keeps = flagged || until > now + CLOCK_OFF;

	if (!S_ISREG(attr->mode) || !(flagged || (read_only && until > now)))
		return;
	g_autofree char *date = flagged ? g_strdup("chattr -i") : date_text(until);

	attributes_lose(carried, LOSS_RETENTION, "under retention until %s, which %s", date,
			config->retention != RETENTION_IMMUTABLE
				? "nothing keeps here: see retention in quickmigrate.conf(5)"
			: keeps ? "chattr +i keeps here if its directory is whole before then"
				: "nothing keeps here: it is within a day");
	if (keeps)
		omissions_add(&carried->left, MARK);
	if (keeps && !flagged)
		omissions_add(&carried->left, date_mark(mark, until));
}

/* Whether nothing is left to be done to it. */
static bool all_is_done(struct retriever *retriever, int dir_fd, int fd)
{
	struct migrate_binding key;
	char provisional[LINK_NAME_LEN];
	struct stat st;

	return migrate_is_missing(dir_fd) == 0 && fstat(fd, &st) == 0 &&
	       (st.st_nlink == 1 || (migrate_binding_get(fd, "", &key) == 0 &&
				     !links_find(retriever, &key, st.st_ino, provisional)));
}

/* Whether clients have let somebody write it, whom nobody had let (I7), or the date has come that
 * it has from the old server. */
static bool is_let_go(const struct omissions *left, int fd)
{
	char mark[DATE_LEN];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	return (!(left->mode & 0222) && st.st_mode & 0222) ||
	       (st.st_atime <= time(NULL) && omissions_has(left, date_mark(mark, st.st_atime)));
}

static int set_flag(const char *path)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
	int flags = 0, ret = fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 ? -errno : 0;

	flags |= FS_IMMUTABLE_FL;
	if (!ret && ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	return ret;
}

void retention_keep(struct retriever *retriever, int dir_fd, const char *name, int fd)
{
	struct attributes_result carried = {0};
	struct omissions left;
	char path[32];
	int ret;

	if (retriever->config->retention != RETENTION_IMMUTABLE || retriever->copying)
		return;
	g_snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	omissions_get(path, &left);
	if (!omissions_has(&left, MARK) || !all_is_done(retriever, dir_fd, fd) ||
	    is_let_go(&left, fd))
		return;
	if (!(ret = set_flag(path)))
		return;
	attributes_lose(&carried, LOSS_RETENTION, "could not be made immutable (chattr +i): %s",
			g_strerror(-ret));
	attributes_report(retriever, &carried, dir_fd, name);
	attributes_clear(&carried);
}
