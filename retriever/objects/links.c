/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/links.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/filetree.h"
#include "lib/base/mtime.h"
#include "retriever/objects/templates.h"

#define LINKED_FILE	"linked-names" /* of struct linked_name */
#define OLD_LINKED_FILE "linked"       /* of fileids; was written when these alone were names */
#define CLAIMED_FILE	"claimed"
#define LINK_COUNTS_MAX 1000000 /* about 100 MB */

struct linked_name {
	struct link_id id;
	uint64_t version, size;
	int64_t mtime;
};

/* An object on the old server. */
struct one {
	struct one *next; /* with the same number */
	struct linked_name name;
	guint made; /* names */
};

struct links {
	GMutex lock;	  /* only that of templates is taken under it; held over disk access */
	GHashTable *ones; /* struct one, some of whose names are made, by number */
	guint n_ones;
	GHashTable *claims; /* objects, by inode of a prior copy */
	guint saved;	    /* of claims */
};

static void free_ones(gpointer p)
{
	struct one *next;

	for (struct one *one = p; one; one = next) {
		next = one->next;
		g_free(one);
	}
}

struct links *links_new(void)
{
	struct links *links = g_new0(struct links, 1);

	g_mutex_init(&links->lock);
	links->ones = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_ones);
	links->claims = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	return links;
}

static void forget_all(struct links *links)
{
	g_hash_table_remove_all(links->ones);
	links->n_ones = 0;
}

void links_free(struct links *links)
{
	g_hash_table_destroy(links->ones);
	g_hash_table_destroy(links->claims);
	g_mutex_clear(&links->lock);
	g_free(links);
}

/* ---- which object ---- */

static uint64_t version_of(const struct source_attr *attr)
{
	const uint64_t fields[] = {attr->mode,
				   attr->size,
				   attr->nlink,
				   attr->uid,
				   attr->gid,
				   (uint64_t)attr->mtime,
				   (uint64_t)attr->ctime,
				   attr->rdev};

	return source_hash(fields, sizeof fields);
}

void links_name_apart(char name[LINK_NAME_LEN], uint32_t project, const struct source_attr *attr)
{
	const uint64_t version[] = {attr->size, (uint64_t)attr->mtime};
	const size_t len = strlen(name);

	g_snprintf(name + len, LINK_NAME_LEN - len, ".%u-%" G_GINT64_MODIFIER "x", project,
		   source_hash(version, sizeof version));
}

struct link_id links_id(const struct source_attr *attr)
{
	if (attr->object)
		return (struct link_id){attr->number, attr->object};
	return (struct link_id){backend_fileid(attr->fileid, attr->fs, 0), version_of(attr)};
}

uint64_t links_number(const struct source_attr *attr)
{
	const struct link_id id = links_id(attr);

	return source_hash(&id, sizeof id);
}

void links_name(char name[LINK_NAME_LEN], const struct link_id *id)
{
	g_snprintf(name, LINK_NAME_LEN, "%016" G_GINT64_MODIFIER "x-%016" G_GINT64_MODIFIER "x",
		   id->fileid, id->object);
}

/* ---- what is known of them ---- */

/* Lock held. */
static struct one *find(const struct links *links, const struct link_id *id)
{
	struct one *one = g_hash_table_lookup(links->ones, &id->fileid);

	while (one && one->name.id.object != id->object)
		one = one->next;
	return one;
}

/* Lock held.  NULL: there are too many. */
static struct one *note_link(struct links *links, const struct linked_name *name)
{
	struct one *one = find(links, &name->id), *first;

	if (!one && links->n_ones >= LINK_COUNTS_MAX)
		return NULL;
	if (!one) {
		one = g_new0(struct one, 1);
		first = g_hash_table_lookup(links->ones, &name->id.fileid);
		if (first) {
			one->next = first->next;
			first->next = one;
		} else {
			g_hash_table_insert(links->ones,
					    g_memdup2(&name->id.fileid, sizeof(uint64_t)), one);
		}
		links->n_ones++;
	}
	if (one->name.size != name->size || one->name.mtime != name->mtime)
		one->made = 0; /* too few is no harm */
	one->name = *name;
	return one;
}

/* Lock held. */
static void forget_link(struct links *links, const struct link_id *id)
{
	struct one *first = g_hash_table_lookup(links->ones, &id->fileid), *one = find(links, id);

	if (!one)
		return;
	links->n_ones--;
	if (one == first && !one->next) {
		g_hash_table_remove(links->ones, &id->fileid);
		return;
	}
	if (one == first) { /* the next one takes its place in the table */
		one = first->next;
		*first = *one;
	} else {
		for (struct one *before = first;; before = before->next)
			if (before->next == one) {
				before->next = one->next;
				break;
			}
	}
	g_free(one);
}

static struct linked_name name_of_link(const struct source_attr *attr)
{
	return (struct linked_name){links_id(attr), version_of(attr), attr->size, attr->mtime};
}

/*
 * One more name is made.  The provisional name is removed with the last name, so that the link
 * count is right.  It must not be removed earlier, or the other names would become another file.
 * So a name is counted after it was made, in memory and then in .migrate/linked-names; if a crash
 * loses a line of that list, the count is too low, and the provisional name stays until the end.
 */
void links_count(struct retriever *retriever, const struct source_attr *attr)
{
	const struct linked_name made = name_of_link(attr);
	struct links *links = retriever->links;
	char name[LINK_NAME_LEN];
	struct one *one;
	int fd;

	g_mutex_lock(&links->lock);
	one = note_link(links, &made);
	if (one && ++one->made >= attr->nlink) {
		forget_link(links, &made.id);
		links_name(name, &made.id);
		unlinkat(retriever->links_fd, name, 0);
	} else {
		fd = openat(retriever->private_fd, LINKED_FILE,
			    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (fd >= 0 && write(fd, &made, sizeof made) < 0)
			g_warning("%s: %s", LINKED_FILE, g_strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	g_mutex_unlock(&links->lock);
}

/* ---- whether a provisional name is the object's as it is now ---- */

/* Bytes that clients changed are of whatever version; what they did not touch must be of that one.
 */
static bool is_of_stub(struct retriever *retriever, const struct migrate_record *rec,
		       bool by_number, const struct source_entry *entry)
{
	if (by_number && entry->attr.object &&
	    (rec->flags & (MIGRATE_REC_HANDLE | MIGRATE_REC_HANDLE_DIFF)) &&
	    !templates_has(retriever->templates, rec, entry->handle, entry->handle_len))
		return false;
	return (rec->flags & (MIGRATE_REC_CLIENT | MIGRATE_REC_LOST)) ||
	       (rec->size == entry->attr.size && rec->mtime == entry->attr.mtime);
}

static bool is_data(const struct stat *st, uint64_t size, int64_t mtime)
{
	return (!S_ISREG(st->st_mode) || (uint64_t)st->st_size == size) &&
	       mtime_is(st->st_mtim, mtime);
}

/* Whether the mtime was set since .migrate/links was made, so by a client. */
static bool is_newer_than_store(const struct retriever *retriever, const struct stat *st)
{
	struct statx links;

	return statx(retriever->links_fd, "", AT_EMPTY_PATH, STATX_BTIME, &links) < 0 ||
	       !(links.stx_mask & STATX_BTIME) || st->st_mtim.tv_sec >= links.stx_btime.tv_sec;
}

/* Lock held.  one: what is known of it, or NULL.  by_number: it may be of another object. */
static bool is_of(struct retriever *retriever, const char *name, bool by_number,
		  const struct source_entry *entry, const struct one *one)
{
	int fd = openat(retriever->links_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), ret = -1;
	struct migrate_record rec;
	struct stat st;
	bool is = fd >= 0 && fstat(fd, &st) == 0 &&
		  (st.st_mode & S_IFMT) == (entry->attr.mode & S_IFMT);

	if (is && S_ISREG(st.st_mode)) {
		ret = migrate_record_load(fd, &rec);
		if (ret > 0) {
			is = is_of_stub(retriever, &rec, by_number, entry);
			migrate_record_clear(&rec);
		}
	}
	if (is && ret <= 0)
		is = is_data(&st, entry->attr.size, entry->attr.mtime) ||
		     (one ? !is_data(&st, one->name.size, one->name.mtime)
			  : is_newer_than_store(retriever, &st));
	if (fd >= 0)
		close(fd);
	return is;
}

/* Lock held.  It may be the last name of what clients have open. */
static void put_off(struct retriever *retriever, const char *name)
{
	char as[LINK_NAME_LEN];
	struct stat st;

	if (fstatat(retriever->links_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	g_snprintf(as, sizeof as, "%.40s.%" G_GINT64_MODIFIER "x", name, (guint64)st.st_ino);
	if (st.st_nlink > 1 || renameat(retriever->links_fd, name, retriever->links_fd, as) < 0)
		unlinkat(retriever->links_fd, name, 0);
}

enum old { OLD_NONE, OLD_TAKEN, OLD_OTHER };

static struct link_id old_id(uint64_t fileid)
{
	return (struct link_id){fileid, 0};
}

static void old_name(char name[LINK_NAME_LEN], uint64_t fileid)
{
	g_snprintf(name, LINK_NAME_LEN, "%016" G_GINT64_MODIFIER "x", fileid);
}

/*
 * Lock held.  A provisional name that is a number alone was made when there were no others.  The
 * first object of that number that it may be has it from now on.
 */
static enum old take_old(struct retriever *retriever, const struct source_entry *entry,
			 const char *name, const struct linked_name *begun)
{
	const struct link_id was = old_id(backend_fileid(entry->attr.fileid, entry->attr.fs, 0));
	struct links *links = retriever->links;
	struct one *one, *old = find(links, &was);
	char as[LINK_NAME_LEN];

	old_name(as, was.fileid);
	if (faccessat(retriever->links_fd, as, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return OLD_NONE;
	if (!is_of(retriever, as, true, entry, NULL) ||
	    renameat2(retriever->links_fd, as, retriever->links_fd, name, RENAME_NOREPLACE) < 0)
		return OLD_OTHER;
	one = note_link(links, begun);
	if (one && old)
		one->made = old->made;
	forget_link(links, &was);
	return OLD_TAKEN;
}

/* Lock held: whether it may be another one of its number there, some of whose names are made. */
static bool may_be_another(const struct links *links, const struct source_attr *attr,
			   const struct linked_name *name)
{
	const struct one *one = g_hash_table_lookup(links->ones, &name->id.fileid);

	for (; one; one = one->next)
		if (one->name.id.object != name->id.object &&
		    (!attr->object || one->name.version == name->version))
			return true;
	return false;
}

/* Lock held.  There is no provisional name. */
static const char *begin_new(struct retriever *retriever, const struct source_entry *entry,
			     const char *name, const struct linked_name *begun)
{
	struct links *links = retriever->links;
	const struct one *one = find(links, &begun->id);
	enum old old = take_old(retriever, entry, name, begun);

	if (old == OLD_TAKEN)
		return NULL;
	if (one && one->made)
		return "that one can have no more names here";
	if (old == OLD_OTHER || may_be_another(links, &entry->attr, begun))
		return "the old server tells of other handles, times or attributes";
	return NULL;
}

const char *links_begin(struct retriever *retriever, const struct source_entry *entry)
{
	const struct linked_name begun = name_of_link(&entry->attr);
	struct links *links = retriever->links;
	const char *apart = NULL;
	char name[LINK_NAME_LEN];
	const struct one *one;

	links_name(name, &begun.id);
	g_mutex_lock(&links->lock);
	one = find(links, &begun.id);
	if (faccessat(retriever->links_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		apart = begin_new(retriever, entry, name, &begun);
	} else if (entry->attr.object && !(one && one->name.version == begun.version) &&
		   !is_of(retriever, name, false, entry, one)) {
		put_off(retriever, name);
		forget_link(links, &begun.id);
		apart = "it was changed on the old server since that one was made";
	}
	if (!find(links, &begun.id))
		note_link(links, &begun);
	g_mutex_unlock(&links->lock);
	return retriever->copying ? NULL : apart; /* its next run has all of them again */
}

bool links_find(const struct retriever *retriever, const struct migrate_binding *key, ino_t inode,
		char name[LINK_NAME_LEN])
{
	DIR *dir = retriever_list(retriever->links_fd, ".");
	struct migrate_binding found;
	const struct dirent *e;
	bool is = false;

	while (dir && !is && (e = readdir(dir))) {
		is = e->d_ino == inode && strlen(e->d_name) < LINK_NAME_LEN &&
		     migrate_binding_get(retriever->links_fd, e->d_name, &found) == 0 &&
		     migrate_binding_equal(&found, key);
		if (is)
			g_strlcpy(name, e->d_name, LINK_NAME_LEN);
	}
	if (dir)
		closedir(dir);
	return is;
}

/* ---- claims ---- */

/* Lock held. */
static void claim(struct links *links, const uint64_t pair[2])
{
	g_hash_table_insert(links->claims, g_memdup2(&pair[0], sizeof pair[0]),
			    g_memdup2(&pair[1], sizeof pair[1]));
}

/* Lock held.  A pair that was cut short is written over. */
static bool save_claim(struct retriever *retriever, const uint64_t pair[2])
{
	const size_t size = 2 * sizeof *pair;
	off_t end = (off_t)size * retriever->links->saved;
	int fd = openat(retriever->private_fd, CLAIMED_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	bool saved = fd >= 0 && pwrite(fd, pair, size, end) == (ssize_t)size && fdatasync(fd) == 0;

	retriever->links->saved += saved;
	if (fd >= 0)
		close(fd);
	return saved;
}

bool links_claim(struct retriever *retriever, uint64_t inode, const struct source_attr *attr,
		 bool keep)
{
	struct links *links = retriever->links;
	const uint64_t pair[2] = {inode, links_number(attr)};
	const uint64_t *owner;
	bool mine, room;

	g_mutex_lock(&links->lock);
	owner = g_hash_table_lookup(links->claims, &inode);
	room = g_hash_table_size(links->claims) < LINK_COUNTS_MAX;
	if (owner)
		mine = *owner == pair[1];
	else
		mine = !keep || (room && save_claim(retriever, pair));
	if (!owner && mine && room)
		claim(links, pair);
	g_mutex_unlock(&links->lock);
	return mine;
}

/* ---- what is on the disk ---- */

static FILE *open_list(const struct retriever *retriever, const char *name)
{
	int fd = openat(retriever->private_fd, name, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file && fd >= 0)
		close(fd);
	return file;
}

static void load_claims(struct retriever *retriever)
{
	FILE *file = open_list(retriever, CLAIMED_FILE);
	uint64_t pair[2];

	g_hash_table_remove_all(retriever->links->claims);
	retriever->links->saved = 0;
	while (file && fread(pair, sizeof pair, 1, file) == 1) {
		claim(retriever->links, pair);
		retriever->links->saved++;
	}
	if (file)
		fclose(file);
}

/* Lock held. */
static void load_name(struct retriever *retriever, const char *name,
		      const struct linked_name *linked)
{
	struct one *one;

	if (faccessat(retriever->links_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	one = note_link(retriever->links, linked);
	if (one)
		one->made++;
}

void links_load(struct retriever *retriever)
{
	FILE *old, *file;
	char name[LINK_NAME_LEN];
	struct linked_name linked = {0};
	uint64_t fileid;

	g_mutex_lock(&retriever->links->lock);
	load_claims(retriever);
	forget_all(retriever->links);
	old = open_list(retriever, OLD_LINKED_FILE);
	while (old && fread(&fileid, sizeof fileid, 1, old) == 1) {
		linked.id = old_id(fileid);
		old_name(name, fileid);
		load_name(retriever, name, &linked);
	}
	file = open_list(retriever, LINKED_FILE);
	while (file && fread(&linked, sizeof linked, 1, file) == 1) {
		links_name(name, &linked.id);
		load_name(retriever, name, &linked);
	}
	g_mutex_unlock(&retriever->links->lock);
	if (old)
		fclose(old);
	if (file)
		fclose(file);
}

int links_forget(struct retriever *retriever)
{
	int ret;

	g_mutex_lock(&retriever->links->lock);
	forget_all(retriever->links);
	load_claims(retriever); /* inodes that were not kept may be others' by now */
	unlinkat(retriever->private_fd, LINKED_FILE, 0);
	unlinkat(retriever->private_fd, OLD_LINKED_FILE, 0);
	ret = own_clear(retriever->links_fd);
	g_mutex_unlock(&retriever->links->lock);
	return ret;
}
