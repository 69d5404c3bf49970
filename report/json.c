/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <json-glib/json-glib.h>

#include "report/json.h"

#include "source/refused.h"
#include "volume/history.h"

static void add_text(JsonBuilder *builder, const char *key, const char *text)
{
	g_autofree char *valid = refused_utf8(text ? text : "");

	json_builder_set_member_name(builder, key);
	json_builder_add_string_value(builder, valid);
}

static void add_number(JsonBuilder *builder, const char *key, uint64_t number)
{
	json_builder_set_member_name(builder, key);
	json_builder_add_int_value(builder, (gint64)number);
}

static void add_bool(JsonBuilder *builder, const char *key, bool value)
{
	json_builder_set_member_name(builder, key);
	json_builder_add_boolean_value(builder, value);
}

static void begin(JsonBuilder *builder, const char *key)
{
	json_builder_set_member_name(builder, key);
	json_builder_begin_object(builder);
}

static void add_head(JsonBuilder *builder, const struct final *final)
{
	g_autofree char *made = final_time(final->made), *verdict = final_verdict(final);

	add_number(builder, "quickmigrate_report", FINAL_FORMAT);
	add_text(builder, "volume", final->volume);
	add_text(builder, "root", final->root);
	add_text(builder, "source", final->source);
	add_text(builder, "server", final->server);
	add_text(builder, "version", final->version);
	add_text(builder, "made", made);
	add_text(builder, "state", final->state);
	add_bool(builder, "complete", final_is_complete(final));
	add_text(builder, "verdict", verdict);
}

static void add_comparison(JsonBuilder *builder, const struct final *final)
{
	const struct final_comparison *c = &final->comparison;
	g_autofree char *says = final_contents(final);
	g_autofree char *began = final_time(c->began), *ended = final_time(c->ended);

	begin(builder, "contents");
	add_bool(builder, "compared", c->any);
	add_text(builder, "says", says);
	if (c->any) {
		add_text(builder, "began", began);
		add_text(builder, "ended", ended);
		json_builder_set_member_name(builder, "percent");
		json_builder_add_double_value(builder, c->sample / (FINAL_ALL / 100.0));
		add_number(builder, "files", c->files);
		add_number(builder, "bytes", c->bytes);
		add_text(builder, "told_by", c->told_by);
	}
	if (c->any && c->sample < FINAL_ALL) {
		add_number(builder, "seed", c->seed);
		json_builder_set_member_name(builder, "confidence");
		json_builder_add_double_value(builder, c->confidence);
	}
	json_builder_end_object(builder);
}

static void add_objects(JsonBuilder *builder, const struct final *final)
{
	const struct manifest_count *count = &final->count;
	g_autofree char *sums = final_sums(final);

	begin(builder, "objects");
	add_number(builder, final->comparison.any ? "old_server" : "together",
		   final_old_objects(final));
	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++) {
		g_autofree char *key = g_strdelimit(g_strdup(proof_status_name(i)), "-", '_');

		add_number(builder, key, count->status[i]);
	}
	add_number(builder, "not_in_manifest", final->unlisted);
	add_bool(builder, "sums_add_up", !*sums);
	add_text(builder, "sums", sums);
	if (final->names_here >= 0)
		add_number(builder, "names_here_now", final->names_here);
	json_builder_end_object(builder);
	begin(builder, "manifest");
	add_number(builder, "entries", count->entries);
	add_number(builder, "directories", count->directories);
	add_number(builder, "files", count->files);
	add_number(builder, "links", count->links);
	add_number(builder, "others", count->others);
	add_number(builder, "bytes", count->bytes);
	add_number(builder, "hashed", count->hashed);
	json_builder_end_object(builder);
}

static void add_lists(JsonBuilder *builder, const struct final *final)
{
	begin(builder, "lists");
	for (unsigned i = 0; i < FINAL_KINDS; i++) {
		const struct final_list *list = &final->lists[i];

		begin(builder, final_kind_key(i));
		add_number(builder, "total", list->total);
		json_builder_set_member_name(builder, "first");
		json_builder_begin_array(builder);
		for (guint n = 0; n < list->first->len; n++) {
			const struct final_line *line = g_ptr_array_index(list->first, n);

			json_builder_begin_object(builder);
			add_text(builder, "path", line->path);
			add_text(builder, "what", line->what);
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
		add_text(builder, "file", part->file);
		add_number(builder, "bytes", part->bytes);
		add_text(builder, "sha256", part->sha256);
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
	add_head(builder, final);
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
