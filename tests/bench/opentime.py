# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `open-time`: what a client waits for after the switch, until it has the first byte of a file
deep down: the downtime of The Quick Migration of File Servers (SYSTOR '18), section 5.2."""
import collections
import itertools
import os
import random
import re

from measure import FACTS, MIB, Clock, Running, crawl_all, median, table
from sandbox import Failure, sh, volume
from servers import NEW, OLD, old_server

DEPTHS, WIDTHS = (1, 4, 16), (10, 100, 1000)
VERSIONS = {'v3': '3', 'v4': '4'}           # of NFS; as openclient wants it (4: 4.1)
STEPS = ('mount', 'open', 'read')
SIZE, QUICK_SIZE = 1024 * MIB, 64 * MIB
BIG = OLD + '/big'                          # where the file waits for the next tree

# Each: what has been moved before the client comes, the volume's settings, the crawler's options.
CONFIGS = {
    'A': ('nothing; stubs get attributes when they are asked for', {'stub_attributes': 'lazy'}, None),
    'B': ('nothing; stubs are made with attributes (the default)', {}, None),
    'C': ('names and attributes (migrate-crawler --metadata-only)', {}, ('--metadata-only',)),
    'D': ('everything (migrate-crawler)', {}, None),
    'E': ('a copy of everything, not compared yet (migratectl copy)', {}, None),
}
DEFAULT = 'B'

# The paper's, in seconds.  NFS: "about 5.5 s for each directory of 1000", configuration A.
PAPER_NFS_1000 = 5.5
PAPER_SMB = {(1, 10): 0.11, (16, 1000): 26.2}
PAPER_STEPS = 'the paper over NFS: remount 162 ms; read 58 ms in A and B, 17 ms in D'


class Tree:
    """depth directories below each other, each with width entries; the last one holds the file."""

    def __init__(self, depth, width):
        self.depth, self.width = depth, width
        self.root = f'{OLD}/d{depth}w{width}'
        way = f'entry{width // 2:04}'
        self.path = '/'.join([way] * depth)
        self.file = f'{self.root}/{self.path}'      # not there yet: enter()
        for level in range(depth):
            directory = '/'.join([self.root] + [way] * level)
            os.makedirs(directory)
            for entry in range(width):
                if entry != width // 2:
                    with open(f'{directory}/entry{entry:04}', 'wb') as out:
                        out.write(os.urandom(1024))

    def enter(self):
        os.rename(BIG, self.file)

    def leave(self):
        os.rename(self.file, BIG)


def make_big(size):
    noise = random.Random(1).randbytes(64 * MIB)
    with open(BIG, 'wb') as out:
        for _ in range(size // len(noise)):
            out.write(noise)


def client(args, version, host, export, path, size=0):
    """{step: ms, 'waits': number}"""
    program = f'{args.build}/tests/bench/openclient'
    if not os.path.exists(program):
        raise Failure(f'{program} is not built')
    said = sh(program, VERSIONS[version], host, export, path, size, timeout=300)
    times = {key: int(value) for key, value in re.findall(r'(\w+)=(\d+)', said)}
    return {key: value if key == 'waits' else value / 1000 for key, value in times.items()}


def warm_old_server(args, server, tree):
    """What the client did before the switch: it has read the file's first half."""
    for version in VERSIONS:
        export = OLD if version == 'v3' else '/export'
        client(args, version, server.address, export, f'{os.path.basename(tree.root)}/{tree.path}',
               os.path.getsize(tree.file) // 2)


def open_once(args, migration, version, tree):
    if args.new_server:
        args.new_server.start()
    else:
        args.new_server = migration.start_server()
    times = client(args, version, '127.0.0.1', NEW if version == 'v3' else '/export', tree.path)
    args.new_server.stop()
    return times


def prepare(migration, config):
    """What was moved, and the switch: attach's Clock."""
    if config == 'E':
        migration.ctl('copy')
    with Clock() as attach:
        migration.attach()
    crawl = CONFIGS[config][2]
    if crawl is not None:
        crawl_all(migration, *crawl)
    return attach


def measure(args, server, tree, config, version):
    """One opening, by a new server that serves a new volume."""
    with Running(args.build, f'nfs://{server.address}{tree.root}',
                 **CONFIGS[config][1]) as migration:
        attach = prepare(migration, config)
        times = open_once(args, migration, version, tree)
    return {**times, 'attach': attach.wall * 1000}


def measure_moved(args, server, tree, version, runs):
    """Likewise several times when everything has been moved: new servers, empty caches."""
    with Running(args.build, f'nfs://{server.address}{tree.root}') as migration:
        migration.attach()
        crawl_all(migration)
        results = []
        for _ in range(runs):
            migration.retriever.stop()
            migration.target.forget()
            migration.start_retriever()
            results.append(open_once(args, migration, version, tree))
    return results


def measure_tree(args, server, tree, runs):
    """{(configuration, version): [times]} of one opening each, and of `runs` where everything has
    been moved (that is done once)."""
    tree.enter()
    server.restart()
    warm_old_server(args, server, tree)
    results = {(config, version): [measure(args, server, tree, config, version)]
               for config, version in itertools.product('ABCE', VERSIONS)}
    for version in VERSIONS:
        results['D', version] = measure_moved(args, server, tree, version, runs) if runs else []
    tree.leave()
    return results


def total(times):
    return sum(times[step] for step in STEPS)


def paper(depth, width):
    nfs = f'~{depth * PAPER_NFS_1000:.1f} s' if width == 1000 else ''
    smb = f'{PAPER_SMB[depth, width]} s' if (depth, width) in PAPER_SMB else ''
    return [nfs, smb]


def cell(runs):
    """mount + open + read = total, ms, the medians of each."""
    steps = [median(run[step] for run in runs) for step in STEPS]
    return ' + '.join(f'{ms:.1f}' for ms in steps) + f' = {median(map(total, runs)):.1f}'


def show(args, size, results):
    FACTS['open_time'] = [[version, depth, width, config, median(map(total, of[config, version]))]
                          for (depth, width), of in results.items()
                          for config in CONFIGS for version in VERSIONS]
    for version in VERSIONS:
        rows = [[f'{depth} x {width}', *(cell(of[config, version]) for config in CONFIGS),
                 *paper(depth, width)] for (depth, width), of in results.items()]
        table(f'NFS{version}: depth x width; mount + open + first read of a file of '
              f'{size // MIB} MiB, ms, medians of {args.runs}',
              ['', *CONFIGS, 'paper, NFS A', 'paper, SMB A'], rows)
    for config, (what, _, _) in CONFIGS.items():
        print(f'{config}  moved before: {what}')
    print(PAPER_STEPS)
    every = [run for of in results.values() for runs in of.values() for run in runs]
    attach = [run['attach'] for run in every if 'attach' in run]
    print(f'answers of JUKEBOX or DELAY: {sum(run["waits"] for run in every)} in {len(every)} '
          f'openings; migratectl attach: {median(attach):.0f} ms\n')


def run(args):
    volume(OLD)
    size = QUICK_SIZE if args.quick else SIZE
    depths, widths = ((1, 16), (10, 1000)) if args.quick else (DEPTHS, WIDTHS)
    make_big(size)
    trees = [Tree(depth, width) for depth, width in itertools.product(depths, widths)]
    server = old_server()
    args.new_server = None                  # one, started anew each time
    measure_tree(args, server, trees[0], 1)             # the warm-up
    results = {}
    for turn in range(args.runs):           # in turn, so that all feel the same disturbances
        for tree in trees:
            of = results.setdefault((tree.depth, tree.width), collections.defaultdict(list))
            for key, times in measure_tree(args, server, tree, 0 if turn else args.runs).items():
                of[key] += times
    show(args, size, results)
    seconds = {(width, version): median(map(total, results[16, width][DEFAULT, version])) / 1000
               for width in (10, 1000) for version in VERSIONS}
    ratio = max(seconds[1000, version] / seconds[10, version] for version in VERSIONS)
    print(f'open-time width_ratio={ratio:.2f} s_16x1000_v3={seconds[1000, "v3"]:.3f} '
          f's_16x1000_v4={seconds[1000, "v4"]:.3f}')
