/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/error_codes.h"
#include "lib/base/text.h"

#define MANY 100 /* errors are easier to look at by their reasons */

static gboolean opt_summary;

struct listing {
	const struct ctl *ctl;
	const char *kind;  /* what the groups of a reply are called, with a space behind it */
	bool begun;	   /* something was printed */
	uint64_t total;	   /* that there are, if not filtered */
	ctl_error_fn each; /* instead of printing, or NULL */
	void *arg;
};

static void add_text(JsonBuilder *builder, GKeyFile *reply, const char *group, const char *key)
{
	g_autofree char *text = ctl_text(reply, group, key);

	json_builder_set_member_name(builder, key);
	json_builder_add_string_value(builder, text);
}

static void add_number(JsonBuilder *builder, GKeyFile *reply, const char *group, const char *key)
{
	json_builder_set_member_name(builder, key);
	json_builder_add_int_value(builder, (gint64)ctl_number(reply, group, key));
}

/* One by one: there may be a million. */
static void print_json_error(struct listing *listing, GKeyFile *reply, const char *group)
{
	g_autoptr(JsonBuilder) builder = json_builder_new();

	json_builder_begin_object(builder);
	if (!opt_summary)
		add_text(builder, reply, group, "path");
	add_text(builder, reply, group, "reason");
	add_text(builder, reply, group, "code");
	add_number(builder, reply, group, "errno");
	add_number(builder, reply, group, "since");
	if (opt_summary)
		add_number(builder, reply, group, "count");
	json_builder_end_object(builder);
	fputs(listing->begun ? ",\n" : "[\n", stdout);
	listing->begun = true;
	ctl_print_json(json_builder_get_root(builder), false);
}

/* Since when the object is put off: it may come by itself, or never.  "" if it is not. */
static char *since_text(GKeyFile *reply, const char *group)
{
	const uint64_t since = ctl_number(reply, group, "since");
	g_autoptr(GDateTime) time = since && ctl_number(reply, group, "errno") == EAGAIN
					    ? g_date_time_new_from_unix_local((gint64)since)
					    : NULL;

	return time ? g_date_time_format(time, " (since %F %H:%M)") : g_strdup("");
}

/* " [QM1201]"; an earlier retriever has none: "". */
static char *code_text(GKeyFile *reply, const char *group)
{
	g_autofree char *code = ctl_text(reply, group, "code");

	return *code ? g_strdup_printf(" [%s]", code) : g_strdup("");
}

static void print_one(struct listing *listing, GKeyFile *reply, const char *group)
{
	g_autofree char *path = ctl_text(reply, group, "path");
	g_autofree char *reason = ctl_text(reply, group, "reason");
	g_autofree char *shown_path = text_line(path);
	g_autofree char *code = code_text(reply, group);
	g_autofree char *coded = g_strconcat(reason, code, NULL);
	g_autofree char *shown_reason = text_line(reason);
	g_autofree char *since = since_text(reply, group);

	if (listing->each)
		listing->each(listing->arg, path, coded);
	else if (listing->ctl->json)
		print_json_error(listing, reply, group);
	else if (opt_summary)
		printf("%s%s%8" G_GUINT64_FORMAT "  %s (%s)%s\n",
		       listing->ctl->many ? listing->ctl->volume : "",
		       listing->ctl->many ? ":" : "", ctl_number(reply, group, "count"),
		       shown_reason, g_strerror((int)ctl_number(reply, group, "errno")), code);
	else
		printf("%s: %s%s%s\n", shown_path, shown_reason, since, code);
	listing->begun = true;
}

/* Lists the part that begins at start.  Returns where the next part begins; -1: at the end. */
static gint64 list_part(struct listing *listing, GKeyFile *reply, gint64 start)
{
	g_auto(GStrv) groups = g_key_file_get_groups(reply, NULL);
	unsigned count = 0;

	while (groups[count] && g_str_has_prefix(groups[count], listing->kind))
		count++;
	/* Long paths: the reply was cut to what a frame holds, somewhere in the last entry. */
	bool cut = !g_key_file_has_key(reply, "errors", "next", NULL);
	if (cut && count)
		count--;
	for (unsigned i = 0; i < count; i++)
		print_one(listing, reply, groups[i]);
	if (cut && count)
		return g_ascii_strtoll(groups[count - 1] + strlen(listing->kind), NULL, 10) + 1;
	return cut ? start : g_key_file_get_int64(reply, "errors", "next", NULL);
}

void ctl_add_filter(const struct ctl *ctl, GPtrArray *lines)
{
	if (ctl->reason)
		g_ptr_array_add(lines, g_strconcat("reason ", ctl->reason, NULL));
	if (ctl->code)
		g_ptr_array_add(lines, g_strconcat("code ", ctl->code, NULL));
	if (ctl->below) {
		g_autofree char *line = text_line(ctl->below);
		size_t len = strlen(line);

		while (len > 1 && line[len - 1] == '/')
			line[--len] = '\0';
		g_ptr_array_add(lines, g_strconcat("below ", line, NULL));
	}
}

bool ctl_check_filter(const struct ctl *ctl, const char *command)
{
	if (ctl->code && !error_kind_named(ctl->code))
		return ctl_complain("%s: --code: %s is no code: man 7 quickmigrate-errors has them",
				    command, ctl->code);
	return !ctl->reason || !strchr(ctl->reason, '\n') ||
	       ctl_complain("%s: --reason: no reason has more than one line: give a part of one",
			    command);
}

static char *command(const struct ctl *ctl, gint64 start)
{
	GString *text = g_string_new(opt_summary ? "errors summary " : "errors ");

	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

	g_string_append_printf(text, "%" G_GINT64_FORMAT, start);
	ctl_add_filter(ctl, lines);
	for (guint i = 0; i < lines->len; i++)
		g_string_append_printf(text, "\n%s", (const char *)lines->pdata[i]);
	return g_string_free(text, FALSE);
}

enum ctl_exit ctl_check_codes(const struct ctl *ctl)
{
	g_autofree char *question = command(ctl, 0);
	g_autoptr(GKeyFile) reply = NULL;
	enum ctl_exit result = ctl->code ? ctl_ask_once(ctl, question, &reply) : CTL_OK;
	g_auto(GStrv) groups = reply ? g_key_file_get_groups(reply, NULL) : NULL;

	if (!groups || !g_str_has_prefix(groups[0], "error ") ||
	    g_key_file_has_key(reply, groups[0], "code", NULL))
		return result;
	ctl_complain("%s: its retriever is of an earlier release, and knows no codes: systemctl "
		     "restart migrate-retriever@%s",
		     ctl->volume, ctl->volume);
	return CTL_REFUSED;
}

static enum ctl_exit list_all(struct listing *listing, struct ctl_link *link)
{
	gint64 start = 0;

	while (start >= 0) {
		g_autofree char *question = command(listing->ctl, start);
		g_autoptr(GKeyFile) reply = NULL;
		enum ctl_exit result = ctl_ask(link, question, false, &reply);

		if (result)
			return result;
		listing->total = ctl_number(reply, "errors", "total");
		gint64 next = list_part(listing, reply, start);
		if (next == start) {
			ctl_complain("%s: the rest of the list does not come; restart the "
				     "retriever with: systemctl restart migrate-retriever@%s",
				     listing->ctl->volume, listing->ctl->volume);
			return CTL_REFUSED;
		}
		start = next;
	}
	return CTL_OK;
}

enum ctl_exit ctl_each_error(const struct ctl *ctl, struct ctl_link *link, ctl_error_fn each,
			     void *arg)
{
	struct listing listing = {.ctl = ctl, .kind = "error ", .each = each, .arg = arg};

	return list_all(&listing, link);
}

static void hint(const struct listing *listing)
{
	const char *volume = listing->ctl->volume;

	if (listing->total >= MANY)
		ctl_hint("%s: " TEXT_COUNT
			 "; how many of each kind: migratectl errors %s --summary",
			 volume, TEXT_COUNTED(listing->total, "errors"), volume);
	ctl_hint("%s: when a cause is removed: migratectl retry %s; what can never come: "
		 "migratectl skip %s PATH",
		 volume, volume, volume);
}

static enum ctl_exit list_errors(const struct ctl *ctl)
{
	struct listing listing = {.ctl = ctl, .kind = opt_summary ? "reason " : "error "};
	enum ctl_exit result;
	struct ctl_link *link;

	if ((result = ctl_check_codes(ctl)))
		return result;
	link = ctl_link_open(ctl, ctl->volume, &result);
	if (!link)
		return result;
	result = list_all(&listing, link);
	if (!result && ctl->json)
		puts(listing.begun ? "]" : "[]");
	else if (!result && listing.begun && !opt_summary)
		hint(&listing);
	ctl_link_close(link);
	return result;
}

static enum ctl_exit run_errors(const struct ctl *ctl)
{
	if (ctl->many && (!opt_summary || ctl->json)) {
		ctl_complain("errors: of several volumes there is a --summary only, without "
			     "--json: give that, or one NAME");
		return CTL_USAGE;
	}
	if (opt_summary && (ctl->reason || ctl->below || ctl->code)) {
		ctl_complain("errors: --summary counts all: without --reason, --below and --code");
		return CTL_USAGE;
	}
	if (!ctl_check_filter(ctl, "errors"))
		return CTL_USAGE;
	return ctl_in_turn(ctl, list_errors);
}

static const GOptionEntry errors_options[] = {
	CTL_OPTION_JSON,
	CTL_OPTIONS_VOLUMES,
	CTL_FLAG("summary", opt_summary, "how many there are for each reason"),
	CTL_OPTIONS_FILTER,
	{NULL},
};

CTL_COMMAND(errors, "errors", "NAME...", 1, G_MAXINT, "list what failed, and why",
	    .example = "errors --summary --all", .changes = "nothing", .options = errors_options,
	    .flags = CTL_AT_ONCE);
