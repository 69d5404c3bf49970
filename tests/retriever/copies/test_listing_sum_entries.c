/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of what a listing before said, entry by entry. */
#include "tests/pairs.h"
#include "tests/retriever/seen_directory.h"

#define FILES 20

static const struct source_entry a_file = {.has_attr = true,
					   .attr = {.mode = S_IFREG, .nlink = 1, .fileid = 7}};

/* f0 to f19, changed[i] in place of entry i; what listing_sum_pass() leaves is made.  Their names.
 */
static char *list_in_pages(const struct source_entry *changed, const guint *which, unsigned page)
{
	GString *left = g_string_new(NULL);

	for (guint i = 0; i < FILES; i += page) {
		struct backend_batch *batch = backend_batch_new();

		for (guint j = i; j < MIN(i + page, FILES); j++) {
			g_autofree char *name = g_strdup_printf("f%u", j);
			bool other = which && *which == j;

			if (!other || changed)
				backend_batch_add(batch, name, strlen(name),
						  other ? changed : &a_file);
		}
		note_names(batch);
		listing_sum_pass(seen, dir, batch, i + page >= FILES);
		for (guint j = 0; j < batch->entries->len; j++)
			g_string_append_printf(
				left, "%s ",
				g_array_index(batch->entries, struct source_entry, j).name);
		listing_sum_add(seen, batch);
		backend_batch_free(batch);
	}
	return g_string_free(left, FALSE);
}

static void expect_left(const struct source_entry *changed, guint which, unsigned page,
			const char *names)
{
	g_autofree char *left = list_in_pages(changed, &which, page);

	ck_assert_str_eq(left, names);
}

static bool has_attribute(void)
{
	return fgetxattr(dir, XATTR_LISTED, NULL, 0) >= 0;
}

static bool has_listed(void)
{
	g_autofree char *path = core_path(&core, ".migrate/listed");
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	guint n = fd < 0 ? 0 : count_names(fd);

	if (fd >= 0)
		close(fd);
	return n > 0;
}

/* All of them are whole after a listing before. */
static void prepare_listed(void)
{
	prepare_volume("d", FILES, true);
	g_free(list_in_pages(NULL, NULL, 7));
	ck_assert_int_eq(sweep_names(dir, "d"), 0);
	ck_assert(has_listed());
	ck_assert(!listing_sum_not_whole(core.retriever, dir)); /* any of them */
	listing_sum_set_whole(dir);
	list_anew();
	ck_assert(!listing_sum_sums_up(seen));
}

static void sweep(void)
{
	ck_assert(!listing_sum_unchanged(seen, dir));
	ck_assert(!has_attribute());
	ck_assert_int_eq(sweep_names(dir, "d"), 0);
}

START_TEST(passes_over)
{
	struct source_entry changed = a_file;
	g_autoptr(GArray) not_whole = NULL;

	prepare_listed();
	changed.attr.ctime = 1;
	expect_left(&changed, 3, 7, "f3 ");
	ck_assert(!has_attribute()); /* it may be made now */
	ck_assert_uint_eq(listing_sum_files(seen), FILES - 1);
	sweep();
	ck_assert(!is_aside(""));
	not_whole = listing_sum_not_whole(core.retriever, dir);
	ck_assert(not_whole && listing_sum_may_lack(not_whole, "f3") &&
		  !listing_sum_may_lack(not_whole, "f4"));
	list_anew();
	ck_assert(listing_sum_sums_up(seen)); /* one is not whole */
	listing_sum_set_whole(dir);
	list_anew();
	expect_left(&changed, 3, 7, "");
	ck_assert(listing_sum_unchanged(seen, dir));
	ck_assert(is_whole());
	list_anew();
	expect_left(&a_file, 3, 7, "f3 "); /* as long ago */
	end();
}
END_TEST

/* One page is summed up before anything is read. */
START_TEST(one_page)
{
	struct source_entry changed = a_file;

	prepare_listed();
	shell("rm -r %s/.migrate/listed", core.root);
	expect_left(&a_file, 0, FILES, "");
	ck_assert_uint_eq(listing_sum_files(seen), FILES);
	ck_assert(listing_sum_unchanged(seen, dir));
	ck_assert(is_whole());
	list_anew();
	changed.attr.size = 1;
	g_free(list_in_pages(&changed, &(guint){0}, FILES));
	ck_assert(!has_attribute());
	sweep();
	listing_sum_set_whole(dir);
	list_anew();
	expect_left(&a_file, 0, FILES, "f0 ");
	end();
}
END_TEST

/* What is none of a file is never passed over, and a name is not one of another type. */
START_TEST(other_types)
{
	struct source_entry other = a_file;

	prepare_listed();
	other.attr.mode = S_IFDIR;
	expect_left(&other, 3, 7, "f3 ");
	ck_assert(!has_attribute());
	sweep();
	ck_assert(is_whole() || has_attribute());
	listing_sum_set_whole(dir);
	list_anew();
	expect_left(&other, 3, 7, "f3 "); /* a directory, as before */
	ck_assert(has_attribute());
	ck_assert(listing_sum_unchanged(seen, dir));
	list_anew();
	expect_left(&other, 3, FILES, "f3 ");
	ck_assert(has_attribute());
	list_anew();
	other.attr.mode = S_IFLNK;
	expect_left(&other, 3, 7, "f3 ");
	list_anew();
	end();
}
END_TEST

START_TEST(several_names)
{
	struct source_entry other = a_file;

	prepare_listed();
	other.attr.nlink = 2;
	expect_left(&other, 3, 7, "f3 ");
	sweep();
	ck_assert(!has_listed());
	ck_assert(!listing_sum_not_whole(core.retriever, dir));
	listing_sum_set_whole(dir);
	list_anew();
	ck_assert(listing_sum_sums_up(seen));
	end();
}
END_TEST

/* Its attributes were not listed. */
START_TEST(not_known)
{
	struct source_entry other = a_file;

	other.has_attr = false;
	prepare_listed();
	expect_left(&other, 3, FILES, "f3 ");
	ck_assert(!has_attribute());
	end();
	prepare_listed();
	expect_left(&other, 3, 7, "f3 ");
	sweep();
	ck_assert(!has_attribute());
	end();
}
END_TEST

/* The attribute is gone before the name is. */
static void see_attribute(const char *call, int fd, bool after)
{
	if (!after && !strcmp(call, "renameat2"))
		ck_assert(!has_attribute());
}

START_TEST(a_name_that_is_gone)
{
	prepare_listed();
	expect_left(NULL, 3, 7, "");
	ck_assert(has_attribute());
	atomic_store(&core_hook, see_attribute);
	sweep();
	atomic_store(&core_hook, NULL);
	ck_assert(is_aside("d/f3"));
	ck_assert_uint_eq(count_names(dir), FILES - 1);
	ck_assert(is_whole()); /* nothing has come */
	listing_sum_set_whole(dir);
	list_anew();
	expect_left(&a_file, 3, 7, "f3 "); /* it is back */
	end();
}
END_TEST

/* What cannot be what the attribute says is not believed, and the listing is compared as a whole.
 */
static void expect_none_passes(void)
{
	g_autofree char *left = NULL;

	list_anew();
	left = list_in_pages(NULL, NULL, 7);
	ck_assert_uint_eq(strlen(left), 10 * 3 + 10 * 4);
	ck_assert(!has_attribute());
	ck_assert(!listing_sum_unchanged(seen, dir));
	ck_assert_int_eq(sweep_names(dir, "d"), 0);
	ck_assert(!listing_sum_not_whole(core.retriever, dir));
	listing_sum_set_whole(dir);
	list_anew();
	expect_left(&a_file, 0, 7, "");
}

START_TEST(not_what_was_listed)
{
	static const char *const damages[] = {
		"rm $f", "truncate -s 0 $f", "truncate -s -8 $f",
		/* a bit of the head; of the version; of an entry */
		"printf '\\377' | dd of=$f bs=1 seek=20 conv=notrunc status=none",
		"printf '\\001' | dd of=$f bs=1 seek=0 conv=notrunc status=none",
		"s=$(stat -c %s $f); printf '\\377' | dd of=$f bs=1 seek=$((s-4)) conv=notrunc",
		/* a block that did not come */
		"s=$(stat -c %s $f); truncate -s 100 $f; truncate -s $s $f"};

	prepare_listed();
	for (size_t i = 0; i < G_N_ELEMENTS(damages); i++) {
		shell("f=$(echo %s/.migrate/listed/*); %s", core.root, damages[i]);
		expect_none_passes();
	}
	end();
}
END_TEST

/* One of a run before, of another directory. */
START_TEST(another_listing)
{
	struct source_entry changed = a_file;

	prepare_listed();
	shell("cp %s/.migrate/listed/* %s/old", core.root, core.root);
	changed.attr.ctime = 1;
	expect_left(&changed, 3, 7, "f3 ");
	sweep();
	listing_sum_set_whole(dir);
	shell("cat %s/old >$(echo %s/.migrate/listed/*)", core.root, core.root);
	expect_none_passes();
	/* the same entries elsewhere */
	shell("mkdir %s/e && mv %s/d/f* %s/e", core.root, core.root, core.root);
	close(dir);
	dir = open_below(core.retriever->root_fd, "e", O_RDONLY | O_DIRECTORY);
	list_anew();
	g_free(list_in_pages(NULL, NULL, 7));
	ck_assert_int_eq(sweep_names(dir, "e"), 0);
	listing_sum_set_whole(dir);
	shell("cd %s/.migrate/listed && set -- * && cp $1 x && cp $2 $1 && mv x $2", core.root);
	expect_none_passes();
	end();
}
END_TEST

/* Names that are not whole are the attribute's too. */
START_TEST(names_of_another_listing)
{
	struct source_entry changed = a_file;

	prepare_listed();
	changed.attr.ctime = 1;
	expect_left(&changed, 3, 7, "f3 ");
	sweep();
	shell("f=$(echo %s/.migrate/listed/*); truncate -s -8 $f", core.root);
	ck_assert(!listing_sum_not_whole(core.retriever, dir));
	shell("f=$(echo %s/.migrate/listed/*); truncate -s +8 $f", core.root);
	ck_assert(!listing_sum_not_whole(core.retriever, dir));
	end();
}
END_TEST

/* A restart after something was made compares all of it. */
START_TEST(begun_anew)
{
	struct source_entry changed = a_file;
	g_autofree char *left = NULL;

	prepare_listed();
	g_free(list_in_pages(NULL, NULL, 7));
	begin_anew();
	expect_left(&a_file, 0, 7, "");
	begin_anew();
	changed.attr.ctime = 1;
	expect_left(&changed, 3, 7, "f3 ");
	begin_anew();
	left = list_in_pages(NULL, NULL, 7);
	ck_assert_uint_gt(strlen(left), 10);
	sweep();
	ck_assert(!listing_sum_not_whole(core.retriever, dir));
	end();
}
END_TEST

/* What is passed over here may be made anew by the other one. */
START_TEST(beside_another_listing)
{
	struct source_entry changed = a_file;
	g_autoptr(GArray) not_whole = NULL;

	prepare_listed();
	listing_sum_share(seen);
	changed.attr.ctime = 1;
	expect_left(&changed, 3, 7, "f3 ");
	sweep();
	not_whole = listing_sum_not_whole(core.retriever, dir);
	ck_assert(listing_sum_may_lack(not_whole, "f4"));
	end();
}
END_TEST

/* Not for ever. */
START_TEST(a_listing_that_repeats_itself)
{
	g_autofree char *left = NULL;

	prepare_listed();
	g_free(list_in_pages(NULL, NULL, 7));
	left = list_in_pages(NULL, NULL, 7);
	ck_assert_uint_eq(strlen(left), 10 * 3 + 10 * 4);
	ck_assert(!has_attribute());
	end();
}
END_TEST

static void expect_sum_alone(unsigned entries)
{
	struct backend_batch *batch = backend_batch_new();

	prepare("d", 1);
	backend_batch_add(batch, "f0", 2, &a_file);
	note_names(batch);
	for (unsigned i = 0; i < entries; i++)
		listing_sum_add(seen, batch);
	backend_batch_free(batch);
	ck_assert_int_eq(sweep_names(dir, "d"), 0);
	ck_assert(has_attribute());
	ck_assert(!has_listed());
	listing_sum_set_whole(dir);
	list_anew();
	ck_assert(listing_sum_sums_up(seen));
	end();
}

START_TEST(few_or_very_many)
{
	expect_sum_alone(15);
	expect_sum_alone((1 << 20) + 1);
}
END_TEST

/* Without room the sum is kept alone. */
START_TEST(no_room)
{
	prepare_volume("d", FILES, true);
	shell("touch %s/.migrate/listed", core.root);
	g_free(list_in_pages(NULL, NULL, 7));
	ck_assert_int_eq(sweep_names(dir, "d"), 0);
	ck_assert(has_attribute());
	listing_sum_set_whole(dir);
	shell("rm %s/.migrate/listed", core.root);
	expect_none_passes();
	/* nor the sum, beside what may be of another listing */
	shell("f=$(echo %s/.migrate/listed/*); rm $f; mkdir $f", core.root);
	list_anew();
	g_free(list_in_pages(NULL, NULL, 7));
	sweep();
	ck_assert(!has_attribute());
	end();
}
END_TEST

static struct backend_batch *one_file(void)
{
	struct backend_batch *batch = backend_batch_new();

	backend_batch_add(batch, "f1", 2, &a_file);
	return batch;
}

static void add_one(void *arg)
{
	struct backend_batch *batch = one_file();

	listing_sum_add(arg, batch);
	backend_batch_free(batch);
}

static void pass_one(void *arg)
{
	struct backend_batch *batch = one_file();

	listing_sum_pass(arg, dir, batch, false);
	backend_batch_free(batch);
}

static void share(void *arg)
{
	listing_sum_share(arg);
}

static void reset(void *arg)
{
	listing_sum_reset(arg);
}

/* Pages are made beside each other, and beside the listing. */
START_TEST(several_threads)
{
	prepare_listed();
	{
		struct paired_call pages[] = {{add_one, seen}, {share, seen}};
		struct paired_call listing[] = {{pass_one, seen}, {reset, seen}};

		call_in_pairs(pages, G_N_ELEMENTS(pages));
		for (unsigned i = 0; i < 4; i++)
			call_beside(&pages[i % 2], &listing[i / 2]);
	}
	end();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("seen_entries", 60);

	tcase_add_test(tcase, passes_over);
	tcase_add_test(tcase, one_page);
	tcase_add_test(tcase, other_types);
	tcase_add_test(tcase, several_names);
	tcase_add_test(tcase, not_known);
	tcase_add_test(tcase, a_name_that_is_gone);
	tcase_add_test(tcase, not_what_was_listed);
	tcase_add_test(tcase, another_listing);
	tcase_add_test(tcase, names_of_another_listing);
	tcase_add_test(tcase, begun_anew);
	tcase_add_test(tcase, beside_another_listing);
	tcase_add_test(tcase, a_listing_that_repeats_itself);
	tcase_add_test(tcase, few_or_very_many);
	tcase_add_test(tcase, no_room);
	tcase_add_test(tcase, several_threads);
	return run_tcase(tcase);
}
