/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>

#include "ctl/doctor/looks.h"
#include "ctl/doors/served.h"
#include "retriever/objects/capabilities.h"

/* Of the rows of one thing, the first that holds is told. */
static const struct row {
	const char *what, *group;
	const char *key; /* that is `value`; NULL: nothing before held */
	gboolean value;
	enum finding_level level;
	const char *seen, *remedy; /* NAME: the volume's */
	const char *states;	   /* in which it counts; NULL: in all */
} rows[] = {
	{"Retriever", "volume", "root-replaced", TRUE, FINDING_FAULT,
	 "has another directory open than the one at the root",
	 "systemctl restart migrate-retriever@NAME"},
	{"Retriever", "volume", NULL, TRUE, FINDING_OK, "answers"},
	{"Guard", "guard", "wanted", FALSE, FINDING_WARNING,
	 "is not wanted: programs of this machine read zeros",
	 "take guard = no out of the configuration"},
	{"Guard", "guard", "guarded", FALSE, FINDING_WARNING,
	 "is not running: it has to before attach", "systemctl start migrate-guard@NAME",
	 "unattached copying copied"},
	{"Guard", "guard", "guarded", FALSE, FINDING_FAULT,
	 "is not running: programs of this machine wait, or read zeros",
	 "systemctl start migrate-guard@NAME"},
	{"Guard", "guard", NULL, TRUE, FINDING_OK, "is on"},
	{"Doors", "doors", "past", TRUE, FINDING_FAULT,
	 "a file server serves it without the layer: clients see .migrate",
	 "migratectl finalize NAME; or see migratectl status NAME, and stop that server", "whole"},
	{"Doors", "doors", "past", TRUE, FINDING_FAULT,
	 "a file server serves it without the layer: clients read zeros where data is missing",
	 "see migratectl status NAME; stop that server, and put the layer into its configuration"},
	{"Doors", "doors", NULL, TRUE, FINDING_OK, "nobody serves it without the layer"},
	{"Journal", "journal", "closed", TRUE, FINDING_OK, "is closed: there is no way back"},
	{"Journal", "journal", "running", FALSE, FINDING_WARNING,
	 "is not running: what clients change now has to be looked for",
	 "systemctl start migrate-journal@NAME"},
	{"Journal", "journal", "full", TRUE, FINDING_FAULT, "has no room",
	 "make room where its store is"},
	{"Journal", "journal", "complete", FALSE, FINDING_WARNING,
	 "has a gap: changes may be missing", "migratectl changes --settle NAME"},
	{"Journal", "journal", NULL, TRUE, FINDING_OK, "knows all changes"},
};

static void look_at_answer(struct doctor *doctor)
{
	const char *name = doctor->config->name;
	g_autofree char *remedy = g_strdup_printf(
		doctor->answer == -ENOTCONN ? "systemctl start migrate-retriever@%s"
		: doctor->answer == -EPROTO ? "systemctl restart migrate-retriever@%s"
					    : "journalctl -u migrate-retriever@%s",
		name);

	if (doctor->answer)
		findings_add(doctor->findings, FINDING_FAULT, "Retriever", remedy, "%s",
			     doctor->answer == -ENOTCONN ? "is not running"
			     : doctor->answer == -EPROTO ? "is of another version"
							 : "does not answer");
}

/* Whether the row counts in the volume's state, which is NULL where the retriever does not tell. */
static bool counts(const struct row *row, const char *state, const struct doctor *doctor)
{
	if (!strcmp(row->what, "Guard") &&
	    (state ? !strcmp(state, "finished") : served_is_away(doctor->config->root)))
		return false;
	return !row->states || (state && strstr(row->states, state));
}

/* What the new file system lacks, and what is done instead. */
static void look_at_capabilities(struct doctor *doctor)
{
	unsigned there = 0;

	for (unsigned i = 0; i < CAPABILITIES; i++) {
		g_autofree char *told = g_key_file_get_string(doctor->status, "capabilities",
							      capability_key(i), NULL);

		if (told && !strcmp(told, "yes"))
			there++;
		else if (told)
			findings_add(doctor->findings, FINDING_OK, "File system", NULL,
				     "has no %s: %s", capability_text(i), told);
	}
	if (there)
		findings_add(doctor->findings, FINDING_OK, "File system", NULL,
			     "can do %u of the %d that may be of use", there, CAPABILITIES);
}

void look_at_status(struct doctor *doctor)
{
	GKeyFile *status = doctor->status;
	g_autofree char *state = g_key_file_get_string(status, "volume", "state", NULL);
	const guint64 errors = g_key_file_get_uint64(status, "counters", "errors", NULL);
	g_autofree char *list =
		g_strdup_printf("migratectl errors --summary %s", doctor->config->name);
	g_autofree char *journal =
		g_strdup_printf("see journalctl -u migrate-journal@%s", doctor->config->name);
	const char *told = "";

	look_at_answer(doctor);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		const struct row *row = &rows[i];
		g_auto(GStrv) parts = g_strsplit(row->remedy ? row->remedy : "", "NAME", -1);
		g_autofree char *remedy = g_strjoinv(doctor->config->name, parts);

		if (!strcmp(told, row->what) || !g_key_file_has_group(status, row->group) ||
		    !counts(row, state, doctor) ||
		    (row->key &&
		     !!g_key_file_get_boolean(status, row->group, row->key, NULL) != row->value))
			continue;
		told = row->what;
		findings_add(doctor->findings, row->level, row->what, remedy, "%s", row->seen);
	}
	if ((!g_strcmp0(state, "migrating") || !g_strcmp0(state, "whole")) &&
	    !g_key_file_has_group(status, "journal"))
		findings_add(doctor->findings, FINDING_WARNING, "Journal", journal,
			     "there is none: no way back");
	if (state)
		findings_add(doctor->findings, errors ? FINDING_WARNING : FINDING_OK, "Objects",
			     errors ? list : NULL, "%" G_GUINT64_FORMAT " failed", errors);
	look_at_capabilities(doctor);
}
