# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel's NFS client of a volume that moves (served.py), in a guest."""
import json
import os
import socket

import uml
from cluster import HUB, NETWORK
from harness import same
from sandbox import BASE, Failure, sh
from servers import OLD, REPO

ADDRESS = NETWORK + '.50'
RESULTS = BASE + '/results'             # shared with the guest
LOCKED = {'v3': 'f0', 'v4': 'f2'}       # by mounts
READ = 30                               # files that nobody writes to
PATIENCE = 300                          # s: an open may wait through more than one time of grace
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
    """A guest whose programs read and write by NFSv3 and NFSv4.1 (guest/failover.py): by each one that keeps a file
    open, with a lock on it, and one that opens one file after another.  files: what they hold, by their names.
    written: the names of those that they have written to, in the end."""

    def __init__(self, one, files, _chance):
        self.one, self.files = one, files
        self.done, self.connections, self.written, self.longest = 0, 1, set(), {}

    def plan(self):
        names = [name for name in self.files if name not in LOCKED.values()]
        read, *written = names[:READ], names[READ::2], names[READ + 1::2]
        return {'read': read, 'written': {mount: [locked, *more] for (mount, locked), more in zip(
            LOCKED.items(), written)}}

    def start(self):
        os.makedirs(RESULTS)
        with socket.create_server((HUB, 0)) as server:
            self.guest = uml.Guest(
                ['bash', '-c', BEGIN, 'bash', f'{REPO}/tests/integration/guest/failover.py',
                 str(server.getsockname()[1]), self.one.address, self.one.root, f'{OLD}/{self.one.name}', RESULTS,
                 json.dumps(self.plan())],
                shares=[RESULTS, f'{OLD}/{self.one.name}'], memory=512, env={'VM_HOST': HUB})
            sh('ip', 'addr', 'flush', 'dev', self.guest.interface)
            sh('ip', 'link', 'set', self.guest.interface, 'master', 'nodes')
            self.client = self.guest.talk(server, PATIENCE)

    def ask(self, line):
        """What the guest says to a line."""
        self.client.write(line + '\n')
        self.client.flush()
        answer = self.client.readline()
        if not answer:
            raise Failure(f'the client has ended with {self.guest.wait()}')
        return json.loads(answer)

    def goes_on(self, _what):
        for program, seconds in self.ask('go on').items():
            self.longest[program] = max(seconds, self.longest.get(program, 0))

    def waited(self):
        """How long an operation took since this was asked last, by the programs."""
        longest, self.longest = self.longest, {}
        return longest

    def end(self):
        self.done = self.ask('end')
        same(self.guest.wait(), 0, 'how the guest ended')
        self.written = set(os.listdir(RESULTS))
        for name in self.written:
            with open(f'{RESULTS}/{name}', 'rb') as there:
                self.files[name][:] = there.read()
