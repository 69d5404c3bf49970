/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/acl/nt_mode.h"

enum {
	READ_DATA = 0x1,
	WRITE_DATA = 0x2,
	APPEND_DATA = 0x4,
	EXECUTE = 0x20,
	DELETE_CHILD = 0x40,
	DELETE = 0x10000,
	WRITE_ATTRIBUTES = 0x100,
	WRITE_DAC = 0x40000,
	WRITE_OWNER = 0x80000,
	BEYOND = WRITE_ATTRIBUTES | DELETE | WRITE_DAC | WRITE_OWNER, /* what no bit allows */
};
#define GENERIC_ALL	UINT32_C(0x10000000)
#define GENERIC_EXECUTE UINT32_C(0x20000000)
#define GENERIC_WRITE	UINT32_C(0x40000000)
#define GENERIC_READ	UINT32_C(0x80000000)

enum who { OWNER, GROUP, EVERYBODY, CLASSES };

/* The rights of one class, as bits of the masks above without the generic ones. */
struct rights {
	uint32_t allowed[CLASSES], denied[CLASSES];
	bool owner_known, group_known;
};

static uint32_t plain(uint32_t mask)
{
	if (mask & GENERIC_ALL)
		mask |= GENERIC_READ | GENERIC_WRITE | GENERIC_EXECUTE | DELETE_CHILD | BEYOND;
	if (mask & GENERIC_READ)
		mask |= READ_DATA;
	if (mask & GENERIC_WRITE)
		mask |= WRITE_DATA | APPEND_DATA | WRITE_ATTRIBUTES;
	if (mask & GENERIC_EXECUTE)
		mask |= EXECUTE;
	return mask;
}

static bool is_everybody(const struct sid *sid)
{
	return sid_is(sid, 1, 0) || sid_is(sid, 5, 11) || sid_is(sid, 5, 2);
}

static bool is_owner_rights(const struct sid *sid)
{
	return sid_is(sid, 3, 4);
}

static void allow(struct rights *rights, const struct nt_descriptor *sd, const struct nt_ace *ace)
{
	uint32_t mask = plain(ace->mask);
	bool everybody = is_everybody(&ace->sid);

	if (everybody || sid_equal(&ace->sid, &sd->owner) || is_owner_rights(&ace->sid))
		rights->allowed[OWNER] |= mask;
	if (everybody || sid_equal(&ace->sid, &sd->group))
		rights->allowed[GROUP] |= mask;
	if (everybody)
		rights->allowed[EVERYBODY] |= mask;
}

static void deny(struct rights *rights, const struct nt_descriptor *sd, const struct nt_ace *ace)
{
	uint32_t mask = plain(ace->mask);
	bool group = rights->group_known && sid_equal(&ace->sid, &sd->group);
	bool owner = !group && rights->owner_known &&
		     (is_owner_rights(&ace->sid) || sid_equal(&ace->sid, &sd->owner));

	rights->denied[OWNER] |= mask;
	if (!owner)
		rights->denied[GROUP] |= mask;
	if (!owner && !group)
		rights->denied[EVERYBODY] |= mask;
}

static bool is_deny(uint8_t type)
{
	return type == NT_DENY || type == NT_DENY_OBJECT || type == NT_DENY_IF ||
	       type == NT_DENY_OBJECT_IF;
}

static mode_t bits(const struct rights *rights, enum who who, bool directory)
{
	const uint32_t write = WRITE_DATA | APPEND_DATA;
	const uint32_t allowed = rights->allowed[who], denied = rights->denied[who];
	mode_t mode = 0;

	if (allowed & ~denied & READ_DATA)
		mode |= 4;
	if ((allowed & write) == write && !(denied & write) &&
	    (!directory || ((allowed & (DELETE_CHILD | DELETE)) && !(denied & DELETE_CHILD))))
		mode |= 2;
	if (allowed & ~denied & EXECUTE)
		mode |= 1;
	return mode;
}

/* Of a directory: who may add to it, and delete no more than what is his. */
static bool is_sticky(const struct rights *rights, const mode_t mode[CLASSES], enum who who)
{
	return mode[who] & 2 && !(rights->allowed[who] & DELETE_CHILD);
}

mode_t nt_mode(const struct nt_descriptor *sd, bool directory, bool owner_known, bool group_known)
{
	struct rights rights = {.owner_known = owner_known, .group_known = group_known};
	mode_t mode[CLASSES], sticky = 0;

	if ((sd->control & NT_DACL_PRESENT) && !sd->dacl.present)
		return 0777;
	for (guint i = 0; i < sd->dacl.aces->len; i++) {
		const struct nt_ace *ace = &g_array_index(sd->dacl.aces, struct nt_ace, i);

		if (ace->flags & NT_INHERIT_ONLY)
			continue;
		if (ace->type == NT_ALLOW)
			allow(&rights, sd, ace);
		else if (is_deny(ace->type))
			deny(&rights, sd, ace);
	}
	for (unsigned i = 0; i < CLASSES; i++)
		mode[i] = bits(&rights, i, directory);
	if (directory && (is_sticky(&rights, mode, GROUP) || is_sticky(&rights, mode, EVERYBODY)))
		sticky = S_ISVTX;
	if (!owner_known) /* an owner may delete everything in his directory */
		mode[OWNER] &= mode[EVERYBODY] & (sticky ? 5 : 7);
	if (!group_known)
		mode[GROUP] &= mode[EVERYBODY];
	return sticky | mode[OWNER] << 6 | mode[GROUP] << 3 | mode[EVERYBODY];
}

static mode_t half_bits(uint32_t mask)
{
	return (mask & READ_DATA ? 4 : 0) | (mask & EXECUTE ? 1 : 0) |
	       (mask & (WRITE_DATA | APPEND_DATA | DELETE_CHILD) ? 2 : 0);
}

bool nt_mode_is_less(const struct nt_descriptor *sd, mode_t mode)
{
	const mode_t all = mode & mode >> 3 & mode >> 6 & 7; /* who is meant may be of any class */

	if (!sd->dacl.present) /* all was allowed */
		return true;
	for (guint i = 0; i < sd->dacl.aces->len; i++) {
		const struct nt_ace *ace = &g_array_index(sd->dacl.aces, struct nt_ace, i);
		const uint32_t mask = plain(ace->mask);
		mode_t has = all;

		if (ace->flags & NT_INHERIT_ONLY || is_deny(ace->type))
			continue;
		if (is_owner_rights(&ace->sid) || sid_equal(&ace->sid, &sd->owner))
			has = mode >> 6 & 7;
		else if (mask & BEYOND)
			return true;
		if (half_bits(mask) & ~has)
			return true;
	}
	return mode & S_ISVTX;
}

bool nt_owner_is_bound(const struct nt_descriptor *sd)
{
	bool bound = false, may = false, barred = false;

	for (guint i = 0; i < sd->dacl.aces->len; i++) {
		const struct nt_ace *ace = &g_array_index(sd->dacl.aces, struct nt_ace, i);
		const bool writes = ace->mask & (WRITE_DAC | GENERIC_ALL);

		if (ace->flags & NT_INHERIT_ONLY)
			continue;
		bound |= is_owner_rights(&ace->sid);
		if (writes && is_deny(ace->type))
			barred = true;
		if (writes && ace->type == NT_ALLOW && !barred &&
		    (is_everybody(&ace->sid) || is_owner_rights(&ace->sid) ||
		     sid_equal(&ace->sid, &sd->owner)))
			may = true;
	}
	return bound && !may;
}
