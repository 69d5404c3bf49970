/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/record.h"
#include "ctl/report/tree.h"
#include "tests/ctl/report/made.h"

static void complain(void *arg, const char *path, const char *why)
{
	ck_abort_msg("%s: %s", path, why);
}

static char *lines_of(bool hash)
{
	struct proof_sorter *sorter = proof_sorter_new(made_dir, NULL);
	g_autofree char *path = made_path("t");
	int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	GString *lines = g_string_new(NULL);
	const char *line;
	gsize len;

	ck_assert(tree_read(root, hash, sorter, complain, NULL, NULL));
	while ((line = proof_sorter_next(sorter, &len, NULL)))
		g_string_append_printf(lines, "%s\n", line);
	proof_sorter_free(sorter);
	close(root);
	return g_string_free(lines, FALSE);
}

/* Every name but the migration's own, with what can be said of it. */
START_TEST(everything)
{
	g_autofree char *lines = NULL, *plain = NULL, *clients = NULL;
	g_autofree char *path = made_path("t/.migrate");
	int fd;

	made_run("mkdir -p t/.migrate/x t/d/.migrate t/.migrated; printf abc >t/d/f; ln t/d/f t/g; "
		 "ln -s 'a b' t/l; mkfifo t/p; mknod t/c c 1 3; chmod 4750 t/d/f; "
		 "touch -d @1700000000.5 t/d/f; : >t/.migrate/y");
	clients = lines_of(true); /* who has made one after the end */
	ck_assert_ptr_nonnull(strstr(clients, "./.migrate/y type=file"));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(migrate_private_mark(fd), 0);
	close(fd);
	lines = lines_of(true);
	ck_assert_ptr_nonnull(strstr(
		lines, "./d/f type=file mode=4750 uid=0 gid=0 size=3 time=1700000000.500000000 "
		       "nlink=2 sha256digest="
		       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
	ck_assert_ptr_nonnull(strstr(lines, "\n./l type=link"));
	ck_assert_ptr_nonnull(strstr(lines, "link=a\\040b"));
	ck_assert_ptr_nonnull(strstr(lines, "\n./p type=fifo"));
	ck_assert_ptr_nonnull(strstr(lines, "device=linux,1,3"));
	ck_assert_ptr_nonnull(strstr(lines, "\n./d/.migrate type=dir"));
	ck_assert_ptr_nonnull(strstr(lines, "\n./.migrated type=dir"));
	ck_assert_ptr_null(strstr(lines, "./.migrate type"));
	ck_assert_ptr_null(strstr(lines, "./.migrate/"));
	ck_assert(g_str_has_prefix(lines, ". type=dir"));
	plain = lines_of(false);
	ck_assert_ptr_null(strstr(plain, "sha256"));
}
END_TEST

/* What is not whole is not read: its holes are none. */
START_TEST(unfinished)
{
	g_autofree char *lines = NULL;

	made_run("mkdir t; printf abc >t/f; setfattr -n security.migrate -v x t/f");
	lines = lines_of(true);
	ck_assert_ptr_nonnull(strstr(lines, "./f type=file"));
	ck_assert_ptr_nonnull(strstr(lines, "tags=unfinished"));
	ck_assert_ptr_null(strstr(lines, "sha256"));
}
END_TEST

/* Of the file that is meant, and of no other. */
START_TEST(one_hash)
{
	struct proof_entry entry = {.path = (char *)"d/f", .mode = S_IFREG | 0644, .size = 3};
	g_autofree char *path = made_path("t");
	int root;

	made_run("mkdir -p t/d; printf abc >t/d/f; touch -d @5 t/d/f; ln -s d t/l; mkfifo t/p");
	root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	entry.mtime = (int64_t)5 * 1000000000;
	ck_assert(tree_hash(root, &entry));
	ck_assert_str_eq(entry.sha256,
			 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	entry.mtime++;
	ck_assert(!tree_hash(root, &entry));
	entry.mtime--;
	for (unsigned i = 0; i < 4; i++) {
		static const char *const others[] = {"l/f", "absent/f", "p", "d"};

		entry.path = (char *)others[i];
		ck_assert(!tree_hash(root, &entry));
	}
	entry.path = (char *)"d/f";
	made_run("setfattr -n security.migrate -v x t/d/f");
	ck_assert(!tree_hash(root, &entry));
	close(root);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {everything, unfinished, one_hash, NULL};

	return run_made("tree", tests);
}
