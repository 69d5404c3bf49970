# SPDX-License-Identifier: GPL-3.0-or-later
"""What the cases about data share, beside door.py."""
import os
import struct

from door import status_is
import fake as f
import smb2
from fake import ATTRIBUTES, BEGIN, CHANGED, END, HOLD
from harness import same

END_OF_FILE_INFORMATION, ALLOCATION_INFORMATION = 20, 19


def stub(world, name):
    """What the old server has."""
    return world.fake.files[os.stat(world.path(name)).st_ino]


def partial(world, name, content, *here):
    """A file with some ranges here: (start, end)."""
    world.file(name, content)
    bring(world, name, *here)


def bring(world, name, *here):
    old = stub(world, name)
    with open(world.path(name), 'r+b') as out:
        for start, end in here:
            out.seek(start)
            out.write(old.content[start:end])
            old.missing = f.without(old.missing, start, end)
    os.utime(world.path(name), ns=(old.mtime, old.mtime))
    world.fake.store(world.path(name), old)


def filled(world, name):
    """Its content once the retriever has brought what is missing."""
    old, content = stub(world, name), bytearray(world.content(name))
    for start, end in old.missing:
        content[start:end] = old.content[start:end]
    return bytes(content)


# ---- what the retriever is asked --------------------------------------------------------------

def brackets(fake):
    """(change, offset, length) of each change of data that was ended as made."""
    ended = {r.ref for r in fake.requests(END) if r.flags & CHANGED}
    return [(r.change, r.offset, r.length) for r in begins(fake) if r.id in ended]


def begins(fake):
    """Without those of attributes: times, and the archive bit."""
    return [r for r in fake.requests(BEGIN) if r.change != ATTRIBUTES or r.length]


def hold_begins(fake):
    """BEGINs of data, which are to be answered with fake.do_begin()."""
    held = []

    def begin(request):
        if request.change == ATTRIBUTES:
            return fake.do_begin(request)
        held.append(request._replace(fd=os.dup(request.fd)))
        return HOLD
    fake.on[BEGIN] = begin
    return held


def patched(content, offset, data):
    content = content.ljust(offset, b'\0')
    return content[:offset] + data + content[offset + len(data):]


# ---- what clients do ----------------------------------------------------------------------------

def ok(reply, what):
    return status_is(reply, smb2.SUCCESS, what)


def close(session, fid):
    ok(session.ask(smb2.close(fid)), 'close')


def bytes_of(reply, what):
    return b'' if reply.status == smb2.END_OF_FILE else smb2.output(ok(reply, what))


def read(session, fid, offset=0, length=1 << 16):
    return bytes_of(session.ask(smb2.read(fid, offset, length)), f'read {length} at {offset}')


def write(session, fid, offset, data, flags=0):
    reply = ok(session.ask(smb2.write(fid, offset, data, flags)), f'write at {offset}')
    same(struct.unpack_from('<I', reply.body, 4)[0], len(data), 'bytes written')


def set_size(session, fid, size, level=END_OF_FILE_INFORMATION):
    return session.ask(smb2.set_info(fid, smb2.INFO_FILE, level, struct.pack('<Q', size)))


def zero(session, fid, start, end):
    return session.ask(smb2.ioctl(fid, smb2.FSCTL_SET_ZERO_DATA, struct.pack('<QQ', start, end)))


def allocated(session, fid, offset, length):
    """[(start, end)]"""
    data = smb2.output(ok(session.ask(smb2.ioctl(fid, smb2.FSCTL_ALLOCATED_RANGES,
                                                 struct.pack('<QQ', offset, length))),
                          'allocated ranges'))
    return [(at, at + size) for at, size in struct.iter_unpack('<QQ', data)]


def resume_key(session, fid):
    """The reply, its key."""
    reply = session.ask(smb2.ioctl(fid, smb2.FSCTL_RESUME_KEY))
    return reply, smb2.output(reply)[:24] if reply.status == 0 else None


def copy_chunks(session, key, to, *chunks, code=smb2.FSCTL_COPYCHUNK_WRITE):
    """chunks: (source offset, target offset, length)"""
    data = key + struct.pack('<II', len(chunks), 0) + b''.join(
        struct.pack('<QQII', *chunk, 0) for chunk in chunks)
    return session.ask(smb2.ioctl(to, code, data))
