# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways of reading and of changing files that Linux has: READS[name](path) gives what was read,
CHANGES[name](directory) changes its `file`, of which prepare() makes one."""
import ctypes
import mmap
import os
import stat
import subprocess

import uring

SIZE = 200000
HOLE = 65536, 131072
libc = ctypes.CDLL(None, use_errno=True)
KEEP_SIZE, PUNCH, COLLAPSE, ZERO, INSERT = 1, 2, 8, 16, 32      # FALLOC_FL_*
SCRIPT = b'#!/bin/sh\necho executed\nexit\n'


def prepare(path):
    """A script, a hole, and text."""
    with open(path, 'wb') as file:
        file.write(SCRIPT + b'#' * 4096)
        file.seek(HOLE[1])
        file.write(b'0123456789abcdef' * ((SIZE - HOLE[1]) // 16))
        file.truncate(SIZE)
    os.chmod(path, 0o755)


# ---- reading -----------------------------------------------------------------------------------

def opened(path, way, flags=os.O_RDONLY):
    fd = os.open(path, flags)
    try:
        return way(fd)
    finally:
        os.close(fd)


def all_of(get):
    """What get() gives until it gives nothing."""
    return b''.join(iter(get, b''))


def by_mmap(flags):
    def way(fd):
        with mmap.mmap(fd, SIZE, flags, mmap.PROT_READ) as mapping:
            return mapping[:]
    return lambda path: opened(path, way)


def read_vector(fd):
    buffers = bytearray(5), bytearray(9)
    return os.preadv(fd, buffers, 140000), buffers


def spliced(fd):
    r, w = os.pipe()
    got = []
    while n := os.splice(fd, w, 65536):
        got.append(os.read(r, n))
    os.close(r)
    os.close(w)
    return b''.join(got)


def into(copy):
    """By a call that copies between descriptors."""
    def way(fd):
        out = os.memfd_create('copy')
        while copy(fd, out):
            pass
        data = os.pread(out, 2 * SIZE, 0)
        os.close(out)
        return data
    return lambda path: opened(path, way)


def copied_range(path):
    out = f'{os.path.dirname(path)}.out'
    with open(path, 'rb') as source, open(out, 'w+b') as target:
        while os.copy_file_range(source.fileno(), target.fileno(), SIZE):
            pass
        target.seek(0)
        data = target.read()
    os.unlink(out)
    return data


def direct(path):
    def way(fd):
        with mmap.mmap(-1, 262144) as buffer:
            return buffer[:os.preadv(fd, [buffer], 0)]
    return opened(path, way, os.O_RDONLY | os.O_DIRECT)


def by_handle(path):
    handle = ctypes.create_string_buffer(136)
    ctypes.c_uint.from_buffer(handle).value = 128
    mount = ctypes.c_int()
    if libc.name_to_handle_at(-100, path.encode(), handle, ctypes.byref(mount), 0):
        raise OSError(ctypes.get_errno(), path)
    root = os.open(os.path.dirname(path), os.O_RDONLY)
    fd = libc.open_by_handle_at(root, handle, os.O_RDONLY)
    os.close(root)
    if fd < 0:
        raise OSError(ctypes.get_errno(), path)
    with open(fd, 'rb') as file:
        return file.read()


def by_program(*argv):
    return lambda path: subprocess.check_output([arg.format(path) for arg in argv])


def by_cp(path):
    """As a hole is looked for, not read."""
    subprocess.check_call(['cp', '--sparse=auto', path, '/run/qm/copied'])
    with open('/run/qm/copied', 'rb') as file:
        return file.read()


def data_is_there(path):
    """Where data begins and ends, as far as both servers must agree."""
    def way(fd):
        return os.lseek(fd, 0, os.SEEK_DATA), os.lseek(fd, HOLE[1], os.SEEK_DATA), os.lseek(
            fd, HOLE[1], os.SEEK_HOLE)
    return opened(path, way)


def named_by_proc(path):
    """Opened once more from a descriptor that reads nothing."""
    fd = os.open(path, os.O_PATH)
    with open(f'/proc/self/fd/{fd}', 'rb') as file:
        data = file.read()
    os.close(fd)
    return data


READS = {
    'read': lambda path: opened(path, lambda fd: all_of(lambda: os.read(fd, 7000))),
    'pread': lambda path: opened(path, lambda fd: os.pread(fd, 7, 150000)),
    'preadv': lambda path: opened(path, read_vector),
    'mmap_private': by_mmap(mmap.MAP_PRIVATE),
    'mmap_shared': by_mmap(mmap.MAP_SHARED),
    'sendfile': into(lambda fd, out: os.sendfile(out, fd, None, SIZE)),
    'splice': lambda path: opened(path, spliced),
    'copy_file_range': copied_range,
    'direct': direct,
    'handle': by_handle,
    'io_uring': lambda path: uring.read(path, SIZE),
    'execve': by_program('{}'),
    'seek': data_is_there,
    'cp': by_cp,
    'tar': by_program('tar', '-cSf', '-', '--transform=s,.*,x,', '-P', '--mtime=@0', '--owner=0',
                      '--group=0', '{}'),
    'grep': by_program('grep', '-c', 'executed', '{}'),
    'o_path': named_by_proc,
    'directory': lambda path: os.listdir(os.path.dirname(path)),
}


# ---- changing ----------------------------------------------------------------------------------

def change(way, flags=os.O_RDWR):
    return lambda where: opened(where + '/file', lambda fd: way(fd) and None, flags)


def fallocate(mode, offset, length):
    def way(fd):
        call = libc.fallocate64
        call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
        if call(fd, mode, offset, length):
            raise OSError(ctypes.get_errno(), 'fallocate')
    return change(way)


def map_and_write(fd):
    with mmap.mmap(fd, SIZE) as mapping:
        mapping[150000:150005] = b'XXXXX'


def by_shell(text):
    return lambda where: subprocess.check_output(['sh', '-ec', text], cwd=where)


def xattr(where):
    os.setxattr(where + '/file', 'user.x', b'value')
    return os.getxattr(where + '/file', 'user.x')


CHANGES = {
    'write': change(lambda fd: os.pwrite(fd, b'XXXXX', 150000)),
    'write_only': change(lambda fd: os.pwrite(fd, b'XXXXX', 10), os.O_WRONLY),
    'append': change(lambda fd: os.write(fd, b'XXXXX'), os.O_WRONLY | os.O_APPEND),
    'beyond': change(lambda fd: os.pwrite(fd, b'XXXXX', 400000)),
    'ftruncate': change(lambda fd: os.ftruncate(fd, 140000)),
    'truncate': lambda where: os.truncate(where + '/file', 140000),
    'truncate_0': lambda where: os.truncate(where + '/file', 0),
    'truncate_up': lambda where: os.truncate(where + '/file', 300000),
    'cut_and_grow': lambda where: (os.truncate(where + '/file', 100),
                                   os.truncate(where + '/file', SIZE)),
    'o_trunc': change(lambda fd: os.write(fd, b'XXXXX'), os.O_WRONLY | os.O_TRUNC),
    'shell': by_shell('echo XXXXX > file; echo XXXXX >> file; cat file'),
    'mmap': change(map_and_write),
    'allocate': fallocate(0, 0, 300000),
    'allocate_keep': fallocate(KEEP_SIZE, 0, 300000),
    'punch': fallocate(PUNCH | KEEP_SIZE, 140001, 20000),
    'zero': fallocate(ZERO, 140001, 20000),
    'collapse': fallocate(COLLAPSE, 131072, 4096),
    'insert': fallocate(INSERT, 131072, 4096),
    'dd': by_shell('dd if=/dev/zero of=file bs=1000 seek=150 count=3 conv=notrunc 2>&1 | tail -n +4'),
    'sed': by_shell('sed -i s/executed/changed/ file; head -c 60 file'),
    'rename': by_shell('mv file moved; head -c 60 moved'),
    'rename_elsewhere': by_shell('mv file other/moved; cat other/moved'),
    'link': by_shell('ln file other/link; cat other/link'),
    'unlink': by_shell('rm file; ls'),
    'replace': by_shell('echo new > new; mv new file; cat file'),
    'chmod': by_shell('chmod 640 file; stat -c %a file'),
    'xattr': xattr,
}


def tree(where):
    """What is below: content, mode, links, attributes of clients."""
    found = {}
    for path, _, names in os.walk(where):
        for name in names:
            full = os.path.join(path, name)
            with open(full, 'rb') as file:
                data = file.read()
            st = os.stat(full)
            found[os.path.relpath(full, where)] = (
                data, stat.S_IMODE(st.st_mode), st.st_nlink, st.st_size,
                {x: os.getxattr(full, x) for x in os.listxattr(full) if x.startswith('user.')})
    return found


def times(where):
    return {os.path.join(path, name): os.stat(os.path.join(path, name)).st_mtime_ns
            for path, _, names in os.walk(where) for name in names if '/.migrate' not in path}
