/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/fill_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/config/rules.h"
#include "lib/report/losses.h"
#include "retriever/copies/listing_entries.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/copies/prior.h"
#include "retriever/making/dummy.h"
#include "retriever/making/make.h"
#include "retriever/names/fill_state.h"
#include "retriever/objects/damage.h"

static void share_sums(GSList *fills)
{
	for (GSList *l = fills; fills->next && l; l = l->next)
		if (((struct fill *)l->data)->sum)
			listing_sum_share(((struct fill *)l->data)->sum);
}

struct trace_id fill_trace(struct fill *fill)
{
	struct trace_id id = fill->trace;

	id.first |= g_atomic_int_get(&fill->first);
	return id;
}

struct fill *fill_new(struct object *object, enum backend_priority priority,
		      enum fill_content content, int *ret)
{
	struct fill *fill = g_slice_new0(struct fill);

	fill->priority = priority;
	fill->trace = trace_current();
	fill->content = content == FILL_OBJECTS_AND_DATA && priority != BACKEND_BACKGROUND
				? FILL_OBJECTS
				: content;
	fill->pending = 1;
	g_mutex_init(&fill->lock);
	g_mutex_init(&fill->work.lock);
	g_queue_init(&fill->work.queue);
	fill->work.asked = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	fill->object = object_ref(object);
	fill->path = g_strdup(object->record.path);
	fill->prior_fd = object->retriever->prior
				 ? prior_directory(object->retriever->prior, fill->path)
				 : -1;
	if (object->retriever->copying)
		fill->sum = listing_sum_new(object->retriever, object->fd);
	fill->names_listed = listing_entries_array();
	fill->fileid = object->record.fileid;
	name_errors_init(&fill->name_errors, object->retriever->errors, object->fd);
	/* dummies may be made while this fill is on its way: it always looks for them */
	fill->named = (object->record.flags & MIGRATE_REC_NAMED) ||
		      object->retriever->config->stub_attributes == STUB_LAZY;
	*ret = object_source(object, &fill->source);
	fill->req.object = fill->source;
	directory_of(object)->fills = g_slist_prepend(directory_of(object)->fills, fill);
	share_sums(directory_of(object)->fills);
	return fill;
}

void fill_free(struct fill *fill)
{
	source_object_clear(&fill->source);
	name_errors_clear(&fill->name_errors);
	listing_sum_free(fill->sum);
	g_clear_pointer(&fill->names_listed, g_array_unref);
	g_clear_pointer(&fill->not_here, g_array_unref);
	if (fill->prior_fd >= 0)
		close(fill->prior_fd);
	g_hash_table_unref(fill->work.asked);
	g_free(fill->path);
	sorter_free(fill->order);
	g_clear_pointer(&fill->rest, backend_batch_free);
	g_mutex_clear(&fill->lock);
	g_mutex_clear(&fill->work.lock);
	object_unref(fill->object);
	g_slice_free(struct fill, fill);
}

void fill_enter_stage(struct fill *fill, enum fill_stage stage)
{
	static const unsigned before[] = {
		[FILL_LIST] = 1 << FILL_LIST | 1 << FILL_MAKE | 1 << FILL_END,
		[FILL_MAKE] = 1 << FILL_LIST,
		[FILL_LISTED] = 1 << FILL_LIST | 1 << FILL_MAKE,
		[FILL_END] = 1 << FILL_LISTED,
	};

	g_assert(before[stage] & 1U << fill->stage);
	fill->stage = stage;
}

enum error_code fill_refusal(const struct fill *fill, int status)
{
	if (fill->req.why)
		return fill->req.why;
	switch (status) {
	case -EACCES:
	case -EPERM:
		return QM_LIST_FORBIDDEN;
	case -ELOOP:
		return QM_LIST_ENDLESS;
	case -EIO:
		if (damage_found(fill->object->retriever))
			return QM_DAMAGED;
		return QM_LISTING_LOST;
	case -ENOSPC:
		return QM_NO_SPACE;
	default:
		return status == -ENOTSUP && !fill->source.handle_len ? QM_DFS_LINK
								      : QM_LIST_FAILED;
	}
}

/* ---- entries --------------------------------------------------------------------------------- */

void fill_asks_bytes(struct fill *fill, const struct source_attr *listed)
{
	struct source_attr *attr = g_memdup2(listed, sizeof(*listed));

	g_mutex_lock(&fill->work.lock);
	g_hash_table_replace(fill->work.asked, &attr->fileid, attr);
	g_mutex_unlock(&fill->work.lock);
}

void fill_got_bytes(struct fill *fill, const struct source_attr *listed)
{
	g_mutex_lock(&fill->work.lock);
	g_hash_table_remove(fill->work.asked, &listed->fileid);
	g_mutex_unlock(&fill->work.lock);
}

void directory_atime_before(struct object *object, struct source_attr *attr)
{
	g_mutex_lock(&object->lock);
	for (GSList *l = directory_of(object)->fills; l; l = l->next) {
		struct fill *fill = l->data;
		const struct source_attr *listed;

		g_mutex_lock(&fill->work.lock);
		listed = g_hash_table_lookup(fill->work.asked, &attr->fileid);
		if (listed && source_attr_same(listed, attr)) {
			attr->atime = listed->atime;
			attr->far_atime = listed->far_atime;
		}
		g_mutex_unlock(&fill->work.lock);
	}
	g_mutex_unlock(&object->lock);
}

void directory_entry_object(const struct source_entry *entry, const char *path,
			    struct source_object *object)
{
	source_object_clear(object);
	object->handle_len = entry->handle_len;
	memcpy(object->handle, entry->handle, entry->handle_len);
	object->path = make_child_path(path, entry->name);
}

void directory_entry_found(struct source_entry *entry, const struct backend_request *req)
{
	entry->has_attr = true;
	entry->attr = req->attr;
	entry->handle_len = req->handle_len;
	memcpy(entry->handle, req->handle, req->handle_len);
}

/* ---- what is left out ------------------------------------------------------------------------ */

const char *directory_rule(const struct volume_config *config, const char *path,
			   const struct source_entry *entry)
{
	return rules_find(config->rules, path, entry->name,
			  !entry->has_attr	      ? RULE_UNKNOWN
			  : S_ISDIR(entry->attr.mode) ? RULE_DIRECTORY
						      : RULE_FILE);
}

/* Whether it came before the rule did.  What a program of this machine has made did not. */
static bool is_from_before(const struct fill *fill, const struct source_entry *entry)
{
	const struct object *object = fill->object;
	struct stat st;

	return fstatat(object->fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       !(S_ISREG(st.st_mode) && dummy_is(object->fd, entry->name)) &&
	       (!entry->has_attr || !directory_why_other(object, entry));
}

bool fill_leaves_out(struct fill *fill, const struct source_entry *entry)
{
	struct retriever *retriever = fill->object->retriever;
	const char *rule = directory_rule(retriever->config, fill->path, entry);
	int ret = 0;

	if (!rule)
		return false;
	name_errors_leave_out(&fill->name_errors, entry->name);
	g_atomic_int_inc(&fill->ruled_out);
	if (fill->content != FILL_DUMMIES && !is_from_before(fill, entry)) {
		g_autofree char *directory = retriever_fd_path(fill->object->fd);
		g_autofree char *path = g_strconcat(directory, "/", entry->name, NULL);

		ret = losses_add(retriever->losses, LOSS_RULE, path, rule);
	}
	if (ret)
		name_errors_add(&fill->name_errors, entry->name, ret, QM_UNREPORTED);
	return true;
}
