/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/takeover/takeover_objects.h"

#include <endian.h>
#include <string.h>

#include "abstract_mem.h"
#include "fsal_migrate/takeover/replies.h"

#define NEW_BIT	     (UINT64_C(1) << 63)
#define WORD	     4	/* bytes: the unit of XDR (RFC 4506, section 3) */
#define FATTR_LEN    84 /* of an encoded fattr3 (RFC 1813, section 2.3.5) */
#define FATTR_FILEID 52

/* ---- handles --------------------------------------------------------------------------------- */

bool mg_takeover_objects_set_pattern(struct mg_takeover_objects *objects, const void *own,
				     uint8_t own_len, const void *kernel, uint8_t len)
{
	const uint8_t *found = len ? memmem(own, own_len, kernel, len) : NULL;

	if (!found || own_len > MG_COOKIE)
		return false;
	memcpy(objects->own, own, own_len);
	objects->own_len = own_len;
	objects->at = (uint8_t)(found - (const uint8_t *)own);
	objects->len = len;
	return true;
}

bool mg_takeover_objects_has_made(const struct mg_takeover_objects *objects, const nfs_fh3 *fh)
{
	const uint8_t *bytes = (const uint8_t *)fh->data.data_val;
	const size_t flags = offsetof(file_handle_v3_t, fhflags1);
	const size_t end = objects->at + objects->len;

	return fh->data.data_len == objects->own_len && bytes[0] == objects->own[0] &&
	       (bytes[flags] & ~MG_FLAGS) == objects->own[flags] &&
	       !memcmp(bytes + flags + 1, objects->own + flags + 1, objects->at - flags - 1) &&
	       !memcmp(bytes + end, objects->own + end, objects->own_len - end);
}

bool mg_takeover_objects_find(const struct mg_takeover_objects *objects, const nfs_fh3 *fh,
			      uint8_t *own, uint8_t *own_len)
{
	struct migrate_alias alias;

	if (!migrate_old_index_find(objects->index, fh->data.data_val, fh->data.data_len, &alias) ||
	    alias.len != objects->len)
		return false;
	memcpy(own, objects->own, objects->own_len);
	memcpy(own + objects->at, alias.handle, alias.len);
	*own_len = objects->own_len;
	return true;
}

void mg_takeover_objects_make_stale(const struct mg_takeover_objects *objects, uint8_t *own,
				    uint8_t *own_len)
{
	memcpy(own, objects->own, objects->own_len);
	memset(own + objects->at, 0, objects->len);
	*own_len = objects->own_len;
}

bool mg_takeover_objects_find_old(const struct mg_takeover_objects *objects, const nfs_fh3 *fh,
				  uint64_t number, struct migrate_alias *alias)
{
	return mg_takeover_objects_has_made(objects, fh) &&
	       migrate_old_index_find_inode(objects->index, number, alias) &&
	       alias->len == objects->len &&
	       !memcmp(alias->handle, fh->data.data_val + objects->at, alias->len);
}

static void show_handle(const struct mg_takeover_objects *objects, nfs_fh3 *fh, uint64_t number)
{
	struct migrate_alias alias;

	if (mg_takeover_objects_find_old(objects, fh, number, &alias)) {
		gsh_free(fh->data.data_val);
		fh->data.data_val = gsh_malloc(alias.old_len);
		memcpy(fh->data.data_val, alias.old, alias.old_len);
		fh->data.data_len = alias.old_len;
	} else if (mg_takeover_objects_has_made(objects, fh)) {
		fh->data.data_val[offsetof(file_handle_v3_t, fhflags1)] |= MG_WAS_OLD;
	}
}

/* ---- numbers --------------------------------------------------------------------------------- */

static uint64_t number_of(const struct mg_takeover_objects *objects, uint64_t number)
{
	struct migrate_alias alias;

	return migrate_old_index_find_inode(objects->index, number, &alias) ? alias.fileid
									    : number ^ NEW_BIT;
}

void mg_takeover_objects_show_number(const struct mg_takeover_objects *objects, fattr3 *attributes)
{
	attributes->fileid = number_of(objects, attributes->fileid);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* An encoded list of names, which is shortened in place. */
struct list {
	const struct mg_takeover_objects *objects;
	const uint8_t *from, *end;
	uint8_t *to;
};

static uint32_t get_word(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return be32toh(word);
}

static uint64_t get_be64(const uint8_t *at)
{
	uint64_t number;

	memcpy(&number, at, sizeof(number));
	return be64toh(number);
}

static void put_word(struct list *list, uint32_t word)
{
	word = htobe32(word);
	memcpy(list->to, &word, sizeof(word));
	list->to += sizeof(word);
}

static void put_be64(uint8_t *at, uint64_t number)
{
	number = htobe64(number);
	memcpy(at, &number, sizeof(number));
}

static bool has(const struct list *list, size_t len)
{
	return (size_t)(list->end - list->from) >= len;
}

static bool copy(struct list *list, size_t len)
{
	if (!has(list, len))
		return false;
	memmove(list->to, list->from, len);
	list->from += len;
	list->to += len;
	return true;
}

static size_t padded(size_t len)
{
	return (len + WORD - 1) & ~(size_t)(WORD - 1);
}

/* Replaces a listed handle by the takeover handle, if that is not longer; else the handle is left
 * out, and the client looks the name up. */
static bool show_listed_handle(struct list *list, uint64_t number)
{
	struct migrate_alias alias;
	uint8_t bytes[NFS3_FHSIZE];
	nfs_fh3 fh = {.data.data_val = (char *)bytes};
	size_t len;

	if (!has(list, WORD))
		return false;
	len = get_word(list->from);
	if (len > NFS3_FHSIZE || !has(list, WORD + padded(len)))
		return false;
	memcpy(bytes, list->from + WORD, len);
	list->from += WORD + padded(len);
	fh.data.data_len = (u_int)len;
	if (!mg_takeover_objects_find_old(list->objects, &fh, number, &alias)) {
		alias.old_len = (uint8_t)len;
		memcpy(alias.old, bytes, len);
		if (mg_takeover_objects_has_made(list->objects, &fh))
			alias.old[offsetof(file_handle_v3_t, fhflags1)] |= MG_WAS_OLD;
	} else if (padded(alias.old_len) > padded(len)) {
		put_word(list, 0);
		return true;
	}
	put_word(list, 1);
	put_word(list, alias.old_len);
	memset(list->to, 0, padded(alias.old_len));
	memcpy(list->to, alias.old, alias.old_len);
	list->to += padded(alias.old_len);
	return true;
}

static bool show_plus(struct list *list, uint64_t number)
{
	uint8_t *attributes = list->to + WORD;

	if (!copy(list, WORD))
		return false;
	if (get_word(attributes - WORD)) {
		if (!copy(list, FATTR_LEN))
			return false;
		put_be64(attributes + FATTR_FILEID,
			 number_of(list->objects, get_be64(attributes + FATTR_FILEID)));
	}
	if (!has(list, WORD))
		return false;
	if (!get_word(list->from))
		return copy(list, WORD);
	list->from += WORD;
	return show_listed_handle(list, number);
}

/* Shows an entry, behind the word that says that there is one more. */
static bool show_entry(struct list *list, bool plus)
{
	uint8_t *fileid = list->to;
	uint64_t number;

	if (!copy(list, 8) || !has(list, WORD))
		return false;
	number = get_be64(fileid);
	put_be64(fileid, number_of(list->objects, number));
	return copy(list, WORD + padded(get_word(list->from))) && copy(list, 8) &&
	       (!plus || show_plus(list, number));
}

static bool show_names(const struct mg_takeover_objects *objects, struct xdr_uio *names, bool plus)
{
	struct xdr_vio *buffer = &names->uio_vio[0];
	struct list list = {.objects = objects,
			    .from = buffer->vio_head,
			    .end = buffer->vio_tail,
			    .to = buffer->vio_head};
	bool more = true;

	while (more) {
		if (!has(&list, WORD))
			return false;
		more = get_word(list.from);
		if (!copy(&list, WORD) || (more && !show_entry(&list, plus)))
			return false;
	}
	if (!copy(&list, (size_t)(list.end - list.from)))
		return false;
	buffer->vio_tail = buffer->vio_wrap = list.to;
	buffer->vio_length = (uint32_t)(list.to - buffer->vio_head);
	return true;
}

/* ---- cookies --------------------------------------------------------------------------------- */

static const char our_verifier[NFS3_COOKIEVERFSIZE] = {'Q', 'M', 'I', 'G', 'R', 'A', 'T', 'E'};

bool mg_takeover_objects_is_old_cookie(uint64_t cookie, const char *verifier)
{
	return cookie && memcmp(verifier, our_verifier, sizeof(our_verifier)) != 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

bool mg_takeover_objects_show(const struct mg_takeover_objects *objects, struct mg_brought *brought)
{
	if (brought->handle && brought->attributes)
		show_handle(objects, brought->handle, brought->attributes->fileid);
	else if (brought->handle && brought->follows)
		*brought->follows = false;
	else if (brought->handle)
		return false;
	if (brought->attributes)
		mg_takeover_objects_show_number(objects, brought->attributes);
	if (brought->verifier)
		memcpy(brought->verifier, our_verifier, sizeof(our_verifier));
	return !brought->names || show_names(objects, brought->names, brought->plus);
}
