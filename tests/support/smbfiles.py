# SPDX-License-Identifier: GPL-3.0-or-later
"""Files and directories through a session of smb2.py: what a test does with one name is one call.
Paths have slashes.  A status that is not success raises Refused, unless it is asked for."""
import struct

import smb2
from smb2 import INFO_FILE, INFO_FS, INFO_SECURITY

BASIC, STANDARD, INTERNAL, EA, RENAME, LINK, DISPOSITION, FULL_EA, ALL = 4, 5, 6, 7, 10, 11, 13, 15, 18
ALLOCATION, END, STREAMS, NETWORK_OPEN, ATTRIBUTE_TAG = 19, 20, 22, 34, 35
# directory classes: where the name is
CLASSES = {1: 64, 2: 68, 3: 94, 37: 104, 38: 80}
DACL = 4
RECALL = 0x400000
REMOTE_STORAGE = 0x100


class Refused(Exception):
    def __init__(self, what, status):
        self.status = status
        self.name = smb2.name_of(status)
        super().__init__(f'{what}: {self.name}')


class Times:
    """What FileNetworkOpenInformation says."""

    def __init__(self, data):
        (self.created, self.accessed, self.written, self.changed, self.allocated, self.size,
         self.attributes) = struct.unpack_from('<QQQQQQI', data)

    def values(self):
        return dict(vars(self))

    @property
    def offline(self):
        return bool(self.attributes & smb2.OFFLINE)


class Entry(Times):
    """What a listing says: attributes are said after the sizes, which are the other way round."""

    def __init__(self, data, name_at):
        (self.created, self.accessed, self.written, self.changed, self.size, self.allocated,
         self.attributes, length) = struct.unpack_from('<QQQQQQII', data, 8)
        self.name = data[name_at:name_at + length].decode('utf-16-le', 'surrogatepass')
        self.ea_size = struct.unpack_from('<I', data, 64)[0] if name_at > 64 else None


def nttime(seconds):
    """Of seconds since 1970."""
    return int(seconds * 10_000_000) + 116444736000000000


def basic(created=0, accessed=0, written=0, changed=0, attributes=0):
    """FileBasicInformation; 0: as it is."""
    return struct.pack('<QQQQII', created, accessed, written, changed, attributes, 0)


def naming(path, replace):
    raw = path.replace('/', '\\').encode('utf-16-le', 'surrogatepass')
    return struct.pack('<B7xQI', replace, 0, len(raw)) + raw


class Open:
    """An open file or directory; closes itself as a context."""

    def __init__(self, session, path, **kw):
        reply = session.ask(smb2.create(path.replace('/', '\\'), **kw))
        if reply.failed:
            raise Refused(path, reply.status)
        self.session, self.path = session, path
        self.fid = reply.body[64:80]
        self.action, = struct.unpack_from('<I', reply.body, 4)
        self.said = Times(reply.body[8:])      # the order is that of NetworkOpen

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.ask(smb2.close(self.fid), 'close')

    def ask(self, request, what):
        reply = self.session.ask(request)
        if reply.failed:
            raise Refused(f'{self.path}: {what}', reply.status)
        return reply

    def query(self, level, kind=INFO_FILE, **kw):
        return smb2.output(self.ask(smb2.query_info(self.fid, kind, level, **kw), f'query {level}'))

    def set(self, level, data, kind=INFO_FILE, **kw):
        self.ask(smb2.set_info(self.fid, kind, level, data, **kw), f'set {level}')

    def read(self, offset, length):
        """Less at the end of the file."""
        reply = self.session.ask(smb2.read(self.fid, offset, length))
        if reply.status == smb2.END_OF_FILE:
            return b''
        if reply.failed:
            raise Refused(f'{self.path}: read', reply.status)
        return smb2.output(reply)

    def write(self, offset, data):
        self.ask(smb2.write(self.fid, offset, data), 'write')

    def list(self, level=37):
        """{name: Entry}, without . and .."""
        found = {}
        while True:
            reply = self.session.ask(smb2.query_directory(self.fid, level))
            if reply.status == smb2.NO_MORE_FILES:
                return found
            if reply.failed:
                raise Refused(f'{self.path}: list', reply.status)
            for data in smb2.entries(smb2.output(reply)):
                entry = Entry(data, CLASSES[level])
                if entry.name not in ('.', '..'):
                    found[entry.name] = entry

    def streams(self):
        """{name: size}"""
        found = {}
        for data in smb2.entries(self.query(STREAMS)):
            length, size = struct.unpack_from('<IQ', data, 4)
            found[data[24:24 + length].decode('utf-16-le')] = size
        return found


class Files:
    """One user's files."""

    def __init__(self, session):
        self.session = session

    def open(self, path, **kw):
        return Open(self.session, path, **kw)

    def times(self, path, **kw):
        with self.open(path, access=smb2.READ_ATTRIBUTES, **kw) as file:
            return Times(file.query(NETWORK_OPEN))

    def read(self, path):
        with self.open(path, access=smb2.GENERIC_READ) as file:
            size, parts = file.said.size, []
            while sum(map(len, parts)) < size:
                parts.append(file.read(sum(map(len, parts)), 1 << 16))
            return b''.join(parts)

    def write(self, path, data, disposition=smb2.OVERWRITE_IF):
        with self.open(path, access=smb2.GENERIC_WRITE, disposition=disposition) as file:
            for at in range(0, len(data), 1 << 16):
                file.write(at, data[at:at + (1 << 16)])

    def list(self, path='', level=37):
        with self.open(path, access=smb2.GENERIC_READ, options=smb2.DIRECTORY_FILE) as directory:
            return directory.list(level)

    def mkdir(self, path):
        self.open(path, disposition=smb2.NEW, options=smb2.DIRECTORY_FILE).close()

    def unlink(self, path, options=0):
        with self.open(path, access=smb2.DELETE, options=options) as file:
            file.set(DISPOSITION, b'\1')

    def rmdir(self, path):
        self.unlink(path, smb2.DIRECTORY_FILE)

    def rename(self, path, to, replace=False):
        with self.open(path, access=smb2.DELETE | smb2.READ_ATTRIBUTES) as file:
            file.set(RENAME, naming(to, replace))

    def link(self, path, to, replace=False):
        with self.open(path, access=smb2.READ_ATTRIBUTES) as file:
            file.set(LINK, naming(to, replace))

    def set_basic(self, path, **values):
        with self.open(path, access=smb2.WRITE_ATTRIBUTES) as file:
            file.set(BASIC, basic(**values))

    def eas(self, path):
        """{name: value}"""
        found = {}
        with self.open(path, access=smb2.READ_EA) as file:
            reply = self.session.ask(smb2.query_info(file.fid, INFO_FILE, FULL_EA))
            if reply.failed:                    # there are none
                return found
            for data in smb2.entries(smb2.output(reply)):
                _, length, size = struct.unpack_from('<BBH', data, 4)
                found[data[8:8 + length]] = data[9 + length:9 + length + size]
        return found

    def set_eas(self, path, values):
        with self.open(path, access=smb2.WRITE_EA) as file:
            file.set(FULL_EA, smb2.ea_list(values))

    def security(self, path, what=DACL):
        with self.open(path, access=smb2.READ_CONTROL) as file:
            return file.query(0, INFO_SECURITY, additional=what)

    def set_security(self, path, descriptor, what=DACL):
        with self.open(path, access=smb2.WRITE_DAC | smb2.READ_CONTROL) as file:
            file.set(0, descriptor, INFO_SECURITY, additional=what)

    def capabilities(self):
        """FileFsAttributeInformation's flags."""
        with self.open('', access=smb2.READ_ATTRIBUTES) as root:
            return struct.unpack_from('<I', root.query(5, INFO_FS))[0]
