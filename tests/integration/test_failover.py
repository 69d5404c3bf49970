#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A volume that moves between the nodes of a real cluster (Pacemaker, Corosync, fencing) with the
resources that migratectl cluster config prints, with the old server's bytes on their way and a client
that writes."""
import contextlib
import json
import os
import re
import sys
import threading
import time
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
from cluster import HUB, NETWORK, Cluster                               # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, LOGS, MKFS, Process, layered, loop_device, sh, volume, wait_for      # noqa: E402
from servers import OLD, REPO, VOLUME, Ganesha, Migration                     # noqa: E402
from xdr import RpcError                                                # noqa: E402

DISK, ROOT = BASE + '/disk', BASE + '/disk/tree'
ADDRESS = NETWORK + '.100'
FILES, SIZE, SLOT, WRITE = 60, 1 << 20, 1 << 14, 5000
RATE = '2M'                     # of the crawler: it takes half a minute
RETRIEVER = f'/run/units/migrate-retriever@{VOLUME}.service'


class Writer(threading.Thread):
    """A client that writes here and there, each time until it is told that it is durable, and reads what
    must be there."""

    def __init__(self, files, chance):
        super().__init__(daemon=True)
        self.files, self.chance = files, chance
        self.slots = [(name, at) for name in files for at in range(0, SIZE, SLOT)]
        chance.shuffle(self.slots)
        self.done, self.client, self.failed, self.ends = 0, None, None, False
        self.written = set()

    def connect(self):
        return nfs3.Client(ADDRESS, ROOT, port=2049, mount_port=20048, timeout=3, patience=120)

    def until_it_is_done(self, operation, name, *args):
        while True:
            with contextlib.suppress(RpcError, OSError):
                self.client = self.client or self.connect()
                fh, _ = self.client.lookup(self.client.root, name)
                return operation(self.client, fh, *args)
            if self.client:
                self.client.close()
            self.client = None

    def run(self):
        try:
            while self.slots and not self.ends:
                name, at = self.slots.pop()
                offset, data = at + self.chance.randrange(SLOT - WRITE), self.chance.randbytes(WRITE)
                self.until_it_is_done(nfs3.Client.write, name, offset, data, nfs3.FILE_SYNC)
                self.files[name][offset:offset + WRITE] = data
                self.written.add(name)
                name, at = self.chance.choice(list(self.files)), self.chance.randrange(SIZE - SLOT)
                got, _ = self.until_it_is_done(nfs3.Client.read, name, at, SLOT)
                expect(got == self.files[name][at:at + SLOT], f'{name} at {at} is as it was written')
                self.done += 1
        except BaseException as error:
            self.failed = error

    def goes_on(self, what):
        """Waits until some more is written."""
        wanted = self.done + 20
        wait_for(what + ', and the client writes', lambda: self.failed or self.done >= wanted)
        if self.failed:
            raise self.failed

    def end(self):
        self.ends = True
        self.join()
        if self.failed:
            raise self.failed


def shared_disk(size):
    """(device, a descriptor that keeps it)"""
    fd = os.open('/var/tmp', os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    os.truncate(fd, size)
    device, keeper = loop_device(fd)
    os.close(fd)
    sh(*MKFS['ext4'], device)
    return device, keeper


def fill(chance):
    files = {f'f{n}': bytearray(chance.randbytes(SIZE)) for n in range(FILES)}
    volume(OLD, '1G')
    for name, content in files.items():
        with open(f'{OLD}/{name}', 'wb') as out:
            out.write(content)
    return files


def attach(migration, device):
    """As an administrator does it on one node before the cluster has the volume."""
    os.rmdir(ROOT)              # no node has it without the disk
    sh('mount', device, DISK)
    os.mkdir(ROOT)
    migration.start_retriever()
    migration.attach()
    migration.retriever.stop()
    sh('umount', DISK)


def resources(migration, device):
    """What migratectl prints, with an address, another door, and monitors that are in a hurry."""
    with open('/etc/fstab', 'a') as fstab:
        fstab.write(f'{device} {DISK} ext4 noauto 0 0\n')
    text = sh(migration.program('migratectl'), 'cluster', 'config', VOLUME)
    door = migration.new_server().config
    text = text.replace(f'ADDRESS-{VOLUME}', ADDRESS)
    text = re.sub(r'interval=\d+s', 'interval=1s', text)
    return text.replace('systemd:nfs-ganesha', 'ocf:heartbeat:anything params binfile=/usr/bin/ganesha.nfsd '
                        f'pidfile=/run/door.pid cmdline_options="-F -L {LOGS}/door.log -f {door}"')


def status(cluster):
    done = cluster.nodes[cluster.place(f'migrate-{VOLUME}')].run('migratectl', 'status', '--json', VOLUME)
    return json.loads(done.stdout) if done.returncode == 0 else None


def compare_nodes(cluster):
    """migratectl cluster check on one node, and what another one says to that."""
    first, second = cluster.nodes.values()
    checked = first.run('migratectl', 'cluster', 'check', VOLUME).stdout
    expect('\nfencing: enabled\n' in checked, f'there is fencing: {checked}')
    with open(BASE + '/n1.txt', 'w') as out:
        out.write(checked)
    same(second.run('migratectl', 'cluster', 'check', f'--compare={out.name}', VOLUME).stdout, '',
         'what differs between the nodes')


def in_mid_crawl(cluster):
    wait_for('the crawler brings files', lambda: (status(cluster) or {}).get('counters', {}).get('files_whole'))
    whole = status(cluster)['counters']['files_whole']
    print(f'{whole} of {FILES} files are whole', flush=True)
    expect(whole < FILES, 'the crawl is under way')


def moved(cluster, where, writer, what):
    def is_elsewhere():
        return cluster.place(f'address-{VOLUME}') not in (None, where)
    wait_for(what, is_elsewhere)
    writer.goes_on(what)
    in_mid_crawl(cluster)
    return cluster.place(f'address-{VOLUME}')


@case()
def a_client_writes_while_its_volume_moves(args):
    """It is moved, its retriever is killed, then the node; at last every byte is right."""
    files = fill(args.random)
    device, keeper = shared_disk(1 << 30)
    migration = Migration(args.build, f'nfs://{HUB}{OLD}', root=ROOT, report=f'{DISK}/report',
                          journal=f'{DISK}/journal', bandwidth=RATE, guard='no')
    cluster = Cluster(args.build, 2, migration.config)
    Ganesha('old-server', OLD).start()
    attach(migration, device)
    cluster.configure(resources(migration, device))
    writer = Writer(files, args.random)
    writer.start()
    first = moved(cluster, None, writer, 'it is up')
    compare_nodes(cluster)

    cluster.alive().sh('crm_standby', '--node', first, '--update', 'on')
    second = moved(cluster, first, writer, 'it has moved')
    cluster.alive().sh('crm_standby', '--node', first, '--delete')

    node = cluster.nodes[second]
    killed = node.sh('cat', RETRIEVER)
    node.sh('kill', '-KILL', killed.strip())
    wait_for('there is another retriever', lambda: node.run('cat', RETRIEVER).stdout not in ('', killed))
    same(moved(cluster, None, writer, 'the retriever is replaced'), second, 'where it is')

    node.kill()
    third = moved(cluster, second, writer, 'it has left a dead node')
    with open(BASE + '/fenced') as fenced:
        same(fenced.read().split(), [second], 'nodes that were fenced')
    cluster.nodes[third].sh('migratectl', 'throttle', VOLUME, '0')
    wait_for('everything is whole', lambda: status(cluster)['volume']['state'] == 'whole')
    writer.end()
    print(f'{writer.done} writes', flush=True)
    changes = json.loads(cluster.nodes[third].sh('migratectl', 'changes', '--settle', '--json', VOLUME))
    same(writer.written - {change['path'] for change in changes}, set(), 'what the journal does not know')
    for name, content in files.items():
        with open(f'/proc/{cluster.nodes[third].first()}/root{ROOT}/{name}', 'rb') as file:
            expect(file.read() == content, f'{name} is as it was written')
    os.close(keeper)


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
    volume(OLD, '1G')
    migration, names, devices = many_volumes(args, args.volumes)
    cluster = Cluster(args.build, 3, migration.config)
    with open('/etc/fstab', 'a') as fstab:
        fstab.writelines(f'{device} {BASE}/disks/{name} ext4 noauto 0 0\n'
                         for name, (device, _) in zip(names, devices))
    text = sh(migration.program('migratectl'), 'cluster', 'config', '--nodes=n1,n2,n3', *names)
    for n, name in enumerate(names):
        text = re.sub(rf'\bADDRESS-{name}\b', f'{NETWORK}.{n + 10}', text)
    text = re.sub(r'primitive door-.*\n| door-\w+', '', text)
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


def strange_volumes(args):
    """What migratectl prints of some, as a function of its options."""
    with open(BASE + '/conf', 'w') as out:
        for name in NAMES:
            out.write(f'[volume {name}]\nroot = {BASE}/{name} \'"$x\nsource = nfs://old{OLD}\n')
    return lambda *options: sh(f'{args.build}/ctl/migratectl', f'--config={BASE}/conf', 'cluster', 'config',
                               *NAMES, *options)


def check_configuration(cib):
    """As a cluster would: nothing but its fencing is amiss, and each volume is as it was printed."""
    sh('crm_verify', '--xml-file', cib)
    groups = ElementTree.parse(cib).getroot().iter('group')
    found = {group.get('id'): {(primitive.get('id'), nvpair.get('name')): nvpair.get('value')
                               for primitive in group.iter('primitive') for nvpair in primitive.iter('nvpair')}
             for group in groups}
    same(set(found), {f'volume-{name}' for name in NAMES}, 'groups')
    for name in NAMES:
        values = found[f'volume-{name}']
        same(values[f'fs-{name}', 'directory'], f'{BASE}/{name} \'"$x', 'a directory')
        same(values[f'migrate-{name}', 'volume'], name, 'a volume')
        same(values[f'address-{name}', 'ip'], f'ADDRESS-{name}', 'an address')


def begin_configuration():
    """A file with that of a new cluster, without fencing; and the agent, which its readers look for."""
    layered('/usr/lib/ocf')
    os.makedirs('/usr/lib/ocf/resource.d/quickmigrate')
    sh('cp', f'{REPO}/packaging/ocf/migrate', '/usr/lib/ocf/resource.d/quickmigrate/migrate')
    with open(BASE + '/cib.xml', 'w') as out:
        out.write(sh('cibadmin', '--empty').replace(
            '<crm_config/>', '<crm_config><cluster_property_set id="options"><nvpair id="no" '
            'name="stonith-enabled" value="false"/></cluster_property_set></crm_config>'))
    return out.name


@case()
def crm_takes_what_is_printed(args):
    cib, text = begin_configuration(), BASE + '/text'
    with open(text, 'w') as out:
        out.write(strange_volumes(args)('--for=crm', '--nodes=n1,n2'))
    sh('crm', '--force', 'configure', 'load', 'update', text, env={**os.environ, 'CIB_file': cib})
    check_configuration(cib)


@case(long=True)
def pcs_takes_what_is_printed(args):
    cib = begin_configuration()
    text = strange_volumes(args)('--for=pcs', '--nodes=n1,n2')
    # the unit is the administrator's
    text = text.replace('systemd:nfs-ganesha@', '--force systemd:nfs-ganesha@')
    sh('sh', '-ec', re.sub('(?m)^pcs ', f'pcs -f {cib} ', text))
    check_configuration(cib)


if __name__ == '__main__':
    sys.exit(main(lambda parser: parser.add_argument('--volumes', type=int, default=200)))
