#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The old server's files are changed, replaced, lost or locked away after their stubs were made:
each fails by itself, with a reason, and can be put right; nothing mixed is ever served, and
everything else goes on."""
import errno
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import nfs4                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import wait_for                                            # noqa: E402
from servers import NEW, OLD, Migration, stack, volume                  # noqa: E402

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


def fill(root):
    for fault in FAULTS:
        for name in names_of(fault):
            write(name, 1)
    write('good', 1)


def errors(migration):
    """Reasons by path below the volume's root."""
    return {e['path'][len(NEW) + 1:]: e['reason']
            for e in json.loads(migration.ctl('errors', '--json'))}


def status_of(call):
    """NFS status of a call that fails at last."""
    try:
        call()
    except nfs3.NfsError as error:
        return error.status
    return 0


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


def check_readers(client, handles):
    """A clear error over v3 and v4 where bytes are missing; what is here is served."""
    v4 = nfs4.Client('127.0.0.1', 2)
    for fault in FAULTS:
        for name in names_of(fault):
            fh = handles[name]
            same(status_of(lambda: client.read(fh, SIZE - PART, PART)), nfs3.IO, f'{name}, v3')
            v4_fh, _ = v4.walk(name)
            same(status_of(lambda: v4.read(v4_fh, SIZE - PART, PART)), V4_IO, f'{name}, v4')
            same(client.read(fh, 0, PART)[0], content(name)[:PART], f'{name}: what is here')
            same(client.getattr(fh).size, SIZE, f'{name}: size')
        same(client.read(handles[names_of(fault)[1]], SIZE // 2, 10)[0], b'by clients', name)
    same(client.read_all(handles['good']), content('good'), 'an untouched file')


def check_listed(migration):
    listed = errors(migration)
    for fault, (reason, _) in FAULTS.items():
        for name in names_of(fault):
            expect(reason in listed.get(name, ''), f'{name} is listed with {listed.get(name)!r}')
    same(len(listed), 2 * len(FAULTS), 'entries of the list')


def check_new_versions(client, migration):
    """After a retry.  What clients wrote to is not joined by what may be another content."""
    migration.ctl('retry')
    for fault, (_, brings) in FAULTS.items():
        name, name_w = names_of(fault)
        fh, fh_w = client.walk(name)[0], client.walk(name_w)[0]
        if brings is None:
            same(status_of(lambda: client.read(fh, SIZE - 10, 10)), nfs3.IO, name)
        else:
            wanted = {'grown': content(name) + content(name, 2),
                      'shrunk': content(name)[:SIZE // 2]}.get(brings) or content(name, brings)
            same(client.read(fh, 0, SIZE + SIZE)[0][:PART], wanted[:PART], f'{name} after a retry')
            same(client.read(fh, PART, PART)[0], wanted[PART:2 * PART], f'{name} after a retry')
        same(status_of(lambda: client.read(fh_w, SIZE - 10, 10)), nfs3.IO, name_w)


def put_right(client, migration):
    """By the administrator, on the old server; and by clients, who may do anything to a stub."""
    for name in names_of(unreadable):
        os.chmod(f'{OLD}/{name}', 0o644)
    client.remove(client.root, 'deleted')
    client.remove(client.root, 'deleted-w')
    client.setattr(client.walk('directory')[0], size=0)
    for offset in range(0, SIZE, SIZE // 4):
        client.write(client.walk('directory-w')[0], offset, bytes(SIZE // 4))
    for fault in (grown, shrunk, rewritten, hidden, replaced):
        client.setattr(client.walk(names_of(fault)[1])[0], size=0)
    migration.ctl('retry', '--same')
    same(errors(migration), {}, 'errors after everything was put right')


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


@case()
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
    same(crawler.wait(120), 2, 'exit status of the crawler')
    same(os.listxattr(f'{NEW}/good'), [], 'xattrs of an untouched file')
    check_listed(migration)
    migration.retriever.stop(9)
    migration.start_retriever()
    wait_for('what failed is listed again', lambda: set(errors(migration)) == {
        name for fault in FAULTS for name in names_of(fault)})
    check_new_versions(client, migration)
    put_right(client, migration)
    migration.crawl()
    check_end(migration)


if __name__ == '__main__':
    sys.exit(main())
