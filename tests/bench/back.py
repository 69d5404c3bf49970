# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `rollback`: carrying back what clients changed, beside rsync backwards over both trees; and
what the journal costs those who change files."""
import json
import os
import random

import journal_price
from measure import Clock, crawl_all, median, sync, table
from migration import KIB, Tree
from sandbox import BASE, Failure, sh, volume
from servers import NEW, OLD, Ganesha, Migration, old_server

SHARES = {'few': 0.001, 'many': 0.05}
RSYNC = ('rsync', '-aHAX', '--delete', '--exclude=/.migrate', '--exclude=/.migrate-rollback')
TWIN = BASE + '/twin'           # rsync's old tree: on a file system of its own


def change(chance, paths, share):
    """So many are written anew, a tenth as many each are made, renamed and removed."""
    picked = chance.sample(paths, max(10, int(len(paths) * share)))
    for number, path in enumerate(picked):
        if number % 10 == 1:
            os.rename(path, path + f'.{chance.random()}')
        elif number % 10 == 2:
            os.unlink(path)
        else:
            with open(path + '.new' * (number % 10 == 3), 'ab') as file:
                file.write(chance.randbytes(KIB))
    return [p for p in paths if os.path.exists(p)]


def price(args, migration):
    """The share of an NFS client's rate of writes that the journal costs beside the server (case
    `journal`)."""
    migration.journal.stop()
    for where in (NEW, TWIN):
        journal_price.prepare(where)
    sizes = journal_price.QUICK if args.quick else journal_price.FULL
    servers = [migration.start_server(), Ganesha('twin', TWIN, port=2050, mount_port=20049).start()]
    found = journal_price.pairs(args, servers, migration, '4k random writes', sizes)
    return median(journal_price.beside(pair) for pair in found)


def go_back(migration):
    with Clock() as clock:
        said = json.loads(migration.ctl('rollback', '--json', '--yes'))['rollback']
        sync(OLD)
    if said['conflicts'] or said['left']:
        raise Failure(f'not everything was carried back: {said}')
    return clock.wall


def rsync():
    with Clock() as clock:
        sh(*RSYNC, NEW + '/', TWIN + '/')
        sync(TWIN)
    return clock.wall


def run(args):
    for where in (OLD, TWIN, NEW):
        volume(where, mkfs=('-I', '256'))
    files = 4000 if args.quick else 200_000
    tree = Tree('projects', files, files // 50, lambda r: r.randrange(8 * KIB))
    sh('cp', '-a', OLD + '/.', TWIN)
    server = old_server()
    migration = Migration(args.build, f'nfs://{server.address}{OLD}', rollback_source=OLD)
    migration.start_retriever()
    migration.start_journal()
    migration.attach()
    crawl_all(migration)
    chance = random.Random(args.seed)
    paths = [f'{base}/{name}' for base, _, names in os.walk(NEW) for name in names
             if '/.migrate' not in base]
    took, rows = {}, []
    for name, share in SHARES.items():
        took[name] = []
        for turn in range(args.runs + 1):
            paths = change(chance, paths, share)
            sh('sync')
            pair = (go_back(migration), rsync())
            took[name] += [pair][:turn]         # the first is the warm-up
        rows.append([f'{share * 100:g} % changed', *(f'{median(s):.2f}' for s in zip(*took[name])),
                     f'{median(r / o for o, r in took[name]):.1f}'])
    table(f'{tree.files} files, seconds, medians of {args.runs}',
          ['', 'ours', 'rsync', 'vs rsync'], rows)
    cost = price(args, migration)
    print('rollback ' + ' '.join(f'{name}_vs_rsync={median(r / o for o, r in pairs):.1f}'
                                 for name, pairs in took.items()) + f' journal_price={cost:.3f}')
