/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/summary.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "lib/base/text.h"

#define DEPTH_MAX 16
#define PARTS_MAX 16

#define PARSED_ERROR (g_quark_from_static_string("quickmigrate-parsed"))

static gboolean fail_value(GError **error, const char *what)
{
	g_set_error(error, PARSED_ERROR, 0, "%s", what);
	return FALSE;
}

/* The parser takes a frame of its stack for each bracket, and knows comments, which hide quotes. */
static bool is_flat(const char *text, size_t len)
{
	unsigned depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '/' || c == '#'))
			return false;
		else if (!quoted && (c == '[' || c == '{') && ++depth > DEPTH_MAX)
			return false;
		else if (!quoted && (c == ']' || c == '}') && depth)
			depth--;
	}
	return true;
}

static bool get_number(JsonObject *object, const char *key, uint64_t *number)
{
	JsonNode *node = object ? json_object_get_member(object, key) : NULL;

	if (!node || !JSON_NODE_HOLDS_VALUE(node) ||
	    json_node_get_value_type(node) != G_TYPE_INT64 || json_node_get_int(node) < 0)
		return false;
	*number = json_node_get_int(node);
	return true;
}

/* g_free; NULL: there is none. */
static char *get_text(JsonObject *object, const char *key)
{
	JsonNode *node = json_object_get_member(object, key);

	if (!node || !JSON_NODE_HOLDS_VALUE(node) ||
	    json_node_get_value_type(node) != G_TYPE_STRING)
		return NULL;
	return text_line(json_node_get_string(node));
}

static JsonObject *get_object(JsonObject *object, const char *key)
{
	JsonNode *node = json_object_get_member(object, key);

	return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static bool get_counts(JsonObject *root, struct manifest_count *count)
{
	JsonObject *objects = get_object(root, "objects"), *m = get_object(root, "manifest");

	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++) {
		g_autofree char *key = g_strdelimit(g_strdup(proof_status_name(i)), "-", '_');

		if (!get_number(objects, key, &count->status[i]))
			return false;
	}
	return get_number(m, "entries", &count->entries) &&
	       get_number(m, "directories", &count->directories) &&
	       get_number(m, "files", &count->files) && get_number(m, "links", &count->links) &&
	       get_number(m, "others", &count->others) && get_number(m, "bytes", &count->bytes) &&
	       get_number(m, "hashed", &count->hashed);
}

static bool is_file_name(const char *name)
{
	return *name && *name != '.' && strlen(name) <= 255 && !strchr(name, '/');
}

static bool is_hash(const char *text)
{
	return strlen(text) == PROOF_HASH_HEX && strspn(text, "0123456789abcdef") == PROOF_HASH_HEX;
}

static bool get_part(JsonNode *node, GPtrArray *parts)
{
	JsonObject *object = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
	g_autofree char *file = object ? get_text(object, "file") : NULL;
	g_autofree char *sha256 = object ? get_text(object, "sha256") : NULL;
	struct final_part *part;
	uint64_t bytes;

	if (!file || !sha256 || !is_file_name(file) || !is_hash(sha256) ||
	    !get_number(object, "bytes", &bytes))
		return false;
	part = g_new0(struct final_part, 1);
	part->file = g_steal_pointer(&file);
	part->bytes = bytes;
	g_strlcpy(part->sha256, sha256, sizeof part->sha256);
	g_ptr_array_add(parts, part);
	return true;
}

static bool get_parts(JsonObject *root, GPtrArray *parts)
{
	JsonNode *node = json_object_get_member(root, "parts");
	JsonArray *array = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
	guint n = array ? json_array_get_length(array) : 0;

	for (guint i = 0; i < n && i < PARTS_MAX; i++)
		if (!get_part(json_array_get_element(array, i), parts))
			return false;
	return n > 0 && n <= PARTS_MAX;
}

static gboolean take_value(struct summary *summary, JsonObject *root, GError **error)
{
	JsonNode *complete = json_object_get_member(root, "complete");
	uint64_t format;

	if (!get_number(root, "quickmigrate_report", &format))
		return fail_value(error, "it is not a report of migratectl report --final");
	if (format != FINAL_FORMAT)
		return fail_value(error,
				  "it is of another version: use the migratectl that made it");
	summary->volume = get_text(root, "volume");
	summary->source = get_text(root, "source");
	summary->made = get_text(root, "made");
	summary->verdict = get_text(root, "verdict");
	if (!summary->volume || !summary->source || !summary->made || !summary->verdict ||
	    !complete || !JSON_NODE_HOLDS_VALUE(complete) ||
	    json_node_get_value_type(complete) != G_TYPE_BOOLEAN ||
	    !get_counts(root, &summary->count))
		return fail_value(error, "it is damaged: something is missing or of another type");
	summary->complete = json_node_get_boolean(complete);
	return get_parts(root, summary->parts) ||
	       fail_value(error, "it is damaged: it does not name its parts as it should");
}

static void free_part(gpointer arg)
{
	struct final_part *part = arg;

	g_free(part->file);
	g_free(part);
}

struct summary *summary_new(const char *text, size_t len, GError **error)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	struct summary *summary;
	JsonNode *root;

	if (!is_flat(text, len)) {
		fail_value(error, "it is not a report: it is nested too deep, or has comments");
		return NULL;
	}
	if (!g_utf8_validate(text, (gssize)len, NULL)) {
		fail_value(error, "it is damaged: it is no UTF-8");
		return NULL;
	}
	if (!json_parser_load_from_data(parser, text, (gssize)len, error)) {
		g_prefix_error(error, "it is damaged: ");
		return NULL;
	}
	root = json_parser_get_root(parser);
	if (!root || !JSON_NODE_HOLDS_OBJECT(root)) {
		fail_value(error, "it is not a report");
		return NULL;
	}
	summary = g_new0(struct summary, 1);
	summary->parts = g_ptr_array_new_with_free_func(free_part);
	if (take_value(summary, json_node_get_object(root), error))
		return summary;
	summary_free(summary);
	return NULL;
}

void summary_free(struct summary *summary)
{
	if (!summary)
		return;
	g_free(summary->volume);
	g_free(summary->source);
	g_free(summary->made);
	g_free(summary->verdict);
	g_ptr_array_free(summary->parts, TRUE);
	g_free(summary);
}
