/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * quota: the quotas of users and groups, as the old server's rquotad tells them, printed as
 * commands of setquota(8), or set here.
 *
 * rquotad tells them one by one, so it must be known whom to ask for: everybody who owns something
 * on the new file system, as its kernel counts (Q_GETNEXTQUOTA, quotactl(2)), and everybody whom
 * this machine knows (getpwent(3), getgrent(3)).
 */
#include "ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/quota.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/source/ask.h"
#include "ctl/discover/inquiry.h"
#include "lib/base/spawn.h"
#include "lib/base/text.h"
#include "lib/config/config.h"
#include "lib/config/config_limits.h"
#include "lib/config/owners.h"

#define WAIT  10   /* s */
#define BLOCK 1024 /* bytes; of struct if_dqblk and of setquota(8) */

static gboolean opt_apply;

struct kind {
	const char *name; /* of one */
	const char *option;
	int type;
	bool groups;
};

static const struct kind kinds[] = {{"user", "-u", USRQUOTA, false},
				    {"group", "-g", GRPQUOTA, true}};

struct quota_work {
	const struct volume_config *config;
	struct inquiry how;
	char *host, *path; /* there */
	char *place;	   /* where the root's file system is mounted */
	int root_fd;
	bool apply;
	guint found;
};

/* Of the file system that fd is on; since Linux 5.14. */
static int quotactl_here(int fd, unsigned command, int type, uint32_t id, void *data)
{
	return (int)syscall(SYS_quotactl_fd, fd, QCMD(command, type), id, data);
}

/* ---- whom to ask for --------------------------------------------------------------------------
 */

static bool add_owners(GHashTable *ids, int fd, int type)
{
	struct if_nextdqblk next;
	uint32_t id = 0;

	while (!quotactl_here(fd, Q_GETNEXTQUOTA, type, id, &next)) {
		g_hash_table_add(ids, GUINT_TO_POINTER(next.dqb_id));
		if (next.dqb_id == G_MAXUINT32)
			return true;
		id = next.dqb_id + 1;
	}
	return errno == ENOENT || (errno == ESRCH && id);
}

static void add_known(GHashTable *ids, bool groups)
{
	const struct passwd *user;
	const struct group *group;

	if (groups) {
		setgrent();
		while ((group = getgrent()))
			g_hash_table_add(ids, GUINT_TO_POINTER(group->gr_gid));
		endgrent();
	} else {
		setpwent();
		while ((user = getpwent()))
			g_hash_table_add(ids, GUINT_TO_POINTER(user->pw_uid));
		endpwent();
	}
}

static gint by_number(gconstpointer a, gconstpointer b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The ids as the old server has them, because they are asked for by these; of uint32_t. */
static GArray *ids_there(GHashTable *ids, const struct owners *owners)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	GHashTableIter iter;
	gpointer id;

	g_hash_table_iter_init(&iter, ids);
	while (g_hash_table_iter_next(&iter, &id, NULL)) {
		uint32_t old;

		if (GPOINTER_TO_UINT(id) && owners_unmap(owners, GPOINTER_TO_UINT(id), &old))
			g_array_append_val(list, old);
	}
	g_array_sort(list, by_number);
	return list;
}

/* ---- what comes of it -------------------------------------------------------------------------
 */

static uint64_t blocks(uint64_t bytes)
{
	return bytes / BLOCK + (bytes % BLOCK != 0);
}

static enum ctl_exit set_quota(const struct quota_work *work, const struct kind *kind, uint32_t id,
			       const struct inquiry_quota *quota)
{
	struct if_dqblk limits = {
		.dqb_bhardlimit = blocks(quota->hard),
		.dqb_bsoftlimit = blocks(quota->soft),
		.dqb_ihardlimit = quota->files_hard,
		.dqb_isoftlimit = quota->files_soft,
		.dqb_valid = QIF_LIMITS,
	};

	if (!quotactl_here(work->root_fd, Q_SETQUOTA, kind->type, id, &limits))
		return CTL_OK;
	ctl_complain("%s: the quota of %s %u cannot be set: %s%s", work->place, kind->name, id,
		     g_strerror(errno),
		     errno == ESRCH ? "; mount it with quotas, see quotaon(8)" : "");
	return CTL_REFUSED;
}

static enum ctl_exit set_quotas(struct quota_work *work, const struct kind *kind,
				const struct owners *owners, const GArray *quotas)
{
	g_autofree char *place = g_shell_quote(work->place);
	enum ctl_exit worst = CTL_OK;

	for (guint i = 0; i < quotas->len; i++) {
		const struct inquiry_quota *quota = &g_array_index(quotas, struct inquiry_quota, i);
		const uint32_t id = owners_map(owners, quota->id);

		if (work->apply)
			worst = MAX(worst, set_quota(work, kind, id, quota));
		else
			printf("setquota %s %u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
			       " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %s\n",
			       kind->option, id, blocks(quota->soft), blocks(quota->hard),
			       quota->files_soft, quota->files_hard, place);
	}
	work->found += quotas->len;
	return worst;
}

static enum ctl_exit bring(struct quota_work *work, const struct kind *kind)
{
	const struct owners *owners =
		kind->groups ? work->config->map_groups : work->config->map_users;
	g_autoptr(GHashTable) ids = g_hash_table_new(NULL, NULL);
	g_autoptr(GArray) quotas = g_array_new(FALSE, FALSE, sizeof(struct inquiry_quota));
	g_autoptr(GError) error = NULL;

	if (!add_owners(ids, work->root_fd, kind->type))
		ctl_complain("%s: its quotas of %ss are off, so only those whom this machine knows "
			     "are asked for: mount it with quotas, see quotaon(8)",
			     work->place, kind->name);
	add_known(ids, kind->groups);
	g_autoptr(GArray) list = ids_there(ids, owners);
	if (!inquire_quotas(&work->how, work->path, kind->groups, list, quotas, &error)) {
		ctl_complain("%s", error->message);
		return CTL_REFUSED;
	}
	return set_quotas(work, kind, owners, quotas);
}

/* ---- the beginning ----------------------------------------------------------------------------
 */

/* The directory above which there is another file system. */
static char *mounted_at(const char *root)
{
	char *path = g_strdup(root);
	struct stat here, above;

	while (strcmp(path, "/") && !stat(path, &here)) {
		g_autofree char *parent = g_path_get_dirname(path);

		if (stat(parent, &above) || above.st_dev != here.st_dev)
			break;
		g_free(path);
		path = g_steal_pointer(&parent);
	}
	return path;
}

/* While stubs are being filled, data would come for users whose limits leave no room for what they
 * have already. */
static gboolean may_apply(const struct ctl *ctl)
{
	g_autoptr(GKeyFile) status = NULL;
	g_autofree char *state = NULL;

	if (ctl_ask_once(ctl, "status", &status))
		return FALSE;
	state = ctl_text(status, "volume", "state");
	return !strcmp(state, "finished") ||
	       ctl_complain("quota: %s is %s: limits would keep data from coming; run migratectl "
			    "finalize %s first, or leave out --apply to see them",
			    ctl->volume, state, ctl->volume);
}

static enum ctl_exit bring_all(struct quota_work *work)
{
	enum ctl_exit worst = CTL_OK;

	for (guint i = 0; i < G_N_ELEMENTS(kinds) && !worst; i++)
		worst = bring(work, &kinds[i]);
	if (work->apply)
		printf("%s: " TEXT_COUNT " of %s set on %s\n", work->config->name,
		       TEXT_COUNTED(work->found, "quotas"), work->how.host, work->place);
	else if (!work->found && !worst)
		printf("# %s has no quotas for who is known here\n", work->how.host);
	return worst;
}

static enum ctl_exit run_quota(const struct ctl *ctl)
{
	struct volume_config *config = ctl_config(ctl);
	g_autofree char *program = program_find(ASK_PROGRAM);
	struct quota_work work = {.config = config, .apply = opt_apply};
	enum ctl_exit result = CTL_USAGE;

	if (!config)
		return CTL_USAGE;
	work.path = config_nfs_path(config->source);
	work.host = config_host(config->source);
	if (!work.path) {
		ctl_complain("quota: %s tells none that can be read: look for them there "
			     "(repquota, or smbcquotas -L for an SMB server), and set them with "
			     "setquota",
			     config->source);
	} else if (!opt_apply || may_apply(ctl)) {
		work.how = (struct inquiry){.program = program, .host = work.host, .wait = WAIT};
		work.place = mounted_at(config->root);
		work.root_fd = open(config->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		result = bring_all(&work);
		close(work.root_fd);
	} else {
		result = CTL_REFUSED;
	}
	g_free(work.place);
	g_free(work.path);
	g_free(work.host);
	config_free(config);
	return result;
}

static const GOptionEntry quota_options[] = {
	CTL_FLAG("apply", opt_apply, "set them on the file system of the root"),
	{NULL},
};

CTL_COMMAND(quota, "quota", "NAME", 1, 1,
	    "print the old server's quotas as commands; --apply: set them here",
	    .example = "quota --apply projects",
	    .changes = "nothing; --apply sets quotas of the new file system",
	    .exits = CTL_EXITS_ALONE, .options = quota_options);
