/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The index of takeover handles: a header, two tables of chains, and after them one entry behind
 * the other, which are never moved, and changed only when they are named.  Each is in a chain by
 * its takeover handle and in one by its inode's number; a chain goes from the last entry to the
 * first, so that it ends whatever is damaged.  Tables and header are mapped, to be read: where the
 * file system is full a store through the map would be a SIGBUS (btrfs needs room to write over
 * what has its blocks), and pwrite() is an error.
 *
 * An entry is whole before a chain leads to it.  Where a power cut may have lost pages the chains
 * are made anew from the entries, up to the first that does not make sense.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "common/migrate.h"
#include "common/record.h"

#define MAGIC	 "QMOLDH2\n"
#define BITS_MIN 12
#define BITS_MAX 24 /* 256 MiB of tables */
#define PER_HEAD 4  /* objects, if there are as many as was said */
#define HEAD_LEN 4096

enum chain { BY_OLD, BY_INODE, CHAINS };
enum completeness { OPEN, COMPLETE, DOUBTED };

struct header {
	char magic[8];
	uint32_t bits;			  /* of the number of a table's chains */
	_Atomic uint32_t complete;	  /* enum completeness */
	uint8_t epoch[MIGRATE_EPOCH_LEN]; /* of the mount that it was written on */
	uint64_t end, last;		  /* where the next entry comes, and where the last is */
	_Atomic uint32_t named;		  /* counts; a futex(2), also of who can only read it */
};

struct entry {
	uint64_t next[CHAINS]; /* where the one before is, 0: none */
	uint32_t named;	       /* 0: not yet */
	uint32_t crc;	       /* of all that follows */
	uint64_t fileid, inode;
	int32_t type;
	uint8_t old_len, len;
	uint8_t bytes[MIGRATE_OLD_HANDLE_MAX + MIGRATE_NEW_HANDLE_MAX]; /* the old one first */
};

struct migrate_old_index {
	int fd;
	const struct header *header; /* mapped, with the tables */
	size_t mapped;
	const _Atomic uint64_t *heads[CHAINS];
	pthread_mutex_t lock; /* adding */
	bool dirty;	      /* lock */
};

static size_t entry_len(const struct entry *entry)
{
	return (offsetof(struct entry, bytes) + entry->old_len + entry->len + 7) & ~(size_t)7;
}

static uint32_t entry_crc(const struct entry *entry)
{
	const size_t from = offsetof(struct entry, fileid);

	return migrate_crc32c((const char *)entry + from, entry_len(entry) - from);
}

static int put(const struct migrate_old_index *index, uint64_t at, const void *data, size_t len)
{
	ssize_t written = pwrite(index->fd, data, len, (off_t)at);

	return written == (ssize_t)len ? 0 : written < 0 ? -errno : -ENOSPC;
}

static const _Atomic uint64_t *head(const struct migrate_old_index *index, enum chain chain,
				    uint32_t hash)
{
	return &index->heads[chain][hash >> (32 - index->header->bits)];
}

static const _Atomic uint64_t *head_of_old(const struct migrate_old_index *index, const void *old,
					   size_t len)
{
	return head(index, BY_OLD, migrate_crc32c(old, len));
}

static const _Atomic uint64_t *head_of_inode(const struct migrate_old_index *index, uint64_t inode)
{
	return head(index, BY_INODE, migrate_crc32c(&inode, sizeof(inode)));
}

/* False: there is none that makes sense. */
static bool read_entry(const struct migrate_old_index *index, uint64_t at, struct entry *entry)
{
	ssize_t got;

	memset(entry, 0, sizeof(*entry));
	got = pread(index->fd, entry, sizeof(*entry), (off_t)at);
	return at >= index->mapped && got >= (ssize_t)offsetof(struct entry, bytes) &&
	       entry->old_len > 0 && entry->old_len <= MIGRATE_OLD_HANDLE_MAX && entry->len > 0 &&
	       entry->len <= MIGRATE_NEW_HANDLE_MAX && got >= (ssize_t)entry_len(entry) &&
	       entry->crc == entry_crc(entry);
}

static void take(const struct entry *entry, struct migrate_alias *alias)
{
	memset(alias, 0, sizeof(*alias));
	alias->old_len = entry->old_len;
	alias->len = entry->len;
	memcpy(alias->old, entry->bytes, entry->old_len);
	memcpy(alias->handle, entry->bytes + entry->old_len, entry->len);
	alias->type = entry->type;
	alias->fileid = entry->fileid;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Where the last is, 0: there is none.  named: of those that are. */
static uint64_t find_old(const struct migrate_old_index *index, const void *old, size_t len,
			 bool named, struct entry *entry)
{
	uint64_t at = atomic_load(head_of_old(index, old, len));

	while (at && read_entry(index, at, entry)) {
		if ((entry->named || !named) && entry->old_len == len &&
		    !memcmp(entry->bytes, old, len))
			return at;
		at = entry->next[BY_OLD] < at ? entry->next[BY_OLD] : 0;
	}
	return 0;
}

static uint64_t find_inode(const struct migrate_old_index *index, uint64_t inode,
			   struct entry *entry)
{
	uint64_t at = atomic_load(head_of_inode(index, inode));

	while (at && read_entry(index, at, entry)) {
		if (entry->inode == inode)
			return at;
		at = entry->next[BY_INODE] < at ? entry->next[BY_INODE] : 0;
	}
	return 0;
}

bool migrate_old_index_find(const struct migrate_old_index *index, const void *old, size_t len,
			    struct migrate_alias *alias)
{
	struct entry entry;
	const bool found = find_old(index, old, len, true, &entry) != 0;

	if (found)
		take(&entry, alias);
	return found;
}

bool migrate_old_index_find_inode(const struct migrate_old_index *index, uint64_t inode,
				  struct migrate_alias *alias)
{
	struct entry entry, other;
	const bool found =
		find_inode(index, inode, &entry) != 0 &&
		(entry.named || !find_old(index, entry.bytes, entry.old_len, true, &other));

	if (found)
		take(&entry, alias);
	return found;
}

uint32_t migrate_old_index_named(const struct migrate_old_index *index)
{
	return atomic_load(&index->header->named);
}

bool migrate_old_index_wait(const struct migrate_old_index *index, uint32_t seen,
			    const struct timespec *deadline)
{
	return syscall(SYS_futex, &index->header->named, FUTEX_WAIT_BITSET, seen, deadline, NULL,
		       FUTEX_BITSET_MATCH_ANY) == 0 ||
	       errno == EAGAIN;
}

static int put_complete(struct migrate_old_index *index, uint32_t complete)
{
	return atomic_load(&index->header->complete) == complete
		       ? 0
		       : put(index, offsetof(struct header, complete), &complete, sizeof(complete));
}

int migrate_old_index_set_complete(struct migrate_old_index *index, bool complete)
{
	return complete || migrate_old_index_is_complete(index)
		       ? put_complete(index, complete ? COMPLETE : OPEN)
		       : 0;
}

bool migrate_old_index_is_complete(const struct migrate_old_index *index)
{
	return atomic_load(&index->header->complete) == COMPLETE;
}

int migrate_old_index_doubt(struct migrate_old_index *index)
{
	return put_complete(index, DOUBTED);
}

bool migrate_old_index_is_doubted(const struct migrate_old_index *index)
{
	return atomic_load(&index->header->complete) == DOUBTED;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Both chains lead to it. */
static int link_entry(struct migrate_old_index *index, const struct entry *entry, uint64_t at)
{
	const _Atomic uint64_t *heads[CHAINS] = {head_of_old(index, entry->bytes, entry->old_len),
						 head_of_inode(index, entry->inode)};
	int result = 0;

	for (unsigned i = 0; i < CHAINS && !result; i++)
		result = atomic_load(heads[i]) == at
				 ? 0
				 : put(index, (const char *)heads[i] - (const char *)index->header,
				       &at, sizeof(at));
	return result;
}

/* lock */
static int append_index(struct migrate_old_index *index, struct entry *entry)
{
	const uint64_t at = index->header->end, ends[] = {at + entry_len(entry), at};
	int result;

	entry->next[BY_OLD] = atomic_load(head_of_old(index, entry->bytes, entry->old_len));
	entry->next[BY_INODE] = atomic_load(head_of_inode(index, entry->inode));
	result = put(index, at, entry, entry_len(entry));
	/* In this order: an adder that is killed here has added nothing, or left a last entry that
	 * chains may not lead to. */
	if (!result)
		result = put(index, offsetof(struct header, end), ends, sizeof(ends));
	if (!result)
		result = link_entry(index, entry, at);
	index->dirty = true;
	return result;
}

static uint64_t find_known(const struct migrate_old_index *index, const struct entry *entry)
{
	struct entry old, here;
	const uint64_t at = find_old(index, entry->bytes, entry->old_len, false, &old);

	return at && old.crc == entry->crc && old.inode == entry->inode && old.len == entry->len &&
			       !memcmp(old.bytes, entry->bytes, entry->old_len + entry->len) &&
			       find_inode(index, entry->inode, &here) == at
		       ? at
		       : 0;
}

int migrate_old_index_add(struct migrate_old_index *index, uint64_t inode,
			  const struct migrate_alias *alias, uint64_t *at)
{
	struct entry entry;
	int result = 0;

	if (!alias->old_len || alias->old_len > MIGRATE_OLD_HANDLE_MAX || !alias->len ||
	    alias->len > MIGRATE_NEW_HANDLE_MAX)
		return -EINVAL;
	memset(&entry, 0, sizeof(entry));
	entry.type = alias->type;
	entry.fileid = alias->fileid;
	entry.inode = inode;
	entry.old_len = alias->old_len;
	entry.len = alias->len;
	memcpy(entry.bytes, alias->old, alias->old_len);
	memcpy(entry.bytes + alias->old_len, alias->handle, alias->len);
	entry.crc = entry_crc(&entry);
	pthread_mutex_lock(&index->lock);
	*at = find_known(index, &entry);
	if (!*at) {
		*at = index->header->end;
		result = append_index(index, &entry);
	}
	pthread_mutex_unlock(&index->lock);
	return result;
}

int migrate_old_index_name(struct migrate_old_index *index, uint64_t at)
{
	const uint32_t named = 1;
	uint32_t count;
	int result = put(index, at + offsetof(struct entry, named), &named, sizeof(named));

	if (result)
		return result;
	pthread_mutex_lock(&index->lock);
	index->dirty = true;
	count = migrate_old_index_named(index) + 1;
	result = put(index, offsetof(struct header, named), &count, sizeof(count));
	pthread_mutex_unlock(&index->lock);
	syscall(SYS_futex, &index->header->named, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return result;
}

int migrate_old_index_sync(struct migrate_old_index *index)
{
	bool dirty;

	pthread_mutex_lock(&index->lock);
	dirty = index->dirty;
	index->dirty = false;
	pthread_mutex_unlock(&index->lock);
	if (!dirty || fdatasync(index->fd) == 0)
		return 0;
	pthread_mutex_lock(&index->lock);
	index->dirty = true;
	pthread_mutex_unlock(&index->lock);
	return -errno;
}

/* ---- opening --------------------------------------------------------------------------------- */

static size_t tables_len(uint32_t bits)
{
	return CHAINS * (sizeof(uint64_t) << bits);
}

static int map(struct migrate_old_index *index)
{
	struct header head;
	struct stat st;
	void *mapped;
	ssize_t got = pread(index->fd, &head, sizeof(head), 0);

	if (got < 0 || fstat(index->fd, &st) < 0)
		return -errno;
	if (got != sizeof(head) || memcmp(head.magic, MAGIC, sizeof(head.magic)) != 0 ||
	    head.bits < BITS_MIN || head.bits > BITS_MAX ||
	    (uint64_t)st.st_size < HEAD_LEN + tables_len(head.bits))
		return -EBADMSG;
	index->mapped = HEAD_LEN + tables_len(head.bits);
	mapped = mmap(NULL, index->mapped, PROT_READ, MAP_SHARED, index->fd, 0);
	if (mapped == MAP_FAILED)
		return -errno;
	index->header = mapped;
	for (unsigned i = 0; i < CHAINS; i++)
		index->heads[i] = (_Atomic uint64_t *)(void *)((char *)mapped + HEAD_LEN) +
				  ((size_t)i << head.bits);
	return 0;
}

/* An empty one: all of it has its blocks, so that no page of it is missing later. */
static int make_index(int fd, uint64_t objects)
{
	struct header head = {.bits = BITS_MIN};
	int result;

	memcpy(head.magic, MAGIC, sizeof(head.magic));
	while (head.bits < BITS_MAX && ((uint64_t)PER_HEAD << head.bits) < objects)
		head.bits++;
	head.end = HEAD_LEN + tables_len(head.bits);
	result = -posix_fallocate(fd, 0, (off_t)head.end);
	migrate_mount_epoch(fd, head.epoch);
	if (!result && pwrite(fd, &head, sizeof(head), 0) != sizeof(head))
		result = -EIO;
	return result;
}

/* The chains, from the entries. */
static int mend(struct migrate_old_index *index)
{
	static const char none[HEAD_LEN];
	uint64_t ends[] = {index->mapped, 0}, at;
	struct entry entry;
	int result = migrate_old_index_doubt(index);

	for (at = HEAD_LEN; at < index->mapped && !result; at += sizeof(none))
		result = put(index, at, none, sizeof(none));
	if (!result)
		result = put(index, offsetof(struct header, end), ends, sizeof(ends));
	while (!result && read_entry(index, index->header->end, &entry))
		result = append_index(index, &entry);
	return result;
}

static int adopt_index(struct migrate_old_index *index)
{
	uint8_t epoch[MIGRATE_EPOCH_LEN];
	struct entry last;
	int result = 0;

	migrate_mount_epoch(index->fd, epoch);
	if (memcmp(epoch, index->header->epoch, sizeof(epoch)) != 0) {
		result = mend(index);
		if (!result)
			result = put(index, offsetof(struct header, epoch), epoch, sizeof(epoch));
	} else if (index->header->last && read_entry(index, index->header->last, &last)) {
		result = link_entry(index, &last, index->header->last);
	}
	return result;
}

static int open_index(const char *file, int flags, uint64_t objects, struct migrate_old_index **out)
{
	struct migrate_old_index *index = calloc(1, sizeof(*index));
	const bool write = flags & O_CREAT;
	struct stat st;
	int result = 0;

	*out = NULL;
	if (!index)
		return -ENOMEM;
	pthread_mutex_init(&index->lock, NULL);
	index->fd = open(file, flags | O_CLOEXEC, 0600);
	if (index->fd < 0 || fstat(index->fd, &st) < 0)
		result = -errno;
	else if (write && st.st_size < HEAD_LEN)
		result = make_index(index->fd, objects);
	if (result == 0)
		result = map(index);
	if (result == 0 && write)
		result = adopt_index(index);
	if (result == 0)
		*out = index;
	else
		migrate_old_index_close(index);
	return result;
}

int migrate_old_index_open(const char *file, struct migrate_old_index **out)
{
	return open_index(file, O_RDONLY, 0, out);
}

int migrate_old_index_create(const char *file, uint64_t objects, struct migrate_old_index **out)
{
	return open_index(file, O_RDWR | O_CREAT, objects, out);
}

void migrate_old_index_close(struct migrate_old_index *index)
{
	if (!index)
		return;
	if (index->header)
		munmap((void *)(uintptr_t)index->header, index->mapped);
	if (index->fd >= 0)
		close(index->fd);
	pthread_mutex_destroy(&index->lock);
	free(index);
}
