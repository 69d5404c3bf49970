/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text that configures a cluster manager for volumes: resources in groups, and the nodes where
 * they should run. */
#ifndef CTL_CLUSTER_RESOURCES_H
#define CTL_CLUSTER_RESOURCES_H

#include <glib.h>
#include <stdbool.h>

/* Doors of a volume, as bits. */
#define RESOURCES_NFS 1u
#define RESOURCES_SMB 2u
/* With NFS, of one volume alone: clients of NFSv3 reclaim their locks. */
#define RESOURCES_LOCKS 4u

/* A volume's file system, as far as it is known here. */
struct resources_disk {
	const char *volume;
	char *device, *directory, *type; /* NULL: not known */
	bool is_root;			 /* all of it may be exported */
};

/* Fills disk from the nearest mount at or above root, except /, in mounts or in fstab, a file like
 * /etc/fstab. */
void resources_find_disk(struct resources_disk *disk, const char *root, const char *mounts,
			 const char *fstab);
void resources_free_disk(struct resources_disk *disk);

/*
 * The text for crm(8) configure load, or (pcs) commands for pcs(8).  What is not known is a word in
 * capitals with the volume's name in it, which no cluster manager can start.  doors: one or more,
 * for each volume, with RESOURCES_LOCKS if wanted.  nodes: the volumes are spread over them; NULL:
 * the cluster decides.  g_free.
 */
char *resources_text(const struct resources_disk *disks, unsigned count, unsigned doors,
		     char **nodes, bool pcs);

/* Doors by their names, nfs and smb, with a comma between them; 0: list has a mistake. */
unsigned resources_read_doors(const char *list);

/* Whether node can be a node's name, which becomes part of commands. */
bool resources_node_ok(const char *node);

#endif
