# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `migrate`: a whole migration beside `cp -a` of the same tree; with --source nfs4 by NFS version
4.2, beside one by version 3, too."""
import os
import random

from measure import (MIB, Clock, Running, Target, cpu_of, crawl_all, median, peak_rss, sync,
                     table)
from sandbox import Failure, sh, volume
from servers import NEW, OLD, old_server

KIB = 1 << 10
ORDERS = ('namespace-first', 'depth-first', 'recent-first')     # the first one is the default


class Tree:
    """What is moved: .path on the old server, .files, .bytes."""

    def __init__(self, name, files, directories, size):
        """size(): of the next file."""
        self.name, self.files, self.bytes = name, files, 0
        self.path = f'{OLD}/{name}'
        chance = random.Random(name)
        noise = chance.randbytes(2 * MIB)
        for d in range(directories):
            directory = f'{self.path}/d{d:04}'
            os.makedirs(directory)
            for f in range(files // directories):
                left = wanted = size(chance)
                with open(f'{directory}/f{f:04}', 'wb') as out:
                    while left:
                        start = chance.randrange(MIB)
                        left -= out.write(noise[start:start + min(left, MIB)])
                os.utime(f'{directory}/f{f:04}', (1 << 30, 1 << 30))     # nothing of it is recent
                self.bytes += wanted


class Result:
    """One way to move a tree, round by round."""

    def __init__(self, tree, way):
        self.tree, self.way = tree, way
        self.wall, self.cpu, self.server, self.rss = [], [], [], []

    def add(self, wall, cpu, server=0, rss=0):
        for values, value in ((self.wall, wall), (self.cpu, cpu), (self.server, server),
                              (self.rss, rss)):
            values.append(value)

    def against(self, other):
        """How much faster than the other one, the median of the rounds."""
        return median(o / s for s, o in zip(self.wall, other.wall))

    def row(self, cp):
        wall = median(self.wall)
        return [f'{self.tree.name}: {self.way}', f'{wall:.2f}', f'{self.tree.files / wall:.0f}',
                f'{self.tree.bytes / MIB / wall:.0f}', f'{self.against(cp):.2f}',
                f'{min(o / s for s, o in zip(self.wall, cp.wall)):.2f}-'
                f'{max(o / s for s, o in zip(self.wall, cp.wall)):.2f}',
                f'{median(self.cpu):.2f}', f'{median(self.server):.2f}',
                f'{max(self.rss):.0f}' if max(self.rss) else '']


def copy(tree):
    """`cp -a` onto a new file system, synced: (wall, CPU)."""
    with Target():
        with Clock() as clock:
            sh('cp', '-a', tree.path, NEW)
            sync(NEW)
    return clock.wall, clock.cpu


def migrate(args, server, tree, order, version=None):
    """By that version of NFS, else 3; as bring()."""
    url = server.url4(version, '/' + tree.name) if version else f'nfs://{server.address}{tree.path}'
    return bring(args, server, url, tree, order)


def bring(args, server, url, tree, order, **settings):
    """Attach, the crawler to its end, synced: (wall, CPU of retriever and crawler, CPU of the old server,
    peak RSS of the retriever)."""
    with Running(args.build, url, crawler_order=order, **settings) as m:
        before = cpu_of(m.retriever), cpu_of(server.process)
        with Clock() as clock:
            m.attach()
            crawl_all(m)
            sync(NEW)
        cpu = clock.cpu + cpu_of(m.retriever) - before[0]
        result = clock.wall, cpu, cpu_of(server.process) - before[1], peak_rss(m.retriever)
        status = m.status()
        if status['state'] != 'whole' or int(status['files_whole']) != tree.files:
            raise Failure(f'not everything was moved: {status}')
    return result


def measure(args, server, tree):
    if args.source == 'nfs4':
        ways = {name: lambda v=version: migrate(args, server, tree, ORDERS[0], v)
                for name, version in ((ORDERS[0], '4.2'), ('version 3', None))}
    else:
        ways = {order: lambda o=order: migrate(args, server, tree, o) for order in ORDERS}
    ways['cp -a'] = lambda: copy(tree)
    results = {way: Result(tree, way) for way in ways}
    for way in ways.values():       # the warm-up: memory, the source's page cache
        way()
    for turn in range(args.runs):
        for way in list(ways)[turn % 3:] + list(ways)[:turn % 3]:
            results[way].add(*ways[way]())
    return results


def run(args):
    volume(OLD)
    if args.quick:
        trees = (Tree('small', 2000, 40, lambda r: r.randrange(32 * KIB + 1)),
                 Tree('large', 20, 1, lambda r: 10 * MIB))
    else:
        trees = (Tree('small', 20000, 400, lambda r: r.randrange(32 * KIB + 1)),
                 Tree('large', 200, 1, lambda r: 10 * MIB))
    server = old_server()
    results = [measure(args, server, tree) for tree in trees]
    rows = [r.row(of['cp -a']) for of in results for r in of.values()]
    table(f'medians of {args.runs}, everything synced; CPU seconds: of retriever and crawler or of '
          'cp, and of the old server',
          ['', 's', 'files/s', 'MiB/s', 'against cp', 'range', 'CPU', 'old server', 'RSS MiB'],
          rows)
    small, large = (of[ORDERS[0]] for of in results)
    rss = max(max(result.rss) for of in results for result in of.values())
    print(f'migrate small_files_per_s={small.tree.files / median(small.wall):.0f} '
          f'small_vs_cp={small.against(results[0]["cp -a"]):.2f} '
          f'large_mb_per_s={large.tree.bytes / 1e6 / median(large.wall):.0f} '
          f'large_vs_cp={large.against(results[1]["cp -a"]):.2f} rss_mib={rss:.0f}', end='')
    if args.source == 'nfs4':
        print(f' small_vs_v3={small.against(results[0]["version 3"]):.2f} '
              f'large_vs_v3={large.against(results[1]["version 3"]):.2f}', end='')
    print()
