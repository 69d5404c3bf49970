#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking up and listing what is not here yet."""
import os
import struct
import sys

from door import (CTIME, FILES, LIST, MTIME, ROOT, World, asked, content, listing, nested,
                  open_status, opened, unfilled)
import fake as f
import smb2
from fake import DUMMY, FILL, FILLED, HOLD, NAME
from harness import case, expect, main, same


# ---- what is found ----------------------------------------------------------------------------

@case()
def lists_an_unfilled_directory(args):
    world = World(args, unfilled)
    session = world.session()
    same(listing(session, 'dir'), FILES, 'names')
    same(asked(world), [(FILL, b'')], 'requests')
    same(content(session, 'dir\\file7'), b'content of file7', 'content')
    same(listing(session, 'dir'), FILES, 'names again')
    same(asked(world), [(FILL, b'')], 'requests in the end')


@case()
def opens_a_file_by_one_name(args):
    world = World(args, unfilled)
    session = world.session()
    same(content(session, 'dir\\file3'), b'content of file3', 'content')
    same(asked(world), [(NAME, b'file3')], 'requests')
    same(os.listdir(world.path('dir')), ['file3'], 'names on disk')
    same(content(session, 'dir\\file3'), b'content of file3', 'content again')
    same(asked(world), [(NAME, b'file3')], 'a name that is here is not asked for')


@case()
def every_level_is_asked_for_one_name(args):
    world = World(args, nested)
    same(content(world.session(), 'a\\b\\c\\file'), b'deep', 'content')
    same(asked(world), [(NAME, b'b'), (NAME, b'c'), (NAME, b'file')], 'requests')


@case()
def one_handle_for_many_directories(args):
    """smbd walks with two handles, so that what is known of one directory is not of the third."""
    def fill(world):
        os.makedirs(world.path('n/m'))
        nested(world, 'n/m/a')
    world = World(args, fill)
    same(content(world.session(), 'n\\m\\a\\b\\c\\file'), b'deep', 'content')
    same(asked(world), [(NAME, b'b'), (NAME, b'c'), (NAME, b'file')], 'requests')


@case()
def what_is_not_there(args):
    """No name in any case: that takes all names."""
    world = World(args, unfilled)
    session = world.session()
    same(open_status(session, 'dir\\none'), 'OBJECT_NAME_NOT_FOUND', 'open')
    same(asked(world), [(NAME, b'none'), (FILL, b'')], 'requests')
    world.fake.forget()
    same(open_status(session, 'dir\\none'), 'OBJECT_NAME_NOT_FOUND', 'open again')
    same(open_status(session, 'dir\\none\\none'), 'OBJECT_PATH_NOT_FOUND', 'open below')
    same(asked(world), [], 'requests of a filled directory')


@case()
def another_case(args):
    world = World(args, nested)
    same(content(world.session(), 'A\\B\\C\\FILE'), b'deep', 'content')
    same([op for op, _ in asked(world)].count(FILL), 3, 'fills')


@case()
def case_sensitive(args):
    world = World(args, unfilled, settings={'case sensitive': 'yes'})
    session = world.session()
    same(open_status(session, 'dir\\FILE3'), 'OBJECT_NAME_NOT_FOUND', 'open')
    same(open_status(session, 'dir\\file3'), 'SUCCESS', 'open')
    same(asked(world), [(NAME, b'FILE3'), (NAME, b'file3')], 'requests')


@case()
def times_in_listings(args):
    """The record's, while a fill changes the inode's (I8)."""
    def fill(world):
        for name in ('stub', 'dir'):
            if name == 'stub':
                world.file(name, mtime=MTIME, ctime=CTIME)
            else:
                world.fake.directory(world.path(name), mtime=MTIME, ctime=CTIME)
            os.utime(world.path(name), ns=(MTIME, MTIME + 10**12))
    # The host takes what readdir says beside the name only with this.
    session = World(args, fill, settings={'smbd async dosmode': 'yes'}).session()
    fid = opened(session, '', **LIST)
    reply = session.ask(smb2.query_directory(fid, 37))      # FileIdBothDirectoryInformation
    found = {}
    for entry in smb2.entries(smb2.output(reply)):
        written, = struct.unpack_from('<Q', entry, 24)
        length, = struct.unpack_from('<I', entry, 60)
        found[entry[104:104 + length].decode('utf-16-le')] = written
    for name in ('stub', 'dir'):
        same(found[name], MTIME // 100 + 116444736000000000, f'when {name} was written')


@case()
def times_are_not_rounded(args):
    """To seconds, as the host does where it finds no parts of them in the times of the root."""
    def fill(world):
        world.file('stub', mtime=MTIME, ctime=CTIME)
        f.set_record(ROOT, FILLED, 0, 10**18, 10**18)
        os.utime(ROOT, ns=(10**18, 10**18))
    session = World(args, fill).session()
    fid = opened(session, 'stub')
    reply = session.ask(smb2.query_info(fid, smb2.INFO_FILE, 4))    # FileBasicInformation
    written, = struct.unpack_from('<Q', smb2.output(reply), 16)
    same(written, MTIME // 100 + 116444736000000000, 'when it was written')


# ---- dummies ----------------------------------------------------------------------------------

@case()
def dummies_are_never_shown(args):
    def fill(world):
        unfilled(world)
        for name in ('file3', 'file4'):
            with open(world.path(f'dir/{name}'), 'wb'):
                os.chmod(world.path(f'dir/{name}'), 0)
            f.set_record(world.path(f'dir/{name}'), DUMMY)
    world = World(args, fill)
    session = world.session()
    world.fake.on[NAME] = lambda request: HOLD if request.text == b'file4' else exchange(world,
                                                                                        request)
    same(content(session, 'dir\\file3'), b'content of file3', 'content')
    same(asked(world), [(NAME, b'file3')], 'requests')
    mid, = session.start(smb2.create('dir\\file4'))
    held, = [r for r in world.fake.wait(NAME, 2) if r.text == b'file4']
    exchange(world, held)
    world.fake.reply(held)
    reply = session.connection.wait(mid)
    same(struct.unpack_from('<Q', reply.body, 48)[0], 16, 'size')


@case()
def dummies_on_the_way(args):
    """Each is a file, whatever it stands for."""
    def fill(world):
        nested(world)
        with open(world.path('a/b'), 'wb'):
            os.chmod(world.path('a/b'), 0)
        f.set_record(world.path('a/b'), DUMMY)
    world = World(args, fill)

    def name(request):
        if request.text == b'b':
            os.unlink(world.path('a/b'))
        return world.fake.do_name(request)
    world.fake.on[NAME] = name
    same(open_status(world.session(), 'a\\b\\none'), 'OBJECT_NAME_NOT_FOUND', 'what is not there')
    same(asked(world)[0], (NAME, b'b'), 'the first request')


def exchange(world, request):
    name = request.text.decode()
    path = world.path(f'dir/{name}')
    if os.path.exists(path):
        os.unlink(path)
    world.fake.make_entries(world.path('dir'), [name])
    return 0


# ---- symbolic links ---------------------------------------------------------------------------

@case()
def links_lead_to_what_is_not_here(args):
    def fill(world):
        nested(world)
        os.symlink('a/b/c/file', world.path('to-file'))
        os.symlink('a/b', world.path('to-dir'))
        os.symlink(ROOT + '/to-dir/c', world.path('absolute'))
        os.symlink('loop', world.path('loop'))
        os.symlink('/etc/passwd', world.path('out'))
    world = World(args, fill)
    session = world.session()
    same(content(session, 'to-file'), b'deep', 'the file')
    same(asked(world), [(NAME, b'b'), (NAME, b'c'), (NAME, b'file')], 'requests')
    same(content(session, 'to-dir\\c\\file'), b'deep', 'below a directory')
    same(content(session, 'absolute\\file'), b'deep', 'below another')
    expect(open_status(session, 'loop') != 'SUCCESS', 'a loop is opened')
    expect(open_status(session, 'out') != 'SUCCESS', 'what is outside is opened')


@case()
def links_are_listed(args):
    """With what they lead to."""
    def fill(world):
        unfilled(world)
        for n in range(20):
            os.symlink(f'dir/file{n}', world.path(f'link{n}'))
    world = World(args, fill, hold=2)
    same(len(listing(world.session(), '', 'link*')), 20, 'links')


@case()
def links_of_a_stalled_server(args):
    """Not each of them costs the hold time."""
    def fill(world):
        unfilled(world)
        for n in range(100):
            os.symlink(f'dir/file{n % 20}', world.path(f'link{n}'))
    world = World(args, fill, hold=2)
    session = world.session(timeout=30)         # 200 s, if each was waited for
    world.fake.on[NAME] = lambda request: HOLD
    listing(session)
    world.fake.wait(NAME, 100)


# ---- the private directory --------------------------------------------------------------------

@case()
def private_directory_is_hidden(args):
    def fill(world):
        os.makedirs(world.path('.migrate/links'))
        os.makedirs(world.path('dir/.migrate'))
        os.chmod(world.path('.migrate'), 0o777)
        os.symlink('.migrate', world.path('link'))
    world = World(args, fill)
    for user in ('root', 'alice'):
        session = world.session(user=user)
        same(listing(session), ['dir'], 'names in the root')
        for name in ('.migrate', '.MIGRATE', '.migrate\\links', '.Migrate\\links', 'link',
                     'link\\links'):
            expect(open_status(session, name) in ('OBJECT_NAME_NOT_FOUND', 'OBJECT_PATH_NOT_FOUND'),
                   f'{user} opens {name}: {open_status(session, name)}')
        for options in (smb2.DIRECTORY_FILE, smb2.NON_DIRECTORY):
            same(open_status(session, '.migrate', disposition=smb2.NEW, options=options),
                 'ACCESS_DENIED', f'{user} makes it')
            same(open_status(session, '.migrate', disposition=smb2.OPEN_IF, options=options),
                 'ACCESS_DENIED', f'{user} opens or makes it')
        same(listing(session, 'dir'), ['.migrate'], 'names elsewhere')
        same(open_status(session, 'dir\\.migrate'), 'SUCCESS', 'open elsewhere')


if __name__ == '__main__':
    sys.exit(main())
