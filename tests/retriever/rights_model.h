/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who may do what, as the standards say it: RFC 7530 and RFC 8881 sections 6.2.1 and 6.4.3 of NFSv4
 * ACLs, MS-DTYP sections 2.5.3.2 and 2.5.3.4 of security descriptors, and acl(5) of POSIX ACLs.
 * Nothing of the product is used here, so that no misunderstanding is shared with it.
 */
#ifndef TESTS_RETRIEVER_RIGHTS_MODEL_H
#define TESTS_RETRIEVER_RIGHTS_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Both kinds of list number the rights alike. */
enum {
	RIGHT_READ = 0x1,
	RIGHT_WRITE = 0x2,
	RIGHT_APPEND = 0x4,
	RIGHT_EXECUTE = 0x20,
	RIGHT_DELETE_CHILD = 0x40,
	RIGHT_DELETE = 0x10000,
	RIGHT_READ_ACL = 0x20000,
	RIGHT_WRITE_ACL = 0x40000,
	RIGHTS_ALL = 0x1f01ff,
};

struct person {
	uint32_t uid;
	unsigned groups; /* bit i: is in the group GROUPS_FROM + i */
	bool users;	 /* of BUILTIN\Users on the old server */
};
#define GROUPS_FROM 10u

static inline bool person_in(const struct person *person, uint32_t gid)
{
	return gid >= GROUPS_FROM && gid < GROUPS_FROM + 32 &&
	       person->groups >> (gid - GROUPS_FROM) & 1;
}

/* ---- NFSv4 ---- */

enum nfs4_principal { AT_OWNER, AT_GROUP, AT_EVERYONE, NAMED_USER, NAMED_GROUP, STRANGER };
enum { INHERIT_FILE = 1, INHERIT_DIRECTORY = 2, INHERIT_ONCE = 4, INHERIT_ONLY = 8 };

struct nfs4_entry {
	bool deny;
	unsigned flags;
	uint32_t mask, id; /* of a STRANGER: who it is there; the new host does not know */
	enum nfs4_principal who;
};

struct nfs4_list {
	unsigned n;
	struct nfs4_entry entries[12];
	uint32_t owner, group;
};

static inline bool nfs4_is_for(const struct nfs4_list *list, const struct nfs4_entry *entry,
			       const struct person *person)
{
	switch (entry->who) {
	case AT_OWNER:
		return person->uid == list->owner;
	case AT_GROUP:
		return person_in(person, list->group);
	case AT_EVERYONE:
		return true;
	case NAMED_GROUP:
		return person_in(person, entry->id);
	default:
		return person->uid == entry->id;
	}
}

/* Of one right: 1 allowed, 0 denied, -1 nothing is said. */
static inline int nfs4_asked(const struct nfs4_list *list, const struct person *person,
			     uint32_t right)
{
	for (unsigned i = 0; i < list->n; i++) {
		const struct nfs4_entry *entry = &list->entries[i];

		if (!(entry->flags & INHERIT_ONLY) && entry->mask & right &&
		    nfs4_is_for(list, entry, person))
			return !entry->deny;
	}
	return -1;
}

/* What may be done, as rights; where nothing is said of deleting what is in a directory, who may
 * add to it may do that, too (section 6.2.1.3.2). */
static inline uint32_t nfs4_allows(const struct nfs4_list *list, const struct person *person)
{
	uint32_t allowed = 0;

	for (uint32_t right = 1; right <= RIGHTS_ALL; right <<= 1)
		if (RIGHTS_ALL & right && nfs4_asked(list, person, right) == 1)
			allowed |= right;
	if (allowed & RIGHT_WRITE && nfs4_asked(list, person, RIGHT_DELETE_CHILD) < 0)
		allowed |= RIGHT_DELETE_CHILD;
	return allowed;
}

/* What is made in it by that owner, for that group.  FALSE: it inherits nothing. */
static inline bool nfs4_inherit(const struct nfs4_list *list, bool directory, uint32_t owner,
				uint32_t group, struct nfs4_list *made)
{
	*made = (struct nfs4_list){.owner = owner, .group = group};
	for (unsigned i = 0; i < list->n; i++) {
		struct nfs4_entry entry = list->entries[i];
		const bool here = entry.flags & (directory ? INHERIT_DIRECTORY : INHERIT_FILE);
		const bool below = directory && !(entry.flags & INHERIT_ONCE) &&
				   entry.flags & (INHERIT_FILE | INHERIT_DIRECTORY);

		if (!here && !below)
			continue;
		entry.flags &= below ? INHERIT_FILE | INHERIT_DIRECTORY : 0;
		if (!here)
			entry.flags |= INHERIT_ONLY;
		made->entries[made->n++] = entry;
	}
	return made->n > 0;
}

/* ---- security descriptors ---- */

struct nt_principal {
	uint8_t len, bytes[32];
};

static inline struct nt_principal nt_principal(unsigned authority, unsigned n,
					       const uint32_t *parts)
{
	struct nt_principal p = {.len = (uint8_t)(8 + 4 * n), .bytes = {1, (uint8_t)n}};

	p.bytes[7] = (uint8_t)authority;
	for (unsigned i = 0; i < 4 * n; i++)
		p.bytes[8 + i] = (uint8_t)(parts[i / 4] >> 8 * (i % 4));
	return p;
}
#define NT(authority, ...)                                                                         \
	nt_principal(authority, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})
#define NT_UNIX_USER(uid)  NT(22, 1, uid)
#define NT_UNIX_GROUP(gid) NT(22, 2, gid)
#define NT_CREATOR(group)  NT(3, group)
#define NT_FOREIGN(id)	   NT(5, 21, 9, 9, 9, id) /* the same one, under a name that is none here */
#define NT_OWNER_RIGHTS	   NT(3, 4)

struct nt_entry {
	uint8_t type, flags; /* as on the wire: 0 allows, 1 denies */
	uint32_t mask;
	struct nt_principal who;
};

struct nt_list {
	bool absent; /* no DACL: all is allowed */
	unsigned n;
	struct nt_entry entries[40];
	struct nt_principal owner, group;
};

struct nt_token {
	unsigned n;
	struct nt_principal who[24];
};

static inline bool nt_same(const struct nt_principal *a, const struct nt_principal *b)
{
	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

static inline bool nt_has(const struct nt_token *token, const struct nt_principal *who)
{
	for (unsigned i = 0; i < token->n; i++)
		if (nt_same(&token->who[i], who))
			return true;
	return false;
}

static inline struct nt_token nt_token(const struct person *person)
{
	struct nt_token token = {.who = {NT_UNIX_USER(person->uid), NT(1, 0), NT(5, 11), NT(5, 2)},
				 .n = 4};

	token.who[token.n++] = NT_FOREIGN(person->uid);
	for (unsigned i = 0; i < 8; i++)
		if (person->groups >> i & 1) {
			token.who[token.n++] = NT_UNIX_GROUP(GROUPS_FROM + i);
			token.who[token.n++] = NT_FOREIGN(GROUPS_FROM + i);
		}
	if (person->users)
		token.who[token.n++] = NT(5, 32, 545);
	return token;
}

/* Generic rights as NTFS maps them. */
static inline uint32_t nt_mapped(uint32_t mask)
{
	uint32_t mapped = mask & RIGHTS_ALL;

	if (mask & UINT32_C(0x10000000))
		mapped |= RIGHTS_ALL;
	if (mask & UINT32_C(0x20000000))
		mapped |= 0x1200a0;
	if (mask & UINT32_C(0x40000000))
		mapped |= 0x120116;
	if (mask & UINT32_C(0x80000000))
		mapped |= 0x120089;
	return mapped;
}

/* All that would be granted, right by right. */
static inline uint32_t nt_allows(const struct nt_list *list, const struct person *person)
{
	struct nt_token token = nt_token(person);
	const struct nt_principal rights = NT_OWNER_RIGHTS;
	const bool owns = nt_has(&token, &list->owner);
	uint32_t granted = 0, denied = 0;
	bool bound = false;

	if (list->absent)
		return RIGHTS_ALL;
	for (unsigned i = 0; i < list->n; i++)
		bound |= !(list->entries[i].flags & INHERIT_ONLY) &&
			 nt_same(&list->entries[i].who, &rights);
	if (owns && !bound)
		granted = RIGHT_READ_ACL | RIGHT_WRITE_ACL;
	for (unsigned i = 0; i < list->n; i++) {
		const struct nt_entry *entry = &list->entries[i];
		const bool meant =
			nt_has(&token, &entry->who) || (owns && nt_same(&entry->who, &rights));

		if (entry->flags & INHERIT_ONLY || !meant)
			continue;
		if (entry->type == 0)
			granted |= nt_mapped(entry->mask) & ~denied;
		else if (entry->type == 1)
			denied |= nt_mapped(entry->mask) & ~granted;
	}
	return granted;
}

static inline uint32_t nt_get(const uint8_t *p, unsigned bytes)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint32_t)p[i] << 8 * i;
	return value;
}

static inline struct nt_principal nt_read_principal(const uint8_t *p)
{
	struct nt_principal who = {.len = (uint8_t)(8 + 4 * p[1])};

	memcpy(who.bytes, p, who.len);
	return who;
}

/* A value of security.NTACL. */
static inline struct nt_list nt_read(const uint8_t *value)
{
	const uint8_t *dacl = value + nt_get(value + 8 + 16, 4), *p = dacl + 8;
	struct nt_list list = {.owner = nt_read_principal(value + nt_get(value + 8 + 4, 4)),
			       .group = nt_read_principal(value + nt_get(value + 8 + 8, 4))};

	for (unsigned n = nt_get(dacl + 4, 2); list.n < n; p += nt_get(p + 2, 2))
		list.entries[list.n++] = (struct nt_entry){
			.type = p[0],
			.flags = p[1] & 15,
			.mask = nt_get(p + 4, 4),
			.who = nt_read_principal(p + 8),
		};
	return list;
}

static inline void nt_add(struct nt_list *list, struct nt_entry entry, unsigned flags,
			  const struct nt_principal *who)
{
	entry.flags = (uint8_t)flags;
	entry.who = *who;
	list->entries[list->n++] = entry;
}

/* What is made in it by that owner, for that group. */
static inline bool nt_inherit(const struct nt_list *list, bool directory, uint32_t owner,
			      uint32_t group, struct nt_list *made)
{
	const struct nt_principal creators[] = {NT_CREATOR(0), NT_CREATOR(1)};

	*made = (struct nt_list){.owner = NT_UNIX_USER(owner), .group = NT_UNIX_GROUP(group)};
	for (unsigned i = 0; i < list->n; i++) {
		const struct nt_entry *entry = &list->entries[i];
		const unsigned on = entry->flags & (INHERIT_FILE | INHERIT_DIRECTORY);
		const bool here = on & (directory ? INHERIT_DIRECTORY : INHERIT_FILE);
		const bool below = directory && on && !(entry->flags & INHERIT_ONCE);
		const bool creator =
			nt_same(&entry->who, &creators[0]) || nt_same(&entry->who, &creators[1]);
		const struct nt_principal *becomes =
			nt_same(&entry->who, &creators[0])   ? &made->owner
			: nt_same(&entry->who, &creators[1]) ? &made->group
							     : &entry->who;

		if (here && (creator || !below))
			nt_add(made, *entry, 0, becomes);
		if (below)
			nt_add(made, *entry, on | (here && !creator ? 0 : INHERIT_ONLY),
			       &entry->who);
	}
	return made->n > 0;
}

/* ---- POSIX ---- */

struct posix_list {
	unsigned n; /* named ones */
	unsigned owner, group, other, mask;
	bool masked;
	struct {
		bool group;
		uint32_t id;
		unsigned perms;
	} named[24];
	uint32_t uid, gid; /* whose the file is */
};

/* All of r, w, x that can be had, each asked for alone. */
static inline unsigned posix_allows(const struct posix_list *list, const struct person *person)
{
	const unsigned mask = list->masked ? list->mask : 7;
	unsigned perms = 0;
	bool in = false;

	if (person->uid == list->uid)
		return list->owner;
	for (unsigned i = 0; i < list->n; i++)
		if (!list->named[i].group && list->named[i].id == person->uid)
			return list->named[i].perms & mask;
	if (person_in(person, list->gid)) {
		in = true;
		perms |= list->group;
	}
	for (unsigned i = 0; i < list->n; i++)
		if (list->named[i].group && person_in(person, list->named[i].id)) {
			in = true;
			perms |= list->named[i].perms;
		}
	return in ? perms & mask : list->other;
}

/* As rights.  sticky: he deletes what is his, which nobody keeps him from. */
static inline uint32_t posix_rights(unsigned perms, bool directory, bool sticky)
{
	uint32_t rights = 0;

	if (perms & 4)
		rights |= RIGHT_READ;
	if (perms & 2)
		rights |= RIGHT_WRITE | RIGHT_APPEND;
	if (perms & 2 && directory && !sticky)
		rights |= RIGHT_DELETE_CHILD;
	if (perms & 1)
		rights |= RIGHT_EXECUTE;
	return rights;
}

#endif
