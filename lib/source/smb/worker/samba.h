/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Those of Samba's headers that the worker needs. */
#ifndef LIB_SOURCE_SMB_WORKER_SAMBA_H
#define LIB_SOURCE_SMB_WORKER_SAMBA_H

#include "includes.h"

#include "auth/credentials/credentials.h"
#include "client.h"
#include "lib/events/events.h"
#include "lib/util/tevent_ntstatus.h"
#include "libcli/smb/smbXcli_base.h"
#include "source3/include/proto.h"
#include "source3/libsmb/proto.h"

#endif
