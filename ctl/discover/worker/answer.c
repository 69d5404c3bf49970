/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/worker/answer.h"

#include <string.h>
#include <unistd.h>

#include "lib/source/say.h"
#include "lib/base/spawn.h"

void answer_fields(const char *const *fields)
{
	if (!say(PROGRAM_FIRST_FD, fields))
		_exit(1);
}

void answer_failed(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	g_autofree char *text = g_strdup_vprintf(format, ap);
	va_end(ap);
	if (strlen(text) > SAY_ANSWER_MAX / 2)
		text[SAY_ANSWER_MAX / 2] = '\0';
	answer("failed", text);
	_exit(0);
}
