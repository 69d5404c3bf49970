/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

#include "retriever/objects/turns.h"

static struct core core;
static struct object *object;
static unsigned idle; /* times that the object was */

/* A bracket of the test's. */
struct probe {
	struct turn turn;
	int refusal;
	sem_t answered; /* where it had to wait */
	int answer;
};

static int open_probe(struct turn *turn)
{
	return ((struct probe *)turn)->refusal;
}

static void answered(void *arg, int status)
{
	struct probe *probe = arg;

	probe->answer = status;
	sem_post(&probe->answered);
}

static int begin(struct probe *probe, bool alone)
{
	int ret;

	sem_init(&probe->answered, 0, 0);
	probe->turn =
		(struct turn){.alone = alone, .open = open_probe, .done = answered, .arg = probe};
	g_mutex_lock(&object->lock);
	ret = turns_begin(object, &probe->turn);
	g_mutex_unlock(&object->lock);
	return ret;
}

static int answer(struct probe *probe)
{
	sem_wait(&probe->answered);
	return probe->answer;
}

static bool waits(const struct probe *probe)
{
	bool waiting;

	g_mutex_lock(&object->lock);
	waiting = probe->turn.state == TURN_WAITING;
	g_mutex_unlock(&object->lock);
	return waiting;
}

static void leave(struct probe *probe, void (*how)(struct object *object, struct turn *turn))
{
	g_mutex_lock(&object->lock);
	how(object, &probe->turn);
	g_mutex_unlock(&object->lock);
}

static void fill_entered(struct object *filled, void *arg)
{
	fill_leave(filled);
	sem_post(arg);
}

static void start(void)
{
	int fd = core_with_file(&core, 1000, O_RDWR);

	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	close(fd);
}

static void stop(void)
{
	ck_assert(fill_try_enter(object)); /* nothing is left behind */
	fill_leave(object);
	object_unref(object);
	core_free(&core);
}

/* Fairness: fills that write one after the other, always at least one, do not keep a bracket out;
 * it is let in before a fill that came later. */
START_TEST(a_bracket_is_let_in_between_fills)
{
	struct probe bracket = {0};
	sem_t entered;

	start();
	sem_init(&entered, 0, 0);
	ck_assert(fill_try_enter(object));
	ck_assert(fill_try_enter(object)); /* together */
	ck_assert_int_eq(begin(&bracket, false), 1);
	ck_assert(!fill_try_enter(object));
	ck_assert(!fill_enter(object, fill_entered, &entered));
	fill_leave(object);
	ck_assert(waits(&bracket));
	fill_leave(object);
	ck_assert_int_eq(answer(&bracket), 0);
	ck_assert_int_eq(sem_trywait(&entered), -1);
	leave(&bracket, turns_end);
	sem_wait(&entered);
	stop();
}
END_TEST

/* The other way round: brackets that follow each other do not keep a fill out. */
START_TEST(a_fill_is_let_in_between_brackets)
{
	struct probe first = {0}, beside = {0}, second = {0};
	sem_t wrote;

	start();
	sem_init(&wrote, 0, 0);
	ck_assert_int_eq(begin(&first, false), 0);
	ck_assert_int_eq(begin(&beside, false), 0);
	ck_assert(!fill_enter(object, fill_entered, &wrote));
	ck_assert_int_eq(begin(&second, false), 1);
	leave(&first, turns_end);
	ck_assert_int_eq(sem_trywait(&wrote), -1);
	leave(&beside, turns_end);
	sem_wait(&wrote);
	ck_assert_int_eq(answer(&second), 0);
	leave(&second, turns_end);
	stop();
}
END_TEST

START_TEST(one_that_is_alone)
{
	struct probe first = {0}, alone = {0}, last = {0};

	start();
	ck_assert_int_eq(begin(&first, false), 0);
	ck_assert_int_eq(begin(&alone, true), 1);
	ck_assert_int_eq(begin(&last, false), 1); /* not before it */
	leave(&first, turns_end);
	ck_assert_int_eq(answer(&alone), 0);
	ck_assert(waits(&last));
	leave(&alone, turns_end);
	ck_assert_int_eq(answer(&last), 0);
	leave(&last, turns_end);
	stop();
}
END_TEST

/* Brackets that came after it, and a fill that was put off for it. */
START_TEST(one_that_withdraws_lets_others_in)
{
	struct probe open = {0}, alone = {0}, last = {0};
	sem_t entered;

	start();
	sem_init(&entered, 0, 0);
	ck_assert_int_eq(begin(&open, false), 0);
	ck_assert_int_eq(begin(&alone, true), 1);
	ck_assert_int_eq(begin(&last, false), 1);
	leave(&alone, turns_withdraw);
	ck_assert_int_eq(answer(&last), 0);
	ck_assert(waits(&alone));
	leave(&last, turns_end);
	leave(&open, turns_end);
	ck_assert(fill_try_enter(object));
	ck_assert_int_eq(begin(&alone, true), 1);
	ck_assert(!fill_enter(object, fill_entered, &entered));
	leave(&alone, turns_withdraw);
	sem_wait(&entered);
	fill_leave(object);
	stop();
}
END_TEST

START_TEST(one_that_is_refused)
{
	struct probe refused = {.refusal = -EIO}, waiting = {.refusal = -ENOSPC}, last = {0};

	start();
	ck_assert_int_eq(begin(&refused, true), -EIO);
	ck_assert(fill_try_enter(object)); /* it is not in the way */
	ck_assert_int_eq(begin(&waiting, true), 1);
	ck_assert_int_eq(begin(&last, true), 1);
	fill_leave(object);
	ck_assert_int_eq(answer(&waiting), -ENOSPC);
	ck_assert_int_eq(answer(&last), 0);
	leave(&last, turns_end);
	stop();
}
END_TEST

static void count_idle(struct object *counted)
{
	ck_assert_uint_eq(counted->turns.writing + counted->turns.brackets, 0);
	idle++;
}

START_TEST(when_idle)
{
	struct probe first = {0}, second = {0};

	start();
	object->when_idle = count_idle;
	ck_assert_int_eq(begin(&first, false), 0);
	ck_assert_int_eq(begin(&second, false), 0);
	leave(&first, turns_end);
	ck_assert_uint_eq(idle, 0);
	leave(&second, turns_end);
	ck_assert_uint_eq(idle, 1);
	ck_assert(fill_try_enter(object));
	ck_assert(fill_try_enter(object));
	fill_leave(object);
	ck_assert_uint_eq(idle, 1);
	fill_leave(object);
	ck_assert_uint_eq(idle, 2);
	object->when_idle = NULL;
	stop();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("turns", 60);

	tcase_add_test(tcase, a_bracket_is_let_in_between_fills);
	tcase_add_test(tcase, a_fill_is_let_in_between_brackets);
	tcase_add_test(tcase, one_that_is_alone);
	tcase_add_test(tcase, one_that_withdraws_lets_others_in);
	tcase_add_test(tcase, one_that_is_refused);
	tcase_add_test(tcase, when_idle);
	return run_tcase(tcase);
}
