#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opening, looking up and listing what is not here yet."""
import os
import sys

from door import (ROOT, SHARE, World, content, fid_of, listing, open_status, opened, status_is,
                  subdirectory, unfilled)
import smb2
from fake import FILL, FILLED, HOLD, NAME
from harness import case, expect, main, same


def asked(world, *ops):
    return [(r.op, r.text) for r in world.fake.requests() if r.op in (ops or (NAME, FILL))]


@case()
def lists_an_unfilled_directory(args):
    world = World(args, unfilled)
    session = world.session()
    same(listing(session, 'dir'), sorted(f'file{n}' for n in range(20)), 'names')
    same(asked(world, FILL), [(FILL, b'')], 'requests')
    same(content(session, 'dir\\file7'), b'content of file7', 'content')


@case()
def opens_a_file_by_one_name(args):
    world = World(args, unfilled)
    session = world.session()
    same(content(session, 'dir\\file3'), b'content of file3', 'content')
    same(asked(world), [(NAME, b'file3')], 'requests')
    same(os.listdir(world.path('dir')), ['file3'], 'names on disk')


if __name__ == '__main__':
    sys.exit(main())
