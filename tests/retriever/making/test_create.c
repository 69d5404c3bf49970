/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_copy.h"

#include "retriever/copies/prior.h"
#include "retriever/making/create.h"
#include "retriever/objects/links.h"

static struct source_entry entry;
static struct make_parent parent;
static struct new_object making;

/* A file "n" of 5000 bytes with two names. */
static void prepare(void)
{
	core_make(&core);
	core_start(&core);
	core.retriever->carries = 0;
	entry = (struct source_entry){.name = (char *)"n", .has_attr = true};
	entry.attr = (struct source_attr){.mode = S_IFREG | 0640,
					  .nlink = 1,
					  .size = 5000,
					  .fileid = 7,
					  .mtime = 8,
					  .ctime = 9};
	parent = (struct make_parent){.fd = core_root(&core), .prior_fd = -1, .path = ""};
	making = (struct new_object){.retriever = core.retriever,
				     .parent = &parent,
				     .entry = &entry,
				     .dir_fd = parent.fd,
				     .as = "n"};
}

static void end(void)
{
	close(parent.fd);
	core_free(&core);
}

static void ck_created(enum make_outcome expected)
{
	enum make_outcome outcome;

	ck_assert_int_eq(create_object(&making, &outcome), 0);
	ck_assert_int_eq(outcome, expected);
}

START_TEST(every_type)
{
	static const mode_t types[] = {S_IFREG,	 S_IFDIR, S_IFLNK, S_IFIFO,
				       S_IFSOCK, S_IFCHR, S_IFBLK};
	enum make_outcome outcome;
	struct stat st;

	prepare();
	making.target = "target";
	for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
		char name[2] = {'a' + i, '\0'};

		entry.name = name;
		making.as = name;
		entry.attr.mode = types[i] | 0750;
		ck_created(MAKE_DONE);
		ck_created(MAKE_THERE);
		ck_assert_int_eq(fstatat(parent.fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
		ck_assert_uint_eq(st.st_mode & S_IFMT, types[i]);
	}
	entry.name = (char *)"z";
	making.as = "z";
	entry.attr.mode = 0170000 | 0640;
	ck_assert_int_eq(create_object(&making, &outcome), -EBADMSG);
	core.retriever->carries = BACKEND_CARRIES_ACL;
	entry.attr.mode = S_IFREG | 0640;
	ck_created(MAKE_ASK);
	ck_assert(!is_there(core.root, "z"));
	end();
}
END_TEST

/* The second name is that of the first one's file, also where the prior copy has one of its own. */
START_TEST(names_of_one_file)
{
	struct stat a, b;
	char id[LINK_NAME_LEN];
	struct link_id object;

	prepare();
	shell("mkdir %s/.migrate/prior && echo other >%s/.migrate/prior/m && touch -d @0 "
	      "%s/.migrate/prior/m",
	      core.root, core.root, core.root);
	core.retriever->prior = g_new0(struct prior, 1);
	core.retriever->prior->fd = open_below(parent.fd, ".migrate/prior", O_RDONLY | O_DIRECTORY);
	parent.prior_fd = core.retriever->prior->fd;
	entry.attr.nlink = 2;
	ck_created(MAKE_DONE);
	ck_assert(making.linked);
	object = links_id(&entry.attr);
	links_name(id, &object);
	ck_assert_int_eq(fstatat(core.retriever->links_fd, id, &a, 0), 0);
	entry.name = (char *)"m";
	making.as = "m";
	ck_created(MAKE_DONE);
	ck_assert_int_eq(fstatat(parent.fd, "m", &b, 0), 0);
	ck_assert_uint_eq(a.st_ino, b.st_ino);
	ck_assert(!is_there(core.root, ".migrate/prior/m"));
	ck_assert(!is_aside(""));
	end();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("creation", 60);

	tcase_add_test(tcase, every_type);
	tcase_add_test(tcase, names_of_one_file);
	return run_tcase(tcase);
}
