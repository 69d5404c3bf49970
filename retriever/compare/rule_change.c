/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/rule_change.h"

#include <errno.h>
#include <string.h>

#include "lib/config/rules.h"
#include "retriever/compare/proof.h"
#include "retriever/compare/rule_bring.h"
#include "retriever/compare/rule_leave.h"
#include "retriever/objects/damage.h"

static char *change_text(const struct change *c)
{
	GHashTableIter iter;
	gpointer key, value;
	unsigned i = 0;

	g_key_file_set_uint64(c->told, "rules", "aside", c->aside);
	g_key_file_set_uint64(c->told, "rules", "brought", c->brought);
	g_key_file_set_uint64(c->told, "rules", "stays", c->stays);
	g_key_file_set_uint64(c->told, "rules", "failed", c->failed);
	g_hash_table_iter_init(&iter, c->sums);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		g_autofree char *group = g_strdup_printf("rule %u", i++);
		const struct sum *sum = value;

		g_key_file_set_string(c->told, group, "text", key);
		g_key_file_set_uint64(c->told, group, "objects", sum->objects);
		g_key_file_set_uint64(c->told, group, "bytes", sum->bytes);
		g_key_file_set_uint64(c->told, group, "aside", sum->aside);
		g_key_file_set_uint64(c->told, group, "left", sum->left);
		g_key_file_set_uint64(c->told, group, "brought", sum->brought);
	}
	return g_key_file_to_data(c->told, NULL, NULL);
}

static int run_change(struct change *c, char **text)
{
	const char *why = rule_change_settle(c);
	int ret;

	if (why) {
		*text = g_strdup_printf("nothing is set aside or brought: %s", why);
		return -EAGAIN;
	}
	ret = rule_bring_all(c);
	if (!ret)
		ret = rule_leave_all(c);
	*text = ret ? g_strdup(g_strerror(-ret)) : change_text(c);
	return ret;
}

/* 0, or -errno with *text. */
static int check_change(struct retriever *retriever, const char *argument, char **text)
{
	g_autofree char *sum = rules_sum(retriever->config->rules);
	const char *space = argument ? strchr(argument, ' ') : NULL;

	if (retriever->copying || retriever->private_fd < 0) {
		*text = g_strdup_printf(
			"%s is not attached, or finished: a copy's next run goes by "
			"the rules of then",
			retriever->config->root);
		return -EINVAL;
	}
	if (space && g_str_has_prefix(argument, "apply ") && proof_is_under_way(retriever->proof)) {
		*text = g_strdup_printf("both sides are being compared: wait for the end, or stop "
					"it: migratectl verify %s --content --stop",
					retriever->config->name);
		return -EBUSY;
	}
	if (damage_found(retriever)) {
		*text = g_strdup_printf("the file system of %s has errors: check it first",
					retriever->config->root);
		return -EIO;
	}
	if (space && !strcmp(space + 1, sum))
		return 0;
	*text = g_strdup_printf("the retriever runs with other rules than the configuration has "
				"now: systemctl restart migrate-retriever@%s",
				retriever->config->name);
	return -EINVAL;
}

int rule_change(struct retriever *retriever, const char *argument, char **text)
{
	struct change c = {.retriever = retriever, .rules = retriever->config->rules};
	int ret = check_change(retriever, argument, text);

	if (ret)
		return ret;
	c.apply = g_str_has_prefix(argument, "apply ");
	c.root = retriever_fd_path(retriever->root_fd);
	c.clients = clients_new(retriever);
	c.sums = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	c.lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	c.came = g_hash_table_new(g_str_hash, g_str_equal);
	c.twins = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	c.told = g_key_file_new();
	ret = run_change(&c, text);
	g_key_file_free(c.told);
	g_hash_table_unref(c.came);
	g_hash_table_unref(c.lines);
	g_hash_table_unref(c.sums);
	clients_free(c.clients);
	g_free(c.covered_dir);
	g_free(c.twins_dir);
	g_hash_table_unref(c.twins);
	g_free(c.unsettled);
	g_free(c.root);
	return ret;
}
