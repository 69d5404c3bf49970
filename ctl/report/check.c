/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/report/compare.h"
#include "ctl/report/summary.h"
#include "ctl/report/parts.h"
#include "ctl/report/sign.h"
#include "lib/base/text.h"

struct run {
	const struct check *check;
	int dir_fd;
	bool good;
};

static void print_check(struct run *run, bool good, const char *format, ...) G_GNUC_PRINTF(3, 4);

static void print_check(struct run *run, bool good, const char *format, ...)
{
	g_autofree char *line = NULL;
	va_list args;

	va_start(args, format);
	line = g_strdup_vprintf(format, args);
	va_end(args);
	run->good = run->good && good;
	run->check->fn(run->check->arg, good, line);
}

/* Makes a copy in memory, so that the text that is checked is the one that was signed.  -1 and a
 * line said. */
static int read_json(struct run *run, char **text, size_t *len)
{
	const char *file = run->check->file;
	int fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC), copy;
	struct stat st;
	bool ok = fd >= 0 && fstat(fd, &st) == 0;
	ssize_t n = 0;

	if (!ok)
		print_check(run, false, "%s: %s", file, g_strerror(errno));
	else if (!S_ISREG(st.st_mode) || st.st_size > SUMMARY_MAX)
		print_check(run, false, "%s: it is not a report: give the file NAME-report.json",
			    file);
	ok = ok && S_ISREG(st.st_mode) && st.st_size <= SUMMARY_MAX;
	*text = g_malloc0(ok ? st.st_size + 1 : 1);
	if (ok)
		n = read(fd, *text, st.st_size);
	if (fd >= 0)
		close(fd);
	if (ok && n < 0)
		print_check(run, false, "%s: %s", file, g_strerror(errno));
	if (!ok || n < 0)
		return -1;
	*len = n;
	copy = memfd_create("report", MFD_CLOEXEC);
	if (copy < 0 || write(copy, *text, n) != n) {
		print_check(run, false, "%s: there is no memory to check it in", file);
		return -1;
	}
	return copy;
}

static void check_signature(struct run *run, int json_fd)
{
	const struct check *check = run->check;
	g_autofree char *signature = g_strconcat(check->file, SIGN_SUFFIX, NULL), *who = NULL;
	struct stat st;
	g_autoptr(GError) error = NULL;

	if (stat(signature, &st) < 0) {
		print_check(run, !check->signers && errno == ENOENT,
			    "%s: it is not signed: that nobody has changed it is not known",
			    check->file);
		return;
	}
	if (!S_ISREG(st.st_mode))
		print_check(run, false, "%s: it is not a file", signature);
	else if (!sign_check(json_fd, signature, check->signers, &who, &error))
		print_check(run, false, "%s: the signature is not good: %s", signature,
			    error->message);
	else if (check->signers)
		print_check(run, true, "signed by %s", who);
	else
		print_check(run, true,
			    "signed with %s: whose key that is is not known without --signers",
			    who);
}

static void check_part(struct run *run, const struct final_part *part)
{
	int fd = openat(run->dir_fd, part->file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char hex[PROOF_HASH_HEX + 1];
	g_autoptr(GError) error = NULL;
	uint64_t bytes;

	if (fd < 0) {
		print_check(run, false, "%s: %s", part->file, g_strerror(errno));
		return;
	}
	if (!part_hash(fd, &bytes, hex, &error))
		print_check(run, false, "%s: %s", part->file, error->message);
	else if (bytes != part->bytes || strcmp(hex, part->sha256) != 0)
		print_check(run, false,
			    "%s: it was changed: it is not what the report was made with",
			    part->file);
	else
		print_check(run, true, "%s: as it was made", part->file);
	close(fd);
}

static const struct final_part *manifest_part(const struct summary *parsed)
{
	for (guint i = 0; i < parsed->parts->len; i++) {
		const struct final_part *part = g_ptr_array_index(parsed->parts, i);

		if (g_str_has_suffix(part->file, FINAL_MANIFEST))
			return part;
	}
	return NULL;
}

/* Reads the manifest's entries to the end.  With a tree, read_tree() does so, and compares them
 * with it. */
static gboolean read_manifest(struct run *run, struct manifest *manifest, GError **error)
{
	while (manifest_next(manifest, error))
		;
	return !*error;
}

static void tree_differs(void *arg, const char *path, const char *what)
{
	struct final_line *line = final_line_new(path, what);

	print_check(arg, false, "%s: %s", line->path, line->what);
	final_line_free(line);
}

static gboolean read_tree(struct run *run, struct manifest *manifest, GError **error)
{
	const struct check *check = run->check;
	struct compare_count count;
	int root = open(check->tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	gboolean ok;

	if (root < 0) {
		print_check(run, false, "%s: %s", check->tree, g_strerror(errno));
		return read_manifest(run, manifest, error);
	}
	ok = compare_tree(manifest, root, check->scratch, tree_differs, run, &count, error);
	close(root);
	if (ok)
		print_check(run, true,
			    "%s: " TEXT_COUNT " as in the manifest, %" G_GUINT64_FORMAT
			    " of them with their content; " TEXT_COUNT "; %" G_GUINT64_FORMAT
			    " were unfinished or different when it was made",
			    check->tree, TEXT_COUNTED(count.compared, "objects are"), count.hashed,
			    TEXT_COUNTED(count.differences, "differences"), count.skipped);
	return ok;
}

static void check_manifest(struct run *run, const struct summary *parsed)
{
	const struct final_part *part = manifest_part(parsed);
	int fd = part ? openat(run->dir_fd, part->file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	g_autoptr(GError) error = NULL;
	struct manifest *manifest;

	if (fd < 0) {
		print_check(run, false, "there is no manifest to be read");
		return;
	}
	manifest = manifest_open(fd, &error);
	if (manifest && run->check->tree)
		read_tree(run, manifest, &error);
	else if (manifest)
		read_manifest(run, manifest, &error);
	if (error)
		print_check(run, false, "%s: %s", part->file, error->message);
	else if (memcmp(manifest_counted(manifest), &parsed->count, sizeof parsed->count) != 0)
		print_check(run, false, "%s: the report counts other objects than it has",
			    part->file);
	else
		print_check(run, true, "%s: " TEXT_COUNT ", as the report counts them", part->file,
			    TEXT_COUNTED(parsed->count.entries, "entries"));
	manifest_close(manifest);
}

static void check_all(struct run *run, int json_fd, const char *text, size_t len)
{
	const struct check *check = run->check;
	g_autofree char *dir = g_path_get_dirname(check->file);
	g_autoptr(GError) error = NULL;
	struct summary *parsed;

	check_signature(run, json_fd);
	parsed = summary_new(text, len, &error);
	if (!parsed) {
		print_check(run, false, "%s: %s", check->file, error->message);
		return;
	}
	run->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	print_check(run, true, "volume %s, from %s, made %s", parsed->volume, parsed->source,
		    parsed->made);
	for (guint i = 0; i < parsed->parts->len; i++)
		check_part(run, g_ptr_array_index(parsed->parts, i));
	check_manifest(run, parsed);
	print_check(run, parsed->complete, "it says: %s", parsed->verdict);
	close(run->dir_fd);
	summary_free(parsed);
}

bool check_report(const struct check *check)
{
	struct run run = {check, -1, true};
	g_autofree char *text = NULL;
	size_t len = 0;
	int json_fd = read_json(&run, &text, &len);

	if (json_fd >= 0) {
		check_all(&run, json_fd, text, len);
		close(json_fd);
	}
	return run.good;
}
