#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard of a volume and its way back move with it from node to node (test_failover.py)."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import tree                                                             # noqa: E402
from cluster import HUB, Cluster, Volume                                # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import sh, volume, wait_for                                # noqa: E402
from servers import OLD, Ganesha, Migration                             # noqa: E402

THERE = OLD + '/projects'
STAGE = THERE + '/.migrate-rollback'
MANY = 200


class Followed:
    """A volume of two nodes, with a guard, whose old server follows what a client of NFSv3 changes."""

    def __init__(self, args):
        volume(OLD, '4G')
        os.mkdir(THERE)
        tree.make(THERE, 800, args.seed, 1 << 20)
        self.volume = Volume('projects', 100, size=1 << 32, bandwidth='200K', guard='yes',
                             source=f'nfs://{HUB}{THERE}', **{'rollback-source': THERE})
        migration = Migration(args.build, '')
        with open(migration.config, 'w') as out:
            out.write(self.volume.section())
        self.cluster = Cluster(args.build, 2, migration.config)
        Ganesha('old-server', OLD).start()
        self.volume.attach(migration)
        door, _ = self.volume.serve(migration, False)
        self.volume.detach()
        os.makedirs('/etc/ganesha', exist_ok=True)
        sh('cp', door.config, '/etc/ganesha/ganesha.conf')
        with open('/etc/fstab', 'a') as fstab:
            fstab.write(f'{self.volume.device} {self.volume.disk} ext4 noauto 0 0\n')
        text = sh(migration.program('migratectl'), 'cluster', 'config', '--nodes=n1', 'projects')
        text = text.replace('volume=projects ', 'volume=projects rollback=yes ')
        self.cluster.configure(re.sub(r'interval=\d+s', 'interval=1s', self.volume.resources(text)))
        self.done = 0           # rounds of change()

    def node(self):
        return self.cluster.nodes[self.cluster.running('migrate-')['migrate-projects']]

    def starts(self, but=None):
        """It runs on another node than that, and what is not here yet is no hole for programs of that node."""
        wait_for('the volume runs', lambda: self.cluster.running('migrate-').get('migrate-projects', but) != but)
        node = self.node()
        node.sh('ls', self.volume.root)
        node.sh('ls', self.volume.root + '/wide')
        here = f'/proc/{node.first()}/root{self.volume.root}'
        names = [name for name in self.names if 'security.migrate' in os.listxattr(f'{here}/wide/{name}')][:5]
        expect(names, 'some are not here yet')
        for name in names:
            with open(f'{THERE}/wide/{name}', 'rb') as old:
                done = node.run('sha256sum', f'{self.volume.root}/wide/{name}').stdout
                same(done.split()[:1], sh('sha256sum', old.name).split()[:1], f'{name}, read on {node.name}')
        wait_for('it is served', lambda: self.cluster.running('address-').get('address-projects') == node.name)
        return node.name

    @property
    def names(self):
        """Of files that no client changes."""
        return [f'{n:05}' for n in range(100, 160)]

    def change(self):
        """A client makes many files, changes and moves others.  Returns while they are carried back."""
        client = nfs3.Client(self.volume.address, self.volume.root, port=2049, mount_port=20048, timeout=3,
                             patience=120)
        wide = client.walk('wide')[0]
        fresh = client.mkdir(client.root, f'new {self.done}')
        for n in range(MANY):
            client.write(client.create(fresh, f'{n}'), 0, b'%d' % n * 10000, nfs3.FILE_SYNC)
        for n in range(10 * self.done, 10 * self.done + 5):
            client.write(client.walk(f'wide/{n:05}')[0], 7, b'changed', nfs3.FILE_SYNC)
            client.rename(wide, f'{n + 5:05}', client.root, f'moved {n}')
        client.close()
        self.done += 1
        wait_for('it is carried back', lambda: self.is_carried() or os.path.isdir(STAGE))
        expect(not self.is_carried(), 'the way back is under way')

    def is_carried(self):
        try:
            names = os.listdir(f'{THERE}/new {self.done - 1}')
        except FileNotFoundError:
            return False
        return len(names) == MANY and os.path.exists(f'{THERE}/moved {10 * self.done - 6}')

    def goes_on(self):
        wait_for('the way back has gone on', self.is_carried)

    def end(self):
        """Both trees are equal."""
        node = self.node()
        node.sh('systemctl', 'stop', 'migrate-rollback@projects.service')
        node.sh('migratectl', 'throttle', 'projects', '0')
        node.sh('timeout', '100', 'migratectl', 'status', '--watch', 'projects')
        node.sh('migratectl', '--yes', 'rollback', 'projects')
        expect(not os.path.exists(STAGE), 'nothing is left aside')
        status = json.loads(node.sh('migratectl', 'status', '--json', 'projects'))
        same((status['volume']['state'], status['counters']['errors']), ('whole', 0), 'its state, and errors')
        no_differences(tree.compare(THERE, f'/proc/{node.first()}/root{self.volume.root}', slack=1 << 30))


@case()
def a_guarded_volume_with_a_way_back_moves(args):
    """In the middle of the way back its node is killed; and, with --long, it is moved."""
    followed = Followed(args)
    first = followed.starts()
    followed.change()
    followed.cluster.nodes[first].kill()
    expect(not followed.is_carried(), 'it was in the middle')
    second = followed.starts(first)
    followed.goes_on()
    if args.long:
        followed.cluster.revive(first)
        followed.change()
        followed.cluster.alive().sh('crm_standby', '--node', second, '--update', 'on')
        followed.starts(second)
        followed.goes_on()
    followed.end()


if __name__ == '__main__':
    sys.exit(main())
