/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/acl/nt_acl.h"

#include <string.h>

#define HEADER	   20
#define ACL_HEADER 8
#define ACE_HEADER 8
#define PREFIX	   8
#define XATTR_MAX  65536
#define ACES_MAX   2000 /* Samba reads no list that is longer (security.idl) */
#define TYPE_LAST  0x15 /* of the types that are laid out as we know: mask, SID, anything */

enum { OBJECT_TYPE = 1, OBJECT_INHERITED = 2 };

static const uint8_t prefix[PREFIX] = {1, 0, 1, 0, 0, 0, 2, 0};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- decoding ---- */

static bool has_object(uint8_t type)
{
	return (type >= NT_ALLOW_OBJECT && type <= 8) || type == NT_ALLOW_OBJECT_IF ||
	       type == NT_DENY_OBJECT_IF || type == 15 || type == 16;
}

/* The flags and GUIDs of an object's entry. */
static bool object_len(const uint8_t *bytes, uint32_t len, uint16_t *object)
{
	uint32_t flags;

	if (len < 4)
		return false;
	flags = get32(bytes);
	*object = 4 + (flags & OBJECT_TYPE ? 16 : 0) + (flags & OBJECT_INHERITED ? 16 : 0);
	return *object <= len;
}

/* *used: its length. */
static bool decode_ace(const uint8_t *bytes, uint32_t len, struct nt_ace *ace, uint32_t *used,
		       const char **why)
{
	uint32_t size;

	*why = "an entry of the ACL does not fit into it";
	if (len < ACE_HEADER)
		return false;
	size = get16(bytes + 2);
	if (size < ACE_HEADER || size > len || size % 4) /* Samba looks for the next one aligned */
		return false;
	*ace = (struct nt_ace){.type = bytes[0], .flags = bytes[1], .mask = get32(bytes + 4)};
	if (ace->type == NT_COMPOUND || ace->type > TYPE_LAST) {
		*why = "the ACL has an entry of a kind that Samba does not know";
		return false;
	}
	ace->between = bytes + ACE_HEADER;
	if (has_object(ace->type) &&
	    !object_len(ace->between, size - ACE_HEADER, &ace->between_len))
		return false;
	ace->behind = ace->between + ace->between_len;
	ace->behind_len = (uint16_t)(size - ACE_HEADER - ace->between_len);
	if (!sid_read(ace->behind, ace->behind_len, &ace->sid)) {
		*why = "an entry of the ACL has no valid SID";
		return false;
	}
	ace->behind += ace->sid.len;
	ace->behind_len -= ace->sid.len;
	*used = size;
	return true;
}

static bool decode_acl(const uint8_t *bytes, uint32_t len, uint32_t offset, struct nt_acl *acl,
		       const char **why)
{
	uint32_t size, count, at = ACL_HEADER, used;

	if (!offset)
		return true;
	*why = "an ACL lies outside of the descriptor";
	if (offset < HEADER || offset > len || len - offset < ACL_HEADER)
		return false;
	bytes += offset;
	size = get16(bytes + 2);
	count = get16(bytes + 4);
	if (size < ACL_HEADER || size > len - offset)
		return false;
	*why = "the ACL has more than 2000 entries, which Samba does not read";
	if (count > ACES_MAX)
		return false;
	acl->present = true;
	acl->revision = bytes[0];
	for (uint32_t i = 0; i < count; i++, at += used) {
		struct nt_ace ace;

		if (!decode_ace(bytes + at, size - at, &ace, &used, why))
			return false;
		g_array_append_val(acl->aces, ace);
	}
	return true;
}

static bool decode_sid(const uint8_t *bytes, uint32_t len, uint32_t offset, struct sid *sid,
		       const char **why)
{
	if (!offset)
		return true;
	*why = "the owner or the group is no valid SID";
	return offset >= HEADER && offset <= len && sid_read(bytes + offset, len - offset, sid);
}

static bool decode(struct nt_descriptor *sd, const uint8_t *bytes, uint32_t len, const char **why)
{
	*why = "not a self-relative security descriptor";
	if (len < HEADER || bytes[0] != 1 || !(get16(bytes + 2) & 0x8000))
		return false;
	sd->manager = bytes[1];
	sd->control = get16(bytes + 2);
	/* the offsets of what is not there mean nothing */
	return decode_sid(bytes, len, get32(bytes + 4), &sd->owner, why) &&
	       decode_sid(bytes, len, get32(bytes + 8), &sd->group, why) &&
	       decode_acl(bytes, len, sd->control & NT_SACL_PRESENT ? get32(bytes + 12) : 0,
			  &sd->sacl, why) &&
	       decode_acl(bytes, len, sd->control & NT_DACL_PRESENT ? get32(bytes + 16) : 0,
			  &sd->dacl, why);
}

struct nt_descriptor *nt_decode(const uint8_t *bytes, uint32_t len, const char **why)
{
	struct nt_descriptor *sd = g_new0(struct nt_descriptor, 1);

	sd->dacl.aces = g_array_new(FALSE, FALSE, sizeof(struct nt_ace));
	sd->sacl.aces = g_array_new(FALSE, FALSE, sizeof(struct nt_ace));
	if (decode(sd, bytes, len, why))
		return sd;
	nt_free(sd);
	return NULL;
}

void nt_free(struct nt_descriptor *sd)
{
	if (!sd)
		return;
	g_array_unref(sd->dacl.aces);
	g_array_unref(sd->sacl.aces);
	g_free(sd);
}

/* ---- changing ---- */

static void map_sid(struct sid *sid, const struct sid_map *map)
{
	struct sid to;

	if (sid->len && sid_map_find(map, sid, &to))
		*sid = to;
}

void nt_map(struct nt_descriptor *sd, const struct sid_map *map)
{
	map_sid(&sd->owner, map);
	map_sid(&sd->group, map);
	for (guint i = 0; i < sd->dacl.aces->len; i++)
		map_sid(&g_array_index(sd->dacl.aces, struct nt_ace, i).sid, map);
	for (guint i = 0; i < sd->sacl.aces->len; i++)
		map_sid(&g_array_index(sd->sacl.aces, struct nt_ace, i).sid, map);
}

void nt_make_safe(struct nt_descriptor *sd, unsigned *allow, unsigned *deny)
{
	*allow = *deny = 0;
	for (guint i = 0; i < sd->dacl.aces->len; i++) {
		struct nt_ace *ace = &g_array_index(sd->dacl.aces, struct nt_ace, i);

		if (ace->type == NT_ALLOW_IF || ace->type == NT_ALLOW_OBJECT_IF)
			++*allow;
		if (ace->type != NT_DENY_IF && ace->type != NT_DENY_OBJECT_IF)
			continue;
		ace->type = NT_DENY;
		ace->between_len = ace->behind_len = 0;
		++*deny;
	}
}

static void renumber(struct sid *sid, const struct nt_numbers *numbers)
{
	if (numbers->back) {
		sid_renumber_back(numbers->users, false, sid);
		sid_renumber_back(numbers->groups, true, sid);
	} else {
		sid_renumber(numbers->users, false, sid);
		sid_renumber(numbers->groups, true, sid);
	}
}

void nt_renumber(struct nt_descriptor *sd, const struct nt_numbers *numbers)
{
	renumber(&sd->owner, numbers);
	renumber(&sd->group, numbers);
	for (guint i = 0; i < sd->dacl.aces->len; i++)
		renumber(&g_array_index(sd->dacl.aces, struct nt_ace, i).sid, numbers);
	for (guint i = 0; i < sd->sacl.aces->len; i++)
		renumber(&g_array_index(sd->sacl.aces, struct nt_ace, i).sid, numbers);
}

/* ---- encoding ---- */

static void put16(GByteArray *out, uint32_t v)
{
	const uint8_t b[] = {(uint8_t)v, (uint8_t)(v >> 8)};

	g_byte_array_append(out, b, sizeof b);
}

static void set32(GByteArray *out, guint at, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		out->data[at + i] = (uint8_t)(v >> (8 * i));
}

/* The field at `at` becomes the offset of what is put next. */
static void begin_part(GByteArray *out, guint at)
{
	set32(out, at, out->len);
}

static void put_sid(GByteArray *out, guint at, const struct sid *sid)
{
	if (!sid->len)
		return;
	begin_part(out, at);
	g_byte_array_append(out, sid->bytes, sid->len);
}

static void put_ace(GByteArray *out, const struct nt_ace *ace)
{
	const uint8_t head[] = {ace->type, ace->flags};
	guint begin = out->len, size;

	g_byte_array_append(out, head, sizeof head);
	put16(out, 0);
	put16(out, ace->mask);
	put16(out, ace->mask >> 16);
	if (ace->between_len)
		g_byte_array_append(out, ace->between, ace->between_len);
	g_byte_array_append(out, ace->sid.bytes, ace->sid.len);
	if (ace->behind_len)
		g_byte_array_append(out, ace->behind, ace->behind_len);
	size = out->len - begin;
	out->data[begin + 2] = (uint8_t)size;
	out->data[begin + 3] = (uint8_t)(size >> 8);
}

/* FALSE: longer than its length can say. */
static bool put_acl(GByteArray *out, guint at, const struct nt_acl *acl)
{
	const uint8_t head[] = {acl->revision, 0};
	guint begin = out->len, size;

	if (!acl->present)
		return true;
	begin_part(out, at);
	g_byte_array_append(out, head, sizeof head);
	put16(out, 0);
	put16(out, acl->aces->len);
	put16(out, 0);
	for (guint i = 0; i < acl->aces->len; i++) {
		put_ace(out, &g_array_index(acl->aces, struct nt_ace, i));
		if (out->len - begin > UINT16_MAX)
			return false;
	}
	size = out->len - begin;
	out->data[begin + 2] = (uint8_t)size;
	out->data[begin + 3] = (uint8_t)(size >> 8);
	return true;
}

/* Offsets count from the beginning of the value, of which the prefix is a part. */
static bool put_all(GByteArray *out, const struct nt_descriptor *sd)
{
	const uint8_t head[] = {1, sd->manager};
	const uint8_t offsets[16] = {0};

	g_byte_array_append(out, prefix, sizeof prefix);
	g_byte_array_append(out, head, sizeof head);
	put16(out, sd->control);
	g_byte_array_append(out, offsets, sizeof offsets);
	put_sid(out, PREFIX + 4, &sd->owner);
	put_sid(out, PREFIX + 8, &sd->group);
	return put_acl(out, PREFIX + 12, &sd->sacl) && put_acl(out, PREFIX + 16, &sd->dacl);
}

uint8_t *nt_encode(const struct nt_descriptor *sd, uint32_t *len, const char **why)
{
	GByteArray *out = g_byte_array_new();
	bool fits = put_all(out, sd) && out->len <= XATTR_MAX;

	*len = out->len;
	*why = "longer than an extended attribute can be";
	return g_byte_array_free(out, !fits);
}

bool nt_is_brought(const uint8_t *value, uint32_t len)
{
	return len >= PREFIX && !memcmp(value, prefix, PREFIX);
}

uint8_t *nt_closed(const struct sid *owner, const struct sid *group, uint32_t *len)
{
	struct nt_descriptor sd = {
		.control = 0x8000 | NT_DACL_PRESENT | NT_DACL_PROTECTED,
		.owner = *owner,
		.group = *group,
		.dacl = {.present = true, .revision = 2},
	};
	const char *why;
	uint8_t *value;

	sd.dacl.aces = g_array_new(FALSE, FALSE, sizeof(struct nt_ace));
	value = nt_encode(&sd, len, &why);
	g_array_unref(sd.dacl.aces);
	return value;
}
