#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Downloads the files of a source package of the distribution.
# usage: apt-source.sh SOURCE UPSTREAM-VERSION PACKAGE-VERSION DIRECTORY [APT-DIRECTORY]
#
# The sources list is derived from the machine's own (in APT-DIRECTORY, /etc/apt), so the same
# mirrors, keys and proxies are used, and nothing of apt's state is changed.  Where a mirror has
# another packaging of the same upstream version only, that is taken.  Files of that version in
# /var/cache/quickmigrate/sources are used instead: mirrors lose those of old releases.
set -eu
source=$1 version=$2 package=$3 directory=$4 etc=${5:-/etc/apt}

die() {
	echo "$*" >&2
	exit 1
}

shopt -s nullglob extglob
kept=(/var/cache/quickmigrate/sources/"${source}_$version"[.-]*)
if [ ${#kept[@]} -gt 0 ]; then
	mkdir -p "$directory"
	cp "${kept[@]}" "$directory"
	exit 0
fi
command -v apt-get >/dev/null || die "apt-get is missing"
work=$(mktemp -d "$directory.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/sources" "$work/lists/partial" "$directory"
# apt downloads as its own user where it can; otherwise it says so and goes on as root.
chmod 755 "$work" "$directory"

n=0
for file in "$etc"/sources.list.d/*.sources; do
	n=$((n + 1))
	sed -E 's/^(Types:).*/\1 deb-src/I' "$file" >"$work/sources/$n.sources"
done
for file in "$etc/sources.list" "$etc"/sources.list.d/*.list; do
	[ -f "$file" ] || continue
	n=$((n + 1))
	sed -nE 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$file" >"$work/sources/$n.list"
done
[ "$n" -gt 0 ] || die "apt has no sources"

apt=(apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources"
	-o Dir::State::lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
"${apt[@]}" update >"$work/log" 2>&1 || die "apt-get update failed:" "$(tail -n 3 "$work/log")"
for what in "$source=$package" "$source"; do
	(cd "$directory" && "${apt[@]}" source --download-only "$what") >>"$work/log" 2>&1 || true
	tarball=("$directory/${source}_$version"?(.orig|-+([^.])).tar.*)	# the second is a native package's
	[ ${#tarball[@]} -eq 0 ] || exit 0
done
die "the source of $source $package cannot be downloaded:" \
	"$(grep -E '^(E|W|Err)' "$work/log" | tail -n 3)"
