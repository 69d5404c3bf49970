# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `overhead`: what the layer costs on files that are normal, beside the same files of the same
file system through a plain server, while the rest of the volume is stubs, while the crawler moves
it, and after finalize.  The grids are those of a cloud's volume: 4 KiB random and 64 KiB
sequential, reads and writes from 100:0 to 0:100; and getattr and open."""
import collections
import contextlib
import errno
import math
import os
import random
import re
import statistics
import time

import nfs3
import smbd
from load import Nfs3, Nfs4, Smb, alternate
from measure import FACTS, Running, crawl_all, median, table
from sandbox import Failure, Process, volume, wait_for
from servers import CACHES, NEW, OLD, VOLUME, Ganesha, old_server
from xdr import port_of

KIB = 1 << 10
FILES, SIZE = 32, 512 * KIB             # the normal ones
NORMAL = 'normal'
SERVERS = ('layer', 'plain', 'control')         # control: another plain one, for what noise does
GOALS = {'migrating': 0.97, 'finished': 0.99}
CRAWL_GOAL = 1.2
PLAIN_STACK = 'streams_xattr acl_xattr'

Sizes = collections.namedtuple('Sizes', 'stubs mixes rounds slice_us windows window_s')
FULL = Sizes(200_000, range(100, -1, -10), 60, 15_000, 16, 3)
QUICK = Sizes(8_000, (100, 50, 0), 10, 10_000, 2, 1)
DEPTH = {'nfs3': 4, 'nfs4': 4, 'smb': 4}        # requests under way
PAUSE_US = 1000                         # between two requests where latency is measured
FIRST, LAST = -10, 19                   # the nice value of what comes before all else, or after it
AUTOGROUP = '/proc/sys/kernel/sched_autogroup_enabled'
PROCESSORS = sorted(os.sched_getaffinity(0))


# ---- requests -----------------------------------------------------------------------------------

def mixed(chance, count, reads):
    """Which of so many requests read, reads % of them."""
    order = [n < count * reads // 100 for n in range(count)]
    chance.shuffle(order)
    return order


def io(connection, seed, reads, block, places):
    chance, data = random.Random(seed), random.Random(seed).randbytes(block)
    return [connection.reads(file, offset, block) if read else connection.writes(file, offset, data)
            for read, (file, offset) in zip(mixed(chance, len(places), reads), places)]


def random_places(seed):
    chance = random.Random(seed)
    return [(chance.randrange(FILES), chance.randrange(SIZE // (4 * KIB)) * 4 * KIB)
            for _ in range(512)]


def sequential_places():
    return [(file, offset) for file in range(FILES) for offset in range(0, SIZE, 64 * KIB)]


def cell_name(protocol, group, reads):
    return f'{protocol} {group}' + ('' if reads is None else f' {reads}:{100 - reads}')


def cells(args, sizes):
    """{(group, reads or None): requests of a connection}"""
    found = {}
    for reads in sizes.mixes:
        found['4k random', reads] = lambda c, r=reads: io(
            c, f'{args.seed} {r}', r, 4 * KIB, random_places(f'{args.seed} {r} places'))
        found['64k sequential', reads] = lambda c, r=reads: io(
            c, f'{args.seed} {r}', r, 64 * KIB, sequential_places())
    found['getattr', None] = lambda c: [c.getattrs(file) for file in range(FILES)]
    found['open', None] = lambda c: [c.opens(file) for file in range(FILES)]
    return found


def interactive(connection, seed):
    """What a client does that waits for each answer: small blocks, getattr and open."""
    mix = io(connection, seed, 70, 4 * KIB, random_places(seed))
    for n, request in enumerate([connection.getattrs, connection.opens] * FILES):
        mix.insert(n * 8, request(n % FILES))
    return mix


# ---- the volume and its servers -----------------------------------------------------------------

def names():
    return [f'file{n:02}' for n in range(FILES)]


def make_old_tree(args, sizes):
    noise = random.Random(args.seed)
    for directory in [NORMAL] + [f'rest/d{n:03}' for n in range(sizes.stubs // 500)]:
        os.makedirs(f'{OLD}/{directory}')
    for name in names():
        with open(f'{OLD}/{NORMAL}/{name}', 'wb') as out:
            out.write(noise.randbytes(SIZE))
    block = noise.randbytes(8 * KIB)
    for n in range(sizes.stubs):
        with open(f'{OLD}/rest/d{n // 500:03}/f{n % 500:03}', 'wb', buffering=0) as out:
            out.write(block[:noise.randrange(1, 8 * KIB)])


def tasks(pids):
    for pid in pids:
        with contextlib.suppress(FileNotFoundError):
            yield from map(int, os.listdir(f'/proc/{pid}/task'))


def set_autogroup(value):
    with open(AUTOGROUP, 'w', encoding='ascii') as setting:
        setting.write(value)


def set_nice(pids, value):
    for task in tasks(pids):
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, task, value)


class World:
    """The new servers: .connections(protocol), of each of SERVERS."""

    def __init__(self, args, old, migration):
        self.old, self.migration = old, migration
        cache = CACHES[args.cache]
        layer = migration.start_server()
        self.ganeshas = {'layer': layer}
        for n, name in enumerate(SERVERS[1:], 1):
            server = Ganesha(f'{name}-server', NEW, port=2049 + n, mount_port=20048 + n, **cache)
            server.rpcbind = layer.rpcbind      # one for all, and one after the other
            wait_for('the server before is registered', lambda at=20047 + n: port_of(
                server.address, nfs3.MOUNT, 3) == at)
            self.ganeshas[name] = server.start()
        smbd.install_module(migration.module('migrate.so'))
        plain = {name: (NEW, {'vfs objects': PLAIN_STACK}) for name in SERVERS[1:]}
        self.smbds = [smbd.Smbd('new-smbd', {'layer': (NEW, smbd.layer(VOLUME, migration.socket))}).start(),
                      smbd.Smbd('plain-smbd', plain, port=1445).start()]

    @contextlib.contextmanager
    def connections(self, protocol, which=SERVERS):
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(contextlib.closing(
                Smb(self.smbds[name != 'layer'], NORMAL, names(), name) if protocol == 'smb' else
                {'nfs3': Nfs3, 'nfs4': Nfs4}[protocol](self.ganeshas[name], NORMAL, names())))
                for name in which]

    def servers(self):
        return [server.process.pid for server in self.ganeshas.values()] + [
            pid for server in self.smbds for pid in server.processes()]

    def place(self, processors):
        """Where the servers may run, and what they start."""
        for task in tasks(self.servers()):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(task, processors)

    @contextlib.contextmanager
    def before_others(self):
        """All of the run comes before what else the machine does, which would decide who waits for
        a processor; but not the old server, which is another machine elsewhere.  Each process is
        weighed by itself, as those of one control group are, and not each session (sched(7))."""
        pids = [os.getpid(), *self.servers(), *(p.pid for p in Process.all if p.poll() is None and
                                                p is not self.old.process)]
        with open(AUTOGROUP, encoding='ascii') as setting:
            grouped = setting.read()
        set_autogroup('0')
        set_nice(pids, FIRST)
        set_nice([self.old.process.pid], LAST)
        try:
            yield
        finally:
            set_nice([*pids, self.old.process.pid], 0)
            set_autogroup(grouped)

    def stop(self):
        for server in self.smbds:
            server.stop()
        for server in self.ganeshas.values():
            server.stop()


def is_whole(path):
    try:
        os.getxattr(path, 'security.migrate')
    except OSError as error:
        if error.errno == errno.ENODATA:
            return True
        raise
    return False


def begin_migration(migration):
    """The files that are measured are moved; of the rest every other directory has names."""
    client = migration.server.client()
    directory, _ = client.walk(NORMAL)
    for name in names():
        client.read_all(client.lookup(directory, name)[0])
    rest, _ = client.walk('rest')
    for n, (_, _, _, handle) in enumerate(sorted(client.listing(rest))):
        if n % 2:
            for _ in client.listing(handle):
                pass
    client.close()
    wait_for('the files that are measured are whole',
             lambda: all(is_whole(f'{NEW}/{NORMAL}/{name}') for name in names()))
    if is_whole(NEW) or is_whole(f'{NEW}/rest/d001/f000'):
        raise Failure('nothing is left to be migrated')


# ---- throughput ---------------------------------------------------------------------------------

class Cell:
    """One kind of request: rates and CPU times by server, and their ratios to plain in each round,
    which are below 1 where the plain server is faster or cheaper."""

    def __init__(self, results):
        measured = dict(zip(SERVERS, results))
        rates = {name: [replies / ns for replies, ns, _ in m.slices]
                 for name, m in measured.items()}
        cpu = {name: [cpu / replies for replies, _, cpu in m.slices]
               for name, m in measured.items()}
        self.rate = {name: median(values) * 1e9 for name, values in rates.items()}
        self.cpu = {name: median(values) / 1000 for name, values in cpu.items()}
        self.ratios = {name: [a / b for a, b in zip(rates[name], rates['plain'])]
                       for name in ('layer', 'control')}
        self.cpu_ratios = {name: [b / a for a, b in zip(cpu[name], cpu['plain']) if a and b]
                           for name in ('layer', 'control')}

    def ratio(self, name):
        return median(self.ratios[name])

    def error(self, name):
        """The standard error of the median, from the spread of the rounds."""
        values = self.ratios[name]
        spread = median(abs(value - self.ratio(name)) for value in values) * 1.4826
        return 1.2533 * spread / math.sqrt(len(values))

    def cpu_ratio(self, name):
        return median(self.cpu_ratios[name] or [math.nan])

    def facts(self):
        return {'rate': self.rate, 'cpu_us': self.cpu, 'ratios': self.ratios,
                'cpu_ratios': self.cpu_ratios}


def mean(values):
    """The geometric one, of ratios."""
    values = [value for value in values if not math.isnan(value)]
    return statistics.geometric_mean(values) if values else math.nan


def measure(args, sizes, world):
    """{(protocol, group, reads): Cell}.  The servers have a processor of their own, and their
    client another, or it would depend on the kernel who shares one with whom."""
    found = {}
    world.place(PROCESSORS[-1:])
    for protocol, depth in DEPTH.items():
        for (group, reads), requests in cells(args, sizes).items():
            if not re.search(args.cells, cell_name(protocol, group, reads)):
                continue
            with world.connections(protocol) as connections:
                results = alternate(args, [(c, requests(c)) for c in connections], depth,
                                    sizes.slice_us, sizes.rounds, processor=PROCESSORS[0])
            found[protocol, group, reads] = Cell(results)
    return found


def show_cells(state, found):
    rows = [[cell_name(*key), f'{cell.rate["plain"]:.0f}', f'{cell.rate["layer"]:.0f}',
             f'{cell.ratio("layer"):.3f}', f'{cell.error("layer"):.3f}',
             f'{cell.ratio("control"):.3f}', f'{cell.error("control"):.3f}',
             f'{cell.cpu["plain"]:.1f}', f'{cell.cpu["layer"]:.1f}',
             f'{cell.cpu_ratio("layer"):.3f}', f'{cell.cpu_ratio("control"):.3f}']
            for key, cell in found.items()]
    table(f'{state}: normal files; requests a second, medians of the rounds, and their ratio to '
          "plain; +-: standard error; us of the server's CPU for each",
          ['', 'plain', 'layer', 'ratio', '+-', 'control', '+-', 'plain us', 'layer us', 'CPU',
           'CPU control'], rows)


def show_groups(state, found):
    def row(name, some):
        return [name, *(f'{mean(ratio(cell, server) for cell in some):.3f}'
                        for ratio in (Cell.ratio, Cell.cpu_ratio)
                        for server in ('layer', 'control'))]

    groups = {}
    for (protocol, group, _), cell in found.items():
        groups.setdefault(f'{protocol} {group}', []).append(cell)
    table(f'{state}: means of the ratios to plain (goal: {GOALS[state]})',
          ['', 'layer', 'control', 'CPU', 'CPU control'],
          [row(name, some) for name, some in groups.items()] + [row('all', found.values())])


# ---- latency beside the crawler -----------------------------------------------------------------

def percentile(latencies, part):
    """Of {ns: replies}, in us."""
    left = sum(latencies.values()) * part
    for ns, replies in sorted(latencies.items()):
        left -= replies
        if left <= 0:
            return ns / 1000
    return math.nan


def measure_window(args, sizes, world, number):
    """What the requests of a while took: {(protocol, server): {ns: replies}}"""
    which = SERVERS[:2]
    slices = len(DEPTH) * len(which)
    with contextlib.ExitStack() as stack:
        loads = {(protocol, name): connection for protocol in DEPTH for name, connection in
                 zip(which, stack.enter_context(world.connections(protocol, which)))}
        results = alternate(args, [(c, interactive(c, f'{args.seed} {number}'))
                                   for c in loads.values()], 1,
                            int(sizes.window_s * 1e6 / slices / 4), 4, PAUSE_US)
    return {key: result.latencies for key, result in zip(loads, results)}


def moved(migration):
    """(files that the crawler has found, files that are whole)"""
    status = migration.status()
    return int(status['files_found']), int(status['files_whole'])


def measure_pairs(args, sizes, world, crawler, pairs):
    """Adds pairs of windows; how many files were found and how many became whole a second, in the
    windows with the crawler."""
    migration = world.migration
    done, seconds = [0, 0], 0
    for number in range(sizes.windows):
        pair = {}
        for phase in ('quiet', 'crawl') if number % 2 else ('crawl', 'quiet'):
            if phase == 'crawl':
                migration.ctl('resume')
            before, begun = moved(migration), time.monotonic()
            pair[phase] = measure_window(args, sizes, world, number)
            if phase == 'crawl':
                done = [d + a - b for d, a, b in zip(done, moved(migration), before)]
                seconds += time.monotonic() - begun
                migration.ctl('pause')
        if crawler.poll() is not None and pairs:
            break                       # in these windows it was not there all the time
        pairs.append(pair)
    return [d / seconds for d in done]


def measure_crawl(args, sizes, world):
    """[{'quiet' or 'crawl': {(protocol, server): {ns: replies}}}], one after the other."""
    migration, pairs = world.migration, []
    world.place(PROCESSORS)
    migration.ctl('pause')
    crawler = migration.start_crawler()
    with world.before_others():
        rates = measure_pairs(args, sizes, world, crawler, pairs)
    migration.ctl('resume')
    print('crawl: %d pairs of windows; beside the requests %.0f files a second were found and %.0f '
          'moved' % (len(pairs), *rates))
    if not any(rates):
        raise Failure('the crawler did nothing beside the requests')
    if crawler.wait(1800):
        raise Failure(f'the crawler ended with an error: {migration.ctl("errors")}')
    return pairs


def show_crawl(pairs):
    """{(protocol, server): p99 beside the crawler to quiet p99, the median of the pairs}"""
    rows, ratios = [], {}
    for key in pairs[0]['quiet']:
        all_of = {phase: sum((collections.Counter(pair[phase][key]) for pair in pairs),
                             collections.Counter()) for phase in ('quiet', 'crawl')}
        of_pairs = [percentile(pair['crawl'][key], 0.99) / percentile(pair['quiet'][key], 0.99)
                    for pair in pairs]
        ratios[key] = median(of_pairs)
        rows.append([' '.join(key), sum(all_of['crawl'].values()),
                     *(f'{percentile(phase, part):.0f}' for part in (0.5, 0.99)
                       for phase in all_of.values()),
                     f'{ratios[key]:.2f}', f'{min(of_pairs):.2f}-{max(of_pairs):.2f}'])
    table('crawl: latency of normal files, us, one request at a time; the ratio of the p99s, '
          f'median of the pairs of windows (goal: {CRAWL_GOAL})',
          ['', 'requests', 'p50 quiet', 'p50 crawl', 'p99 quiet', 'p99 crawl', 'ratio', 'range'],
          rows)
    return ratios


# ---- the whole ----------------------------------------------------------------------------------

def run(args):
    sizes = (QUICK if args.quick else FULL)._replace(rounds=args.runs)
    volume(OLD)
    make_old_tree(args, sizes)
    server = old_server()
    found, ratio, load = {}, {}, [os.getloadavg()[0]]
    with Running(args.build, f'nfs://{server.address}{OLD}') as migration:
        migration.attach()
        world = World(args, server, migration)
        begin_migration(migration)
        for state in GOALS:
            if state == 'finished':
                pairs = measure_crawl(args, sizes, world)
                crawl_all(migration)
                migration.ctl('finalize')
            found[state] = measure(args, sizes, world)
            load.append(os.getloadavg()[0])
        world.stop()
    for state, cells_of in found.items():
        show_cells(state, cells_of)
        show_groups(state, cells_of)
        ratio[state] = mean(cell.ratio('layer') for cell in cells_of.values())
    crawl = show_crawl(pairs)
    print(f'load at the beginning, after migrating, at the end: '
          f'{", ".join(f"{one:.1f}" for one in load)}; goals: 0.97, 0.99, 1.2')
    FACTS['cells'] = {state: {cell_name(*key): cell.facts() for key, cell in cells_of.items()}
                      for state, cells_of in found.items()}
    worst = max(value for (_, name), value in crawl.items() if name == 'layer')
    print(f'overhead migrating_ratio={ratio["migrating"]:.3f} '
          f'finished_ratio={ratio["finished"]:.3f} crawl_p99_ratio={worst:.2f}')
