/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines that are drawn again and again in one place of a terminal.  Each is cut to the terminal's
 * width as it is now, counted in cells, and what was drawn before is rubbed out whole, also where
 * the terminal has become narrower since and has wrapped it.  One thread.
 */
#ifndef LIB_BASE_TERMINAL_H
#define LIB_BASE_TERMINAL_H

#include <glib.h>
#include <stdio.h>

/* All zeros: nothing was drawn. */
struct terminal {
	char *drawn;
};

/* How many cells of a terminal it takes: wide characters (CJK) two, combining ones none. */
unsigned terminal_cells(const char *text);
/* As much of one line as fits; g_free.  Anything but UTF-8 is shown as "?". */
char *terminal_cut(const char *line, unsigned columns);
/* The bytes that put text in the place of what was drawn.  Its lines end in \n but for the last,
 * which may: then the cursor stays behind it.  g_free. */
char *terminal_frame(struct terminal *terminal, const char *text, unsigned rows, unsigned columns);
/* The size of the one that out is; 24 and 80 where it does not say. */
void terminal_size(FILE *out, unsigned *rows, unsigned *columns);
/* Draws it there.  "": nothing is left of it. */
void terminal_draw(struct terminal *terminal, FILE *out, const char *text);
/* What follows goes below what is drawn, which stays. */
void terminal_leave(struct terminal *terminal, FILE *out);

#endif
