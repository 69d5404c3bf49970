/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * report: prints the list of losses from its file.  The file is read twice, for the sums and for
 * the lines, because it may be longer than memory.
 */
#include "ctl/ctl.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/migrate.h"
#include "ctl/report/check.h"
#include "ctl/report/final.h"
#include "lib/base/error_codes.h"
#include "lib/base/text.h"
#include "lib/config/config.h"
#include "lib/report/losses.h"

static gboolean opt_final, opt_check;
static const char *opt_output, *opt_key, *opt_signers, *opt_tree;

struct tally {
	uint64_t acls, xattrs; /* objects that got them */
	bool known;	       /* both */
	uint64_t lost[LOSS_KINDS];
};

/* Reads a line of the head of the kept file. */
static void count_carried(struct tally *tally, const char *line)
{
	tally->known = tally->known || g_str_has_prefix(line, "carried\t");
	if (g_str_has_prefix(line, "carried\tacls\t"))
		tally->acls = g_ascii_strtoull(strrchr(line, '\t') + 1, NULL, 10);
	else if (g_str_has_prefix(line, "carried\txattrs\t"))
		tally->xattrs = g_ascii_strtoull(strrchr(line, '\t') + 1, NULL, 10);
}

/* Calls fn for each line of losses; those that make no sense, as after a crash, are left out. */
static void each_line(FILE *file, struct tally *tally,
		      void (*fn)(struct tally *tally, const struct loss_line *line))
{
	char *text = NULL;
	size_t room = 0;

	rewind(file);
	while (getline(&text, &room, file) > 0) {
		struct loss_line line;

		if (loss_parse(text, &line)) {
			fn(tally, &line);
			loss_line_clear(&line);
		} else {
			count_carried(tally, text);
		}
	}
	free(text);
}

static void add_up(struct tally *tally, const struct loss_line *line)
{
	tally->lost[line->kind]++;
}

static void print_volume(struct tally *tally, const struct loss_line *line)
{
	g_autofree char *text = text_printable(line->text);

	if (line->kind == LOSS_VOLUME)
		printf("no object has its %s\n", text);
}

static void print_object(struct tally *tally, const struct loss_line *line)
{
	g_autofree char *path = text_printable(line->path), *text = text_printable(line->text);

	if (line->kind != LOSS_VOLUME)
		printf("%s: %s: %s\n", path, loss_kind_name(line->kind), text);
}

static void print_text(const struct ctl *ctl, FILE *file, struct tally *tally)
{
	uint64_t sum = 0;

	if (tally->known)
		printf("%s: carried over: the ACLs of " TEXT_COUNT
		       ", extended attributes of " TEXT_COUNT "\n",
		       ctl->volume, TEXT_COUNTED(tally->acls, "objects"),
		       TEXT_COUNTED(tally->xattrs, "objects"));
	for (unsigned kind = 0; kind < LOSS_RULE; kind++)
		sum += tally->lost[kind];
	printf("%s: not carried over: %" G_GUINT64_FORMAT, ctl->volume, sum);
	for (unsigned kind = 0; kind < LOSS_RULE; kind++)
		if (tally->lost[kind])
			printf(", %s %" G_GUINT64_FORMAT, loss_kind_name(kind), tally->lost[kind]);
	putchar('\n');
	if (tally->lost[LOSS_RULE])
		printf("%s: left out by rules: " TEXT_COUNT "; see migratectl rules %s\n",
		       ctl->volume, TEXT_COUNTED(tally->lost[LOSS_RULE], "objects"), ctl->volume);
	each_line(file, tally, print_volume);
	each_line(file, tally, print_object);
}

static JsonNode *line_node(const struct loss_line *line)
{
	const struct error_kind *kind =
		line->kind == LOSS_NAME ? error_kind_behind(line->text) : NULL;
	g_autoptr(JsonBuilder) builder = json_builder_new();
	g_autofree char *path = text_utf8(line->path), *text = text_utf8(line->text);

	json_builder_begin_object(builder);
	json_builder_set_member_name(builder, "kind");
	json_builder_add_string_value(builder, loss_kind_name(line->kind));
	json_builder_set_member_name(builder, "path");
	json_builder_add_string_value(builder, path);
	json_builder_set_member_name(builder, "text");
	json_builder_add_string_value(builder, text);
	if (kind) {
		json_builder_set_member_name(builder, "code");
		json_builder_add_string_value(builder, kind->name);
	}
	json_builder_end_object(builder);
	return json_builder_get_root(builder);
}

static void print_json_line(struct tally *tally, const struct loss_line *line)
{
	putchar(',');
	ctl_print_json(line_node(line), false);
}

/* An array: the sums, then the lines, one by one. */
static void print_tally_json(FILE *file, struct tally *tally)
{
	g_autoptr(JsonBuilder) builder = json_builder_new();

	json_builder_begin_object(builder);
	if (tally->known) {
		json_builder_set_member_name(builder, "acls_carried");
		json_builder_add_int_value(builder, (gint64)tally->acls);
		json_builder_set_member_name(builder, "xattrs_carried");
		json_builder_add_int_value(builder, (gint64)tally->xattrs);
	}
	json_builder_set_member_name(builder, "lost");
	json_builder_begin_object(builder);
	for (unsigned kind = 0; kind < LOSS_KINDS; kind++) {
		json_builder_set_member_name(builder, loss_kind_name(kind));
		json_builder_add_int_value(builder, (gint64)tally->lost[kind]);
	}
	json_builder_end_object(builder);
	json_builder_end_object(builder);
	putchar('[');
	ctl_print_json(json_builder_get_root(builder), false);
	each_line(file, tally, print_json_line);
	puts("]");
}

char *ctl_report_path(const struct ctl *ctl)
{
	struct volume_config *config = ctl_known_config(ctl);
	g_autofree char *private = NULL;
	char *path;

	if (!config)
		return NULL;
	private = g_strconcat(config->root, "/" MIGRATE_PRIVATE_DIR, NULL);
	path = g_file_test(private, G_FILE_TEST_IS_DIR)
		       ? g_strconcat(private, "/" LOSSES_FILE, NULL)
		       : g_strdup(config->report);
	config_free(config);
	return path;
}

static enum ctl_exit find_report(const struct ctl *ctl, char **path, struct tally *tally)
{
	g_autoptr(GKeyFile) reply = NULL;
	enum ctl_exit result;
	struct ctl_link *link = ctl_link_open(ctl, ctl->volume, &result);

	if (!link)
		return result;
	result = ctl_ask(link, "report", true, &reply);
	if (result == CTL_NO_RETRIEVER && (*path = ctl_report_path(ctl)))
		result = CTL_OK;
	else if (result)
		result = ctl_ask(link, "report", false, &reply); /* for the message */
	ctl_link_close(link);
	if (result || !reply)
		return result;
	*path = ctl_text(reply, "report", "path");
	tally->known = g_key_file_has_key(reply, "report", "acls-carried", NULL);
	tally->acls = ctl_number(reply, "report", "acls-carried");
	tally->xattrs = ctl_number(reply, "report", "xattrs-carried");
	return CTL_OK;
}

static enum ctl_exit list_losses(const struct ctl *ctl)
{
	g_autofree char *path = NULL;
	struct tally tally = {0};
	enum ctl_exit result = find_report(ctl, &path, &tally);
	FILE *file;

	if (result)
		return result;
	file = fopen(path, "re");
	if (!file && errno == ENOENT && g_str_has_suffix(path, MIGRATE_PRIVATE_DIR "/" LOSSES_FILE))
		file = fopen("/dev/null", "re"); /* there was nothing to write yet */
	if (!file) {
		ctl_complain("%s: %s: %s; it is there from migratectl attach on", ctl->volume, path,
			     g_strerror(errno));
		return CTL_REFUSED;
	}
	each_line(file, &tally, add_up);
	if (ctl->json)
		print_tally_json(file, &tally);
	else
		print_text(ctl, file, &tally);
	fclose(file);
	return CTL_OK;
}

/* ---- --final and --check --------------------------------------------------------------- */

static void print_check(void *arg, bool good, const char *line)
{
	g_autofree char *shown = text_printable(line);

	if (good)
		puts(shown);
	else
		ctl_complain("%s", shown);
}

static enum ctl_exit check_reports(const struct ctl *ctl)
{
	bool good = true;

	signal(SIGPIPE, SIG_IGN); /* of sort */
	for (char **file = ctl->arguments - 1; *file; file++) {
		const char *scratch = g_getenv("TMPDIR");
		const struct check check = {.file = *file,
					    .signers = opt_signers,
					    .tree = opt_tree,
					    .scratch = scratch ? scratch : "/var/tmp",
					    .fn = print_check};
		bool one = check_report(&check);

		fflush(stdout);
		if (one)
			printf("%s: good\n", *file);
		else
			ctl_complain("%s: NOT good", *file);
		good = good && one;
	}
	return good ? CTL_OK : CTL_REFUSED;
}

static enum ctl_exit run_report(const struct ctl *ctl)
{
	if ((!opt_final && (opt_output || opt_key)) || (!opt_check && (opt_signers || opt_tree)) ||
	    opt_final + opt_check + ctl->json > 1) {
		ctl_complain("report: these options do not go together; see " PROGRAM
			     " report --help");
		return CTL_USAGE;
	}
	if (ctl->arguments[0] && (!opt_check || opt_tree)) {
		ctl_complain("usage: " PROGRAM " report %s",
			     opt_check ? "--check --tree DIR FILE" : "NAME");
		return CTL_USAGE;
	}
	if (opt_final)
		return ctl_final(ctl, opt_output ? opt_output : ".", opt_key);
	return opt_check ? check_reports(ctl) : list_losses(ctl);
}

static const GOptionEntry report_options[] = {
	CTL_OPTION_JSON,
	CTL_FLAG("final", opt_final, "what became of every object, in files that can be checked"),
	CTL_FILE("output", opt_output, "where to put the files", "DIR"),
	CTL_FILE("sign", opt_key, "sign with this key of ssh-keygen", "KEY"),
	CTL_FLAG("check", opt_check, "check FILE... of report --final, in place of NAME"),
	CTL_FILE("signers", opt_signers, "who may have signed, as ssh-keygen has it", "FILE"),
	CTL_FILE("tree", opt_tree, "compare the manifest with a tree", "DIR"),
	{NULL},
};

CTL_COMMAND(report, "report", "NAME", 1, G_MAXINT,
	    "list what could not be carried over; --final: prove what was",
	    .example = "report --final --output=/root projects",
	    .changes = "nothing; --final writes the files of the report",
	    .exits = "0 done, 1 not complete or failed, 2 wrong usage, 3 no retriever",
	    .options = report_options, .rootless = &opt_check);
