/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <sys/stat.h>

#include "ctl/doctor/looks.h"

static const struct unit {
	const char *name;	     /* with the volume's behind it, if it ends in @ */
	enum finding_level inactive; /* of one that is not running, while the volume needs it */
	gboolean at_boot, waits;     /* it is to be enabled; to wait for the root's mount */
} units[] = {
	{"migrate-retriever@", FINDING_FAULT, TRUE, TRUE},
	{"migrate-guard@", FINDING_FAULT, TRUE, TRUE},
	{"migrate-journal@", FINDING_WARNING},
	{"migrate-crawler@", FINDING_OK},
	{"migrate-rollback@", FINDING_OK},
	{"nfs-ganesha", FINDING_OK, FALSE, TRUE},
	{"smbd", FINDING_OK, FALSE, TRUE},
};

static char *name_unit(const struct unit *unit, const char *volume)
{
	return g_strconcat(unit->name, g_str_has_suffix(unit->name, "@") ? volume : "", ".service",
			   NULL);
}

char *units_ask(const char *volume)
{
	const char *argv[6 + G_N_ELEMENTS(units) + 1] = {
		"timeout",
		"-k1",
		"5",
		"systemctl",
		"show",
		("--property=Id,LoadState,ActiveState,SubState,Result,UnitFileState,"
		 "RequiresMountsFor")};
	char *text;

	for (size_t i = 0; i < G_N_ELEMENTS(units); i++)
		argv[6 + i] = name_unit(&units[i], volume);
	text = finding_ask(argv);
	for (size_t i = 0; i < G_N_ELEMENTS(units); i++)
		g_free((char *)argv[6 + i]);
	return text;
}

/* A property in a unit's block of lines; "": it has none.  g_free. */
static char *unit_property(const char *block, const char *property)
{
	g_autofree char *before = g_strdup_printf("\n%s=", property);
	g_autofree char *whole = g_strconcat("\n", block, NULL);
	const char *at = strstr(whole, before);

	return at ? g_strndup(at + strlen(before), strcspn(at + strlen(before), "\n"))
		  : g_strdup("");
}

/* The root is on a file system of its own. */
static gboolean is_mounted(const char *root)
{
	struct stat at, top;

	return !stat(root, &at) && !stat("/", &top) && at.st_dev != top.st_dev;
}

/* Whether somebody has to do something. */
static gboolean look_at_unit(struct doctor *doctor, const struct unit *unit, const char *name,
			     const char *block, gboolean needed, gboolean clustered)
{
	const char *root = doctor->config->root;
	g_autofree char *active = unit_property(block, "ActiveState");
	g_autofree char *result = unit_property(block, "Result");
	g_autofree char *enabled = unit_property(block, "UnitFileState");
	g_autofree char *mounts = unit_property(block, "RequiresMountsFor");
	g_autofree char *remedy = NULL;
	g_auto(GStrv) places = g_strsplit(mounts, " ", -1);
	g_autofree char *sub = unit_property(block, "SubState");
	const gboolean runs = strcmp(active, "inactive") && strcmp(active, "failed");

	/* or it ends again and again */
	if (!strcmp(active, "failed") || !strcmp(sub, "auto-restart")) {
		remedy = g_strdup_printf("journalctl -u %s says why; then restart it", name);
		findings_add(doctor->findings,
			     unit->inactive == FINDING_FAULT ? FINDING_FAULT : FINDING_WARNING,
			     "Units", remedy, "%s has failed (%s)", name, result);
	} else if (needed && !runs && unit->inactive != FINDING_OK) {
		remedy = g_strdup_printf("systemctl start %s", name);
		findings_add(doctor->findings, unit->inactive, "Units", remedy, "%s is not running",
			     name);
	} else if (needed && unit->at_boot && !clustered && !g_str_has_prefix(enabled, "enabled")) {
		remedy = g_strdup_printf("systemctl enable %s", name);
		findings_add(doctor->findings, FINDING_WARNING, "Units", remedy,
			     "%s is not started at boot", name);
	} else if (needed && runs && unit->waits && !clustered && is_mounted(root) &&
		   !g_strv_contains((const char *const *)places, root)) {
		remedy = g_strdup_printf("systemctl edit %s: [Unit], RequiresMountsFor=%s", name,
					 root);
		findings_add(doctor->findings, FINDING_WARNING, "Units", remedy,
			     "%s does not wait for the mount of %s", name, root);
	}
	return remedy != NULL;
}

void look_at_units(struct doctor *doctor, const char *text, gboolean clustered)
{
	g_autofree char *state = g_key_file_get_string(doctor->status, "volume", "state", NULL);
	g_auto(GStrv) blocks = g_strsplit(text ? text : "", "\n\n", -1);
	unsigned seen = 0, bad = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
		g_autofree char *name = name_unit(&units[i], doctor->config->name);
		const gboolean needed =
			g_strcmp0(state, "finished") &&
			!(g_str_has_prefix(name, "migrate-guard@") &&
			  doctor->config->guard == GUARD_NO) &&
			!(g_str_has_prefix(name, "migrate-journal@") &&
			  g_key_file_get_boolean(doctor->status, "journal", "closed", NULL));

		for (char **block = blocks; *block; block++) {
			g_autofree char *id = unit_property(*block, "Id");

			if (strcmp(id, name))
				continue;
			seen++;
			bad += look_at_unit(doctor, &units[i], name, *block, needed, clustered);
		}
	}
	if (!seen)
		findings_add(doctor->findings, FINDING_WARNING, "Units",
			     "see with ps whether migrate-retriever and migrate-guard run",
			     "systemctl does not tell of them");
	else if (!bad)
		findings_add(doctor->findings, FINDING_OK, "Units", NULL, "run as they should");
}
