# SPDX-License-Identifier: GPL-3.0-or-later
"""Guests like those of uml.py, with a kernel of Debian's for real machines: User-Mode Linux is built
without FANOTIFY_ACCESS_PERMISSIONS and ksmbd.  QEMU without KVM, some three times slower."""
import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shutil
import socket
import subprocess
import tempfile

import suites
import uml
from sandbox import Failure, sh, wait_for

CURRENT, OLDER = 'trixie-backports', 'bookworm'     # Linux 7, with pre-content events; 6.1
INITRD = uml.VM + '/initrd'
# What it takes to see the root; others are loaded from there.
NEEDED = ('virtio_pci', 'virtio_blk', 'virtio_net', 'virtio_console', '9pnet_virtio', '9p', 'overlay')


def unpack_kernel(suite, where):
    """The kernel's package and those into which it is split, if it is."""
    with suites.apt(suite) as options:
        def depends(package, *kinds):
            found = sh('apt-cache', *options, 'depends', '--important', package)
            return re.findall(rf'Depends: ((?:{"|".join(kinds)})-\d\S*)', found)
        image, = depends('linux-image-amd64', 'linux-image')
        for package in (image, *depends(image, 'linux-base', 'linux-binary', 'linux-modules')):
            suites.unpack(options, package, where)
    version = image.removeprefix('linux-image-')
    if not os.path.isdir(where + '/lib'):
        os.symlink('usr/lib', where + '/lib')
    sh('depmod', '-b', where, version)
    return version


def make_initrd(tree, version, busybox, initrd):
    with tempfile.TemporaryDirectory() as work:
        for directory in ('bin', 'modules', 'proc', 'lower', 'job', 'upper', 'root'):
            os.mkdir(f'{work}/{directory}')
        wanted = {}                     # in order
        for module in NEEDED:
            for line in sh('modprobe', '-d', tree, '-S', version, '--show-depends',
                           module).splitlines():
                if line.startswith('insmod '):
                    wanted[line.split()[1]] = True
        for n, path in enumerate(wanted):
            name = os.path.basename(path).removesuffix('.xz')
            with open(f'{work}/modules/{n:02}-{name}', 'wb') as out:
                subprocess.run(['xz', '-dcf', path], stdout=out, check=True)
        shutil.copy(busybox, work + '/bin/busybox')
        shutil.copy(INITRD, work + '/init')
        with open(initrd + '.new', 'wb') as out:
            subprocess.run('find . | cpio -o -H newc --quiet', shell=True, cwd=work, stdout=out,
                           check=True)
    os.rename(initrd + '.new', initrd)


def fetch(suite):
    """The kernel, its modules' directory and a first file system, three paths.  Needs the network the
    first time: call it before entering the sandbox."""
    os.makedirs(uml.CACHE, exist_ok=True)
    where = f'{uml.CACHE}/kernel-{suite}'
    with open(INITRD, 'rb') as script:
        initrd = f'{where}/initrd-{hashlib.sha256(script.read()).hexdigest()[:8]}'
    busybox, = glob.glob(uml.unpacked('busybox-static') + '/**/bin/busybox', recursive=True)
    with open(uml.CACHE + '/lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(where):
            with tempfile.TemporaryDirectory(dir=uml.CACHE) as scratch:
                unpack_kernel(suite, scratch + '/tree')
                os.rename(scratch + '/tree', where)
        version, = os.listdir(where + '/lib/modules')
        if not os.path.exists(initrd):
            make_initrd(where, version, busybox, initrd)
    modules = f'{where}/lib/modules/{version}'
    found = [path for path in (f'{modules}/vmlinuz', f'{where}/boot/vmlinuz-{version}')
             if os.path.exists(path)]
    if not found:
        raise Failure(f'{where} holds no kernel: remove it')
    return found[0], modules, initrd


class Guest(uml.Guest):
    """Disks are /dev/vda and on."""

    def __init__(self, command, suite=CURRENT, **kw):
        self.suite = suite
        super().__init__(command, **kw)

    def prepare(self, settings, disks, shares, memory):
        kernel, modules, initrd = fetch(self.suite)
        settings.update(modules=modules, interface='eth0', kind='9p', out='/dev/vport0p1',
                        err='/dev/vport0p2', asked='')
        argv = ['qemu-system-x86_64', '-nodefaults', '-no-user-config', '-no-reboot', '-display',
                'none', '-M', 'q35', '-m', str(memory), '-accel', 'tcg,tb-size=512', '-cpu', 'Nehalem',
                '-kernel', kernel, '-initrd', initrd, '-append',
                f'job={self.job} console=ttyS0 panic=-1 mitigations=off nopti nokaslr tsc=reliable '
                'no_timer_check sysrq_always_enabled quiet', '-serial', 'stdio', '-device',
                'virtio-serial-pci', '-monitor', f'unix:{self.job}/monitor,server=on,wait=off']
        for tag, directory in [('root', '/'), ('job', self.job), *(
                (f'share{n}', share) for n, share in enumerate(shares))]:
            argv += ['-fsdev', f'local,id={tag},path={directory.replace(",", ",,")},'
                     'security_model=passthrough,multidevs=remap' +
                     (',readonly=on' if tag == 'root' else ''),
                     '-device', f'virtio-9p-pci,fsdev={tag},mount_tag={tag}']
        for n, disk in enumerate(disks):
            argv += ['-drive', f'file={os.path.abspath(disk)},format=raw,if=none,id=disk{n}',
                     '-device', f'virtio-blk-pci,drive=disk{n}']
        if self.interface:
            argv += ['-netdev', f'tap,id=net,ifname={self.interface},script=no,downscript=no',
                     '-device', 'virtio-net-pci,netdev=net,romfile=']
        return argv

    def tasks(self):
        """By its keyboard; what it says then comes over its serial line."""
        size = os.path.getsize(self.console)
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(uml.ANSWERS)
            monitor.connect(self.job + '/monitor')
            for key in '9t':
                monitor.sendall(f'sendkey alt-sysrq-{key}\n'.encode())
            with contextlib.suppress(Failure):          # the workqueues come last
                wait_for('the guest tells', lambda: b'Showing busy workqueues' in self.console_tail(size), 60)
        yield self.console_tail(size).decode(errors='replace')

    def check_moves(self):
        """It has several threads, and has not been seen to stand still."""

    @staticmethod
    def outputs(writes):
        argv = []
        for n, fd in enumerate(writes, 1):
            argv += ['-add-fd', f'fd={fd},set={n}', '-chardev',
                     f'file,id=out{n},path=/dev/fdset/{n},append=on', '-device',
                     f'virtserialport,chardev=out{n},nr={n}']
        return argv
