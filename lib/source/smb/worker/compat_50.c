/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samba 4.22. */
#include "lib/source/smb/worker/worker.h"

struct cli_state *compat_connected(TALLOC_CTX *ctx, int fd, const char *host,
				   enum smb_signing_setting signing)
{
	return cli_state_create(ctx, fd, host, signing, 0);
}

NTSTATUS compat_negotiate(struct smbXcli_conn *conn, uint32_t timeout_ms)
{
	return smbXcli_negprot(conn, timeout_ms, PROTOCOL_SMB2_02, PROTOCOL_LATEST, NULL, NULL,
			       NULL);
}
