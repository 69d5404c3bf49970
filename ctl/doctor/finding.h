/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What migratectl doctor has found, a line for each finding. */
#ifndef CTL_DOCTOR_FINDING_H
#define CTL_DOCTOR_FINDING_H

#include <glib.h>

enum finding_level { FINDING_OK, FINDING_WARNING, FINDING_FAULT };

struct finding {
	enum finding_level level;
	const char *what; /* static */
	char *seen,
		*remedy; /* one line of printable text each; remedy "": there is nothing to do */
};

/* Of struct finding, freed with the array. */
GPtrArray *findings_new(void);
/* remedy: NULL: nothing is to be done. */
void findings_add(GPtrArray *findings, enum finding_level level, const char *what,
		  const char *remedy, const char *format, ...) G_GNUC_PRINTF(5, 6);
enum finding_level findings_worst(const GPtrArray *findings);
/* "ok", "warning", "fault" */
const char *finding_word(enum finding_level level);
/* "fault    Guard         is not running; systemctl start ...\n" of each.  g_free. */
char *findings_text(const GPtrArray *findings);

/* What a program prints within 5 seconds, whatever its status; NULL: nothing.  g_free. */
char *finding_ask(const char *const *argv);
#define FINDING_ASK(...)                                                                           \
	finding_ask((const char *const[]){"timeout", "-k1", "5", __VA_ARGS__, NULL})

#endif
