/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/start.h"

#include "lib/base/advice.h"
#include "lib/report/losses.h"
#include "lib/schemes.h"
#include "lib/source/cap.h"
#include "lib/source/gate.h"
#include "retriever/compare/proof.h"
#include "retriever/copies/lost_found.h"
#include "retriever/copies/prior.h"
#include "retriever/data/durability.h"
#include "retriever/data/gaps.h"
#include "retriever/data/listing_search.h"
#include "retriever/data/place.h"
#include "retriever/making/data_hints.h"
#include "retriever/names/later.h"
#include "retriever/names/prefill.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/links.h"
#include "retriever/objects/object.h"
#include "retriever/objects/old_handles.h"
#include "retriever/objects/private.h"
#include "retriever/objects/state.h"
#include "retriever/objects/templates.h"
#include "retriever/progress/history.h"
#include "retriever/progress/limits_set.h"
#include "retriever/progress/rates.h"
#include "retriever/progress/recount.h"
#include "retriever/progress/counters_file.h"
#include "retriever/socket/server.h"
#include "retriever/volume/attach.h"
#include "retriever/volume/source_bound.h"
#include "retriever/volume/verify.h"

static bool open_backend(struct retriever *retriever, GError **error)
{
	struct backend *backend;

	retriever->scheme = scheme_find(retriever->config->source, error);
	if (!retriever->scheme)
		return false;
	backend = scheme_open(retriever->config, &retriever->source_root,
			      &retriever->source_root_attr, error);
	if (!backend)
		return false;
	retriever->backend = backend;
	retriever->max_read = backend->ops->max_read(backend);
	retriever->source_fs = backend->ops->root_fs ? backend->ops->root_fs(backend) : 0;
	retriever->carries = backend->ops->carries ? backend->ops->carries(backend) : 0;
	return true;
}

/* The cap that the volumes of one old server share. */
static bool open_cap(struct retriever *retriever, GError **error)
{
	const char *host = retriever->config->server.host;
	g_autofree char *path = NULL, *lower = NULL;

	if (!host)
		return true;
	lower = g_ascii_strdown(host, -1);
	path = g_strdup_printf(MIGRATE_SOCKET_DIR "/server-%s.cap", lower);
	g_mkdir_with_parents(MIGRATE_SOCKET_DIR, 0711);
	retriever->cap = cap_open(path, error);
	return retriever->cap != NULL;
}

/* Opens the prior copy of an attached volume; else attach opens it. */
static bool open_prior(struct retriever *retriever, GError **error)
{
	int ret = private_is_attached(retriever) && !retriever->copying
			  ? prior_open(retriever->private_fd, &retriever->prior)
			  : 0;

	if (ret)
		g_set_error(error, RETRIEVER_ERROR, 0,
			    "[volume %s] root: %s/%s/" PRIOR_DIR ": %s%s", retriever->config->name,
			    retriever->config->root, MIGRATE_PRIVATE_DIR, g_strerror(-ret),
			    advice_for(ret));
	return !ret;
}

static void recount(void *arg)
{
	struct verify_count count;
	g_autofree char *message = NULL;

	if (verify_volume(arg, true, &count, &message))
		g_warning("the counters could not be rebuilt: %s; migratectl verify does it",
			  message);
	g_free(count.first);
}

struct retriever *retriever_open(struct volume_config *config, GError **error)
{
	struct retriever *retriever = g_new0(struct retriever, 1);
	enum volume_state state;

	retriever->config = config;
	retriever->root_fd = -1;
	retriever->private_fd = -1;
	retriever->root_hold = -1;
	retriever->damage_fd = -1;
	retriever->volume_fd = -1;
	retriever->links_fd = retriever->staging_fd = -1;
	g_mutex_init(&retriever->source_lock);
	g_mutex_init(&retriever->save_lock);
	g_mutex_init(&retriever->orders_lock);
	g_mutex_init(&retriever->dummy_lock);
	retriever->asked = g_hash_table_new_full(object_key_hash, object_key_equal, g_free,
						 (GDestroyNotify)g_array_unref);
	retriever->recounts = recounts_new();
	retriever->places = places_new();
	retriever->listings = listings_new();
	retriever->links = links_new();
	retriever->data_hints = data_hints_new();
	retriever->history = history_new();
	retriever->jobs = jobs_new();
	retriever->objects = object_table_new(retriever);
	retriever->loop = g_main_loop_new(NULL, FALSE);
	if (!private_open_root(retriever, error) || !open_prior(retriever, error) ||
	    !open_cap(retriever, error) || !open_backend(retriever, error))
		goto fail;
	state = volume_state(retriever);
	attach_note_found(retriever, state);
	if (state == VOLUME_MIGRATING && !source_bound_check(retriever, error))
		goto fail;
	retriever->templates = templates_new(
		retriever->private_fd, state == VOLUME_MIGRATING || state == VOLUME_COPYING, error);
	if (!retriever->templates)
		goto fail;
	counters_load(retriever);
	if (!lost_found_leaves(retriever, error) || !old_handles_open(retriever, error))
		goto fail;
	history_load(retriever);
	retriever->errors = errors_new(retriever->private_fd);
	retriever->losses = losses_new(retriever->private_fd);
	if (state == VOLUME_MIGRATING || state == VOLUME_COPYING)
		attach_report(retriever);
	retriever->durability = durability_new(retriever, gaps_close);
	retriever->gate = gate_new(retriever->backend, config->bandwidth);
	gate_yield(retriever->gate, config->yield_ms);
	limits_set_load(retriever);
	retriever->prefill = prefill_new(retriever);
	retriever->later = later_new(retriever, LATER_MIN);
	retriever->rates = rates_new(retriever);
	retriever->proof = proof_new(retriever);
	retriever->server = server_new(retriever, error);
	if (!retriever->server)
		goto fail;
	if (retriever->private_fd >= 0 && !COUNT_GET(retriever, exact))
		jobs_run(retriever->jobs, JOB_SLOW, recount, retriever);
	return retriever;
fail:
	retriever_close(retriever);
	return NULL;
}

/*
 * Closes the parts from the outside in: first no new requests, then no new answers of the old
 * server, then the local jobs end, then the rest becomes durable.
 */
void retriever_close(struct retriever *retriever)
{
	server_free(retriever->server);
	prefill_stop(retriever->prefill);
	later_stop(retriever->later);
	g_atomic_int_set(&retriever->closing, 1);
	gate_close(retriever->gate);
	if (retriever->backend)
		retriever->backend->ops->close(retriever->backend);
	jobs_wait(retriever->jobs);
	proof_free(retriever->proof);
	durability_stop(retriever->durability);
	jobs_wait(retriever->jobs);
	jobs_free(retriever->jobs);
	if (retriever->rates) { /* it was open */
		errors_save(retriever->errors);
		counters_save(retriever, true);
		history_save(retriever);
		limits_set_save(retriever);
	}
	rates_free(retriever->rates);
	prefill_free(retriever->prefill);
	later_free(retriever->later);
	durability_free(retriever->durability);
	object_table_free(retriever->objects);
	gate_free(retriever->gate);
	cap_close(retriever->cap);
	errors_free(retriever->errors);
	losses_free(retriever->losses);
	templates_free(retriever->templates);
	old_handles_close(retriever);
	source_object_clear(&retriever->source_root);
	private_close(retriever);
	if (retriever->prior)
		prior_free(retriever->prior);
	g_mutex_clear(&retriever->source_lock);
	g_mutex_clear(&retriever->save_lock);
	g_mutex_clear(&retriever->orders_lock);
	g_mutex_clear(&retriever->dummy_lock);
	g_hash_table_destroy(retriever->asked);
	g_clear_pointer(&retriever->touched, g_hash_table_destroy);
	recounts_free(retriever->recounts);
	places_free(retriever->places);
	listings_free(retriever->listings);
	data_hints_free(retriever->data_hints);
	history_free(retriever->history);
	links_free(retriever->links);
	g_main_loop_unref(retriever->loop);
	g_free(retriever->saved_counters);
	g_free(retriever->saved_orders);
	config_free(retriever->config);
	g_free(retriever);
}
