/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samba from 4.24 on: what carries SMB is an object of its own. */
#include "lib/source/smb/worker/worker.h"

#include "libcli/smb/smb_util.h"

struct cli_state *compat_connected(TALLOC_CTX *ctx, int fd, const char *host,
				   enum smb_signing_setting signing)
{
	static const struct smb_transport tcp = {.type = SMB_TRANSPORT_TYPE_TCP};
	struct smbXcli_transport *transport =
		smbXcli_transport_bsd(ctx, &fd, TLS_VERIFY_PEER_NO_CHECK, &tcp);

	return transport ? cli_state_create(ctx, &transport, host, signing, 0) : NULL;
}

NTSTATUS compat_negotiate(struct smbXcli_conn *conn, uint32_t timeout_ms)
{
	return smbXcli_negprot(conn, timeout_ms, PROTOCOL_SMB2_02, PROTOCOL_LATEST, NULL, NULL,
			       NULL);
}
