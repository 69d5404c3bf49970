/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/copies/name_diff.h"

#include <errno.h>
#include <string.h>

#include "retriever/copies/listing_entries.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/objects/retriever.h"

uint64_t name_diff_part(bool root, const char *name, uint64_t inode)
{
	if (root && !strcmp(name, MIGRATE_LOST_FOUND))
		return 0;
	return listing_sum_mix(listing_sum_hash(name) + listing_sum_mix(inode));
}

void name_diff_sort(GArray *hashes, const GArray *without)
{
	guint n = 0;

	listing_entries_sort(hashes);
	for (guint i = 0; i < hashes->len; i++) {
		uint64_t hash = g_array_index(hashes, uint64_t, i);

		if ((!n || g_array_index(hashes, uint64_t, n - 1) != hash) &&
		    !(without && listing_entries_has(without, hash)))
			g_array_index(hashes, uint64_t, n++) = hash;
	}
	g_array_set_size(hashes, n);
}

/* Calls fn for each name.  0 or -errno. */
static int each_name(int dir_fd, bool root, void (*fn)(void *arg, const struct dirent *e),
		     void *arg)
{
	DIR *dir = retriever_list(dir_fd, ".");
	struct dirent *e;
	int ret;

	if (!dir)
		return -errno;
	while ((errno = 0, e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    !(root && !strcmp(e->d_name, MIGRATE_PRIVATE_DIR)))
			fn(arg, e);
	ret = -errno;
	closedir(dir);
	return ret;
}

struct sum {
	uint64_t *sum;
	bool root;
};

static void add_part_names(void *arg, const struct dirent *e)
{
	const struct sum *s = arg;

	*s->sum += name_diff_part(s->root, e->d_name, e->d_ino);
}

int name_diff_sum(int dir_fd, bool root, uint64_t *sum)
{
	struct sum s = {sum, root};

	*sum = 0;
	return each_name(dir_fd, root, add_part_names, &s);
}

struct look {
	const GArray *listed;
	GArray *here;
	struct name_diff *diff;
};

static void look_at_names(void *arg, const struct dirent *e)
{
	const struct look *look = arg;
	uint64_t hash = listing_sum_hash(e->d_name);

	if (listing_entries_has(look->listed, hash))
		g_array_append_val(look->here, hash);
	else
		g_ptr_array_add(look->diff->unlisted, g_strdup(e->d_name));
}

int name_diff_make(int dir_fd, bool root, const GArray *listed, struct name_diff *diff)
{
	g_autoptr(GArray) here = listing_entries_array();
	struct look look = {listed, here, diff};
	int ret;

	*diff = (struct name_diff){.unlisted = g_ptr_array_new_with_free_func(g_free),
				   .lacking = listing_entries_array()};
	ret = each_name(dir_fd, root, look_at_names, &look);
	if (ret) {
		name_diff_clear(diff);
		return ret;
	}
	listing_entries_sort(here);
	if (here->len < listed->len) {
		g_array_append_vals(diff->lacking, listed->data, listed->len);
		name_diff_sort(diff->lacking, here);
	}
	return 0;
}

void name_diff_clear(struct name_diff *diff)
{
	g_clear_pointer(&diff->unlisted, g_ptr_array_unref);
	g_clear_pointer(&diff->lacking, g_array_unref);
}
