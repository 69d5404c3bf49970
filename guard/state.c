/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "guard/process.h"
#include "lib/config/config.h"

int state_hold(const char *socket, int *lock, GError **error)
{
	g_autofree char *path = g_strconcat(socket, GUARD_STATE_SUFFIX, NULL);
	g_autofree char *lock_path = g_strconcat(socket, GUARD_LOCK_SUFFIX, NULL);
	int fd;

	*lock = open(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	fd = *lock < 0 || flock(*lock, LOCK_EX | LOCK_NB) < 0
		     ? -1
		     : open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd >= 0)
		return fd;
	g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno), "%s: %s", path,
		    errno == EWOULDBLOCK ? "the volume has a guard already" : g_strerror(errno));
	if (*lock >= 0)
		close(*lock);
	*lock = -1;
	return -1;
}

void state_forget_ended(struct state *state)
{
	g_autofree char *now = state->public_server ? process_text(state->public_tid) : NULL;

	if (g_strcmp0(now, state->public_server) != 0)
		g_clear_pointer(&state->public_server, g_free);
}

void state_put(int fd, const struct state *state)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *text = NULL;
	gsize len;

	g_key_file_set_string(file, "guard", "mode", state->mode);
	g_key_file_set_boolean(file, "guard", "attached", state->attached);
	g_key_file_set_uint64(file, "guard", "waiting", state->waiting);
	g_key_file_set_uint64(file, "guard", "refused", state->refused);
	if (state->public_server)
		g_key_file_set_string(file, "guard", "public-server", state->public_server);
	if (state->past)
		g_key_file_set_string(file, "guard", "past", state->past);
	(void)!flock(fd, LOCK_EX | LOCK_NB); /* unless somebody looks just now */
	text = g_key_file_to_data(file, &len, NULL);
	if (pwrite(fd, text, len, 0) == (ssize_t)len)
		(void)!ftruncate(fd, (off_t)len);
}
