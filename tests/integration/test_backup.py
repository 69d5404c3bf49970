#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Backup programs with migratectl's list of what is not here yet: they take all the rest, and nothing of
that, whatever it is called."""
import os
import signal
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import guarded                                                          # noqa: E402
from harness import case, main, same                                    # noqa: E402
from sandbox import BASE, wait_for                                      # noqa: E402
from servers import NEW, OLD, VOLUME                                    # noqa: E402

# What stays a stub, and what a pattern that is not made for it alone would take with it.
NAMES = {b'star*': b'starX', b'what?': b'whatX', b'br[ack]et': b'braet', b'back\\*slash': b'back\\Xslash',
         b'back\\slash': b'backslash', b'blank ': b'blank', b'tab\t': b'tabX', b' first': b'first',
         b'$HOME': b'root', b'# hash': b'hash', b'! no': b'no', b'- minus': b'minus',
         'größe'.encode(): b'size', b'raw\xff': b'raw\xfe', b'{a,b}': b'a', b'~': b'tilde',
         b'pf:x': b'x'}
BROKEN = b'line\nbreak'
ENV = {**os.environ, 'LC_ALL': 'C.UTF-8', 'RESTIC_PASSWORD': 'x', 'BORG_BASE_DIR': BASE + '/base',
       'BORG_RELOCATED_REPO_ACCESS_IS_OK': 'yes', 'HOME': BASE}


def tree(root):
    root = os.fsencode(root)
    for name, other in {**NAMES, BROKEN: b'other'}.items():
        for path in (b'files/' + name, b'files/' + other, b'dirs/' + name + b'/unfilled/file',
                     b'dirs/' + other + b'/unfilled/file'):
            os.makedirs(os.path.dirname(root + b'/' + path), exist_ok=True)
            with open(root + b'/' + path, 'wb') as out:
                out.write(path * 1000)


def listed(migration, tool, *snapshot):
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, '--for', tool,
                           'backup-list', VOLUME, *snapshot], capture_output=True, check=False)
    same(done.returncode, 0, f'{tool}: {done.stderr}')
    return done.stdout, done.stderr


def contents(root):
    """{path: bytes} of the files below."""
    found, root = {}, os.fsencode(root)
    for at, _, files in os.walk(root):
        for name in files:
            with open(at + b'/' + name, 'rb') as file:
                found[os.path.relpath(at + b'/' + name, root)] = file.read()
    return found


def run(*argv, cwd=None):
    subprocess.run(argv, env=ENV, cwd=cwd, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)


def with_tar(excludes, out):
    run('tar', '-C', NEW, '--anchored', '--exclude-from=' + excludes, '-cf', out + '.tar', '.')
    with tarfile.open(out + '.tar', errors='surrogateescape') as archive:
        archive.extractall(out)
    return out


def with_rsync(excludes, out, source=NEW):
    run('rsync', '-a', '--from0', '--exclude-from=' + excludes, source + '/', out)
    return out


def with_restic(excludes, out):
    run('restic', '--no-cache', '-r', out + '.repo', 'init')
    run('restic', '--no-cache', '-r', out + '.repo', 'backup', '--exclude-file=' + excludes, NEW)
    run('restic', '--no-cache', '-r', out + '.repo', 'restore', 'latest', '--target', out)
    return out + NEW


def with_borg(excludes, out):
    run('borg', 'init', '--encryption=none', out + '.repo')
    run('borg', 'create', '--exclude-from', excludes, out + '.repo::one', NEW)
    os.mkdir(out)
    run('borg', 'extract', out + '.repo::one', cwd=out)
    return out + NEW


TOOLS = {'tar': with_tar, 'rsync': with_rsync, 'restic': with_restic, 'borg': with_borg}


@case()
def programs(args):
    """One after the other, on a volume of which half is here."""
    migration, guard = guarded.begin(args, tree)
    os.listdir(NEW)
    new = os.fsencode(NEW)
    os.listdir(NEW + '/files')
    os.listdir(NEW + '/dirs')
    wanted = {}
    for path, data in contents(OLD).items():
        top, name = path.split(b'/')[:2]
        if name not in NAMES and name != BROKEN:
            if top == b'dirs':
                os.listdir(new + b'/dirs/' + name)
                os.listdir(new + b'/dirs/' + name + b'/unfilled')
            with open(new + b'/' + path, 'rb') as file:
                same(file.read(), data, path)
            wanted[path] = data
    wait_for('names come ahead', lambda: b'line\nbreak/unfilled' in listed(migration, 'paths')[0])
    # So that nothing comes any more, whoever opens it.
    guard.stop(signal.SIGTERM)
    migration.configure(source=migration.source, guard='no')
    same(guard.start(wait=False).process.wait(60), 0, "the guard's status")
    plain = listed(migration, 'paths')[0]
    missing = {where % name for where in (b'files/%s', b'dirs/%s/unfilled') for name in (*NAMES, BROKEN)}
    same(sorted(plain.split(b'\0')[:-1]), sorted(missing | {b'.migrate'}), 'the list')
    for tool, backup in TOOLS.items():
        text, said = listed(migration, tool)
        same(b'2 names' in said, tool in ('tar', 'restic'), f'{tool}: what is said of line breaks')
        with open(f'{BASE}/{tool}.list', 'wb') as out:
            out.write(text)
        same(contents(backup(out.name, f'{BASE}/{tool}')), wanted, f'what {tool} has')
    migration.crawl()
    same(listed(migration, 'paths')[0], b'.migrate\0', 'the list when all is here')


@case()
def snapshot(args):
    """What was missing when it was taken, though it comes afterwards, under another name, too."""
    migration, _ = guarded.begin(args, tree, fs='btrfs')
    os.listdir(NEW)
    os.listdir(NEW + '/dirs')
    names = os.listdir(os.fsencode(NEW) + b'/files')
    whole = {b'files/starX', b'files/tabX'}
    for path in whole:
        with open(os.fsencode(NEW) + b'/' + path, 'rb') as file:
            file.read()
    os.rename(NEW + '/files/root', NEW + '/files/moved')
    taken = NEW + '/taken'
    run('btrfs', 'subvolume', 'snapshot', '-r', NEW, taken)
    os.rename(NEW + '/files/moved', NEW + '/files/root')
    contents(NEW + '/files')
    listing = listed(migration, 'paths', taken)[0].split(b'\0')
    same(sorted(path for path in listing if path.startswith(b'files/')),
         sorted({b'files/' + name for name in names if name != b'root'} - whole | {b'files/moved'}),
         'what of the files is missing in the snapshot')
    with open(BASE + '/list', 'wb') as out:
        out.write(listed(migration, 'rsync', taken)[0])
    same(listed(migration, 'borg', os.path.relpath(taken)), listed(migration, 'borg', taken),
         'by a relative path')
    same(contents(with_rsync(out.name, BASE + '/out', taken)),
         {path: data for path, data in contents(OLD).items() if path in whole}, 'a copy of the snapshot')


@case()
def nothing_yet(args):
    """A list of nothing would be taken for one of everything."""
    migration, _ = guarded.begin(args, tree)
    same(migration.ctl('backup-list', may_fail=True), None, 'the list of what is not here at all')
    migration.crawl()
    migration.ctl('finalize')
    same(migration.ctl('backup-list'), '', 'the list when all is over')


if __name__ == '__main__':
    sys.exit(main())
