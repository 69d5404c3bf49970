/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>

#include "common/migrate.h"

enum migrate_step migrate_bracket_next(struct migrate_bracket *bracket, int status)
{
	switch (bracket->step) {
	case MIGRATE_STEP_BEGIN:
		if (status == 0)
			return bracket->step = bracket->once && bracket->tried
						       ? MIGRATE_STEP_END
						       : MIGRATE_STEP_CHANGE;
		break;
	case MIGRATE_STEP_CHANGE:
		bracket->tried = true;
		bracket->failed = status < 0;
		return bracket->step = MIGRATE_STEP_END;
	default:
		break;
	}
	if (status == -ECONNRESET && !migrate_passed(&bracket->until))
		return bracket->step = MIGRATE_STEP_BEGIN;
	bracket->status = bracket->tried && (bracket->once || bracket->failed) ? 0 : status;
	return bracket->step = MIGRATE_STEP_ANSWER;
}
