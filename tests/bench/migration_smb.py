# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `migrate --source smb`: a whole migration from an SMB server beside smbclient and rclone, which
copy the same share, without security descriptors and streams."""
import os
import subprocess

import smbd
from measure import MIB, Clock, Running, Target, cpu_of, crawl_all, median, peak_rss, sync, table
from migration import KIB, Result, Tree
from sandbox import BASE, Failure, sh, volume
from servers import NEW, OLD

SHARE = 'old'


def password_file():
    path = BASE + '/secret'
    with open(path, 'w') as out:
        os.fchmod(out.fileno(), 0o600)
        out.write(smbd.PASSWORD + '\n')
    return path


def copied(tree, command):
    """A peer's whole copy onto a new file system, synced: (wall, CPU)."""
    with Target():
        with Clock() as clock:
            command(tree)
            sync(NEW)
        files = int(sh('bash', '-c', f'find {NEW} -type f | wc -l'))
        if files != tree.files:
            raise Failure(f'{files} files were copied, not {tree.files}')
    return clock.wall, clock.cpu


def smbclient(server):
    def get(tree):
        server.smbclient('prompt off', 'recurse on', f'lcd {NEW}', f'cd {tree.name}', 'mget *',
                         user='root')
    return get


def rclone(server):
    obscured = sh('rclone', 'obscure', smbd.PASSWORD).strip()

    def copy(tree):
        subprocess.run(['rclone', '--config', '/dev/null', '--transfers', '8', '--checkers', '8',
                        '--smb-host', server.address, '--smb-user', 'root', '--smb-pass', obscured,
                        'copy', f':smb:{SHARE}/{tree.name}', NEW], check=True,
                       stdin=subprocess.DEVNULL, env={**os.environ, 'HOME': BASE})
    return copy


def migrate(args, server, tree):
    """As for NFS; the workers' CPU is told apart."""
    with Running(args.build, f'smb://root@{server.address}/{SHARE}/{tree.name}', smb_modes='open',
                 smb_password_file=password_file()) as m:
        before = cpu_of(m.retriever)
        with Clock() as clock:
            m.attach()
            crawl_all(m)
            sync(NEW)
        result = clock.wall, clock.cpu + cpu_of(m.retriever) - before, 0, peak_rss(m.retriever)
        status = m.status()
        if status['state'] != 'whole' or int(status['files_whole']) != tree.files:
            raise Failure(f'not everything was moved: {status}')
    return result


def measure(args, server, tree):
    ways = {'migrate': lambda: migrate(args, server, tree),
            'smbclient': lambda: copied(tree, smbclient(server)),
            'rclone': lambda: copied(tree, rclone(server))}
    results = {way: Result(tree, way) for way in ways}
    for way in ways.values():
        way()
    for turn in range(args.runs):
        for way in list(ways)[turn % 3:] + list(ways)[:turn % 3]:
            results[way].add(*ways[way]())
    return results


def best_peer(results):
    """In each round the faster of the two."""
    peer = Result(results['migrate'].tree, 'best peer')
    for a, b in zip(results['smbclient'].wall, results['rclone'].wall):
        peer.add(min(a, b), 0)
    return peer


def run(args):
    volume(OLD)
    few = args.quick
    small = Tree('small', 2000 if few else 20000, 40 if few else 400,
                 lambda r: r.randrange(32 * KIB + 1))
    large = Tree('large', 1, 1, lambda r: (128 if few else 1024) * MIB)
    server = smbd.old_smbd(OLD, share=SHARE)
    results = [measure(args, server, tree) for tree in (small, large)]
    rows = [r.row(of['smbclient']) for of in results for r in of.values()]
    table(f'medians of {args.runs}, everything synced; CPU seconds of retriever and crawler without '
          'workers, or of the peer',
          ['', 's', 'files/s', 'MiB/s', 'against smbclient', 'range', 'CPU', '', 'RSS MiB'], rows)
    ours, big = (of['migrate'] for of in results)
    print(f'migrate-smb small_files_per_s={small.files / median(ours.wall):.0f} '
          f'small_vs_best_peer={ours.against(best_peer(results[0])):.2f} '
          f'large_vs_smbclient={big.against(results[1]["smbclient"]):.2f}')
