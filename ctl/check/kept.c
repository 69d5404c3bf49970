/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/base/error.h"

#define FORMAT 1
#define GROUP  "check"
#define STATE  "state"

gboolean kept_open(struct kept *kept, const char *output, const char *name, GError **error)
{
	g_autofree char *directory = g_strconcat(name, KEPT_SUFFIX, NULL);

	kept->path = g_build_filename(output, directory, NULL);
	kept->dir_fd = -1;
	if (g_mkdir_with_parents(kept->path, 0700) == 0)
		kept->dir_fd = open(kept->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (kept->dir_fd < 0) {
		error_set(error, errno, "%s: %s; name another place with --output", kept->path,
			  g_strerror(errno));
	} else if (flock(kept->dir_fd, LOCK_EX | LOCK_NB) < 0) {
		error_set(error, errno, "%s: another check of it is under way", kept->path);
	} else {
		return TRUE;
	}
	kept_close(kept);
	return FALSE;
}

void kept_close(struct kept *kept)
{
	if (kept->dir_fd >= 0)
		close(kept->dir_fd);
	g_free(kept->path);
	*kept = (struct kept){.dir_fd = -1};
}

void kept_forget(struct kept *kept)
{
	struct pending *none = pending_new(kept->dir_fd);

	unlinkat(kept->dir_fd, STATE, 0);
	pending_load(none, NULL, NULL);
	pending_free(none);
}

void kept_remove(struct kept *kept)
{
	kept_forget(kept);
	rmdir(kept->path);
}

gboolean kept_save(struct kept *kept, struct walk *walk, const struct survey *survey,
		   GError **error)
{
	g_autofree char *path = g_build_filename(kept->path, STATE, NULL);
	g_autoptr(GKeyFile) state = g_key_file_new();
	g_autofree char *text = NULL;
	gsize len;

	g_key_file_set_integer(state, GROUP, "format", FORMAT);
	g_key_file_set_string(state, GROUP, "source", survey->source);
	g_key_file_set_uint64(state, GROUP, "share", survey->share);
	g_key_file_set_uint64(state, GROUP, "requests", survey->requests + gate_passed(walk->gate));
	g_key_file_set_double(state, GROUP, "seconds", survey->seconds);
	g_key_file_set_uint64(state, GROUP, "runs", survey->runs);
	tally_save(walk->tally, state);
	notices_save(walk->notices, state);
	readable_save(walk->readable, state);
	samples_save(walk->samples, state);
	if (!pending_keep(walk->pending, state, error))
		return FALSE;
	text = g_key_file_to_data(state, &len, NULL);
	if (!g_file_set_contents_full(path, text, (gssize)len,
				      G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE,
				      0600, error))
		return FALSE;
	pending_kept(walk->pending);
	return TRUE;
}

gboolean kept_load(struct kept *kept, struct walk *walk, struct survey *survey, GError **error)
{
	g_autofree char *path = g_build_filename(kept->path, STATE, NULL);
	g_autoptr(GKeyFile) state = g_key_file_new();
	g_autofree char *source = NULL;

	if (g_key_file_load_from_file(state, path, G_KEY_FILE_NONE, NULL))
		source = g_key_file_get_string(state, GROUP, "source", NULL);
	if (!source || g_strcmp0(source, survey->source) != 0 ||
	    g_key_file_get_integer(state, GROUP, "format", NULL) != FORMAT ||
	    g_key_file_get_uint64(state, GROUP, "share", NULL) != survey->share) {
		pending_load(walk->pending, NULL, NULL); /* what is there is another's */
		return FALSE;
	}
	survey->requests = g_key_file_get_uint64(state, GROUP, "requests", NULL);
	survey->seconds = g_key_file_get_double(state, GROUP, "seconds", NULL);
	survey->runs = (unsigned)g_key_file_get_uint64(state, GROUP, "runs", NULL);
	if (!tally_load(walk->tally, state) || !notices_load(walk->notices, state) ||
	    !readable_load(walk->readable, state) || !samples_load(walk->samples, state))
		return error_set(error, EBADMSG, "%s: damaged; remove %s to begin anew", path,
				 kept->path);
	return pending_load(walk->pending, state, error);
}
