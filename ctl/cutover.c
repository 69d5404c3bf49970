/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cutover: the check-list of a switch: what in the configuration names the old server, who uses
 * that server as far as it tells, and what is to be done in which order.  Nothing is changed.
 */
#include "ctl/ctl.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "ctl/checklist.h"
#include "lib/config/config.h"
#include "lib/config/config_limits.h"
#include "lib/config/smb_url.h"

struct cutover {
	const struct volume_config *config;
	char *nfs;	    /* the host; NULL: the source is not NFS */
	char *path;	    /* there */
	struct smb_url smb; /* of the source, or of acl-source; host NULL: neither is SMB */
};

static void print_mounts(const struct volume_config *config)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) found = checklist_mounts(config, &error);

	if (!found)
		checklist_item(
			"Nobody has it mounted any more: it cannot be asked who has (%s); look "
			"there",
			error->message);
	else if (!found->len)
		checklist_item(
			"Nobody has it mounted any more: none is known there; clients by NFS "
			"version 4 never are");
	else
		checklist_item("Nobody has it mounted any more; known there, without those by NFS "
			       "version 4, and with some that are gone:");
	if (found)
		checklist_lines(found);
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

/* Prints this machine's own tables: if it serves automounter maps, they are the clients'. */
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
	checklist_item(
		"fstab, automounter maps and systemd mount units of clients name the new server%s",
		found->len ? "; on this machine itself:" : "");
	checklist_lines(found);
}

static void print_nfs(const char *host)
{
	print_tables(host);
	checklist_item(
		"With Kerberos: a key of nfs/NAME is in the keytab here, for the name that clients "
		"mount");
}

static void print_smb(const struct smb_url *url)
{
	checklist_item("smb.conf here has the name that clients use: netbios aliases = %s",
		       url->host);
	checklist_item(
		"Service principals go from the old account to this machine's: setspn -L OLD, then "
		"setspn -D and setspn -S, of cifs/%s and HOST/%s",
		url->host, url->host);
	checklist_item("DFS links with the target \\\\%s\\%s have the new one", url->host,
		       url->share);
	checklist_item("Drive maps, logon scripts, shortcuts and printers do not name \\\\%s",
		       url->host);
}

/* ---- the list -------------------------------------------------------------------------------- */

static void print_before(const struct cutover *cutover)
{
	puts("\nBefore");
	checklist_item("migratectl check %s says go", cutover->config->name);
	checklist_item("Programs that hold files open are stopped");
	if (cutover->smb.host)
		checklist_item("No file of \\\\%s\\%s is open: on Samba smbstatus -L, on Windows "
			       "Get-SmbOpenFile, on ONTAP vserver cifs session file show",
			       cutover->smb.host, cutover->smb.share);
	if (cutover->nfs)
		print_mounts(cutover->config);
	checklist_item("The old server is read-only, for everybody");
}

static void print_names(const struct cutover *cutover)
{
	const char *host = cutover->nfs ? cutover->nfs : cutover->smb.host;

	if (!host)
		return;
	printf("\nWhat leads clients to %s\n", host);
	checklist_item("DNS: the name that clients use points to this machine; its time to live "
		       "was lowered "
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
	checklist_item(
		"systemctl enable --now migrate-retriever@%s migrate-journal@%s migrate-guard@%s",
		name, name, name);
	checklist_item("migratectl attach %s", name);
	checklist_item("systemctl restart nfs-ganesha smbd, of which this machine has");
	checklist_item("Clients mount and connect anew");
	checklist_item("systemctl enable --now migrate-crawler@%s", name);
	puts("\nAfter it");
	checklist_item("migratectl cutover %s shows nobody who still uses the old server", name);
	checklist_item("migratectl errors %s shows nothing", name);
}

static enum ctl_exit run_cutover(const struct ctl *ctl)
{
	struct volume_config *config = ctl_config(ctl);
	struct cutover cutover = {.config = config};

	if (!config)
		return CTL_USAGE;
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

CTL_COMMAND(cutover, "cutover", "NAME", 1, 1,
	    "print the check-list of the switch, and who uses the old server",
	    .example = "cutover projects", .changes = "nothing", .exits = CTL_EXITS_ALONE);
