/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cluster: compares what nodes must have for a volume, and prints what the cluster manager is
 * told. */
#include <stdio.h>
#include <string.h>

#include "ctl/cluster/items.h"
#include "ctl/cluster/node_files.h"
#include "ctl/cluster/resources.h"
#include "ctl/cluster/runs_here.h"
#include "ctl/ctl.h"
#include "lib/config/config.h"

#define ITEMS_NOT_HERE "nothing"

static const char *opt_compare, *opt_tool, *opt_nodes, *opt_doors;

/* ---- check ------------------------------------------------------------------------------------
 */

static void print_difference(void *arg, const char *key, const char *here, const char *there)
{
	printf("%s: here %s, there %s\n", key, here ? here : ITEMS_NOT_HERE,
	       there ? there : ITEMS_NOT_HERE);
}

/* Prints the items, and each that is lacking here; returns how many those are. */
static unsigned print_items(const char *volume, GPtrArray *items, bool all)
{
	unsigned lacking = 0;

	for (unsigned i = 0; i < items->len; i++) {
		const struct item *item = items->pdata[i];

		if (all)
			printf("%s: %s\n", item->key, item->value);
		if (!item->lack)
			continue;
		fflush(stdout);
		ctl_complain("%s: %s: %s", volume, item->key, item->lack);
		lacking++;
	}
	return lacking;
}

static enum ctl_exit check_volume(const struct ctl *ctl, const char *volume)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) items = items_new(volume), there = NULL;
	struct volume_config *config = config_load_unmounted(ctl->config_file, volume, &error);
	struct resources_disk disk;

	if (config && opt_compare)
		there = items_read(opt_compare, volume, &error);
	if (error) {
		ctl_complain("%s", error->message);
		config_free(config);
		return CTL_USAGE;
	}
	node_files_settings(items, ctl->config_file, config);
	runs_here_releases(items, "");
	runs_here_units(items, volume, node_files_locks_v3("", volume));
	runs_here_services(items, volume);
	runs_here_caps(items, &config->server);
	resources_find_disk(&disk, config->root, "/proc/self/mounts", "/etc/fstab");
	runs_here_disk(items, &disk);
	resources_free_disk(&disk);
	node_files_state(items, config, "");
	config_free(config);
	g_auto(GStrv) volumes = config_volumes(ctl->config_file, NULL);
	node_files_others(items, volume, volumes, "");
	unsigned wrong = print_items(volume, items, !there);
	if (there)
		wrong += items_compare(items, there, print_difference, NULL);
	return wrong ? CTL_REFUSED : CTL_OK;
}

/* ---- config -----------------------------------------------------------------------------------
 */

static char **read_nodes(const char *list)
{
	g_auto(GStrv) nodes = g_strsplit(list, ",", -1);

	for (char **node = nodes; *node; node++)
		if (!resources_node_ok(*node)) {
			ctl_complain("cluster: --nodes: \"%s\" is no name of a node: give their "
				     "names as the cluster has them, with commas between them",
				     *node);
			return NULL;
		}
	return g_steal_pointer(&nodes);
}

/* FALSE, and a line on stderr: there is a mistake. */
static gboolean find_disk(const struct ctl *ctl, const char *volume, struct resources_disk *disk)
{
	g_autoptr(GError) error = NULL;
	struct volume_config *config = config_load_unmounted(ctl->config_file, volume, &error);

	disk->volume = volume;
	if (!config)
		return ctl_complain("%s", error->message);
	resources_find_disk(disk, config->root, "/proc/self/mounts", "/etc/fstab");
	config_free(config);
	return TRUE;
}

static enum ctl_exit print_config(const struct ctl *ctl, char **volumes)
{
	const unsigned count = g_strv_length(volumes);
	g_autofree struct resources_disk *disks = g_new0(struct resources_disk, count);
	g_auto(GStrv) nodes = opt_nodes ? read_nodes(opt_nodes) : NULL;
	const bool pcs = opt_tool && !strcmp(opt_tool, "pcs");
	unsigned doors = opt_doors ? resources_read_doors(opt_doors) : RESOURCES_NFS;
	bool good = !opt_nodes || nodes;

	if (!doors)
		good = ctl_complain("cluster: --doors is nfs, smb or nfs,smb, not \"%s\"",
				    opt_doors);

	if (opt_tool && !pcs && strcmp(opt_tool, "crm"))
		good = ctl_complain("cluster: --for is crm or pcs, not \"%s\"", opt_tool);
	for (unsigned i = 0; good && i < count; i++) {
		for (unsigned j = 0; good && j < i; j++)
			if (!strcmp(volumes[i], volumes[j]))
				good = ctl_complain("cluster: %s is named twice", volumes[i]);
		good = good && find_disk(ctl, volumes[i], &disks[i]);
	}
	if (count == 1 && doors & RESOURCES_NFS && node_files_locks_v3("", volumes[0]))
		doors |= RESOURCES_LOCKS;
	g_autofree char *locked = node_files_locks_beside("", "", count > 1 ? volumes : NULL);
	if (good && locked && doors & RESOURCES_NFS)
		ctl_complain("%s: NFSv3 clients lose their locks in a move: set Protocols = 4 in "
			     "/etc/ganesha/NAME.conf, or ask for the one that has them by itself",
			     locked);
	if (good) {
		g_autofree char *text = resources_text(disks, count, doors, nodes, pcs);
		fputs(text, stdout);
	}
	for (unsigned i = 0; i < count; i++)
		resources_free_disk(&disks[i]);
	return good ? CTL_OK : CTL_USAGE;
}

/* ctl->volume is the word that says what is to be done. */
static enum ctl_exit run_cluster(const struct ctl *ctl)
{
	const bool check = !strcmp(ctl->volume, "check"), config = !strcmp(ctl->volume, "config");
	const unsigned names = g_strv_length(ctl->arguments);

	if (check && names == 1 && !opt_tool && !opt_nodes && !opt_doors)
		return check_volume(ctl, ctl->arguments[0]);
	if (config && names && !opt_compare)
		return print_config(ctl, ctl->arguments);
	ctl_complain("usage: " PROGRAM " cluster check NAME [--compare=FILE], or cluster config "
		     "NAME... [--doors=nfs,smb] [--for=crm|pcs] [--nodes=NODE,...]");
	return CTL_USAGE;
}

static const GOptionEntry cluster_options[] = {
	CTL_FILE("compare", opt_compare, "with another node's FILE", "HOW"),
	CTL_STRING("for", opt_tool, "crm or pcs", "TOOL"),
	CTL_STRING("nodes", opt_nodes, "spread the volumes over these nodes", "A,B,C"),
	CTL_STRING("doors", opt_doors, "what serves the volumes: nfs (default), smb, or nfs,smb",
		   "DOORS"),
	{NULL},
};

CTL_COMMAND(cluster, "cluster", "check NAME | config NAME...", 2, G_MAXINT,
	    "check this node for a volume; print resources for Pacemaker",
	    .example = "cluster check projects", .changes = "nothing",
	    .exits = "0 fine, 1 something is missing, 2 wrong usage", .options = cluster_options);
