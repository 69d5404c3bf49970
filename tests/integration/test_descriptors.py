#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What objects of an SMB server have beside their data: security descriptors, DOS attributes, times
of creation, alternate data streams.  Object by object, as clients of both servers get it."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import servers                                                          # noqa: E402
import nfs3                                                             # noqa: E402
import ntsd                                                             # noqa: E402
import smb2                                                             # noqa: E402
import smbd                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import LOGS, sh, wait_for                                  # noqa: E402
from servers import BASE, NEW, OLD, Migration, volume                   # noqa: E402
from smb2 import ANY                                                    # noqa: E402

FILES = 1000
SHARE = {'vfs objects': 'streams_xattr acl_xattr', 'acl_xattr:ignore system acls': 'yes'}
DOMAIN = smbd.SID + '-'
SIDS = {user: f'{DOMAIN}{2 * uid + 1000}' for user, (uid, _, _) in smbd.USERS.items()}
STAFFERS = f'{DOMAIN}{2 * 1000 + 1001}'
UNKNOWN = 'S-1-5-21-7-77-777-'                  # of a domain that nobody knows
BASIC, ACCESS, STREAMS = 4, 8, 22               # levels of QUERY_INFO
ACCESS_DENIED = smb2.ACCESS_DENIED
USERS = ('alice', 'bob')                        # who tries what he may do


# ---- the old tree -------------------------------------------------------------------------------

def random_ace(random, directory):
    who = random.choice((*SIDS.values(), STAFFERS, ntsd.EVERYONE, ntsd.USERS, ntsd.ADMINISTRATORS,
                         'S-1-5-11', 'S-1-5-18', 'S-1-3-4', UNKNOWN + str(random.randrange(99))))
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


def rights(server, share, paths):
    """What each user may do with each object: (status, access)."""
    found = {}
    for user in USERS:
        session = server.session(user, share)
        for path in paths:
            first, second, _ = session.compound(
                smb2.create(path), smb2.query_info(ANY, smb2.INFO_FILE, ACCESS), smb2.close(ANY))
            access = 0 if first.failed else struct.unpack('<I', smb2.output(second))[0]
            found[user, path] = (smb2.name_of(first.status), hex(access))
    return found


def compare(new, old, what):
    found = [f'{path}: {key}: {show(key, new[path].get(key))}, not {show(key, old[path].get(key))}'
             for path in old for key in old[path].keys() | new[path].keys()
             if old[path].get(key) != new[path].get(key)]
    expect(not found, f'{len(found)} differences ({what}):\n  ' + '\n  '.join(found[:10]))


def show(key, value):
    return ntsd.read(value) if key == 'descriptor' and value else str(value)[:300]


def compare_rights(new, old, what):
    found = [f'{key}: {new[key]}, not {old[key]}' for key in old if new[key] != old[key]]
    expect(not found, f'{len(found)} rights differ ({what}):\n  ' + '\n  '.join(found[:10]))


def born(server, share, paths, name):
    """The descriptors of what alice makes in directories where she may."""
    session, found = server.session('alice', share), {}
    for path in paths:
        for options in (smb2.DIRECTORY_FILE, smb2.NON_DIRECTORY):
            replies = session.compound(
                smb2.create(f'{path}\\{name}{options}', smb2.MAXIMUM, smb2.NEW, options),
                smb2.query_info(ANY, smb2.INFO_SECURITY, 0, additional=ntsd.ALL - ntsd.SACL),
                smb2.close(ANY))
            found[path, options] = [r.status for r in replies], \
                None if replies[1].failed else ntsd.read(smb2.output(replies[1]))
    return found


# ---- cases ---------------------------------------------------------------------------------------

def may_audit(server, what='grant'):
    """root may read and set SACLs."""
    sh('net', '-s', server.config, 'sam', 'rights', what, 'root', 'SeSecurityPrivilege')


def old_server(args, files=100):
    """(server, paths)"""
    volume(OLD, '4G', mkfs=('-O', 'ea_inode'))
    os.chmod(OLD, 0o777)
    server = smbd.old_smbd(OLD, settings=SHARE)
    may_audit(server)
    paths = make_old(server.session('root', 'old'), args.random, files)
    for path, _, names in os.walk(OLD):         # as the setting demands
        os.chmod(path, 0o777)
        for name in names:
            os.chmod(f'{path}/{name}', 0o666)
    return server, ['', *paths]


def migrate(args, server, mkfs=('-O', 'ea_inode'), **settings):
    """A volume with its retriever and its smbd, attached."""
    volume(NEW, '4G', mkfs=mkfs)
    with open(BASE + '/password', 'w') as out:
        os.fchmod(out.fileno(), 0o600)
        out.write(smbd.PASSWORD)
    settings = {'source': f'smb://root@{server.address}:{server.port}/old', 'smb_modes': 'open',
                'smb_password_file': BASE + '/password', 'sid_users': ' '.join(
                    f'{SIDS[user]}:{uid}' for user, (uid, _, _) in smbd.USERS.items()),
                'sid_groups': f'{STAFFERS}:1000', **settings}
    migration = Migration(args.build, **settings)
    migration.start_retriever()
    migration.attach()
    migration.start_smbd(settings={'acl_xattr:ignore system acls': 'yes'})
    may_audit(migration.smbd)
    return migration


def stub(path):
    return 'security.migrate' in os.listxattr(f'{NEW}/{path}')


def report():
    """(kind, path below the root, text) of every line; of the volume itself those of all servers
    are left out."""
    with open(NEW + '/.migrate/report') as lines:
        found = [line.rstrip('\n').split('\t') for line in lines]
    return [(kind, path.removeprefix(NEW + '/'), text) for kind, path, text in found]


def denied_at_once(migration):
    """Nobody looked before."""
    bob, alice = (migration.smbd.session(user) for user in ('bob', 'alice'))
    same(smb2.name_of(bob.ask(smb2.create('denied', smb2.READ_DATA)).status), 'ACCESS_DENIED',
         "bob's status")
    expect(stub('denied'), 'denied was filled')
    replies = alice.compound(smb2.create('denied', smb2.READ_DATA), smb2.read(ANY, 0, 100),
                             smb2.close(ANY))
    same(smb2.output(replies[1]), b'not for bob', 'what alice reads')
    same(smb2.name_of(bob.ask(smb2.create('closed', smb2.READ_DATA)).status), 'ACCESS_DENIED',
         "bob's status")


def smbcacls(server, share, path):
    return sh('smbcacls', f'//{server.address}/{share}', path, '-s', smbd.client_config(),
              '-U', f'root%{smbd.PASSWORD}', '--numeric')


def read_some(session, paths):
    for path in paths:
        session.compound(smb2.create(path, smb2.READ_DATA, options=smb2.NON_DIRECTORY),
                         smb2.read(ANY, 0, 8192), smb2.close(ANY))


@case()
def as_they_were(args):
    server, paths = old_server(args, FILES)
    old, may = look_at_all(server.session('root', 'old'), paths), rights(server, 'old', paths)
    flags = ntsd.PROTECTED | ntsd.AUTO_INHERITED
    same({ntsd.read(one['descriptor'])[0] & flags for one in old.values()},
         {0, ntsd.PROTECTED, ntsd.AUTO_INHERITED, flags}, 'control flags on the old server')
    migration = migrate(args, server)
    denied_at_once(migration)
    root = migration.smbd.session('root')
    compare(look_at_all(root, paths), old, 'stubs')
    compare_rights(rights(migration.smbd, smbd.SHARE, paths), may, 'stubs')
    expect(sum(map(stub, paths_on_disk(paths))) > FILES / 2, 'hardly anything is a stub')
    for path in ('denied', 'closed', 'long80'):
        same(smbcacls(migration.smbd, smbd.SHARE, path), smbcacls(server, 'old', path), path)
    directories = [path for path in paths if old[path]['attributes'] & smb2.A_DIRECTORY]
    same(born(migration.smbd, smbd.SHARE, directories, 'new'),
         born(server, 'old', directories, 'new'), 'descriptors of new objects')
    read_some(root, paths[::2])
    compare(look_at_all(root, [path for path in paths if path not in directories]),
            {path: old[path] for path in paths if path not in directories}, 'half of it')
    migration.crawl()
    same([line for line in report() if line[0] != 'volume'], [], 'what was not carried over')
    migration.ctl('finalize')
    same(tree.records(NEW), [], 'objects with a record')
    migration.smbd.stop()
    migration.smbd.configure({smbd.SHARE: (NEW, SHARE)})
    migration.smbd.start()
    files = [path for path in paths if path not in directories]
    compare(look_at_all(migration.smbd.session('root'), files), {path: old[path] for path in files},
            'without the layer')
    compare_rights(rights(migration.smbd, smbd.SHARE, paths), may, 'without the layer')


def without(found, *paths):
    return {path: one for path, one in found.items() if path not in paths}


def change(session, path):
    """A client gives it another descriptor, attributes and stream; how it is then."""
    replies = session.compound(
        smb2.create(path, smb2.WRITE_DAC | smb2.WRITE_ATTRIBUTES),
        smb2.set_info(ANY, smb2.INFO_SECURITY, 0, ntsd.descriptor(
            None, None, [ntsd.ace(ntsd.ALLOW, 0, ntsd.READ, SIDS['carol'])]), ntsd.DACL),
        smb2.set_info(ANY, smb2.INFO_FILE, BASIC, struct.pack(
            '<QQQQII', 0, 0, 0, 0, smb2.A_HIDDEN, 0)), smb2.close(ANY))
    replies += session.compound(smb2.create(path + ':mine', disposition=smb2.NEW),
                                smb2.write(ANY, 0, b'mine'), smb2.close(ANY))
    expect(not any(reply.failed for reply in replies),
           f'{path}: {[smb2.name_of(reply.status) for reply in replies]}')
    found = look(session, path)
    same(ntsd.read(found['descriptor'])[4], [(ntsd.ALLOW, 0, ntsd.READ, SIDS['carol'])], 'the ACL')
    same(found['streams'], {'::$DATA': 4, ':mine:$DATA': 4}, 'streams')
    return found


@case()
def what_does_not_fit(args):
    """An ext4 as it is made without more ado holds about 4000 bytes for each object."""
    server, paths = old_server(args)
    old = look_at_all(server.session('root', 'old'), paths)
    migration = migrate(args, server, ())
    root = migration.smbd.session('root')
    new = look_at_all(root, paths)
    compare(without(new, 'long900', 'long1800', 'streams'),
            without(old, 'long900', 'long1800', 'streams'), 'what fits')
    for path in ('long900', 'long1800'):
        _, owner, group, _, dacl = ntsd.read(new[path]['descriptor'])
        same((owner, group, dacl), (SIDS['alice'], STAFFERS, []), f'descriptor of {path}')
        for user in USERS:
            reply = migration.smbd.session(user).ask(smb2.create(path, smb2.READ_DATA))
            same(smb2.name_of(reply.status), 'ACCESS_DENIED', f"{user}'s status for {path}")
        expect(not os.stat(f'{NEW}/{path}').st_mode & 0o777, f'{path} has permission bits')
    same(new['streams']['streams'], {'::$DATA': 4}, 'streams')
    changed = change(root, 'shared')            # I7
    expect(stub('shared'), 'shared was filled')
    migration.crawl()
    compare({'shared': look(root, 'shared')}, {'shared': changed}, 'what a client changed')
    lines = [(kind, path, text.split('could')[0].strip()) for kind, path, text in report()
             if kind != 'volume']
    lengths = {path: len(old[path]['descriptor']) + 8 for path in paths}
    same(sorted(lines), sorted([
        *(('acl', path, f'the security descriptor ({lengths[path]} bytes)')
          for path in ('long900', 'long1800')),
        ('xattr', 'streams', 'user.DosStream.full:$DATA (65536 bytes)'),
        ('xattr', 'streams', 'user.DosStream.half:$DATA (30001 bytes)')]), 'the report')
    migration.start_server()

    def warned():
        with open(LOGS + '/retriever.log') as log:
            return 'an NFS server exports' in log.read()
    wait_for('the retriever warns of the open modes', warned)
    told = migration.ctl('report')
    expect('not carried over: 4, acl 2, xattr 2' in told, told)
    migration.ctl('finalize')


def mapped(sd, sids):
    """As ntsd.read() gives it, without the SACL."""
    control, owner, group, _, dacl = ntsd.read(sd)
    return (control, sids(owner), sids(group), None,
            dacl and [(*entry[:3], sids(entry[3])) for entry in dacl])


def may_read(client, path):
    try:
        client.read(client.walk(path)[0], 0, 10)
    except nfs3.NfsError as error:
        same(error.status, 13, 'the status')    # NFS3ERR_ACCES
        return False
    return True


@case()
def other_accounts(args):
    """Domains and users are others here, the permission bits say what NFS clients may do, and SACLs
    cannot be read."""
    server, paths = old_server(args)
    old = look_at_all(server.session('root', 'old'), paths)
    may_audit(server, 'revoke')
    with open(BASE + '/sids', 'w') as out:
        out.write(f'# the old machine\n{DOMAIN}*:S-1-5-21-4-5-6-*\n'
                  f'{SIDS["alice"]}:S-1-22-1-3000  # alice\n')
    migration = migrate(args, server, smb_modes='descriptor', map_sids=BASE + '/sids',
                        sid_users='S-1-5-21-4-5-6-*:500000', sid_groups='S-1-5-21-4-5-6-*:600000',
                        default_owner='65534:65533')

    def sids(sid):
        if sid == SIDS['alice']:
            return 'S-1-22-1-3000'
        return sid and sid.replace(DOMAIN, 'S-1-5-21-4-5-6-')

    def ids(sd):
        _, owner, group, _, _ = mapped(sd, sids)
        return (number(owner, {'S-1-22-1': 0, 'S-1-5-21-4-5-6': 500000}, 65534),
                number(group, {'S-1-22-2': 0, 'S-1-5-21-4-5-6': 600000}, 65533))

    def number(sid, bases, nobody):
        domain, _, last = sid.rpartition('-')
        return bases[domain] + int(last) if domain in bases else nobody

    new = look_at_all(migration.smbd.session('root'), paths)
    for path in paths:
        same(ntsd.read(new[path]['descriptor']), mapped(old[path]['descriptor'], sids), path)
        stat = os.stat(f'{NEW}/{path}'.replace('\\', '/'))
        same((stat.st_uid, stat.st_gid), ids(old[path]['descriptor']), f'owner of {path}')
    modes = {path: os.stat(f'{NEW}/{path}').st_mode & 0o777
             for path in ('shared', 'denied', 'streams', 'closed')}
    same(modes, {'shared': 0o740, 'denied': 0o333, 'streams': 0o777, 'closed': 0}, 'modes')
    server = migration.start_server()
    for uid, gid, allowed in ((3000, 9, True), (9, 600000 + 3001, True), (9, 9, False)):
        same(may_read(server.client(uid=uid, gid=gid), 'shared'), allowed,
             f'whether {uid}:{gid} may read over NFS')
    lines = {text for kind, _, text in report() if kind == 'volume'}
    for text in (UNKNOWN + '500 is nobody here', 'SACLs: the old server did not show them'):
        expect(any(text in line for line in lines), f'the report: {lines}')


@case()
def by_two_protocols(args):
    """Modes and owners come by NFS."""
    server, paths = old_server(args)
    for path in paths_on_disk(paths):
        os.chown(f'{OLD}/{path}', args.random.randrange(1000, 2000), 7)
        os.chmod(f'{OLD}/{path}', args.random.choice((0o640, 0o755, 0o4711, 0)))
    with open(OLD + '/vetoed', 'w') as file:
        file.write('not of the share')
    server.configure({'old': (OLD, {**SHARE, 'veto files': '/vetoed/'})})
    server.reload()
    old = look_at_all(server.session('root', 'old'), paths)
    nfs = servers.old_server()
    migration = migrate(args, server, source=f'nfs://{nfs.address}{OLD}', smb_modes='open',
                        acl_source=f'smb://root@{server.address}:{server.port}/old')
    root = migration.smbd.session('root')
    compare(look_at_all(root, paths), old, 'stubs')
    same(root.ask(smb2.create('vetoed')).failed, True, 'vetoed can be opened')
    modes = {path: os.stat(f'{NEW}/{path}') for path in paths_on_disk(paths)}
    for path in paths_on_disk(paths):
        old_one = os.stat(f'{OLD}/{path}')
        same((modes[path].st_mode, modes[path].st_uid, modes[path].st_gid),
             (old_one.st_mode, old_one.st_uid, old_one.st_gid), f'mode and owner of {path}')
    same(migration.start_crawler().wait(300), 2, 'status of the crawler')
    listed = migration.ctl('errors')
    expect('vetoed' in listed and 'acl-source has no such object' in listed, listed)
    server.configure({'old': (OLD, SHARE)})
    server.restart()
    migration.ctl('retry')
    migration.crawl()
    compare(look_at_all(root, paths), old, 'all')
    migration.ctl('finalize')


def paths_on_disk(paths):
    return [path.replace('\\', '/') for path in paths]


if __name__ == '__main__':
    sys.exit(main())
