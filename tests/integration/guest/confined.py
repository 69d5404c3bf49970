#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: a volume is migrated by programs of BUILD that AppArmor confines.

    confined.py BUILD
"""
import ctypes
import os
import subprocess
import sys

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
sys.path.insert(0, TREE + '/tests/support')
import sandbox                                              # noqa: E402
import smbd                                                 # noqa: E402
import smbsource                                            # noqa: E402
from harness import expect, same                            # noqa: E402
from sandbox import sh, volume                              # noqa: E402
from servers import NEW, OLD, Migration                     # noqa: E402

PROFILES = TREE + '/packaging/apparmor/'
RETRIEVER = 'migrate-retriever (enforce)'
PR_SET_NO_NEW_PRIVS = 38


def load(build):
    """The profiles, of the programs in the build directory."""
    sh('mount', '-t', 'securityfs', 'securityfs', '/sys/kernel/security')
    for name in os.listdir(PROFILES):
        with open(PROFILES + name) as file:
            text = file.read()
        libexec = '/usr/libexec/quickmigrate/migrate-'
        for installed, here in (('/usr/sbin/', f'{build}/retriever/'),
                                (libexec + 'smb-worker', f'{build}/retriever/migrate-smb-worker'),
                                (libexec + '{', f'{build}/{{retriever,ctl}}/migrate-{{')):
            text = text.replace(installed, here)
        subprocess.run(['apparmor_parser', '-K', '-r'], input=text, text=True, check=True)


def label(pid):
    with open(f'/proc/{pid}/attr/current') as file:
        return file.read().strip()


def confined(*command):
    """What a program of the retriever's profile can do."""
    done = subprocess.run(['aa-exec', '-p', 'migrate-retriever', '--', 'sh', '-c', *command], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout


def run(build):
    for directory in OLD, NEW:
        volume(directory)
    for n in range(20):
        smbsource.put(f'{OLD}/file-{n}', os.urandom(20000 + n))
    old = smbd.old_smbd(OLD)
    migration = Migration(build, f'smb://root@{old.address}/old', smb_password_file=smbsource.password(),
                          smb_modes='open')
    migration.start_retriever()
    migration.attach()
    same(label(migration.retriever.pid), RETRIEVER, "the retriever's label")
    labels = {label(pid) for pid in smbsource.confined_workers(migration)}
    same(labels, {'migrate-retriever//&migrate-workers (enforce)'}, "the workers' labels")
    migration.crawl()
    smbsource.finish(migration)
    # it may be too slow here for what it asks; what it is refused is told
    found = subprocess.run([f'{build}/ctl/migratectl', 'discover', old.address, '--smb-user', 'root', '--password-file',
                            smbsource.SECRET, '--wait', '200'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, check=False).stdout
    same(denials(), [], f'what was refused; discover: {found}')

    same(confined('echo begun; /bin/true && echo started'), 'begun\n', 'another program')
    expect(any('"exec"' in line for line in denials()), 'it was refused by another')


def denials():
    return [line for line in sh('dmesg').splitlines() if 'apparmor="DENIED"' in line]


def main():
    sandbox.SCRATCH = '/dev/shm'        # an overlay of Linux 6.1 has no unnamed files
    os.environ['DM_DISABLE_UDEV'] = '1'
    sh('modprobe', '--all', 'loop', 'ext4', 'veth')
    load(os.path.abspath(sys.argv[1]))
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)        # as the units have it
    return sandbox.private(lambda: run(os.path.abspath(sys.argv[1])))


if __name__ == '__main__':
    sys.exit(main())
