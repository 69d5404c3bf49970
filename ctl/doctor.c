/* SPDX-License-Identifier: GPL-3.0-or-later */
/* doctor: finds what keeps a volume from working as it should, and says what to do. */
#include "ctl/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "ctl/ask_all.h"
#include "ctl/doctor/bundle.h"
#include "lib/config/config.h"

#define ANSWER_US (4 * G_USEC_PER_SEC) /* the retriever's */
#define OLD_MS	  5000		       /* the old server's */

static const char *opt_bundle;

/* The retriever's status, with what others say of the volume. */
static void ask_status_doctor(const struct ctl *ctl, struct doctor *doctor)
{
	char *names[] = {(char *)ctl->volume, NULL};
	struct ctl one = *ctl;

	one.volumes = names;
	struct ask_all *asked = ask_all_new(&one);

	doctor->answer = -ENOTCONN;
	if (asked) {
		struct ask_all_member *member = &asked->members[0];

		ask_all_ask(asked, "status");
		ask_all_wait(asked, g_get_monotonic_time() + ANSWER_US);
		doctor->answer = member->waits ? -ETIME : member->status;
		if (!doctor->answer && member->reply)
			doctor->status = g_key_file_ref(member->reply);
	}
	ask_all_free(asked);
	if (!doctor->status)
		doctor->status = g_key_file_new();
	ctl_journal_state(ctl, doctor->status);
	ctl_guard_state(ctl, doctor->status);
	ctl_doors_state(ctl, doctor->status);
}

static void print_json_doctor(const char *volume, const GPtrArray *findings)
{
	g_autoptr(JsonBuilder) builder = json_builder_new();

	json_builder_begin_array(builder);
	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = findings->pdata[i];
		const char *const members[][2] = {{"volume", volume},
						  {"what", finding->what},
						  {"level", finding_word(finding->level)},
						  {"seen", finding->seen},
						  {"remedy", finding->remedy}};

		json_builder_begin_object(builder);
		for (size_t m = 0; m < G_N_ELEMENTS(members); m++) {
			json_builder_set_member_name(builder, members[m][0]);
			json_builder_add_string_value(builder, members[m][1]);
		}
		json_builder_end_object(builder);
	}
	json_builder_end_array(builder);
	ctl_print_json(json_builder_get_root(builder), true);
}

/* silent: what does not answer, or NULL; then nothing is done that would hang there. */
static enum ctl_exit examine_volume(const struct ctl *ctl, const struct volume_config *config,
				    const char *silent)
{
	g_autoptr(GPtrArray) findings = findings_new();
	struct doctor doctor = {.findings = findings, .config = config};
	g_autofree char *cluster = g_strdup_printf(REPORT_DIR "/%s.cluster", config->name);
	g_autofree char *units = units_ask(config->name), *text = NULL;
	g_autoptr(GError) error = NULL;
	enum ctl_exit result;

	if (silent) {
		doctor.status = g_key_file_new();
		findings_add(findings, FINDING_FAULT, "Mount", CTL_SILENT_WHAT, CTL_SILENT_PATH,
			     silent);
	} else {
		ask_status_doctor(ctl, &doctor);
	}
	g_autoptr(GKeyFile) status G_GNUC_UNUSED = doctor.status;
	look_at_units(&doctor, units, access(cluster, F_OK) == 0);
	if (!silent) {
		look_at_status(&doctor);
		look_at_old_server(&doctor, OLD_MS);
		look_at_machine(&doctor, time(NULL));
	}
	text = findings_text(findings);
	if (ctl->json)
		print_json_doctor(config->name, findings);
	else
		printf("%s%s%s", ctl->many ? config->name : "", ctl->many ? ":\n" : "", text);
	result = (enum ctl_exit)findings_worst(findings);
	if (opt_bundle && !bundle_write(opt_bundle, &doctor, ctl->config_file, units, &error)) {
		ctl_complain("doctor: %s; name another file with --bundle", error->message);
		result = CTL_USAGE;
	}
	return result;
}

static enum ctl_exit doctor_volume(const struct ctl *ctl)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *silent = ctl_silent_path(ctl, ctl->volume);
	const struct volume_config unloaded = {.name = (char *)ctl->volume, .root = (char *)"/"};
	struct volume_config *config = NULL;
	enum ctl_exit result = CTL_USAGE;

	if (silent)
		return examine_volume(ctl, &unloaded, silent);
	config = config_load_unmounted(ctl->config_file, ctl->volume, &error);
	if (!config)
		ctl_complain("%s", error->message);
	else
		result = examine_volume(ctl, config, NULL);
	config_free(config);
	return result;
}

static enum ctl_exit run_doctor(const struct ctl *ctl)
{
	if (!ctl->many || (!ctl->json && !opt_bundle))
		return ctl_in_turn(ctl, doctor_volume);
	ctl_complain("doctor: --%s needs the NAME of one volume", ctl->json ? "json" : "bundle");
	return CTL_USAGE;
}

static const GOptionEntry doctor_options[] = {
	CTL_OPTIONS_VOLUMES,
	CTL_OPTION_JSON,
	CTL_FILE("bundle", opt_bundle, "a tar.gz for support, without names and secrets", "FILE"),
	{NULL},
};

CTL_COMMAND(doctor, "doctor", "NAME...", 1, G_MAXINT,
	    "look for what is wrong with it, and say what to do", .options = doctor_options,
	    .example = "doctor --bundle=/root/projects.tar.gz projects", .changes = "nothing",
	    .exits = "0 all is well, 1 warnings, 2 faults or wrong usage", .flags = CTL_AT_ONCE);
