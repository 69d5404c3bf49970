# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `guard`: what programs of the machine lose on files that are whole, beside a file system that
nobody guards, and what clients of a file server lose, beside the same one when no guard runs."""
import os
import random
import statistics

import guarded
import journal_price
from journal_price import FILES, SIZE
from measure import FACTS, Clock, median, table
from sandbox import Failure, sh, volume
from servers import BASE, NEW, OLD, Migration

KIB = 1 << 10
PLAIN = BASE + '/plain'
FULL, QUICK = (10, 150_000, 10), (2, 20_000, 5)         # rounds, us of a slice, slices of a window
MANY = {False: (200, 100), True: (10, 20)}              # directories and files in each, by --quick
LOCAL = {
    'files opened and read': 'find "$1/many" -type f -print0 | xargs -0 cat >/dev/null',
    'directories listed': 'for n in 1 2 3 4 5; do ls -fR "$1/many" >/dev/null; done',
    'one file, by 4 KiB': 'dd if="$1/large" of=/dev/null bs=4k status=none',
    'one file, by 128 KiB': 'cat "$1/large" "$1/large" "$1/large" >/dev/null',
    'one file, written by 4 KiB': 'dd if=/dev/zero of="$1/large" bs=4k count=8192 conv=notrunc '
                                  'status=none'}
DOORS = ('4k random reads', '4k random writes')


def make(path, size, chance):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as out:
        for _ in range(max(1, size >> 20)):
            out.write(chance.randbytes(min(size, 1 << 20)))


def tree(args):
    chance = random.Random(args.seed)
    for n in range(FILES):
        make(f'{OLD}/files/f{n}', SIZE, chance)
    directories, files = MANY[args.quick]
    for d in range(directories):
        for n in range(files):
            make(f'{OLD}/many/{d}/{n}', 4 * KIB, chance)
    make(OLD + '/large', (4 if args.quick else 256) << 20, chance)
    make(OLD + '/rest/stub', KIB, chance)               # so that there is something to guard


def local(root, command):
    with Clock() as clock:
        sh('sh', '-c', command, 'sh', root)
    return clock.wall


def local_ratios(args, command):
    """Of rates: what is guarded to what is not, in turns."""
    found = []
    for turn in range(args.runs + 1):
        took = {root: local(root, command) for root in ((NEW, PLAIN), (PLAIN, NEW))[turn % 2]}
        if turn:                        # the first is the warm-up
            found.append(took[PLAIN] / took[NEW])
    return found


def door_ratios(args, migration, server, load, sizes):
    found = []
    for turn in range(args.runs):
        rates = {}
        for on in (turn % 2 == 0, turn % 2 == 1):
            guard = guarded.Guard(migration).start() if on else None
            rates[on] = journal_price.window(args, server, load, sizes)
            if guard:
                guard.close()
        found.append(rates[True] / rates[False])
    return found


def run(args):
    sizes = QUICK if args.quick else FULL
    for path in (OLD, NEW, PLAIN):
        volume(path, '8G')
    tree(args)
    sh('cp', '-aT', OLD, PLAIN)
    migration = Migration(args.build, f'file://{OLD}')
    migration.start_retriever(*guarded.OWN_MOUNTS)
    guard = guarded.Guard(migration).start()
    os.listdir(NEW)
    migration.attach()
    for name in ('files', 'many', 'large'):
        sh('sh', '-c', 'ls "$1" >/dev/null; find "$1/$2" -type f -print0 | xargs -0 cat >/dev/null',
           'sh', NEW, name)
    if os.stat(NEW + '/rest/stub').st_blocks:
        raise Failure('nothing is left to guard')
    found = {what: local_ratios(args, command) for what, command in LOCAL.items()}
    guard.close()
    server = migration.start_server(host=guarded.OwnMounts)
    doors = {load: door_ratios(args, migration, server, load, sizes) for load in DOORS}
    server.stop()
    FACTS.update(local=found, doors=doors)
    table('what is whole: guarded to not guarded, medians of the rounds', ['', 'ratio', '+-'],
          [[what, f'{median(some):.3f}', f'{journal_price.error(some):.3f}'] for what, some in (
              *found.items(), *((f'over NFSv3: {load}', some) for load, some in doors.items()))])
    whole, over = (statistics.geometric_mean(map(median, some.values())) for some in (found, doors))
    print(f'guard whole_ratio={whole:.3f} doors_ratio={over:.3f}')
