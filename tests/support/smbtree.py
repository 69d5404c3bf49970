# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree on an SMB server whose objects have descriptors, DOS attributes, times of creation and
streams, and what a client gets of it."""
import os
import struct

import ntsd
import smb2
import smbd
from harness import expect
from sandbox import BASE, sh
from servers import OLD, volume
from smb2 import ANY

SHARE = {'vfs objects': 'streams_xattr acl_xattr', 'acl_xattr:ignore system acls': 'yes'}
DOMAIN = smbd.SID + '-'
SIDS = {user: f'{DOMAIN}{2 * uid + 1000}' for user, (uid, _, _) in smbd.USERS.items()}
STAFFERS = f'{DOMAIN}{2 * 1000 + 1001}'
UNKNOWN = 'S-1-5-21-7-77-777-'                  # of a domain that nobody knows
BASIC, STREAMS = 4, 22                          # levels of QUERY_INFO
READER, WRITER = 'bob', 'root'                  # of the old server, of with_accounts()


# ---- the old tree -------------------------------------------------------------------------------

def random_ace(random, directory, among=None):
    who = random.choice(among or (*SIDS.values(), STAFFERS, ntsd.EVERYONE, ntsd.USERS,
                                  ntsd.ADMINISTRATORS, 'S-1-5-11', 'S-1-5-18', 'S-1-3-4',
                                  UNKNOWN + str(random.randrange(99))))
    mask = random.choice((ntsd.FULL, ntsd.MODIFY, ntsd.READ_EXECUTE, ntsd.READ, ntsd.WRITE,
                          random.randrange(1 << 9), random.randrange(1 << 21) & ntsd.FULL))
    flags = random.choice((0, 0, ntsd.INHERITED))
    if directory:
        flags |= random.choice((0, 3, 3, 1, 2, 0xb, 0x9, 7))
    return ntsd.ace(random.choices((ntsd.ALLOW, ntsd.DENY), (4, 1))[0], flags, mask, who)


def random_descriptor(random, directory):
    """Whatever order they stand in."""
    dacl = [random_ace(random, directory) for _ in range(random.choice((0, 1, 3, 5, 9)))]
    if random.random() < 0.8:
        dacl.append(ntsd.ace(ntsd.ALLOW, 3 if directory else 0, ntsd.MODIFY, ntsd.EVERYONE))
    sacl = None
    if random.random() < 0.2:
        sacl = [ntsd.ace(ntsd.AUDIT, ntsd.SUCCESSES, ntsd.WRITE, ntsd.EVERYONE)]
    control = random.choice((0, ntsd.PROTECTED)) | random.choice((0, ntsd.KEEP_AUTO_INHERITED))
    owner = random.choice((SIDS['alice'], SIDS['carol'], SIDS['root'], ntsd.ADMINISTRATORS,
                           UNKNOWN + '500'))
    return ntsd.descriptor(owner, random.choice((STAFFERS, UNKNOWN + '513')), dacl, sacl, control)


def long_descriptor(entries):
    return ntsd.descriptor(SIDS['alice'], STAFFERS, [
        ntsd.ace(ntsd.DENY, 0, ntsd.WRITE, SIDS['bob']),
        *(ntsd.ace(ntsd.ALLOW, 0, ntsd.READ, f'S-1-5-21-1-2-3-{i}') for i in range(entries)),
        ntsd.ace(ntsd.ALLOW, 0, ntsd.FULL, ntsd.EVERYONE)])


class Maker:
    """Makes objects as a client of the old server does."""

    def __init__(self, session, random):
        self.session, self.random = session, random
        self.paths = []

    def done(self, replies, what):
        for reply in replies:
            expect(not reply.failed, f'{what}: {smb2.name_of(reply.status)}')
        return replies

    def make(self, path, sd, directory=False, data=b'', attributes=0, created=0, streams=None):
        options = smb2.DIRECTORY_FILE if directory else smb2.NON_DIRECTORY
        access = smb2.GENERIC_READ | smb2.GENERIC_WRITE | smb2.WRITE_DAC | smb2.WRITE_OWNER \
            | smb2.SYSTEM_SECURITY
        requests = [smb2.create(path, access, smb2.NEW, options)]
        if data:
            requests.append(smb2.write(ANY, 0, data))
        self.done(self.session.compound(*requests, smb2.close(ANY)), path)
        for name, content in (streams or {}).items():
            requests = [smb2.create(f'{path}:{name}', disposition=smb2.NEW)]
            if content:
                requests.append(smb2.write(ANY, 0, content))
            self.done(self.session.compound(*requests, smb2.close(ANY)), f'{path}:{name}')
        written = created + 36_000_000_000 if created else 0
        self.done(self.session.compound(
            smb2.create(path, access), smb2.set_info(ANY, smb2.INFO_SECURITY, 0, sd, ntsd.ALL if
                                                     ntsd.read(sd)[3] else ntsd.ALL - ntsd.SACL),
            smb2.set_info(ANY, smb2.INFO_FILE, BASIC, struct.pack(
                '<QQQQII', created, 0, written, 0, attributes, 0)),
            smb2.close(ANY)), path)
        self.paths.append(path)

    def random_object(self, path, directory):
        random = self.random
        streams = {}
        if random.random() < 0.15:
            streams = {name: random.randbytes(random.choice((0, 1, 20, 3000))) for name in
                       random.sample(('Zone.Identifier', 'ä ö', 'x' * 200, 'a.b'), 2)}
        self.make(path, random_descriptor(random, directory), directory,
                  b'' if directory else random.randbytes(random.choice((0, 10, 5000))),
                  random.choice((0, 0, smb2.A_HIDDEN, smb2.A_SYSTEM | smb2.A_ARCHIVE,
                                 0 if directory else smb2.A_READONLY)),
                  random.choice((0, 125_000_000_000_000_000 + random.randrange(10 ** 15))), streams)


def make_old(session, random, files):
    """The paths of what was made."""
    maker = Maker(session, random)
    directories = []
    for i in range(files // 25):
        parent = random.choice(directories + ['']) if i > 5 else ''
        directories.append(f'{parent}d{i}')
        maker.random_object(directories[-1], True)
        directories[-1] += '\\'
    for i in range(files):
        maker.random_object(f'{random.choice(directories)}f{i}', False)
    full = ntsd.descriptor(SIDS['alice'], STAFFERS, [ntsd.ace(ntsd.ALLOW, 0, ntsd.FULL,
                                                              ntsd.EVERYONE)])
    for n in (80, 900, 1800):
        maker.make(f'long{n}', long_descriptor(n), data=b'long')
    maker.make('streams', full, data=b'main', streams={'full': random.randbytes(65535),
                                                       'half': random.randbytes(30000)})
    maker.make('shared', ntsd.descriptor(SIDS['alice'], STAFFERS, [
        ntsd.ace(ntsd.ALLOW, 0, ntsd.FULL, SIDS['alice']),
        ntsd.ace(ntsd.ALLOW, 0, ntsd.READ, STAFFERS)]), data=b'ours')
    maker.make('denied', ntsd.descriptor(SIDS['alice'], STAFFERS, [
        ntsd.ace(ntsd.DENY, 0, ntsd.READ, SIDS['bob']),
        ntsd.ace(ntsd.ALLOW, 0, ntsd.FULL, ntsd.EVERYONE)]), data=b'not for bob')
    maker.make('closed', ntsd.descriptor(SIDS['alice'], STAFFERS, [
        ntsd.ace(ntsd.DENY, 3, ntsd.FULL, SIDS['bob']),
        ntsd.ace(ntsd.ALLOW, 3, ntsd.FULL, ntsd.EVERYONE)]), True)
    maker.make('closed\\file', full, data=b'inside')
    return maker.paths


# ---- what a client gets ------------------------------------------------------------------------

def streams_of(data):
    found = {}
    for entry in smb2.entries(data):
        length, size = struct.unpack_from('<IQ', entry, 4)
        found[entry[24:24 + length].decode('utf-16-le')] = size
    return found


def look(session, path):
    """Everything of one object but its data."""
    replies = session.compound(
        smb2.create(path, smb2.READ_CONTROL | smb2.READ_ATTRIBUTES | smb2.SYSTEM_SECURITY),
        smb2.query_info(ANY, smb2.INFO_SECURITY, 0, additional=ntsd.ALL),
        smb2.query_info(ANY, smb2.INFO_FILE, BASIC), smb2.query_info(ANY, smb2.INFO_FILE, STREAMS),
        smb2.close(ANY))
    expect(not any(reply.failed for reply in replies),
           f'{path}: {[smb2.name_of(reply.status) for reply in replies]}')
    created, _, written, _, attributes, _ = struct.unpack('<QQQQII', smb2.output(replies[2]))
    sizes = streams_of(smb2.output(replies[3]))
    found = {'descriptor': smb2.output(replies[1]), 'created': created, 'written': written,
             'attributes': (attributes & ~smb2.OFFLINE) or smb2.A_NORMAL, 'streams': sizes}
    for name, size in sizes.items():
        if name != '::$DATA' and size:
            replies = session.compound(smb2.create(path + name, smb2.READ_DATA),
                                       smb2.read(ANY, 0, size), smb2.close(ANY))
            found[name] = smb2.output(replies[1])
    return found


def look_at_all(session, paths):
    return {path: look(session, path) for path in paths}


def compare(new, old, what):
    found = [f'{path}: {key}: {show(key, new[path].get(key))}, not {show(key, old[path].get(key))}'
             for path in old for key in old[path].keys() | new[path].keys()
             if old[path].get(key) != new[path].get(key)]
    expect(not found, f'{len(found)} differences ({what}):\n  ' + '\n  '.join(found[:10]))


def show(key, value):
    return ntsd.read(value) if key == 'descriptor' and value else str(value)[:300]


# ---- servers -------------------------------------------------------------------------------------

def may_audit(server, what='grant'):
    """root may read and set SACLs."""
    sh('net', '-s', server.config, 'sam', 'rights', what, 'root', 'SeSecurityPrivilege')


def old_tree(random, files=100, make=make_old, share=SHARE):
    """(server, paths)"""
    volume(OLD, '4G', mkfs=('-O', 'ea_inode'))
    os.chmod(OLD, 0o777)
    server = smbd.old_smbd(OLD, settings=share)
    may_audit(server)
    paths = make(server.session('root', 'old'), random, files)
    for path, _, names in os.walk(OLD):         # as the setting demands
        os.chmod(path, 0o777)
        for name in names:
            os.chmod(f'{path}/{name}', 0o666)
    return server, ['', *paths]


def with_accounts(server):
    """Settings of a migration from there and back: its account lets it read all, and change nothing."""
    smbd.users()
    sh('net', '-s', server.config, 'sam', 'rights', 'grant', READER, 'SeSecurityPrivilege')
    server.configure({'old': (OLD, {**SHARE, 'admin users': READER, 'read list': READER})})
    server.restart()
    address = f'{server.address}:{server.port}/old'
    return {**settings_of(server), 'source': f'smb://{READER}@{address}',
            'rollback_source': f'smb://{WRITER}@{address}', 'rollback_password_file': BASE + '/password'}


def settings_of(server, **more):
    """Of a migration from there."""
    with open(BASE + '/password', 'w') as out:
        os.fchmod(out.fileno(), 0o600)
        out.write(smbd.PASSWORD)
    return {'source': f'smb://root@{server.address}:{server.port}/old', 'smb_modes': 'open',
            'smb_password_file': BASE + '/password', 'sid_users': ' '.join(
                f'{SIDS[user]}:{uid}' for user, (uid, _, _) in smbd.USERS.items()),
            'sid_groups': f'{STAFFERS}:1000', **more}
