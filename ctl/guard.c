/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What status says about the volume's guard (guard/state.h). */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "lib/config/config.h"

#define GUARD	"guard"
#define EXPORTS "/var/lib/nfs/etab"

static bool is_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;

	if (fd >= 0)
		close(fd);
	return locked;
}

/* Copies what the guard says about itself. */
static void copy_state(const char *path, GKeyFile *status)
{
	g_autoptr(GKeyFile) state = g_key_file_new();
	const char *const keys[] = {"mode",    "attached",	"waiting",
				    "refused", "public-server", "past"};

	if (!g_key_file_load_from_file(state, path, G_KEY_FILE_NONE, NULL))
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
		g_autofree char *value = g_key_file_get_value(state, GUARD, keys[i], NULL);

		if (value)
			g_key_file_set_value(status, GUARD, keys[i], value);
	}
}

static bool is_at_or_below(const char *path, const char *top)
{
	const size_t len = strlen(top) - g_str_has_suffix(top, "/");

	return !strncmp(path, top, len) && strchr("/", path[len]);
}

/* Whether clients come from an export above the root into it: not where another file system is
 * mounted in between, unless its options say so. */
static bool is_reached(const char *root, const char *export, const char *options)
{
	struct stat here, above;

	return is_at_or_below(root, export) &&
	       (strstr(options, ",crossmnt") || strstr(options, "(crossmnt") ||
		(stat(root, &here) == 0 && stat(export, &above) == 0 &&
		 here.st_dev == above.st_dev));
}

/* What the kernel's NFS server exports of the volume for writing; g_free.  NULL: nothing. */
static char *exported(const char *root)
{
	g_autofree char *text = NULL;

	if (!g_file_get_contents(EXPORTS, &text, NULL, NULL))
		return NULL;

	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (unsigned i = 0; lines[i]; i++) {
		char *end = strchr(lines[i], '\t');

		if (!end || !strstr(end, "(rw"))
			continue;
		*end = '\0';
		g_autofree char *path = g_strcompress(lines[i]);
		if (is_at_or_below(path, root) || is_reached(root, path, end + 1))
			return g_steal_pointer(&path);
	}
	return NULL;
}

void ctl_guard_state(const struct ctl *ctl, GKeyFile *status)
{
	struct volume_config *config = ctl_known_config(ctl);

	if (!config)
		return;
	g_autofree char *path = g_strconcat(config->socket, GUARD_STATE_SUFFIX, NULL);
	if (access(path, F_OK) == 0 && access(path, R_OK) < 0) { /* nobody knows what it does */
		config_free(config);
		return;
	}
	const bool running = is_locked(path);

	g_key_file_set_boolean(status, GUARD, "wanted", config->guard != GUARD_NO);
	g_key_file_set_boolean(status, GUARD, "strict", config->guard == GUARD_STRICT);
	g_key_file_set_boolean(status, GUARD, "guarded", running);
	if (running)
		copy_state(path, status);
	g_autofree char *state = ctl_text(status, "volume", "state");
	g_autofree char *export = g_strcmp0(state, "finished") == 0 ? NULL : exported(config->root);
	if (export)
		g_key_file_set_string(status, GUARD, "exported", export);
	config_free(config);
}

static const char *names_text(GKeyFile *status, bool refuse)
{
	if (ctl_yes(status, "namespace", "complete"))
		return refuse ? "on; unfinished files are refused" : "on";
	if (ctl_yes(status, GUARD, "strict"))
		return "on; closed until all names are here";
	return refuse ? "on; unfinished files are refused, and names that are not here yet are not "
			"found"
		      : "on; names that are not here yet are not found in directories that nobody "
			"listed";
}

static char *text_of(GKeyFile *status)
{
	if (!ctl_yes(status, GUARD, "wanted"))
		return g_strdup("no: programs of this machine read zeros where data is missing");
	if (!ctl_yes(status, GUARD, "guarded"))
		return g_strdup("not running: programs of this machine wait, or read zeros; see "
				"migrate-guard(8)");

	g_autofree char *mode = g_key_file_get_string(status, GUARD, "mode", NULL);
	g_autofree char *server = g_key_file_get_string(status, GUARD, "public-server", NULL);
	const char *text = names_text(status, g_strcmp0(mode, "refuse") == 0);

	if (!server)
		return g_strdup(text);
	return g_strdup_printf("%s; %s has no mounts of its own, and waits when the guard does not "
			       "run",
			       text, server);
}

char *ctl_guard_text(GKeyFile *status)
{
	g_autofree char *state = ctl_text(status, "volume", "state");

	/* of a finished volume nothing is kept from anybody, and its guard has ended */
	if (!g_key_file_has_group(status, GUARD) || !strcmp(state, "finished"))
		return NULL;
	g_autofree char *export = g_key_file_get_string(status, GUARD, "exported", NULL);
	char *text = text_of(status);

	if (!export)
		return text;
	g_autofree char *before = text;
	return g_strdup_printf("%s; the kernel's NFS server exports %s for writing, which can lose "
			       "changes: export it \"ro\" until the end",
			       before, export);
}
