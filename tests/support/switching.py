# SPDX-License-Identifier: GPL-3.0-or-later
"""An address that goes from an old server to the new one and back, under a kernel client that knows
nothing of it; what the client does is in integration/guest/takeover.py."""
import os

import uml
from sandbox import BASE, Failure, sh, volume, wait_for
from servers import NEW, OLD, REPO, Migration, old_server

CLIENT = REPO + '/tests/integration/guest/takeover.py'
SERVICE = '10.79.0.1'                       # the address that clients know
FILE = BASE + '/projects.takeover'
BELOW = 'projects/deep'
ROOT = NEW + '/volume'                      # has another number than the top of a file system


def fill(root):
    os.makedirs(f'{root}/{BELOW}/more')
    os.makedirs(root + '/dir')
    os.makedirs(root + '/wide')
    with open(root + '/dir/loop', 'w') as file:
        file.write('loop')
    for n in range(2000):
        with open(f'{root}/wide/name-of-file-{n:05d}', 'w'):
            pass
    for n in range(40):
        with open(f'{root}/{BELOW}/more/file{n}', 'wb') as file:
            file.write(os.urandom(1000 * n))


class Switching:
    """The two servers and the client."""

    def __init__(self, args, old, path, switches=1, **settings):
        self.old, self.n = old, 0
        sh('sysctl', '-qw', 'net.ipv4.ip_forward=1')
        volume(NEW, '1G')
        os.makedirs(ROOT)
        self.migration = Migration(args.build, f'nfs://{old.address}{path}/', root=ROOT,
                                   takeover='mounts', takeover_file=FILE, **settings)
        self.migration.start_retriever()
        sh('ip', 'route', 'add', SERVICE, 'via', old.address)
        self.share = BASE + '/share'
        os.makedirs(self.share)
        self.guest = uml.Guest([CLIENT, self.share, SERVICE, path, BELOW,
                                str(switches)], shares=[self.share], memory=512)
        self.wait('before')

    def wait(self, name):
        def is_there():
            if self.guest.process.poll() is not None and not os.path.exists(f'{self.share}/{name}'):
                raise Failure(f'the client ended with {self.guest.wait()} before "{name}"')
            return os.path.exists(f'{self.share}/{name}')
        wait_for(f'the client is at "{name}"', is_there)
        with open(f'{self.share}/{name}') as file:
            return file.read()

    def to_new(self):
        server = self.migration.server
        if server.process.poll() is not None:
            server.start()
        sh('ip', 'route', 'del', SERVICE)
        sh('ip', 'addr', 'add', SERVICE + '/32', 'dev', 'lo')

    def to_old(self):
        """Clients' connections have to end, and those that the old server still knows."""
        self.old.drop_connections()
        self.migration.server.stop()
        sh('ip', 'addr', 'del', SERVICE + '/32', 'dev', 'lo')
        sh('ip', 'route', 'add', SERVICE, 'via', self.old.address)

    def switch(self, move):
        """The longest time that the reader waited, s."""
        self.wait(f'ready{self.n}')
        move()
        open(f'{self.share}/switched{self.n}', 'w').close()
        done = self.wait(f'done{self.n}')
        self.n += 1
        return float(done.split()[0])

    def end(self):
        self.wait('after')
        status = self.guest.wait()
        if status:
            raise Failure(f'the client ended with {status}')


def old_ganesha():
    """With the new server's Export_Id."""
    volume(OLD, '512M')
    fill(OLD)
    old = old_server(export='Access_Type = RO;')
    old.drop_connections = old.restart
    sh(*old.host.prefix, 'ip', 'addr', 'add', SERVICE + '/32', 'dev', 'lo')
    sh(*old.host.prefix, 'ip', 'route', 'add', uml.NETWORK, 'via', old.host.peer)
    return old
