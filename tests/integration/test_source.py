#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The old server's files are changed, replaced, lost or locked away after their stubs were made:
each fails by itself, with a reason, and can be put right; nothing mixed is ever served, and
everything else goes on."""
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import nfs4                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same                            # noqa: E402
from sandbox import BASE, sh, wait_for                                            # noqa: E402
from servers import NEW, OLD, Migration, stack, volume                  # noqa: E402
from xdr import opaque                                                  # noqa: E402

SIZE, PART = 2 << 20, 1 << 16           # of a file, and what is fetched of it first
# Local changes on the old server's disk are to be seen, and root is nobody in particular there.
OLD_SERVER = {'export': 'Squash = Root_Squash; Attr_Expiration_Time = 0;'}
V4_IO = 5


def content(name, version=1):
    """Different in every byte of every 16."""
    return (f'{name[:9]:.<9}{version:07d}'.encode() * (SIZE // 16))[:SIZE]


def write(name, version, size=SIZE):
    with open(f'{OLD}/{name}', 'r+b' if os.path.exists(f'{OLD}/{name}') else 'wb') as file:
        file.truncate(size)
        file.write(content(name, version)[:size])


def grown(name):
    with open(f'{OLD}/{name}', 'ab') as file:
        file.write(content(name, 2))


def shrunk(name):
    os.truncate(f'{OLD}/{name}', SIZE // 2)


def rewritten(name):
    write(name, 2)


def hidden(name):
    """Rewritten, with its size and mtime as they were."""
    st = os.stat(f'{OLD}/{name}')
    write(name, 2)
    os.utime(f'{OLD}/{name}', ns=(st.st_atime_ns, st.st_mtime_ns))


def replaced(name):
    with open(f'{OLD}/new', 'wb') as file:
        file.write(content(name, 2))
    os.rename(f'{OLD}/new', f'{OLD}/{name}')


def renamed(name):
    os.rename(f'{OLD}/{name}', f'{OLD}/{name}-renamed')


def deleted(name):
    os.unlink(f'{OLD}/{name}')


def directory(name):
    os.unlink(f'{OLD}/{name}')
    os.mkdir(f'{OLD}/{name}')


def unreadable(name):
    os.chmod(f'{OLD}/{name}', 0)


# what is done to a file, what is said of it, what a retry alone brings: a version, or None
FAULTS = {
    grown: ('changed on the old server', 'grown'),
    shrunk: ('changed on the old server', 'shrunk'),
    rewritten: ('changed on the old server', 2),
    hidden: ('changed on the old server', 2),
    replaced: ('changed on the old server', 2),
    renamed: ('changed on the old server', 1),
    deleted: ('gone from the old server', None),
    directory: ('gone from the old server', None),
    unreadable: ('does not let this machine read it', None),
}


def names_of(fault):
    """A file that nobody writes to here, and one that clients do."""
    return fault.__name__, fault.__name__ + '-w'


def clear(root):
    """Of mkfs's lost+found, which root may not list where it is squashed."""
    if os.path.isdir(root + '/lost+found'):
        os.rmdir(root + '/lost+found')


def fill(root):
    clear(root)
    for fault in FAULTS:
        for name in names_of(fault):
            write(name, 1)
    write('good', 1)


def written(name, version=1):
    data = bytearray(content(name, version))
    data[SIZE // 2:SIZE // 2 + 10] = b'by clients'
    return bytes(data)


def prepare(migration):
    """Stubs of which a part is here, and half of which are written to; v3 client, handles."""
    migration.attach()
    client = migration.start_server().client()
    handles = {}
    for fault in FAULTS:
        for name in names_of(fault):
            handles[name], _ = client.walk(name)
            same(client.read(handles[name], 0, PART)[0], content(name)[:PART], name)
            if name.endswith('-w'):
                client.write(handles[name], SIZE // 2, b'by clients', nfs3.FILE_SYNC)
    handles['good'], _ = client.walk('good')
    return client, handles


def check_readers(client, handles, faults=FAULTS):
    """A clear error over v3 and v4 where bytes are missing; what is here is served."""
    v4 = nfs4.Client('127.0.0.1', 2)
    for fault in faults:
        for name in names_of(fault):
            fh = handles[name]
            same(nfs3.status_of(lambda: client.read(fh, SIZE - PART, PART)), nfs3.IO, f'{name}, v3')
            v4_fh, _ = v4.walk(name)
            same(nfs3.status_of(lambda: v4.read(v4_fh, SIZE - PART, PART)), V4_IO, f'{name}, v4')
            same(client.read(fh, 0, PART)[0], content(name)[:PART], f'{name}: what is here')
            same(client.getattr(fh).size, SIZE, f'{name}: size')
        same(client.read(handles[names_of(fault)[1]], SIZE // 2, 10)[0], b'by clients', name)
    same(client.read_all(handles['good']), content('good'), 'an untouched file')


def check_listed(migration, faults=FAULTS):
    listed = migration.errors()
    for fault in faults:
        reason, _ = FAULTS[fault]
        for name in names_of(fault):
            expect(reason in listed.get(name, ''), f'{name} is listed with {listed.get(name)!r}')
    same(len(listed), 2 * len(faults), 'entries of the list')


def check_new_versions(client, migration, faults=FAULTS):
    """After a retry.  What clients wrote to is not joined by what may be another content."""
    migration.ctl('retry')
    for fault in faults:
        _, brings = FAULTS[fault]
        name, name_w = names_of(fault)
        fh, fh_w = client.walk(name)[0], client.walk(name_w)[0]
        if brings is None:
            same(nfs3.status_of(lambda: client.read(fh, SIZE - 10, 10)), nfs3.IO, name)
        else:
            wanted = {'grown': content(name) + content(name, 2),
                      'shrunk': content(name)[:SIZE // 2]}.get(brings) or content(name, brings)
            same(client.read(fh, 0, SIZE + SIZE)[0][:PART], wanted[:PART], f'{name} after a retry')
            same(client.read(fh, PART, PART)[0], wanted[PART:2 * PART], f'{name} after a retry')
        same(nfs3.status_of(lambda: client.read(fh_w, SIZE - 10, 10)), nfs3.IO, name_w)


def put_right(client, migration, faults=FAULTS):
    """By the administrator, on the old server; and by clients, who may do anything to a stub."""
    for name in names_of(unreadable) if unreadable in faults else ():
        os.chmod(f'{OLD}/{name}', 0o644)
    client.remove(client.root, 'deleted')
    client.remove(client.root, 'deleted-w')
    client.setattr(client.walk('directory')[0], size=0)
    for offset in range(0, SIZE, SIZE // 4):
        client.write(client.walk('directory-w')[0], offset, bytes(SIZE // 4))
    for fault in (grown, shrunk, rewritten, hidden, replaced):
        client.setattr(client.walk(names_of(fault)[1])[0], size=0)
    migration.ctl('retry', '--same')
    same(migration.errors(), {}, 'errors after everything was put right')


def check_end(migration):
    wanted = {'grown': content('grown') + content('grown', 2),
              'shrunk': content('shrunk')[:SIZE // 2],
              'rewritten': content('rewritten', 2), 'hidden': content('hidden', 2),
              'replaced': content('replaced', 2), 'renamed': content('renamed'),
              'unreadable': content('unreadable'), 'directory': b'', 'good': content('good'),
              'grown-w': b'', 'shrunk-w': b'', 'rewritten-w': b'', 'replaced-w': b'',
              'hidden-w': b'', 'directory-w': bytes(SIZE), 'renamed-w': written('renamed-w'),
              'unreadable-w': written('unreadable-w')}
    for name, data in wanted.items():
        with open(f'{NEW}/{name}', 'rb') as file:
            same(file.read(), data, f'{name} at the end')
    found = {'renamed-renamed', 'renamed-w-renamed'}        # listed after they were renamed
    same(set(os.listdir(NEW)) - {'.migrate'}, set(wanted) | found, 'names at the end')
    same(tree.records(NEW), [], 'objects with a record')
    migration.ctl('finalize')


@case(short=True)
def files(args):
    old, migration = stack(args.build, fill, old=OLD_SERVER)
    client, handles = prepare(migration)
    for fault in FAULTS:
        for name in names_of(fault):
            fault(name)
    old.restart()               # it holds removed files open
    check_readers(client, handles)
    check_listed(migration)
    crawler = migration.start_crawler()
    same(crawler.wait(300), 2, 'exit status of the crawler')
    same(os.listxattr(f'{NEW}/good'), [], 'xattrs of an untouched file')
    check_listed(migration)
    migration.retriever.stop(9)
    migration.start_retriever()
    wait_for('what failed is listed again', lambda: set(migration.errors()) == {
        name for fault in FAULTS for name in names_of(fault)})
    check_new_versions(client, migration)
    put_right(client, migration)
    migration.crawl()
    check_end(migration)


def make_tree(root):
    clear(root)
    for name in ('gone', 'locked', 'file', 'anew', 'fine'):
        os.mkdir(f'{root}/{name}')
        for n in range(5):
            write(f'{name}/file{n}', 1, PART)


@case()
def directories(args):
    """Gone, locked away, a file now, made anew; and a file that appears in one and one that vanishes
    from it between the listing and the reading."""
    old, migration = stack(args.build, make_tree, old=OLD_SERVER)
    migration.attach()
    client = migration.start_server().client()
    names = ('gone', 'locked', 'file', 'anew', 'fine')
    handles = {name: client.walk(name)[0] for name in names}
    first = {name: client.walk('file0', handles[name])[0] for name in names}
    sh('rm', '-r', OLD + '/gone', OLD + '/file', OLD + '/anew')
    os.chmod(OLD + '/locked', 0)
    write('file', 1, 10)
    os.mkdir(OLD + '/anew')
    write('anew/other', 1, PART)
    same(len(list(client.listing(handles['fine']))), 5, 'names')
    os.unlink(OLD + '/fine/file1')
    write('fine/later', 1, PART)
    old.restart()
    for name, status in (('gone', nfs3.IO), ('locked', nfs3.IO), ('file', nfs3.IO), ('anew', 0)):
        same(nfs3.status_of(lambda: list(client.listing(handles[name]))), status, f'listing of {name}')
        if name != 'anew':
            expect(nfs3.status_of(lambda: client.lookup(handles[name], 'file3')) == nfs3.IO,
                   f'lookup in {name}')
    same({n for n, *_ in client.listing(handles['anew'])}, {b'other'}, 'names anew')
    same(nfs3.status_of(lambda: client.read(first['anew'], 0, 10)), nfs3.STALE,
         'a file that went with it')
    same(client.read_all(client.walk('other', handles['anew'])[0]), content('anew/other')[:PART],
         'a file that came with it')
    fine = {n: h for n, _, _, h in client.listing(handles['fine'])}
    same(set(fine), {b'file%d' % n for n in range(5)}, 'names after it was listed')
    same(nfs3.status_of(lambda: client.read(fine[b'file1'], 0, 10)), nfs3.IO, 'a file that vanished')
    same(client.read_all(fine[b'file2']), content('fine/file2')[:PART], 'a file that is there')
    same(migration.start_crawler().wait(300), 2, 'exit status of the crawler')
    listed = migration.errors()
    for name, reason in (('gone', 'gone from'), ('file', 'gone from'),
                         ('locked', 'does not let this machine list it'),
                         ('gone/file0', 'gone from'), ('file/file0', 'gone from'),
                         ('fine/file1', 'gone from')):
        expect(reason in listed.get(name, ''), f'{name} is listed with {listed.get(name)!r}')
    expect('fine' not in listed and 'anew' not in listed, f'listed too: {listed}')
    # put right: there, where it can be, and else by clients here
    os.chmod(OLD + '/locked', 0o755)
    for name in ('gone', 'file'):
        os.path.exists(f'{OLD}/{name}') and os.unlink(f'{OLD}/{name}')
        os.mkdir(f'{OLD}/{name}')
        write(f'{name}/file0', 1, PART)
    old.restart()               # 9.14 goes on to show the file that became a directory
    migration.ctl('retry')
    client.remove(handles['fine'], 'file1')
    # what is below can be asked about when its directory is there again: by then, or once more
    if migration.start_crawler().wait(300):
        expect(set(migration.errors()) <= {'gone/file0', 'file/file0'}, 'what was made anew')
        migration.ctl('retry')
        migration.crawl()
    same(migration.errors(), {}, 'errors at the end')
    no_differences(tree.compare(OLD + '/locked', NEW + '/locked'))
    for name in ('gone', 'file'):
        with open(f'{NEW}/{name}/file0', 'rb') as file:
            same(file.read(), content(f'{name}/file0')[:PART], f'{name}/file0 at the end')
    migration.ctl('finalize')


def export_instead(old, number, path):
    """Reconfigures the running old server, whose only export becomes this one."""
    witness = old.client()
    with open(old.config) as file:
        text = file.read()
    text = re.sub('Export_Id = .*;', f'Export_Id = {number};', text)
    text = re.sub('Path = .*;', f'Path = "{path}";', text)
    with open(old.config, 'w') as file:
        file.write(re.sub('Pseudo = .*;', f'Pseudo = "/export{number}";', text))
    old.process.send_signal(signal.SIGHUP)
    wait_for('the takeover handles are stale', lambda: witness.once(
        nfs3.GETATTR, opaque(witness.root))[0] == nfs3.STALE)


@case(long=True)
def exported_anew(args):
    """With other handles, after it was not exported at all: that is an old server that is away, and
    nothing fails.  A root that is not known is taken for a server that is starting, for a minute."""
    old, migration = stack(args.build, make_tree, old=OLD_SERVER)
    migration.attach()
    client = migration.start_server().client(patience=200)
    fh, _ = client.walk('fine/file1')
    export_instead(old, 79, BASE + '/log')
    status, _ = client.once(nfs3.READ, client.read_args(fh, 0, 10))
    same(status, nfs3.JUKEBOX, 'status while it is not exported')
    old.path = BASE + '/log'            # where the next witness mounts
    export_instead(old, 78, OLD)
    same(client.read_all(fh), content('fine/file1')[:PART], 'a file after it')
    same(migration.errors(), {}, 'errors')
    migration.crawl()
    no_differences(tree.compare(OLD, NEW))


@case()
def a_local_tree(args):
    """file://"""
    volume(OLD)
    volume(NEW)
    fill(OLD)
    migration = Migration(args.build, 'file://' + OLD)
    migration.start_retriever()
    client, handles = prepare(migration)
    faults = [fault for fault in FAULTS if fault is not unreadable]      # not to root
    for fault in faults:
        for name in names_of(fault):
            fault(name)
    check_readers(client, handles, faults)
    check_listed(migration, faults)
    same(migration.start_crawler().wait(300), 2, 'exit status of the crawler')
    check_new_versions(client, migration, faults)
    put_right(client, migration, faults)
    migration.crawl()
    check_end(migration)


if __name__ == '__main__':
    sys.exit(main())
