/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "crawler/policy.h"

#include <string.h>

/* Passes without any progress before the crawler gives up. */
#define IDLE_PASSES 2

/* Days, of the passes of STEP_RECENT. */
static const unsigned recent_days[] = {1, 7, 30};

void policy_window_init(struct policy_window *window, unsigned max)
{
	window->max = max ? max : 1;
	window->size = window->max;
}

void policy_window_feedback(struct policy_window *window, bool clients_wait)
{
	if (clients_wait)
		window->size = window->size > 1 ? window->size / 2 : 1;
	else if (window->size < window->max)
		window->size++;
}

bool policy_order_parse(const char *text, enum policy_order *order)
{
	if (!strcmp(text, "namespace-first"))
		*order = ORDER_NAMESPACE_FIRST;
	else if (!strcmp(text, "depth-first"))
		*order = ORDER_DEPTH_FIRST;
	else if (!strcmp(text, "recent-first"))
		*order = ORDER_RECENT_FIRST;
	else
		return false;
	return true;
}

/* The next pass that would bring something of the last `ago` days, but not fewer than the one
 * before. */
static enum policy_step recent_step(struct policy *policy, unsigned ago)
{
	for (size_t i = 0; i < sizeof(recent_days) / sizeof(*recent_days); i++) {
		if (ago && recent_days[i] > policy->days && recent_days[i] >= ago) {
			policy->days = recent_days[i];
			return STEP_RECENT;
		}
	}
	return STEP_DATA;
}

static enum policy_step first_step(struct policy *policy, bool names_complete)
{
	if (policy->metadata_only)
		return STEP_NAMES;
	if (policy->order == ORDER_RECENT_FIRST)
		return recent_step(policy, 1);
	if (policy->order == ORDER_NAMESPACE_FIRST && !names_complete)
		return STEP_NAMES;
	return STEP_DATA;
}

/* A pass with the same counts as the pass before brought nothing, either: each attempt at a
 * directory that fails makes a copy list all below that directory anew. */
static bool note_progress(struct policy *policy, const struct policy_result *result)
{
	bool as_before = result->advanced == policy->advanced && result->left == policy->left;

	policy->advanced = result->advanced;
	policy->left = result->left;
	return result->advanced && !as_before;
}

/*
 * Whether to do the same step again after a pause.  Directories that failed are tried twice in all,
 * and once more if only the counts say that nothing came: with an old server that is away a pass is
 * long, and no directory fails.
 */
static bool wants_another_pass(struct policy *policy, const struct policy_result *result,
			       unsigned *pause_ms)
{
	policy->idle = note_progress(policy, result) ? 0 : policy->idle + 1;
	if (policy->once || policy->idle >= IDLE_PASSES ||
	    (policy->idle && !result->busy && (!result->advanced || policy->idle > 1)))
		return false;
	*pause_ms = 1000u << (2 * policy->idle);
	return true;
}

enum policy_step policy_next(struct policy *policy, const struct policy_result *result,
			     bool names_complete, unsigned *pause_ms)
{
	*pause_ms = 0;
	if (!policy->started) {
		policy->started = true;
		policy->step = first_step(policy, names_complete);
	} else if (result->root_normal) {
		policy->step = STEP_DONE;
	} else if (policy->step == STEP_RECENT) {
		policy->step = recent_step(policy, result->days);
	} else if (policy->step == STEP_NAMES) {
		/* Data are moved even if something is left over: its names are tried again with the
		 * data. */
		bool repeat = result->left && wants_another_pass(policy, result, pause_ms);

		if (!repeat && policy->metadata_only)
			policy->step = result->left ? STEP_LEFT : STEP_DONE;
		else if (!repeat)
			policy->step = STEP_DATA, policy->idle = 0, policy->advanced = 0;
	} else if (policy->step == STEP_DATA && !wants_another_pass(policy, result, pause_ms)) {
		policy->step = STEP_LEFT;
	}
	return policy->step;
}

unsigned policy_attempt_pause(unsigned attempt)
{
	return 500u << attempt;
}
