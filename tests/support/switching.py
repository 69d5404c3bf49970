# SPDX-License-Identifier: GPL-3.0-or-later
"""An address that goes from an old server to the new one and back, under a kernel client that knows
nothing of it; what the client does is in integration/guest/takeover.py."""
import os
import socket
import time

import uml
from harness import same
from sandbox import BASE, Failure, sh, volume
from servers import NEW, OLD, REPO, Migration, old_server

PATIENCE = 300                  # s, for what the client does
GUEST = REPO + '/tests/integration/guest/'
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
    for n in range(5000):
        with open(f'{root}/wide/name-of-file-{n:05d}', 'w'):
            pass
    for n in range(40):
        with open(f'{root}/{BELOW}/more/file{n}', 'wb') as file:
            file.write(os.urandom(1000 * n))


class Switching:
    """The two servers and the client."""

    def __init__(self, args, old, path, switches=1, client='takeover.py', takeover='mounts',
                 kind=uml.Guest, more=(), **settings):
        """kind: of the client's guest; more: of the client's arguments."""
        self.old, self.takeover = old, takeover
        self.steps = {}             # of there(): how long each took, s
        self.journaled = 'rollback_source' in settings
        sh('sysctl', '-qw', 'net.ipv4.ip_forward=1')
        volume(NEW, '1G')
        os.makedirs(ROOT)
        self.migration = Migration(args.build, f'nfs://{old.address}{path}/?version=3', root=ROOT,
                                   takeover=takeover, takeover_file=FILE, **settings)
        self.migration.start_retriever()
        sh('ip', 'route', 'add', SERVICE, 'via', old.address)
        with socket.create_server(('0.0.0.0', 0)) as server:
            self.guest = kind([GUEST + client, str(server.getsockname()[1]), SERVICE, path, BELOW,
                               str(switches), *more], memory=512)
            self.client = self.guest.talk(server, PATIENCE)
        self.hear()

    def hear(self):
        """What the client says next."""
        line = self.client.readline()
        if not line:
            raise Failure(f'the client ended with {self.guest.wait()}')
        return line.strip()

    def fence(self):
        """The client reaches nobody."""
        sh('ip', 'route', 'del', SERVICE)

    def to_new(self):
        server = self.migration.server
        if server.process.poll() is not None:
            server.start()
        self.fence()
        self.take()

    @staticmethod
    def take():
        sh('ip', 'addr', 'add', SERVICE + '/32', 'dev', 'lo')

    def to_old(self):
        """Clients' connections have to end, and those that the old server still knows."""
        self.old.drop_connections()
        self.migration.server.stop()
        sh('ip', 'addr', 'del', SERVICE + '/32', 'dev', 'lo')
        sh('ip', 'route', 'add', SERVICE, 'via', self.old.address)

    def there(self):
        """To a new server that has yet to be begun: what clients write in the last moment is there."""
        migration = self.migration
        migration.server = migration.server or migration.new_server(takeover=FILE)
        if self.journaled:
            migration.start_journal()
        self.fence()
        for name, step in (('attach', migration.attach),
                           ('start', migration.server.start)):
            begun = time.monotonic()
            step()
            self.steps.setdefault(name, []).append(time.monotonic() - begun)
        if self.takeover == 'all':
            self.crawler = migration.start_crawler()
        self.take()

    def back_with_changes(self):
        """And the new server is as it was before there()."""
        migration = self.migration
        migration.server.stop()
        sh('ip', 'addr', 'del', SERVICE + '/32', 'dev', 'lo')
        self.old.stop()                     # which has open what clients wrote to there
        same(migration.rollback()['conflicts'], [], 'conflicts')
        self.old.start()
        sh('ip', 'route', 'add', SERVICE, 'via', self.old.address)
        migration.ctl('takeover', '--accept', '--yes', argument='end')
        migration.ctl('commit', '--yes')             # a journal is of one tree
        if self.takeover == 'all':
            self.crawler.stop()
        migration.retriever.stop()
        migration.journal.stop()
        sh('umount', NEW)
        volume(NEW, '1G')
        os.makedirs(ROOT)
        migration.start_retriever()

    def switch(self, move):
        """The longest time that the reader waited, s."""
        self.hear()
        move()
        self.client.write('go on\n')
        self.client.flush()
        return float(self.hear())

    def end(self):
        self.hear()
        status = self.guest.wait()
        if status:
            raise Failure(f'the client ended with {status}')


def fill_for_programs(root):
    """What programs have open that go on (guest/takeover_all.py)."""
    fill(root)
    for name, size in (('open', 1 << 20), ('mapped', 1 << 16), ('log', 0)):
        with open(f'{root}/dir/{name}', 'wb') as file:
            file.write(os.urandom(size))
    sh('sh', '-c', f'set -e; git init -q {root}/repository; cd {root}/repository; echo first >file; '
       'git add file; git -c user.name=n -c user.email=e commit -qm first')


def old_ganesha(fill=fill, access='RO'):
    """With the new server's Export_Id."""
    volume(OLD, '512M')
    fill(OLD)
    old = old_server(export=f'Access_Type = {access};')
    old.drop_connections = old.restart
    sh(*old.host.prefix, 'ip', 'addr', 'add', SERVICE + '/32', 'dev', 'lo')
    sh(*old.host.prefix, 'ip', 'route', 'add', uml.NETWORK, 'via', old.host.peer)
    return old
