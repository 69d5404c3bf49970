/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/yield.h"

#define KIND_READ 4 /* and above: by the number of bytes, in powers of two */

void yield_init(struct yield *yield, unsigned target_ms)
{
	*yield = (struct yield){
		.target = (gint64)target_ms * 1000,
		.window = target_ms ? YIELD_START : YIELD_MAX,
		.starting = true,
	};
}

static unsigned kind_of(const struct backend_request *req)
{
	if (req->op == BACKEND_READDIR)
		return req->names_only ? 1 : 2;
	if (req->op == BACKEND_XATTRS && !req->count)
		return 3;
	if (req->op == BACKEND_READ || req->op == BACKEND_XATTRS)
		return MIN(KIND_READ + g_bit_storage(req->count >> 10), YIELD_KINDS - 1);
	return 0;
}

/* The least of the last ten minutes. */
static gint64 base_of(struct yield_kind *kind, gint64 took, gint64 now)
{
	const gint64 minute = now / (60 * G_USEC_PER_SEC);
	gint64 base = took;

	for (gint64 m = MAX(kind->minute + 1, minute - YIELD_MINUTES + 1); m <= minute; m++)
		kind->least[m % YIELD_MINUTES] = 0;
	kind->minute = minute;
	gint64 *least = &kind->least[minute % YIELD_MINUTES];
	if (!*least || took < *least)
		*least = MAX(took, 1);
	for (unsigned i = 0; i < YIELD_MINUTES; i++)
		if (kind->least[i])
			base = MIN(base, kind->least[i]);
	return base;
}

/* One answer may be late for many reasons: the least of some counts. */
static gint64 current_of(struct yield_kind *kind, gint64 took)
{
	gint64 current = took;

	kind->last[kind->n++ % YIELD_FILTER] = took;
	for (unsigned i = 0; i < MIN(kind->n, YIELD_FILTER); i++)
		current = MIN(current, kind->last[i]);
	return current;
}

void yield_answer(struct yield *yield, const struct backend_request *req, unsigned under_way,
		  gint64 took, gint64 now)
{
	struct yield_kind *kind = &yield->kinds[kind_of(req)];
	const double most = MIN(MAX(2 * under_way, YIELD_START), YIELD_MAX);
	double off, step;

	if (!yield->target || req->status < 0 || req->backend.breaks)
		return;
	yield->delay = current_of(kind, took) - base_of(kind, took, now);
	off = (double)(yield->target - yield->delay) / (double)yield->target;
	if (4 * yield->delay > 3 * yield->target)
		yield->starting = false;
	step = yield->starting ? 1 : off > 0 ? off / yield->window : MAX(off, -0.5);
	if (step < 0)
		yield->window = MAX(yield->window + step, YIELD_FLOOR);
	else if (req->priority == BACKEND_BACKGROUND && yield->window < most)
		yield->window = MIN(yield->window + step, most);
}

unsigned yield_window(const struct yield *yield)
{
	return (unsigned)yield->window;
}
