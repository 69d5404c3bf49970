/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/posix_acl.h"

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>

#define HEADER_LEN 4
#define ENTRY_LEN  8
#define RWX	   7

static uint32_t get32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put32(uint8_t *p, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = value >> (8 * i);
}

static bool is_named(const struct acl_entry *entry)
{
	return entry->tag == ACL_USER || entry->tag == ACL_GROUP;
}

static const struct acl_entry *entry_at(const struct acl *acl, guint i)
{
	return &g_array_index(acl->entries, struct acl_entry, i);
}

/* The tags' numbers are in the order that the kernel wants. */
static gint by_tag_and_id(gconstpointer a, gconstpointer b)
{
	const struct acl_entry *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return is_named(x) && x->id != y->id ? (x->id < y->id ? -1 : 1) : 0;
}

/* Puts them into order.  FALSE: one is there twice. */
static bool sort_entries(struct acl *acl)
{
	g_array_sort(acl->entries, by_tag_and_id);
	for (guint i = 1; i < acl->entries->len; i++)
		if (by_tag_and_id(entry_at(acl, i - 1), entry_at(acl, i)) == 0)
			return false;
	return true;
}

static const struct acl_entry *find_entry(const struct acl *acl, uint16_t tag)
{
	for (guint i = 0; i < acl->entries->len; i++)
		if (entry_at(acl, i)->tag == tag)
			return entry_at(acl, i);
	return NULL;
}

static bool is_whole_acl(const struct acl *acl)
{
	bool named = find_entry(acl, ACL_USER) || find_entry(acl, ACL_GROUP);

	return find_entry(acl, ACL_USER_OBJ) && find_entry(acl, ACL_GROUP_OBJ) &&
	       find_entry(acl, ACL_OTHER) && (!named || find_entry(acl, ACL_MASK));
}

static bool entry_ok(const struct acl_entry *entry)
{
	switch (entry->tag) {
	case ACL_USER:
	case ACL_GROUP:
		return entry->perm <= RWX && entry->id != (uint32_t)ACL_UNDEFINED_ID;
	case ACL_USER_OBJ:
	case ACL_GROUP_OBJ:
	case ACL_MASK:
	case ACL_OTHER:
		return entry->perm <= RWX;
	default:
		return false;
	}
}

static bool read_entries(struct acl *acl, const uint8_t *value, uint32_t len)
{
	for (const uint8_t *p = value + HEADER_LEN; p < value + len; p += ENTRY_LEN) {
		struct acl_entry entry = {p[0] | p[1] << 8, p[2] | p[3] << 8, get32(p + 4)};

		if (!entry_ok(&entry))
			return false;
		if (!is_named(&entry))
			entry.id = ACL_UNDEFINED_ID;
		g_array_append_val(acl->entries, entry);
	}
	return sort_entries(acl) && is_whole_acl(acl);
}

struct acl *acl_decode(const uint8_t *value, uint32_t len)
{
	struct acl *acl;

	if (len < HEADER_LEN || (len - HEADER_LEN) % ENTRY_LEN ||
	    get32(value) != POSIX_ACL_XATTR_VERSION)
		return NULL;
	acl = g_new(struct acl, 1);
	acl->entries = g_array_new(FALSE, FALSE, sizeof(struct acl_entry));
	if (read_entries(acl, value, len))
		return acl;
	acl_free(acl);
	return NULL;
}

void acl_free(struct acl *acl)
{
	if (!acl)
		return;
	g_array_unref(acl->entries);
	g_free(acl);
}

bool acl_map(struct acl *acl, uint32_t (*map)(void *arg, bool group, uint32_t id), void *arg)
{
	for (guint i = 0; i < acl->entries->len; i++) {
		struct acl_entry *entry = &g_array_index(acl->entries, struct acl_entry, i);

		if (is_named(entry))
			entry->id = map(arg, entry->tag == ACL_GROUP, entry->id);
	}
	return sort_entries(acl);
}

uint8_t *acl_encode(const struct acl *acl, uint32_t *len)
{
	uint8_t *value, *p;

	*len = HEADER_LEN + acl->entries->len * ENTRY_LEN;
	value = g_malloc(*len);
	put32(value, POSIX_ACL_XATTR_VERSION);
	p = value + HEADER_LEN;
	for (guint i = 0; i < acl->entries->len; i++, p += ENTRY_LEN) {
		const struct acl_entry *entry = entry_at(acl, i);

		p[0] = entry->tag;
		p[1] = entry->tag >> 8;
		p[2] = entry->perm;
		p[3] = 0;
		put32(p + 4, entry->id);
	}
	return value;
}

static mode_t mode_of(const struct acl *acl, mode_t group, mode_t other)
{
	return find_entry(acl, ACL_USER_OBJ)->perm << 6 | group << 3 | other;
}

mode_t acl_mode(const struct acl *acl)
{
	const struct acl_entry *mask = find_entry(acl, ACL_MASK);

	return mode_of(acl, mask ? mask->perm : find_entry(acl, ACL_GROUP_OBJ)->perm,
		       find_entry(acl, ACL_OTHER)->perm);
}

mode_t acl_mode_alone(const struct acl *acl)
{
	const struct acl_entry *mask = find_entry(acl, ACL_MASK);
	mode_t allowed = mask ? mask->perm : RWX;
	mode_t group = find_entry(acl, ACL_GROUP_OBJ)->perm & allowed;
	mode_t other = find_entry(acl, ACL_OTHER)->perm;

	for (guint i = 0; i < acl->entries->len; i++) {
		const struct acl_entry *entry = entry_at(acl, i);

		if (entry->tag == ACL_USER)
			group &= entry->perm & allowed;
		if (is_named(entry))
			other &= entry->perm & allowed;
	}
	return mode_of(acl, group, other);
}

void acl_bar(struct acl *acl, bool owner, bool group)
{
	const struct acl_entry *mask = find_entry(acl, ACL_MASK);
	const uint16_t allowed = mask ? mask->perm : RWX;
	const uint16_t owners = owner ? find_entry(acl, ACL_USER_OBJ)->perm : RWX;
	const uint16_t members = group ? find_entry(acl, ACL_GROUP_OBJ)->perm & allowed : RWX;

	for (guint i = 0; i < acl->entries->len; i++) {
		struct acl_entry *entry = &g_array_index(acl->entries, struct acl_entry, i);

		if (entry->tag != ACL_MASK)
			entry->perm &= owners;
		if (entry->tag == ACL_OTHER)
			entry->perm &= members;
	}
}

void acl_close(struct acl *acl, bool owner, bool group)
{
	uint16_t other = find_entry(acl, ACL_OTHER)->perm, all = RWX;

	for (guint i = 0; i < acl->entries->len; i++) {
		struct acl_entry *entry = &g_array_index(acl->entries, struct acl_entry, i);

		if (group && entry->tag == ACL_GROUP_OBJ)
			entry->perm &= other;
		if (entry->tag != ACL_USER_OBJ)
			all &= entry->perm;
	}
	for (guint i = 0; owner && i < acl->entries->len; i++) {
		struct acl_entry *entry = &g_array_index(acl->entries, struct acl_entry, i);

		if (entry->tag == ACL_USER_OBJ)
			entry->perm &= all;
	}
}

bool acl_is_inherited(int dir_fd)
{
	return fgetxattr(dir_fd, XATTR_ACL_DEFAULT, NULL, 0) > 0;
}
