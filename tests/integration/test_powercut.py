#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Power cuts: a guest migrates onto a disk of its own and is killed at random points; the disk loses
and reorders what it was not told to flush (volatile.py).  After each cut, whatever has no record is whole (I3), what a client was told is durable is there (I7), and the
migration goes on to its end.  The old server is a tree that the guest sees, or an SMB server on the
host, whose small files' bytes come with their names.  Or the tree is copied beforehand, by us or by
another tool; or what clients changed is carried back to the old server, and both lose their power."""
import itertools
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import smbd                                                             # noqa: E402
import tree                                                             # noqa: E402
import uml                                                              # noqa: E402
import volatile                                                         # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, SCRATCH                                       # noqa: E402
from servers import OLD, volume                                         # noqa: E402

SCRIPT, BACK = (os.path.join(os.path.dirname(os.path.abspath(__file__)), 'guest', name)
                for name in ('powercut.py', 'powercut_back.py'))
FILES = 1200
CUTS_OF_A_MACHINE = 6           # of the way back, before there are new disks


def fill(root, random):
    """What an SMB server can show."""
    for d in range(FILES // 100):
        os.mkdir(f'{root}/dir{d}')
        for n in range(100):
            size = random.choice((random.randrange(1, 4096), random.randrange(65536), 65536))
            with open(f'{root}/dir{d}/file{n}', 'wb') as file:
                file.write(random.randbytes(size))
    for size in (0, 65535, 65537, 2 << 20):
        with open(f'{root}/size{size}', 'wb') as file:
            file.write(random.randbytes(size))
        os.link(f'{root}/size{size}', f'{root}/dir0/link{size}')


def date(root):
    """Times that the guest sees too: hostfs shows whole seconds."""
    for n, (base, _, files) in enumerate(os.walk(root, topdown=False)):
        for path in (*(f'{base}/{name}' for name in files), base):
            os.utime(path, (10**9 + n, 10**9 + n))


def fill_for_writing(root, random, size=400000):
    os.mkdir(root + '/for writing')
    for n in range(20):
        with open(f'{root}/for writing/file{n}', 'wb') as file:
            file.write(random.randbytes(size))
    for n in range(100):
        with open(f'{root}/for writing/attr{n}', 'wb') as file:
            file.write(random.randbytes(size * 3 // 40))


class Machine:
    """A disk, or two, and a guest that is run on it again and again.  script: and its arguments, but
    for the verb."""

    def __init__(self, args, *script, disks=1):
        self.script = script
        self.told, self.log = -1, BASE + '/log/guest'
        self.disks = [volatile.Disk(SCRATCH, 2 << 30, args.random) for _ in range(disks)]

    def close(self):
        for disk in self.disks:
            disk.close()

    def fate(self):
        return '; '.join(f'{disk.lost} blocks lost, {disk.kept} kept, flushed {disk.flushes} times'
                         for disk in self.disks)

    def run(self, verb, **kw):
        """The guest's exit status; what it printed goes to a log, to .said and, but for its ticks, to
        .last."""
        reader, writer = os.pipe()
        with open(self.log, 'ab') as log:
            tee = subprocess.Popen(['tee', self.log + '.last'], stdin=reader, stdout=log)
            os.close(reader)
            status = uml.run([*self.script, verb, str(self.told)], timeout=600,
                             shares=[OLD] * (OLD in self.script), memory=1536,
                             env={'DISK': ' '.join(f'{disk.port} {disk.size}' for disk in self.disks)},
                             output=writer, **kw)
            for disk in self.disks:
                disk.cut()
            os.close(writer)
            tee.wait()
        with open(self.log + '.last', errors='replace') as said:
            self.said = said.read()
            self.last = re.sub(r'^tick \d+\n', '', self.said, flags=re.M)[-4000:]
        numbers = re.findall(r'^told (\d+)$', self.said, re.M)
        self.told = max([self.told, *map(int, numbers)])
        return status


def migrate(args, kind, fs, times):
    """To the end, with no more than so many cuts on the way; how many there were."""
    machine = Machine(args, SCRIPT, args.build, OLD, kind, fs)
    verb, real, at = 'start', 0, 0
    for _ in range(times):
        target = at + args.random.randrange(1, max(20, (FILES - at) // 2))
        status = machine.run(verb, kill_on=re.compile(rb'^at (\d+)\n', re.M),
                             kill_if=lambda n: n >= target)
        reached = re.findall(r'^at (.*)$', machine.said, re.M)
        at = max([at, *(int(n) for n in reached if n.isdigit())])
        print(f'cut at {at} of {FILES} files, {machine.told + 1} writes acknowledged')
        if status != uml.KILLED:
            expect('at the end' in machine.said, f'the guest failed: {machine.said[-2000:]}')
            break
        real += 1
        status = machine.run('check')
        print(machine.said.strip().splitlines()[-1] if status == 0 else machine.said)
        same(status, 0, 'exit status of the check')
        verb = 'resume'
    expect(real > 0, 'no cut met the migration')
    expect(machine.told >= 0, 'no write was acknowledged before a cut')
    status = machine.run('finish')
    expect(status == 0, f'the migration does not end well: {machine.said[-3000:]}')
    print(f'the disk: {machine.fate()}')
    machine.close()
    return real


def cuts(args, kind, fs):
    """As many, and as many migrations as that takes."""
    volume(OLD)
    if kind == 'smb':
        fill(OLD, args.random)
        smbd.Smbd('old-smbd', {'old': OLD}).start()     # on all addresses
    else:
        tree.make(OLD, FILES, 3, 2 << 20)
    fill_for_writing(OLD, args.random)
    if kind == 'smb':
        date(OLD)
    left = args.cuts
    while left > 0:
        left -= migrate(args, kind, fs, left)


def beforehand(args, kind, fs):
    """With a copy before the switch: cuts in its runs, at the switch and in the comparison."""
    volume(OLD)
    tree.make(OLD, 200, 3, 1 << 20)
    machine = Machine(args, SCRIPT, args.build, OLD, kind, fs)
    verb, real, latest, cuts = 'start', 0, 60, args.cuts if args.long else 1
    while real < cuts:
        # of the copy, the switch, the comparison
        phase = 3 * real // cuts if cuts > 2 else args.random.randrange(3)
        target = 10**6 * phase + args.random.randrange(1, 4 if phase == 1 else latest)
        status = machine.run(verb, kill_on=re.compile(rb'^tick (\d+)\n', re.M),
                             kill_if=lambda n: n >= target)
        found = re.findall(r'^(?:tick \d+|.* a mark|\d+ objects.*)$', machine.said, re.M)
        print(f'{verb}: cut at {target}: {", ".join(found[:2] + found[-1:])}')
        if status != uml.KILLED:
            expect('at the end' in machine.said, f'the guest failed: {machine.said[-3000:]}')
            latest, verb = max(3, latest // 2), 'start'         # a new disk
            continue
        real += 1
        verb = 'resume'
    status = machine.run('finish')
    expect(status == 0, f'it does not end well: {machine.said[-3000:]}')
    print(f'{real} cuts; the disk: {machine.fate()}')
    machine.close()


def back(args, fs, kind, times):
    """So many cuts on the way back to the old server, which loses its power, too."""
    machine = Machine(args, BACK, args.build, fs, kind, disks=3)
    verb = 'start'
    for _ in range(times):
        target = args.random.randrange(1, 300)
        status = machine.run(verb, kill_on=re.compile(rb'^tick (\d+)\n', re.M),
                             kill_if=lambda n: n >= target)
        print(f'{kind}, {verb}: cut at {target}, {machine.told} objects carried')
        expect(status == uml.KILLED, f'the guest failed: {machine.last}')
        verb = 'resume'
    status = machine.run('finish')
    expect(status == 0, f'it does not end well: {machine.last}')
    print(f'{times} cuts; the disks: {machine.fate()}')
    machine.close()


def back_often(args, fs):
    """Half of them while it is followed."""
    left = args.cuts if args.long else 1
    for kind in itertools.cycle(args.random.sample(('plain', 'follow'), 2)):
        times = min(left, CUTS_OF_A_MACHINE)
        if not times:
            return
        back(args, fs, kind, times)
        left -= times


@case(guest=True)
def back_ext4(args):
    back_often(args, 'ext4')


@case(guest=True, long=True)
def back_xfs(args):
    back_often(args, 'xfs')


@case(guest=True, long=True)
def back_btrfs(args):
    back_often(args, 'btrfs')


@case(guest=True)
def copied_ext4(args):
    beforehand(args, 'copied', 'ext4')


@case(guest=True, long=True)
def copied_xfs(args):
    beforehand(args, 'copied', 'xfs')


@case(guest=True, long=True)
def adopted_ext4(args):
    beforehand(args, 'adopted', 'ext4')


@case(guest=True, long=True)
def adopted_btrfs(args):
    beforehand(args, 'adopted', 'btrfs')


@case(guest=True)
def ext4(args):
    cuts(args, 'file', 'ext4')


@case(guest=True, long=True)
def xfs(args):
    cuts(args, 'file', 'xfs')


@case(guest=True, long=True)
def btrfs(args):
    cuts(args, 'file', 'btrfs')


@case(guest=True)
def smb_ext4(args):
    cuts(args, 'smb', 'ext4')


@case(guest=True, long=True)
def smb_xfs(args):
    cuts(args, 'smb', 'xfs')


@case(guest=True, long=True)
def smb_btrfs(args):
    cuts(args, 'smb', 'btrfs')


def options(parser):
    parser.add_argument('--cuts', type=int, default=2, help='how often (default %(default)s)')


if __name__ == '__main__':
    sys.exit(main(options))
