# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `copy`: copying beforehand, bringing the copy up to date, and the switch, beside rsync, fpsync
and cp, which read from the same disk where ours reads through the old server."""
import json
import os
import random

from measure import MIB, Clock, Running, Target, crawl_all, median, peak_rss, sync, table
from migration import KIB, Tree
from sandbox import Failure, sh, volume
from servers import NEW, OLD, old_server

RSYNC = ('-aHAX', '--delete')
PHASES = ('baseline', 'nothing changed', '1 % changed')


def a_mail(chance):
    return chance.choices((KIB, 2 * KIB, 3 * KIB, 10 * KIB), (4, 2, 2, 2))[0]


def trees(quick):
    """A tenth of what the tools' guides measured; the mail store whole."""
    part = 20 if quick else 1
    small = (lambda r: r.randrange(32 * KIB + 1))
    yield Tree('one directory', 100_000 // part, 1, small)
    yield Tree('390 directories', 19_500 // part, 390 // part, small)
    yield Tree('large', 500 // part // (1 if quick else 2), 1, lambda r: 10 * MIB)
    yield Tree('mail', 50_000 // part, 50, a_mail)


def change(tree, chance):
    """A hundredth of the files are written anew."""
    for directory, _, files in os.walk(tree.path):
        for name in chance.sample(files, min(len(files), max(1, len(files) // 100))):
            with open(f'{directory}/{name}', 'r+b') as file:
                size = os.fstat(file.fileno()).st_size
                file.write(chance.randbytes(min(size, 4 * KIB) or 1))


class Ours:
    """What `migratectl copy` does; then the switch."""

    def __init__(self, args, server, tree):
        self.server, self.tree = server, tree
        self.running = Running(args.build, f'nfs://{server.address}{tree.path}')

    def __enter__(self):
        self.migration = self.running.__enter__()
        return self

    def __exit__(self, *failed):
        self.running.__exit__(*failed)

    def copy(self, baseline):
        said = json.loads(self.migration.ctl('copy', '--json'))['copy']
        if not said['whole'] or said['objects'] < self.tree.files:
            raise Failure(f'not everything was copied: {said}')

    def switch(self):
        """(seconds of attach, objects a second of the comparison, MiB)."""
        with Clock() as attach:
            self.migration.attach()
        with Clock() as comparison:
            crawl_all(self.migration)
        status = self.migration.status()
        if status['state'] != 'whole' or int(status['bytes_fetched']):
            raise Failure(f'the copy was not the same: {status}')
        return (attach.wall, int(status['files_found']) / comparison.wall,
                peak_rss(self.migration.retriever))


class Peer(Target):
    def __init__(self, tree, first, again):
        """first, again: argv of the baseline and of the runs after it; None: it cannot."""
        super().__init__()
        self.first, self.again, self.tree = first, again, tree

    def copy(self, baseline):
        argv = self.first if baseline else self.again
        if argv:
            sh(*argv, self.tree.path + '/', NEW + '/')
        return bool(argv)


def fpsync(*options):
    return ('fpsync', '-n', '8', '-o', ' '.join(options))


def ways(args, server, tree):
    return {
        'ours': lambda: Ours(args, server, tree),
        'rsync': lambda: Peer(tree, ('rsync', *RSYNC), ('rsync', *RSYNC)),
        'fpsync': lambda: Peer(tree, fpsync('-lptgoD', '--numeric-ids'),
                               fpsync('-lptgoD', '--numeric-ids')),
        'cp': lambda: Peer(tree, ('cp', '-aT'), ('cp', '-aTu')),
    }


def measure(args, ways, tree, warm_up=True):
    """{way: [[seconds of each round] of each phase]}, and what switch() said of each round."""
    chance = random.Random(args.seed)
    took = {way: [[], [], []] for way in ways}
    switches = []
    for turn in range(0 if warm_up else 1, args.runs + 1):
        for way, make in ways.items():
            with make() as copier:
                for phase in range(3):
                    if phase == 2:
                        change(tree, chance)
                    with Clock() as clock:
                        copier.copy(phase == 0)
                        sync(NEW)
                    if turn:            # 0 is the warm-up
                        took[way][phase].append(clock.wall)
                if way == 'ours':
                    switches += [copier.switch()][:turn]
    return took, switches


def ratio(took, phase, peer='rsync'):
    return median(p / o for p, o in zip(took[peer][phase], took['ours'][phase]))


def run(args):
    volume(OLD)
    server = old_server(export='Attr_Expiration_Time = 0;')
    results, rows = {}, []
    for tree in trees(args.quick):
        took, switches = results[tree.name] = measure(args, ways(args, server, tree), tree)
        for phase, name in enumerate(PHASES):
            rows.append([f'{tree.name}: {name}',
                         *(f'{median(took[way][phase]):.2f}' for way in took),
                         *(f'{ratio(took, phase, peer):.2f}' for peer in list(took)[1:])])
        rows.append([f'{tree.name}: switch',
                     f'{median(s[0] for s in switches):.3f}', *[''] * 6])
        sh('rm', '-rf', tree.path)
    table(f'seconds, medians of {args.runs}, everything synced; how many times faster ours is',
          ['', 'ours', 'rsync', 'fpsync', 'cp', 'vs rsync', 'vs fpsync', 'vs cp'], rows)
    switches = [s for _, all_of in results.values() for s in all_of]
    small = [results[name][0] for name in ('one directory', '390 directories', 'mail')]
    print(f'copy baseline_vs_cp={median(ratio(t, 0, "cp") for t in small):.2f} '
          f'increment_vs_rsync={median(ratio(t, 2) for t in small):.2f} '
          f'same_vs_rsync={median(ratio(t, 1) for t in small):.2f} '
          f'compare_per_s={max(s[1] for s in switches):.0f} '
          f'rss_mib={max(s[2] for s in switches):.0f}')
