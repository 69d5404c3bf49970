#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# In a guest: other people's suites on a mount of plain VFS and on one of a volume of stubs.
# Verdicts go to $RESULTS/plain and $RESULTS/stubs, lines "NAME VERDICT", and what the suites print
# to files beside them.
set -euo pipefail

verdict() { echo "$1 $2" >>"$RESULTS/$mount"; }

# fsx FILE OPERATION: goes on with a file on which those before that operation have been done
fsx() {
	local name=${1##*/}
	if LD_PRELOAD="$PRELOAD/asis.so" "$CRATES/fsx" -v -f "$RESULTS/${name%%.*}.toml" -S "$seed" \
		-b "$2" -N $(($2 + FSX_OPERATIONS - 1)) -P /tmp "$1" >/dev/null 2>"$log/$name"; then
		verdict "fsx:$name" ok
	else
		verdict "fsx:$name" failed
	fi
}

# pjdfstest DIRECTORY, which names the verdicts too; with adopt.so and its $POOL, on stubs
pjdfstest() {
	"$CRATES/pjdfstest" -c /tmp/pjdfstest.toml -s /dev/shm -p "$1" >"$log/$1" 2>"$log/$1.errors" ||
		[ $? = 1 ]
	grep -q '^Summary: ' "$log/$1"
	sed -nE "s/^([a-z_0-9:]+) +(ok|FAILED|skipped)\$/$1:\1 \2/p" "$log/$1" >>"$RESULTS/$mount"
}

# stress NAME: one of stress-ng's stressors
stress() {
	local status=0
	stress-ng --"$1" 1 --"$1"-ops 20 --timeout 30 --verify --temp-path stress \
		>"$log/stress-$1" 2>&1 || status=$?
	verdict "stress:$1" "$([ $status = 0 ] && echo ok || echo "status-$status")"
}

cat >/tmp/pjdfstest.toml <<'END'
[features]
posix_fallocate = {}
utimensat = {}
utime_now = {}
[settings]
naptime = 0.01
[dummy_auth]
entries = [["games", "games"], ["www-data", "www-data"]]
END

mkdir /mnt/plain /mnt/stubs
mount -t nfs -o "$OPTIONS" "$PLAIN" /mnt/plain
mount -t nfs -o "$OPTIONS" "$VM_HOST:$STUBS" /mnt/stubs
run() {
	local file name
	case $1 in
	fsx)
		for file in fsx/*.*.*; do
			seed=${file#*.} seed=${seed%.*}
			fsx "$file" $((${file##*.} + 1))
		done
		;;
	pjdfstest) pjdfstest pjdfstest ;;
	adopted) POOL=$PWD/pool LD_PRELOAD=$PRELOAD/adopt.so pjdfstest adopted ;;
	stress)
		for name in $STRESSORS; do
			stress "$name"
		done
		;;
	esac
}

for mount in plain stubs; do
	log=$RESULTS/log/$mount
	mkdir -p "$log"
	cd /mnt/$mount/desk
	for suite in $SUITES; do
		begin=$SECONDS
		run "$suite"
		echo "$mount: $suite, $((SECONDS - begin)) s"
	done
	cd /
done
