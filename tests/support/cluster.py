# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster: nodes with Corosync and Pacemaker, each in namespaces of its own, on one network with the
run (sandbox.py).  They share the kernel, so a device is a shared disk.  There is no systemd: for the
units of volumes something stands in (systemctl), another agent runs the doors, and fence_test ends nodes.

Volume: one on a shared disk, with the configuration of its doors."""
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
from xml.etree import ElementTree

import smbd
from sandbox import BASE, LOGS, MKFS, Failure, Process, layered, loop_device, sh, wait_for
from servers import Ganesha, plugins_with

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
NETWORK = '10.88.0'
HUB = NETWORK + '.254'                  # the run's own address
FENCE = 7                               # the port where nodes are ended
# The first process of a node reaps orphans.
NODE = r'''
mount --rbind $BASE /mnt; mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p $BASE /run/lock /run/ganesha /run/rpcbind /run/quickmigrate /run/resource-agents
mount --move /mnt $BASE
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /dev/shm
for directory in /var/lib/corosync /var/lib/pacemaker /var/log /var/lib/nfs; do
        mount -t tmpfs -o mode=755 tmpfs $directory
done
mkdir -p /var/lib/nfs/ganesha /var/lib/pacemaker/{blackbox,cib,cores,pengine} /var/log/{crmsh,pacemaker/bundles}
cp $BASE/cib.xml /var/lib/pacemaker/cib
chown -R hacluster:haclient /var/lib/pacemaker/* /var/log/pacemaker
hostname "$1"
sysctl -q net.ipv4.ip_nonlocal_bind=1
ip link set lo up
read <>$BASE/power-$1
rpcbind -w
corosync -f -c $BASE/corosync.conf >$BASE/log/$1-corosync.log 2>&1 &
PCMK_logfile=/var/log/pacemaker/log pacemakerd -f &
tail -F /var/log/pacemaker/log 2>/dev/null | grep --line-buffered -v 'info: ' >$BASE/log/$1-pacemaker.log &
read <>$BASE/power-$1
'''
COROSYNC = '''totem {{
    version: 2
    cluster_name: test
    transport: udpu
    token: 2000
    secauth: off
}}
logging {{
    to_stderr: yes
    to_syslog: no
}}
quorum {{
    provider: corosync_votequorum
    two_node: {two}
}}
nodelist {{
    {nodes}
}}
'''
# A new cluster waits no 20 seconds for more nodes.
CIB = '''<cib validate-with="pacemaker-3.0" epoch="1" num_updates="0" admin_epoch="0"><configuration>
<crm_config><cluster_property_set id="options"><nvpair id="dead" name="dc-deadtime" value="2s"/>
</cluster_property_set></crm_config><nodes/><resources/><constraints/></configuration><status/></cib>
'''
# What runs a door: with systemd it is a unit, and has the same time to end by itself (TimeoutStopSec in the guide).
DOOR = ('ocf:heartbeat:anything params binfile=/usr/{program} pidfile=/run/{name}.pid stop_timeout=5 '
        'logfile={logs}/{name}.log errlogfile={logs}/{name}.log cmdline_options="{options}"')
FENCING = 'primitive fencing stonith:fence_test params pcmk_host_check=none\n'


class Node:
    """It is switched on.  process: that of unshare, which ends with the node."""

    def __init__(self, name, number, environment):
        self.name, self.address = name, f'{NETWORK}.{number}'
        self.environment = [f'{key}={value}' for key, value in environment.items()]
        with contextlib.suppress(FileExistsError):
            os.mkfifo(f'{BASE}/power-{name}')
        self.process = Process(name, [
            'unshare', '--mount', '--pid', '--net', '--uts', '--ipc', '--fork', '--kill-child',
            '--propagation', 'private', 'env', '-i', *self.environment, 'bash', '-ec', NODE, 'bash', name])
        wait_for(f'{name} begins', self.first, process=self.process)
        self.prefix = ['nsenter', '-t', self.first(), '--mount', '--pid', '--net', '--uts', '--ipc', '--root',
                       '--wd', '--', 'env', '-i', *self.environment]
        net = ['nsenter', '-t', self.first(), '--net']
        sh('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', self.first())
        sh('ip', 'link', 'set', name, 'master', 'nodes', 'up')
        sh(*net, 'ip', 'addr', 'add', self.address + '/24', 'dev', 'eth0')
        sh(*net, 'ip', 'link', 'set', 'eth0', 'up')
        with open(f'{BASE}/power-{name}', 'w') as power:
            power.write('on\n')

    def alive(self):
        return self.process.poll() is None

    def first(self):
        with open(f'/proc/{self.process.pid}/task/{self.process.pid}/children') as children:
            return children.read().strip()

    def run(self, *argv, **kw):
        """A command there: what subprocess.run() returns, with text."""
        return subprocess.run([*self.prefix, *map(str, argv)], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **kw)

    def sh(self, *argv):
        """One that must succeed: its output."""
        done = self.run(*argv)
        if done.returncode:
            raise Failure(f'{self.name}: {argv}: exit {done.returncode}\n{done.stdout}{done.stderr}')
        return done.stdout

    def kill(self):
        """Its power is cut."""
        with contextlib.suppress(ProcessLookupError, FileNotFoundError, ValueError):    # it is off already
            os.kill(int(self.first()), signal.SIGKILL)
        self.process.wait(60)

    def remove(self):
        """What is left when it has ended."""
        wait_for('its interface is gone', lambda: subprocess.run(
            ['ip', 'link', 'show', self.name], capture_output=True).returncode)


class Cluster:
    """Nodes n1, n2, ..., with the agent, the programs of a build, and the file `volumes` as their
    configuration.  All are online.  fenced: the names of nodes that were ended by others.  lost: the methods by
    which a node can be lost."""

    node = Node
    lost = ('kill',)

    def __init__(self, build, count, volumes):
        layered('/etc', '/usr/lib/ocf', '/usr/sbin', '/var/lib')
        smbd.users()
        os.makedirs('/etc/quickmigrate', exist_ok=True)
        shutil.copy(volumes, '/etc/quickmigrate/quickmigrate.conf')
        shutil.copytree(REPO + '/packaging/ocf', '/usr/lib/ocf/resource.d/quickmigrate')
        shutil.copy(f'{HERE}/fence_test', '/usr/sbin/fence_test')
        self.fenced = []
        os.mkdir(BASE + '/bin')
        os.symlink(f'{HERE}/systemctl', BASE + '/bin/systemctl')
        os.symlink(f'{build}/ctl/migratectl', BASE + '/bin/migratectl')
        names = [f'n{n + 1}' for n in range(count)]
        with open(BASE + '/corosync.conf', 'w') as out:
            out.write(COROSYNC.format(two=int(count == 2), nodes='\n    '.join(
                f'node {{\n\tring0_addr: {NETWORK}.{n + 1}\n\tnodeid: {n + 1}\n\tname: {name}\n    }}'
                for n, name in enumerate(names))))
        with open(BASE + '/cib.xml', 'w') as out:
            out.write(CIB)
        sh('ip', 'link', 'add', 'nodes', 'type', 'bridge')
        sh('ip', 'addr', 'add', HUB + '/24', 'dev', 'nodes')
        sh('ip', 'link', 'set', 'nodes', 'up')
        # what configurations of many volumes need, as migratectl cluster config says
        self.environment = {'BASE': BASE, 'QUICKMIGRATE_BUILD': build, 'LC_ALL': 'C.UTF-8', 'HOME': '/root',
                            'PCMK_ipc_buffer': '8388608',
                            'PATH': BASE + '/bin:/usr/sbin:/usr/bin:/sbin:/bin'}
        server = socket.create_server((HUB, FENCE))
        threading.Thread(target=self.fence, args=(server,), daemon=True).start()
        self.nodes = {name: self.node(name, n + 1, self.environment) for n, name in enumerate(names)}
        self.wait_for_all()

    def fence(self, server):
        """Ends the nodes that fence_test names."""
        while True:
            connection, _ = server.accept()
            with connection, connection.makefile('rw') as stream:
                name = stream.readline().strip()
                self.nodes[name].kill()
                self.fenced.append(name)
                stream.write('off\n')

    def wait_for_all(self):
        wait_for('all nodes are online', lambda: self.online() == set(self.nodes))

    def revive(self, name):
        """A node that was killed, and whose end is known, comes back."""
        self.nodes[name].remove()
        self.nodes[name] = self.node(name, int(name[1:]), self.environment)
        self.wait_for_all()

    def alive(self):
        """One of the nodes that run, and can be reached."""
        return next(node for node in self.nodes.values() if node.alive())

    def online(self):
        """Those that have the configuration, too, and so could take over."""
        done = self.alive().run('crm_mon', '--one-shot', '--output-as=xml', '--include=none,nodes')
        found = ElementTree.fromstring(done.stdout).iterfind('nodes/node') if done.returncode == 0 else ()
        return {node.get('name') for node in found
                if node.get('online') == 'true' and node.get('pending') == 'false'}

    def share(self):
        """What is on the disk is there on all nodes; before they are configured."""

    @staticmethod
    def resources(_name):
        """What a volume of that name needs here, beside its group."""
        return ''

    def configure(self, text):
        """With fencing.  text: for crm to load."""
        with open(BASE + '/configuration.crm', 'w') as out:
            out.write(FENCING + text)
        return self.alive().sh('crm', '-F', 'configure', 'load', 'update', BASE + '/configuration.crm')

    def running(self, kind):
        """The names of nodes by the resources that begin so and have started."""
        done = self.alive().run('crm_mon', '--one-shot', '--output-as=xml', '--include=none,resources')
        found = ElementTree.fromstring(done.stdout).iter('resource') if done.returncode == 0 else ()
        return {resource.get('id'): resource.find('node').get('name') for resource in found
                if resource.get('id').startswith(kind) and resource.get('role') == 'Started' and
                resource.find('node') is not None}

    def place(self, resource):
        """The name of the node on which it runs, or None."""
        done = self.alive().run('crm_resource', '--resource', resource, '--locate')
        words = done.stdout.split()
        return words[-1] if 'on:' in words else None


def shared_disk(size, mkfs=(), nodes=1, image=None):
    """(device, a descriptor that keeps it), and as many times as the kernel is to take it for another
    node's.  image: a file of it."""
    kind = os.O_CREAT if image else os.O_TMPFILE
    fd = os.open(image or '/var/tmp', kind | os.O_RDWR | os.O_CLOEXEC, 0o600)
    os.truncate(fd, size)
    devices = [loop_device(fd) for _ in range(nodes)]
    os.close(fd)
    sh(*MKFS['ext4'], *mkfs, devices[0][0])
    return devices[0] if nodes == 1 else devices


class Volume:
    """It has a disk and an address of its own.  settings: of its configuration."""

    def __init__(self, name, number, size=1 << 30, image=None, **settings):
        """image: the file that is its disk, and that nodes have as a disk of theirs."""
        self.name, self.address = name, f'{NETWORK}.{number}'
        self.disk = f'{BASE}/disks/{name}'
        self.root = self.disk + '/tree'
        self.device, self.keeper = shared_disk(size, image=image)
        os.makedirs(self.disk)
        self.doors = {}
        self.settings = {'root': self.root, 'report': self.disk + '/report', 'journal': self.disk + '/journal',
                         'guard': 'no', **settings}

    def section(self):
        """Of quickmigrate.conf."""
        return f'[volume {self.name}]\n' + ''.join(f'{key} = {value}\n' for key, value in self.settings.items())

    def attach(self, migration):
        """As an administrator does it on one node before the cluster has the volume."""
        options = ['--config', migration.config]
        sh('mount', self.device, self.disk)
        os.mkdir(self.root)
        retriever = Process('retriever', [migration.program('migrate-retriever'), *options, self.name])
        sh(migration.program('migratectl'), *options, 'attach', self.name)
        retriever.stop()

    def serve(self, migration, alone, **ganesha):
        """The configuration of its doors, and their state on its disk, which is mounted.  alone: they leave
        room for those of another volume on the same node."""
        bound = {'core': f'Bind_Addr = {self.address};'} if alone else {}
        nfs = Ganesha(f'nfs-{self.name}', self.root, recovery=self.disk + '/nfs', scope=self.name,
                      fsal=f'Name = MIGRATE; Volume = "{self.name}"; FSAL {{ Name = VFS; }}',
                      plugins=plugins_with(migration.module('libfsalmigrate.so')), **bound, **ganesha)
        os.mkdir(nfs.recovery)
        self.doors['systemd:nfs-ganesha'] = DOOR.format(
            name=f'nfs-{self.name}', program='bin/ganesha.nfsd', logs=LOGS,
            options=f'-F -f {nfs.config} -L {LOGS}/ganesha-{self.name}.log -p /run/ganesha/{self.name}.pid')
        share = {'vfs objects': smbd.STACK, 'migrate:volume': self.name}
        state, run = self.disk + '/samba', f'/run/smb-{self.name}'
        os.makedirs(state + '/private')
        bound = {'interfaces': self.address + '/24', 'bind interfaces only': 'yes'} if alone else {}
        smb = smbd.Smbd(f'smb-{self.name}', {smbd.SHARE: (self.root, share)}, **bound, **{
            'passdb backend': 'tdbsam', 'private dir': state + '/private', 'state directory': state,
            'lock directory': run, 'pid directory': run, 'cache directory': run,
            'ncalrpc dir': run + '-rpc'})
        sh('pdbedit', '-s', smb.config, '-i', f'smbpasswd:{smb.state}/smbpasswd')
        self.doors['systemd:smbd'] = DOOR.format(
            name=f'smb-{self.name}', program='sbin/smbd', logs=LOGS,
            options=f'-F --no-process-group --debug-stdout -s {smb.config}')
        return nfs, smb

    def detach(self):
        sh('umount', self.disk)

    def resources(self, text):
        """What migratectl cluster config has printed, with the address and other doors."""
        for unit, door in self.doors.items():
            text = re.sub(rf'(primitive \w+-{self.name} ){unit}(@{self.name})?(?= )', rf'\1{door}', text)
        return re.sub(rf'\bADDRESS-{self.name}\b', self.address, text)
