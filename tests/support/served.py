# SPDX-License-Identifier: GPL-3.0-or-later
"""Volumes of a cluster (cluster.py) with clients that write, in mid-crawl."""
import functools
import hashlib
import json
import os
import random
import re
import time

import nfs3
import nlm4
import smbd
from cluster import HUB, Cluster, Volume
from harness import expect, same
from sandbox import BASE, Failure, sh, volume, wait_for
from servers import OLD, Ganesha, Migration
from writers import SmbWriter

FILES, SIZE = 400, 1 << 18
RATE = '512K'                   # of the crawler: it takes minutes
AT_ONCE = 500                   # files that a command on a node is given
MISSING = """import os, sys
os.chdir(sys.argv[1])
print(sum('security.migrate' in os.listxattr(file) for file in sys.argv[2:]))"""


class Served:
    """Volumes of a cluster of two nodes, each with a client that writes by NFS to half of its files, and one
    that writes by SMB to the others.  nfs: what it writes with."""

    def __init__(self, args, names, nfs, rate=RATE, files=FILES, guests=None, interval='1s', pause=0, **ganesha):
        """guests: the class of the cluster, if nodes are guests.  interval: of monitors; None: as it is printed.
        pause: seconds after each write of the client by SMB."""
        image = BASE + '/image' if guests else None
        volume(OLD, '4G')
        smbd.install_module(Migration(args.build, '').module('migrate.so'))
        self.volumes = [Volume(name, 100 + n, size=1 << 32, image=image, bandwidth=rate,
                               source=f'nfs://{HUB}{OLD}/{name}')
                        for n, name in enumerate(names)]
        self.files = {name: self.fill(name, files, args.random) for name in names}
        migration = Migration(args.build, '')
        with open(migration.config, 'w') as out:
            out.writelines(one.section() for one in self.volumes)
        self.cluster = guests(args.build, migration.config, image) if guests else Cluster(
            args.build, 2, migration.config)
        Ganesha('old-server', OLD).start()
        for one in self.volumes:
            one.attach(migration)
            nfs_door, smb_door = one.serve(migration, len(names) > 1, **ganesha)
            one.detach()
        if len(names) == 1:             # where cluster check looks for them
            os.makedirs('/etc/ganesha', exist_ok=True)
            sh('cp', nfs_door.config, '/etc/ganesha/ganesha.conf')
            sh('cp', smb_door.config, '/etc/samba/smb.conf')
        with open('/etc/hosts', 'a') as out:
            out.writelines(f'{one.address} {one.name}\n' for one in self.volumes)
        with open('/etc/nfs.conf', 'a') as out:
            out.write(f'\n[statd]\nstate-directory-path = {self.volumes[0].disk}/statd\n')
        with open('/etc/fstab', 'a') as fstab:
            fstab.writelines(f'{guests.device if guests else one.device} {one.disk} ext4 noauto 0 0\n'
                             for one in self.volumes)
        text = sh(migration.program('migratectl'), 'cluster', 'config', '--doors=nfs,smb', '--nodes=n1', *names)
        for one in self.volumes:
            text = one.resources(text)
        self.cluster.share()
        if interval:
            text = re.sub(r'interval=\d+s', f'interval={interval}', text)
        self.cluster.configure(text + self.cluster.resources(names[0]))
        self.writers = {one.name: self.clients(one, nfs, args.random, pause) for one in self.volumes}

    @staticmethod
    def fill(name, count, chance):
        """What is in the files of the old tree."""
        os.mkdir(f'{OLD}/{name}')
        files = {f'f{n}': bytearray(chance.randbytes(SIZE)) for n in range(count)}
        for file, content in files.items():
            with open(f'{OLD}/{name}/{file}', 'wb') as out:
                out.write(content)
                os.fchown(out.fileno(), *smbd.USERS['alice'][:2])
        return files

    def clients(self, one, nfs, chance, pause):
        files = list(self.files[one.name].items())
        writers = [nfs(one, dict(files[::2]), random.Random(chance.random())),
                   SmbWriter(one.address, dict(files[1::2]), random.Random(chance.random()), pause)]
        for writer in writers:
            writer.start()
        return writers

    def status(self, name):
        node = self.cluster.place(f'migrate-{name}')
        done = node and self.cluster.nodes[node].run('migratectl', 'status', '--json', name)
        return json.loads(done.stdout) if done and done.returncode == 0 else {}

    def go_on(self, name, what):
        """Its clients write, and it is in mid-crawl."""
        for writer in self.writers[name]:
            writer.goes_on(what)
        wait_for('the crawler brings files', lambda: self.status(name).get('counters', {}).get('files_whole'))
        whole = self.status(name)['counters']['files_whole']
        count = len(self.files[name])
        print(f'{what}: {whole} of {count} files of {name} are whole', flush=True)
        expect(whole < count, 'the crawl is under way')

    def moved(self, name, where, what):
        """It is on another node than that, whose name is returned, and its clients have noticed it."""
        wait_for(what, lambda: self.cluster.place(f'address-{name}') not in (None, where))
        self.go_on(name, what)
        return self.cluster.place(f'address-{name}')

    def kill(self, name, program):
        """A process of the volume, by the number in a file of its node: another one takes its place."""
        node = self.cluster.nodes[self.cluster.place(f'address-{name}')]
        file = {'retriever': f'/run/units/migrate-retriever@{name}.service',
                'statd': '/run/quickmigrate-locks/statd'}.get(program, f'/run/{program}-{name}.pid')
        killed = node.sh('cat', file)
        node.sh('kill', '-KILL', killed.strip())
        wait_for(f'there is another {program}', lambda: node.run('cat', file).stdout not in ('', killed))
        same(self.moved(name, None, f'the {program} is replaced'), node.name, 'where it is')

    def kill_node(self, node):
        self.cluster.nodes[node].kill()

    def ways(self, name):
        """Of failing over, by their names."""
        cluster = self.cluster

        def standby():
            node = cluster.place(f'address-{name}')
            cluster.alive().sh('crm_standby', '--node', node, '--update', 'on')
            self.moved(name, node, 'it has moved')
            cluster.alive().sh('crm_standby', '--node', node, '--delete')

        def lose(how):
            node, before = cluster.place(f'address-{name}'), len(cluster.fenced)
            getattr(cluster.nodes[node], how)()
            wait_for('it is fenced', lambda: len(cluster.fenced) > before)
            cluster.revive(node)
            self.moved(name, node, f'it has left a node ({how})')
            same(cluster.fenced[before:], [node], 'nodes that were fenced')

        return {'standby': standby, **{how: functools.partial(lose, how) for how in cluster.lost},
                **{program: functools.partial(self.kill, name, program) for program in ('retriever', 'nfs', 'smb')}}

    def fail_over(self, name, count, holds=lambda _way: None):
        """In each way, again and again, while clients write: how long they have to wait.  holds: looks each time
        whether everything else is as it was."""
        ways = list(self.ways(name).items())
        waited = {way: [] for way, _ in ways}
        for n in range(count):
            way, fail = ways[n % len(ways)]
            for writer in self.writers[name]:
                writer.waited()
            begin = time.monotonic()
            fail()
            holds(way)
            waited[way].append({client: seconds for writer in self.writers[name]
                                for client, seconds in writer.waited().items()})
            print(f'{n + 1}: {way}, {time.monotonic() - begin:.0f} s', flush=True)
        for way, times in waited.items():
            if times:
                print(f'{way}: {len(times)} times; longest waits: ' + '; '.join(
                    f'{client} {max(one[client] for one in times):.1f} s' for client in times[0]), flush=True)
        same(self.status(name)['counters']['errors'], 0, 'errors')

    def on_files(self, node, one, *command):
        """What a command says on a node that is given the volume's files, some at a time."""
        files = list(self.files[one.name])
        return [node.sh(*command, *files[n:n + AT_ONCE]) for n in range(0, len(files), AT_ONCE)]

    def counts_exactly(self, node, one):
        """The retriever knows how many files of a volume at which nothing happens are not whole.  What is wrong with
        that, or None."""
        node.sh('migratectl', 'pause', one.name)
        count, seen = len(self.files[one.name]), None

        def exact():
            nonlocal seen
            missing = sum(map(int, self.on_files(node, one, 'python3', '-c', MISSING, one.root)))
            counters = self.status(one.name)['counters']
            seen = missing, counters['files_found'], counters['files_whole']
            return missing and seen[1:] == (count, count - missing)
        try:
            wait_for('what is missing is counted exactly', exact, 60)
        except Failure as error:
            return Failure(f'{error}: {seen[0]} are missing, while {seen[2]} of {seen[1]} count as whole')
        finally:
            node.sh('migratectl', 'resume', one.name)

    def compare(self, node, one):
        """Every file is on the volume as it was written."""
        sums = dict(reversed(line.split()) for text in self.on_files(
            node, one, 'sh', '-c', 'cd "$0" && sha256sum -- "$@"', one.root) for line in text.splitlines())
        wrong = [file for file, content in self.files[one.name].items()
                 if sums[file] != hashlib.sha256(content).hexdigest()]
        same(wrong, [], f'files of {one.name} that are not as they were written')
        print(f'{one.name}: {len(sums)} files are as they were written', flush=True)

    def end(self):
        """All of the old server's files are here, with what clients have written."""
        for one in self.volumes:
            node = self.cluster.nodes[self.cluster.place(f'migrate-{one.name}')]
            for writer in self.writers[one.name]:
                writer.end()
                print(f'{one.name}: {type(writer).__name__}: {writer.done} writes to {len(writer.written)} files, '
                      f'{writer.connections} connections', flush=True)
            miscounted = self.counts_exactly(node, one)
            node.sh('migratectl', 'throttle', one.name, '0')
            wait_for('everything is whole', lambda: self.status(one.name).get('volume', {}).get('state') == 'whole',
                     600)
            changes = json.loads(node.sh('migratectl', 'changes', '--settle', '--json', one.name))
            written = set().union(*(writer.written for writer in self.writers[one.name]))
            same(written - {change.get('path') for change in changes}, set(), 'what the journal does not know')
            self.compare(node, one)
            if miscounted:              # told at last: nothing is lost by it
                raise miscounted


class Rival:
    """One who would like to have a lock of a file that somebody else holds, by NFSv3."""

    def __init__(self, one, name):
        self.one = one
        client = nfs3.Client(one.address, one.root, port=2049, mount_port=20048)
        self.fh, _ = client.lookup(client.root, name)
        client.close()

    def call(self, name, operation, *args, **kw):
        client = nlm4.Client(self.one.address, name)
        try:
            return getattr(client, operation)(self.fh, *args, **kw)
        finally:
            client.close()

    def other(self):
        return self.call('other', 'lock', 2, True, 50, 10)

    def is_refused(self, what):
        """When nothing is reclaimed any more."""
        wait_for('the time of grace is over', lambda: self.other() != nlm4.IN_GRACE)
        same(self.other(), nlm4.DENIED, f'{what}: what another one is told')


class Rivals:
    """One for each of these files, which somebody else holds."""

    def __init__(self, one, names):
        self.all = [Rival(one, name) for name in names]

    def are_refused(self, what):
        for rival in self.all:
            rival.is_refused(what)

    def get_them(self):
        """The locks, when they are given back."""
        for rival in self.all:
            same(rival.other(), nlm4.OK, 'another one gets the lock that is given back')
