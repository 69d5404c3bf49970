/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/errors_reasons.h"

#include <string.h>

static guint reason_hash(gconstpointer p)
{
	const struct error_reason *reason = p;

	return g_str_hash(reason->text) * 31 + (guint)reason->status + (guint)reason->code;
}

static gboolean reason_equal(gconstpointer a, gconstpointer b)
{
	const struct error_reason *x = a, *y = b;

	return x->status == y->status && x->code == y->code && !strcmp(x->text, y->text);
}

static void reason_free(gpointer p)
{
	struct error_reason *reason = p;

	g_free(reason->text);
	g_free(reason);
}

void errors_reasons_init(struct errors_reasons *reasons)
{
	reasons->list = g_array_new(FALSE, TRUE, sizeof(struct error_reason));
	reasons->numbers = g_hash_table_new_full(reason_hash, reason_equal, reason_free, NULL);
	g_array_set_size(reasons->list, ERROR_KINDS);
	for (guint n = 0; n < ERROR_KINDS; n++)
		errors_reasons_at(reasons, n)->code = error_kinds[n].code;
}

void errors_reasons_clear(struct errors_reasons *reasons)
{
	g_hash_table_destroy(reasons->numbers); /* has the texts */
	g_array_free(reasons->list, TRUE);
}

struct error_reason *errors_reasons_at(const struct errors_reasons *reasons, guint number)
{
	return number < reasons->list->len
		       ? &g_array_index(reasons->list, struct error_reason, number)
		       : NULL;
}

static guint free_number(struct errors_reasons *reasons, enum error_code code)
{
	guint n = ERROR_KINDS;

	while (n < reasons->list->len && errors_reasons_at(reasons, n)->count)
		n++;
	if (n == ERRORS_REASONS_MAX)
		return (guint)(error_kind(code) - error_kinds);
	if (n == reasons->list->len)
		g_array_set_size(reasons->list, n + 1);
	return n;
}

guint errors_reasons_use(struct errors_reasons *reasons, const char *text, int status,
			 enum error_code code)
{
	struct error_reason reason = {.text = (char *)text, .status = status, .code = code};
	gpointer found;
	guint n;

	if (g_hash_table_lookup_extended(reasons->numbers, &reason, NULL, &found)) {
		n = GPOINTER_TO_UINT(found);
	} else {
		n = free_number(reasons, code);
		if (!ERRORS_REASON_OTHER(n)) {
			reason.text = g_strdup(text);
			*errors_reasons_at(reasons, n) = reason;
			g_hash_table_insert(reasons->numbers, g_memdup2(&reason, sizeof reason),
					    GUINT_TO_POINTER(n));
		}
	}
	errors_reasons_at(reasons, n)->count++;
	return n;
}

void errors_reasons_leave(struct errors_reasons *reasons, guint number)
{
	struct error_reason *reason = errors_reasons_at(reasons, number);

	if (--reason->count || ERRORS_REASON_OTHER(number))
		return;
	g_hash_table_remove(reasons->numbers, reason);
	reason->text = NULL;
}
