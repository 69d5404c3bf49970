#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way back: clients change things on the new server, and the old one's tree becomes the same.

The old server's tree is reached through a mount of its own, as an administrator makes it for the way
back; the migration itself reads it through an export that cannot be written (I10)."""
import contextlib
import json
import os
import signal
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import BASE, Process, sh, wait_for                         # noqa: E402
from servers import NEW, OLD, VOLUME, stack                             # noqa: E402

BACK = BASE + '/back'           # the mount with write rights


def begin(args, files=400, **settings):
    """A volume that is served, with its journal; its old server exports read-only."""
    old, migration = stack(args.build, lambda root: tree.make(root, files, args.seed, 2 << 20),
                           old={'export': 'Access_Type = RO;'}, rollback_source=BACK, **settings)
    os.makedirs(BACK)
    sh('mount', '--bind', OLD, BACK)
    migration.start_journal()
    migration.attach()
    migration.start_server()
    return old, migration


def rollback(migration, *options, may_fail=False):
    argv = [migration.program('migratectl'), '--config', migration.config, '--json', *options,
            'rollback', VOLUME]
    process = Process('rollback', argv)
    status = process.wait(120)
    with open(process.log) as log:
        text = log.read()
    os.truncate(process.log, 0)
    if status and not may_fail:
        raise AssertionError(f'rollback: exit {status}: {text}')
    return json.loads(text)['rollback'] if text.startswith('{') else text


def equal(migration):
    """Both trees.  What is not here yet is brought first."""
    migration.crawl()
    no_differences(tree.compare(OLD, NEW, slack=1 << 30))
    for path in map(os.fsdecode, tree.every(NEW)):
        there = OLD + path[len(NEW):]
        if path.startswith(NEW + '/.migrate') or os.path.islink(path):
            continue
        for name in ('system.posix_acl_access', 'system.posix_acl_default', 'user.back'):
            same(attribute(there, name), attribute(path, name), f'{name} of {there}')


def attribute(path, name):
    with contextlib.suppress(OSError):
        return os.getxattr(path, name)


def change_by_nfs(client, tag):
    """Something of everything; returns how many objects are made, changed, renamed, removed."""
    c, root = client, client.root
    wide = c.walk('wide')[0]
    fresh = c.mkdir(root, f'new {tag}')
    fresh = c.walk(f'new {tag}')[0]
    made = c.create(fresh, 'file', mode=0o640)
    c.write(made, 0, b'made ' * 5000, nfs3.FILE_SYNC)
    c.link(made, wide, f'link {tag}')
    c.symlink(fresh, 'symlink', 'file')
    return wide


@case()
def nothing_migrated(args):
    _, migration = begin(args)
    client = migration.server.client()
    wide = change_by_nfs(client, 'one')
    client.write(client.walk('wide/00001')[0], 100, b'changed', nfs3.FILE_SYNC)
    client.setattr(client.walk('wide/00002')[0], mode=0o604, uid=77, gid=78)
    client.rename(wide, '00003', client.root, 'moved')
    client.rename(wide, '00004', wide, '00005')
    client.remove(wide, '00006')
    client.rename(client.root, 'links', wide, 'links')
    client.write(client.walk('wide/links/a')[0], 0, b'linked', nfs3.FILE_SYNC)
    client.setattr(client.walk('large/524288 bytes')[0], size=1000)
    before = migration.status()
    plan = rollback(migration, '--plan')
    same([plan[key] for key in ('made', 'renamed', 'removed', 'conflicts')], [3, 3, 2, []],
         'what is planned')
    expect(not os.path.exists(OLD + '/moved'), 'a plan does nothing')
    done = rollback(migration)
    same([done[key] for key in ('made', 'renamed', 'removed', 'conflicts', 'losses')],
         [3, 3, 2, [], []], 'what is done')
    fetched = int(migration.status()['bytes_fetched']) - int(before['bytes_fetched'])
    expect(fetched < 300_000, f'{fetched} bytes were fetched: stubs cost nothing')
    expect(not os.path.exists(OLD + '/.migrate-rollback'), 'something is left over')
    equal(migration)
    same(rollback(migration)['made'], 0, 'made again')


if __name__ == '__main__':
    sys.exit(main())
