# SPDX-License-Identifier: GPL-3.0-or-later
"""The tree of an old SMB server: source.py's, as far as SMB clients see it, and with what they see:
each object has a security descriptor, DOS attributes and a time of creation as Samba keeps them, and
some have streams.  The permission bits are those of `smb-modes = open`."""
import random

import smb2
import source
from generate_smb import RIGHTS, SIDS, descriptor, fits

NOBODY = 65534, 65533                   # default-owner: of whom nobody knows
UNKNOWN = 'S-1-5-21-7-77-777-500'
STREAMS = ('s', 'Zone.Identifier', '\u00e4 \u00f6'.encode().decode('latin-1'), 'x' * 100)
FULL, EVERYONE = 0x1f01ff, 'S-1-1-0'
V1 = bytes((1, 0, 1, 0, 0, 0, 2, 0))    # of security.NTACL: no hash, what follows is believed


def make(seed):
    r = random.Random(f'smb {seed}')
    return [carried(r, entry) for entry in source.make(seed)
            if entry['type'] in 'dfh' and fits(entry['path'])]


def carried(r, entry):
    out = {key: value for key, value in entry.items() if key != 'acl'}
    if entry['type'] == 'h':
        return out
    directory = entry['type'] == 'd'
    out['mode'] = 0o777 if directory else 0o666
    out['times'] = [t // 100 * 100 for t in entry['times']]
    uid, gid = entry['owner']
    owner = f'S-1-22-1-{uid}', f'S-1-22-2-{gid}'
    if r.random() < 0.1:
        out['owner'], owner = NOBODY, (UNKNOWN, UNKNOWN)
    out['xattrs'] = {'security.NTACL': ntacl(a_descriptor(r, directory, owner, entry['path'])),
                     'user.DOSATTRIB': source.dosattrib(r, smb2.A_DIRECTORY * directory)}
    if r.random() < 0.25:
        for name in r.sample(STREAMS, r.choice((1, 1, 2))):
            out['xattrs'][f'user.DosStream.{name}:$DATA'] = \
                chr(r.randrange(65, 91)) * r.choice((0, 1, 10, 900)) + '\0'
    return out


def a_descriptor(r, directory, owner, path):
    """Most let everybody do everything but for some."""
    aces = [(r.choice((0, 0, 0, 1)), r.choice((0, 0, 3, 0x13, 11) if directory else (0, 0, 0x10)),
             r.choice(RIGHTS), r.choice(SIDS)) for _ in range(r.randrange(4))] if path else []
    aces.sort(key=lambda ace: (ace[1] & 0x10, -ace[0]))
    if r.random() < 0.85 or not path:
        aces.append((0, 3 if directory else 0, FULL, EVERYONE))
    return bytes.fromhex(descriptor(aces, *owner, r.choice((0, 0x400, 0x1000, 0x1400))))


def ntacl(sd):
    offsets = [int.from_bytes(sd[at:at + 4], 'little') for at in range(4, 20, 4)]
    moved = b''.join((at + 8 if at else 0).to_bytes(4, 'little') for at in offsets)
    return (V1 + sd[:4] + moved + sd[20:]).decode('latin-1')
