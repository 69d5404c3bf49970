# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes SMB operations: what generate.Generator, of which it is a part, picks its own from is what
these are made of."""
import os
import struct

import door_smb
import smb2
from smb2 import (APPEND, DELETE, GENERIC_READ, GENERIC_WRITE, MAXIMUM, READ_ATTRIBUTES, READ_DATA,
                  SYNCHRONIZE, WRITE_ATTRIBUTES, WRITE_DATA)
from source import KIB, MIB, a_time

SLOTS = 6
UNFIT = set('\\:*?"<>|') | {chr(n) for n in range(32)}
ACCESS = (MAXIMUM, 0x12019f, 0x120089, READ_DATA, READ_ATTRIBUTES, WRITE_DATA | READ_ATTRIBUTES,
          APPEND | READ_ATTRIBUTES, GENERIC_READ, GENERIC_READ | GENERIC_WRITE,
          DELETE | READ_ATTRIBUTES, 0x1f01ff, READ_DATA | DELETE | WRITE_ATTRIBUTES,
          WRITE_ATTRIBUTES | SYNCHRONIZE, 0x2000000 | DELETE, 0)
FILE_ACCESS = (MAXIMUM, 0x12019f, 0x12019f | DELETE, 0x120089, READ_DATA | READ_ATTRIBUTES,
               WRITE_DATA | READ_ATTRIBUTES | READ_DATA, 0x1f01ff)
LEVELS = (door_smb.BASIC, door_smb.STANDARD, door_smb.INTERNAL, door_smb.EA, door_smb.ACCESS,
          door_smb.POSITION, door_smb.FULL_EA, door_smb.MODE, door_smb.ALIGNMENT, door_smb.ALL,
          door_smb.ALL, door_smb.STREAM, door_smb.STREAM, door_smb.COMPRESSION,
          door_smb.NETWORK_OPEN, door_smb.NETWORK_OPEN, door_smb.ATTRIBUTE_TAG,
          door_smb.ALTERNATE_NAME, door_smb.NORMALIZED_NAME, 99)
LISTS = (door_smb.ID_BOTH, door_smb.ID_BOTH, door_smb.ID_FULL, door_smb.BOTH, door_smb.FULL,
         door_smb.DIRECTORY, door_smb.NAMES)
PATTERNS = ('*',) * 6 + ('*.*', 'f*', '*1', 'F?', 'nothing', 'f1', '<.txt', 'n*')
STREAMS = ('s', 'Zone.Identifier', 'long' * 10)
RIGHTS = (0x1f01ff, 0x1301bf, 0x1200a9, 0x120116, 0x120089, 0x10000, 2, 0x40000)


def fits(path):
    """Whether SMB clients see the names as they are."""
    try:
        text = path.encode('latin-1').decode('utf-8')
    except UnicodeDecodeError:
        return False
    return not any(UNFIT & set(part) or part[-1] in ' .' for part in text.split('/') if part)


def sid(text):
    parts = [int(p) for p in text.split('-')[1:]]
    return struct.pack('>BBHI', parts[0], len(parts) - 2, parts[1] >> 32,
                       parts[1] & 0xffffffff) + b''.join(struct.pack('<I', p) for p in parts[2:])


SIDS = ('S-1-1-0', 'S-1-22-1-1000', 'S-1-22-1-1001', 'S-1-22-2-100', 'S-1-5-32-544', 'S-1-5-11',
        'S-1-5-21-1-2-3-1234', 'S-1-3-0')


def descriptor(aces, owner=None, group=None, control=0):
    """A self-relative security descriptor (MS-DTYP 2.4.6): aces of (kind, flags, rights, SID);
    None: no DACL."""
    blobs, at, offsets = b'', 20, []
    for part in (owner, group):
        offsets.append(at if part else 0)
        raw = sid(part) if part else b''
        blobs, at = blobs + raw, at + len(raw)
    offsets += [0, at if aces is not None else 0]
    if aces is not None:
        body = b''.join(struct.pack('<BBHI', kind, flags, 8 + len(sid(who)), rights) + sid(who)
                        for kind, flags, rights, who in aces)
        blobs += struct.pack('<BBHHH', 2, 0, 8 + len(body), len(aces), 0) + body
        control |= 4
    return (struct.pack('<BBHIIII', 1, 0, control | 0x8000, *offsets) + blobs).hex()


class SmbOperations:
    SMB_WEIGHTS = {
        'smb_open': 12, 'smb_close': 4, 'smb_create': 8, 'smb_read': 14, 'smb_readall': 5,
        'smb_write': 13, 'smb_flush': 2, 'smb_size': 7, 'smb_zero': 5, 'smb_sparse': 3,
        'smb_ranges': 4, 'smb_copy': 4, 'smb_rename': 9, 'smb_place': 1.2, 'smb_rename_case': 2,
        'smb_link': 2, 'smb_delete': 5, 'smb_list': 6, 'smb_pages': 3, 'smb_info': 12, 'smb_set': 8,
        'smb_ea': 2, 'smb_stream': 4, 'smb_sd': 5, 'smb_lock': 4, 'smb_watch': 2, 'smb_durable': 1,
        'smb_gone': 2, 'smb_fs': 0.5, 'smb_ioctl': 0.7, 'smb_unlinked': 1.5, 'smb_office': 1,
        'smb_parallel': 3, 'smb_hidden': 0.3}

    # ---- what there is --------------------------------------------------------------------------

    def scan_smb(self):
        """Of the plain side's objects those with names that SMB has as they are, and that differ in
        more than case from others beside them."""
        self.smb_dirs = [p for p in self.dirs if fits(p)]
        self.smb_files = [p for p in self.files if fits(p)]
        self.smb_others = [p for p in self.others if fits(p) and p not in self.nodes]
        folded, self.twins = {}, set()
        for path in self.dirs + self.files + self.others:
            other = folded.setdefault(path.casefold(), path)
            if other != path:
                self.twins |= {path, other}

    def smb_dir(self):
        return self.r.choice(self.smb_dirs)

    def smb_file(self):
        if not self.smb_files:
            return None
        some = self.r.sample(self.smb_files, min(len(self.smb_files), self.r.choice((1, 1, 3, 8))))
        return max(some, key=lambda path: self.sizes[path])

    def smb_any(self):
        r = self.r
        return r.choice(r.choice((self.smb_files or self.smb_dirs, self.smb_files or self.smb_dirs,
                                  self.smb_dirs, self.smb_others or self.smb_dirs)))

    def smb_name(self):
        r, kind = self.r, self.r.random()
        if kind < 0.5:
            return f'n{self.count}'
        if kind < 0.6:
            return f'Mixed Case {self.count}.TXT'
        if kind < 0.7 and self.gone:
            name = r.choice(self.gone)[1]
            return name if fits(name) and name else 'gone'
        if kind < 0.93:
            return self.split(self.smb_any())[1] or 'n'
        return r.choice(('y' * 255, 'y' * 256, 'caf\xc3\xa9', '\xc3\x84 umlaut', 'FOO~1.TXT', 'con',
                         'n.', '.dot', 'a*b', '.migrate'))

    def smb_path(self, directory, name):
        if name == '.migrate' and not directory:
            name = 'migrate'
        return f'{directory}/{name}'.lstrip('/')

    def cased(self, op):
        """Now and then the path in other letters."""
        path = op['at']
        if self.r.random() < 0.15 and not any(t == path or path.startswith(t + '/')
                                              for t in self.twins):
            op['case'] = self.r.randrange(1, 1 << 30)
        return op

    def smb_about(self, slots=0.4, **more):
        """What an operation is done to: an open, or a path."""
        r = self.r
        if r.random() < slots:
            slot = self.smb_slot()
            opened = self.smb_side.slots.get(slot)
            return {'slot': slot}, self.sizes.get(opened.path if opened else None, 50000)
        path = self.smb_file()
        if path is None:
            return None, 0
        op = self.cased({'at': path, **more})
        if r.random() < 0.35:
            op['compound'] = True
        return op, self.sizes[path]

    def smb_slot(self):
        slots = sorted(self.smb_side.slots)
        if slots and self.r.random() < 0.93:
            return self.r.choice(slots)
        return self.r.randrange(SLOTS)

    def is_open_directory(self, op):
        opened = self.smb_side.slots.get(op.get('slot'))
        return opened and opened.path not in self.sizes

    def has_data(self, op):
        """Whether it is a file that is open for data.  Setting the size of anything else opens it
        once more, whereafter Samba 4.17 closes it without its share mode, and dies now or then."""
        opened = self.smb_side.slots.get(op['slot'])
        return opened and opened.granted & smb2.DATA_ACCESS and not self.is_open_directory(op)

    # ---- opens ----------------------------------------------------------------------------------

    def smb_oplock(self):
        r = self.r
        kind = r.random()
        if kind < 0.5:
            return {}
        if kind < 0.75:
            return {'oplock': r.choice((smb2.OPLOCK_II, smb2.OPLOCK_EXCLUSIVE,
                                        smb2.OPLOCK_BATCH))}
        return {'oplock': door_smb.LEASE, 'key': r.randrange(4), 'lease': r.choice((1, 3, 7, 5))}

    def make_smb_open(self):
        r = self.r
        op = {'op': 'smb_open', 'slot': r.randrange(SLOTS), 'access': r.choice(FILE_ACCESS),
              'share': r.choice((7, 7, 7, 7, 7, 3, 1, 0)), **self.smb_oplock()}
        if r.random() < 0.2:
            op['maximal'] = True
        kind = r.random()
        if kind < 0.15:
            op.update(at=self.smb_dir(), options=smb2.DIRECTORY_FILE, access=MAXIMUM)
            return op
        if kind < 0.8 and self.smb_files:
            op['at'] = self.smb_file()
            op['disposition'] = r.choice((smb2.OPEN,) * 6 + (smb2.OPEN_IF, smb2.OVERWRITE_IF,
                                                            smb2.OVERWRITE, smb2.SUPERSEDE))
            self.cased(op)
        else:
            op.update(at=self.smb_path(self.smb_dir(), self.smb_name()), disposition=r.choice(
                (smb2.NEW, smb2.OPEN_IF, smb2.OVERWRITE_IF, smb2.SUPERSEDE)))
        op['options'] = r.choice((0, 0, 0, smb2.NON_DIRECTORY, smb2.WRITE_THROUGH,
                                  smb2.DELETE_ON_CLOSE))
        if op['options'] == smb2.DELETE_ON_CLOSE:
            op['access'] = r.choice((MAXIMUM, 0x12019f | DELETE, 0x12019f))
            self.gone.append(self.split(op['at']))
        return op

    def make_smb_create(self):
        """Any combination."""
        r = self.r
        op = {'op': 'smb_create', 'access': r.choice(ACCESS), 'disposition': r.randrange(6),
              'options': r.choice((0, 0, smb2.NON_DIRECTORY, smb2.DIRECTORY_FILE,
                                   smb2.DIRECTORY_FILE, smb2.REPARSE, 0x4000,
                                   smb2.DELETE_ON_CLOSE)),
              'attributes': r.choice((0, 0, 0x80, 0x20, 2, 1, 6, 0x1000, 0x200)),
              'share': r.choice((7, 7, 3, 0))}
        if r.random() < 0.6:
            op['at'] = self.smb_path(self.smb_dir(), self.smb_name())
        else:
            op['at'] = self.smb_any()
            self.cased(op)
        if not op['at'] and op['options'] & smb2.DELETE_ON_CLOSE:
            return None
        if r.random() < 0.1:
            op['allocation'] = r.choice((0, 1000, 1 << 20))
        if r.random() < 0.1:
            op['ea'] = [('oracle', 'x' * r.choice((1, 50)))]
        if r.random() < 0.08:
            op['sd'] = self.smb_descriptor()
        if r.random() < 0.3:
            op['maximal'] = True
        if op['options'] & smb2.DELETE_ON_CLOSE:
            self.gone.append(self.split(op['at']))
        return op

    def make_smb_close(self):
        return {'op': 'smb_close', 'slot': self.smb_slot(), 'attributes': self.r.random() < 0.7}

    def make_smb_durable(self):
        """Without a write: Samba 4.17 gives no handle back, and closes none, if a creation time got
        stored by it, cut to 100 ns."""
        op, size = self.smb_about(0)
        return op and {'op': 'smb_durable', 'at': op['at'], 'access': 0x12019f,
                       'share': 7, 'offset': self.offset(size), 'length': self.length(64 * KIB),
                       'write': False}

    # ---- data -----------------------------------------------------------------------------------

    def make_smb_read(self):
        op, size = self.smb_about()
        if op and self.r.random() < 0.1:
            op['minimum'] = self.r.choice((1, 5000, 100000))
        return op and {'op': 'smb_read', **op, 'offset': self.offset(size),
                       'length': self.length(MIB)}

    def make_smb_readall(self):
        op, _ = self.smb_about(0.3)
        return op and {'op': 'smb_readall', **op, 'block': self.r.choice((64 * KIB, MIB)),
                       'window': self.r.choice((1, 4, 16))}

    def make_smb_write(self):
        """Of nothing only where smbd can mark the file as changed; it succeeds without."""
        op, size = self.smb_about()
        lengths = self.length(), self.length(), int(self.down)
        return op and {'op': 'smb_write', **op, 'offset': self.offset(size),
                       'length': self.r.choice(lengths),
                       'fill': self.r.randrange(1 << 30), 'through': self.r.choice((0, 0, 1))}

    def make_smb_flush(self):
        op, _ = self.smb_about()
        return op and {'op': 'smb_flush', **op}

    def make_smb_size(self):
        op, size = self.smb_about()
        r = self.r
        if not op or 'slot' in op and not self.has_data(op):
            return None
        sizes = [r.choice((0, size // 2, r.randrange(size + 1), size, size + 1,
                           size + r.randrange(100000), size // 2 & ~4095))]
        if r.random() < 0.3:
            sizes.append(size + r.randrange(10000))
        return [{'op': 'smb_size', **op, 'size': s, 'allocation': r.random() < 0.2} for s in sizes]

    def make_smb_zero(self):
        about, size = self.smb_about()
        op = about and {'op': 'smb_zero', **about, 'offset': self.offset(size),
                        'length': self.length()}
        opened = about and self.smb_side.slots.get(about.get('slot'))
        path = opened.path if opened else about and about.get('at', '')
        return op and self.may_punch(next((p for p in self.sizes if p.lower() == path.lower()), path), op) and op

    def make_smb_sparse(self):
        op, _ = self.smb_about()
        return op and {'op': 'smb_sparse', **op, 'on': self.r.random() < 0.8}

    def make_smb_ranges(self):
        """Of what is not sparse smbd says that all is there."""
        op, size = self.smb_about()
        if not op:
            return None
        op = {'op': 'smb_ranges', **op, 'offset': self.r.choice((0, 0, self.offset(size))),
              'length': self.r.choice((size + 10000, self.length())),
              'largest': self.r.choice((65536, 65536, 16))}
        if self.r.random() < 0.3:
            return op
        return [{'op': 'smb_sparse', 'on': True, 'who': 0,
                 **{k: v for k, v in op.items() if k in ('slot', 'at')}}, {**op, 'who': 0}]

    def make_smb_copy(self):
        """Also onto the file itself, and into one that is made for it."""
        r = self.r
        source, target = self.smb_file(), self.smb_file()
        if not source:
            return None
        size = self.sizes[source]
        op = {'op': 'smb_copy', 'from': source, 'at': target, 'write_only': r.random() < 0.4}
        if r.random() < 0.4:
            op['at'] = self.smb_path(self.smb_dir(), f'copy{self.count}')
            op['make'] = {'disposition': smb2.OVERWRITE_IF}
            op['chunks'] = [(at, at, min(MIB, size - at)) for at in range(0, size, MIB)][:16]
        else:
            op['chunks'] = [self.a_chunk(size) for _ in range(r.choice((1, 1, 3)))]
        if r.random() < 0.15:
            op['extents'] = True
            op['chunks'] = [r.choice(((0, 0, size), (65536, 0, 65536), (0, 65536, size & ~65535)))]
        elif r.random() < 0.3:          # with the same resume key
            op['again'] = [self.a_chunk(size)]
        if r.random() < 0.7:            # most may read or write nearly nothing
            op.update(who=0, client=r.randrange(self.clients))
        return op if op['chunks'] else None

    def a_chunk(self, size):
        """(from, to, length), seldom behind the end."""
        begin, length = min(size, self.offset(size)), self.length()
        if self.r.random() < 0.9:
            begin = min(begin, max(0, size - 1))
            length = max(1, min(length, size - begin))
        return begin, self.offset(size), length

    def make_smb_lock(self):
        r = self.r
        op, _ = self.smb_about(0.9)
        if op and self.is_open_directory(op):       # Samba 4.17 dies of some
            return None
        kind = r.choice((1, 2, 2, 4)) | smb2.LOCK_NOW
        if kind & 4:
            kind = 4
        return op and {'op': 'smb_lock', **op, 'locks': [
            (r.choice((0, 100, 4096)), r.choice((1, 100, 10000)), kind)]}

    # ---- names ----------------------------------------------------------------------------------

    def make_smb_rename(self):
        r = self.r
        path = r.choice(self.smb_dirs) if r.random() < 0.3 else self.smb_any()
        if not path:
            return None
        to = self.smb_path(self.smb_dir(), self.smb_name())
        if r.random() < 0.3:
            other = self.smb_any()
            to = other if other and other not in self.ending else to
        op = {'op': 'smb_rename', 'at': path, 'to': to, 'replace': r.random() < 0.6}
        if r.random() < 0.2:
            op = {**op, 'slot': self.smb_slot()}
            del op['at']
        else:
            self.gone.append(self.split(path))
            if r.random() < 0.3:
                op['compound'] = True
            self.cased(op)
        return op

    def make_smb_place(self):
        """Into a directory that is made for it, and is whole until then."""
        path, who, client = self.smb_any(), self.r.choice((0, 0, 1)), self.r.randrange(self.clients)
        if not path:
            return None
        self.gone.append(self.split(path))
        new = self.smb_path(self.smb_dir(), f'new{self.count}')
        return [{'op': 'smb_create', 'at': new, 'disposition': smb2.NEW, 'access': MAXIMUM,
                 'options': smb2.DIRECTORY_FILE, 'who': who, 'client': client},
                {'op': 'smb_rename', 'at': path, 'to': new + '/in', 'who': who, 'client': client}]

    def make_smb_rename_case(self):
        """The same name in other letters."""
        path = self.smb_any()
        directory, name = self.split(path)
        if not name or path in self.twins or not name.isascii():
            return None
        return {'op': 'smb_rename', 'at': path, 'replace': self.r.random() < 0.5,
                'to': self.smb_path(directory, name.swapcase())}

    def make_smb_link(self):
        path = self.smb_file()
        return path and {'op': 'smb_link', 'at': path, 'replace': self.r.random() < 0.3,
                         'to': self.smb_path(self.smb_dir(), self.smb_name())}

    def make_smb_delete(self):
        r = self.r
        if r.random() < 0.25:
            return {'op': 'smb_delete', 'slot': self.smb_slot(), 'on': r.random() < 0.7}
        path = self.smb_any()
        if not path:
            return None
        self.gone.append(self.split(path))
        return {'op': 'smb_delete', 'at': path, 'compound': r.random() < 0.3,
                'options': r.choice((0, 0, smb2.REPARSE))}

    def make_smb_unlinked(self):
        """A file that is open is removed, and read to its end."""
        path, slot = self.smb_file(), self.r.randrange(SLOTS)
        if not path:
            return None
        self.gone.append(self.split(path))
        return [{'op': 'smb_open', 'at': path, 'access': 0x12019f | DELETE, 'share': 7,
                 'slot': slot, 'who': 0},
                {'op': 'smb_read', 'slot': slot, 'offset': 0, 'length': 1000, 'who': 0},
                {'op': 'smb_delete', 'slot': slot, 'who': 0},
                {'op': 'smb_info', 'at': path, 'level': door_smb.ALL, 'who': 0},
                {'op': 'smb_readall', 'slot': slot, 'block': 64 * KIB, 'who': 0},
                {'op': 'smb_info', 'slot': slot, 'level': door_smb.STANDARD, 'who': 0},
                {'op': 'smb_close', 'slot': slot, 'who': 0},
                {'op': 'smb_info', 'at': path, 'level': door_smb.ALL, 'who': 0}]

    def make_smb_office(self):
        """What an office program does when it saves."""
        path, slot = self.smb_file(), self.r.randrange(SLOTS)
        if not path:
            return None
        directory, name = self.split(path)
        new, old = (self.smb_path(directory, f'~{kind}{self.count}.tmp') for kind in 'no')
        who, client = self.r.choice((0, 0, 1)), self.r.randrange(self.clients)
        ops = [{'op': 'smb_open', 'at': path, 'access': 0x12019f, 'share': 7, 'slot': slot,
                'oplock': smb2.OPLOCK_BATCH},
               {'op': 'smb_read', 'slot': slot, 'offset': 0, 'length': 4096},
               {'op': 'smb_create', 'at': new, 'access': 0x12019f, 'disposition': smb2.NEW,
                'share': 0},
               {'op': 'smb_write', 'at': new, 'offset': 0, 'length': 20000, 'fill': self.count},
               {'op': 'smb_close', 'slot': slot},
               {'op': 'smb_rename', 'at': path, 'to': old},
               {'op': 'smb_rename', 'at': new, 'to': path},
               {'op': 'smb_sd', 'at': path, 'what': 7},
               {'op': 'smb_create', 'at': old, 'access': DELETE, 'share': 7,
                'options': smb2.DELETE_ON_CLOSE}]
        return [{**op, 'who': who, 'client': client} for op in ops]

    def make_smb_gone(self):
        if not self.gone:
            return None
        path = self.smb_path(*self.r.choice(self.gone))
        return {'op': 'smb_info', 'at': path, 'level': door_smb.BASIC} if fits(path) else None

    def make_smb_hidden(self):
        """What belongs to the retriever."""
        return {'op': 'smb_create', 'at': self.r.choice(('.migrate', '.migrate/links', '.MIGRATE')),
                'access': self.r.choice((READ_ATTRIBUTES, MAXIMUM)), 'disposition': smb2.OPEN}

    # ---- listings and attributes ----------------------------------------------------------------

    def make_smb_list(self):
        r = self.r
        return self.cased({
            'op': 'smb_list', 'at': self.smb_dir(), 'level': r.choice(LISTS),
            'pattern': r.choice(PATTERNS), 'largest': r.choice((65536, 65536, MIB, 1024)),
            'single': r.random() < 0.1})

    def make_smb_pages(self):
        r = self.r
        begin = {'op': 'smb_open', 'slot': r.randrange(SLOTS), 'options': smb2.DIRECTORY_FILE,
                 'at': 'wide' if 'wide' in self.smb_dirs else self.smb_dir(),
                 'access': READ_DATA | READ_ATTRIBUTES, 'share': 7}
        more = {'op': 'smb_pages', 'slot': begin['slot'], 'level': r.choice(LISTS), 'pattern': '*',
                'largest': 1024, 'pages': r.randrange(1, 4)}
        if r.random() < 0.5:
            return [begin, {**more, 'start': True}]
        return {**more, 'slot': self.smb_slot()}

    def make_smb_info(self):
        r = self.r
        op = {'op': 'smb_info', 'level': r.choice(LEVELS)}
        if r.random() < 0.4:
            return {**op, 'slot': self.smb_slot()}
        return self.cased({**op, 'at': self.smb_any(), 'compound': r.random() < 0.4})

    def make_smb_fs(self):
        return {'op': 'smb_fs', 'level': self.r.choice((4, 5, 11))}

    def make_smb_set(self):
        r = self.r
        new = {}
        for key in ('btime', 'atime', 'mtime', 'ctime'):
            if r.random() < 0.35:
                new[key] = r.choice((a_time(r) // 100 * 100, a_time(r) // 100 * 100, -1, -2))
        path = self.smb_any()
        if r.random() < 0.5 or not new:
            new['dos'] = r.choice((0x20, 1, 2, 4, 0x22, 0x1006, 0x10, 0x2000, 0x400000))
            if self.shown(path)[0]:
                new['dos'] = r.choice((0x80, new['dos']))
        op = {'at': path}
        if r.random() < 0.3 and new.get('dos') != 0x80:
            op = {'slot': self.smb_slot()}
            opened = self.smb_side.slots.get(op['slot'])
            path = opened and opened.path
        # What a file shows is no change of it, and one if it shows that it is offline beside that.
        # The module cannot tell it from what smbd does not keep, nor keep smbd from telling of it.
        shown = self.shown(path)[1] if 'dos' in new and path is not None else ()
        kept = new.get('dos', 0) & 0x37 or smb2.A_NORMAL
        if kept in shown and (new['dos'] != kept or self.smb_side.watches):
            new['dos'] = next(dos for dos in (0x22, 0x20, 2, 4, 6, 0x24, 0x26) if dos not in shown)
        if 'slot' in op:
            return {'op': 'smb_set', **op, 'new': new}
        return self.cased({'op': 'smb_set', **op, 'new': new, 'compound': r.random() < 0.3})

    def shown(self, path):
        """Whether DOS attributes are stored, and what the plain side may show."""
        path = os.path.join(self.plain, path.encode('latin-1'))
        try:
            stored = os.getxattr(path, 'user.DOSATTRIB', follow_symlinks=False)
        except OSError:
            stored = b''
        found = {0}                             # of the mode
        if os.path.lexists(path) and os.lstat(path).st_mode & 0o100:
            found.add(smb2.A_ARCHIVE)
        if len(stored) >= 16:
            found.add(stored[12] & 0x27)
        found |= {a | smb2.A_HIDDEN for a in found}     # if the name begins with a dot
        return bool(stored), {a or smb2.A_NORMAL for a in found}

    def make_smb_ea(self):
        r = self.r
        return {'op': 'smb_ea', 'at': self.smb_any(), 'ea': [
            (r.choice(('oracle', 'Other', 'third')), 'x' * r.choice((0, 1, 100)))
            for _ in range(r.choice((1, 2)))]}

    def make_smb_stream(self):
        """Of a file or a directory.  Samba 4.17 dies where the close that removes one is to tell
        its attributes."""
        r = self.r
        path, stream = self.smb_any(), r.choice(STREAMS)
        about = {'at': path, 'stream': r.choice((stream, stream.upper()))}
        kinds = ({'op': 'smb_create', 'disposition': r.randrange(6), 'access': MAXIMUM},
                 {'op': 'smb_write', 'disposition': smb2.OPEN_IF, 'offset': r.choice((0, 10)),
                  'length': r.choice((1, 500, 3000)), 'fill': r.randrange(1 << 30)},
                 {'op': 'smb_read', 'offset': 0, 'length': 5000},
                 {'op': 'smb_size', 'size': r.choice((0, 10, 2000))},
                 {'op': 'smb_delete', 'attributes': False},
                 {'op': 'smb_info', 'level': door_smb.ALL})
        op = {**r.choice(kinds), **about}
        return [{'op': 'smb_write', **about, 'disposition': smb2.OPEN_IF, 'offset': 0,
                 'length': 100, 'fill': 1}, op] if r.random() < 0.4 else op

    def smb_descriptor(self):
        r = self.r
        aces = [(r.choice((0, 0, 0, 1)), r.choice((0, 3, 0x13, 11)), r.choice(RIGHTS),
                 r.choice(SIDS)) for _ in range(r.randrange(5))]
        aces.sort(key=lambda ace: (ace[1] & 0x10, -ace[0]))
        return descriptor(r.choice((aces, aces, aces, None)) if r.random() < 0.9 else [],
                          r.choice((None, None, 'S-1-22-1-1000')), r.choice((None, 'S-1-22-2-100')),
                          r.choice((0, 0x1000, 0x0400, 0x1400)))

    def make_smb_sd(self):
        r = self.r
        op = {'op': 'smb_sd', 'at': self.smb_any(), 'what': r.choice((1, 2, 4, 7, 7, 7, 15))}
        if r.random() < 0.2:
            op = {**op, 'slot': self.smb_slot()}
            del op['at']
        if r.random() < 0.45:
            op['what'] = r.choice((4, 4, 7, 4 | 0x80000000, 4 | 0x20000000))
            op['sd'] = self.smb_descriptor()
        return op

    # ---- others ---------------------------------------------------------------------------------

    def make_smb_watch(self):
        slot = self.r.randrange(SLOTS)
        return [{'op': 'smb_open', 'slot': slot, 'options': smb2.DIRECTORY_FILE,
                 'at': self.smb_dir(), 'access': READ_DATA | READ_ATTRIBUTES, 'share': 7},
                {'op': 'smb_watch', 'slot': slot, 'what': 0x17f, 'tree': self.r.random() < 0.5}]

    def make_smb_ioctl(self):
        op, _ = self.smb_about()
        code = self.r.choice((smb2.FSCTL_GET_COMPRESSION, smb2.FSCTL_REPARSE_POINT,
                              smb2.FSCTL_FILE_LEVEL_TRIM, smb2.FSCTL_COPYCHUNK, 0x90078, 0x9009c))
        return op and {'op': 'smb_ioctl', **op, 'code': code}

    def make_smb_parallel(self):
        r = self.r
        if self.clients < 2 or len(self.smb_files) < 4:
            return None
        path, ops = self.smb_file(), []
        for client in range(self.clients):
            kind = r.choice(('smb_read', 'smb_read', 'smb_info', 'smb_list'))
            op = {'op': kind, 'at': path, 'who': 0, 'client': client, 'plain': False}
            if kind == 'smb_read':
                op.update(offset=self.offset(self.sizes[path]), length=self.length(MIB))
            else:
                op['level'] = door_smb.ID_BOTH if kind == 'smb_list' else door_smb.ALL
                if kind == 'smb_list':
                    op['at'] = self.smb_dir()
            ops.append(op)
        other = self.smb_file()
        if r.random() < 0.4 and self.inodes[other] != self.inodes[path]:
            ops[0] = {'op': 'smb_write', 'at': other, 'offset': self.offset(self.sizes[other]),
                      'length': self.length(), 'fill': r.randrange(1 << 30), 'who': 0, 'client': 0}
        return {'op': 'parallel', 'ops': ops, 'who': 0, 'door': 'smb'}
