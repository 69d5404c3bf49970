#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may ask a retriever for what: root, members of the group quickmigrate-monitor, and nobody else."""
import json
import os
import shutil
import subprocess
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from harness import case, expect, main, same                            # noqa: E402
from peer import (BEGIN, CANCEL, CONTROL, CONTROLLER, CRAWLER, DOOR, END, FILL, FINISH, HELLO,      # noqa: E402
                  NAME, RANGE, SYNC, Peer)
from sandbox import BASE, sh                                            # noqa: E402
from servers import VOLUME, Migration                              # noqa: E402

GROUP, GID, USER = 'quickmigrate-monitor', 64999, 64998
MEMBERS = {'first': (GID, []), 'further': (USER, [USER, GID])}  # primary group, and the others
CLOSED = BASE + '/closed'                # nor need they see the volume's root
PROGRAM = BASE + '/migratectl'
WHO = f'members of the group {GROUP} may ask for status and metrics'
WATCHERS_MAX = 16                                               # retriever/socket/server.c


def begin(args, group=True):
    os.makedirs(BASE + '/old/below')
    with open(BASE + '/old/below/file', 'w') as out:
        out.write('content')
    with open('/etc/group') as file:
        lines = [line for line in file if not line.startswith(GROUP)]
    with open(BASE + '/group', 'w') as out:
        out.writelines(lines + ([f'{GROUP}:x:{GID}:\n'] if group else []))
    sh('mount', '--bind', BASE + '/group', '/etc/group')
    migration = Migration(args.build, f'file://{BASE}/old', root=CLOSED + '/new')
    os.chmod(CLOSED, 0o700)
    migration.start_retriever()
    migration.attach()
    os.listdir(migration.root)
    shutil.copy(migration.program('migratectl'), PROGRAM)   # what is built may be where nobody looks
    os.chmod(BASE, 0o755)
    os.chmod(migration.config, 0o644)
    return migration


def as_user(gid, groups, function):
    """Runs it in a process of that user."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.setgroups(groups)
            os.setgid(gid)
            os.setuid(USER)
            function()
            status = 0
        except BaseException:                               # pylint: disable=broad-except
            traceback.print_exc()
        os._exit(status)
    same(os.waitpid(pid, 0)[1], 0, f'what {function.__name__} ended with')


def run(who, migration, *words, timeout=60):
    gid, groups = who
    return subprocess.run([PROGRAM, '--config', migration.config, *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=timeout, check=False, user=USER, group=gid,
                          extra_groups=groups)


COMMANDS = {'attach': (), 'copy': (), 'errors': (), 'trace': (), 'report': (), 'retry': (), 'skip': ('/x',),
            'aside': (), 'accept': (), 'throttle': ('0',), 'pause': (), 'resume': (), 'verify': (), 'finalize': (),
            'backup-list': (), 'rollback': (), 'changes': (), 'commit': (), 'cutover': ()}


@case(short=True)
def each_command(args):
    migration = begin(args)
    for who in MEMBERS.values():
        one = run(who, migration, 'status', VOLUME)
        same(one.returncode, 0, f'status: {one.stderr}')
        expect('migrating' in one.stdout and 'Journal' not in one.stdout, one.stdout)
        same(json.loads(run(who, migration, '--json', 'status', VOLUME).stdout)['volume']['name'], VOLUME, 'by JSON')
        expect('migrating' in run(who, migration, 'status').stdout, 'of all volumes')
        metrics = run(who, migration, 'metrics')
        expect(metrics.returncode == 0 and f'quickmigrate_up{{volume="{VOLUME}"}} 1\n' in metrics.stdout
               and 'journal_complete' not in metrics.stdout, f'metrics: {metrics}')
        verbose = run(who, migration, '--verbose', 'status', VOLUME)
        expect(verbose.returncode == 1 and WHO in verbose.stderr, f'status --verbose: {verbose}')
        unknown = run(who, migration, 'status', 'none')
        expect(unknown.returncode == 2 and 'none' in unknown.stderr, f'of no volume: {unknown}')
        for command, rest in COMMANDS.items():
            done = run(who, migration, command, VOLUME, *rest)
            expect(done.returncode == 2 and WHO in done.stderr, f'{command}: {done}')
    stranger = USER, []
    for words in ('status', VOLUME), ('status',), ('metrics',):
        done = run(stranger, migration, *words)
        expect(done.returncode in (1, 2), f'of a stranger: {done}')
        expect('up{' not in done.stdout and WHO in done.stderr or 'Permission denied' in done.stdout, done)
    migration.crawl()
    same(run(MEMBERS['further'], migration, '--watch', 'status', VOLUME).returncode, 0, '--watch')


def ended(peer):
    """Whether the retriever has ended the connection."""
    try:
        return peer.receive() is None
    except ConnectionResetError:
        return True


def of_a_member():
    path = f'/run/quickmigrate/{VOLUME}.sock'
    for role in DOOR, CRAWLER, 4, 0, 5:
        peer = Peer(path, hello=False)
        peer.send(HELLO, length=role, text=VOLUME.encode())
        expect(ended(peer), f'role {role}')
    peer = Peer(path, hello=False)
    peer.send(HELLO, length=CONTROLLER, text=b'another')
    same(peer.receive()[2], -22, 'of another volume')
    expect(ended(peer), 'of another volume')
    peer = Peer(path, hello=False)
    peer.send(CONTROL, text=b'status')
    expect(ended(peer), 'without HELLO')
    for op in (BEGIN, END, FILL, FINISH, NAME, RANGE, SYNC, HELLO, 0, 11, 99):
        for path_of in None, '/', '/etc/passwd':
            peer = Peer(path, role=CONTROLLER)
            if path_of:
                peer.object(op, path_of, length=1, text=b'below')
            else:
                peer.send(op, length=1, text=b'below')
            expect(ended(peer), f'operation {op} of {path_of}')
    peer = Peer(path, role=CONTROLLER)
    same(peer.ask(CONTROL, text=b'status')[0], 0, 'status')
    for text in (b'', b'statu', b'status ', b'status verbose', b'status\n', b'status\0', b'Status', b'errors 0',
                 b'errors summary 0', b'trace 0', b'settings', b'report', b'pause', b'finalize', b'throttle 1',
                 b'skip all /x', b'aside discard', b'proof begin 1', b'mend x', b'attach', b'copy', b'accept', b'retry',
                 b'verify', b'aside', b'resume', b'finalize unwatched', b'x' * 60000):
        status, said = peer.ask(CONTROL, text=text)
        expect(status == -1 and WHO.encode() in said, f'{text[:40]}: {status} {said}')
    peer.send(CANCEL, ref=77)
    same(peer.ask(CONTROL, text=b'status')[0], 0, 'status after all that')
    others = [Peer(path, role=CONTROLLER) for _ in range(WATCHERS_MAX - 1)]
    late = Peer(path, hello=False)
    try:
        late.send(HELLO, length=CONTROLLER, text=VOLUME.encode())
    except BrokenPipeError:
        pass
    else:
        expect(ended(late), 'one too many')
    for _ in range(3000):                                   # who does not read is disconnected
        try:
            others[0].send(CONTROL, text=b'status')
        except OSError:
            break


def of_a_stranger():
    try:
        Peer(f'/run/quickmigrate/{VOLUME}.sock', hello=False)
    except PermissionError:
        return
    expect(False, 'a stranger is connected')


def passed_on():
    """By the socket's mode it may, by what the kernel says of it not."""
    peer = Peer(f'/run/quickmigrate/{VOLUME}.sock', hello=False)
    try:
        peer.send(HELLO, length=CONTROLLER, text=VOLUME.encode())
    except BrokenPipeError:
        return
    expect(ended(peer), 'whoever gets at the socket')


@case()
def raw_frames(args):
    migration = begin(args)
    for gid, groups in MEMBERS.values():
        as_user(gid, groups, of_a_member)
    as_user(USER, [], of_a_stranger)
    with open(migration.retriever.log) as log:
        same([line for line in log if 'peer' in line], [], 'what members can have written to the log')
    os.chmod(migration.socket, 0o666)
    as_user(USER, [], passed_on)
    same(Peer(migration.socket, role=CONTROLLER).ask(CONTROL, text=b'settings')[0], 0, 'root')
    same(migration.status()['paused'], False, 'what nobody paused')
    migration.crawl()


@case()
def no_such_group(args):
    """Then the socket is root's alone."""
    migration = begin(args, group=False)
    same(os.stat(migration.socket).st_mode & 0o777, 0o600, 'mode of the socket')
    as_user(GID, [GID], of_a_stranger)
    os.chmod(migration.socket, 0o666)
    as_user(GID, [GID], passed_on)


if __name__ == '__main__':
    sys.exit(main())
