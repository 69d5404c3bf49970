/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a node has for a volume, as a listing of one line for each item: KEY, ": ", VALUE.  Two
 * listings of one volume have their lines in the same order, so that diff(1) shows what differs.
 */
#ifndef CTL_CLUSTER_ITEMS_H
#define CTL_CLUSTER_ITEMS_H

#include <glib.h>

#define ITEMS_ABSENT "none"   /* the value of what is not there */
#define ITEMS_FIRST  "volume" /* the key of each listing's first line; its value: which volume */

struct item {
	char *key, *value; /* one line of printable text; no ": " in a key */
	char *lack;	   /* why the volume cannot run here, and what to do; NULL: it can */
};

/* Of struct item, freed with the array. */
GPtrArray *items_new(const char *volume);
/* Adds an item with copies of key and value; value NULL: ITEMS_ABSENT.  The item is valid until
 * items is freed. */
struct item *items_add(GPtrArray *items, const char *key, const char *value);
void items_lack(struct item *item, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* What another node printed for the volume.  NULL with error set: one line that names the file. */
GPtrArray *items_read(const char *file, const char *volume, GError **error);

/* Calls each for every key whose values differ; a value is NULL where there is no such line.
 * Returns how many. */
typedef void (*items_differ_fn)(void *arg, const char *key, const char *here, const char *there);
unsigned items_compare(GPtrArray *here, GPtrArray *there, items_differ_fn each, void *arg);

#endif
