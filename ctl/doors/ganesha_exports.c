/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A configuration of Ganesha (ganesha-config(8)): blocks `NAME { KEY = VALUE; BLOCK { } }`, in
 * which case does not matter, with comments from # to the end of the line, and %include FILE.
 */
#include <string.h>
#include <strings.h>

#include "ctl/doors/served.h"

#define INCLUDES_MAX 10 /* one in another */
#define BREAKS	     "{}=;,#\"'"

struct export
{
	char *id, *path;
	char *fsal; /* the outermost */
	char *last; /* the innermost, over which the others are stacked */
};

struct reader {
	GPtrArray *list;
	served_warn_fn warn;
	void *arg;
	GPtrArray *blocks;    /* names of those that are open */
	struct export export; /* the one that is open */
	GString *name;	      /* the last word, of which it is not known what it is; or empty */
	char *key;	      /* of a value that is being read, or NULL */
	GString *value;
};

/* Those that serve directories of this machine. */
static const char *const local[] = {"VFS", "XFS", "LUSTRE", "GPFS", NULL};

static bool is_word(const char *a, const char *b)
{
	return a && !strcasecmp(a, b);
}

static void warn_of(struct reader *reader, const char *file, unsigned line, const char *what)
{
	g_autofree char *text =
		g_strdup_printf("%s: line %u: %s: what it exports is not known", file, line, what);

	reader->warn(reader->arg, text);
}

static void export_clear(struct export *export)
{
	g_free(export->id);
	g_free(export->path);
	g_free(export->fsal);
	g_free(export->last);
	memset(export, 0, sizeof(*export));
}

static void end_export(struct reader *reader)
{
	struct export *export = &reader->export;
	g_autofree char *name =
		g_strdup_printf("export %s", export->id ? export->id : "without a number");
	bool known = false;

	for (unsigned i = 0; local[i]; i++)
		known |= is_word(export->last, local[i]);
	if (export->path && known)
		served_add(reader->list, name, export->path, is_word(export->fsal, "MIGRATE"));
	export_clear(export);
}

static void replace_text(char **text, const char *by)
{
	g_free(*text);
	*text = g_strdup(by);
}

static void take_export_setting(struct reader *reader)
{
	const char *const *blocks = (const char *const *)reader->blocks->pdata;
	const guint depth = reader->blocks->len;
	struct export *export = &reader->export;

	if (!depth || !is_word(blocks[0], "EXPORT"))
		return;
	if (depth == 1 && is_word(reader->key, "Path"))
		replace_text(&export->path, reader->value->str);
	else if (depth == 1 && is_word(reader->key, "Export_Id"))
		replace_text(&export->id, reader->value->str);
	if (depth < 2 || !is_word(blocks[depth - 1], "FSAL") || !is_word(reader->key, "Name"))
		return;
	if (depth == 2)
		replace_text(&export->fsal, reader->value->str);
	/* the name may stand behind the inner block */
	if (depth > 2 || !export->last)
		replace_text(&export->last, reader->value->str);
}

static void end_value(struct reader *reader)
{
	if (reader->key)
		take_export_setting(reader);
	g_clear_pointer(&reader->key, g_free);
	g_string_truncate(reader->value, 0);
	g_string_truncate(reader->name, 0);
}

static bool take_sign(struct reader *reader, char sign)
{
	switch (sign) {
	case '{':
		if (reader->key || !reader->name->len)
			return false;
		g_ptr_array_add(reader->blocks, g_strdup(reader->name->str));
		g_string_truncate(reader->name, 0);
		return true;
	case '}':
		end_value(reader); /* a ";" may be missing */
		if (!reader->blocks->len)
			return false;
		if (reader->blocks->len == 1 && is_word(reader->blocks->pdata[0], "EXPORT"))
			end_export(reader);
		g_ptr_array_remove_index(reader->blocks, reader->blocks->len - 1);
		return true;
	case '=':
		if (reader->key || !reader->name->len)
			return false;
		reader->key = g_strdup(reader->name->str);
		return true;
	case ';':
		end_value(reader);
		return true;
	default:
		return true; /* part of a list; no list is looked at */
	}
}

static void take_word(struct reader *reader, const char *word)
{
	if (reader->key && !reader->value->len)
		g_string_assign(reader->value, word);
	else if (!reader->key)
		g_string_assign(reader->name, word);
}

/* The word at *at, which is moved behind it; g_free.  NULL: its quote has no end. */
static char *read_word(const char **at, unsigned *line)
{
	const char quote = strchr("\"'", **at) ? *(*at)++ : '\0';
	GString *word = g_string_new(NULL);

	while (**at && (quote ? **at != quote : !g_ascii_isspace(**at) && !strchr(BREAKS, **at))) {
		if (quote == '"' && **at == '\\' && (*at)[1])
			(*at)++;
		*line += **at == '\n';
		g_string_append_c(word, *(*at)++);
	}
	if (quote && !**at)
		return g_string_free(word, TRUE);
	*at += quote != '\0';
	return g_string_free(word, FALSE);
}

static void read_file(struct reader *reader, const char *file, unsigned depth);

/* "%include FILE"; what other directives bring is not here. */
static bool take_directive(struct reader *reader, const char *file, const char **at, unsigned *line,
			   unsigned depth)
{
	g_autofree char *directive = read_word(at, line), *name = NULL, *path = NULL;

	*at += strspn(*at, " \t");
	name = **at ? read_word(at, line) : NULL;
	if (!is_word(directive, "%include") || !name || !*name)
		return false;
	g_autofree char *dir = g_path_get_dirname(file);
	path = g_canonicalize_filename(name, dir);
	read_file(reader, path, depth + 1);
	return true;
}

/* One word or sign.  What is wrong, or NULL. */
static const char *take_next(struct reader *reader, const char *file, const char **at,
			     unsigned *line, unsigned depth)
{
	if (**at == '#') {
		*at += strcspn(*at, "\n");
	} else if (g_ascii_isspace(**at)) {
		*line += *(*at)++ == '\n';
	} else if (strchr("{}=;,", **at)) {
		if (!take_sign(reader, *(*at)++))
			return "not understood";
	} else if (**at == '%' && !reader->key) {
		if (!take_directive(reader, file, at, line, depth))
			return "not read";
	} else {
		g_autofree char *word = read_word(at, line);

		if (!word)
			return "a quote has no end";
		take_word(reader, word);
	}
	return NULL;
}

static void read_file(struct reader *reader, const char *file, unsigned depth)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	unsigned line = 1;

	if (depth > INCLUDES_MAX) {
		warn_of(reader, file, line, "included too deep");
		return;
	}
	if (!g_file_get_contents(file, &text, NULL, &error)) {
		warn_of(reader, file, line, error->message);
		return;
	}
	for (const char *at = text; *at;) {
		const char *wrong = take_next(reader, file, &at, &line, depth);

		if (wrong)
			warn_of(reader, file, line, wrong);
	}
}

void served_by_ganesha(GPtrArray *list, const char *file, served_warn_fn warn, void *arg)
{
	struct reader reader = {.list = list,
				.warn = warn,
				.arg = arg,
				.blocks = g_ptr_array_new_with_free_func(g_free),
				.name = g_string_new(NULL),
				.value = g_string_new(NULL)};

	read_file(&reader, file, 0);
	end_value(&reader);
	if (reader.blocks->len && is_word(reader.blocks->pdata[0], "EXPORT"))
		end_export(&reader);
	g_ptr_array_unref(reader.blocks);
	g_string_free(reader.name, TRUE);
	g_string_free(reader.value, TRUE);
}
