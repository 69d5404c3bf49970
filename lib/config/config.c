/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/migrate.h"
#include "lib/config/attached.h"
#include "lib/config/calendar.h"
#include "lib/config/config_file.h"
#include "lib/config/config_ids.h"
#include "lib/config/config_limits.h"
#include "lib/config/config_rules.h"
#include "lib/config/nfs_url.h"
#include "lib/config/owners.h"
#include "lib/config/rules.h"
#include "lib/config/sids.h"
#include "lib/config/smb_url.h"
#include "lib/config/source_config.h"
#include "lib/config/url.h"

/* ---- keys ------------------------------------------------------------------------------------ */

static gboolean parse_root(void *field, const struct config_place *at, GError **error)
{
	char **root = field;

	if (at->value[0] != '/')
		return config_wrong(error, at,
				    "not an absolute path; give the directory from / on");
	*root = g_canonicalize_filename(at->value, "/");
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

static gboolean parse_rollback_source(void *field, const struct config_place *at, GError **error)
{
	return g_str_has_prefix(at->value, "smb://") ? parse_smb_url(field, at, error)
						     : config_parse_path(field, at, error);
}

static gboolean parse_text(void *field, const struct config_place *at, GError **error)
{
	*(char **)field = g_strdup(at->value);
	return TRUE;
}

static gboolean parse_wave(void *field, const struct config_place *at, GError **error)
{
	if (!config_name_ok(at->value))
		return config_wrong(error, at,
				    "no good name of a wave; use a number or a word: 1 to %d of "
				    "A-Z a-z 0-9 . _ -, not beginning with . or -",
				    CONFIG_NAME_MAX);
	return parse_text(field, at, error);
}

static gboolean parse_owners(void *field, const struct config_place *at, GError **error)
{
	g_autoptr(GError) inner = NULL;
	struct owners **map = field;

	*map = owners_parse(at->value, &inner);
	return *map || config_wrong(error, at, "%s", inner->message);
}

static const char *const stub_attributes[] = {[STUB_EAGER] = "eager", [STUB_LAZY] = "lazy"};
const char *const crawl_orders[] = {[CRAWL_NAMESPACE_FIRST] = "namespace-first",
				    [CRAWL_DEPTH_FIRST] = "depth-first",
				    [CRAWL_RECENT_FIRST] = "recent-first"};
static const char *const guards[] = {
	[GUARD_YES] = "yes", [GUARD_NO] = "no", [GUARD_STRICT] = "strict"};
static const char *const takeovers[] = {
	[TAKEOVER_NONE] = "none", [TAKEOVER_MOUNTS] = "mounts", [TAKEOVER_ALL] = "all"};
static const char *const smb_modes[] = {
	[SMB_MODES_OPEN] = "open", [SMB_MODES_DESCRIPTOR] = "descriptor"};
static const char *const acl_modes[] = {
	[ACL_MODE_POSIX] = "posix", [ACL_MODE_NT] = "nt", [ACL_MODE_KEEP] = "keep"};
static const char *const retentions[] = {
	[RETENTION_NONE] = "none", [RETENTION_IMMUTABLE] = "immutable"};
static const char *const encryption[] = {
	[SMB_OFF] = "off", [SMB_DESIRED] = "desired", [SMB_REQUIRED] = "required"};
static const char *const signing[] = {[SMB_OFF] = "if-required", [SMB_REQUIRED] = "required"};

#define FIELD(field) .offset = offsetof(struct volume_config, field)
#define SMB(field)   .offset = offsetof(struct smb_config, field), .place = IN_SMB
#define NFS(field)   .offset = offsetof(struct nfs_config, field), .place = IN_NFS
#define WORDS(list)  .words = list, .n_words = G_N_ELEMENTS(list)

#define REQUIRED 2 /* the first ones */

/* Which volumes a value in [defaults] is for. */
enum default_use {
	FOR_ALL,
	FOR_NUMBERS, /* volumes whose old owners are numbers */
	FOR_SIDS,    /* volumes whose old owners are SIDs */
	FOR_NONE,    /* the key belongs to one volume alone */
};

/* What a key's offset is in: struct volume_config, or what its smb or nfs points to. */
enum key_place { IN_VOLUME, IN_SMB, IN_NFS };

/* A key's value goes to a parser of its own, or is one of some words, or a number. */
static const struct key {
	const char *name;
	gboolean (*parse)(void *field, const struct config_place *at, GError **error);
	const char *const *words;
	unsigned n_words, min, max, fallback;
	size_t offset;
	enum key_place place;
	enum default_use use;
	const char *instead; /* a volume with that key does not take a default for this one */
} keys[] = {
	{"root", parse_root, FIELD(root), .use = FOR_NONE},
	{"source", parse_source, FIELD(source), .use = FOR_NONE},
	{"wave", parse_wave, FIELD(wave)},
	{"connections", FIELD(connections), .min = 1, .max = 16, .fallback = 2},
	{"demand-connections", FIELD(demand_connections), .min = 1, .max = 8, .fallback = 2},
	{"window", FIELD(window), .max = 1024},
	{"hold-ms", FIELD(hold_ms), .min = 10, .max = 60000, .fallback = 500},
	{"bandwidth", config_parse_bandwidth, FIELD(bandwidth)},
	{"requests", config_parse_requests, FIELD(requests)},
	{"yield-ms", FIELD(yield_ms), .max = 10000, .fallback = 100},
	{"limits", config_parse_limits, FIELD(limits)},
	{"stub-attributes", FIELD(stub_attributes), WORDS(stub_attributes)},
	{"crawler-workers", FIELD(crawler_workers), .min = 1, .max = 64, .fallback = 4},
	{"crawler-order", FIELD(crawler_order), WORDS(crawl_orders)},
	{"map-users", parse_owners, FIELD(map_users), .use = FOR_NUMBERS},
	{"map-groups", parse_owners, FIELD(map_groups), .use = FOR_NUMBERS},
	{"map-sids", config_parse_sids, FIELD(map_sids), .use = FOR_SIDS},
	{"sid-users", config_parse_sid_ids, FIELD(sid_users), .use = FOR_SIDS},
	{"sid-groups", config_parse_sid_ids, FIELD(sid_groups), .use = FOR_SIDS},
	{"default-owner", config_parse_default_owner, FIELD(default_uid)},
	{"smb-modes", FIELD(smb_modes), WORDS(smb_modes)},
	{"acl-mode", FIELD(acl_mode), WORDS(acl_modes), .use = FOR_NUMBERS},
	{"acl-source", parse_acl_source, FIELD(acl_source), .use = FOR_NONE},
	{"smb-password-file", config_parse_path, SMB(password_file), .instead = "smb-ccache"},
	{"smb-ccache", config_parse_path, SMB(ccache), .instead = "smb-password-file"},
	{"smb-domain", parse_text, SMB(domain)},
	{"smb-encryption", SMB(encryption), WORDS(encryption)},
	{"smb-signing", SMB(signing), WORDS(signing)},
	{"nfs-keytab", config_parse_path, NFS(keytab), .instead = "nfs-ccache"},
	{"nfs-ccache", config_parse_path, NFS(ccache), .instead = "nfs-keytab"},
	{"nfs-principal", parse_text, NFS(principal)},
	{"nfs-ca", config_parse_path, NFS(ca)},
	{"nfs-certificate", config_parse_path, NFS(certificate)},
	{"nfs-key", config_parse_path, NFS(key)},
	{"rollback-source", parse_rollback_source, FIELD(rollback_source), .use = FOR_NONE},
	{"rollback-password-file", config_parse_path, FIELD(rollback_password_file),
	 .instead = "rollback-ccache"},
	{"rollback-ccache", config_parse_path, FIELD(rollback_ccache),
	 .instead = "rollback-password-file"},
	{"exclude", config_parse_patterns, FIELD(exclude)},
	{"include", config_parse_patterns, FIELD(include)},
	{"snapshot-directories", config_parse_names_or_none, FIELD(snapshots)},
	{"retention", FIELD(retention), WORDS(retentions)},
	{"guard", FIELD(guard), WORDS(guards)},
	{"guard-refuse", config_parse_names, FIELD(guard_refuse)},
	{"guard-wait", FIELD(guard_wait), .min = 1, .max = 3600, .fallback = 60},
	{"takeover", FIELD(takeover), WORDS(takeovers), .use = FOR_NUMBERS},
	{"takeover-directories", config_parse_directories, FIELD(takeover_directories),
	 .use = FOR_NONE},
	{"takeover-file", config_parse_kept_file, FIELD(takeover_file), .use = FOR_NONE},
	{"report", config_parse_kept_file, FIELD(report), .use = FOR_NONE},
	{"journal", config_parse_journal, FIELD(journal), .use = FOR_NONE},
	{"socket", config_parse_socket, FIELD(socket), .use = FOR_NONE},
};

static gboolean parse_unsigned(const struct key *key, unsigned *field,
			       const struct config_place *at, GError **error)
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

/* Takeover is for one version of the protocol, as the old server's handles belong to one. */
static gboolean check_takeover(const char *file, const char *group,
			       const struct volume_config *config, GError **error)
{
	const struct config_place at = {file, group, "takeover", "all"};
	struct nfs_url url;
	gboolean ok = config->takeover != TAKEOVER_ALL ||
		      (nfs_url_parse(config->source, &url, NULL) && url.only_v3);

	if (config->takeover == TAKEOVER_ALL)
		nfs_url_clear(&url);
	return ok || config_wrong(error, &at,
				  "the source must be read by NFS version 3, as clients do: put "
				  "version=3 into its URL (nfs://host/path?version=3)");
}

static const struct key *find_key(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

bool config_is_key(const char *name)
{
	return find_key(name);
}

static const char *refuses(const char *group, const char *name)
{
	const struct key *key = find_key(name);

	if (g_str_has_prefix(group, CONFIG_SERVER) && config_is_server_key(name))
		return NULL;
	if (!key)
		return "unknown key; correct or remove it, the keys are in quickmigrate.conf(5)";
	if (g_str_has_prefix(group, CONFIG_SERVER))
		return "not of an old server; it can have bandwidth, requests, limits and nodes";
	if (!strcmp(group, CONFIG_DEFAULTS) && key->use == FOR_NONE)
		return "each volume has its own; put it into the group of the volume";
	return NULL;
}

GKeyFile *config_parse(const char *file, GError **error)
{
	return config_file_load(file ? file : CONFIG_FILE, refuses, error);
}

/* Whether the volume is one that a value in [defaults] is for. */
static bool takes_default(GKeyFile *parsed, const char *group, const struct key *key)
{
	g_autofree char *source = config_file_value(parsed, group, "source");
	bool smb = source && g_str_has_prefix(source, "smb://");

	if (key->instead && g_key_file_has_key(parsed, group, key->instead, NULL))
		return false;
	if (key->use == FOR_SIDS)
		return smb || g_key_file_has_key(parsed, group, "acl-source", NULL);
	return key->use == FOR_ALL || (key->use == FOR_NUMBERS && !smb);
}

/* *group becomes the group in which the value stands. */
static char *value_for(GKeyFile *parsed, const char **group, const struct key *key)
{
	char *value = config_file_value(parsed, *group, key->name);

	if (value || !takes_default(parsed, *group, key))
		return value;
	value = config_file_value(parsed, CONFIG_DEFAULTS, key->name);
	if (value)
		*group = CONFIG_DEFAULTS;
	return value;
}

/* ---- what holds between settings ------------------------------------------------------------- */

static gboolean is_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	if (len == 1)
		return TRUE;
	return !strncmp(path, top, len) && (path[len] == '/' || !path[len]);
}

/* The directory that path is in; the root's own is NULL.  Takes path. */
static char *directory_above(char *path)
{
	char *above = path[1] ? g_path_get_dirname(path) : NULL;

	g_free(path);
	return above;
}

/* Of what is not there yet the directories above it are resolved. */
static char *resolved_path(const char *path)
{
	g_autoptr(GString) below = g_string_new("");
	char *plain = g_canonicalize_filename(path, "/"), *real, *all;

	while (!(real = realpath(plain, NULL)) && plain[1]) {
		g_string_prepend(below, strrchr(plain, '/'));
		plain = directory_above(plain);
	}
	all = g_strconcat(real && real[1] ? real : "", below->str, NULL);
	free(real);
	g_free(plain);
	if (*all)
		return all;
	g_free(all);
	return g_strdup("/");
}

static gboolean trees_overlap(const char *a, const char *b)
{
	g_autofree char *x = resolved_path(a), *y = resolved_path(b);

	return is_below(x, y) || is_below(y, x);
}

/* That of a file:// source, as it is opened. */
static char *path_of_source(const char *url)
{
	const char *text = url + strlen("file://");
	char *path = url_path(url, text, strlen(text), NULL);

	return path ? path : g_strdup(text);
}

/* Two groups at one place suffice to find another than oneself. */
static void add_root(GHashTable *roots, const char *place, const char *group)
{
	const char *first = g_hash_table_lookup(roots, place);

	g_hash_table_insert(
		roots, g_strconcat(place, first && strcmp(first, group) != 0 ? "\n" : "", NULL),
		g_strdup(group));
}

static const char *find_other(GHashTable *roots, const char *place, const char *group)
{
	const char *first = g_hash_table_lookup(roots, place);
	g_autofree char *second = g_strconcat(place, "\n", NULL);

	return first && !strcmp(first, group) ? g_hash_table_lookup(roots, second) : first;
}

GHashTable *config_roots_new(GKeyFile *parsed, const char *but)
{
	GHashTable *roots = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_auto(GStrv) groups = g_key_file_get_groups(parsed, NULL);

	for (char **group = groups; *group; group++) {
		g_autofree char *root = config_file_value(parsed, *group, "root");

		if (g_strcmp0(*group, but) != 0 && root && *root == '/')
			config_roots_add(roots, *group, root);
	}
	return roots;
}

void config_roots_add(GHashTable *roots, const char *group, const char *root)
{
	char *path = resolved_path(root);

	add_root(roots, path, group);
	for (; path; path = directory_above(path)) {
		g_autofree char *below = g_strconcat(path, "/", NULL);

		add_root(roots, below, group);
	}
}

/* Another group whose root is that directory, or one above it, or below it; NULL: none is. */
static const char *find_overlap(GHashTable *roots, const char *group, const char *root)
{
	char *path = resolved_path(root);
	g_autofree char *below = g_strconcat(path, "/", NULL);
	const char *other = find_other(roots, below, group);

	for (; path; path = directory_above(path))
		other = other ? other : find_other(roots, path, group);
	return other;
}

/* Two volumes in one tree would take each other's stubs for files; so would a volume whose source
 * is part of the tree that it fills. */
static gboolean check_overlaps(const char *file, GHashTable *roots, const char *group,
			       const struct volume_config *config, GError **error)
{
	struct config_place at = {file, group, "root", config->root};
	const char *other = find_overlap(roots, group, config->root);
	g_autofree char *tree =
		g_str_has_prefix(config->source, "file://") ? path_of_source(config->source) : NULL;

	if (tree && trees_overlap(tree, config->root)) {
		at.key = "source";
		at.value = config->source;
		return config_wrong(error, &at,
				    "overlaps with root = %s; source and root must be apart",
				    config->root);
	}
	return !other || config_wrong(error, &at,
				      "overlaps with the root of [%s]; give every volume a tree of "
				      "its own",
				      other);
}

static gboolean parse_volume(const char *file, GKeyFile *parsed, GHashTable *roots,
			     const char *group, struct volume_config *config, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
		const struct key *key = &keys[i];
		void *const places[] = {config, config->smb, config->nfs};
		void *field = (char *)places[key->place] + key->offset;
		const char *place = group;
		g_autofree char *value = value_for(parsed, &place, key);
		struct config_place at = {file, place, key->name, value};

		if (!value) {
			if (i < REQUIRED)
				return config_wrong(error, &at,
						    "missing; add it, see quickmigrate.conf(5)");
			if (!key->parse)
				*(unsigned *)field = key->fallback;
		} else if (!(key->parse ? key->parse(field, &at, error)
			     : key->words
				     ? config_take_word(field, key->words, key->n_words, &at, error)
				     : parse_unsigned(key, field, &at, error))) {
			return FALSE;
		}
	}
	if (!config->socket)
		config->socket = g_strdup_printf(SOCKET_OF, config->name);
	if (!config->report)
		config->report = g_strdup_printf(REPORT_DIR "/%s.report", config->name);
	config->nfs->elsewhere = config->takeover != TAKEOVER_NONE;
	if (!config->takeover_file)
		config->takeover_file = g_strdup_printf(REPORT_DIR "/%s.takeover", config->name);
	if (!config->journal)
		config->journal = g_strdup_printf(REPORT_DIR "/%s.journal", config->name);
	return check_takeover(file, group, config, error) &&
	       config_find_server(file, parsed, config, error) &&
	       config_check_smb(config, file, group, error) &&
	       config_make_rules(config, file, group, error) &&
	       check_overlaps(file, roots, group, config, error);
}

static gboolean check_root(const char *file, const char *group, const char *root, GError **error)
{
	const struct config_place at = {file, group, "root", root};
	struct stat st;

	if (stat(root, &st))
		return config_wrong(error, &at,
				    "%s; create the directory or mount its file system first",
				    g_strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return config_wrong(error, &at,
				    "not a directory; name the directory that is to be filled");
	return TRUE;
}

struct volume_config *config_load(const char *file, const char *volume, GError **error)
{
	struct volume_config *config = config_load_unmounted(file, volume, error);
	g_autofree char *group = g_strconcat(CONFIG_VOLUME, volume, NULL);

	if (config && !check_root(file ? file : CONFIG_FILE, group, config->root, error))
		g_clear_pointer(&config, config_free);
	return config;
}

static bool is_installed(const char *file)
{
	return !strcmp(file, CONFIG_FILE);
}

struct volume_config *config_of_group(GKeyFile *parsed, GHashTable *roots, const char *file,
				      const char *volume, GError **error)
{
	g_autofree char *group = g_strconcat(CONFIG_VOLUME, volume, NULL);
	struct volume_config *config = g_new0(struct volume_config, 1);

	config->name = g_strdup(volume);
	config->installed = is_installed(file);
	config->smb = g_new0(struct smb_config, 1);
	config->nfs = g_new0(struct nfs_config, 1);
	if (config_file_check(file, parsed, group, refuses, error) &&
	    parse_volume(file, parsed, roots, group, config, error))
		return config;
	config_free(config);
	return NULL;
}

struct volume_config *config_load_unmounted(const char *file, const char *volume, GError **error)
{
	if (!file)
		file = CONFIG_FILE;

	g_autoptr(GKeyFile) parsed = config_parse(file, error);
	if (!parsed)
		return NULL;

	g_autofree char *group = g_strconcat(CONFIG_VOLUME, volume, NULL);
	if (!g_key_file_has_group(parsed, group)) {
		g_auto(GStrv) names = config_volumes(file, NULL);
		g_autofree char *list = names && names[0] ? g_strjoinv(", ", names) : NULL;
		g_autofree char *root = is_installed(file) ? attached_root(volume) : NULL;
		const struct config_place at = {file, group, NULL, NULL};

		if (root)
			return config_wrong(error, &at, ATTACHED_FORGOTTEN, root, root), NULL;
		config_wrong(error, &at,
			     "no such group; add it, or use one of the volumes there are: %s",
			     list ? list : "(none)");
		return NULL;
	}

	g_autoptr(GHashTable) roots = config_roots_new(parsed, group);

	return config_of_group(parsed, roots, file, volume, error);
}

GPtrArray *config_names(const char *file, GError **error)
{
	g_autoptr(GKeyFile) parsed = config_parse(file, error);
	g_auto(GStrv) groups = parsed ? g_key_file_get_groups(parsed, NULL) : NULL;
	GPtrArray *names = parsed ? config_names_new() : NULL;

	for (unsigned i = 0; parsed && groups[i]; i++) {
		const char *group = groups[i], *place = group;
		struct volume_name *name;

		if (!g_str_has_prefix(group, CONFIG_VOLUME))
			continue;
		name = g_new0(struct volume_name, 1);
		name->name = g_strdup(group + strlen(CONFIG_VOLUME));
		name->socket = config_file_value(parsed, group, "socket");
		name->wave = value_for(parsed, &place, find_key("wave"));
		name->root = config_file_value(parsed, group, "root");
		name->source = config_file_value(parsed, group, "source");
		if (!name->socket)
			name->socket = g_strdup_printf(SOCKET_OF, name->name);
		g_ptr_array_add(names, name);
	}
	return names;
}

char **config_volumes(const char *file, GError **error)
{
	g_autoptr(GPtrArray) names = config_names(file, error);
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

	for (unsigned i = 0; names && i < names->len; i++)
		g_strv_builder_add(builder, ((struct volume_name *)names->pdata[i])->name);
	return names ? g_strv_builder_end(builder) : NULL;
}

void config_free(struct volume_config *config)
{
	if (!config)
		return;
	g_free(config->name);
	g_free(config->root);
	g_free(config->source);
	g_free(config->wave);
	if (config->nfs) {
		g_free(config->nfs->keytab);
		g_free(config->nfs->ccache);
		g_free(config->nfs->principal);
		g_free(config->nfs->ca);
		g_free(config->nfs->certificate);
		g_free(config->nfs->key);
		g_free(config->nfs);
	}
	if (config->smb) {
		g_free(config->smb->password_file);
		g_free(config->smb->ccache);
		g_free(config->smb->domain);
		g_free(config->smb);
	}
	calendar_free(config->limits);
	g_free(config->server.host);
	calendar_free(config->server.limits);
	owners_free(config->map_users);
	owners_free(config->map_groups);
	g_free(config->acl_source);
	sid_map_free(config->map_sids);
	sid_map_free(config->sid_users);
	sid_map_free(config->sid_groups);
	g_free(config->rollback_source);
	g_free(config->rollback_password_file);
	g_free(config->rollback_ccache);
	g_strfreev(config->snapshots);
	g_strfreev(config->exclude);
	g_strfreev(config->include);
	rules_free(config->rules);
	g_strfreev(config->guard_refuse);
	g_strfreev(config->takeover_directories);
	g_free(config->takeover_file);
	g_free(config->report);
	g_free(config->journal);
	g_free(config->socket);
	g_free(config);
}
