/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <json-glib/json-glib.h>
#include <math.h>

#include "ctl/check/show.h"
#include "ctl/check/walk.h"
#include "ctl/report/final.h"
#include "ctl/report/members.h"
#include "lib/base/text.h"

static void member_real(JsonBuilder *builder, const char *key, double value)
{
	json_builder_set_member_name(builder, key);
	json_builder_add_double_value(builder, isfinite(value) ? value : 0);
}

/* null where it could not be told. */
static void member_time(JsonBuilder *builder, const char *key, double seconds)
{
	json_builder_set_member_name(builder, key);
	if (seconds > 0)
		json_builder_add_double_value(builder, round(seconds * 1e6) / 1e6);
	else
		json_builder_add_null_value(builder);
}

static void member_array(JsonBuilder *builder, const char *key)
{
	json_builder_set_member_name(builder, key);
	json_builder_begin_array(builder);
}

static void add_head(JsonBuilder *builder, const struct survey *survey)
{
	g_autofree char *made = final_time(survey->made), *text = survey_verdict_text(survey);
	g_autoptr(GPtrArray) stops = survey_stops(survey);

	member_number(builder, "quickmigrate_check", SHOW_FORMAT);
	member_text(builder, "name", survey->name);
	member_text(builder, "source", survey->source);
	member_text(builder, "version", survey->version);
	member_text(builder, "made", made);
	member_text(builder, "verdict", survey_verdict_key(survey_verdict(survey)));
	member_text(builder, "says", text);
	member_array(builder, "stops");
	for (guint i = 0; i < stops->len; i++) {
		g_autofree char *stop = text_utf8(stops->pdata[i]);

		json_builder_add_string_value(builder, stop);
	}
	json_builder_end_array(builder);
}

/* ---- what there is --------------------------------------------------------------------------- */

static void add_classes(JsonBuilder *builder, const char *key, const struct tally_class *classes,
			unsigned n, const char *(*title)(unsigned class))
{
	member_array(builder, key);
	for (unsigned i = 0; i < n; i++) {
		json_builder_begin_object(builder);
		member_text(builder, "class", title(i));
		member_number(builder, "objects", classes[i].objects);
		member_number(builder, "bytes", classes[i].bytes);
		json_builder_end_object(builder);
	}
	json_builder_end_array(builder);
}

static void add_top(JsonBuilder *builder, const char *key, const struct tally_top *top,
		    const char *value)
{
	member_array(builder, key);
	for (unsigned i = 0; i < top->n; i++) {
		json_builder_begin_object(builder);
		member_text(builder, "path", *top->places[i].path ? top->places[i].path : ".");
		member_number(builder, value, top->places[i].value);
		if (top->places[i].seconds > 0)
			member_time(builder, "seconds", top->places[i].seconds);
		json_builder_end_object(builder);
	}
	json_builder_end_array(builder);
}

static void add_tree(JsonBuilder *builder, const struct survey *survey)
{
	const struct tally *tally = &survey->tally;

	member_object(builder, "tree");
	member_number(builder, "objects", tally_objects(tally));
	for (unsigned i = 0; i < TALLY_TYPES; i++)
		member_number(builder, tally_type_key(i), tally->types[i]);
	member_number(builder, "bytes", tally->bytes);
	member_number(builder, "bytes_used", tally->used);
	member_number(builder, "names_of_linked_files", tally->linked);
	member_number(builder, "asked", tally->asked);
	member_number(builder, "with_acl", tally->acls);
	member_number(builder, "with_attributes", tally->xattrs);
	member_number(builder, "on_other_file_systems", tally->file_systems);
	member_number(builder, "depth", tally->depth);
	add_classes(builder, "sizes", tally->sizes, TALLY_SIZES, tally_size_title);
	add_classes(builder, "ages", tally->ages, TALLY_AGES, tally_age_title);
	add_top(builder, "widest", &tally->wide, "entries");
	add_top(builder, "heaviest", &tally->heavy, "bytes");
	add_top(builder, "longest_paths", &tally->paths, "bytes");
	add_top(builder, "longest_names", &tally->names, "bytes");
	json_builder_end_object(builder);
}

/* ---- what cannot come ------------------------------------------------------------------------ */

static void add_loss(JsonBuilder *builder, const struct survey *survey, enum notice_kind kind)
{
	const GPtrArray *first = notices_first(survey->notices, kind);

	member_object(builder, notice_key(kind));
	member_text(builder, "what", notice_title(kind));
	member_number(builder, "total", notices_total(survey->notices, kind));
	member_array(builder, "first");
	for (guint i = 0; i < first->len; i++) {
		const struct notice_line *line = first->pdata[i];
		g_autofree char *path = text_printable(line->path);
		g_autofree char *text = text_printable(line->text);

		json_builder_begin_object(builder);
		if (*path)
			member_text(builder, "path", path);
		else
			member_number(builder, "objects", line->count);
		if (kind == NOTE_RULE)
			member_number(builder, "bytes", line->bytes);
		member_text(builder, "text", text);
		json_builder_end_object(builder);
	}
	json_builder_end_array(builder);
	json_builder_end_object(builder);
}

static void add_losses(JsonBuilder *builder, const struct survey *survey)
{
	g_auto(GStrv) lines = g_strsplit(survey->not_carried ? survey->not_carried : "", "\n", -1);

	member_object(builder, "losses");
	for (unsigned i = 0; i < NOTICE_NOTES; i++)
		add_loss(builder, survey, i);
	json_builder_end_object(builder);
	member_object(builder, "notes");
	for (unsigned i = NOTICE_NOTES; i < NOTE_OWNERS; i++)
		add_loss(builder, survey, i);
	json_builder_end_object(builder);
	member_array(builder, "never_carried");
	for (unsigned i = 0; lines[i]; i++)
		if (*lines[i])
			json_builder_add_string_value(builder, lines[i]);
	json_builder_end_array(builder);
	if (survey->brings)
		member_text(builder, "another_version", survey->brings);
}

static void add_owners(JsonBuilder *builder, const struct survey *survey)
{
	const GPtrArray *owners = notices_first(survey->notices, NOTE_OWNERS);

	member_object(builder, "owners");
	for (guint i = 0; i < owners->len; i++) {
		const struct notice_line *line = owners->pdata[i];
		g_autofree char *owner = text_printable(line->text);

		member_number(builder, owner, line->count);
	}
	json_builder_end_object(builder);
}

/* ---- what it takes --------------------------------------------------------------------------- */

/* null: attach tries it out. */
static void add_capabilities(JsonBuilder *builder, const struct capabilities *found)
{
	member_object(builder, "capabilities");
	for (unsigned i = 0; i < CAPABILITIES; i++) {
		if (found->tried & 1u << i) {
			member_bool(builder, capability_key(i), capabilities_has(found, i));
			continue;
		}
		json_builder_set_member_name(builder, capability_key(i));
		json_builder_add_null_value(builder);
	}
	json_builder_end_object(builder);
}

static void add_target(JsonBuilder *builder, const struct survey *survey)
{
	const struct new_fs *target = &survey->target;
	const struct need *need = &survey->need;
	g_autofree char *mkfs = new_fs_mkfs(target, need);

	member_object(builder, "target");
	member_bool(builder, "known", target->known);
	if (target->known) {
		member_text(builder, "path", target->path);
		member_text(builder, "type", target->limits.name ? target->limits.name : "other");
		member_text(builder, "device", target->device);
		member_number(builder, "bytes", target->total);
		member_number(builder, "bytes_free", target->available);
		member_number(builder, "inodes", target->inodes);
		member_number(builder, "inodes_free", target->inodes_available);
		member_number(builder, "inode_size", target->inode_size);
		member_bool(builder, "empty", !target->filled);
		add_capabilities(builder, &target->capabilities);
	}
	member_number(builder, "bytes_needed", need->bytes);
	member_number(builder, "bytes_needed_at_least", need->least);
	member_number(builder, "bytes_for_stubs", need->stubs);
	member_number(builder, "inodes_needed", need->inodes);
	member_number(builder, "inode_size_needed", need->inode_size);
	member_number(builder, "bytes_per_inode", need->bytes_per_inode);
	member_bool(builder, "space_fits", need->fits);
	member_bool(builder, "inodes_fit", need->inodes_fit);
	member_text(builder, "mkfs", mkfs);
	json_builder_end_object(builder);
}

static void add_source(JsonBuilder *builder, const struct survey *survey)
{
	g_autofree char *rights = survey_rights_text(survey), *says = survey_clock_text(survey);
	const struct measured *m = &survey->measured;

	member_object(builder, "rights");
	member_text(builder, "says", rights);
	member_number(builder, "kinds_tried", read_trials_kinds(survey->trials));
	member_number(builder, "files_not_tried", read_trials_untried(survey->trials));
	json_builder_end_object(builder);
	member_object(builder, "clock");
	member_text(builder, "says", says);
	if (m->clock_by) {
		member_real(builder, "ahead_at_least", (double)m->clock_least / 1e9);
		if (m->clock_most != INT64_MAX)
			member_real(builder, "ahead_at_most", (double)m->clock_most / 1e9);
	}
	json_builder_end_object(builder);
}

static void add_times(JsonBuilder *builder, const struct survey *survey)
{
	const struct measured *m = &survey->measured;
	const struct estimate *e = &survey->estimate;

	member_object(builder, "measured");
	member_time(builder, "round_trip", m->round_trip);
	member_real(builder, "objects_per_second", survey_rate(survey));
	member_real(builder, "small_files_per_second", m->small_rate);
	member_real(builder, "bytes_per_second", m->byte_rate);
	member_real(builder, "load_per_processor", m->busy);
	member_number(builder, "small_files_read", m->small_files);
	member_number(builder, "bytes_read", m->bytes);
	member_number(builder, "reads_failed", m->failed);
	member_time(builder, "seconds", survey->seconds);
	member_number(builder, "requests", survey->requests);
	member_number(builder, "runs", survey->runs);
	member_real(builder, "share_asked", (double)survey->share / WALK_ALL);
	json_builder_end_object(builder);
	member_object(builder, "estimate");
	member_time(builder, "names", e->names);
	member_time(builder, "data", e->data);
	member_time(builder, "crawl", e->crawl);
	member_time(builder, "copy", e->crawl);
	member_time(builder, "further_run", e->again);
	member_time(builder, "widest_listing", e->widest);
	json_builder_end_object(builder);
}

char *show_json(const struct survey *survey)
{
	g_autoptr(JsonBuilder) builder = json_builder_new();
	g_autoptr(JsonNode) root = NULL;
	g_autofree char *text = NULL;

	json_builder_begin_object(builder);
	add_head(builder, survey);
	add_losses(builder, survey);
	add_owners(builder, survey);
	add_target(builder, survey);
	add_source(builder, survey);
	add_times(builder, survey);
	add_tree(builder, survey);
	json_builder_end_object(builder);
	root = json_builder_get_root(builder);
	text = json_to_string(root, TRUE);
	return g_strconcat(text, "\n", NULL);
}
