/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tree like /proc, made up. */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/zfs_mount.h"
#include "tests/common/support.h"

#define LINE  "45 28 0:36 / /z/sa rw,relatime shared:1 - zfs tank/sa rw,xattr,posixacl\n"
#define ELSE  "28 1 0:24 / / rw,relatime - overlay overlay rw\n"
#define HEAD  "92 1 0x01 27 7600 831029368238 988478748439\n"
#define NAMES "name                            type data\n"
#define NAMED(d)                                                                                   \
	"dataset_name                    7    " d "\nwrites                          4    0\n"
#define LOG(n)                                                                                     \
	"zil_commit_count                4    1\nzil_itx_count                   4    " n "\n"
#define OTHER "91 1 0x01 27 7600 7 8\n"
#define POOL  "spl/kstat/zfs/tank/"

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	for (char *slash = path + strlen(scratch) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static struct migrate_zfs_kstat found;

static bool is_known(void)
{
	return migrate_zfs_kstat(scratch, makedev(0, 36), &found);
}

static void setup(void)
{
	scratch_make();
	put("self/mountinfo", ELSE LINE);
	put(POOL "objset-0x57", HEAD NAMES NAMED("tank/sa"));
	put(POOL "objset-0x4f", OTHER NAMES NAMED("tank/s"));
	put(POOL "state", "ONLINE\n");
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", scratch);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(both_numbers)
{
	ck_assert(is_known());
	ck_assert_uint_eq(found.made, 831029368238);
	ck_assert_uint_eq(found.id, 92);
	ck_assert(!found.counts);
}
END_TEST

START_TEST(the_log)
{
	put(POOL "objset-0x57", HEAD NAMES NAMED("tank/sa") LOG("2345"));
	put(POOL "objset-0x4f", OTHER NAMES NAMED("tank/s") LOG("9"));
	ck_assert(is_known());
	ck_assert_uint_eq(found.made, 831029368238);
	ck_assert(found.counts);
	ck_assert_uint_eq(found.logged, 2345);
}
END_TEST

START_TEST(mounted_twice)
{
	put("self/mountinfo", ELSE LINE "51 28 0:36 /a /b rw - zfs tank/sa rw\n");
	ck_assert(is_known());
}
END_TEST

START_TEST(with_spaces)
{
	put("self/mountinfo", "45 28 0:36 / /a\\040b rw - zfs my\\040pool/a\\040b\\040c rw\n");
	put("spl/kstat/zfs/my pool/objset-0x3", HEAD NAMES NAMED("my pool/a b c"));
	ck_assert(is_known());
}
END_TEST

static const char *const mounts[] = {
	"", ELSE, "45 28 0:37 / /z/sa rw - zfs tank/sa rw\n", "45 28 0:36 / /z/sa rw - zfs\n",
	"45 28 0:36 / /z/sa rw\n",
	/* a pool or a dataset that has no kstat: a snapshot has none */
	"45 28 0:36 / /z/sa rw - zfs tank/sa@s rw\n", "45 28 0:36 / /z/sa rw - zfs other/sa rw\n",
	"45 28 0:36 / /z/sa rw - zfs tank rw\n",
	/* two things at once */
	LINE "46 28 0:36 / /z/b rw - zfs tank/s rw\n",
	LINE "46 28 0:36 / /z/b rw - ext4 tank/sa rw\n"};

START_TEST(another_mountinfo)
{
	put("self/mountinfo", mounts[_i]);
	ck_assert(!is_known());
}
END_TEST

static const char *const kstats[] = {
	"", HEAD, HEAD NAMES, HEAD NAMES NAMED("tank/sa2"), HEAD NAMES NAMED(""),
	NAMES NAMED("tank/sa"), "92 1 0x01 27 7600 831029368238\n" NAMES NAMED("tank/sa"),
	"92 1 0x01 27 7600 831029368238 988478748439 1\n" NAMES NAMED("tank/sa"),
	/* of another type, made never, or after it was read */
	"92 2 0x01 27 7600 831029368238 988478748439\n" NAMES NAMED("tank/sa"),
	"92 1 0x01 27 7600 0 988478748439\n" NAMES NAMED("tank/sa"),
	"92 1 0x01 27 7600 988478748439 831029368238\n" NAMES NAMED("tank/sa"),
	"a b 0x01 27 7600 831029368238 988478748439\n" NAMES NAMED("tank/sa")};

START_TEST(another_kstat)
{
	put(POOL "objset-0x57", kstats[_i]);
	ck_assert(!is_known());
}
END_TEST

START_TEST(of_two_datasets)
{
	put(POOL "objset-0x58", HEAD NAMES NAMED("tank/sa"));
	ck_assert(!is_known());
	/* nor where one of the two says nothing */
	put(POOL "objset-0x58", NAMES NAMED("tank/sa"));
	ck_assert(!is_known());
}
END_TEST

START_TEST(nothing_there)
{
	char path[128];

	unlink(scratch_path(POOL "objset-0x57"));
	ck_assert(!is_known());
	snprintf(path, sizeof(path), "%s/away", scratch);
	ck_assert_int_eq(rename(scratch_path("spl"), path), 0);
	ck_assert(!is_known());
	unlink(scratch_path("self/mountinfo"));
	ck_assert(!is_known());
}
END_TEST

static const struct {
	const char *version;
	bool tells;
} versions[] = {{"2.3.9-1\n", true}, {"2.2.4-rc1\n", true}, {"3.0.0\n", true}, {"2.2.3-1\n", false},
		{"2.1.14\n", false}, {"1.9.9\n", false},    {"", false},       {"2.3\n", false}};

START_TEST(told_data)
{
	char path[128];

	put("version", versions[_i].version);
	snprintf(path, sizeof(path), "%s/version", scratch);
	ck_assert(migrate_zfs_tells_data(path) == versions[_i].tells);
	ck_assert(!migrate_zfs_tells_data("/nonexistent"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("zfs_mount");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, both_numbers);
	tcase_add_test(tcase, the_log);
	tcase_add_test(tcase, mounted_twice);
	tcase_add_test(tcase, with_spaces);
	tcase_add_loop_test(tcase, another_mountinfo, 0, sizeof(mounts) / sizeof(*mounts));
	tcase_add_loop_test(tcase, another_kstat, 0, sizeof(kstats) / sizeof(*kstats));
	tcase_add_test(tcase, of_two_datasets);
	tcase_add_test(tcase, nothing_there);
	tcase_add_loop_test(tcase, told_data, 0, sizeof(versions) / sizeof(*versions));
	return run_tcase(tcase);
}
