/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/progress/source_silent.h"

#include "lib/base/log.h"

#define NEWS_S 60 /* shorter than that is none: a server that restarts */

void source_silent_tick(struct retriever *retriever)
{
	const char *source = retriever->config->source;
	const unsigned away =
		retriever->backend ? retriever->backend->ops->away(retriever->backend) : 0;

	if (away >= NEWS_S && !retriever->silent_told)
		log_event(EVENT_SOURCE_AWAY, G_LOG_LEVEL_WARNING, NULL, NULL, QM_NONE, 0,
			  "%s: the old server has not answered for %u s; who asks for what is not "
			  "here yet waits until it does",
			  source, away);
	else if (!away && retriever->silent_told)
		log_event(
			EVENT_SOURCE_BACK, G_LOG_LEVEL_MESSAGE, NULL, NULL, QM_NONE, 0,
			"%s: nobody waits any more for the old server, which had not answered for "
			"%u s",
			source, retriever->silent_told);
	if (away >= NEWS_S || !away)
		retriever->silent_told = away;
}
