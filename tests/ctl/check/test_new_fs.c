/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <linux/fs.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "ctl/check/new_fs.h"
#include "tests/ctl/report/made.h"

#define GIB (UINT64_C(1) << 30)

static bool casefold;

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	int *flags;

	if (request != FS_IOC_GETFLAGS)
		return -1;
	va_start(args, request);
	flags = va_arg(args, int *);
	va_end(args);
	*flags = casefold ? FS_CASEFOLD_FL | FS_EXTENT_FL : FS_EXTENT_FL;
	return 0;
}

static struct new_fs ext4(uint64_t free_bytes, uint64_t free_inodes, uint32_t inode_size)
{
	return (struct new_fs){.known = true,
			       .path = "/new",
			       .limits = {.name = "ext4", .fixed_inodes = true},
			       .total = 2 * free_bytes,
			       .available = free_bytes,
			       .inodes = free_inodes,
			       .inodes_available = free_inodes,
			       .inode_size = inode_size};
}

static struct tally files(uint64_t n, uint64_t each)
{
	return (struct tally){.types = {[TALLY_FILES] = n, [TALLY_DIRECTORIES] = 1},
			      .bytes = n * each,
			      .own_objects = (double)n + 1,
			      .own_bytes = (double)(n * each),
			      .own_used = (double)(n * each),
			      .own_blocks = (double)(n * ((each + 4095) / 4096 * 4096)),
			      .name_bytes = 10 * n};
}

START_TEST(looked_at)
{
	struct statvfs st;
	struct new_fs target;
	GError *error = NULL;

	ck_assert_int_eq(statvfs(made_dir, &st), 0);
	ck_assert(new_fs_look(&target, made_dir, NULL));
	ck_assert(target.known);
	ck_assert_uint_eq(target.total, (uint64_t)st.f_blocks * st.f_frsize);
	new_fs_clear(&target);
	ck_assert(new_fs_look(&target, NULL, NULL));
	ck_assert(!target.known);
	new_fs_clear(&target);
	ck_assert(!new_fs_look(&target, "/does/not/exist", &error));
	ck_assert_ptr_nonnull(strstr(error->message, "/does/not/exist"));
	g_error_free(error);
}
END_TEST

START_TEST(folds)
{
	struct new_fs target;

	for (unsigned i = 0; i < 2; i++) {
		casefold = i;
		ck_assert(new_fs_look(&target, made_dir, NULL));
		ck_assert_int_eq(target.folds, i);
		new_fs_clear(&target);
	}
}
END_TEST

/* It is seen without a change to it. */
/* What attach would say. */
START_TEST(refusals)
{
	g_autofree char *root = made_path("mounted");
	struct new_fs target;

	ck_assert_int_eq(mkdir(root, 0755), 0);
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("none", root, "tmpfs", 0, NULL), 0);
	ck_assert(new_fs_look(&target, root, NULL));
	ck_assert_ptr_null(target.refusal);
	new_fs_clear(&target);
	ck_assert_int_eq(mount("none", root, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	ck_assert(new_fs_look(&target, root, NULL));
	ck_assert_ptr_nonnull(strstr(target.refusal, "mounted read-only"));
	new_fs_clear(&target);
	ck_assert_int_eq(umount2(root, MNT_DETACH), 0);
	ck_assert_int_eq(mount("none", root, "ramfs", 0, NULL), 0);
	ck_assert(new_fs_look(&target, root, NULL));
	ck_assert_ptr_nonnull(strstr(target.refusal, "lacks file handles"));
	new_fs_clear(&target);
	ck_assert_int_eq(umount2(root, MNT_DETACH), 0);
}
END_TEST

START_TEST(filled)
{
	g_autofree char *root = made_path("root"), *name = g_build_filename(root, "old", NULL);
	struct stat before, after;
	struct new_fs target;

	ck_assert_int_eq(g_mkdir_with_parents(name, 0755), 0);
	ck_assert_int_eq(stat(root, &before), 0);
	ck_assert(new_fs_look(&target, root, NULL));
	ck_assert(target.filled);
	ck_assert_ptr_null(target.adoption_refusal);
	new_fs_clear(&target);
	ck_assert_int_eq(stat(root, &after), 0);
	ck_assert_mem_eq(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
	ck_assert_mem_eq(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim));
	g_autofree char *foreign = g_build_filename(root, ".migrate", "x", NULL);
	ck_assert_int_eq(g_mkdir_with_parents(foreign, 0755), 0);
	ck_assert(new_fs_look(&target, root, NULL));
	ck_assert(target.filled);
	ck_assert_ptr_nonnull(strstr(target.adoption_refusal, "not this volume's: rename it"));
	new_fs_clear(&target);
	ck_assert_int_eq(rmdir(foreign), 0);
	*strrchr(foreign, '/') = '\0';
	ck_assert_int_eq(rmdir(foreign), 0);
	ck_assert_int_eq(rmdir(name), 0);
	ck_assert(new_fs_look(&target, root, NULL));
	ck_assert(!target.filled);
	ck_assert_ptr_null(target.adoption_refusal);
	new_fs_clear(&target);
}
END_TEST

START_TEST(superblock)
{
	static const struct {
		const char *options;
		uint32_t size;
		bool ea_inode;
	} kinds[] = {{"-I 256", 256, false}, {"-I 512 -O ea_inode", 512, true}};

	for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autofree char *path = made_path("image");
		g_autofree char *bytes = NULL;
		uint32_t size = 0;
		bool ea_inode = false;
		gsize len;

		made_run("rm -f image && truncate -s 8M image && /sbin/mkfs.ext4 -q -F %s image",
			 kinds[i].options);
		ck_assert(g_file_get_contents(path, &bytes, &len, NULL));
		ck_assert(new_fs_superblock((uint8_t *)bytes, &size, &ea_inode));
		ck_assert_uint_eq(size, kinds[i].size);
		ck_assert_int_eq(ea_inode, kinds[i].ea_inode);
		memset(bytes, 0, 2048);
		ck_assert(!new_fs_superblock((uint8_t *)bytes, &size, &ea_inode));
	}
}
END_TEST

START_TEST(space)
{
	struct tally tally = files(1000000, 10000);
	struct new_fs target = ext4(13 * GIB, 2000000, 256);
	struct need need = new_fs_need(&target, &tally, false);

	ck_assert(need.fits && need.fits_barely && need.inodes_fit && !need.inodes_small);
	ck_assert_uint_ge(need.bytes, 1000000 * UINT64_C(12288));
	ck_assert_uint_eq(need.inode_size, 256);
	ck_assert_uint_eq(need.stubs, 0);
	target = ext4(11 * GIB, 1000000, 256);
	need = new_fs_need(&target, &tally, false);
	ck_assert(!need.fits && need.fits_barely && !need.inodes_fit);
	tally.own_used = 13e9;
	tally.own_blocks = 12.5e9;
	need = new_fs_need(&target, &tally, false);
	ck_assert(!need.fits_barely);
	target.known = false;
	need = new_fs_need(&target, &tally, false);
	ck_assert(need.fits && need.fits_barely && need.inodes_fit);
}
END_TEST

/* Records of paths, or ACLs, take blocks where inodes are short. */
START_TEST(inode_size)
{
	struct tally tally = files(1000, 4096);
	struct new_fs target = ext4(GIB, 2000, 256);
	struct need need = new_fs_need(&target, &tally, true);

	ck_assert_uint_eq(need.inode_size, 512);
	ck_assert_uint_ge(need.stubs, 1000 * 4096);
	ck_assert(need.inodes_small);
	target.inode_size = 512;
	need = new_fs_need(&target, &tally, true);
	ck_assert_uint_eq(need.stubs, 0);
	ck_assert(!need.inodes_small);
	tally.asked = 1000;
	tally.acls = 500;
	ck_assert_uint_eq(new_fs_need(&target, &tally, false).inode_size, 512);
	tally.acls = 5;
	ck_assert_uint_eq(new_fs_need(&target, &tally, false).inode_size, 256);
}
END_TEST

/* What is said fits: mkfs makes as many inodes as are needed, and a quarter more. */
START_TEST(mkfs)
{
	struct tally tally = files(40000, 100);
	struct new_fs target = ext4(200 << 20, 100, 256);
	struct need need = new_fs_need(&target, &tally, true);
	g_autofree char *line = new_fs_mkfs(&target, &need), *xfs = NULL, *none = NULL;

	ck_assert_msg(g_str_has_prefix(line, "mkfs.ext4 -I 512 -O ea_inode -i "), "%s", line);
	line[strlen(line) - strlen("DEVICE")] = '\0';
	made_run("truncate -s 400M image && /sbin/%s -q -F image && "
		 "/sbin/dumpe2fs -h image 2>/dev/null | sed -n 's/^Inode count: *//p' > count",
		 line);
	{
		g_autofree char *path = made_path("count"), *count = NULL;

		ck_assert(g_file_get_contents(path, &count, NULL, NULL));
		ck_assert_uint_ge(strtoull(count, NULL, 10), 40000 * 5 / 4);
	}
	target.limits = (struct limits){.name = "xfs"};
	xfs = new_fs_mkfs(&target, &need);
	ck_assert_str_eq(xfs, "mkfs.xfs -i size=1024 DEVICE");
	target.limits.name = "btrfs";
	none = new_fs_mkfs(&target, &need);
	ck_assert_ptr_null(none);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {looked_at, folds,	     refusals, filled, superblock,
				      space,	 inode_size, mkfs,     NULL};

	return run_made("target", tests);
}
