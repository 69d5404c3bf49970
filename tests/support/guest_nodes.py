# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster (cluster.py) whose nodes are guests with a kernel of their own, and one disk that both have, or a
volume group on it that one of them has, or a copy each that DRBD keeps alike."""
import functools
import json
import os
import re
import socket
import subprocess
import sys
import threading

import uml
from cluster import HERE, NETWORK, Cluster, Node
from harness import expect
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
rpcbind -w
cp $BASE/r0.res /etc/drbd.d 2>/dev/null && modprobe drbd
cp $BASE/lvm.conf /etc/lvm 2>/dev/null && modprobe dm-mod
chown -R hacluster:haclient /var/lib/pacemaker/* /var/log/pacemaker
corosync -f -c $BASE/corosync.conf >$BASE/log/$NAME-corosync.log 2>&1 &
PCMK_logfile=$BASE/log/$NAME-pacemaker.log pacemakerd -f >/dev/null 2>&1 &
exec python3 $0
'''
DRBD = f'''resource r0 {{
    device /dev/drbd0;
    disk /dev/ubda;
    meta-disk /dev/ubdb;
    disk {{
        fencing resource-and-stonith;
        c-plan-ahead 0;
        c-min-rate 0;
        resync-rate 200M;
    }}
    handlers {{
        fence-peer "/usr/lib/drbd/crm-fence-peer.sh";
        after-resync-target "/usr/lib/drbd/crm-unfence-peer.sh";
    }}
    on n1 {{ address {NETWORK}.1:7789; }}
    on n2 {{ address {NETWORK}.2:7789; }}
}}
'''
DRBD_RESOURCES = '''primitive drbd ocf:linbit:drbd params drbd_resource=r0 op start timeout=240s \\
    op stop timeout=100s op monitor interval=5s role=Promoted op monitor interval=7s role=Unpromoted
clone drbd-both drbd meta promotable=true notify=true promoted-max=1 clone-max=2
colocation with-drbd inf: volume-{0} drbd-both:Promoted
order after-drbd Mandatory: drbd-both:promote volume-{0}:start
'''
LVM_RESOURCE = '''primitive lvm ocf:heartbeat:LVM-activate params vgname=vg vg_access_mode=system_id \\
    op start timeout=120s op stop timeout=120s op monitor interval=5s timeout=30s
'''
# Nobody runs udev there.
LVM = '''global { system_id_source = "uname" }
devices {
    types = [ "ubd", 16 ]
    use_devicesfile = 0
    obtain_device_list_from_udev = 0
}
activation {
    udev_sync = 0
    udev_rules = 0
    monitoring = 0
}
'''


class GuestNode(Node):
    """process: that of the guest."""

    def __init__(self, disks, name, number, environment):
        self.name, self.address = name, f'{NETWORK}.{number}'
        cpus = sorted(os.sched_getaffinity(0))
        self.guest = uml.Guest(
            ['bash', '-c', GUEST, __file__], disks=disks(name), shared=True, shares=[BASE], memory=700,
            cpu=cpus[number % len(cpus)],
            env={**environment, 'PCMK_ipc_buffer': '1048576',      # each connection has its own, in memory
                 'NAME': name, 'ADDRESS': self.address, 'PYTHONPATH': HERE})
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

    def remove(self):
        self.guest.status = uml.KILLED
        self.guest.wait()


class GuestCluster(Cluster):
    """device: what has the volume there."""

    device = '/dev/ubda'
    lost = ('cut', 'kill')

    def __init__(self, build, volumes, image):
        """image: the file that is the disk."""
        self.image = image
        self.node = functools.partial(GuestNode, self.disks)
        super().__init__(build, 2, volumes)

    def disks(self, _):
        return [self.image]

    def ready(self, name):
        """What is on that node's disk is what was written last."""
        return True

    def refuses(self, name):
        """Looks that a node gets nothing that another one has, where something besides fencing sees to that."""


class LvmCluster(GuestCluster):
    """The image becomes a volume of a group with a system ID."""

    device = '/dev/vg/projects'

    def __init__(self, *args):
        with open(BASE + '/lvm.conf', 'w') as out:
            out.write(LVM)
        super().__init__(*args)

    def disks(self, _):
        file = self.image + '-group'
        with open(file, 'ab') as out:
            out.truncate(os.path.getsize(self.image) + (8 << 20))
        return [file]

    def share(self):
        sh('dd', 'if=' + self.image, f'of={self.image}-group', 'bs=1M', 'seek=1', 'conv=notrunc,sparse')
        self.nodes['n1'].sh('bash', '-ec', 'pvcreate --dataalignment 1m /dev/ubda; vgcreate vg /dev/ubda; '
                            'lvcreate -Wn -Zn -n projects -l 100%FREE vg; vgchange -an vg')

    def configure(self, text):
        """With the group activated before the file system."""
        return super().configure(re.sub(r'(?m)^group (\S+) ', r'group \1 lvm ', text))

    @staticmethod
    def resources(_name):
        return LVM_RESOURCE

    def refuses(self, name):
        done = self.nodes[name].run('vgchange', '-ay', 'vg')
        expect(done.returncode and 'with local system ID ' + name in done.stderr,
               f'{name} activates nothing: {done}')


class DrbdCluster(GuestCluster):
    """The image is that of n1; that of n2 is made by share()."""

    device = '/dev/drbd0'

    def __init__(self, *args):
        with open(BASE + '/r0.res', 'w') as out:
            out.write(DRBD)
        super().__init__(*args)

    def disks(self, name):
        """With one for what DRBD notes."""
        files = [self.image + name * (name != 'n1'), f'{self.image}-notes-{name}']
        for file, size in zip(files, (os.path.getsize(self.image), 8 << 20)):
            with open(file, 'ab') as out:
                out.truncate(size)
        return files

    def share(self):
        """Both have the same, and know it."""
        sh('dd', 'if=' + self.image, f'of={self.image}n2', 'bs=1M', 'conv=notrunc,sparse')
        for node in self.nodes.values():
            node.sh('bash', '-c', 'drbdadm create-md --force r0 </dev/null && drbdadm up r0')
        for node in self.nodes.values():
            wait_for('DRBD has connected', lambda: node.run('drbdadm', 'cstate', 'r0').stdout == 'Connected\n')
        self.nodes['n1'].sh('drbdadm', '--', '--clear-bitmap', 'new-current-uuid', 'r0')

    def ready(self, name):
        return self.nodes[name].run('drbdadm', 'dstate', 'r0').stdout == 'UpToDate/UpToDate\n'

    @staticmethod
    def resources(name):
        return DRBD_RESOURCES.format(name)


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
