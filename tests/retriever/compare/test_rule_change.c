/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What --apply does in which order, and what it leaves.  The journal is the test's own. */
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

static bool is_reported(const char *name)
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
static char *rules(const char *how)
{
	g_autofree char *sum = rules_sum(core.retriever->config->rules);
	g_autofree char *command = g_strconcat("rules ", how, " ", sum, NULL);

	return core_control(&core, command);
}

static void expect(const char *how, const char *part)
{
	g_autofree char *said = rules(how);

	ck_assert_msg(strstr(said, part) != NULL, "%s, not %s", said, part);
}

static bool is_here(const char *name)
{
	g_autofree char *path = core_path(&core, name);

	return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* d is filled: x, y.tmp, z.tmp/w; then *.tmp is a rule. */
static void begin(void)
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

static void fill(const char *name)
{
	int fd = core_lookup(&core, name, O_RDONLY | O_DIRECTORY);

	ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
	close(fd);
}

START_TEST(i12_a_line_before_it_leaves)
{
	int fd;

	begin();
	fill("d/z.tmp");
	fd = core_lookup(&core, "d/z.tmp/w", O_RDONLY);
	errors_add_fd(core.retriever->errors, fd, -EIO, QM_LOOKUP_FORBIDDEN);
	close(fd);
	fd = core_lookup(&core, "d/z.tmp", O_RDONLY | O_DIRECTORY);
	errors_add_name(core.retriever->errors, fd, "v", -EIO, QM_LINK_REFUSED, NULL);
	close(fd);
	expect("look", "aside=2\n");
	ck_assert(is_here("d/y.tmp") && is_here("d/z.tmp"));
	expect("apply", "[rules]\naside=2\nbrought=0\nstays=0\n");
	ck_assert_uint_eq(asides, 2);
	ck_assert(!is_here("d/y.tmp") && !is_here("d/z.tmp") && is_here("d/x"));
	ck_assert(is_here(".migrate/aside/d/z.tmp"));
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	expect("apply", "[rules]\naside=0\nbrought=0\nstays=0\n");
	core_free(&core);
}
END_TEST

/* Each time it stays, and no line of it is left. */
START_TEST(i7_of_a_client)
{
	g_autofree char *path = NULL;

	begin();
	path = core_path(&core, "d/y.tmp");
	ck_assert_int_eq(migrate_binding_get(AT_FDCWD, path, &changed), 0);
	expect("apply", "[rules]\naside=1\nbrought=0\nstays=1\n"); /* by the journal */
	changed.len = 0;
	change = "chmod 600 $new/d/y.tmp";
	change_at = settles + 2; /* after it was looked at first */
	expect("apply", "[rules]\naside=0\nbrought=0\nstays=1\n");
	ck_assert(is_here("d/y.tmp") && !is_reported("d/y.tmp"));
	path = (g_free(path), core_path(&core, "d"));
	ck_assert_int_eq(migrate_binding_get(AT_FDCWD, path, &changed), 0);
	changed_flags = JOURNAL_NAMES; /* moved */
	expect("apply", "[rules]\naside=0\nbrought=0\nstays=1\n");
	changed_flags = JOURNAL_ENTRIES; /* which is nothing of its names */
	settled = false;
	expect("apply", "no journal");
	ck_assert(is_here("d/y.tmp") && !is_reported("d/y.tmp"));
	settled = true;
	expect("apply", "[rules]\naside=1\n");
	core_free(&core);
}
END_TEST

/* It was changed when it had been judged already. */
START_TEST(i7_on_its_way)
{
	static const char *const deeds[] = {
		"echo >> $new/d/z.tmp/w; touch -d 2001-01-01 $new/d/z.tmp/w",
		"mkdir $new/d/z.tmp/new",
		"chmod 700 $new/d/z.tmp",
		"chown 1234 $new/d/z.tmp",
	};

	begin();
	core_shell(&core, "cp $new/d/x $new/d/x.tmp; cp $new/d/x $old/d/x.tmp");
	expect("apply", "[rules]\naside=3\n");
	core_free(&core);
	for (unsigned i = 0; i < G_N_ELEMENTS(deeds); i++) {
		begin();
		fill("d/z.tmp");
		core_shell(&core, "rm $new/d/y.tmp");
		late = deeds[i];
		expect("apply", "[rules]\naside=0\nbrought=0\nstays=1\n");
		late = NULL;
		ck_assert(is_here("d/z.tmp/w") && !is_reported("d/z.tmp"));
		core_free(&core);
	}
	begin(); /* a file, and its name is taken */
	core_shell(&core, "rm -r $new/d/y.tmp $new/d/z.tmp; cp $new/d/x $new/d/x.tmp; "
			  "cp $new/d/x $old/d/x.tmp");
	late = "echo >> $new/d/x.tmp";
	expect("apply", "[rules]\naside=0\nbrought=0\nstays=1\n");
	ck_assert(is_here("d/x.tmp") && !is_reported("d/x.tmp"));
	late = NULL;
	core_free(&core);
}
END_TEST

START_TEST(i7_nobody_can_tell)
{
	begin();
	fill("d/z.tmp");
	lease_error = -EACCES;
	expect("apply", "[rules]\naside=0\nbrought=0\nstays=2\n");
	lease_error = 0;
	compared = true;
	expect("apply", "are being compared");
	expect("look", "aside=2\n");
	compared = false;
	damaged = true;
	expect("apply", "has errors");
	damaged = false;
	ck_assert(is_here("d/y.tmp") && is_here("d/z.tmp"));
	expect("apply", "[rules]\naside=2\n");
	core_restart(&core);
	core_rule(&core, RULE_INCLUDE, "none");
	core_shell(&core, "echo > $new/d/y.tmp");
	unsettled_at = settles + 3; /* what is here is asked about, and not yet in the journal */
	expect("apply", "brought=1\nstays=1\n");
	ck_assert(!is_reported("d/z.tmp") && is_reported("d/y.tmp"));
	core_free(&core);
}
END_TEST

/* Nobody waits for it once for each lot. */
START_TEST(the_journal_hangs)
{
	unsigned before;

	begin();
	core_shell(&core, "for i in $(seq 600); do echo >$new/d/$i.tmp; done");
	before = settles;
	unsettled_at = settles + 2;
	expect("apply", "[rules]\naside=0\nbrought=0\nstays=602\n");
	ck_assert_uint_eq(settles, before + 2);
	core_free(&core);
}
END_TEST

/* Lines of two rules. */
START_TEST(left_out_twice)
{
	begin();
	expect("apply", "[rules]\naside=2\n");
	core_shell(&core,
		   "printf 'rule\t%s\texclude = y.tmp\n' $new/d/y.tmp >>$new/.migrate/report");
	core_restart(&core);
	core_rule(&core, RULE_INCLUDE, "none");
	expect("apply", "brought=3\nstays=0\n");
	ck_assert(is_here("d/y.tmp") && !is_reported("d/y.tmp"));
	core_free(&core);
}
END_TEST

START_TEST(durable_before_its_line_goes)
{
	g_autofree char *path = NULL;

	begin();
	expect("apply", "[rules]\naside=2\n");
	core_restart(&core); /* without the rule */
	core_rule(&core, RULE_INCLUDE, "none");
	expect("look", "left=2\n");
	core_shell(&core, "echo > $new/d/y.tmp");
	path = core_path(&core, "d/y.tmp");
	ck_assert_int_eq(migrate_binding_get(AT_FDCWD, path, &changed), 0);
	expect("apply", "brought=1\nstays=1\n"); /* what is there is a client's */
	ck_assert_uint_eq(retracts, 1);
	ck_assert(is_here("d/z.tmp") && !is_reported("d/z.tmp"));
	core_free(&core);
}
END_TEST

START_TEST(other_rules)
{
	begin();
	core_expect_answer(&core, "rules apply 0", "other rules");
	core_expect_answer(&core, "rules", "other rules");
	ck_assert(is_here("d/y.tmp"));
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("rule_change", 60);

	tcase_add_test(tcase, i12_a_line_before_it_leaves);
	tcase_add_test(tcase, i7_of_a_client);
	tcase_add_test(tcase, i7_on_its_way);
	tcase_add_test(tcase, i7_nobody_can_tell);
	tcase_add_test(tcase, the_journal_hangs);
	tcase_add_test(tcase, left_out_twice);
	tcase_add_test(tcase, durable_before_its_line_goes);
	tcase_add_test(tcase, other_rules);
	return run_tcase(tcase);
}
