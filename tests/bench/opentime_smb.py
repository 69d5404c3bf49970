# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `open-time --door smb`: the same over SMB, from an old SMB server: connecting, opening and
reading the first byte, by a raw client."""
import itertools
import os
import time

import smb2
import smbd
from measure import MIB, Running, crawl_all, median, table
from migration_smb import password_file
from opentime import (CONFIGS, DEFAULT, DEPTHS, OLD, PAPER_SMB, QUICK_SIZE, SIZE, WIDTHS, Tree, cell,
                      make_big, prepare, total)
from sandbox import Failure, volume

USER = 'alice'
READ = smb2.READ_DATA | smb2.READ_ATTRIBUTES
PAPER_STEPS = 'the paper over SMB: remount 305 ms; read 217 ms in A and B, 22 ms in D'


def good(reply, what):
    if reply.status:
        raise Failure(f'{what}: {smb2.name_of(reply.status)}')
    return reply


def opened(session, path):
    return good(session.ask(smb2.create(path.replace('/', '\\'), READ)), 'CREATE').body[64:80]


def client(server, path):
    """{step: ms}"""
    begun = time.monotonic()
    session = server.session(USER)
    mounted = time.monotonic()
    fid = opened(session, path)
    there = time.monotonic()
    good(session.ask(smb2.read(fid, 0, 1)), 'READ')
    done = time.monotonic()
    session.connection.close()
    return {'mount': (mounted - begun) * 1000, 'open': (there - mounted) * 1000,
            'read': (done - there) * 1000}


def warm_old_server(server, tree):
    """What the client did before the switch: it has read the file's first half."""
    session = server.session(USER)
    fid = opened(session, f'{os.path.basename(tree.root)}/{tree.path}')
    for offset in range(0, os.path.getsize(tree.file) // 2, MIB):
        good(session.ask(smb2.read(fid, offset, MIB)), 'READ')
    session.connection.close()


def measure(args, server, tree, config):
    """One opening, by a new server that serves a new volume."""
    with Running(args.build, f'smb://root@{server.address}/old/{os.path.basename(tree.root)}',
                 smb_modes='open', smb_password_file=password_file(),
                 **CONFIGS[config][1]) as migration:
        prepare(migration, config)
        if config == 'D':
            crawl_all(migration)
        new = migration.start_smbd()
        times = client(new, tree.path)
        new.stop()
    return times


def measure_tree(args, server, tree, configs):
    tree.enter()
    server.restart()
    warm_old_server(server, tree)
    results = {config: measure(args, server, tree, config) for config in configs}
    tree.leave()
    return results


def run(args):
    volume(OLD)
    size = QUICK_SIZE if args.quick else SIZE
    depths, widths = ((1, 16), (10, 1000)) if args.quick else (DEPTHS, WIDTHS)
    make_big(size)
    trees = [Tree(depth, width) for depth, width in itertools.product(depths, widths)]
    server = smbd.old_smbd(OLD)
    measure_tree(args, server, trees[0], CONFIGS)       # the warm-up
    results = {(tree.depth, tree.width): {config: [] for config in CONFIGS} for tree in trees}
    for turn in range(args.runs):           # in turn, so that all feel the same disturbances
        for tree in trees:
            # Moving all of the large file is done once.
            configs = 'ABCE' if turn else 'ABCDE'
            for config, times in measure_tree(args, server, tree, configs).items():
                results[tree.depth, tree.width][config].append(times)
    table(f'SMB: depth x width; connect + open + first read of a file of {size // MIB} MiB, ms, '
          f'medians of {args.runs} (D: one)', ['', *CONFIGS, 'paper, SMB A'],
          [[f'{depth} x {width}', *(cell(of[config]) for config in CONFIGS),
            f'{PAPER_SMB[depth, width]} s' if (depth, width) in PAPER_SMB else '']
           for (depth, width), of in results.items()])
    for config, (what, _, _) in CONFIGS.items():
        print(f'{config}  moved before: {what}')
    print(PAPER_STEPS)
    seconds = {width: median(map(total, results[16, width][DEFAULT])) / 1000
               for width in (10, 1000)}
    print(f'open-time width_ratio={seconds[1000] / seconds[10]:.2f} '
          f's_16x1000_smb={seconds[1000]:.3f}')
