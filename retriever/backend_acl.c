/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend_acl.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define XATTR_VERSION 2
#define UNDEFINED_ID  UINT32_MAX
#define PERM_BITS     7u
#define ENTRIES_MAX   ((65536 - 4) / 8) /* of the longest value there can be */

/* The value's pieces, little endian. */
struct acl_value {
	uint32_t version;
	struct acl_value_entry {
		uint16_t tag, perm;
		uint32_t id;
	} entries[];
};

static bool is_named(const struct acl_entry *entry)
{
	return entry->tag == ACL_TAG_USER || entry->tag == ACL_TAG_GROUP;
}

static int by_tag_and_id(const void *a, const void *b)
{
	const struct acl_entry *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Sorts; NULL, or what is wrong. */
static const char *make_canonical(struct acl_entry *entries, size_t n)
{
	const uint32_t needed = ACL_TAG_USER_OBJ | ACL_TAG_GROUP_OBJ | ACL_TAG_OTHER;
	uint32_t seen = 0;

	for (size_t i = 0; i < n; i++)
		if (!is_named(&entries[i]))
			entries[i].id = UNDEFINED_ID;
	qsort(entries, n, sizeof(*entries), by_tag_and_id);
	for (size_t i = 0; i < n; i++) {
		const struct acl_entry *entry = &entries[i];

		if (entry->tag == 0 || entry->tag > ACL_TAG_OTHER ||
		    (entry->tag & (entry->tag - 1)))
			return "an entry of an unknown kind";
		if (entry->perm & ~PERM_BITS)
			return "unknown permissions";
		if (is_named(entry) && entry->id == UNDEFINED_ID)
			return "an entry for nobody";
		if (i > 0 && by_tag_and_id(entry - 1, entry) == 0)
			return "an entry twice";
		seen |= entry->tag;
	}
	if ((seen & needed) != needed)
		return "entries missing";
	if ((seen & (ACL_TAG_USER | ACL_TAG_GROUP)) && !(seen & ACL_TAG_MASK))
		return "no mask";
	return NULL;
}

void acl_add(struct source_xattrs *xattrs, bool is_default, struct acl_entry *entries, size_t n)
{
	size_t len = sizeof(struct acl_value) + n * sizeof(struct acl_value_entry);
	g_autofree struct acl_value *value = NULL;
	const char *wrong;

	if (n == 0)
		return;
	wrong = n > ENTRIES_MAX ? "too many entries" : make_canonical(entries, n);
	if (wrong) {
		source_xattrs_lose(xattrs, "%s ACL: the old server's is not a POSIX ACL: %s",
				   is_default ? "default" : "access", wrong);
		xattrs->acl_lost |= !is_default;
		return;
	}
	/* Three entries are the mode's. */
	if (!is_default && n == 3)
		return;
	value = g_malloc(len);
	value->version = htole32(XATTR_VERSION);
	for (size_t i = 0; i < n; i++)
		value->entries[i] = (struct acl_value_entry){
			htole16((uint16_t)entries[i].tag),
			htole16((uint16_t)entries[i].perm),
			htole32(entries[i].id),
		};
	source_xattrs_add(xattrs, is_default ? ACL_DEFAULT_NAME : ACL_ACCESS_NAME, value,
			  (uint32_t)len);
}

void acl_add_value(struct source_xattrs *xattrs, bool is_default, const uint8_t *value, size_t len)
{
	size_t n = len < sizeof(struct acl_value)
			   ? 0
			   : (len - sizeof(struct acl_value)) / sizeof(struct acl_value_entry);
	g_autofree struct acl_entry *entries = g_new(struct acl_entry, n + 1);
	struct acl_value_entry entry;
	uint32_t version = 0;

	if (len >= sizeof(version))
		memcpy(&version, value, sizeof(version));
	if (le32toh(version) != XATTR_VERSION ||
	    len != sizeof(struct acl_value) + n * sizeof(entry)) {
		source_xattrs_lose(xattrs, "%s ACL: in a format that is not known here",
				   is_default ? "default" : "access");
		xattrs->acl_lost |= !is_default;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		memcpy(&entry, value + sizeof(struct acl_value) + i * sizeof(entry), sizeof(entry));
		entries[i] = (struct acl_entry){.tag = le16toh(entry.tag),
						.perm = le16toh(entry.perm),
						.id = le32toh(entry.id)};
	}
	acl_add(xattrs, is_default, entries, n);
}
