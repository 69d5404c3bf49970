/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One HTTP request (RFC 9112), as systemd hands over a connection with Accept=yes.  Only GET of
 * /metrics is answered, from loopback as the unit has it; what the client says decides nothing but
 * the format.  It must have said it within a few seconds and a few KiB.
 */
#include "ctl/http.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WAIT_SECONDS 10
#define LINE_MAX_LEN 4096
#define LINES_MAX    100
#define OPEN_TYPE    "application/openmetrics-text"

static void answer_http(const char *status, const char *type, const char *body)
{
	printf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
	       "Connection: close\r\n\r\n%s",
	       status, type, strlen(body), body);
}

static enum ctl_exit refuse(const char *status, const char *body)
{
	answer_http(status, "text/plain; charset=utf-8", body);
	return CTL_OK;
}

/* FALSE: it is longer than any header that matters, or the client is gone. */
static bool read_line(char line[LINE_MAX_LEN])
{
	if (!fgets(line, LINE_MAX_LEN, stdin) || !strchr(line, '\n'))
		return false;
	line[strcspn(line, "\r\n")] = '\0';
	return true;
}

/* The headers, to the empty line; whether Accept names OpenMetrics. */
static bool read_headers(bool *open)
{
	char line[LINE_MAX_LEN];

	*open = false;
	for (unsigned i = 0; i < LINES_MAX; i++) {
		if (!read_line(line))
			return false;
		if (!*line)
			return true;
		if (!g_ascii_strncasecmp(line, "Accept:", 7) && strstr(line, OPEN_TYPE))
			*open = true;
	}
	return false;
}

enum ctl_exit ctl_http_answer(const struct ctl *ctl, ctl_metrics_fn metrics)
{
	g_autofree char *text = NULL;
	char line[LINE_MAX_LEN];
	bool open;

	alarm(WAIT_SECONDS);
	if (!read_line(line) || !read_headers(&open))
		return refuse("400 Bad Request", "not a request\n");
	alarm(0);
	g_auto(GStrv) words = g_strsplit(line, " ", 3);
	if (g_strv_length(words) != 3 || !g_str_has_prefix(words[2], "HTTP/1."))
		return refuse("400 Bad Request", "not a request of HTTP/1.1\n");
	if (strcmp(words[0], "GET"))
		return refuse("405 Method Not Allowed", "only GET\n");
	words[1][strcspn(words[1], "?")] = '\0';
	if (strcmp(words[1], "/metrics"))
		return refuse("404 Not Found", "the metrics are at /metrics\n");
	text = metrics(ctl, open);
	if (!text)
		return refuse("500 Internal Server Error",
			      "the configuration cannot be read; see the journal\n");
	answer_http("200 OK",
		    open ? OPEN_TYPE "; version=1.0.0; charset=utf-8"
			 : "text/plain; version=0.0.4; charset=utf-8",
		    text);
	return CTL_OK;
}
