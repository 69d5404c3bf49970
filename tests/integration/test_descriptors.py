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
import smbproxy                                                         # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import LOGS, sh, wait_for                                  # noqa: E402
from servers import BASE, NEW, OLD, Migration, volume                   # noqa: E402
from smb2 import ANY                                                    # noqa: E402
from smbtree import (BASIC, DOMAIN, SHARE, SIDS, STAFFERS, UNKNOWN, Maker, compare, look,  # noqa: E402
                     look_at_all, may_audit, old_tree, random_ace, settings_of)

FILES = 1000
USERS = ('alice', 'bob', 'carol')               # who tries what he may do
ACCESS = 8                                      # a level of QUERY_INFO
NOT_SUPPORTED = 0xc00000bb
PROXY_PORT = 4450


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


def make_known(session, random, files):
    """Objects with ACLs that no server needs to lose anything of, and the paths."""
    maker = Maker(session, random)
    group = 'S-1-22-2-1000'
    among = *SIDS.values(), group, ntsd.EVERYONE
    for i in range(files + files // 20):
        directory = i < files // 20
        dacl = [random_ace(random, directory, among) for _ in range(random.choice((1, 2, 4, 8)))]
        sd = ntsd.descriptor(random.choice((SIDS['alice'], SIDS['carol'])), group, dacl)
        maker.make(f'd{i}' if directory else f'f{i}', sd, directory, b'' if directory else b'data')
    return maker.paths


OPERATIONS = {'read': smb2.READ_DATA, 'write': smb2.WRITE_DATA, 'append': smb2.APPEND,
              'delete': smb2.DELETE, 'change the ACL': smb2.WRITE_DAC, 'take': smb2.WRITE_OWNER,
              'set attributes': smb2.WRITE_ATTRIBUTES, 'read the ACL': smb2.READ_CONTROL}


def operations(server, share, paths):
    """Whether each user is let open each object for one thing alone."""
    found = {}
    for user in USERS:
        session = server.session(user, share)
        for path in paths:
            for what, access in OPERATIONS.items():
                reply, _ = session.compound(smb2.create(path, access), smb2.close(ANY))
                found[user, path, what] = smb2.name_of(reply.status)
    return found


# ---- cases ---------------------------------------------------------------------------------------

def migrate(args, server, mkfs=('-O', 'ea_inode'), **settings):
    """A volume with its retriever and its smbd, attached."""
    volume(NEW, '4G', mkfs=mkfs)
    migration = Migration(args.build, **settings_of(server, **settings))
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


@case(short=True)
def as_they_were(args):
    server, paths = old_tree(args.random, FILES)
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


@case()
def of_stored_nfs4_acls(args):
    """Samba's nfs4acl_xattr: what the old server stores are NFSv4 ACLs."""
    share = {**SHARE, 'vfs objects': 'streams_xattr nfs4acl_xattr', 'nfs4:acedup': 'dontcare'}
    server, paths = old_tree(args.random, FILES, make_known, share)
    stored = sum('security.nfs4acl_ndr' in os.listxattr(f'{OLD}/{path}') for path in paths)
    expect(stored >= FILES, f'{stored} NFSv4 ACLs are stored')
    some = paths[1::10]
    old, may, does = (look_at_all(server.session('root', 'old'), paths), rights(server, 'old', paths),
                      operations(server, 'old', some))
    same({status for status in does.values()}, {'SUCCESS', 'ACCESS_DENIED'}, 'statuses')
    migration = migrate(args, server)
    compare(look_at_all(migration.smbd.session('root'), paths), old, 'stubs')
    compare_rights(rights(migration.smbd, smbd.SHARE, paths), may, 'stubs')
    same(operations(migration.smbd, smbd.SHARE, some), does, 'what users may do, stubs')
    migration.crawl()
    same([line for line in report() if line[0] != 'volume'], [], 'what was not carried over')
    migration.ctl('finalize')
    same(operations(migration.smbd, smbd.SHARE, some), does, 'what users may do in the end')


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
    server, paths = old_tree(args.random)
    old = look_at_all(server.session('root', 'old'), paths)
    migration = migrate(args, server, ('-I', '256'))
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


def owner_is_bound(sd):
    """Entries for OWNER RIGHTS do not let him change the list (MS-DTYP 2.5.3.2)."""
    _, owner, _, _, dacl = ntsd.read(sd)
    here = [entry for entry in dacl or () if not entry[1] & ntsd.ONLY_BELOW]
    for kind, _, mask, who in here:
        if mask & (smb2.WRITE_DAC | ntsd.GENERIC_ALL):
            if kind == ntsd.DENY:
                break
            if who in (ntsd.EVERYONE, 'S-1-5-11', ntsd.OWNER_RIGHTS, owner):
                return False
    return any(who == ntsd.OWNER_RIGHTS for *_, who in here)


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
    server, paths = old_tree(args.random)
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
        owner = '-' if owner_is_bound(sd) else owner
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


class NoSacls:
    """What ksmbd, the Linux kernel's server, tells who asks for a SACL, too: with Linux 7.3 that it
    cannot; before that no owner, no group and no ACL."""

    def __init__(self, refuses):
        self.refuses, self.asked = refuses, 0

    def on_reply(self, call, pdu):
        if call.command != smb2.QUERY_INFO or call.pdu[66] != smb2.INFO_SECURITY:
            return None
        if not struct.unpack_from('<I', call.pdu, 64 + 16)[0] & ntsd.SACL:
            return None
        self.asked += 1
        if self.refuses:
            return smbproxy.refuse(pdu, NOT_SUPPORTED)
        return pdu[:64] + struct.pack('<HHI', 9, 72, 20) + ntsd.descriptor(None, None, None)


def known_without_sacls(args, refuses):
    server, paths = old_tree(args.random)
    old = look_at_all(server.session('root', 'old'), paths)
    no_sacls = NoSacls(refuses)
    smbproxy.Proxy(server, PROXY_PORT, on_reply=no_sacls.on_reply)
    migration = migrate(args, server, source=f'smb://root@127.0.0.1:{PROXY_PORT}/old')
    new = look_at_all(migration.smbd.session('root'), paths)
    for path in paths:
        (_, *found, _, acl), (_, *wanted, _, wanted_acl) = (
            ntsd.read(of[path]['descriptor']) for of in (new, old))
        same((found, acl), (wanted, wanted_acl), path)
    migration.crawl()
    expect(0 < no_sacls.asked < 30, f'SACLs were asked for {no_sacls.asked} times')
    lines = {text for kind, _, text in report() if kind == 'volume'}
    expect(any('SACLs: the old server did not show them' in line for line in lines), f'{lines}')


@case()
def a_server_refuses_sacls(args):
    known_without_sacls(args, True)


@case()
def a_server_tells_nothing_with_sacls(args):
    known_without_sacls(args, False)


def others_keep_their_sacls(args, on_reply, fails):
    """Of one object a server answers as one without SACLs: of "shared"."""
    server, paths = old_tree(args.random)
    paths = [path for path in paths if path != 'shared']
    old = look_at_all(server.session('root', 'old'), paths)
    answered = []

    def of_shared(call, pdu):
        reply = on_reply(call, pdu) if call.path == 'shared' else None
        if reply:
            answered.append(call.command)
        return reply

    smbproxy.Proxy(server, PROXY_PORT, on_reply=of_shared)
    migration = migrate(args, server, source=f'smb://root@127.0.0.1:{PROXY_PORT}/old')
    root = migration.smbd.session('root')
    same(root.ask(smb2.create('shared')).failed, fails, 'whether shared is not opened')
    expect(answered, 'shared was not asked for')
    compare(look_at_all(root, paths), old, 'stubs')


@case()
def an_open_is_refused_once(args):
    refused = []

    def on_reply(call, pdu):
        if refused or call.command != smb2.CREATE or \
                not struct.unpack_from('<I', call.pdu, 64 + 24)[0] & smb2.SYSTEM_SECURITY:
            return None
        refused.append(call)
        return smbproxy.refuse(pdu, NOT_SUPPORTED)

    others_keep_their_sacls(args, on_reply, True)


@case()
def a_descriptor_is_empty(args):
    def on_reply(call, pdu):
        if call.command != smb2.QUERY_INFO or call.pdu[66] != smb2.INFO_SECURITY:
            return None
        return pdu[:64] + struct.pack('<HHI', 9, 72, 20) + ntsd.descriptor(None, None, None)

    others_keep_their_sacls(args, on_reply, False)


@case()
def by_two_protocols(args):
    """Modes and owners come by NFS."""
    server, paths = old_tree(args.random)
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
