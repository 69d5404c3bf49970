/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NFSv4 ACLs as tests write them. */
#ifndef TESTS_RETRIEVER_NFS4_ACL_SUPPORT_H
#define TESTS_RETRIEVER_NFS4_ACL_SUPPORT_H

#include "lib/source/source_nfs4_acl.h"

/* "A::OWNER@:rw,D:g:1000:x": types A, D, U; flags f, d, n, i, g; rights r, w, a, x, D, d, C, o, t.
 * Who has no number is unknown, but for OWNER@, GROUP@ and EVERYONE@. */
static inline struct source_nfs4_acl *nfs4_acl(const char *text)
{
	static const char flags[] = "fdnig", rights[] = "rwaxDdCot";
	static const uint32_t flag_bits[] = {ACE4_FILE_INHERIT, ACE4_DIRECTORY_INHERIT,
					     ACE4_NO_PROPAGATE, ACE4_INHERIT_ONLY,
					     ACE4_IDENTIFIER_GROUP};
	static const uint32_t right_bits[] = {
		ACE4_READ_DATA, ACE4_WRITE_DATA,   ACE4_APPEND_DATA,
		ACE4_EXECUTE,	ACE4_DELETE_CHILD, ACE4_DELETE,
		ACE4_WRITE_ACL, ACE4_WRITE_OWNER,  ACE4_READ_ATTRIBUTES};
	g_auto(GStrv) entries = g_strsplit(text, ",", -1);
	struct source_nfs4_acl *acl = source_nfs4_acl_new();

	for (unsigned i = 0; entries[i]; i++) {
		g_auto(GStrv) fields = g_strsplit(entries[i], ":", 4);
		struct source_ace4 ace = {.type = *fields[0] == 'A'   ? ACE4_ALLOW
						  : *fields[0] == 'D' ? ACE4_DENY
								      : ACE4_AUDIT};

		for (const char *c = fields[1]; *c; c++)
			ace.flags |= flag_bits[strchr(flags, *c) - flags];
		for (const char *c = fields[3]; *c; c++)
			ace.mask |= right_bits[strchr(rights, *c) - rights];
		ace.who = !strcmp(fields[2], "OWNER@")	      ? ACE4_WHO_OWNER
			  : !strcmp(fields[2], "GROUP@")      ? ACE4_WHO_GROUP
			  : !strcmp(fields[2], "EVERYONE@")   ? ACE4_WHO_EVERYONE
			  : !g_ascii_isdigit(*fields[2])      ? ACE4_WHO_UNKNOWN
			  : ace.flags & ACE4_IDENTIFIER_GROUP ? ACE4_WHO_GROUP_ID
							      : ACE4_WHO_USER_ID;
		ace.id = (uint32_t)strtoul(fields[2], NULL, 10);
		source_nfs4_acl_add(acl, &ace, fields[2]);
	}
	return acl;
}

#endif
