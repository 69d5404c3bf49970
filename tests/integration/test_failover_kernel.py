#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel's NFS client goes on by itself when its volume moves from node to node (test_failover.py)."""
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nlm4                                                             # noqa: E402
import uml                                                              # noqa: E402
from cluster import HUB, NETWORK                                        # noqa: E402
from harness import case, main, same                                    # noqa: E402
from sandbox import BASE, Failure, sh                                   # noqa: E402
from served import Rival, Served                                        # noqa: E402
from servers import OLD, REPO                                           # noqa: E402

ADDRESS = NETWORK + '.50'
RESULTS = BASE + '/results'             # shared with the guest
READ = 30                               # files that nobody writes to
PATIENCE = 120                          # s
# rpc.statd asks for names, and there is nobody to ask.  /etc/nfs.conf is that of the nodes: it names a directory on
# the volume's disk, and rpc.statd ends where it is not there.
BEGIN = f'''set -e
ip addr flush dev eth0
ip addr add {ADDRESS}/24 dev eth0
: >/etc/resolv.conf; : >/etc/nfs.conf
rpcbind -w
mkdir -p /var/lib/nfs/sm /var/lib/nfs/sm.bak
rpc.statd --no-notify
exec "$@"
'''


class Kernel:
    """A guest whose programs read and write by NFSv3 and NFSv4.1 (guest/failover.py), with a lock each.  files:
    what they hold, by their names.  written: the names of those that they write to."""

    def __init__(self, one, files, _chance):
        self.one, self.files = one, files
        self.written = {'f0', 'f2'}
        self.done, self.connections = 0, 1

    def start(self):
        os.makedirs(RESULTS)
        with socket.create_server((HUB, 0)) as server:
            self.guest = uml.Guest(
                ['bash', '-c', BEGIN, 'bash', f'{REPO}/tests/integration/guest/failover.py',
                 str(server.getsockname()[1]), self.one.address, self.one.root, f'{OLD}/{self.one.name}', RESULTS,
                 *[name for name in self.files if name not in self.written][:READ]],
                shares=[RESULTS, f'{OLD}/{self.one.name}'], memory=512, env={'VM_HOST': HUB})
            sh('ip', 'addr', 'flush', 'dev', self.guest.interface)
            sh('ip', 'link', 'set', self.guest.interface, 'master', 'nodes')
            self.client = self.guest.talk(server, PATIENCE)

    def ask(self, line, wanted):
        self.client.write(line + '\n')
        self.client.flush()
        answer = self.client.readline().strip()
        if answer != wanted:
            raise Failure(f'the client says "{answer}", and ended with {self.guest.wait()}')

    def goes_on(self, _what):
        self.ask('go on', 'on')

    def end(self):
        self.ask('end', 'after')
        same(self.guest.wait(), 0, 'how the guest ended')
        for name in self.written:
            with open(f'{RESULTS}/{name}', 'rb') as there:
                self.files[name][:] = there.read()


@case(guest=True, long=True)
def a_kernel_goes_on(args):
    """By NFSv3 and NFSv4.1, after its node was killed, and when it is moved back: what it was told is durable is
    there, and nobody gets its locks in between."""
    served = Served(args, ['projects'], Kernel, rate='500K', nlm=True, grace=20)
    cluster = served.cluster
    first = served.moved('projects', None, 'it is up')
    rivals = [Rival(served.volumes[0], name) for name in ('f0', 'f2')]

    def holds(what):
        for rival in rivals:
            rival.is_refused(what)

    served.kill_node(first)
    second = served.moved('projects', first, 'it has left a dead node')
    same(cluster.fenced, [first], 'nodes that were fenced')
    holds('the node is dead')
    cluster.revive(first)
    cluster.alive().sh('crm_standby', '--node', second, '--update', 'on')
    served.moved('projects', second, 'it has moved')
    holds('it has moved')
    served.end()
    for rival in rivals:
        same(rival.other(), nlm4.OK, 'another one gets the lock that is given back')


if __name__ == '__main__':
    sys.exit(main())
