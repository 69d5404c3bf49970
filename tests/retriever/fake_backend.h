/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A backend that answers at once on the submitter's thread, as the test says. */
#ifndef TESTS_RETRIEVER_FAKE_BACKEND_H
#define TESTS_RETRIEVER_FAKE_BACKEND_H

#include "lib/source/backend.h"

#define FAKE_LATER 1

struct fake_backend {
	struct backend base;
	/* Fills in results; its result is the status, or FAKE_LATER: the test completes it.  NULL:
	 * 0. */
	int (*answer)(struct fake_backend *fake, struct backend_request *req);
	atomic_uint submitted;
	bool closed;
};

static inline void fake_backend_submit(struct backend *backend, struct backend_request *req)
{
	struct fake_backend *fake = (struct fake_backend *)backend;

	int status;

	backend_prepare(req);
	atomic_fetch_add(&fake->submitted, 1);
	status = fake->answer ? fake->answer(fake, req) : 0;
	if (status != FAKE_LATER)
		backend_complete(req, status);
}

static inline void fake_backend_close(struct backend *backend)
{
	((struct fake_backend *)backend)->closed = true;
}

static inline uint32_t fake_backend_max_read(struct backend *backend)
{
	return 12345;
}

static inline unsigned fake_backend_away(struct backend *backend)
{
	return 7;
}

static inline unsigned fake_backend_carries(struct backend *backend)
{
	return BACKEND_CARRIES_XATTR;
}

static inline char *fake_backend_not_carried(struct backend *backend)
{
	return g_strdup("this and that");
}

static const struct backend_ops fake_backend_ops = {
	.scheme = "fake",
	.close = fake_backend_close,
	.submit = fake_backend_submit,
	.max_read = fake_backend_max_read,
	.away = fake_backend_away,
	.carries = fake_backend_carries,
	.not_carried = fake_backend_not_carried,
};

#endif
