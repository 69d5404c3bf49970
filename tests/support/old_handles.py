# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of old handles, as `migratectl takeover` writes them."""
import os

import fake

FIRST = 'quickmigrate old handles 1\n'


def line(old, directory, fileid, fsid=1, path='.'):
    """What clients call `old` is that directory here."""
    bound = fake.binding(directory)
    return f'{old.hex()} {fileid} {fsid} {bound[0]} {bound[2:].hex()} {path}\n'


def write(file, *lines):
    with open(file + '~', 'w') as out:
        out.writelines([FIRST, *lines])
    os.rename(file + '~', file)
