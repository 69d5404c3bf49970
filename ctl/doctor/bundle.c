/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/doctor/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/spawn.h"
#include "lib/config/config.h"
#include "lib/config/config_file.h"

#define HIDDEN	  "#"
#define LOG_LINES "200"

/* A word without the marks around it; "": it is no word.  g_free. */
static char *bare_word(const char *token)
{
	const char *word = token + strspn(token, "\"'(");
	size_t len = strcspn(word, ".,;:\"')");

	return word[len + strspn(word + len, ".,;:\"')")] ||
			       strspn(word, "abcdefghijklmnopqrstuvwxyz"
					    "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") < len
		       ? g_strdup("")
		       : g_strndup(word, len);
}

/* A pair of words that are neighbours; for one token alone the token itself.  NULL: not both are
 * words. */
static char *pair_of(const char *one, const char *other)
{
	g_autofree char *first = bare_word(one), *second = other ? bare_word(other) : NULL;

	if (!*first || (second && !*second))
		return NULL;
	return g_strconcat(first, second ? " " : NULL, second, NULL);
}

GHashTable *bundle_words(const char *const *programs)
{
	GHashTable *words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (; *programs; programs++) {
		g_autofree char *text = NULL;
		gsize len = 0;

		if (!g_file_get_contents(*programs, &text, &len, NULL))
			continue;
		for (gsize i = 0; i < len; i += strlen(text + i) + 1) {
			g_auto(GStrv) tokens =
				g_strsplit_set(g_str_is_ascii(text + i) ? text + i : "", " \n", -1);

			for (unsigned t = 0; tokens[t] && (tokens[t + 1] || !t); t++) {
				char *pair = pair_of(tokens[t], tokens[t + 1]);

				if (pair)
					g_hash_table_add(words, pair);
			}
		}
	}
	return words;
}

static gboolean is_word_known(GHashTable *words, const char *one, const char *other)
{
	g_autofree char *pair = one ? pair_of(one, other) : NULL;

	return pair && g_hash_table_contains(words, pair);
}

/* "", 12, -3 or 12.5: an address has more dots. */
static gboolean is_number(const char *text)
{
	text += *text == '-';
	text += strspn(text, "0123456789");
	text += *text == '.';
	return !text[strspn(text, "0123456789")];
}

char *bundle_text(GHashTable *words, const char *text)
{
	g_auto(GStrv) tokens = g_strsplit(text, " ", -1);
	GString *shown;

	if (is_number(text))
		return g_strdup(text);
	shown = g_string_new(NULL);
	for (unsigned i = 0; tokens[i]; i++) {
		const char *before = i ? tokens[i - 1] : NULL, *behind = tokens[i + 1];
		const gboolean known =
			(before && is_word_known(words, before, tokens[i])) ||
			(behind && is_word_known(words, tokens[i], behind)) ||
			(!before && !behind && is_word_known(words, tokens[i], NULL));

		if (known || !g_str_has_suffix(shown->str, HIDDEN))
			g_string_append_printf(shown, "%s%s", shown->len ? " " : "",
					       known ? tokens[i] : HIDDEN);
	}
	return g_string_free(shown, FALSE);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void add_bundle_group(GString *all, GHashTable *words, GKeyFile *file, const char *group)
{
	g_auto(GStrv) keys = g_key_file_get_keys(file, group, NULL, NULL);

	g_string_append_printf(all, "[%s]\n", group);
	for (char **key = keys; key && *key; key++) {
		g_autofree char *value = g_key_file_get_value(file, group, *key, NULL);
		g_autofree char *shown = bundle_text(words, g_strstrip(value));
		const int scheme = (int)strspn(value, "abcdefghijklmnopqrstuvwxyz");

		if (g_str_has_prefix(value + scheme, "://"))
			g_string_append_printf(all, "%s=%.*s://" HIDDEN "\n", *key, scheme, value);
		else
			g_string_append_printf(all, "%s=%s\n", *key, shown);
	}
}

static void add_groups(GString *all, GHashTable *words, const struct doctor *doctor,
		       const char *config_file)
{
	g_autofree char *own = g_strconcat(CONFIG_VOLUME, doctor->config->name, NULL);
	g_auto(GStrv) groups = g_key_file_get_groups(doctor->status, NULL);
	g_autoptr(GKeyFile) file = config_parse(config_file, NULL);

	for (unsigned i = 0; file && i < 2; i++)
		add_bundle_group(all, words, file, i ? own : CONFIG_DEFAULTS);
	for (char **group = groups; *group; group++)
		add_bundle_group(all, words, doctor->status, *group);
}

static void add_findings(GString *all, GHashTable *words, const GPtrArray *findings)
{
	for (guint i = 0; i < findings->len; i++) {
		const struct finding *finding = findings->pdata[i];
		g_autofree char *seen = bundle_text(words, finding->seen);

		g_string_append_printf(all, "%s %s: %s\n", finding_word(finding->level),
				       finding->what, seen);
	}
}

static void add_output(GString *all, const char *title, char *output)
{
	g_string_append_printf(all, "%s: %s\n", title, output ? output : "none");
	g_free(output);
}

/* The message of a log line, behind its time, program and process; NULL: it is another message's
 * next line, which may have such marks too. */
static const char *log_message(const char *line)
{
	const char *program = strchr(line, ' '), *message = strstr(line, "]: ");

	return program && message && message < program + 1 + strcspn(program + 1, " /")
		       ? message + 3
		       : NULL;
}

/* Equal messages are told by their number, which is another one in each bundle: nobody can guess
 * what was logged. */
static void add_log(GString *all, GHashTable *words, const char *volume)
{
	g_autofree char *unit = g_strdup_printf("migrate-*@%s.service", volume);
	g_autofree char *log = FINDING_ASK("journalctl", "-n", LOG_LINES, "-o", "short-iso",
					   "--no-hostname", "-q", "-u", unit);
	g_auto(GStrv) lines = g_strsplit(log ? log : "", "\n", -1);
	guint64 salt[2];

	if (getentropy(salt, sizeof(salt)) < 0)
		return;

	for (char **line = lines; *line; line++) {
		const char *message = log_message(*line);

		if (!message)
			continue;
		g_autofree char *shown = bundle_text(words, message);
		g_autofree char *salted =
			g_strdup_printf("%" G_GINT64_MODIFIER "x %" G_GINT64_MODIFIER "x%s",
					salt[0], salt[1], message);
		g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, salted, -1);
		g_string_append_printf(all, "%.*s %s (%.8s)\n", (int)(message - 1 - *line), *line,
				       shown, sum);
	}
}

static char *put_together_bundle(const struct doctor *doctor, const char *config_file,
				 const char *units)
{
	static const char *const names[] = {"migratectl", "migrate-retriever", "migrate-crawler",
					    "migrate-guard", "migrate-journal"};
	char *programs[G_N_ELEMENTS(names) + 1] = {NULL};
	GString *all = g_string_new("quickmigrate: " QUICKMIGRATE_VERSION "\n");

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		programs[i] = program_find(names[i]);
	g_autoptr(GHashTable) words = bundle_words((const char *const *)programs);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		g_free(programs[i]);
	add_output(all, "kernel", FINDING_ASK("uname", "-srvm"));
	add_output(all, "system", FINDING_ASK("grep", "^PRETTY_NAME=", "/etc/os-release"));
	add_output(all, "systemd", FINDING_ASK("systemctl", "--version"));
	add_output(all, "ganesha", FINDING_ASK("ganesha.nfsd", "-v"));
	add_output(all, "samba", FINDING_ASK("smbd", "-V"));
	add_output(all, "mount",
		   FINDING_ASK("findmnt", "-no", "FSTYPE,VFS-OPTIONS", "-T", doctor->config->root));
	add_findings(all, words, doctor->findings);
	add_groups(all, words, doctor, config_file);
	g_auto(GStrv) lines = g_strsplit(units ? units : "", "\n", -1);
	for (char **line = lines; *line; line++)
		if (!strchr(*line, '/')) /* where mounts are */
			g_string_append_printf(all, "%s\n", *line);
	add_log(all, words, doctor->config->name);
	return g_string_free(all, FALSE);
}

gboolean bundle_write(const char *file, const struct doctor *doctor, const char *config_file,
		      const char *units, GError **error)
{
	const int fd = open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	g_autofree char *dir = NULL, *path = NULL, *text = NULL;
	int status;

	if (fd < 0)
		return error_set(error, errno, "%s: %s", file, g_strerror(errno));
	close(fd);
	dir = g_dir_make_tmp("quickmigrate-XXXXXX", error);
	path = dir ? g_build_filename(dir, "doctor.txt", NULL) : NULL;
	text = put_together_bundle(doctor, config_file, units);
	const char *const argv[] = {
		"tar", "--force-local", "--owner=0", "--group=0", "-czf", file, "-C",
		dir,   "doctor.txt",	NULL};
	const gboolean good = dir && g_file_set_contents(path, text, -1, error) &&
			      g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL,
					   NULL, NULL, NULL, &status, error) &&
			      g_spawn_check_wait_status(status, error);
	if (path)
		unlink(path);
	if (dir)
		rmdir(dir);
	if (!good)
		unlink(file);
	return good;
}
