/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/inquiry.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/source/ask.h"
#include "lib/source/share_question.h"

#define NFS	    100003
#define MOUNT	    100005
#define RQUOTA	    100011
#define NFS_PORT    2049
#define EXPORTS_MAX 4096 /* of one server, as of its shares */
#define GROUPS_MAX  4096 /* of one export */
#define AT_ONCE	    64	 /* exports that one process asks about */
#define PACKET_ROOM 32768
#define IDS_AT_ONCE 100 /* and as many users */

struct asking {
	const struct inquiry *how;
	struct inventory *found;
	const char *address;
	struct inventory_export *export; /* that answers are of */
	unsigned first, count;		 /* exports that are asked about */
};

static char *send_inquiry(struct asking *asking, const char *const *question, ask_fn each,
			  gboolean *lasting)
{
	return ask(asking->how->program, question, asking->how->wait, each, asking, lasting);
}

/* A number of an answer; FALSE: it is none. */
static gboolean parse_inquiry_number(const char *text, guint64 max, guint64 *value)
{
	return text && g_ascii_string_to_unsigned(text, 10, 0, max, value, NULL);
}

/* ---- NFS ------------------------------------------------------------------------------------- */

static gboolean take_service(void *arg, char **fields)
{
	struct asking *asking = arg;
	guint64 program, version, port;

	if (strcmp(fields[0], "service") || g_strv_length(fields) != 5 ||
	    !parse_inquiry_number(fields[1], G_MAXUINT32, &program) ||
	    !parse_inquiry_number(fields[2], G_MAXUINT32, &version) ||
	    !parse_inquiry_number(fields[4], G_MAXUINT16, &port) ||
	    asking->found->services->len >= EXPORTS_MAX)
		return FALSE;
	const struct inventory_service service = {.program = (uint32_t)program,
						  .version = (uint32_t)version,
						  .port = (uint16_t)port,
						  .tcp = !strcmp(fields[3], "tcp")};
	g_array_append_val(asking->found->services, service);
	return TRUE;
}

static gboolean take_version(void *arg, char **fields)
{
	struct asking *asking = arg;

	if (strcmp(fields[0], "version") || g_strv_length(fields) != 2 ||
	    strspn(fields[1], "0123456789.") != strlen(fields[1]) || asking->found->nfs->len > 8)
		return FALSE;
	g_ptr_array_add(asking->found->nfs, g_strdup(fields[1]));
	return TRUE;
}

static gboolean take_export(void *arg, char **fields)
{
	struct asking *asking = arg;

	if (g_strv_length(fields) != 2)
		return FALSE;
	if (!strcmp(fields[0], "export") && asking->found->exports->len < EXPORTS_MAX)
		return (asking->export = inventory_export(asking->found, fields[1])) != NULL;
	if (strcmp(fields[0], "group") || !asking->export ||
	    asking->export->rules->len >= GROUPS_MAX)
		return FALSE;
	inventory_rule(asking->export, fields[1]);
	return TRUE;
}

char *inquiry_flavour(const char *text)
{
	static const struct {
		guint64 number;
		const char *name;
	} flavours[] = {
		{0, "none"}, {1, "sys"}, {390003, "krb5"}, {390004, "krb5i"}, {390005, "krb5p"}};
	guint64 value;

	if (!parse_inquiry_number(text, G_MAXUINT32, &value))
		return NULL;
	for (unsigned i = 0; i < G_N_ELEMENTS(flavours); i++)
		if (flavours[i].number == value)
			return g_strdup(flavours[i].name);
	return g_strdup(text);
}

static gboolean add_flavour(struct inventory_export *export, const char *text)
{
	g_autofree char *name = inquiry_flavour(text);

	if (!name || (export->sec && strlen(export->sec) > 256))
		return FALSE;
	char *list = export->sec ? g_strconcat(export->sec, ", ", name, NULL) : g_strdup(name);
	g_free(export->sec);
	export->sec = list;
	return TRUE;
}

static gboolean take_space(void *arg, char **fields)
{
	struct asking *asking = arg;
	const unsigned n = g_strv_length(fields);
	guint64 value[5];

	if (!strcmp(fields[0], "at")) {
		if (!parse_inquiry_number(fields[1], asking->count - 1, &value[0]))
			return FALSE;
		asking->export = asking->found->exports->pdata[asking->first + value[0]];
		return TRUE;
	}
	if (!asking->export || n < 2)
		return FALSE;
	if (!strcmp(fields[0], "flavour"))
		return add_flavour(asking->export, fields[1]);
	if (!strcmp(fields[0], "refused")) {
		g_free(asking->export->refused);
		asking->export->refused = g_strdup(fields[1]);
		return TRUE;
	}
	if (strcmp(fields[0], "space") || n != 6)
		return FALSE;
	for (unsigned i = 0; i < 5; i++)
		if (!parse_inquiry_number(fields[i + 1], G_MAXUINT64, &value[i]))
			return FALSE;
	asking->export->has_space = true;
	asking->export->space =
		(struct inventory_space){value[0], value[1], value[2], value[3], value[4]};
	return TRUE;
}

/* 0: not by TCP. */
static unsigned port_of(const struct inventory *found, uint32_t program, uint32_t version)
{
	for (unsigned i = 0; i < found->services->len; i++) {
		const struct inventory_service *at =
			&g_array_index(found->services, struct inventory_service, i);

		if (at->tcp && at->program == program && at->version == version)
			return at->port;
	}
	return 0;
}

/* Asks about exports from first on; how many.  An export that breaks the asking process ends the
 * whole series: see inquire_spaces(). */
static unsigned ask_some(struct asking *asking, unsigned first, const char *mount, const char *nfs,
			 char **why)
{
	const GPtrArray *all = asking->found->exports;
	const char *question[AT_ONCE + 5] = {"spaces", asking->address, mount, nfs};
	size_t room = PACKET_ROOM;
	unsigned n = 0;

	for (; n < AT_ONCE && first + n < all->len; n++) {
		const char *path = ((struct inventory_export *)all->pdata[first + n])->path;

		if (strlen(path) + 8 > room)
			break;
		room -= strlen(path) + 8;
		question[n + 4] = path;
	}
	asking->first = first;
	asking->count = n;
	asking->export = NULL;
	*why = n ? send_inquiry(asking, question, take_space, NULL)
		 : g_strdup("the path is too long");
	return n;
}

/* Notes what is there, but was not told. */
static void note_missing(struct asking *asking, const char *what, const char *why)
{
	asking->found->incomplete = true;
	inventory_note(asking->found, "%s: %s", what, why);
}

static void inquire_spaces(struct asking *asking, unsigned mount_port, unsigned nfs_port)
{
	g_autofree char *mount = g_strdup_printf("%u", mount_port);
	g_autofree char *nfs = g_strdup_printf("%u", nfs_port);
	const unsigned all = asking->found->exports->len;

	for (unsigned i = 0; i < all;) {
		g_autofree char *why = NULL;
		const unsigned n = ask_some(asking, i, mount, nfs, &why);

		if (why) {
			g_autofree char *path =
				asking->export ? text_line(asking->export->path) : NULL;

			note_missing(asking, path ? path : "size and security of exports", why);
			return;
		}
		i += n;
	}
}

static void inquire_exports(struct asking *asking)
{
	struct inventory *found = asking->found;
	const unsigned mount = port_of(found, MOUNT, 3);
	const unsigned nfs = port_of(found, NFS, 3);
	g_autofree char *port = g_strdup_printf("%u", mount);
	const char *question[] = {"exports", asking->address, port, NULL};

	if (!mount) {
		if (found->nfs->len)
			inventory_note(found,
				       "exports: the old server does not offer MOUNT 3 by TCP, "
				       "so it lists none; name them with --exports FILE");
		return;
	}
	g_autofree char *why = send_inquiry(asking, question, take_export, NULL);
	if (why)
		note_missing(asking, "exports", why);
	if (found->exports->len)
		inquire_spaces(asking, mount, nfs ? nfs : NFS_PORT);
}

/* Whether it was spoken with. */
static bool inquire_nfs(struct asking *asking)
{
	const char *services[] = {"services", asking->address, NULL};
	struct inventory *found = asking->found;
	g_autofree char *no_services = send_inquiry(asking, services, take_service, NULL);
	unsigned nfs = port_of(found, NFS, 3);

	nfs = nfs ? nfs : port_of(found, NFS, 4);
	g_autofree char *port = g_strdup_printf("%u", nfs ? nfs : NFS_PORT);
	const char *versions[] = {"versions", asking->address, port, NULL};
	gboolean absent;
	g_autofree char *no_nfs = send_inquiry(asking, versions, take_version, &absent);

	if (no_nfs)
		inventory_note(found, "NFS: %s", no_nfs);
	found->incomplete = found->incomplete || (no_nfs && !absent);
	if (no_nfs && !found->services->len)
		return found->nfs->len > 0;
	if (no_services)
		note_missing(asking, "services", no_services);
	inquire_exports(asking);
	return true;
}

/* ---- SMB ------------------------------------------------------------------------------------- */

static gboolean take_share(void *arg, const char *name, const char *type, const char *comment)
{
	struct inventory *found = arg;

	if (found->shares->len >= EXPORTS_MAX)
		return FALSE;
	struct inventory_share *share = inventory_share(found, name);
	share->type = type;
	g_free(share->comment);
	share->comment = g_strdup(comment);
	return TRUE;
}

/* Only that the dialect is spoken counts. */
static gboolean ignore_share(void *arg, const char *name, const char *type, const char *comment)
{
	return TRUE;
}

/* Asks as nobody in particular: a wrong password would count seven times. */
static void inquire_dialects(struct asking *asking)
{
	static const struct {
		const char *samba, *name;
	} dialects[] = {{"NT1", "1"},	    {"SMB2_02", "2.0.2"}, {"SMB2_10", "2.1"},
			{"SMB3_00", "3.0"}, {"SMB3_02", "3.0.2"}, {"SMB3_11", "3.1.1"}};

	for (unsigned i = 0; i < G_N_ELEMENTS(dialects); i++) {
		struct share_question asked = {.program = asking->how->program,
					       .address = asking->address,
					       .wait = asking->how->wait,
					       .dialect = dialects[i].samba,
					       .user = "",
					       .domain = "",
					       .password = ""};
		g_autofree char *why = share_ask(&asked, ignore_share, NULL);

		if (asked.spoken || !why)
			g_ptr_array_add(asking->found->smb, g_strdup(dialects[i].name));
	}
}

/* Whether it was spoken with. */
static bool inquire_smb(struct asking *asking)
{
	const char *user = asking->how->user ? asking->how->user : "";
	const char *name = strchr(user, '\\') ? strchr(user, '\\') + 1 : user;
	g_autofree char *domain = g_strndup(user, name == user ? 0 : (gsize)(name - user - 1));
	struct share_question asked = {.program = asking->how->program,
				       .address = asking->address,
				       .wait = asking->how->wait,
				       .dialect = "",
				       .user = name,
				       .domain = domain,
				       .password = *user ? asking->how->password : ""};
	g_autofree char *why = share_ask(&asked, take_share, asking->found);

	if (why)
		inventory_note(asking->found, "SMB: %s", why);
	asking->found->incomplete =
		asking->found->incomplete || asked.refused || (why && !asked.lasting);
	if (!asked.spoken && why)
		return false;
	if (asked.refused)
		inventory_note(asking->found, "shares: %s",
			       *user ? "the user or the password is refused, or this user may not "
				       "list them"
				     : "listed for known users only: give --smb-user and "
				       "--password-file");
	inquire_dialects(asking);
	return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

gboolean inquire(const struct inquiry *how, struct inventory *found, GError **error)
{
	g_autofree char *address = ask_address(how->host, error);
	struct asking asking = {.how = how, .found = found, .address = address};

	if (!address)
		return FALSE;
	const bool nfs = inquire_nfs(&asking);
	const bool smb = inquire_smb(&asking);
	if (nfs || smb)
		return TRUE;
	g_autofree char *nfs_line = g_strdup(found->notes->pdata[found->notes->len - 2]);
	g_autofree char *smb_line = g_strdup(found->notes->pdata[found->notes->len - 1]);
	return error_set(error, ENOTCONN, "%s: %s; %s", how->host, nfs_line, smb_line);
}

/* ---- quotas ---------------------------------------------------------------------------------- */

struct quota_asking {
	const GArray *ids; /* of uint32_t */
	GArray *quotas;
	guint first, count; /* ids that are asked about */
	guint at;	    /* that answers are of */
	char *refused;
};

static gboolean take_quota(void *arg, char **fields)
{
	struct quota_asking *asking = arg;
	const unsigned n = g_strv_length(fields);
	guint64 value[4];

	if (!strcmp(fields[0], "at")) {
		if (!parse_inquiry_number(fields[1], asking->count - 1, &value[0]))
			return FALSE;
		asking->at = asking->first + (guint)value[0];
		return TRUE;
	}
	if (!strcmp(fields[0], "refused") && n == 2) {
		g_free(asking->refused);
		asking->refused = g_strdup(fields[1]);
		return TRUE;
	}
	if (strcmp(fields[0], "quota") || n != 5)
		return FALSE;
	for (unsigned i = 0; i < 4; i++)
		if (!parse_inquiry_number(fields[i + 1], G_MAXUINT64, &value[i]))
			return FALSE;
	const struct inquiry_quota quota = {g_array_index(asking->ids, uint32_t, asking->at),
					    value[0], value[1], value[2], value[3]};
	if (value[0] || value[1] || value[2] || value[3])
		g_array_append_val(asking->quotas, quota);
	return TRUE;
}

/* NULL, or why not. */
static char *ask_quotas(struct quota_asking *asking, const char *program, unsigned wait,
			const char *const *about)
{
	const char *question[IDS_AT_ONCE + 7];
	char texts[IDS_AT_ONCE][12];
	char *why = NULL;
	guint n;

	for (n = 0; about[n]; n++)
		question[n] = about[n];
	for (guint i = 0; i < asking->count; i++) {
		g_snprintf(texts[i], sizeof(texts[i]), "%u",
			   g_array_index(asking->ids, uint32_t, asking->first + i));
		question[n + i] = texts[i];
	}
	question[n + asking->count] = NULL;
	asking->at = asking->first;
	why = ask(program, question, wait, take_quota, asking, NULL);
	return why ? why : g_steal_pointer(&asking->refused);
}

unsigned inquiry_port(const struct inquiry *how, const char *address, uint32_t program,
		      uint32_t version, char **why)
{
	struct inventory found;
	struct asking asking = {.how = how, .found = &found, .address = address};
	const char *services[] = {"services", address, NULL};
	unsigned port;

	inventory_init(&found);
	*why = send_inquiry(&asking, services, take_service, NULL);
	port = port_of(&found, program, version);
	inventory_clear(&found);
	return port;
}

/* The port, or 0 with *why set; *version: the latest that is there. */
static unsigned find_rquotad(const struct inquiry *how, const char *address, bool groups,
			     const char **version, char **why)
{
	unsigned port = inquiry_port(how, address, RQUOTA, 2, why);

	*version = port ? "2" : "1";
	if (!port && !groups && !*why)
		port = inquiry_port(how, address, RQUOTA, 1, why);
	if (!port && !*why)
		*why = g_strdup_printf("does not tell quotas of %s: start rpc.rquotad there, or "
				       "what that server has for it",
				       groups ? "groups" : "users");
	return port;
}

gboolean inquire_quotas(const struct inquiry *how, const char *path, bool groups, const GArray *ids,
			GArray *quotas, GError **error)
{
	g_autofree char *address = ask_address(how->host, error), *why = NULL;
	struct quota_asking asking = {.ids = ids, .quotas = quotas};
	const char *version;
	unsigned port;

	if (!address)
		return FALSE;
	port = find_rquotad(how, address, groups, &version, &why);
	g_autofree char *text = g_strdup_printf("%u", port);
	const char *about[] = {"quotas", address, text, version, groups ? "group" : "user",
			       path,	 NULL};
	for (; !why && asking.first < ids->len; asking.first += asking.count) {
		asking.count = MIN(ids->len - asking.first, IDS_AT_ONCE);
		why = ask_quotas(&asking, how->program, how->wait, about);
	}
	g_free(asking.refused);
	return !why || error_set(error, EACCES, "%s: quotas of %s: %s", how->host, path, why);
}
