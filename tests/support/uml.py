# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands under a real Linux kernel (NFS client, a disk to cut the power of) without KVM:
User-Mode Linux, a kernel that is a process.  The guest's root is this machine's, read-only below a
tmpfs; what lasts are disk images and shared directories.  Runs inside a sandbox (sandbox.py)."""
import contextlib
import fcntl
import glob
import hashlib
import os
import re
import select
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import suites
from sandbox import BASE, Failure, sh, wait_for

CACHE = os.environ.get('QUICKMIGRATE_CACHE', '/var/cache/quickmigrate-test')
VM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'vm')
XSTATE = VM + '/xstate.c'
NETWORK = '10.78.0.0/16'                # of all guests
SUITE = None                            # the suite of the kernel, if another than this machine's
TIMEOUT, DIED, KILLED = 124, 126, 137       # exit statuses of our own
STILL = 120                             # s, without a single switch of tasks; others have one each 15 s
COMES = 300                             # s until its command begins, where others need 3 to 60
MCONSOLE = struct.Struct('=3I')         # a magic number and a version, or an error and "more"; a length
ENDS = 60                               # s, a kernel that has closed its console, after its command
ANSWERS = 10                            # s, a kernel that is asked for its tasks


class Frozen(Failure):
    """User-Mode Linux itself stands still, which it does once in some hundred guests: no timer of its
    comes any more, or it never comes to its command.  That says nothing of what is tested."""


def unpacked(package, suite=None, more=()):
    """The directory with what is in a Debian package, and in more of them.  suite: another than this
    machine's.  Needs the network the first time: call it before entering the sandbox."""
    os.makedirs(CACHE, exist_ok=True)
    where = f'{CACHE}/{package}' + (f'-{suite}' if suite else '')
    with open(CACHE + '/lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(where):
            with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
                with suites.apt(suite) if suite else contextlib.nullcontext(
                        ['-q', '-o', 'APT::Sandbox::User=root']) as options:
                    for one in (package, *more):
                        suites.unpack(options, one, scratch + '/tree')
                os.rename(scratch + '/tree', where)
    return where


def compiled(source):
    """The shared object of a source file that is to be preloaded."""
    with open(source, 'rb') as file:
        where = f'{CACHE}/{hashlib.sha256(file.read()).hexdigest()[:16]}.so'
    if not os.path.exists(where):
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            sh('cc', '-D_GNU_SOURCE', '-Wall', '-Wextra', '-Werror', '-O2', '-shared', '-fPIC',
               '-o', scratch + '/so', source)
            os.rename(scratch + '/so', where)
    return where


def fetch(suite=None):
    """The kernel, its modules' directory and what is to be preloaded into it, three paths; see
    unpacked().  Programs of a newer suite than the tree's may need a newer libc."""
    where = unpacked('user-mode-linux', suite or SUITE)
    modules = glob.glob(where + '/usr/lib/uml/modules/*')
    if not modules:
        raise Failure(f'{where} holds no kernel modules: remove it')
    return where + '/usr/bin/linux.uml', modules[0], compiled(XSTATE)


class Guest:
    """One run of a guest."""

    count = 0

    def __init__(self, command, disks=(), shares=(), memory=1024, network=True, env=(), cpu=None,
                 output=1, shared=False):
        """command: argv.  disks: image files, or open descriptors of some, /dev/ubda and on; shared: other
        guests have them, too.
        shares: directories of this machine, writable at their own paths.
        output: the descriptor for its standard output."""
        Guest.count += 1
        self.job = tempfile.mkdtemp(prefix='vm.', dir=BASE)
        self.address = None             # on the network
        self.interface = None           # ours of it
        self.inherited = [disk for disk in disks if isinstance(disk, int)]
        self.environment, self.shared = {}, shared
        settings = {'shares': ' '.join(shares), 'directory_of_work': os.getcwd(), 'VM_IP': '',
                    'VM_HOST': ''}
        if network:
            self.interface, net = self.tap()
            self.address = net + '2'
            settings.update(VM_HOST=net + '1', VM_IP=self.address)
        argv = self.prepare(settings, disks, shares, memory)
        self.put('settings', ''.join(f'{k}={shlex.quote(v)}\n' for k, v in settings.items()))
        self.put('run', ''.join(f'export {k}={shlex.quote(v)}\n' for k, v in dict(env).items()) +
                 shlex.join(command) + '\n')
        for script in ('init', 'inside'):
            shutil.copy(f'{VM}/{script}', self.job)
        self.kill_on, self.kill_if, self.status, self.output = None, None, None, output
        self.seen = None, 0
        self.closed = None              # since when its console is away
        self.started = time.monotonic()
        self.start(argv, cpu)

    def prepare(self, settings, disks, _shares, memory):
        """The program and its arguments.  Adds to what the guest's scripts are told."""
        kernel, modules, preload = fetch()
        self.environment['LD_PRELOAD'] = preload
        settings.update(modules=modules, interface='vec0', kind='hostfs', out='/dev/tty1',
                        err='/dev/tty2', asked='/dev/tty3')
        self.asks, self.asked = socket.socketpair()
        self.inherited.append(self.asked.fileno())
        argv = [kernel, f'mem={memory}M', 'umid=guest', f'uml_dir={self.job}', 'rootfstype=hostfs',
                'rootflags=/', 'ro', f'init={self.job}/init', f'job={self.job}', 'con=null',
                'con0=fd:0,fd:1', f'con3=fd:{self.asked.fileno()},null', 'noreboot', 'panic=-1', 'console=tty0', 'quiet']
        kind = 'c' if self.shared else ''       # does not lock them
        argv += [f'ubd{i}{kind}=/proc/self/fd/{disk}' if isinstance(disk, int)
                 else f'ubd{i}{kind}={os.path.abspath(disk)}' for i, disk in enumerate(disks)]
        if self.interface:
            argv.append(f'vec0:transport=tap,ifname={self.interface},depth=128,gro=1')
        return argv

    @staticmethod
    def outputs(writes):
        """The arguments by which the guest writes to these descriptors."""
        return [f'con{i}=null,fd:{write}' for i, write in enumerate(writes, 1)]

    def put(self, name, text):
        with open(f'{self.job}/{name}', 'w') as out:
            out.write(text)

    def tap(self):
        """A new interface and its network's prefix."""
        for n in range(1, 255):
            name = f'vm{n}'
            done = subprocess.run(['ip', 'tuntap', 'add', name, 'mode', 'tap', 'vnet_hdr'],
                                  stderr=subprocess.DEVNULL)
            if done.returncode == 0:
                break
        else:
            raise Failure('no tap interface can be made')
        sh('ip', 'addr', 'add', f'10.78.{n}.1/30', 'dev', name)
        sh('ip', 'link', 'set', name, 'up')
        return name, f'10.78.{n}.'

    def start(self, argv, cpu):
        # UML hands each system call from one process to another: cheap on one CPU, dear across two
        cpus = sorted(os.sched_getaffinity(0))
        cpu = cpus[-1] if cpu is None else cpu
        pipes = [os.pipe() for _ in range(2)]
        argv += self.outputs([write for _, write in pipes])
        self.console = self.job + '/console'
        with open(self.console, 'wb') as console:
            self.process = subprocess.Popen(
                ['unshare', '--pid', '--fork', '--kill-child=KILL', '--mount-proc', '--', *argv],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                pass_fds=self.inherited + [write for _, write in pipes], start_new_session=True,
                env={**os.environ, 'TMPDIR': self.job, **self.environment},
                preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        self.pumps = []
        for (read, write), to in zip(pipes, (self.output, 2)):
            os.close(write)
            self.pumps.append(threading.Thread(target=self.pump, args=(read, to), daemon=True))
            self.pumps[-1].start()

    def pump(self, fd, to):
        seen = b''
        while True:
            try:
                data = os.read(fd, 65536)
            except OSError:
                data = b''
            if not data:
                os.close(fd)
                return
            view = memoryview(data)
            while view:
                view = view[os.write(to, view):]
            if self.kill_on and to == self.output:
                seen = (seen + data)[-65536:]
                found = self.kill_on.findall(seen)
                if found and (not self.kill_if or self.kill_if(int(found[-1]))):
                    self.kill(KILLED)

    def kill(self, status=KILLED):
        """Cuts the power."""
        if self.process.poll() is None:
            self.status = self.status or status
            self.process.kill()

    def talk(self, server, seconds):
        """The stream of the guest's connection to a listening socket; each answer takes at most so long."""
        self.process.name = 'the guest'
        try:
            wait_for('the guest connects', lambda: select.select([server], [], [], 0)[0], seconds, self.process)
        except Failure:
            if self.process.poll() is None:
                self.explain('the guest does not connect')
            raise
        connection = server.accept()[0]
        connection.settimeout(seconds)
        return connection.makefile('rw')

    def switches(self):
        """Of the guest's kernel: (how often it gave up the processor, where it waits)."""
        try:
            with open(f'/proc/{self.process.pid}/task/{self.process.pid}/children') as children:
                kernel = '/proc/' + children.read().split()[0]
            with open(kernel + '/status') as status, open(kernel + '/syscall') as call:
                return re.findall(r'ctxt_switches:\s*(\d+)', status.read()), call.read()
        except (OSError, IndexError):       # it comes, or goes
            return None, ''

    def tasks(self):
        """Yields a line for each task of the guest: its number and name, and where its kernel has it, the innermost
        call first.  Sysrq's "t" would end the kernel, in a thread of a work queue."""
        names = self.names()
        if not names:
            yield 'its programs do not answer'
        with open('/proc/sys/net/unix/max_dgram_qlen', 'w') as most:    # of lines of an answer
            most.write('1000')
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as console:
            console.settimeout(ANSWERS)
            console.bind('')

            def ask(command):
                """(an error or 0, text)"""
                console.sendto(MCONSOLE.pack(0xcafebabe, 2, len(command)) + command.encode().ljust(512, b'\0'),
                               f'{self.job}/guest/mconsole')
                more, said = True, b''
                while more:
                    data = console.recv(4096)
                    error, more, length = MCONSOLE.unpack_from(data)
                    said += data[MCONSOLE.size:][:length].rstrip(b'\0')
                return error, said.decode(errors='replace')

            ask('sysrq 9')              # stacks are told at the lowest level of messages
            for number in range(1, int(ask('proc loadavg')[1].split()[-1]) + 1):
                for _ in range(20):     # nothing is told while another task writes a message
                    error, stack = ask(f'stack {number}')
                    calls = re.findall(r'^ \[<\w+>\] ([^?\s]\S*)', stack, re.M)
                    if calls or error:
                        break
                if not error:
                    yield f'{number} {names.get(number, "")}: {" < ".join(calls)}'

    def names(self):
        """Of the tasks, by number, as a program of the guest tells them; none if it does not come to that."""
        self.asks.sendall(b'\n')
        with contextlib.suppress(Failure):
            wait_for('the names of tasks', lambda: os.path.exists(self.job + '/names'), ANSWERS)
            with open(self.job + '/names') as names:
                return {int(number): name for number, _, name in (line.strip().partition(' ') for line in names)}
        return {}

    def explain(self, why):
        """Before it is ended: what it was doing, on the standard error."""
        print(f'{why}; its tasks:', file=sys.stderr)
        try:
            for line in self.tasks():
                print(line, file=sys.stderr)
        except (OSError, ValueError) as error:
            print(f'its kernel does not answer: {error}; it is in {self.switches()}', file=sys.stderr)
        sys.stderr.flush()

    def check_moves(self):
        now, (switches, where) = time.monotonic(), self.switches()
        if now - self.started > COMES and not os.path.exists(self.job + '/begun'):
            self.explain('a guest does not come to its command')
            self.process.kill()
            raise Frozen(f'a guest did not come to its command in {COMES} s:\n'
                         f'{self.console_tail().decode(errors="replace")}')
        if switches is None or switches != self.seen[0]:
            self.seen = switches, now
        elif now - self.seen[1] > STILL:
            self.explain('the kernel of a guest stands still')
            self.process.kill()
            raise Frozen(f'the kernel of a guest stands still, in the system call {where}')
        # Once in some hundred guests it goes round for ever on its way out: all is synced then.
        if not os.path.exists(self.job + '/status') or os.path.exists(self.job + '/guest/mconsole'):
            self.closed = None
        elif self.closed is None:
            self.closed = now
        elif now - self.closed > ENDS:
            print(f'the kernel of a guest does not end; it is in {self.switches()}', file=sys.stderr)
            self.process.kill()

    def wait(self, timeout=600, kill_on=None, kill_if=None, kill_after=None):
        """The command's exit status, or one of our own.  kill_on: cut the power when this pattern
        (of bytes) is in the standard output; kill_if: and the number in it pleases this function;
        kill_after: seconds after which it is cut anyhow."""
        self.kill_if, self.kill_on = kill_if, kill_on
        end = time.monotonic() + (kill_after or timeout)
        while self.process.poll() is None:
            try:
                self.process.wait(0.5)
            except subprocess.TimeoutExpired:
                if time.monotonic() > end:
                    if not kill_after:
                        self.explain(f'a guest has not ended in {timeout} s')
                    self.kill(KILLED if kill_after else TIMEOUT)
                elif b'Kernel panic - ' in self.console_tail():
                    self.kill(DIED)
                self.check_moves()
        for pump in self.pumps:
            pump.join(10)
        if self.status is None:
            try:
                with open(self.job + '/status') as status:
                    self.status = int(status.read())
            except (OSError, ValueError):
                self.status = DIED
        if self.status == DIED:
            sys.stderr.write(self.console_tail().decode(errors='replace'))
        if self.interface:
            sh('ip', 'tuntap', 'del', self.interface, 'mode', 'tap')
        shutil.rmtree(self.job, ignore_errors=True)
        return self.status

    def console_tail(self, begin=None):
        with open(self.console, 'rb') as console:
            return console.read()[-4000 if begin is None else begin:]


def run(command, timeout=600, kill_on=None, kill_if=None, kill_after=None, kind=Guest, **kw):
    """Runs a command in a guest; its exit status."""
    return kind(command, **kw).wait(timeout, kill_on, kill_if, kill_after)
