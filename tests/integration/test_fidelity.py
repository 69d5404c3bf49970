#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What objects have beside their data, from sources that tell it: ACLs over NFSACL, user extended
attributes over NFS version 4.2, both from a local tree."""
import os
import stat
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import knfsd                                                            # noqa: E402
import ntsd                                                             # noqa: E402
import smb2                                                             # noqa: E402
import smbd                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import Host                                                # noqa: E402
from servers import NEW, OLD, Ganesha, Migration, volume                # noqa: E402

ACCESS, DEFAULT = 'system.posix_acl_access', 'system.posix_acl_default'
USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 1, 2, 4, 8, 16, 32
NOBODY = 0xffffffff
BOB = 1001
DEEP = '/1/2/3/4/5/6/7'
WORDS = (b'comment', b'user.user', b'\xc3\xa4', b'a b=c', b'x' * 200)


def acl(*entries):
    """The extended attribute's value (linux/posix_acl_xattr.h) for (tag, permissions, id)s."""
    return struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *e) for e in entries)


def random_acl(random, named=4):
    """With a mask that does not say what the group's entry says: NFSACL makes such up."""
    ids = sorted(random.sample(range(1000, 70000), random.randrange(named + 1)))
    users = [(USER, random.randrange(8), i) for i in ids]
    ids = sorted(random.sample(range(1000, 70000), random.randrange(named + 1)))
    groups = [(GROUP, random.randrange(8), i) for i in ids]
    group = random.randrange(8)
    mask = group ^ random.randrange(1, 8) if not users and not groups else random.randrange(8)
    return acl((USER_OBJ, random.randrange(8), NOBODY), *users, (GROUP_OBJ, group, NOBODY), *groups,
               (MASK, mask, NOBODY), (OTHER, random.randrange(8), NOBODY))


def dress(path, random):
    """Gives a file or directory some, and its times back."""
    before = os.stat(path)
    if random.random() < 0.6:
        os.setxattr(path, ACCESS, random_acl(random))
    if os.path.isdir(path) and random.random() < 0.6:
        os.setxattr(path, DEFAULT, random_acl(random))
    for word in random.sample(WORDS, random.randrange(len(WORDS) - 1)):
        os.setxattr(path, b'user.' + word, random.randbytes(random.choice((0, 1, 20, 200))))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def dressed(root, random):
    tree.make(root, 250, 5, 1 << 20)
    for path in sorted(tree.every(root), key=os.fsencode):
        if not os.path.islink(path) and (os.path.isdir(path) or os.path.isfile(path)):
            dress(path, random)
    os.mkdir(root + '/special cases')
    special_files(root + '/special cases/', random)
    special_directories(root + '/special cases/')


def special_files(at, random):
    for name, mode in (('many', 0o640), ('long', 0o600), ('names', 0o644), ('bare', 0o750),
                       ('locked', 0o000), ('too many', 0o640)):
        with open(at + name, 'w') as file:
            file.write(name)
        os.chmod(at + name, mode)
    # the kernel's server fails to tell more than some 325 entries
    for name, n in (('many', 300), ('too many', 400)):
        os.setxattr(at + name, ACCESS, acl(
            (USER_OBJ, 6, NOBODY), *((USER, 4, 5000 + i) for i in range(n)), (GROUP_OBJ, 0, NOBODY),
            (MASK, 4, NOBODY), (OTHER, 0, NOBODY)))
    for name, kind in (('fifo', stat.S_IFIFO), ('socket', stat.S_IFSOCK), ('device', stat.S_IFCHR)):
        os.mknod(at + name, kind | 0o600, os.makedev(1, 3))
        os.setxattr(at + name, ACCESS, acl(
            (USER_OBJ, 6, NOBODY), (USER, 6, 1001), (GROUP_OBJ, 0, NOBODY), (MASK, 6, NOBODY),
            (OTHER, 0, NOBODY)))
    os.setxattr(at + 'long', b'user.long', random.randbytes(3500))
    for n in range(60):
        os.setxattr(at + 'names', b'user.%d' % n, b'%d' % n)
    # says no more than the mode: NFSACL cannot tell its mask from one that it makes up
    os.setxattr(at + 'bare', ACCESS, acl(
        (USER_OBJ, 7, NOBODY), (GROUP_OBJ, 5, NOBODY), (MASK, 5, NOBODY), (OTHER, 0, NOBODY)))
    os.setxattr(at + 'locked', ACCESS, acl(
        (USER_OBJ, 0, NOBODY), (USER, 0, 1001), (GROUP_OBJ, 0, NOBODY), (MASK, 7, NOBODY),
        (OTHER, 7, NOBODY)))


def special_directories(at):
    """What is made below a default ACL would inherit it."""
    os.mkdir(at + 'inherited')
    os.mkdir(at + 'inherited/plain')
    with open(at + 'inherited/file', 'w') as file:
        file.write('plain')
    os.setxattr(at + 'inherited', DEFAULT, acl(
        (USER_OBJ, 7, NOBODY), (GROUP_OBJ, 5, NOBODY), (OTHER, 0, NOBODY)))
    os.setxattr(at + 'inherited', ACCESS, acl(
        (USER_OBJ, 7, NOBODY), (USER, 0, 1001), (GROUP_OBJ, 5, NOBODY), (MASK, 5, NOBODY),
        (OTHER, 5, NOBODY)))


def attributes(path):
    names = os.listxattr(path, follow_symlinks=False)
    return {name: os.getxattr(path, name, follow_symlinks=False) for name in sorted(names)
            if not name.startswith('security.')}


def differences(old, new, lost):
    """(sentences, objects with an ACL, objects with user attributes)."""
    found, acls, users = [], 0, 0
    for path in tree.every(old):
        name = os.path.relpath(os.fsencode(path), os.fsencode(old))
        a, b = attributes(path), attributes(os.path.join(os.fsencode(new), name))
        if name in lost:
            a.pop(ACCESS)
        acls += ACCESS in a or DEFAULT in a
        users += any(key.startswith('user.') for key in a)
        found += [f'{os.fsdecode(name)!r}: {key}: {b.get(key)}, not {a.get(key)}'
                  for key in a.keys() | b.keys()
                  if a.get(key) != b.get(key) and not key.startswith('trusted.quickmigrate.')]
    return found, acls, users


def migrate(args, source):
    """Some by what clients do, the rest by the crawler; the lines of the report."""
    volume(NEW, '1G')
    migration = Migration(args.build, source)
    migration.start_retriever()
    migration.attach()
    client = migration.start_server().client()
    client.read_all(client.walk('special cases/many')[0])
    client.listing(client.walk('special cases/inherited')[0])
    client.close()
    migration.crawl()
    with open(NEW + '/.migrate/report') as report:
        lines = [line.rstrip('\n').split('\t') for line in report]
    migration.ctl('finalize')
    same(tree.records(NEW), [], 'objects with a record')
    return lines


def received(interface):
    with open('/proc/net/dev') as devices:
        return next(int(line.split(':')[1].split()[0]) for line in devices
                    if line.strip().startswith(interface + ':'))


def make_holes(root):
    with open(root + '/holes', 'wb') as out:
        out.truncate(300 << 20)
        for at in 0, (100 << 20) + 5000:
            os.pwrite(out.fileno(), os.urandom(1 << 20), at)


def check(old, lost):
    """lost: names below the root whose ACLs are not expected."""
    found, acls, users = differences(old, NEW, lost)
    expect(not found, 'the trees differ:\n  ' + '\n  '.join(found[:20]))
    expect(acls > 100 and users > 100, f'{acls} ACLs and {users} with attributes: too few')


@case(guest=True, short=True)
def over_nfs(args):
    old = knfsd.KernelServer(lambda root: dressed(root, args.random)).start()
    lines = migrate(args, f'nfs://{old.address}{knfsd.EXPORT}')
    old.stop()
    with old.mounted('ro,noload') as root:
        check(root, [b'special cases/bare', b'special cases/too many'])
        no_differences(tree.compare(root, NEW, leave_out={b'/special cases/too many'}))
    same({path for _, path, _ in lines if path}, {NEW + '/special cases/too many'},
         'objects in the report')
    lost = os.stat(NEW + '/special cases/too many')
    same(oct(lost.st_mode & 0o7777), '0o600', 'the mode where the ACL is lost')


def effective(value):
    """{(tag, id): permissions that are granted}, of an ACL's value; the mask itself is in the mode."""
    entries = list(struct.iter_unpack('<HHI', value[4:]))
    mask = next((perm for tag, perm, _ in entries if tag == MASK), 7)
    return {(tag, ident): perm if tag in (USER_OBJ, OTHER) else perm & mask
            for tag, perm, ident in entries if tag != MASK}


def of_mode(path):
    mode = os.stat(path).st_mode
    return acl((USER_OBJ, mode >> 6 & 7, NOBODY), (GROUP_OBJ, mode >> 3 & 7, NOBODY),
               (OTHER, mode & 7, NOBODY))


@case(guest=True)
def over_nfs_version_4(args):
    """The kernel's server makes NFSv4 ACLs of its POSIX ACLs: they come back, what they grant.  A
    long way leads there, and holes are not read."""
    def fill(root):
        os.makedirs(root + DEEP)
        dressed(root + DEEP, args.random)
        make_holes(root + DEEP)
    old = knfsd.KernelServer(fill).start()
    before = received(old.guest.interface)
    lines = migrate(args, f'nfs://{old.address}{DEEP}?version=4.2')    # the export is the server's root
    came = received(old.guest.interface) - before
    old.stop()
    expect(came < 100 << 20, f'{came} bytes were received: holes among them')
    acls = 0
    with old.mounted('ro,noload') as top:
        root = top + DEEP
        no_differences(tree.compare(root, NEW))
        for path in tree.every(root):
            name = os.path.relpath(os.fsencode(path), os.fsencode(root))
            there, here = attributes(path), attributes(os.path.join(os.fsencode(NEW), name))
            same({k: v for k, v in here.items() if k.startswith('user.')},
                 {k: v for k, v in there.items() if k.startswith('user.')}, f'attributes of {path}')
            if os.path.islink(path):
                continue
            acls += ACCESS in there or DEFAULT in there
            plain = of_mode(path)
            same(effective(here.get(ACCESS, plain)), effective(there.get(ACCESS, plain)),
                 f'what the ACL of {path} grants')
            same(DEFAULT in here and effective(here[DEFAULT]),
                 DEFAULT in there and effective(there[DEFAULT]), f'the default ACL of {path}')
    expect(acls > 100, f'{acls} ACLs: too few')
    same([path for _, path, _ in lines if path], [], 'objects in the report')


@case()
def holes_of_ganesha(args):
    """It tells them of files that are open."""
    volume(OLD, '1G')
    make_holes(OLD)
    volume(NEW, '1G')
    old = Ganesha('old-server', OLD, host=Host('old')).start()
    migration = Migration(args.build, old.url4(4.2))
    before = received(old.host.interface)
    migration.start_retriever()
    migration.attach()
    migration.crawl()
    came = received(old.host.interface) - before
    no_differences(tree.compare(OLD, NEW))
    expect(came < 10 << 20, f'{came} bytes were received: holes among them')


@case(guest=True)
def nfs4_acls_for_samba(args):
    """acl-mode = nt: what the ACL said is what an SMB client is told, and what smbd goes by."""
    def fill(root):
        for name, perm in (('granted', 4), ('denied', 0)):
            with open(f'{root}/{name}', 'w') as file:
                file.write(name)
            os.setxattr(f'{root}/{name}', ACCESS, acl(
                (USER_OBJ, 6, NOBODY), (USER, perm, BOB), (GROUP_OBJ, 4, NOBODY), (MASK, 4, NOBODY),
                (OTHER, 4, NOBODY)))
    old = knfsd.KernelServer(fill).start()
    volume(NEW, '1G')
    migration = Migration(args.build, f'nfs://{old.address}/?version=4.2', acl_mode='nt')
    migration.start_retriever()
    migration.attach()
    migration.start_smbd(settings={'acl_xattr:ignore system acls': 'yes'})
    for user, name, status in (('alice', 'granted', 0), ('bob', 'granted', 0), ('alice', 'denied', 0),
                               ('bob', 'denied', smb2.ACCESS_DENIED)):
        opened, told, _ = migration.smbd.session(user, smbd.SHARE).compound(
            smb2.create(name, smb2.GENERIC_READ),
            smb2.query_info(smb2.ANY, smb2.INFO_SECURITY, 0, additional=ntsd.ALL - ntsd.SACL),
            smb2.close(smb2.ANY))
        same(smb2.name_of(opened.status), smb2.name_of(status), f'{user} opens {name}')
        if not status:
            says = ntsd.read(smb2.output(told))
            expect(f'S-1-22-1-{BOB}' in str(says), f'the descriptor of {name} names nobody: {says}')
    migration.crawl()
    migration.ctl('finalize')
    old.stop()


@case(short=True)
def from_a_local_tree(args):
    volume(OLD, '1G')
    dressed(OLD, args.random)
    capable = OLD + '/special cases/locked'
    os.setxattr(capable, 'security.capability', struct.pack('<5I', 0x2000001, 1 << 13, 0, 0, 0))
    lines = migrate(args, f'file://{OLD}')
    check(OLD, [])
    no_differences(tree.compare(OLD, NEW))
    same([(path, text.split(':')[0]) for _, path, text in lines if path],
         [(NEW + '/special cases/locked', 'security.capability')], 'objects in the report')


if __name__ == '__main__':
    if not {'-h', '--help'} & set(sys.argv):
        knfsd.fetch()
    sys.exit(main())
