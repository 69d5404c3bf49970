#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# In a guest with a disk: test_rollback.py, with what this kernel's NFS client does.
set -e
modprobe loop
mkfs.ext4 -q -F /dev/ubda
mount /dev/ubda /srv
export QUICKMIGRATE_SCRATCH=/srv
exec "$(dirname "$0")/../test_rollback.py" "$@"
