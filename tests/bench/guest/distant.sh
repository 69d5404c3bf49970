#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# In a guest with a disk: the case `distant`, with this kernel's delays and NFS client.
set -e
for module in loop veth sch_netem nfsv3; do
	modprobe "$module"
done
mkfs.ext4 -q -F /dev/ubda
mount /dev/ubda /srv
export QUICKMIGRATE_SCRATCH=/srv
exec "$(dirname "$0")/../run" distant-inside "$@"
