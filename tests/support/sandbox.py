#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A private world for one run: network, mount and process namespaces that end with it.

    sandbox.py [--mounts] COMMAND...        runs a command in one; with --mounts in place, only its
                                            mounts are private


Nothing outlives a run, however it ends: its processes live in a PID namespace that dies with its
first process, which dies with the supervisor; what is mounted is mounted in a private mount
namespace; file systems are on unlinked files behind loop devices that detach themselves; and
everything else (configuration, logs, sockets) is on a tmpfs over /run.  So there is nothing to
clean up, and runs cannot meet.
"""
import contextlib
import ctypes
import fcntl
import os
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback

BASE = '/run/qm'                        # the run's own tmpfs
LOGS = BASE + '/log'
REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NEEDED = [REPO]                         # directories that no mount of the run hides
SCRATCH = os.environ.get('QUICKMIGRATE_SCRATCH', '/var/tmp')      # where unlinked images are

CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x20000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 0x1000, 0x4000, 0x40000, 2
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):
    """What a test or a demonstration reports: a sentence, and no traceback."""


def check(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def sh(*argv, **kw):
    """Runs a command that must succeed; its output."""
    done = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kw)
    if done.returncode:
        raise Failure(f'{" ".join(map(str, argv))}: exit {done.returncode}\n{done.stdout}')
    return done.stdout


# ---- entering ------------------------------------------------------------------------------

def private(body):
    """Runs body() as the first process of new namespaces; returns its exit status (body's result,
    0 for None).  Interrupts and SIGTERM end body with KeyboardInterrupt, then with SIGKILL."""
    if os.geteuid():
        print(f'{sys.argv[0]}: needs root (namespaces, mounts): run it with sudo', file=sys.stderr)
        return 2
    check(libc.unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID))
    alive, held = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.close(held)
            status = first_process(body, alive)
        except BaseException:           # os._exit() below would swallow it
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    os.close(alive)
    return supervise(child)


def supervise(child):
    got = []

    def forward(number, _frame):
        got.append(number)
        try:
            os.kill(child, signal.SIGKILL if len(got) > 2 else signal.SIGTERM)
        except ProcessLookupError:
            return
        signal.alarm(15)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, forward)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    _, status = os.waitpid(child, 0)
    signal.alarm(0)
    if got:
        return 128 + got[0]
    return os.waitstatus_to_exitcode(status) & 0xff


def first_process(body, alive):
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([alive], [], [], 0)[0]:        # the supervisor died before the line above
        return 1
    os.setsid()

    def interrupted(_number, _frame):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_mounts_private()
    sh('mount', '-t', 'proc', 'proc', '/proc')
    run = os.stat('/run')
    with hiding_nothing('/run'):
        sh('mount', '-t', 'tmpfs', '-o', f'mode={run.st_mode & 0o7777:o}', 'tmpfs', '/run')
    for directory in (LOGS, '/run/netns', '/run/lock', '/run/ganesha', '/run/rpcbind'):
        os.makedirs(directory)
    # Daemons keep state in these: not on the machine's.
    for directory in ('/var/lib/nfs', '/var/log/ganesha', '/var/lib/samba', '/var/cache/samba',
                      '/var/log/samba'):
        if os.path.isdir(directory):
            sh('mount', '-t', 'tmpfs', 'tmpfs', directory)
    os.makedirs('/var/lib/nfs/ganesha', exist_ok=True)
    sh('ip', 'link', 'set', 'lo', 'up')
    try:
        return body() or 0
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
        return 130


def keep_mounts_private():
    """No mount from here on is seen outside.  Where the root is a mere directory (chroot), whose
    mount cannot be told so, it becomes a mount of its own: programs look for one, too."""
    with open('/proc/self/mounts') as mounts:
        mere = not any(line.split()[1] == '/' for line in mounts)
    here = os.getcwd()
    if mere:
        root = os.open('/', os.O_PATH | os.O_CLOEXEC)
        enter_again()
    check(libc.mount(None, b'/', None, MS_REC | MS_PRIVATE, None))
    if mere:
        os.fchdir(root)
        os.chroot('.')
        os.close(root)
        check(libc.mount(b'/', b'/', None, MS_BIND | MS_REC, None))
        os.chroot('/..')                # the new mount, which is on top
        become_the_root()
        os.chdir(here)


def enter_again():
    """The mount namespace of this process: at its own root."""
    with open('/proc/self/ns/mnt', 'rb') as namespace:
        check(libc.setns(namespace.fileno(), CLONE_NEWNS))


def become_the_root():
    """Of the mount namespace, in place of what is around: a path of what a namespace has no longer,
    as of a program's own file after unshare, begins there.  Without it where that cannot be, which is
    so in an initramfs."""
    root = os.open('/', os.O_PATH | os.O_CLOEXEC)
    enter_again()
    os.fchdir(root)
    if libc.pivot_root(b'.', b'.') == 0:
        check(libc.umount2(b'.', MNT_DETACH))
    os.fchdir(root)
    os.chroot('.')
    os.close(root)


# ---- file systems --------------------------------------------------------------------------

LOOP_CTL_GET_FREE, LOOP_CONFIGURE, LO_FLAGS_AUTOCLEAR = 0x4C82, 0x4C0A, 4


def loop_device(fd):
    """Binds a free loop device to the open file; it is freed by itself when the last user is gone.
    Returns (path, descriptor that keeps it until it is mounted)."""
    with open('/dev/loop-control', 'rb') as control:
        while True:
            number = fcntl.ioctl(control, LOOP_CTL_GET_FREE)
            path = f'/dev/loop{number}'
            with contextlib.suppress(FileExistsError):
                os.mknod(path, 0o660 | 0o060000, os.makedev(7, number))
            device = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            info = bytearray(232)
            struct.pack_into('I', info, 52, LO_FLAGS_AUTOCLEAR)
            try:
                fcntl.ioctl(device, LOOP_CONFIGURE,
                            struct.pack('II', fd, 0) + bytes(info) + bytes(64))
                return path, device
            except OSError as error:
                os.close(device)
                if error.errno != 16:           # EBUSY: somebody was faster
                    raise


MKFS = {
    # small ones would get blocks of 1 KiB, into which no long record fits
    'ext4': ['mkfs.ext4', '-q', '-F', '-b', '4096', '-E', 'nodiscard,lazy_itable_init=1,lazy_journal_init=1'],
    'xfs': ['mkfs.xfs', '-q', '-f', '-K'],
    'btrfs': ['mkfs.btrfs', '-q', '-f', '-K'],
}
MOUNT_OPTIONS = {'ext4': 'noinit_itable', 'xfs': 'defaults', 'btrfs': 'defaults'}


@contextlib.contextmanager
def hiding_nothing(directory):
    """What is NEEDED below the directory is there again after what is mounted on it meanwhile."""
    below = [(place, os.open(place, os.O_PATH | os.O_CLOEXEC)) for place in NEEDED
             if place.startswith(directory + '/')]
    yield
    for place, fd in below:
        os.makedirs(place, exist_ok=True)
        check(libc.mount(f'/proc/self/fd/{fd}'.encode(), os.fsencode(place), None, MS_BIND | MS_REC, None))
        os.close(fd)


def layered(*directories):
    """What is written there is gone with the sandbox."""
    for n, directory in enumerate(directories):
        over = f'{BASE}/layer{n}'
        os.makedirs(over + '/upper')
        os.makedirs(over + '/work')
        with hiding_nothing(directory):
            sh('mount', '-t', 'overlay', '-o',
               f'lowerdir={directory},upperdir={over}/upper,workdir={over}/work', 'overlay', directory)


FS = 'ext4'                             # of what is made without saying which
FS_LEAST = {'ext4': 0, 'xfs': 320 << 20, 'btrfs': 128 << 20}    # bytes of one


def draw(fs, *what):
    """fs: the name of a file system, or a seed, by which one is drawn for that."""
    return fs if fs in MKFS else random.Random(' '.join((fs, *what))).choice(list(MKFS))


def volume(where, size='16G', fs=None, mkfs=()):
    """Makes a file system on an unlinked sparse file and mounts it.  fs: its kind (default: FS, or ext4,
    whose options those are); mkfs: more options of the program that makes it."""
    fs = fs or ('ext4' if mkfs else FS)
    size = max(int(size[:-1]) << {'M': 20, 'G': 30}[size[-1]], FS_LEAST[fs])
    os.makedirs(where, exist_ok=True)
    fd = os.open(SCRATCH, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        os.truncate(fd, size)
        path, device = loop_device(fd)
        try:
            sh(*MKFS[fs], *mkfs, path)
            sh('mount', '-t', fs, '-o', MOUNT_OPTIONS[fs], path, where)
        finally:
            os.close(device)
    finally:
        os.close(fd)
    return where


# ---- processes and hosts -------------------------------------------------------------------

def find_error(where, abort=False):
    """The ext4 there finds an error in itself, and counts it.  abort: and gives up."""
    sysfs = '/sys/fs/ext4/' + os.path.basename(sh('findmnt', '-no', 'SOURCE', where).strip())
    if abort:
        sh('mount', '-o', 'remount,abort', where)
    else:
        with open(sysfs + '/trigger_fs_error', 'w') as trigger:
            trigger.write('test')

    def counted():
        with open(sysfs + '/errors_count') as count:
            return int(count.read())
    wait_for('it counts the error', counted)


def wait_for(what, condition, seconds=120, process=None):
    """Polls condition() until it is true; at once over when the process died."""
    end = time.monotonic() + seconds
    pidfd = os.pidfd_open(process.pid) if process and process.poll() is None else -1
    try:
        while not condition():
            if process and process.poll() is not None:
                raise Failure(f'{what}: {process.name} ended with status {process.returncode}')
            if time.monotonic() > end:
                raise Failure(f'{what}: not within {seconds} s')
            select.select([pidfd] if pidfd >= 0 else [], [], [], 0.02)
    finally:
        if pidfd >= 0:
            os.close(pidfd)


class Process(subprocess.Popen):
    """A server of the run: its output goes to a log of its own, it gets no signals of the
    terminal, and it dies with the run."""

    all = []

    def __init__(self, name, argv, host=None, **kw):
        self.all.append(self)
        self.name, self.log = name, f'{LOGS}/{name}.log'
        prefix = host.prefix if host else []
        with open(self.log, 'ab') as log:
            super().__init__(prefix + [str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=log,
                             stderr=subprocess.STDOUT, start_new_session=True, **kw)

    def stop(self, number=signal.SIGTERM, seconds=120):
        """Ends it and waits; its status."""
        if self.poll() is None:
            self.send_signal(number)
            try:
                self.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
                self.wait()
                raise Failure(f'{self.name} did not end within {seconds} s of signal '
                              f'{int(number)}') from None
        return self.returncode


def inject(pid, call, what, *options):
    """strace, which is in the process now, and does that to the calls.  Returns (tracer, its output)."""
    trace = f'{BASE}/trace.{time.monotonic_ns()}'
    tracer = Process(f'strace-{time.monotonic_ns()}', [
        'strace', '-f', '-p', pid, '-o', trace, *options, '-e', f'trace={call}', '-e',
        f'inject={call}:{what}'])
    wait_for('strace attaches', lambda: 'attached' in open(tracer.log).read(), process=tracer)
    return tracer, trace


@contextlib.contextmanager
def failing(pid, call, error):
    """Each of these calls of the process fails inside, and is not made."""
    tracer, _ = inject(pid, call, f'error={error}')
    try:
        yield
    finally:
        tracer.stop(signal.SIGINT)


@contextlib.contextmanager
def stopped_after(pid, call, path, nth, start):
    """While the process is stopped, at the end of the nth `call` that one of its threads makes with
    path once start() was called: what that returned."""
    # Its mounts may be its own: what is our root has a path in them.
    seen = os.readlink(f'/proc/{pid}/root').rstrip('/') + path
    tracer, trace = inject(pid, call, f'signal=SIGSTOP:when={nth}', '-P', seen)
    result = start()
    wait_for(f'{pid} stops', lambda: 'stopped by SIGSTOP' in open(trace).read(), process=tracer)
    tracer.stop(signal.SIGINT)
    try:
        yield result
    finally:
        os.kill(pid, signal.SIGCONT)


class Host:
    """Another machine, as far as the network and /run are concerned: a network namespace joined to
    the run's by a veth pair, and a /run of its own (portmapper sockets are there)."""

    count = 0

    def __init__(self, name):
        Host.count += 1
        n = Host.count
        self.name, self.address, self.peer = name, f'10.77.{n}.2', f'10.77.{n}.1'
        ready, done = os.pipe()
        self.holder = subprocess.Popen(
            ['unshare', '--net', '--mount', '--propagation', 'private', 'sh', '-ec',
             f'mkdir -p {BASE}; mount --rbind {BASE} /mnt; mount -t tmpfs -o mode=755 tmpfs /run; '
             f'mkdir {BASE} /run/ganesha /run/rpcbind /run/lock; mount --move /mnt {BASE}; '
             'mount -t tmpfs tmpfs /var/lib/nfs; mkdir /var/lib/nfs/ganesha; '
             f'mount -t sysfs sysfs /sys; ip link set lo up; echo; exec cat >/dev/null'],
            stdin=subprocess.PIPE, stdout=done, start_new_session=True)
        os.close(done)
        if not select.select([ready], [], [], 120)[0]:
            raise Failure(f'host {name} does not come up')
        up = os.read(ready, 1)
        os.close(ready)
        if not up:
            raise Failure(f'host {name} cannot be made')
        pid = str(self.holder.pid)
        self.prefix = ['nsenter', '-t', pid, '--net', '--mount', '--root', '--wd', '--']
        self.interface = f'veth{n}'             # the run's end of the pair
        sh('ip', 'link', 'add', self.interface, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', pid)
        sh('ip', 'addr', 'add', self.peer + '/24', 'dev', self.interface)
        sh('ip', 'link', 'set', self.interface, 'up')
        sh(*self.prefix, 'ip', 'addr', 'add', self.address + '/24', 'dev', 'eth0')
        sh(*self.prefix, 'ip', 'link', 'set', 'eth0', 'up')

    def thread(self, body):
        """Runs body() in a daemon thread whose new sockets belong to this host."""
        def enter():
            with open(f'/proc/{self.holder.pid}/ns/net', 'rb') as ns:
                check(libc.setns(ns.fileno(), CLONE_NEWNET))
            body()
        thread = threading.Thread(target=enter, daemon=True)
        thread.start()
        return thread


# What every start of Ganesha says without a D-Bus and Kerberos.
CHATTER = re.compile(r' :(EVENT|LOG|DBUS|NFS CB) :| :NULL :LOG|gssd_refresh|RADOS|principal nfs')


def show_logs(lines=40, out=sys.stderr):
    """The ends of all logs, and who ended how, for the reader of a failure."""
    ended = [f'{p.name}: {p.returncode}' for p in Process.all if p.poll() is not None]
    if ended:
        print('---- ended, with status: ' + ', '.join(ended), file=out)
    for name in sorted(os.listdir(LOGS)):
        with open(f'{LOGS}/{name}', errors='replace') as log:
            tail = [line for line in log if not CHATTER.search(line)][-lines:]
        if tail:
            print(f'---- {name}', file=out)
            out.writelines(tail)
            if not tail[-1].endswith('\n'):
                print(file=out)
    out.flush()


def show_threads(out=sys.stderr):
    """What the servers' threads do, for the reader of a failure to answer: whether they wait for
    something, or for a processor."""
    for process in Process.all:
        if process.poll() is not None:
            continue
        print(f'---- threads of {process.name}', file=out)
        for task in sorted(os.listdir(f'/proc/{process.pid}/task')):
            def read(name, task=task):
                with open(f'/proc/{process.pid}/task/{task}/{name}') as file:
                    return file.read().strip()
            with contextlib.suppress(OSError):          # it has ended
                state = read('stat').rpartition(')')[2].split()[0]
                ran, waited = (int(ns) / 1e9 for ns in read('schedstat').split()[:2])
                print(f'{task} {read("comm")}: {state} {read("wchan")}, ran {ran:.2f} s, '
                      f'waited for a processor {waited:.2f} s', file=out)
        out.flush()
        if shutil.which('gdb'):
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(['gdb', '-batch', '-nx', '-p', str(process.pid), '-ex',
                                'thread apply all backtrace 16'], stdin=subprocess.DEVNULL,
                               stdout=out, stderr=subprocess.DEVNULL, timeout=120)


COMPLAINT = re.compile(rb'ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|: runtime error: |'
                       rb'PANIC \(pid |INTERNAL ERROR: Signal')


def complaints():
    """The names of logs in which a sanitizer has something to say, or a server that crashed."""
    found = []
    for name in sorted(os.listdir(LOGS)):
        with open(f'{LOGS}/{name}', 'rb') as log:
            if COMPLAINT.search(log.read()):
                found.append(name)
    return found


def keep_logs(directory):
    shutil.copytree(LOGS, directory, dirs_exist_ok=True)


def call(argv):
    """The exit status of a command.  Whoever is the first process has to wait for orphans, too."""
    child = subprocess.Popen(argv)
    while True:
        pid, status = os.wait()
        if pid == child.pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode & 0xff


def main(argv):
    if argv[:1] != ['--mounts']:
        return private(lambda: call(argv))
    check(libc.unshare(CLONE_NEWNS))
    keep_mounts_private()
    os.execvp(argv[1], argv[1:])


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
