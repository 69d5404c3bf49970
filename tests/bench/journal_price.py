# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `journal`: what a client's rate loses while its changes are noted, and what a row takes on disk.
Windows with the journal and without take turns, on one server and one file system."""
import contextlib
import math
import os
import random
import statistics
import time

import nfs3
from load import Nfs3, alternate
from measure import FACTS, Target, cpu_of, median, table
from sandbox import Failure, Process, wait_for
from servers import BASE, NEW, OLD, VOLUME, Ganesha, Migration
from xdr import opaque, u32

KIB = 1 << 10
FILES, SIZE = 32, 512 * KIB
FULL, QUICK = (16, 150_000, 20), (2, 20_000, 5)         # pairs, us of a slice, slices of a window
OBJECTS = {False: 100_000, True: 5_000}                 # by --quick
PROCESSORS = sorted(os.sched_getaffinity(0))


def reads(client, chance):
    return [client.reads(chance.randrange(FILES), chance.randrange(SIZE // KIB // 4) * 4 * KIB,
                         4 * KIB) for _ in range(512)]


def writes(client, chance):
    data = chance.randbytes(4 * KIB)
    return [client.writes(chance.randrange(FILES), chance.randrange(SIZE // KIB // 4) * 4 * KIB,
                          data) for _ in range(512)]


def attributes(client, chance):
    return [client.call(nfs3.SETATTR, opaque(client.handles[chance.randrange(FILES)]) +
                        nfs3.sattr(mode=0o600 + chance.randrange(64)) + u32(0))
            for _ in range(512)]


def named(client, *names):
    return b''.join(opaque(client.directory) + opaque(name.encode()) for name in names)


def names(client, _):
    """Made, renamed, removed, in turn."""
    return [client.call(procedure, args) for n in range(128) for procedure, args in (
        (nfs3.CREATE, named(client, f'a{n}') + u32(0) + nfs3.sattr(mode=0o644)),
        (nfs3.RENAME, named(client, f'a{n}', f'b{n}')),
        (nfs3.REMOVE, named(client, f'b{n}')))]


LOADS = {'4k random reads': (reads, 4), '4k random writes': (writes, 4),
         'attributes': (attributes, 4), 'made, renamed, removed': (names, 1)}


@contextlib.contextmanager
def noting(migration):
    """A journal that has caught up; yields its CPU seconds of the time inside, in a list."""
    process = Process('journal', [migration.program('migrate-journal'), '--config',
                                  migration.config, VOLUME])
    wait_for('the journal watches', lambda: migration.ctl('changes', '--settle', may_fail=True)
             is not None, process=process)
    # beside the server, and not where its client is
    for task in os.listdir(f'/proc/{process.pid}/task'):
        os.sched_setaffinity(int(task), PROCESSORS[-1:])
    used, before = [], cpu_of(process)
    yield used
    used.append(cpu_of(process) - before)
    process.stop()


def window(args, server, load, sizes):
    """Requests a second."""
    make, depth = LOADS[load]
    with contextlib.closing(Nfs3(server, 'files', [f'f{n}' for n in range(FILES)])) as client:
        result, = alternate(args, [(client, make(client, random.Random(args.seed)))], depth,
                            sizes[1], sizes[2], processor=PROCESSORS[0])
    return median(replies / ns for replies, ns, _ in result.slices) * 1e9


def pairs(args, server, migration, load, sizes):
    """(rate with, rate without, CPU seconds of the journal for each second)"""
    found = []
    for number in range(args.runs):
        rates, cpu = {}, 0
        for on in (number % 2 == 0, number % 2 == 1):
            if not on:
                rates[on] = window(args, server, load, sizes)
                continue
            with noting(migration) as used:
                begun = time.monotonic()
                rates[on] = window(args, server, load, sizes)
                cpu = time.monotonic() - begun
            cpu = used[0] / cpu
        found.append((rates[True], rates[False], cpu))
    return found


def bytes_of_a_row(args, migration):
    """Local, so that it does not take long."""
    data = f'{BASE}/{VOLUME}.journal/data.mdb'
    count = OBJECTS[args.quick]
    with noting(migration):
        before = os.stat(data).st_blocks * 512
        for n in range(count):
            if n % 1000 == 0:
                os.mkdir(f'{NEW}/rows{n}')
            os.close(os.open(f'{NEW}/rows{n // 1000 * 1000}/a name {n}', os.O_WRONLY | os.O_CREAT))
        if migration.ctl('changes', '--settle', may_fail=True) is None:
            raise Failure('the journal is not complete')
        return (os.stat(data).st_blocks * 512 - before) / count


def run(args):
    sizes = QUICK if args.quick else FULL
    os.makedirs(OLD, exist_ok=True)
    with Target():
        migration = Migration(args.build, f'file://{OLD}')
        os.makedirs(f'{NEW}/files')
        for n in range(FILES):
            with open(f'{NEW}/files/f{n}', 'wb') as out:
                out.write(random.Random(n).randbytes(SIZE))
        server = Ganesha('server', NEW).start()
        for task in os.listdir(f'/proc/{server.process.pid}/task'):
            os.sched_setaffinity(int(task), PROCESSORS[-1:])
        found = {load: pairs(args, server, migration, load, sizes) for load in LOADS}
        size = bytes_of_a_row(args, migration)
        server.stop()
    ratios = {load: [on / off for on, off, _ in some] for load, some in found.items()}
    FACTS['ratios'] = ratios
    table('requests a second over NFSv3, medians of the windows, and the ratio of the pairs',
          ['', 'without', 'with', 'ratio', '+-', "journal's CPU"],
          [[load, f'{median(off for _, off, _ in some):.0f}', f'{median(on for on, _, _ in some):.0f}',
            f'{median(ratios[load]):.3f}', f'{error(ratios[load]):.3f}',
            f'{median(cpu for _, _, cpu in some):.1%}'] for load, some in found.items()])
    changing = [median(some) for load, some in ratios.items() if load != '4k random reads']
    print(f'journal price={1 - statistics.geometric_mean(changing):.3f} '
          f'reads_price={1 - median(ratios["4k random reads"]):.3f} bytes={size:.0f}')


def error(values):
    """The standard error of the median."""
    middle = median(values)
    return 1.2533 * 1.4826 * median(abs(v - middle) for v in values) / math.sqrt(len(values))
