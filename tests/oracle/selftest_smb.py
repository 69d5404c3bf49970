# SPDX-License-Identifier: GPL-3.0-or-later
"""selftest.py's sequence and lies over SMB."""
import os

import door_smb
import smb2
import source_smb
from generate_smb import descriptor

CASE = {
    'door': 'smb', 'seed': 0,
    'settings': {'fs': 'ext4', 'clients': 2, 'smb': {'posix locking': 'no'}},
    'tree': [
        {'path': 'd', 'type': 'd', 'mode': 0o777, 'owner': (1000, 1000),
         'times': (10**18, 10**18 + 1000)},
        {'path': 'd/file', 'type': 'f', 'mode': 0o666, 'owner': (1000, 100), 'size': 300000,
         'times': (10**18 + 2000, 10**18 + 3000), 'data': [(0, 8192, 1), (65536, 200000, 2)]},
        {'path': 'd/other', 'type': 'h', 'to': 'd/file', 'mode': 0, 'owner': (0, 0),
         'times': (0, 0)},
        {'path': 'd/still', 'type': 'f', 'mode': 0o600, 'owner': (0, 0), 'size': 5000,
         'times': (10**18 + 4000, 10**18 + 5000), 'data': [(0, 5000, 3)]},
        {'path': '', 'type': 'd', 'mode': 0o777, 'owner': (0, 0), 'times': (10**18, 10**18)},
    ]}
STILL = {'op': 'smb_info', 'at': 'd/still', 'level': door_smb.ALL}
OPS = [
    STILL,
    {'op': 'smb_list', 'at': 'd', 'level': door_smb.ID_BOTH},
    {'op': 'smb_open', 'slot': 1, 'at': 'd', 'options': smb2.DIRECTORY_FILE},
    {'op': 'smb_watch', 'slot': 1, 'what': 0x17f, 'tree': False},
    {'op': 'smb_open', 'slot': 0, 'at': 'd/file', 'access': 0x12019f, 'oplock': 9},
    {'op': 'smb_read', 'slot': 0, 'offset': 70000, 'length': 5000},
    {'op': 'smb_write', 'at': 'd/file', 'offset': 10, 'length': 20, 'fill': 1, 'who': 1,
     'client': 1},
    {'op': 'smb_sparse', 'slot': 0, 'on': True},
    {'op': 'smb_readall', 'slot': 0, 'block': 65536},
    {'op': 'crawl'},                    # what is missing would count as data
    {'op': 'smb_ranges', 'slot': 0, 'offset': 0, 'length': 300000},
    STILL,
    {'op': 'smb_info', 'at': 'd/file', 'level': door_smb.STREAM},
    {'op': 'smb_sd', 'at': 'd/file', 'what': 7},
    {'op': 'smb_fs', 'level': 5},
    {'op': 'smb_close', 'slot': 0},
    {'op': 'smb_create', 'at': 'd/new', 'disposition': smb2.NEW},
]


def attribute(op_name, slot=None, which=-1, **new):
    """A lie about attributes of an operation's result; values may be functions of the true ones."""
    def lie(op, result):
        if op['op'] == op_name and (slot is None or op.get('slot') == slot) and result['seen']:
            what, key, attr, before = result['seen'][which]
            attr = attr._replace(**{k: v(getattr(attr, k)) if callable(v) else v
                                    for k, v in new.items()})
            result['seen'][which] = (what, key, attr, before)
    return lie


def value(op_name, key, change):
    def lie(op, result):
        if op['op'] == op_name and key in result:
            result[key] = change(result[key])
    return lie


def entry(change):
    def lie(op, result):
        if op['op'] == 'smb_list':
            result['listing'].entries = change(result['listing'].entries)
    return lie


def side(name, change):
    """About what a server said by itself."""
    def lie(op, result):
        if op['op'] == name:
            change(result['side'])
    return lie


def others(entries):
    """With another size of the first that is no directory."""
    at = next(n for n, e in enumerate(entries) if not e[1].dos & smb2.A_DIRECTORY)
    name, attr, more = entries[at]
    return [*entries[:at], (name, attr._replace(size=1), more), *entries[at + 1:]]


LIES = {
    'one byte of data': value('smb_read', 'data', lambda d: d[:99] + bytes([d[99] ^ 1]) + d[100:]),
    'zeros for data': value('smb_read', 'data', lambda d: bytes(len(d))),
    'a short read': value('smb_readall', 'data', lambda d: d[:-1]),
    'a status': value('smb_create', 'steps', lambda s: ['ACCESS_DENIED']),
    'a write count': value('smb_write', 'count', lambda c: c - 1),
    'the action': value('smb_create', 'action', lambda a: 1),
    'an oplock': value('smb_open', 'oplock', lambda o: o ^ 1),
    'DOS attributes': attribute('smb_info', dos=lambda d: d ^ 2),
    'size': attribute('smb_info', size=lambda s: s - 1),
    'links': attribute('smb_info', nlink=7),
    'space': attribute('smb_info', used=1 << 30),
    'mtime by 100 ns': attribute('smb_info', mtime=lambda t: t + 100),
    'mtime of now': attribute('smb_info', mtime=18 * 10**17),
    'atime': attribute('smb_info', atime=lambda t: t + 100),
    'a creation time': attribute('smb_info', btime=lambda t: t + 10**9),
    'a write that moves no mtime': attribute('smb_write', mtime=10**18 + 3000),
    'another object': lambda op, result: op['op'] == 'smb_write' and result['seen'].__setitem__(
        -1, ('closed', b'?', result['seen'][-1][2]._replace(fileid=1), None)),
    'a name too few': entry(lambda e: e[1:]),
    'a name twice': entry(lambda e: e + e[:1]),
    'a name too much': entry(lambda e: e + [('new', *e[0][1:])]),
    'a size in a listing': entry(others),
    'a security descriptor': value('smb_sd', 'sd', lambda s: s[:-1] + b'x'),
    'a stream': value('smb_info', 'streams', lambda s: s + [(':x:$DATA', 1, 1)]),
    'a hole where data is': value('smb_ranges', 'ranges', lambda r: [(0, 4096)]),
    'data where a hole is': value('smb_ranges', 'ranges', lambda r: [(0, 300000)]),
    'a feature of the file system': value('smb_fs', 'fs', lambda f: (f[0], b'\1' + f[1])),
    'no break': side('smb_write', lambda s: s.breaks.clear()),
    'no notification': side('smb_create', lambda s: s.watches.clear()),
    'a notification too much': side('smb_create', lambda s: s.watches[1].events.append((1, 'x'))),
}


# ---- an old SMB server ---------------------------------------------------------------------------

def dressed(entry, number):
    """With what an old SMB server tells of it."""
    if entry['type'] == 'h':
        return entry
    uid, gid = entry['owner']
    sd = descriptor([(0, 0, 0x1f01ff, 'S-1-1-0')] * (1 + number % 2), f'S-1-22-1-{uid}',
                    f'S-1-22-2-{gid}')
    attributes = smb2.A_HIDDEN | smb2.A_DIRECTORY * (entry['type'] == 'd')
    made = (126 * 10**15 + number).to_bytes(8, 'little')
    return {**entry, 'mode': 0o777 if entry['type'] == 'd' else 0o666, 'xattrs': {
        'security.NTACL': source_smb.ntacl(bytes.fromhex(sd)),
        'user.DOSATTRIB': (bytes((0, 0, 5, 0, 5, 0, 0, 0, 0x11, 0, 0, 0, attributes, 0, 0, 0)) +
                           made).decode('latin-1'),
        'user.DosStream.s:$DATA': f'stream {number}\0'}}


SOURCE_CASE = {
    **CASE, 'settings': {**CASE['settings'], 'source': 'smb', 'objects': 'streams_xattr acl_xattr',
                         'smb': {'posix locking': 'no', 'acl_xattr:ignore system acls': 'yes'}},
    'tree': [dressed(entry, 2 * n + 2) for n, entry in enumerate(CASE['tree'])]}
SOURCE_OPS = [
    STILL,
    {'op': 'smb_info', 'at': 'd/file', 'level': door_smb.STREAM},
    {'op': 'smb_read', 'at': 'd/still', 'stream': 's', 'offset': 0, 'length': 100},
    {'op': 'smb_sd', 'at': 'd/file', 'what': 7},
]
SOURCE_LIES = {
    'a creation time by 100 ns': attribute('smb_info', btime=lambda t: t + 100),
    'no stream': value('smb_info', 'streams', lambda s: s[:1]),
    'data of a stream': value('smb_read', 'data', lambda d: d[:-1] + b'x'),
    "a neighbour's descriptor": value('smb_sd', 'sd', lambda s: s.replace(b'\x64', b'\x65')),
}


def on_disk(name, change):
    """An extended attribute of a file becomes that of another, or what change makes of it."""
    def lie(sequence):
        still, other = (f'{sequence.migrated}/d/{file}' for file in ('still', 'file'))
        os.setxattr(still, name, change(os.getxattr(still, name), os.getxattr(other, name)))
    return lie


SOURCE_DISK_LIES = {
    "a neighbour's descriptor on disk": on_disk('security.NTACL', lambda mine, other: other),
    'an attribute on disk': on_disk('user.DOSATTRIB', lambda mine, _: mine[:12] + b'\1' +
                                    mine[13:]),
    'a creation time on disk': on_disk('user.DOSATTRIB', lambda mine, other: mine[:16] + other[16:]),
    "a neighbour's stream on disk": on_disk('user.DosStream.s:$DATA', lambda mine, other: other),
}
