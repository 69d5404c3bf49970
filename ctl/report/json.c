/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <json-glib/json-glib.h>

#include "ctl/report/json.h"
#include "ctl/report/members.h"

#include "retriever/progress/history.h"

static void add_report_head(JsonBuilder *builder, const struct final *final)
{
	g_autofree char *made = final_time(final->made), *verdict = final_verdict(final);

	member_number(builder, "quickmigrate_report", FINAL_FORMAT);
	member_text(builder, "volume", final->volume);
	member_text(builder, "root", final->root);
	member_text(builder, "source", final->source);
	member_text(builder, "server", final->server);
	member_text(builder, "version", final->version);
	member_text(builder, "made", made);
	member_text(builder, "state", final->state);
	member_bool(builder, "complete", final_is_complete(final));
	member_text(builder, "verdict", verdict);
}

static void add_comparison(JsonBuilder *builder, const struct final *final)
{
	const struct final_comparison *c = &final->comparison;
	g_autofree char *says = final_contents(final);
	g_autofree char *began = final_time(c->began), *ended = final_time(c->ended);

	member_object(builder, "contents");
	member_bool(builder, "compared", c->any);
	member_text(builder, "says", says);
	if (c->any) {
		member_text(builder, "began", began);
		member_text(builder, "ended", ended);
		json_builder_set_member_name(builder, "percent");
		json_builder_add_double_value(builder, c->sample / (FINAL_ALL / 100.0));
		member_number(builder, "files", c->files);
		member_number(builder, "bytes", c->bytes);
		member_text(builder, "told_by", c->told_by);
	}
	if (c->any && c->sample < FINAL_ALL) {
		member_number(builder, "seed", c->seed);
		json_builder_set_member_name(builder, "confidence");
		json_builder_add_double_value(builder, c->confidence);
	}
	json_builder_end_object(builder);
}

static void add_objects(JsonBuilder *builder, const struct final *final)
{
	const struct manifest_count *count = &final->count;
	g_autofree char *sums = final_sums(final);

	member_object(builder, "objects");
	member_number(builder, final->comparison.any ? "old_server" : "together",
		      final_old_objects(final));
	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++) {
		g_autofree char *key = g_strdelimit(g_strdup(proof_status_name(i)), "-", '_');

		member_number(builder, key, count->status[i]);
	}
	member_number(builder, "not_in_manifest", final->unlisted);
	member_bool(builder, "sums_add_up", !*sums);
	member_text(builder, "sums", sums);
	if (final->names_here >= 0)
		member_number(builder, "names_here_now", final->names_here);
	json_builder_end_object(builder);
	member_object(builder, "manifest");
	member_number(builder, "entries", count->entries);
	member_number(builder, "directories", count->directories);
	member_number(builder, "files", count->files);
	member_number(builder, "links", count->links);
	member_number(builder, "others", count->others);
	member_number(builder, "bytes", count->bytes);
	member_number(builder, "hashed", count->hashed);
	json_builder_end_object(builder);
}

static void add_lists(JsonBuilder *builder, const struct final *final)
{
	member_object(builder, "lists");
	for (unsigned i = 0; i < FINAL_KINDS; i++) {
		const struct final_list *list = &final->lists[i];

		member_object(builder, final_kind_key(i));
		member_text(builder, "what", final_kind_title(i));
		member_number(builder, "total", list->total);
		json_builder_set_member_name(builder, "first");
		json_builder_begin_array(builder);
		for (guint n = 0; n < list->first->len; n++) {
			const struct final_line *line = g_ptr_array_index(list->first, n);

			json_builder_begin_object(builder);
			member_text(builder, "path", line->path);
			member_text(builder, "what", line->what);
			json_builder_end_object(builder);
		}
		json_builder_end_array(builder);
		json_builder_end_object(builder);
	}
	json_builder_end_object(builder);
}

static void add_parts(JsonBuilder *builder, const struct final *final)
{
	json_builder_set_member_name(builder, "parts");
	json_builder_begin_array(builder);
	for (guint i = 0; i < final->parts->len; i++) {
		const struct final_part *part = g_ptr_array_index(final->parts, i);

		json_builder_begin_object(builder);
		member_text(builder, "file", part->file);
		member_number(builder, "bytes", part->bytes);
		member_text(builder, "sha256", part->sha256);
		json_builder_end_object(builder);
	}
	json_builder_end_array(builder);
}

static void add_history(JsonBuilder *builder, const struct history *history)
{
	json_builder_set_member_name(builder, "progress");
	json_builder_begin_array(builder);
	for (guint i = 0; history && i < history->points->len; i++) {
		const struct history_point *p =
			&g_array_index(history->points, struct history_point, i);
		const gint64 values[] = {p->time, p->objects_found, p->objects_whole,
					 p->bytes_found, p->bytes_whole};

		json_builder_begin_array(builder);
		for (unsigned n = 0; n < G_N_ELEMENTS(values); n++)
			json_builder_add_int_value(builder, values[n]);
		json_builder_end_array(builder);
	}
	json_builder_end_array(builder);
}

char *final_json(const struct final *final)
{
	g_autoptr(JsonBuilder) builder = json_builder_new();
	g_autoptr(JsonNode) root = NULL;
	g_autofree char *text = NULL;

	json_builder_begin_object(builder);
	add_report_head(builder, final);
	add_comparison(builder, final);
	add_objects(builder, final);
	add_parts(builder, final);
	add_lists(builder, final);
	add_history(builder, final->history);
	json_builder_end_object(builder);
	root = json_builder_get_root(builder);
	text = json_to_string(root, TRUE);
	return g_strconcat(text, "\n", NULL);
}
