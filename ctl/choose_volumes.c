/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands for several volumes. */
#include "ctl/ctl.h"

#include <stdio.h>
#include <string.h>

#include "ctl/ask_all.h"
#include "lib/base/text.h"
#include "lib/config/config.h"

static bool is_known_volume(GPtrArray *all, const char *volume)
{
	for (unsigned i = 0; i < all->len; i++)
		if (!strcmp(((struct volume_name *)all->pdata[i])->name, volume))
			return true;
	return false;
}

static bool all_known(const struct ctl *ctl, GPtrArray *all, char **names)
{
	for (char **name = names; *name; name++)
		if (!is_known_volume(all, *name))
			return ctl_complain("%s: no such volume in %s; correct the name, or leave "
					    "it out",
					    *name,
					    ctl->config_file ? ctl->config_file : CONFIG_FILE);
	return true;
}

/* Each once, in the order in which they were given. */
static char **once(char **names)
{
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

	for (char **name = names; *name; name++) {
		bool before = false;

		for (char **other = names; other < name; other++)
			before = before || !strcmp(*name, *other);
		if (!before)
			g_strv_builder_add(builder, *name);
	}
	return g_strv_builder_end(builder);
}

const GOptionEntry ctl_options_volumes[] = {
	CTL_OPTIONS_VOLUMES,
	{NULL},
};

gboolean ctl_choose(struct ctl *ctl, char **names)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	g_autoptr(GPtrArray) all = NULL;

	ctl->many = g_strv_length(names) != 1;
	if (!ctl->many) {
		ctl->volumes = g_strdupv(names);
		return TRUE;
	}
	all = config_names(ctl->config_file, &error);
	if (!all)
		return ctl_complain("%s", error->message);
	if (*names) {
		ctl->volumes = once(names);
		ctl->many = ctl->volumes[1] != NULL;
		return all_known(ctl, all, names);
	}
	for (unsigned i = 0; i < all->len; i++) {
		const struct volume_name *name = all->pdata[i];

		if (!ctl->wave || !g_strcmp0(name->wave, ctl->wave))
			g_strv_builder_add(builder, name->name);
	}
	ctl->volumes = g_strv_builder_end(builder);
	if (ctl->wave && !ctl->volumes[0])
		return ctl_complain("no volume of %s has wave = %s; correct one of them",
				    ctl->config_file ? ctl->config_file : CONFIG_FILE, ctl->wave);
	return TRUE;
}

enum ctl_exit ctl_in_turn(const struct ctl *ctl, enum ctl_exit (*run)(const struct ctl *ctl))
{
	struct ctl one = *ctl;
	enum ctl_exit worst = CTL_OK;

	for (char **volume = ctl->volumes; *volume; volume++) {
		one.volume = *volume;
		enum ctl_exit result = run(&one);
		fflush(stdout);
		worst = MAX(worst, result);
	}
	return worst;
}

void ctl_announce(const struct ctl *ctl, const char *command)
{
	if (!ctl->many)
		return;
	g_autofree char *list = g_strjoinv(", ", ctl->volumes);

	printf("%s of " TEXT_COUNT ", one after the other: %s\n", command,
	       TEXT_COUNTED(g_strv_length(ctl->volumes), "volumes"), list);
	fflush(stdout);
}

enum ctl_exit ctl_ask_and_say(const struct ctl *ctl, const char *command, const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "NAME", -1);
	enum ctl_exit worst = CTL_OK;

	if (!ctl->many) {
		g_autofree char *line = g_strjoinv(ctl->volume, parts);

		worst = ctl_ask_once(ctl, command, NULL);
		if (!worst)
			puts(line);
		return worst;
	}
	struct ask_all *crowd = ask_all_new(ctl);
	if (!crowd)
		return CTL_USAGE;
	ask_all_ask(crowd, command);
	ask_all_wait(crowd, 0);
	for (unsigned i = 0; i < crowd->n; i++) {
		const struct ask_all_member *member = &crowd->members[i];
		g_autofree char *line = g_strjoinv(member->name, parts);

		if (member->status)
			ctl_complain_of(member->name, member->status, member->text);
		else
			puts(line);
		worst = MAX(worst, ctl_exit_of(member->status));
	}
	ask_all_free(crowd);
	return worst;
}
