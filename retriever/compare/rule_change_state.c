/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/rule_change_state.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/text.h"

#define TOLD	   200	 /* of those that stay */
#define TOLD_BYTES 16384 /* a reply holds 64 KiB, and bytes may be escaped */

struct sum *rule_change_sum(struct change *c, const char *rule)
{
	struct sum *sum = g_hash_table_lookup(c->sums, rule);

	if (!sum) {
		sum = g_new0(struct sum, 1);
		g_hash_table_insert(c->sums, g_strdup(rule), sum);
	}
	return sum;
}

void rule_change_tell(struct change *c, const char *path, const char *why)
{
	g_autofree char *group = g_strdup_printf("stays %" G_GUINT64_FORMAT, c->stays++);
	g_autofree char *shown = text_line(path);

	c->told_bytes += strlen(shown) + strlen(why);
	if (c->stays > TOLD || c->told_bytes > TOLD_BYTES)
		return;
	g_key_file_set_string(c->told, group, "path", shown);
	g_key_file_set_string(c->told, group, "why", why);
}

void rule_change_split(const char *path, char **dir, char **name)
{
	const char *slash = strrchr(path, '/');

	*dir = slash ? g_strndup(path, (gsize)(slash - path)) : g_strdup("");
	*name = g_strdup(slash ? slash + 1 : path);
}

const char *rule_change_why(enum journal_answer answer)
{
	switch (answer) {
	case JOURNAL_UNCHANGED:
		return NULL;
	case JOURNAL_CHANGED:
		return "a client has made or changed it, or may have: it is the client's";
	default:
		return "the journal does not know whether a client has changed it";
	}
}

const char *rule_change_settle(struct change *c)
{
	if (!c->unsettled)
		clients_settle(c->clients, &c->unsettled);
	return c->unsettled;
}

const char *rule_change_why_directory(const struct change *c, int dir_fd)
{
	int fd = retriever_open_name(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_NOATIME);
	const char *why = NULL;

	while (fd >= 0 && !why) {
		enum journal_answer answer;
		struct migrate_binding key;
		struct journal_row row;
		int up;

		if (migrate_binding_get(fd, "", &key))
			break;
		if (migrate_binding_equal(&key, &c->retriever->root_key)) {
			close(fd);
			return NULL;
		}
		answer = clients_find(c->clients, &key, &row);
		if (answer == JOURNAL_CHANGED &&
		    row.flags & (JOURNAL_MADE | JOURNAL_NAMES | JOURNAL_SCANNED))
			why = "a client has made or moved its directory, or may have";
		else if (answer != JOURNAL_CHANGED)
			why = rule_change_why(answer);
		up = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
		close(fd);
		fd = up;
	}
	if (fd >= 0)
		close(fd);
	return why ? why : "its directory cannot be looked at";
}

/* One look at an object and all that is in it. */
