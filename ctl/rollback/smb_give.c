/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/smb_give.h"

#include <errno.h>
#include <string.h>

#include "ctl/rollback/smb_set.h"
#include "lib/acl/nt_acl.h"
#include "lib/acl/smb_descriptor.h"
#include "lib/config/volume_config.h"

static int give_stream(struct smb_call *call, const char *path, const char *name, GBytes *value)
{
	/* it is not overwritten, as that would need the attributes that the file has */
	const struct wire_change empty = {.access = WRITE_DATA,
					  .disposition = OPEN_IF,
					  .kind = WIRE_SET,
					  .type = INFO_FILE,
					  .class = END_OF_FILE,
					  .len = sizeof(uint64_t)};
	const uint64_t none = 0;
	gsize len;
	const void *data = g_bytes_get_data(value, &len);
	int ret = smb_do(call, path, name, &empty, &none);

	ret = ret ? ret : smb_write_at(call, path, name, data, len, 0);
	ret = ret ? ret : smb_flush(call, path, name);
	/* a server that cannot do this for streams keeps them with the file */
	return ret == -EINVAL || ret == -EREMOTEIO || ret == -ENOTSUP ? 0 : ret;
}

static int drop_stream(struct smb_call *call, const char *path, const char *name)
{
	const struct wire_change what = {.access = DELETE,
					 .disposition = OPEN,
					 .kind = WIRE_SET,
					 .type = INFO_FILE,
					 .class = DISPOSITION,
					 .len = 1};
	int ret = smb_do(call, path, name, &what, "\1");

	ret = ret ? ret : smb_check_gone(call, path, name);
	return ret == -ENOENT ? 0 : ret;
}

/* Whether a stream that is there, and not here, stays. */
static bool stays(const struct smb_attrs *smb, const char *name, attrs_lost_fn lost, void *arg)
{
	g_autofree char *xattr = smb_attrs_stream(name);
	bool doubted = false, keeps = smb->of && attrs_keeps(smb->of, xattr, &doubted);

	if (!doubted)
		return keeps;
	g_autofree char *text = g_strdup_printf(ATTRS_DOUBTED, name);
	lost(arg, text);
	return true;
}

/* Gives the streams; those there that were never carried over stay.  has: the streams there. */
static int give_streams(struct smb_call *call, const char *path, const struct smb_attrs *smb,
			const struct source_windows *has, attrs_lost_fn lost, void *arg)
{
	GHashTableIter iter;
	gpointer name, value;
	int ret = 0;

	for (guint i = 0; i < has->streams->len && !ret; i++) {
		const struct source_stream *stream =
			&g_array_index(has->streams, struct source_stream, i);

		if (stream->data && !g_hash_table_contains(smb->streams, stream->name) &&
		    !g_str_has_prefix(stream->name, "::") && !stays(smb, stream->name, lost, arg))
			ret = drop_stream(call, path, stream->name);
	}
	g_hash_table_iter_init(&iter, smb->streams);
	while (!ret && g_hash_table_iter_next(&iter, &name, &value)) {
		bool same = false;

		for (guint i = 0; i < has->streams->len && !same; i++) {
			const struct source_stream *stream =
				&g_array_index(has->streams, struct source_stream, i);

			same = stream->data && !strcmp(stream->name, name) &&
			       stream->size == g_bytes_get_size(value) &&
			       !memcmp(stream->data, g_bytes_get_data(value, NULL), stream->size);
		}
		if (!same)
			ret = give_stream(call, path, name, value);
		if (!same && !ret && smb->of) {
			g_autofree char *xattr = smb_attrs_stream(name);

			attrs_note_given(smb->of, xattr);
		}
	}
	return ret;
}

static bool is_refusal(int ret)
{
	return ret == -EACCES || ret == -EPERM || ret == -EREMOTEIO;
}

/* Gives the descriptor part by part, as each part needs rights of its own. */
static int give_descriptor(struct smb_call *call, const char *path, const struct smb_attrs *smb,
			   attrs_lost_fn lost, void *arg)
{
	const uint32_t parts = OWNER_GROUP | DACL;
	int ret = -EACCES;

	if (!smb->sd)
		return 0;
	if (smb->has_sacl)
		ret = smb_set_descriptor(call, path, smb->sd, parts | SACL);
	if (smb->has_sacl && is_refusal(ret))
		lost(arg, "its audit entries (SACL) could not be set there: give the user of "
			  "rollback-source the right to (SeSecurityPrivilege)");
	if (is_refusal(ret))
		ret = smb_set_descriptor(call, path, smb->sd, parts);
	if (is_refusal(ret)) {
		ret = smb_set_descriptor(call, path, smb->sd, DACL);
		if (!ret)
			lost(arg, "its owner and group could not be set there: give the user of "
				  "rollback-source the right to (SeRestorePrivilege)");
	}
	return ret;
}

int smb_give_attrs(struct smb_call *call, const char *path, const struct smb_attrs *smb,
		   attrs_lost_fn lost, void *arg)
{
	struct source_windows *has;
	uint32_t attributes, had = 0;
	int ret = smb_look(call, path, &has);

	if (ret)
		return ret;
	/* it is given back with the attributes */
	attributes = smb->attributes && !smb->added ? has->attributes & OTHERS : has->attributes;
	attributes = smb_settable(smb->attributes | attributes);
	ret = smb_make_writable(call, path, &had);
	if (!ret || ret == -EACCES)
		ret = give_streams(call, path, smb, has, lost, arg);
	if (!ret && smb->sparse && !(has->attributes & SPARSE)) {
		const struct wire_change what = {.access = WRITE_DATA,
						 .options = NO_DIRECTORY,
						 .disposition = OPEN,
						 .kind = WIRE_CONTROL,
						 .additional = SET_SPARSE};

		smb_do(call, path, "", &what, ""); /* says only how it is stored */
	}
	source_windows_free(has);
	/* the descriptor may forbid the rest */
	if (!ret)
		ret = smb_set_basic(call, path, smb->created, smb->accessed, smb->written,
				    attributes);
	if (ret && had)
		smb_set_basic(call, path, 0, 0, 0, had);
	return ret ? ret : give_descriptor(call, path, smb, lost, arg);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool has_value(GHashTable *xattrs, const char *name, const uint8_t *bytes, uint32_t len)
{
	GBytes *value = g_hash_table_lookup(xattrs, name);

	return value && g_bytes_get_size(value) == len &&
	       !memcmp(g_bytes_get_data(value, NULL), bytes, len);
}

static bool has_descriptor(GHashTable *xattrs, const struct windows *there)
{
	return there->acl ? has_value(xattrs, XATTR_NTACL, there->acl, there->acl_len)
			  : has_value(xattrs, XATTR_NTACL, there->closed, there->closed_len);
}

static bool is_of_windows(const char *name)
{
	return !strcmp(name, XATTR_DOSATTRIB) || g_str_has_prefix(name, XATTR_STREAM_PREFIX);
}

/* Servers make up the root's time of creation from its other times, which TARGET_STAGE moves: the
 * one here is taken. */
static void take_creation(struct source_windows *root, GHashTable *xattrs)
{
	GBytes *value = g_hash_table_lookup(xattrs, XATTR_DOSATTRIB);
	const size_t at = 16; /* smb_descriptor.h */

	uint64_t created;

	if (!value || g_bytes_get_size(value) != at + sizeof(created))
		return;
	memcpy(&created, (const uint8_t *)g_bytes_get_data(value, NULL) + at, sizeof(created));
	root->create_time = GUINT64_FROM_LE(created);
}

static bool is_what_is_here(const struct windows *there, GHashTable *xattrs)
{
	const GArray *list = there->xattrs->list;
	bool same = has_descriptor(xattrs, there);
	guint here = 0;
	GHashTableIter iter;
	gpointer name;

	for (guint i = 0; i < list->len && same; i++) {
		const struct source_xattr *xattr = &g_array_index(list, struct source_xattr, i);

		same = has_value(xattrs, xattr->name, xattr->value, xattr->len);
	}
	g_hash_table_iter_init(&iter, xattrs);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		here += is_of_windows(name);
	return same && here == list->len;
}

int smb_compare_attrs(struct smb_call *call, const char *path, const struct attrs *attrs,
		      const struct volume_config *config)
{
	const struct windows_map map = {.sids = config->map_sids,
					.users = config->sid_users,
					.groups = config->sid_groups,
					.uid = config->default_uid,
					.gid = config->default_gid,
					.modes = config->smb_modes};
	struct source_windows *has;
	struct windows *there;
	int ret = smb_look(call, path, &has);

	if (ret)
		return ret;
	if (!*path)
		take_creation(has, attrs->xattrs);
	there = smb_descriptor_new(has, S_ISDIR(attrs->st.st_mode), &map);
	ret = is_what_is_here(there, attrs->xattrs) ? 0 : -EAGAIN;
	smb_descriptor_free(there);
	source_windows_free(has);
	return ret;
}
