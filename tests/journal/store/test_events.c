/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/events.h"

#include <fcntl.h>
#include <string.h>

#include "tests/suite.h"

static union {
	struct fanotify_event_metadata meta;
	uint8_t bytes[1024];
} raw;

static void begin(uint64_t mask)
{
	memset(&raw, 0, sizeof(raw));
	raw.meta = (struct fanotify_event_metadata){
		.event_len = sizeof(raw.meta),
		.vers = FANOTIFY_METADATA_VERSION,
		.metadata_len = sizeof(raw.meta),
		.mask = mask,
	};
}

/* Handles are 8 bytes that say `number`; name NULL: none. */
static void add(uint8_t type, unsigned number, const char *name)
{
	uint8_t *at = raw.bytes + raw.meta.event_len;
	const size_t head = sizeof(struct fanotify_event_info_header) + sizeof(__kernel_fsid_t);
	const size_t body = sizeof(struct file_handle) + 8;
	const size_t len = head + body + (name ? strlen(name) + 1 : 0);
	struct fanotify_event_info_header info = {.info_type = type, .len = (uint16_t)len};
	struct file_handle handle = {.handle_bytes = 8, .handle_type = 1};

	memcpy(at, &info, sizeof(info));
	memcpy(at + head, &handle, sizeof(handle));
	memcpy(at + head + sizeof(handle), &number, sizeof(number));
	if (name)
		strcpy((char *)at + head + body, name);
	raw.meta.event_len += (uint32_t)len;
}

static unsigned number_of(const struct migrate_binding *handle)
{
	unsigned number;

	memcpy(&number, handle->bytes, sizeof(number));
	return handle->len == 8 ? number : 0;
}

START_TEST(a_name)
{
	struct event event;

	begin(FAN_CREATE);
	add(FAN_EVENT_INFO_TYPE_DFID_NAME, 1, "name");
	add(FAN_EVENT_INFO_TYPE_FID, 2, NULL);
	ck_assert(event_decode(&raw.meta, &event));
	ck_assert_uint_eq(number_of(&event.object), 2);
	ck_assert_uint_eq(number_of(&event.from.dir), 1);
	ck_assert_str_eq(event.from.name, "name");
}
END_TEST

START_TEST(a_rename)
{
	struct event event;

	begin(FAN_RENAME);
	add(FAN_EVENT_INFO_TYPE_OLD_DFID_NAME, 1, "old");
	add(FAN_EVENT_INFO_TYPE_NEW_DFID_NAME, 2, "new");
	add(FAN_EVENT_INFO_TYPE_FID, 3, NULL);
	ck_assert(event_decode(&raw.meta, &event));
	ck_assert_str_eq(event.from.name, "old");
	ck_assert_str_eq(event.to.name, "new");
	ck_assert_uint_eq(number_of(&event.to.dir), 2);
	ck_assert_uint_eq(number_of(&event.object), 3);
}
END_TEST

START_TEST(a_directory_itself)
{
	struct event event;

	begin(FAN_ATTRIB | FAN_ONDIR);
	add(FAN_EVENT_INFO_TYPE_DFID_NAME, 4, ".");
	ck_assert(event_decode(&raw.meta, &event));
	ck_assert_uint_eq(number_of(&event.object), 4);
	ck_assert_uint_eq(event.from.dir.len, 0);
}
END_TEST

START_TEST(no_sense)
{
	struct event event;

	begin(FAN_RENAME);
	add(FAN_EVENT_INFO_TYPE_OLD_DFID_NAME, 1, "old");
	add(FAN_EVENT_INFO_TYPE_FID, 3, NULL);
	ck_assert(!event_decode(&raw.meta, &event));
	begin(FAN_CREATE);
	add(FAN_EVENT_INFO_TYPE_FID, 3, NULL);
	ck_assert(!event_decode(&raw.meta, &event));
	begin(FAN_MODIFY);
	ck_assert(!event_decode(&raw.meta, &event));
	begin(FAN_MODIFY);
	add(FAN_EVENT_INFO_TYPE_FID, 3, NULL);
	for (uint32_t len = raw.meta.event_len; --len > sizeof(raw.meta);) {
		raw.meta.event_len = len;
		ck_assert(!event_decode(&raw.meta, &event));
	}
	begin(FAN_MODIFY);
	raw.meta.vers++;
	ck_assert(!event_decode(&raw.meta, &event));
}
END_TEST

START_TEST(what_later_kernels_add)
{
	struct event event;

	begin(FAN_MODIFY);
	add(FAN_EVENT_INFO_TYPE_FID, 3, NULL);
	add(99, 4, NULL);
	ck_assert(event_decode(&raw.meta, &event));
	ck_assert_uint_eq(number_of(&event.object), 3);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("events");

	tcase_add_test(tcase, a_name);
	tcase_add_test(tcase, a_rename);
	tcase_add_test(tcase, a_directory_itself);
	tcase_add_test(tcase, no_sense);
	tcase_add_test(tcase, what_later_kernels_add);
	return run_tcase(tcase);
}
