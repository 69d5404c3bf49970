/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/judge.h"

#include <grp.h>
#include <linux/limits.h>
#include <pwd.h>
#include <string.h>

#include "lib/acl/nt_acl.h"
#include "lib/base/text.h"
#include "lib/config/owners.h"
#include "lib/source/smb/smb_text.h"
#include "retriever/making/attributes.h"
#include "retriever/names/name_errors.h"
#include "retriever/names/fill_page.h"

#define IDS 65536 /* that are told apart */

void judge_init(struct judge *judge, const struct volume_config *config, struct limits limits,
		struct notices *notices)
{
	*judge = (struct judge){.config = config, .limits = limits, .notices = notices};
	judge->root_len = config->root ? strlen(config->root) : 0;
	judge->by_smb = g_str_has_prefix(config->source, "smb:");
	g_mutex_init(&judge->lock);
	judge->ids = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

void judge_clear(struct judge *judge)
{
	g_hash_table_unref(judge->ids);
	g_mutex_clear(&judge->lock);
}

char *judge_path(const char *directory, const char *name)
{
	return *directory ? g_strconcat(directory, "/", name, NULL) : g_strdup(name);
}

G_GNUC_PRINTF(4, 5)
static void lose(struct judge *judge, enum notice_kind kind, const char *path, const char *format,
		 ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	notices_add(judge->notices, kind, path, text);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* As Samba's mangled names have it (smb.conf(5), "NAME MANGLING"): what Windows cannot say. */
static bool is_device_finding(const char *name)
{
	static const char *const devices[] = {"CON", "PRN", "AUX", "NUL"};
	const size_t len = strcspn(name, ".");

	for (unsigned i = 0; i < G_N_ELEMENTS(devices); i++)
		if (len == 3 && !g_ascii_strncasecmp(name, devices[i], len))
			return true;
	return len == 4 && name[3] >= '1' && name[3] <= '9' &&
	       (!g_ascii_strncasecmp(name, "COM", 3) || !g_ascii_strncasecmp(name, "LPT", 3));
}

static bool smb_shows(const char *name)
{
	const size_t len = strlen(name);

	return smb_name_ok(name, len) && g_utf8_validate(name, (gssize)len, NULL) &&
	       name[len - 1] != '.' && name[len - 1] != ' ' && !is_device_finding(name);
}

bool judge_leaves_out(struct judge *judge, const char *directory, const struct source_entry *entry)
{
	const char *rule = directory_rule(judge->config, directory, entry);

	if (rule)
		notices_add_rule(judge->notices, rule,
				 entry->has_attr && S_ISREG(entry->attr.mode) ? entry->attr.size
									      : 0);
	return rule;
}

bool judge_name(struct judge *judge, const char *directory, const struct source_entry *entry)
{
	const char *name = entry->name;
	g_autofree char *path = judge_path(directory, name);

	if (directory_reserves(directory, name)) {
		lose(judge, NOTICE_NAME, path,
		     "this name is reserved at the volume's root: rename it on the old server");
		return false;
	}
	if (judge_leaves_out(judge, directory, entry))
		return false;
	if (!judge->by_smb && !smb_shows(name))
		lose(judge, NOTE_SMB_NAME, path,
		     "a character, an end or a word that SMB clients cannot say");
	if (judge->root_len + 1 + strlen(path) >= PATH_MAX)
		lose(judge, NOTE_PATH, path, "%zu bytes, and %d can be said at once",
		     judge->root_len + 1 + strlen(path), PATH_MAX - 1);
	return true;
}

void judge_refused(struct judge *judge, const char *directory, const struct backend_batch *batch)
{
	for (guint i = 0; i < batch->refused->len; i++) {
		const struct source_refusal *refusal =
			&g_array_index(batch->refused, struct source_refusal, i);
		g_autofree char *path = judge_path(directory, refusal->name);

		notices_add(judge->notices, NOTICE_NAME, path, error_kind(refusal->why)->sentence);
	}
	notices_count(judge->notices, NOTICE_NAME, batch->rejected - batch->refused->len);
}

/* ---- owners ---------------------------------------------------------------------------------- */

static bool has_name_finding(bool group, uint32_t id)
{
	char room[16384];
	struct passwd user, *found_user = NULL;
	struct group members, *found_group = NULL;

	/* a long list of members is one, too; and nobody is missing for a name service that fails
	 */
	if (group)
		return getgrgid_r(id, &members, room, sizeof(room), &found_group) || found_group;
	return getpwuid_r(id, &user, room, sizeof(room), &found_user) || found_user;
}

static void judge_owner(struct judge *judge, bool group, uint32_t old)
{
	const struct owners *map = group ? judge->config->map_groups : judge->config->map_users;
	const uint32_t id = owners_map(map, old);
	const gint64 key = (gint64)group << 32 | id;
	gpointer known;

	g_mutex_lock(&judge->lock);
	if (!g_hash_table_lookup_extended(judge->ids, &key, NULL, &known)) {
		known = GINT_TO_POINTER(has_name_finding(group, id));
		if (g_hash_table_size(judge->ids) < IDS)
			g_hash_table_insert(judge->ids, g_memdup2(&key, sizeof(key)), known);
	}
	g_mutex_unlock(&judge->lock);
	if (!known)
		lose(judge, NOTE_OWNER, "", "%s %u", group ? "group" : "user", id);
	if (!judge->by_smb) /* there SIDs are counted */
		lose(judge, NOTE_OWNERS, "", "%s %u", group ? "group" : "user", old);
}

static void count_sids(struct judge *judge, const struct source_windows *windows)
{
	const char *why;
	struct nt_descriptor *sd = nt_decode(windows->sd, windows->sd_len, &why);

	for (unsigned group = 0; sd && group < 2; group++) {
		const struct sid *sid = group ? &sd->group : &sd->owner;
		g_autofree char *text = sid_text(sid);

		if (sid->len)
			lose(judge, NOTE_OWNERS, "", "SID %s", text);
	}
	nt_free(sd);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void judge_kind(struct judge *judge, const char *path, const struct source_attr *attr)
{
	switch (attr->mode & S_IFMT) {
	case S_IFREG:
		if (attr->size > judge->limits.size)
			notices_add(judge->notices, NOTICE_SIZE, path,
				    error_kind(name_not_made(-EFBIG))->sentence);
		if (attr->elsewhere)
			lose(judge, NOTE_ELSEWHERE, path, TEXT_COUNT,
			     TEXT_COUNTED(attr->size, "bytes"));
		break;
	case S_IFDIR:
		break;
	case S_IFLNK:
		if (attr->size > judge->limits.symlink)
			lose(judge, NOTICE_SYMLINK, path, TEXT_COUNT " of text; %s holds %u",
			     TEXT_COUNTED(attr->size, "bytes"),
			     judge->limits.name ? judge->limits.name : "Linux",
			     judge->limits.symlink);
		break;
	case S_IFCHR:
	case S_IFBLK:
		lose(judge, NOTE_SPECIAL, path, "a device");
		break;
	case S_IFIFO:
		lose(judge, NOTE_SPECIAL, path, "a pipe");
		break;
	case S_IFSOCK:
		lose(judge, NOTE_SPECIAL, path, "a socket");
		break;
	default:
		lose(judge, NOTICE_TYPE, path, "type 0%o", attr->mode & S_IFMT);
	}
}

uint32_t judge_object(struct judge *judge, const char *path, const struct source_attr *attr,
		      const struct source_xattrs *xattrs)
{
	struct attributes_result carried = {0};
	uint32_t takes =
		attributes_foresee(judge->config, judge->limits.attributes, attr, xattrs, &carried);

	for (guint i = 0; carried.lost && i < carried.lost->len; i++) {
		const struct loss_line *line = carried.lost->pdata[i];

		notices_add(judge->notices, notice_of_loss(line->kind, line->text), path,
			    line->text);
	}
	attributes_clear(&carried);
	judge_kind(judge, path, attr);
	if (!S_ISDIR(attr->mode) && attr->nlink > judge->limits.links)
		lose(judge, NOTICE_LINKS, path,
		     "a file with %u names: %s has %u at most, the others become another file",
		     attr->nlink, judge->limits.name, judge->limits.links);
	if (!attr->no_owner && (!(xattrs && xattrs->windows) || judge->config->acl_source)) {
		judge_owner(judge, false, attr->uid);
		judge_owner(judge, true, attr->gid);
	}
	if (xattrs && xattrs->windows)
		count_sids(judge, xattrs->windows);
	return takes;
}
