/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Waiting for directories.
 *
 * A directory's fill has one deadline: its start plus the hold time.  A request that comes after
 * the deadline gets DELAY at once until the fill is done: MDCACHE holds the directory's content
 * lock meanwhile, so waits would add up.
 *
 * Single names are asked for one by one under the same lock.  Waits for them share a window: it is
 * opened by a lookup that has to wait, ends a hold time later, and a lookup waits no longer than
 * until then.  A lookup that was answered quickly closes it, so that on a healthy link every lookup
 * has the full time; a window in which answers are slow stays, and once it has ended lookups get
 * DELAY at once while any name of this directory is still under way.  So the lock is never held
 * much longer than the hold time without a break, by any number of lookups.
 */
#include "fsal_migrate/fill.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "fsal_migrate/call.h"
#include "fsal_migrate/private.h"

#define MAX_NAMES 256 /* asked for in one directory; more get DELAY */
#define QUICK	  10  /* a part of the hold time: an answer that closes the window */

static struct mg_call *start_fill(struct mg_object *dir, struct mg_look *look)
{
	struct mg_volume *volume = dir->volume;
	struct mg_call *call = mg_call_new(volume, mg_look_steal_fd(look), -1), *other;
	struct mg_export *export = mg_enter();
	struct gsh_buffdesc key;

	dir->sub->obj_ops->handle_to_key(dir->sub, &key);
	mg_leave(export);
	if (!call)
		return NULL;
	call->key = malloc(key.len);
	if (call->key) {
		memcpy(call->key, key.addr, key.len);
		call->key_len = key.len;
	}
	pthread_mutex_lock(&volume->lock);
	other = dir->fill ? mg_call_ref(dir->fill) : NULL;
	if (!other) {
		mg_call_fill(call);
		dir->fill = mg_call_ref(call);
	}
	pthread_mutex_unlock(&volume->lock);
	if (!other)
		return call;
	mg_call_unref(call);
	return other;
}

fsal_status_t mg_fill_directory(struct mg_object *dir)
{
	struct mg_volume *volume = dir->volume;
	struct mg_call *call;
	struct mg_look look;
	bool drop = false;
	int result;

	if (mg_is_normal(dir) || atomic_load(&dir->filled))
		return mg_ok();
	pthread_mutex_lock(&volume->lock);
	call = dir->fill ? mg_call_ref(dir->fill) : NULL;
	pthread_mutex_unlock(&volume->lock);
	if (!call) {
		result = mg_look(dir, &look);
		if (result < 0)
			return mg_look_status(result);
		if (result == 0 || atomic_load(&dir->filled)) {
			mg_look_done(&look);
			return mg_ok();
		}
		call = start_fill(dir, &look);
		mg_look_done(&look);
		if (!call)
			return mg_delay();
	}
	result = mg_call_wait(call, &call->deadline);
	if (result == 0)
		atomic_store(&dir->filled, true);
	pthread_mutex_lock(&volume->lock);
	if (call->done && dir->fill == call) {
		dir->fill = NULL;
		drop = true;
	}
	pthread_mutex_unlock(&volume->lock);
	if (drop)
		mg_call_unref(call);
	mg_call_unref(call);
	return mg_fill_status(result);
}

/* volume.lock.  others: how many calls are not answered, `except` not counted. */
static struct mg_call *find_name(struct mg_object *dir, const char *name,
				 const struct mg_call *except, unsigned *others)
{
	struct glist_head *link;
	struct mg_call *call, *found = NULL;

	*others = 0;
	glist_for_each(link, &dir->names)
	{
		call = glist_entry(link, struct mg_call, link);
		if (!strcmp(call->name, name))
			found = call;
		if (!call->done && call != except)
			(*others)++;
	}
	return found;
}

/* volume.lock.  Answers for which no thread came back give way to new calls. */
static struct mg_call *oldest_answer(struct mg_object *dir)
{
	struct glist_head *link;

	glist_for_each(link, &dir->names)
	{
		struct mg_call *call = glist_entry(link, struct mg_call, link);

		if (call->done)
			return call;
	}
	return NULL;
}

/* volume.lock.  The list's reference is the caller's then. */
static void forget_name(struct mg_object *dir, struct mg_call *call)
{
	glist_del(&call->link);
	dir->n_names--;
}

static struct mg_call *new_name(struct mg_object *dir, const char *name)
{
	int fd = mg_object_open(dir);
	struct mg_call *call = fd >= 0 ? mg_call_new(dir->volume, fd, -1) : NULL;

	if (!call)
		return NULL;
	call->quick = migrate_in_ms(migrate_volume_hold_ms(dir->volume->client) / QUICK);
	call->name = strdup(name);
	if (call->name)
		return call;
	mg_call_unref(call);
	return NULL;
}

/*
 * Asks for the name, unless a call for it exists.  The call, counted, and in *until how long to
 * wait for it; NULL: there is no room or memory.
 */
static struct mg_call *ask_name(struct mg_object *dir, const char *name, struct timespec *until)
{
	struct mg_volume *volume = dir->volume;
	struct mg_call *fresh = new_name(dir, name), *call, *old = NULL;
	unsigned others;

	if (!fresh)
		return NULL;
	pthread_mutex_lock(&volume->lock);
	call = find_name(dir, name, NULL, &others);
	if (!call && dir->n_names >= MAX_NAMES) {
		old = oldest_answer(dir);
		if (old)
			forget_name(dir, old);
	}
	if (!call && dir->n_names < MAX_NAMES) {
		call = mg_call_ref(fresh);
		mg_call_name(call);
		glist_add_tail(&dir->names, &call->link);
		dir->n_names++;
	}
	if (!dir->window_open || (others == 0 && migrate_passed(&dir->window_end))) {
		dir->window_open = true;
		dir->window_end = mg_deadline(volume);
	}
	*until = dir->window_end;
	if (call)
		mg_call_ref(call);
	pthread_mutex_unlock(&volume->lock);
	mg_call_unref(fresh);
	if (old)
		mg_call_unref(old);
	return call;
}

fsal_status_t mg_fetch_name(struct mg_object *dir, const char *name)
{
	struct mg_volume *volume = dir->volume;
	struct timespec until;
	struct mg_call *call = ask_name(dir, name, &until);
	unsigned others;
	bool forget;
	int result;

	if (!call)
		return mg_delay();
	result = mg_call_wait(call, &until);
	pthread_mutex_lock(&volume->lock);
	forget = call->done && find_name(dir, name, call, &others) == call;
	if (forget) {
		if (others == 0 && !migrate_passed(&call->quick))
			dir->window_open = false;
		forget_name(dir, call);
	}
	pthread_mutex_unlock(&volume->lock);
	if (forget)
		mg_call_unref(call);
	mg_call_unref(call);
	return mg_fill_status(result);
}

void mg_fetch_name_start(struct mg_object *dir, const char *name)
{
	struct timespec until;
	struct mg_call *call = ask_name(dir, name, &until);

	if (call)
		mg_call_unref(call);
}

fsal_status_t mg_fill_name(struct mg_object *dir, const char *name)
{
	struct mg_look look;
	int result;

	/* The host refuses the empty name, and the file system refuses a name that is too long. */
	if (!*name || strlen(name) > NAME_MAX || mg_is_normal(dir) || atomic_load(&dir->filled))
		return mg_ok();
	result = mg_look(dir, &look);
	if (result < 0)
		return mg_look_status(result);
	mg_look_done(&look);
	if (result == 0 || atomic_load(&dir->filled))
		return mg_ok();
	return mg_fetch_name(dir, name);
}

void mg_fill_release(struct mg_object *object)
{
	struct mg_volume *volume = object->volume;
	struct glist_head names, *link, *next;
	struct mg_call *fill;

	glist_init(&names);
	pthread_mutex_lock(&volume->lock);
	fill = object->fill;
	object->fill = NULL;
	glist_splice_tail(&names, &object->names);
	if (fill)
		mg_call_give_up(fill);
	glist_for_each(link, &names) mg_call_give_up(glist_entry(link, struct mg_call, link));
	pthread_mutex_unlock(&volume->lock);
	if (fill)
		mg_call_unref(fill);
	glist_for_each_safe(link, next, &names)
		mg_call_unref(glist_entry(link, struct mg_call, link));
}

fsal_status_t mg_may_name(struct mg_object *dir, const char *name)
{
	if (mg_hidden(dir, name))
		return fsalstat(ERR_FSAL_ACCESS, EACCES);
	return mg_fill_directory(dir);
}
