#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# In a guest: the kernel's client of a migrating volume that lets in nobody without Kerberos.
# kerberos.sh OLD_TREE KEYS EXPORT_3 EXPORT_4 USER STRANGER; KEYS: a directory with keytabs.
set -euo pipefail
old=$1 keys=$2 export3=$3 export4=$4 user=$5 stranger=$6
"$(dirname "$0")/../../support/vm/kerberos" "$keys/machine"
printf '%s\tnew.test\n' "$VM_HOST" >>/etc/hosts
rpc.gssd

as() { # USER COMMAND...
	setpriv --reuid "$(id -u "$1")" --regid "$(id -g "$1")" --clear-groups -- "${@:2}"
}

refused() { # WORDS COMMAND...
	if "${@:2}" >/tmp/said 2>&1 || ! grep "$1" /tmp/said; then
		echo "not refused: ${*:2}"
		exit 1
	fi
}

try() { # VERSION SEC DIRECTORY
	local version=$1 sec=$2 directory=$3 export=$export4 more=
	[ "$version" != 3 ] || export=$export3 more=,proto=tcp,mountproto=tcp,nolock
	echo "-- version $version, $sec"
	mount -t nfs -o "vers=$version,sec=$sec$more" "new.test:$export" /mnt
	grep -q " /mnt nfs.*sec=$sec," /proc/mounts
	diff -r "$old/$directory" "/mnt/$directory"
	as "$user" cmp "$old/$directory/private" "/mnt/$directory/private"
	as "$user" sh -c "echo $version >/mnt/$directory/made"
	[ "$(stat -c %u "/mnt/$directory/made")" = "$(id -u "$user")" ]
	refused 'Permission denied' as "$stranger" cat "/mnt/$directory/private"
	refused 'Permission denied' as nobody cat "/mnt/$directory/file-0" # who has no ticket
	umount /mnt
}

for name in "$user" "$stranger"; do
	install -o "$name" -m 600 "$keys/$name" "/tmp/$name.keytab"
	as "$name" kinit -k -t "/tmp/$name.keytab" -c "/tmp/krb5cc_$(id -u "$name")" "$name"
done
refused 'Operation not permitted' mount -t nfs -o vers=4.2,sec=sys "new.test:$export4" /mnt
try 3 krb5 dir-0
try 4.0 krb5i dir-1
try 4.1 krb5i dir-2
try 4.2 krb5p dir-3
try 3 krb5p dir-4
