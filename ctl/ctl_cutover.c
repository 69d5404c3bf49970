/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The check-list of a switch: what of the configuration names the old server, who uses it as far as
 * it tells, and what is to be done in which order.  Nothing is changed.
 */
#include "ctl.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "config/config.h"
#include "config/config_limits.h"
#include "source/smb/smb_url.h"

#define SHOWN	     20	       /* lines of what there may be any number of */
#define ANSWER_MAX   (1 << 20) /* bytes of showmount's that are read */
#define WAIT_SECONDS "20"

struct cutover {
	const struct volume_config *config;
	char *nfs;	    /* the host; NULL: the source is none of NFS */
	char *path;	    /* there */
	struct smb_url smb; /* host: NULL: likewise of SMB, which may be acl-source */
};

static void item(const char *format, ...) G_GNUC_PRINTF(1, 2);
static void item(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("  [ ] ", stdout);
	vprintf(format, args);
	putchar('\n');
	va_end(args);
}

static void print_lines(const GPtrArray *lines)
{
	for (guint i = 0; i < MIN(lines->len, SHOWN); i++)
		printf("        %s\n", (const char *)lines->pdata[i]);
	if (lines->len > SHOWN)
		printf("        and %u more\n", lines->len - SHOWN);
}

/* ---- who has it mounted ---------------------------------------------------------------------- */

/* What showmount(8) prints, g_free; NULL: it failed.  It reads what the old server says, so it is
 * nobody's. */
static char *ask_who_mounts(const char *host)
{
	char *argv[] = {"setpriv",
			"--reuid=nobody",
			"--regid=nogroup",
			"--clear-groups",
			"--no-new-privs",
			"timeout",
			WAIT_SECONDS,
			"showmount",
			"--no-headers",
			"--all",
			"--",
			(char *)host,
			NULL};
	g_autofree char *text = g_malloc0(ANSWER_MAX + 1);
	int out, status = 0;
	size_t len;
	FILE *file;
	GPid pid;

	if (!g_spawn_async_with_pipes(NULL, argv, NULL,
				      G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD |
					      G_SPAWN_STDERR_TO_DEV_NULL,
				      NULL, NULL, &pid, NULL, &out, NULL, NULL))
		return NULL;
	file = fdopen(out, "r");
	len = file ? fread(text, 1, ANSWER_MAX, file) : 0;
	if (file)
		fclose(file); /* more than that is not wanted */
	waitpid(pid, &status, 0);
	g_spawn_close_pid(pid);
	return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || len == ANSWER_MAX)
		       ? g_steal_pointer(&text)
		       : NULL;
}

/* Whether one is the other, or above it. */
static bool overlap(const char *a, const char *b)
{
	size_t len = MIN(strlen(a), strlen(b));

	return !strncmp(a, b, len) && strchr("/", len == strlen(a) ? b[len] : a[len]);
}

/* "client:/path" of each that has the source's tree mounted, or a part of it. */
static GPtrArray *pick_mounts(const char *text, const char *path)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	GPtrArray *found = g_ptr_array_new_with_free_func(g_free);

	for (char **line = lines; *line; line++) {
		const char *colon = strrchr(*line, ':');

		if (colon && (!strcmp(path, "/") || overlap(colon + 1, path)))
			g_ptr_array_add(found, g_strescape(*line, NULL));
	}
	return found;
}

static void print_mounts(const char *host, const char *path)
{
	g_autofree char *text = ask_who_mounts(host);
	g_autoptr(GPtrArray) found = text ? pick_mounts(text, path) : NULL;

	if (!found)
		item("Nobody has it mounted any more: it cannot be asked who has (showmount --all "
		     "%s fails); look there",
		     host);
	else if (!found->len)
		item("Nobody has it mounted any more: none is known there; clients by NFS version "
		     "4 "
		     "never are");
	else
		item("Nobody has it mounted any more; known there, without those by NFS version 4, "
		     "and with some that are gone:");
	if (found)
		print_lines(found);
}

/* ---- where its name stands ------------------------------------------------------------------- */

static bool is_word_char(char c)
{
	return g_ascii_isalnum(c) || c == '-' || c == '_';
}

static bool has_word(const char *line, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = line; (at = strstr(at, word)); at++)
		if ((at == line || (!is_word_char(at[-1]) && at[-1] != '.')) &&
		    !is_word_char(at[len]))
			return true;
	return false;
}

static void look_in(const char *file, const char *host, GPtrArray *found)
{
	g_autofree char *text = NULL;

	if (!g_file_get_contents(file, &text, NULL, NULL))
		return;
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (unsigned i = 0; lines[i]; i++)
		if (*g_strstrip(lines[i]) != '#' && has_word(lines[i], host))
			g_ptr_array_add(found, g_strdup_printf("%s:%u: %s", file, i + 1, lines[i]));
}

/* This machine's own tables: where it is a server of automounter maps they are the clients'. */
static void print_tables(const char *host)
{
	g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
	glob_t files = {0};

	glob("/etc/fstab", 0, NULL, &files);
	glob("/etc/auto.*", GLOB_APPEND, NULL, &files);
	glob("/etc/auto.*.d/*", GLOB_APPEND, NULL, &files);
	for (size_t i = 0; i < files.gl_pathc; i++)
		look_in(files.gl_pathv[i], host, found);
	globfree(&files);
	item("fstab, automounter maps and systemd mount units of clients name the new server%s",
	     found->len ? "; on this machine itself:" : "");
	print_lines(found);
}

static void print_nfs(const char *host)
{
	print_tables(host);
	item("With Kerberos: a key of nfs/NAME is in the keytab here, for the name that clients "
	     "mount");
}

static void print_smb(const struct smb_url *url)
{
	item("smb.conf here has the name that clients use: netbios aliases = %s", url->host);
	item("Service principals go from the old account to this machine's: setspn -L OLD, then "
	     "setspn -D and setspn -S, of cifs/%s and HOST/%s",
	     url->host, url->host);
	item("DFS links with the target \\\\%s\\%s have the new one", url->host, url->share);
	item("Drive maps, logon scripts, shortcuts and printers do not name \\\\%s", url->host);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void print_before(const struct cutover *cutover)
{
	puts("\nBefore");
	item("migratectl check %s says go", cutover->config->name);
	item("Programs that hold files open are stopped");
	if (cutover->smb.host)
		item("No file of \\\\%s\\%s is open: on Samba smbstatus -L, on Windows "
		     "Get-SmbOpenFile, on ONTAP vserver cifs session file show",
		     cutover->smb.host, cutover->smb.share);
	if (cutover->nfs)
		print_mounts(cutover->nfs, cutover->path);
	item("The old server is read-only, for everybody");
}

static void print_names(const struct cutover *cutover)
{
	const char *host = cutover->nfs ? cutover->nfs : cutover->smb.host;

	if (!host)
		return;
	printf("\nWhat leads clients to %s\n", host);
	item("DNS: the name that clients use points to this machine; its time to live was lowered "
	     "a day before");
	if (cutover->nfs)
		print_nfs(cutover->nfs);
	if (cutover->smb.host)
		print_smb(&cutover->smb);
}

static void print_steps(const struct cutover *cutover)
{
	const char *name = cutover->config->name;

	puts("\nThe switch");
	item("systemctl enable --now migrate-retriever@%s migrate-journal@%s migrate-guard@%s",
	     name, name, name);
	item("migratectl attach %s", name);
	item("systemctl restart nfs-ganesha smbd, of which this machine has");
	item("Clients mount and connect anew");
	item("systemctl enable --now migrate-crawler@%s", name);
	puts("\nAfter it");
	item("migratectl cutover %s shows nobody who still uses the old server", name);
	item("migratectl errors %s shows nothing", name);
}

enum ctl_exit ctl_cutover(const struct ctl *ctl)
{
	g_autoptr(GError) error = NULL;
	struct volume_config *config = config_load(ctl->config_file, ctl->volume, &error);
	struct cutover cutover = {.config = config};

	if (!config) {
		ctl_complain("%s", error->message);
		return CTL_USAGE;
	}
	cutover.path = config_nfs_path(config->source);
	if (cutover.path)
		cutover.nfs = config_host(config->source);
	if (config->acl_source || g_str_has_prefix(config->source, "smb://"))
		smb_url_parse(config->acl_source ? config->acl_source : config->source,
			      &cutover.smb, NULL);
	printf("%s: from %s to %s\n", config->name, config->source, config->root);
	print_before(&cutover);
	print_names(&cutover);
	print_steps(&cutover);
	g_free(cutover.nfs);
	g_free(cutover.path);
	smb_url_clear(&cutover.smb);
	config_free(config);
	return CTL_OK;
}
