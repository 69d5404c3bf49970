#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest, as this machine's kernel may count no quotas: the old server's (xfs, told by rpc.rquotad)
are printed and set on ext4.

    quota.py BUILD
"""
import os
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'support'))
import sandbox                                                          # noqa: E402
from sandbox import BASE, LOGS, Process, sh, wait_for                   # noqa: E402
from servers import NEW, OLD, VOLUME, Migration, old_server, port_of    # noqa: E402

RQUOTA = 100011
# by the old number: soft and hard limit in KiB, and of files
USERS = {1000: (1000, 2000, 10, 20), 1500: (0, 5000000000, 0, 0), 33: (0, 0, 5, 7)}
GROUPS = {1000: (0, 3000, 0, 0)}
MAP = {1000: 2000}                      # users; www-data (33) is known here, 1500 owns something
OPTION = {'user': '-u', 'group': '-g'}


def limits(kind, place):
    """{id: limits} by repquota, but of root."""
    found = {}
    for line in sh('repquota', OPTION[kind], '-nv', '-O', 'csv', place).splitlines()[1:]:
        fields = line.split(',')
        if fields[0] != '#0':
            found[int(fields[0][1:])] = tuple(int(fields[n]) for n in (4, 5, 8, 9))
    return {number: limit for number, limit in found.items() if any(limit)}


def ctl(migration, *options, status=0):
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, *options,
                           'quota', VOLUME], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)
    expect(done.returncode == status, f'quota {options} ends with {done.returncode}: {done}')
    return done.stdout, done.stderr


def expect(truth, what):
    if not truth:
        raise sandbox.Failure(what)


def prepare():
    sh('ip', 'link', 'set', 'lo', 'up')
    for directory in (LOGS, OLD, NEW, '/var/lib/nfs/ganesha', '/run/ganesha', '/run/rpcbind'):
        os.makedirs(directory, exist_ok=True)
    sh('mkfs.xfs', '-q', '/dev/ubda')
    sh('mount', '-o', 'uquota,gquota', '/dev/ubda', OLD)
    sh('mkfs.ext4', '-q', '-O', 'quota', '/dev/ubdb')
    sh('mount', '-o', 'usrquota,grpquota', '/dev/ubdb', NEW)
    for kind, wanted in (('user', USERS), ('group', GROUPS)):
        for number, (soft, hard, files_soft, files_hard) in wanted.items():
            sh('setquota', OPTION[kind], number, soft, hard, files_soft, files_hard, OLD)
    for owner in (1000, 1500):
        os.mkdir(f'{OLD}/{owner}')
        os.chown(f'{OLD}/{owner}', owner, owner)


def main(build):
    prepare()
    old = old_server()
    migration = Migration(build, f'nfs://{old.address}{OLD}', NEW + '/tree',
                          map_users=' '.join(f'{a}:{b}' for a, b in MAP.items()))
    _, error = ctl(migration, status=1)
    expect('quotas of users' in error and 'rpc.rquotad' in error, f'without a rquotad: {error}')
    rquotad = Process('rquotad', ['rpc.rquotad', '-F'], old.host)
    wait_for('rquotad is registered', lambda: port_of(old.address, RQUOTA, 2), process=rquotad)
    migration.start_retriever()
    migration.attach()
    migration.crawl()
    wanted = {MAP.get(number, number): limit for number, limit in USERS.items()}
    text, error = ctl(migration)
    lines = {f'setquota {OPTION[kind]} {number} {" ".join(map(str, limit))} \'{NEW}\''
             for kind, all_of_it in (('user', wanted), ('group', GROUPS))
             for number, limit in all_of_it.items()}
    expect((set(text.splitlines()), error) == (lines, ''), f'{text}{error} instead of {lines}')
    _, error = ctl(migration, '--apply', status=1)
    expect('finalize' in error and not limits('user', NEW), f'before it is finished: {error}')
    migration.ctl('finalize')
    ctl(migration, '--apply')
    for kind, all_of_it in (('user', wanted), ('group', GROUPS)):
        expect(limits(kind, NEW) == all_of_it, f'{kind}: {limits(kind, NEW)}, not {all_of_it}')
    sh('setquota', '-u', 2000, 0, 0, 0, 0, NEW)
    for line in text.splitlines():
        sh(*shlex.split(line))
    expect(limits('user', NEW) == wanted, f'by the lines: {limits("user", NEW)}')
    os.mkdir(BASE + '/elsewhere')               # a file system without quotas
    migration.root = BASE + '/elsewhere'
    migration.configure(source=migration.source)
    text, error = ctl(migration)
    expect('quotas of users are off' in error and 'quotaon' in error, f'with quotas off: {error}')
    expect(' 33 ' in text and ' 1500 ' not in text, f'of whom this machine knows: {text}')


if __name__ == '__main__':
    try:
        main(*sys.argv[1:])
    except (sandbox.Failure, subprocess.SubprocessError, OSError) as failure:
        print(failure)
        sandbox.show_logs()
        sys.exit(1)
