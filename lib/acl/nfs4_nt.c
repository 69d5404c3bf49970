/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/acl/nfs4_nt.h"

#include "lib/config/parse.h"

#define REVISION      2
#define SELF_RELATIVE 0x8000
#define RIGHTS	      UINT32_C(0x1f01ff) /* that both have */
#define NT_INHERITED  0x10
#define INHERITANCE   (ACE4_FILE_INHERIT | ACE4_DIRECTORY_INHERIT | ACE4_NO_PROPAGATE)
#define INHERITS      (ACE4_FILE_INHERIT | ACE4_DIRECTORY_INHERIT)

static struct sid sid_make(uint8_t authority, unsigned n, const uint32_t *parts)
{
	struct sid sid = {.len = (uint8_t)(8 + 4 * n), .bytes = {1, (uint8_t)n}};

	sid.bytes[7] = authority;
	for (unsigned i = 0; i < 4 * n; i++)
		sid.bytes[8 + i] = (uint8_t)(parts[i / 4] >> 8 * (i % 4));
	return sid;
}

static struct sid sid_of_id(bool group, uint32_t id)
{
	return sid_make(22, 2, (const uint32_t[]){group ? 2 : 1, id});
}

static struct sid sid_of_creator(bool group)
{
	return sid_make(3, 1, (const uint32_t[]){group});
}

/* S-1-0-0 is nobody's. */
static struct sid sid_of_owner(bool group, uint32_t id)
{
	return id == OWNER_NONE ? sid_make(0, 1, (const uint32_t[]){0}) : sid_of_id(group, id);
}

static struct sid sid_of_everyone(void)
{
	return sid_make(1, 1, (const uint32_t[]){0});
}

/* Who is denied data is denied attributes, as another entry may grant both. */
static uint32_t goes_without(uint32_t mask)
{
	return (mask & ACE4_READ_DATA ? ACE4_READ_NAMED_ATTRS : 0) |
	       (mask & (ACE4_WRITE_DATA | ACE4_APPEND_DATA) ? ACE4_WRITE_NAMED_ATTRS : 0);
}

/* What SMB clients ask for beside a right, and NFS clients do not. */
static uint32_t goes_with(uint32_t mask)
{
	uint32_t more = mask ? ACE4_SYNCHRONIZE : 0;

	if (mask & ACE4_READ_DATA)
		more |= ACE4_READ_NAMED_ATTRS;
	if (mask & ACE4_WRITE_DATA && mask & ACE4_APPEND_DATA)
		more |= ACE4_WRITE_NAMED_ATTRS;
	return more;
}

static void add_nt_ace(struct nt_descriptor *sd, const struct source_ace4 *ace, uint32_t flags,
		       struct sid sid)
{
	struct nt_ace nt = {
		.type = ace->type == ACE4_DENY ? NT_DENY : NT_ALLOW,
		.flags = (uint8_t)(flags & (INHERITANCE | ACE4_INHERIT_ONLY)),
		.mask = ace->mask & RIGHTS,
		.sid = sid,
	};

	nt.mask |= nt.type == NT_ALLOW ? goes_with(nt.mask) : goes_without(nt.mask);
	if (ace->flags & ACE4_INHERITED)
		nt.flags |= NT_INHERITED;
	g_array_append_val(sd->dacl.aces, nt);
}

/* For who owns it now, and for who will own what is made in it. */
static void add_owning(struct nt_descriptor *sd, const struct source_ace4 *ace, bool group,
		       bool known)
{
	if (!(ace->flags & ACE4_INHERIT_ONLY) && (known || ace->type == ACE4_DENY))
		add_nt_ace(sd, ace, 0, !known ? sid_of_everyone() : group ? sd->group : sd->owner);
	if (ace->flags & INHERITS)
		add_nt_ace(sd, ace, ace->flags | ACE4_INHERIT_ONLY, sid_of_creator(group));
}

uint8_t *nfs4_nt_encode(const struct source_nfs4_acl *acl, uint32_t uid, uint32_t gid,
			nfs4_nt_map map, void *arg, uint32_t *len, const char **why)
{
	struct nt_descriptor sd = {
		.control = SELF_RELATIVE | NT_DACL_PRESENT,
		.owner = sid_of_owner(false, uid),
		.group = sid_of_owner(true, gid),
		.dacl = {.present = true, .revision = REVISION},
	};
	uint8_t *value;

	sd.dacl.aces = g_array_new(FALSE, FALSE, sizeof(struct nt_ace));
	for (guint i = 0; i < acl->aces->len; i++) {
		const struct source_ace4 *ace = &g_array_index(acl->aces, struct source_ace4, i);
		bool group = ace->who == ACE4_WHO_GROUP_ID;

		if (ace->type != ACE4_ALLOW && ace->type != ACE4_DENY)
			continue;
		if (ace->who == ACE4_WHO_OWNER || ace->who == ACE4_WHO_GROUP)
			add_owning(&sd, ace, ace->who == ACE4_WHO_GROUP,
				   (ace->who == ACE4_WHO_GROUP ? gid : uid) != OWNER_NONE);
		else if (ace->who == ACE4_WHO_USER_ID || group)
			add_nt_ace(&sd, ace, ace->flags,
				   sid_of_id(group, map(arg, group, ace->id)));
		else if (ace->who == ACE4_WHO_EVERYONE || ace->type == ACE4_DENY)
			add_nt_ace(&sd, ace, ace->flags, sid_of_everyone());
	}
	value = nt_encode(&sd, len, why);
	g_array_unref(sd.dacl.aces);
	return value;
}
