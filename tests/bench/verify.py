# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `verify`: verify --content beside cmp over both trees, several at a time, all from a cold
cache.  Both trees are local: it is reading, comparing and hashing that is measured."""
import json
import os
import subprocess

from measure import MIB, Clock, Target, cpu_of, forget, median, peak_rss, sync, table
from migration import KIB, Tree
from sandbox import Failure, sh, volume
from servers import NEW, OLD, VOLUME, Migration

# As many as there are processors, and as unhurried as the retriever's work (lib/base/thread.h): else a
# busy machine is measured.
CMP = 'find . -type f -print0 | nice -n 10 chrt --batch 0 xargs -0 -P "$1" -I{} cmp -s {} "$2/{}"'


def trees(quick):
    part = 20 if quick else 1
    yield Tree('small', 40_000 // part, 400 // part, lambda r: r.randrange(32 * KIB + 1))
    yield Tree('large', 4, 1, lambda r: 2048 * MIB // part)


def ours(args, tree):
    """(seconds, seconds of CPU, MiB of memory)"""
    migration = Migration(args.build, f'file://{tree.path}')
    migration.start_retriever()
    argv = [migration.program('migratectl'), '--config', migration.config, 'verify', '--content',
            '--json', VOLUME]
    before = cpu_of(migration.retriever)
    with Clock() as clock:
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
    said = json.loads(done.stdout)['proof']
    if done.returncode or said['files_read'] != tree.files or said['bytes'] != tree.bytes:
        raise Failure(f'the trees are the same, and it said {said}')
    figures = clock.wall, cpu_of(migration.retriever) - before, peak_rss(migration.retriever)
    migration.retriever.stop()
    return figures


def cmp(tree):
    with Clock() as clock:
        sh('bash', '-c', f'cd "{tree.path}" && {CMP}', 'cmp', os.cpu_count(), NEW)
    return clock.wall, clock.cpu, 0


def measure(args, tree):
    """{way: [figures of each round]}"""
    found = {'ours': [], 'cmp': []}
    with Target():
        sh('cp', '-aT', tree.path, NEW)
        sync(NEW)
        for turn in range(args.runs + 1):
            for way, run_one in (('ours', lambda: ours(args, tree)), ('cmp', lambda: cmp(tree))):
                forget(OLD)
                forget(NEW)
                figures = run_one()
                if turn:                # the first is the warm-up
                    found[way].append(figures)
    return found


def run(args):
    volume(OLD, '16G', mkfs=('-I', '256'))
    rows, ratios = [], {}
    for tree in trees(args.quick):
        found = measure(args, tree)
        ratios[tree.name] = median(c[0] / o[0] for o, c in zip(found['ours'], found['cmp']))
        for way, figures in found.items():
            wall, cpu, rss = (median(column) for column in zip(*figures))
            rows.append([f'{tree.name}: {way}', f'{wall:.2f}', f'{tree.files / wall:.0f}',
                         f'{tree.bytes / MIB / wall:.0f}', f'{cpu:.2f}', f'{rss:.0f}' * (rss > 0)])
    table('both trees read, compared; ours hashes too', ['', 's', 'files/s', 'MiB/s', 'CPU s', 'MiB'],
          rows)
    print(f'verify small_vs_cmp={ratios["small"]:.2f} large_vs_cmp={ratios["large"]:.2f}')
