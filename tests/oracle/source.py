# SPDX-License-Identifier: GPL-3.0-or-later
"""The old server's tree: a list of entries made from a seed, which JSON can hold, and the same made
on disk.  Names are bytes, written as latin-1.

An entry: "path", "type" (of find -type; h: a hard link), "mode", "owner", "times" (atime, mtime in
ns), and for f "size" and "data" (offset, length, fill), for l and h "to", for b and c "device".
Where the source is told to have them: "acl" (who, what: the group's entry), "xattrs"."""
import os
import random
import stat
import struct

KIB, MIB = 1 << 10, 1 << 20
OWNERS = ((0, 0), (1000, 1000), (1000, 100), (1001, 100), (1002, 1000), (65534, 65534),
          (200000, 300000))
MODES = (0o644, 0o644, 0o644, 0o666, 0o600, 0o664, 0o755, 0o400, 0o000, 0o4755, 0o2755, 0o6777,
         0o1644, 0o2644)
DIR_MODES = (0o755, 0o755, 0o777, 0o777, 0o700, 0o2775, 0o1777, 0o3777, 0o555, 0o000)
ODD = (' ', '-rf', '.hidden', '...', '*', 'new\nline', '\x01\x7f', '\xff\xfe', 'caf\xc3\xa9',
       '%s%n', 'x' * 255, '\xc3' * 255)
NEVER = 'trusted.never'         # a mark on both sides of what has something that never comes
NEVER_TOLD = 'user.never'       # and on the old server that, as far as it is the server's to tell
KINDS = {'p': stat.S_IFIFO, 's': stat.S_IFSOCK, 'b': stat.S_IFBLK, 'c': stat.S_IFCHR}


def a_time(r):
    ns = r.choice((r.randrange(10**9), r.randrange(1000) * 10**6, 0))
    return r.randrange(10**8, 16 * 10**8) * 10**9 + ns


def pieces(r, size):
    """(offset, length, fill) of what is not a hole."""
    kind = r.random()
    fill = r.randrange(1 << 30)
    if kind < 0.65 or size < 8 * KIB:
        return [(0, size, fill)] if kind < 0.95 else []
    if kind < 0.72:
        return []
    out, at = [], r.choice((0, r.randrange(size)))
    while at < size and len(out) < 12:
        length = min(size - at, r.choice((1, 4 * KIB, 64 * KIB, r.randrange(1, size))))
        out.append((at, length, r.randrange(1 << 30)))
        at += length + r.choice((4 * KIB, 64 * KIB, r.randrange(1, size)))
    return out


def a_size(r):
    kind = r.random()
    if kind < 0.06:
        return 0
    if kind < 0.5:
        return r.randrange(1, 12 * KIB)
    if kind < 0.6:
        return r.choice((1, 511, 512, 4095, 4096, 4097, 8192, 64 * KIB, 64 * KIB + 1))
    if kind < 0.92:
        return r.randrange(12 * KIB, 300 * KIB)
    return r.randrange(300 * KIB, 3 * MIB)


class Maker:
    def __init__(self, seed):
        self.r = random.Random(f'tree {seed}')
        self.entries, self.files, self.dirs = [], [], ['']

    def add(self, path, kind, mode=None, **more):
        r = self.r
        self.entries.append({'path': path, 'type': kind, 'mode': r.choice(MODES) if mode is None
                             else mode, 'owner': r.choice(OWNERS),
                             'times': (a_time(r), a_time(r)), **more})
        if kind in 'fd' and path:
            if r.random() < 0.1:
                self.entries[-1]['acl'] = (r.choice((1000, 1001, 1002)), r.randrange(8))
            if r.random() < 0.1:
                self.entries[-1]['xattrs'] = {f'user.{n}': 'x' * r.choice((0, 1, 100))
                                              for n in range(r.randrange(1, 4))}

    def file(self, path, size=None):
        size = a_size(self.r) if size is None else size
        self.add(path, 'f', size=size, data=pieces(self.r, size))
        self.files.append(path)

    def make(self):
        r = self.r
        for n in range(r.randrange(4, 12)):
            base = r.choice(self.dirs)
            path = (base + '/' if base else '') + f'd{n}'
            self.add(path, 'd', r.choice(DIR_MODES))
            self.dirs.append(path)
        for n in range(r.randrange(30, 90)):
            self.file(self.place(f'f{n}'))
        for n in range(r.randrange(1, 4)):
            self.file(self.place(f'big{n}'), r.randrange(MIB, 5 * MIB))
        for name in r.sample(ODD, r.randrange(4)):
            self.file(self.place(name))
        for n in range(r.randrange(0, 8)):
            self.add(self.place(f'link{n}'), 'h', to=r.choice(self.files))
        for n in range(r.randrange(1, 6)):
            target = r.choice(('nowhere', '/etc/hostname', 'd0', 'f1', '../f2', 'x' * 1000,
                               '\xff\n'))
            self.add(self.place(f'sym{n}'), 'l', 0o777, to=target)
        for n in range(r.randrange(0, 4)):
            self.add(self.place(f'node{n}'), r.choice('psbc'), device=(r.randrange(1, 200),
                                                                       r.randrange(200)))
        if r.random() < 0.3:
            self.add('wide', 'd', 0o777)
            for n in range(r.randrange(100, 400)):
                self.file(f'wide/{n:04}', r.choice((0, 10, 1000)))
        self.add('', 'd', 0o777)
        return self.entries

    def place(self, name):
        base = self.r.choice(self.dirs)
        return base + '/' + name if base else name


def make(seed, windows=False):
    """windows: with what Samba keeps in extended attributes, and files without setuid and setgid:
    whether a write clears these depends on who had asked when the writing thread was made."""
    entries = Maker(seed).make()
    if windows:
        r = random.Random(f'windows {seed}')
        for entry in entries:
            if entry['type'] == 'f':
                entry['mode'] &= 0o1777
            if entry['type'] in 'fd' and entry['path'] and r.random() < 0.2:
                more = entry.setdefault('xattrs', {})
                if r.random() < 0.5:
                    more['user.DOSATTRIB'] = dosattrib(r)
                for name in r.sample(('s', 'Zone.Identifier', 'third'), r.randrange(3)):
                    more[f'user.DosStream.{name}:$DATA'] = 'x' * r.choice((0, 10, 900)) + '\0'
    return entries


def dosattrib(r, more=0):
    """Version 5 of it: attributes and the time when the file was made."""
    made = r.randrange(12 * 10**16, 13 * 10**16)
    attributes = r.choice((0x20, 1, 2, 6, 0x21)) | more
    return struct.pack('<HHHHIIQ', 0, 5, 5, 0, 0x11, attributes, made).decode('latin-1')


def acl(mode, user, perm):
    """A POSIX ACL (acl(5)) as the kernel takes it, that leaves the mode as it is: one more user,
    the group, and the mode's group bits as the mask."""
    entries = ((1, mode >> 6 & 7, 0xffffffff), (2, perm, user), (4, perm, 0xffffffff),
               (0x10, mode >> 3 & 7, 0xffffffff), (0x20, mode & 7, 0xffffffff))
    return struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *entry) for entry in entries)


def is_untold(settings):
    """Of users' attributes; or long ones have no room."""
    kind = settings.get('source', 'nfs')
    return kind == 'nfs' or (kind == 'file' and settings['fs'] == 'ext4')


RULE = 'n[0-9]*'


def leave_out(case, old, plain):
    """Gives some objects of the old server what the migration does not bring: attributes of root's, and
    those of users where the server does not tell of them, or where they are too large.  The plain
    copy has the mark alone, which goes with its object wherever clients bring that."""
    settings, r = case['settings'], random.Random(f'never {case["seed"]}')
    for e in case['tree']:
        paths = [os.path.join(os.fsencode(root), e['path'].encode('latin-1')) for root in (old, plain)]
        if e['type'] not in 'fd' or r.random() > 0.3 or not os.path.lexists(paths[0]):
            continue
        for path in paths:
            os.setxattr(path, NEVER, b'never')
        if is_untold(settings):
            os.setxattr(paths[0], NEVER_TOLD, b'n' * 6000)


def rule_out(case, old):
    """Files in half of the old server's directories that RULE leaves out: generate.py gives clients such names."""
    r = random.Random(f'rules {case["seed"]}')
    for e in case['tree']:
        path = os.path.join(os.fsencode(old), e['path'].encode('latin-1'))
        if e['type'] != 'd' or r.random() > 0.5:
            continue
        st = os.stat(path)
        for number in r.sample(range(300), 40):
            with open(os.path.join(path, b'n%d' % number), 'wb') as file:
                file.write(b'left out')
        os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))


def never_came(path):
    """What leave_out() gave it there."""
    return {name: os.getxattr(path, name) for name in os.listxattr(path)
            if name in (NEVER, NEVER_TOLD)} if not os.path.islink(path) else {}


def write(e, path):
    """The file's bytes, whatever it had."""
    with open(path, 'wb') as file:
        for offset, length, fill in e['data']:
            file.seek(offset)
            data = random.Random(fill).randbytes(length)
            file.write(data if any(data) else b'1' * length)    # no hole of zeros
        file.truncate(e['size'])


def build(entries, root, attributes=False):
    """Makes the tree in an empty directory; attributes: with ACLs and extended attributes.  Entries
    whose directory or target are not there are left out."""
    made = set()
    top = os.fsencode(root)
    for e in entries:
        path = os.path.join(top, e['path'].encode('latin-1'))
        if not os.path.isdir(os.path.dirname(path)) or (e['path'] and os.path.lexists(path)):
            continue
        kind = e['type']
        if kind == 'd':
            os.makedirs(path, 0o700, exist_ok=True)
        elif kind == 'f':
            write(e, path)
        elif kind == 'l':
            os.symlink(e['to'].encode('latin-1'), path)
        elif kind == 'h':
            target = os.path.join(top, e['to'].encode('latin-1'))
            if not os.path.lexists(target):
                continue
            os.link(target, path)
            continue
        else:
            os.mknod(path, KINDS[kind] | 0o600,
                     os.makedev(*e['device']) if kind in 'bc' else 0)
        made.add(e['path'])
    dress((e for e in entries if e['path'] in made), root, attributes)


def dress(entries, root, attributes=False):
    """Gives what is there its attributes, what is deeper first."""
    for e in sorted(entries, key=lambda e: -len(e['path'])):
        path = os.path.join(os.fsencode(root), e['path'].encode('latin-1'))
        os.chown(path, *e['owner'], follow_symlinks=False)
        if e['type'] != 'l':
            os.chmod(path, e['mode'])
        if attributes and 'acl' in e:
            os.setxattr(path, 'system.posix_acl_access', acl(e['mode'], *e['acl']))
        for name, value in e.get('xattrs', {}).items() if attributes else ():
            os.setxattr(path, name, value.encode('latin-1'))
        os.utime(path, ns=tuple(e['times']), follow_symlinks=False)
