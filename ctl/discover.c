/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "ctl/ctl.h"
#include "lib/source/ask.h"
#include "ctl/discover/describe.h"
#include "ctl/discover/draft.h"
#include "ctl/discover/exports_file.h"
#include "ctl/discover/inventory.h"
#include "ctl/discover/inquiry.h"
#include "ctl/discover/smb_conf.h"
#include "lib/base/spawn.h"
#include "lib/config/config.h"
#include "lib/source/smb/smb_secret.h"

#define WAIT	 10 /* s */
#define WAIT_MAX 600

static const char *opt_smb_user, *opt_exports, *opt_smb_conf, *opt_draft, *opt_wait,
	*opt_password_file;

static gboolean read_wait(unsigned *wait)
{
	guint64 seconds = WAIT;

	if (opt_wait && !g_ascii_string_to_unsigned(opt_wait, 10, 1, WAIT_MAX, &seconds, NULL))
		return ctl_complain("discover: --wait %s: give 1 to %d seconds", opt_wait,
				    WAIT_MAX);
	*wait = (unsigned)seconds;
	return TRUE;
}

static gboolean get_password(const struct ctl *ctl, struct smb_secret *secret)
{
	g_autofree char *text = g_strdup_printf("smb://%s", ctl->volume);
	const struct smb_config config = {.password_file = (char *)opt_password_file};
	const struct smb_url url = {.text = text};
	g_autoptr(GError) error = NULL;

	if (!opt_smb_user != !opt_password_file)
		return ctl_complain("discover: give both --smb-user and --password-file, or "
				    "neither to ask as nobody in particular");
	return !opt_smb_user || smb_secret_get(&config, &url, secret, &error) ||
	       ctl_complain("%s", error->message);
}

static const struct {
	const char *name, *file;
	char *(*write)(const struct draft *draft);
} drafts[] = {{"quickmigrate", CONFIG_FILE, draft_volumes},
	      {"ganesha", "/etc/ganesha/ganesha.conf", draft_exports},
	      {"samba", "/etc/samba/smb.conf", draft_shares}};

static gboolean check_options(const struct ctl *ctl)
{
	gboolean known = !opt_draft || !strcmp(opt_draft, "all");

	for (unsigned i = 0; i < G_N_ELEMENTS(drafts); i++)
		known = known || !strcmp(opt_draft, drafts[i].name);
	if (!known)
		return ctl_complain(
			"discover: --draft %s: give quickmigrate, ganesha, samba or all",
			opt_draft);
	if (opt_draft && ctl->json)
		return ctl_complain("discover: --draft and --json exclude each other");
	return TRUE;
}

static void print_drafts(const struct ctl *ctl, const struct inventory *found)
{
	const gboolean all = !strcmp(opt_draft, "all");
	struct draft *draft = draft_new(ctl->volume, opt_smb_user, found);

	for (unsigned i = 0; i < G_N_ELEMENTS(drafts); i++) {
		if (!all && strcmp(opt_draft, drafts[i].name))
			continue;
		g_autofree char *text = drafts[i].write(draft);
		if (all)
			printf("%s# ======== %s\n", i ? "\n" : "", drafts[i].file);
		fputs(text, stdout);
	}
	draft_free(draft);
}

static void print_found(const struct ctl *ctl, const struct inventory *found)
{
	if (ctl->json) {
		ctl_print_json(describe_json(ctl->volume, found), true);
		return;
	}
	if (opt_draft) {
		print_drafts(ctl, found);
	} else {
		g_autofree char *text = describe_text(ctl->volume, found);
		fputs(text, stdout);
	}
	for (unsigned i = 0; i < found->notes->len; i++)
		ctl_complain("%s: %s", ctl->volume, (char *)found->notes->pdata[i]);
}

/* Adds what files say to what the server told. */
static gboolean read_files(struct inventory *found, GError **error)
{
	return (!opt_exports || exports_file_read(opt_exports, found, error)) &&
	       (!opt_smb_conf || smb_conf_read(opt_smb_conf, found, error));
}

static gboolean has_files(void)
{
	return opt_exports || opt_smb_conf;
}

/* Files say something even where nobody answers. */
static gboolean ask_server(const struct inquiry *how, gboolean needless, struct inventory *found,
			   GError **error)
{
	if (inquire(how, found, error))
		return TRUE;
	found->incomplete = true;
	if (needless && !found->notes->len)
		inventory_note(found, "%s", (*error)->message);
	if (needless)
		g_clear_error(error);
	return needless;
}

static enum ctl_exit run_discover(const struct ctl *ctl)
{
	g_autofree char *program = program_find(ASK_PROGRAM);
	g_autoptr(GError) error = NULL;
	struct smb_secret secret = {.password = NULL};
	struct inquiry how = {.program = program, .host = ctl->volume, .user = opt_smb_user};
	enum ctl_exit result = CTL_REFUSED;
	struct inventory found;

	if (!check_options(ctl) || !read_wait(&how.wait) || !get_password(ctl, &secret))
		return CTL_USAGE;
	how.password = secret.password;
	inventory_init(&found);
	if (ask_server(&how, has_files(), &found, &error) && read_files(&found, &error)) {
		print_found(ctl, &found);
		result = found.incomplete ? CTL_REFUSED : CTL_OK;
	} else {
		ctl_complain("%s", error->message);
	}
	smb_secret_clear(&secret);
	inventory_clear(&found);
	return result;
}

static const GOptionEntry discover_options[] = {
	CTL_OPTION_JSON,
	CTL_STRING("smb-user", opt_smb_user, "who asks for the shares (default: nobody)",
		   "[DOMAIN\\]USER"),
	CTL_FILE("exports", opt_exports, "access rules out of its /etc/exports", "FILE"),
	CTL_FILE("smb-conf", opt_smb_conf, "paths and access rules out of its smb.conf", "FILE"),
	CTL_STRING("draft", opt_draft, "print a draft: quickmigrate, ganesha, samba, all", "WHAT"),
	CTL_STRING("wait", opt_wait, "how long for each answer (default: 10)", "SECONDS"),
	CTL_FILE("password-file", opt_password_file, "the file with the password of an SMB user",
		 "FILE"),
	{NULL},
};

CTL_COMMAND(discover, "discover", "HOST", 1, 1, "list what an old server exports and shares",
	    .example = "discover --draft=all filer.example.com", .changes = "nothing",
	    .exits = "0 done, 1 something was not told, 2 wrong usage",
	    .options = discover_options);
