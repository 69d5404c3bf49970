/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process.h"

#include <string.h>
#include <sys/stat.h>

#define DELETED " (deleted)" /* behind a link to what was replaced while it runs */

static const char *const servers[] = {"migrate-retriever",
				      "migrate-crawler",
				      "migrate-journal",
				      "migratectl",
				      "ganesha.nfsd",
				      "smbd",
				      NULL};

static char *proc_path(pid_t tid, const char *name)
{
	return g_strdup_printf("/proc/%d/%s", (int)tid, name);
}

static char *proc_text(pid_t tid, const char *name)
{
	g_autofree char *path = proc_path(tid, name);
	char *text = NULL;

	g_file_get_contents(path, &text, NULL, NULL);
	return text ? g_strstrip(text) : NULL;
}

/* The name of its program's file; NULL: it has none. */
static char *program_of(pid_t tid)
{
	g_autofree char *path = proc_path(tid, "exe");
	g_autofree char *link = g_file_read_link(path, NULL);

	if (link && g_str_has_suffix(link, DELETED))
		link[strlen(link) - strlen(DELETED)] = '\0';
	return link ? g_path_get_basename(link) : NULL;
}

bool process_is_server(pid_t tid)
{
	g_autofree char *program = tid > 0 ? program_of(tid) : NULL;
	g_autofree char *path = proc_path(tid, "exe");
	struct stat st;

	return program && g_strv_contains(servers, program) && stat(path, &st) == 0 &&
	       st.st_uid == 0;
}

bool process_is_nfsd(pid_t tid)
{
	g_autofree char *program = tid > 0 ? program_of(tid) : NULL;
	g_autofree char *name = tid > 0 ? proc_text(tid, "comm") : NULL;

	return !program && g_strcmp0(name, "nfsd") == 0;
}

char *process_own_mount(pid_t tid, const char *root)
{
	g_autofree char *path = proc_path(tid, "ns/mnt");
	struct stat own, first;

	if (stat(path, &own) < 0 || stat("/proc/1/ns/mnt", &first) < 0 ||
	    (own.st_dev == first.st_dev && own.st_ino == first.st_ino))
		return NULL;
	return g_strdup_printf("/proc/%d/root%s", (int)tid, root);
}

/* text: "0::/system.slice/clamav.service" and, of older kernels, more such lines. */
static bool is_in_group(const char *text, const char *name)
{
	g_auto(GStrv) parts = g_strsplit_set(text, "/\n", -1);
	g_autofree char *service = g_strconcat(name, ".service", NULL);

	return g_strv_contains((const char *const *)parts, name) ||
	       g_strv_contains((const char *const *)parts, service);
}

bool process_is_one_of(pid_t tid, const char *const *names)
{
	if (tid <= 0 || !names || !names[0])
		return false;

	g_autofree char *program = program_of(tid), *name = proc_text(tid, "comm");
	g_autofree char *group = proc_text(tid, "cgroup");

	if ((program && g_strv_contains(names, program)) || (name && g_strv_contains(names, name)))
		return true;
	for (; group && *names; names++)
		if (is_in_group(group, *names))
			return true;
	return false;
}

char *process_text(pid_t tid)
{
	g_autofree char *name = tid > 0 ? proc_text(tid, "comm") : NULL;

	return g_strdup_printf("%s (%d)", name ? name : "a process", (int)tid);
}
