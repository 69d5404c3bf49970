/* SPDX-License-Identifier: GPL-3.0-or-later */
/* backup-list: lists what is not here yet, so that a backup program leaves it out. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/migrate.h"
#include "ctl/ctl.h"
#include "lib/base/text.h"
#include "lib/config/config.h"

#define BLANKS " \t\r\v\f"

static const char *opt_tool;

struct list {
	const char *root;
	void (*put)(struct list *list, const char *path); /* path: below root */
	uint64_t vague; /* whose patterns may fit other names as well */
};

/* ---- how each program wants it ----------------------------------------------------------------
 */

/* As a pattern that stands for path alone. */
static GString *escaped(const char *path)
{
	GString *text = g_string_new(NULL);

	for (; *path; path++) {
		if (strchr("*?[\\", *path))
			g_string_append_c(text, '\\');
		g_string_append_c(text, *path);
	}
	return text;
}

/* A character that ends a line, or is not kept at its end, cannot be part of a pattern. */
static void fit_line(struct list *list, GString *pattern)
{
	char *at;

	if (strchr(BLANKS, pattern->str[pattern->len - 1])) {
		g_string_insert_c(pattern, (gssize)pattern->len - 1, '[');
		g_string_append_c(pattern, ']');
	}
	list->vague += strchr(pattern->str, '\n') != NULL;
	for (at = pattern->str; (at = strchr(at, '\n')); at++)
		*at = '?';
}

static void put_for_tar(struct list *list, const char *path)
{
	g_autoptr(GString) pattern = escaped(path);

	fit_line(list, pattern);
	printf("./%s\n", pattern->str);
}

/* Without a wildcard a backslash is one. */
static void put_for_rsync(struct list *list, const char *path)
{
	g_autoptr(GString) pattern = strpbrk(path, "*?[") ? escaped(path) : g_string_new(path);

	printf("/%s%c", pattern->str, '\0');
}

static void put_for_restic(struct list *list, const char *path)
{
	g_autofree char *full = g_build_filename(list->root, path, NULL);
	g_autoptr(GString) pattern = escaped(full);

	fit_line(list, pattern);
	g_string_replace(pattern, "$", "$$", 0);
	puts(pattern->str);
}

/* Writes a path that borg's lines cannot have as it is as a regular expression of Python. */
static void put_for_borg(struct list *list, const char *path)
{
	g_autofree char *full = g_build_filename(list->root, path, NULL);
	g_autoptr(GString) pattern = g_string_new("re:^");

	if (g_utf8_validate(full, -1, NULL) && !strpbrk(full, BLANKS "\n")) {
		printf("pf:%s\n", full);
		return;
	}
	for (const char *at = full + 1, *next; *at; at = next) {
		gunichar c = g_utf8_get_char_validated(at, -1);
		bool valid = c < (gunichar)-2;

		next = valid ? g_utf8_next_char(at) : at + 1;
		if (!valid) /* as Python has it */
			g_string_append_printf(pattern, "\\udc%02x", (unsigned char)*at);
		else if (c < 0x80 && !g_ascii_isalnum((char)c) && c != '/')
			g_string_append_printf(pattern, "\\x%02x", c);
		else
			g_string_append_len(pattern, at, next - at);
	}
	printf("%s(/|$)\n", pattern->str);
}

static void put_plain(struct list *list, const char *path)
{
	printf("%s%c", path, '\0');
}

static const struct {
	const char *name;
	void (*put)(struct list *list, const char *path);
} tools[] = {{"tar", put_for_tar},
	     {"rsync", put_for_rsync},
	     {"restic", put_for_restic},
	     {"borg", put_for_borg},
	     {"paths", put_plain}};

/* ---- the walk ---------------------------------------------------------------------------------
 */

/* 1: it is not all here; 0; or -errno.  Missing ranges only become fewer (I2). */
static int is_missing(const FTSENT *entry)
{
	int fd = open(entry->fts_accpath, O_PATH | O_NOFOLLOW | O_CLOEXEC), ret;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	ret = migrate_is_missing(fd);
	close(fd);
	return ret == -EBADMSG ? 1 : ret;
}

static int list_backup_entry(struct list *list, FTS *walk, FTSENT *entry)
{
	const char *path = entry->fts_path + strlen(list->root);
	int ret = 0;

	path += strspn(path, "/");
	switch (entry->fts_info) {
	case FTS_D:
		ret = *path && !strcmp(path, MIGRATE_PRIVATE_DIR) ? 1 : is_missing(entry);
		if (ret > 0)
			fts_set(walk, entry, FTS_SKIP);
		break;
	case FTS_F:
		ret = is_missing(entry);
		break;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		ret = -entry->fts_errno;
		break;
	default:
		break;
	}
	if (ret > 0 && !*path)
		return -EAGAIN;
	if (ret > 0)
		list->put(list, path);
	return ret < 0 && ret != -ENOENT ? ret : 0;
}

static int walk_volume(struct list *list)
{
	int fd = open(list->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int ret = fd < 0 ? -errno : migrate_watch(fd);
	char *const roots[] = {(char *)list->root, NULL};
	FTS *walk = ret ? NULL : fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	FTSENT *entry;

	if (!ret && !walk)
		ret = -errno;
	while (!ret && (errno = 0, entry = fts_read(walk)))
		ret = list_backup_entry(list, walk, entry);
	if (!ret)
		ret = -errno;
	if (walk)
		fts_close(walk);
	if (fd >= 0)
		close(fd);
	return ret;
}

static enum ctl_exit run_backup_list(const struct ctl *ctl)
{
	const char *wanted = opt_tool ? opt_tool : "paths";
	g_autofree char *root = NULL;
	struct volume_config *config;
	struct list list = {0};
	int ret;

	for (size_t i = 0; i < G_N_ELEMENTS(tools); i++)
		if (!strcmp(tools[i].name, wanted))
			list.put = tools[i].put;
	if (!list.put) {
		ctl_complain("backup-list: --for is tar, rsync, restic, borg or paths, not \"%s\"",
			     wanted);
		return CTL_USAGE;
	}
	config = ctl_config(ctl);
	if (!config)
		return CTL_USAGE;
	root = g_canonicalize_filename(ctl->arguments[0] ? ctl->arguments[0] : config->root, NULL);
	list.root = root;
	ret = walk_volume(&list);
	if (!ret && (fflush(stdout) || ferror(stdout)))
		ret = -errno;
	if (ret)
		ctl_complain("%s: %s: this list is not complete: do not use it; make it again",
			     list.root, ret == -EAGAIN ? "nothing is here yet" : g_strerror(-ret));
	else if (list.vague)
		ctl_complain(TEXT_COUNT " a line break: their patterns have ? "
					"in its place, and may leave out more",
			     TEXT_COUNTED(list.vague, "names have"));
	config_free(config);
	return ret ? CTL_REFUSED : CTL_OK;
}

static const GOptionEntry backup_list_options[] = {
	CTL_STRING("for", opt_tool, "tar, rsync, restic, borg or paths", "TOOL"),
	{NULL},
};

CTL_COMMAND(backup_list, "backup-list", "NAME [DIRECTORY]", 1, 2,
	    "list what is not here yet, to be left out of a backup",
	    .example = "backup-list --for=restic projects", .changes = "nothing",
	    .exits = "0 complete, 1 not to be used, 2 wrong usage", .options = backup_list_options);
