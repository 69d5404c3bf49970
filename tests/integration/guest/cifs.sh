#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# In a guest: kernel.py on two mounts of a plain SMB share and two of a share of stubs, as if each two
# were two machines; the second ones cache nothing.
set -euo pipefail

# cases OPTIONS CASE...
cases() {
	local options=$1 mount share
	shift
	for mount in plain plain-again stubs stubs-again; do
		case $mount in
		plain*) share=$PLAIN ;;
		*) share=//$VM_HOST/$STUBS ;;
		esac
		case $mount in
		*-again) cached=,cache=none,actimeo=0 ;;
		*) cached= ;;
		esac
		mkdir -p /mnt/$mount
		mount -t cifs -o "$OPTIONS$cached$options" "$share" /mnt/$mount
	done
	"$(dirname "$0")/kernel.py" /mnt/plain /mnt/plain-again /mnt/stubs /mnt/stubs-again "$@"
	umount /mnt/plain /mnt/plain-again /mnt/stubs /mnt/stubs-again
}

cases '' "$@"
# locks keep others from reading, by the protocol, and so does SQLite itself then
cases ,nobrl database
