/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The translators of rights against a model of the standards: nobody may do more than before, and
 * where somebody may do less there is a line.  Any list, each user in any groups, each right, and
 * what is made in a directory and in one that is made there.
 *
 *     test_rights [SEED [SECONDS]]: what fails is said with its seed; without SECONDS a short run
 */
#include <linux/posix_acl.h>

#include "tests/retriever/nt_support.h"
#include "tests/retriever/rights_model.h"
#include "tests/suite.h"

#include "lib/acl/nfs4_nt.h"
#include "lib/acl/nfs4_posix.h"
#include "lib/acl/smb_descriptor.h"
#include "lib/config/parse.h"
#include "lib/source/posix_acl.h"

#define PERSONS 4u /* uids 1..4 */
#define GROUPS	3u
#define ASKERS	(PERSONS << GROUPS << 1)
#define ROUNDS	2000u
#define DATA	(RIGHT_READ | RIGHT_WRITE | RIGHT_APPEND | RIGHT_EXECUTE)
#define LAST	(GROUPS_FROM + GROUPS - 1)

static guint32 first_seed = 1, seed;
static gint64 seconds;
static GRand *chance;

static unsigned draw(unsigned below)
{
	return (unsigned)g_rand_int_range(chance, 0, (gint32)below);
}

static struct person asker(unsigned i)
{
	return (struct person){.uid = 1 + i % PERSONS,
			       .groups = i / PERSONS % (1 << GROUPS),
			       .users = i / PERSONS >> GROUPS};
}

static void expect_no_gain(uint32_t has, uint32_t had, const struct person *p, const char *what,
			   const char *of)
{
	ck_assert_msg(!(has & ~had),
		      "seed %u: %s: user %u in groups %x%s gains %x, had %x, has %x: %s", seed,
		      what, p->uid, p->groups, p->users ? " and Users" : "", has & ~had, had, has,
		      of);
}

static void expect_told(uint32_t has, uint32_t had, bool told, const struct person *p,
			const char *what, const char *of)
{
	ck_assert_msg(!(had & ~has) || told,
		      "seed %u: %s: user %u in groups %x%s loses %x without a line: %s", seed, what,
		      p->uid, p->groups, p->users ? " and Users" : "", had & ~has, of);
}

/* ---- NFSv4 ---- */

static uint32_t any_mask(void)
{
	static const uint32_t often[] = {0x1, 0x6, 0x2, 0x4, 0x20, 0x40, 0x1f01ff, 0x1601bf};
	uint32_t mask = 0;

	for (unsigned n = draw(4); n-- > 0;)
		mask |= often[draw(G_N_ELEMENTS(often))];
	return mask ? mask : g_rand_int(chance) & RIGHTS_ALL;
}

static struct nfs4_list any_nfs4(void)
{
	struct nfs4_list list = {.owner = 1, .group = GROUPS_FROM, .n = 1 + draw(7)};

	for (unsigned i = 0; i < list.n; i++) {
		struct nfs4_entry *entry = &list.entries[i];

		entry->who = (enum nfs4_principal)draw(draw(4) ? 5 : 6);
		entry->deny = draw(3) == 0;
		entry->flags = draw(3) ? draw(16) & draw(16) : 3;
		entry->mask = any_mask();
		entry->id = entry->who == NAMED_GROUP ? GROUPS_FROM + draw(GROUPS) : 1 + draw(3);
	}
	return list;
}

static struct source_nfs4_acl *nfs4_given(const struct nfs4_list *list)
{
	static const enum ace4_who who[] = {
		[AT_OWNER] = ACE4_WHO_OWNER,	   [AT_GROUP] = ACE4_WHO_GROUP,
		[AT_EVERYONE] = ACE4_WHO_EVERYONE, [NAMED_USER] = ACE4_WHO_USER_ID,
		[NAMED_GROUP] = ACE4_WHO_GROUP_ID, [STRANGER] = ACE4_WHO_UNKNOWN};
	static const char *const names[] = {"OWNER@", "GROUP@", "EVERYONE@",
					    "user",   "group",	"stranger"};
	struct source_nfs4_acl *acl = source_nfs4_acl_new();

	for (unsigned i = 0; i < list->n; i++) {
		const struct nfs4_entry *from = &list->entries[i];
		const struct source_ace4 ace = {.type = from->deny ? ACE4_DENY : ACE4_ALLOW,
						.flags = from->flags,
						.mask = from->mask,
						.who = who[from->who],
						.id = from->id};
		g_autofree char *name = g_strdup_printf("%s-%u", names[from->who], from->id);

		source_nfs4_acl_add(acl, &ace, name);
	}
	return acl;
}

static struct posix_list posix_got(const struct acl *acl, uint32_t uid, uint32_t gid)
{
	struct posix_list list = {.uid = uid, .gid = gid};

	for (guint i = 0; i < acl->entries->len; i++) {
		const struct acl_entry *e = &g_array_index(acl->entries, struct acl_entry, i);

		if (e->tag == ACL_USER_OBJ)
			list.owner = e->perm;
		else if (e->tag == ACL_GROUP_OBJ)
			list.group = e->perm;
		else if (e->tag == ACL_OTHER)
			list.other = e->perm;
		else if (e->tag == ACL_MASK)
			list.mask = e->perm, list.masked = true;
		else {
			list.named[list.n].group = e->tag == ACL_GROUP;
			list.named[list.n].id = e->id;
			list.named[list.n++].perms = e->perm;
		}
	}
	return list;
}

/* Who inherits other things by files and directories has all of his own. */
static void check_made(const struct nfs4_list *made, const struct acl *acl, bool directory,
		       const struct nfs4_posix *posix, const char *of)
{
	const struct posix_list list = posix_got(acl, made->owner, made->group);
	const uint32_t about = directory ? DATA | RIGHT_DELETE_CHILD : DATA;
	const bool mixed = strstr(posix->lost->str, "inherit") != NULL;

	for (unsigned i = 0; i < ASKERS / 2; i++) {
		const struct person p = asker(i);
		const uint32_t had = nfs4_allows(made, &p) & about;
		const uint32_t has = posix_rights(posix_allows(&list, &p), directory, false);

		if (!mixed || p.uid != made->owner)
			expect_no_gain(has, had, &p, "inherited as a POSIX ACL", of);
		expect_told(has, had, posix->lost->len, &p, "inherited as a POSIX ACL", of);
	}
}

static void check_inherited(const struct nfs4_list *list, const struct nfs4_posix *posix,
			    const char *of)
{
	for (unsigned i = 0; i < 4 && posix->inherited; i++) {
		const uint32_t uid = 1 + draw(PERSONS), gid = GROUPS_FROM + draw(GROUPS);
		struct nfs4_list made, below;

		if (nfs4_inherit(list, false, uid, gid, &made))
			check_made(&made, posix->inherited, false, posix, of);
		if (!nfs4_inherit(list, true, uid, gid, &made))
			continue;
		check_made(&made, posix->inherited, true, posix, of);
		for (unsigned directory = 0; directory < 2; directory++)
			if (nfs4_inherit(&made, directory, 1 + draw(PERSONS),
					 GROUPS_FROM + draw(GROUPS), &below))
				check_made(&below, posix->inherited, directory, posix, of);
	}
}

static void nfs4_to_posix(void)
{
	const struct nfs4_list list = any_nfs4();
	struct source_nfs4_acl *acl = nfs4_given(&list);
	const bool directory = draw(2), no_user = draw(4) == 0, no_group = draw(4) == 0;
	const uint32_t about = directory ? DATA | RIGHT_DELETE_CHILD : DATA;
	/* the mask: an old server has what may be granted there (RFC 8881 section 6.4.1) */
	const struct source_attr attr = {.mode = (directory ? S_IFDIR : S_IFREG) | 0777,
					 .uid = no_user ? OWNER_NONE : list.owner,
					 .gid = no_group ? OWNER_NONE : list.group};
	struct nfs4_posix posix;
	struct posix_list got;

	nfs4_posix_init(&posix, acl, &attr);
	acl_close(posix.access, no_user, no_group);
	got = posix_got(posix.access, no_user ? PERSONS : list.owner, no_group ? LAST : list.group);
	for (unsigned i = 0; i < ASKERS / 2; i++) {
		const struct person p = asker(i);
		const uint32_t had = nfs4_allows(&list, &p) & about;
		const uint32_t has = posix_rights(posix_allows(&got, &p), directory, false);

		expect_no_gain(has, had, &p, "NFSv4 to POSIX", acl->text->str);
		expect_told(has, had, posix.lost->len || no_user || no_group, &p, "NFSv4 to POSIX",
			    acl->text->str);
	}
	check_inherited(&list, &posix, acl->text->str);
	nfs4_posix_clear(&posix);
	source_nfs4_acl_free(acl);
}

static uint32_t same_id(void *arg, bool group, uint32_t id)
{
	return id;
}

/* Who has a right may wait for it, and who reads or writes data does so with attributes, too. */
static uint32_t with_what_goes_with(uint32_t had)
{
	return had | 0x100000 | (had & RIGHT_READ ? 0x8 : 0) | (had & RIGHT_WRITE ? 0x10 : 0);
}

/* The owner may always read and write the list (RFC 8881 section 6.3.1.1, MS-DTYP 2.5.3.2). */
static void check_nt(const struct nfs4_list *list, const struct nt_list *nt, bool owned, bool told,
		     const char *what, const char *of)
{
	for (unsigned i = 0; i < ASKERS / 2; i++) {
		const struct person p = asker(i);
		const uint32_t own =
			owned && p.uid == list->owner ? RIGHT_READ_ACL | RIGHT_WRITE_ACL : 0;
		const uint32_t had = nfs4_allows(list, &p), has = nt_allows(nt, &p);
		uint32_t asked = 0;

		for (uint32_t right = 1; right <= RIGHTS_ALL; right <<= 1)
			asked |= nfs4_asked(list, &p, right) == 1 ? right & RIGHTS_ALL : 0;
		expect_no_gain(has, with_what_goes_with(had) | own, &p, what, of);
		expect_told(has, asked & ~0x18u, told, &p, what, of);
	}
}

static void nfs4_to_nt(void)
{
	const struct nfs4_list list = any_nfs4();
	struct source_nfs4_acl *acl = nfs4_given(&list);
	const bool no_user = draw(4) == 0, no_group = draw(4) == 0;
	bool strangers = false;
	struct nt_list nt, nt_made, nt_below;
	struct nfs4_list made, below;
	g_autofree uint8_t *value = NULL;
	const char *why;
	uint32_t len;

	for (unsigned i = 0; i < list.n; i++)
		strangers |= list.entries[i].who == STRANGER;
	value = nfs4_nt_encode(acl, no_user ? OWNER_NONE : list.owner,
			       no_group ? OWNER_NONE : list.group, same_id, NULL, &len, &why);
	ck_assert_ptr_nonnull(value);
	nt = nt_read(value);
	check_nt(&list, &nt, !no_user, strangers || no_user || no_group, "NFSv4 to NT",
		 acl->text->str);
	for (unsigned directory = 0; directory < 2; directory++) {
		const uint32_t uid = 1 + draw(PERSONS), gid = GROUPS_FROM + draw(GROUPS);

		if (!nfs4_inherit(&list, directory, uid, gid, &made))
			continue;
		nt_inherit(&nt, directory, uid, gid, &nt_made);
		check_nt(&made, &nt_made, true, strangers, "NFSv4 to NT, made in it",
			 acl->text->str);
		if (!directory || !nfs4_inherit(&made, draw(2), gid - 9, uid + 9, &below))
			continue;
		nfs4_inherit(&made, true, gid - 9, GROUPS_FROM, &below);
		nt_inherit(&nt_made, true, gid - 9, GROUPS_FROM, &nt_below);
		if (below.n)
			check_nt(&below, &nt_below, true, strangers, "NFSv4 to NT, made below it",
				 acl->text->str);
	}
	source_nfs4_acl_free(acl);
}

/* ---- POSIX ---- */

static void add_posix(struct acl *acl, uint16_t tag, uint32_t id)
{
	const struct acl_entry entry = {.tag = tag, .perm = (uint16_t)draw(8), .id = id};

	g_array_append_val(acl->entries, entry);
}

static void posix_alone(void)
{
	struct acl *acl = g_new(struct acl, 1);
	const uint32_t none = (uint32_t)ACL_UNDEFINED_ID;
	const bool no_user = draw(2), no_group = draw(2);
	struct posix_list before, after, closed;
	mode_t mode;

	acl->entries = g_array_new(FALSE, FALSE, sizeof(struct acl_entry));
	add_posix(acl, ACL_USER_OBJ, none);
	for (uint32_t uid = 1; uid <= PERSONS; uid++)
		if (draw(2))
			add_posix(acl, ACL_USER, uid);
	add_posix(acl, ACL_GROUP_OBJ, none);
	for (uint32_t gid = GROUPS_FROM; gid <= LAST; gid++)
		if (draw(2))
			add_posix(acl, ACL_GROUP, gid);
	if (acl->entries->len > 2 || draw(2))
		add_posix(acl, ACL_MASK, none);
	add_posix(acl, ACL_OTHER, none);
	before = posix_got(acl, 1, GROUPS_FROM);
	mode = acl_mode_alone(acl);
	after = (struct posix_list){.owner = mode >> 6 & 7,
				    .group = mode >> 3 & 7,
				    .other = mode & 7,
				    .uid = 1,
				    .gid = GROUPS_FROM};
	acl_bar(acl, no_user, no_group);
	acl_close(acl, no_user, no_group);
	closed = posix_got(acl, no_user ? PERSONS : 1, no_group ? LAST + 1 : GROUPS_FROM);
	for (unsigned i = 0; i < ASKERS / 2; i++) {
		const struct person p = asker(i);
		const uint32_t had = posix_allows(&before, &p);

		expect_no_gain(posix_allows(&after, &p), had, &p, "a mode alone", "");
		expect_no_gain(posix_allows(&closed, &p), had, &p, "another owner or group", "");
	}
	acl_free(acl);
}

/* ---- descriptors ---- */

/* The same person as a SID that is nobody here. */
#define FOREIGN "S-1-5-21-9-9-9-%u"

struct nt_who {
	char text[40];
	struct nt_principal who;
};

static struct nt_who any_who(unsigned kinds)
{
	static const uint32_t well_known[][3] = {{1, 0}, {5, 11}, {5, 2}, {3, 4}, {3, 0}, {5, 18}};
	struct nt_who who;
	const unsigned kind = draw(kinds);
	const uint32_t uid = 1 + draw(PERSONS - 1), gid = GROUPS_FROM + draw(GROUPS);

	if (kind == 0) {
		snprintf(who.text, sizeof who.text, "S-1-22-1-%u", uid);
		who.who = NT_UNIX_USER(uid);
	} else if (kind == 1) {
		snprintf(who.text, sizeof who.text, "S-1-22-2-%u", gid);
		who.who = NT_UNIX_GROUP(gid);
	} else if (kind == 2) {
		snprintf(who.text, sizeof who.text, FOREIGN, draw(2) ? uid : gid);
		who.who = NT(5, 21, 9, 9, 9, (uint32_t)atoi(strrchr(who.text, '-') + 1));
	} else if (kind == 3) {
		snprintf(who.text, sizeof who.text, "S-1-5-32-545");
		who.who = NT(5, 32, 545);
	} else {
		const uint32_t *id = well_known[draw(G_N_ELEMENTS(well_known))];

		snprintf(who.text, sizeof who.text, "S-1-%u-%u", id[0], id[1]);
		who.who = NT(id[0], id[1]);
	}
	return who;
}

static struct nt_list any_nt(GString *dacl)
{
	static const uint32_t often[] = {0x1f01ff,  0x1301bf,	0x1200a9,
					 0x120089,  0x6,	0x40,
					 0x40000,   0x10000000, UINT32_C(0x80000000),
					 0x40000000};
	struct nt_list list = {.n = 1 + draw(7)};

	for (unsigned i = 0; i < list.n; i++) {
		const struct nt_who who = any_who(6);
		struct nt_entry *entry = &list.entries[i];

		*entry = (struct nt_entry){.type = draw(3) == 0,
					   .flags = (uint8_t)(draw(3) ? 0 : draw(16)),
					   .mask = draw(2) ? often[draw(G_N_ELEMENTS(often))]
							   : any_mask(),
					   .who = who.who};
		g_string_append_printf(dacl, "%s%x %x %x %s", i ? "," : "", entry->type,
				       entry->flags, entry->mask, who.text);
	}
	return list;
}

/* By the mode, for whoever is of a class; the owner of a directory may delete what is in it. */
static uint32_t mode_rights(const struct windows *w, bool directory, const struct person *p)
{
	const bool owns = p->uid == w->uid;
	const unsigned perms = w->perms >> (owns ? 6 : person_in(p, w->gid) ? 3 : 0) & 7;

	return posix_rights(perms, directory, w->perms & S_ISVTX && !owns) |
	       (owns && !w->lost_owner && !w->bound_owner ? RIGHT_WRITE_ACL : 0);
}

static void nt_to_mode(void)
{
	const struct windows_map map = {.uid = PERSONS, .gid = LAST, .modes = SMB_MODES_DESCRIPTOR};
	g_autoptr(GString) dacl = g_string_new(NULL);
	struct nt_list list = any_nt(dacl);
	struct source_windows *source = source_windows_new();
	const bool directory = draw(2);
	struct nt_who owner, group;
	g_autofree char *of = NULL;
	GByteArray *bytes;
	struct windows *w;

	do
		owner = any_who(3);
	while (person_in(&(struct person){.groups = 7},
			 (uint32_t)atoi(strrchr(owner.text, '-') + 1)));
	do
		group = any_who(3);
	while (!person_in(&(struct person){.groups = 7},
			  (uint32_t)atoi(strrchr(group.text, '-') + 1)));
	list.owner = owner.who;
	list.group = group.who;
	of = g_strdup_printf("%s %s, %s: %s", owner.text, group.text,
			     directory ? "directory" : "file", dacl->str);
	bytes = nt_text(0x8004, owner.text, group.text, NULL, dacl->str);
	source->has_sacl = true;
	source->sd_len = bytes->len;
	source->sd = g_byte_array_free(bytes, FALSE);
	w = smb_descriptor_new(source, directory, &map);
	ck_assert_ptr_nonnull(w->acl);
	for (unsigned i = 0; i < ASKERS; i++) {
		const struct person p = asker(i);
		const uint32_t about = directory ? DATA | RIGHT_DELETE_CHILD : DATA;
		const uint32_t has = mode_rights(w, directory, &p);
		uint32_t had = nt_allows(&list, &p);

		if (p.uid == w->uid && had & RIGHT_WRITE_ACL) /* he can give it to himself */
			had |= RIGHT_DELETE_CHILD;

		expect_no_gain(has, had, &p, "NT to a mode", of);
		expect_told(has, nt_allows(&list, &p) & about,
			    w->less || w->lost_owner || w->lost_group || w->bound_owner, &p,
			    "NT to a mode", of);
	}
	smb_descriptor_free(w);
	source_windows_free(source);
}

/* ---- all of it ---- */

static void run(void (*check)(void))
{
	const gint64 end = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;

	for (unsigned i = 0; i < ROUNDS || g_get_monotonic_time() < end; i++) {
		seed = first_seed + i;
		chance = g_rand_new_with_seed(seed);
		check();
		g_rand_free(chance);
	}
}

START_TEST(of_nfs4_as_posix)
{
	run(nfs4_to_posix);
}
END_TEST

START_TEST(of_nfs4_as_nt)
{
	run(nfs4_to_nt);
}
END_TEST

START_TEST(of_posix_alone)
{
	run(posix_alone);
}
END_TEST

START_TEST(of_nt_as_a_mode)
{
	run(nt_to_mode);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tc = tcase_create("rights");

	if (argc > 1)
		first_seed = (guint32)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seconds = strtol(argv[2], NULL, 10) / 4;
	tcase_set_timeout(tc, 300 + (double)seconds * 2);
	tcase_add_test(tc, of_nfs4_as_posix);
	tcase_add_test(tc, of_nfs4_as_nt);
	tcase_add_test(tc, of_posix_alone);
	tcase_add_test(tc, of_nt_as_a_mode);
	return run_tcase(tc);
}
