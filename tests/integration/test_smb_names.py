#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of an old SMB server that differ in case only, that SMB cannot say, that it shows as others:
every object arrives under a right name, or there is a line for it; no object gets what is another
one's."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import smb2                                                             # noqa: E402
import smbproxy                                                         # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import sh, wait_for                                        # noqa: E402
from servers import NEW, OLD                                            # noqa: E402
from smbfiles import Files, Refused                                     # noqa: E402
from smbsource import finish, put, world                                # noqa: E402

RESERVED = ('a:b', 'a\\b', 'a*b', 'a?b', 'a<b', 'a|b', 'a"b', 'c\x01d')
HARMLESS = ('dot.', 'space ', 'ABCDE~1', 'FOOBAR~1.TXT', 'con', 'aux.txt', ' lead', '.hidden',
            'x' * 255, 'ü' * 127)
OTHER = 'opens another object by this name'


# ---- upper and lower case ------------------------------------------------------------------------

def cases(root):
    if os.path.isdir(root + '/lost+found'):     # it would be one more that is not found
        os.rmdir(root + '/lost+found')
    for name in ('foo', 'FOO', 'Foo'):
        put(f'{root}/{name}', name.encode() * 100)
    for name in ('dir', 'DIR'):
        os.mkdir(f'{root}/{name}')
        put(f'{root}/{name}/SAME', name.encode() * 200)
        put(f'{root}/{name}/{"ONE" if name == "dir" else "OTHER"}', name.encode())


def all_of_them(args, sensitive):
    _, migration = world(args, cases, {'case sensitive': sensitive})
    client = migration.server.client()
    for name in ('Foo', 'DIR/SAME', 'dir/SAME'):
        with open(f'{OLD}/{name}', 'rb') as file:
            same(client.read_all(client.walk(name)[0]), file.read(), name)
    migration.crawl()
    finish(migration)


@case(short=True)
def names_that_differ_in_case(args):
    """Samba finds what is called exactly so first."""
    all_of_them(args, 'no')


def circles(root):
    """Two links that lead up: each is there again below the other, twice as often with each level."""
    for name in ('a', 'b'):
        os.mkdir(f'{root}/{name}')
        put(f'{root}/{name}/file', name.encode() * 100)
        os.symlink('..', f'{root}/{name}/up')


@case()
def directories_that_are_in_themselves(args):
    """A server that follows symbolic links shows them so."""
    _, migration = world(args, circles)
    client = migration.server.client()
    same(nfs3.status_of(lambda: client.walk('a/up')), nfs3.IO, 'what a client finds there')
    same(migration.start_crawler().wait(300), 2, 'exit status of the crawler')
    found = migration.errors()
    same({path for path in found if path.endswith('up')}, {'a/up', 'b/up'}, f'errors {found}')
    expect('in itself' in found['a/up'] or 'it is in' in found['a/up'], found['a/up'])
    for name in ('a', 'b'):
        migration.ctl('skip', '--yes', argument=f'{NEW}/{name}/up')
    migration.crawl()
    same(migration.errors(), {}, 'errors')
    migration.ctl('verify', '--content', may_fail=True)         # which ends
    migration.ctl('finalize')


@case(long=True)
def names_that_differ_in_case_and_a_server_that_cares(args):
    all_of_them(args, 'yes')


@case()
def a_server_that_finds_others(args):
    """Whatever the case, it opens the one in upper case, which is another file or directory."""
    old, migration = world(args, cases, {'case sensitive': 'yes', 'default case': 'upper',
                                         'preserve case': 'no', 'short preserve case': 'no'})
    finds_others(migration)
    old.configure(shares={'old': (OLD, {'vfs objects': 'streams_xattr acl_xattr'})})
    old.restart()
    migration.ctl('retry')
    migration.crawl()
    finish(migration)


def finds_others(migration):
    client = migration.server.client()
    for name in ('foo', 'dir', 'dir/SAME'):
        expect(nfs3.status_of(lambda: client.walk(name)) in (nfs3.IO, nfs3.NOENT), name)
    for name in ('FOO', 'DIR/SAME'):
        with open(f'{OLD}/{name}', 'rb') as file:
            same(client.read_all(client.walk(name)[0]), file.read(), name)
    same(migration.start_crawler().wait(300), 2, 'exit status of the crawler')
    found = migration.errors()
    same(set(found), {NEW[len(NEW) + 1:], 'foo', 'Foo', 'dir'}, 'errors')
    for name in ('foo', 'Foo', 'dir'):
        expect(OTHER in found[name], f'{name}: {found[name]}')
        expect(not os.path.exists(f'{NEW}/{name}'), f'there is a {name}')
    expect(migration.ctl('finalize', may_fail=True) is None, 'finalize takes it for complete')


class Confuses:
    """A server that opens the one in upper case of two names."""

    def __init__(self):
        self.confused = True

    def on_request(self, call):
        if call.command != smb2.CREATE or not self.confused:
            return
        parts = call.path.split('/')
        opened = [part.upper() if part in ('foo', 'Foo', 'dir') else part for part in parts]
        at, = struct.unpack_from('<H', call.pdu, 108)
        name = '\\'.join(opened).encode('utf-16-le')
        call.pdu[at:at + len(name)] = name


@case()
def a_server_that_opens_others(args):
    """Likewise, but it lists them by their names."""
    server = Confuses()
    _, migration = world(args, cases, on_request=server.on_request)
    finds_others(migration)
    server.confused = False
    migration.ctl('retry')
    migration.crawl()
    finish(migration)


@case()
def a_server_that_opens_others_for_good(args):
    """What cannot be reached there is given up: with --all in both directories that lack a name."""
    _, migration = world(args, cases, on_request=Confuses().on_request)
    finds_others(migration)
    migration.ctl('skip', '--yes', '--all', argument=NEW)
    same(migration.status()['names_skipped'], 3, 'names that are given up')
    migration.crawl()
    same(migration.status()['state'], 'whole', 'state after the crawl')
    for name in ('FOO', 'DIR/SAME', 'DIR/OTHER'):
        with open(f'{OLD}/{name}', 'rb') as a, open(f'{NEW}/{name}', 'rb') as b:
            same(b.read(), a.read(), name)
    migration.ctl('finalize')
    same(set(os.listdir(NEW)), {'FOO', 'DIR'}, 'names at the end')


# ---- names that SMB does not say -----------------------------------------------------------------

def odd(root):
    os.mkdir(root + '/odd')
    put(root + '/odd/large', os.urandom(200_000))       # does not come with its name
    for name in RESERVED + HARMLESS:
        put(f'{root}/odd/{name}', name.encode() * 9)
        if len(name.encode()) < 250:
            os.mkdir(f'{root}/odd/d-{name}')
            put(f'{root}/odd/d-{name}/in', name.encode() * 7)


def contents(root):
    """Of all files, whatever they are called."""
    found = []
    for directory, directories, files in os.walk(root):
        if '.migrate' in directories:
            directories.remove('.migrate')
        for name in files:
            with open(f'{directory}/{name}', 'rb') as file:
                found.append(file.read())
    return sorted(found)


def others_are_whole():
    """What is beside the refused names, and below it, did not wait for them; their directory and
    the root say that something is missing."""
    made = [name for name in os.listdir(NEW + '/odd') if not name.startswith('d-')]
    same(set(made), {'large', *HARMLESS}, 'files in the directory')
    below = {f'd-{name}/in' for name in HARMLESS if len(name.encode()) < 250}
    for path in below | set(made):
        with open(f'{OLD}/odd/{path}', 'rb') as a, open(f'{NEW}/odd/{path}', 'rb') as b:
            same(b.read(), a.read(), path)
    directories = {entry.path for entry in os.scandir(NEW + '/odd') if entry.is_dir()}
    kept = {NEW, NEW + '/odd'} | directories
    wait_for('what is whole becomes durable, though its directory is not finished',
             lambda: {os.fsdecode(path) for path in tree.records(NEW)} == kept)


@case()
def names_that_are_listed_and_cannot_be_asked_for(args):
    _, migration = world(args, odd, {'mangled names': 'no'})
    client = migration.server.client()
    for name in HARMLESS:
        same(client.read_all(client.walk('odd/' + name)[0]), name.encode() * 9, name)
    same(migration.start_crawler().wait(300), 2, 'exit status of the crawler')
    shown = {name.replace('\\', '\\134').replace('\x01', '\\001') for name in RESERVED}
    found = migration.errors()
    same(set(found), {'odd'} | {f'odd/{prefix}{name}' for name in shown for prefix in ('', 'd-')},
         'errors')
    for path in set(found) - {'odd'}:
        expect('no file can be asked for by SMB' in found[path], f'{path}: {found[path]}')
    others_are_whole()
    lines = migration.ctl('errors').splitlines()
    same(len(lines), len(found), 'lines')
    expect(migration.ctl('finalize', may_fail=True) is None, 'finalize takes it for complete')
    times = os.stat(OLD + '/odd')
    for i, name in enumerate(RESERVED):
        for prefix in ('', 'd-'):
            os.rename(f'{OLD}/odd/{prefix}{name}', f'{OLD}/odd/{prefix}better {i}')
    os.utime(OLD + '/odd', ns=(times.st_atime_ns, times.st_mtime_ns))
    migration.ctl('retry')
    migration.crawl()
    finish(migration)


def leave_out_refused(old):
    """Newer releases of Samba show a name with a wildcard as another, and refuse to open that."""
    files = Files(old.session('root'))
    refused = set()
    for name in files.list('odd'):
        try:
            files.read(f'odd/{name}')
        except Refused as refusal:
            refused.add(refusal.name)
    if not refused:
        return
    same(refused, {'OBJECT_NAME_INVALID'}, 'how files are refused')
    for name in os.listdir(OLD + '/odd'):
        if set('*?<"') & set(name):
            sh('rm', '-r', f'{OLD}/odd/{name}')


def shown_as_others(args, settings, right=HARMLESS):
    _, migration = world(args, odd, settings, prepare=leave_out_refused)
    migration.crawl()
    same(migration.status()['state'], 'whole', 'state after the crawl')
    same(tree.records(NEW), [], 'objects with a record')
    same(contents(NEW), contents(OLD), 'contents')
    for name in right:
        with open(f'{NEW}/odd/{name}', 'rb') as file:
            same(file.read(), name.encode() * 9, name)
    return migration


def short(name):
    base, _, extension = name.partition('.')
    return len(base) == 8 and base[6] == '~' and len(extension) < 4 and name.upper() == name


@case()
def names_that_are_shown_short(args):
    """All is here, under the names that clients of the old server saw; the report names them."""
    migration = shown_as_others(args, {}, ('ABCDE~1', 'FOOBAR~1.TXT', ' lead', '.hidden',
                                           'x' * 255, 'ü' * 127))
    expected = {name for name in os.listdir(NEW + '/odd') if short(name)}
    expect(len(expected) > len(RESERVED), f'short names: {expected}')
    reported = {line.split(':')[0].rpartition('/')[2]
                for line in migration.ctl('report').splitlines() if 'short name' in line}
    same(reported, expected, 'reported names')


@case(long=True)
def names_that_are_shown_short_always(args):
    shown_as_others(args, {'mangled names': 'yes'}, ())


@case(long=True)
def names_that_are_mapped_by_catia(args):
    """To characters of this list, which are what clients of the old server saw."""
    mapped = ''.join(f'0x{ord(c):x}:0x{ord(to):x},' for c, to in zip('"*:<>?\\|', '¨¤÷«»¿ÿ¦'))
    shown_as_others(args, {'vfs objects': 'catia streams_xattr acl_xattr', 'mangled names': 'no',
                           'catia:mappings': mapped.rstrip(',') + ',0x1:0xb1'})
    names = os.listdir(NEW + '/odd')
    for name in ('a÷b', 'aÿb', 'a¤b', 'a¿b', 'a«b', 'a¦b', 'a¨b', 'c±d', 'd-a÷b'):
        expect(name in names, f'{name} is not among {names}')


@case(long=True)
def names_that_are_mapped_by_fruit(args):
    """To characters of private use, as Macs and Windows do."""
    shown_as_others(args, {'vfs objects': 'catia fruit streams_xattr acl_xattr',
                           'fruit:encoding': 'native'}, ())
    expect(any('\uf000' < c < '\uf0ff' for name in os.listdir(NEW + '/odd') for c in name),
           'nothing is mapped')


# ---- one share, several file systems -------------------------------------------------------------

def small_numbers(call, pdu):
    """File systems are not mixed into the numbers of files, as Samba does it."""
    if not smbproxy.succeeded(pdu):
        return
    if call.command == smb2.QUERY_DIRECTORY:
        for at, _ in smbproxy.entries(call, pdu):
            smbproxy.change(pdu, '<Q', at + 96, lambda number: number & 0xffffffff)
    elif call.command == smb2.QUERY_INFO and call.level == smbproxy.ALL_INFORMATION:
        smbproxy.change(pdu, '<Q', 72 + 64, lambda number: number & 0xffffffff)


def mounted(root):
    """File systems below, with files of the same numbers, each of which has two names."""
    numbers = set()
    for at in ('one', 'two'):
        os.mkdir(f'{root}/{at}')
        sh('mount', '-t', 'tmpfs', 'tmpfs', f'{root}/{at}')
        put(f'{root}/{at}/name', f'file of {at}'.encode() * 50)
        os.link(f'{root}/{at}/name', f'{root}/{at}/other name')
        put(f'{root}/{at}/alone', f'alone in {at}'.encode())
        numbers.add(os.stat(f'{root}/{at}/name').st_ino)
    same(len(numbers), 1, 'file numbers')


@case()
def files_of_one_number(args):
    """They are not taken for one, and their names are."""
    _, migration = world(args, mounted, on_reply=small_numbers)
    client = migration.server.client()
    for path in ('two/other name', 'one/name', 'two/name', 'one/other name'):
        with open(f'{OLD}/{path}', 'rb') as file:
            same(client.read_all(client.walk(path)[0]), file.read(), path)
    migration.crawl()
    finish(migration)
    for at in ('one', 'two'):
        same(os.stat(f'{NEW}/{at}/name').st_ino, os.stat(f'{NEW}/{at}/other name').st_ino,
             f'file numbers in {at}')


# ---- reparse points (MS-FSCC 2.1.2) --------------------------------------------------------------

SYMLINK, JUNCTION, LX_SYMLINK, DFS, DEDUP, CLOUD = (0xa000000c, 0xa0000003, 0xa000001d, 0x8000000a,
                                                    0x80000013, 0x9000001a)
PATH_NOT_COVERED = 0xc0000257


def reparse_buffer(tag, text):
    raw = text.encode('utf-16-le')
    names = struct.pack('<HHHH', 0, len(raw), 0, len(raw))
    data = {SYMLINK: names + struct.pack('<I', 1) + raw, JUNCTION: names + raw,
            LX_SYMLINK: struct.pack('<I', 2) + text.encode()}[tag]
    return struct.pack('<IHH', tag, len(data), 0) + data


class Reparsing:
    """Names that are more than files and directories."""
    TEXTS = {'link': 'target\\below', 'junction': 'C:\\elsewhere', 'wsl': 'some/where'}

    def __init__(self):
        self.tags = {'link': SYMLINK, 'junction': JUNCTION, 'wsl': LX_SYMLINK, 'dfs': DFS,
                     'dedup': DEDUP, 'cloud': CLOUD, 'large': DEDUP}

    def on_reply(self, call, pdu):
        tag = self.tags.get(call.path)
        as_it_is = call.create and call.create.pdu[64 + 42] & 0x20
        if tag and call.command == smb2.IOCTL and call.level == smb2.FSCTL_REPARSE_POINT:
            return smbproxy.answer(call, pdu, reparse_buffer(tag, self.TEXTS[call.path]))
        if tag == DFS and call.command == smb2.CREATE and not call.pdu[64 + 42] & 0x20:
            return smbproxy.refuse(pdu, PATH_NOT_COVERED)
        if not smbproxy.succeeded(pdu):
            return None
        if call.command == smb2.QUERY_DIRECTORY:
            for at, name in smbproxy.entries(call, pdu):
                if not call.path and name in self.tags:
                    smbproxy.change(pdu, '<I', at + 56, lambda attributes: attributes | 0x400)
                    smbproxy.change(pdu, '<I', at + 64, lambda _: self.tags[name])
        elif tag and call.command == smb2.QUERY_INFO and call.level == smbproxy.ALL_INFORMATION:
            smbproxy.change(pdu, '<I', 72 + 32, lambda attributes: attributes | 0x400)
        elif tag and call.command == smb2.QUERY_INFO and call.level == smbproxy.ATTRIBUTE_TAG:
            pdu[72:80] = struct.pack('<II', 0x420, tag)
        elif tag and call.command == smb2.READ and as_it_is:
            pdu[80:] = bytes(len(pdu) - 80)             # it has nothing but its tag
        return None


def reparse_points(root):
    for name in ('link', 'wsl', 'dedup', 'cloud', 'plain'):
        put(f'{root}/{name}', name.encode() * 1000)
    put(root + '/large', os.urandom(3 << 20))
    for name in ('junction', 'dfs', 'directory'):
        os.mkdir(f'{root}/{name}')
        put(f'{root}/{name}/in', name.encode() * 100)


@case(short=True)
def reparse_points_of_every_kind(args):
    server = Reparsing()
    _, migration = world(args, reparse_points, on_reply=server.on_reply)
    same(migration.start_crawler().wait(300), 2, 'exit status of the crawler')
    found = migration.errors()
    same(set(found), {'dfs'}, 'errors')
    expect('a DFS link' in found['dfs'], f'the reason: {found}')
    for name, text in (('link', 'target/below'), ('junction', 'C:\\elsewhere'),
                       ('wsl', 'some/where')):
        same(os.readlink(f'{NEW}/{name}'), text, name)
    for name in ('dedup', 'cloud', 'large', 'plain', 'directory/in'):
        with open(f'{OLD}/{name}', 'rb') as a, open(f'{NEW}/{name}', 'rb') as b:
            same(a.read() == b.read(), True, f'content of {name}')
    report = migration.ctl('report')
    for name, tag in (('dedup', DEDUP), ('cloud', CLOUD), ('large', DEDUP), ('dfs', DFS)):
        expect(any(f'/{name}:' in line and f'0x{tag:08x}' in line for line in report.splitlines()),
               f'{name} is not in the report: {report}')
    del server.tags['dfs']
    migration.ctl('retry')
    migration.crawl()
    same(migration.status()['state'], 'whole', 'state at the end')


if __name__ == '__main__':
    sys.exit(main())
