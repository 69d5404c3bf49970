# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `journal`: what a client's rate loses while its changes are noted, and what a row takes on disk.
Slices of a server whose file system is watched, in windows with the journal and without, and of one
whose is not take turns.  What else runs on the machine disturbs both alike, and rates much more
than the CPU that a request takes: the price is of that, and of their quotients."""
import contextlib
import math
import os
import random
import statistics
import time
import types

import nfs3
from load import Nfs3, alternate
from measure import FACTS, Target, median, table
from sandbox import Failure, Process, volume, wait_for
from servers import BASE, NEW, OLD, VOLUME, Ganesha, Migration
from xdr import opaque, u32

KIB = 1 << 10
OTHER = BASE + '/other'                 # what nobody watches
FILES, SIZE = 32, 512 * KIB
FULL, QUICK = (16, 15_000, 60), (4, 15_000, 30)         # pairs, us of a slice, slices of a window
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


READS = '4k random reads'               # the control: nobody notes them
LOADS = {READS: (reads, 4), '4k random writes': (writes, 4),
         'attributes': (attributes, 4), 'made, renamed, removed': (names, 1)}


def cpu_ns(process):
    """That a running process has used (clock_getcpuclockid(3))."""
    return time.clock_gettime_ns(~process.pid << 3 | 2)


@contextlib.contextmanager
def noting(migration):
    """A journal that has caught up; yields ns of its CPU of the time inside, in a list."""
    process = Process('journal', [migration.program('migrate-journal'), '--config',
                                  migration.config, VOLUME])
    wait_for('the journal watches', lambda: migration.ctl('changes', '--settle', may_fail=True)
             is not None, process=process)
    # beside the server, and not where its client is
    for task in os.listdir(f'/proc/{process.pid}/task'):
        os.sched_setaffinity(int(task), PROCESSORS[-1:])
    used, before = [], cpu_ns(process)
    yield used
    # what it has taken from the kernel, and not noted yet, is its work, too
    migration.ctl('changes', '--settle', may_fail=True)
    used.append(cpu_ns(process) - before)
    process.stop()


def prepare(where):
    """The files that requests are about."""
    os.makedirs(f'{where}/files')
    for n in range(FILES):
        with open(f'{where}/files/f{n}', 'wb') as out:
            out.write(random.Random(n).randbytes(SIZE))


def window(args, server, load, sizes):
    """Requests a second."""
    result, = slices(args, [server], load, sizes)
    return median(replies / ns for replies, ns, _ in result) * 1e9


def slices(args, servers, load, sizes):
    """Of each server: (replies, ns, ns of the server's CPU) of each slice."""
    make, depth = LOADS[load]
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(contextlib.closing(
            Nfs3(server, 'files', [f'f{n}' for n in range(FILES)]))) for server in servers]
        found = alternate(args, [(client, make(client, random.Random(args.seed)))
                                 for client in clients], depth, sizes[1], sizes[2],
                          processor=PROCESSORS[0])
    return [measured.slices for measured in found]


def pairs(args, servers, migration, load, sizes):
    """Of windows with the journal and without: ns of the first server's CPU for a request; that, and
    the rate, as a multiple of the other server's; and ns of the journal's."""
    found = []
    for number in range(args.runs):
        pair = types.SimpleNamespace()
        for on in (number % 2 == 0, number % 2 == 1):
            with noting(migration) if on else contextlib.nullcontext() as used:
                watched, other = slices(args, servers, load, sizes)
            way = 'on' if on else 'off'
            vars(pair).update({
                f'ns_{way}': median(cpu / replies for replies, _, cpu in watched),
                f'cpu_{way}': median(a[2] / a[0] / (b[2] / b[0]) for a, b in zip(watched, other)),
                f'rate_{way}': median(a[0] / a[1] / (b[0] / b[1])
                                      for a, b in zip(watched, other))})
            if on:
                pair.journal = used[0] / sum(replies for replies, _, _ in watched)
        found.append(pair)
    return found


def beside(pair):
    """The share that a client loses where the journal has a processor of its own."""
    return 1 - pair.cpu_off / pair.cpu_on


def shared(pair):
    """... and where it takes the server's, which has no other."""
    return 1 - 1 / (pair.cpu_on / pair.cpu_off + pair.journal / pair.ns_off)


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
    volume(OTHER, mkfs=('-I', '256'))
    with Target():
        migration = Migration(args.build, f'file://{OLD}')
        servers = []
        for n, where in enumerate((NEW, OTHER)):
            prepare(where)
            servers.append(Ganesha(os.path.basename(where), where, port=2049 + n,
                                   mount_port=20048 + n).start())
            for task in os.listdir(f'/proc/{servers[-1].process.pid}/task'):
                os.sched_setaffinity(int(task), PROCESSORS[-1:])
        found = {load: pairs(args, servers, migration, load, sizes) for load in LOADS}
        size = bytes_of_a_row(args, migration)
        for server in servers:
            server.stop()
    FACTS['pairs'] = {load: [vars(pair) for pair in some] for load, some in found.items()}
    table("us of CPU for a request over NFSv3, medians of the windows; what the journal's share is of "
          'all, beside the server and on its processor; and the ratio of the rates',
          ['', 'server', 'journal', 'beside', '+-', 'shared', '+-', 'rates', '+-'],
          [[load, *(f'{median(getattr(pair, what) for pair in some) / 1000:.2f}'
                    for what in ('ns_off', 'journal')),
            *shown(beside(pair) for pair in some), *shown(shared(pair) for pair in some),
            *shown(pair.rate_on / pair.rate_off for pair in some)] for load, some in found.items()])
    print(f'journal price={price(found, beside):.3f} shared_price={price(found, shared):.3f} '
          f'reads_price={median(beside(pair) for pair in found[READS]):.3f} bytes={size:.0f}')


def shown(values):
    values = list(values)
    return f'{median(values):.3f}', f'{error(values):.3f}'


def price(found, share):
    """Of what changes something: the geometric mean of what is left."""
    return 1 - statistics.geometric_mean(1 - median(share(pair) for pair in some)
                                         for load, some in found.items() if load != READS)


def error(values):
    """The standard error of the median."""
    middle = median(values)
    return 1.2533 * 1.4826 * median(abs(v - middle) for v in values) / math.sqrt(len(values))
