/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mtime.h"
#include "lib/base/text.h"
#include "lib/config/config_ids.h"
#include "retriever/making/attributes.h"
#include "retriever/names/fill_page.h"
#include "retriever/objects/links.h"

/* ---- what is said ---- */

static void clear_finding(gpointer finding)
{
	proof_finding_clear(finding);
}

void compared_init(struct compared *compared)
{
	memset(compared, 0, sizeof *compared);
	compared->findings = g_array_new(FALSE, FALSE, sizeof(struct proof_finding));
	g_array_set_clear_func(compared->findings, clear_finding);
}

void compared_clear(struct compared *compared)
{
	proof_entry_clear(&compared->entry);
	g_array_unref(compared->findings);
}

void compared_find(struct compared *compared, enum proof_kind kind, int64_t since,
		   const char *format, ...)
{
	struct proof_finding finding = {.kind = kind, .since = MAX(since, 0)};
	va_list args;

	va_start(args, format);
	finding.path = g_strdup(compared->entry.path);
	finding.text = g_strdup_vprintf(format, args);
	va_end(args);
	g_array_append_val(compared->findings, finding);
	compared->entry.status = kind == PROOF_UNREAD ? PROOF_FAILED : PROOF_DIFFERENT;
}

/* One side cannot be read. */
static void fail(struct compared *compared, int status, const char *what)
{
	if (status == -ECANCELED)
		compared->stopped = true;
	else
		compared_find(compared, PROOF_UNREAD, 0, "%s: %s", what, g_strerror(-status));
}

char *compare_path(const char *dir, const char *name)
{
	return *dir ? g_strconcat(dir, "/", name, NULL) : g_strdup(name);
}

void compare_fill_here(struct proof_entry *entry, const struct stat *st)
{
	entry->mode = st->st_mode;
	entry->uid = st->st_uid;
	entry->gid = st->st_gid;
	entry->size = st->st_size;
	entry->mtime = st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec;
	entry->rdev = st->st_rdev;
	entry->nlink = st->st_nlink;
}

void compare_fill_there(struct compare *compare, struct proof_entry *entry,
			const struct source_attr *attr)
{
	const struct volume_config *config = compare->retriever->config;

	entry->mode = attr->mode;
	entry->uid = config_owner(config, false, attr->uid);
	entry->gid = config_owner(config, true, attr->gid);
	entry->size = attr->size;
	entry->mtime = attr->mtime;
	entry->rdev = attr->rdev;
	entry->nlink = attr->nlink;
}

/* ---- questions ---- */

int compare_look_up(struct compare *compare, const char *path, struct source_entry *entry)
{
	struct asked asked = {.req = {.op = BACKEND_LOOKUP, .name = entry->name}};
	int ret;

	asked.req.object.path = (char *)path;
	ret = asker_call(&compare->asker, &asked);
	if (!ret)
		directory_entry_found(entry, &asked.req);
	return ret;
}

/* One object under way. */
struct pair {
	struct compare *compare;
	const struct compare_place *place;
	struct source_entry *entry;
	struct compared *compared;
	struct source_object object; /* there */
	struct source_xattrs *xattrs;
	struct stat st; /* here */
	int fd;
	bool sampled;
};

static void find_object(struct pair *pair)
{
	source_object_clear(&pair->object);
	pair->object.handle_len = pair->entry->handle_len;
	memcpy(pair->object.handle, pair->entry->handle, pair->entry->handle_len);
	pair->object.path = g_strdup(pair->compared->entry.path);
}

/* Whether it was, where its handle is not known there any more. */
static bool found_again(struct pair *pair, int status)
{
	if (status != -ESTALE || !pair->entry->name ||
	    compare_look_up(pair->compare, pair->place->path, pair->entry))
		return false;
	find_object(pair);
	return true;
}

static int ask_old_server(struct pair *pair, enum backend_op op, struct asked *asked)
{
	for (unsigned tries = 0;; tries++) {
		int ret;

		memset(asked, 0, sizeof *asked);
		asked->req.op = op;
		asked->req.object = pair->object;
		asked->req.listed = &pair->entry->attr;
		ret = asker_call(&pair->compare->asker, asked);
		if (tries || !found_again(pair, ret))
			return ret;
	}
}

static int ask_xattrs(struct pair *pair)
{
	struct asked asked;
	int ret;

	if (!pair->compare->retriever->carries)
		return 0;
	ret = ask_old_server(pair, BACKEND_XATTRS, &asked);
	if (ret)
		return ret;
	return attributes_take_answer(&asked.req, pair->entry, &pair->xattrs) ? 0 : -ESTALE;
}

int compare_ask_xattrs(struct compare *compare, const char *dir, struct source_entry *entry,
		       struct source_xattrs **xattrs)
{
	struct compare_place place = {.path = dir};
	struct compared compared = {.entry.path = compare_path(dir, entry->name)};
	struct pair pair = {
		.compare = compare, .place = &place, .entry = entry, .compared = &compared};
	int ret = 0;

	find_object(&pair);
	if (!S_ISLNK(entry->attr.mode))
		ret = ask_xattrs(&pair);
	*xattrs = pair.xattrs;
	source_object_clear(&pair.object);
	g_free(compared.entry.path);
	return ret;
}

/* ---- content ---- */

static bool is_clients(struct pair *pair, enum clients_aspect aspect, bool differs)
{
	return proof_is_clients(pair->compare->clients, pair->fd, &pair->entry->attr, aspect,
				differs);
}

static void set_changed(struct pair *pair)
{
	if (fstat(pair->fd, &pair->st) == 0)
		compare_fill_here(&pair->compared->entry, &pair->st);
	if (!pair->compared->findings->len) /* what was found stays true */
		pair->compared->entry.status = PROOF_CHANGED;
}

/* Whether who changed it did so on the old server, and just now. */
static bool is_changed_there(struct pair *pair)
{
	struct asked asked;

	return ask_old_server(pair, BACKEND_GETATTR, &asked) == 0 &&
	       !source_attr_same(&asked.req.attr, &pair->entry->attr);
}

static void judge_content(struct pair *pair, const struct content *content)
{
	*pair->compared->entry.sha256 = 0; /* it is of no version that anybody vouches for */
	if (is_clients(pair, CLIENTS_CONTENT, true))
		set_changed(pair);
	else if (is_changed_there(pair))
		compared_find(pair->compared, PROOF_UNREAD, 0,
			      "it was changed on the old server while it was compared");
	else if (content->changed)
		compared_find(pair->compared, PROOF_CONTENT, pair->st.st_ctim.tv_sec,
			      "it ends before its size of " TEXT_COUNT,
			      TEXT_COUNTED(content->size, "bytes"));
	else
		compared_find(pair->compared, PROOF_CONTENT, pair->st.st_ctim.tv_sec,
			      "%" G_GUINT64_FORMAT " of " TEXT_COUNT
			      " differ%s, the first is byte %" G_GUINT64_FORMAT,
			      content->differ, TEXT_COUNTED(content->size, "bytes"),
			      content->zeros ? ", and are zeros here" : "", content->first);
}

static void compare_content(struct pair *pair)
{
	struct content content = {.asker = &pair->compare->asker,
				  .disk = pair->compare->disk,
				  .object = &pair->object,
				  .size = pair->entry->attr.size,
				  .dir_fd = pair->place->fd,
				  .name = pair->entry->name,
				  .bytes = &pair->compare->bytes};
	int ret = content_compare(&content);

	if (ret && !content.changed && found_again(pair, content.there)) {
		content.there = content.here = 0;
		content.differ = 0;
		ret = content_compare(&content);
	}
	pair->compared->sampled = !ret;
	pair->compared->cached = content.cached;
	g_strlcpy(pair->compared->entry.sha256, content.sha256, sizeof content.sha256);
	if (ret == -ECANCELED)
		pair->compared->stopped = true;
	else if (content.changed || (!ret && content.differ))
		judge_content(pair, &content);
	else if (ret)
		fail(pair->compared, ret,
		     content.there ? "the old server does not let it be read"
				   : "it cannot be read here");
}

static void compare_file(struct pair *pair)
{
	if (pair->entry->attr.size == (uint64_t)pair->st.st_size) {
		if (pair->sampled)
			compare_content(pair);
	} else if (is_clients(pair, CLIENTS_CONTENT, true)) {
		set_changed(pair);
	} else {
		compared_find(pair->compared, PROOF_CONTENT, pair->st.st_ctim.tv_sec,
			      "it has " TEXT_COUNT " and not %" G_GUINT64_FORMAT,
			      TEXT_COUNTED(pair->st.st_size, "bytes"), pair->entry->attr.size);
	}
}

/* ---- what is no file ---- */

static void compare_target(struct pair *pair)
{
	char here[PATH_MAX];
	ssize_t len = readlinkat(pair->fd, "", here, sizeof here - 1);
	struct asked asked;
	int ret = ask_old_server(pair, BACKEND_READLINK, &asked);

	if (len < 0 || ret) {
		fail(pair->compared, ret ? ret : -errno, "its target cannot be read");
		return;
	}
	here[len] = 0;
	pair->compared->entry.link = g_strdup(here);
	if (strcmp(here, asked.req.text) == 0)
		;
	else if (is_clients(pair, CLIENTS_CONTENT, true))
		set_changed(pair);
	else
		compared_find(pair->compared, PROOF_CONTENT, pair->st.st_ctim.tv_sec,
			      "its target is %s and not %s", here, asked.req.text);
	g_free(asked.req.text);
}

static void compare_node(struct pair *pair)
{
	const dev_t there = pair->entry->attr.rdev;
	const mode_t mode = pair->st.st_mode;

	if (S_ISLNK(mode))
		compare_target(pair);
	else if (!(S_ISCHR(mode) || S_ISBLK(mode)) || pair->st.st_rdev == there)
		;
	else if (is_clients(pair, CLIENTS_CONTENT, true))
		set_changed(pair);
	else
		compared_find(pair->compared, PROOF_CONTENT, pair->st.st_ctim.tv_sec,
			      "it is device %#llx and not %#llx",
			      (unsigned long long)pair->st.st_rdev, (unsigned long long)there);
}

/* ---- what all have ---- */

static void judge_likeness(struct pair *pair, const struct likeness *like)
{
	struct compared *compared = pair->compared;
	const int64_t since = pair->st.st_ctim.tv_sec;

	if (!like->attributes->len && !like->xattrs->len) {
		if (like->lost && compared->entry.status == PROOF_SAME)
			compared->entry.status = PROOF_LOST;
		return;
	}
	if (is_clients(pair, CLIENTS_ATTRIBUTES, true)) {
		set_changed(pair);
		return;
	}
	if (like->attributes->len)
		compared_find(compared, PROOF_ATTRIBUTES, since, "%s", like->attributes->str);
	if (like->xattrs->len)
		compared_find(compared, PROOF_XATTRS, since, "%s", like->xattrs->str);
}

static void compare_likeness(struct pair *pair)
{
	struct likeness like = {0};
	int ret = likeness_compare(pair->compare->scratches, pair->fd, &pair->entry->attr,
				   pair->xattrs, &like);

	if (ret)
		fail(pair->compared, ret, "its attributes cannot be compared here");
	else
		judge_likeness(pair, &like);
	likeness_clear(&like);
}

static void compare_mtime(struct pair *pair)
{
	const int64_t there = pair->entry->attr.mtime;
	/* as fine as this file system keeps it */
	const bool differs = !mtime_is(pair->st.st_mtim, there);

	if (differs && is_clients(pair, CLIENTS_ATTRIBUTES, true))
		set_changed(pair);
	else if (differs)
		compared_find(pair->compared, PROOF_ATTRIBUTES, pair->st.st_ctim.tv_sec,
			      "mtime %" G_GINT64_FORMAT " and not %" G_GINT64_FORMAT
			      " nanoseconds from 1970",
			      pair->compared->entry.mtime, there);
	else if (pair->compared->entry.status == PROOF_SAME)
		pair->compared->entry.status = PROOF_NOT_SAMPLED;
}

static void compare_links(struct pair *pair)
{
	const struct source_attr *attr = &pair->entry->attr;
	struct compared *compared = pair->compared;

	if (S_ISDIR(attr->mode) || attr->nlink < 2)
		return;
	compared->linked = true;
	compared->fileid = links_number(attr);
	compared->inode = pair->st.st_ino;
	if (link_pairs_note(pair->compare->linked, compared->fileid, compared->inode) ||
	    compared->entry.status == PROOF_CHANGED)
		return;
	if (is_clients(pair, CLIENTS_ATTRIBUTES, true))
		set_changed(pair);
	else
		compared_find(compared, PROOF_LINKS, pair->st.st_ctim.tv_sec,
			      "it is another object than its other names are, and one with them on "
			      "the old server; or the other way round");
}

/* Whether its mtime is that of a name which came, or went, by `rules --apply`. */
static bool is_of_rules(const struct pair *pair)
{
	return S_ISDIR(pair->st.st_mode) && pair->compare->ruled &&
	       migrate_ns(pair->st.st_mtim) > pair->entry->attr.mtime &&
	       g_hash_table_contains(pair->compare->ruled, pair->compared->entry.path);
}

static bool is_wanted(const struct pair *pair)
{
	return pair->sampled || !S_ISREG(pair->st.st_mode);
}

static void compare_all(struct pair *pair)
{
	const mode_t mode = pair->st.st_mode;
	int ret = 0;

	/* first: what it answers is newer than the listing */
	if (is_wanted(pair) && !S_ISLNK(mode))
		ret = ask_xattrs(pair);
	if (ret) {
		fail(pair->compared, ret,
		     error_kind(directory_xattrs_refused(pair->compare->retriever))->cause);
		return;
	}
	if (S_ISREG(mode))
		compare_file(pair);
	else
		compare_node(pair);
	if (pair->compared->stopped || pair->compared->entry.status == PROOF_CHANGED)
		return;
	if (is_of_rules(pair))
		pair->entry->attr.mtime = migrate_ns(pair->st.st_mtim);
	if (is_wanted(pair))
		compare_likeness(pair);
	else
		compare_mtime(pair);
	compare_links(pair);
}

/* TRUE: nothing more is to be compared. */
static bool is_unfinished(struct pair *pair)
{
	struct migrate_record rec;
	int ret = migrate_record_load(pair->fd, &rec);

	if (ret == 0)
		return false;
	if (ret < 0) {
		fail(pair->compared, ret, "its stub record cannot be read");
		return true;
	}
	pair->compared->entry.status = PROOF_UNFINISHED;
	pair->compared->names_to_come = rec.state != MIGRATE_FILLED;
	migrate_record_clear(&rec);
	return true;
}

/* fd: open, and is closed. */
static void compare_pair(struct pair *pair)
{
	struct compared *compared = pair->compared;
	const mode_t there = pair->entry->attr.mode;
	const bool other_type = (pair->st.st_mode ^ there) & S_IFMT;
	const enum clients_aspect aspect =
		S_ISDIR(pair->st.st_mode) ? CLIENTS_NAMES : CLIENTS_CONTENT;

	compare_fill_here(&compared->entry, &pair->st);
	if (is_unfinished(pair))
		return;
	if (is_clients(pair, aspect, other_type))
		set_changed(pair);
	else if (other_type)
		compared_find(compared, PROOF_TYPE, pair->st.st_ctim.tv_sec,
			      "it is of type %06o and not %06o", pair->st.st_mode & S_IFMT,
			      there & S_IFMT);
	else
		compare_all(pair);
}

/* Opens files and directories alone: opening another object may have effects. */
static int open_here(int dir_fd, const char *name, struct stat *st)
{
	struct stat before;
	int fd;

	if (fstatat(dir_fd, name, &before, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	fd = retriever_open_name(dir_fd, name,
				 S_ISREG(before.st_mode) || S_ISDIR(before.st_mode)
					 ? O_RDONLY | O_NONBLOCK | O_NOATIME
					 : O_PATH);
	if (fd < 0 || fstat(fd, st) == 0)
		return fd;
	close(fd);
	return -errno;
}

static void clear_pair(struct pair *pair)
{
	source_object_clear(&pair->object);
	g_clear_pointer(&pair->xattrs, source_xattrs_free);
	if (pair->fd >= 0)
		close(pair->fd);
}

void compare_entry(struct compare *compare, const struct compare_place *place,
		   struct source_entry *entry, bool sampled, struct compared *compared)
{
	struct pair pair = {.compare = compare,
			    .place = place,
			    .entry = entry,
			    .compared = compared,
			    .fd = -1,
			    .sampled = sampled};
	int ret = 0;

	compared->entry.path = compare_path(place->path, entry->name);
	if (!entry->has_attr)
		ret = compare_look_up(compare, place->path, entry);
	if (ret) {
		fail(compared, ret, "the old server does not tell of it any more");
		return;
	}
	compare_fill_there(compare, &compared->entry, &entry->attr);
	find_object(&pair);
	pair.fd = open_here(place->fd, entry->name, &pair.st);
	compared->missing = pair.fd == -ENOENT;
	if (pair.fd >= 0)
		compare_pair(&pair);
	else if (!compared->missing)
		fail(compared, pair.fd, "it cannot be opened here");
	clear_pair(&pair);
}

void compare_root(struct compare *compare, const struct compare_place *place,
		  const struct source_object *object, struct compared *compared)
{
	struct source_entry entry = {.has_attr = true, .attr = *place->attr};
	struct pair pair = {.compare = compare,
			    .place = place,
			    .entry = &entry,
			    .compared = compared,
			    .sampled = true};

	compared->entry.path = g_strdup("");
	source_object_copy(&pair.object, object);
	pair.fd = openat(place->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (pair.fd < 0 || fstat(pair.fd, &pair.st) < 0)
		fail(compared, -errno, "it cannot be opened here");
	else
		compare_pair(&pair);
	clear_pair(&pair);
}

/* A name at a time: a path may be longer than the kernel takes at once. */
int compare_open_here(const struct retriever *retriever, const char *path)
{
	g_auto(GStrv) names = g_strsplit(path, "/", -1);
	int fd = retriever_open_name(retriever->root_fd, ".", O_RDONLY | O_DIRECTORY);

	for (char **name = names; *name && fd >= 0; name++) {
		int below = retriever_open_name(fd, *name, O_RDONLY | O_DIRECTORY | O_NOATIME);

		close(fd);
		fd = below;
	}
	return fd;
}
