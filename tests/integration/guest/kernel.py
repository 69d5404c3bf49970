#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: what programs do to files through the kernel's NFS or SMB client, on a plain copy of a
tree and on stubs of it.  Each case says what it sees; both must see the same.

    kernel.py PLAIN PLAIN_AGAIN STUBS STUBS_AGAIN [CASE...]     mounts, each of them made twice
"""
import ctypes
import errno
import fcntl
import hashlib
import mmap
import os
import select
import socket
import sqlite3
import subprocess
import sys
import time
import traceback

KIB, MIB = 1 << 10, 1 << 20
USER = 5                                # games
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16
FICLONE = 0x40049409
CASES = []
libc = ctypes.CDLL(None, use_errno=True)


def case(function):
    CASES.append(function)
    return function


class Files:
    """The files of one case on one file system, seen through two mounts, and what was seen."""

    def __init__(self, name, one, two):
        self.one, self.two = f'{one}/kernel/{name}', f'{two}/kernel/{name}'
        self.seen = []

    def see(self, what, value):
        self.seen.append((what, value))

    def attempt(self, what, function, *args, **kw):
        """Calls it, and sees its result or its error."""
        try:
            value = function(*args, **kw)
        except OSError as error:
            value = errno.errorcode[error.errno]
        self.see(what, value if isinstance(value, (int, str, bytes, type(None))) else 'done')
        return value

    def contents(self, name='file'):
        """Sees what is in a file, through the other mount too."""
        for root in (self.one, self.two):
            with open(f'{root}/{name}', 'rb') as file:
                data = file.read()
            st = os.stat(f'{root}/{name}')
            self.see(name, (len(data), st.st_size, oct(st.st_mode), st.st_nlink,
                            hashlib.sha256(data).hexdigest()))


def fallocate(fd, mode, offset, length):
    if libc.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(length)):
        raise OSError(ctypes.get_errno(), 'fallocate')


def as_user(function, *args):
    os.setegid(USER)
    os.seteuid(USER)
    try:
        return function(*args)
    finally:
        os.seteuid(0)
        os.setegid(0)


@case
def mapped_shared(files):
    with open(files.one + '/file', 'r+b') as file, mmap.mmap(file.fileno(), 0) as pages:
        for at in (5, 4096, 70000, 262144 - 3, MIB + 17, len(pages) - 4):
            pages[at:at + 4] = b'here'
        pages.flush()
        files.see('one byte elsewhere', pages[500001])
        pages[300000:300100] = b'not flushed'.ljust(100)
    files.contents()


@case
def mapped_private(files):
    with open(files.one + '/file', 'rb') as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as pages:
            pages[1000:2000] = bytes(1000)
            files.see('page', hashlib.sha256(pages).hexdigest())
    files.contents()


@case
def mapped_past_the_end(files):
    """What is put behind the end of the file in its last page stays out of the file."""
    size = os.path.getsize(files.one + '/file')
    whole = -(-size // 4096) * 4096
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]
    libc.msync.argtypes = libc.munmap.argtypes = None
    with open(files.one + '/file', 'r+b') as file:
        at = libc.mmap(None, whole, 3, 1, file.fileno(), 0)
        files.see('behind the end', ctypes.string_at(at + size, whole - size))
        ctypes.memmove(at + size - 3, b'across the end', 14)
        libc.msync(ctypes.c_void_p(at), ctypes.c_size_t(whole), 4)
        libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(whole))
    files.contents()
    os.truncate(files.one + '/file', whole + 5000)
    files.contents()


@case
def mapped_longer(files):
    with open(files.one + '/file', 'r+b') as file:
        size = os.path.getsize(file.fileno())
        file.truncate(size + 3 * 4096)
        with mmap.mmap(file.fileno(), 0) as pages:
            pages[size - 10:size + 10] = b'across the old end..'
            pages[-1:] = b'!'
    files.contents()


@case
def appended_by_two(files):
    for n in range(20):
        for root in (files.one, files.two):
            fd = os.open(root + '/file', os.O_WRONLY | os.O_APPEND)
            os.write(fd, f'line {n} from {root[-20:] == files.one[-20:]}\n'.encode())
            os.close(fd)
    files.contents()


@case
def direct(files):
    fd = os.open(files.one + '/file', os.O_RDWR | os.O_DIRECT)
    buffer = mmap.mmap(-1, 256 * KIB)
    size = os.fstat(fd).st_size
    for offset in (0, 512 * KIB, size // 4096 * 4096, size // 4096 * 4096 - 8192, 2 * MIB):
        count = os.preadv(fd, [buffer], offset)
        files.see(f'read at {offset}', (count, hashlib.sha256(buffer[:count]).hexdigest()))
    buffer[:] = b'directly' * (32 * KIB)
    for offset in (4096, MIB, 3 * MIB, size // 4096 * 4096):
        files.see(f'written at {offset}', os.pwritev(fd, [memoryview(buffer)[:8192]], offset))
    os.close(fd)
    files.contents()


@case
def database(files):
    base = sqlite3.connect(files.one + '/file')
    base.execute("update t set y = y || '.' where x % 7 = 0")
    base.execute("insert into t select x + 10000, 'new' from t where x < 300")
    base.commit()
    base.execute('delete from t where x % 11 = 3')
    base.rollback()
    files.see('check', base.execute('pragma integrity_check').fetchall())
    base.execute('vacuum')
    base.close()
    again = sqlite3.connect(files.two + '/file')
    rows = again.execute('select x, y from t order by x').fetchall()
    files.see('rows', (len(rows), hashlib.sha256(repr(rows).encode()).hexdigest()))
    again.close()


def by_another(function, *args):
    """Calls it in another process, whose locks are its own.  Returns what ends that process, which
    keeps its locks until then."""
    told, tell = os.pipe()
    wait, ended = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ended)
        try:
            function(*args)
            os.write(tell, b'done')
        except OSError as error:
            os.write(tell, errno.errorcode[error.errno].encode())
        os.read(wait, 1)
        os._exit(0)
    os.close(wait)
    answer = os.read(told, 100).decode()

    def end():
        os.close(ended)
        os.waitpid(child, 0)
        return answer
    return end


@case
def locks_of_ranges(files):
    def lock(kind, length=0, start=0):
        file = open(files.two + '/file', 'r+b')
        fcntl.lockf(file, kind | fcntl.LOCK_NB, length, start)
        kept.append(file)

    kept = []
    with open(files.one + '/file', 'r+b') as file:
        fcntl.lockf(file, fcntl.LOCK_EX, 100000, 200000)
        for length, start in ((100, 0), (200001, 0), (10, 250000), (0, 300000)):
            files.see(f'write lock of {length} at {start}',
                      by_another(lock, fcntl.LOCK_EX, length, start)())
        fcntl.lockf(file, fcntl.LOCK_SH, 100000, 200000)
        end = by_another(lock, fcntl.LOCK_SH, 10, 250000)
        files.attempt('upgrade', fcntl.lockf, file, fcntl.LOCK_EX | fcntl.LOCK_NB, 100000, 200000)
        files.see('read lock', end())
        files.attempt('upgrade, later', fcntl.lockf, file, fcntl.LOCK_EX | fcntl.LOCK_NB, 100000,
                      200000)
        file.seek(250000)
        files.see('read below the lock', file.read(10))
        file.write(b'written below the lock')
        file.flush()
        files.see('all', by_another(lock, fcntl.LOCK_EX)())
        fcntl.lockf(file, fcntl.LOCK_UN)
        files.see('all, later', by_another(lock, fcntl.LOCK_EX)())
    files.contents()


@case
def locks_of_files(files):
    def lock():
        kept.append(open(files.two + '/file', 'r+b'))
        fcntl.flock(kept[0], fcntl.LOCK_EX | fcntl.LOCK_NB)

    kept = []
    with open(files.one + '/file', 'r+b') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        files.see('second', by_another(lock)())
        files.see('read', hashlib.sha256(file.read()).hexdigest())
        fcntl.flock(file, fcntl.LOCK_UN)
        files.see('second, later', by_another(lock)())


@case
def unlinked_while_open(files):
    with open(files.one + '/file', 'r+b', 0) as file:
        os.unlink(files.one + '/file')
        files.see('names', sorted(n[:4] for n in os.listdir(files.one)))
        file.seek(MIB)
        file.write(b'written after all')
        file.seek(0)
        files.see('read', hashlib.sha256(file.read()).hexdigest())
    end = time.monotonic() + 30         # the client removes it when it has time
    while len(os.listdir(files.one)) > 1 and time.monotonic() < end:
        select.select([], [], [], 0.1)
    files.see('names', sorted(os.listdir(files.one)))
    files.attempt('open', os.open, files.two + '/file', os.O_RDONLY)


@case
def unlinked_elsewhere(files):
    """A name of a file with two, by another client."""
    with open(files.one + '/file', 'rb', 0) as file:
        os.unlink(files.two + '/file')
        files.see('read', hashlib.sha256(file.read()).hexdigest())
    files.contents('other')


@case
def replaced_while_open(files):
    with open(files.one + '/file', 'rb', 0) as file:
        os.rename(files.one + '/other', files.one + '/file')
        files.see('read', hashlib.sha256(file.read()).hexdigest())
    files.contents()
    files.see('names', sorted(n for n in os.listdir(files.two) if n[0] != '.'))


@case
def copied_ranges(files):
    a = os.open(files.one + '/file', os.O_RDWR)
    b = os.open(files.one + '/other', os.O_RDWR)

    def copy(source, target, count, at, to):
        done = 0
        while done < count:
            step = os.copy_file_range(source, target, count - done, at + done, to + done)
            if step == 0:
                break
            done += step
        return done

    files.attempt('to another', copy, a, b, 500000, 300001, 70007)
    files.attempt('past its end', copy, a, b, 200000, MIB, os.fstat(b).st_size + 5000)
    files.attempt('from behind the end', copy, a, b, 1000, os.fstat(a).st_size + 10, 0)
    files.attempt('within', copy, a, a, 100000, 0, 2 * MIB + 1)
    files.attempt('clone', fcntl.ioctl, b, FICLONE, a)
    os.close(a)
    os.close(b)
    files.contents()
    files.contents('other')


@case
def holes_sought(files):
    fd = os.open(files.one + '/file', os.O_RDWR)
    size = os.fstat(fd).st_size
    for offset in (0, 1, MIB + 5, size - 1):
        files.attempt(f'data from {offset}', os.lseek, fd, offset, os.SEEK_DATA)
        files.attempt(f'hole from {offset}', os.lseek, fd, offset, os.SEEK_HOLE)
    files.attempt('data from the end', os.lseek, fd, size, os.SEEK_DATA)
    os.close(fd)
    files.contents()


@case
def allocated(files):
    fd = os.open(files.one + '/file', os.O_RDWR)
    size = os.fstat(fd).st_size
    for what, mode, offset, length in (
            ('punch', PUNCH_HOLE | KEEP_SIZE, 100001, 200000),
            ('punch blocks', PUNCH_HOLE | KEEP_SIZE, MIB, 256 * KIB),
            ('punch across the end', PUNCH_HOLE | KEEP_SIZE, size - 1000, 5000),
            ('allocate', 0, 50000, 500000), ('allocate past the end', 0, size - 100, 10000),
            ('keep the size', KEEP_SIZE, size, MIB), ('zero', ZERO_RANGE, 2 * MIB, 5000)):
        files.attempt(what, fallocate, fd, mode, offset, length)
        files.see('size', os.fstat(fd).st_size)
    files.attempt('hole', os.lseek, fd, MIB, os.SEEK_HOLE)
    os.close(fd)
    files.contents()


@case
def truncated(files):
    size = os.path.getsize(files.one + '/file')
    for n, steps in enumerate(((size - 100000,), (size + 100000,), (500001, size), (0, size),
                               (4096, 4097, MIB, 10))):
        name = f'file{n}'
        with open(f'{files.one}/{name}', 'r+b', 0) as file:
            for step in steps:
                file.truncate(step)
        files.contents(name)
    with open(files.one + '/file', 'wb') as file:
        file.seek(300000)
        file.write(b'after O_TRUNC')
    files.contents()
    os.truncate(files.one + '/other', 123456)
    files.contents('other')


@case
def written_here_and_there(files):
    with open(files.one + '/file', 'r+b', 0) as file:
        for at in (10, 5000, 65536, MIB - 1, 3 * MIB - 7, 3 * MIB + 500000):
            file.seek(at)
            file.write(b'x' * 1001)
            file.seek(max(0, at - 2000))
            files.see(f'around {at}', hashlib.sha256(file.read(5000)).hexdigest())
    files.contents()


@case
def set_user_id_cleared(files):
    """file0 and on: mode 06755, of the user."""
    def write(path):
        with open(path, 'r+b', 0) as file:
            file.seek(1000)
            file.write(b'!')

    def mode(name):
        return oct(os.stat(f'{files.one}/{name}').st_mode)

    files.see('before', mode('file0'))
    files.attempt('user writes', as_user, write, files.one + '/file0')
    files.see('user wrote', mode('file0'))
    files.attempt('root writes', write, files.one + '/file1')
    files.see('root wrote', mode('file1'))
    files.attempt('user truncates', as_user, os.truncate, files.one + '/file2', 5000)
    files.see('user truncated', mode('file2'))
    files.attempt('user changes the group', as_user, os.chown, files.one + '/file3', -1, USER)
    files.see('user changed the group', mode('file3'))
    files.attempt('root changes the owner', os.chown, files.one + '/file4', 33, 33)
    files.see('root changed the owner', mode('file4'))
    for n in range(5):
        files.contents(f'file{n}')


@case
def permissions(files):
    """file0: root's, 0600; file1: the user's, 0444; file2: root's, 0666."""
    for n in range(3):
        path = f'{files.one}/file{n}'
        for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
            files.attempt(f'open {n} {flags}', lambda: os.close(as_user(os.open, path, flags)))
        files.attempt(f'chmod {n}', as_user, os.chmod, path, 0o640)
        files.attempt(f'truncate {n}', as_user, os.truncate, path, 10)
        files.attempt(f'utime {n}', as_user, os.utime, path)
        files.attempt(f'rename {n}', as_user, os.rename, path, path + '.new')
        files.attempt(f'unlink {n}', as_user, os.unlink, path)
        files.contents(f'file{n}')


@case
def access_lists(files):
    def acl(name='file'):
        done = subprocess.run(['getfacl', '-n', '-c', f'{files.one}/{name}'],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return done.returncode, done.stdout

    files.see('before', acl())
    files.see('set', subprocess.run(['setfacl', '-m', 'u:5:rw,g:33:r', files.one + '/file'],
                                    stderr=subprocess.DEVNULL).returncode)
    files.see('after', acl())
    for name in ('user.note', 'system.nfs4_acl', 'system.posix_acl_access'):
        files.attempt(f'get {name}', os.getxattr, files.one + '/file', name)
    files.attempt('set user.note', os.setxattr, files.one + '/file', 'user.note', b'note')
    files.attempt('list', lambda: ' '.join(os.listxattr(files.one + '/file')))
    files.contents()


@case
def times(files):
    """A fill moves none of them; what is set stays.  The second mount caches no attributes, and the
    server's cache gets old."""
    def moved():
        after = os.stat(f'{files.two}/{name}')
        return [after.st_size - before.st_size, after.st_mtime_ns - before.st_mtime_ns,
                after.st_ctime_ns - before.st_ctime_ns, after.st_mtime_ns]

    for name in ('file', 'other'):
        if name == 'other':
            os.chmod(files.one + '/other', 0o604)
            os.utime(files.one + '/other', ns=(5 * 10**17 + 5, 6 * 10**17 + 7))
        before = os.stat(f'{files.two}/{name}')
        with open(f'{files.one}/{name}', 'rb', 0) as file:
            file.seek(MIB)
            files.see('a part', hashlib.sha256(file.read(5000)).hexdigest())
        end, seen = time.monotonic() + 2.5, []
        while time.monotonic() < end:
            seen += [now for now in [moved()] if now not in seen]
            select.select([], [], [], 0.2)
        files.see('moved', seen)
        files.contents(name)


@case
def names(files):
    """Changes of names in directories that nobody has looked at; "unfilled0" and on have five
    files, n0 to n4."""
    os.chdir(files.one)
    files.attempt('rmdir', os.rmdir, 'unfilled0')
    files.attempt('O_EXCL', os.open, 'unfilled1/n1', os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    files.attempt('mkdir', os.mkdir, 'unfilled2/n1')
    files.attempt('symlink', os.symlink, 'x', 'unfilled3/n1')
    files.attempt('mkfifo', os.mkfifo, 'unfilled3/n2')
    files.attempt('link', os.link, 'unfilled3/n1', 'unfilled4/n3')
    files.attempt('link to a new name', os.link, 'unfilled3/n1', 'unfilled4/new')
    files.attempt('rename over a file', os.rename, 'unfilled5/n1', 'unfilled6/n1')
    files.attempt('rename over a directory', os.rename, 'unfilled7', 'unfilled8')
    files.attempt('rename a directory', os.rename, 'unfilled7', 'unfilled9/moved')
    files.attempt('unlink', os.unlink, 'unfilled10/n1')
    files.attempt('rename away', os.rename, 'unfilled10/n2', 'away')
    with open('unfilled10/n1', 'w') as file:
        file.write('another')
    os.chdir('/')
    for base, dirs, found in sorted(os.walk(files.two)):
        files.see(os.path.relpath(base, files.two), (sorted(dirs), sorted(found)))
        for name in sorted(found):
            if not os.path.islink(f'{base}/{name}'):
                with open(f'{base}/{name}', 'rb') as file:
                    files.see(name, file.read())


@case
def archived(files):
    """"tar", "cp" and "sum" are trees that nobody has read."""
    sums = 'find . -type f | LC_ALL=C sort | xargs sha256sum'
    for what, command in (('tar', 'tar --sort=name -C tar -cf - . | sha256sum'),
                          ('cp', f'cp -r cp copied && cd copied && {sums}'),
                          ('sum', f'cd sum && {sums}')):
        done = subprocess.run(command, shell=True, cwd=files.one, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        files.see(what, (done.returncode, done.stdout))


@case
def sent(files):
    """sendfile and splice out of a stub."""
    a, b = socket.socketpair()
    with open(files.one + '/file', 'rb') as file:
        digest, at, size = hashlib.sha256(), 0, os.path.getsize(file.fileno())
        while at < size:
            count = os.sendfile(a.fileno(), file.fileno(), at, 60000)
            digest.update(b.recv(count, socket.MSG_WAITALL))
            at += count
    files.see('sent', (at, digest.hexdigest()))


@case
def executed(files):
    """A program, and a script, that are stubs."""
    for name in ('program', 'script'):
        files.attempt(name, lambda: subprocess.run(
            [f'{files.one}/{name}', 'said'], stdout=subprocess.PIPE, timeout=60).stdout)
        files.attempt('as a user', lambda: subprocess.run(
            [f'{files.two}/{name}', 'said'], stdout=subprocess.PIPE, timeout=60, user=USER).stdout)


def run(function, one, two):
    files = Files(function.__name__, one, two)
    try:
        function(files)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        files.see('exception', f'{type(error).__name__} {error.args[:1]} in line {last.lineno}')
    return files.seen


def main():
    plain, plain_again, stubs, stubs_again, *wanted = sys.argv[1:]
    cases = [function for function in CASES if not wanted or function.__name__ in wanted]
    failed = 0
    for function in cases:
        wanted, got = run(function, plain, plain_again), run(function, stubs, stubs_again)
        good = got == wanted and not any(what == 'exception' for what, _ in wanted)
        errors = [f'{what}: {value}' for what, value in wanted if str(value)[:1] == 'E']
        print('ok' if good else 'not ok', function.__name__,
              f'({", ".join(errors)})' if errors else '', flush=True)
        if good:
            continue
        failed += 1
        for n in range(max(len(got), len(wanted))):
            if got[n:n + 1] != wanted[n:n + 1] or wanted[n][0] == 'exception':
                print(f'    stubs: {got[n:n + 1]}\n    plain: {wanted[n:n + 1]}', flush=True)
    print(f'{len(cases)} cases, {failed} failed')
    return 1 if failed or not cases else 0


if __name__ == '__main__':
    sys.exit(main())
