/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/smb_shares.h"

#include <string.h>

#include "lib/base/spawn.h"
#include "lib/base/text.h"
#include "lib/source/ask.h"
#include "lib/source/share_question.h"
#include "lib/source/smb/smb_secret.h"

#define SHARES_SHOWN 8
#define WAIT_S	     6
#define SMB_PORT     445 /* migrate-discover asks this, or 139 where that is closed */

struct share_names {
	GString *text;
	unsigned n;
};

static gboolean note_share(void *arg, const char *name, const char *type, const char *comment)
{
	struct share_names *names = arg;
	g_autofree char *shown = text_name(name, strlen(name));

	if (!strcmp(type, "disk") && names->n++ < SHARES_SHOWN)
		g_string_append_printf(names->text, "%s%s", names->n > 1 ? ", " : "", shown);
	return TRUE;
}

char *smb_shares_text(const struct smb_config *config, const struct smb_url *url)
{
	const char *given = g_getenv("MIGRATE_DISCOVER");
	g_autofree char *program = given ? g_strdup(given) : program_find(ASK_PROGRAM);
	/* the worker would insist on signatures (session.c), which migrate-discover does not */
	const bool guarded = config->signing == SMB_REQUIRED || config->encryption != SMB_OFF;
	g_autofree char *address =
		url->port == SMB_PORT && !guarded ? ask_address(url->host, NULL) : NULL;
	struct share_names names = {g_string_new(NULL), 0};
	struct smb_secret secret = {.password = NULL};

	if (address && smb_secret_get(config, url, &secret, NULL) && !secret.ccache) {
		struct share_question asked = {.program = program,
					       .address = address,
					       .wait = WAIT_S,
					       .dialect = "SMB2_02+", /* as the worker */
					       .user = url->user,
					       .domain = smb_domain(config, url),
					       .password = secret.password};
		g_free(share_ask(&asked, note_share, &names)); /* the first sentence stands */
	}
	smb_secret_clear(&secret);
	if (names.n > SHARES_SHOWN)
		g_string_append_printf(names.text, " and %u more", names.n - SHARES_SHOWN);
	return g_string_free(names.text, names.n == 0);
}
