/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file that the old server does not let be read, given up: gone here with all names, written
 * down, and nothing of a client's with it. */
#include "tests/retriever/core_copy.h"
#include "tests/durable.h"

#include "lib/report/losses.h"
#include "retriever/volume/skip_file.h"

#define READS (1u << BACKEND_READ)

static unsigned rule;

static void refuse_reads(int status)
{
	rule = backend_fault_add(
		core.fault,
		&(struct fault_rule){.ops = READS, .action = FAULT_ERROR, .status = status});
}

/* "d/f0" and others, none of which can be read. */
static int begin_refused(unsigned n, int status)
{
	int fd = begin(n);

	ck_assert_int_eq(fill(fd), 0);
	refuse_reads(status);
	return fd;
}

static int leave(int fd, unsigned *names, char **text)
{
	struct object *object;
	int ret;

	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	ret = skip_file(object, QM_READ_FORBIDDEN, "nobody misses it", names, text);
	object_unref(object);
	return ret;
}

/* The status; in a failure there is a text. */
static int leaves(int dir, const char *name, unsigned expected)
{
	g_autofree char *text = NULL;
	unsigned names = 99;
	int fd = open_below(dir, name, O_RDWR), ret = leave(fd, &names, &text);

	ck_assert_uint_eq(names, expected);
	ck_assert((ret != 0) == (text != NULL));
	close(fd);
	return ret;
}

static bool reported(const char *name)
{
	g_autofree char *path =
		g_strconcat(core.root, "/" MIGRATE_PRIVATE_DIR "/" LOSSES_FILE, NULL);
	g_autofree char *line = g_strconcat(
		"name\t", core.root, "/", name,
		"\tthe old server does not let this machine read it; skipped because: nobody "
		"misses it [QM1201]\n",
		NULL);
	g_autofree char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) && strstr(text, line);
}

static bool is_here(const char *name)
{
	g_autofree char *path = g_build_filename(core.root, name, NULL);

	return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void end(int fd)
{
	core_free_with(&core, fd);
}

START_TEST(i4_it_goes)
{
	int fd = begin_refused(2, -EACCES), file = open_below(fd, "f0", O_RDONLY);

	ck_assert_int_lt(core_range(&core, file, 0, 1), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	ck_assert_int_eq(leaves(fd, "f0", 1), 0);
	ck_assert(!is_here("d/f0") && is_here("d/f1") && reported("d/f0") && !reported("d/f1"));
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	/* who has it open is shown no hole either */
	ck_assert_int_lt(core_range(&core, file, 0, 1), 0);
	core_expect_answer(&core, "aside", "next=-1");
	close(file);
	end(fd);
}
END_TEST

static atomic_uint taken, taken_early;

static void watch_names(const char *call, int fd, bool after)
{
	if (after || (strcmp(call, "renameat2") && strcmp(call, "unlinkat")))
		return;
	taken++;
	taken_early += !is_durable_in(core.retriever->private_fd, LOSSES_FILE);
}

START_TEST(i12_written_down_first)
{
	int fd = begin_refused(1, -EACCES);

	atomic_store(&core_hook, watch_names);
	ck_assert_int_eq(leaves(fd, "f0", 1), 0);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_gt(taken, 0);
	ck_assert_uint_eq(taken_early, 0);
	end(fd);
}
END_TEST

/* All names, also those that were moved elsewhere, and the provisional one. */
START_TEST(all_its_names)
{
	int fd, other;

	core_make(&core);
	make_files("d", 1);
	core_source_file(&core, "e/x", 10, 1);
	source_link("d/f0", "e/second");
	source_link("d/f0", "unseen");
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	other = core_find(&core, "e", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(fill(other), 0);
	refuse_reads(-EACCES);
	ck_assert_int_eq(renameat(fd, "f0", other, "moved"), 0);
	ck_assert_int_eq(leaves(other, "moved", 2), 0);
	ck_assert_uint_eq(count_names(fd), 0);
	ck_assert_uint_eq(count_names(other), 1);
	ck_assert(reported("e/moved") && reported("e/second"));
	shell("test -z \"$(ls %s/" MIGRATE_PRIVATE_DIR "/links)\"", core.root);
	close(other);
	end(fd);
}
END_TEST

static atomic_uint listings; /* of names of the root */

struct dirent *readdir(DIR *dir)
{
	struct dirent *(*real)(DIR *) = dlsym(RTLD_NEXT, "readdir");

	struct stat st, root;

	if (core.root && !fstat(dirfd(dir), &st) && !stat(core.root, &root))
		listings += st.st_ino == root.st_ino && st.st_dev == root.st_dev;
	return real(dir);
}

/* All are where they were listed: the tree is not read for others. */
START_TEST(nothing_is_searched_for_known_names)
{
	int fd = begin_refused(1, -EACCES);

	listings = 0;
	ck_assert_int_eq(leaves(fd, "f0", 1), 0);
	ck_assert_uint_eq(listings, 0);
	end(fd);
}
END_TEST

/* I7: what clients wrote is not given up. */
START_TEST(i7_what_clients_changed)
{
	int fd = begin_refused(1, -EACCES), file = open_below(fd, "f0", O_RDWR);
	struct object *object;

	ck_assert_int_eq(object_get(core.retriever, file, &object), 0);
	object->record.flags |= MIGRATE_REC_CLIENT;
	ck_assert_int_eq(leaves(fd, "f0", 0), -EPERM);
	object->record.flags &= ~MIGRATE_REC_CLIENT;
	object->turns.brackets++;
	ck_assert_int_eq(leaves(fd, "f0", 0), -EBUSY);
	object->turns.brackets--;
	ck_assert(is_here("d/f0") && !reported("d/f0"));
	ck_assert_int_eq(leaves(fd, "f0", 1), 0);
	object_unref(object);
	close(file);
	end(fd);
}
END_TEST

static int directory;

/* A client is faster: another stub has its name, and when that is moved back, one more file. */
static void be_faster(const char *call, int fd, bool after)
{
	static unsigned n;
	int made;

	if (strcmp(call, "renameat2") != 0 || after)
		return;
	if (n++ == 0) {
		ck_assert_int_eq(syscall(SYS_renameat2, directory, "f1", directory, "f0", 0), 0);
	} else if (n == 2) {
		made = openat(directory, "f0", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
		ck_assert_int_ge(made, 0);
		close(made);
	}
}

START_TEST(i7_a_client_is_faster)
{
	struct migrate_record rec;
	int fd = begin_refused(2, -EACCES), stub = open_below(fd, "f1", O_RDONLY), found;
	int file = open_below(fd, "f0", O_RDONLY);
	g_autofree char *beside = NULL;
	struct stat st;

	ck_assert_int_eq(migrate_record_load(file, &rec), 1);
	beside = g_strdup_printf("f0.left-%016" G_GINT64_MODIFIER "x", rec.fileid);
	migrate_record_clear(&rec);
	close(file);
	directory = fd;
	atomic_store(&core_hook, be_faster);
	leaves(fd, "f0", 1);
	atomic_store(&core_hook, NULL);
	ck_assert_int_eq(fstat(stub, &st), 0);
	ck_assert_uint_eq(st.st_nlink, 1);
	found = open_below(fd, beside, O_RDONLY);
	ck_assert_int_eq(migrate_has_record(found), 1);
	ck_assert(is_here("d/f0"));
	core_expect_answer(&core, "aside", "next=-1");
	close(found);
	close(stub);
	end(fd);
}
END_TEST

/* What can be read is, and what fails for another reason stays. */
START_TEST(i12_the_answer_decides)
{
	int fd = begin_refused(2, -ENOSPC), file = open_below(fd, "f0", O_RDONLY);

	ck_assert_int_eq(leaves(fd, "f0", 0), -ENOSPC);
	backend_fault_remove(core.fault, rule);
	ck_assert_int_eq(leaves(fd, "f0", 0), 0);
	core_expect(file, 0, 100, 0);
	ck_assert(is_here("d/f0") && !reported("d/f0"));
	close(file);
	end(fd);
}
END_TEST

/* In an unfilled directory it would come again. */
START_TEST(i6_its_directory_is_filled_first)
{
	int fd = begin(1), file;

	ck_assert_int_eq(core_name_in(&core, fd, "f0"), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	refuse_reads(-EREMOTEIO);
	file = backend_fault_add(
		core.fault,
		&(struct fault_rule){.ops = LISTS, .action = FAULT_ERROR, .status = -EACCES});
	ck_assert_int_eq(leaves(fd, "f0", 0), -EBUSY);
	ck_assert(is_here("d/f0"));
	backend_fault_remove(core.fault, file);
	ck_assert_int_eq(leaves(fd, "f0", 1), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	ck_assert_uint_eq(count_names(fd), 0);
	end(fd);
}
END_TEST

/* I12: what cannot be written down stays. */
START_TEST(i12_no_report)
{
	int fd = begin_refused(1, -EACCES);

	losses_set_directory(core.retriever->losses, -1);
	ck_assert_int_eq(leaves(fd, "f0", 0), -ENOENT);
	ck_assert(is_here("d/f0"));
	losses_set_directory(core.retriever->losses, core.retriever->private_fd);
	end(fd);
}
END_TEST

/* What another tool had copied is set aside. */
START_TEST(i1_a_copy_of_it)
{
	int fd, file;

	core_make(&core);
	make_files("d", 2);
	copy_by_cp();
	adopt((struct attach){.content = true});
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(fd), 0);
	refuse_reads(-EACCES);
	file = open_below(fd, "f1", O_RDONLY);
	ck_assert_int_eq(leaves(fd, "f1", 1), 0);
	ck_assert(!is_here("d/f1") && is_aside("d/f1") && reported("d/f1"));
	ck_assert_int_eq(migrate_has_record(file), 0);
	close(file);
	end(fd);
}
END_TEST

/* Likewise, in a retriever of its own that is killed. */
static struct backend *refusing_reads(struct core *made, struct backend *inner)
{
	struct backend *fault = backend_fault_new(inner);

	backend_fault_add(fault, &(struct fault_rule){
					 .ops = READS, .action = FAULT_ERROR, .status = -EACCES});
	return fault;
}

static unsigned reports(void)
{
	g_autofree char *path =
		g_strconcat(core.root, "/" MIGRATE_PRIVATE_DIR "/" LOSSES_FILE, NULL);
	g_autofree char *line = g_strconcat("name\t", core.root, "/d/f0\t", NULL), *text = NULL;
	unsigned n = 0;

	if (g_file_get_contents(path, &text, NULL, NULL))
		for (const char *at = text; (at = strstr(at, line)); at++)
			n++;
	return n;
}

/* With its record, or not at all; and then it is in the report. */
static void expect_stub_or_nothing(int fd)
{
	int file = openat(fd, "f0", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(file >= 0 ? migrate_has_record(file) : 1, 1);
	ck_assert(file >= 0 || reports());
	if (file >= 0)
		close(file);
}

/* Killed before every step, and asked again: nobody is shown a hole, and nothing of it is left. */
START_TEST(i4_killed_at_every_step)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		g_autofree char *command = NULL, *answer = NULL;
		int fd, file;

		core_make(&core);
		core.wrap = refusing_reads;
		make_files("d", 2);
		core_supervise(&core, 0);
		core_connect(&core);
		fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
		ck_assert_int_eq(fill(fd), 0);
		file = open_below(fd, "f0", O_RDONLY);
		ck_assert_int_lt(core_range(&core, file, 0, 1), 0);
		close(file);
		command = g_strconcat("skip names ", core.root, "/d/f0\nleave", NULL);
		atomic_store(&core_shared->left, nth);
		answer = core_control(&core, command); /* asked again, where it was killed */
		killed = core_killed();
		expect_stub_or_nothing(fd);
		for (unsigned i = 0; i < 3 && is_here("d/f0"); i++) {
			g_autofree char *again = NULL;

			file = open_below(fd, "f0", O_RDONLY);
			ck_assert_int_lt(core_range(&core, file, 0, 1), 0);
			close(file);
			again = core_control(&core, command);
		}
		if (killed) /* what was on its way goes, too */
			g_free(core_control(&core, command));
		ck_assert(!is_here("d/f0") && is_here("d/f1"));
		ck_assert_uint_ge(reports(), 1); /* once for each reason that is listed */
		core_expect_answer(&core, "aside", "next=-1");
		shell("! grep left- %s/" MIGRATE_PRIVATE_DIR "/" LOSSES_FILE
		      " && ! ls %s/" MIGRATE_PRIVATE_DIR "/aside 2>&1 | grep left-",
		      core.root, core.root);
		core_disconnect(&core);
		core_end_supervision(&core);
		core_free_with(&core, fd);
		ck_assert_int_lt(nth, 200);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("leave", 60);

	tcase_add_test(tcase, i4_it_goes);
	tcase_add_test(tcase, i12_written_down_first);
	tcase_add_test(tcase, all_its_names);
	tcase_add_test(tcase, nothing_is_searched_for_known_names);
	tcase_add_test(tcase, i7_what_clients_changed);
	tcase_add_test(tcase, i7_a_client_is_faster);
	tcase_add_test(tcase, i12_the_answer_decides);
	tcase_add_test(tcase, i6_its_directory_is_filled_first);
	tcase_add_test(tcase, i12_no_report);
	tcase_add_test(tcase, i1_a_copy_of_it);
	tcase_add_test(tcase, i4_killed_at_every_step);
	return run_tcase(tcase);
}
