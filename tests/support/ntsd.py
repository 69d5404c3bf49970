# SPDX-License-Identifier: GPL-3.0-or-later
"""Security descriptors (MS-DTYP 2.4), made and read."""
import struct

OWNER, GROUP, DACL, SACL = 1, 2, 4, 8           # of security information
ALL = OWNER | GROUP | DACL | SACL
DACL_PRESENT, SACL_PRESENT, SELF_RELATIVE = 0x4, 0x10, 0x8000
AUTO_INHERITED, SACL_AUTO_INHERITED, PROTECTED = 0x400, 0x800, 0x1000
KEEP_AUTO_INHERITED = 0x500                     # how it is set
ALLOW, DENY, AUDIT = 0, 1, 2
FILES, DIRECTORIES, NO_FURTHER, ONLY_BELOW, INHERITED, SUCCESSES = 1, 2, 4, 8, 16, 0x40
GENERIC_ALL = 0x10000000
FULL, MODIFY, READ_EXECUTE, READ, WRITE = 0x1f01ff, 0x1301bf, 0x1200a9, 0x120089, 0x120116
OWNER_RIGHTS = 'S-1-3-4'
EVERYONE, CREATOR, ADMINISTRATORS, USERS = 'S-1-1-0', 'S-1-3-0', 'S-1-5-32-544', 'S-1-5-32-545'


def sid(text):
    parts = text.split('-')[2:]
    return (bytes([1, len(parts) - 1]) + int(parts[0]).to_bytes(6, 'big')
            + b''.join(struct.pack('<I', int(part)) for part in parts[1:]))


def read_sid(data):
    parts = struct.unpack_from(f'<{data[1]}I', data, 8)
    return '-'.join(map(str, ('S-1', int.from_bytes(data[2:8], 'big'), *parts)))


def ace(kind, flags, mask, who):
    who = sid(who)
    return struct.pack('<BBHI', kind, flags, 8 + len(who), mask) + who


def acl(aces):
    body = b''.join(aces)
    return struct.pack('<BBHHH', 2, 0, 8 + len(body), len(aces), 0) + body


def descriptor(owner, group, dacl, sacl=None, control=0):
    """dacl, sacl: lists of ace()s; None: there is none."""
    parts = [owner and sid(owner), group and sid(group), sacl is not None and acl(sacl),
             dacl is not None and acl(dacl)]
    control |= (SELF_RELATIVE | (DACL_PRESENT if dacl is not None else 0)
                | (SACL_PRESENT if sacl is not None else 0))
    offsets, body = [], b''
    for part in parts:
        offsets.append(20 + len(body) if part else 0)
        body += part or b''
    return struct.pack('<BBHIIII', 1, 0, control, *offsets) + body


def read(data):
    """(control, owner, group, [(kind, flags, mask, who)] or None of the SACL, and of the DACL)"""
    _, _, control, *offsets = struct.unpack_from('<BBHIIII', data)
    lists = []
    for at in offsets[2:]:
        entries, count = None, 0
        if at:
            entries, count = [], struct.unpack_from('<H', data, at + 4)[0]
        at += 8
        for _ in range(count):
            kind, flags, size, mask = struct.unpack_from('<BBHI', data, at)
            entries.append((kind, flags, mask, read_sid(data[at + 8:])))
            at += size
        lists.append(entries)
    return (control, *(read_sid(data[at:]) if at else None for at in offsets[:2]), *lists)
