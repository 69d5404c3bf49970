/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/acl/nfs4_posix.h"

#include <linux/posix_acl.h>

#include "lib/base/text.h"
#include "lib/config/parse.h"

#define INHERITED_BY_ALL (ACE4_FILE_INHERIT | ACE4_DIRECTORY_INHERIT)
#define BEYOND		 (ACE4_DELETE | ACE4_WRITE_ATTRIBUTES | ACE4_WRITE_ACL | ACE4_WRITE_OWNER)
#define ALWAYS_GRANTED	 (ACE4_READ_ATTRIBUTES | ACE4_READ_ACL | ACE4_DELETE)

/* What perms_of() asks for. */
#define ASKED                                                                                      \
	(ACE4_READ_DATA | ACE4_WRITE_DATA | ACE4_APPEND_DATA | ACE4_EXECUTE | ACE4_DELETE_CHILD)

/* What is asked of a list. */
struct question {
	const struct source_nfs4_acl *acl;
	const struct source_attr *attr;
	bool directory;
	bool inherited; /* of what is made in it: its owner and group are not known */
};

/* Whether an entry is for the members of a class. */
enum match { FOR_NONE, FOR_SOME, FOR_ALL };

static const struct source_ace4 *ace_at(const struct question *q, guint i)
{
	return &g_array_index(q->acl->aces, struct source_ace4, i);
}

static guint place_at(const GArray *some, guint i)
{
	return g_array_index(some, guint, i);
}

static bool is_owner(const struct question *q, uint32_t uid)
{
	return !q->inherited && uid == q->attr->uid;
}

static bool is_group(const struct question *q, uint32_t gid)
{
	return !q->inherited && gid == q->attr->gid;
}

static enum match match_user(const struct question *q, const struct acl_entry *class, uint32_t uid)
{
	if (class->tag == ACL_USER)
		return class->id == uid ? FOR_ALL : FOR_NONE;
	if (class->tag != ACL_USER_OBJ)
		return FOR_NONE; /* he has an entry of his own */
	return is_owner(q, uid) ? FOR_ALL : q->inherited ? FOR_SOME : FOR_NONE;
}

static enum match match_owner(const struct question *q, const struct acl_entry *class)
{
	if (class->tag == ACL_USER_OBJ)
		return FOR_ALL;
	return class->tag == ACL_USER && is_owner(q, class->id) ? FOR_SOME : FOR_NONE;
}

/* own: the file's group, whatever its number. */
static enum match match_group(const struct question *q, const struct acl_entry *class, bool own,
			      uint32_t gid)
{
	switch (class->tag) {
	case ACL_GROUP_OBJ:
		return own || is_group(q, gid) ? FOR_ALL : FOR_SOME;
	case ACL_GROUP:
		return (own ? is_group(q, class->id) : class->id == gid) ? FOR_ALL : FOR_SOME;
	case ACL_OTHER:
		return FOR_NONE;
	default:
		return FOR_SOME;
	}
}

static enum match match(const struct question *q, const struct acl_entry *class,
			const struct source_ace4 *ace)
{
	switch (ace->who) {
	case ACE4_WHO_EVERYONE:
		return FOR_ALL;
	case ACE4_WHO_OWNER:
		if (!q->inherited && q->attr->uid == OWNER_NONE)
			return FOR_SOME;
		return match_owner(q, class);
	case ACE4_WHO_USER_ID:
		return match_user(q, class, ace->id);
	case ACE4_WHO_GROUP:
		if (!q->inherited && q->attr->gid == OWNER_NONE)
			return FOR_SOME;
		return match_group(q, class, true, ace->id);
	case ACE4_WHO_GROUP_ID:
		return match_group(q, class, false, ace->id);
	default:
		return FOR_SOME;
	}
}

static bool counts(const struct question *q, const struct source_ace4 *ace)
{
	if (ace->type != ACE4_ALLOW && ace->type != ACE4_DENY)
		return false;
	return q->inherited ? ace->flags & INHERITED_BY_ALL : !(ace->flags & ACE4_INHERIT_ONLY);
}

static bool is_for_all_that_inherits(const struct source_ace4 *ace)
{
	return (ace->flags & (INHERITED_BY_ALL | ACE4_NO_PROPAGATE)) == INHERITED_BY_ALL;
}

/* What a list says of one right. */
struct answer {
	bool sure;  /* each of the class has it */
	bool maybe; /* they have it, apart from other groups and what POSIX cannot say */
	bool said;  /* an entry that may be for one of them names it */
};

/* One who may be in any group; what groups have adds up. */
static bool is_user(const struct acl_entry *class)
{
	return class->tag == ACL_USER || class->tag == ACL_USER_OBJ;
}

/* some: the places of those that can decide for the class; NULL: all. */
static struct answer ask(const struct question *q, const struct acl_entry *class, uint32_t right,
			 const GArray *some)
{
	struct answer answer = {0};
	bool open = true, decided = false;

	for (guint i = 0; i < (some ? some->len : q->acl->aces->len); i++) {
		const struct source_ace4 *ace = ace_at(q, some ? place_at(some, i) : i);
		enum match who = match(q, class, ace);

		if (!counts(q, ace) || !(ace->mask & right) || who == FOR_NONE)
			continue;
		answer.said = true;
		if (ace->type == ACE4_DENY)
			open = false;
		else if (who == FOR_ALL && (!q->inherited || is_for_all_that_inherits(ace)))
			answer.sure |= open;
		if (!decided && (who == FOR_ALL || is_user(class)))
			answer.maybe |= ace->type == ACE4_ALLOW;
		decided |= who == FOR_ALL;
	}
	return answer;
}

/* *less: what they had of it beyond what is returned. */
static uint16_t perms_of(const struct question *q, const struct acl_entry *class,
			 const GArray *some, uint16_t *less)
{
	struct answer read = ask(q, class, ACE4_READ_DATA, some);
	struct answer add = ask(q, class, ACE4_WRITE_DATA, some);
	struct answer append = ask(q, class, ACE4_APPEND_DATA, some);
	struct answer execute = ask(q, class, ACE4_EXECUTE, some);
	struct answer empty = {.sure = true};
	uint16_t perms = 0, had = 0;

	if (q->directory)
		empty = ask(q, class, ACE4_DELETE_CHILD, some);
	if (read.sure)
		perms |= 4;
	if (add.sure && append.sure && (empty.sure || !empty.said))
		perms |= 2;
	if (execute.sure)
		perms |= 1;
	if (read.maybe)
		had |= 4;
	if (add.maybe || append.maybe || empty.maybe)
		had |= 2;
	if (execute.maybe)
		had |= 1;
	*less |= had & ~perms;
	return perms;
}

static void add_entry(const struct question *q, GArray *entries, uint16_t tag, uint32_t id,
		      const GArray *some, uint16_t *less)
{
	struct acl_entry entry = {.tag = tag, .id = id};

	entry.perm = perms_of(q, &entry, some, less);
	g_array_append_val(entries, entry);
}

/* ---- who is named ---- */

/*
 * A list may name a thousand, and each entry for a group may be for any of them.  Of the entries
 * that are not for one alone, the first few of each right decide: the first that denies it, the
 * first that grants it, the first that grants it to all, and the first that is for all.
 */
static GArray *deciding(const struct question *q, uint16_t tag)
{
	const struct acl_entry any = {.tag = tag, .id = (uint32_t)ACL_UNDEFINED_ID};
	GArray *places = g_array_new(FALSE, FALSE, sizeof(guint));
	uint32_t denied = 0, granted = 0, decided = 0, allowed = 0;

	for (guint i = 0; i < q->acl->aces->len; i++) {
		const struct source_ace4 *ace = ace_at(q, i);
		enum match who = match(q, &any, ace);
		const uint32_t mask = ace->mask & ASKED;
		uint32_t fresh = 0;

		if (!counts(q, ace) || who == FOR_NONE)
			continue;
		if (ace->type == ACE4_DENY) {
			fresh |= mask & ~denied;
			denied |= mask;
		} else {
			fresh |= mask & ~allowed;
			allowed |= mask;
		}
		if (ace->type == ACE4_ALLOW && who == FOR_ALL &&
		    (!q->inherited || is_for_all_that_inherits(ace))) {
			fresh |= mask & ~granted;
			granted |= mask;
		}
		if (who == FOR_ALL) {
			fresh |= mask & ~decided;
			decided |= mask;
		}
		if (fresh)
			g_array_append_val(places, i);
	}
	return places;
}

struct named {
	uint16_t tag;
	uint32_t id;
	guint place; /* in the list */
};

static const struct named *named_at(const GArray *all, guint i)
{
	return &g_array_index(all, struct named, i);
}

static gint by_name(gconstpointer a, gconstpointer b)
{
	const struct named *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static gint by_place(gconstpointer a, gconstpointer b)
{
	const guint x = *(const guint *)a, y = *(const guint *)b;

	return x < y ? -1 : x > y;
}

static GArray *find_named(const struct question *q)
{
	GArray *all = g_array_new(FALSE, FALSE, sizeof(struct named));

	for (guint i = 0; i < q->acl->aces->len; i++) {
		const struct source_ace4 *ace = ace_at(q, i);
		const bool group = ace->who == ACE4_WHO_GROUP_ID;
		const struct named named = {group ? ACL_GROUP : ACL_USER, ace->id, i};

		if (counts(q, ace) && (group || ace->who == ACE4_WHO_USER_ID))
			g_array_append_val(all, named);
	}
	g_array_sort(all, by_name);
	return all;
}

/* An entry for each who is named.  For who owns it, entries for OWNER@ or GROUP@ count, too. */
static void add_named(const struct question *q, GArray *entries, uint16_t *less)
{
	GArray *all = find_named(q), *some = g_array_new(FALSE, FALSE, sizeof(guint));
	GArray *users = deciding(q, ACL_USER), *groups = deciding(q, ACL_GROUP);

	for (guint i = 0, end; i < all->len; i = end) {
		const struct named *named = named_at(all, i);
		const bool user = named->tag == ACL_USER;
		const GArray *common = user ? users : groups;
		const bool owns = user ? is_owner(q, named->id) : is_group(q, named->id);

		g_array_set_size(some, 0);
		g_array_append_vals(some, common->data, common->len);
		for (end = i; end < all->len && named_at(all, end)->tag == named->tag &&
			      named_at(all, end)->id == named->id;
		     end++)
			g_array_append_val(some, named_at(all, end)->place);
		g_array_sort(some, by_place);
		add_entry(q, entries, named->tag, named->id, owns ? NULL : some, less);
	}
	g_array_unref(all);
	g_array_unref(some);
	g_array_unref(users);
	g_array_unref(groups);
}

static void add_mask(GArray *entries, uint16_t perms)
{
	struct acl_entry mask = {.tag = ACL_MASK, .id = (uint32_t)ACL_UNDEFINED_ID, .perm = perms};

	for (guint i = 0; i < entries->len; i++) {
		const struct acl_entry *entry = &g_array_index(entries, struct acl_entry, i);

		if (entry->tag != ACL_USER_OBJ && entry->tag != ACL_OTHER)
			mask.perm |= entry->perm;
	}
	g_array_append_val(entries, mask);
}

static struct acl *translate(const struct question *q, uint16_t *less)
{
	const uint32_t none = (uint32_t)ACL_UNDEFINED_ID;
	const uint16_t mode = q->inherited ? 0 : q->attr->mode >> 3 & 7;
	struct acl *acl = g_new(struct acl, 1);
	const struct acl_entry *group;

	acl->entries = g_array_new(FALSE, FALSE, sizeof(struct acl_entry));
	add_entry(q, acl->entries, ACL_USER_OBJ, none, NULL, less);
	add_entry(q, acl->entries, ACL_GROUP_OBJ, none, NULL, less);
	add_entry(q, acl->entries, ACL_OTHER, none, NULL, less);
	add_named(q, acl->entries, less);
	/* The mode's bits for the group are the mask, which may allow more than there is. */
	group = &g_array_index(acl->entries, struct acl_entry, 1);
	if (acl->entries->len > 3 || mode & ~group->perm)
		add_mask(acl->entries, mode);
	return acl;
}

G_GNUC_PRINTF(2, 3)
static void add_lost_text(struct nfs4_posix *posix, const char *format, ...)
{
	va_list args;

	if (posix->lost->len)
		g_string_append(posix->lost, "; ");
	va_start(args, format);
	g_string_append_vprintf(posix->lost, format, args);
	va_end(args);
}

/* Rights that a POSIX ACL grants always or never. */
static void lose_other_rights(struct nfs4_posix *posix, const struct question *q)
{
	const struct acl_entry owner = {.tag = ACL_USER_OBJ};
	const uint32_t owners = ACE4_WRITE_ACL | ACE4_WRITE_ATTRIBUTES;
	unsigned audit = 0, unknown = 0;
	bool grants = false, denies = false;

	for (guint i = 0; i < q->acl->aces->len; i++) {
		const struct source_ace4 *ace = ace_at(q, i);

		audit += ace->type != ACE4_ALLOW && ace->type != ACE4_DENY;
		unknown += ace->who == ACE4_WHO_UNKNOWN;
		if (ace->type == ACE4_ALLOW && ace->who != ACE4_WHO_OWNER)
			grants |= (ace->mask & BEYOND) != 0;
		if (ace->type == ACE4_DENY)
			denies |= (ace->mask & ALWAYS_GRANTED) != 0;
	}
	for (uint32_t right = 1; right; right <<= 1) {
		struct answer answer = {0};

		if (right & owners)
			answer = ask(q, &owner, right, NULL);
		denies |= answer.said && !answer.sure && !answer.maybe;
	}
	if (unknown)
		add_lost_text(posix, TEXT_COUNT " for who is nobody here",
			      TEXT_COUNTED(unknown, "entries"));
	if (audit)
		add_lost_text(posix, TEXT_COUNT " for watching access",
			      TEXT_COUNTED(audit, "entries"));
	if (grants)
		add_lost_text(posix, "rights to change attributes, ACL or owner, or to delete");
	if (denies)
		add_lost_text(posix,
			      "that attributes and ACL cannot be read or written, or it not be "
			      "deleted");
}

static void set_owner_perms(struct acl *acl, uint16_t perms)
{
	for (guint i = 0; i < acl->entries->len; i++) {
		struct acl_entry *entry = &g_array_index(acl->entries, struct acl_entry, i);

		if (entry->tag == ACL_USER_OBJ)
			entry->perm = perms;
	}
}

/* The default ACL of a directory. */
static void inherit(struct nfs4_posix *posix, struct question *q, uint16_t *less)
{
	bool any = false, mixed = false;

	q->inherited = true;
	for (guint i = 0; i < q->acl->aces->len; i++) {
		if (!counts(q, ace_at(q, i)))
			continue;
		any = true;
		mixed |= !is_for_all_that_inherits(ace_at(q, i));
	}
	if (!any)
		return;
	posix->inherited = translate(q, less);
	if (!mixed)
		return;
	set_owner_perms(posix->inherited, 7);
	add_lost_text(posix, "what files alone inherit, or directories, or one level");
}

void nfs4_posix_init(struct nfs4_posix *posix, const struct source_nfs4_acl *acl,
		     const struct source_attr *attr)
{
	struct question q = {.acl = acl, .attr = attr, .directory = S_ISDIR(attr->mode)};
	uint16_t less = 0;

	*posix = (struct nfs4_posix){.lost = g_string_new(NULL)};
	posix->access = translate(&q, &less);
	lose_other_rights(posix, &q);
	if (q.directory)
		inherit(posix, &q, &less);
	if (less)
		add_lost_text(posix,
			      "%s%s%sfor some, by its order, its denials, or half of a right",
			      less & 4 ? "reading " : "", less & 2 ? "writing " : "",
			      less & 1 ? "executing or traversing " : "");
}

void nfs4_posix_clear(struct nfs4_posix *posix)
{
	g_clear_pointer(&posix->access, acl_free);
	g_clear_pointer(&posix->inherited, acl_free);
	g_string_free(posix->lost, TRUE);
}
