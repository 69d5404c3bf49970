/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/cluster/runs_here.h"

#include <glob.h>
#include <stdbool.h>
#include <string.h>
#include <sys/timex.h>

#include "ctl/cluster/items.h"
#include "ctl/cluster/node_files.h"

#define STATD  "nfs-ganesha-lock.service"
#define AGENTS "/usr/lib/ocf/resource.d/quickmigrate/"

/* What a program prints, without blanks around it; NULL: the program is not there, or (unless
 * failed) fails. */
static char *ask_cluster(bool failed, const char *const *argv)
{
	g_autofree char *text = NULL;
	int status;

	if (!g_spawn_sync(NULL, (char **)argv, NULL,
			  G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &text, NULL,
			  &status, NULL))
		return NULL;
	if (!failed && !g_spawn_check_wait_status(status, NULL))
		return NULL;
	return g_strstrip(g_steal_pointer(&text));
}
#define ASK(...)	ask_cluster(false, (const char *const[]){__VA_ARGS__, NULL})
#define ASK_ANYHOW(...) ask_cluster(true, (const char *const[]){__VA_ARGS__, NULL})

/* ---- releases ---------------------------------------------------------------------------------
 */

static void add_agent(GPtrArray *items, const char *below, const char *name)
{
	g_autofree char *file = g_strconcat(below, AGENTS, name, NULL);
	g_autofree char *key = g_strconcat("agent ocf:quickmigrate:", name, NULL);
	g_autofree char *digest = node_files_digest(file);
	struct item *item = items_add(items, key, digest);

	if (!digest)
		items_lack(item, "%s is not there: install the package quickmigrate", file);
}

static void add_module(GPtrArray *items, const char *key, const char *below, const char *pattern)
{
	g_autofree char *full = g_strconcat(below, pattern, NULL), *digest = NULL;
	glob_t found;

	if (!glob(full, 0, NULL, &found))
		digest = node_files_digest(found.gl_pathv[0]);
	globfree(&found);
	items_add(items, key, digest);
}

void runs_here_releases(GPtrArray *items, const char *below)
{
	g_autofree char *ganesha = ASK("ganesha.nfsd", "-v"), *samba = ASK("smbd", "-V");

	items_add(items, "release quickmigrate", QUICKMIGRATE_VERSION);
	items_add(items, "release ganesha", ganesha);
	add_module(items, "module ganesha", below, "/usr/lib/*/ganesha/libfsalmigrate.so");
	items_add(items, "release samba", samba);
	add_module(items, "module samba", below, "/usr/lib/*/samba/vfs/migrate.so");
	add_agent(items, below, "migrate");
	add_agent(items, below, "locks");
}

/* ---- units ------------------------------------------------------------------------------------
 */

/* nfs-ganesha.service wants it, unless it is masked. */
static void add_statd(GPtrArray *items)
{
	g_autofree char *state = ASK_ANYHOW("systemctl", "is-enabled", STATD);
	const bool found = state && *state;
	struct item *item = items_add(items, "unit " STATD, found ? state : NULL);

	if (found && !g_str_has_prefix(state, "masked"))
		items_lack(item,
			   "it is started with Ganesha, and keeps rpc.statd out that moves with "
			   "the volume: systemctl mask --now " STATD);
}

void runs_here_units(GPtrArray *items, const char *volume, bool locks)
{
	static const char *const units[] = {"migrate-retriever@%s.service",
					    "migrate-crawler@%s.service",
					    "migrate-journal@%s.service",
					    "migrate-guard@%s.service",
					    "migrate-rollback@%s.service",
					    "nfs-ganesha.service",
					    "smbd.service"};

	for (unsigned i = 0; i < G_N_ELEMENTS(units); i++) {
		g_auto(GStrv) parts = g_strsplit(units[i], "%s", 2);
		g_autofree char *unit = g_strjoinv(volume, parts);
		g_autofree char *key = g_strdup_printf("unit %s", unit);
		g_autofree char *state = ASK_ANYHOW("systemctl", "is-enabled", unit);
		struct item *item = items_add(items, key, state && *state ? state : NULL);

		if (!state)
			items_lack(item,
				   "systemctl is not there: the resource agent needs systemd");
		else if (g_str_has_prefix(state, "enabled"))
			items_lack(item,
				   "it is started at boot, on whatever node: systemctl disable "
				   "--now %s",
				   unit);
	}
	if (locks)
		add_statd(items);
}

/* ---- services ---------------------------------------------------------------------------------
 */

static void add_clock(GPtrArray *items)
{
	struct timex timex = {0};
	const bool good = adjtimex(&timex) >= 0 && !(timex.status & STA_UNSYNC);
	struct item *item = items_add(items, "clock", good ? "synchronised" : "not synchronised");

	if (!good)
		items_lack(item,
			   "the clock is not synchronised: install and start chrony, or start "
			   "systemd-timesyncd");
}

/* Adds the cluster's fencing: nothing in the volume itself keeps a second node from mounting it. */
static void add_fencing(GPtrArray *items)
{
	g_autofree char *enabled =
		ASK("crm_attribute", "--type", "crm_config", "--name", "stonith-enabled", "--query",
		    "--quiet", "--default", "true");
	g_autofree char *devices =
		ASK("cibadmin", "--query", "--xpath", "//primitive[@class='stonith']");
	struct item *item;

	if (!enabled) {
		items_lack(
			items_add(items, "fencing", "not known"),
			"no cluster answers on this node: start it (crm cluster start, pcs cluster "
			"start)");
		return;
	}
	const bool on = !g_ascii_strcasecmp(enabled, "true") || !strcmp(enabled, "1") ||
			!g_ascii_strcasecmp(enabled, "yes") || !g_ascii_strcasecmp(enabled, "on");
	item = items_add(items, "fencing",
			 on && devices ? "enabled"
			 : on	       ? "enabled, without a device"
				       : "disabled");
	if (!on)
		items_lack(item,
			   "stonith-enabled is %s: two nodes can write to one disk; set it to "
			   "true",
			   enabled);
	else if (!devices)
		items_lack(item,
			   "the cluster has no fencing device: make one (a stonith resource)");
}

/* The number of nodes of the cluster, as far as it is known here; 0: it is not. */
static unsigned count_nodes(void)
{
	g_autofree char *text = ASK("cibadmin", "--query", "--xpath", "//nodes/node");
	unsigned found = 0;

	for (const char *at = text; at && (at = strstr(at, "<node ")); at++)
		found++;
	return found;
}

void runs_here_caps(GPtrArray *items, const struct server_config *server)
{
	const unsigned nodes = count_nodes();

	if (!server->host || !(server->bandwidth || server->requests || server->limits))
		return;
	g_autofree char *value = g_strdup_printf("a part of %u", server->nodes);
	struct item *item = items_add(items, "limits of the old server", value);
	if (server->nodes < MAX(nodes, 2))
		items_lack(item,
			   "each node asks for so much, and all of them for more than [server %s] "
			   "has: set nodes there to the number of nodes (%u)",
			   server->host, MAX(nodes, 2));
}

/* The value of a parameter of Samba's, or "".  Directories may be on a disk that is not mounted
 * here. */
static char *samba_parameter(const char *file, const char *name)
{
	g_autofree char *option = g_strdup_printf("--parameter-name=%s", name);
	char *value = ASK("testparm", "--suppress-prompt", "--skip-logic-checks", option, file);

	return value ? value : g_strdup("");
}

static const struct {
	const char *key, *parameter, *without;
} samba_state[] = {{"state samba", "private dir", "SMB users and the machine's account are others"},
		   {"state samba registry", "state directory",
		    "policies, group mappings and settings in the registry are others"}};

static void add_samba(GPtrArray *items, const char *volume)
{
	g_autofree char *file = node_files_door("", "samba", volume, "smb");
	g_autofree char *security = samba_parameter(file, "security");
	g_autofree char *backend = samba_parameter(file, "idmap config * : backend");
	g_autofree char *users = samba_parameter(file, "passdb backend");
	g_autofree char *shares = ASK("testparm", "--suppress-prompt", "--skip-logic-checks", file);

	if (!shares || !strstr(shares, "migrate")) /* it serves no volume */
		return;
	items_add(items, "samba security", security);
	items_add(items, "samba passdb", users);
	for (unsigned i = 0; i < G_N_ELEMENTS(samba_state); i++) {
		g_autofree char *path = samba_parameter(file, samba_state[i].parameter);
		g_autofree char *remedy = g_strdup_printf(
			"%s on another node: set %s to a directory on the volume's disk, or make "
			"this one a link to it",
			samba_state[i].without, samba_state[i].parameter);

		node_files_place(items, "", samba_state[i].key, path, remedy);
	}
	struct item *item = items_add(items, "samba idmap", backend);
	if (!strcmp(backend, "tdb") &&
	    (!g_ascii_strcasecmp(security, "ads") || !g_ascii_strcasecmp(security, "domain")))
		items_lack(item,
			   "each node gives users numbers of its own: use a backend that "
			   "computes them (idmap config DOMAIN : backend = rid, autorid or ad)");
}

/* The tag of a device, by the names of blkid(8), not by those of the agent. */
static char *tag_of(const char *device)
{
	if (g_str_has_prefix(device, "-U "))
		return g_strconcat("UUID=", device + strlen("-U "), NULL);
	if (g_str_has_prefix(device, "-L "))
		return g_strconcat("LABEL=", device + strlen("-L "), NULL);
	return g_strdup(device);
}

/* It is no lack: fencing alone is enough, and other file systems have nothing like it. */
void runs_here_disk(GPtrArray *items, const struct resources_disk *disk)
{
	g_autofree char *tag = disk->device ? tag_of(disk->device) : NULL;
	g_autofree char *head = tag ? ASK("dumpe2fs", "-h", tag) : NULL;

	items_add(items, "second mount",
		  !disk->device ? NULL
		  : !head	? "not refused by its file system"
		  : strstr(head, "\nMMP_block:")
			  ? "refused (mmp)"
			  : "not refused; advised, while it is not mounted: tune2fs -O mmp");
}

void runs_here_services(GPtrArray *items, const char *volume)
{
	add_clock(items);
	add_fencing(items);
	add_samba(items, volume);
}
