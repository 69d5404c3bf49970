#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Fetches the headers of a Ganesha release out of the distribution's source package.
# usage: ganesha-headers.sh UPSTREAM-VERSION PACKAGE-VERSION DESTINATION [APT-DIRECTORY]
#
# The sources list is derived from the machine's own (in APT-DIRECTORY, /etc/apt), so the same
# mirrors, keys and proxies are used, and nothing of apt's state is changed.  The orig tarball alone is enough: a mirror that no
# longer has the packaging is no error.
set -eu
version=$1 package=$2 destination=$3 etc=${4:-/etc/apt}

die() {
	echo "ganesha-headers: $*" >&2
	exit 1
}

command -v apt-get >/dev/null || die "apt-get is missing: unpack the source of Ganesha $version" \
	"yourself and name it with -DGANESHA_SOURCE_DIR="
mkdir -p "$(dirname "$destination")" 2>/dev/null && [ -w "$(dirname "$destination")" ] ||
	die "cannot write to $(dirname "$destination"): run cmake as root once, or choose another" \
		"place with -DGANESHA_CACHE="
work=$(mktemp -d "$destination.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/sources" "$work/lists/partial" "$work/download"
# apt downloads as its own user where it can; otherwise it says so and goes on as root.
chmod 755 "$work" "$work/download"

shopt -s nullglob
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
[ "$n" -gt 0 ] || die "apt has no sources: unpack the source of Ganesha $version yourself and" \
	"name it with -DGANESHA_SOURCE_DIR="

apt=(apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources"
	-o Dir::State::lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
"${apt[@]}" update >"$work/log" 2>&1 || die "apt-get update failed:" "$(tail -n 3 "$work/log")"
tarball=("$work/download/nfs-ganesha_$version.orig.tar".*)
for what in "nfs-ganesha=$package" nfs-ganesha; do
	(cd "$work/download" && "${apt[@]}" source --download-only "$what") >>"$work/log" 2>&1 || true
	tarball=("$work/download/nfs-ganesha_$version.orig.tar".*)
	[ ${#tarball[@]} -eq 0 ] || break
done
[ ${#tarball[@]} -gt 0 ] || die "the source of nfs-ganesha $package cannot be downloaded:" \
	"$(grep -E '^(E|W|Err)' "$work/log" | tail -n 3)"

mkdir "$work/tree"
tar -xf "${tarball[0]}" -C "$work/tree" --strip-components=1 --wildcards '*/src/include'
[ -f "$work/tree/src/include/fsal_api.h" ] || die "${tarball[0]##*/} has no src/include/fsal_api.h"
# Another configure may have been faster.
mv -T "$work/tree" "$destination" 2>/dev/null || [ -f "$destination/src/include/fsal_api.h" ]
