/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "source/gate.h"
#include "source/posix_acl.h"
#include "volume/attributes.h"
#include "volume/errors.h"
#include "volume/private.h"
#include "volume/probe.h"
#include "volume/saved_counters.h"
#include "volume/state.h"
#include "volume/templates.h"

/* What the source's root has beside its attributes.  NULL where nothing is carried. */
static int ask_root_xattrs(struct retriever *retriever, struct source_xattrs **xattrs)
{
	struct backend_request req = {.op = BACKEND_XATTRS, .priority = BACKEND_DEMAND};
	struct source_entry root = {.attr = retriever->source_root_attr};
	int ret;

	*xattrs = NULL;
	if (!retriever->carries)
		return 0;
	req.object = retriever->source_root;
	ret = gate_call(retriever->gate, &req);
	if (!ret && !attributes_take_answer(&req, &root, xattrs))
		ret = -ESTALE;
	return ret;
}

/* "" where the new file system stores the time of a file as it is. */
static char *time_loss(struct retriever *retriever)
{
	const struct timespec times[2] = {{1, 123456789}, {1, 123456789}};
	int fd = openat(retriever->private_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct stat st;
	char *text = NULL;

	if (fd >= 0 && futimens(fd, times) == 0 && fstat(fd, &st) == 0 &&
	    st.st_mtim.tv_nsec != times[1].tv_nsec)
		text = g_strdup_printf("times: the new file system cuts 0.123456789 s to 0.%09ld s",
				       st.st_mtim.tv_nsec);
	if (fd >= 0)
		close(fd);
	return text ? text : g_strdup("");
}

int attach_report(struct retriever *retriever)
{
	const struct backend_ops *ops = retriever->backend->ops;
	g_autofree char *text = ops->not_carried ? ops->not_carried(retriever->backend) : NULL;
	g_autofree char *times = time_loss(retriever);
	g_autofree char *all = g_strconcat(text ? text : "", "\n", times, NULL);
	g_auto(GStrv) lines = g_strsplit(all, "\n", -1);
	int ret = 0;

	for (char **line = lines; *line && !ret; line++)
		if (**line)
			ret = report_add(retriever->report, REPORT_VOLUME, "", *line);
	return ret;
}

static int set_root_attributes(struct retriever *retriever, const struct source_xattrs *xattrs)
{
	const struct source_attr *attr = &retriever->source_root_attr;
	struct carried carried = {0};
	int ret;

	fremovexattr(retriever->root_fd, XATTR_ACL_DEFAULT);
	ret = attributes_set(retriever, retriever->root_fd, attr, xattrs, true, &carried);
	if (!ret)
		ret = attributes_report(retriever, &carried, retriever->root_fd, ".");
	COUNT_SET(retriever, acls_carried, carried.acl);
	COUNT_SET(retriever, xattrs_carried, carried.xattrs);
	attributes_clear(&carried);
	return ret;
}

static int store_root_record(struct retriever *retriever, const struct source_xattrs *xattrs)
{
	const struct source_attr *attr = &retriever->source_root_attr;
	struct migrate_record rec = {.state = MIGRATE_UNFILLED,
				     .fileid = attr->fileid,
				     .size = attr->nlink,
				     .mtime = attr->mtime,
				     .ctime = attr->ctime};
	int fd = retriever->root_fd, ret = set_root_attributes(retriever, xattrs);

	if (!ret)
		ret = migrate_binding_get(fd, "", &rec.binding);
	if (ret)
		return ret;
	if (retriever->source_root.handle_len) {
		rec.flags |= MIGRATE_REC_HANDLE;
		rec.handle_len = retriever->source_root.handle_len;
		memcpy(rec.handle, retriever->source_root.handle, rec.handle_len);
	}
	rec.path = g_strdup("");
	ret = migrate_record_store(fd, &rec);
	g_free(rec.path);
	if (!ret && fsync(fd) < 0)
		ret = -errno;
	return ret;
}

/* The record comes last. */
static int make_private(struct retriever *retriever, const struct source_xattrs *xattrs)
{
	int ret = private_open(retriever, true);

	if (!ret)
		ret = templates_set_directory(retriever->templates, retriever->private_fd);
	if (ret)
		return ret;
	errors_set_directory(retriever->errors, retriever->private_fd);
	report_set_directory(retriever->report, retriever->private_fd);
	counters_reset(retriever);
	COUNT_SET(retriever, directories_found, 1);
	COUNT_SET(retriever, unfilled, 1);
	COUNT_SET(retriever, exact, 1);
	counters_save(retriever, false);
	ret = attach_report(retriever);
	return ret ? ret : store_root_record(retriever, xattrs);
}

int attach_volume(struct retriever *retriever, char **message)
{
	enum volume_state state = volume_state(retriever);
	g_autofree char *missing = NULL;
	struct source_xattrs *xattrs;
	int ret;

	if (state == VOLUME_MIGRATING || state == VOLUME_WHOLE) {
		*message = g_strdup_printf("%s is attached already: see migratectl status %s",
					   retriever->config->root, retriever->config->name);
		return -EALREADY;
	}
	if (state != VOLUME_UNATTACHED) {
		*message = g_strdup_printf("%s is not empty: attach needs an empty directory, so "
					   "that nothing is covered",
					   retriever->config->root);
		return -ENOTEMPTY;
	}
	ret = probe_file_system(retriever->root_fd, &missing);
	if (ret) {
		*message = g_strdup_printf("%s: cannot be made a volume: %s",
					   retriever->config->root, missing);
		return ret;
	}
	ret = ask_root_xattrs(retriever, &xattrs);
	if (ret) {
		*message = g_strdup_printf("%s: the old server refused to tell the ACL or the "
					   "extended attributes of its root: %s",
					   retriever->config->source, g_strerror(-ret));
		return ret;
	}
	ret = make_private(retriever, xattrs);
	if (!ret)
		private_set_attached(retriever);
	source_xattrs_free(xattrs);
	if (ret)
		*message = g_strdup_printf("%s: cannot be made a volume: %s",
					   retriever->config->root, g_strerror(-ret));
	return ret;
}
