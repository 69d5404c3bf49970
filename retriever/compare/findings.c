/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/findings.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/report/manifest/finding.h"

#define PAGE	      32768 /* bytes of an answer, about */
#define FINDING_BYTES 256   /* of it, beside its path and text */
#define READ_BYTES    ((guint64)64 << 20)

/* How many bytes it takes; 0: it is no finding. */
static size_t list_one(GKeyFile *f, unsigned n, const char *line)
{
	g_autofree char *group = g_strdup_printf("finding %u", n), *path = NULL, *text = NULL;
	struct proof_finding finding;

	if (!g_str_has_prefix(line, PROOF_MARK) ||
	    !proof_finding_parse(line + strlen(PROOF_MARK), strlen(line + strlen(PROOF_MARK)),
				 &finding))
		return 0;
	path = text_line(finding.path);
	text = text_line(finding.text);
	g_key_file_set_string(f, group, "path", path);
	g_key_file_set_string(f, group, "kind", proof_kind_name(finding.kind));
	g_key_file_set_int64(f, group, "since", finding.since);
	g_key_file_set_string(f, group, "text", text);
	g_key_file_set_string(f, group, "remedy", proof_kind_remedy(finding.kind));
	proof_finding_clear(&finding);
	return strlen(path) + strlen(text) + FINDING_BYTES;
}

static FILE *open_findings(int dir_fd)
{
	int fd = openat(dir_fd, PROOF_NEXT PROOF_ENTRIES, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		fd = openat(dir_fd, PROOF_ENTRIES, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? NULL : fdopen(fd, "r");
}

void findings_list(int dir_fd, guint64 start, GKeyFile *f)
{
	FILE *file = dir_fd < 0 ? NULL : open_findings(dir_fd);
	char *line = NULL;
	guint64 at = start;
	size_t room = 0, told = 0;
	unsigned n = 0;
	bool more = file && fseeko(file, start, SEEK_SET) == 0;

	while (more && told < PAGE && at - start < READ_BYTES) {
		ssize_t len = getline(&line, &room, file);
		size_t bytes;

		more = len > 0 && line[len - 1] == '\n'; /* else it is being written, or cut off */
		if (!more)
			break;
		line[len - 1] = 0;
		at += len;
		bytes = list_one(f, n, line);
		told += bytes;
		n += bytes > 0;
	}
	g_key_file_set_int64(f, "list", "next", more ? (gint64)at : -1);
	free(line);
	if (file)
		fclose(file);
}
