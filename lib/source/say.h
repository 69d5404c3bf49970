/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What migratectl and the process that asks an old server say to each other: packets of a SEQPACKET
 * socket, each a GVariant "aay", a list of bytestrings.  The process may be in the hands of the old
 * server, so whatever it says is checked: hear() gives lists of bytestrings and nothing else.
 *
 * The question, one packet:
 *   services ADDRESS                            what the portmapper has
 *   versions ADDRESS PORT                       of NFS, there, by trying
 *   exports ADDRESS PORT                        MOUNT's list, of mountd at PORT
 *   spaces ADDRESS MOUNTPORT NFSPORT PATH...    of exports
 *   quotas ADDRESS PORT VERSION TYPE PATH ID... of rquotad at PORT; TYPE: user, group (version 2)
 *   shares ADDRESS DIALECT USER DOMAIN PASSWORD DIALECT: share_question.h
 *   mounts ADDRESS PORT                         MOUNT's list of clients, of mountd at PORT
 *   handles ADDRESS MOUNTPORT NFSPORT PATH...   of directories that can be mounted
 *
 * The answers:
 *   - service PROGRAM VERSION TRANSPORT PORT      transport: tcp, udp
 *   - version V                                   3, 4.0, ...
 *   - export PATH, group NAME                     groups are of the export before them
 *   - at N, flavour NUMBER, space BYTES FREE AVAILABLE FILES FREE-FILES, refused WHY
 *                                                 of PATH N, from 0 on
 *   - mount CLIENT PATH
 *   - at N, handle HEXADECIMAL FILEID FSID, refused WHY
 *                                                 of PATH N
 *   - at N, quota HARD SOFT FILES-HARD FILES-SOFT, refused WHY
 *                                                 of ID N, if it has one: bytes, files, 0: no limit
 *   - share NAME TYPE COMMENT                     TYPE: disk, printer, ipc, other
 *   - spoken WHY                                  the dialect is spoken, the list is refused
 *   - failed WHY                                  and nothing follows
 *   - end                                         and nothing follows
 */
#ifndef LIB_SOURCE_SAY_H
#define LIB_SOURCE_SAY_H

#include <stdbool.h>
#include <stddef.h>

#define SAY_MAX	       65536 /* bytes of a packet */
#define SAY_ANSWER_MAX 8192  /* of an answer */
#define SAY_FIELDS     128

/* Blocks.  Whether it was sent; FALSE: nobody is there, or it is longer than a packet. */
bool say(int fd, const char *const *fields);
/* NULL unless data is such a list with 1 to SAY_FIELDS fields.  g_strfreev. */
char **hear(const void *data, size_t len);

#endif
