/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_backend.h"
#include "tests/retriever/fault_backend.h"

#define READS (1u << BACKEND_READ)

static struct fake_backend fake;
static struct backend *fault;

static int answer(struct fake_backend *backend, struct backend_request *req)
{
	req->has_attr = true;
	req->attr = (struct source_attr){.size = 1000, .mtime = 50};
	if (req->op == BACKEND_READ) {
		req->data = (const uint8_t *)"0123456789";
		req->data_len = 10;
		req->eof = true;
	} else if (req->op == BACKEND_READDIR) {
		struct source_entry entry = {.has_attr = true, .attr = req->attr};

		req->batch = backend_batch_new();
		backend_batch_add(req->batch, "one", 3, &entry);
	} else if (req->op == BACKEND_XATTRS) {
		req->xattrs = source_xattrs_new();
	}
	return 0;
}

static void setup(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.base.ops = &fake_backend_ops;
	fake.answer = answer;
	fault = backend_fault_new(&fake.base);
}

static void teardown(void)
{
	if (fault)
		fault->ops->close(g_steal_pointer(&fault));
	ck_assert(fake.closed);
}

static int read_status(const char *path, uint64_t offset)
{
	struct backend_request req;
	int status = read_at(fault, by_path(path), offset, 10, &req);

	g_free((void *)req.data);
	return status;
}

START_TEST(errors_come_as_often_as_told)
{
	unsigned rule = backend_fault_add(fault, &(struct fault_rule){.ops = READS,
								      .action = FAULT_ERROR,
								      .status = -ESTALE,
								      .skip = 1,
								      .times = 2});
	struct source_attr attr;

	ck_assert_int_eq(read_status("a", 0), 0);
	ck_assert_int_eq(get_attr(fault, by_path("a"), &attr), 0);
	ck_assert_int_eq(read_status("a", 0), -ESTALE);
	ck_assert_int_eq(read_status("a", 0), -ESTALE);
	ck_assert_int_eq(read_status("a", 0), 0);
	ck_assert_uint_eq(backend_fault_hits(fault, rule), 2);
	ck_assert_uint_eq(fake.submitted, 3);
	ck_assert_uint_eq(backend_fault_submitted(fault, READS), 4);
	ck_assert_uint_eq(backend_fault_submitted(fault, FAULT_ANY_OP), 5);
	ck_assert(backend_fault_wait_idle(fault));
	ck_assert_uint_eq(backend_fault_in_flight(fault), 0);
}
END_TEST

START_TEST(rules_match_by_name_offset_and_object)
{
	const struct source_object object = by_handle((const uint8_t *)"handle", 6);
	struct source_object found;
	struct source_attr attr;
	struct fault_rule rule = {.ops = FAULT_ANY_OP, .action = FAULT_ERROR, .status = -EACCES};
	unsigned number;

	rule.name = "b";
	number = backend_fault_add(fault, &rule);
	ck_assert_int_eq(read_status("a/b", 0), -EACCES);
	ck_assert_int_eq(read_status("b", 0), -EACCES);
	ck_assert_int_eq(read_status("a/bb", 0), 0);
	ck_assert_int_eq(look_up(fault, by_path("x"), "b", &found, NULL), -EACCES);
	ck_assert_int_eq(look_up(fault, by_path("b"), "x", &found, NULL), 0);
	backend_fault_remove(fault, number);
	ck_assert_int_eq(read_status("a/b", 0), 0);

	rule.name = NULL;
	rule.offset = 100;
	rule.end = 200;
	number = backend_fault_add(fault, &rule);
	ck_assert_int_eq(read_status("a", 90), 0);
	ck_assert_int_eq(read_status("a", 91), -EACCES);
	ck_assert_int_eq(read_status("a", 199), -EACCES);
	ck_assert_int_eq(read_status("a", 200), 0);
	backend_fault_remove(fault, number);

	rule.offset = rule.end = 0;
	rule.object = &object;
	backend_fault_add(fault, &rule);
	ck_assert_int_eq(get_attr(fault, object, &attr), -EACCES);
	ck_assert_int_eq(get_attr(fault, by_path("handle"), &attr), 0);
}
END_TEST

START_TEST(rules_match_by_priority)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .priority = BACKEND_BACKGROUND};

	backend_fault_add(fault, &(struct fault_rule){.ops = FAULT_ANY_OP,
						      .priorities = 1u << BACKEND_BACKGROUND,
						      .action = FAULT_ERROR,
						      .status = -EREMOTEIO});
	ck_assert_int_eq(run(fault, &req), -EREMOTEIO);
	req.priority = BACKEND_DEMAND;
	ck_assert_int_eq(run(fault, &req), 0);
}
END_TEST

START_TEST(data_is_cut_and_attributes_change)
{
	struct backend_request req;

	backend_fault_add(
		fault,
		&(struct fault_rule){.ops = READS, .action = FAULT_SHORT, .bytes = 3, .times = 1});
	backend_fault_add(fault, &(struct fault_rule){.ops = FAULT_ANY_OP,
						      .action = FAULT_CHANGE,
						      .size = -1,
						      .mtime = 7});
	ck_assert_int_eq(read_at(fault, by_path("a"), 0, 10, &req), 0);
	ck_assert_uint_eq(req.data_len, 3);
	ck_assert(!req.eof);
	ck_assert_uint_eq(req.attr.size, 1000);
	g_free((void *)req.data);
	ck_assert_int_eq(read_at(fault, by_path("a"), 0, 10, &req), 0);
	ck_assert_uint_eq(req.data_len, 10);
	ck_assert_uint_eq(req.attr.size, 999);
	ck_assert_int_eq(req.attr.mtime, 57);
	g_free((void *)req.data);
	req = (struct backend_request){.op = BACKEND_READDIR};
	ck_assert_int_eq(run(fault, &req), 0);
	ck_assert_uint_eq(g_array_index(req.batch->entries, struct source_entry, 0).attr.size, 999);
	backend_batch_free(req.batch);
}
END_TEST

START_TEST(what_is_carried_passes)
{
	struct backend_request req = {.op = BACKEND_XATTRS, .object = by_path("x")};
	g_autofree char *not_carried = fault->ops->not_carried(fault);

	ck_assert_str_eq(not_carried, "this and that");
	ck_assert_uint_eq(fault->ops->carries(fault), BACKEND_CARRIES_XATTR);
	ck_assert_int_eq(run(fault, &req), 0);
	ck_assert_ptr_nonnull(req.xattrs);
	source_xattrs_free(req.xattrs);
	ck_assert_uint_eq(backend_fault_submitted(fault, 1u << BACKEND_XATTRS), 1);
	backend_fault_add(fault, &(struct fault_rule){.ops = 1u << BACKEND_XATTRS,
						      .action = FAULT_ERROR,
						      .status = -EACCES});
	ck_assert_int_eq(run(fault, &req), -EACCES);
	ck_assert_ptr_null(req.xattrs);
}
END_TEST

START_TEST(delays_last)
{
	unsigned rule = backend_fault_add(
		fault, &(struct fault_rule){.ops = READS, .action = FAULT_DELAY, .ms = 100});
	gint64 start = g_get_monotonic_time();

	ck_assert_int_eq(read_status("a", 0), 0);
	ck_assert_int_ge(g_get_monotonic_time() - start, 100000);
	ck_assert_uint_eq(backend_fault_hits(fault, rule), 1);
}
END_TEST

static void pass(struct backend_request *req)
{
	gate_pass(req->user);
}

START_TEST(stalls_last_until_released)
{
	static struct backend_request reqs[3];
	static struct gate gate;
	unsigned stall =
		backend_fault_add(fault, &(struct fault_rule){.ops = READS, .action = FAULT_STALL});
	unsigned delay = backend_fault_add(fault, &(struct fault_rule){.ops = 1u << BACKEND_GETATTR,
								       .action = FAULT_DELAY,
								       .ms = 3600000});

	gate_init(&gate);
	for (unsigned i = 0; i < G_N_ELEMENTS(reqs); i++) {
		reqs[i] = (struct backend_request){
			.op = i < 2 ? BACKEND_READ : BACKEND_GETATTR, .done = pass, .user = &gate};
		fault->ops->submit(fault, &reqs[i]);
	}
	ck_assert(backend_fault_wait(fault, stall, 2));
	ck_assert_uint_eq(gate_count(&gate), 0);
	ck_assert_uint_eq(backend_fault_in_flight(fault), 3);
	backend_fault_release(fault, stall);
	gate_wait(&gate, 2);
	ck_assert_int_eq(read_status("a", 0), 0);
	backend_fault_release(fault, delay);
	gate_wait(&gate, 3);
	ck_assert(backend_fault_wait_idle(fault));
}
END_TEST

START_TEST(closing_cancels_what_is_held)
{
	static struct backend_request reqs[2];
	static struct gate gate;

	backend_fault_add(fault, &(struct fault_rule){.ops = READS, .action = FAULT_STALL});
	backend_fault_add(
		fault,
		&(struct fault_rule){.ops = FAULT_ANY_OP, .action = FAULT_DELAY, .ms = 3600000});
	gate_init(&gate);
	for (unsigned i = 0; i < G_N_ELEMENTS(reqs); i++) {
		reqs[i] = (struct backend_request){
			.op = i ? BACKEND_READ : BACKEND_GETATTR, .done = pass, .user = &gate};
		fault->ops->submit(fault, &reqs[i]);
	}
	fault->ops->close(g_steal_pointer(&fault));
	ck_assert_uint_eq(gate_count(&gate), 2);
	ck_assert_int_eq(reqs[0].status, -ECANCELED);
	ck_assert_int_eq(reqs[1].status, -ECANCELED);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, errors_come_as_often_as_told);
	tcase_add_test(tcase, rules_match_by_name_offset_and_object);
	tcase_add_test(tcase, rules_match_by_priority);
	tcase_add_test(tcase, data_is_cut_and_attributes_change);
	tcase_add_test(tcase, what_is_carried_passes);
	tcase_add_test(tcase, delays_last);
	tcase_add_test(tcase, stalls_last_until_released);
	tcase_add_test(tcase, closing_cancels_what_is_held);
	return run_tcase(tcase);
}
