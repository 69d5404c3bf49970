/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ask_all.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "common/migrate.h"
#include "lib/base/last_error.h"
#include "lib/config/config.h"

#define LOOK_MS 100 /* how often retrievers that do not answer are looked at */

static void take_answer(void *arg, int status, const char *text)
{
	struct ask_all_member *member = arg;

	if (!member->request) /* given up */
		return;
	member->request = 0;
	member->waits = false;
	member->status = status;
	g_free(member->text);
	member->text = g_strdup(text);
	g_clear_pointer(&member->reply, g_key_file_unref);
	if (status)
		return;
	member->reply = ctl_parse(member->text);
	if (!member->reply)
		member->status = -EPROTO;
}

struct ask_all *ask_all_new(const struct ctl *ctl)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) names = config_names(ctl->config_file, &error);
	struct ask_all *crowd;

	if (!names) {
		ctl_complain("%s", error->message);
		return NULL;
	}
	crowd = g_new0(struct ask_all, 1);
	crowd->members = g_new0(struct ask_all_member, g_strv_length(ctl->volumes) + 1);
	for (char **volume = ctl->volumes; *volume; volume++) {
		struct ask_all_member *member = &crowd->members[crowd->n++];
		const char *socket = NULL;

		for (unsigned i = 0; i < names->len; i++) {
			const struct volume_name *name = names->pdata[i];

			if (!strcmp(name->name, *volume))
				socket = name->socket;
		}
		member->name = g_strdup(*volume);
		member->socket = g_strdup(socket);
		member->status = -EACCES;
		if (!ctl_may_connect(socket))
			continue;
		member->status =
			migrate_volume_new(*volume, socket, MIGRATE_ROLE_CONTROL, &member->volume);
	}
	return crowd;
}

void ask_all_free(struct ask_all *crowd)
{
	if (!crowd)
		return;
	for (unsigned i = 0; i < crowd->n; i++) {
		struct ask_all_member *member = &crowd->members[i];

		migrate_volume_free(member->volume);
		g_clear_pointer(&member->reply, g_key_file_unref);
		g_free(member->text);
		g_free(member->socket);
		g_free(member->name);
	}
	g_free(crowd->members);
	g_free(crowd);
}

void ask_all_ask(struct ask_all *crowd, const char *command)
{
	for (unsigned i = 0; i < crowd->n; i++) {
		struct ask_all_member *member = &crowd->members[i];

		if (member->waits || !member->volume)
			continue;
		member->asked = member->seen = g_get_monotonic_time();
		member->request = migrate_control(member->volume, command, take_answer, member);
		member->waits = member->request != 0;
		if (!member->waits)
			member->status = -errno;
	}
}

/* Nobody can answer any more: notes that. */
static void give_up(struct ask_all_member *member, int status)
{
	migrate_cancel(member->volume, member->request);
	member->request = 0;
	member->waits = false;
	member->status = status;
	g_free(member->text);
	member->text = status == -ENOTCONN ? last_error_get(member->socket) : NULL;
	g_clear_pointer(&member->reply, g_key_file_unref);
}

static void look_at_member(struct ask_all_member *member, gint64 now)
{
	int error = migrate_volume_dispatch(member->volume, 0);
	gint64 since;

	if (!member->waits)
		return;
	if (migrate_volume_connected(member->volume))
		member->seen = now;
	since = (now - member->seen) / 1000;
	if (error == -EPROTO)
		give_up(member, -EPROTO);
	else if (migrate_volume_reached(member->volume) && since > CTL_SILENT_MS)
		give_up(member, -ETIME);
	else if (!migrate_volume_reached(member->volume) && since > CTL_ABSENT_MS)
		give_up(member, -ENOTCONN);
}

static bool somebody_waits(const struct ask_all *crowd)
{
	for (unsigned i = 0; i < crowd->n; i++)
		if (crowd->members[i].waits)
			return true;
	return false;
}

void ask_all_wait(struct ask_all *crowd, gint64 deadline)
{
	g_autofree struct pollfd *fds = g_new0(struct pollfd, crowd->n);
	gint64 now = g_get_monotonic_time();

	for (unsigned i = 0; i < crowd->n; i++)
		fds[i] = (struct pollfd){
			.fd = crowd->members[i].volume ? migrate_volume_fd(crowd->members[i].volume)
						       : -1,
			.events = POLLIN,
		};
	while (somebody_waits(crowd) && (!deadline || now < deadline)) {
		gint64 left = deadline ? (deadline - now + 999) / 1000 : LOOK_MS;

		poll(fds, crowd->n, (int)MIN(left, LOOK_MS));
		now = g_get_monotonic_time();
		for (unsigned i = 0; i < crowd->n; i++)
			if (crowd->members[i].volume)
				look_at_member(&crowd->members[i], now);
	}
}
