/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/events.h"

#include <fcntl.h>
#include <string.h>

/* struct fanotify_event_info_fid: a header, the file system's id, a struct file_handle, a name. */
#define INFO_HEAD (sizeof(struct fanotify_event_info_header) + sizeof(__kernel_fsid_t))

static bool decode_handle(const uint8_t *bytes, size_t len, struct migrate_binding *out,
			  size_t *used)
{
	struct file_handle head;

	if (len < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (!head.handle_bytes || head.handle_bytes > MIGRATE_BINDING_MAX ||
	    head.handle_bytes > len - sizeof(head) || head.handle_type < 0 ||
	    head.handle_type > UINT8_MAX)
		return false;
	memset(out, 0, sizeof(*out));
	out->type = (uint8_t)head.handle_type;
	out->len = (uint8_t)head.handle_bytes;
	memcpy(out->bytes, bytes + sizeof(head), out->len);
	*used = sizeof(head) + out->len;
	return true;
}

static bool decode_place(const uint8_t *bytes, size_t len, struct journal_place *out)
{
	size_t used, name_len;

	if (!decode_handle(bytes, len, &out->dir, &used))
		return false;
	out->name = (const char *)bytes + used;
	name_len = strnlen(out->name, len - used);
	return name_len && name_len < len - used && name_len <= JOURNAL_NAME_MAX;
}

static bool decode_info(const uint8_t *info, size_t len, struct event *event)
{
	const uint8_t *body = info + INFO_HEAD;
	size_t used;

	if (len < INFO_HEAD)
		return false;
	len -= INFO_HEAD;
	switch (info[0]) {
	case FAN_EVENT_INFO_TYPE_FID:
	case FAN_EVENT_INFO_TYPE_DFID:
		return decode_handle(body, len, &event->object, &used);
	case FAN_EVENT_INFO_TYPE_DFID_NAME:
	case FAN_EVENT_INFO_TYPE_OLD_DFID_NAME:
		return decode_place(body, len, &event->from);
	case FAN_EVENT_INFO_TYPE_NEW_DFID_NAME:
		return decode_place(body, len, &event->to);
	default:
		return true; /* of later kernels */
	}
}

bool event_decode(const struct fanotify_event_metadata *bytes, struct event *event)
{
	const uint8_t *start = (const uint8_t *)bytes;

	memset(event, 0, sizeof(*event));
	event->mask = bytes->mask;
	if (bytes->vers != FANOTIFY_METADATA_VERSION || bytes->metadata_len < sizeof(*bytes) ||
	    bytes->metadata_len > bytes->event_len)
		return false;
	for (size_t at = bytes->metadata_len, len; at < bytes->event_len; at += len) {
		struct fanotify_event_info_header head;

		if (bytes->event_len - at < sizeof(head))
			return false;
		memcpy(&head, start + at, sizeof(head));
		len = head.len;
		if (len < sizeof(head) || len > bytes->event_len - at ||
		    !decode_info(start + at, len, event))
			return false;
	}
	/* What happens to a directory itself. */
	if (event->from.dir.len && !strcmp(event->from.name, ".")) {
		if (!event->object.len)
			event->object = event->from.dir;
		event->from.dir.len = 0;
	}
	if (event->mask & FAN_RENAME && (!event->from.dir.len || !event->to.dir.len))
		return false;
	if (event->mask & (FAN_CREATE | FAN_DELETE) && !event->from.dir.len)
		return false;
	return event->object.len > 0;
}
