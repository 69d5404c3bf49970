/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/calendar.h"

#include <string.h>

#define DAY		 1440 /* minutes */
#define WEEK_AND_ONE_DAY (8 * DAY)

struct calendar {
	GArray *rules; /* of struct calendar_rule */
};

static const char *const day_names[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

/* ---- reading --------------------------------------------------------------------------------- */

/* The number of the day that text begins with, or -1. */
static int find_day(const char *text)
{
	for (int i = 0; i < (int)G_N_ELEMENTS(day_names); i++)
		if (!g_ascii_strncasecmp(text, day_names[i], 3))
			return i;
	return -1;
}

static bool parse_days(const char *text, unsigned *days)
{
	g_auto(GStrv) parts = g_strsplit(text, ",", -1);

	*days = 0;
	for (char **part = parts; *part; part++) {
		int first = find_day(*part), last = first;
		const char *rest = first < 0 ? "" : *part + 3;

		if (*rest == '-' || g_str_has_prefix(rest, "..")) {
			rest += *rest == '-' ? 1 : 2;
			last = find_day(rest);
			rest = last < 0 ? "" : rest + 3;
		}
		if (first < 0 || last < 0 || *rest)
			return false;
		for (int day = first;; day = (day + 1) % 7) {
			*days |= 1u << day;
			if (day == last)
				break;
		}
	}
	return *days != 0;
}

/* "HH:MM"; *text moves behind it. */
static bool parse_time(const char **text, unsigned *minutes)
{
	const char *p = *text;
	unsigned hours, rest;

	if (!g_ascii_isdigit(p[0]) || !g_ascii_isdigit(p[1]) || p[2] != ':' ||
	    !g_ascii_isdigit(p[3]) || !g_ascii_isdigit(p[4]))
		return false;
	hours = (unsigned)(p[0] - '0') * 10 + (unsigned)(p[1] - '0');
	rest = (unsigned)(p[3] - '0') * 10 + (unsigned)(p[4] - '0');
	*minutes = hours * 60 + rest;
	*text = p + 5;
	return rest < 60 && *minutes <= DAY;
}

static bool parse_span(const char *text, struct calendar_rule *rule)
{
	if (!parse_time(&text, &rule->from) || *text++ != '-' || !parse_time(&text, &rule->to) ||
	    *text || rule->from == rule->to || rule->from == DAY)
		return false;
	if (rule->to < rule->from)
		rule->to += DAY;
	return true;
}

bool calendar_parse_requests(const char *text, unsigned *requests)
{
	guint64 value;

	if (!g_ascii_string_to_unsigned(text, 10, 0, CALENDAR_REQUESTS_MAX, &value, NULL))
		return false;
	*requests = (unsigned)value;
	return true;
}

static bool parse_limit(const char *text, struct calendar_rule *rule)
{
	if (!strcmp(text, "pause") && !rule->pause)
		return rule->pause = true;
	if (g_str_has_suffix(text, "/s") && !rule->has_requests) {
		g_autofree char *number = g_strndup(text, strlen(text) - 2);

		return rule->has_requests = calendar_parse_requests(number, &rule->requests);
	}
	return !rule->has_bandwidth &&
	       (rule->has_bandwidth = config_parse_size(text, &rule->bandwidth));
}

static bool parse_words(char **words, struct calendar_rule *rule, GError **error)
{
	const char *wrong = "days";

	rule->days = (1u << 7) - 1;
	if (*words && !g_ascii_isdigit(**words) && !parse_days(*words++, &rule->days))
		return parse_wrong(error,
				   "\"%s\": no days; write for example Mon-Fri or Sat,Sun, or "
				   "leave them out for every day",
				   words[-1]);
	wrong = *words ? *words++ : "";
	if (!parse_span(wrong, rule))
		return parse_wrong(error,
				   "\"%s\": no times; write for example 08:00-18:00, or "
				   "00:00-24:00 for all of a day",
				   wrong);
	if (!*words)
		return parse_wrong(error,
				   "\"%s\": there is no limit; add bytes a second (10M), "
				   "requests a second (200/s), 0 for none of them, or pause",
				   rule->text);
	for (; *words; words++)
		if (!parse_limit(*words, rule))
			return parse_wrong(error,
					   "\"%s\": no limit; write bytes a second (10M), "
					   "requests a second (200/s), or pause, each once",
					   *words);
	return true;
}

static bool parse_rule(const char *text, struct calendar_rule *rule, GError **error)
{
	g_auto(GStrv) parts = g_strsplit_set(text, " \t", -1);
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

	for (char **part = parts; *part; part++)
		if (**part)
			g_strv_builder_add(builder, *part);
	g_auto(GStrv) words = g_strv_builder_end(builder);
	rule->text = g_strjoinv(" ", words);
	return parse_words(words, rule, error);
}

static void clear_rule(gpointer data)
{
	g_free(((struct calendar_rule *)data)->text);
}

struct calendar *calendar_parse(const char *text, GError **error)
{
	struct calendar *calendar = g_new0(struct calendar, 1);
	g_auto(GStrv) parts = g_strsplit(text, ";", -1);

	calendar->rules = g_array_new(FALSE, TRUE, sizeof(struct calendar_rule));
	g_array_set_clear_func(calendar->rules, clear_rule);
	for (char **part = parts; *part; part++) {
		struct calendar_rule rule = {0};

		if (!*g_strstrip(*part))
			continue;
		bool good = parse_rule(*part, &rule, error);
		g_array_append_val(calendar->rules, rule);
		if (!good) {
			calendar_free(calendar);
			return NULL;
		}
	}
	if (!calendar->rules->len) {
		parse_wrong(error, "no rule; remove the line, or write for example Mon-Fri "
				   "08:00-18:00 10M");
		calendar_free(calendar);
		return NULL;
	}
	return calendar;
}

bool calendar_divide(struct calendar *calendar, unsigned parts)
{
	struct calendar_rule *rules = (struct calendar_rule *)(void *)calendar->rules->data;

	for (unsigned i = 0; i < calendar->rules->len; i++)
		if ((rules[i].bandwidth && rules[i].bandwidth < parts) ||
		    (rules[i].requests && rules[i].requests < parts))
			return false;
	for (unsigned i = 0; i < calendar->rules->len; i++) {
		rules[i].bandwidth /= parts;
		rules[i].requests /= parts;
	}
	return true;
}

void calendar_free(struct calendar *calendar)
{
	if (!calendar)
		return;
	g_array_free(calendar->rules, TRUE);
	g_free(calendar);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool has(const struct calendar_rule *rule, unsigned day, unsigned minute)
{
	const unsigned before = (day + 6) % 7;

	return (rule->days & 1u << day && minute >= rule->from && minute < rule->to) ||
	       (rule->days & 1u << before && minute + DAY >= rule->from && minute + DAY < rule->to);
}

const struct calendar_rule *calendar_at(const struct calendar *calendar, time_t when)
{
	struct tm tm;

	if (!calendar || !localtime_r(&when, &tm))
		return NULL;
	for (unsigned i = 0; i < calendar->rules->len; i++) {
		const struct calendar_rule *rule =
			&g_array_index(calendar->rules, struct calendar_rule, i);

		if (has(rule, (unsigned)tm.tm_wday, (unsigned)(tm.tm_hour * 60 + tm.tm_min)))
			return rule;
	}
	return NULL;
}

/* Looks at each minute: so it does not matter which minutes a change of the clock skips or
 * repeats. */
time_t calendar_until(const struct calendar *calendar, time_t when)
{
	const struct calendar_rule *rule = calendar_at(calendar, when);
	time_t next = when - when % 60;

	for (unsigned i = 0; calendar && i < WEEK_AND_ONE_DAY; i++) {
		next += 60;
		if (calendar_at(calendar, next) != rule)
			return next;
	}
	return 0;
}
