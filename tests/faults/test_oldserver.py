#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an old server may do: stand still for a day, be slow, cut connections, come back with other
handles, have no time.  What this side holds stays bounded, what is normal is not slowed, and in the
end everything that was asked for is served as it is there."""
import os
import random
import select
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import smb2                                                             # noqa: E402
import tree                                                             # noqa: E402
from crowd import NO_CACHE, Impatient, Witness                          # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from peer import CONTROL, CONTROLLER, Peer                               # noqa: E402
from proxy import PROCEDURES                                            # noqa: E402
from sandbox import wait_for                                            # noqa: E402
from servers import NEW, OLD, Stalled, stack                            # noqa: E402
from usage import MIB, Usage                                            # noqa: E402

READS = 10              # of a normal file at least, while the old server is as it should not be
FEW = 200               # descriptors
UNSYNCED = 4096 + 256  # durability.c's WAITING_MAX, and what is on its way
DESCRIPTORS, MEMORY = 1024, 64 * MIB    # above what a process has when nothing is asked of it


def content(n):
    return b'%8d' % n * (40 + n % 700)


class World:
    """Files in directories of 500, so many for each second and 60,000 at most, all of them stubs
    here; one normal file; a client."""

    def __init__(self, args, each_second, **settings):
        self.args = args
        args.seconds = args.seconds or (120 if args.long else 6)
        self.count = min(60000, int(args.seconds * each_second))
        settings.setdefault('hold_ms', args.hold)
        self.old, self.migration = stack(args.build, self.fill, **settings)
        self.migration.attach()
        self.migration.start_server(blocks=NO_CACHE)
        client = self.migration.server.client()
        normal = client.create(client.root, b'normal', mode=0o644)
        client.write(normal, 0, b'n' * 1000, nfs3.FILE_SYNC)
        self.files = []
        for directory in sorted(e[0] for e in client.listing(client.root) if e[1] and e[2].type == 2):
            for name, _, _, handle in client.listing(client.walk(directory)[0]):
                self.files.append((handle, content(int(name))))
        random.Random(args.seed).shuffle(self.files)
        same(len(self.files), self.count, 'files')
        self.witness = Witness(self.connect, 'normal')

    def fill(self, root):
        os.chmod(root, 0o777)
        for n in range(self.count):
            if n % 500 == 0:
                os.mkdir(f'{root}/dir{n // 500:04}')
            with open(f'{root}/dir{n // 500:04}/{n}', 'wb') as file:
                file.write(content(n))

    def connect(self):
        return self.migration.server.client()

    def usage(self, crowd):
        return Usage(lambda: crowd.next, retriever=self.migration.retriever.pid,
                     ganesha=self.migration.server.process.pid)

    def finish(self, what, crowd, usage, extra='', slack=256, descriptors=DESCRIPTORS):
        """After the old server is as it should be again.  slack: of descriptors; Ganesha closes what
        it has served once a second."""
        crowd.done.wait()
        served = crowd.all_served()
        self.witness.finish()
        same(self.witness.failures[:3], [], 'what failed of a normal file')
        print(f'faults oldserver case={what} seed={self.args.seed} seconds={self.args.seconds} '
              f'asked={len(crowd.asked)} given_up={crowd.given_up} {usage.figures()} '
              f'{self.witness.figures("fault")} served={served} {extra}'.rstrip())
        expect(len(self.witness.calls['fault']) > READS, 'reads of a normal file waited')
        same(crowd.errors, {}, 'errors that clients got')
        usage.bounded(descriptors, MEMORY, slack)
        self.migration.ctl('retry')
        self.migration.crawl()
        same(self.migration.errors(), {}, 'errors at the end')
        os.unlink(NEW + '/normal')
        no_differences(tree.compare(OLD, NEW, any_mtime=lambda st: st.st_ino == root_inode()))


def cpu(pid):
    """Seconds that a process has run."""
    with open(f'/proc/{pid}/stat') as file:
        return sum(map(int, file.read().rpartition(')')[2].split()[11:13])) / os.sysconf('SC_CLK_TCK')


def root_inode():
    return os.stat(OLD).st_ino


def quiet(world):
    """The witness needs something to compare with."""
    select.select([], [], [], max(1.5, world.args.seconds / 6))
    world.witness.phase('fault')


@case()
def stalled(args):
    """A day: thousands of hold times with time compressed, or with --seconds and --hold as long as
    wanted.  One client has 64 reads under way, gives each up and asks for another."""
    world = World(args, 64000 / args.hold)
    quiet(world)
    crowd = Impatient(world.connect, world.files)
    waiting = []
    with Stalled(world.old), world.usage(crowd) as usage:
        running = crowd.thread(args.seconds)
        while running.is_alive():
            running.join(1)
            waiting.append(int(world.migration.status()['demand_waiting']))
    expect(crowd.given_up > 32, f'only {crowd.given_up} reads were given up')
    world.finish('stalled', crowd, usage, f'waiting_max={max(waiting)}', 64)
    expect(max(waiting) <= 2 * crowd.streams, f'{max(waiting)} requests waited')


@case(short=True)
def few_descriptors(args):
    """The old server stands still, and the retriever has no more descriptors than a tenth of the
    reads that clients give up: other peers are heard, new ones too, and it does not spin."""
    world = World(args, 320)
    migration = world.migration
    migration.retriever.stop()
    migration.start_retriever('prlimit', f'--nofile={FEW}:{FEW}')
    quiet(world)
    crowd = Impatient(world.connect, world.files)
    known, asked = Peer(migration.socket, CONTROLLER), 0
    ran, begun = cpu(migration.retriever.pid), time.monotonic()
    with Stalled(world.old), world.usage(crowd) as usage:
        running = crowd.thread(args.seconds)
        while running.is_alive():
            running.join(0.2)
            for peer in known, Peer(migration.socket, CONTROLLER):
                same(peer.ask(CONTROL, text=b'status')[0], 0, 'status of a command')
                if peer is not known:
                    peer.close()
            asked += 1
    ran = (cpu(migration.retriever.pid) - ran) / (time.monotonic() - begun)
    expect(asked > 1, 'commands waited until the old server was back')
    expect(ran < 0.6, f'the retriever ran {ran:.0%} of the time with an old server that is away')
    world.finish('few_descriptors', crowd, usage, f'commands={2 * asked} cpu={ran:.2f}')


@case()
def slow(args):
    """Each call takes a second."""
    world = World(args, 300, proxied=True)
    quiet(world)
    crowd = Impatient(world.connect, world.files)
    world.old.proxy.delay = 0.5
    with world.usage(crowd) as usage:
        crowd.run(args.seconds)
    world.old.proxy.delay = 0
    expect(crowd.given_up > 32, f'only {crowd.given_up} reads were given up')
    world.finish('slow', crowd, usage)


@case()
def resetting(args):
    """All connections are cut, again and again."""
    # so slow that the crawler is not done before
    world = World(args, 900, proxied=True, bandwidth='200K')
    quiet(world)
    crowd = Impatient(world.connect, world.files)
    crawler = world.migration.start_crawler()
    resets = 0
    with world.usage(crowd) as usage:
        running = crowd.thread(args.seconds)
        while running.is_alive():
            running.join(args.random.uniform(0.02, 0.3))
            world.old.proxy.drop()
            resets += 1
    early = crawler.poll() is None
    world.migration.ctl('throttle', argument='0')
    wait_for('the crawler ends', lambda: crawler.poll() is not None)
    expect(early, 'the crawler was done before the last reset')
    same(crawler.returncode, 0, 'status of the crawler')
    # files that a busy disk has yet to make durable are open
    world.finish('resetting', crowd, usage, f'resets={resets}', descriptors=UNSYNCED)


@case(long=True)
def other_handles(args):
    """It was away for a while, and is back with handles that are all new: everything is found
    again.  A root that is not known is taken for a server that is starting, for a minute."""
    world = World(args, 200)
    quiet(world)
    crowd = Impatient(world.connect, world.files)
    with world.usage(crowd) as usage:
        running = crowd.thread(args.seconds)
        running.join(args.seconds / 3)
        world.old.stop(signal.SIGKILL)
        running.join(args.seconds / 6)
        anew(world.old)
        world.old.start()
        running.join()
    world.finish('other_handles', crowd, usage)


def anew(old):
    """Another export id from the next start on: it is in every handle."""
    with open(old.config) as file:
        text = file.read()
    expect('Export_Id = 77;' in text, 'no export id in the configuration')
    with open(old.config, 'w') as file:
        file.write(text.replace('Export_Id = 77;', 'Export_Id = 78;'))


@case()
def no_time(args):
    """NFS3ERR_JUKEBOX for everything."""
    world = World(args, 300, proxied=True)
    quiet(world)
    crowd = Impatient(world.connect, world.files)
    with world.usage(crowd) as usage:
        running = crowd.thread(args.seconds)
        running.join(args.seconds / 6)
        for procedure in PROCEDURES[1:]:
            world.old.proxy.refuse(procedure, nfs3.JUKEBOX)
        running.join()
    for procedure in PROCEDURES:
        world.old.proxy.refuse(procedure, None)
    expect(crowd.given_up > 32, f'only {crowd.given_up} reads were given up')
    world.finish('no_time', crowd, usage)


@case(long=True)
def stalled_smb(args):
    """The same through smbd, whose door answers each read with a time-out after a second."""
    world = World(args, 64)
    server = world.migration.start_smbd(settings={'migrate:hold': '1'})
    paths = sorted(range(world.count))
    world.args.random.shuffle(paths)
    session = server.session()
    quiet(world)
    failed, end, asked, at = 0, time.monotonic() + args.seconds, [], 0
    pid = server.serving(session)
    with Stalled(world.old), Usage(
            lambda: len(asked), retriever=world.migration.retriever.pid, smbd=pid) as usage:
        while time.monotonic() < end and at < len(paths):
            some, at = paths[at:at + 64], at + 64
            mids = [session.start(smb2.create(f'dir{n // 500:04}\\{n}', access=smb2.READ_DATA))[0]
                    for n in some]
            fids = []
            for n, mid in zip(some, mids):
                reply = session.connection.wait(mid)
                same(reply.status, smb2.SUCCESS, 'status of an open')
                fids.append((n, smb2_fid(reply)))
            reads = [session.start(smb2.read(fid, 0, 100))[0] for _, fid in fids]
            for mid in reads:
                failed += session.connection.wait(mid).status == smb2.IO_TIMEOUT
            for n, fid in fids:
                session.ask(smb2.close(fid))
                asked.append(n)
    expect(failed > 8, f'only {failed} reads were given up')
    for n in asked[:100]:
        reply = session.ask(smb2.create(f'dir{n // 500:04}\\{n}', access=smb2.READ_DATA))
        fid = smb2_fid(reply)
        wait_for('data is there', lambda: session.ask(smb2.read(fid, 0, 8)).status == smb2.SUCCESS)
        same(smb2.output(session.ask(smb2.read(fid, 0, 65536))), content(n), f'file {n}')
        session.ask(smb2.close(fid))
    world.witness.finish()
    print(f'faults oldserver case=stalled_smb seed={args.seed} seconds={args.seconds} '
          f'asked={len(asked)} given_up={failed} {usage.figures()} '
          f'{world.witness.figures("fault")}')
    usage.bounded(DESCRIPTORS, MEMORY, 64)


def smb2_fid(reply):
    return bytes(reply.body[64:80])


def options(parser):
    parser.add_argument('--seconds', type=float, help='how long each fault lasts (6, --long: 120)')
    parser.add_argument('--hold', type=int, default=200, metavar='MS', help='the hold time')


if __name__ == '__main__':
    sys.exit(main(options))
