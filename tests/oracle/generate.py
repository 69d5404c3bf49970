# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes cases and their operations from a seed.  What an operation is done to is chosen from what
is on the plain side's disk at that time."""
import os
import random
import stat

import odd
import source
import source_smb
from generate_smb import SmbOperations
from source import KIB, MIB

SLOTS = 6
MODES = (0o644, 0o600, 0o666, 0o755, 0o4755, 0o6777, 0o2644, 0o000, 0o444, 0o1777)
DATA = ('read', 'readall', 'write', 'append', 'truncate', 'commit')
KINDS = {3: 'b', 4: 'c', 6: 's', 7: 'f'}


def settings(r, door):
    out = {'fs': r.choice(('ext4', 'btrfs', 'xfs')), 'clients': r.choice((1, 2, 2, 3)),
           'minor': r.choice((0, 1, 2, 2, 2)) if door in ('nfs4', 'mixed') else 0,
           'attr_expiration': r.choice((None, None, 0)), 'dir_chunk': r.choice((None, None, 0)),
           'entries': r.choice((None, None, 20)), 'hold_ms': r.choice((500, 500, 50, 10)),
           'stub_attributes': r.choice(('eager', 'eager', 'lazy')),
           'crawler_order': r.choice(('namespace-first', 'depth-first')),
           'source': r.choice(('nfs', 'nfs', 'nfs', 'file')),
           'bandwidth': r.choice((0, '1M', '200K')),
           'records': r.random() < 0.3}         # are copied
    if door in ('smb', 'mixed'):
        out['smb'] = smb_settings(r, door)
        out['objects'] = r.choice(('streams_xattr acl_xattr',) * 3 + ('acl_xattr', 'streams_xattr'))
        out['hold'] = r.choice((15, 15, 1))
    if door == 'local':         # nobody tells stat(2) what is lazy
        out.update(stub_attributes='eager', records=False)
    if door == 'mixed':         # neither server is to keep what the other changes
        out.update(version=r.choice(('nfs3', 'nfs4')), attr_expiration=0, dir_chunk=0,
                   entries=None, records=False)
    return out


def smb_settings(r, door):
    """Of both shares.  Durable handles are for shares that nobody else uses."""
    out = {'posix locking': r.choice(('yes', 'no')) if door == 'smb' else 'yes',
           'kernel share modes': 'no', 'strict sync': 'yes',
           'use sendfile': r.choice(('no', 'no', 'yes')),
           'store dos attributes': r.choice(('yes',) * 4 + ('no',)),
           'inherit acls': r.choice(('no', 'no', 'yes')),
           'hide dot files': r.choice(('yes', 'no')), 'oplocks': r.choice(('yes', 'yes', 'no')),
           'acl_xattr:ignore system acls': r.choice(('no', 'no', 'yes')),
           'strict allocate': r.choice(('no', 'no', 'yes'))}
    if door == 'mixed':
        out.update({'oplocks': 'no', 'smb2 leases': 'no'})
    return out


def version(case):
    """Of NFS, or another word."""
    return case['settings'].get('version', case['door'])


def case(door, seed, source_kind=None, begin=None, kills=False, moves=False, oddities=None):
    """source_kind: what the old server speaks, if not any of nfs and file; nfs4: NFS version 4.2; odd: NFS version 3,
    with those habits (odd.py), or some of all.  begin: what the new tree
    begins from, if it is not empty (beginning.py).  kills: of what goes back, too (back.py).  moves: to another node."""
    r = random.Random(f'case {door} {seed}')
    out = {'door': door, 'seed': seed, 'settings': settings(r, door)}
    if begin:
        out['settings']['begin'] = begin
    if kills:
        out['settings']['kills'] = True
    if moves:
        out['settings']['moves'] = True
    if source_kind:
        out['settings']['source'] = source_kind
    if source_kind == 'smb':
        if 'smb' in out['settings']:
            out['settings']['objects'] = 'streams_xattr acl_xattr'
            out['settings']['smb'].update({'acl_xattr:ignore system acls': 'yes',
                                           'store dos attributes': 'yes'})
        out['tree'] = source_smb.make(seed)
    else:
        out['tree'] = source.make(seed, door in ('smb', 'mixed'))
    if source_kind == 'odd':
        out['settings']['odd'] = oddities or odd.some(seed)
        odd.suits(out['tree'], out['settings']['odd'])
    return out


def is_utf8(name):
    return name.decode('utf-8', 'ignore').encode() == name


class Generator(SmbOperations):
    """next() is the next operation."""

    WEIGHTS = {
        'getattr': 6, 'lookup': 6, 'lookup_gone': 3, 'access': 4, 'readlink': 2, 'keep': 4,
        'fsinfo': 0.3, 'read': 16, 'readall': 5, 'write': 14, 'append': 3, 'truncate': 8,
        'commit': 3, 'setattr': 9, 'create': 6, 'mkdir': 3, 'symlink': 1.5, 'mknod': 1.5,
        'remove': 6, 'rmdir': 3, 'rename': 10, 'rename_odd': 3, 'link': 4, 'list': 5, 'pages': 4,
        'unlinked': 1, 'parallel': 3}
    WORLD_WEIGHTS = {
        'crawler': 1.6, 'retriever': 0.8, 'server': 0.5, 'old': 0.5, 'throttle': 0.3,
        'crawl': 0.03}
    KILLS_WEIGHTS = {'journal': 4, 'follow': 4}
    WEIGHTS4 = {
        'open': 12, 'close': 2, 'downgrade': 1, 'lock': 5, 'unlock': 3, 'testlock': 3}
    WEIGHTS42 = {'space': 7, 'seek': 7, 'copy': 2, 'read_plus': 3}

    def __init__(self, case, plain, side, smb_side=None):
        """plain: the directory of the plain side; side, smb_side: whose opens are like the
        other's; None: the protocol is not used."""
        self.side, self.smb_side = side, smb_side
        self.down = False               # the retriever may be
        self.r = random.Random(f'operations {case["door"]} {case["seed"]}')
        self.v4 = version(case) == 'nfs4'
        self.case, self.plain = case, os.fsencode(plain)
        self.clients = case['settings']['clients']
        self.count = 0
        self.gone = []                  # (directory, name) that were removed or moved away
        weights = dict(self.WORLD_WEIGHTS)
        if 'sizes' in case['settings'].get('odd', ()):
            side = smb_side = None      # clients would see the sizes
            del weights['crawl']        # which would fail
        if side:
            weights.update(self.WEIGHTS)
            if case['door'] == 'local':
                del weights['access'], weights['fsinfo']
            if self.v4:
                weights.update(self.WEIGHTS4)
                if case['settings']['minor'] >= 2:
                    weights.update(self.WEIGHTS42)
        if smb_side:
            weights.update(self.SMB_WEIGHTS)
        if case['settings'].get('records'):
            weights['record'] = 2
        if case['settings'].get('kills'):
            weights.update(self.KILLS_WEIGHTS)
        if side and {'hidden', 'spelling'} & set(case['settings'].get('odd', ())):
            weights['poke'] = 30
        if case['settings'].get('moves'):
            weights['move'] = sum(weights.values()) / 25
        self.kinds, self.weights = list(weights), list(weights.values())
        self.queue = []
        self.known = None               # a path that was just looked up

    def next(self):
        self.count += 1
        while not self.queue:
            self.scan()
            kind = self.r.choices(self.kinds, self.weights)[0]
            made = getattr(self, 'make_' + kind)()
            if made:
                self.queue += made if isinstance(made, list) else [made]
        op = self.queue.pop(0)
        if op['op'] == 'create' or op.get('how'):
            # FSAL VFS follows a symbolic link that a file is created over, wherever that leads.
            path = f'{op["at"]}/{op["name"]}'.lstrip('/')
            if op['at'][:1] == '@' or path in self.others:
                op['name'] = f'n{self.count}'
            if op['how'] == 'unchecked' and path in self.sizes and op['new'].get('size') == 0:
                if self.case['settings']['entries']:
                    op['new'] = {'mode': 0o644}
                elif self.known != path:        # see truncating()
                    self.known = path
                    self.queue.insert(0, op)
                    return {'op': 'lookup', 'at': op['at'], 'name': op['name'], 'who': 0,
                            'client': 0}
                self.known = None
            # And it truncates a file before it finds that the verifier is not that file's.
            if op['how'] == 'exclusive' and path in self.sizes:
                op['new'].pop('size', None)
        if self.smb_side and op['op'] == 'setattr' and op.get('at') == '' and 'mode' in op['new']:
            # smbd remembers that a user may enter the share's root, until it has been root itself
            op['new']['mode'] |= 0o111
        for key, directory in (('name', 'to' if op['op'] == 'link' else 'at'), ('to_name', 'to')):
            if op.get(key) == '.migrate' and (not op[directory] or op[directory][0] == '@'):
                op[key] = 'migrate'             # it is reserved in the root
        if 'who' not in op and op['op'] not in ('crawler', 'retriever', 'server', 'old',
                                                'throttle', 'crawl', 'record', 'journal',
                                                'follow', 'move'):
            op = {**op, 'who': self.r.choice((0, 0, 0, 0, 1, 1, 2, 3, 4)),
                  'client': self.r.randrange(self.clients)}
        return op

    # ---- what there is ------------------------------------------------------------------------

    def scan(self):
        self.dirs, self.files, self.others = [''], [], []
        self.sizes, self.inodes = {}, {}
        self.nodes = set()              # Ganesha 4.3 does not always find one by its handle
        self.ending = set()             # Samba 4.24 ends when something is renamed to such a link
        for base, dirs, files in os.walk(self.plain):
            below = os.path.relpath(base, self.plain)
            prefix = '' if below == b'.' else below.decode('latin-1') + '/'
            dirs.sort()
            for name in sorted(dirs + files):
                path = prefix + name.decode('latin-1')
                st = os.lstat(os.path.join(base, name))
                if stat.S_ISDIR(st.st_mode):
                    self.dirs.append(path)
                elif stat.S_ISREG(st.st_mode):
                    self.files.append(path)
                    self.sizes[path], self.inodes[path] = st.st_size, st.st_ino
                else:
                    self.others.append(path)
                    if not stat.S_ISLNK(st.st_mode):
                        self.nodes.add(path)
                    elif not is_utf8(os.readlink(os.path.join(base, name))):
                        self.ending.add(path)
        if self.smb_side:
            self.scan_smb()

    def a_dir(self):
        return self.r.choice(self.dirs)

    def a_file(self):
        """Large ones more often: they have ranges to miss."""
        if not self.files:
            return None
        some = self.r.sample(self.files, min(len(self.files), self.r.choice((1, 1, 3, 8))))
        return max(some, key=lambda path: self.sizes[path])

    def anything(self):
        return self.r.choice(self.r.choice((self.files or self.dirs, self.dirs,
                                            self.others or self.dirs)))

    def maybe_slot(self, ref, portion=0.12):
        return f'@{self.r.randrange(SLOTS)}' if self.r.random() < portion else ref

    @staticmethod
    def split(path):
        directory, _, name = path.rpartition('/')
        return directory, name

    def name(self):
        kind = self.r.random()
        if kind < 0.6:
            return f'n{self.count}'
        if kind < 0.75 and self.gone:
            return self.r.choice(self.gone)[1]
        if kind < 0.95:
            return self.split(self.anything())[1] or 'n'
        return self.r.choice(('y' * 255, 'y' * 256, '\xfe\xff', '.', '..', '.migrate'))

    def about(self):
        """Where data is read or written: an open, or a path."""
        path = self.a_file()
        if path is None:
            return None, 0
        if self.v4 and self.r.random() < 0.35:
            return {'slot': self.an_open()}, self.sizes[path]
        return {'at': self.maybe_slot(path)}, self.sizes[path]

    def an_open(self):
        """The slot of an open file, most often."""
        opens = sorted(self.side.opens)
        if opens and self.r.random() < 0.9:
            return self.r.choice(opens)
        return self.r.randrange(SLOTS)

    def offset(self, size):
        r = self.r
        return r.choice((0, r.randrange(size + 1), r.randrange(size + 1), size // 2 & ~4095,
                         max(0, size - r.randrange(1, 5000)), size, size + r.randrange(200000)))

    def length(self, largest=300 * KIB):
        r = self.r
        return r.choice((1, 100, 4 * KIB, r.randrange(1, 10000), 64 * KIB,
                         r.randrange(1, largest)))

    # ---- asking -------------------------------------------------------------------------------

    def make_getattr(self):
        return {'op': 'getattr', 'at': self.maybe_slot(self.anything(), 0.4)}

    def make_lookup(self):
        directory, name = self.split(self.anything())
        return {'op': 'lookup', 'at': self.maybe_slot(directory),
                'name': self.r.choice((name, name, '..')) if directory and not self.v4 else
                name or 'none'}

    def make_lookup_gone(self):
        if self.gone:
            directory, name = self.r.choice(self.gone)
            return {'op': 'lookup', 'at': directory, 'name': name}
        return None

    def make_access(self):
        return {'op': 'access', 'at': self.maybe_slot(self.anything()), 'bits': 0x3f}

    def make_readlink(self):
        return {'op': 'readlink', 'at': self.r.choice(self.others or self.files or [''])}

    def make_fsinfo(self):
        return None if self.v4 else {'op': 'fsinfo'}

    def make_keep(self):
        path = self.anything()
        return None if path in self.nodes else {'op': 'keep', 'at': path,
                                                  'keep': self.r.randrange(SLOTS)}

    def make_list(self):
        return {'op': 'list', 'at': self.maybe_slot(self.a_dir()),
                'plus': self.r.random() < 0.7, 'count': self.r.choice((1024, 4096, 65536))}

    def make_pages(self):
        op = {'op': 'pages', 'cursor': self.r.randrange(2), 'pages': self.r.randrange(1, 4)}
        if self.r.random() < 0.5:
            wide = [d for d in self.dirs if d == 'wide']
            op.update(at=self.r.choice(wide or self.dirs), plus=self.r.random() < 0.5,
                      count=self.r.choice((1024, 2048)))
        return op

    # ---- data ---------------------------------------------------------------------------------

    def make_read(self):
        about, size = self.about()
        return about and {'op': 'read', **about, 'offset': self.offset(size),
                          'length': self.length(MIB)}

    def make_read_plus(self):
        op = self.make_read()
        return op and {**op, 'op': 'read_plus'}

    def make_readall(self):
        about, _ = self.about()
        return about and {'op': 'readall', **about, 'block': self.r.choice((64 * KIB, MIB))}

    def make_write(self):
        about, size = self.about()
        return about and {'op': 'write', **about, 'offset': self.offset(size),
                          'length': self.length(), 'fill': self.r.randrange(1 << 30),
                          'stable': self.r.randrange(3)}

    def make_append(self):
        about, _ = self.about()
        return about and {'op': 'append', **about, 'length': self.length(),
                          'fill': self.r.randrange(1 << 30), 'stable': self.r.randrange(3)}

    def make_truncate(self):
        about, size = self.about()
        if not about:
            return None
        r = self.r
        sizes = [r.choice((0, size // 2, r.randrange(size + 1), size, size + 1,
                           size + r.randrange(100000), size // 2 & ~4095))]
        if r.random() < 0.3:            # down and up
            sizes.append(size + r.randrange(10000))
        return [{'op': 'setattr', **about, 'new': {'size': s}} for s in sizes]

    def make_commit(self):
        path = self.a_file()
        return path and {'op': 'commit', 'at': self.maybe_slot(path)}

    def new(self):
        """Some attributes to set."""
        r = self.r
        new = {}
        kinds = r.sample(('mode', 'owner', 'times', 'size'), r.choice((1, 1, 1, 2)))
        if 'mode' in kinds:
            new['mode'] = r.choice(MODES)
        if 'owner' in kinds:
            if r.random() < 0.7:
                new['uid'] = r.choice((0, 1000, 1001, 1002))
            if r.random() < 0.7 or not new:
                new['gid'] = r.choice((0, 100, 1000))
        if 'times' in kinds:
            for key in r.choice((('atime', 'mtime'), ('atime', 'mtime'), ('mtime',), ('atime',))):
                new[key] = r.choice(('now', source.a_time(r), source.a_time(r)))
        if 'size' in kinds and r.random() < 0.3 or not new:
            new['size'] = r.randrange(100000)
        return new

    def make_setattr(self):
        op = {'op': 'setattr', 'at': self.maybe_slot(self.anything()), 'new': self.new()}
        if not self.v4 and self.r.random() < 0.3:
            op['guard'] = self.r.choice(('current', 'current', 'stale'))
        return op

    def make_parallel(self):
        """Two or three clients at the same time, one of which may write."""
        r = self.r
        if self.clients < 2 or len(self.files) < 4:
            return None
        path = self.a_file()
        size, ops = self.sizes[path], []
        for client in range(self.clients):
            kind = r.choice(('read', 'read', 'readall', 'getattr', 'list'))
            op = {'op': kind, 'at': path, 'who': 0, 'client': client}
            if kind == 'list':
                op.update(at=self.a_dir(), plus=True, count=4096)
            elif kind == 'read':
                op.update(offset=self.offset(size), length=self.length(MIB))
            elif kind == 'readall':
                op.update(block=64 * KIB)
            ops.append(op)
        if r.random() < 0.4:
            other = self.a_file()
            same = self.inodes[other] == self.inodes[path]
            if not same and not any(op['op'] == 'list' for op in ops):
                ops[0] = {'op': 'write', 'at': other, 'offset': self.offset(self.sizes[other]),
                          'length': self.length(), 'fill': r.randrange(1 << 30),
                          'stable': r.randrange(3), 'who': 0, 'client': 0}
        return {'op': 'parallel', 'ops': ops, 'who': 0}

    # ---- names --------------------------------------------------------------------------------

    def make_create(self):
        r = self.r
        new = {'mode': r.choice(MODES)}
        if r.random() < 0.3:
            new['size'] = r.choice((0, 0, 5000))
        op = {'op': 'create', 'at': self.maybe_slot(self.a_dir(), 0.05), 'name': self.name(),
              'how': r.choice(('unchecked', 'unchecked', 'guarded', 'exclusive')), 'new': new,
              'verifier': r.choice((1 << 32 | 5, 7 << 32 | 9))}
        if op['how'] == 'unchecked' and r.random() < 0.5 and self.files:    # O_TRUNC
            op['at'], op['name'] = self.split(self.a_file())
            op['new'] = {'size': 0}
            return self.truncating(op)
        if r.random() < 0.3:
            op['keep'] = r.randrange(SLOTS)
        return op

    def truncating(self, op):
        """By name Ganesha 4.3 may truncate before it asks whether the caller may write, or not at
        all, or clear the setuid bits, where MDCACHE does not know the name: so both sides are to
        know it, and next() looks it up."""
        return None if self.case['settings']['entries'] else op

    def make_mkdir(self):
        return {'op': 'mkdir', 'at': self.maybe_slot(self.a_dir(), 0.05), 'name': self.name(),
                'new': {'mode': self.r.choice((0o755, 0o777, 0o2775, 0o1777))}}

    def make_symlink(self):
        return {'op': 'symlink', 'at': self.a_dir(), 'name': self.name(), 'new': {'mode': 0o777},
                'target': self.r.choice(('x', '/a/b', 'y' * 900))}

    def make_mknod(self):
        return {'op': 'mknod', 'at': self.a_dir(), 'name': self.name(), 'new': {'mode': 0o640},
                'kind': self.r.choice((3, 4, 6, 7)), 'device': (self.r.randrange(200), 7)}

    def make_remove(self):
        path = self.anything() if self.r.random() < 0.2 else self.a_file()
        if not path:
            return None
        directory, name = self.split(path)
        self.gone.append((directory, name))
        return {'op': 'remove', 'at': directory, 'name': name}

    def make_unlinked(self):
        """A file that is held open, or whose handle is kept, is removed and read to its end."""
        path = self.a_file()
        if not path:
            return None
        directory, name = self.split(path)
        self.gone.append((directory, name))
        slot = self.r.randrange(SLOTS)
        begin, about = {'op': 'keep', 'at': path, 'keep': slot}, {'at': f'@{slot}'}
        if self.v4:
            begin, about = {'op': 'open', 'at': directory, 'name': name, 'access': 3, 'deny': 0,
                            'slot': slot, 'who': 0}, {'slot': slot}
        return [begin, {'op': 'read', **about, 'offset': 0, 'length': 1000, 'who': 0},
                {'op': 'remove', 'at': directory, 'name': name, 'who': 0},
                {'op': 'lookup', 'at': directory, 'name': name, 'who': 0},
                {'op': 'readall', **about, 'block': 64 * KIB, 'who': 0}]

    def make_rmdir(self):
        if len(self.dirs) < 2:
            return None
        directory, name = self.split(self.r.choice(self.dirs[1:]))
        self.gone.append((directory, name))
        return {'op': 'rmdir', 'at': directory, 'name': name}

    def make_rename(self):
        path = self.r.choice(self.dirs) if self.r.random() < 0.35 else self.anything()
        directory, name = self.split(path)
        to, to_name = self.a_dir(), self.name()
        if self.r.random() < 0.35:              # over something that is there
            to, to_name = self.split(self.anything())
        self.gone.append((directory, name))
        return {'op': 'rename', 'at': directory, 'name': name or 'none', 'to': to,
                'to_name': to_name or 'none'}

    def make_rename_odd(self):
        """A directory into what is below it, or onto what is there; anything onto itself."""
        path = self.r.choice(self.dirs[1:] or self.files or ['none'])
        directory, name = self.split(path)
        below = [d for d in self.dirs if d == path or d.startswith(path + '/')]
        kind = self.r.randrange(3)
        if kind == 0 and below:
            return {'op': 'rename', 'at': directory, 'name': name, 'to': self.r.choice(below),
                    'to_name': self.name()}
        if kind == 1:
            path = self.anything()
            directory, name = self.split(path)
            return {'op': 'rename', 'at': directory, 'name': name or 'none', 'to': directory,
                    'to_name': name or 'none'}
        to, to_name = self.split(self.r.choice(self.dirs))
        return {'op': 'rename', 'at': directory, 'name': name, 'to': to,
                'to_name': to_name or 'none'}

    def make_link(self):
        return {'op': 'link', 'at': self.maybe_slot(self.anything()), 'to': self.a_dir(),
                'name': self.name()}

    # ---- version 4 ----------------------------------------------------------------------------

    def make_open(self):
        r = self.r
        path = self.a_file()
        op = {'op': 'open', 'access': r.choice((1, 2, 3, 3)), 'slot': r.randrange(SLOTS),
              'deny': r.choice((0, 0, 0, 0, 1, 2, 3))}
        if path and r.random() < 0.75:
            op['at'], op['name'] = self.split(path)
            if r.random() < 0.15:               # O_TRUNC
                op.update(how='unchecked', new={'size': 0})
                return self.truncating(op)
        else:
            op.update(at=self.a_dir(), name=self.name(), verifier=r.choice((5, 6)),
                      how=r.choice(('unchecked', 'guarded', 'exclusive')), new={'mode': 0o666})
        return op

    def make_close(self):
        return {'op': 'close', 'slot': self.an_open()}

    def make_downgrade(self):
        return {'op': 'downgrade', 'slot': self.an_open(),
                'access': self.r.choice((1, 2, 3)), 'deny': 0}

    def a_range(self):
        return {'offset': self.r.choice((0, 100, 4096)),
                'length': self.r.choice((1, 100, 10000, (1 << 64) - 1))}

    def make_lock(self):
        return {'op': 'lock', 'slot': self.an_open(), 'kind': self.r.choice((1, 2)),
                **self.a_range()}

    def make_unlock(self):
        return {'op': 'unlock', 'slot': self.an_open(), **self.a_range()}

    def make_testlock(self):
        path = self.a_file()
        return path and {'op': 'testlock', 'at': self.maybe_slot(path),
                         'kind': self.r.choice((1, 2)), **self.a_range()}

    def make_space(self):
        about, size = self.about()
        op = about and {'op': 'space', **about, 'allocate': self.r.random() < 0.4,
                        'offset': self.offset(size), 'length': self.length()}
        return op and (op['allocate'] or self.may_punch(about.get('at'), op)) and op

    def may_punch(self, path, op):
        """btrfs moves no times where there is a hole already, which nobody knows of what is missing."""
        if self.case['settings']['fs'] != 'btrfs':
            return True
        if path not in self.sizes:
            return False
        begin, end = op['offset'] & ~4095, op['offset'] + op['length']
        fd = os.open(os.path.join(self.plain, path.encode('latin-1')), os.O_RDONLY | os.O_NOATIME)
        try:
            return os.lseek(fd, begin, os.SEEK_DATA) < end
        except OSError:                         # there are none any more
            return False
        finally:
            os.close(fd)

    def make_seek(self):
        about, size = self.about()
        return about and {'op': 'seek', **about, 'offset': self.offset(size),
                          'hole': self.r.randrange(2)}

    def make_copy(self):
        return {'op': 'copy', 'slot': self.an_open(), 'from': self.an_open(),
                'offset': self.r.choice((0, 4096)), 'to': self.r.choice((0, 4096, 100000)),
                'length': self.r.choice((0, 1000, 100000)), 'clone': self.r.random() < 0.3}

    # ---- the world ----------------------------------------------------------------------------

    def make_crawler(self):
        return {'op': 'crawler', 'action': self.r.choice(('start', 'start', 'stop', 'kill')),
                'metadata': self.r.random() < 0.3}

    def make_retriever(self):
        action = self.r.choice(('kill', 'kill', 'stop', 'down'))
        self.down = action == 'down'
        return {'op': 'retriever', 'action': action}

    def make_server(self):
        op = {'op': 'server', 'action': self.r.choice(('kill', 'kill', 'stop'))}
        if self.side and self.smb_side:
            op['which'] = self.r.randrange(2)
        return op

    def make_move(self):
        self.down = False
        return {'op': 'move', 'action': self.r.choice(('kill', 'stop'))}

    def make_old(self):
        return {'op': 'old', 'action': self.r.choice(('stall', 'stall', 'kill'))}

    def make_journal(self):
        return {'op': 'journal', 'action': self.r.choice(('kill', 'down', 'start', 'stall',
                                                          'flood'))}

    def make_follow(self):
        return {'op': 'follow', 'action': self.r.choice(('kill', 'kill', 'stop'))}

    def make_throttle(self):
        return {'op': 'throttle', 'rate': self.r.choice(('0', '100K', '2M'))}

    def make_crawl(self):
        return {'op': 'crawl'}

    def make_poke(self):
        """At a name that the old server answers to and does not list, and that clients have not made."""
        kind = self.r.choice([kind for kind in ('hidden', 'spelling') if kind in self.case['settings']['odd']])
        if kind == 'hidden':
            directory, name = self.a_dir(), self.r.choice(odd.HIDDEN).encode().decode('latin-1')
        else:
            directory, name = self.split(self.anything())
            name = odd.respelled(self.r, name.encode('latin-1')).decode('latin-1')
        path = f'{directory}/{name}'.lstrip('/').encode('latin-1')
        if not name or os.path.lexists(os.path.join(self.plain, path)):
            return None
        return {'op': 'poke', 'kind': kind, 'at': directory, 'name': name}

    def make_record(self):
        """A stub's record comes to a file that is whole.  The servers forget the file's ctime."""
        of, to = self.a_file(), self.a_file()
        return of and [{'op': 'record', 'of': of, 'to': to}, {'op': 'server', 'action': 'stop'}]
