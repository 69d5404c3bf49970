/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/error_codes.h"

#include <string.h>

const struct error_kind error_kinds[] = {
#define ROW(number, name, cause, remedy)                                                           \
	{QM_##name, "QM" #number, cause, remedy, cause ": " remedy},
	ERROR_CODES(ROW)
#undef ROW
};

const struct error_kind *error_kind(enum error_code code)
{
	size_t i = 0;

	while (i < ERROR_KINDS && error_kinds[i].code != code)
		i++;
	return i < ERROR_KINDS ? &error_kinds[i] : error_kind(QM_UNCODED);
}

const struct error_kind *error_kind_named(const char *name)
{
	for (size_t i = 0; i < ERROR_KINDS; i++)
		if (!strcmp(error_kinds[i].name, name))
			return &error_kinds[i];
	return NULL;
}

const struct error_kind *error_kind_behind(const char *text)
{
	const char *open = strrchr(text, '[');
	g_autofree char *name =
		open && g_str_has_suffix(open, "]") ? g_strndup(open + 1, strlen(open) - 2) : NULL;

	return name ? error_kind_named(name) : NULL;
}
