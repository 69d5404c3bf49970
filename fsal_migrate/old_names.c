/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "old_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "abstract_mem.h"

#define REPLY_LEN  200 /* bytes of a reply beside its names, at most */
#define ENTRY_LEN  32  /* of an encoded name beside its bytes, at most */
#define END_LEN	   8   /* of what ends an encoded list */
#define NUMBER_LEN 21
#define ROOM_MAX   (128 << 10) /* the retriever tells less at a time */

struct mg_old_names {
	pthread_mutex_t lock;
	struct mg_export *export; /* lock; NULL: it is gone */
};

struct mg_old_names *mg_old_names_new(struct mg_export *export)
{
	struct mg_old_names *names = gsh_calloc(1, sizeof(*names));

	pthread_mutex_init(&names->lock, NULL);
	names->export = export;
	return names;
}

void mg_old_names_close(struct mg_old_names *names)
{
	pthread_mutex_lock(&names->lock);
	names->export = NULL;
	pthread_mutex_unlock(&names->lock);
}

/* NULL: it goes; else mg_pending_end() it. */
static struct mg_export *hold_export(struct mg_old_names *names)
{
	struct mg_export *export;

	pthread_mutex_lock(&names->lock);
	export = names->export;
	if (export && !mg_pending_begin(export))
		export = NULL;
	pthread_mutex_unlock(&names->lock);
	return export;
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct wanted {
	uint64_t cookie, verifier; /* as the old server made them */
	size_t room;		   /* bytes of names */
	bool plus;
};

uint64_t *mg_old_names_cookie(uint32_t procedure, void *args)
{
	READDIRPLUS3args *more = args;
	READDIR3args *names = args;

	if (procedure == NFSPROC3_READDIRPLUS &&
	    mg_old_objects_is_old_cookie(more->cookie, more->cookieverf))
		return &more->cookie;
	if (procedure == NFSPROC3_READDIR &&
	    mg_old_objects_is_old_cookie(names->cookie, names->cookieverf))
		return &names->cookie;
	return NULL;
}

static struct wanted take_call(uint64_t cookie, uint32_t procedure, const void *args)
{
	const READDIRPLUS3args *more = args;
	const READDIR3args *names = args;
	struct wanted wanted = {.cookie = cookie, .plus = procedure == NFSPROC3_READDIRPLUS};
	const size_t room = wanted.plus ? more->maxcount : names->count;

	memcpy(&wanted.verifier, wanted.plus ? more->cookieverf : names->cookieverf,
	       sizeof(wanted.verifier));
	wanted.verifier = be64toh(wanted.verifier);
	wanted.room = room > REPLY_LEN ? MIN(room, ROOM_MAX) - REPLY_LEN : 0;
	return wanted;
}

/* ---- asking the retriever -------------------------------------------------------------------- */

struct asking {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned refs;
	bool done;
	int status;
	char *text;
};

static void asking_unref(struct asking *asking)
{
	bool last;

	pthread_mutex_lock(&asking->lock);
	last = --asking->refs == 0;
	pthread_mutex_unlock(&asking->lock);
	if (!last)
		return;
	pthread_cond_destroy(&asking->changed);
	pthread_mutex_destroy(&asking->lock);
	gsh_free(asking->text);
	gsh_free(asking);
}

static void answered(void *arg, int status, const char *text)
{
	struct asking *asking = arg;

	pthread_mutex_lock(&asking->lock);
	asking->done = true;
	asking->status = status;
	asking->text = gsh_strdup(text);
	pthread_cond_signal(&asking->changed);
	pthread_mutex_unlock(&asking->lock);
	asking_unref(asking);
}

static struct asking *asking_begin(void)
{
	struct asking *asking = gsh_calloc(1, sizeof(*asking));
	pthread_condattr_t attr;

	pthread_mutex_init(&asking->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&asking->changed, &attr);
	pthread_condattr_destroy(&attr);
	asking->refs = 2;
	return asking;
}

/* NULL: not within the hold time; else asking_unref() it. */
static struct asking *ask(struct mg_volume *volume, const char *command)
{
	const struct timespec deadline = mg_deadline(volume);
	struct asking *asking = asking_begin();
	uint64_t request = migrate_control(volume->client, command, answered, asking);
	bool done;

	if (!request)
		answered(asking, -EAGAIN, "");
	pthread_mutex_lock(&asking->lock);
	while (!asking->done &&
	       pthread_cond_timedwait(&asking->changed, &asking->lock, &deadline) != ETIMEDOUT)
		;
	done = asking->done;
	pthread_mutex_unlock(&asking->lock);
	if (!done)
		migrate_cancel(volume->client, request);
	if (done)
		return asking;
	asking_unref(asking);
	return NULL;
}

/* ---- replies --------------------------------------------------------------------------------- */

/* An encoded list (RFC 1813, sections 3.3.16 and 3.3.17). */
struct list {
	const struct wanted *wanted;
	uint8_t *bytes;
	size_t len;
};

static void put_word(struct list *list, uint32_t word)
{
	word = htobe32(word);
	memcpy(list->bytes + list->len, &word, sizeof(word));
	list->len += sizeof(word);
}

static void put_number(struct list *list, uint64_t number)
{
	put_word(list, (uint32_t)(number >> 32));
	put_word(list, (uint32_t)number);
}

/* 1; 0: there is no room for it; -1: it makes no sense.  line: `FILEID COOKIE NAME`. */
static int put_name(struct list *list, const char *line)
{
	char hex[2 * MAXNAMLEN + 1];
	uint64_t fileid, cookie;
	size_t len, padded;

	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %510[0-9a-f]", &fileid, &cookie, hex) != 3)
		return -1;
	len = strlen(hex) / 2;
	padded = (len + 3) & ~(size_t)3;
	if (list->len + ENTRY_LEN + padded > list->wanted->room)
		return 0;
	put_word(list, 1);
	put_number(list, fileid);
	put_word(list, (uint32_t)len);
	memset(list->bytes + list->len, 0, padded);
	for (size_t i = 0; i < len; i++)
		sscanf(hex + 2 * i, "%2hhx", &list->bytes[list->len + i]);
	list->len += padded;
	put_number(list, cookie);
	if (list->wanted->plus) { /* neither attributes nor a handle: clients look it up */
		put_word(list, 0);
		put_word(list, 0);
	}
	return 1;
}

/* NULL: it makes no sense, or not one name has room. */
static uint8_t *put_all(struct list *list, const char *text, uint64_t *verifier)
{
	int eof, put = 1;

	list->bytes = gsh_calloc(1, list->wanted->room + END_LEN);
	if (sscanf(text, "%" SCNu64 " %d", verifier, &eof) != 2)
		put = -1;
	text = strchr(text, '\n');
	while (put > 0 && text && text[1]) {
		put = put_name(list, text + 1);
		text = strchr(text + 1, '\n');
	}
	if (put < 0 || (!list->len && !eof)) {
		gsh_free(list->bytes);
		return NULL;
	}
	put_word(list, 0);
	put_word(list, put && eof);
	return list->bytes;
}

static void release(struct xdr_uio *uio, u_int flags)
{
	if (--uio->uio_references)
		return;
	gsh_free(uio->uio_vio[0].vio_base);
	gsh_free(uio);
}

static struct xdr_uio *uio_of(const struct list *list)
{
	struct xdr_uio *uio = gsh_calloc(1, sizeof(*uio) + sizeof(uio->uio_vio[0]));

	uio->uio_release = release;
	uio->uio_count = 1;
	uio->uio_vio[0] = (struct xdr_vio){.vio_base = list->bytes,
					   .vio_head = list->bytes,
					   .vio_tail = list->bytes + list->len,
					   .vio_wrap = list->bytes + list->len,
					   .vio_length = (uint32_t)list->len,
					   .vio_type = VIO_DATA};
	return uio;
}

static struct xdr_uio **names_of(const struct wanted *wanted, void *res)
{
	return wanted->plus ? &((READDIRPLUS3res *)res)->READDIRPLUS3res_u.resok.reply.uio
			    : &((READDIR3res *)res)->READDIR3res_u.resok.reply.uio;
}

/* In place of the host's own names. */
static void replace(const struct wanted *wanted, void *res, struct xdr_uio *by)
{
	struct xdr_uio **uio = names_of(wanted, res);

	if (*uio) {
		(*uio)->uio_references = 1;
		(*uio)->uio_release(*uio, UIO_FLAG_NONE);
	}
	*uio = by;
}

static nfsstat3 put(const struct wanted *wanted, const char *text, void *res)
{
	READDIRPLUS3resok *more = &((READDIRPLUS3res *)res)->READDIRPLUS3res_u.resok;
	READDIR3resok *names = &((READDIR3res *)res)->READDIR3res_u.resok;
	struct list list = {.wanted = wanted};
	uint64_t verifier;

	if (!put_all(&list, text, &verifier))
		return NFS3ERR_IO;
	verifier = htobe64(verifier);
	memcpy(wanted->plus ? more->cookieverf : names->cookieverf, &verifier, sizeof(verifier));
	replace(wanted, res, uio_of(&list));
	return NFS3_OK;
}

static nfsstat3 bring(struct mg_volume *volume, const struct migrate_alias *old,
		      const struct wanted *wanted, void *res)
{
	char command[sizeof("names ") + 2 * MIGRATE_OLD_HANDLE_MAX + 2 * NUMBER_LEN];
	struct asking *asking;
	int len = snprintf(command, sizeof(command), "names ");
	nfsstat3 status;

	for (unsigned i = 0; i < old->old_len; i++)
		len += snprintf(command + len, sizeof(command) - (size_t)len, "%02x", old->old[i]);
	snprintf(command + len, sizeof(command) - (size_t)len, " %" PRIu64 " %" PRIu64,
		 wanted->cookie, wanted->verifier);
	asking = ask(volume, command);
	if (!asking)
		return NFS3ERR_JUKEBOX;
	if (asking->status == 0)
		status = put(wanted, asking->text, res);
	else
		status = asking->status == -EBUSY || asking->status == -EAGAIN ||
					 asking->status == -ECANCELED
				 ? NFS3ERR_JUKEBOX
				 : NFS3ERR_IO;
	asking_unref(asking);
	return status;
}

nfsstat3 mg_old_names_bring(struct mg_old_names *names, const struct migrate_alias *old,
			    uint64_t cookie, uint32_t procedure, const void *args, void *res)
{
	const struct wanted wanted = take_call(cookie, procedure, args);
	struct mg_export *export = hold_export(names);
	nfsstat3 status = NFS3ERR_JUKEBOX;

	if (export) {
		status = bring(export->volume, old, &wanted, res);
		mg_pending_end(export);
	}
	if (status)
		replace(&wanted, res, NULL);
	return status;
}
