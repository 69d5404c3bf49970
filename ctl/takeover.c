/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * takeover: the switch without a remount: what an administrator does in which order, the file of
 * takeover handles, and the clients that still use these.  The door reads the file
 * (fsal_migrate/takeover/takeover.h).
 */
#include "ctl/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/migrate.h"
#include "ctl/checklist.h"
#include "ctl/discover/mounts.h"
#include "ctl/takeover_steps.h"
#include "lib/base/text.h"
#include "lib/config/config.h"
#include "lib/config/config_limits.h"

/* Reads the file: the number of handles, and the fsid of the root's; -errno: it cannot be read. */
static int read_file(const struct volume_config *config, size_t *n, uint64_t *fsid)
{
	struct migrate_alias *list;
	int result = migrate_aliases_load(config->takeover_file, &list, n);

	*fsid = 0;
	for (size_t i = 0; i < *n; i++)
		if (!strcmp(list[i].path, "."))
			*fsid = list[i].fsid;
	migrate_aliases_free(list, *n);
	return result;
}

/* ---- check ----------------------------------------------------------------------------------- */

static void print_mounts(const struct volume_config *config)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) found = checklist_mounts(config, &error);

	if (!found) {
		checklist_item(
			"It is known who has it mounted, and which directories of it: the old "
			"server does not tell (%s)",
			error->message);
		return;
	}
	checklist_item("These are all that is mounted of it; other directories stand in "
		       "takeover-directories:");
	checklist_lines(found);
	if (!found->len)
		puts("        none is known there");
}

static void print_before(const struct volume_config *config)
{
	g_autofree char *host = config_host(config->source);

	puts("\nBefore");
	checklist_item("Clients mount by NFS version 3, with sec=sys; others mount anew");
	checklist_item(
		"Clients mount an address that can be moved, and %s is another one, which the old "
		"server keeps",
		host);
	print_mounts(config);
	if (config->takeover == TAKEOVER_ALL) {
		checklist_item(
			"Locks of NFS version 3 are given back: programs go on with all else "
			"that they hold open");
		return;
	}
	checklist_item(
		"Programs on clients that hold files or directories open are stopped (lsof "
		"+f -- MOUNT, fuser -vm MOUNT): what is open is lost to them, as by a remount");
	checklist_item("Locks of NFS version 3 are given back: the old server alone knows them "
		       "(/proc/locks "
		       "of a Linux server)");
}

static void print_server(const struct volume_config *config, uint64_t fsid)
{
	puts("\nThe new server");
	checklist_item("In each export of this volume, in FSAL { Name = MIGRATE; ... }: Takeover = "
		       "\"%s\";",
		       config->takeover_file);
	if (fsid)
		checklist_item(
			"And in the export itself, so that clients see the file system that they "
			"know: Filesystem_Id = %" G_GUINT64_FORMAT ".0;",
			fsid);
	checklist_item("Export rules let in who used the old server");
	if (config->takeover == TAKEOVER_ALL)
		checklist_item(
			"The export of the volume's root has one of these Takeover lines, and "
			"not UseCookieVerifier");
}

static void print_switch(const struct volume_config *config, int file, size_t handles)
{
	const char *name = config->name;

	puts("\nThe switch");
	checklist_item(
		"The old server is fenced: nobody but this machine reaches it; it is not made "
		"read-only before, or clients see that as an error");
	checklist_item("migratectl attach %s, which ends with the takeover handles%s", name,
		       file == -ENOENT ? ""
		       : file < 0      ? ": THE FILE CANNOT BE READ"
				       : "");
	if (file == 0)
		printf("        %zu are known by now; migratectl takeover %s prepare takes more\n",
		       handles, name);
	checklist_item(
		"systemctl restart nfs-ganesha; its log says how many takeover handles it knows");
	checklist_item(
		"The address is taken from the old server and given to this one: ip address add "
		"ADDRESS dev DEVICE; arping -U -I DEVICE ADDRESS");
	puts("\nBack, if it does not work");
	checklist_item("nfs-ganesha is stopped: clients wait, and change nothing more");
	checklist_item("What clients wrote here is carried back: migratectl rollback %s", name);
	checklist_item("The old server's NFS service is started anew: no connection from before is "
		       "left");
	checklist_item("The address is taken from this machine and given to the old server, and "
		       "the fence is removed");
}

static void print_clients(const struct volume_config *config)
{
	g_autoptr(GPtrArray) clients = takeover_clients(config);
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

	puts("\nAfter it");
	checklist_item(
		"Clients mount anew when it suits them; when none uses takeover handles any more: "
		"migratectl takeover %s end",
		config->name);
	printf("        %u of " TEXT_COUNT " used takeover handles today or yesterday\n",
	       takeover_recent(clients), TEXT_COUNTED(clients->len, "clients"));
	for (guint i = 0; i < clients->len; i++) {
		const struct takeover_client *client = clients->pdata[i];
		g_autofree char *line =
			g_strdup_printf("%s: %s, " TEXT_COUNT, client->address, client->last,
					TEXT_COUNTED(client->requests, "requests"));

		g_ptr_array_add(lines, g_strescape(line, NULL));
	}
	checklist_lines(lines);
}

static enum ctl_exit check(const struct ctl *ctl, const struct volume_config *config)
{
	uint64_t fsid;
	size_t handles;
	int file = read_file(config, &handles, &fsid);

	printf("%s: clients of %s go on with what they have mounted\n", ctl->volume,
	       config->source);
	print_before(config);
	print_server(config, fsid);
	print_switch(config, file, handles);
	print_clients(config);
	return CTL_OK;
}

/* ---- prepare --------------------------------------------------------------------------------- */

static enum ctl_exit prepare(const struct ctl *ctl, const struct volume_config *config)
{
	g_autoptr(GError) error = NULL;
	struct takeover_made made;

	if (!takeover_make(config, &made, &error)) {
		ctl_complain("%s", error->message);
		return CTL_REFUSED;
	}
	printf("%s: " TEXT_COUNT " in %s\n", ctl->volume,
	       TEXT_COUNTED(made.handles, "takeover handles are"), config->takeover_file);
	if (made.many)
		printf("%s: these directories are on several file systems of the old server; "
		       "clients see one here\n",
		       ctl->volume);
	return made.left_out ? CTL_REFUSED : CTL_OK;
}

enum ctl_exit ctl_takeover_attached(const struct ctl *ctl)
{
	struct volume_config *config = config_load(ctl->config_file, ctl->volume, NULL);
	enum ctl_exit result = CTL_OK;

	if (config && config->takeover != TAKEOVER_NONE) {
		result = prepare(ctl, config);
		if (result)
			ctl_complain("%s: it is attached, but clients cannot go on with all that "
				     "they have mounted: see above, then migratectl takeover %s "
				     "prepare",
				     ctl->volume, ctl->volume);
	}
	config_free(config);
	return result;
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool drop(const char *path, const char *suffix)
{
	g_autofree char *file = g_strconcat(path, suffix, NULL);

	return unlink(file) == 0 || errno == ENOENT ||
	       ctl_complain("%s: %s", file, g_strerror(errno));
}

static enum ctl_exit end(const struct ctl *ctl, const struct volume_config *config)
{
	g_autoptr(GPtrArray) clients = takeover_clients(config);
	const guint recent = takeover_recent(clients);

	if (recent && !ctl->accept) {
		ctl_complain("%s: " TEXT_COUNT
			     " used takeover handles today or yesterday, %s among "
			     "them: let "
			     "them mount anew, or give --accept, and what they have mounted fails",
			     ctl->volume, TEXT_COUNTED(recent, "clients"),
			     ((struct takeover_client *)clients->pdata[0])->address);
		return CTL_REFUSED;
	}
	const enum ctl_exit asked = ctl_confirm(ctl,
						"%s: clients that use takeover handles meet ESTALE "
						"from now on (takeover check shows them)",
						ctl->volume);

	if (asked)
		return asked;
	if (!drop(config->takeover_file, "") || !drop(config->takeover_file, ".all") ||
	    !drop(config->takeover_file, ".clients"))
		return CTL_REFUSED;
	printf("%s: no takeover handles are known any more; take Takeover = out of the exports, "
	       "and "
	       "takeover = out of the configuration\n",
	       ctl->volume);
	return CTL_OK;
}

bool ctl_takeover_is_on(const struct ctl *ctl)
{
	struct volume_config *config = config_load(ctl->config_file, ctl->volume, NULL);
	bool on = config && access(config->takeover_file, F_OK) == 0;

	config_free(config);
	return on;
}

/* Whether every object of the old server is known by its handle; NULL: that is not kept. */
static const char *all_known(const struct volume_config *config)
{
	g_autofree char *file = g_strconcat(config->takeover_file, ".all", NULL);
	struct migrate_old_index *index;
	const char *known;

	if (migrate_old_index_open(file, &index) < 0)
		return NULL;
	known = migrate_old_index_is_complete(index) ? "yes" : "no";
	migrate_old_index_close(index);
	return known;
}

/* ---- status ---------------------------------------------------------------------------------- */

void ctl_takeover_state(const struct ctl *ctl, GKeyFile *status)
{
	struct volume_config *config = config_load(ctl->config_file, ctl->volume, NULL);
	g_autoptr(GPtrArray) clients = config ? takeover_clients(config) : NULL;
	uint64_t fsid;
	size_t handles;

	if (config && read_file(config, &handles, &fsid) == 0) {
		g_key_file_set_uint64(status, "takeover", "handles", handles);
		if (all_known(config))
			g_key_file_set_string(status, "takeover", "all-known", all_known(config));
		g_key_file_set_uint64(status, "takeover", "clients", clients->len);
		g_key_file_set_uint64(status, "takeover", "clients-recently",
				      takeover_recent(clients));
	}
	config_free(config);
}

char *ctl_takeover_text(GKeyFile *status)
{
	g_autofree char *all = g_key_file_get_string(status, "takeover", "all-known", NULL);

	if (!g_key_file_has_group(status, "takeover"))
		return NULL;
	return g_strdup_printf(
		TEXT_COUNT "%s; %" G_GUINT64_FORMAT " of " TEXT_COUNT
			   " used them today or yesterday",
		TEXT_COUNTED(ctl_number(status, "takeover", "handles"), "takeover handles"),
		!all		      ? ""
		: !strcmp(all, "yes") ? " of mounts, and those of all objects"
				      : " of mounts; those of objects come with their names",
		ctl_number(status, "takeover", "clients-recently"),
		TEXT_COUNTED(ctl_number(status, "takeover", "clients"), "clients"));
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum ctl_exit run_takeover(const struct ctl *ctl)
{
	static const struct {
		const char *name;
		enum ctl_exit (*run)(const struct ctl *ctl, const struct volume_config *config);
	} steps[] = {{"check", check}, {"prepare", prepare}, {"end", end}};
	const char *step = ctl->arguments[0] ? ctl->arguments[0] : "check";
	g_autoptr(GError) error = NULL;
	struct volume_config *config = ctl_config(ctl);
	struct mounts_server server;
	g_autofree char *host = NULL, *path = NULL;
	enum ctl_exit result = CTL_USAGE;

	if (!config)
		return CTL_USAGE;
	if (!mounts_server_of(config->source, &server, &host, &path, &error)) {
		ctl_complain("%s", error->message);
		config_free(config);
		return CTL_USAGE;
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++)
		if (!strcmp(step, steps[i].name)) {
			result = steps[i].run(ctl, config);
			config_free(config);
			return result;
		}
	ctl_complain("takeover: \"%s\" is none of check, prepare, end", step);
	config_free(config);
	return result;
}

static const GOptionEntry takeover_options[] = {
	CTL_OPTION_ACCEPT,
	CTL_OPTION_YES,
	{NULL},
};

CTL_COMMAND(takeover, "takeover", "NAME [check|prepare|end]", 1, 2,
	    "switch without a remount: takeover handles, and who uses them",
	    .example = "takeover projects prepare",
	    .changes = "nothing; prepare makes the file of handles, end removes it",
	    .exits = CTL_EXITS_ALONE, .options = takeover_options);
