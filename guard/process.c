/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/process.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DELETED " (deleted)" /* behind a link to what was replaced while it runs */

static const char *const tools[] = {"migrate-retriever", "migrate-crawler", "migrate-journal",
				    "migratectl", NULL};
static const char *const doors[] = {"ganesha.nfsd", "smbd", NULL};

int process_open(pid_t tid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d", (int)tid);

	return tid > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

static char *proc_path(int process, const char *name)
{
	return g_strdup_printf("/proc/self/fd/%d/%s", process, name);
}

static char *proc_text(int process, const char *name)
{
	g_autofree char *path = proc_path(process, name);
	char *text = NULL;

	g_file_get_contents(path, &text, NULL, NULL);
	return text ? g_strstrip(text) : NULL;
}

/* Whether it is in the namespace that other, a path, is. */
static bool shares(int process, const char *name, const char *other)
{
	g_autofree char *path = proc_path(process, name);
	struct stat its, st;

	return stat(path, &its) == 0 && stat(other, &st) == 0 && its.st_dev == st.st_dev &&
	       its.st_ino == st.st_ino;
}

/* The first number behind name in /proc/TID/status; UINT64_MAX: there is none. */
static guint64 status_number(const char *status, const char *name, unsigned base)
{
	const char *line = status ? strstr(status, name) : NULL;

	return line ? g_ascii_strtoull(line + strlen(name), NULL, base) : G_MAXUINT64;
}

/* To watch a file system one has to be in the first user namespace, as we are. */
static bool is_roots(int process)
{
	g_autofree char *status = proc_text(process, "status");
	const guint64 caps = status_number(status, "\nCapPrm:\t", 16);

	return shares(process, "ns/user", "/proc/self/ns/user") &&
	       status_number(status, "\nUid:\t", 10) == 0 && caps != G_MAXUINT64 &&
	       caps & G_GUINT64_CONSTANT(1) << CAP_DAC_READ_SEARCH;
}

/* The name of its program's file; NULL: it has none. */
static char *program_of(int process)
{
	g_autofree char *path = proc_path(process, "exe");
	g_autofree char *link = g_file_read_link(path, NULL);

	if (link && g_str_has_suffix(link, DELETED))
		link[strlen(link) - strlen(DELETED)] = '\0';
	return link ? g_path_get_basename(link) : NULL;
}

/* Whether it runs one of these, which must be a file of root's. */
static bool runs_one_of(int process, const char *const *programs)
{
	g_autofree char *program = program_of(process);
	g_autofree char *path = proc_path(process, "exe");
	struct stat st;

	return program && g_strv_contains(programs, program) && stat(path, &st) == 0 &&
	       st.st_uid == 0;
}

bool process_is_server(int process)
{
	return runs_one_of(process, tools) && is_roots(process);
}

bool process_is_door(int process)
{
	return runs_one_of(process, doors) && shares(process, "ns/user", "/proc/self/ns/user");
}

pid_t process_number(int process)
{
	g_autofree char *status = proc_text(process, "status");
	const guint64 number = status_number(status, "\nTgid:\t", 10);

	return number > G_MAXINT32 || strstr(status, "\nState:\tZ") ? 0 : (pid_t)number;
}

bool process_is_alone(int process)
{
	g_autofree char *status = proc_text(process, "status");
	g_autofree char *parent = g_strdup_printf("/proc/%" G_GUINT64_FORMAT "/ns/mnt",
						  status_number(status, "\nPPid:\t", 10));
	struct stat st;

	return stat(parent, &st) == 0 && !shares(process, "ns/mnt", parent);
}

bool process_is_nfsd(int process)
{
	g_autofree char *program = program_of(process);
	g_autofree char *name = proc_text(process, "comm");

	return !program && g_strcmp0(name, "nfsd") == 0;
}

uid_t process_uid(int process)
{
	g_autofree char *status = proc_text(process, "status");

	return (uid_t)status_number(status, "\nUid:\t", 10);
}

bool process_has_own_mounts(int process)
{
	return process >= 0 && !shares(process, "ns/mnt", "/proc/1/ns/mnt");
}

bool process_owns_mount_of(int process, int fd)
{
	g_autofree char *list = NULL, *line = NULL;
	struct statx stx;

	if (!process_has_own_mounts(process) ||
	    statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0 || !(stx.stx_mask & STATX_MNT_ID))
		return false;
	list = proc_text(process, "mountinfo");
	line = g_strdup_printf("\n%llu ", (unsigned long long)stx.stx_mnt_id);
	return list && (g_str_has_prefix(list, line + 1) || strstr(list, line));
}

/* text: "0::/system.slice/clamav.service" and, of older kernels, more such lines. */
static bool is_in_group(const char *text, const char *name)
{
	g_auto(GStrv) parts = g_strsplit_set(text, "/\n", -1);
	g_autofree char *service = g_strconcat(name, ".service", NULL);

	return g_strv_contains((const char *const *)parts, name) ||
	       g_strv_contains((const char *const *)parts, service);
}

bool process_is_one_of(int process, const char *const *names)
{
	if (process < 0 || !names || !names[0])
		return false;

	g_autofree char *program = program_of(process), *name = proc_text(process, "comm");
	g_autofree char *group = proc_text(process, "cgroup");

	if ((program && g_strv_contains(names, program)) || (name && g_strv_contains(names, name)))
		return true;
	for (; group && *names; names++)
		if (is_in_group(group, *names))
			return true;
	return false;
}

char *process_text(pid_t tid)
{
	const int process = process_open(tid);
	g_autofree char *name = proc_text(process, "comm");

	if (process >= 0)
		close(process);
	return g_strdup_printf("%s (%d)", name ? name : "a process", (int)tid);
}
