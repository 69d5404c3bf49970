#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# In a guest: what people's programs do to an NFS mount of a migrating volume.
# client.sh MOUNT_OPTIONS EXPORT OLD_TREE LISTING TAG
set -euo pipefail
options=$1 export=$2 old=$3 listing=$4 tag=$5
support=$(dirname "$0")/../../support
mnt=/mnt
step() { echo "-- $*"; }

mount -t nfs -o "$options" "$VM_HOST:$export" $mnt
[ "$(stat -f -c %T $mnt)" = nfs ]

step "first byte of a file that nobody has touched"
cmp -n 1 "$old/desk/big" "$mnt/desk/big"

step find
"$(dirname "$0")/listing.sh" $mnt >/tmp/listing
diff "$listing" /tmp/listing >/tmp/diff || { head -20 /tmp/diff; exit 1; }

step mmap
python3 - "$old/desk/big" "$mnt/desk/big" <<'EOF'
import mmap, random, sys
old, new = (open(p, 'rb') for p in sys.argv[1:])
size = new.seek(0, 2)
with mmap.mmap(new.fileno(), 0, prot=mmap.PROT_READ) as pages:
    for _ in range(200):
        at = random.randrange(size)
        old.seek(at)
        wanted = old.read(1000)
        assert pages[at:at + len(wanted)] == wanted, f'mmap differs at {at}'
EOF

step "mmap, written"
cp "$old/desk/mapped" /tmp/mapped
python3 - /tmp/mapped "$mnt/desk/mapped" <<'EOF'
import mmap, os, sys
for path in sys.argv[1:]:
    with open(path, 'r+b') as file, mmap.mmap(file.fileno(), 0) as pages:
        pages[10000:10010] = b'0123456789'
        pages[-5:] = b'there'
        pages.flush()
EOF
cmp /tmp/mapped "$mnt/desk/mapped"
cp "$old/desk/mapped" "$mnt/desk/mapped"

step cp
cp -a "$mnt/links" "$mnt/deep" /tmp/
diff -r "$old/links" /tmp/links --exclude=pipe
diff -r "$old/deep" /tmp/deep

step tar
mkdir /tmp/tar
# It tells of a file that becomes whole meanwhile: once, its ctime moves.
{ tar -C $mnt -cf - departments sparse 2>/tmp/tar.said || [ $? = 1 ]; } | tar -C /tmp/tar -xf -
if grep -v ': file changed as we read it$' /tmp/tar.said; then
	exit 1
fi
diff -r "$old/departments" /tmp/tar/departments

step sha256sum
(cd "$old/large" && sha256sum -- *) | (cd $mnt/large && sha256sum --quiet -c -)

step "git clone"
git config --global --add safe.directory '*'
git clone -q "$mnt/desk/repository.git" "$mnt/desk/clone-$tag"
git -C "$mnt/desk/clone-$tag" fsck --no-progress
git -C "$mnt/desk/clone-$tag" -c user.name=n -c user.email=e commit -q --allow-empty -m more
git -C "$mnt/desk/clone-$tag" push -q origin HEAD:refs/heads/"from-$tag"

step sqlite3
for i in 1 2 3; do
	sqlite3 "$mnt/desk/data.sqlite" "begin; insert into t select x + 1000, 'row from $tag' from t
		where x < 200; update t set y = y || '.' where x % 7 = 0; commit;"
done
[ "$(sqlite3 "$mnt/desk/data.sqlite" 'pragma integrity_check')" = ok ]
[ "$(sqlite3 "$mnt/desk/data.sqlite" 'select count(*) >= 600 from t')" = 1 ]

step flock
: >>"$mnt/desk/lock"
exec 9>"$mnt/desk/lock"
flock -n 9
if flock -n "$mnt/desk/lock" true; then
	echo "a held lock was given twice"
	exit 1
fi
exec 9>&-
flock -n "$mnt/desk/lock" true

step "dd, mv, rm"
dd if=/dev/urandom of="$mnt/desk/new" bs=64k count=20 status=none conv=fsync
cp "$mnt/desk/new" "$mnt/desk/newer"
cmp "$mnt/desk/new" "$mnt/desk/newer"
mv "$mnt/desk/newer" "$mnt/desk/new"
echo "one more line" >>"$mnt/desk/text"
tail -n 1 "$mnt/desk/text" | grep -q more
rm "$mnt/desk/new"

# The times that hostfs shows are whole seconds; what is missing counts as space used.
step "everything, byte by byte"
cd "$support"
python3 - "$old" $mnt <<'EOF'
import sys, tree
c = tree.compare(*sys.argv[1:], any_mtime=lambda st: True, slack=1 << 50, leave_out={b'/desk'})
print(*c.differences, sep='\n')
print(f'{c.objects} objects compared')
sys.exit(1 if c.differences else 0)
EOF
cd /
umount $mnt
