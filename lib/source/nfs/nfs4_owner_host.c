/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs4_owner_host.h"

#include <dlfcn.h>
#include <errno.h>
#include <glib.h>
#include <grp.h>
#include <nfsidmap.h>
#include <pthread.h>
#include <pwd.h>
#include <string.h>

#define NSSWITCH  "/etc/nsswitch.conf"
#define ENTRY_MAX 65536u

static void say_nothing(const char *format, ...)
{
}

static int map(bool group, char *text, uint32_t *id)
{
	return group ? nfs4_name_to_gid(text, id) : nfs4_name_to_uid(text, id);
}

/* Whether libnfsidmap can be asked.  It reads its configuration at its first questions, which two
 * threads must not ask at a time: so it is first asked here, for root. */
static bool is_ready(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool ready;
	char domain[NFS4_MAX_DOMAIN_LEN];
	bool now;

	pthread_mutex_lock(&lock);
	if (!ready) {
		nfs4_set_debug(0, say_nothing);
		ready = nfs4_init_name_mapping(NULL) == 0;
		if (ready && nfs4_get_default_domain(NULL, domain, sizeof(domain)) == 0)
			for (unsigned group = 0; group < 2; group++) {
				g_autofree char *root = g_strconcat("root@", domain, NULL);
				uint32_t id;

				map(group, root, &id);
			}
	}
	now = ready;
	pthread_mutex_unlock(&lock);
	return now;
}

/* ---- services ---- */

/* Modules stay loaded, as those that the C library has loaded do. */
static enum nss_status ask_module(const char *service, bool group, const char *name)
{
	g_autofree char *file = g_strdup_printf("libnss_%s.so.2", service);
	g_autofree char *function =
		g_strdup_printf("_nss_%s_get%snam_r", service, group ? "gr" : "pw");
	g_autofree char *room = g_malloc(ENTRY_MAX);
	void *module = dlopen(file, RTLD_LAZY);
	enum nss_status (*get)(const char *name, void *entry, char *room, size_t len, int *err);
	union {
		struct passwd user;
		struct group group;
	} entry;
	enum nss_status status;
	int err = 0;

	if (!module && strcmp(service, "files")) /* that is a part of the C library by now */
		return NSS_STATUS_UNAVAIL;
	*(void **)&get = module ? dlsym(module, function) : NULL;
	if (!get) /* it has nothing to do with users */
		return NSS_STATUS_NOTFOUND;
	status = get(name, &entry, room, ENTRY_MAX, &err);
	return status == NSS_STATUS_TRYAGAIN && err == ERANGE ? NSS_STATUS_SUCCESS : status;
}

static bool ends_search(const char *actions)
{
	const char *found = strcasestr(actions, "NOTFOUND=return");

	return found && found[-1] != '!';
}

bool nfs4_owner_services_answer(const char *services, bool group, const char *name,
				nfs4_owner_service_fn ask)
{
	g_autofree char *line = g_strdup(services);
	enum nss_status status;
	char *p = line, *end;

	for (p += strspn(p, " \t"); *p && *p != '#' && *p != '\n'; p = end + strspn(end, " \t")) {
		const bool actions = *p == '[';
		char after;

		end = p + (actions ? strcspn(p, "]\n") : strcspn(p, " \t[#\n"));
		end += actions && *end == ']';
		after = *end;
		*end = '\0';
		if (actions && ends_search(p))
			return true;
		status = actions ? NSS_STATUS_NOTFOUND : (ask ? ask : ask_module)(p, group, name);
		*end = after;
		if (status == NSS_STATUS_UNAVAIL || status == NSS_STATUS_TRYAGAIN)
			return false;
		if (status == NSS_STATUS_SUCCESS)
			return true;
	}
	return true;
}

/* Asks for the text as it is, and without its domain: libnfsidmap may have asked for either. */
static bool services_answer(bool group, const char *text)
{
	const char *key = group ? "group:" : "passwd:";
	g_autofree char *name = g_strndup(text, (gsize)(strrchr(text, '@') - text));
	g_autofree char *file = NULL;
	g_auto(GStrv) lines = NULL;

	if (!g_file_get_contents(NSSWITCH, &file, NULL, NULL))
		return true;
	lines = g_strsplit(file, "\n", -1);
	for (char **line = lines; *line; line++) {
		const char *p = *line + strspn(*line, " \t");

		if (g_str_has_prefix(p, key))
			return nfs4_owner_services_answer(p + strlen(key), group, name, NULL) &&
			       nfs4_owner_services_answer(p + strlen(key), group, text, NULL);
	}
	return true;
}

static bool is_no(int ret)
{
	return ret == -ENOENT || ret == -EINVAL;
}

int nfs4_owner_ask_host(bool group, char *text, uint32_t *id)
{
	g_autofree char *again = g_strdup(text);
	int ret;

	if (!is_ready())
		return -EAGAIN;
	ret = map(group, text, id);
	if (!is_no(ret))
		return ret;
	if (!services_answer(group, again))
		return -EAGAIN;
	ret = map(group, again, id);
	return is_no(ret) ? -ENOENT : ret;
}
