/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An old server may answer to a name in several spellings (spelling.h).  Then two clients could get
 * two objects here for one object there.  So in a directory for which the old server does that,
 * only listed names are made, and a client waits for the listing.  The first names that are asked
 * for in a directory show whether the old server does that: each is looked up in another spelling
 * as well, at the same time.
 */
#include "retriever/names/one_name.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/config/rules.h"
#include "lib/source/gate.h"
#include "retriever/copies/leftover.h"
#include "retriever/copies/prior.h"
#include "retriever/data/refind.h"
#include "retriever/data/rights.h"
#include "retriever/making/attributes.h"
#include "retriever/making/dummy.h"
#include "retriever/making/make.h"
#include "retriever/names/name_errors.h"
#include "retriever/names/fill.h"
#include "retriever/names/fill_page.h"
#include "retriever/names/fill_state.h"
#include "retriever/names/prefill.h"
#include "retriever/objects/damage.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/spelling.h"
#include "retriever/objects/turns.h"

/* The name in another spelling. */
struct trial {
	struct name_request *of;
	struct backend_request req;
	unsigned kind;
	char *name;
};

struct name_request {
	struct object *object; /* referenced */
	struct backend_request req;
	struct source_object source, child;
	struct source_entry entry;
	char *name, *path, *target;
	struct source_xattrs *xattrs;
	struct trial trials[SPELLINGS];
	unsigned n_trials;
	gint left;   /* atomic: answers to come, of the name itself and its trials */
	bool named;  /* the directory may hold dummies */
	int refused; /* why it is made for nobody (rights.h); 0: it is not */
	bool again;  /* it was looked up a second time */
	bool late;   /* into a directory that is filled */
	object_done_fn done;
	void *arg;
};

/* A refusal is one of the whole directory (which may be asked for any name). */
static bool refused(int status)
{
	return status == -EACCES || status == -EPERM || status == -EREMOTEIO || status == -EBADMSG;
}

static void note_later(struct name_request *n)
{
	if (n->req.status == -EAGAIN || (n->req.status == GATE_WITHDRAWN && n->req.attempts))
		errors_add_name(n->object->retriever->errors, n->object->fd, n->name, -EAGAIN,
				QM_LATER, NULL);
}

static void look_up(struct name_request *n);
static void name_send(struct name_request *n, enum backend_op op);

static void name_answer(struct name_request *n, int status)
{
	COUNT_ADD(n->object->retriever, demand_waiting, -1);
	n->done(n->arg, status);
	for (unsigned i = 0; i < n->n_trials; i++)
		g_free(n->trials[i].name);
	source_xattrs_free(n->xattrs);
	g_free(n->target);
	g_free(n->name);
	g_free(n->path);
	source_object_clear(&n->source);
	source_object_clear(&n->child);
	object_unref(n->object);
	g_slice_free(struct name_request, n);
}

static void name_make_entered(struct object *object, void *arg)
{
	struct name_request *n = arg;
	const struct prior *prior = object->retriever->prior;
	int prior_fd = prior ? prior_directory(prior, n->path) : -1;
	struct make_parent parent = directory_parent(object, n->named, n->path, prior_fd);
	enum make_outcome outcome = MAKE_DONE;
	enum error_code error = QM_NONE;
	struct stat st;
	int ret;

	if (!n->late && directory_names_fixed(object)) {
		ret = fstatat(object->fd, n->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
	} else {
		leftover_note_asked(object, n->name); /* before it is there */
		ret = directory_is_in_itself(object, n->path, &n->entry)
			      ? -ELOOP
			      : make_object(object->retriever, &parent, &n->entry, n->target,
					    n->xattrs, &outcome);
		if (!ret && outcome == MAKE_THERE) {
			error = n->late ? QM_NONE : directory_why_other(object, &n->entry);
			ret = error || n->late ? -EEXIST : 0;
		}
		if (ret == -ENOENT) /* from here, not from the old server */
			ret = -EIO;
	}
	if (prior_fd >= 0)
		close(prior_fd);
	trace_event(TRACE_MADE, &n->req.trace, "name", 0, 0, 1, ret);
	fill_leave(object);
	if (!ret && outcome >= MAKE_ASK) {
		name_send(n, BACKEND_XATTRS);
		return;
	}
	if (ret < 0 && ret != -ENOENT && !(n->late && ret == -EEXIST))
		errors_add_name(object->retriever->errors, object->fd, n->name, ret,
				error ? error : name_not_made(ret), NULL);
	else if (!ret)
		errors_forget_name(object->retriever->errors, &object->key, n->name);
	if (ret == 0 && n->refused)
		rights_note_refused(object->retriever, object->fd, n->name, n->refused);
	name_answer(n, ret);
}

static void name_make(void *arg)
{
	struct name_request *n = arg;

	if (fill_enter(n->object, name_make_entered, n))
		name_make_entered(n->object, n);
}

static void not_found_alone(struct name_request *n)
{
	errors_add_name(n->object->retriever->errors, n->object->fd, n->name, -EREMOTEIO,
			QM_NAME_OF_ANOTHER, NULL);
	name_answer(n, -EREMOTEIO);
}

static void list_no_owner(struct name_request *n)
{
	errors_add_name(n->object->retriever->errors, n->object->fd, n->name, -EHOSTDOWN,
			QM_OWNER_UNKNOWN, NULL);
}

static void name_told(struct backend_request *req)
{
	struct name_request *n = req->user;
	int status = req->status == GATE_WITHDRAWN ? -ECANCELED : req->status;

	note_later(n);
	if (!status && req->op == BACKEND_XATTRS &&
	    !attributes_take_answer(req, &n->entry, &n->xattrs))
		status = n->again ? -ENOTUNIQ : -ESTALE;
	if (status == -ESTALE && !n->again) { /* removed or replaced since it was looked up */
		n->again = true;
		look_up(n);
		return;
	}
	if (status == -ENOTUNIQ) {
		not_found_alone(n);
		return;
	}
	if (status == -EHOSTDOWN)
		list_no_owner(n);
	if (req->op == BACKEND_XATTRS &&
	    rights_are_refused(n->object->retriever, n->entry.attr.mode, status)) {
		n->refused = status;
		n->xattrs = source_xattrs_new();
		n->xattrs->closed = true;
		status = 0;
	}
	if (refused(status))
		errors_add_name(n->object->retriever->errors, n->object->fd, n->name, status,
				req->why ? req->why
				: req->op == BACKEND_XATTRS
					? directory_xattrs_refused(n->object->retriever)
					: QM_LINK_REFUSED,
				NULL);
	if (status) {
		name_answer(n, status);
		return;
	}
	if (req->op == BACKEND_READLINK)
		n->target = g_steal_pointer(&req->text);
	jobs_run(n->object->retriever->jobs, JOB_DEMAND, name_make, n);
}

static void name_send(struct name_request *n, enum backend_op op)
{
	directory_entry_object(&n->entry, n->path, &n->child);
	n->req.op = op;
	n->req.object = n->child;
	n->req.listed = &n->entry.attr;
	n->req.done = name_told;
	gate_submit(n->object->retriever->gate, &n->req);
}

/* The old server does not know the directory's handle (any more). */
static int look_for_directory(struct name_request *n)
{
	bool moved;

	g_mutex_lock(&n->object->lock);
	moved = object_source_moved(n->object, &n->source);
	g_mutex_unlock(&n->object->lock);
	return moved || refind_for_client(n->object, directory_fill_again) ? -EAGAIN : -ESTALE;
}

/* ---- other spellings ---- */

/* Whether the object answers to more than its name, or that cannot be told now. */
static bool answers_to_others(struct name_request *n)
{
	struct spellings *spellings = &n->object->retriever->spellings;
	bool others = false;

	for (unsigned i = 0; i < n->n_trials; i++) {
		const struct trial *trial = &n->trials[i];
		const struct backend_request *req = &trial->req;
		const bool known = !req->status || req->status == -ENOENT;
		const bool same = !req->status && req->attr.fileid == n->req.attr.fileid &&
				  req->attr.fs == n->req.attr.fs;

		others |= same || !known;
		if (known)
			spellings_note(spellings, &n->object->key,
				       same ? SPELLING_ANY : trial->kind & SPELLING_LASTING);
	}
	return others;
}

static void ignore_result(void *arg, int status)
{
}

static void looked_up(struct name_request *n);

static void count_answer(struct name_request *n)
{
	if (g_atomic_int_dec_and_test(&n->left))
		looked_up(n);
}

static void trial_answered(struct backend_request *req)
{
	count_answer(((struct trial *)req->user)->of);
}

static void name_looked_up(struct backend_request *req)
{
	count_answer(req->user);
}

/* The listing says how it is spelled; arg: of the client's request, which may be cancelled. */
static void wait_for_listing(struct name_request *n)
{
	struct object *object = object_ref(n->object);
	object_done_fn done = n->done;
	void *arg = n->arg;

	n->done = ignore_result;
	directory_fill(object, BACKEND_DEMAND, false, done, arg);
	name_answer(n, 0);
	object_unref(object);
}

static void looked_up(struct name_request *n)
{
	struct backend_request *req = &n->req;
	struct retriever *retriever = n->object->retriever;

	note_later(n);
	if (req->status == GATE_WITHDRAWN)
		req->status = -ECANCELED;
	if (req->status == -EHOSTDOWN)
		list_no_owner(n);
	if (req->status == -ENOTUNIQ) {
		not_found_alone(n);
		return;
	}
	if (req->why && req->why != QM_STUB_THERE) /* of this name alone */
		errors_add_name(retriever->errors, n->object->fd, n->name, req->status, req->why,
				NULL);
	else if (refused(req->status))
		errors_add_fd(retriever->errors, n->object->fd, req->status,
			      req->why ? req->why : QM_LOOKUP_FORBIDDEN);
	if (req->status) {
		bool stale = req->status == -ESTALE || req->status == -ENOTDIR;

		name_answer(n, stale && !n->late ? look_for_directory(n) : req->status);
		return;
	}
	n->entry.name = n->name;
	directory_entry_found(&n->entry, req);
	if (directory_rule(retriever->config, n->path, &n->entry)) {
		name_answer(n, -ENOENT);
		return;
	}
	for (unsigned i = 0; i < n->n_trials && !n->again; i++)
		if (n->trials[i].req.status == GATE_WITHDRAWN) {
			name_answer(n, -ECANCELED);
			return;
		}
	if (n->n_trials && !n->again && answers_to_others(n)) {
		wait_for_listing(n);
		return;
	}
	directory_atime_before(n->object, &n->entry.attr);
	if (S_ISLNK(req->attr.mode))
		name_send(n, BACKEND_READLINK);
	else
		jobs_run(retriever->jobs, JOB_DEMAND, name_make, n);
}

static void try_spelling(struct name_request *n, unsigned kind, char *name)
{
	struct trial *trial = &n->trials[n->n_trials++];

	trial->of = n;
	trial->kind = kind;
	trial->name = name;
	trial->req = (struct backend_request){.op = BACKEND_LOOKUP,
					      .priority = BACKEND_DEMAND,
					      .object = n->source,
					      .name = name,
					      .done = trial_answered,
					      .user = trial};
}

/* Those that tell something new of the directory. */
static void choose_trials(struct name_request *n)
{
	static const unsigned kinds[SPELLINGS] = {SPELLING_CASE, SPELLING_FORM, SPELLING_LETTERS};
	unsigned tried;

	if (n->object->retriever->scheme->spells)
		return;
	tried = spellings_known(&n->object->retriever->spellings, &n->object->key);
	for (unsigned i = 0; i < SPELLINGS; i++) {
		char *name = tried & kinds[i] ? NULL : spelling_other(n->name, kinds[i]);

		if (name)
			try_spelling(n, kinds[i], name);
	}
}

static void look_up(struct name_request *n)
{
	struct gate *gate = n->object->retriever->gate;
	const unsigned trials = n->again ? 0 : n->n_trials;

	n->left = 1 + (gint)trials;
	n->req.op = BACKEND_LOOKUP;
	n->req.priority = BACKEND_DEMAND;
	n->req.object = n->source;
	n->req.name = n->name;
	n->req.done = name_looked_up;
	n->req.user = n;
	gate_submit(gate, &n->req);
	for (unsigned i = 0; i < trials; i++) /* with the last n may be gone */
		gate_submit(gate, &n->trials[i].req);
}

/* Whether a name that is not here cannot come by a lookup.  complete: all names are here as
 * dummies, but those that may be left out. */
static bool cannot_come(const struct object *object, const char *path, const char *name,
			bool complete)
{
	const struct rules *rules = object->retriever->config->rules;

	return rules_find(rules, path, name, RULE_UNKNOWN) ||
	       (complete && !rules_need_type(rules, path, name));
}

void directory_name(struct object *object, const char *name, object_done_fn done, void *arg)
{
	g_autofree char *path = NULL;
	struct name_request *n;
	struct stat st;
	bool filled, complete, here, foreign;
	int ret = 0;

	g_mutex_lock(&object->lock);
	path = g_strdup(object->record.path);
	filled = object->normal || object->record.state != MIGRATE_UNFILLED;
	complete = object->record.flags & MIGRATE_REC_NAMED;
	g_mutex_unlock(&object->lock);
	here = filled || fstatat(object->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	foreign = here && !filled && S_ISDIR(st.st_mode) && directory_is_foreign(object, name);
	if (filled ||
	    (here && !foreign && !(st.st_mode == S_IFREG && dummy_is(object->fd, name)))) {
		done(arg, 0);
		return;
	}
	if (!here && cannot_come(object, path, name, complete)) {
		done(arg, -ENOENT);
		return;
	}
	if (damage_found(object->retriever)) {
		done(arg, -EIO);
		return;
	}
	if (spellings_known(&object->retriever->spellings, &object->key) & SPELLING_ANY) {
		directory_fill(object, BACKEND_DEMAND, false, done, arg);
		return;
	}
	n = g_slice_new0(struct name_request);
	n->object = object_ref(object);
	n->name = g_strdup(name);
	n->done = done;
	n->arg = arg;
	g_mutex_lock(&object->lock);
	n->named = here || complete || object->retriever->config->stub_attributes == STUB_LAZY;
	n->path = g_strdup(object->record.path);
	ret = object_source(object, &n->source);
	g_mutex_unlock(&object->lock);
	COUNT_ADD(object->retriever, demand_waiting, 1);
	if (ret || directory_reserves(n->path, name)) {
		name_answer(n, ret ? look_for_directory(n) : -ENOENT);
		return;
	}
	choose_trials(n);
	prefill_touch(object); /* before: the answer may free the caller's reference */
	look_up(n);
}

void directory_name_late(struct object *object, const char *path, const char *name,
			 object_done_fn done, void *arg)
{
	struct name_request *n = g_slice_new0(struct name_request);

	n->object = object_ref(object);
	n->name = g_strdup(name);
	n->path = g_strdup(path);
	n->late = true;
	n->done = done;
	n->arg = arg;
	g_mutex_lock(&object->lock);
	/* one that was whole has neither handle nor path */
	if (object_source(object, &n->source) < 0)
		n->source.path = g_strdup(path);
	g_mutex_unlock(&object->lock);
	COUNT_ADD(object->retriever, demand_waiting, 1);
	if (directory_reserves(path, name))
		name_answer(n, -ENOENT);
	else
		look_up(n);
}

static bool is_for(const struct backend_request *req, const void *arg)
{
	if (req->done == trial_answered)
		return ((const struct trial *)req->user)->of->arg == arg;
	return (req->done == name_looked_up || req->done == name_told) &&
	       ((const struct name_request *)req->user)->arg == arg;
}

void directory_name_cancel(struct object *object, void *arg)
{
	gate_withdraw(object->retriever->gate, is_for, arg);
	directory_fill_cancel(object, arg);
}
