/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A volume whose rules change.  The journal is the test's own. */
#ifndef TESTS_RETRIEVER_COMPARE_RULES_CHANGED_H
#define TESTS_RETRIEVER_COMPARE_RULES_CHANGED_H

#include "tests/retriever/core_copied.h"
#include "tests/durable.h"

#include "lib/base/lease.h"
#include "lib/report/losses.h"
#include "retriever/compare/clients.h"
#include "retriever/compare/proof.h"
#include "retriever/compare/rule_change.h"
#include "retriever/copies/leftover.h"
#include "retriever/objects/damage.h"
#include "retriever/objects/errors.h"

static struct core core;
static bool settled = true;
static unsigned settles, change_at; /* the shell's command below runs when it settles then */
static const char *change;
static struct migrate_binding changed; /* has a row; len 0: nothing has */
static unsigned changed_flags;
static unsigned asides, retracts;
static const char *late;      /* the shell's command, when it is to be set aside */
static unsigned unsettled_at; /* it does not settle then */
static int lease_error;
static bool compared, damaged;

bool __wrap_clients_settle(struct clients *clients, char **why);
bool __wrap_clients_settle(struct clients *clients, char **why)
{
	if (++settles == change_at)
		core_shell(&core, change);
	if (!settled || settles == unsettled_at) {
		*why = g_strdup("no journal");
		return false;
	}
	return true;
}

int __real_lease_take(struct lease *lease, int fd);
int __wrap_lease_take(struct lease *lease, int fd);
int __wrap_lease_take(struct lease *lease, int fd)
{
	return lease_error ? lease_error : __real_lease_take(lease, fd);
}

bool __wrap_proof_is_under_way(struct proof *proof);
bool __wrap_proof_is_under_way(struct proof *proof)
{
	return compared;
}

bool __wrap_damage_found(struct retriever *retriever);
bool __wrap_damage_found(struct retriever *retriever)
{
	return damaged;
}

enum journal_answer __wrap_clients_find(struct clients *clients,
					const struct migrate_binding *handle,
					struct journal_row *row);
enum journal_answer __wrap_clients_find(struct clients *clients,
					const struct migrate_binding *handle,
					struct journal_row *row)
{
	if (!changed.len || !migrate_binding_equal(handle, &changed))
		return JOURNAL_UNCHANGED;
	row->flags = changed_flags;
	return JOURNAL_CHANGED;
}

static inline bool is_reported(const char *name)
{
	g_autofree char *path = g_strconcat(core.root, "/.migrate/" LOSSES_FILE, NULL);
	g_autofree char *line = g_strconcat("rule\t", core.root, "/", name, "\t", NULL);
	g_autofree char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) && strstr(text, line);
}

int __real_leftover_set_aside(struct retriever *retriever, int dir_fd, const char *name,
			      const char *path);
int __wrap_leftover_set_aside(struct retriever *retriever, int dir_fd, const char *name,
			      const char *path);
int __wrap_leftover_set_aside(struct retriever *retriever, int dir_fd, const char *name,
			      const char *path)
{
	g_autofree char *at = *path ? g_strconcat(path, "/", name, NULL) : g_strdup(name);

	asides++;
	ck_assert(is_reported(at));
	ck_assert_durable_in(retriever->private_fd, LOSSES_FILE);
	if (late)
		core_shell(&core, late);
	return __real_leftover_set_aside(retriever, dir_fd, name, path);
}

int __real_losses_retract(struct losses *losses, GHashTable *lines);
int __wrap_losses_retract(struct losses *losses, GHashTable *lines);
int __wrap_losses_retract(struct losses *losses, GHashTable *lines)
{
	retracts++;
	ck_assert_durable_in(core.retriever->root_fd, "d");
	return __real_losses_retract(losses, lines);
}

/* The reply. */
static inline char *rules(const char *how)
{
	g_autofree char *sum = rules_sum(core.retriever->config->rules);
	g_autofree char *command = g_strconcat("rules ", how, " ", sum, NULL);

	return core_control(&core, command);
}

static inline void expect(const char *how, const char *part)
{
	g_autofree char *said = rules(how);

	ck_assert_msg(strstr(said, part) != NULL, "%s, not %s", said, part);
}

static inline bool is_here(const char *name)
{
	g_autofree char *path = core_path(&core, name);

	return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* d is filled: x, y.tmp, z.tmp/w; then *.tmp is a rule. */
static inline void begin(void)
{
	int fd;

	core_make(&core);
	core_source_file(&core, "d/x", 5000, 1);
	core_source_file(&core, "d/y.tmp", 5000, 2);
	core_source_file(&core, "d/z.tmp/w", 5000, 3);
	core_start(&core);
	core_rule(&core, RULE_INCLUDE, "none");
	fd = core_lookup(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	close(fd);
	core_rule(&core, RULE_EXCLUDE, "*.tmp");
}

static inline void fill(const char *name)
{
	int fd = core_lookup(&core, name, O_RDONLY | O_DIRECTORY);

	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	close(fd);
}

#endif
