/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/base/error.h"

#define FORMAT 1
#define GROUP  "check"
#define STATE  "state"

gboolean checkpoint_open(struct checkpoint *checkpoint, const char *output, const char *name,
			 GError **error)
{
	g_autofree char *directory = g_strconcat(name, CHECKPOINT_SUFFIX, NULL);

	checkpoint->path = g_build_filename(output, directory, NULL);
	checkpoint->dir_fd = -1;
	if (g_mkdir_with_parents(checkpoint->path, 0700) == 0)
		checkpoint->dir_fd = open(checkpoint->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (checkpoint->dir_fd < 0) {
		error_set(error, errno, "%s: %s; name another place with --output",
			  checkpoint->path, g_strerror(errno));
	} else if (flock(checkpoint->dir_fd, LOCK_EX | LOCK_NB) < 0) {
		error_set(error, errno, "%s: another check of it is under way", checkpoint->path);
	} else {
		return TRUE;
	}
	checkpoint_close(checkpoint);
	return FALSE;
}

void checkpoint_close(struct checkpoint *checkpoint)
{
	if (checkpoint->dir_fd >= 0)
		close(checkpoint->dir_fd);
	g_free(checkpoint->path);
	*checkpoint = (struct checkpoint){.dir_fd = -1};
}

void checkpoint_forget(struct checkpoint *checkpoint)
{
	struct frontier *none = frontier_new(checkpoint->dir_fd);

	unlinkat(checkpoint->dir_fd, STATE, 0);
	frontier_load(none, NULL, NULL);
	frontier_free(none);
}

void checkpoint_remove(struct checkpoint *checkpoint)
{
	checkpoint_forget(checkpoint);
	rmdir(checkpoint->path);
}

gboolean checkpoint_save(struct checkpoint *checkpoint, struct walk *walk,
			 const struct survey *survey, GError **error)
{
	g_autofree char *path = g_build_filename(checkpoint->path, STATE, NULL);
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
	read_trials_save(walk->trials, state);
	samples_save(walk->samples, state);
	if (!frontier_keep(walk->frontier, state, error))
		return FALSE;
	text = g_key_file_to_data(state, &len, NULL);
	if (!g_file_set_contents_full(path, text, (gssize)len,
				      G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE,
				      0600, error))
		return FALSE;
	frontier_kept(walk->frontier);
	return TRUE;
}

gboolean checkpoint_load(struct checkpoint *checkpoint, struct walk *walk, struct survey *survey,
			 GError **error)
{
	g_autofree char *path = g_build_filename(checkpoint->path, STATE, NULL);
	g_autoptr(GKeyFile) state = g_key_file_new();
	g_autofree char *source = NULL;

	if (g_key_file_load_from_file(state, path, G_KEY_FILE_NONE, NULL))
		source = g_key_file_get_string(state, GROUP, "source", NULL);
	if (!source || g_strcmp0(source, survey->source) != 0 ||
	    g_key_file_get_integer(state, GROUP, "format", NULL) != FORMAT ||
	    g_key_file_get_uint64(state, GROUP, "share", NULL) != survey->share) {
		frontier_load(walk->frontier, NULL, NULL); /* what is there is another's */
		return FALSE;
	}
	survey->requests = g_key_file_get_uint64(state, GROUP, "requests", NULL);
	survey->seconds = g_key_file_get_double(state, GROUP, "seconds", NULL);
	survey->runs = (unsigned)g_key_file_get_uint64(state, GROUP, "runs", NULL);
	if (!tally_load(walk->tally, state) || !notices_load(walk->notices, state) ||
	    !read_trials_load(walk->trials, state) || !samples_load(walk->samples, state))
		return error_set(error, EBADMSG, "%s: damaged; remove %s to begin anew", path,
				 checkpoint->path);
	return frontier_load(walk->frontier, state, error);
}
