/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/cap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/error.h"

#define MAGIC	"QMcap01\n"
#define PLACES	512
#define SECOND	1000000000LL
#define BURST	(SECOND / 5) /* what was not used before is not made up for */
#define WAITING (CAP_WAIT_MS * (SECOND / 1000))
#define LARGEST ((uint64_t)16 << 20) /* of a request */
#define SLACK	(60 * SECOND)

/* Times are CLOCK_MONOTONIC, in nanoseconds: the machine's, and the file is in /run. */
struct shared {
	char magic[8];
	_Atomic int64_t bytes_free, calls_free;
	_Atomic int64_t waits_until[PLACES];
};

/* A rate, and when this process may go on at its share of it. */
struct pace {
	_Atomic uint64_t rate; /* a second; 0: no limit */
	_Atomic int64_t *shared;
	int64_t own;
};

struct cap {
	struct shared *shared;
	int fd, place; /* place: -1: there were too many processes */
	struct pace bytes, calls;
};

/* ---- the file -------------------------------------------------------------------------------- */

static int lock_place(int fd)
{
	for (int i = 0; i < PLACES; i++) {
		struct flock lock = {
			.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1};

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
			return i;
	}
	return -1;
}

static bool is_own_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022)) {
		errno = EPERM;
		return false;
	}
	/* Never cut: others have it mapped. */
	return st.st_size >= (off_t)sizeof(struct shared) ||
	       ftruncate(fd, sizeof(struct shared)) == 0;
}

struct cap *cap_open(const char *path, GError **error)
{
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct shared *shared = MAP_FAILED;
	struct cap *cap;

	if (fd >= 0 && is_own_file(fd))
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED) {
		error_set(error, errno,
			  "%s: %s; the volumes of one old server share it: remove it, it is "
			  "made anew",
			  path, g_strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	if (memcmp(shared->magic, MAGIC, sizeof(shared->magic)) != 0) {
		memset(shared, 0, sizeof(*shared));
		memcpy(shared->magic, MAGIC, sizeof(shared->magic));
	}
	cap = g_new0(struct cap, 1);
	cap->shared = shared;
	cap->fd = fd;
	cap->place = lock_place(fd);
	cap->bytes.shared = &shared->bytes_free;
	cap->calls.shared = &shared->calls_free;
	return cap;
}

void cap_close(struct cap *cap)
{
	if (!cap)
		return;
	if (cap->place >= 0)
		atomic_store(&cap->shared->waits_until[cap->place], 0);
	munmap(cap->shared, sizeof(*cap->shared));
	close(cap->fd);
	g_free(cap);
}

/* ---- taking ---------------------------------------------------------------------------------- */

void cap_limit(struct cap *cap, uint64_t bandwidth, unsigned requests)
{
	cap->bytes.rate = bandwidth;
	cap->calls.rate = requests;
	cap->bytes.own = cap->calls.own = 0;
}

uint64_t cap_bandwidth(struct cap *cap)
{
	return cap->bytes.rate;
}

unsigned cap_requests(struct cap *cap)
{
	return (unsigned)cap->calls.rate;
}

static unsigned count_waiting(struct cap *cap, int except, int64_t now)
{
	unsigned n = 0;

	for (int i = 0; i < PLACES; i++) {
		int64_t until =
			atomic_load_explicit(&cap->shared->waits_until[i], memory_order_relaxed);

		n += i != except && until > now && until <= now + WAITING;
	}
	return n;
}

unsigned cap_waiting(struct cap *cap)
{
	return count_waiting(cap, -1, g_get_monotonic_time() * 1000);
}

/* How long n take at the rate; 1 ns at least. */
static int64_t duration(const struct pace *pace, uint64_t n)
{
	return (int64_t)((double)n / (double)pace->rate * (double)SECOND) + 1;
}

static bool is_free(struct pace *pace, unsigned others, int64_t now)
{
	int64_t until;

	if (!pace->rate)
		return true;
	until = atomic_load(pace->shared);
	if (until > now + SLACK + duration(pace, LARGEST)) {
		atomic_compare_exchange_strong(pace->shared, &until, now);
		until = now;
	}
	return until <= now && (!others || pace->own <= now);
}

static void pay(struct pace *pace, uint64_t n, unsigned others, int64_t now)
{
	int64_t until, cost;

	if (!pace->rate || !n)
		return;
	cost = duration(pace, n);
	until = atomic_load(pace->shared);
	while (!atomic_compare_exchange_weak(pace->shared, &until, MAX(until, now - BURST) + cost))
		;
	pace->own = MAX(pace->own, now - BURST) + cost * (1 + (int64_t)others);
}

void cap_give_back(struct cap *cap, uint64_t bytes)
{
	const int64_t cost = cap->bytes.rate && bytes ? duration(&cap->bytes, bytes) : 0;

	atomic_fetch_sub(cap->bytes.shared, cost);
	cap->bytes.own -= cost;
}

bool cap_take(struct cap *cap, uint64_t bytes)
{
	const int64_t now = g_get_monotonic_time() * 1000;
	const unsigned others = count_waiting(cap, cap->place, now);
	const bool passes =
		is_free(&cap->calls, others, now) && (!bytes || is_free(&cap->bytes, others, now));

	if (passes) {
		pay(&cap->calls, 1, others, now);
		pay(&cap->bytes, bytes, others, now);
	} else if (cap->place >= 0) {
		atomic_store(&cap->shared->waits_until[cap->place], now + WAITING);
	}
	return passes;
}
