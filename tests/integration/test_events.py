#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hooks: commands of the administrator's that are run when something has happened to a volume."""
import fcntl
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, wait_for                                      # noqa: E402
from servers import NEW, OLD, VOLUME, Stalled, stack                    # noqa: E402

SCRIPT, TOLD, FAILS, MARKS = (f'{BASE}/{name}' for name in ('hook', 'told', 'fails', 'marks'))
# Tells what it was told; fails while there is that file; and is ended with what it has begun.
HOOK = f'''#!/bin/sh
echo "$1 $QUICKMIGRATE_EVENT $QUICKMIGRATE_VOLUME $QUICKMIGRATE_ROOT $QUICKMIGRATE_STATE \\
$QUICKMIGRATE_ERRORS $QUICKMIGRATE_NEW_ERRORS" >>{TOLD}
[ ! -e {FAILS} ]
'''


def fill(root):
    os.chmod(root, 0o755)
    if os.path.isdir(root + '/lost+found'):     # it would be one more that is refused
        os.rmdir(root + '/lost+found')
    for name, mode in (('a', 0o600), ('b', 0o600), ('c', 0o644)):
        with open(f'{root}/{name}', 'w') as out:
            out.write(name)
        os.chown(f'{root}/{name}', 1000, 1000)
        os.chmod(f'{root}/{name}', mode)


def begin(args, **settings):
    with open(SCRIPT, 'w') as out:
        out.write(HOOK)
    os.chmod(SCRIPT, 0o755)
    hooks = {f'on_{event}': f'{SCRIPT} "of {event}"' for event in ('whole', 'error', 'away')}
    server, migration = stack(args.build, fill, **{**hooks, **settings})
    migration.attach()
    return server, migration


def run(migration, *options, marks=MARKS):
    return subprocess.run([migration.program('migratectl'), '--config', migration.config,
                           f'--marks={marks}', *options, 'hooks'], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, check=False)


def told(migration, status=0):
    """What one run tells, without what all have in common."""
    done = run(migration)
    same(done.returncode, status, f'exit status of hooks: {done.stderr}')
    try:
        with open(TOLD) as file:
            lines = file.read().splitlines()
        os.unlink(TOLD)
    except FileNotFoundError:
        return []
    for line in lines:
        expect(f' {VOLUME} {NEW} ' in line, line)
    return sorted(line.replace(f' {VOLUME} {NEW}', '') for line in lines)


@case()
def failures_then_whole(args):
    """Of two files that the old server keeps to their owner."""
    _, migration = begin(args, old={'export': 'Squash = Root_Squash; Attr_Expiration_Time = 0;'})
    same(told(migration), [], 'while nothing has happened')
    crawl(migration)
    same(migration.status()['errors'], 2, 'failures')
    first = ['of error error migrating 2 2']
    with open(FAILS, 'w'):
        same(told(migration, status=1), first, 'of two failures')
    os.unlink(FAILS)
    same(told(migration), first, 'once more, as the hook had failed')
    same(told(migration), [], 'and then no more')
    os.chmod(OLD + '/a', 0o644)
    migration.ctl('retry')
    crawl(migration)
    same(migration.status()['errors'], 1, 'failures that are left')
    same(told(migration), [], 'of what has failed before')
    os.chmod(OLD + '/b', 0o644)
    migration.ctl('retry')
    migration.crawl()
    same(told(migration), ['of whole whole whole 0 0'], 'when it is whole')
    same(told(migration), [], 'a second time')
    os.unlink(MARKS)
    same(told(migration), ['of whole whole whole 0 0'], 'when what was told is lost')


def crawl(migration):
    """As far as the old server lets it."""
    crawler = migration.start_crawler()
    expect(crawler.wait(120) != 0, 'the crawler says that something failed')


def said(migration, text):
    """What becomes an entry of systemd's journal."""
    def is_said():
        with open(migration.retriever.log) as log:
            return text in log.read()
    wait_for(f'the retriever says: {text}', is_said)


@case()
def away_and_back(args):
    server, migration = begin(args)
    with Stalled(server):
        crawler = migration.start_crawler()         # somebody has to ask
        wait_for('the old server is away for long enough',
                 lambda: migration.status()['source_away_seconds'] >= 60)
        said(migration, 'has not answered for')
        same(told(migration), ['of away away migrating 0 0'], 'when it is away')
        same(told(migration), [], 'a second time')
    same(crawler.wait(120), 0, 'the crawler')
    same(told(migration), ['of away back whole 0 0', 'of whole whole whole 0 0'], 'when it is back')
    said(migration, 'nobody waits any more')
    said(migration, 'everything is here')
    same(told(migration), [], 'a second time')


@case()
def what_is_wrong(args):
    """Is told, and keeps nobody else from being told."""
    _, migration = begin(args, on_error='/nowhere/program')
    migration.crawl()
    with open(migration.config, 'a') as out:
        out.write(f'[volume other]\nroot={BASE}\nsource=nfs://192.0.2.1/x\non-whole={SCRIPT}\n'
                  f'socket={BASE}/none\n')
    with open(MARKS + '.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(migration)
        same(done.returncode, 1, 'beside another run')
        expect(re.search(r'marks\.lock: .*another run', done.stderr), done.stderr)
    with open(MARKS, 'w') as out:
        out.write('nonsense')
    done = run(migration)
    expect(done.returncode == 1 and f'{MARKS}: ' in done.stderr and 'remove it' in done.stderr,
           f'of damaged marks: {done.stderr}')
    os.unlink(MARKS)
    done = run(migration, marks=f'{BASE}/no/such')
    expect(done.returncode == 1 and '--marks' in done.stderr, f'of marks nowhere: {done.stderr}')
    same(told(migration), ['of whole whole whole 0 0'], 'of the volume that is there')
    with open(MARKS) as file:
        expect('[other]' not in file.read(), 'nothing is noted of the other')


if __name__ == '__main__':
    sys.exit(main())
