/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/socket/control_old.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/source/gate.h"
#include "retriever/names/old_directory.h"
#include "retriever/objects/old_handles.h"

#define ASKED_MAX 32 /* under way; a client that gets no answer in time asks again */
#define TEXT_MAX  60000

/* -1: it makes no sense. */
static int parse_handle(const char *text, size_t len, struct source_object *object)
{
	if (len == 0 || len % 2 || len / 2 > sizeof(object->handle))
		return -1;
	for (size_t i = 0; i < len; i += 2) {
		int high = g_ascii_xdigit_value(text[i]), low = g_ascii_xdigit_value(text[i + 1]);

		if (high < 0 || low < 0)
			return -1;
		object->handle[i / 2] = (uint8_t)(high << 4 | low);
	}
	object->handle_len = (uint8_t)(len / 2);
	return 0;
}

static char *print_names(const struct backend_request *req)
{
	g_autoptr(GString) names = g_string_new(NULL);
	const GArray *entries = req->batch->entries;
	guint n = 0;

	for (; n < entries->len && names->len < TEXT_MAX; n++) {
		const struct source_entry *entry = &g_array_index(entries, struct source_entry, n);

		g_string_append_printf(names, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " ",
				       entry->attr.fileid, entry->cookie);
		for (const char *at = entry->name; *at; at++)
			g_string_append_printf(names, "%02x", (uint8_t)*at);
		g_string_append_c(names, '\n');
	}
	return g_strdup_printf("%" G_GUINT64_FORMAT " %d\n%s", req->verf,
			       req->eof && n == entries->len, names->str);
}

static int ask_source(struct retriever *retriever, struct backend_request *req, char **text)
{
	int result;

	req->hurried = true;
	result = gate_call(retriever->gate, req);
	if (!result)
		*text = print_names(req);
	if (req->batch)
		backend_batch_free(req->batch);
	return result;
}

int control_old_admit(struct retriever *retriever, const char *argument, char **text)
{
	if (g_atomic_int_add(&retriever->old_asked, 1) < ASKED_MAX)
		return 0;
	g_atomic_int_add(&retriever->old_asked, -1);
	return -EBUSY;
}

int control_old_names(struct retriever *retriever, const char *argument, char **text)
{
	struct backend_request req = {
		.op = BACKEND_READDIR, .priority = BACKEND_DEMAND, .names_only = true};
	const size_t len = argument ? strcspn(argument, " ") : 0;
	int result = -EINVAL;

	if (!len || parse_handle(argument, len, &req.object) < 0 ||
	    sscanf(argument + len, " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, &req.cookie,
		   &req.verf) != 2)
		*text = g_strdup("names takes a handle, a cookie and a verifier");
	else
		result = ask_source(retriever, &req, text);
	g_atomic_int_add(&retriever->old_asked, -1);
	return result;
}

int control_old_directory(struct retriever *retriever, const char *argument, char **text)
{
	struct source_object object = {0};
	int result = -EINVAL;

	if (!argument || parse_handle(argument, strlen(argument), &object) < 0 ||
	    !old_handles_are_wanted(retriever))
		*text = g_strdup("directory takes a handle, with takeover = all");
	else
		result = old_directory_find(retriever, &object);
	g_atomic_int_add(&retriever->old_asked, -1);
	return result;
}
