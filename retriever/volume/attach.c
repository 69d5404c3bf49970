/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/base/advice.h"
#include "lib/base/filetree.h"
#include "lib/base/scratch_file.h"
#include "lib/config/attached.h"
#include "lib/config/config_places.h"
#include "lib/source/gate.h"
#include "lib/source/posix_acl.h"
#include "retriever/copies/aside.h"
#include "retriever/copies/listing_entries.h"
#include "retriever/copies/lost_found.h"
#include "retriever/copies/prior.h"
#include "retriever/data/source_root.h"
#include "retriever/making/attributes.h"
#include "retriever/making/new_object.h"
#include "retriever/names/fill_state.h"
#include "retriever/objects/capabilities.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/private.h"
#include "retriever/objects/state.h"
#include "retriever/objects/templates.h"
#include "retriever/progress/history.h"
#include "retriever/progress/counters_file.h"
#include "retriever/volume/attach_look.h"
#include "retriever/volume/source_bound.h"

/* What the source's root has now: its attributes, and what it has beside them, NULL where nothing
 * is carried. */
static int ask_root_xattrs(struct retriever *retriever, struct source_xattrs **xattrs)
{
	struct backend_request req = {.op = BACKEND_XATTRS, .priority = BACKEND_DEMAND};
	struct source_entry root;
	int ret = source_root_look(retriever);

	*xattrs = NULL;
	root.attr = retriever->source_root_attr;
	if (ret || !retriever->carries)
		return ret;
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
	int fd = scratch_file(retriever->private_fd);
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

static unsigned told_classes(const struct retriever *retriever)
{
	const unsigned carries = retriever->carries;
	unsigned told = retriever->config->acl_source	  ? TOLD_WINDOWS
			: carries & BACKEND_CARRIES_XATTR ? TOLD_XATTRS
							  : 0;

	if (carries & BACKEND_CARRIES_ACL)
		told |= TOLD_ACLS;
	if (carries & BACKEND_TRANSLATES_ACL)
		told |= TOLD_NFS4;
	return told;
}

int attach_report(struct retriever *retriever)
{
	const struct backend_ops *ops = retriever->backend->ops;
	g_autofree char *text = ops->not_carried ? ops->not_carried(retriever->backend) : NULL;
	g_autofree char *times = time_loss(retriever);
	g_autofree char *all = g_strconcat(text ? text : "", "\n", times, NULL);
	g_auto(GStrv) lines = g_strsplit(all, "\n", -1);
	int ret = omissions_told(retriever->root_fd, told_classes(retriever), false);

	if (!ret)
		ret = left_out_attached(retriever->root_fd);
	for (char **line = lines; *line && !ret; line++)
		if (**line)
			ret = losses_add(retriever->losses, LOSS_VOLUME, "", *line);
	return ret;
}

static int set_root_attributes(struct retriever *retriever, const struct source_xattrs *xattrs)
{
	const struct source_attr *attr = &retriever->source_root_attr;
	struct attributes_result carried = {0};
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

void attach_root_record(struct migrate_record *rec, const struct source_object *root,
			const struct source_attr *attr)
{
	*rec = (struct migrate_record){.state = MIGRATE_UNFILLED,
				       .fileid = attr->fileid,
				       .size = attr->nlink,
				       .mtime = attr->mtime,
				       .ctime = attr->ctime};
	if (root->handle_len) {
		rec->flags |= MIGRATE_REC_HANDLE;
		rec->handle_len = root->handle_len;
		memcpy(rec->handle, root->handle, rec->handle_len);
	}
	rec->path = g_strdup("");
}

static int store_root_record(struct retriever *retriever, const struct source_xattrs *xattrs)
{
	struct migrate_record rec;
	int fd = retriever->root_fd, ret;

	attach_root_record(&rec, &retriever->source_root, &retriever->source_root_attr);
	ret = new_object_store_void(fd, &rec);
	if (!ret)
		ret = set_root_attributes(retriever, xattrs);
	if (!ret)
		ret = new_object_store_record(fd, &rec);
	migrate_record_clear(&rec);
	if (!ret && fsync(fd) < 0)
		ret = -errno;
	return ret;
}

int attach_refresh_root(struct retriever *retriever)
{
	struct source_xattrs *xattrs;
	struct migrate_record rec;
	int ret = ask_root_xattrs(retriever, &xattrs);

	if (ret)
		return ret;
	attach_root_record(&rec, &retriever->source_root, &retriever->source_root_attr);
	ret = attributes_strip(retriever->root_fd);
	if (!ret && migrate_has_record(retriever->root_fd) == 0)
		ret = new_object_store_void(retriever->root_fd, &rec);
	migrate_record_clear(&rec);
	if (!ret)
		ret = set_root_attributes(retriever, xattrs);
	source_xattrs_free(xattrs);
	return ret;
}

/* ---- what is there already ---- */

/* What the copy's own private directory has of use to the volume; the rest of it goes.  Again after
 * a crash before the root's record: what is left there after that would count as set aside for
 * ever. */
static int inherit_files(struct retriever *retriever, const struct prior *prior)
{
	static const char *const kept[] = {TEMPLATES_FILE, LOSSES_FILE, ASIDE_DIR,
					   LISTING_ENTRIES_DIR};
	int fd = openat(prior->fd, MIGRATE_PRIVATE_DIR,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int ret = 0;

	if (fd < 0 && errno == ENOENT) /* perhaps since the last try */
		return fsync(prior->fd) < 0 ? -errno : 0;
	if (fd < 0 && errno != ENOTDIR && errno != ELOOP)
		return -errno;
	if (fd < 0 || !migrate_private_is_marked(fd)) { /* another tool's */
		if (fd >= 0)
			close(fd);
		return 0;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(kept) && !ret; i++)
		if (renameat(fd, kept[i], retriever->private_fd, kept[i]) < 0 && errno != ENOENT)
			ret = -errno;
	close(fd);
	if (!ret && fsync(retriever->private_fd) < 0)
		ret = -errno;
	if (!ret)
		ret = own_remove(prior->fd, MIGRATE_PRIVATE_DIR);
	return !ret && fsync(prior->fd) < 0 ? -errno : ret;
}

/* Moves the root's names to .migrate/prior/. */
static int move_names(struct retriever *retriever, int prior_fd, char **message)
{
	int fd = openat(retriever->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir)
		return -errno;
	while (!ret && (errno = 0, e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    !strcmp(e->d_name, MIGRATE_PRIVATE_DIR))
			continue;
		ret = renameat2(fd, e->d_name, prior_fd, e->d_name, RENAME_NOREPLACE) < 0 ? -errno
											  : 0;
		if (ret == -EEXIST) /* the tool has run again since an attach was cut short */
			ret = aside_put(retriever, prior_fd, e->d_name, "", e->d_name);
		else if (!ret)
			continue;
		if (!ret && renameat2(fd, e->d_name, prior_fd, e->d_name, RENAME_NOREPLACE) == 0)
			continue;
		ret = ret ? ret : -errno;
		*message =
			g_strdup_printf("%s/%s: cannot be taken over: %s%s",
					retriever->config->root, e->d_name, g_strerror(-ret),
					ret == -EBUSY ? ": something is mounted there: unmount it"
						      : advice_for(ret));
	}
	if (!ret && errno)
		ret = -errno;
	closedir(dir);
	return ret;
}

/* Files of a file system are most of what it has inodes for; btrfs does not say. */
static gint64 names_about(int fd)
{
	struct statvfs st;

	return fstatvfs(fd, &st) == 0 ? (gint64)(st.f_files - st.f_ffree) : 0;
}

static int adopt_copy(struct retriever *retriever, const struct attach *how, char **message)
{
	struct prior prior = {.adopted = true,
			      .content = how->content,
			      .keep_extra = how->keep_extra,
			      .names = names_about(retriever->root_fd)};
	int fd, ret = prior_save(retriever->private_fd, &prior);

	/* what is whole by its record must be on the disk */
	if (!ret && syncfs(retriever->root_fd) < 0)
		ret = -errno;
	if (!ret && mkdirat(retriever->private_fd, PRIOR_DIR, 0700) < 0 && errno != EEXIST)
		ret = -errno;
	if (ret)
		return ret;
	fd = openat(retriever->private_fd, PRIOR_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = move_names(retriever, fd, message);
	close(fd);
	/* what would come now would be served, and nobody compare it */
	if (!ret && !migrate_is_vacant(retriever->root_fd, true)) {
		*message = g_strdup_printf("%s: somebody still writes there: end that first",
					   retriever->config->root);
		ret = -EBUSY;
	}
	return ret ? ret : attributes_strip(retriever->root_fd);
}

static int open_prior_copy(struct retriever *retriever, const struct attach *how, char **message)
{
	int ret = how->adopt ? adopt_copy(retriever, how, message) : 0;

	if (how->adopt) /* an attach before this one may have said otherwise how */
		g_clear_pointer(&retriever->prior, prior_free);
	if (!ret && !retriever->prior)
		ret = prior_open(retriever->private_fd, &retriever->prior);
	if (!ret && retriever->prior)
		ret = inherit_files(retriever, retriever->prior);
	if (!ret) /* it may have as many files as there are directories: nobody waits for that */
		jobs_run(retriever->jobs, JOB_SLOW, listing_entries_remove_all, retriever);
	return ret;
}

/* ---- all of it ---- */

/* The mount that the path is on; g_free. */
static char *mount_above(const char *path)
{
	char *at = g_strdup(path);
	struct statx st;

	while (strcmp(at, "/") && !(statx(AT_FDCWD, at, 0, 0, &st) == 0 &&
				    st.stx_attributes & STATX_ATTR_MOUNT_ROOT)) {
		g_autofree char *below = at;

		at = g_path_get_dirname(below);
	}
	return at;
}

bool attach_is_away(const struct volume_config *config, char **message)
{
	g_autofree char *noted = config->installed ? attached_root(config->name) : NULL;
	g_autofree char *mount = noted ? mount_above(noted) : NULL;

	if (!noted)
		return false;
	if (strcmp(noted, config->root)) {
		*message = g_strdup_printf("%s: the volume %s was attached in %s, and is not "
					   "finished: put that root back into its group, or give "
					   "this volume another name; if there is no such volume "
					   "any more: rm " REPORT_DIR "/%s.attached",
					   config->root, config->name, noted, config->name);
		return true;
	}
	*message = g_strdup_printf(
		"%s: the volume %s was attached there, is not finished, and is not there now, on "
		"the file system that is mounted at %s: mount its own, then: systemctl restart "
		"migrate-retriever@%s; if that was made anew, and there is no such volume any "
		"more: rm " REPORT_DIR "/%s.attached, then attach again",
		noted, config->name, mount, config->name, config->name);
	return true;
}

static int check_state(struct retriever *retriever, const struct attach *how, char **message)
{
	enum volume_state state = volume_state(retriever);
	const struct volume_config *config = retriever->config;

	if (state == VOLUME_MIGRATING || state == VOLUME_WHOLE) {
		*message = g_strdup_printf("%s is attached already: see migratectl status %s",
					   config->root, config->name);
		return -EALREADY;
	}
	if (attach_is_away(config, message))
		return -ENODEV;
	if (how->adopt && retriever->copying) {
		*message = g_strdup_printf("%s is a copy of this volume's: attach without --adopt",
					   config->root);
		return -EINVAL;
	}
	if (how->adopt || migrate_is_vacant(retriever->root_fd, true))
		return attach_look(retriever->root_fd, config->root, how->adopt, message);
	*message = g_strdup_printf("%s is not empty%s: attach needs an empty directory, so that "
				   "nothing is covered; to take over what another tool has copied "
				   "there: migratectl attach --adopt %s",
				   config->root, lost_found_text(retriever->root_fd), config->name);
	return -ENOTEMPTY;
}

/* What a way back that was killed has parked on the old server would be missing here. */
static int check_way_back(struct retriever *retriever, char **message)
{
	struct backend_request req = {.op = BACKEND_LOOKUP,
				      .priority = BACKEND_DEMAND,
				      .object = retriever->source_root,
				      .name = MIGRATE_ROLLBACK_DIR};
	int ret = gate_call(retriever->gate, &req);

	if (ret == -ENOENT || ret == -ENOTUNIQ) /* or one in another spelling */
		return 0;
	*message = ret ? g_strdup_printf("%s: the old server refused to tell whether it has "
					 "a " MIGRATE_ROLLBACK_DIR ": %s",
					 retriever->config->source, g_strerror(-ret))
		       : g_strdup_printf("%s has a " MIGRATE_ROLLBACK_DIR ": a way back to it is "
					 "under way, or was killed, and may have objects in there: "
					 "let migratectl rollback end first; or look at them, and "
					 "rename it there",
					 retriever->config->source);
	return ret ? ret : -EBUSY;
}

/* A root that cannot be listed would be an error to every client. */
static int check_listing(struct retriever *retriever, char **message)
{
	struct backend_request req = {.op = BACKEND_READDIR,
				      .priority = BACKEND_DEMAND,
				      .object = retriever->source_root};
	int ret = gate_call(retriever->gate, &req);

	g_clear_pointer(&req.batch, backend_batch_free);
	if (ret)
		*message = g_strdup_printf(
			"%s: the old server does not let this machine list its root: %s; give it "
			"root's rights there (no_root_squash), or make the directory readable, "
			"then attach again",
			retriever->config->source, g_strerror(-ret));
	return ret;
}

static int prepare_volume(struct retriever *retriever, const struct attach *how, char **message)
{
	g_autofree char *missing = NULL;
	int ret = capabilities_try(retriever->root_fd, &missing);

	if (ret) {
		*message = g_strdup_printf("%s: cannot be made a volume: %s",
					   retriever->config->root, missing);
		return ret;
	}
	ret = lost_found_remove(retriever->root_fd);
	if (ret && !how->adopt) { /* which moves it with the rest, or says why not */
		*message = g_strdup_printf(
			"%s/" MIGRATE_LOST_FOUND
			": cannot be removed, and would hide the old server's: %s%s",
			retriever->config->root, g_strerror(-ret),
			ret == -EBUSY ? ": unmount what is mounted there" : advice_for(ret));
		return ret;
	}
	ret = private_open(retriever, true);
	if (!ret && !retriever->copying)
		ret = open_prior_copy(retriever, how, message);
	if (!ret)
		ret = templates_set_directory(retriever->templates, retriever->private_fd);
	return ret;
}

static int bind_root(struct retriever *retriever, const struct source_xattrs *xattrs)
{
	const bool copied = retriever->prior && !retriever->prior->adopted;
	/* in a copy made by migratectl the marks are as when it was made */
	const unsigned before = copied ? omissions_get_told(retriever->prior->fd)
				       : TOLD_KNOWN | told_classes(retriever);
	int fd = openat(retriever->private_fd, ORDERED_FILE,
			O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int ret = fd < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	errors_set_directory(retriever->errors, retriever->private_fd);
	losses_set_directory(retriever->losses, retriever->private_fd);
	counters_reset(retriever);
	history_reset(retriever);
	COUNT_SET(retriever, directories_found, 1);
	COUNT_SET(retriever, unfilled, 1);
	COUNT_SET(retriever, exact, 1);
	aside_count(retriever);
	counters_save(retriever, false);
	history_sample(retriever);
	if (!ret && before & TOLD_KNOWN)
		ret = omissions_told(retriever->root_fd, before, true);
	if (!ret)
		ret = attach_report(retriever);
	if (!ret)
		ret = retriever->copying ? 0 : source_bound_note(retriever);
	if (!ret)
		ret = store_root_record(retriever, xattrs);
	/* what is there binds, durable or not */
	if (migrate_has_record(retriever->root_fd))
		private_set_attached(retriever);
	return ret;
}

void attach_note(const struct volume_config *config, bool attached)
{
	const int ret = attached_note(config, attached);

	if (ret)
		g_warning(REPORT_DIR "/%s.attached: %s: without it %s is not protected when its "
				     "group is taken out of the configuration: %s",
			  config->name, g_strerror(-ret), config->root,
			  attached ? "make room, then: systemctl restart migrate-retriever@"
				   : "remove the file");
}

void attach_note_found(const struct retriever *retriever, enum volume_state state)
{
	const struct volume_config *config = retriever->config;
	g_autofree char *noted = attached_root(config->name);

	if (state == VOLUME_MIGRATING || state == VOLUME_WHOLE)
		attach_note(config, true);
	else if (!noted || (state == VOLUME_FINISHED && omissions_was_attached(retriever->root_fd)))
		attach_note(config, false);
}

int attach_volume(struct retriever *retriever, const struct attach *how, char **message)
{
	struct source_xattrs *xattrs;
	int ret = check_state(retriever, how, message);

	if (ret)
		return ret;
	ret = ask_root_xattrs(retriever, &xattrs);
	if (ret) {
		*message =
			ret == -EHOSTDOWN
				? g_strdup_printf("%s: its root: %s", retriever->config->source,
						  error_kind(QM_OWNER_UNKNOWN)->sentence)
				: g_strdup_printf(
					  "%s: the old server refused to tell the attributes of "
					  "its root: %s; give this machine's root its rights there",
					  retriever->config->source, g_strerror(-ret));
		return ret;
	}
	ret = check_way_back(retriever, message);
	if (!ret)
		ret = check_listing(retriever, message);
	if (!ret)
		ret = prepare_volume(retriever, how, message);
	if (!ret)
		ret = bind_root(retriever, xattrs);
	if (!ret && !retriever->copying)
		attach_note(retriever->config, true);
	if (!ret && how->accept)
		g_atomic_int_set(&retriever->accepted, 1);
	source_xattrs_free(xattrs);
	if (ret && !*message)
		*message =
			g_strdup_printf("%s: cannot be made a volume: %s%s",
					retriever->config->root, g_strerror(-ret), advice_for(ret));
	return ret;
}
