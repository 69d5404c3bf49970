/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/data/source_root.h"

#include <errno.h>
#include <string.h>

#include "lib/source/gate.h"

#define PAUSE_MS 1000 /* before it is asked for (again) */
#define SLICE_MS 50

void source_root_get(struct retriever *retriever, struct source_object *root,
		     struct source_attr *attr)
{
	g_mutex_lock(&retriever->source_lock);
	source_object_copy(root, &retriever->source_root);
	*attr = retriever->source_root_attr;
	g_mutex_unlock(&retriever->source_lock);
}

int source_root_look(struct retriever *retriever)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .priority = BACKEND_DEMAND};
	struct source_object root = {0};
	struct source_attr attr;
	int ret;

	source_root_get(retriever, &root, &attr);
	req.object = root;
	ret = gate_call(retriever->gate, &req);
	if (!ret) {
		g_mutex_lock(&retriever->source_lock);
		retriever->source_root_attr = req.attr;
		g_mutex_unlock(&retriever->source_lock);
	}
	source_object_clear(&root);
	return ret;
}

/* FALSE: the retriever is being closed. */
static bool pause_for_a_while(struct retriever *retriever)
{
	for (unsigned ms = 0; ms < PAUSE_MS; ms += SLICE_MS) {
		if (g_atomic_int_get(&retriever->closing))
			return false;
		g_usleep(SLICE_MS * G_TIME_SPAN_MILLISECOND);
	}
	return true;
}

static bool is_other_root(struct retriever *retriever, const struct source_object *root)
{
	const struct source_object *now = &retriever->source_root;
	bool other;

	g_mutex_lock(&retriever->source_lock);
	other = now->handle_len != root->handle_len ||
		memcmp(now->handle, root->handle, root->handle_len) != 0;
	g_mutex_unlock(&retriever->source_lock);
	return other;
}

/* Asks for it as at the start, over a connection of its own. */
static bool root_is_found_again(struct retriever *retriever, bool complain)
{
	const struct backend_config config = {.url = retriever->config->source,
					      .smb = retriever->config->smb,
					      .nfs = retriever->config->nfs,
					      .connections = 1,
					      .demand_connections = 1};
	struct source_object root = {0}, old;
	struct source_attr attr;
	g_autoptr(GError) error = NULL;
	struct backend *backend = retriever->scheme->open(&config, &root, &attr, &error);

	if (!backend) {
		if (complain)
			g_warning("the source's root is not known to the old server any more: "
				  "waiting until it is: %s",
				  error->message);
		return false;
	}
	backend->ops->close(backend);
	g_mutex_lock(&retriever->source_lock);
	old = retriever->source_root;
	retriever->source_root = root;
	retriever->source_root_attr = attr;
	g_mutex_unlock(&retriever->source_lock);
	source_object_clear(&old);
	return true;
}

int source_root_renew(struct retriever *retriever, const struct source_object *root)
{
	bool complain = true;

	while (pause_for_a_while(retriever)) {
		if (is_other_root(retriever, root) || root_is_found_again(retriever, complain))
			return 0;
		complain = false;
	}
	return -ECANCELED;
}
