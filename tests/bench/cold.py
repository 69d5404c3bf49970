# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `cold`: small files of an old server whose caches are cold and whose disk is slow."""
import os
import random
import socket

import knfsd
import nfs3
import uml
from measure import Clock, Progress, Running, crawl_all, median, peak_rss, sync, table
from sandbox import BASE, Failure, sh, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
EXPORT, PORT = '/export', 7000
DELAY = 5               # ms, of each read
SIZE = 1024             # of a file
PEERS = {'rsync -aHAX': 'rsync -aHAX {0}/ {1}',                 # in the order of names
         'tar | tar': 'tar -C {0} -cf - . | tar -C {1} -xf -',  # of the directory
         'cp -a': 'cp -a {0}/. {1}',                            # of fileids, as the migration
         'fpsync -n 8': 'fpsync -n 8 -f 2000 {0}/ {1}/'}


class SlowServer:
    """The kernel's NFS server in a guest, on a file system in a file of a disk that is slow."""

    def __init__(self, files, large=0):
        """large: bytes of /large, and of each of eight files in /long, beside the trees."""
        self.image = BASE + '/slow.img'
        self.fill(files, large)
        tools = knfsd.fetch()
        self.guest = uml.Guest([f'{HERE}/guest/slowdisk.py', tools, EXPORT, str(DELAY)],
                               disks=[self.image], memory=1024)
        self.address = self.guest.address
        try:
            wait_for('the slow server answers', self.connect)
            wait_for('the kernel answers NFS', lambda: nfs3.alive(self.address, 2049))
        except Failure as failure:
            tail = self.guest.console_tail().decode(errors='replace')
            raise Failure(f'{failure}\n{tail}') from None

    def connect(self):
        try:
            self.socket = socket.create_connection((self.address, PORT), 5)
        except OSError:
            return False
        self.socket.settimeout(None)
        self.lines = self.socket.makefile('rw')
        return True

    def fill(self, files, large):
        """/one has all files in one directory, /many a hundred in each.  Files are made in another
        order than that of their names, as people make them."""
        outer, inner = BASE + '/outer', BASE + '/inner'
        for directory in outer, inner:
            os.makedirs(directory, exist_ok=True)
        with open(self.image, 'wb') as image:
            image.truncate(2 << 30)
        sh('mkfs.ext4', '-q', '-F', self.image)
        sh('mount', '-o', 'loop,noatime', self.image, outer)
        with open(outer + '/disk', 'wb') as image:
            image.truncate(3 << 29)
        sh('mkfs.ext4', '-q', '-F', '-I', '256', '-N', str(3 * files + 1000), outer + '/disk')
        sh('mount', '-o', 'loop,noatime', outer + '/disk', inner)
        names = list(range(files))
        random.Random(1).shuffle(names)
        for tree, width in ('one', files), ('many', 100):
            for n in range(files):
                directory = f'{inner}/{tree}/d{n // width:05}'
                if n % width == 0:
                    os.makedirs(directory)
                with open(f'{directory}/f{names[n]:07}', 'wb') as file:
                    file.write(f'{n:064}'.encode() * (SIZE // 64))
        os.mkdir(inner + '/long')
        for path in ('large', *(f'long/{n}' for n in range(8))):
            with open(f'{inner}/{path}', 'wb') as file:
                for _ in range(large >> 20):
                    file.write(os.urandom(1 << 20))
        sh('umount', inner)
        sh('umount', outer)

    def ask(self, line):
        self.lines.write(line + '\n')
        self.lines.flush()
        answer = self.lines.readline().strip()
        try:
            return float(answer)
        except ValueError:
            raise Failure(f'{line}: {answer}') from None

    def stop(self):
        self.socket.close()
        self.guest.kill()
        self.guest.wait()


def migrate(args, server, tree, files):
    """attach, the crawler to its end, synced: (seconds, reads, peak RSS)."""
    with Running(args.build, f'nfs://{server.address}{EXPORT}/{tree}') as m:
        server.ask('cold')
        before = server.ask('reads')
        with Clock() as clock:
            m.attach()
            with Progress(m):
                crawl_all(m)
            sync(m.root)
        reads, rss = server.ask('reads') - before, peak_rss(m.retriever)
        status = m.status()
        if status['state'] != 'whole' or int(status['files_whole']) != files:
            raise Failure(f'not everything was moved: {status}')
    return clock.wall, reads, rss


def copy(server, tree, command):
    """On the old server itself, from its file system into memory: (seconds, reads)."""
    server.ask('run rm -rf /run/copy /tmp/fpsync; mkdir -p /run/copy; '
               'mountpoint -q /run/copy || mount -t tmpfs tmpfs /run/copy')
    server.ask('cold')
    before = server.ask('reads')
    seconds = server.ask('run ' + command.format(f'{EXPORT}/{tree}', '/run/copy'))
    reads = server.ask('reads') - before
    server.ask('run umount /run/copy')
    return seconds, reads


def run(args):
    files = 2000 if args.quick else 20000
    server = SlowServer(files)
    ours, peers = {}, {}
    for _ in range(args.runs):
        for tree in 'one', 'many':
            ours.setdefault(tree, []).append(migrate(args, server, tree, files))
        for name, command in ({} if args.alone else PEERS).items():
            peers.setdefault(name, []).append(copy(server, 'one', command))
    server.stop()
    seconds = {name: median(r[0] for r in runs) for name, runs in {**ours, **peers}.items()}
    reads = {name: median(r[1] for r in runs) for name, runs in {**ours, **peers}.items()}
    rss = max(r[2] for runs in ours.values() for r in runs)
    heads = {'one': 'migration, one directory', 'many': 'migration, 100 in a directory'}
    table(f'{files} files of {SIZE} bytes, cold, {DELAY} ms for each read of the disk',
          ['', 's', 'files/s', 'reads', 'against rsync'],
          [[heads.get(name, name), f'{seconds[name]:.1f}', f'{files / seconds[name]:.0f}',
            f'{reads[name]:.0f}', '' if args.alone else f'{seconds["rsync -aHAX"] / seconds[name]:.1f}']
           for name in seconds])
    beside = '' if args.alone else (f'reads_ratio={reads["rsync -aHAX"] / reads["one"]:.1f} '
                                    f'vs_rsync={seconds["rsync -aHAX"] / seconds["one"]:.1f} ')
    print(f'cold {beside}one_vs_many={seconds["many"] / seconds["one"]:.2f} rss_mib={rss:.0f}')
