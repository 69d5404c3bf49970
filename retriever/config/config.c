/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "config_ids.h"
#include "migrate.h"
#include "source/nfs/nfs_url.h"
#include "source/smb/smb_url.h"
#include "source/smb/wire.h"
#include "source/source.h"
#include "owners.h"
#include "sids.h"

#define GROUP_PREFIX "volume "
#define NAME_MAX_LEN 64

gboolean config_parse_size(const char *text, uint64_t *bytes)
{
	uint64_t value = 0;
	const char *p = text;

	if (!g_ascii_isdigit(*p))
		return FALSE;
	for (; g_ascii_isdigit(*p); p++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return FALSE;
	if (*p) {
		const char *unit = strchr("KMG", g_ascii_toupper(*p));

		if (!unit || p[1])
			return FALSE;
		unsigned shift = 10 * (unsigned)(strchr("_KMG", *unit) - "_KMG");
		if (value > (uint64_t)INT64_MAX >> shift)
			return FALSE;
		value <<= shift;
	}
	if (value > INT64_MAX)
		return FALSE;
	*bytes = value;
	return TRUE;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static gboolean parse_root(void *field, const struct config_place *at, GError **error)
{
	char **root = field;
	struct stat st;

	if (at->value[0] != '/')
		return config_wrong(error, at,
				    "not an absolute path; give the directory from / on");
	*root = g_canonicalize_filename(at->value, "/");
	if (stat(*root, &st))
		return config_wrong(error, at,
				    "%s; create the directory or mount its file system first",
				    g_strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return config_wrong(error, at,
				    "not a directory; name the directory that is to be filled");
	return TRUE;
}

static gboolean parse_nfs_url(void *field, const struct config_place *at, GError **error)
{
	g_autoptr(GError) mistake = NULL;
	struct nfs_url url;

	nfs_url_parse(at->value, &url, &mistake);
	nfs_url_clear(&url);
	return config_take_url(field, at, mistake, error);
}

static gboolean parse_smb_url(void *field, const struct config_place *at, GError **error)
{
	g_autoptr(GError) mistake = NULL;
	struct smb_url url;

	smb_url_parse(at->value, &url, &mistake);
	smb_url_clear(&url);
	return config_take_url(field, at, mistake, error);
}

static gboolean parse_acl_source(void *field, const struct config_place *at, GError **error)
{
	if (!g_str_has_prefix(at->value, "smb://"))
		return config_wrong(error, at,
				    "no known scheme; use smb://user@host[:port]/share[/path]");
	return parse_smb_url(field, at, error);
}

static gboolean parse_source(void *field, const struct config_place *at, GError **error)
{
	if (g_str_has_prefix(at->value, "smb://"))
		return parse_smb_url(field, at, error);
	if (g_str_has_prefix(at->value, "nfs://"))
		return parse_nfs_url(field, at, error);
	if (!g_str_has_prefix(at->value, "file://"))
		return config_wrong(error, at,
				    "no known scheme; use nfs://host[:port]/path, "
				    "smb://user@host[:port]/share or file:///path");
	if (at->value[strlen("file://")] != '/')
		return config_wrong(error, at,
				    "no absolute path; write file:///path with three slashes");
	*(char **)field = g_strdup(at->value);
	return TRUE;
}

static gboolean parse_socket(void *field, const struct config_place *at, GError **error)
{
	const size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path);

	if (at->value[0] != '/' || strlen(at->value) >= room)
		return config_wrong(
			error, at,
			"not an absolute path of less than %zu bytes; remove the line for %s", room,
			MIGRATE_SOCKET_DIR "/NAME.sock");
	*(char **)field = g_strdup(at->value);
	return TRUE;
}

static gboolean parse_report(void *field, const struct config_place *at, GError **error)
{
	if (at->value[0] != '/' || g_str_has_suffix(at->value, "/"))
		return config_wrong(error, at, "not a file's absolute path; remove the line for %s",
				    REPORT_DIR "/NAME.report");
	*(char **)field = g_strdup(at->value);
	return TRUE;
}

static gboolean parse_journal(void *field, const struct config_place *at, GError **error)
{
	if (at->value[0] != '/' || !at->value[1])
		return config_wrong(error, at,
				    "not a directory's absolute path; remove the line for %s",
				    REPORT_DIR "/NAME.journal");
	*(char **)field = g_strdup(at->value);
	return TRUE;
}

static gboolean parse_path(void *field, const struct config_place *at, GError **error)
{
	if (at->value[0] != '/')
		return config_wrong(error, at, "not an absolute path; name it from / on");
	*(char **)field = g_strdup(at->value);
	return TRUE;
}

static gboolean parse_rollback_source(void *field, const struct config_place *at, GError **error)
{
	return g_str_has_prefix(at->value, "smb://") ? parse_smb_url(field, at, error)
						     : parse_path(field, at, error);
}

static gboolean parse_text(void *field, const struct config_place *at, GError **error)
{
	*(char **)field = g_strdup(at->value);
	return TRUE;
}

static gboolean parse_bandwidth(void *field, const struct config_place *at, GError **error)
{
	if (config_parse_size(at->value, field))
		return TRUE;
	return config_wrong(
		error, at,
		"no number of bytes per second; write for example 50M, or 0 for no limit");
}

static gboolean parse_names(void *field, const struct config_place *at, GError **error)
{
	g_auto(GStrv) names = g_strsplit_set(at->value, " \t,", -1);
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

	for (unsigned i = 0; names[i]; i++)
		if (*names[i])
			g_strv_builder_add(builder, names[i]);
	*(char ***)field = g_strv_builder_end(builder);
	return TRUE;
}

static gboolean parse_owners(void *field, const struct config_place *at, GError **error)
{
	g_autoptr(GError) inner = NULL;
	struct owners **map = field;

	*map = owners_parse(at->value, &inner);
	return *map || config_wrong(error, at, "%s", inner->message);
}

static const char *const stub_attributes[] = {[STUB_EAGER] = "eager", [STUB_LAZY] = "lazy"};
static const char *const orders[] = {
	[CRAWL_NAMESPACE_FIRST] = "namespace-first", [CRAWL_DEPTH_FIRST] = "depth-first"};
static const char *const guards[] = {
	[GUARD_YES] = "yes", [GUARD_NO] = "no", [GUARD_STRICT] = "strict"};
static const char *const smb_modes[] = {
	[SMB_MODES_OPEN] = "open", [SMB_MODES_DESCRIPTOR] = "descriptor"};
static const char *const encryption[] = {
	[WIRE_OFF] = "off", [WIRE_DESIRED] = "desired", [WIRE_REQUIRED] = "required"};
static const char *const signing[] = {[WIRE_OFF] = "if-required", [WIRE_REQUIRED] = "required"};

#define FIELD(field) .offset = offsetof(struct volume_config, field)
#define SMB(field)   .offset = offsetof(struct smb_config, field), .smb = true
#define WORDS(list)  .words = list, .n_words = G_N_ELEMENTS(list)

#define REQUIRED 2 /* the first ones */

/* A key has a parser of its own, or is one of some words, or a number. */
static const struct key {
	const char *name;
	gboolean (*parse)(void *field, const struct config_place *at, GError **error);
	const char *const *words;
	unsigned n_words, min, max, fallback;
	size_t offset;
	bool smb; /* in what config->smb points to */
} keys[] = {
	{"root", parse_root, FIELD(root)},
	{"source", parse_source, FIELD(source)},
	{"connections", FIELD(connections), .min = 1, .max = 16, .fallback = 2},
	{"demand-connections", FIELD(demand_connections), .min = 1, .max = 8, .fallback = 2},
	{"window", FIELD(window), .max = 1024},
	{"hold-ms", FIELD(hold_ms), .min = 10, .max = 60000, .fallback = 500},
	{"bandwidth", parse_bandwidth, FIELD(bandwidth)},
	{"stub-attributes", FIELD(stub_attributes), WORDS(stub_attributes)},
	{"crawler-workers", FIELD(crawler_workers), .min = 1, .max = 64, .fallback = 4},
	{"crawler-order", FIELD(crawler_order), WORDS(orders)},
	{"map-users", parse_owners, FIELD(map_users)},
	{"map-groups", parse_owners, FIELD(map_groups)},
	{"map-sids", config_parse_sids, FIELD(map_sids)},
	{"sid-users", config_parse_sid_ids, FIELD(sid_users)},
	{"sid-groups", config_parse_sid_ids, FIELD(sid_groups)},
	{"default-owner", config_parse_default_owner, FIELD(default_uid)},
	{"smb-modes", FIELD(smb_modes), WORDS(smb_modes)},
	{"acl-source", parse_acl_source, FIELD(acl_source)},
	{"smb-password-file", parse_path, SMB(password_file)},
	{"smb-ccache", parse_path, SMB(ccache)},
	{"smb-domain", parse_text, SMB(domain)},
	{"smb-encryption", SMB(encryption), WORDS(encryption)},
	{"smb-signing", SMB(signing), WORDS(signing)},
	{"rollback-source", parse_rollback_source, FIELD(rollback_source)},
	{"rollback-password-file", parse_path, FIELD(rollback_password_file)},
	{"rollback-ccache", parse_path, FIELD(rollback_ccache)},
	{"guard", FIELD(guard), WORDS(guards)},
	{"guard-refuse", parse_names, FIELD(guard_refuse)},
	{"guard-wait", FIELD(guard_wait), .min = 1, .max = 3600, .fallback = 60},
	{"report", parse_report, FIELD(report)},
	{"journal", parse_journal, FIELD(journal)},
	{"socket", parse_socket, FIELD(socket)},
};

static gboolean parse_number(const struct key *key, unsigned *field, const struct config_place *at,
			     GError **error)
{
	guint64 value;

	if (!g_ascii_string_to_unsigned(at->value, 10, key->min, key->max, &value, NULL))
		return config_wrong(error, at,
				    "not a number from %u to %u; correct it, or remove the line "
				    "for the default %u",
				    key->min, key->max, key->fallback);
	*field = (unsigned)value;
	return TRUE;
}

static const struct key *find_key(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

/* ---- the file -------------------------------------------------------------------------------- */

static gboolean name_is_good(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > NAME_MAX_LEN || name[0] == '.' || name[0] == '-')
		return FALSE;
	return strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-") == len;
}

/* GKeyFile merges groups and lets the last of two equal keys win; here both are mistakes, which a
 * copied and half edited group would otherwise hide. */
static gboolean check_repetitions(const char *file, const char *text, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autofree char *group = g_strdup("");

	for (unsigned i = 0; lines[i]; i++) {
		char *line = g_strstrip(lines[i]);
		size_t len = strlen(line);
		char *id, *equals = strchr(line, '=');

		if (line[0] == '[' && line[len - 1] == ']') {
			g_free(group);
			group = g_strndup(line + 1, len - 2);
			id = g_strdup_printf("[%s]", group);
		} else if (equals && line[0] != '#') {
			*equals = '\0';
			id = g_strdup_printf("[%s] %s", group, g_strchomp(line));
		} else {
			continue;
		}
		if (g_hash_table_contains(seen, id)) {
			g_set_error(
				error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_PARSE,
				"%s: %s: stands here twice (again in line %u); remove one of them",
				file, id, i + 1);
			g_free(id);
			return FALSE;
		}
		g_hash_table_add(seen, id);
	}
	return TRUE;
}

static gboolean check_group(const char *file, GKeyFile *parsed, const char *group, GError **error)
{
	g_auto(GStrv) names = g_key_file_get_keys(parsed, group, NULL, NULL);
	struct config_place at = {file, group, NULL, NULL};

	if (!g_str_has_prefix(group, GROUP_PREFIX))
		return config_wrong(error, &at,
				    "unknown group; every group is called [volume NAME]");
	if (!name_is_good(group + strlen(GROUP_PREFIX)))
		return config_wrong(error, &at,
				    "no good volume name; use 1 to %d of A-Z a-z 0-9 . _ -, not "
				    "beginning with . or -",
				    NAME_MAX_LEN);
	for (unsigned i = 0; names[i]; i++) {
		at.key = names[i];
		if (!find_key(names[i]))
			return config_wrong(error, &at,
					    "unknown key; correct or remove it, the keys are in "
					    "quickmigrate.conf(5)");
	}
	return TRUE;
}

static GKeyFile *parse_file(const char *file, GError **error)
{
	g_autoptr(GKeyFile) parsed = g_key_file_new();
	g_autoptr(GError) inner = NULL;
	g_autofree char *text = NULL;
	gsize length;

	if (!g_file_get_contents(file, &text, &length, &inner)) {
		g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_NOT_FOUND,
			    "%s; write it, see quickmigrate.conf(5), or give another with --config",
			    inner->message);
		return NULL;
	}
	if (strlen(text) != length) {
		g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_PARSE,
			    "%s: holds a NUL byte; it must be a text file", file);
		return NULL;
	}
	if (!g_key_file_load_from_data(parsed, text, length, G_KEY_FILE_NONE, &inner)) {
		g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_PARSE,
			    "%s: %s; correct that line, see quickmigrate.conf(5)", file,
			    inner->message);
		return NULL;
	}
	if (!check_repetitions(file, text, error))
		return NULL;

	g_auto(GStrv) groups = g_key_file_get_groups(parsed, NULL);
	for (unsigned i = 0; groups[i]; i++)
		if (!check_group(file, parsed, groups[i], error))
			return NULL;
	return g_steal_pointer(&parsed);
}

static char *value_of(GKeyFile *parsed, const char *group, const char *key)
{
	char *value = g_key_file_get_value(parsed, group, key, NULL);

	return value ? g_strstrip(value) : NULL;
}

/* ---- what holds between settings ------------------------------------------------------------- */

static gboolean is_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	if (len == 1)
		return TRUE;
	return !strncmp(path, top, len) && (path[len] == '/' || !path[len]);
}

static char *resolved_path(const char *path)
{
	g_autofree char *plain = g_canonicalize_filename(path, "/");
	char *real = realpath(plain, NULL);

	if (!real)
		return g_steal_pointer(&plain);
	char *copy = g_strdup(real);
	free(real);
	return copy;
}

static gboolean trees_overlap(const char *a, const char *b)
{
	g_autofree char *x = resolved_path(a), *y = resolved_path(b);

	return is_below(x, y) || is_below(y, x);
}

/* Two volumes in one tree would take each other's stubs for files, and so would a source that is
 * part of what it fills. */
static gboolean check_overlaps(const char *file, GKeyFile *parsed, const char *group,
			       const struct volume_config *config, GError **error)
{
	struct config_place at = {file, group, "root", config->root};
	g_auto(GStrv) groups = g_key_file_get_groups(parsed, NULL);

	if (g_str_has_prefix(config->source, "file://") &&
	    trees_overlap(config->source + strlen("file://"), config->root)) {
		at.key = "source";
		at.value = config->source;
		return config_wrong(error, &at,
				    "overlaps with root = %s; source and root must be apart",
				    config->root);
	}
	for (unsigned i = 0; groups[i]; i++) {
		if (!strcmp(groups[i], group))
			continue;
		g_autofree char *root = value_of(parsed, groups[i], "root");
		if (root && root[0] == '/' && trees_overlap(root, config->root))
			return config_wrong(
				error, &at,
				"overlaps with the root of [%s]; give every volume a tree of "
				"its own",
				groups[i]);
	}
	return TRUE;
}

static gboolean parse_volume(const char *file, GKeyFile *parsed, const char *group,
			     struct volume_config *config, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
		const struct key *key = &keys[i];
		void *field = (char *)(key->smb ? (void *)config->smb : config) + key->offset;
		g_autofree char *value = value_of(parsed, group, key->name);
		struct config_place at = {file, group, key->name, value};

		if (!value) {
			if (i < REQUIRED)
				return config_wrong(error, &at,
						    "missing; add it, see quickmigrate.conf(5)");
			if (!key->parse)
				*(unsigned *)field = key->fallback;
		} else if (!(key->parse ? key->parse(field, &at, error)
			     : key->words
				     ? config_take_word(field, key->words, key->n_words, &at, error)
				     : parse_number(key, field, &at, error))) {
			return FALSE;
		}
	}
	if (!config->socket)
		config->socket = g_strdup_printf("%s/%s.sock", MIGRATE_SOCKET_DIR, config->name);
	if (!config->report)
		config->report = g_strdup_printf(REPORT_DIR "/%s.report", config->name);
	if (!config->journal)
		config->journal = g_strdup_printf(REPORT_DIR "/%s.journal", config->name);
	return config_check_smb(config, file, group, error) &&
	       check_overlaps(file, parsed, group, config, error);
}

struct volume_config *config_load(const char *file, const char *volume, GError **error)
{
	if (!file)
		file = CONFIG_FILE;

	g_autoptr(GKeyFile) parsed = parse_file(file, error);
	if (!parsed)
		return NULL;

	g_autofree char *group = g_strconcat(GROUP_PREFIX, volume, NULL);
	if (!g_key_file_has_group(parsed, group)) {
		g_auto(GStrv) names = config_volumes(file, NULL);
		g_autofree char *list = names && names[0] ? g_strjoinv(", ", names) : NULL;
		const struct config_place at = {file, group, NULL, NULL};

		config_wrong(error, &at,
			     "no such group; add it, or use one of the volumes there are: %s",
			     list ? list : "(none)");
		return NULL;
	}

	struct volume_config *config = g_new0(struct volume_config, 1);
	config->name = g_strdup(volume);
	config->smb = g_new0(struct smb_config, 1);
	if (!parse_volume(file, parsed, group, config, error)) {
		config_free(config);
		return NULL;
	}
	return config;
}

char **config_volumes(const char *file, GError **error)
{
	g_autoptr(GKeyFile) parsed = parse_file(file ? file : CONFIG_FILE, error);

	if (!parsed)
		return NULL;
	char **groups = g_key_file_get_groups(parsed, NULL);
	for (unsigned i = 0; groups[i]; i++) {
		char *name = g_strdup(groups[i] + strlen(GROUP_PREFIX));

		g_free(groups[i]);
		groups[i] = name;
	}
	return groups;
}

void config_free(struct volume_config *config)
{
	if (!config)
		return;
	g_free(config->name);
	g_free(config->root);
	g_free(config->source);
	if (config->smb) {
		g_free(config->smb->password_file);
		g_free(config->smb->ccache);
		g_free(config->smb->domain);
		g_free(config->smb);
	}
	owners_free(config->map_users);
	owners_free(config->map_groups);
	g_free(config->acl_source);
	sid_map_free(config->map_sids);
	sid_map_free(config->sid_users);
	sid_map_free(config->sid_groups);
	g_free(config->rollback_source);
	g_free(config->rollback_password_file);
	g_free(config->rollback_ccache);
	g_strfreev(config->guard_refuse);
	g_free(config->report);
	g_free(config->journal);
	g_free(config->socket);
	g_free(config);
}
