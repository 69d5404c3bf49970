/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/samples.h"

#include <string.h>

#include "ctl/check/tally.h"

#define GROUP "samples"

static const char *const keys[SAMPLE_KINDS] = {"small", "large"};

void samples_init(struct samples *samples)
{
	static const unsigned rooms[SAMPLE_KINDS] = {SAMPLES_SMALL, SAMPLES_LARGE};

	memset(samples, 0, sizeof(*samples));
	g_mutex_init(&samples->lock);
	for (unsigned i = 0; i < SAMPLE_KINDS; i++) {
		samples->kinds[i].room = rooms[i];
		samples->kinds[i].at = g_new0(struct sample, rooms[i]);
	}
}

void samples_clear(struct samples *samples)
{
	for (unsigned i = 0; i < SAMPLE_KINDS; i++) {
		for (unsigned j = 0; j < samples->kinds[i].n; j++)
			source_object_clear(&samples->kinds[i].at[j].object);
		g_free(samples->kinds[i].at);
	}
	g_mutex_clear(&samples->lock);
}

/* Where the next one goes, or NULL: it is not taken (Vitter's algorithm R).  Lock held. */
static struct sample *draw(struct samples *samples, enum sample_kind kind)
{
	const uint64_t seen = ++samples->kinds[kind].seen;
	uint64_t at;

	if (samples->kinds[kind].n < samples->kinds[kind].room)
		return &samples->kinds[kind].at[samples->kinds[kind].n++];
	at = ((uint64_t)g_random_int() << 32 | g_random_int()) % seen;
	return at < samples->kinds[kind].room ? &samples->kinds[kind].at[at] : NULL;
}

void samples_offer(struct samples *samples, const char *path, const struct source_entry *entry)
{
	const struct source_attr *attr = &entry->attr;
	struct sample *sample;

	if (!S_ISREG(attr->mode) || !attr->size || attr->elsewhere)
		return;
	g_mutex_lock(&samples->lock);
	sample = draw(samples, attr->size <= TALLY_SMALL ? SAMPLE_SMALL : SAMPLE_LARGE);
	if (sample) {
		source_object_clear(&sample->object);
		sample->object.path = g_strdup(path);
		sample->object.handle_len = entry->handle_len;
		memcpy(sample->object.handle, entry->handle, entry->handle_len);
		sample->size = attr->size;
	}
	g_mutex_unlock(&samples->lock);
}

/* ---- kept ------------------------------------------------------------------------------------ */

static char *sample_text(const struct sample *sample)
{
	g_autofree char *path = g_strescape(sample->object.path, NULL);
	g_autofree char *handle = g_base64_encode(sample->object.handle, sample->object.handle_len);

	return g_strdup_printf("%" G_GUINT64_FORMAT " [%s] %s", sample->size, handle, path);
}

void samples_save(struct samples *samples, GKeyFile *state)
{
	g_mutex_lock(&samples->lock);
	for (unsigned i = 0; i < SAMPLE_KINDS; i++) {
		g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
		g_autofree char *seen = g_strconcat(keys[i], "-seen", NULL);

		for (unsigned j = 0; j < samples->kinds[i].n; j++)
			g_ptr_array_add(list, sample_text(&samples->kinds[i].at[j]));
		g_key_file_set_string_list(state, GROUP, keys[i], (const char *const *)list->pdata,
					   list->len);
		g_key_file_set_uint64(state, GROUP, seen, samples->kinds[i].seen);
	}
	g_mutex_unlock(&samples->lock);
}

static bool load_sample(struct sample *sample, const char *text)
{
	g_auto(GStrv) fields = g_strsplit(text, " ", 3);
	g_autofree uint8_t *handle = NULL;
	gsize len;

	if (g_strv_length(fields) != 3 ||
	    !g_ascii_string_to_unsigned(fields[0], 10, 1, G_MAXUINT64, &sample->size, NULL))
		return false;
	g_strdelimit(fields[1], "[]", ' ');
	handle = g_base64_decode(g_strstrip(fields[1]), &len);
	if (len > MIGRATE_HANDLE_MAX)
		return false;
	sample->object.path = g_strcompress(fields[2]);
	sample->object.handle_len = (uint8_t)len;
	memcpy(sample->object.handle, handle, len);
	return true;
}

bool samples_load(struct samples *samples, GKeyFile *state)
{
	bool good = true;

	for (unsigned i = 0; i < SAMPLE_KINDS && good; i++) {
		g_autofree char *seen = g_strconcat(keys[i], "-seen", NULL);
		g_auto(GStrv) list = g_key_file_get_string_list(state, GROUP, keys[i], NULL, NULL);

		good = list && g_strv_length(list) <= samples->kinds[i].room;
		for (unsigned j = 0; good && list[j]; j++)
			good = load_sample(&samples->kinds[i].at[samples->kinds[i].n++], list[j]);
		samples->kinds[i].seen = g_key_file_get_uint64(state, GROUP, seen, NULL);
	}
	return good;
}
