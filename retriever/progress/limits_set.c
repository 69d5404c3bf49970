/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/progress/limits_set.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/filetree.h"
#include "lib/config/calendar.h"
#include "lib/source/gate.h"

#define ORDERS_FILE "orders"
#define GROUP	    "orders"

/* NULL: there are none. */
static char *to_text(const struct limits_set *orders)
{
	g_autoptr(GKeyFile) file = g_key_file_new();

	if (orders->throttled)
		g_key_file_set_uint64(file, GROUP, "throttle", orders->bandwidth);
	if (orders->paused)
		g_key_file_set_boolean(file, GROUP, "paused", TRUE);
	return orders->throttled || orders->paused ? g_key_file_to_data(file, NULL, NULL) : NULL;
}

static bool from_text(const char *text, struct limits_set *orders)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autoptr(GError) error = NULL;

	if (!g_key_file_load_from_data(file, text, (gsize)-1, G_KEY_FILE_NONE, NULL) ||
	    !g_key_file_has_group(file, GROUP))
		return false;
	orders->throttled = g_key_file_has_key(file, GROUP, "throttle", NULL);
	if (orders->throttled)
		orders->bandwidth = g_key_file_get_uint64(file, GROUP, "throttle", &error);
	orders->paused = g_key_file_get_boolean(file, GROUP, "paused", NULL);
	return !error && orders->bandwidth <= INT64_MAX;
}

/* orders_lock held. */
static void enforce(struct retriever *retriever)
{
	const struct volume_config *config = retriever->config;
	const struct calendar_rule *rule = calendar_at(config->limits, time(NULL));
	const struct limits_set *orders = &retriever->orders;
	const uint64_t bandwidth =
		rule && rule->has_bandwidth ? rule->bandwidth : config->bandwidth;

	const struct server_config *server = &config->server;
	const struct calendar_rule *common = calendar_at(server->limits, time(NULL));

	if (rule != retriever->rule)
		retriever->rule_looked = 0;
	retriever->rule = rule;
	retriever->server_rule = common;
	gate_share(retriever->gate, retriever->cap,
		   common && common->has_bandwidth ? common->bandwidth : server->bandwidth,
		   common && common->has_requests ? common->requests : server->requests);
	gate_throttle(retriever->gate, orders->throttled ? orders->bandwidth : bandwidth);
	gate_limit_requests(retriever->gate,
			    rule && rule->has_requests ? rule->requests : config->requests);
	gate_pause(retriever->gate,
		   orders->paused || (rule && rule->pause) || (common && common->pause));
}

void limits_set_tick(struct retriever *retriever)
{
	const struct volume_config *config = retriever->config;
	const time_t now = time(NULL);

	if (!config->limits && !config->server.limits)
		return;
	tzset(); /* the machine may have got another time zone */
	g_mutex_lock(&retriever->orders_lock);
	if (calendar_at(config->limits, now) != retriever->rule ||
	    calendar_at(config->server.limits, now) != retriever->server_rule)
		enforce(retriever);
	g_mutex_unlock(&retriever->orders_lock);
}

/* The end is looked for by the minute, which takes some milliseconds: once an hour will do. */
const struct calendar_rule *limits_set_rule(struct retriever *retriever, time_t *until)
{
	const time_t now = time(NULL), looked = retriever->rule_looked;

	if (now < looked || now - looked >= 3600 ||
	    (retriever->rule_until && now >= retriever->rule_until)) {
		retriever->rule_until = calendar_until(retriever->config->limits, now);
		retriever->rule_looked = now;
	}
	*until = retriever->rule_until;
	return retriever->rule;
}

struct limits_set limits_set_get(struct retriever *retriever)
{
	g_mutex_lock(&retriever->orders_lock);
	struct limits_set orders = retriever->orders;
	g_mutex_unlock(&retriever->orders_lock);
	return orders;
}

void limits_set_follow(struct retriever *retriever, const struct limits_set *orders)
{
	g_mutex_lock(&retriever->orders_lock);
	retriever->orders = *orders;
	enforce(retriever);
	g_mutex_unlock(&retriever->orders_lock);
}

void limits_set_throttle(struct retriever *retriever, uint64_t bandwidth)
{
	struct limits_set orders = limits_set_get(retriever);

	orders.throttled = true;
	orders.bandwidth = bandwidth;
	limits_set_follow(retriever, &orders);
}

void limits_set_unthrottle(struct retriever *retriever)
{
	struct limits_set orders = limits_set_get(retriever);

	orders.throttled = false;
	orders.bandwidth = 0;
	limits_set_follow(retriever, &orders);
}

void limits_set_pause(struct retriever *retriever, bool pause)
{
	struct limits_set orders = limits_set_get(retriever);

	orders.paused = pause;
	limits_set_follow(retriever, &orders);
}

void limits_set_load(struct retriever *retriever)
{
	g_autofree char *path = NULL, *text = NULL;
	struct limits_set orders = {0};

	limits_set_follow(retriever, &orders);
	if (retriever->private_fd < 0)
		return;
	path = g_strdup_printf("/proc/self/fd/%d/" ORDERS_FILE, retriever->private_fd);
	if (!g_file_get_contents(path, &text, NULL, NULL))
		return;
	if (from_text(text, &orders)) {
		limits_set_follow(retriever, &orders);
	} else {
		g_warning("%s/" MIGRATE_PRIVATE_DIR "/" ORDERS_FILE
			  ": makes no sense, and is not followed: say migratectl throttle or "
			  "pause again",
			  retriever->config->root);
	}
	retriever->saved_orders = g_steal_pointer(&text);
}

int limits_set_save(struct retriever *retriever)
{
	int ret = 0;

	g_mutex_lock(&retriever->save_lock);
	struct limits_set orders = limits_set_get(retriever);
	g_autofree char *text = to_text(&orders);
	if (retriever->private_fd >= 0 && g_strcmp0(text, retriever->saved_orders) != 0) {
		if (text)
			ret = own_save(retriever->private_fd, ORDERS_FILE, text, strlen(text));
		else if (unlinkat(retriever->private_fd, ORDERS_FILE, 0) < 0 && errno != ENOENT)
			ret = -errno;
		if (!ret) {
			g_free(retriever->saved_orders);
			retriever->saved_orders = g_steal_pointer(&text);
		}
	}
	g_mutex_unlock(&retriever->save_lock);
	return ret;
}
