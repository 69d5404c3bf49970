/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * doors: looks whether a file server's configuration serves an unfinished volume without the layer,
 * before the server starts.  It also makes [doors] of a status: who serves the volume, and who does
 * so without the layer.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"
#include "ctl/ctl.h"
#include "ctl/doors/served.h"
#include "lib/base/text.h"
#include "lib/config/attached.h"
#include "lib/config/config.h"

#define DOORS	     "doors"
#define GANESHA_FILE "/etc/ganesha/ganesha.conf"

static void warn_line(void *arg, const char *text)
{
	g_autofree char *line = text_line(text);

	ctl_complain("warning: %s", line);
}

static void be_silent(void *arg, const char *text)
{
}

/* ---- what a server is configured to serve ---------------------------------------------------- */

/* file: NULL: the server's own. */
static void read_samba(GPtrArray *list, const char *file, served_warn_fn warn)
{
	const char *const argv[] = {"testparm", "-s", file, NULL};
	g_autofree char *text = NULL, *said = NULL;
	g_autoptr(GError) error = NULL;
	int status = 0;

	if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &text, &said,
			  &status, &error) ||
	    !text || !*text) {
		g_autofree char *line = g_strdup_printf(
			"the shares of %s are not known: %s", file ? file : "smb.conf",
			error ? error->message : "testparm -s prints none");
		warn(NULL, line);
		return;
	}
	served_by_samba(list, text, warn, NULL);
}

static GPtrArray *read_server(bool samba, const char *file, served_warn_fn warn)
{
	GPtrArray *list = served_new();

	if (samba)
		read_samba(list, file, warn);
	else
		served_by_ganesha(list, file ? file : GANESHA_FILE, warn, NULL);
	return list;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* What makes the server use the layer there. */
static const char *layer_remedy(const struct served *served, bool samba)
{
	if (!samba)
		return "write FSAL { Name = MIGRATE; ... } in it, see ganesha-migrate-config(8)";
	if (g_str_has_prefix(served->name, "usershare"))
		return "put migrate into the `vfs objects` of [global], or of its `usershare "
		       "template share`, as `net usershare` cannot say it, see vfs_migrate(8)";
	return "put migrate into its `vfs objects`, see vfs_migrate(8)";
}

/* How many of them serve an unfinished volume without the layer; says which. */
static unsigned count_past(const GPtrArray *list, const struct volume_name *volume, bool samba)
{
	unsigned past = 0;
	bool plain = false, whole;

	for (guint i = 0; i < list->len; i++)
		plain |= !((const struct served *)list->pdata[i])->layer;
	if (!plain || !served_is_unfinished(volume->root))
		return 0;
	whole = served_is_whole(volume->root);
	for (guint i = 0; i < list->len; i++) {
		const struct served *served = list->pdata[i];

		if (!served_is_past(served, volume->root, warn_line, NULL))
			continue;
		past++;
		g_autofree char *name = text_line(served->name), *path = text_line(served->path);
		ctl_complain("%s (%s) serves %s, the root of the %s volume %s, without the "
			     "layer: clients would %s; %s, or remove it until migratectl "
			     "finalize %s",
			     name, path, volume->root, whole ? "not yet finalized" : "unfinished",
			     volume->name,
			     whole ? "see and could change " MIGRATE_PRIVATE_DIR : "read zeros",
			     layer_remedy(served, samba), volume->name);
	}
	return past;
}

/* How many of them serve the root of a volume that was attached, and whose file system is not
 * there; says which. */
static unsigned count_away(const GPtrArray *list, const struct volume_name *volume)
{
	g_autofree char *noted = attached_root(volume->name);
	unsigned away = 0;

	if (!noted || strcmp(noted, volume->root) || !served_is_away(volume->root))
		return 0;
	for (guint i = 0; i < list->len; i++) {
		const struct served *served = list->pdata[i];

		if (!served_covers(served, volume->root, be_silent, NULL))
			continue;
		away++;
		g_autofree char *name = text_line(served->name), *path = text_line(served->path);
		ctl_complain("%s (%s) serves %s, where the unfinished volume %s was attached, and "
			     "what is there now is not its directory: mount its file system "
			     "first; if there is no such volume any more, remove " REPORT_DIR
			     "/%s.attached",
			     name, path, volume->root, volume->name, volume->name);
	}
	return away;
}

/* Volumes with their roots: those of the configuration, and those that were attached, and are not
 * in it any more, or with another root. */
static GPtrArray *list_volumes(const struct ctl *ctl)
{
	g_autoptr(GError) error = NULL;
	/* the names alone: what else is in the file may be on mounts that do not answer */
	GPtrArray *list = config_names(ctl->config_file, &error);

	if (!list && (ctl->config_file || access(CONFIG_FILE, F_OK) == 0))
		ctl_complain("warning: %s: what is served was not looked at", error->message);
	return ctl->config_file ? list : attached_add(list);
}

static enum ctl_exit run_doors(const struct ctl *ctl)
{
	const bool samba = !strcmp(ctl->volume, "smbd");
	unsigned past = 0;

	if (!samba && strcmp(ctl->volume, "nfs-ganesha")) {
		ctl_complain("usage: " PROGRAM " doors nfs-ganesha|smbd [FILE]");
		return CTL_USAGE;
	}
	g_autoptr(GPtrArray) names = list_volumes(ctl);
	if (!names || !names->len)
		return CTL_OK;
	g_autoptr(GPtrArray) list = read_server(samba, ctl->arguments[0], warn_line);
	for (unsigned i = 0; i < names->len; i++) {
		const struct volume_name *volume = names->pdata[i];

		if (volume->root && *volume->root == '/')
			past += count_past(list, volume, samba) +
				(ctl->config_file ? 0 : count_away(list, volume));
		else
			ctl_complain("warning: [volume %s] has no root: who serves it was not "
				     "looked at",
				     volume->name);
	}
	return past ? CTL_REFUSED : CTL_OK;
}

CTL_COMMAND(doors, "doors", "nfs-ganesha|smbd [FILE]", 1, 2,
	    "see whether a file server would serve a volume without its layer",
	    .example = "doors smbd /etc/samba/smb.conf", .changes = "nothing",
	    .exits = "0 it would not, 1 it would, 2 wrong usage", .flags = CTL_UNLISTED);

/* ---- servers that run ------------------------------------------------------------------------ */

static char *process_file(const char *pid, const char *name)
{
	return g_build_filename("/proc", pid, name, NULL);
}

/* The configuration in its command line; g_free.  NULL: the server's own. */
static char *config_of(const char *pid, bool samba)
{
	g_autofree char *path = process_file(pid, "cmdline"), *text = NULL;
	const char *const option = samba ? "-s" : "-f", *const name = "--configfile";
	gsize len = 0;

	g_file_get_contents(path, &text, &len, NULL);
	for (const char *at = text; at && at < text + len; at += strlen(at) + 1) {
		const char *next = at + strlen(at) + 1;

		if (samba && g_str_has_prefix(at, name) && at[strlen(name)] == '=')
			return g_strdup(at + strlen(name) + 1);
		if ((!strcmp(at, option) || (samba && !strcmp(at, name))) && next < text + len)
			return g_strdup(next);
		if (g_str_has_prefix(at, option) && at[strlen(option)])
			return g_strdup(at + strlen(option));
	}
	return NULL;
}

/* Whether it runs here, and not in a container's network. */
static bool runs_here(const char *pid)
{
	g_autofree char *path = process_file(pid, "ns/net");
	struct stat its, ours;

	return stat(path, &its) == 0 && stat("/proc/self/ns/net", &ours) == 0 &&
	       its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}

static GPtrArray *running; /* what is known of servers that run; NULL: nothing yet */

void ctl_doors_forget(void)
{
	g_clear_pointer(&running, g_ptr_array_unref);
}

/* What all running file servers are configured to serve, each configuration once; this is looked up
 * once, until it is forgotten. */
static GPtrArray *running_servers(void)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	DIR *dir = running ? NULL : opendir("/proc");
	const struct dirent *entry;

	if (!running)
		running = served_new();
	while (dir && (entry = readdir(dir))) {
		g_autofree char *path = process_file(entry->d_name, "exe");
		g_autofree char *link =
			g_ascii_isdigit(*entry->d_name) ? g_file_read_link(path, NULL) : NULL;
		const bool samba = link && g_str_has_suffix(link, "/smbd");

		if (!samba && !(link && g_str_has_suffix(link, "/ganesha.nfsd")))
			continue;
		g_autofree char *file =
			runs_here(entry->d_name) ? config_of(entry->d_name, samba) : g_strdup("");
		if ((file && !*file) ||
		    !g_hash_table_add(seen, g_strconcat(samba ? "s" : "g", file, NULL)))
			continue;
		g_autoptr(GPtrArray) more = read_server(samba, file, be_silent);
		g_ptr_array_extend_and_steal(running, g_steal_pointer(&more));
	}
	if (dir)
		closedir(dir);
	return running;
}

/* ---- the status ------------------------------------------------------------------------------ */

struct door_count {
	GString *text;
	unsigned total, smbds;
};

static bool add_door(void *arg, pid_t pid)
{
	struct door_count *count = arg;
	g_autofree char *path = g_strdup_printf("/proc/%d/comm", (int)pid), *name = NULL;

	count->total++;
	if (!g_file_get_contents(path, &name, NULL, NULL))
		return true;
	g_strchomp(name);
	/* of which the rest of the name is the client's */
	if (g_str_has_prefix(name, "smbd"))
		count->smbds++;
	else
		g_string_append_printf(count->text, "%s%s (%d)", count->text->len ? ", " : "", name,
				       (int)pid);
	return true;
}

/* The servers without the layer: those that the guard saw, and those whose configuration says
 * so. */
static char *past_text(GKeyFile *status, const char *root)
{
	g_autofree char *seen = g_key_file_get_string(status, "guard", "past", NULL);
	GString *text = g_string_new(seen);
	const GPtrArray *list = geteuid() == 0 ? running_servers() : NULL;

	for (guint i = 0; list && i < list->len; i++) {
		const struct served *served = list->pdata[i];

		if (!served_is_past(served, root, be_silent, NULL))
			continue;
		g_autofree char *name = text_line(served->name), *path = text_line(served->path);
		g_string_append_printf(text, "%s%s (%s)", text->len ? ", " : "", name, path);
	}
	return g_string_free(text, FALSE);
}

void ctl_doors_state(const struct ctl *ctl, GKeyFile *status)
{
	struct volume_config *config = ctl_known_config(ctl);
	struct door_count count = {g_string_new(NULL), 0, 0};
	g_autofree char *past = NULL;

	if (config) {
		g_autofree char *state = ctl_text(status, "volume", "state");
		const bool open = strcmp(state, "unattached") && strcmp(state, "finished");

		migrate_each_door(config->socket, add_door, &count);
		if (count.smbds)
			g_string_append_printf(count.text, "%ssmbd (%u session%s)",
					       count.text->len ? ", " : "", count.smbds,
					       count.smbds == 1 ? "" : "s");
		if (geteuid() == 0) {
			g_key_file_set_string(status, DOORS, "serving", count.text->str);
			g_key_file_set_uint64(status, DOORS, "connected", count.total);
		}
		past = open ? past_text(status, config->root) : g_strdup("");
		g_key_file_set_string(status, DOORS, "without-layer", past);
		g_key_file_set_boolean(status, DOORS, "past", *past);
	}
	g_string_free(count.text, TRUE);
	config_free(config);
}

char *ctl_doors_text(GKeyFile *status)
{
	if (!g_key_file_has_group(status, DOORS))
		return NULL;

	g_autofree char *serving = ctl_text(status, DOORS, "serving");
	g_autofree char *past = ctl_text(status, DOORS, "without-layer");
	const bool red = *past && isatty(STDOUT_FILENO) && !g_getenv("NO_COLOR");

	if (!*past && !g_key_file_has_key(status, DOORS, "serving", NULL))
		return NULL; /* it is told to root alone */
	if (!*past)
		return g_strdup(*serving ? serving : "none is connected");
	return g_strdup_printf("%s%s%sWITHOUT THE LAYER: %s: stop it, or put the layer into its "
			       "configuration%s",
			       serving, *serving ? "; " : "", red ? "\033[1;31m" : "", past,
			       red ? "\033[0m" : "");
}
