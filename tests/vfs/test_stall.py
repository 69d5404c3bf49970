#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMB clients of a real migration whose old server stands still, and whose retriever is killed: what
cannot be had times out, what is here is served, and the work goes on behind (I11)."""
import os
import signal
import sys

from door import content, fid_of, listing, open_status, opened, status_is, timed
import smb2
import tree
from harness import case, expect, main, no_differences, same
from sandbox import wait_for
from servers import NEW, OLD, Stalled, stack

LIST = dict(access=smb2.READ_DATA, options=smb2.DIRECTORY_FILE)
WIDE = 3000


def fill(root):
    os.chmod(root, 0o777)
    for name in ('wide', 'other', 'deep/below', 'there'):
        os.makedirs(f'{root}/{name}')
    for n in range(WIDE):
        with open(f'{root}/wide/file{n:04}', 'wb') as file:
            file.write(b'%04d' % n)
    for path in ('other/file', 'deep/below/file', 'there/file', 'here'):
        with open(f'{root}/{path}', 'wb') as file:
            file.write(path.encode() * 1000)


def begin(args, hold):
    old, migration = stack(args.build, fill)
    migration.attach()
    server = migration.start_smbd(settings={'migrate:hold': str(hold)})
    session = server.session()
    listing(session)
    same(content(session, 'here'), b'here' * 1000, 'a file')
    same(listing(session, 'there'), ['file'], 'names')
    return old, migration, session


@case()
def old_server_stalled(args):
    old, migration, session = begin(args, 5)
    with Stalled(old):
        deferred, = session.start(smb2.create('wide', **LIST))
        for _ in range(20):
            same(content(session, 'here'), b'here' * 1000, 'what is here')
        status_is(session.connection.wait(deferred), smb2.IO_TIMEOUT, 'a directory')
        status_is(session.ask(smb2.create('other\\file')), smb2.IO_TIMEOUT, 'a name')
        same(open_status(session, 'deep\\below\\file'), 'ACCESS_DENIED', 'a name on the way')
        fid = opened(session, 'there\\file', access=smb2.READ_DATA)
        status_is(session.ask(smb2.read(fid, 0, 10)), smb2.IO_TIMEOUT, 'data')
        same(content(session, 'here'), b'here' * 1000, 'what is here in the end')
    # Nobody asks again.
    wait_for('the directory is filled behind', lambda: len(os.listdir(NEW + '/wide')) == WIDE)
    wait_for('the name is there', lambda: os.path.exists(NEW + '/other/file'))
    wait_for('data is there', lambda: session.ask(smb2.read(fid, 0, 10)).status == smb2.SUCCESS)
    same(smb2.output(session.ask(smb2.read(fid, 0, 10))), b'there/file', 'data')
    same(len(listing(session, 'wide')), WIDE, 'names')
    wait_for('names on the way are there', lambda: open_status(session, 'deep\\below\\file') ==
             'SUCCESS')
    same(content(session, 'deep\\below\\file'), b'deep/below/file' * 1000, 'content')


@case()
def retriever_killed(args):
    """Again and again, while a client walks through the tree; it notices nothing."""
    old, migration, session = begin(args, 30)
    for name in ('wide', 'deep', 'other'):
        with Stalled(old):
            mid, = session.start(smb2.create(name, **LIST))
            status_is(session.ask(smb2.echo()), smb2.SUCCESS, 'ECHO')
            migration.retriever.stop(signal.SIGKILL)
        migration.start_retriever()
        session.ask(smb2.close(fid_of(status_is(session.connection.wait(mid), smb2.SUCCESS, name))))
    same(len(listing(session, 'wide')), WIDE, 'names')
    migration.crawl()
    no_differences(tree.compare(OLD, NEW))


@case()
def after_the_end(args):
    """The same client goes on; a new one is served without the layer looking at anything."""
    old, migration, session = begin(args, 30)
    migration.crawl()
    migration.ctl('finalize')
    migration.retriever.stop()
    same(content(session, 'wide\\file0007'), b'0007', 'content')
    same(len(listing(session, 'wide')), WIDE, 'names')
    fresh = migration.smbd.session()
    same(content(fresh, 'deep\\below\\file'), b'deep/below/file' * 1000, 'content')


if __name__ == '__main__':
    sys.exit(main())
