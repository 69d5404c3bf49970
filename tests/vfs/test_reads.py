#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads of unfinished files through smbd."""
import sys

from data import close, partial, read
from door import TEXT, World, opened
import fake as f
from fake import RANGE
from harness import case, expect, main, same


@case()
def missing_ranges_are_fetched(args):
    """As far as they are read; and present ones are read at once."""
    def fill(world):
        partial(world, 'stub', TEXT, (0, 8192))
    world = World(args, fill)
    s, fake = world.session(), world.fake
    fid = opened(s, 'stub')
    same(read(s, fid, 100, 8092), TEXT[100:8192], 'what is here')
    same(fake.requests(), [], 'requests')
    same(read(s, fid, 8191, 2), TEXT[8191:8193], 'what is missing')
    asked, = fake.requests(RANGE)
    same((asked.offset, asked.length), (8191, 2), 'range')
    same(read(s, fid, 0, len(TEXT) + 10), TEXT, 'all of it')
    same(read(s, fid, len(TEXT), 10), b'', 'the end')
    close(s, fid)
    expect(f.is_normal(world.path('stub')), 'it has a record')


if __name__ == '__main__':
    sys.exit(main())
