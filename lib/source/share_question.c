/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/share_question.h"

#include <string.h>

#include "lib/source/ask.h"

struct share_taking {
	struct share_question *asked;
	share_fn each;
	void *arg;
};

static gboolean take_share(void *arg, char **fields)
{
	static const char *const types[] = {"disk", "printer", "ipc", "other"};
	const struct share_taking *taking = arg;

	taking->asked->spoken = true;
	if (!strcmp(fields[0], "spoken") && g_strv_length(fields) == 2) {
		taking->asked->refused = true;
		return TRUE;
	}
	if (strcmp(fields[0], "share") || g_strv_length(fields) != 4)
		return FALSE;
	for (unsigned i = 0; i < G_N_ELEMENTS(types); i++)
		if (!strcmp(types[i], fields[2]))
			return taking->each(taking->arg, fields[1], types[i], fields[3]);
	return FALSE;
}

char *share_ask(struct share_question *asked, share_fn each, void *arg)
{
	const char *question[] = {"shares",    asked->address, asked->dialect,
				  asked->user, asked->domain,  asked->password,
				  NULL};
	struct share_taking taking = {asked, each, arg};

	asked->spoken = asked->refused = false;
	return ask(asked->program, question, asked->wait, take_share, &taking, &asked->lasting);
}
