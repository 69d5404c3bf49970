/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/turns.h"

#include "retriever/objects/jobs.h"

struct waiting_fill {
	struct object *object;
	void (*fn)(struct object *object, void *arg);
	void *arg;
};

/* Brackets that waited are answered outside the lock, on a worker. */
struct turn_answer {
	object_done_fn done;
	void *arg;
	int status;
};

static void run_answer(void *arg)
{
	struct turn_answer *answer = arg;

	answer->done(answer->arg, answer->status);
	g_slice_free(struct turn_answer, answer);
}

static void run_fill(void *arg)
{
	struct waiting_fill *fill = arg;

	fill->fn(fill->object, fill->arg);
	g_slice_free(struct waiting_fill, fill);
}

static void start_fills(struct object *object)
{
	struct waiting_fill *fill;

	while ((fill = g_queue_pop_head(&object->turns.fills))) {
		object->turns.writing++;
		jobs_run(object->retriever->jobs, JOB_DEMAND, run_fill, fill);
	}
}

static bool may_open(struct object *object, const struct turn *turn)
{
	const struct turns *turns = &object->turns;

	if (turns->writing || turns->alone)
		return false;
	return turns->brackets == 0 || (!turn->alone && (!turn->grows || object_has_room(object)));
}

static int open_turn(struct turns *turns, struct turn *turn)
{
	int ret = turn->open(turn);

	if (ret <= 0)
		turn->state = ret ? TURN_REFUSED : TURN_OPEN;
	if (!ret) {
		turns->brackets++;
		turns->alone = turn->alone;
	}
	return ret;
}

static void open_waiting(struct object *object)
{
	struct turns *turns = &object->turns;
	struct turn *turn;

	while ((turn = g_queue_peek_head(&turns->begins)) && may_open(object, turn)) {
		struct turn_answer *answer, told = {turn->done, turn->arg, 0};

		g_queue_pop_head(&turns->begins);
		told.status = open_turn(turns, turn);
		if (told.status > 0)
			continue;
		answer = g_slice_dup(struct turn_answer, &told);
		jobs_run(object->retriever->jobs, JOB_DEMAND, run_answer, answer);
	}
}

static void tell_idle(struct object *object)
{
	if (object->when_idle && !object->turns.writing && !object->turns.brackets)
		object->when_idle(object);
}

int turns_begin(struct object *object, struct turn *turn)
{
	struct turns *turns = &object->turns;

	if (!turns->begins.length && !turns->fills.length && may_open(object, turn))
		return open_turn(turns, turn);
	g_queue_push_tail(&turns->begins, turn);
	return 1;
}

/* Ends the bracket; if fills wait, it is their turn. */
void turns_end(struct object *object, struct turn *turn)
{
	struct turns *turns = &object->turns;

	turns->brackets--;
	if (turn->alone)
		turns->alone = false;
	tell_idle(object);
	if (turns->brackets == 0)
		start_fills(object);
	if (turns->fills.length == 0)
		open_waiting(object);
}

static void let_others_in(struct object *object)
{
	open_waiting(object);
	if (object->turns.brackets == 0)
		start_fills(object);
}

void turns_withdraw(struct object *object, struct turn *turn)
{
	g_queue_remove(&object->turns.begins, turn);
	let_others_in(object); /* who came after it */
}

/* Brackets that wait go first, or a busy file would never let them in. */
static bool may_write(const struct turns *turns)
{
	return turns->brackets == 0 && turns->begins.length == 0;
}

bool fill_try_enter(struct object *object)
{
	bool entered;

	g_mutex_lock(&object->lock);
	entered = may_write(&object->turns);
	if (entered)
		object->turns.writing++;
	g_mutex_unlock(&object->lock);
	return entered;
}

bool fill_enter(struct object *object, void (*fn)(struct object *object, void *arg), void *arg)
{
	struct waiting_fill *fill;
	bool entered;

	g_mutex_lock(&object->lock);
	entered = may_write(&object->turns);
	if (entered) {
		object->turns.writing++;
	} else {
		fill = g_slice_new(struct waiting_fill);
		*fill = (struct waiting_fill){object, fn, arg};
		g_queue_push_tail(&object->turns.fills, fill);
	}
	g_mutex_unlock(&object->lock);
	return entered;
}

void turns_leave(struct object *object)
{
	if (--object->turns.writing == 0) {
		tell_idle(object);
		let_others_in(object);
	}
}

void fill_leave(struct object *object)
{
	g_mutex_lock(&object->lock);
	turns_leave(object);
	g_mutex_unlock(&object->lock);
}
