/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "clients.h"

#include <fcntl.h>
#include <sys/stat.h>

#define SECOND INT64_C(1000000000)

struct clients {
	struct retriever *retriever;
};

struct clients *clients_new(struct retriever *retriever)
{
	struct clients *clients = g_new0(struct clients, 1);

	clients->retriever = retriever;
	return clients;
}

void clients_free(struct clients *clients)
{
	g_free(clients);
}

static int64_t ns(const struct statx_timestamp *t)
{
	return t->tv_sec * SECOND + t->tv_nsec;
}

/* Without a time of birth: newer than what the old server has. */
static bool by_times(int fd, const struct source_attr *there)
{
	struct statx st;
	int64_t born;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
		return false;
	born = st.stx_mask & STATX_BTIME ? ns(&st.stx_btime) : there->mtime + 1;
	return ns(&st.stx_mtime) != there->mtime && ns(&st.stx_mtime) >= born;
}

bool proving_is_clients(struct clients *clients, int fd, const struct source_attr *there,
			enum clients_aspect aspect)
{
	return by_times(fd, there);
}

const char *clients_told_by(struct clients *clients)
{
	return "times";
}
