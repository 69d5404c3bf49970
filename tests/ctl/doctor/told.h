/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was found, as one text; and a volume to look at. */
#ifndef TESTS_CTL_DOCTOR_TOLD_H
#define TESTS_CTL_DOCTOR_TOLD_H

#include <string.h>

#include "ctl/doctor/looks.h"
#include "tests/suite.h"

static struct volume_config volume = {
	.name = (char *)"v", .root = (char *)"/proc", .source = (char *)"file:///"};
static struct doctor doctor = {.config = &volume};

/* status: the text of a key file. */
static inline void begin_doctor(const char *status)
{
	doctor.findings = findings_new();
	doctor.status = g_key_file_new();
	ck_assert(
		g_key_file_load_from_data(doctor.status, status, (gsize)-1, G_KEY_FILE_NONE, NULL));
}

/* Whether there is just what the lines begin with, in their order. */
static inline void end_doctor(const char *expected)
{
	g_autofree char *text = findings_text(doctor.findings);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1), wanted = g_strsplit(expected, "\n", -1);

	for (unsigned i = 0; wanted[i] || lines[i]; i++)
		ck_assert_msg(wanted[i] && lines[i] && g_str_has_prefix(lines[i], wanted[i]),
			      "%s\nnot\n%s", text, expected);
	g_ptr_array_unref(doctor.findings);
	g_key_file_unref(doctor.status);
}

#endif
