# SPDX-License-Identifier: GPL-3.0-or-later
"""Packaged smbds for tests and the demonstration, inside a sandbox (sandbox.py), and smbclient."""
import contextlib
import glob
import os
import re
import signal
import socket
import subprocess

from sandbox import BASE, Failure, Host, Process, sh, wait_for

PASSWORD = 'Migrate-1'                  # everybody's
NT_HASH = 'DA2FBB8187BF87E8BF54B00526FBF86B'
# name: uid, gid, other groups.  Any uid that is not among them has no name.
USERS = {'root': (0, 0, ()), 'alice': (1000, 1000, (100,)), 'bob': (1001, 100, ()),
         'carol': (1002, 1000, ()), 'nobody': (65534, 65534, ())}
GROUPS = {'staffers': 1000}
SID = 'S-1-5-21-1004336348-1177238915-682003330'
SHARE = 'projects'
STACK = 'migrate streams_xattr acl_xattr'
SANITIZED = {}                          # environment for smbds that load a sanitized module

# Private directories; nothing of the machine's printers, NetBIOS or name services.
SETTINGS = '''[global]
	server role = standalone server
	workgroup = QUICKMIGRATE
	netbios name = {netbios}
	passdb backend = smbpasswd:{state}/smbpasswd
	private dir = {state}/private
	state directory = {state}/state
	cache directory = {state}/cache
	lock directory = {state}/lock
	pid directory = {state}/pid
	ncalrpc dir = {state}/ncalrpc
	binddns dir = {state}/dns
	usershare path =
	smb ports = {port}
	disable netbios = yes
	load printers = no
	printing = bsd
	printcap name = /dev/null
	disable spoolss = yes
	log level = 1
	max log size = 0
	kernel change notify = no
'''


def users(host=None):
    """The users exist, for processes of this host."""
    prefix = host.prefix if host else []
    for name, lines in (
            ('passwd', [f'{user}:x:{uid}:{gid}::/:/bin/sh' for user, (uid, gid, _) in USERS.items()]),
            ('group', ['root:x:0:', 'users:x:100:alice', 'nogroup:x:65534:',
                       *(f'{group}:x:{gid}:' for group, gid in GROUPS.items())])):
        path = f'{BASE}/{name}'
        if not os.path.exists(path):
            wanted = {line.split(':')[0] for line in lines}
            with open(f'/etc/{name}') as file:
                others = [line for line in file.read().splitlines()
                          if line.split(':')[0] not in wanted]
            with open(path, 'w') as out:
                out.writelines(line + '\n' for line in lines + others)
        mounted = sh(*prefix, 'cat', '/proc/self/mounts')
        if f' /etc/{name} ' not in mounted:
            sh(*prefix, 'mount', '--bind', path, f'/etc/{name}')


def packaged_modules():
    """Where smbd looks for modules."""
    found = glob.glob('/usr/lib/*/samba/vfs')
    if not found:
        raise Failure('smbd has no modules (samba-vfs-modules)')
    return found[0]


def install_module(module):
    """smbds of the sandbox find the module beside the packaged ones."""
    there, packaged, ours = packaged_modules(), BASE + '/vfs-packaged', BASE + '/vfs'
    if not os.path.isdir(ours):
        os.mkdir(packaged)
        os.mkdir(ours)
        sh('mount', '--bind', there, packaged)
        for name in os.listdir(packaged):
            os.symlink(f'{packaged}/{name}', f'{ours}/{name}')
        sh('mount', '--bind', ours, there)
    with open(module, 'rb') as file:
        runtime = re.search(rb'libasan\.so\.\d+', file.read())
    SANITIZED.clear()
    if runtime:                         # it has to come before all other libraries
        SANITIZED.update(LD_PRELOAD=runtime[0].decode(), ASAN_OPTIONS='detect_leaks=0',
                         UBSAN_OPTIONS='print_stacktrace=1')
    link = f'{ours}/{os.path.basename(module)}'
    if os.path.lexists(link):
        os.unlink(link)
    os.symlink(os.path.abspath(module), link)


def layer(volume, unix_socket, stack=STACK):
    """Settings of a share with the layer."""
    return {'vfs objects': stack, 'migrate:volume': volume, 'migrate:socket': unix_socket}


class Smbd:
    """A packaged smbd.  shares: {name: path, or (path, {setting: value})}; writable, for USERS.
    Settings of [global] are given by keyword: smb_encrypt='required', or **{'a:b c': ...}.
    All servers have the same users and, unless another is given, the same machine SID: a SID means
    the same on all of them."""

    def __init__(self, name, shares, host=None, port=445, sid=SID, **settings):
        self.name, self.shares, self.host, self.port, self.sid = name, shares, host, port, sid
        self.settings = settings
        self.state = f'{BASE}/samba-{name}'
        self.config = self.state + '/smb.conf'
        self.process = None
        users(host)
        for directory in ('private', 'state', 'cache', 'lock', 'pid', 'ncalrpc', 'dns'):
            os.makedirs(f'{self.state}/{directory}', exist_ok=True)
        with open(self.state + '/smbpasswd', 'w') as out:
            os.fchmod(out.fileno(), 0o600)
            out.writelines(f'{user}:{uid}:{"X" * 32}:{NT_HASH}:[U          ]:LCT-5F000000:\n'
                           for user, (uid, _, _) in USERS.items())
        self.configure()
        sh('net', '-s', self.config, 'setlocalsid', sid)

    def configure(self, shares=None, **settings):
        """What holds from the next start on (or from reload() on); settings that are None go."""
        self.shares = shares or self.shares
        self.settings.update(settings)
        with open(self.config, 'w') as out:
            out.write(SETTINGS.format(netbios=self.name.replace('-', '').upper()[:15],
                                      state=self.state, port=self.port))
            for key, value in self.settings.items():
                if value is not None:
                    out.write(f'\t{key.replace("_", " ")} = {value}\n')
            for name, share in self.shares.items():
                path, more = (share, {}) if isinstance(share, str) else share
                out.write(f'[{name}]\n\tpath = {path}\n\tread only = no\n')
                out.writelines(f'\t{key} = {value}\n' for key, value in more.items())

    @property
    def address(self):
        return self.host.address if self.host else '127.0.0.1'

    def answers(self):
        with socket.socket() as sock:
            sock.settimeout(5)
            return sock.connect_ex((self.address, self.port)) == 0

    def start(self):
        """Returns when it accepts connections."""
        self.process = Process(self.name, ['smbd', '--foreground', '--no-process-group',
                                           '--debug-stdout', '-s', self.config], self.host,
                               env={**os.environ, **SANITIZED})
        wait_for(f'{self.name} answers', self.answers, process=self.process)
        return self

    # ---- its processes: one for each client, and helpers ---------------------------------------

    def groups(self):
        """Process groups: smbd's, and that of the RPC helper that it may have started."""
        found = {self.process.pid}
        for path in glob.glob(self.state + '/pid/samba-dcerpcd*.pid'):
            with open(path) as file:
                found.add(int(file.read().strip() or self.process.pid))
        return found

    def processes(self):
        """{pid: state}, without zombies."""
        groups, found = self.groups(), {}
        for pid in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError), open(f'/proc/{pid}/stat') as file:
                state, _, group = file.read().rpartition(')')[2].split()[:3]
                if int(group) in groups and state not in 'ZX':
                    found[int(pid)] = state
        return found

    def serving(self, session):
        """The process that serves it; others, smbd's helpers, come when they like."""
        sockets, port = set(), session.connection.sock.getsockname()[1]
        for table in ('tcp', 'tcp6'):
            with open(f'/proc/{self.process.pid}/net/{table}') as lines:
                for line in lines.read().splitlines()[1:]:
                    fields = line.split()
                    if int(fields[2].rpartition(':')[2], 16) == port:
                        sockets.add(f'socket:[{fields[9]}]')
        found = [pid for pid in self.processes() if pid != self.process.pid and
                 sockets & set(self.descriptors(pid))]
        if len(found) != 1:
            raise Failure(f'the connection is served by {found}')
        return found[0]

    @staticmethod
    def descriptors(pid):
        """What they are."""
        with contextlib.suppress(OSError):
            for fd in os.listdir(f'/proc/{pid}/fd'):
                with contextlib.suppress(OSError):
                    yield os.readlink(f'/proc/{pid}/fd/{fd}')

    def kill(self, number):
        """To all of its processes."""
        for group in self.groups():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)

    def stop(self, number=signal.SIGTERM, seconds=120):
        """Ends all of its processes and waits."""
        groups = self.groups()
        self.kill(number)
        self.process.stop(number, seconds)
        self.groups = lambda: groups
        try:
            wait_for(f'{self.name} has ended', lambda: not self.processes(), seconds)
        finally:
            del self.groups

    def restart(self, number=signal.SIGTERM):
        self.stop(number)
        self.start()

    def reload(self):
        """All of its processes read the configuration again."""
        sh('smbcontrol', '-s', self.config, 'all', 'reload-config')

    @contextlib.contextmanager
    def stalled(self):
        """It does nothing inside."""
        self.kill(signal.SIGSTOP)
        wait_for(f'{self.name} stands still',
                 lambda: set(self.processes().values()) == {'T'})
        try:
            yield
        finally:
            self.kill(signal.SIGCONT)

    # ---- clients ------------------------------------------------------------------------------

    def smbclient(self, *commands, user='alice', share=None, options=(), password=PASSWORD,
                  may_fail=False):
        """smbclient's output; it must succeed, or may_fail."""
        share = share or next(iter(self.shares))
        done = subprocess.run(
            ['smbclient', f'//{self.address}/{share}', '-s', client_config(), '-p', str(self.port),
             '-U', f'{user}%{password}', *options, '-c', '; '.join(commands)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
            text=True, errors='surrogateescape')
        if not may_fail and (done.returncode or 'NT_STATUS_' in done.stdout):
            raise Failure(f'smbclient {"; ".join(commands)}: exit {done.returncode}: {done.stdout}')
        return done.stdout

    def session(self, user='alice', share=None, password=PASSWORD, **kw):
        """One user's raw connection (smb2.py); kw: of its Connection."""
        import smb2                     # it needs impacket
        status, session = smb2.Connection(self.address, self.port, **kw).session(
            user, password, share or next(iter(self.shares)))
        if status:
            raise Failure(f'{user} is refused: {smb2.name_of(status)}')
        return session


def client_config():
    """Samba's own clients keep nothing on the machine and take nothing from it."""
    path = BASE + '/smbclient.conf'
    if not os.path.exists(path):
        state = BASE + '/samba-client'
        os.makedirs(state, exist_ok=True)
        with open(path, 'w') as out:
            out.write('[global]\n\tworkgroup = QUICKMIGRATE\n\tclient min protocol = SMB2_02\n' +
                      ''.join(f'\t{key} = {state}\n' for key in (
                          'private dir', 'state directory', 'cache directory', 'lock directory',
                          'pid directory')))
    return path


def old_smbd(path, share='old', settings=None, host=None, **kw):
    """The old server: another host's smbd; settings: the share's."""
    return Smbd('old-smbd', {share: (path, {'vfs objects': 'streams_xattr acl_xattr',
                                            **(settings or {})})},
                host=host or Host('old-smb'), **kw).start()
