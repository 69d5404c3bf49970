/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A group of each volume, in the order in which it starts:
 *
 *   fs       the file system
 *   migrate  the resource agent of this project
 *   nfs      a Ganesha; of several volumes each has its own, so that a volume that moves puts no
 *            other's clients into a time of grace
 *   smb      an smbd; of several volumes each has its own, so that a volume that moves ends no
 *            other's connections
 *   locks    rpc.statd, if clients of NFSv3 get locks: a machine has one, so it belongs to one
 *            volume alone
 *   address  starts after all that answers there, so that no client is refused
 *   notify   tells clients of NFSv3 from that address to reclaim their locks
 *   connections  ends the connections that clients had to the address elsewhere; its list lies on
 *            the disk, beside the root, if there is room
 *
 * There is no portblock: that of Debian 12 does not find its own rule in what iptables 1.8.9 lists,
 * and leaves clients shut out.
 *
 * A name may begin with a digit, but an id of XML may not: so the kind of the resource comes first.
 */
#include "ctl/cluster/resources.h"

#include <mntent.h>
#include <stdio.h>
#include <string.h>

/* A volume that has moved does not move back by itself, whichever node it would rather be on. */
#define STAYS "resource-stickiness=100"
#define LOCKS "ocf:quickmigrate:locks"
#define MANY  50 /* volumes, whose groups do not fit into Pacemaker's usual buffer */

static const struct {
	unsigned door;
	const char *name, *agent;
} doors[] = {{RESOURCES_NFS, "nfs", "systemd:nfs-ganesha"}, {RESOURCES_SMB, "smb", "systemd:smbd"}};

/* ---- disks ------------------------------------------------------------------------------------
 */

static bool is_above(const char *directory, const char *path)
{
	const size_t len = strlen(directory);

	return len > 1 && !strncmp(directory, path, len) && (path[len] == '/' || !path[len]);
}

/* As the agent wants it; NULL: it is no device.  g_free. */
static char *device_of(const struct mntent *entry)
{
	if (g_str_has_prefix(entry->mnt_fsname, "UUID="))
		return g_strdup_printf("-U %s", entry->mnt_fsname + strlen("UUID="));
	if (g_str_has_prefix(entry->mnt_fsname, "LABEL="))
		return g_strdup_printf("-L %s", entry->mnt_fsname + strlen("LABEL="));
	return *entry->mnt_fsname == '/' ? g_strdup(entry->mnt_fsname) : NULL;
}

/* Of what is mounted over another thing, the last is seen. */
static void find_in(struct resources_disk *disk, const char *root, const char *file)
{
	FILE *table = setmntent(file, "re");
	struct mntent *entry;

	while (table && (entry = getmntent(table))) {
		char *device = is_above(entry->mnt_dir, root) ? device_of(entry) : NULL;

		if (!device)
			continue;
		if (disk->directory && strlen(entry->mnt_dir) < strlen(disk->directory)) {
			g_free(device);
			continue;
		}
		resources_free_disk(disk);
		disk->device = device;
		disk->directory = g_strdup(entry->mnt_dir);
		disk->type = g_strdup(entry->mnt_type);
	}
	if (table)
		endmntent(table);
}

void resources_find_disk(struct resources_disk *disk, const char *root, const char *mounts,
			 const char *fstab)
{
	disk->device = disk->directory = disk->type = NULL;
	find_in(disk, root, fstab);
	find_in(disk, root, mounts);
	if (!disk->directory)
		disk->directory = g_strdup(root);
	disk->is_root = !strcmp(disk->directory, root);
}

void resources_free_disk(struct resources_disk *disk)
{
	g_clear_pointer(&disk->device, g_free);
	g_clear_pointer(&disk->directory, g_free);
	g_clear_pointer(&disk->type, g_free);
}

/* ---- text -------------------------------------------------------------------------------------
 */

struct text {
	GString *out, *members; /* members: of the group that is being written */
	const char *volume;
	unsigned doors;
	bool pcs;
	unsigned interval; /* of monitors, seconds: each of them is a shell, and a group has five */
};

/* params: words as both a shell and crm(8) take them. */
static void put_resource(struct text *text, const char *kind, const char *agent, const char *params)
{
	g_string_append_printf(text->out,
			       "%s %s-%s %s%s%s%s op start timeout=120s op stop "
			       "timeout=120s op monitor interval=%us timeout=30s",
			       text->pcs ? "pcs resource create" : "primitive", kind, text->volume,
			       agent, text->pcs || !*params ? "" : " params", *params ? " " : "",
			       params, text->interval);
	if (text->pcs)
		g_string_append_printf(text->out, " --group volume-%s", text->volume);
	g_string_append_c(text->out, '\n');
	g_string_append_printf(text->members, " %s-%s", kind, text->volume);
}

static void put_disk(struct text *text, const struct resources_disk *disk)
{
	g_autofree char *wanted = g_strdup_printf("DEVICE-%s", disk->volume);
	g_autofree char *device = g_shell_quote(disk->device ? disk->device : wanted);
	g_autofree char *directory = g_shell_quote(disk->directory);
	g_autofree char *params = g_strdup_printf("device=%s directory=%s fstype=%s", device,
						  directory, disk->type ? disk->type : "ext4");

	put_resource(text, "fs", "ocf:heartbeat:Filesystem", params);
}

static void put_connections(struct text *text, const struct resources_disk *disk)
{
	g_autofree char *file = g_build_filename(disk->directory, "connections", NULL);
	g_autofree char *quoted = g_shell_quote(file);
	g_autofree char *params =
		g_strdup_printf("address=ADDRESS-%s file=%s", disk->volume, quoted);

	put_resource(text, "connections", "ocf:quickmigrate:connections", params);
}

static void put_group(struct text *text)
{
	if (text->pcs)
		g_string_append_printf(text->out, "pcs resource meta volume-%s " STAYS "\n",
				       text->volume);
	else
		g_string_append_printf(text->out, "group volume-%s%s meta " STAYS "\n",
				       text->volume, text->members->str);
	g_string_truncate(text->members, 0);
}

static void put_volume(struct text *text, const struct resources_disk *disk, bool only)
{
	g_autofree char *volume = g_strdup_printf("volume=%s", disk->volume);
	g_autofree char *ip = g_strdup_printf("ip=ADDRESS-%s", disk->volume);
	g_autofree char *address = g_strdup_printf("address=ADDRESS-%s", disk->volume);

	put_disk(text, disk);
	put_resource(text, "migrate", "ocf:quickmigrate:migrate", volume);
	for (unsigned i = 0; i < G_N_ELEMENTS(doors); i++) {
		g_autofree char *agent =
			g_strconcat(doors[i].agent, only ? NULL : "@", disk->volume, NULL);

		if (text->doors & doors[i].door)
			put_resource(text, doors[i].name, agent, "");
	}
	if (text->doors & RESOURCES_LOCKS)
		put_resource(text, "locks", LOCKS, "");
	put_resource(text, "address", "ocf:heartbeat:IPaddr2", ip);
	if (text->doors & RESOURCES_LOCKS)
		put_resource(text, "notify", LOCKS, address);
	if (!disk->is_root)
		put_connections(text, disk);
	put_group(text);
}

static void put_place(struct text *text, const char *node)
{
	if (text->pcs)
		g_string_append_printf(text->out,
				       "pcs constraint location volume-%s prefers %s=50\n",
				       text->volume, node);
	else
		g_string_append_printf(text->out, "location place-%s volume-%s 50: %s\n",
				       text->volume, text->volume, node);
}

static bool unknown(const struct resources_disk *disks, unsigned count)
{
	bool found = false;

	for (unsigned i = 0; i < count; i++)
		found = found || !disks[i].device;
	return found;
}

static void put_head(struct text *text, const struct resources_disk *disks, unsigned count)
{
	g_string_append_printf(text->out, "# Write addresses in place of ADDRESS-...%s, then: %s\n",
			       unknown(disks, count) ? ", and devices in place of DEVICE-..." : "",
			       text->pcs ? "sh FILE" : "crm configure load update FILE");
	for (unsigned i = 0; count > 1 && i < G_N_ELEMENTS(doors); i++)
		if (text->doors & doors[i].door)
			g_string_append_printf(text->out,
					       "# Each volume has a unit of its own, %s@NAME: "
					       "see the guide.\n",
					       strchr(doors[i].agent, ':') + 1);
	if (count > MANY)
		g_string_append(text->out, "# So many resources need a larger buffer on each node: "
					   "PCMK_ipc_buffer=8388608 in /etc/default/pacemaker\n");
}

char *resources_text(const struct resources_disk *disks, unsigned count, unsigned wanted,
		     char **nodes, bool pcs)
{
	g_autoptr(GString) members = g_string_new(NULL);
	struct text text = {g_string_new(NULL), members, NULL, wanted, pcs, count > MANY ? 60 : 10};
	const unsigned places = nodes ? g_strv_length(nodes) : 0;

	put_head(&text, disks, count);
	for (unsigned i = 0; i < count; i++) {
		text.volume = disks[i].volume;
		put_volume(&text, &disks[i], count == 1);
		if (places)
			put_place(&text, nodes[i % places]);
	}
	return g_string_free(text.out, FALSE);
}

unsigned resources_read_doors(const char *list)
{
	g_auto(GStrv) names = g_strsplit(list, ",", -1);
	unsigned found = 0;

	for (char **name = names; *name; name++) {
		unsigned door = 0;

		for (unsigned i = 0; i < G_N_ELEMENTS(doors); i++)
			if (!strcmp(*name, doors[i].name))
				door = doors[i].door;
		if (!door)
			return 0;
		found |= door;
	}
	return found;
}

bool resources_node_ok(const char *node)
{
	return *node && strlen(node) < 256 && *node != '-' &&
	       strspn(node, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-") == strlen(node);
}
