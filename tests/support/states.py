# SPDX-License-Identifier: GPL-3.0-or-later
"""What a crash may leave of disks whose writes were recorded (volatile.py): at each moment, what was
flushed before is there, and each block that was written since is there or not, by itself, in any of the
versions that were written."""
import collections
import contextlib
import os

import sandbox
from sandbox import sh
from volatile import BLOCK

BEGIN = 'begin'                         # what is recorded before is whole in each state


class State(collections.namedtuple('State', 'name told disks')):
    """told: what the guest had said before.  disks: dictionaries of bytes by number of block."""


def moments(log):
    """The numbers of entries before which the most may be lost: ends of what lies between two flushes."""
    found, new = [], False
    for at in range(log.index(BEGIN) + 1, len(log)):
        is_flush = not isinstance(log[at], str) and len(log[at]) == 1
        if is_flush and new:
            found.append(at)
        new = not is_flush
    return found + [len(log)]


def state(log, at, share, random, disks):
    """What a crash leaves before the entry of that number, with that share of what is not durable."""
    safe, caches = ([{} for _ in range(disks)] for _ in range(2))
    told = []
    for entry in log[:at]:
        if isinstance(entry, str):
            told.append(entry)
            if entry == BEGIN:
                for number in range(disks):
                    flush(safe[number], caches[number])
        elif len(entry) == 1:
            flush(safe[entry[0]], caches[entry[0]])
        else:
            number, offset, data, force = entry
            for i in range(0, len(data), BLOCK):
                block, new = (offset + i) // BLOCK, data[i:i + BLOCK]
                if force:
                    caches[number].pop(block, None)
                    safe[number][block] = new
                else:
                    caches[number].setdefault(block, []).append(new)
    lost = kept = 0
    for number in range(disks):
        for block, versions in caches[number].items():
            if random.random() < share:
                safe[number][block] = versions[-1] if share == 1 else random.choice(versions)
                kept += 1
            else:
                lost += 1
    return State(f'state {at} of {len(log)}, {kept} blocks kept and {lost} lost', told[1:], safe)


def flush(safe, cache):
    for block, versions in cache.items():
        safe[block] = versions[-1]
    cache.clear()


def draw(log, count, random):
    """So many pairs of a moment and a share: all that is lost at the ends of what lies between two flushes,
    as far as there is room for half, and drawn ones."""
    ends = moments(log)
    chosen = random.sample(ends, min(len(ends), max(1, count // 2)))
    drawn = [(at, 0) for at in sorted(chosen)]
    first = log.index(BEGIN) + 1
    while len(drawn) < count:
        at = random.choice((random.randrange(first, len(log) + 1), random.choice(ends)))
        drawn.append((at, random.choice((0, 0.1, 0.5, 0.9, 1))))
    return drawn


def image(blocks, size):
    """An open file with that, and nothing else."""
    fd = os.memfd_create('disk')
    os.truncate(fd, size)
    for block, data in blocks.items():
        os.pwrite(fd, data, block * BLOCK)
    return fd


@contextlib.contextmanager
def mounted(fs, fd, where, *options):
    """The file system's own recovery is part of it."""
    os.makedirs(where, exist_ok=True)
    path, device = sandbox.loop_device(fd)
    try:
        sh('mount', '-t', fs, *options, *(('-o', 'nouuid') if fs == 'xfs' else ()), path, where)
    finally:
        os.close(device)
    try:
        yield
    finally:
        sh('umount', where)
