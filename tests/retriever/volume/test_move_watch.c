/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"

#include <sys/fanotify.h>

#include "retriever/volume/move_watch.h"

static struct core core;

static int mark_fails; /* errno, or 0 */
static int told = -1;  /* what the kernel tells comes out of this instead */

int fanotify_init(unsigned flags, unsigned event_flags)
{
	return told >= 0 ? told : (int)syscall(SYS_fanotify_init, flags, event_flags);
}

int fanotify_mark(int fd, unsigned flags, uint64_t mask, int dir_fd, const char *path)
{
	errno = mark_fails;
	return mark_fails  ? -1
	       : told >= 0 ? 0
			   : (int)syscall(SYS_fanotify_mark, fd, flags, mask, dir_fd, path);
}

static struct move_watch *watch(void)
{
	struct move_watch *moved;

	ck_assert_int_eq(move_watch_start(core.retriever, &moved), 0);
	return moved;
}

/* The number of directories; escaped as it is. */
static unsigned take(struct move_watch *moved, bool *escaped)
{
	g_autoptr(GArray) directories = g_array_new(FALSE, FALSE, sizeof(struct migrate_binding));

	*escaped = false;
	ck_assert_int_eq(move_watch_take(moved, directories, escaped), 0);
	return directories->len;
}

static void move(const char *from, const char *to)
{
	g_autofree char *a = g_build_filename(core.dir, from, NULL);
	g_autofree char *b = g_build_filename(core.dir, to, NULL);

	ck_assert_int_eq(rename(a, b), 0);
}

/* Stubs and directories, in the volume and beside it. */
START_TEST(i4_what_is_moved)
{
	g_autoptr(GArray) others = g_array_new(FALSE, FALSE, sizeof(struct migrate_binding));
	g_autofree char *beside = NULL;
	struct move_watch *moved;
	bool escaped = false;
	int stub = core_with_file(&core, 1000, O_RDONLY);

	beside = g_build_filename(core.dir, "beside", NULL);
	ck_assert_int_eq(mkdir(beside, 0700), 0);
	moved = watch();
	ck_assert_uint_eq(take(moved, &escaped), 0);
	ck_assert(!escaped);
	move("new/f", "new/g");
	ck_assert_uint_eq(take(moved, &escaped), 0);
	ck_assert(escaped);
	move("new/g", "beside/f"); /* it is nothing of the volume's any more */
	ck_assert_uint_eq(take(moved, &escaped), 0);
	ck_assert(!escaped);
	move("beside", "new/beside");
	g_array_set_size(others, 1);
	ck_assert_int_eq(move_watch_take(moved, others, &escaped), 0);
	ck_assert_uint_eq(others->len, 1);
	ck_assert_uint_eq(take(moved, &escaped), 1);
	ck_assert_uint_eq(take(moved, &escaped), 0);
	move("new/beside/f", "new/f");
	ck_assert_int_eq(core_range(&core, stub, 0, 1000), 0);
	ck_assert_int_eq(core_sync(&core, stub), 0);
	take(moved, &escaped);
	ck_assert(!escaped);
	move_watch_free(moved);
	core_free_with(&core, stub);
}
END_TEST

/* The kernel's part is to be told, through ends[1]. */
static struct move_watch *watch_told(int ends[2])
{
	ck_assert_int_eq(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	told = ends[0];
	return watch();
}

static void tell(int fd, uint64_t mask, unsigned event_len)
{
	const struct fanotify_event_metadata event = {.event_len = event_len,
						      .vers = FANOTIFY_METADATA_VERSION,
						      .metadata_len = sizeof(event),
						      .mask = mask,
						      .fd = FAN_NOFD};

	ck_assert_int_eq(write(fd, &event, sizeof(event)), sizeof(event));
}

/* What the kernel could not keep, and what makes no sense. */
START_TEST(i4_what_is_not_known)
{
	g_autoptr(GArray) directories = g_array_new(FALSE, FALSE, sizeof(struct migrate_binding));
	const unsigned len = sizeof(struct fanotify_event_metadata);
	struct move_watch *moved;
	bool escaped;
	int ends[2];

	core_make(&core);
	core_start(&core);
	moved = watch_told(ends);
	tell(ends[1], FAN_Q_OVERFLOW, len);
	take(moved, &escaped);
	ck_assert(escaped);
	move_watch_free(moved);

	moved = watch_told(ends);
	tell(ends[1], FAN_MOVED_TO, len);
	take(moved, &escaped);
	ck_assert(escaped);
	tell(ends[1], FAN_MOVED_TO, len + 1);
	ck_assert_int_eq(move_watch_take(moved, directories, &escaped), -EBADMSG);
	tell(ends[1], FAN_MOVED_TO, 1);
	ck_assert_int_eq(move_watch_take(moved, directories, &escaped), -EBADMSG);
	close(ends[1]);
	ck_assert_int_eq(move_watch_take(moved, directories, &escaped), -EIO);
	move_watch_free(moved);
	told = -1;
	core_free(&core);
}
END_TEST

/* Where the kernel cannot tell, finalize says so, and what to do. */
START_TEST(where_it_cannot_be_watched)
{
	int root;

	core_make(&core);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(make_whole(root), 0);
	mark_fails = EXDEV;
	core_expect_answer(&core, "finalize", "--unwatched");
	ck_assert_int_eq(faccessat(root, MIGRATE_PRIVATE_DIR, F_OK, 0), 0);
	core_expect_answer(&core, "finalize unwatched", "0 ");
	ck_assert_int_eq(faccessat(root, MIGRATE_PRIVATE_DIR, F_OK, 0), -1);
	core_free_with(&core, root);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("moved", 60);

	tcase_add_test(tcase, i4_what_is_moved);
	tcase_add_test(tcase, i4_what_is_not_known);
	tcase_add_test(tcase, where_it_cannot_be_watched);
	return run_tcase(tcase);
}
