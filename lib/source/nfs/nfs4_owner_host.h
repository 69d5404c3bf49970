/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of NFS version 4 as this host knows them: idmapd.conf(5), by libnfsidmap, which asks the
 * services of nsswitch.conf(5).
 *
 * Neither of the two tells a name that nobody has from a service that is away.  The C library
 * returns what the last service said: of "sss files", with sssd away, that is "no such user".  A
 * service that is away may set ENOENT (nss-pam-ldapd does).  libnfsidmap makes ENOENT of both, and
 * EINVAL of another domain.  So a "no" is believed only when each service has answered afterwards,
 * and after that the name has been asked for once more.
 */
#ifndef LIB_SOURCE_NFS_NFS4_OWNER_HOST_H
#define LIB_SOURCE_NFS_NFS4_OWNER_HOST_H

#include <nss.h>
#include <stdbool.h>
#include <stdint.h>

/* An nfs4_owner_fn. */
int nfs4_owner_ask_host(bool group, char *text, uint32_t *id);

typedef enum nss_status (*nfs4_owner_service_fn)(const char *service, bool group, const char *name);
/*
 * Whether every service that the C library would ask for the name answers.  services: what stands
 * behind "passwd:" or "group:" in nsswitch.conf.  ask NULL: the modules of this host; a module that
 * is not there does not answer.
 */
bool nfs4_owner_services_answer(const char *services, bool group, const char *name,
				nfs4_owner_service_fn ask);

#endif
