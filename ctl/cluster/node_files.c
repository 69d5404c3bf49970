/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A listing goes from node to node, so it must not help to guess a password.  For a file with a
 * secret it has 16 bits of a slow digest: these fail to tell two files apart once in 65536 times,
 * and a list of passwords that is tried against them leaves one in 65536, each of which costs time.
 */
#include "ctl/cluster/node_files.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/cluster/items.h"
#include "lib/config/config.h"
#include "lib/config/config_file.h"

#define ROUNDS	  200000
#define LINKS_MAX 40

enum content {
	PUBLIC, /* may be known */
	SECRET,
	TICKETS, /* secret, and renewed all the time */
};

static const struct {
	const char *key;
	enum content content;
} files[] = {{"smb-password-file", SECRET},
	     {"rollback-password-file", SECRET},
	     {"nfs-keytab", SECRET},
	     {"nfs-key", SECRET},
	     {"nfs-ca", PUBLIC},
	     {"nfs-certificate", PUBLIC},
	     {"smb-ccache", TICKETS},
	     {"nfs-ccache", TICKETS},
	     {"rollback-ccache", TICKETS}};

/* ---- digests ----------------------------------------------------------------------------------
 */

char *node_files_digest(const char *file)
{
	g_autofree char *text = NULL;
	gsize len;

	if (!g_file_get_contents(file, &text, &len, NULL))
		return NULL;
	g_autofree char *whole =
		g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text, len);
	return g_strndup(whole, 16);
}

static char *digest_of_secret(const char *key, const char *file)
{
	g_autofree char *text = NULL;
	unsigned char digest[2];
	gsize len;

	if (!g_file_get_contents(file, &text, &len, NULL))
		return NULL;
	const gnutls_datum_t secret = {(unsigned char *)text, (unsigned)len};
	const gnutls_datum_t salt = {(unsigned char *)key, (unsigned)strlen(key)};
	int ret = gnutls_pbkdf2(GNUTLS_MAC_SHA256, &secret, &salt, ROUNDS, digest, sizeof(digest));

	explicit_bzero(text, len);
	return ret < 0 ? NULL : g_strdup_printf("%02x%02x", digest[0], digest[1]);
}

/* ---- settings ---------------------------------------------------------------------------------
 */

static void add_file(GPtrArray *items, const char *key, const char *file, enum content content)
{
	g_autofree char *name = g_strdup_printf("file %s", key), *digest = NULL, *value = NULL;
	struct stat st;

	if (stat(file, &st)) {
		items_lack(items_add(items, name, NULL),
			   "%s: %s: copy it from a node that has it, for root alone to read", file,
			   g_strerror(errno));
		return;
	}
	if (content == PUBLIC)
		digest = node_files_digest(file);
	else if (content == SECRET)
		digest = digest_of_secret(key, file);
	value = g_strdup_printf("%s, mode %04o, owner %u:%u%s%s", file, st.st_mode & 07777,
				st.st_uid, st.st_gid, digest ? ", digest " : "",
				digest ? digest : "");
	struct item *item = items_add(items, name, value);
	if (!digest && content != TICKETS)
		items_lack(item, "%s: cannot be read: look at what it is", file);
	else if (content != PUBLIC && st.st_mode & 077)
		items_lack(item, "%s: others than root can use it: chmod 600", file);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The keys of a group that are not in another one, by name. */
static char **keys_of(GKeyFile *parsed, const char *group, const char *but)
{
	g_auto(GStrv) keys = g_key_file_get_keys(parsed, group, NULL, NULL);
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

	for (char **key = keys; key && *key; key++)
		if (!but || !g_key_file_has_key(parsed, but, *key, NULL))
			g_strv_builder_add(builder, *key);
	char **kept = g_strv_builder_end(builder);
	qsort(kept, g_strv_length(kept), sizeof(*kept), by_name);
	return kept;
}

static void add_group(GPtrArray *items, GKeyFile *parsed, const char *group, const char *but,
		      const char *called)
{
	g_auto(GStrv) keys = keys_of(parsed, group, but);

	for (char **key = keys; *key; key++) {
		g_autofree char *value = config_file_value(parsed, group, *key);
		g_autofree char *name = g_strdup_printf("%s %s", called, *key);

		items_add(items, name, value);
	}
	for (char **key = keys; *key; key++)
		for (unsigned i = 0; i < G_N_ELEMENTS(files); i++) {
			if (strcmp(*key, files[i].key))
				continue;
			g_autofree char *value = config_file_value(parsed, group, *key);
			add_file(items, *key, value, files[i].content);
		}
}

void node_files_settings(GPtrArray *items, const char *file, const struct volume_config *config)
{
	g_autofree char *own = g_strdup_printf(CONFIG_VOLUME "%s", config->name);
	g_autofree char *server =
		g_strdup_printf(CONFIG_SERVER "%s", config->server.host ? config->server.host : "");
	g_autoptr(GKeyFile) parsed = config_parse(file, NULL);

	if (!parsed)
		return;
	add_group(items, parsed, own, NULL, "config");
	add_group(items, parsed, CONFIG_DEFAULTS, own, "config");
	add_group(items, parsed, server, NULL, "config server");
}

/* ---- state ------------------------------------------------------------------------------------
 */

/* Where path leads, as far as that is known while its file system is not mounted. */
static char *place_of(const char *path, unsigned links)
{
	g_autofree char *whole = realpath(path, NULL), *link = NULL;

	if (whole || !path[1])
		return g_strdup(whole ? whole : path);
	g_autofree char *above = g_path_get_dirname(path), *name = g_path_get_basename(path);
	link = links < LINKS_MAX ? g_file_read_link(path, NULL) : NULL;
	if (link) {
		g_autofree char *target = g_canonicalize_filename(link, above);
		return place_of(target, links + 1);
	}
	g_autofree char *there = place_of(above, links + 1);
	return g_build_filename(there, name, NULL);
}

void node_files_place(GPtrArray *items, const char *below, const char *key, const char *path,
		      const char *remedy)
{
	g_autofree char *full = g_strconcat(below, path, NULL), *place = place_of(full, 0);
	const char *shown = g_str_has_prefix(place, below) ? place + strlen(below) : place;
	struct item *item = items_add(items, key, shown);

	if (g_str_has_prefix(shown, "/var/lib/") || g_str_has_prefix(shown, "/etc/"))
		items_lack(item, "%s does not move with the volume: %s", shown, remedy);
}

/* The first value that looks like pattern to which a parameter is set in a file; NULL: there is
 * none. g_free. */
static char *parameter_in(const char *config, const char *name, const char *pattern)
{
	g_autofree char *text = NULL, *whole = NULL;
	g_autoptr(GMatchInfo) match = NULL;

	if (!g_file_get_contents(config, &text, NULL, NULL) || !g_utf8_validate(text, -1, NULL))
		return NULL;
	whole = g_strdup_printf("^[^#\n]*\\b%s\\s*=\\s*\"?(%s)", name, pattern);
	g_autoptr(GRegex) regex = g_regex_new(whole, G_REGEX_MULTILINE | G_REGEX_CASELESS, 0, NULL);
	return g_regex_match(regex, text, 0, &match) ? g_match_info_fetch(match, 1) : NULL;
}

static void add_doors(GPtrArray *items, const char *key, const char *file)
{
	g_autofree char *digest = node_files_digest(file), *name = g_path_get_basename(file);
	g_autofree char *value = g_strdup_printf("%s, digest %s", name, digest ? digest : "");

	items_add(items, key, digest ? value : NULL);
}

static char *own_door(const char *below, const char *server, const char *volume)
{
	g_autofree char *own = g_strdup_printf("%s/etc/%s/%s.conf", below, server, volume);

	return g_file_test(own, G_FILE_TEST_EXISTS) ? g_steal_pointer(&own) : NULL;
}

char *node_files_door(const char *below, const char *server, const char *volume, const char *usual)
{
	char *own = own_door(below, server, volume);

	return own ? own : g_strdup_printf("%s/etc/%s/%s.conf", below, server, usual);
}

bool node_files_locks_v3(const char *below, const char *volume)
{
	g_autofree char *file = node_files_door(below, "ganesha", volume, "ganesha");
	g_autofree char *any = parameter_in(file, "Protocols", ""),
			*three = parameter_in(file, "Protocols", "[^;#\n]*3"),
			*off = parameter_in(file, "Enable_NLM", "false|no|off|0");

	return (!any || three) && !off;
}

char *node_files_locks_beside(const char *below, const char *volume, char **volumes)
{
	g_autoptr(GString) found = g_string_new(NULL);

	for (char **other = volumes; other && *other; other++) {
		g_autofree char *own = own_door(below, "ganesha", *other);

		if (own && strcmp(*other, volume) && node_files_locks_v3(below, *other))
			g_string_append_printf(found, "%s%s", found->len ? " " : "", *other);
	}
	return found->len ? g_string_free(g_steal_pointer(&found), FALSE) : NULL;
}

void node_files_others(GPtrArray *items, const char *volume, char **volumes, const char *below)
{
	if (!node_files_locks_v3(below, volume))
		return;
	g_autofree char *others = node_files_locks_beside(below, volume, volumes);
	struct item *item = items_add(items, "locks of others", others);

	if (others)
		items_lack(item,
			   "NFSv3 clients of one volume alone keep their locks, as rpc.statd and "
			   "the portmapper are one for a node: set Protocols = 4 in "
			   "/etc/ganesha/NAME.conf of all others");
}

/* Linux takes a server of another scope for another server, and reclaims nothing there. */
static void add_scope(GPtrArray *items, const char *ganesha)
{
	g_autofree char *any = parameter_in(ganesha, "Protocols", ""),
			*four = parameter_in(ganesha, "Protocols", "[^;#\n]*4"),
			*scope = parameter_in(ganesha, "Server_Scope", "[^\"\\s;]+");

	if (any && !four)
		return;
	struct item *item = items_add(items, "scope ganesha", scope);
	if (!scope)
		items_lack(item,
			   "NFSv4.1 clients lose their locks in a move, as each node's name is "
			   "another scope: set Server_Scope in the block NFSv4 to the same name on "
			   "all nodes");
}

static void add_ganesha(GPtrArray *items, const char *volume, const char *below)
{
	g_autofree char *file = node_files_door(below, "ganesha", volume, "ganesha");
	g_autofree char *root = parameter_in(file, "RecoveryRoot", "[^\"\\s;]+");

	add_doors(items, "doors ganesha", file);
	if (!g_file_test(file, G_FILE_TEST_EXISTS))
		return;
	node_files_place(items, below, "state ganesha", root ? root : "/var/lib/nfs/ganesha",
			 "NFSv4 clients cannot get their locks back: set RecoveryRoot to a "
			 "directory on the volume's disk, or make this one a link to it");
	add_scope(items, file);
	if (!node_files_locks_v3(below, volume)) /* no statd */
		return;
	g_autofree char *nfs = g_strconcat(below, "/etc/nfs.conf", NULL);
	static const char no_statd[] =
		"NFSv3 clients do not learn that their locks are gone: set state-directory-path in "
		"the section statd of /etc/nfs.conf to a directory on the volume's disk";
	g_autofree char *statd = parameter_in(nfs, "state-directory-path", "[^\"\\s;]+");
	if (statd)
		node_files_place(items, below, "state statd", statd, no_statd);
	else
		items_lack(items_add(items, "state statd", NULL), "%s", no_statd);
}

void node_files_state(GPtrArray *items, const struct volume_config *config, const char *below)
{
	g_autofree char *samba = node_files_door(below, "samba", config->name, "smb");

	node_files_place(
		items, below, "state report", config->report,
		"set report in the volume's configuration to a file on a disk that moves with it");
	node_files_place(
		items, below, "state journal", config->journal,
		"set journal in the volume's configuration to a file on a disk that moves with it");
	if (config->takeover != TAKEOVER_NONE)
		node_files_place(
			items, below, "state takeover", config->takeover_file,
			"clients would lose what they have mounted: set takeover-file, and "
			"Takeover of the exports, to a file on a disk that moves with it");
	add_ganesha(items, config->name, below);
	add_doors(items, "doors samba", samba);
}
