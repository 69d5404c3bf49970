/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/smb_attrs.h"

#include <string.h>

#include "lib/acl/nt_acl.h"
#include "lib/acl/smb_descriptor.h"
#include "lib/config/sids.h"
#include "lib/config/volume_config.h"
#include "lib/source/posix_acl.h"

#define EPOCH INT64_C(116444736000000000) /* 1970 in units of 100 ns since 1601 */

enum { VALID_ATTRIBUTES = 0x01, VALID_CREATE_TIME = 0x10 };
enum { KEPT = 0x27, SPARSE = 0x200 }; /* read-only, hidden, system, archive */

/* Flags of a descriptor: "inherited" is kept where it is asked for as well (MS-DTYP 2.4.6). */
enum { INHERIT_REQUEST = 0x0300, INHERITED = 0x0c00 };

struct losing {
	attrs_lost_fn lost;
	void *arg;
};

G_GNUC_PRINTF(2, 3)
static void note_lost(const struct losing *losing, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	losing->lost(losing->arg, text);
}

static uint64_t get_integer(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static void put32(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

/* ---- the descriptor -------------------------------------------------------------------------- */

/*
 * Where the descriptor begins in security.NTACL (Samba's xattr.idl).  It follows a head.  With
 * version 2 the head has a hash of 16 bytes; with 3 the hash's type and a hash of 64; with 4 also a
 * text, a time and another hash.  0: it is another version.
 */
static size_t descriptor_at(const uint8_t *value, size_t len)
{
	const uint8_t *end;

	switch (len < 20 ? 0 : get_integer(value, 2)) {
	case 1:
		return 8;
	case 2:
		return 12 + 16;
	case 3:
		return 14 + 64 + 2;
	case 4:
		end = len > 78 ? memchr(value + 78, '\0', len - 78) : NULL;
		return end ? (((size_t)(end - value) + 1 + 3) & ~(size_t)3) + 8 + 64 : 0;
	default:
		return 0;
	}
}

/* The descriptor, whose offsets count from the value's beginning; NULL: it makes no sense. */
static GByteArray *descriptor_of(const uint8_t *value, size_t len)
{
	const size_t at = descriptor_at(value, len);
	GByteArray *sd;

	if (!at || len < at + 20)
		return NULL;
	sd = g_byte_array_new();
	g_byte_array_append(sd, value + at, (guint)(len - at));
	for (unsigned i = 4; i < 20; i += 4) {
		uint32_t offset = (uint32_t)get_integer(sd->data + i, 4);

		put32(sd->data + i, offset < at ? 0 : offset - (uint32_t)at);
	}
	return sd;
}

bool smb_attrs_audits(const uint8_t *sd, size_t len)
{
	const char *why;
	struct nt_descriptor *decoded = nt_decode(sd, (uint32_t)len, &why);
	bool audits = decoded && decoded->sacl.aces->len;

	if (decoded)
		nt_free(decoded);
	return audits;
}

bool smb_attrs_audited(const struct attrs *attrs)
{
	GBytes *stored = g_hash_table_lookup(attrs->xattrs, XATTR_NTACL);
	gsize len = 0;
	const uint8_t *value = stored ? g_bytes_get_data(stored, &len) : NULL;
	g_autoptr(GByteArray) sd = descriptor_of(value, len);

	return sd && smb_attrs_audits(sd->data, sd->len);
}

GByteArray *smb_attrs_encode(const struct nt_descriptor *sd, const char **why)
{
	uint32_t len;
	g_autofree uint8_t *value = nt_encode(sd, &len, why);

	return value ? descriptor_of(value, len) : NULL;
}

/* The descriptor with the old server's SIDs. */
static GByteArray *old_descriptor(const GByteArray *sd, const struct volume_config *config,
				  bool *has_sacl, const char **why)
{
	struct nt_descriptor *decoded = nt_decode(sd->data, sd->len, why);
	struct sid_map *back = sid_map_reverse(config->map_sids);
	GByteArray *mapped = NULL;

	if (decoded) {
		nt_renumber(decoded,
			    &(struct nt_numbers){config->sid_users, config->sid_groups, true});
		nt_map(decoded, back);
		*has_sacl = decoded->control & NT_SACL_PRESENT;
		mapped = smb_attrs_encode(decoded, why);
		nt_free(decoded);
	}
	sid_map_free(back);
	if (mapped) {
		unsigned control = (unsigned)get_integer(mapped->data + 2, 2);

		control |= (control & INHERITED) >> 2 & INHERIT_REQUEST;
		mapped->data[2] = control & 255;
		mapped->data[3] = (uint8_t)(control >> 8);
	}
	return mapped;
}

static void take_descriptor(const struct attrs *attrs, const struct volume_config *config,
			    struct smb_attrs *smb, const struct losing *losing)
{
	GBytes *stored = g_hash_table_lookup(attrs->xattrs, XATTR_NTACL);
	const bool has_its_own = attrs_old(attrs);
	const char *why = "it is of a kind that is not known";
	gsize len;

	/* where the descriptor alone decides, an object without one never said who may do what */
	if (!stored && (config->smb_modes != SMB_MODES_OPEN ||
			g_hash_table_contains(attrs->xattrs, XATTR_ACL_ACCESS)))
		note_lost(losing,
			  "it has no descriptor here: its owner, mode and ACL cannot be told "
			  "there");
	if (!stored || (has_its_own && attrs_is_brought(stored)))
		return;
	const uint8_t *value = g_bytes_get_data(stored, &len);
	g_autoptr(GByteArray) sd = descriptor_of(value, len);
	if (sd)
		smb->sd = old_descriptor(sd, config, &smb->has_sacl, &why);
	if (!smb->sd)
		note_lost(losing, "its descriptor makes no sense (%s)", why);
}

/* ---- attributes and times -------------------------------------------------------------------- */

uint64_t smb_attrs_time(struct timespec t)
{
	int64_t time;

	if (__builtin_mul_overflow((int64_t)t.tv_sec, 10000000, &time) ||
	    __builtin_add_overflow(time, EPOCH + t.tv_nsec / 100, &time))
		return 1;

	return time > 0 ? (uint64_t)time : 1;
}

/* The attributes stand behind a text, which is empty in values that Samba writes now. */
static void take_attributes(GBytes *stored, struct smb_attrs *smb, const struct losing *losing)
{
	gsize len;
	const uint8_t *value = g_bytes_get_data(stored, &len);
	size_t at = ((len ? strnlen((const char *)value, len) : 0) + 1 + 1) & ~(size_t)1;
	uint64_t version = at + 4 <= len ? get_integer(value + at, 2) : 0;
	size_t body = (at + 4 + 3) & ~(size_t)3, time = body + (version == 4 ? 16 : 8);

	if ((version != 4 && version != 5) || time + 8 > len) {
		note_lost(losing, XATTR_DOSATTRIB " is of a version that is not known");
		return;
	}
	uint32_t valid = (uint32_t)get_integer(value + body, 4);
	uint32_t attributes = (uint32_t)get_integer(value + body + 4, 4);
	if (valid & VALID_ATTRIBUTES) {
		smb->attributes = attributes & KEPT ? attributes & KEPT : SMB_NORMAL;
		smb->sparse = attributes & SPARSE;
	}
	if (valid & VALID_CREATE_TIME)
		smb->created = get_integer(value + time, 8);
	if (smb->created > INT64_MAX)
		smb->created = 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void take_stream(const char *name, GBytes *value, struct smb_attrs *smb)
{
	/* the value ends with a NUL byte that is Samba's */
	gsize len = g_bytes_get_size(value);

	g_hash_table_insert(smb->streams,
			    g_strconcat(":", name + strlen(XATTR_STREAM_PREFIX), NULL),
			    g_bytes_new_from_bytes(value, 0, len ? len - 1 : 0));
}

void smb_attrs_take(const struct attrs *attrs, const struct volume_config *config,
		    struct smb_attrs *smb, attrs_lost_fn lost, void *arg)
{
	const struct losing losing = {lost, arg};
	GHashTableIter iter;
	gpointer key, value;

	const struct attrs_base *base = attrs_old(attrs) ? attrs->base : NULL;
	struct timespec times[2];

	attrs_times(attrs, times);
	*smb = (struct smb_attrs){.of = attrs};
	smb->accessed = smb_attrs_time(times[0]);
	smb->written = smb_attrs_time(times[1]);
	smb->streams = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
					     (GDestroyNotify)g_bytes_unref);
	if (base && !base->set)
		return;
	take_descriptor(attrs, config, smb, &losing);
	g_hash_table_iter_init(&iter, attrs->xattrs);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const char *name = key;

		if (!strcmp(name, XATTR_DOSATTRIB))
			take_attributes(value, smb, &losing);
		else if (g_str_has_prefix(name, XATTR_STREAM_PREFIX) &&
			 g_str_has_suffix(name, XATTR_STREAM_SUFFIX))
			take_stream(name, value, smb);
		else if (g_str_has_prefix(name, "user."))
			note_lost(&losing, "%s: SMB has no place for it", name);
	}
	/* a Samba that found no value has made one since, with a time of creation of its own */
	if (base && (omissions_has(&attrs->left, XATTR_DOSATTRIB) || !(base->told & TOLD_KNOWN))) {
		smb->added = true;
		smb->created = 0;
	}
}

char *smb_attrs_stream(const char *name)
{
	return g_strconcat(XATTR_STREAM_PREFIX, name + 1, NULL);
}

void smb_attrs_clear(struct smb_attrs *smb)
{
	g_clear_pointer(&smb->sd, g_byte_array_unref);
	g_clear_pointer(&smb->streams, g_hash_table_unref);
}
