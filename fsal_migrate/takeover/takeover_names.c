/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/takeover/takeover_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "abstract_mem.h"
#include "fsal_migrate/takeover/takeover_objects.h"
#include "fsal_migrate/takeover/takeover_server.h"

#define REPLY_LEN  200 /* bytes of a reply besides its names, at most */
#define ENTRY_LEN  32  /* of an encoded name besides its bytes, at most */
#define END_LEN	   8   /* of the end of an encoded list */
#define NUMBER_LEN 21
#define ROOM_MAX   (128 << 10) /* the retriever gives less at a time */

/* ---- calls ----------------------------------------------------------------------------------- */

struct wanted {
	uint64_t cookie, verifier; /* as the old server made them */
	size_t room;		   /* bytes of names */
	bool plus;
};

uint64_t *mg_takeover_names_cookie(uint32_t procedure, void *args)
{
	READDIRPLUS3args *more = args;
	READDIR3args *names = args;

	if (procedure == NFSPROC3_READDIRPLUS &&
	    mg_takeover_objects_is_old_cookie(more->cookie, more->cookieverf))
		return &more->cookie;
	if (procedure == NFSPROC3_READDIR &&
	    mg_takeover_objects_is_old_cookie(names->cookie, names->cookieverf))
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

static void put_hyper(struct list *list, uint64_t number)
{
	put_word(list, (uint32_t)(number >> 32));
	put_word(list, (uint32_t)number);
}

/* Puts one name: 1; 0: there is no room; -1: the line makes no sense.  line: `FILEID COOKIE
 * NAME`. */
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
	put_hyper(list, fileid);
	put_word(list, (uint32_t)len);
	memset(list->bytes + list->len, 0, padded);
	for (size_t i = 0; i < len; i++)
		sscanf(hex + 2 * i, "%2hhx", &list->bytes[list->len + i]);
	list->len += padded;
	put_hyper(list, cookie);
	if (list->wanted->plus) { /* neither attributes nor a handle: clients look the name up */
		put_word(list, 0);
		put_word(list, 0);
	}
	return 1;
}

/* NULL: the text makes no sense, or there is no room for even one name. */
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

/* Puts the list in place of the host's names. */
static void replace(const struct wanted *wanted, void *res, struct xdr_uio *by)
{
	struct xdr_uio **uio = names_of(wanted, res);

	if (*uio) {
		(*uio)->uio_references = 1;
		(*uio)->uio_release(*uio, UIO_FLAG_NONE);
	}
	*uio = by;
}

static nfsstat3 put_names(const struct wanted *wanted, const char *text, void *res)
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

nfsstat3 mg_takeover_names_bring(struct mg_takeover_server *server, const struct migrate_alias *old,
				 uint64_t cookie, uint32_t procedure, const void *args, void *res)
{
	const struct wanted wanted = take_call(cookie, procedure, args);
	nfsstat3 status = NFS3ERR_IO;
	char rest[2 * NUMBER_LEN + 1];
	char *text;
	int result;

	snprintf(rest, sizeof(rest), " %" PRIu64 " %" PRIu64, wanted.cookie, wanted.verifier);
	result = mg_takeover_server_ask(server, "names", old->old, old->old_len, rest, &text);
	if (result == 0)
		status = put_names(&wanted, text, res);
	else if (result == -EBUSY || result == -EAGAIN || result == -ECANCELED)
		status = NFS3ERR_JUKEBOX;
	if (status)
		replace(&wanted, res, NULL);
	gsh_free(text);
	return status;
}
