#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Fetches the headers of a Ganesha release out of the distribution's source package.
# usage: ganesha-headers.sh UPSTREAM-VERSION PACKAGE-VERSION DESTINATION [APT-DIRECTORY]
#
# The orig tarball alone is enough: a mirror that no longer has the packaging is no error.
set -eu
version=$1 package=$2 destination=$3
here=$(dirname "$(readlink -f "$0")")

die() {
	echo "ganesha-headers: $*" >&2
	exit 1
}

mkdir -p "$(dirname "$destination")" 2>/dev/null && [ -w "$(dirname "$destination")" ] ||
	die "cannot write to $(dirname "$destination"): run cmake as root once, or choose another" \
		"place with -DGANESHA_CACHE="
work=$(mktemp -d "$destination.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
"$here/apt-source.sh" nfs-ganesha "$version" "$package" "$work/download" "${@:4}" ||
	die "unpack the source of Ganesha $version yourself and name it with -DGANESHA_SOURCE_DIR="

shopt -s extglob
tarball=("$work/download/nfs-ganesha_$version"?(.orig|-+([^.])).tar.*)	# the second is a native package's
mkdir "$work/tree"
tar -xf "${tarball[0]}" -C "$work/tree" --strip-components=1 --wildcards '*/src/include'
[ -f "$work/tree/src/include/fsal_api.h" ] || die "${tarball[0]##*/} has no src/include/fsal_api.h"
# Another configure may have been faster.
mv -T "$work/tree" "$destination" 2>/dev/null || [ -f "$destination/src/include/fsal_api.h" ]
