/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening by version 4: what is found, what is said, and leases that are renewed. */
#include "lib/source/nfs/nfs4_mount.h"

#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_nfs4_tree.h"

static struct fake4 fake4;
static struct fake4_tree tree;
static struct fake *fake;
static struct source_object root;
static struct source_attr attr;
static GError *error;

static enum fake_action hook(struct fake_call *call)
{
	return call->version == 4 ? fake4_answer(call, &fake4) : FAKE_DEFAULT;
}

static void setup(void)
{
	fake4_init(&fake4, NULL);
	tree_init(&tree, &fake4);
	fake = fake_start(hook, NULL);
	error = NULL;
}

static void teardown(void)
{
	fake_stop(fake);
	source_object_clear(&root);
	g_clear_error(&error);
}

static void opens(const char *version, const char *lost)
{
	struct backend *backend = tree_backend(fake, version, &root, &attr, &error);
	g_autofree char *not_carried = NULL;

	if (!backend)
		ck_abort_msg("%s", error->message);
	not_carried = backend->ops->not_carried(backend);
	ck_assert_ptr_nonnull(strstr(not_carried, "ACLs: "));
	ck_assert_int_eq(strstr(not_carried, "user extended attributes: ") != NULL, lost != NULL);
	if (lost)
		ck_assert_ptr_nonnull(strstr(not_carried, lost));
	/* a session has the longest reply that fits; without one it is known */
	ck_assert_uint_eq(backend->ops->max_read(backend),
			  fake4.minor ? (1 << 20) - 65536 : 1 << 20);
	backend->ops->close(backend);
	source_object_clear(&root);
}

static void fails(const char *version, const char *line)
{
	struct backend *backend = tree_backend(fake, version, &root, &attr, &error);

	ck_assert_ptr_null(backend);
	ck_assert_msg(strstr(error->message, line), "%s", error->message);
	ck_assert_ptr_null(strchr(error->message, '\n'));
	g_clear_error(&error);
}

static void fails_at(const char *path, const char *line)
{
	g_autofree char *url = g_strdup_printf("nfs://127.0.0.1:%u%s?version=4", fake->port, path);
	const struct backend_config config = {.url = url};

	ck_assert_ptr_null(backend_nfs_ops.open(&config, &root, &attr, &error));
	ck_assert_msg(strstr(error->message, line), "%s", error->message);
	g_clear_error(&error);
}

static void fails_locked(const char *line)
{
	fails_at("/x/locked", line);
}

START_TEST(versions_are_found)
{
	opens("4.2", NULL);
	opens("4", NULL);
	fails("4.1", "does not speak NFS version 4.1;");
	fake4.minor = 1;
	opens("4", "NFS versions 4.0 and 4.1 do not have them");
	opens("4.1", "NFS versions 4.0 and 4.1 do not have them");
	fails("4.2", "does not speak NFS version 4.2;");
	fails("4.0", "does not speak NFS version 4.0;");
	fake4.minor = 0;
	opens("4.0", "NFS versions 4.0 and 4.1 do not have them");
	opens("4", "NFS versions 4.0 and 4.1 do not have them");
	fails("4.1", "does not speak NFS version 4.1;");
	fake4.minor = 2;
	tree.supported[2] = 0;
	opens("4.2", "the old server does not have them");
}
END_TEST

START_TEST(refusals_say_what_to_do)
{
	tree.first_handle = 13;
	fails("4.2", "does not let this host in");
	tree.first_handle = 10016;
	fails("4.2", "AUTH_SYS");
	ck_assert_uint_eq(tree.asked, 0); /* not even that is let in */
	tree.first_handle = 2;
	fails("4.2", "has no directory /x");
	tree.first_handle = 10019;
	fails("4.2", "refers to another one for /x");
	tree.first_handle = 5;
	fails("4.2", "the old server fails");
	tree.first_handle = 0;
	tree.supported[1] &= ~(1u << 4);
	fails("4.2", "does not tell owners");
	fake4.ops = 5;
	fails("4.2", "allows too little in a call");
}
END_TEST

START_TEST(what_there_is_is_told)
{
	fails_at("/y/none", "lists what it exports; / there has x");
	fails_at("/x/none/file", "lists what it exports; /x there has file, link");
	fake4.minor = 0;
	fails_at("/x/none", "; /x there has file, link");
	tree.first_handle = 2;
	fails("4", "lists what it exports");
}
END_TEST

static int is_writable(const char *version, uint32_t access)
{
	struct backend *backend = tree_backend(fake, version, &root, &attr, &error);
	int ret;

	ck_assert_ptr_nonnull(backend);
	tree.access = access;
	ret = backend->ops->writable(backend);
	backend->ops->close(backend);
	source_object_clear(&root);
	return ret;
}

START_TEST(whether_it_may_be_written)
{
	ck_assert_int_eq(is_writable("4", 0x1f), 1);
	ck_assert_int_eq(is_writable("4", 0x3), 0);
	fake4.minor = 0;
	ck_assert_int_eq(is_writable("4.0", 0x8), 1);
}
END_TEST

START_TEST(flavours_are_told)
{
	tree.service = 3;
	fails_locked("for /x/locked the old server wants krb5p: set sec=krb5p");
	ck_assert_uint_eq(tree.asked, 1);
	tree.service = -1;
	fails_locked("AUTH_SYS");
}
END_TEST

START_TEST(delays_are_waited_for)
{
	atomic_store(&fake4.delay, 3);
	opens("4.2", NULL);
	ck_assert_uint_eq(fake4.delay, 0);
}
END_TEST

/* An idle connection asks for the root again before its lease ends. */
START_TEST(idle_sessions_are_kept)
{
	struct backend *backend;
	unsigned before;

	tree.lease = 1; /* ten seconds, then */
	backend = tree_backend(fake, "4.2", &root, &attr, &error);
	ck_assert_ptr_nonnull(backend);
	ck_assert_int_eq(get_attr(backend, root, &attr), 0);
	before = tree.roots;
	while (tree.roots < before + 2)
		g_usleep(10000);
	ck_assert_uint_eq(fake4.sessions, 2); /* at open, and that one */
	atomic_store(&fake4.lose, 1);
	while (fake4.lose > 0)
		g_usleep(10000);
	ck_assert_int_eq(get_attr(backend, root, &attr), 0);
	ck_assert_uint_eq(fake4.sessions, 3);
	backend->ops->close(backend);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	g_log_set_default_handler(plain_log, NULL);
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, versions_are_found);
	tcase_add_test(tcase, refusals_say_what_to_do);
	tcase_add_test(tcase, what_there_is_is_told);
	tcase_add_test(tcase, whether_it_may_be_written);
	tcase_add_test(tcase, flavours_are_told);
	tcase_add_test(tcase, delays_are_waited_for);
	tcase_add_test(tcase, idle_sessions_are_kept);
	return run_tcase(tcase);
}
