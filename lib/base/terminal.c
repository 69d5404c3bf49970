/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/terminal.h"

#include <sys/ioctl.h>

static unsigned cells_of(gunichar c)
{
	if (g_unichar_iszerowidth(c))
		return 0;
	return g_unichar_iswide(c) ? 2 : 1;
}

unsigned terminal_cells(const char *text)
{
	unsigned cells = 0;

	for (; *text; text = g_utf8_next_char(text))
		cells += cells_of(g_utf8_get_char(text));
	return cells;
}

char *terminal_cut(const char *line, unsigned columns)
{
	g_autofree char *valid = g_utf8_make_valid(line, -1);
	const char *end = valid;

	for (unsigned cells = 0; *end; end = g_utf8_next_char(end)) {
		cells += cells_of(g_utf8_get_char(end));
		if (cells > columns)
			break;
	}
	return g_strndup(valid, (gsize)(end - valid));
}

/* How many rows the cursor is below the first one that was drawn. */
static unsigned rows_above(const char *drawn, unsigned columns)
{
	g_auto(GStrv) lines = g_strsplit(drawn ? drawn : "", "\n", -1);
	unsigned rows = 0;

	for (unsigned i = 0; lines[i]; i++) {
		const unsigned cells = terminal_cells(lines[i]);

		rows += (cells ? (cells - 1) / columns : 0) + (lines[i + 1] != NULL);
	}
	return rows;
}

char *terminal_frame(struct terminal *terminal, const char *text, unsigned rows, unsigned columns)
{
	const unsigned above = rows_above(terminal->drawn, columns);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	GString *frame = g_string_new("\r"), *drawn = g_string_new(NULL);

	if (above)
		g_string_append_printf(frame, "\033[%uA", above);
	g_string_append(frame, "\033[J");
	for (unsigned i = 0; lines[i] && (i < rows || !i); i++) {
		/* the last column is left free: terminals differ in what follows it */
		g_autofree char *cut = terminal_cut(lines[i], columns > 1 ? columns - 1 : 1);

		if (i)
			g_string_append_c(drawn, '\n');
		g_string_append(drawn, cut);
	}
	g_string_append(frame, drawn->str);
	g_free(terminal->drawn);
	terminal->drawn = g_string_free(drawn, FALSE);
	return g_string_free(frame, FALSE);
}

void terminal_size(FILE *out, unsigned *rows, unsigned *columns)
{
	struct winsize size = {0};

	ioctl(fileno(out), TIOCGWINSZ, &size);
	*rows = size.ws_row ? size.ws_row : 24;
	*columns = size.ws_col ? size.ws_col : 80;
}

void terminal_draw(struct terminal *terminal, FILE *out, const char *text)
{
	g_autofree char *frame = NULL;
	unsigned rows, columns;

	terminal_size(out, &rows, &columns);
	frame = terminal_frame(terminal, text, rows, columns);
	fputs(frame, out);
	fflush(out);
}

void terminal_leave(struct terminal *terminal, FILE *out)
{
	if (terminal->drawn && *terminal->drawn && !g_str_has_suffix(terminal->drawn, "\n"))
		putc('\n', out);
	g_clear_pointer(&terminal->drawn, g_free);
	fflush(out);
}
