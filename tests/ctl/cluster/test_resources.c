/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/cluster/resources.h"

#include "tests/ctl/cluster/found.h"

static void disk_is(const char *root, const char *device, const char *directory, const char *type)
{
	g_autofree char *mounts = g_strconcat(tree, "/mounts", NULL);
	g_autofree char *fstab = g_strconcat(tree, "/fstab", NULL);
	struct resources_disk disk = {.volume = "v"};

	resources_find_disk(&disk, root, mounts, fstab);
	ck_assert_str_eq(disk.device ? disk.device : "-", device);
	ck_assert_str_eq(disk.directory, directory);
	ck_assert_str_eq(disk.type ? disk.type : "-", type);
	ck_assert_int_eq(disk.is_root, !strcmp(root, directory));
	resources_free_disk(&disk);
}

START_TEST(disks_are_found)
{
	put_file(tree, "/mounts",
		 "/dev/sda / ext4 rw 0 0\n/dev/b /srv/a\\040b xfs rw 0 0\n/dev/old /srv/x ext4 rw "
		 "0 0\n"
		 "/dev/new /srv/x xfs rw 0 0\n/dev/z /srv ext4 rw 0 0\ntmpfs /run tmpfs rw 0 0\n",
		 0644);
	put_file(tree, "/fstab",
		 "UUID=1-2 /vol btrfs noauto 0 0\n/dev/no /srv/x ext4 noauto 0 0\n"
		 "LABEL=y /srv/y ext4 noauto 0 0\n/dev/tree /srv/a\\040b/tree/deep ext4 noauto 0 "
		 "0\n",
		 0644);
	disk_is("/srv/a b/tree", "/dev/b", "/srv/a b", "xfs");
	disk_is("/srv/x", "/dev/new", "/srv/x", "xfs");
	disk_is("/srv/xy", "/dev/z", "/srv", "ext4");
	disk_is("/srv/y/1", "-L y", "/srv/y", "ext4");
	disk_is("/vol/1", "-U 1-2", "/vol", "btrfs");
	disk_is("/run/x", "-", "/run/x", "-");
	disk_is("/elsewhere", "-", "/elsewhere", "-");
}
END_TEST

static void has(const char *text, const char *line)
{
	g_autofree char *whole = g_strdup_printf("\n%s\n", line);

	ck_assert_msg(strstr(text, whole), "%s\nis not in:\n%s", line, text);
}

#define OPERATIONS(interval)                                                                       \
	"op start timeout=120s op stop timeout=120s op monitor interval=" interval "s timeout=30s"

START_TEST(a_volume_is_a_group)
{
	const struct resources_disk disk = {"v", (char *)"/dev/b", (char *)"/srv/a b",
					    (char *)"xfs", false};
	g_autofree char *crm = resources_text(&disk, 1, RESOURCES_NFS, NULL, false);
	g_autofree char *pcs = resources_text(&disk, 1, RESOURCES_NFS, NULL, true);

	has(crm, "group volume-v fs-v migrate-v nfs-v address-v connections-v meta "
		 "resource-stickiness=100");
	has(crm, "primitive connections-v ocf:quickmigrate:connections params "
		 "address=ADDRESS-v file='/srv/a b/connections' " OPERATIONS("10"));
	has(pcs, "pcs resource meta volume-v resource-stickiness=100");
	has(crm, "primitive nfs-v systemd:nfs-ganesha " OPERATIONS("10"));
	has(crm, "primitive migrate-v ocf:quickmigrate:migrate params volume=v " OPERATIONS("10"));
	ck_assert_ptr_nonnull(strstr(crm, "device='/dev/b' directory='/srv/a b' fstype=xfs"));
	ck_assert_ptr_null(strstr(crm, "DEVICE-"));
	ck_assert_ptr_null(strstr(crm, "location"));
	ck_assert_ptr_null(strstr(crm, "pcs"));
	has(pcs,
	    "pcs resource create nfs-v systemd:nfs-ganesha " OPERATIONS("10") " --group volume-v");
	has(pcs, "pcs resource create migrate-v ocf:quickmigrate:migrate volume=v " OPERATIONS(
			 "10") " --group volume-v");
	/* in a group of pcs the order is that of the lines */
	const char *at = pcs;
	for (const char *const *kind = (const char *const[]){"fs-v", "migrate-v", "nfs-v",
							     "address-v", "connections-v", NULL};
	     *kind; kind++) {
		at = strstr(at, *kind);
		ck_assert_msg(at, "%s", *kind);
	}
}
END_TEST

START_TEST(many_are_spread)
{
	struct resources_disk disks[60] = {{0}};
	char *nodes[] = {(char *)"a", (char *)"b.example", NULL};

	for (unsigned i = 0; i < G_N_ELEMENTS(disks); i++) {
		disks[i].volume = g_strdup_printf("%u", i);
		disks[i].directory = (char *)"/srv";
	}
	g_autofree char *crm = resources_text(disks, G_N_ELEMENTS(disks),
					      RESOURCES_NFS | RESOURCES_SMB, nodes, false);
	g_autofree char *pcs = resources_text(disks, 3, RESOURCES_SMB, nodes, true);
	has(crm, "primitive nfs-9 systemd:nfs-ganesha@9 " OPERATIONS("60"));
	has(crm, "location place-0 volume-0 50: a");
	has(crm, "location place-59 volume-59 50: b.example");
	has(pcs, "pcs constraint location volume-2 prefers a=50");
	ck_assert_ptr_nonnull(strstr(crm, "device='DEVICE-7'"));
	ck_assert_ptr_nonnull(strstr(crm, "systemd:nfs-ganesha@7 "));
	ck_assert_ptr_nonnull(strstr(crm, " own, smbd@NAME"));
	ck_assert_ptr_null(strstr(pcs, "nfs-"));
	has(pcs, "pcs resource create smb-2 systemd:smbd@2 " OPERATIONS("10") " --group volume-2");
	ck_assert_ptr_nonnull(strstr(crm, "PCMK_ipc_buffer"));
	ck_assert_ptr_null(strstr(pcs, "PCMK_ipc_buffer"));
	for (unsigned i = 0; i < G_N_ELEMENTS(disks); i++)
		g_free((char *)disks[i].volume);
}
END_TEST

START_TEST(doors_are_chosen)
{
	const struct resources_disk disk = {"v", NULL, (char *)"/srv", NULL, true};
	g_autofree char *both =
		resources_text(&disk, 1, resources_read_doors("smb,nfs"), NULL, false);
	g_autofree char *smb = resources_text(&disk, 1, resources_read_doors("smb"), NULL, false);

	has(both, "group volume-v fs-v migrate-v nfs-v smb-v address-v meta "
		  "resource-stickiness=100");
	has(both, "primitive nfs-v systemd:nfs-ganesha " OPERATIONS("10"));
	has(both, "primitive smb-v systemd:smbd " OPERATIONS("10"));
	has(smb, "group volume-v fs-v migrate-v smb-v address-v meta resource-stickiness=100");
	ck_assert_ptr_null(strstr(smb, "nfs"));
	ck_assert_uint_eq(resources_read_doors("nfs"), RESOURCES_NFS);
	ck_assert_uint_eq(resources_read_doors(""), 0);
	ck_assert_uint_eq(resources_read_doors("nfs,"), 0);
	ck_assert_uint_eq(resources_read_doors("ftp"), 0);
}
END_TEST

/* rpc.statd behind Ganesha, which would have it forget, and the notice behind the address. */
START_TEST(locks_move)
{
	const struct resources_disk disk = {"v", NULL, (char *)"/srv", NULL, true};
	const unsigned doors = RESOURCES_NFS | RESOURCES_SMB | RESOURCES_LOCKS;
	g_autofree char *crm = resources_text(&disk, 1, doors, NULL, false);
	g_autofree char *pcs = resources_text(&disk, 1, doors, NULL, true);

	has(crm, "group volume-v fs-v migrate-v nfs-v smb-v locks-v address-v notify-v meta "
		 "resource-stickiness=100");
	has(crm, "primitive locks-v ocf:quickmigrate:locks " OPERATIONS("10"));
	has(crm,
	    "primitive notify-v ocf:quickmigrate:locks params address=ADDRESS-v " OPERATIONS("10"));
	has(pcs, "pcs resource create locks-v ocf:quickmigrate:locks " OPERATIONS(
			 "10") " --group volume-v");
	ck_assert(strstr(pcs, "create notify-v") > strstr(pcs, "create address-v"));
}
END_TEST

START_TEST(names_of_nodes)
{
	ck_assert(resources_node_ok("node-1.example"));
	ck_assert(!resources_node_ok(""));
	ck_assert(!resources_node_ok("-f"));
	ck_assert(!resources_node_ok("a b"));
	ck_assert(!resources_node_ok("a;b"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("resources");

	tcase_add_checked_fixture(tcase, make_tree, remove_tree);
	tcase_add_test(tcase, disks_are_found);
	tcase_add_test(tcase, a_volume_is_a_group);
	tcase_add_test(tcase, many_are_spread);
	tcase_add_test(tcase, doors_are_chosen);
	tcase_add_test(tcase, locks_move);
	tcase_add_test(tcase, names_of_nodes);
	return run_tcase(tcase);
}
