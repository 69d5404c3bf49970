#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Volumes that move between the nodes of a real cluster (Pacemaker, Corosync, fencing) with the
resources that migratectl cluster config prints, with the old server's bytes on their way and clients
that write."""
import os
import re
import socket
import subprocess
import sys
import time
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nlm4                                                             # noqa: E402
from cluster import NETWORK, Cluster, shared_disk                       # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, Process, layered, sh, volume, wait_for        # noqa: E402
from served import Rival, Served                                        # noqa: E402
from servers import OLD, REPO, VOLUME, Migration                        # noqa: E402
from writers import Nfs3Writer, Nfs4Writer                              # noqa: E402


class Locker(Rival):
    """A client of NFSv3 that holds a lock, and another one that would like to have it."""

    def __init__(self, one, name):
        super().__init__(one, name)
        self.notices = nlm4.Notices()
        # Ganesha believes it in its first time of grace, too
        wait_for('it has its lock', lambda: any(
            self.call('holder', 'lock', 1, True, 0, 100, reclaim=reclaim) == nlm4.OK for reclaim in (True, False)))
        self.state = None

    def reclaims(self, what):
        """It is told, by the address that has moved, and has its lock again before another one gets it."""
        sender, _, state = self.notices.told.get(timeout=120)
        same(sender, self.one.address, f'{what}: who tells it')
        expect(state != self.state, 'the server has another state than before')
        self.state = state
        same(self.other(), nlm4.IN_GRACE, f'{what}: what another one is told')
        same(self.call('holder', 'lock', 1, True, 0, 100, reclaim=True), nlm4.OK, f'{what}: the lock again')

    def keeps(self, what):
        """It is not told, as Ganesha has its lock."""
        expect(self.notices.told.empty(), f'{what}: it is not told')
        expect(self.other() in (nlm4.IN_GRACE, nlm4.DENIED), f'{what}: it has its lock')

    def end(self):
        """When grace is over the other one gets the lock as soon as it is free."""
        self.keeps('in the end')
        self.is_refused('in the end')
        same(self.call('holder', 'unlock', 1, 0, 100), nlm4.OK, 'the lock is given back')
        same(self.other(), nlm4.OK, 'another one has it')


class Idle:
    """A connection to a node on which nothing is sent: TCP alone would keep it for ever, whatever becomes of the
    server."""

    def __init__(self, one, node):
        self.socket = socket.create_connection((one.address, 2049))
        mine = f'{one.address}:2049 {":".join(map(str, self.socket.getsockname()[:2]))}'
        wait_for('it is listed', lambda: mine in node.run('cat', one.disk + '/connections').stdout.splitlines())

    def ends(self, what):
        self.socket.settimeout(120)
        try:
            got = self.socket.recv(1)
        except ConnectionResetError:
            got = 'reset'
        same(got, 'reset', f'{what}: a connection to where the address was')


def compare_nodes(cluster, name):
    """migratectl cluster check on one node, and what another one says to that."""
    first, second = cluster.nodes.values()
    checked = first.run('migratectl', 'cluster', 'check', name).stdout
    for line in ('fencing: enabled', f'state samba: {BASE}/disks/{name}/samba/private', 'samba passdb: tdbsam',
                 f'state ganesha: {BASE}/disks/{name}/nfs', f'scope ganesha: {name}', 'locks of others: none'):
        expect(f'\n{line}\n' in checked, f'"{line}" is among {checked}')
    with open(BASE + '/n1.txt', 'w') as out:
        out.write(checked)
    same(second.run('migratectl', 'cluster', 'check', f'--compare={out.name}', name).stdout, '',
         'what differs between the nodes')


@case(short=True)
def clients_write_while_their_volume_moves(args):
    """It is moved, each of its servers is killed, then the node; at last every byte is right.  Locks of NFSv3 are
    reclaimed by who had them."""
    served = Served(args, ['projects'], lambda one, *rest: Nfs3Writer(one.root, one.address, *rest), nlm=True,
                    grace=20)
    cluster = served.cluster
    first = served.moved('projects', None, 'it is up')
    compare_nodes(cluster, 'projects')
    locker = Locker(served.volumes[0], 'f0')

    idle = Idle(served.volumes[0], cluster.nodes[first])
    cluster.alive().sh('crm_standby', '--node', first, '--update', 'on')
    second = served.moved('projects', first, 'it has moved')
    locker.reclaims('it has moved')
    idle.ends('it has moved')
    cluster.alive().sh('crm_standby', '--node', first, '--delete')
    for program, reclaims in ('retriever', True), ('nfs', True), ('smb', False), ('statd', False):
        served.kill('projects', program)
        (locker.reclaims if reclaims else locker.keeps)(f'{program} is killed')

    served.kill_node(second)
    served.moved('projects', second, 'it has left a dead node')
    locker.reclaims('the node is dead')
    same(cluster.fenced, [second], 'nodes that were fenced')
    served.end()
    locker.end()


@case(long=True)
def many_failovers_lose_nothing(args):
    """In each way, again and again, while clients write: how long they have to wait, and whether every byte is
    there in the end."""
    served = Served(args, ['projects'], lambda one, *rest: Nfs4Writer(one.address, *rest), rate='256K', files=3000,
                    grace=20)
    served.moved('projects', None, 'it is up')
    served.fail_over('projects', args.failovers)
    served.end()


@case()
def two_volumes_have_doors_of_their_own(args):
    """They are served by one node, each by a Ganesha and an smbd: one comes and goes, and clients of the
    other have not noticed it.  Opens and locks of NFSv4 are reclaimed."""
    served = Served(args, ['one', 'two'], lambda one, *rest: Nfs4Writer(one.address, *rest), protocols='4',
                    grace=20)
    cluster = served.cluster
    for name in 'one', 'two':
        same(served.moved(name, 'n2', 'it is up'), 'n1', 'where it is')

    def move(where, what):
        before = [writer.connections for writer in served.writers['one']]
        what()
        same(served.moved('two', 'n2' if where == 'n1' else 'n1', f'it is on {where}'), where, 'where it is')
        served.go_on('one', f'the other has moved to {where}')
        same([writer.connections for writer in served.writers['one']], before, 'connections to the one that stays')
        return served.writers['two'][0].reclaimed

    same(move('n2', lambda: cluster.alive().sh('crm_resource', '--resource', 'volume-two', '--move', '--node',
                                               'n2')), 1, 'times that an NFSv4 client had to reclaim')
    cluster.alive().sh('crm_resource', '--resource', 'volume-two', '--clear')
    same(move('n1', lambda: served.kill_node('n2')), 2, 'times that an NFSv4 client had to reclaim')
    served.end()


@case(long=True)
def a_second_node_is_refused(args):
    """By the file system, where it can; and a second retriever by the first one's lock."""
    (first, _), (second, _) = shared_disk(1 << 28, ['-O', 'mmp'], nodes=2)
    volume(OLD, '1G')
    disk = BASE + '/disk'
    os.mkdir(disk)
    sh('mount', first, disk)
    migration = Migration(args.build, 'file://' + OLD, root=disk + '/tree', guard='no')
    migration.start_retriever()
    migration.attach()
    checked = subprocess.run([migration.program('migratectl'), '--config', migration.config, 'cluster', 'check',
                              VOLUME], stdout=subprocess.PIPE, text=True).stdout
    expect('\nsecond mount: refused (mmp)\n' in checked, f'it is known: {checked}')

    migration.configure(source='file://' + OLD, guard='no', socket=BASE + '/another.sock')
    another = subprocess.run([migration.program('migrate-retriever'), '--config', migration.config, VOLUME],
                             stderr=subprocess.PIPE, text=True, timeout=60)
    expect(another.returncode and 'retriever' in another.stderr, f'another one says why: {another.stderr}')
    elsewhere = subprocess.run(['unshare', '--uts', 'sh', '-c', f'hostname n2; mount {second} /mnt'],
                               stderr=subprocess.PIPE, text=True, timeout=120)
    expect(elsewhere.returncode, 'another node cannot mount it')


@case()
def one_volume_of_a_node_has_locks(args):
    """What is said where two would have them by NFSv3."""
    layered('/etc')
    os.makedirs('/etc/ganesha', exist_ok=True)
    with open(BASE + '/conf', 'w') as out:
        out.writelines(f'[volume {name}]\nroot = {BASE}/{name}\nsource = file://{OLD}\n' for name in ('one', 'two'))

    def cluster(*words):
        done = subprocess.run([f'{args.build}/ctl/migratectl', f'--config={BASE}/conf', 'cluster', *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stdout, done.stderr

    def serve(name, protocols):
        with open(f'/etc/ganesha/{name}.conf', 'w') as out:
            out.write(f'NFS_CORE_PARAM {{ Protocols = {protocols}; }}\n')

    for name in 'one', 'two':
        serve(name, '3, 4')
    status, text, said = cluster('config', 'one', 'two')
    same((status, said.startswith('migratectl: one two: NFSv3')), (0, True), f'config: {said}')
    expect('quickmigrate:locks' not in text, 'neither gets the resources')
    status, text, said = cluster('check', 'one')
    expect(status == 1 and '\nlocks of others: two\n' in text and 'one: locks of others: ' in said, f'check: {said}')
    serve('two', '4')
    status, text, said = cluster('config', 'one')
    same((status, said, 'quickmigrate:locks' in text), (0, '', True), 'config of the one')
    expect('\nlocks of others: none\n' in cluster('check', 'one')[1], 'it is alone')


def many_volumes(args, count):
    """(their names, their devices), each attached to a small tree of its own."""
    names, devices = [f'v{n}' for n in range(count)], []
    migration = Migration(args.build, 'file://' + OLD)
    with open(migration.config, 'w') as out:
        for name in names:
            out.write(f'[volume {name}]\nroot = {BASE}/disks/{name}/tree\nsource = file://{OLD}/{name}\n'
                      f'report = {BASE}/disks/{name}/report\njournal = {BASE}/disks/{name}/journal\n')
    for n, name in enumerate(names):
        disk = f'{BASE}/disks/{name}'
        os.makedirs(f'{OLD}/{name}/directory')
        os.makedirs(disk)
        devices.append(shared_disk(1 << 26))
        with open(f'{OLD}/{name}/directory/file', 'w') as out:
            out.write(name)
        sh('mount', devices[n][0], disk)
        os.mkdir(disk + '/tree')
        settings = ['--config', migration.config]
        retriever = Process('retriever', [migration.program('migrate-retriever'), *settings, name])
        sh(migration.program('migratectl'), *settings, 'attach', name)
        retriever.stop()
        sh('umount', disk)
    return migration, names, devices


@case(long=True)
def many_volumes_survive_a_node(args):
    """How long it takes until all are up, and until those of a dead node are."""
    volume(OLD, '4G')
    migration, names, devices = many_volumes(args, args.volumes)
    cluster = Cluster(args.build, 3, migration.config)
    with open('/etc/fstab', 'a') as fstab:
        fstab.writelines(f'{device} {BASE}/disks/{name} ext4 noauto 0 0\n'
                         for name, (device, _) in zip(names, devices))
    text = sh(migration.program('migratectl'), 'cluster', 'config', '--nodes=n1,n2,n3', *names)
    for n, name in enumerate(names):
        text = re.sub(rf'\bADDRESS-{name}\b', f'{NETWORK}.{n + 10}', text)
    text = re.sub(r'primitive nfs-.*\n| nfs-\w+', '', text)
    begin = time.monotonic()
    cluster.configure(text)
    wait_for('all are up', lambda: len(cluster.running('address-')) == len(names), 3600)
    print(f'{len(names)} volumes are up after {time.monotonic() - begin:.0f} s', flush=True)
    lost = [name for name, node in cluster.running('address-').items() if node == 'n2']
    expect(len(names) // 4 < len(lost) < len(names) // 2, f'{len(lost)} are on that node')
    begin = time.monotonic()
    cluster.nodes['n2'].kill()
    wait_for('all are up again', lambda: len({k: v for k, v in cluster.running('address-').items() if v != 'n2'})
             == len(names), 3600)
    print(f'{len(lost)} volumes of a dead node are up after {time.monotonic() - begin:.0f} s', flush=True)
    for group, node in cluster.running('migrate-').items():
        name = group.removeprefix('migrate-')
        file = f'{BASE}/disks/{name}/tree/directory/file'
        wait_for(f'{name} is whole', lambda: cluster.nodes[node].sh('cat', file) == name)


NAMES = ['projects', '2024', 'a.b_c-d']


ONE = ['projects']              # whose clients of NFSv3 reclaim their locks


def strange_volumes(args):
    """What migratectl prints of some, as a function of their names and its options."""
    with open(BASE + '/conf', 'w') as out:
        for name in NAMES:
            out.write(f'[volume {name}]\nroot = {BASE}/{name} \'"$x\nsource = nfs://old{OLD}\n')
    return lambda names, *options: sh(
        f'{args.build}/ctl/migratectl', f'--config={BASE}/conf', 'cluster', 'config', *names, '--doors=nfs,smb', *options)


def check_configuration(cib, names):
    """As a cluster would: nothing but its fencing is amiss, and each volume is as it was printed."""
    sh('crm_verify', '--xml-file', cib)
    groups = ElementTree.parse(cib).getroot().iter('group')
    found = {group.get('id'): {(primitive.get('id'), nvpair.get('name')): nvpair.get('value')
                               for primitive in group.iter('primitive') for nvpair in primitive.iter('nvpair')}
             for group in groups}
    same(set(found), {f'volume-{name}' for name in names}, 'groups')
    for group in ElementTree.parse(cib).getroot().iter('group'):
        name = group.get('id').removeprefix('volume-')
        kinds = ['fs', 'migrate', 'nfs', 'smb', *['locks'] * (names == ONE), 'address', *['notify'] * (names == ONE)]
        same([primitive.get('id') for primitive in group.iter('primitive')], [f'{kind}-{name}' for kind in kinds],
             'a group')
    for name in names:
        values = found[f'volume-{name}']
        same(values[f'fs-{name}', 'directory'], f'{BASE}/{name} \'"$x', 'a directory')
        same(values[f'migrate-{name}', 'volume'], name, 'a volume')
        same(values[f'address-{name}', 'ip'], f'ADDRESS-{name}', 'an address')


def begin_configuration():
    """A file with that of a new cluster, without fencing; and the agents, which its readers look for."""
    if not os.path.isdir('/usr/lib/ocf/resource.d/quickmigrate'):
        layered('/usr/lib/ocf', '/var/log')
        sh('cp', '-r', REPO + '/packaging/ocf', '/usr/lib/ocf/resource.d/quickmigrate')
    with open(BASE + '/cib.xml', 'w') as out:
        out.write(sh('cibadmin', '--empty').replace(
            '<crm_config/>', '<crm_config><cluster_property_set id="options"><nvpair id="no" '
            'name="stonith-enabled" value="false"/></cluster_property_set></crm_config>'))
    return out.name


@case()
def crm_takes_what_is_printed(args):
    config, text = strange_volumes(args), BASE + '/text'
    for names in NAMES, ONE:
        cib = begin_configuration()
        with open(text, 'w') as out:
            out.write(config(names, '--for=crm', '--nodes=n1,n2'))
        sh('crm', '--force', 'configure', 'load', 'update', text, env={**os.environ, 'CIB_file': cib})
        check_configuration(cib, names)


@case(long=True)
def pcs_takes_what_is_printed(args):
    config = strange_volumes(args)
    for names in NAMES, ONE:
        cib = begin_configuration()
        # units are the administrator's, and no systemd is here that knows them
        text = config(names, '--for=pcs', '--nodes=n1,n2').replace('systemd:', '--force systemd:')
        sh('sh', '-ec', re.sub('(?m)^pcs ', f'pcs -f {cib} ', text))
        check_configuration(cib, names)


if __name__ == '__main__':
    def options(parser):
        parser.add_argument('--volumes', type=int, default=200)
        parser.add_argument('--failovers', type=int, default=50)

    sys.exit(main(options))
