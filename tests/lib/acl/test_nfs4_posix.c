/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NFSv4 ACLs as POSIX ACLs: by hand, and any, judged as a server of each kind judges. */
#include "lib/acl/nfs4_posix.h"

#include <linux/posix_acl.h>

#include "lib/config/parse.h"
#include "tests/retriever/nfs4_acl_support.h"
#include "tests/suite.h"

#define UID 1
#define GID 10

static struct source_attr attr_of(mode_t mode)
{
	return (struct source_attr){.mode = mode, .uid = UID, .gid = GID};
}

/* In the order of the kernel. */
static char *text_of(const struct acl *acl)
{
	GString *text = g_string_new(NULL);
	g_autofree uint8_t *value = NULL;
	struct acl *ordered;
	uint32_t len;

	value = acl_encode(acl, &len);
	ordered = acl_decode(value, len);
	ck_assert_ptr_nonnull(ordered);
	for (guint i = 0; i < ordered->entries->len; i++) {
		const struct acl_entry *e = &g_array_index(ordered->entries, struct acl_entry, i);

		g_string_append(text, text->len ? " " : "");
		g_string_append_c(text, e->tag == ACL_USER_OBJ || e->tag == ACL_USER	 ? 'u'
					: e->tag == ACL_GROUP_OBJ || e->tag == ACL_GROUP ? 'g'
					: e->tag == ACL_MASK				 ? 'm'
											 : 'o');
		if (e->tag == ACL_USER || e->tag == ACL_GROUP)
			g_string_append_printf(text, "%u", e->id);
		g_string_append_printf(text, ":%u", e->perm);
	}
	acl_free(ordered);
	return g_string_free(text, FALSE);
}

/* inherited, lost NULL: none; lost: a part of what is said. */
static void expect(mode_t mode, const char *nfs4, const char *access, const char *inherited,
		   const char *lost)
{
	struct source_nfs4_acl *acl = nfs4_acl(nfs4);
	struct source_attr attr = attr_of(mode);
	struct nfs4_posix posix;
	g_autofree char *got = NULL, *got_inherited = NULL;

	nfs4_posix_init(&posix, acl, &attr);
	got = text_of(posix.access);
	ck_assert_str_eq(got, access);
	ck_assert_msg(!posix.inherited == !inherited, "%s", nfs4);
	if (inherited) {
		got_inherited = text_of(posix.inherited);
		ck_assert_str_eq(got_inherited, inherited);
	}
	if (lost)
		ck_assert_msg(strstr(posix.lost->str, lost) != NULL, "%s", posix.lost->str);
	else
		ck_assert_str_eq(posix.lost->str, "");
	nfs4_posix_clear(&posix);
	source_nfs4_acl_free(acl);
}

START_TEST(a_mode_is_a_mode)
{
	expect(S_IFREG | 0640, "A::OWNER@:rwa,A::GROUP@:r,A::EVERYONE@:", "u:6 g:4 o:0", NULL,
	       NULL);
	/* FreeBSD's of a directory: adding brings deleting with it */
	expect(S_IFDIR | 0755, "A::OWNER@:rwaxCo,A::GROUP@:rx,A::EVERYONE@:rx", "u:7 g:5 o:5", NULL,
	       NULL);
	expect(S_IFREG | 0660, "A::OWNER@:rwa,A::GROUP@:r", "u:6 g:4 m:6 o:0", NULL, NULL);
}
END_TEST

START_TEST(who_is_named_is_named)
{
	expect(S_IFREG | 0660, "A::OWNER@:rwa,A::2:rwa,A:g:11:r,A::GROUP@:r",
	       "u:6 u2:6 g:4 g11:4 m:6 o:0", NULL, NULL);
	expect(S_IFREG | 0644, "A::1:rwa,A::EVERYONE@:r", "u:6 u1:6 g:4 m:6 o:4", NULL, NULL);
	expect(S_IFREG | 0640, "A::OWNER@:rwa,A:g:10:r", "u:6 g:4 g10:4 m:4 o:0", NULL, NULL);
}
END_TEST

START_TEST(denials_count_for_who_may_be_meant)
{
	/* 2 may be one of 11 */
	expect(S_IFREG | 0644, "D:g:11:r,A::2:r,A::EVERYONE@:r", "u:0 u2:0 g:0 g11:0 m:4 o:4", NULL,
	       "reading for some");
	expect(S_IFREG | 0644, "A::2:r,D:g:11:r,A::OWNER@:rwa,A::EVERYONE@:r",
	       "u:2 u2:4 g:0 g11:0 m:4 o:4", NULL, "reading for some");
	/* the owner's own comes first */
	expect(S_IFREG | 0604, "A::OWNER@:rwa,D:g:10:rwax,A::EVERYONE@:r", "u:6 g:0 g10:0 m:0 o:4",
	       NULL, NULL);
	expect(S_IFREG | 0644, "D::who@nowhere:w,A::EVERYONE@:rwa", "u:4 g:4 o:4", NULL,
	       "1 entry for who is nobody here");
	expect(S_IFREG | 0644, "A::who@nowhere:r", "u:0 g:0 m:4 o:0", NULL, "nobody here");
}
END_TEST

START_TEST(writing_is_all_of_it)
{
	expect(S_IFREG | 0644, "A::OWNER@:rw,A::EVERYONE@:r", "u:4 g:4 o:4", NULL,
	       "writing for some");
	expect(S_IFDIR | 0755, "D::OWNER@:D,A::OWNER@:rwax,A::EVERYONE@:rx", "u:5 g:5 o:5", NULL,
	       "writing for some");
	expect(S_IFDIR | 0755, "A::OWNER@:rwaxD,A::2:rwaxD,A::EVERYONE@:rx", "u:7 u2:7 g:5 m:7 o:5",
	       NULL, NULL);
}
END_TEST

START_TEST(what_is_inherited)
{
	expect(S_IFDIR | 0700, "A:fd:OWNER@:rwaxD,A:fd:2:rx", "u:7 u2:5 g:0 m:5 o:0",
	       "u:7 u2:5 g:0 m:5 o:0", NULL);
	expect(S_IFDIR | 0700, "A::OWNER@:rwaxD,A:fdi:EVERYONE@:r", "u:7 g:0 o:0", "u:4 g:4 o:4",
	       NULL);
	expect(S_IFDIR | 0700, "A::OWNER@:rwaxD,A:d:EVERYONE@:r,A:fd:2:r", "u:7 u2:4 g:4 m:4 o:4",
	       "u:7 u2:4 g:0 m:4 o:0", "what files alone inherit");
	expect(S_IFREG | 0600, "A:fd:OWNER@:rwa", "u:6 g:0 o:0", NULL, NULL);
}
END_TEST

/* Who owned it may be anybody else; who owns it now may not do what he did. */
START_TEST(who_owned_it_is_nobody_here)
{
	static const struct {
		uint32_t uid, gid;
		const char *nfs4, *access;
	} cases[] = {
		{OWNER_NONE, GID, "A::OWNER@:rwa,A::GROUP@:r,A::EVERYONE@:", "u:0 g:4 o:0"},
		{OWNER_NONE, GID, "A::OWNER@:rwa,A::EVERYONE@:r", "u:4 g:4 o:4"},
		{OWNER_NONE, GID, "D::OWNER@:r,A::EVERYONE@:r", "u:0 g:0 m:4 o:0"},
		{OWNER_NONE, GID, "A::2:rwa,A::OWNER@:rwax", "u:0 u2:6 g:0 m:6 o:0"},
		{UID, OWNER_NONE, "A::OWNER@:rwa,A::GROUP@:r", "u:6 g:0 m:4 o:0"},
		{UID, OWNER_NONE, "D::GROUP@:r,A::EVERYONE@:rx", "u:1 g:1 m:5 o:1"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct source_nfs4_acl *acl = nfs4_acl(cases[i].nfs4);
		const struct source_attr attr = {
			.mode = S_IFREG | 0640, .uid = cases[i].uid, .gid = cases[i].gid};
		struct nfs4_posix posix;
		g_autofree char *got = NULL;

		nfs4_posix_init(&posix, acl, &attr);
		got = text_of(posix.access);
		ck_assert_str_eq(got, cases[i].access);
		nfs4_posix_clear(&posix);
		source_nfs4_acl_free(acl);
	}
}
END_TEST

/* As many as there can be, with entries before and behind those that are for all. */
START_TEST(a_thousand_are_named)
{
	GString *text = g_string_new("D:g:11:x"), *expected = g_string_new("u:4");
	g_autofree char *got = NULL;
	struct source_attr attr = attr_of(S_IFREG | 0674);
	struct source_nfs4_acl *acl;
	struct nfs4_posix posix;

	for (unsigned i = 0; i < 340; i++)
		g_string_append_printf(text, ",A::%u:%s", 1000 + i, i % 2 ? "wax" : "ra");
	g_string_append(text, ",A::EVERYONE@:r");
	for (unsigned i = 0; i < 340; i++)
		g_string_append_printf(text, ",D::%u:r,A::%u:%s", 1000 + i, 1000 + i,
				       i % 3 ? "r" : "w");
	for (unsigned i = 0; i < 340; i++)
		g_string_append_printf(expected, " u%u:%u", 1000 + i, i % 2 == 0 && i % 3 ? 4 : 6);
	g_string_append(expected, " g:4 g11:4 m:7 o:4");
	acl = nfs4_acl(text->str);
	ck_assert_uint_le(acl->aces->len, NFS4_ACES_MAX);
	for (unsigned i = 0; i < 200; i++) {
		nfs4_posix_init(&posix, acl, &attr);
		if (i == 0)
			got = text_of(posix.access);
		nfs4_posix_clear(&posix);
	}
	ck_assert_str_eq(got, expected->str);
	source_nfs4_acl_free(acl);
	g_string_free(text, TRUE);
	g_string_free(expected, TRUE);
}
END_TEST

START_TEST(rights_of_no_mode)
{
	expect(S_IFREG | 0644, "A::OWNER@:rwadCo,A::EVERYONE@:rC", "u:6 g:4 o:4", NULL,
	       "rights to change");
	expect(S_IFREG | 0644, "A::OWNER@:rwa,D::EVERYONE@:d,A::EVERYONE@:r", "u:6 g:4 o:4", NULL,
	       "not be deleted");
	expect(S_IFREG | 0644, "D::OWNER@:C,A::OWNER@:rwa,A::EVERYONE@:r", "u:6 g:4 o:4", NULL,
	       "cannot be read or written");
	expect(S_IFREG | 0644, "A::OWNER@:rwa,A::EVERYONE@:r,U::EVERYONE@:w", "u:6 g:4 o:4", NULL,
	       "1 entry for watching access");
}
END_TEST

/* ---- any ---- */

#define USERS  4 /* 1..4; 1 owns it, 4 is never named */
#define GROUPS 3 /* 10..12 */
#define ROUNDS 4000

struct asker {
	uint32_t uid;
	unsigned groups; /* bits */
};

static bool is_in(const struct asker *asker, uint32_t gid)
{
	return gid >= GID && asker->groups >> (gid - GID) & 1;
}

static bool is_meant(const struct asker *asker, const struct source_ace4 *ace, uint32_t uid,
		     uint32_t gid)
{
	switch (ace->who) {
	case ACE4_WHO_OWNER:
		return asker->uid == uid;
	case ACE4_WHO_GROUP:
		return is_in(asker, gid);
	case ACE4_WHO_EVERYONE:
		return true;
	case ACE4_WHO_USER_ID:
		return asker->uid == ace->id;
	case ACE4_WHO_GROUP_ID:
		return is_in(asker, ace->id);
	default: /* who it is is told by the test */
		return asker->uid == ace->id;
	}
}

/* RFC 8881, section 6.2.1: the first one decides.  1 allowed, 0 denied, -1 nothing is said. */
static int nfs4_says(const struct source_nfs4_acl *acl, uint32_t flag, const struct asker *asker,
		     uint32_t right, uint32_t uid, uint32_t gid)
{
	for (guint i = 0; i < acl->aces->len; i++) {
		const struct source_ace4 *ace = &g_array_index(acl->aces, struct source_ace4, i);

		if (flag ? !(ace->flags & flag) : (ace->flags & ACE4_INHERIT_ONLY) != 0)
			continue;
		if (ace->type <= ACE4_DENY && ace->mask & right && is_meant(asker, ace, uid, gid))
			return ace->type == ACE4_ALLOW;
	}
	return -1;
}

/* What of r, w, x. */
static unsigned nfs4_allows(const struct source_nfs4_acl *acl, uint32_t flag, bool directory,
			    const struct asker *asker, uint32_t uid, uint32_t gid)
{
	unsigned perms = 0;

	if (nfs4_says(acl, flag, asker, ACE4_READ_DATA, uid, gid) == 1)
		perms |= 4;
	if (nfs4_says(acl, flag, asker, ACE4_WRITE_DATA, uid, gid) == 1 &&
	    nfs4_says(acl, flag, asker, ACE4_APPEND_DATA, uid, gid) == 1 &&
	    (!directory || nfs4_says(acl, flag, asker, ACE4_DELETE_CHILD, uid, gid) != 0))
		perms |= 2;
	if (nfs4_says(acl, flag, asker, ACE4_EXECUTE, uid, gid) == 1)
		perms |= 1;
	return perms;
}

static unsigned find(const struct acl *acl, uint16_t tag, uint32_t id, bool *found)
{
	for (guint i = 0; i < acl->entries->len; i++) {
		const struct acl_entry *e = &g_array_index(acl->entries, struct acl_entry, i);

		if (e->tag == tag && (id == 0 || e->id == id)) {
			*found = true;
			return e->perm;
		}
	}
	return 0;
}

/* acl(5), access check algorithm; of all that can be asked for one by one. */
static unsigned posix_allows(const struct acl *acl, const struct asker *asker, uint32_t uid,
			     uint32_t gid)
{
	bool found = false, masked = false;
	unsigned mask = find(acl, ACL_MASK, 0, &masked), perms;

	if (!masked)
		mask = 7;
	if (asker->uid == uid)
		return find(acl, ACL_USER_OBJ, 0, &found);
	perms = find(acl, ACL_USER, asker->uid, &found);
	if (found)
		return perms & mask;
	if (is_in(asker, gid))
		perms |= find(acl, ACL_GROUP_OBJ, 0, &found);
	for (uint32_t g = GID; g < GID + GROUPS; g++)
		if (is_in(asker, g))
			perms |= find(acl, ACL_GROUP, g, &found);
	return found ? perms & mask : find(acl, ACL_OTHER, 0, &found);
}

static struct source_nfs4_acl *any_acl(GRand *rand)
{
	static const uint32_t rights[] = {ACE4_READ_DATA, ACE4_WRITE_DATA, ACE4_APPEND_DATA,
					  ACE4_EXECUTE, ACE4_DELETE_CHILD};
	struct source_nfs4_acl *acl = source_nfs4_acl_new();
	unsigned n = (unsigned)g_rand_int_range(rand, 1, 8);

	while (n-- > 0) {
		struct source_ace4 ace = {.type = (uint32_t)g_rand_int_range(rand, 0, 2),
					  .who = (enum ace4_who)g_rand_int_range(rand, 0, 6)};

		ace.flags = (uint32_t)g_rand_int_range(rand, 0, 16) &
			    (uint32_t)g_rand_int_range(rand, 0, 16);
		for (unsigned i = 0; i < G_N_ELEMENTS(rights); i++)
			if (g_rand_boolean(rand))
				ace.mask |= rights[i];
		ace.id = ace.who == ACE4_WHO_GROUP_ID
				 ? (uint32_t)g_rand_int_range(rand, GID, GID + GROUPS)
				 : (uint32_t)g_rand_int_range(rand, 1, USERS);
		source_nfs4_acl_add(acl, &ace, "x");
	}
	return acl;
}

static void expect_no_more(unsigned posix, unsigned nfs4, const struct source_nfs4_acl *acl,
			   const struct asker *asker, const char *what)
{
	ck_assert_msg(!(posix & ~nfs4), "%s: %u, not %u, for %u in %x by %s", what, posix, nfs4,
		      asker->uid, asker->groups, acl->text->str);
}

/* What is made in it, by anybody, for any group. */
static void check_inherited(const struct source_nfs4_acl *acl, const struct acl *inherited,
			    const struct asker *asker, uint32_t flag, bool mixed)
{
	bool any = false;

	for (guint i = 0; i < acl->aces->len; i++)
		any |= (g_array_index(acl->aces, struct source_ace4, i).flags & flag) != 0;
	for (uint32_t uid = 1; uid <= USERS && any; uid++)
		for (uint32_t gid = GID; gid < GID + GROUPS; gid++) {
			if (mixed && asker->uid == uid)
				continue;
			expect_no_more(posix_allows(inherited, asker, uid, gid),
				       nfs4_allows(acl, flag, flag == ACE4_DIRECTORY_INHERIT, asker,
						   uid, gid),
				       acl, asker, "inherited");
		}
}

START_TEST(nobody_gets_more)
{
	GRand *rand = g_rand_new_with_seed(15);

	for (unsigned round = 0; round < ROUNDS; round++) {
		bool directory = g_rand_boolean(rand);
		struct source_attr attr = attr_of((directory ? S_IFDIR : S_IFREG) |
						  (mode_t)g_rand_int_range(rand, 0, 01000));
		struct source_nfs4_acl *acl = any_acl(rand);
		const bool no_user = g_rand_int_range(rand, 0, 4) == 0;
		const bool no_group = g_rand_int_range(rand, 0, 4) == 0;
		const uint32_t uid = no_user ? USERS : UID, gid = no_group ? GID + GROUPS - 1 : GID;
		struct nfs4_posix posix;
		bool mixed;

		attr.uid = no_user ? OWNER_NONE : UID;
		attr.gid = no_group ? OWNER_NONE : GID;
		nfs4_posix_init(&posix, acl, &attr);
		acl_close(posix.access, no_user, no_group);
		mixed = strstr(posix.lost->str, "inherit") != NULL;
		for (struct asker a = {.uid = 1}; a.uid <= USERS; a.uid++)
			for (a.groups = 0; a.groups < 1 << GROUPS; a.groups++) {
				expect_no_more(posix_allows(posix.access, &a, uid, gid),
					       nfs4_allows(acl, 0, directory, &a, UID, GID), acl,
					       &a, "access");
				if (!posix.inherited)
					continue;
				check_inherited(acl, posix.inherited, &a, ACE4_FILE_INHERIT, mixed);
				check_inherited(acl, posix.inherited, &a, ACE4_DIRECTORY_INHERIT,
						mixed);
			}
		nfs4_posix_clear(&posix);
		source_nfs4_acl_free(acl);
	}
	g_rand_free(rand);
}
END_TEST

/* ---- those that a Linux server makes of POSIX ACLs ---- */

static void add_pair(GString *text, const char *flag, const char *who, unsigned perm, bool allow)
{
	unsigned bits = allow ? perm : ~perm & 7;

	g_string_append_printf(text, "%s%s:%s:%s:%s%s%s", text->len ? "," : "", allow ? "A" : "D",
			       flag, who, bits & 4 ? "r" : "", bits & 2 ? "wa" : "",
			       bits & 1 ? "x" : "");
}

START_TEST(a_posix_acl_comes_back)
{
	GRand *rand = g_rand_new_with_seed(16);

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned p[6], mask = 0;
		g_autofree char *access = NULL;
		GString *text = g_string_new(NULL);

		for (unsigned i = 0; i < 6; i++)
			p[i] = (unsigned)g_rand_int_range(rand, 0, 8);
		for (unsigned i = 1; i < 5; i++)
			mask |= p[i];
		for (unsigned allow = 2; allow-- > 0;)
			add_pair(text, "", "OWNER@", p[0], allow);
		for (unsigned allow = 2; allow-- > 0;)
			add_pair(text, "", "2", p[1], allow);
		for (unsigned allow = 2; allow-- > 0;) {
			add_pair(text, "", "GROUP@", p[2], allow);
			add_pair(text, "g", "11", p[3], allow);
			add_pair(text, "g", "12", p[4], allow);
		}
		add_pair(text, "", "EVERYONE@", p[5], true);
		access = g_strdup_printf("u:%u u2:%u g:%u g11:%u g12:%u m:%u o:%u", p[0], p[1],
					 p[2], p[3], p[4], mask, p[5]);
		expect(S_IFREG | mask << 3, text->str, access, NULL, NULL);
		g_string_free(text, TRUE);
	}
	g_rand_free(rand);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("nfs4_posix");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, a_mode_is_a_mode);
	tcase_add_test(tc, who_is_named_is_named);
	tcase_add_test(tc, denials_count_for_who_may_be_meant);
	tcase_add_test(tc, writing_is_all_of_it);
	tcase_add_test(tc, what_is_inherited);
	tcase_add_test(tc, who_owned_it_is_nobody_here);
	tcase_add_test(tc, a_thousand_are_named);
	tcase_add_test(tc, rights_of_no_mode);
	tcase_add_test(tc, nobody_gets_more);
	tcase_add_test(tc, a_posix_acl_comes_back);
	return run_tcase(tc);
}
