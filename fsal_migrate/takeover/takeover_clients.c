/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/takeover/takeover_clients.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abstract_mem.h"

#define DAY	    (24 * 3600)
#define DAYS_KEPT   30
#define SAVE_MS	    10000
#define COUNTS_MAX  65536 /* of clients and days */
#define LINE_FORMAT "%04d-%02d-%02d %s %" PRIu64 "\n"

struct count {
	int64_t day; /* since 1970, UTC */
	struct in6_addr address;
	uint64_t requests;
};

struct mg_takeover_clients {
	struct mg_takeover_clients *next;
	char *file;
	struct timespec due;
	/* lock from here on */
	pthread_mutex_t lock; /* leaf */
	bool changed;
	struct count *counts; /* sorted by day and address */
	size_t n, room;
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER; /* of all; before lock */
static struct mg_takeover_clients *all;

static int compare(const struct count *a, const struct count *b)
{
	if (a->day != b->day)
		return a->day < b->day ? -1 : 1;
	return memcmp(&a->address, &b->address, sizeof(a->address));
}

/* With lock.  When there are too many counts, no more are added. */
static void add_takeover_client(struct mg_takeover_clients *clients, const struct count *count)
{
	size_t low = 0, high = clients->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&clients->counts[middle], count) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	clients->changed = true;
	if (low < clients->n && compare(&clients->counts[low], count) == 0) {
		clients->counts[low].requests += count->requests;
		return;
	}
	if (clients->n == COUNTS_MAX)
		return;
	if (clients->n == clients->room) {
		clients->room = clients->room ? 2 * clients->room : 64;
		clients->counts =
			gsh_realloc(clients->counts, clients->room * sizeof(clients->counts[0]));
	}
	memmove(&clients->counts[low + 1], &clients->counts[low],
		(clients->n++ - low) * sizeof(clients->counts[0]));
	clients->counts[low] = *count;
}

/* lock */
static void forget_old_days(struct mg_takeover_clients *clients, int64_t today)
{
	size_t gone = 0;

	while (gone < clients->n && clients->counts[gone].day <= today - DAYS_KEPT)
		gone++;
	clients->n -= gone;
	memmove(clients->counts, clients->counts + gone, clients->n * sizeof(clients->counts[0]));
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool parse_client(const char *line, struct count *count)
{
	struct tm day = {.tm_isdst = 0};
	char address[INET6_ADDRSTRLEN], mapped[sizeof("::ffff:") + INET6_ADDRSTRLEN];

	if (sscanf(line, "%4d-%2d-%2d %45s %" SCNu64, &day.tm_year, &day.tm_mon, &day.tm_mday,
		   address, &count->requests) != 5)
		return false;
	day.tm_year -= 1900;
	day.tm_mon -= 1;
	count->day = timegm(&day) / DAY;
	snprintf(mapped, sizeof(mapped), "%s%s", strchr(address, ':') ? "" : "::ffff:", address);
	return inet_pton(AF_INET6, mapped, &count->address) == 1;
}

static void load_client(struct mg_takeover_clients *clients)
{
	FILE *file = fopen(clients->file, "re");
	struct count count;
	char line[128];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		if (parse_client(line, &count))
			add_takeover_client(clients, &count);
	fclose(file);
	clients->changed = false;
}

static void print_client(FILE *file, const struct count *count)
{
	const time_t at = count->day * DAY;
	char address[INET6_ADDRSTRLEN] = "";
	struct tm day;

	gmtime_r(&at, &day);
	if (IN6_IS_ADDR_V4MAPPED(&count->address))
		inet_ntop(AF_INET, &count->address.s6_addr[12], address, sizeof(address));
	else
		inet_ntop(AF_INET6, &count->address, address, sizeof(address));
	fprintf(file, LINE_FORMAT, day.tm_year + 1900, day.tm_mon + 1, day.tm_mday, address,
		count->requests);
}

/* 0 or -errno */
static int write_file(const char *path, const struct count *counts, size_t n)
{
	char *beside = gsh_concat(path, "~");
	FILE *file = fopen(beside, "we");
	int result = file ? 0 : -errno;

	for (size_t i = 0; file && i < n; i++)
		print_client(file, &counts[i]);
	if (file && (fflush(file) || ferror(file)))
		result = -errno;
	if (file)
		fclose(file);
	if (result == 0 && rename(beside, path) < 0)
		result = -errno;
	gsh_free(beside);
	return result;
}

void mg_takeover_clients_save(struct mg_takeover_clients *clients, bool now)
{
	struct count *copy = NULL;
	size_t n = 0;
	int result;

	pthread_mutex_lock(&clients->lock);
	if (clients->changed && (now || migrate_passed(&clients->due))) {
		forget_old_days(clients, time(NULL) / DAY);
		n = clients->n;
		copy = gsh_malloc((n + 1) * sizeof(copy[0]));
		memcpy(copy, clients->counts, n * sizeof(copy[0]));
		clients->changed = false;
		clients->due = migrate_in_ms(SAVE_MS);
	}
	pthread_mutex_unlock(&clients->lock);
	if (!copy)
		return;
	result = write_file(clients->file, copy, n);
	if (result < 0)
		LogMajor(COMPONENT_FSAL, "%s cannot be written: %s", clients->file,
			 strerror(-result));
	gsh_free(copy);
}

/* ---- all ------------------------------------------------------------------------------------- */

struct mg_takeover_clients *mg_takeover_clients_of(const char *file)
{
	struct mg_takeover_clients *clients;

	pthread_mutex_lock(&all_lock);
	for (clients = all; clients && strcmp(clients->file, file); clients = clients->next)
		;
	if (!clients) {
		clients = gsh_calloc(1, sizeof(*clients));
		clients->file = gsh_strdup(file);
		pthread_mutex_init(&clients->lock, NULL);
		clients->due = migrate_in_ms(0);
		load_client(clients);
		clients->next = all;
		all = clients;
	}
	pthread_mutex_unlock(&all_lock);
	return clients;
}

void mg_takeover_clients_count(struct mg_takeover_clients *clients,
			       const struct sockaddr_storage *caller)
{
	struct count count = {.day = time(NULL) / DAY, .requests = 1};

	if (caller->ss_family == AF_INET6) {
		count.address = ((const struct sockaddr_in6 *)caller)->sin6_addr;
	} else if (caller->ss_family == AF_INET) {
		count.address.s6_addr[10] = count.address.s6_addr[11] = 0xff;
		memcpy(&count.address.s6_addr[12], &((const struct sockaddr_in *)caller)->sin_addr,
		       4);
	}
	pthread_mutex_lock(&clients->lock);
	add_takeover_client(clients, &count);
	pthread_mutex_unlock(&clients->lock);
}
