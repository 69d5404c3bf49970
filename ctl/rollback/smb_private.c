/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/smb_private.h"

#include <errno.h>

#include "ctl/rollback/smb_attrs.h"
#include "ctl/rollback/smb_set.h"
#include "lib/acl/nt_acl.h"

#define FULL	   0x1f01ffu
#define OWNER_ONLY 1u
/* MS-DTYP 2.4.4.1, 2.4.6 */
enum { OBJECT_INHERIT = 1, CONTAINER_INHERIT = 2, NO_PROPAGATE = 4, INHERITED = 0x10 };
enum { SELF_RELATIVE = 0x8000, AUTO_INHERITED = 0x0400, AUTO_INHERIT_REQUEST = 0x0100 };

/* The object's descriptor.  NULL with *ret: it cannot be read, or makes no sense (0).  It points
 * into *windows, which is the caller's. */
static struct nt_descriptor *descriptor_of(struct smb_call *call, const char *path,
					   struct source_windows **windows, int *ret)
{
	const char *why;

	*ret = smb_look(call, path, windows);
	return *ret ? NULL : nt_decode((*windows)->sd, (uint32_t)(*windows)->sd_len, &why);
}

static struct sid owner_of(const GByteArray *bytes)
{
	const char *why;
	struct nt_descriptor *sd = bytes ? nt_decode(bytes->data, bytes->len, &why) : NULL;
	struct sid owner = {0};

	if (sd)
		owner = sd->owner;
	nt_free(sd);
	return owner;
}

static int take_descriptor(struct smb_call *call, const char *path, GByteArray **bytes)
{
	struct source_windows *windows;
	int ret = smb_look(call, path, &windows);

	*bytes = ret ? NULL : g_byte_array_new();
	if (!ret)
		g_byte_array_append(*bytes, windows->sd, windows->sd_len);
	g_clear_pointer(&windows, source_windows_free);
	return ret;
}

static int remove_private(struct smb_call *call, const char *path)
{
	g_autoptr(GByteArray) data = g_byte_array_new();

	smb_put(data, 1, 1);
	return smb_set(call, path, DELETE, REPARSE_POINT, DISPOSITION, data);
}

/* Finds out the descriptor of an object that is made in the directory now. */
static int try_out(struct smb_call *call, const char *dir, bool directory, GByteArray **bytes)
{
	const struct wire_change what = {.access = READ_ATTRIBUTES,
					 .options = directory ? DIRECTORY : NO_DIRECTORY,
					 .disposition = CREATE};
	g_autofree char *path = g_strconcat(dir, "/try", NULL);
	int ret;

	*bytes = NULL;
	remove_private(call, path);
	ret = smb_do(call, path, "", &what, "");
	if (!ret)
		ret = take_descriptor(call, path, bytes);
	remove_private(call, path);
	return ret;
}

/* Whether the server keeps no descriptors, or does not let the way back set them. */
static bool is_refusal_status(int ret)
{
	return ret == -EACCES || ret == -EPERM || ret == -EREMOTEIO || ret == -ENOTSUP ||
	       ret == -EINVAL;
}

static int set_dacl(struct smb_call *call, const char *path, const struct nt_descriptor *sd,
		    uint32_t parts)
{
	const char *why;
	g_autoptr(GByteArray) bytes = smb_attrs_encode(sd, &why);

	return bytes ? smb_set_descriptor(call, path, bytes, parts) : -EINVAL;
}

/* ---- the directory ----------------------------------------------------------------------------
 */

static bool is_administrators(const struct sid *sid)
{
	return sid_is_two(sid, 5, 32, 544);
}

/* Whether sid is the owner, by his SID or as CREATOR OWNER or OWNER RIGHTS, or administrators, or
 * the system. */
static bool is_ours(const struct sid *sid, const struct sid *owner)
{
	return sid_equal(sid, owner) || is_administrators(sid) || sid_is(sid, 3, 0) ||
	       sid_is(sid, 3, 4) || sid_is(sid, 5, 18);
}

static bool denies(uint8_t type)
{
	return type == NT_DENY || type == NT_DENY_OBJECT || type == NT_DENY_IF ||
	       type == NT_DENY_OBJECT_IF;
}

static bool is_private(const GByteArray *bytes, const struct sid *owner)
{
	const char *why;
	struct nt_descriptor *sd = bytes ? nt_decode(bytes->data, bytes->len, &why) : NULL;
	bool is = sd && sd->dacl.present;

	for (guint i = 0; is && i < sd->dacl.aces->len; i++) {
		const struct nt_ace *ace = &g_array_index(sd->dacl.aces, struct nt_ace, i);

		is = !ace->mask || denies(ace->type) || is_ours(&ace->sid, owner);
	}
	nt_free(sd);
	return is;
}

/* flags: of inheritance */
static int close_to_others(struct smb_call *call, const char *dir, const struct sid *owner,
			   uint32_t parts, uint8_t flags)
{
	struct nt_descriptor sd = {.control = SELF_RELATIVE | NT_DACL_PRESENT | NT_DACL_PROTECTED,
				   .owner = *owner,
				   .dacl = {.present = true, .revision = 2}};
	struct nt_ace aces[2] = {{.flags = flags, .mask = FULL}};
	int ret;

	aces[1] = aces[0];
	aces[0].sid = *owner;
	sid_parse("S-1-5-32-544", &aces[1].sid);
	sd.dacl.aces = g_array_new(FALSE, FALSE, sizeof(aces[0]));
	g_array_append_vals(sd.dacl.aces, aces, is_administrators(owner) ? 1 : 2);
	ret = set_dacl(call, dir, &sd, parts);
	g_array_unref(sd.dacl.aces);
	return ret;
}

/* Closes the directory without inheritance, and so finds out what the server gives to an object
 * that inherits nothing. */
static int close_alone(struct smb_call *call, const char *dir, const struct sid *owner,
		       struct smb_private *private)
{
	g_autoptr(GByteArray) bytes = NULL;
	int ret = take_descriptor(call, dir, &bytes);
	const struct sid has = owner_of(bytes);
	const bool own = sid_equal(&has, owner) || is_administrators(&has);

	if (!ret)
		ret = close_to_others(call, dir, owner, DACL | (own ? 0 : OWNER_ONLY), 0);
	if (is_refusal_status(ret))
		ret = own ? -ENOTSUP : -EPERM;
	for (unsigned i = 0; i < 2 && !ret; i++)
		ret = try_out(call, dir, i, &private->made[i]);
	return ret;
}

int smb_protect(struct smb_call *call, const char *dir, struct smb_private *private)
{
	const uint8_t handed_on = OBJECT_INHERIT | CONTAINER_INHERIT;
	g_autoptr(GByteArray) before = NULL, file = NULL, bytes = NULL;
	int ret = try_out(call, dir, false, &before);
	const struct sid owner = owner_of(before);

	*private = (struct smb_private){0};
	if (ret || !owner.len)
		return ret;
	ret = close_alone(call, dir, &owner, private);
	if (!ret)
		ret = close_to_others(call, dir, &owner, DACL, handed_on);
	if (ret)
		return ret != -EPERM && is_refusal_status(ret) ? 0 : ret;
	ret = take_descriptor(call, dir, &bytes);
	if (!ret)
		ret = try_out(call, dir, false, &file);
	private->kept = is_private(bytes, &owner) && is_private(file, &owner);
	const struct sid has = owner_of(bytes);
	return !ret && !sid_equal(&has, &owner) && !is_administrators(&has) ? -EPERM : ret;
}

void smb_private_clear(struct smb_private *private)
{
	for (unsigned i = 0; i < 2; i++)
		g_clear_pointer(&private->made[i], g_byte_array_unref);
}

/* ---- what is made in it ------------------------------------------------------------------------
 */

/* Adds what an entry of a directory's ACL becomes in an object that is made there. */
static void inherit(GArray *aces, const struct nt_ace *ace, const struct nt_descriptor *of,
		    bool directory)
{
	const bool counts = ace->flags & (directory ? CONTAINER_INHERIT : OBJECT_INHERIT);
	const unsigned further = directory && !(ace->flags & NO_PROPAGATE)
					 ? ace->flags & (OBJECT_INHERIT | CONTAINER_INHERIT)
					 : 0;
	const bool creator = sid_is(&ace->sid, 3, 0) || sid_is(&ace->sid, 3, 1);
	struct nt_ace own = *ace;

	own.flags = INHERITED;
	if (creator)
		own.sid = sid_is(&ace->sid, 3, 0) ? of->owner : of->group;
	else
		own.flags |= further;
	if (counts && own.sid.len)
		g_array_append_val(aces, own);
	if (!further || (counts && !creator))
		return;
	own.sid = ace->sid;
	own.flags = (uint8_t)(INHERITED | NT_INHERIT_ONLY | further);
	g_array_append_val(aces, own);
}

static int give_inherited(struct smb_call *call, const char *path, const struct nt_descriptor *from,
			  const struct nt_descriptor *of, bool directory, bool *any)
{
	struct nt_descriptor sd = {.control = SELF_RELATIVE | NT_DACL_PRESENT | AUTO_INHERITED |
					      AUTO_INHERIT_REQUEST,
				   .dacl = {.present = true, .revision = from->dacl.revision}};
	int ret = 0;

	sd.dacl.aces = g_array_new(FALSE, FALSE, sizeof(struct nt_ace));
	for (guint i = 0; i < from->dacl.aces->len; i++)
		inherit(sd.dacl.aces, &g_array_index(from->dacl.aces, struct nt_ace, i), of,
			directory);
	*any = sd.dacl.aces->len;
	if (*any)
		ret = set_dacl(call, path, &sd, DACL);
	g_array_unref(sd.dacl.aces);
	return ret;
}

static int give_made(struct smb_call *call, const char *path, const GByteArray *made)
{
	int ret = made ? smb_set_descriptor(call, path, made, OWNER_GROUP | DACL) : 0;

	return is_refusal_status(ret) ? smb_set_descriptor(call, path, made, DACL) : ret;
}

int smb_inherit(struct smb_call *call, const struct smb_private *private, const char *path,
		const char *dir, bool directory)
{
	struct source_windows *above = NULL, *windows = NULL;
	bool any = false;
	int ret;
	struct nt_descriptor *from = descriptor_of(call, dir, &above, &ret), *of = NULL;

	if (!ret)
		of = descriptor_of(call, path, &windows, &ret);
	if (from && of)
		ret = give_inherited(call, path, from, of, directory, &any);
	if (!ret && !any)
		ret = give_made(call, path, private->made[directory]);
	nt_free(from);
	nt_free(of);
	g_clear_pointer(&above, source_windows_free);
	g_clear_pointer(&windows, source_windows_free);
	return ret;
}
