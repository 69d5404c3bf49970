/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * map-ids: who of the old server is who here, by name.  Nothing is guessed: who may be two, or
 * becomes one with another, is in no map, and is listed.
 */
#include "ctl/ctl.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/csv.h"
#include "lib/base/text.h"
#include "lib/config/parse.h"
#include "lib/config/sids.h"

#define NAME_AND_SID                                                                               \
	"^[ \\t]*+(.*[^ \\t,])[ \\t,]++(S-1-[0-9a-fx-]+)(?:[ \\t,]++(user|group))?[ \\t]*$"

static char **opt_old, **opt_new;
static const char *opt_check;

enum kind { USER, GROUP, SID };
static const char *const kinds[] = {"user", "group", "SID"};

struct account {
	enum kind kind;
	char *name, *id;	     /* id: a number, or a SID */
	char *sort;		     /* of a SID: "user", "group"; "" or NULL: either */
	const char *wrong;	     /* why it is not known who this is, or NULL */
	bool alike;		     /* another one's name differs in case only */
	const struct account *here;  /* of the old server: whom it becomes */
	const struct account *there; /* of this one: who becomes it, of the same kind */
};

struct accounts {
	GPtrArray *list;   /* struct account, in the order of the dumps */
	GHashTable *index; /* what index_key() makes -> the first one */
	bool broken;	   /* a line was */
};

static void free_account(gpointer data)
{
	struct account *account = data;

	g_free(account->name);
	g_free(account->id);
	g_free(account->sort);
	g_free(account);
}

/* ---- who is meant ---------------------------------------------------------------------------- */

enum by { BY_NAME, BY_ANY_CASE, BY_ID };

/* Names of SIDs are the same in any case; not so "ss" and a sharp s, which are one in capitals. */
static char *index_key(enum by by, enum kind kind, const char *text)
{
	g_autofree char *shown = text_printable(text);
	g_autofree char *up = g_utf8_strup(shown, -1), *down = g_utf8_strdown(shown, -1);
	const bool folds = by == BY_ANY_CASE || kind == SID;

	return g_strdup_printf("%d%d%s\n%s", by, kind, folds ? up : text, folds ? down : "");
}

static struct account *find_account(const struct accounts *accounts, enum by by, enum kind kind,
				    const char *text)
{
	g_autofree char *key = index_key(by, kind, text);

	return g_hash_table_lookup(accounts->index, key);
}

/* The one that was there before, or NULL. */
static struct account *enter_index(struct accounts *accounts, enum by by, struct account *account)
{
	const char *text = by == BY_ID ? account->id : account->name;
	struct account *other = find_account(accounts, by, account->kind, text);

	if (!other)
		g_hash_table_insert(accounts->index, index_key(by, account->kind, text), account);
	return other;
}

/* Takes id and sort. */
static void add_account(struct accounts *accounts, enum kind kind, const char *name, char *id,
			char *sort)
{
	struct account *account = g_new0(struct account, 1), *other;

	*account = (struct account){kind, g_strdup(name), id, sort};
	other = find_account(accounts, BY_NAME, kind, name);
	if (other && !strcmp(other->id, id)) { /* two name services may know it */
		free_account(account);
		return;
	}
	g_ptr_array_add(accounts->list, account);
	if ((other = enter_index(accounts, BY_NAME, account)))
		other->wrong = account->wrong = "its name has two ids";
	if ((other = enter_index(accounts, BY_ID, account)))
		other->wrong = account->wrong = "its id has two names";
	if ((other = enter_index(accounts, BY_ANY_CASE, account)))
		other->alike = account->alike = true;
}

/* ---- dumps ----------------------------------------------------------------------------------- */

static bool take_number(struct accounts *accounts, enum kind kind, const char *name,
			const char *number)
{
	uint32_t id;

	if (!name || !*name || !parse_id(number, &id))
		return false;
	add_account(accounts, kind, name, g_strdup_printf("%u", id), NULL);
	return true;
}

/* passwd(5), group(5), or a name and a SID. */
static bool take_line(struct accounts *accounts, const char *line)
{
	g_auto(GStrv) fields = g_strsplit(line, ":", -1);
	const guint n = g_strv_length(fields);
	g_autoptr(GRegex) regex =
		g_regex_new(NAME_AND_SID, G_REGEX_RAW | G_REGEX_CASELESS, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	struct sid sid;

	if (n == 7 || n == 4)
		return take_number(accounts, n == 7 ? USER : GROUP, fields[0], fields[2]);
	if (!g_regex_match(regex, line, 0, &match))
		return strchr("#", line[strspn(line, " \t")]);
	g_autofree char *name = g_match_info_fetch(match, 1), *text = g_match_info_fetch(match, 2);
	if (!sid_parse(text, &sid))
		return false;
	add_account(accounts, SID, name, sid_text(&sid), g_match_info_fetch(match, 3));
	return true;
}

/* An attribute of an entry of LDIF (RFC 2849), "NAME[;OPTION]: VALUE" or "NAME:: BASE64".  NULL: it
 * has none; "": it has two, or one that is no text. */
static char *ldif_value(const char *entry, const char *name)
{
	g_autofree char *pattern = g_strdup_printf("^%s(?:;[^:\n]*)?:(:?) *(.*)$", name);
	g_autoptr(GRegex) regex =
		g_regex_new(pattern, G_REGEX_RAW | G_REGEX_CASELESS | G_REGEX_MULTILINE, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	gsize len;

	if (!g_regex_match(regex, entry, 0, &match))
		return NULL;
	g_autofree char *base64 = g_match_info_fetch(match, 1);
	char *value = g_match_info_fetch(match, 2);
	if (*base64 && *value) {
		g_base64_decode_inplace(value, &len);
		value[memchr(value, '\0', len) ? 0 : len] = '\0';
	}
	if (g_match_info_next(match, NULL))
		*value = '\0';
	return value;
}

/* posixAccount or posixGroup (RFC 2307); another entry is nobody. */
static bool take_ldif_entry(struct accounts *accounts, const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "\n ", -1); /* a line goes on */
	g_autofree char *entry = g_strjoinv("", parts);
	g_autofree char *user = ldif_value(entry, "uidNumber");
	g_autofree char *group = user ? NULL : ldif_value(entry, "gidNumber");
	g_autofree char *name = ldif_value(entry, user ? "uid" : "cn");

	return (!user && !group) ||
	       take_number(accounts, user ? USER : GROUP, name, user ? user : group);
}

static void take_dump(struct accounts *accounts, const char *file, const char *text)
{
	g_auto(GStrv) breaks = g_strsplit(text, "\r\n", -1);
	g_autofree char *plain = g_strjoinv("\n", breaks);
	const bool ldif = g_regex_match_simple("\\A(#.*\\n( .*\\n)*|\\n)*(dn|version):", plain,
					       G_REGEX_RAW | G_REGEX_CASELESS, 0);
	g_auto(GStrv) items = g_strsplit(plain, ldif ? "\n\n" : "\n", -1);
	unsigned line = 1;

	for (char **item = items; *item; item++) {
		if (!(ldif ? take_ldif_entry : take_line)(accounts, *item)) {
			ctl_complain("%s:%u: %s", file, line,
				     ldif ? "not one name and one number"
					  : "neither a name and a number up to 4294967294, of "
					    "passwd (7 fields) or group (4), nor a name and a SID");
			accounts->broken = true;
		}
		for (const char *p = *item; *p; p++)
			line += *p == '\n';
		line += ldif ? 2 : 1;
	}
}

static bool read_dumps(struct accounts *accounts, char **files)
{
	accounts->list = g_ptr_array_new_with_free_func(free_account);
	accounts->index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (; files && *files; files++) {
		g_autofree char *text = ctl_read_text(*files, true);

		if (!text)
			return false;
		take_dump(accounts, *files,
			  text + (g_str_has_prefix(text, BYTE_ORDER_MARK) ? 3 : 0));
	}
	return true;
}

/* ---- who becomes whom ------------------------------------------------------------------------ */

struct work {
	struct accounts old, new;
	JsonObject *objects; /* "user 1000": how many it has there; NULL: not known */
	bool left;	     /* somebody is */
};

static struct account *find_same_name(const struct work *work, const struct account *old,
				      enum kind kind)
{
	if (old->kind == SID && old->sort && *old->sort &&
	    g_ascii_strcasecmp(old->sort, kinds[kind]))
		return NULL;
	return old->kind == SID	   ? find_account(&work->new, BY_ANY_CASE, kind, old->name)
	       : old->kind == kind ? find_account(&work->new, BY_NAME, kind, old->name)
				   : NULL;
}

/* Why it becomes nobody, or NULL. */
static const char *choose_here(const struct work *work, struct account *old)
{
	struct account *user = find_same_name(work, old, USER);
	struct account *group = find_same_name(work, old, GROUP);
	struct account *here = user ? user : group;

	if (old->wrong)
		return old->wrong;
	if (!here)
		return old->kind != SID &&
				       find_account(&work->new, BY_ANY_CASE, old->kind, old->name)
			       ? "nobody here has that name in the same case"
			       : "nobody here has that name";
	if (user && group)
		return "a user and a group here have that name: write user or group behind the SID";
	if (here->wrong || (old->kind == SID && here->alike))
		return "here two have that name, or that id";
	if (!strcmp(old->id, "0") != !strcmp(here->id, "0"))
		return "one of the two is root";
	old->here = here;
	if (old->kind == here->kind)
		here->there = old;
	return NULL;
}

/* name NULL: nobody's. */
static void list_left(struct work *work, enum kind kind, const char *id, const char *name,
		      const char *why)
{
	const struct account *keeper =
		kind == SID ? NULL : find_account(&work->new, BY_ID, kind, id);
	g_autofree char *owner = g_strdup_printf("%s %s", kinds[kind], id);
	g_autofree char *shown = text_line(name ? name : "-"),
			*here = text_line(keeper ? keeper->name : "");

	work->left = true;
	printf("# %s, %s: %s", owner, shown, why);
	if (keeper)
		printf("; it keeps its number, and is %s here", here);
	if (keeper && keeper->there)
		printf(", as %s is: two become one", keeper->there->id);
	if (work->objects)
		printf("; objects: %" G_GINT64_FORMAT,
		       json_object_get_int_member_with_default(work->objects, owner, 0));
	putchar('\n');
}

static void print_map(const struct work *work, const char *key, enum kind from, enum kind to)
{
	g_autoptr(GString) map = g_string_new(NULL);

	for (guint i = 0; i < work->old.list->len; i++) {
		const struct account *old = work->old.list->pdata[i];

		if (old->kind == from && old->here && old->here->kind == to &&
		    strcmp(old->id, old->here->id) != 0)
			g_string_append_printf(map, " %s:%s", old->id, old->here->id);
	}
	if (map->len)
		printf("%s =%s\n", key, map->str);
}

static void print_all(struct work *work)
{
	g_autoptr(GPtrArray) why = g_ptr_array_new();
	g_autoptr(GList) owners = work->objects ? json_object_get_members(work->objects) : NULL;

	for (guint i = 0; i < work->old.list->len; i++)
		g_ptr_array_add(why, (char *)choose_here(work, work->old.list->pdata[i]));
	print_map(work, "map-users", USER, USER);
	print_map(work, "map-groups", GROUP, GROUP);
	print_map(work, "sid-users", SID, USER);
	print_map(work, "sid-groups", SID, GROUP);
	for (guint i = 0; i < why->len; i++) {
		const struct account *old = work->old.list->pdata[i];

		if (why->pdata[i])
			list_left(work, old->kind, old->id, old->name, why->pdata[i]);
	}
	for (GList *owner = owners; owner; owner = owner->next)
		for (enum kind kind = USER; kind <= SID; kind++) {
			const char *id = strchr(owner->data, ' ');

			if (id && g_str_has_prefix(owner->data, kinds[kind]) &&
			    !find_account(&work->old, BY_ID, kind, id + 1))
				list_left(work, kind, id + 1, NULL, "nobody there has it");
		}
}

static bool read_check(JsonParser *parser, struct work *work)
{
	g_autoptr(GError) error = NULL;

	if (!json_parser_load_from_file(parser, opt_check, &error))
		return ctl_complain("map-ids: %s", error->message);
	JsonNode *root = json_parser_get_root(parser);
	JsonObject *all = root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
	JsonNode *owners = all ? json_object_get_member(all, "owners") : NULL;
	if (!owners || !JSON_NODE_HOLDS_OBJECT(owners))
		return ctl_complain("map-ids: %s does not tell the owners: give NAME-check.json of "
				    "this release",
				    opt_check);
	work->objects = json_node_get_object(owners);
	return true;
}

static enum ctl_exit run_map_ids(const struct ctl *ctl)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	struct work work = {.left = false};
	struct accounts *const both[] = {&work.old, &work.new};
	enum ctl_exit result = CTL_USAGE;

	if (!opt_old || !opt_new) {
		ctl_complain("map-ids: give --old=FILE and --new=FILE");
		return result;
	}
	bool good = read_dumps(&work.old, opt_old);
	good = read_dumps(&work.new, opt_new) && good; /* says what is wrong with each */
	if (good && (!opt_check || read_check(parser, &work))) {
		print_all(&work);
		result = work.old.broken || work.new.broken ? CTL_USAGE
			 : work.left			    ? CTL_REFUSED
							    : CTL_OK;
	}
	for (unsigned i = 0; i < 2; i++) {
		g_ptr_array_unref(both[i]->list);
		g_hash_table_unref(both[i]->index);
	}
	return result;
}

static const GOptionEntry map_ids_options[] = {
	{"old", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &opt_old, "accounts there; may be repeated",
	 "FILE"},
	{"new", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &opt_new, "accounts here; may be repeated",
	 "FILE"},
	CTL_FILE("check", opt_check, "NAME-check.json: how many objects each has", "FILE"),
	{NULL},
};

CTL_COMMAND(map_ids, "map-ids", "", 0, 0, "print map-users and the like, by the accounts' names",
	    .example = "map-ids --old=there.txt --new=here.txt", .changes = "nothing",
	    .exits = "0 done, 1 somebody is left, 2 a broken line or wrong usage",
	    .options = map_ids_options);
