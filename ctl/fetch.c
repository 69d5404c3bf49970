/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fetch: makes a list of what is to be brought first (fetch_list.h); a crawler works on it. */
#include "ctl/ctl.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fetch_list.h"
#include "lib/base/text.h"

static gboolean opt_names_only, opt_wait;
static const char *opt_list, *opt_younger;

/* ---- what is to be brought ------------------------------------------------------------------- */

/* "30d": the time so long ago. */
static bool parse_younger(int64_t *since)
{
	static const char units[] = "smhdw";
	static const int64_t seconds[] = {1, 60, 3600, 86400, 7 * 86400};
	char *end;
	const guint64 number = g_ascii_strtoull(opt_younger, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (!g_ascii_isdigit(*opt_younger) || !unit || end[1] || number > 100000)
		return ctl_complain(
			"fetch: --younger-than=%s: give a number up to 100000 and s, m, h, "
			"d or w, such as 30d",
			opt_younger);
	const int64_t from =
		g_get_real_time() / G_USEC_PER_SEC - (int64_t)number * seconds[unit - units];

	*since = MAX(from, G_MININT64 / CTL_NS) * CTL_NS;
	return true;
}

/* Appends the path as it is below the root, with a NUL.  FALSE with a line on stderr: it is not. */
static bool add_path(const char *root, const char *path, GString *paths)
{
	const size_t len = strlen(root);
	const gsize before = paths->len;
	const bool absolute = *path == '/';
	bool below = absolute ? !strncmp(path, root, len) && strchr("/", path[len]) : *path;
	g_auto(GStrv) names = g_strsplit(path + (absolute && below ? len : 0), "/", -1);

	for (char **name = names; *name && below; name++) {
		const bool first = paths->len == before;

		below = strcmp(*name, "..") && !(first && !strcmp(*name, MIGRATE_PRIVATE_DIR));
		if (**name && strcmp(*name, "."))
			g_string_append_printf(paths, "%s%s", first ? "" : "/", *name);
	}
	if (below) {
		g_string_append_c(paths, '\0');
		return true;
	}
	g_autofree char *shown = text_line(path);
	g_string_truncate(paths, before);
	return ctl_complain("fetch: %s: it is not below %s: left out", shown, root);
}

/* Adds the paths of a list: with a NUL behind each if there is any in it, else in lines. */
static bool add_listed(const char *root, GString *paths, bool *outside)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	gsize len, at = 0;

	if (!g_file_get_contents(strcmp(opt_list, "-") ? opt_list : "/dev/stdin", &text, &len,
				 &error))
		return ctl_complain("fetch: --list: %s", error->message);
	if (strlen(text) == len)
		g_strdelimit(text, "\n", '\0');
	for (; at < len; at += strlen(text + at) + 1)
		if (text[at] && !add_path(root, text + at, paths))
			*outside = true;
	return true;
}

/* ---- the list -------------------------------------------------------------------------------- */

static void say_when(const struct ctl *ctl, GKeyFile *status, uint64_t paths, unsigned number)
{
	const char *name = ctl->volume;

	printf("%s: list %u, " TEXT_COUNT ": ", name, number, TEXT_COUNTED(paths, "paths"));
	if (ctl_yes(status, "now", "paused"))
		printf("brought when background work is resumed: migratectl resume %s\n", name);
	else if (opt_wait || ctl_number(status, "now", "crawlers"))
		puts("brought from now on");
	else
		printf("no crawler runs; to bring this and then the rest: systemctl start "
		       "migrate-crawler@%s; this alone: migratectl fetch %s --wait\n",
		       name, name);
}

static enum ctl_exit make_list(const struct ctl *ctl, GKeyFile *status)
{
	struct fetch_list list = {.names_only = opt_names_only};
	g_autofree char *root = ctl_text(status, "volume", "root");
	g_autofree char *directory = g_build_filename(root, FETCH_LIST_DIR, NULL);
	g_autoptr(GString) paths = g_string_new(NULL);
	bool outside = false;
	unsigned number;

	if (opt_younger && !parse_younger(&list.since))
		return CTL_USAGE;
	if (opt_list && !add_listed(root, paths, &outside))
		return CTL_USAGE;
	for (char **path = ctl->arguments; *path; path++)
		outside |= !add_path(root, *path, paths);
	if (!opt_list && !*ctl->arguments)
		add_path(root, ".", paths);
	for (gsize i = 0; i < paths->len; i++)
		list.paths += !paths->str[i];
	if (!list.paths && !outside)
		ctl_complain("fetch: %s: no paths in it", opt_list);
	int ret = list.paths ? fetch_list_add(directory, &list, paths, &number) : 0;
	if (ret) {
		ctl_complain("fetch: %s: %s", directory, g_strerror(-ret));
		return CTL_REFUSED;
	}
	if (list.paths)
		say_when(ctl, status, list.paths, number);
	return outside ? CTL_USAGE : CTL_OK;
}

static enum ctl_exit run_fetch(const struct ctl *ctl)
{
	const bool lists = *ctl->arguments || opt_list || opt_younger || opt_names_only;
	g_autoptr(GKeyFile) status = NULL;
	enum ctl_exit result;

	if (!lists && !opt_wait) {
		ctl_complain(
			"fetch: give a PATH, --list, --younger-than or --names-only; or --wait for "
			"the lists that there are");
		return CTL_USAGE;
	}
	result = ctl_ask_once(ctl, "status", &status);
	g_autofree char *state = result ? NULL : ctl_text(status, "volume", "state");
	if (result)
		return result;
	if (strcmp(state, "migrating") && strcmp(state, "whole")) {
		ctl_complain("fetch: %s is %s: only while it migrates lists are worked on",
			     ctl->volume, state);
		return CTL_REFUSED;
	}
	result = lists ? make_list(ctl, status) : CTL_OK;
	if (opt_wait && result != CTL_REFUSED) {
		fflush(stdout);
		const enum ctl_exit end = ctl_run_crawler(ctl, "--lists");

		result = end ? end : result;
	}
	return result;
}

/* ---- status ---------------------------------------------------------------------------------- */

void ctl_fetch_state(GKeyFile *status)
{
	g_autofree char *root = ctl_text(status, "volume", "root");
	g_autofree char *directory = g_build_filename(root, FETCH_LIST_DIR, NULL);
	GDir *dir = g_dir_open(directory, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(directory, name, NULL);
		g_autofree char *group = g_strconcat(CTL_FETCH, name, NULL);
		const int fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		struct fetch_list list;

		if (fd >= 0 && fetch_list_load(fd, &list)) {
			g_key_file_set_uint64(status, group, "paths", list.paths);
			g_key_file_set_uint64(status, group, "done", list.done);
			g_key_file_set_uint64(status, group, "failed", list.failed);
		}
		if (fd >= 0)
			close(fd);
	}
	g_clear_pointer(&dir, g_dir_close);
}

static const GOptionEntry fetch_options[] = {
	CTL_FILE("list", opt_list, "the paths in FILE, with NULs or in lines; - is stdin", "FILE"),
	CTL_STRING("younger-than", opt_younger, "only data changed there since, such as 30d",
		   "AGE"),
	CTL_FLAG("names-only", opt_names_only, "names and attributes, no data"),
	CTL_FLAG("wait", opt_wait, "until all lists are through; tell what failed"),
	{NULL},
};

CTL_COMMAND(fetch, "fetch", "NAME [PATH...]", 1, G_MAXINT,
	    "bring these paths first, before all else in the background",
	    .example = "fetch --wait projects plans/2026 /srv/projects/notes",
	    .changes = "files and directories of the volume become whole",
	    .exits = "0 done, 1 refused or failed, 2 wrong paths or usage, 3 no retriever",
	    .options = fetch_options);
