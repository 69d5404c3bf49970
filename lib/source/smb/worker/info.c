/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/worker/info.h"

#include "lib/source/smb/smb_listing.h"

bool info_has_number(const struct wire_attr *attr)
{
	return attr->fileid && attr->fileid != UINT64_MAX;
}

void info_make_number(struct wire_attr *attr, const char *path)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ attr->created;

	for (; *path; path++)
		hash = (hash ^ (uint8_t)*path) * UINT64_C(0x100000001b3);
	attr->fileid = hash ? hash : 1;
}

bool info_get_all(struct chain *chain, unsigned step, const char *path, struct wire_attr *attr)
{
	size_t len;
	const uint8_t *data = chain_data(chain, step, &len);

	if (!data || smb_all_info(data, len, attr) < 0)
		return false;
	if (!info_has_number(attr))
		info_make_number(attr, path);
	if (chain->has_volume && chain->worker->has_volume)
		attr->volume = chain->volume - chain->worker->volume;
	return true;
}
