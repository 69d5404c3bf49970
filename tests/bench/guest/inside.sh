#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# inside.sh CASE OPTION...: in a guest with a disk: a case of the bench, with this kernel's delays and
# NFS client.
set -e
for module in loop veth sch_netem nfsv3 rpcsec_gss_krb5; do
	modprobe "$module"
done
mkfs.ext4 -q -F /dev/ubda
mount /dev/ubda /srv
export QUICKMIGRATE_SCRATCH=/srv
exec "$(dirname "$0")/../run" "$@"
