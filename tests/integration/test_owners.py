#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accounts that have other numbers on the new server (map-users, map-groups)."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import kdc                                                              # noqa: E402
import nfs3                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                          # noqa: E402
from sandbox import sh                                                  # noqa: E402
from servers import BASE, NEW, VOLUME, Failure, stack                                          # noqa: E402

READ, ACCES, JUKEBOX = 1, 13, 10008  # ACCESS3_READ, NFS3ERR_ACCES, NFS3ERR_JUKEBOX
PRIVATE = b'of user 1000\n'
with open('/etc/passwd') as passwd:
    SYSTEM = passwd.read()
SHARED = b'of group 100\n'
NOBODY = 2147483646                     # whom nobody can be


def fill(root):
    for name, data, uid, gid, mode in (('private', PRIVATE, 1000, 0, 0o600),
                                       ('shared', SHARED, 0, 100, 0o640),
                                       ('kept', b'k', 1999, 7, 0o640)):
        with open(f'{root}/{name}', 'wb') as file:
            file.write(data)
        os.chown(f'{root}/{name}', uid, gid)
        os.chmod(f'{root}/{name}', mode)
    os.mkdir(root + '/home', 0o700)
    with open(root + '/home/file', 'wb') as file:
        file.write(PRIVATE)
    for path in ('/home', '/home/file'):
        os.chown(root + path, 1000, 100)


def denied(client, path):
    """Whether a client may neither see that it may read, nor read."""
    try:
        fh, _ = client.walk(path)
        if client.access(fh, READ):
            return False
        client.read(fh, 0, 10)
    except nfs3.NfsError as error:
        same(error.status, ACCES, f'status of {path}')
        return True
    return False


@case(short=True)
def a_user_is_another_here(args):
    _, migration = stack(args.build, fill, map_users='1000:3000 1500-1998:5000',
                         map_groups='100:300')
    migration.attach()
    migration.start_server()
    root = migration.server.client()
    for path, owner in (('private', (3000, 0)), ('shared', (0, 300)), ('kept', (1999, 7)),
                        ('home', (3000, 300))):
        _, attr = root.walk(path)
        same((attr.uid, attr.gid), owner, f'owner of {path}')
    new = migration.server.client(uid=3000, gid=3000)
    for path in ('private', 'home/file'):
        fh, _ = new.walk(path)
        expect(new.access(fh, READ), f'{path} is not for its owner')
        same(new.read_all(fh), PRIVATE, f'content of {path}')
    expect(denied(migration.server.client(uid=1000, gid=1000), 'private'), 'his old number reads')
    expect(denied(migration.server.client(uid=1000, gid=1000), 'home/file'), 'his old number enters')
    member = migration.server.client(uid=4000, gid=300)
    fh, _ = member.walk('shared')
    same(member.read_all(fh), SHARED, 'content of shared')
    expect(denied(migration.server.client(uid=4000, gid=100), 'shared'), 'the old group reads')
    migration.crawl()
    same((os.stat(NEW + '/home/file').st_uid, os.stat(NEW + '/home/file').st_gid), (3000, 300),
         'owner of what the crawler brought')
    expect(': not carried over: 0' in migration.ctl('report'), migration.ctl('report'))
    migration.ctl('finalize')
    same(tree.records(NEW), [], 'objects with a record')


@case(short=True)
def maps_from_dumps(args):
    """What map-ids makes of the two servers' accounts, and of what check has counted, goes into the
    configuration as it is, and a client sees the owners."""
    def dump(name, *accounts):
        with open(f'{BASE}/{name}', 'w') as out:
            out.writelines(f'{line}\n' for line in accounts)
        return f'{BASE}/{name}'
    _, migration = stack(args.build, fill)
    migration.retriever.stop()
    files = (f'--old={dump("there", "anna:x:1000:100::/:", "berta:x:1999:7::/:", "users:x:100:anna")}',
             f'--new={dump("here", "anna:x:3000:300::/:", "users:x:300:", "games:x:7:")}')
    subprocess.run([migration.program('migratectl'), '--config', migration.config, 'check', VOLUME, '--output', BASE],
                   stdout=subprocess.DEVNULL, check=False)      # it has losses: owners without names
    found = subprocess.run([migration.program('migratectl'), 'map-ids', *files, f'--check={BASE}/{VOLUME}-check.json'],
                           capture_output=True, text=True, check=False)
    same(found.returncode, 1, f'exit status: {found}')
    maps = [line for line in found.stdout.splitlines() if not line.startswith('#')]
    left = [line for line in found.stdout.splitlines() if line.startswith('#')]
    same(maps, ['map-users = 1000:3000', 'map-groups = 100:300'], 'maps')
    expect(left[0].startswith('# user 1999, berta: nobody here has that name') and left[0].endswith('objects: 1'), left)
    expect(any(line.startswith('# group 7, -: nobody there has it; it keeps its number, and is games here') and
               line.endswith('objects: 1') for line in left), left)
    with open(migration.config, 'a') as config:
        config.write(found.stdout)
    migration.start_retriever()
    migration.attach()
    migration.start_server()
    client = migration.server.client(uid=3000, gid=3000)
    for path, owner in (('private', (3000, 0)), ('shared', (0, 300)), ('home/file', (3000, 300))):
        _, attr = client.walk(path)
        same((attr.uid, attr.gid), owner, f'owner of {path}')
    fh, _ = client.walk('private')
    same(client.read_all(fh), PRIVATE, 'content of private')
    expect(denied(migration.server.client(uid=1000, gid=1000), 'private'), 'his old number reads')


def accounts(services, *users):
    """What this host's name service knows from here on, beside the system's own."""
    lines = [f'{name}:x:{uid}:0::/:/bin/sh\n' for name, uid in users]
    if os.path.exists(BASE + '/passwd'):
        sh('umount', '/etc/passwd')     # hosts that there are keep theirs
        os.unlink(BASE + '/passwd')
    kdc.mount_file('/etc/passwd', (SYSTEM + ''.join(lines)).encode())
    kdc.mount_file('/etc/nsswitch.conf', f'passwd: {services}\ngroup: files\n'.encode())


@case()
def a_name_service_that_is_away(args):
    """Owners come as names.  What belongs to one that it does not tell waits, and nothing else; one that
    nobody has is owned by nobody whom anybody can be, who has no rights."""
    def make(root):
        for name, uid in ('hers', 5001), ('his', 5002), ('ours', 0):
            with open(f'{root}/{name}', 'wb') as file:
                file.write(PRIVATE)
            os.chown(f'{root}/{name}', uid, 0)
            os.chmod(f'{root}/{name}', 0o640)
    kdc.mount_file('/etc/idmapd.conf', b'[General]\nDomain = qm.test\n')
    accounts('files', ('anna', 5001), ('otto', 5002))
    _, migration = stack(args.build, make, version='4.1', old={'names': True})
    accounts('files away')
    migration.attach()
    migration.start_server()
    root = migration.server.client(patience=0)
    fh, _ = root.walk('ours')
    same(root.read_all(fh), PRIVATE, 'content of what is ours')
    try:
        root.walk('hers')
        raise Failure('what is hers is there')
    except nfs3.NfsError as error:
        same(error.status, JUKEBOX, 'status of what is hers')
    accounts('files', ('anna', 5001))
    migration.crawl()
    same(os.stat(NEW + '/hers').st_uid, 5001, 'owner of what is hers')
    nobodys = os.stat(NEW + '/his')
    same((nobodys.st_uid, nobodys.st_mode & 0o7777), (NOBODY, 0o040), 'owner and mode of what is his')
    expect('his\tthe old server\'s owner is nobody who is known here' in
           open(NEW + '/.migrate/report').read(), 'it is not in the report')


if __name__ == '__main__':
    sys.exit(main())
