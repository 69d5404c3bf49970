/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/ctl/discover/drafted.h"
#include "tests/suite.h"

START_TEST(blocks)
{
	struct inventory found;
	fill(&found);
	struct draft *draft = draft_new("old", NULL, &found);
	g_autofree char *text = draft_exports(draft);

	has(text, "EXPORT {\n\tExport_Id = 101;\n\tPath = \"/srv/home\";\n"
		  "\tPseudo = \"/export/home\";\n\tAccess_Type = None;\n\tSquash = Root_Squash;\n"
		  "\tSecType = sys, krb5;\n\tProtocols = 3, 4;\n"
		  "\tCLIENT {\n\t\tClients = 10.0.0.0/8;\n\t\tAccess_Type = RW;\n"
		  "\t\tSquash = No_Root_Squash;\n\t\tSecType = krb5p;\n\t}\n"
		  "\tCLIENT {\n\t\tClients = *;\n\t\tAccess_Type = RO;\n"
		  "\t\tSquash = All_Squash;\n\t\tAnonymous_Uid = 99;\n\t}\n"
		  "\tFSAL {\n\t\tName = MIGRATE;\n\t\tVolume = \"home\";\n");
	has(text, "# Such a path cannot stand here; clients get another one.\nEXPORT {\n"
		  "\tExport_Id = 102;\n\tPath = \"/srv/a\";\n\tPseudo = \"/a\";\n");
	has(text, "# left out, no name of clients for Ganesha: x; } y\n");
	has(text, "# left out, it has no address here: no.such.invalid\n");
	has(text, "# MOUNT does not tell");
	has(text, "\tPseudo = \"/export/home/sub\";\n\tAccess_Type = RW;\n");
	lacks(text, "\n}\n\"");
	draft_free(draft);
	inventory_clear(&found);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("draft_exports");

	tcase_add_test(tcase, blocks);
	return run_tcase(tcase);
}
