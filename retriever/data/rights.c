/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/data/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/acl/nt_acl.h"
#include "lib/report/omissions.h"
#include "lib/source/gate.h"
#include "lib/source/posix_acl.h"
#include "retriever/making/attributes.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/turns.h"

#define CHANGED_HERE                                                                               \
	"its permissions: the old server had not told them before a client changed it here; it "   \
	"keeps what it has"

struct rights {
	struct object *object; /* referenced */
	bool demand;
	struct source_entry entry;
	struct source_xattrs *xattrs;
	void (*told)(void *arg, int status, enum error_code error);
	void *arg;
};

bool rights_are_refused(const struct retriever *retriever, mode_t mode, int status)
{
	return (status == -EACCES || status == -EPERM) && (S_ISREG(mode) || S_ISDIR(mode)) &&
	       !retriever->copying;
}

void rights_note_refused(struct retriever *retriever, int dir_fd, const char *name, int status)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct migrate_record rec;

	if (fd >= 0 && migrate_record_load(fd, &rec) > 0) {
		if (migrate_record_closed(&rec))
			errors_add_fd(retriever->errors, fd, status, QM_RIGHTS_REFUSED);
		migrate_record_clear(&rec);
	}
	if (fd >= 0)
		close(fd);
}

static void end_rights(struct rights *r, int status, enum error_code error)
{
	r->told(r->arg, status, error);
	source_xattrs_free(r->xattrs);
	object_unref(r->object);
	g_slice_free(struct rights, r);
}

/* Lock held: whether a client has. */
static bool is_changed_here(const struct object *object)
{
	return object->record.flags &
	       (MIGRATE_REC_CLIENT | MIGRATE_REC_SHOWN_MTIME | MIGRATE_REC_SHOWN_CTIME);
}

/* Whether nobody may use it still: what clients changed was not its permissions. */
static bool is_nobodys(int fd)
{
	static const char *const acls[] = {XATTR_ACL_ACCESS, XATTR_ACL_DEFAULT, XATTR_NTACL};
	struct stat st;

	for (size_t i = 0; i < G_N_ELEMENTS(acls); i++)
		if (fgetxattr(fd, acls[i], NULL, 0) >= 0 ||
		    (errno != ENODATA && errno != EOPNOTSUPP))
			return false;
	return fstat(fd, &st) == 0 && !st.st_uid && !st.st_gid && !(st.st_mode & 07777);
}

/* If it was killed while it did this, there is an ACL: without it its mask would be the group's.
 * changed: its other attributes may be a client's.  The mark of what is missing goes at last. */
static int set_rights(struct rights *r, bool changed)
{
	struct retriever *retriever = r->object->retriever;
	struct attributes_result carried = {0};
	const int fd = r->object->fd;
	int ret = fchmod(fd, 0) < 0 ? -errno : changed ? 0 : attributes_strip(fd);

	if (!ret)
		ret = attributes_set(retriever, fd, &r->entry.attr, r->xattrs, false, &carried);
	if (!ret && !carried.left.what && fremovexattr(fd, XATTR_LEFT_OUT) < 0 && errno != ENODATA)
		ret = -errno;
	if (!ret)
		ret = attributes_report(retriever, &carried, fd, NULL);
	if (!ret && carried.acl)
		COUNT_ADD(retriever, acls_carried, 1);
	if (!ret && carried.xattrs)
		COUNT_ADD(retriever, xattrs_carried, 1);
	attributes_clear(&carried);
	return ret;
}

int rights_keep(struct object *object)
{
	g_autofree char *path = retriever_fd_path(object->fd);

	return losses_add(object->retriever->losses, LOSS_ACL, path, CHANGED_HERE);
}

/* Having entered: no client changes it now. */
static void take_rights(struct object *object, void *arg)
{
	struct rights *r = arg;
	bool closed, changed;
	uint16_t flag;
	int ret = 0;

	g_mutex_lock(&object->lock);
	closed = object_is_closed(object);
	changed = is_changed_here(object);
	g_mutex_unlock(&object->lock);
	if (closed)
		ret = changed && !is_nobodys(object->fd) ? rights_keep(object)
							 : set_rights(r, changed);
	g_mutex_lock(&object->lock);
	if (!ret && object_is_closed(object)) {
		flag = migrate_record_closed(&object->record);
		object->record.flags &= ~flag;
		ret = object_store(object);
		if (ret)
			object->record.flags |= flag;
	}
	turns_leave(object);
	g_mutex_unlock(&object->lock);
	end_rights(r, ret, ret ? QM_RIGHTS_UNSET : QM_NONE);
}

static enum error_code rights_error(const struct backend_request *req, int status)
{
	if (status == -EACCES || status == -EPERM)
		return QM_RIGHTS_REFUSED;
	return status == -EHOSTDOWN ? QM_OWNER_UNKNOWN : req->why ? req->why : QM_RIGHTS_UNTOLD;
}

/* A file that was empty when it was listed is not read, so no READ would find another version. */
static bool is_recorded_version(struct object *object, const struct source_attr *attr)
{
	bool same;

	g_mutex_lock(&object->lock);
	same = is_directory(object) ||
	       (attr->size == object->record.size && attr->mtime == object->record.mtime);
	g_mutex_unlock(&object->lock);
	return same;
}

static int ask_attributes(struct rights *r, struct source_object *source, enum error_code *error)
{
	struct gate *gate = r->object->retriever->gate;
	struct backend_request req = {.op = BACKEND_GETATTR, .object = *source, .hurried = true};
	const bool directory = is_directory(r->object);
	int ret;

	req.priority = r->demand ? BACKEND_DEMAND : BACKEND_BACKGROUND;
	ret = gate_call(gate, &req);
	r->entry.attr = req.attr;
	if (!ret && S_ISDIR(req.attr.mode) != directory)
		ret = -ESTALE;
	if (!ret && !source->handle_len && req.attr.fileid != r->object->record.fileid)
		ret = -ESTALE;
	if (!ret && backend_may_have(r->object->retriever->carries, req.attr.mode)) {
		struct backend_request more = {
			.op = BACKEND_XATTRS, .object = *source, .hurried = true};

		more.priority = req.priority;
		more.listed = &req.attr;
		ret = gate_call(gate, &more);
		req.why = more.why;
		if (!ret && !attributes_take_answer(&more, &r->entry, &r->xattrs))
			ret = -ESTALE;
	}
	if (!ret && !is_recorded_version(r->object, &r->entry.attr))
		ret = -ESTALE;
	*error = rights_error(&req, ret);
	/* a path that leads nowhere any more, or to something else */
	return ret == -ENOENT || ret == -ENOTDIR || ret == -ENOTUNIQ ? -ESTALE : ret;
}

static void run_rights(void *arg)
{
	struct rights *r = arg;
	struct source_object source = {0};
	enum error_code error = QM_NONE;
	int ret;

	g_mutex_lock(&r->object->lock);
	ret = object_source(r->object, &source);
	g_mutex_unlock(&r->object->lock);
	if (!ret)
		ret = ask_attributes(r, &source, &error);
	source_object_clear(&source);
	if (ret)
		end_rights(r, ret, error);
	else if (fill_enter(r->object, take_rights, r))
		take_rights(r->object, r);
}

void rights_ask(struct object *object, bool demand,
		void (*told)(void *arg, int status, enum error_code error), void *arg)
{
	struct rights *r = g_slice_new0(struct rights);

	r->object = object_ref(object);
	r->demand = demand;
	r->told = told;
	r->arg = arg;
	jobs_run(object->retriever->jobs, demand ? JOB_FIND_DEMAND : JOB_FIND, run_rights, r);
}
