/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/acl/smb_descriptor.h"

#include <endian.h>
#include <string.h>

#include "lib/acl/nt_acl.h"
#include "lib/acl/nt_mode.h"
#include "lib/base/text.h"

#define XATTR_NAME_LEN 255
#define DOSATTRIB_LEN  24
#define CREATE_TIME    16			   /* in it, the last */
#define EPOCH	       INT64_C(116444736000000000) /* 1970 in units of 100 ns since 1601 */

enum {
	ATTRIBUTE_READONLY = 0x1,
	ATTRIBUTE_HIDDEN = 0x2,
	ATTRIBUTE_SYSTEM = 0x4,
	ATTRIBUTE_DIRECTORY = 0x10,
	ATTRIBUTE_ARCHIVE = 0x20,
	ATTRIBUTE_NORMAL = 0x80,
	ATTRIBUTE_SPARSE = 0x200,
	ATTRIBUTE_REPARSE = 0x400,
	TAG_NAMES_ANOTHER = 0x20000000, /* MS-FSCC 2.1.2.1 */
	ATTRIBUTE_COMPRESSED = 0x800,
	ATTRIBUTE_OFFLINE = 0x1000,
	ATTRIBUTE_ENCRYPTED = 0x4000,
	ATTRIBUTE_RECALL = 0x440000, /* on open, on data access */
	/* what Samba keeps; OFFLINE too, but that is the door's to say */
	ATTRIBUTES_KEPT = ATTRIBUTE_READONLY | ATTRIBUTE_HIDDEN | ATTRIBUTE_SYSTEM |
			  ATTRIBUTE_ARCHIVE | ATTRIBUTE_SPARSE,
	/* listed in words, or of no meaning here */
	ATTRIBUTES_TOLD = ATTRIBUTE_DIRECTORY | ATTRIBUTE_NORMAL | ATTRIBUTE_REPARSE |
			  ATTRIBUTE_COMPRESSED | ATTRIBUTE_OFFLINE | ATTRIBUTE_ENCRYPTED |
			  ATTRIBUTE_RECALL,
};

enum { VALID_ATTRIBUTES = 0x01, VALID_CREATE_TIME = 0x10 };

/* ---- the descriptor ---- */

static void lose_conditions(struct windows *w, unsigned allow, unsigned deny)
{
	if (allow)
		source_xattrs_lose(w->xattrs,
				   TEXT_COUNT
				   " of the ACL that allowed on a condition, which Samba does "
				   "not look at",
				   TEXT_COUNTED(allow, "entries"));
	if (deny)
		source_xattrs_lose(w->xattrs,
				   TEXT_COUNT
				   " of the ACL denied something on a condition: that is "
				   "denied always",
				   TEXT_COUNTED(deny, "entries"));
}

static void set_owner(struct windows *w, const struct nt_descriptor *sd,
		      const struct windows_map *map)
{
	if (!sid_id(map->users, &sd->owner, false, &w->uid))
		w->lost_owner = sid_text(&sd->owner);
	if (!sid_id(map->groups, &sd->group, true, &w->gid))
		w->lost_group = sid_text(&sd->group);
	if (map->modes == SMB_MODES_OPEN || w->lost_owner || !nt_owner_is_bound(sd))
		return;
	w->bound_owner = sid_text(&sd->owner);
	w->uid = map->uid;
}

static void set_perms(struct windows *w, const struct nt_descriptor *sd, bool directory,
		      const struct windows_map *map)
{
	if (map->modes == SMB_MODES_OPEN)
		w->perms = directory ? 0777 : 0666;
	else
		w->perms =
			nt_mode(sd, directory, !w->lost_owner && !w->bound_owner, !w->lost_group);
	w->less = map->modes == SMB_MODES_DESCRIPTOR && nt_mode_is_less(sd, w->perms);
}

static void take_parts(struct windows *w, const struct source_windows *source, bool directory,
		       const struct windows_map *map)
{
	struct nt_descriptor *sd = nt_decode(source->sd, source->sd ? source->sd_len : 0, &w->why);
	const struct sid nobody = {0};
	unsigned allow, deny;

	/* names below it stay within reach: no server asks for more than that */
	w->closed_perms = directory && map->modes == SMB_MODES_OPEN ? 0711 : 0;
	if (!sd) {
		w->perms = w->closed_perms;
		w->closed = nt_closed(&nobody, &nobody, &w->closed_len);
		return;
	}
	nt_map(sd, map->sids);
	nt_make_safe(sd, &allow, &deny);
	lose_conditions(w, allow, deny);
	set_owner(w, sd, map);
	nt_renumber(sd, &(struct nt_numbers){map->users, map->groups, false});
	set_perms(w, sd, directory, map);
	w->acl = nt_encode(sd, &w->acl_len, &w->why);
	w->closed = nt_closed(&sd->owner, &sd->group, &w->closed_len);
	nt_free(sd);
}

/* ---- attributes ---- */

static void put_descriptor(uint8_t *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static void take_attributes(struct windows *w, const struct source_windows *source, bool directory)
{
	uint32_t attributes = source->attributes & ATTRIBUTES_KEPT;
	uint8_t value[DOSATTRIB_LEN] = {0};
	bool created = source->create_time && source->create_time <= INT64_MAX;

	put_descriptor(value + 2, 5, 2);
	put_descriptor(value + 4, 5, 2);
	put_descriptor(value + 8, VALID_ATTRIBUTES | (created ? VALID_CREATE_TIME : 0), 4);
	put_descriptor(value + 12, attributes | (directory ? ATTRIBUTE_DIRECTORY : 0), 4);
	put_descriptor(value + CREATE_TIME, created ? source->create_time : 0, 8);
	source_xattrs_add(w->xattrs, XATTR_DOSATTRIB, value, sizeof value);
}

static uint64_t create_time(const uint8_t *value)
{
	uint64_t time;

	memcpy(&time, value + CREATE_TIME, sizeof time);
	return le64toh(time);
}

bool windows_attributes_are(const void *value, const void *later, size_t len, int64_t mtime)
{
	return len == DOSATTRIB_LEN && !memcmp(value, later, CREATE_TIME) &&
	       create_time(later) == (uint64_t)(mtime / 100 + EPOCH) &&
	       create_time(value) < create_time(later);
}

static void lose_attributes(struct windows *w, const struct source_windows *source, bool directory)
{
	uint32_t others = source->attributes & ~(uint32_t)(ATTRIBUTES_KEPT | ATTRIBUTES_TOLD);

	if (source->attributes & ATTRIBUTE_REPARSE && !directory &&
	    !(source->reparse_tag & TAG_NAMES_ANOTHER))
		source_xattrs_lose(w->xattrs,
				   "it was a reparse point (tag 0x%08x: deduplicated, or kept "
				   "elsewhere): a plain file with its content",
				   source->reparse_tag);
	else if (source->attributes & ATTRIBUTE_REPARSE)
		source_xattrs_lose(
			w->xattrs,
			"it is a reparse point (tag 0x%08x): what it leads to is not carried",
			source->reparse_tag);
	if (source->short_name)
		source_xattrs_lose(
			w->xattrs,
			"this looks like the short name that SMB servers show instead of "
			"one that SMB cannot say: see what it is called there");
	if (source->attributes & ATTRIBUTE_COMPRESSED)
		source_xattrs_lose(w->xattrs, "it was compressed on the old server");
	if (source->attributes & ATTRIBUTE_ENCRYPTED)
		source_xattrs_lose(w->xattrs, "it was encrypted on the old server");
	if (others)
		source_xattrs_lose(w->xattrs, "attributes 0x%x, which Samba has no place for",
				   others);
	if (source->ea_size)
		source_xattrs_lose(w->xattrs, "its extended attributes (EAs, " TEXT_COUNT ")",
				   TEXT_COUNTED(source->ea_size, "bytes"));
}

/* ---- streams ---- */

/* NAME of ":NAME:$DATA"; NULL: another kind, or no name that a stream can have.  g_free. */
static char *stream_name(const char *text)
{
	const char *end = strrchr(text, ':');

	if (text[0] != ':' || end == text || g_ascii_strcasecmp(end, XATTR_STREAM_SUFFIX) != 0 ||
	    !g_utf8_validate(text, -1, NULL))
		return NULL;
	g_autofree char *name = g_strndup(text + 1, (gsize)(end - text - 1));
	return strpbrk(name, ":/\\") ? NULL : g_steal_pointer(&name);
}

G_GNUC_PRINTF(2, 3) static void lose_stream(struct windows *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_ptr_array_add(w->lost_streams, g_strdup_vprintf(format, args));
	va_end(args);
}

static void take_stream(struct windows *w, const struct source_stream *stream)
{
	g_autofree char *name = stream_name(stream->name);
	g_autofree char *xattr = NULL;
	g_autofree uint8_t *value = NULL;

	if (name && !*name)
		return; /* the data */
	if (!name) {
		lose_stream(w, "the stream %s: of a kind or name that Samba does not serve",
			    stream->name);
		return;
	}
	xattr = g_strconcat(XATTR_STREAM_PREFIX, name, XATTR_STREAM_SUFFIX, NULL);
	if (!stream->data || stream->size > WINDOWS_STREAM_MAX) {
		lose_stream(w,
			    "the stream %s (%" G_GUINT64_FORMAT
			    " bytes): longer than the 65535 bytes that "
			    "an extended attribute can hold",
			    name, stream->size);
		return;
	}
	if (strlen(xattr) > XATTR_NAME_LEN) {
		lose_stream(w, "the stream %s: its name is too long for an extended attribute",
			    name);
		return;
	}
	value = g_malloc(stream->size + 1);
	memcpy(value, stream->data, stream->size);
	value[stream->size] = '\0';
	source_xattrs_add(w->xattrs, xattr, value, (uint32_t)stream->size + 1);
}

/* ---- all of it ---- */

struct windows *smb_descriptor_new(const struct source_windows *source, bool directory,
				   const struct windows_map *map)
{
	struct windows *w = g_new0(struct windows, 1);

	w->uid = map->uid;
	w->gid = map->gid;
	w->no_sacl = !source->has_sacl;
	w->no_streams = source->streams_unknown;
	w->lost_streams = g_ptr_array_new_with_free_func(g_free);
	w->xattrs = source_xattrs_new();
	take_parts(w, source, directory, map);
	take_attributes(w, source, directory);
	lose_attributes(w, source, directory);
	for (guint i = 0; i < source->streams->len; i++)
		take_stream(w, &g_array_index(source->streams, struct source_stream, i));
	if (source->more_streams)
		lose_stream(w, "streams: the old server could not list all that it has, or has "
			       "too many: see there which are wanted, and copy them by hand");
	return w;
}

void smb_descriptor_free(struct windows *w)
{
	if (!w)
		return;
	g_free(w->acl);
	g_free(w->closed);
	g_free(w->lost_owner);
	g_free(w->lost_group);
	g_free(w->bound_owner);
	source_xattrs_free(w->xattrs);
	g_ptr_array_unref(w->lost_streams);
	g_free(w);
}
