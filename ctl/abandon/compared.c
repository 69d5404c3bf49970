/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/abandon/compared.h"

#include "lib/report/manifest/entry.h"

#define PROOF	"proof"
#define ALL	100000 /* the sample */
#define SECONDS (COMPARED_DAYS * INT64_C(86400))

static bool is_none(GKeyFile *proof, enum proof_status status)
{
	return !g_key_file_get_uint64(proof, PROOF, proof_status_name(status), NULL);
}

bool compared_whole(GKeyFile *status, GKeyFile *proof, int64_t now)
{
	g_autofree char *volume = g_key_file_get_string(status, "volume", "state", NULL);
	g_autofree char *state = g_key_file_get_string(proof, PROOF, "state", NULL);
	const int64_t age = now - g_key_file_get_int64(proof, PROOF, "began", NULL);

	return !g_strcmp0(volume, "whole") && !g_strcmp0(state, "through") &&
	       g_key_file_get_integer(proof, PROOF, "sample", NULL) == ALL &&
	       g_key_file_get_uint64(proof, PROOF, "objects", NULL) &&
	       !g_key_file_get_uint64(proof, PROOF, "findings", NULL) &&
	       is_none(proof, PROOF_UNFINISHED) && is_none(proof, PROOF_NOT_SAMPLED) &&
	       is_none(proof, PROOF_FAILED) && age >= 0 && age <= SECONDS;
}
