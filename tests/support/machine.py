# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that boots: the tree that a test runs in (tests/support/host), started with its systemd in
namespaces of its own.  What it writes lasts from one boot to the next, and ends with the sandbox
(sandbox.py).

It shares the kernel, so it must change nothing of it: it loads no module, sets no clock, and sees /sys
and /proc/sys read-only."""
import contextlib
import fcntl
import glob
import os
import shlex
import signal
import subprocess
import tempfile

from sandbox import BASE, LOGS, MKFS, Failure, Process, sh, wait_for

DEVICES = 'null zero full random urandom tty fuse loop-control'
LOOPS = 256
# For the reader of a failure.
SHOWN = {'journal': 'journalctl --no-pager -o short-precise', 'nfs': 'cat /var/log/ganesha/ganesha.log',
         'smb': 'cat /var/log/samba/log.smbd',
         'volume': 'migratectl errors projects; migratectl status --verbose projects'}
# The first program of a boot.
START = f'''set -e
mount --make-rprivate /
mount -t overlay -o lowerdir=/,upperdir="$1/upper",workdir="$1/work" overlay "$1/root"
cd "$1/root"
mount -t proc proc proc
for path in proc/sys proc/sysrq-trigger; do
        [ -e $path ] || continue
        mount --bind $path $path
        mount -o remount,bind,ro $path
done
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for device in {DEVICES}; do
        [ ! -e /dev/$device ] || cp -a /dev/$device dev
done
for number in $(seq 0 {LOOPS - 1}); do
        mknod -m 660 dev/loop$number b 7 $number
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
hostname "$(cat etc/hostname)"
ip link set lo up
pivot_root . mnt
umount -l mnt
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin setpriv \\
        --bounding-set -sys_module,-sys_time /usr/lib/systemd/systemd --log-target=console --show-status=no
'''


def in_its_hierarchy(hierarchy):
    """A new control group below ours, and a descriptor that keeps others from removing it.  Those of
    runs that were killed are removed."""
    with open('/proc/self/cgroup') as lines:
        ours = hierarchy + next(line for line in lines if line.startswith('0::'))[3:].strip()
    for left in glob.glob(ours + '/quickmigrate-*'):
        with contextlib.suppress(OSError):
            fd = os.open(left, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(left)
            finally:
                os.close(fd)
    while True:
        path = tempfile.mkdtemp(prefix='quickmigrate-', dir=ours)
        with contextlib.suppress(FileNotFoundError):            # somebody removed it
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(fd, fcntl.LOCK_EX)
            if os.path.isdir(path):
                return path, fd
            os.close(fd)


def remove(group):
    for directory, _, _ in os.walk(group, topdown=False):
        os.rmdir(directory)


class Machine:
    """neighbours: of class Host, by name, which it can reach, and guests, too."""

    def __init__(self, name, neighbours=(), address='10.79.0.2', gateway='10.79.0.1'):
        self.name, self.address, self.gateway = name, address, gateway
        known = {'localhost': '127.0.0.1', name: address}
        for other, host in dict(neighbours).items():
            known[other] = host.address
            sh(*host.prefix, 'ip', 'route', 'add', 'default', 'via', host.peer)
        with open('/proc/sys/net/ipv4/ip_forward', 'w') as forward:
            forward.write('1')
        self.process = self.prefix = self.group = self.keeper = None
        self.base = f'{BASE}/machine'
        for directory in ('upper/etc/systemd/system', 'upper/var/log/journal', 'work', 'root'):
            os.makedirs(f'{self.base}/{directory}')
        self.hierarchy = self.base + '/cgroup'
        os.mkdir(self.hierarchy)
        sh('mount', '-t', 'cgroup2', 'cgroup2', self.hierarchy)
        self.write('/etc/hostname', name + '\n')
        self.write('/etc/hosts', ''.join(f'{value} {key}\n' for key, value in known.items()))
        self.write('/etc/apt/apt.conf.d/99test', 'APT::Get::Assume-Yes "true";\n')
        # What needs a console, a module, or the network of the world.
        for unit in ('console-getty.service', 'run-rpc_pipefs.mount', 'systemd-modules-load.service',
                     'apt-daily.timer', 'apt-daily-upgrade.timer'):
            os.symlink('/dev/null', f'{self.base}/upper/etc/systemd/system/{unit}')

    def path(self, path):
        """Where that is here, until it is switched on or off."""
        return (f'/proc/{self.first()}/root' if self.process else self.base + '/upper') + path

    def write(self, path, text, mode='w'):
        """Into a file of it.  mode: of open(); to append, it must run, or have written it."""
        where = self.path(path)
        os.makedirs(os.path.dirname(where), exist_ok=True)
        with open(where, mode) as out:
            out.write(text)

    # ---- while it is off

    def disk(self, where, size=1 << 30, fs='ext4'):
        """A file system that is mounted there at each boot."""
        image = f'/disk{where.replace("/", "-")}.img'
        self.write(image, '')
        os.truncate(f'{self.base}/upper{image}', size)
        sh(*MKFS[fs], f'{self.base}/upper{image}')
        os.makedirs(f'{self.base}/upper{where}')
        self.write('/etc/fstab', f'{image} {where} {fs} loop 0 0\n', 'a')

    def bring(self, pattern, where):
        """Copies files there."""
        os.makedirs(f'{self.base}/upper{where}', exist_ok=True)
        sh('cp', *glob.glob(pattern), f'{self.base}/upper{where}')

    # ---- on and off

    def boot(self):
        """Starts it; returns when all that starts has started, or failed."""
        self.group, self.keeper = in_its_hierarchy(self.hierarchy)

        def enter():
            with open(self.group + '/cgroup.procs', 'w') as procs:
                procs.write('0')
        self.process = Process(self.name, [
            'unshare', '--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup', '--fork',
            '--kill-child', 'sh', '-c', START, 'sh', self.base], preexec_fn=enter)
        wait_for('it has a first process', self.first, process=self.process)
        net = ['nsenter', '-t', self.first(), '--net']
        sh('ip', 'link', 'add', 'machine0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', self.first())
        sh('ip', 'addr', 'add', self.gateway + '/24', 'dev', 'machine0')
        sh('ip', 'link', 'set', 'machine0', 'up')
        sh(*net, 'ip', 'addr', 'add', self.address + '/24', 'dev', 'eth0')
        sh(*net, 'ip', 'link', 'set', 'eth0', 'up')
        sh(*net, 'ip', 'route', 'add', 'default', 'via', self.gateway)
        wait_for('systemd answers', lambda: os.path.exists(f'/proc/{self.first()}/root/run/systemd/private'),
                 process=self.process)
        self.prefix = ['nsenter', '-t', self.first(), '--all', '--root', '--wd', '--', 'env', '-i',
                       'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root', 'LC_ALL=C.UTF-8']
        return self.run('systemctl is-system-running --wait').stdout.strip()

    def first(self):
        """The number of its first process, as it is known here."""
        with open(f'/proc/{self.process.pid}/task/{self.process.pid}/children') as children:
            return children.read().strip()

    def off(self, command='systemctl poweroff'):
        """Shuts it down; command None: cuts its power."""
        if command:
            self.run(command)
        else:
            os.kill(int(self.first()), signal.SIGKILL)
        self.process.wait(120)
        self.process = None
        wait_for('its network is gone', lambda: subprocess.run(
            ['ip', 'link', 'del', 'machine0'], stderr=subprocess.DEVNULL).returncode)
        remove(self.group)
        os.close(self.keeper)

    # ---- while it is on

    def run(self, command, **kw):
        """A shell's command there, as root: what subprocess.run() returns, with text."""
        return subprocess.run([*self.prefix, 'bash', '-c', command], stdin=subprocess.DEVNULL,
                              text=True, errors='replace', stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, **kw)

    def sh(self, command, status=0, **kw):
        """One that must end with that status; its output."""
        done = self.run(command, **kw)
        if done.returncode != status:
            raise Failure(f'{command}: exit {done.returncode}\n{done.stdout}')
        return done.stdout

    def start(self, name, command):
        """One in the background: a Process."""
        return Process(name, [*self.prefix, 'bash', '-c', command])

    def show(self, unit, what):
        """A property of a unit."""
        return self.sh(f'systemctl show -P {what} {shlex.quote(unit)}').strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            for name, command in SHOWN.items() if self.prefix else ():
                with open(f'{LOGS}/{self.name}-{name}.log', 'w') as out:
                    out.write(self.run(command).stdout)
            self.off(None)
