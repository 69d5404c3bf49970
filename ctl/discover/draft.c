/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/draft.h"

#include <string.h>

#include "ctl/discover/quote.h"
#include "lib/base/text.h"

#define ROOTS	  "/srv/"
#define SOME_USER "migrator"

static void free_share(void *data)
{
	struct draft_share *share = data;

	g_free(share->path);
	g_free(share);
}

static void free_volume(void *data)
{
	struct draft_volume *volume = data;

	g_free(volume->name);
	g_free(volume->root);
	g_ptr_array_unref(volume->shares);
	g_free(volume);
}

static bool is_taken(const struct draft *draft, const char *name)
{
	for (unsigned i = 0; i < draft->volumes->len; i++)
		if (!strcmp(((struct draft_volume *)draft->volumes->pdata[i])->name, name))
			return true;
	return false;
}

static struct draft_volume *add_volume(struct draft *draft, const char *like)
{
	struct draft_volume *volume = g_new0(struct draft_volume, 1);
	g_autofree char *base = quote_name(like);

	volume->name = g_strdup(base);
	for (unsigned n = 2; is_taken(draft, volume->name); n++) {
		g_free(volume->name);
		volume->name = g_strdup_printf("%s-%u", base, n);
	}
	volume->root = g_strconcat(ROOTS, volume->name, NULL);
	volume->shares = g_ptr_array_new_with_free_func(free_share);
	g_ptr_array_add(draft->volumes, volume);
	return volume;
}

/* What follows dir in path: "" or "/...", or NULL if it is not below. */
static const char *path_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	while (len && dir[len - 1] == '/')
		len--;
	if (strncmp(path, dir, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path[len + strspn(path + len, "/")] ? path + len : "";
}

/* The volume of the nearest export that the share is in; *rest: the path below that. */
static struct draft_volume *volume_of(const struct draft *draft,
				      const struct inventory_share *share, const char **rest)
{
	struct draft_volume *nearest = NULL;

	for (unsigned i = 0; share->path && i < draft->volumes->len; i++) {
		struct draft_volume *volume = draft->volumes->pdata[i];
		const char *behind =
			volume->export ? path_below(share->path, volume->export->path) : NULL;

		if (behind && quote_is_value(behind[0] ? behind : "/", false) &&
		    (!nearest || strlen(behind) < strlen(*rest))) {
			nearest = volume;
			*rest = behind;
		}
	}
	return nearest;
}

static void add_share(struct draft *draft, const struct inventory_share *share)
{
	struct draft_share *entry;
	const char *rest = "";
	struct draft_volume *volume;

	/* those that end in $ are the old server's own: disks and administration */
	if (strcmp(share->type, "disk") || g_str_has_suffix(share->name, "$"))
		return;
	volume = volume_of(draft, share, &rest);
	if (!volume)
		volume = add_volume(draft, share->name);
	entry = g_new0(struct draft_share, 1);
	entry->share = share;
	entry->path = g_strconcat(volume->root, rest, NULL);
	g_ptr_array_add(volume->shares, entry);
}

struct draft *draft_new(const char *host, const char *user, const struct inventory *found)
{
	struct draft *draft = g_new0(struct draft, 1);

	draft->host = host;
	draft->user = user;
	draft->volumes = g_ptr_array_new_with_free_func(free_volume);
	for (unsigned i = 0; i < found->exports->len; i++) {
		const struct inventory_export *export = found->exports->pdata[i];

		add_volume(draft, export->path)->export = export;
	}
	for (unsigned i = 0; i < found->shares->len; i++)
		add_share(draft, found->shares->pdata[i]);
	return draft;
}

void draft_free(struct draft *draft)
{
	g_ptr_array_unref(draft->volumes);
	g_free(draft);
}

/* ---- quickmigrate.conf ----------------------------------------------------------------------- */

static void describe_volume(GString *out, const struct draft *draft,
			    const struct draft_volume *volume)
{
	for (unsigned i = 0; i < volume->shares->len; i++) {
		const struct inventory_share *share =
			((struct draft_share *)volume->shares->pdata[i])->share;
		g_autofree char *name = text_line(share->name);
		g_autofree char *comment = text_line(share->comment);

		g_string_append_printf(out, "# share %s%s%s\n", name, *comment ? ": " : "",
				       comment);
	}
	if (!volume->export)
		return;
	g_autofree char *path = text_line(volume->export->path);
	g_autofree char *size = inventory_size(volume->export->space.bytes);
	g_autofree char *rest = inventory_size(volume->export->space.free);
	g_string_append_printf(out, "# export %s", path);
	if (volume->export->has_space)
		g_string_append_printf(out, ": its file system has %s, of which %s are free", size,
				       rest);
	g_string_append_c(out, '\n');
	/* a file system of its own, or a directory of the other one's: MOUNT does not tell */
	for (unsigned i = 0; i < draft->volumes->len; i++) {
		const struct draft_volume *other = draft->volumes->pdata[i];

		if (other == volume || !other->export ||
		    !path_below(volume->export->path, other->export->path))
			continue;
		g_string_append_printf(out,
				       "# It is below that of [volume %s]. If it is no file "
				       "system of its own there, it comes with\n# that one: "
				       "take this group away.\n",
				       other->name);
	}
}

static void append_volume(GString *out, const struct draft *draft,
			  const struct draft_volume *volume)
{
	const char *user = draft->user ? draft->user : SOME_USER;
	g_autofree char *smb = NULL, *nfs = NULL;

	if (volume->export)
		nfs = quote_nfs_url(draft->host, volume->export->path, volume->export->sec);
	if (volume->shares->len)
		smb = quote_smb_url(user, draft->host,
				    ((struct draft_share *)volume->shares->pdata[0])->share->name);
	g_string_append_c(out, '\n');
	describe_volume(out, draft, volume);
	if (volume->export ? !nfs : !smb) {
		g_string_append(out, "# There is no URL for this name: no volume.\n");
		return;
	}
	g_string_append_printf(out, "[volume %s]\nroot = %s\nsource = %s\n", volume->name,
			       volume->root, nfs ? nfs : smb);
	if (nfs && smb)
		g_string_append_printf(out, "# for ACLs and streams of SMB:\n#acl-source = %s\n",
				       smb);
	if (smb)
		g_string_append_printf(
			out,
			"# made with: install -m 600 /dev/stdin /etc/quickmigrate/"
			"%s.password, then the password, Enter and Ctrl-D\n"
			"%ssmb-password-file = /etc/quickmigrate/%s.password\n"
			"# for a tree that nobody reaches but by Samba, else: descriptor"
			"\n%ssmb-modes = open\n",
			volume->name, nfs ? "#" : "", volume->name, nfs ? "#" : "");
}

char *draft_volumes(const struct draft *draft)
{
	g_autofree char *host = text_line(draft->host);
	GString *out = g_string_new("");

	g_string_append_printf(out,
			       "# What %s has; for /etc/quickmigrate/quickmigrate.conf. Each root "
			       "is to be made first,\n# as the root of a file system.\n",
			       host);
	for (unsigned i = 0; i < draft->volumes->len; i++)
		append_volume(out, draft, draft->volumes->pdata[i]);
	return g_string_free(out, FALSE);
}
