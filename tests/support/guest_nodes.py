# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster (cluster.py) whose nodes are guests with a kernel of their own, and one disk that all of them
have."""
import json
import os
import socket
import subprocess
import sys
import threading

import uml
from cluster import HERE, NETWORK, Cluster, Node
from sandbox import BASE, sh, wait_for

RUN = 8                                 # the port where a node runs commands
GUEST = r'''
ip addr flush dev eth0; ip addr add $ADDRESS/24 dev eth0
hostname $NAME; export HOSTNAME=$NAME
sysctl -q net.ipv4.ip_nonlocal_bind=1
mkdir -p /run/lock /run/ganesha /run/quickmigrate /run/resource-agents /var/log/pacemaker/bundles /var/lib/corosync
mkdir -p /var/lib/nfs/ganesha /var/lib/pacemaker/{blackbox,cib,cores,pengine}
rm -rf /var/lib/pacemaker/cib/* /var/lib/corosync/*
cp $BASE/cib.xml /var/lib/pacemaker/cib
chown -R hacluster:haclient /var/lib/pacemaker/* /var/log/pacemaker
corosync -f -c $BASE/corosync.conf >$BASE/log/$NAME-corosync.log 2>&1 &
PCMK_logfile=$BASE/log/$NAME-pacemaker.log pacemakerd -f >/dev/null 2>&1 &
exec python3 $0
'''


class GuestNode(Node):
    """process: that of the guest."""

    def __init__(self, name, number, environment):
        self.name, self.address = name, f'{NETWORK}.{number}'
        cpus = sorted(os.sched_getaffinity(0))
        self.guest = uml.Guest(
            ['bash', '-c', GUEST, __file__], disks=[GuestCluster.disk], shared=True, shares=[BASE], memory=700,
            cpu=cpus[number % len(cpus)],
            env={**environment, 'NAME': name, 'ADDRESS': self.address, 'PYTHONPATH': HERE})
        self.process = self.guest.process
        sh('ip', 'addr', 'flush', 'dev', self.guest.interface)
        sh('ip', 'link', 'set', self.guest.interface, 'master', 'nodes')
        self.is_cut, self.process.name = False, name
        wait_for(f'{name} answers', self.answers, process=self.process)

    def cut(self):
        """Its only link to the others."""
        sh('ip', 'link', 'set', self.guest.interface, 'nomaster')
        self.is_cut = True

    def alive(self):
        return super().alive() and not self.is_cut

    def answers(self):
        with socket.socket() as sock:
            sock.settimeout(1)
            return sock.connect_ex((self.address, RUN)) == 0

    def run(self, *argv):
        with socket.create_connection((self.address, RUN), 120) as sock, sock.makefile('rw') as stream:
            stream.write(json.dumps(list(map(str, argv))) + '\n')
            stream.flush()
            return subprocess.CompletedProcess(argv, *json.loads(stream.readline()))

    def kill(self):
        self.guest.kill()
        self.process.wait(60)


class GuestCluster(Cluster):
    """disk: the file that is /dev/ubda of all nodes; set before."""

    node = GuestNode
    disk = None


def serve():
    """In a guest: runs commands for Node.run()."""
    def answer(connection):
        with connection, connection.makefile('rw') as stream:
            line = stream.readline()
            if not line:                # it only looked whether there is somebody
                return
            done = subprocess.run(json.loads(line), stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            stream.write(json.dumps([done.returncode, done.stdout, done.stderr]) + '\n')

    with socket.create_server(('', RUN)) as server:
        while True:
            threading.Thread(target=answer, args=server.accept()[:1]).start()


if __name__ == '__main__':
    sys.exit(serve())
