/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/migrate.h"
#include "ctl/doctor/paths.h"
#include "lib/base/last_error.h"
#include "lib/config/config.h"

#define RESTARTS_MAX   2
#define SILENT_PATH_MS 5000

struct ctl_link {
	char *name, *socket;
	struct migrate_volume *volume;
	bool done;
	int status;
	char *text;
};

struct ctl ctl_given;

gboolean ctl_complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	fprintf(stderr, PROGRAM ": %s\n", text);
	return FALSE;
}

char *ctl_read_text(const char *file, bool needed)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	gsize len = 0;

	if (!g_file_get_contents(file, &text, &len, &error)) {
		if (!needed && g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
			return g_strdup("");
		ctl_complain("%s", error->message);
		return NULL;
	}
	if (strlen(text) == len)
		return g_steal_pointer(&text);
	ctl_complain("%s: it holds a NUL byte: it must be a text file, in UTF-8", file);
	return NULL;
}

void ctl_hint(const char *format, ...)
{
	va_list args;

	if (!isatty(STDOUT_FILENO) || !isatty(STDERR_FILENO))
		return;
	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	fprintf(stderr, PROGRAM ": %s\n", text);
}

struct volume_config *ctl_config(const struct ctl *ctl)
{
	g_autoptr(GError) error = NULL;
	struct volume_config *config = config_load(ctl->config_file, ctl->volume, &error);

	if (!config)
		ctl_complain("%s", error->message);
	return config;
}

struct volume_config *ctl_known_config(const struct ctl *ctl)
{
	return ctl->socket ? NULL : config_load(ctl->config_file, ctl->volume, NULL);
}

char *ctl_silent_path(const struct ctl *ctl, const char *volume)
{
	g_autoptr(GPtrArray) names = config_names(ctl->config_file, NULL);
	g_autoptr(GPtrArray) paths = g_ptr_array_new();

	for (unsigned i = 0; names && i < names->len; i++) {
		const struct volume_name *name = names->pdata[i];

		if (name->root)
			g_ptr_array_add(paths, name->root);
		if (name->source && g_str_has_prefix(name->source, "file://") &&
		    !strcmp(name->name, volume))
			g_ptr_array_add(paths, name->source + strlen("file://"));
	}
	g_ptr_array_add(paths, NULL);
	return g_strdup(paths_find_silent((const char *const *)paths->pdata, SILENT_PATH_MS));
}

bool ctl_may_connect(const char *socket)
{
	return !socket || access(socket, R_OK | W_OK) == 0 || errno != EACCES;
}

/* For users other than root, who may not even see the volume's root.  NULL with error set. */
static char *named_socket(const struct ctl *ctl, const char *volume, GError **error)
{
	g_autoptr(GPtrArray) names = config_names(ctl->config_file, error);

	for (unsigned i = 0; names && i < names->len; i++) {
		const struct volume_name *name = names->pdata[i];

		if (!strcmp(name->name, volume))
			return g_strdup(name->socket);
	}
	if (names)
		g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_GROUP_NOT_FOUND,
			    "%s: no such volume; see " PROGRAM " status", volume);
	return NULL;
}

char *ctl_socket(const struct ctl *ctl, const char *volume)
{
	g_autoptr(GError) error = NULL;
	struct volume_config *config;
	char *socket;

	if (ctl->socket)
		return g_strdup(ctl->socket);
	if (geteuid() != 0) {
		socket = named_socket(ctl, volume, &error);
		return socket || ctl_complain("%s", error->message) ? socket : NULL;
	}
	config = config_load(ctl->config_file, volume, &error);
	if (!config) {
		ctl_complain("%s", error->message);
		return NULL;
	}
	socket = g_strdup(config->socket);
	config_free(config);
	return socket;
}

struct ctl_link *ctl_link_open(const struct ctl *ctl, const char *volume, enum ctl_exit *result)
{
	g_autofree char *socket = ctl_socket(ctl, volume);
	struct migrate_volume *handle;

	*result = CTL_USAGE;
	if (!socket)
		return NULL;
	if (!ctl_may_connect(socket)) {
		ctl_complain_of(volume, -EACCES, NULL);
		*result = CTL_REFUSED;
		return NULL;
	}
	int failed = migrate_volume_new(volume, socket, MIGRATE_ROLE_CONTROL, &handle);
	if (failed) {
		ctl_complain("%s: the retriever's socket %s cannot be used: %s; give another one "
			     "in the configuration",
			     volume, socket, g_strerror(-failed));
		return NULL;
	}
	struct ctl_link *link = g_new0(struct ctl_link, 1);
	link->name = g_strdup(volume);
	link->socket = g_steal_pointer(&socket);
	link->volume = handle;
	*result = CTL_OK;
	return link;
}

void ctl_link_close(struct ctl_link *link)
{
	if (!link)
		return;
	migrate_volume_free(link->volume);
	g_free(link->text);
	g_free(link->name);
	g_free(link->socket);
	g_free(link);
}

static void take_link_answer(void *arg, int status, const char *text)
{
	struct ctl_link *link = arg;

	link->done = true;
	link->status = status;
	g_free(link->text);
	link->text = g_strdup(text);
}

bool ctl_link_is_silent(const struct ctl_link *link)
{
	return link->status == -ETIME;
}

enum ctl_exit ctl_exit_of(int status)
{
	if (status == -ENOTCONN || status == -ETIME || status == -EPROTO)
		return CTL_NO_RETRIEVER;
	return status ? CTL_REFUSED : CTL_OK;
}

static enum ctl_exit wait_for_answer(struct ctl_link *link, uint64_t request)
{
	int64_t seen = g_get_monotonic_time();

	while (!link->done) {
		int64_t now = g_get_monotonic_time();
		int error = migrate_volume_dispatch(link->volume, 200);
		bool listens = migrate_volume_reached(link->volume);

		if (migrate_volume_connected(link->volume))
			seen = now;
		if (!link->done &&
		    (error == -EPROTO ||
		     now - seen > (listens ? CTL_SILENT_MS : CTL_ABSENT_MS) * 1000)) {
			migrate_cancel(link->volume, request);
			while (!link->done)
				migrate_volume_dispatch(link->volume, 200);
			link->status = error == -EPROTO ? -EPROTO : listens ? -ETIME : -ENOTCONN;
			g_free(link->text);
			link->text = last_error_get(link->socket);
		}
	}
	return ctl_exit_of(link->status);
}

void ctl_complain_of(const char *name, int status, const char *text)
{
	if (status == -ENOTCONN && text && *text)
		ctl_complain("%s: the retriever does not run: %s; once that is right: systemctl "
			     "restart migrate-retriever@%s",
			     name, text, name);
	else if (status == -ENOTCONN)
		ctl_complain("%s: the retriever is not running; start it with: "
			     "systemctl start migrate-retriever@%s",
			     name, name);
	else if (status == -ETIME)
		ctl_complain("%s: the retriever is running and does not answer; see what it does: "
			     "journalctl -u migrate-retriever@%s",
			     name, name);
	else if (status == -EPROTO)
		ctl_complain("%s: the retriever is of another version; restart it with: "
			     "systemctl restart migrate-retriever@%s",
			     name, name);
	else if (status == -EACCES && !text)
		ctl_complain("%s: only root may talk to the retriever; " CTL_WHO_MAY, name);
	else
		ctl_complain("%s: %s", name, text && *text ? text : g_strerror(-status));
}

/* If the retriever restarts for the command, it is asked again. */
static enum ctl_exit send_link_command(struct ctl_link *link, const char *command)
{
	enum ctl_exit result;

	for (unsigned i = 0;; i++) {
		link->done = false;
		g_clear_pointer(&link->text, g_free);
		uint64_t request = migrate_control(link->volume, command, take_link_answer, link);
		if (!request) {
			link->status = -errno;
			return CTL_REFUSED;
		}
		result = wait_for_answer(link, request);
		if (link->status != -ERESTART || i == RESTARTS_MAX)
			return result;
	}
}

GKeyFile *ctl_parse(char *text)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	/* A reply that did not fit into a frame may end anywhere; its whole lines are good. */
	char *end = strrchr(text, '\n');

	if (end)
		end[1] = '\0';
	return g_key_file_load_from_data(file, text, (gsize)-1, G_KEY_FILE_NONE, NULL)
		       ? g_steal_pointer(&file)
		       : NULL;
}

enum ctl_exit ctl_ask(struct ctl_link *link, const char *command, bool quiet, GKeyFile **reply)
{
	enum ctl_exit result = send_link_command(link, command);

	if (result) {
		if (!quiet)
			ctl_complain_of(link->name, link->status, link->text);
		return result;
	}
	if (!reply)
		return CTL_OK;
	*reply = ctl_parse(link->text);
	if (!*reply) {
		ctl_complain("%s: the retriever's answer to \"%s\" makes no sense; restart it, so "
			     "that both are of one version",
			     link->name, command);
		return CTL_REFUSED;
	}
	return CTL_OK;
}

enum ctl_exit ctl_ask_once(const struct ctl *ctl, const char *command, GKeyFile **reply)
{
	enum ctl_exit result;
	struct ctl_link *link = ctl_link_open(ctl, ctl->volume, &result);

	if (link)
		result = ctl_ask(link, command, false, reply);
	ctl_link_close(link);
	return result;
}
