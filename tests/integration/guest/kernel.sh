#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# In a guest: kernel.py on two mounts of plain VFS and two of a volume of stubs, as if each two were
# two machines.
set -euo pipefail
if [[ $OPTIONS == vers=3* ]]; then		# whose locks need them
	: >/etc/resolv.conf			# there is nobody to ask
	rpcbind -w
	rpc.statd --no-notify
fi
for mount in plain plain-again stubs stubs-again; do
	mkdir /mnt/$mount
	case $mount in
	plain*) export=$PLAIN ;;
	*) export=$VM_HOST:$STUBS ;;
	esac
	case $mount in
	*-again) cached=,actimeo=0 ;;
	*) cached= ;;
	esac
	mount -t nfs -o "$OPTIONS,nosharecache$cached" "$export" /mnt/$mount
done
exec "$(dirname "$0")/kernel.py" /mnt/plain /mnt/plain-again /mnt/stubs /mnt/stubs-again
