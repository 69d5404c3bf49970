# SPDX-License-Identifier: GPL-3.0-or-later
"""The servers and programs of a migration, for tests and the demonstration: an old NFS server, the
retriever, the crawler, the new server.  All inside a sandbox (sandbox.py)."""
import configparser
import functools
import glob
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import nfs3
import smbd
from nlm4 import NLM
from proxy import Proxy
from sandbox import BASE, REPO, Failure, Host, Process, sh, show_logs, volume, wait_for
from xdr import Rpc, port_of, u32

VOLUME = 'projects'
STATD = 100024
NO_RETRIEVER = 3                # exit status of migratectl
MODULE = None                   # the build of the modules that the build under test lacks
CACHE = 'default'               # of CACHES
# Settings of MDCACHE.  It cannot be taken away: off is as little of it as there can be.
CACHES = {
    'default': {},
    'off': {'export': 'Attr_Expiration_Time = 0;', 'blocks': 'MDCACHE { Dir_Chunk = 0; '
            'Entries_HWMark = 1; Chunks_HWMark = 1; LRU_Run_Interval = 1; }'},
    'no-chunks': {'blocks': 'MDCACHE { Dir_Chunk = 0; }'},
    'tiny': {'export': 'Attr_Expiration_Time = -1;', 'blocks': 'MDCACHE { Entries_HWMark = 20; '
             'Chunks_HWMark = 4; Dir_Chunk = 8; LRU_Run_Interval = 1; }'},
    'long': {'export': 'Attr_Expiration_Time = -1;'},
}
OLD, NEW = BASE + '/old', BASE + '/new'         # the two servers' trees

GANESHA = '''
NFS_CORE_PARAM {{
	Plugins_Dir = "{plugins}";
	Protocols = {protocols};
	NFS_Port = {port};
	MNT_Port = {mount_port};
	Enable_NLM = {nlm};
	Enable_RQUOTA = false;
	Enable_UDP = false;
	RPC_Idle_Timeout_S = 3600;
	{core}
}}
NFSv4 {{
	{grace}
	Lease_Lifetime = 120;
	Only_Numeric_Owners = {numeric};
	RecoveryBackend = fs;
	Minor_Versions = 0, 1, 2;
}}
EXPORT_DEFAULTS {{
	Access_Type = RW;
	Squash = No_Root_Squash;
	SecType = sys;
	Protocols = 3, 4;
	Transports = TCP;
}}
EXPORT {{
	Export_Id = 77;
	Path = "{path}";
	Pseudo = "/export";
	{export}
	FSAL {{
		{fsal}
	}}
}}
LOG {{
	Default_Log_Level = {level};
}}
{blocks}
'''


def packaged_fsals():
    """The directory of the packaged FSAL modules."""
    found = glob.glob('/usr/lib/*/ganesha/libfsalvfs.so') or ['/usr/lib/ganesha/libfsalvfs.so']
    if not os.path.exists(found[0]):
        raise Failure('libfsalvfs.so is not installed (nfs-ganesha-vfs)')
    return os.path.dirname(found[0])


def plugins_with(module):
    """A directory with module and links to the packaged FSALs."""
    directory = BASE + '/plugins'
    os.makedirs(directory, exist_ok=True)
    for so in glob.glob(packaged_fsals() + '/*.so') + [module]:
        link = f'{directory}/{os.path.basename(so)}'
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(so, link)
    return directory


def start_rpcbind(name, host=None):
    """A portmapper, which answers: by its socket, and by TCP, where it listens later."""
    process = Process(name, ['rpcbind', '-f', '-w', '-i'], host)
    proc = f'/proc/{host.holder.pid if host else "self"}'

    def answers():
        with socket.socket(socket.AF_UNIX) as sock:
            if sock.connect_ex(proc + '/root/run/rpcbind.sock'):
                return False
        with open(proc + '/net/tcp') as sockets:
            return any(fields[1].endswith(':006F') and fields[3] == '0A'
                       for fields in map(str.split, sockets))

    wait_for('rpcbind answers', answers, process=process)
    return process


@functools.cache
def release():
    """The major number of Ganesha's."""
    return int(re.search(r'\bV?(\d+)\.\d', sh('ganesha.nfsd', '-v'))[1])


def core_settings():
    """From 6 on Ganesha wants a capability that a container does not have."""
    return 'Allow_Set_Io_Flusher_Fail = true;' if release() >= 6 else ''


def cache_settings(blocks):
    """From 5 on a low mark must not be above the high one."""
    if release() < 5:
        return blocks
    return re.sub(r'Chunks_HWMark( = \d+;)', r'\g<0> Chunks_LWMark\1', blocks)


class Ganesha:
    """A packaged ganesha.nfsd with one export, "/export" in the pseudo file system.  grace: seconds
    after a start in which clients may reclaim; 0: none.  nlm: locks of NFSv3; these need a statd
    beside the server.  recovery: where it keeps who may reclaim; scope: the name of
    all servers that do.  blocks: more of the configuration.  names: of owners, by NFSv4."""

    def __init__(self, name, path, fsal='Name = VFS;', host=None, plugins=None, port=2049,
                 mount_port=20048, level='EVENT', export='', core='', announced=None, blocks='',
                 grace=0, nlm=False, protocols='3, 4', recovery=None, scope=None,
                 names=False):
        self.name, self.path, self.host = name, path, host
        self.port, self.mount_port = port, mount_port
        self.announced = announced          # the NFS port that the portmapper tells, if another
        self.level, self.export, self.core, self.blocks = level, export, core, blocks
        self.grace, self.nlm, self.recovery, self.scope = grace, nlm, recovery, scope
        self.protocols = protocols
        self.names = names
        self.rpcbind = None
        self.statd = None
        self.process = None
        self.configure(fsal, plugins)

    def configure(self, fsal, plugins=None):
        """What the export's FSAL block says from the next start on."""
        self.fsal = fsal, plugins
        self.config = f'{BASE}/{self.name}.conf'
        with open(self.config, 'w') as out:
            out.write(GANESHA.format(
                plugins=plugins or packaged_fsals(), port=self.port,
                mount_port=self.mount_port, path=self.path, fsal=fsal, level=self.level,
                export=self.export, core=core_settings() + self.core,
                blocks=cache_settings(self.blocks), nlm=str(self.nlm).lower(),
                protocols=self.protocols, numeric=str(not self.names).lower(),
                grace=(f'Grace_Period = {self.grace};' if self.grace else 'Graceless = true;') +
                (f' RecoveryRoot = "{self.recovery}";' if self.recovery else '') +
                (f' Server_Scope = "{self.scope}";' if self.scope else '')))

    @property
    def address(self):
        return self.host.address if self.host else '127.0.0.1'

    def answers(self):
        """NFS and MOUNT: Ganesha makes their sockets one after the other, and tells the portmapper when it
        has them all, NFSv4 last."""
        return (nfs3.alive(self.address, self.port) and
                nfs3.alive(self.address, self.mount_port, nfs3.MOUNT) and
                port_of(self.address, nfs3.NFS, 4 if '4' in self.protocols else 3) == self.port and
                (not self.nlm or self.locks_answer()))

    def locks_answer(self):
        """The portmapper may still tell the port of one that was killed."""
        port = port_of(self.address, NLM, 4)
        return bool(port) and nfs3.alive(self.address, port, NLM, 4)

    def start(self):
        """Starts the portmapper and the server; returns when NFS and MOUNT are answered."""
        if not self.rpcbind or self.rpcbind.poll() is not None:
            self.rpcbind = start_rpcbind(f'{self.name}-rpcbind', self.host)
        if self.nlm and not self.statd:
            self.start_statd()
        # 9.14 takes the default keytab, for good, for who comes before it has read of its own.
        keytab = re.search('KeytabPath = (.*);', self.blocks)
        self.process = Process(self.name, ['ganesha.nfsd', '-F', '-L', 'STDERR', '-f', self.config,
                                           '-p', f'{BASE}/{self.name}.pid'], self.host,
                               env=os.environ | ({'KRB5_KTNAME': keytab[1]} if keytab else {}))
        wait_for(f'{self.name} answers NFS', self.answers, process=self.process)
        if self.announced:
            wait_for(f'{self.name} is registered',
                     lambda: port_of(self.address, nfs3.NFS, 3) == self.port, process=self.process)
            here = self.host.prefix if self.host else []
            sh(*here, 'rpcinfo', '-d', nfs3.NFS, 3)
            sh(*here, sys.executable, __file__, 'register', self.announced)
        return self

    def set(self, **settings):
        """Other settings from the next start on: names of __init__."""
        vars(self).update(settings)
        self.configure(*self.fsal)

    def start_statd(self):
        """Before Ganesha gives a lock it asks for the client to be watched."""
        here = self.host.prefix if self.host else []
        sh(*here, 'mkdir', '-p', '-m', '700', '/var/lib/nfs/sm', '/var/lib/nfs/sm.bak')
        self.statd = Process(f'{self.name}-statd', ['rpc.statd', '-F', '--no-notify'], self.host)
        wait_for('statd answers', lambda: port_of(self.address, STATD, 1), process=self.statd)

    def stop(self, number=15):
        self.process.stop(number)

    def restart(self, number=15):
        self.stop(number)
        self.start()

    def url4(self, version, below=''):
        """As a source, by that version of NFS; '': by the one that is found."""
        return f'nfs://{self.address}/export{below}' + (version and f'?version={version}')

    def client(self, **kw):
        """A v3 client of the export."""
        kw = {'port': self.port, 'mount_port': self.mount_port, **kw}
        return nfs3.Client(self.address, self.path, **kw)


def old_server(path=OLD, proxied=False, **kw):
    """The old server: another host's packaged Ganesha over VFS.  proxied: it can be reached only
    through a proxy (proxy.py), which is its .proxy."""
    host = Host('old')
    if proxied:
        kw.update(port=20490, announced=2049)
    server = Ganesha('old-server', path, host=host, **kw).start()
    if proxied:
        server.proxy = Proxy(server)
    return server


class Stalled:
    """The old server, or a process, does nothing inside."""

    def __init__(self, old):
        self.process = getattr(old, 'process', old)

    def __enter__(self):
        self.process.send_signal(signal.SIGSTOP)
        wait_for('it stands still', self.stopped)

    def stopped(self):
        tasks = f'/proc/{self.process.pid}/task'
        for task in os.listdir(tasks):
            with open(f'{tasks}/{task}/stat') as file:
                if file.read().rpartition(')')[2].split()[0] != 'T':
                    return False
        return True

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)


class Migration:
    """One volume: its configuration, its programs and the new server.  Starts nothing by itself."""

    def __init__(self, build, source, root=NEW, **settings):
        self.build, self.root = os.path.abspath(build), root
        self.socket = f'/run/quickmigrate/{VOLUME}.sock'
        self.config = BASE + '/quickmigrate.conf'
        self.retriever = self.journal = None
        self.server = None
        self.smbd = None
        self.source = source
        self.configure(source=source, **settings)
        os.makedirs(os.path.dirname(self.socket), mode=0o755, exist_ok=True)
        os.makedirs(root, exist_ok=True)

    def configure(self, **settings):
        """Writes the configuration; underscores in names stand for hyphens."""
        file = configparser.RawConfigParser()
        file[f'volume {VOLUME}'] = {'root': self.root, 'socket': self.socket,
                                    'report': f'{BASE}/{VOLUME}.report',
                                    'journal': f'{BASE}/{VOLUME}.journal',
                                    **{k.replace('_', '-'): str(v) for k, v in settings.items()}}
        with open(self.config, 'w') as out:
            file.write(out, space_around_delimiters=False)

    def program(self, name):
        for directory in ('retriever', 'ctl', 'journal', 'guard', 'sbin', ''):
            path = os.path.join(self.build, directory, name)
            if os.path.isfile(path):
                return path
        raise Failure(f'{name} is not built in {self.build}')

    # ---- the retriever and migratectl ---------------------------------------------------------

    def start_retriever(self, *wrapper):
        """Returns when it answers."""
        self.retriever = Process('retriever', [*wrapper, self.program('migrate-retriever'),
                                               '--config', self.config, VOLUME])
        wait_for('the retriever answers', lambda: self.ctl('status', may_fail=True) is not None,
                 process=self.retriever)

    def ctl(self, command, *options, argument=None, may_fail=False):
        """migratectl's output; None when it failed and that is allowed."""
        argv = [self.program('migratectl'), '--config', self.config, *options, command, VOLUME]
        end = time.monotonic() + 120
        while True:
            done = subprocess.run(argv + ([argument] if argument else []),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=600)
            # it gives up after some seconds, which a retriever may need that gets no processor
            alive = self.retriever and self.retriever.poll() is None
            if done.returncode != NO_RETRIEVER or not alive or time.monotonic() > end:
                break
        if done.returncode:
            if may_fail:
                return None
            raise Failure(f'migratectl {command}: exit {done.returncode}: '
                          f'{done.stderr.strip() or done.stdout.strip()}')
        return done.stdout

    def rollback(self, *options, may_fail=False):
        """What a way back says of itself; its text, if it failed and may."""
        done = subprocess.run([self.program('migratectl'), '--config', self.config, '--json', '--yes', *options,
                               'rollback', VOLUME], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120, check=False)
        if done.returncode and not may_fail:
            raise Failure(f'rollback: exit {done.returncode}: {done.stdout} {done.stderr}')
        if not done.stdout.startswith('{'):
            return done.stderr
        said = json.loads(done.stdout)['rollback']
        if (done.returncode == 4) != bool(said['conflicts'] or said.get('left')):
            raise Failure(f'rollback: exit {done.returncode}: {done.stdout}')
        return said

    def status(self):
        """The retriever's status as a dictionary without sections."""
        def flat(value):
            for key, inner in value.items():
                if isinstance(inner, dict):
                    yield from flat(inner)
                else:
                    yield key, inner
        return dict(flat(json.loads(self.ctl('status', '--json'))))

    def errors(self):
        """Reasons by path below the volume's root."""
        return {e['path'][len(self.root) + 1:]: e['reason']
                for e in json.loads(self.ctl('errors', '--json'))}

    def attach(self):
        self.ctl('attach')

    # ---- the journal --------------------------------------------------------------------------

    def start_journal(self):
        """Returns when it watches."""
        self.journal = Process('journal', [self.program('migrate-journal'), '--config', self.config,
                                           VOLUME])
        wait_for('the journal watches', lambda: self.status().get('running'), process=self.journal)

    def changes(self, *options):
        """What clients changed: by path, or by the path before where it is gone."""
        return {c.get('path') or c['before'][0]: c
                for c in json.loads(self.ctl('changes', '--json', '--settle', *options))}

    # ---- the crawler --------------------------------------------------------------------------

    def start_crawler(self, *options):
        return Process('crawler', [self.program('migrate-crawler'), '--socket', self.socket,
                                   *options, VOLUME])

    def crawl(self, seconds=300):
        """Everything, to the end."""
        crawler = self.start_crawler()
        try:
            status = crawler.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f'the crawler is not done after {seconds} s') from None
        if status:
            raise Failure(f'the crawler ended with status {status}: {self.ctl("errors")}')

    # ---- the new server -----------------------------------------------------------------------

    def module(self, name):
        """What a server loads: the FSAL, or the VFS module."""
        builds = [self.build] + [MODULE] * bool(MODULE)
        found = [path for build in builds for path in glob.glob(f'{build}/*/{name}')]
        if not found:
            raise Failure(f'{name} is not built in {" or ".join(builds)}')
        return os.path.abspath(found[0])

    def new_server(self, takeover=None, **kw):
        """The new server, with the layer; not started.  takeover: the file of takeover handles."""
        fsal = (f'Name = MIGRATE;\n\t\tVolume = "{VOLUME}";\n\t\tSocket = "{self.socket}";\n' +
                (f'\t\tTakeover = "{takeover}";\n' if takeover else '') +
                '\t\tFSAL { Name = VFS; }')
        kw = {**CACHES[CACHE], **kw}
        return Ganesha('new-server', self.root, fsal=fsal,
                       plugins=plugins_with(self.module('libfsalmigrate.so')), **kw)

    def start_server(self, **kw):
        self.server = self.new_server(**kw).start()
        return self.server

    def start_smbd(self, stack=smbd.STACK, settings=None, **kw):
        """The new SMB server, with the layer, beside the other or alone.  settings: the share's."""
        smbd.install_module(self.module('migrate.so'))
        share = {**smbd.layer(VOLUME, self.socket, stack), **(settings or {})}
        self.smbd = smbd.Smbd('new-smbd', {smbd.SHARE: (self.root, share)}, **kw).start()
        return self.smbd

    def without_layer(self):
        """Restarts the new NFS server on plain VFS."""
        self.server.stop()
        self.server.configure('Name = VFS;')
        self.server.start()


def stack(build, fill=None, size='16G', fs=None, proxied=False, old=None, mkfs=(), wrapper=(),
          serve=old_server, version=None, **settings):
    """The usual beginning: two file systems, fill(path) makes the old tree, an old server, a
    retriever and a new server; not attached.  wrapper: what starts the retriever; serve: what the old
    server, with the options of `old`; version: as for url4().  Returns (old server, Migration)."""
    volume(OLD, size, mkfs=mkfs)
    volume(NEW, size, fs, mkfs=mkfs)
    if fill:
        fill(OLD)
    server = serve(**({'proxied': proxied} if proxied else {}), **(old or {}))
    url = server.url4(version) if version is not None else f'nfs://{server.address}{OLD}'
    migration = Migration(build, url, **settings)
    migration.start_retriever(*wrapper)
    return server, migration


def register(port):
    """Tells this host's portmapper that NFSv3 is on another port (RFC 1833 section 3, SET)."""
    rpc = Rpc('127.0.0.1', 111)
    if not rpc.call(100000, 2, 1, u32(nfs3.NFS) + u32(3) + u32(6) + u32(port)).u32():
        sys.exit('the portmapper refuses')


if __name__ == '__main__':
    register(int(sys.argv[2]))

__all__ = ['BASE', 'Failure', 'Ganesha', 'Migration', 'NEW', 'OLD', 'REPO', 'Stalled', 'VOLUME',
           'old_server', 'show_logs', 'stack', 'volume', 'wait_for']
