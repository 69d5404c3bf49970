/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fake server's tree that is served, and a backend on it. */
#ifndef TESTS_RETRIEVER_NFS4_SERVED_H
#define TESTS_RETRIEVER_NFS4_SERVED_H

#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_nfs4_tree.h"

static struct fake4 fake4;
static struct fake4_tree tree;
static struct fake *fake;
static struct backend *backend;
static struct source_object root;
static struct source_attr root_attr;

static enum fake_action served_answer(struct fake_call *call)
{
	return call->version == 4 ? fake4_answer(call, &fake4) : FAKE_DEFAULT;
}

static inline void served_start(void)
{
	fake4_init(&fake4, NULL);
	tree_init(&tree, &fake4);
}

static inline void served_open(const char *version)
{
	GError *error = NULL;

	fake = fake_start(served_answer, NULL);
	backend = tree_backend(fake, version, &root, &root_attr, &error);
	if (!backend)
		ck_abort_msg("%s", error->message);
}

/* Until it is opened again what the server goes by may be changed: no thread of its looks. */
static inline void served_close(void)
{
	backend->ops->close(backend);
	source_object_clear(&root);
	fake_stop(fake);
}

static inline void served_end(void)
{
	served_close();
	ck_assert_uint_eq(fake4.misordered, 0);
}

#endif
