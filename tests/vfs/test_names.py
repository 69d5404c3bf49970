#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMB clients make, move, link and remove names while the volume is migrated (I5, I6, I7)."""
import itertools
import os
import resource
import signal
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import smb2                                                             # noqa: E402
import smbd                                                             # noqa: E402
import smbfiles                                                         # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, Host, sh, volume, wait_for                          # noqa: E402
from servers import NEW, OLD, Migration                                 # noqa: E402
from smbfiles import Files, Refused                                     # noqa: E402

MODEL = BASE + '/model'
OBJECTS = ('file', 'other', 'linked', 'dir', 'empty')
UNFILLED, FILLED, NORMAL = STATES = ('unfilled', 'filled', 'normal')


def directory(path):
    """One of everything."""
    os.makedirs(path + '/dir/sub')
    os.mkdir(path + '/empty')
    for name, size in (('file', 5000), ('other', 300000), ('linked', 7000), ('dir/inner', 2000),
                       ('dir/sub/deep', 100)):
        with open(f'{path}/{name}', 'wb') as file:
            file.write((path + name).encode()[-20:] * (size // 20))
    os.link(path + '/linked', path + '/link2')


def begin(args, directories, **settings):
    """(Migration, alice's Files); the directories have one of everything."""
    volume(OLD, '1G')
    volume(NEW, '1G')
    volume(MODEL, '1G')
    for name in directories:
        directory(f'{OLD}/{name}')
    sh('chown', '-R', '1000:1000', OLD)
    sh('chmod', '-R', 'a+rwX', OLD)
    sh('cp', '-a', OLD + '/.', MODEL)
    migration = Migration(args.build, f'file://{OLD}', **settings)
    migration.start_retriever()
    migration.attach()
    return migration, Files(migration.start_smbd().session())


def names(root, contents=True):
    """{path: 'directory', or its content} below root."""
    found = {}
    for path in tree.every(root):
        path = os.fsdecode(path)
        short = path[len(root) + 1:]
        if not short or short.split('/')[0] in ('.migrate', 'lost+found'):
            continue
        if os.path.isdir(path):
            found[short] = 'directory'
        elif contents:
            with open(path, 'rb') as file:
                found[short] = file.read()
        else:
            found[short] = None
    return found


def visible(files, path=''):
    """The same through SMB, without what is read."""
    found = set()
    for name, entry in files.list(path).items():
        found.add(f'{path}/{name}'.strip('/'))
        if entry.attributes & smb2.A_DIRECTORY:
            found |= visible(files, f'{path}/{name}'.strip('/'))
    return found - {'lost+found'}


def check_end(migration, files):
    """After the end of the migration everything is as in the model."""
    migration.crawl()
    same(tree.records(NEW), [], 'objects with a record')
    wanted, got = names(MODEL), names(NEW)
    same(sorted(set(got) ^ set(wanted)), [], 'names that are not in both trees')
    same([path for path in got if got[path] != wanted[path]], [], 'files with other contents')
    same(sorted(visible(files)), sorted(wanted), 'what clients see')
    migration.ctl('finalize')


def has_record(path):
    try:
        return bool(os.getxattr(f'{NEW}/{path}', 'security.migrate'))
    except OSError:
        return False


def client_makes(files, path):
    """A directory that is normal, with everything in it, because it is new."""
    directory(f'{MODEL}/{path}')
    for name in ('', 'dir', 'dir/sub', 'empty'):
        files.mkdir(f'{path}/{name}'.rstrip('/'))
    for name in ('file', 'other', 'linked', 'dir/inner', 'dir/sub/deep'):
        with open(f'{MODEL}/{path}/{name}', 'rb') as file:
            files.write(f'{path}/{name}', file.read(), smb2.NEW)
    files.link(path + '/linked', path + '/link2')
    same(has_record(path), False, f'{path}: a record')


# ---- the matrix ---------------------------------------------------------------------------------

def matrix(args, operation, objects=OBJECTS):
    """operation(files, old path, directory) for each object, from each state to each; the
    operation does the same to the model."""
    cases = [(a, b, name, f'from-{a}-{b}-{name}', f'to-{a}-{b}-{name}')
             for a, b, name in itertools.product(STATES, STATES, objects)]
    places = [(state, path) for a, b, _, source, target in cases
              for state, path in ((a, source), (b, target))]
    migration, files = begin(args, [path for state, path in places if state != NORMAL])
    for state, path in places:
        if state == FILLED:
            files.list(path)
            files.list(path + '/dir')
        elif state == NORMAL:
            client_makes(files, path)
    for _, _, name, source, target in cases:
        try:
            operation(files, f'{source}/{name}', target)
        except Refused as error:
            raise AssertionError(f'{source}/{name} to {target}: {error}') from error
        i5(source, target)
    check_end(migration, files)


def i5(*paths):
    """What has a record is below what has one.  Records may go meanwhile, those below first."""
    for top in paths:
        for path in tree.every(f'{NEW}/{top}'):
            path = os.fsdecode(path)[len(NEW) + 1:]
            parent = os.path.dirname(path)
            if not has_record(parent):
                expect(not has_record(path),
                       f'{path} has a record, {parent or "the root"} has none')


def refused(status, function, *args, **kw):
    try:
        function(*args, **kw)
    except Refused as error:
        same(error.name, status, f'the status of {function.__name__}{args}')
        return
    raise AssertionError(f'{function.__name__}{args}: not refused')


@case()
def renames_between_all_states(args):
    def rename(files, old, target):
        files.rename(old, target + '/new')
        os.rename(f'{MODEL}/{old}', f'{MODEL}/{target}/new')
    matrix(args, rename)


@case()
def renames_over_files(args):
    """What is in the way is replaced, if the client says so, even if its name is not here yet."""
    def rename(files, old, target):
        refused('OBJECT_NAME_COLLISION', files.rename, old, target + '/link2')
        refused('OBJECT_NAME_COLLISION', files.rename, old, target + '/dir')
        files.rename(old, target + '/other', replace=True)
        os.rename(f'{MODEL}/{old}', f'{MODEL}/{target}/other')
    matrix(args, rename, ['file', 'linked'])


@case()
def links_between_all_states(args):
    def link(files, old, target):
        refused('OBJECT_NAME_COLLISION', files.link, old, target + '/other')
        files.link(old, target + '/new')
        os.link(f'{MODEL}/{old}', f'{MODEL}/{target}/new')
    matrix(args, link, ['file', 'linked'])


@case()
def removals_in_all_states(args):
    def remove(files, old, target):
        name = os.path.basename(old)
        if name == 'dir':
            refused('DIRECTORY_NOT_EMPTY', files.rmdir, old)
            return
        if name == 'empty':
            files.rmdir(old)
            os.rmdir(f'{MODEL}/{old}')
        else:
            files.unlink(old)
            os.unlink(f'{MODEL}/{old}')
        refused('OBJECT_NAME_NOT_FOUND', files.times, old)
        expect(name not in files.list(os.path.dirname(old)), f'{old} is listed')
    matrix(args, remove)


@case()
def names_are_made_in_all_states(args):
    def make(files, old, target):
        refused('OBJECT_NAME_COLLISION', files.mkdir, target + '/dir')
        refused('OBJECT_NAME_COLLISION', files.write, target + '/file', b'x', smb2.NEW)
        files.mkdir(target + '/new')
        os.mkdir(f'{MODEL}/{target}/new')
        files.write(target + '/made', b'by a client', smb2.NEW)
        with open(f'{MODEL}/{target}/made', 'wb') as file:
            file.write(b'by a client')
    matrix(args, make, ['file'])


# ---- single things ------------------------------------------------------------------------------

@case()
def delete_on_close(args):
    """By CREATE's option, with others that have it open; a name that is not here yet."""
    migration, files = begin(args, ['a', 'b'])
    access = smb2.DELETE | smb2.READ_DATA
    first = files.open('a/other', access=access, options=smb2.DELETE_ON_CLOSE)
    second = files.open('a/other', access=smb2.READ_DATA)
    first.close()
    refused('DELETE_PENDING', files.open, 'a/other', access=smb2.READ_DATA)
    with open(f'{MODEL}/a/other', 'rb') as file:
        same(second.read(0, 65536), file.read(65536), 'what is about to be deleted')
    second.close()
    refused('OBJECT_NAME_NOT_FOUND', files.open, 'a/other', access=smb2.READ_DATA)
    os.unlink(f'{MODEL}/a/other')
    with files.open('b/linked', access=access, options=smb2.DELETE_ON_CLOSE):
        pass
    os.unlink(f'{MODEL}/b/linked')
    for path in ('b/dir', 'b/empty'):           # what is not empty stays
        try:
            files.open(path, access=smb2.DELETE,
                       options=smb2.DELETE_ON_CLOSE | smb2.DIRECTORY_FILE).close()
        except Refused as error:
            same((path, error.name), ('b/dir', 'DIRECTORY_NOT_EMPTY'), 'refused')
    os.rmdir(f'{MODEL}/b/empty')
    migration.retriever.stop(signal.SIGKILL)    # nor does a new one bring them back
    migration.start_retriever()
    check_end(migration, files)


@case()
def the_root_stays_where_it_is(args):
    """A directory cannot be moved into itself: refused at once, as the kernel does."""
    migration, files = begin(args, ['a'])
    plain = smbd.Smbd('plain', {smbd.SHARE: MODEL}, host=Host('plain')).start()
    for share in (files, Files(plain.session())):
        with share.open('', access=smb2.WRITE_ATTRIBUTES) as root:
            refused('ACCESS_DENIED', root.set, smbfiles.RENAME, smbfiles.naming('moved', False))
    check_end(migration, files)


@case()
def directories_are_not_written(args):
    """Not even nothing, which smbd does not look at when it writes without waiting."""
    _, files = begin(args, ['a'])
    with files.open('a') as directory:
        refused('ACCESS_DENIED', directory.write, 0, b'')


@case()
def case_only(args):
    migration, files = begin(args, ['a'])
    for old, new in (('a/file', 'a/FILE'), ('a/dir', 'a/Dir'), ('a/Dir/inner', 'a/Dir/Inner')):
        files.rename(old, new)
        os.rename(f'{MODEL}/{old}', f'{MODEL}/{new}')
        expect(os.path.basename(new) in files.list(os.path.dirname(new)), f'{new} is not listed')
    same(files.read('A/dir/INNER'), files.read('a/Dir/Inner'), 'in any case')
    check_end(migration, files)


@case()
def the_private_directory(args):
    migration, files = begin(args, ['a'])
    for path in ('.migrate', '.MIGRATE'):
        for name, operation in (('mkdir', lambda: files.mkdir(path)),
                                ('rename', lambda: files.rename('a/file', path)),
                                ('link', lambda: files.link('a/file', path)),
                                ('write', lambda: files.write(path, b'x')),
                                ('away', lambda: files.rename(path, 'a/mine')),
                                ('rmdir', lambda: files.rmdir(path))):
            try:
                operation()
            except Refused:
                continue
            raise AssertionError(f'{name} of {path}: not refused')
    expect('.migrate' not in files.list(), '.migrate is listed')
    files.rename('a/file', 'a/.migrate')        # anybody's elsewhere
    os.rename(f'{MODEL}/a/file', f'{MODEL}/a/.migrate')
    check_end(migration, files)


@case()
def the_private_directory_after_the_end(args):
    """It is hidden until it goes.  Then the name is anybody's, also in connections of before."""
    migration, files = begin(args, ['a'])
    root = Files(migration.smbd.session('root'))
    migration.crawl()
    same(tree.records(NEW), [], 'objects with a record')
    refused('ACCESS_DENIED', root.mkdir, '.migrate')
    expect('.migrate' not in root.list(), '.migrate is listed')
    refused('OBJECT_NAME_NOT_FOUND', root.times, '.migrate')
    migration.ctl('finalize')
    root.mkdir('.migrate')
    os.chmod(NEW + '/.migrate', 0o700)          # as the retriever's was
    root.write('.migrate/file', b'mine')
    for session in (root, Files(migration.smbd.session('root'))):
        expect('.migrate' in session.list(), '.migrate is not listed')
        same(session.read('.migrate/file'), b'mine', 'content')
        refused('OBJECT_NAME_COLLISION', session.mkdir, '.migrate')
    migration.retriever.stop()
    migration.start_retriever()
    migration.ctl('finalize')
    same(root.read('.migrate/file'), b'mine', 'content, in the end')
    root.unlink('.migrate/file')
    root.rmdir('.migrate')


@case()
def streams(args):
    """They are attributes of the file: what is done to them survives its fill."""
    def fill(path, values):
        for name, value in values.items():
            os.setxattr(path, f'user.DosStream.{name}:$DATA', value + b'\0')

    volume(OLD, '1G')
    for name in ('file', 'gone'):
        with open(f'{OLD}/{name}', 'wb') as file:
            file.write(b'x' * 50000)
        fill(f'{OLD}/{name}', {'one': b'1', 'two': b'22'})
    sh('chown', '-R', '1000:1000', OLD)
    volume(NEW, '1G')
    migration = Migration(args.build, f'file://{OLD}')
    migration.start_retriever()
    migration.attach()
    files = Files(migration.start_smbd().session())
    files.unlink('file:two')
    files.write('file:three', b'333')
    files.rename('file:one', ':uno:$DATA')
    files.unlink('gone')
    expect(files.times('file').offline, 'file is here')
    wanted = {'::$DATA': 50000, ':uno:$DATA': 1, ':three:$DATA': 3}

    def seen():
        with files.open('file', access=smb2.READ_ATTRIBUTES) as file:
            return file.streams()
    same(seen(), wanted, 'at once')
    migration.retriever.stop(signal.SIGKILL)
    migration.start_retriever()
    migration.crawl()
    same(seen(), wanted, 'at the end')
    same(files.read('file:three'), b'333', 'a stream')
    refused('OBJECT_NAME_NOT_FOUND', files.times, 'gone')


@case()
def fills_do_not_notify(args):
    """With `kernel change notify = no`.  What clients do is told."""
    migration, files = begin(args, ['a'])
    watcher = Files(migration.smbd.session())
    with watcher.open('', access=smb2.GENERIC_READ, options=smb2.DIRECTORY_FILE) as root:
        mid = root.session.start(smb2.change_notify(root.fid, flags=smb2.WATCH_TREE))[0]
        for path in sorted(visible(files)):
            if not files.times(path).attributes & smb2.A_DIRECTORY:
                files.read(path)
        migration.crawl()
        files.mkdir('a/made')                   # the first notice is of this
        reply = root.session.connection.wait(mid)
        notices = [(struct.unpack_from('<I', data, 4)[0], data[12:].decode('utf-16-le'))
                   for data in smb2.entries(smb2.output(reply))]
        same(notices, [(1, 'a\\made')], 'notices')


@case()
def a_name_that_is_deleted_stays_deleted(args):
    """Through both doors, whoever deletes it."""
    migration, files = begin(args, ['a', 'b', 'c', 'd'])
    migration.start_server()
    nfs = migration.server.client()
    root = nfs.root
    files.unlink('a/file')
    os.unlink(f'{MODEL}/a/file')
    b = nfs.lookup(root, 'b')[0]
    nfs.remove(b, 'file')
    os.unlink(f'{MODEL}/b/file')
    files.rename('c/other', 'c/moved')
    os.rename(f'{MODEL}/c/other', f'{MODEL}/c/moved')
    d = nfs.lookup(root, 'd')[0]
    nfs.rename(d, 'other', d, 'moved')
    os.rename(f'{MODEL}/d/other', f'{MODEL}/d/moved')
    wanted = sorted(names(MODEL, False))
    same(sorted(visible(files)), wanted, 'through SMB')
    for path in ('a', 'b', 'c', 'd'):
        listed = sorted(os.fsdecode(name) for name, *_ in nfs.listing(nfs.lookup(root, path)[0]))
        same(listed, sorted(os.listdir(f'{MODEL}/{path}')), f'{path} through NFS')
    check_end(migration, files)


@case()
def recycle(args):
    """A module before us, which names things by paths from the share's root."""
    migration, files = begin(args, ['a', 'b', '.bin/a'])
    migration.smbd.configure({smbd.SHARE: (NEW, {
        **smbd.layer('projects', migration.socket, 'recycle ' + smbd.STACK),
        'recycle:repository': '.bin', 'recycle:keeptree': 'yes', 'recycle:versions': 'yes'})})
    migration.smbd.restart()
    files = Files(migration.smbd.session())
    files.unlink('a/file')
    os.rename(f'{MODEL}/a/file', f'{MODEL}/.bin/a/Copy #1 of file')
    files.unlink('a/dir/inner')
    os.rename(f'{MODEL}/a/dir/inner', f'{MODEL}/.bin/a/dir/Copy #1 of inner')
    files.unlink('a/link2')
    os.rename(f'{MODEL}/a/link2', f'{MODEL}/.bin/a/Copy #1 of link2')
    files.unlink('b/dir/inner')                 # into what the module makes
    os.makedirs(f'{MODEL}/.bin/b/dir')
    os.rename(f'{MODEL}/b/dir/inner', f'{MODEL}/.bin/b/dir/inner')
    files.write('a/empty/x', b'new')
    files.unlink('a/empty/x')
    with open(f'{MODEL}/.bin/a/empty/x', 'wb') as file:
        file.write(b'new')
    i5('a', '.bin')
    check_end(migration, files)


@case()
def links_of_dfs(args):
    """They are looked up, listed and followed by hooks of their own."""
    volume(OLD, '1G')
    volume(NEW, '1G')
    os.makedirs(OLD + '/d')
    os.symlink('msdfs:elsewhere\\\\share', OLD + '/d/link')
    migration = Migration(args.build, f'file://{OLD}')
    migration.start_retriever()
    migration.attach()
    server = migration.start_smbd(settings={'msdfs root': 'yes'}, host_msdfs='yes')
    files = Files(server.session())
    refused('PATH_NOT_COVERED', files.open, 'd/link', access=smb2.READ_ATTRIBUTES)
    expect('link' in files.list('d'), 'it is not listed')


@case()
def i11_a_stopped_client_delays_nobody(args):
    """One process of smbd answers nothing: what others place is placed."""
    migration, files = begin(args, ['a'])
    client_makes(files, 'normal')
    session = migration.smbd.session()
    Files(session).list('normal')
    pid = migration.smbd.serving(session)
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_for('it stands still', lambda: migration.smbd.processes().get(pid) == 'T')
        files.rename('a/file', 'normal/new')
        os.rename(f'{MODEL}/a/file', f'{MODEL}/normal/new')
    finally:
        os.kill(pid, signal.SIGCONT)
    i5('normal')
    check_end(migration, files)


@case()
def i5_nothing_is_placed_unseen(args):
    """A process of smbd that has ever more descriptors to spare: either nothing is moved or linked, or
    what gets the name is unfinished before."""
    migration, files = begin(args, ['a'])
    for name, level in (('file', smbfiles.RENAME), ('other', smbfiles.LINK)):
        client_makes(files, f'normal-{name}')
        before = set(migration.smbd.processes())
        own = Files(migration.smbd.session('root'))     # whose limits root may set
        own.list()
        pid, = set(migration.smbd.processes()) - before
        with own.open(f'a/{name}', access=smb2.DELETE | smb2.READ_ATTRIBUTES) as handle:
            used = {int(fd) for fd in os.listdir(f'/proc/{pid}/fd')}
            least = min(set(range(max(used) + 2)) - used)
            limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            for spare in range(64):
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (least + spare, limits[1]))
                try:
                    handle.set(level, smbfiles.naming(f'normal-{name}/new', False))
                    break
                except Refused:
                    expect(not os.path.lexists(f'{NEW}/normal-{name}/new'), 'refused, and done')
            expect(spare, 'there was no limit')
            i5(f'normal-{name}')
            same(has_record(f'normal-{name}'), True, f'a record, with {spare} descriptors')
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    os.rename(f'{MODEL}/a/file', f'{MODEL}/normal-file/new')
    os.link(f'{MODEL}/a/other', f'{MODEL}/normal-other/new')
    check_end(migration, files)


def random_change(files, rng, counter):
    """One change, to the volume and to the model."""
    paths = sorted(names(MODEL, False).items())
    path, what = rng.choice(paths)
    to = f'{rng.choice([p for p, w in paths if w == "directory"])}/new{counter}'
    kind = rng.choice(('rename', 'rename', 'link', 'unlink', 'mkdir', 'write'))
    if kind == 'rename' and not to.startswith(path + '/'):
        files.rename(path, to)
        os.rename(f'{MODEL}/{path}', f'{MODEL}/{to}')
    elif kind == 'link' and what != 'directory':
        files.link(path, to)
        os.link(f'{MODEL}/{path}', f'{MODEL}/{to}')
    elif kind == 'unlink' and what != 'directory':
        files.unlink(path)
        os.unlink(f'{MODEL}/{path}')
    elif kind == 'mkdir':
        files.mkdir(to)
        os.mkdir(f'{MODEL}/{to}')
    elif kind == 'write':
        files.write(to, b'%d' % counter)
        with open(f'{MODEL}/{to}', 'wb') as file:
            file.write(b'%d' % counter)


@case()
def beside_the_crawler(args):
    """And beside a retriever that is killed now and then."""
    count = 3000 if args.long else 150
    migration, files = begin(args, [f'd{n}' for n in range(count // 10)], bandwidth='100K')
    crawler = migration.start_crawler('--workers', '1')
    for counter in range(count):
        if crawler.poll() is not None:
            break
        random_change(files, args.random, counter)
        if counter % 60 == 30:
            migration.retriever.stop(signal.SIGKILL)
            migration.start_retriever()
    expect(counter > count // 4, f'only {counter} changes met the crawler')
    migration.ctl('throttle', argument='0')
    crawler.wait(300)
    check_end(migration, files)


if __name__ == '__main__':
    sys.exit(main())
