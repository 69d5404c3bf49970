# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `distant`: an old server at the other end of a line with a round trip of 10 ms, whose export the
copy tools read through the kernel's NFS client, as an administrator would mount it."""
import socket

import copies
import guests
from measure import FACTS, Clock, Running, crawl_all, median, sync, table
from migration import KIB, Tree
from sandbox import BASE, sh, volume
from servers import OLD, old_server

MOUNT = BASE + '/mounted'


def run(args):
    guests.run(args, 'distant-inside', '--round-trips', *map(str, args.round_trips),
               timeout=3600 * len(args.round_trips))


class Mounted(copies.Peer):
    """A copy tool, and the mount that it reads: what the kernel remembers of it goes before each
    run, as days go by between them."""

    def __init__(self, tree, source, first, again):
        super().__init__(tree, first, again)
        self.source = source

    def copy(self, baseline):
        sh('umount', MOUNT)
        guests.mount(self.source, MOUNT)
        argv = self.first if baseline else self.again
        sh(*argv, f'{MOUNT}/{self.tree.name}/', copies.NEW + '/')
        return True


def ways(args, server, tree):
    source = f'{server.address}:{OLD}'
    fpsync = copies.fpsync('-lptgoD', '--numeric-ids')
    return {
        'ours': lambda: copies.Ours(args, server, tree),
        'rsync': lambda: Mounted(tree, source, ('rsync', *copies.RSYNC), ('rsync', *copies.RSYNC)),
        'fpsync': lambda: Mounted(tree, source, fpsync, fpsync),
        'cp': lambda: Mounted(tree, source, ('cp', '-aT'), ('cp', '-aTu')),
    }


def migrate(args, server, tree):
    """Seconds of attach and the crawler to its end, synced."""
    with Running(args.build, f'nfs://{server.address}{tree.path}') as m, Clock() as clock:
        m.attach()
        crawl_all(m)
        sync(m.root)
    return clock.wall


def round_trip(server):
    """Milliseconds that a connection takes to be there."""
    with Clock() as clock, socket.create_connection((server.address, server.port)):
        pass
    return clock.wall * 1000


def at(args, server, tree, delay):
    """The case with a round trip of so many milliseconds."""
    sh('tc', 'qdisc', 'replace', 'dev', server.host.interface, 'root', 'netem', 'delay', f'{delay}ms',
       'limit', '100000')
    trip = median(round_trip(server) for _ in range(20))
    took, _ = copies.measure(args, ways(args, server, tree), tree, warm_up=False)
    moved = median(migrate(args, server, tree) for _ in range(args.runs))
    rows = [[name, *(f'{median(took[way][phase]):.2f}' for way in took),
             *(f'{copies.ratio(took, phase, peer):.1f}' for peer in list(took)[1:])]
            for phase, name in enumerate(copies.PHASES)]
    table(f'{tree.files} files of up to 8 KiB, a round trip of {trip:.1f} ms: seconds, medians of '
          f'{args.runs}, everything synced; how many times faster ours is',
          ['', 'ours', 'rsync', 'fpsync', 'cp', 'vs rsync', 'vs fpsync', 'vs cp'],
          [*rows, ['migration', f'{moved:.2f}', *[''] * 6]])
    rates = {'migration': tree.files / moved,
             **{way: tree.files / median(took[way][0]) for way in list(took)[1:]}}
    FACTS.setdefault('round_trips', []).append([trip, rates])
    print(f'distant round_trip_ms={trip:.1f} '
          f'migrate_vs_rsync={median(took["rsync"][0]) / moved:.1f} ' +
          ' '.join(f'{key}_vs_rsync={copies.ratio(took, phase):.1f}'
                   for phase, key in enumerate(('baseline', 'same', 'increment'))), flush=True)


def inside(args):
    volume(OLD)
    server = old_server(export='Attr_Expiration_Time = 0;')
    guests.mount(f'{server.address}:{OLD}', MOUNT)
    tree = Tree('small', 400 if args.quick else 4000, 4 if args.quick else 40,
                lambda chance: chance.randrange(8 * KIB + 1))
    for delay in args.round_trips:
        at(args, server, tree, delay)
