#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes the headers that modules of a Samba release are built with, which no package ships.
# usage: samba-headers.sh UPSTREAM-VERSION PACKAGE-VERSION DESTINATION [DOWNLOADED]
#
# The distribution's source package is configured as the package was, in what shapes declarations,
# and only its generated headers are built: a minute or two, once per release.  What is kept is all
# headers of the tree.  DOWNLOADED: a directory that has the source package already.
set -eu
version=$1 package=$2 destination=$3 downloaded=${4:-}
here=$(dirname "$(readlink -f "$0")")

die() {
	echo "samba-headers: $*" >&2
	exit 1
}

parent=$(dirname "$destination")
mkdir -p "$parent" 2>/dev/null && [ -w "$parent" ] ||
	die "cannot write to $parent: run cmake as root once, or choose another place with" \
		"-DSAMBA_CACHE="
exec 9<"$parent"
flock 9
[ ! -f "$destination/source3/include/vfs.h" ] || exit 0	# another configure was faster
work=$(mktemp -d "$destination.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
if [ -z "$downloaded" ]; then
	downloaded=$work/download
	"$here/apt-source.sh" samba "$version" "$package" "$downloaded" ||
		die "unpack and configure the source of Samba $version yourself and name it with" \
			"-DSAMBA_SOURCE_DIR="
fi

failed() {
	die "$1 failed: $(tail -n 15 "$work/log")
samba-headers: what it needs is installed by tests/support/install-packages build"
}

# A mirror may have lost the packaging: its patches shape no declaration that modules are built with.
dsc=("$downloaded"/samba_"$version"-*.dsc)
if [ -f "${dsc[0]}" ]; then
	dpkg-source --no-check -x "${dsc[0]}" "$work/source" >"$work/log" 2>&1 || failed "dpkg-source"
else
	mkdir "$work/source"
	tar -xf "$downloaded"/samba_"$version".orig.tar.[gx]z -C "$work/source" --strip-components=1 \
		>"$work/log" 2>&1 || failed "unpacking Samba's source"
	# One adds a table that is made into code, which is not built here, on the way to headers.
	for table in A.1 B.{1,2,3} C.1.{1,2} C.2.{1,2} C.{3..9} D.{1,2}; do
		printf -- '----- %s Table %s -----\n' Start $table End $table
	done >"$work/source/third_party/heimdal/lib/wind/rfc3454.txt"
fi
cd "$work/source"
# As debian/rules has it.  Versions of symbols are made of it.
sed -ri 's/^(SAMBA_VERSION_VENDOR_SUFFIX).*/\1=Debian/' VERSION
export PYTHONHASHSEED=1 PYTHONDONTWRITEBYTECODE=1
eval "$(dpkg-buildflags --export=sh)"
lib=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
python3 ./buildtools/bin/waf -C configure --prefix=/usr --enable-fhs --sysconfdir=/etc \
	--localstatedir=/var --libexecdir=/usr/libexec --libdir="$lib" --datadir=/usr/share \
	--with-modulesdir="$lib/samba" --with-privatedir=/var/lib/samba/private \
	--with-piddir=/run/samba --with-lockdir=/run/samba --with-statedir=/var/lib/samba \
	--with-cachedir=/var/cache/samba --disable-rpath --disable-rpath-install \
	--bundled-libraries=NONE,pytevent,ldb,cmocka,libquic,libngtcp2,libngtcp2_crypto_gnutls \
	--without-ad-dc --without-ldap --without-ads \
	--disable-python --without-pam --without-json --without-libarchive --disable-cups \
	--disable-iprint --disable-avahi --without-systemd --without-gpgme --without-winbind \
	--disable-cephfs --disable-glusterfs --disable-spotlight --with-profiling-data \
	--with-cluster-support --without-ldb-lmdb --with-acl-support \
	--with-shared-modules='!vfs_snapper' >"$work/log" 2>&1 9<&- || failed "configuring Samba"
# What is declared in the IDL that the package has.
idl=$(grep -oh '[A-Za-z0-9_]\+\.idl' librpc/idl/wscript_build source3/librpc/idl/wscript_build |
	sed 's/\.idl$//' | tr '[:lower:]' '[:upper:]' | sort -u | sed 's/^/PIDL_/' | paste -sd,)
errors=$(sed -n "s/.*SAMBA_GENERATOR('\(.*_generated\)'.*/\1/p" libcli/util/wscript_build | paste -sd,)
python3 ./buildtools/bin/waf -j"$(nproc)" build \
	--targets="$errors,param_local.h,s3_param_proto_h,$idl" \
	>"$work/log" 2>&1 9<&- || failed "generating headers"

mkdir "$work/tree"
find . \( -path ./third_party -o -path ./testdata -o -name '.conf_check*' \) -prune -o \
	-name '*.h' -print0 | tar --null -cf - -T - | tar -xf - -C "$work/tree"
mv -T "$work/tree" "$destination"
