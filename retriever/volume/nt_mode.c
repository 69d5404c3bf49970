/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "nt_mode.h"

enum {
	READ_DATA = 0x1,
	WRITE_DATA = 0x2,
	APPEND_DATA = 0x4,
	EXECUTE = 0x20,
	DELETE_CHILD = 0x40,
	DELETE = 0x10000,
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
		mask |= GENERIC_READ | GENERIC_WRITE | GENERIC_EXECUTE | DELETE_CHILD | DELETE;
	if (mask & GENERIC_READ)
		mask |= READ_DATA;
	if (mask & GENERIC_WRITE)
		mask |= WRITE_DATA | APPEND_DATA;
	if (mask & GENERIC_EXECUTE)
		mask |= EXECUTE;
	return mask;
}

static bool is_everybody(const struct sid *sid)
{
	return sid_is(sid, 1, 0) || sid_is(sid, 5, 11) || sid_is(sid, 5, 2) ||
	       sid_is_two(sid, 5, 32, 545);
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
	bool owner = !group && (is_owner_rights(&ace->sid) ||
				(rights->owner_known && sid_equal(&ace->sid, &sd->owner)));

	rights->denied[OWNER] |= mask;
	if (!owner)
		rights->denied[GROUP] |= mask;
	if (!owner && !group)
		rights->denied[EVERYBODY] |= mask;
}

static mode_t bits(uint32_t allowed, uint32_t denied, bool directory)
{
	const uint32_t write = WRITE_DATA | APPEND_DATA;
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

mode_t nt_mode(const struct nt_descriptor *sd, bool directory, bool owner_known, bool group_known)
{
	struct rights rights = {.owner_known = owner_known, .group_known = group_known};
	mode_t mode[CLASSES];

	if ((sd->control & NT_DACL_PRESENT) && !sd->dacl.present)
		return 0777;
	for (guint i = 0; i < sd->dacl.aces->len; i++) {
		const struct nt_ace *ace = &g_array_index(sd->dacl.aces, struct nt_ace, i);

		if (ace->flags & NT_INHERIT_ONLY)
			continue;
		if (ace->type == NT_ALLOW)
			allow(&rights, sd, ace);
		else if (ace->type == NT_DENY || ace->type == NT_DENY_OBJECT)
			deny(&rights, sd, ace);
	}
	for (unsigned i = 0; i < CLASSES; i++)
		mode[i] = bits(rights.allowed[i], rights.denied[i], directory);
	if (!owner_known)
		mode[OWNER] = mode[EVERYBODY];
	if (!group_known)
		mode[GROUP] = mode[EVERYBODY];
	return mode[OWNER] << 6 | mode[GROUP] << 3 | mode[EVERYBODY];
}
