/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb_private.h"

#include <errno.h>

#include "smb_attrs.h"
#include "smb_set.h"
#include "volume/nt_acl.h"

#define FULL	   0x1f01ffu
#define OWNER_ONLY 1u
/* MS-DTYP 2.4.4.1, 2.4.6 */
enum { OBJECT_INHERIT = 1, CONTAINER_INHERIT = 2, NO_PROPAGATE = 4, INHERITED = 0x10 };
enum { SELF_RELATIVE = 0x8000, AUTO_INHERITED = 0x0400, AUTO_INHERIT_REQUEST = 0x0100 };

/* NULL with *ret: it cannot be read, or makes no sense (0).  It points into *windows, which is the
 * caller's. */
static struct nt_descriptor *descriptor_of(struct smb_call *call, const char *path,
					   struct source_windows **windows, int *ret)
{
	const char *why;

	*ret = smb_look(call, path, windows);
	return *ret ? NULL : nt_decode((*windows)->sd, (uint32_t)(*windows)->sd_len, &why);
}

static struct sid owner_of(struct smb_call *call, const char *path, int *ret)
{
	struct source_windows *windows;
	struct nt_descriptor *sd = descriptor_of(call, path, &windows, ret);
	struct sid owner = {0};

	if (sd)
		owner = sd->owner;
	nt_free(sd);
	g_clear_pointer(&windows, source_windows_free);
	return owner;
}

/* It keeps no descriptors, or lets us set none. */
static bool is_refusal(int ret)
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

/* The owner, by his name or as CREATOR OWNER or OWNER RIGHTS, administrators, and the system. */
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

static bool is_private(const struct nt_descriptor *sd, const struct sid *owner)
{
	bool is = sd->dacl.present;

	for (guint i = 0; i < sd->dacl.aces->len; i++) {
		const struct nt_ace *ace = &g_array_index(sd->dacl.aces, struct nt_ace, i);

		is &= !ace->mask || denies(ace->type) || is_ours(&ace->sid, owner);
	}
	return is;
}

static int close_to_others(struct smb_call *call, const char *dir, const struct sid *owner,
			   uint32_t parts)
{
	struct nt_descriptor sd = {.control = SELF_RELATIVE | NT_DACL_PRESENT | NT_DACL_PROTECTED,
				   .owner = *owner,
				   .dacl = {.present = true, .revision = 2}};
	struct nt_ace aces[2] = {{.flags = OBJECT_INHERIT | CONTAINER_INHERIT, .mask = FULL}};
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

int smb_protect(struct smb_call *call, const char *dir, const char *probe, bool *kept)
{
	struct source_windows *windows;
	struct nt_descriptor *sd;
	int ret;
	const struct sid owner = owner_of(call, probe, &ret);
	struct sid has;

	*kept = false;
	if (ret || !owner.len)
		return ret;
	has = owner_of(call, dir, &ret);
	if (ret)
		return ret;
	const bool own = sid_equal(&has, &owner) || is_administrators(&has);
	ret = close_to_others(call, dir, &owner, DACL | (own ? 0 : OWNER_ONLY));
	if (ret)
		return !is_refusal(ret) ? ret : own ? 0 : -EPERM;
	sd = descriptor_of(call, dir, &windows, &ret);
	if (sd && !sid_equal(&sd->owner, &owner) && !is_administrators(&sd->owner))
		ret = -EPERM;
	*kept = sd && is_private(sd, &owner);
	nt_free(sd);
	g_clear_pointer(&windows, source_windows_free);
	return ret;
}

/* ---- what is made in it ------------------------------------------------------------------------
 */

/* What a directory's entry becomes in an object of it. */
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
			  const struct nt_descriptor *of, bool directory)
{
	struct nt_descriptor sd = {.control = SELF_RELATIVE | NT_DACL_PRESENT | AUTO_INHERITED |
					      AUTO_INHERIT_REQUEST,
				   .dacl = {.present = true, .revision = from->dacl.revision}};
	int ret = 0;

	sd.dacl.aces = g_array_new(FALSE, FALSE, sizeof(struct nt_ace));
	for (guint i = 0; i < from->dacl.aces->len; i++)
		inherit(sd.dacl.aces, &g_array_index(from->dacl.aces, struct nt_ace, i), of,
			directory);
	if (sd.dacl.aces->len)
		ret = set_dacl(call, path, &sd, DACL);
	g_array_unref(sd.dacl.aces);
	return ret;
}

int smb_inherit(struct smb_call *call, const char *path, const char *dir, bool directory)
{
	struct source_windows *above = NULL, *windows = NULL;
	int ret;
	struct nt_descriptor *from = descriptor_of(call, dir, &above, &ret), *of = NULL;

	if (!ret)
		of = descriptor_of(call, path, &windows, &ret);
	if (from && of)
		ret = give_inherited(call, path, from, of, directory);
	nt_free(from);
	nt_free(of);
	g_clear_pointer(&above, source_windows_free);
	g_clear_pointer(&windows, source_windows_free);
	return ret;
}
