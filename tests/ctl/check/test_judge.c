/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <linux/magic.h>

#include "lib/config/owners.h"
#include "lib/config/rules.h"
#include "lib/source/posix_acl.h"
#include "tests/ctl/check/surveyed.h"

static struct made_walk made;

static void begin(void)
{
	made_walk_begin(&made, NULL, 0);
	made.judge.limits = limits_of(EXT4_SUPER_MAGIC, 4096, false, 0);
}

static uint64_t total(enum notice_kind kind)
{
	return notices_total(made.walk.notices, kind);
}

/* A file of that name. */
static const struct source_entry *listed(const char *name)
{
	static struct source_entry entry;

	entry = (struct source_entry){
		.name = (char *)name, .has_attr = true, .attr = {.mode = S_IFREG}};
	return &entry;
}

START_TEST(times)
{
	struct source_attr attr = {.mode = S_IFREG | 0644, .nlink = 1};

	begin();
	for (unsigned size = 128; size <= 256; size += 128) {
		const uint64_t before = total(NOTICE_TIME);

		made.judge.limits = limits_of(EXT4_SUPER_MAGIC, 4096, false, size);
		attr.mtime = INT64_C(1000000000500);
		judge_object(&made.judge, "f", &attr, NULL);
		attr.mtime = INT64_C(5680281600) * 1000000000; /* 2150 */
		judge_object(&made.judge, "f", &attr, NULL);
		ck_assert_uint_eq(total(NOTICE_TIME) - before, size == 128 ? 2 : 0);
		attr.mtime = INT64_MAX;
		attr.far_mtime = 13569465600;
		judge_object(&made.judge, "f", &attr, NULL);
		attr.far_mtime = 0;
		ck_assert_uint_eq(total(NOTICE_TIME) - before, size == 128 ? 3 : 1);
	}
	made_walk_end(&made);
}
END_TEST

START_TEST(names)
{
	static const char *const others[] = {"a:b", "a\\b",    "x\x01", "end.",	  "end ",
					     "CON", "aux.txt", "com1",	"Lpt9.x", "\xff"};
	static const char *const same[] = {"a",	   "Grüße", "a.b.c",   ".hidden", "com",
					   "com0", "COM10", "console", "nul1"};
	struct backend_batch *batch = backend_batch_new();

	begin();
	for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
		ck_assert(judge_name(&made.judge, "d", listed(others[i])));
		ck_assert_msg(total(NOTE_SMB_NAME) == i + 1, "%s", others[i]);
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(same); i++) {
		ck_assert(judge_name(&made.judge, "d", listed(same[i])));
		ck_assert_msg(total(NOTE_SMB_NAME) == G_N_ELEMENTS(others), "%s", same[i]);
	}
	ck_assert(!judge_name(&made.judge, "", listed(".migrate")));
	ck_assert(judge_name(&made.judge, "d", listed(".migrate")));
	ck_assert_uint_eq(total(NOTICE_NAME), 1);
	backend_batch_refuse(batch, g_strdup("bad"), QM_NAME_IMPOSSIBLE);
	batch->rejected += 3;
	judge_refused(&made.judge, "d", batch);
	ck_assert_uint_eq(total(NOTICE_NAME), 5);
	backend_batch_free(batch);
	made_walk_end(&made);
}
END_TEST

/* By rule, with their bytes; what has the name and is something else comes. */
START_TEST(what_rules_leave_out)
{
	struct source_entry snapshots = {
		.name = (char *)".snapshot", .has_attr = true, .attr = {.mode = S_IFDIR}};
	struct source_entry file = *listed("a.tmp");
	const struct notice_line *line;

	begin();
	made.config.rules = rules_new(false);
	rules_add(made.config.rules, RULE_DEFAULT, ".snapshot/");
	rules_add(made.config.rules, RULE_EXCLUDE, "*.tmp");
	ck_assert(judge_name(&made.judge, "d", listed(".snapshot")));
	ck_assert(!judge_name(&made.judge, "d", &snapshots));
	snapshots.has_attr = false;
	ck_assert(judge_name(&made.judge, "d", &snapshots));
	file.attr.size = 5;
	ck_assert(!judge_name(&made.judge, "d", &file));
	ck_assert(!judge_name(&made.judge, "e", &file));
	ck_assert_uint_eq(total(NOTE_RULE), 3);
	line = notices_first(made.walk.notices, NOTE_RULE)->pdata[1];
	ck_assert_str_eq(line->text, "exclude = *.tmp");
	ck_assert_uint_eq(line->count, 2);
	ck_assert_uint_eq(line->bytes, 10);
	ck_assert_uint_eq(notices_sum(made.walk.notices), 0);
	rules_free(made.config.rules);
	made_walk_end(&made);
}
END_TEST

START_TEST(long_paths)
{
	g_autofree char *directory = g_strnfill(4090, 'd');

	begin();
	ck_assert(judge_name(&made.judge, directory, listed("a")));
	ck_assert_uint_eq(total(NOTE_PATH), 0);
	ck_assert(judge_name(&made.judge, directory, listed("abcd")));
	ck_assert_uint_eq(total(NOTE_PATH), 1);
	made_walk_end(&made);
}
END_TEST

START_TEST(limits)
{
	const struct source_attr attrs[] = {
		{.mode = S_IFREG, .size = UINT64_C(1) << 50, .nlink = 1},
		{.mode = S_IFLNK, .size = 4096, .nlink = 1},
		{.mode = S_IFREG, .nlink = 65001},
		{.mode = S_IFIFO, .nlink = 1},
		{.mode = S_IFREG, .nlink = 1, .elsewhere = true},
		{.mode = 0, .nlink = 1},
		{.mode = S_IFREG, .nlink = 1, .mtime = INT64_MIN},
	};
	static const enum notice_kind kinds[] = {NOTICE_SIZE,  NOTICE_SYMLINK, NOTICE_LINKS,
						 NOTE_SPECIAL, NOTE_ELSEWHERE, NOTICE_TYPE,
						 NOTICE_TIME};

	begin();
	for (unsigned i = 0; i < G_N_ELEMENTS(attrs); i++) {
		const struct source_attr good = {.mode = S_IFREG, .nlink = 1, .size = 1};

		judge_object(&made.judge, "good", &good, NULL);
		judge_object(&made.judge, "bad", &attrs[i], NULL);
		ck_assert_str_eq(made_only(&made, kinds[i])->path, "bad");
	}
	made_walk_end(&made);
}
END_TEST

/* What does not fit into a block of ext4 is a loss, by the code that would set it. */
START_TEST(attributes)
{
	const struct source_attr attr = {.mode = S_IFREG, .nlink = 1};
	struct source_xattrs *xattrs = source_xattrs_new();
	g_autofree uint8_t *value = g_malloc0(5000);

	begin();
	source_xattrs_add(xattrs, "user.small", value, 1000);
	source_xattrs_lose(xattrs, "what is lost");
	ck_assert_uint_ge(judge_object(&made.judge, "a", &attr, xattrs), 1000);
	ck_assert_str_eq(made_only(&made, NOTICE_SOURCE)->text, "what is lost");
	ck_assert_uint_eq(total(NOTICE_XATTR), 0);
	source_xattrs_add(xattrs, "user.large", value, 3500);
	judge_object(&made.judge, "a", &attr, xattrs);
	ck_assert_uint_eq(total(NOTICE_XATTR), 1);
	source_xattrs_add(xattrs, "trusted.x", value, 1);
	source_xattrs_add(xattrs, XATTR_ACL_ACCESS, "bad", 3);
	judge_object(&made.judge, "a", &attr, xattrs);
	ck_assert_uint_eq(total(NOTICE_XATTR), 3);
	ck_assert_uint_eq(total(NOTICE_ACL), 1);
	source_xattrs_free(xattrs);
	made_walk_end(&made);
}
END_TEST

/* Through the maps; each id that has no name here is one line. */
START_TEST(owners)
{
	const struct source_attr attr = {
		.mode = S_IFREG, .nlink = 1, .uid = 2000, .gid = 3999999999};
	const struct notice_line *line;

	begin();
	made.config.map_users = owners_parse("1000:2000 4000:3999999998", NULL);
	judge_object(&made.judge, "a", &attr, NULL);
	judge_object(&made.judge, "b", &attr, NULL);
	ck_assert_uint_eq(total(NOTICE_OWNER), 2); /* 2000 is what 1000 becomes, too */
	ck_assert_uint_ge(notices_first(made.walk.notices, NOTE_OWNER)->len, 1);
	line = notices_first(made.walk.notices, NOTE_OWNER)
		       ->pdata[notices_first(made.walk.notices, NOTE_OWNER)->len - 1];
	ck_assert_str_eq(line->text, "group 3999999999");
	ck_assert_uint_eq(line->count, 2);
	/* as they are there */
	ck_assert_uint_eq(notices_first(made.walk.notices, NOTE_OWNERS)->len, 2);
	line = notices_first(made.walk.notices, NOTE_OWNERS)->pdata[0];
	ck_assert_str_eq(line->text, "user 2000");
	ck_assert_uint_eq(line->count, 2);
	owners_free(made.config.map_users);
	made_walk_end(&made);
}
END_TEST

/* By SMB they are SIDs. */
START_TEST(sids)
{
	static const uint8_t descriptor[] = {
		1, 0, 0, 0x80, 20, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* owner at 20 */
		1, 1, 0, 0,    0,  0, 0, 22, 1, 0, 0, 0,			 /* S-1-22-1 */
	};
	const struct source_attr attr = {.mode = S_IFREG, .nlink = 1, .no_owner = true};
	struct source_xattrs *xattrs = source_xattrs_new();

	begin();
	xattrs->windows = source_windows_new();
	xattrs->windows->sd = g_memdup2(descriptor, sizeof(descriptor));
	xattrs->windows->sd_len = sizeof(descriptor);
	judge_object(&made.judge, "a", &attr, xattrs);
	ck_assert_str_eq(made_only(&made, NOTE_OWNERS)->text, "SID S-1-22-1");
	source_xattrs_free(xattrs);
	made_walk_end(&made);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {times,	  names,  what_rules_leave_out,
				      long_paths, limits, attributes,
				      owners,	  sids,	  NULL};

	return run_made("judge", tests);
}
