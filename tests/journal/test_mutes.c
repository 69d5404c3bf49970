/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/mutes.h"

#include <unistd.h>

#include "journal/store/events.h"
#include "tests/journal/tree.h"

static struct mutes mutes;
static char buffer[4096] __attribute__((aligned(8)));
static int file;

static void set_up(void)
{
	g_autofree char *path = NULL;

	tree_make();
	put_file("volume/f", "text");
	path = path_of("volume/f");
	file = open(path, O_RDWR | O_CLOEXEC);
	mutes = (struct mutes){.fan = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK |
							    FAN_REPORT_DFID_NAME_TARGET,
						    O_RDONLY | O_CLOEXEC),
			       .root = volume_fd(volume)};
	ck_assert_int_ge(mutes.fan, 0);
	ck_assert_int_eq(fanotify_mark(mutes.fan, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, EVENTS_MASK,
				       volume_fd(volume), NULL),
			 0);
}

static void tear_down(void)
{
	close(file);
	close(mutes.fan);
	tree_remove();
}

/* The events' masks since the last call; 0: none came. */
static uint64_t told(void)
{
	uint64_t all = 0;
	ssize_t len;

	while ((len = read(mutes.fan, buffer, sizeof(buffer))) > 0) {
		const struct fanotify_event_metadata *event = (const void *)buffer;

		for (; FAN_EVENT_OK(event, len); event = FAN_EVENT_NEXT(event, len))
			all |= event->mask;
	}
	return all;
}

static void write_some(void)
{
	ck_assert_int_eq(pwrite(file, "x", 1, 0), 1);
}

static void mute(void)
{
	write_some();
	ck_assert_uint_eq(told(), FAN_MODIFY);
	mutes_add(&mutes, (const void *)buffer);
}

START_TEST(writes_are_left_out_until_it_is_closed)
{
	mute();
	ck_assert_uint_eq(mutes.count, 1);
	write_some();
	ck_assert_uint_eq(told(), 0);
	ck_assert_int_eq(fchmod(file, 0600), 0);
	ck_assert_uint_eq(told(), FAN_ATTRIB);
	mutes_close(&mutes);
	write_some();
	ck_assert_uint_eq(told(), FAN_MODIFY);
	mutes_add(&mutes, (const void *)buffer);
	write_some();
	ck_assert_uint_eq(told(), FAN_MODIFY);
	mutes_open(&mutes);
	mute();
	write_some();
	ck_assert_uint_eq(told(), 0);
}
END_TEST

START_TEST(nothing_else_is)
{
	g_autofree char *name = NULL;

	ck_assert_int_eq(fchmod(file, 0600), 0);
	ck_assert_uint_eq(told(), FAN_ATTRIB);
	mutes_add(&mutes, (const void *)buffer);
	ck_assert_uint_eq(mutes.count, 0);
	/* the file is gone when it is to be muted */
	put_file("volume/g", "text");
	ck_assert_uint_ne(told(), 0);
	put_file("volume/g", "other");
	ck_assert_uint_eq(told() & FAN_MODIFY, FAN_MODIFY);
	name = path_of("volume/g");
	ck_assert_int_eq(unlink(name), 0);
	mutes_add(&mutes, (const void *)buffer);
	ck_assert_uint_eq(mutes.count, 0);
	ck_assert(!mutes.unable);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mutes");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, writes_are_left_out_until_it_is_closed);
	tcase_add_test(tcase, nothing_else_is);
	return run_tcase(tcase);
}
