#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any process may be killed at any time: the crawler, the retriever, the new server, the old one,
again and again, while clients work; in the end every byte is right."""
import os
import random
import select
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from mutator import Mutator                                             # noqa: E402
from sandbox import BASE, sh, volume, wait_for                          # noqa: E402
from servers import NEW, OLD, stack                                     # noqa: E402

MODEL = BASE + '/model'


class Victims:
    def __init__(self, old, migration, crawler_options=()):
        self.old, self.migration, self.options = old, migration, crawler_options
        self.crawler = migration.start_crawler()
        self.count = {'crawler': 0, 'retriever': 0, 'server': 0, 'old': 0}

    def kill(self, name):
        """SIGKILL, and a new one in its place."""
        self.count[name] += 1
        migration = self.migration
        if name == 'old':
            self.old.restart(signal.SIGKILL)
        elif name == 'server':
            migration.server.restart(signal.SIGKILL)
        elif name == 'retriever':
            migration.retriever.stop(signal.SIGKILL)
            migration.start_retriever()
        else:
            self.crawler.stop(signal.SIGKILL)
        if self.crawler.poll() is not None:
            self.crawler = migration.start_crawler()


def torture(args, names, files=3000):
    volume(MODEL)

    def fill(root):
        tree.make(root, files, args.seed, 4 << 20)
        sh('cp', '-a', root + '/.', MODEL)

    kills = args.kills
    # so slow that it lasts until the last of them, however long servers take to start
    old, migration = stack(args.build, fill, bandwidth=f'{6 * 1024 // kills}K')
    migration.attach()
    migration.start_server()
    mutator = Mutator(migration.server.client, MODEL, random.Random(args.seed))
    victims = Victims(old, migration)
    stop = threading.Event()
    mutator.thread(stop)
    early = 0                               # kills before everything is whole
    for n in range(kills):
        select.select([], [], [], args.random.uniform(0, 0.7))      # the random point, not a wait
        victims.kill(names[n % len(names)] if n < len(names) else args.random.choice(names))
        early += migration.status()['state'] != 'whole'
        if mutator.failure:
            break
    wait_for('clients have changed something', lambda: mutator.done > 20 or mutator.failure)
    migration.ctl('throttle', argument='0')
    stop.set()
    mutator.finish()
    print(f'{victims.count}, {early} of them before all was whole; {mutator.done} changes, '
          f'{mutator.repeats} calls repeated')
    if victims.crawler.wait(300):
        migration.crawl()
    same(migration.status()['state'], 'whole', 'state')
    expect(early > kills * 0.9, f'{early} of {kills} kills met the migration')
    migration.ctl('verify')
    same(tree.records(NEW), [], 'objects with a record')
    no_differences(tree.compare(MODEL, NEW, any_mtime=mutator.any_mtime, slack=256 << 10))
    migration.ctl('finalize')


@case()
def crawler_and_retriever(args):
    torture(args, ['crawler', 'retriever'])


@case()
def everything(args):
    torture(args, ['server', 'old', 'retriever', 'crawler'])


@case()
def nothing_is_done_again(args):
    """A crawler that is killed resumes where unfinished records are: what was fetched is not read
    again from the old server."""
    # so slow that it is not done between two looks
    old, migration = stack(args.build, lambda root: tree.make(root, 4000, args.seed, 1 << 20),
                           proxied=True, bandwidth='8M')
    migration.attach()
    for portion in (0.3, 0.6):
        crawler = migration.start_crawler()

        def far_enough():
            status = migration.status()
            return int(status['files_whole']) >= portion * 4000 or crawler.poll() is not None

        while not far_enough():
            select.select([], [], [], 0.02)
        crawler.stop(signal.SIGKILL)
    left = sum(1 for path in tree.records(NEW) if os.path.isfile(path))
    expect(0 < left < 3500, f'{left} unfinished files after the kills')
    old.proxy.reset()
    migration.ctl('throttle', argument='0')
    migration.crawl()
    reads = old.proxy.counted().get('READ', 0)
    expect(reads <= left * 1.1 + 100, f'{reads} READs for {left} unfinished files')
    no_differences(tree.compare(OLD, NEW))


def options(parser):
    parser.add_argument('--kills', type=int, default=12, help='how often (default %(default)s)')


if __name__ == '__main__':
    sys.exit(main(options))
