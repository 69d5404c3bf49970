/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The file of takeover handles, as text: a line that says what it is, and one for each alias,
 *
 *	OLD-HANDLE FILEID FSID TYPE NEW-HANDLE PATH
 *
 * handles in hexadecimal, numbers in decimal.  An alias that is missing costs clients their mounts,
 * so a file is read whole or refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/migrate.h"

#define FIRST_LINE "quickmigrate old handles 1\n"
#define HEX_DIGITS "0123456789abcdef"

int migrate_alias_bind(int dir_fd, const char *name, struct migrate_alias *alias)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MIGRATE_NEW_HANDLE_MAX];
	} u = {.handle.handle_bytes = MIGRATE_NEW_HANDLE_MAX};
	int mount;

	if (name_to_handle_at(dir_fd, name, &u.handle, &mount, AT_EMPTY_PATH) < 0)
		return -errno;
	alias->type = u.handle.handle_type;
	alias->len = (uint8_t)u.handle.handle_bytes;
	memcpy(alias->handle, u.handle.f_handle, u.handle.handle_bytes);
	return 0;
}

static int digit(char c)
{
	const char *at = c ? strchr(HEX_DIGITS, c) : NULL;

	return at ? (int)(at - HEX_DIGITS) : -1;
}

/* The bytes up to a blank, at least one; 0: it makes no sense. */
static size_t take_hex(const char **text, uint8_t *bytes, size_t room)
{
	size_t n = 0;

	for (; **text && **text != ' '; *text += 2, n++) {
		int high = digit((*text)[0]);
		int low = high < 0 ? -1 : digit((*text)[1]);

		if (low < 0 || n == room)
			return 0;
		bytes[n] = (uint8_t)(high << 4 | low);
	}
	if (**text != ' ')
		return 0;
	++*text;
	return n;
}

static bool take_number(const char **text, uint64_t max, uint64_t *value)
{
	char *end;

	if (digit(**text) < 0)
		return false;
	errno = 0;
	*value = strtoull(*text, &end, 10);
	if (errno || end == *text || *end != ' ' || *value > max)
		return false;
	*text = end + 1;
	return true;
}

static int parse(const char *text, struct migrate_alias *alias)
{
	uint64_t type = 0;
	size_t len;

	memset(alias, 0, sizeof(*alias));
	alias->old_len = (uint8_t)take_hex(&text, alias->old, sizeof(alias->old));
	if (!alias->old_len || !take_number(&text, UINT64_MAX, &alias->fileid) ||
	    !take_number(&text, UINT64_MAX, &alias->fsid) || !take_number(&text, INT32_MAX, &type))
		return -EBADMSG;
	alias->type = (int)type;
	alias->len = (uint8_t)take_hex(&text, alias->handle, sizeof(alias->handle));
	len = strlen(text);
	if (!alias->len || len < 2 || text[len - 1] != '\n')
		return -EBADMSG;
	alias->path = strndup(text, len - 1);
	return alias->path ? 0 : -ENOMEM;
}

static bool is_known(const struct migrate_alias *list, size_t n, const struct migrate_alias *alias)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].old_len == alias->old_len &&
		    !memcmp(list[i].old, alias->old, alias->old_len))
			return true;
	return false;
}

static int add_alias(struct migrate_alias **list, size_t *n, const char *line)
{
	struct migrate_alias alias, *longer;
	int result = *n == MIGRATE_ALIASES_MAX ? -EBADMSG : parse(line, &alias);

	if (result < 0)
		return result;
	longer = is_known(*list, *n, &alias) ? NULL : realloc(*list, (*n + 1) * sizeof(alias));
	if (!longer) {
		result = is_known(*list, *n, &alias) ? -EBADMSG : -ENOMEM;
		free(alias.path);
		return result;
	}
	*list = longer;
	longer[(*n)++] = alias;
	return 0;
}

/* All that is there but a line whose end is missing. */
static int read_lines(FILE *file, struct migrate_alias **list, size_t *n)
{
	char *line = NULL;
	size_t room = 0;
	int result = 0;

	errno = 0;
	if (getline(&line, &room, file) < 0 || strcmp(line, FIRST_LINE) != 0)
		result = errno ? -errno : -EBADMSG;
	while (result == 0 && getline(&line, &room, file) >= 0)
		result = add_alias(list, n, line);
	if (result == 0 && ferror(file))
		result = errno ? -errno : -EIO;
	free(line);
	return result;
}

int migrate_aliases_load(const char *path, struct migrate_alias **list, size_t *n)
{
	FILE *file = fopen(path, "re");
	int result;

	*list = NULL;
	*n = 0;
	if (!file)
		return -errno;
	result = read_lines(file, list, n);
	fclose(file);
	if (result < 0) {
		migrate_aliases_free(*list, *n);
		*list = NULL;
		*n = 0;
	}
	return result;
}

void migrate_aliases_free(struct migrate_alias *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i].path);
	free(list);
}

static void print_hex(FILE *file, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fprintf(file, "%02x", bytes[i]);
}

int migrate_aliases_print(FILE *file, const struct migrate_alias *list, size_t n)
{
	fputs(FIRST_LINE, file);
	for (size_t i = 0; i < n; i++) {
		print_hex(file, list[i].old, list[i].old_len);
		fprintf(file, " %" PRIu64 " %" PRIu64 " %d ", list[i].fileid, list[i].fsid,
			list[i].type);
		print_hex(file, list[i].handle, list[i].len);
		fprintf(file, " %s\n", list[i].path);
	}
	return fflush(file) || ferror(file) ? -1 : 0;
}
