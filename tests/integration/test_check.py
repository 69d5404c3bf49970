#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""`migratectl check`: what was planted on old NFS and SMB servers is found, each with its kind; what is
there is counted; it goes on after a kill; and its exit status says whether to go."""
import json
import os
import re
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import qemu                                                             # noqa: E402
import smbd                                                             # noqa: E402
import uml                                                              # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, sh, volume, wait_for                          # noqa: E402
from servers import NEW, OLD, VOLUME, Migration, old_server             # noqa: E402
from smbsource import password                                          # noqa: E402

GO, LOSSES, STOP = 0, 1, 2
NOBODY = 0xffffffff
# u::rw- u:7:r-- g::r-- m::r-- o::--- (linux/posix_acl_xattr.h)
ACL = struct.pack('<I' + 5 * 'HHI', 2, 1, 6, NOBODY, 2, 4, 7, 4, 4, NOBODY, 16, 4, NOBODY, 32, 0, NOBODY)
STATE = f'{BASE}/{VOLUME}.check/state'


def write(path, size=100):
    with open(path, 'wb') as out:
        out.write(os.urandom(size))


def plain(root):
    os.makedirs(root + '/some/where')
    for i in range(30):
        write(f'{root}/some/where/file-{i:02d}', i * 1000)
    os.symlink('where', root + '/some/link')
    os.link(root + '/some/where/file-01', root + '/some/other-name')


def start(migration, *options, name=VOLUME):
    return subprocess.Popen([migration.program('migratectl'), '--config', migration.config, '--json',
                             *options, 'check', name], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, 'MIGRATE_SMB_WORKER':
                                 migration.program('migrate-smb-worker')})


def check(migration, status, *options, name=VOLUME):
    """What it has found, and what it said on the way."""
    run = start(migration, *options, name=name)
    out, said = run.communicate(timeout=300)
    same(run.returncode, status, f'exit status with {said!r} and {out[:2000]}')
    return (json.loads(out) if out else None), said


def totals(found):
    """Of each kind that there is any of."""
    return {kind: entry['total'] for group in ('losses', 'notes')
            for kind, entry in found[group].items() if entry['total']}


def paths(found, kind):
    group = 'losses' if kind in found['losses'] else 'notes'
    return {line.get('path', '') for line in found[group][kind]['first']}


def nothing_new(root):
    """The new file system was not touched."""
    same([n for n in os.listdir(root) if n != 'lost+found'], [], 'what is in the root')


@case(short=True)
def go(args):
    """Everything can come: counts, sizes, files of it; then as text; and by the URL alone."""
    volume(OLD, fs='xfs')               # with nothing in it
    volume(NEW, fs='ext4')
    plain(OLD)
    migration = Migration(args.build, f'nfs://{old_server().address}{OLD}')
    found, _ = check(migration, GO)
    tree = found['tree']
    same((tree['files'], tree['directories'], tree['symbolic_links'], tree['objects']), (31, 3, 1, 35),
         'counts')
    same(tree['bytes'], sum(i * 1000 for i in range(30)) + 1000, 'bytes')
    same(tree['names_of_linked_files'], 2, 'names of a file with two')
    same(tree['depth'], 3, 'depth')
    same(tree['widest'][0]['path'], 'some/where', 'the widest directory')
    same(tree['widest'][0]['entries'], 30, 'its entries')
    same(totals(found), {}, 'losses')
    same(found['verdict'], 'go', 'the verdict')
    target = found['target']
    same((target['type'], target['inode_size'], target['space_fits'], target['inodes_fit']),
         ('ext4', 256, True, True), 'the new file system')
    can = target['capabilities']
    same((can['handles'], can['mount-epoch'], can['leases']), (True, True, None), 'what it can do')
    for key in ('crawl', 'names', 'data', 'widest_listing', 'further_run', 'copy'):
        expect(found['estimate'][key] > 0, f'no estimate of {key}: {found["estimate"]}')
    expect(found['measured']['round_trip'] > 0, 'no round trip')
    nothing_new(NEW)
    with open(f'{BASE}/{VOLUME}-check.json') as file:
        same(json.load(file)['tree'], tree, 'what is kept')
    with open(f'{BASE}/{VOLUME}-check.html') as file:
        page = file.read()
    expect('<meter' in page and '<script' not in page and 'Go: ' in page, 'the page')
    expect(not os.path.exists(f'{BASE}/{VOLUME}.check'), 'the state is left')
    text = sh(migration.program('migratectl'), '--config', migration.config, 'check', VOLUME)
    expect(re.search(r'^ +31  files$', text, re.M) and 'Go: ' in text, text)
    found, _ = check(migration, GO, '--target', NEW, '--output', BASE, name=migration.source)
    same(found['tree']['objects'], 35, 'objects by the URL')
    same(found['target']['path'], NEW, 'the target')


def planted(root):
    plain(root)
    write(root + '/secret')
    os.chmod(root + '/secret', 0o600)
    os.mkdir(root + '/closed', 0o700)
    write(root + '/closed/unseen')
    os.mkdir(root + '/.migrate')
    os.symlink('x' * 2000, root + '/long-link')
    os.mkfifo(root + '/pipe')
    write(root + '/what?')
    write(root + '/Name')
    write(root + '/name')
    write(root + '/mine')
    os.chown(root + '/mine', 12345, 12345)
    write(root + '/other')
    os.chown(root + '/other', 2000, 0)
    os.utime(root + '/other', (-10 ** 9, 10 ** 9))


@case()
def losses(args):
    """Over NFS with a squashed root, to an xfs: each is found, and has its kind."""
    volume(OLD, fs='ext4')
    os.rmdir(OLD + '/lost+found')       # which could not be listed
    volume(NEW, fs='xfs')
    planted(OLD)
    old = old_server(export='Squash = Root_Squash;')
    migration = Migration(args.build, f'nfs://{old.address}{OLD}', map_users='1000:2000')
    found, _ = check(migration, LOSSES)
    for kind, wanted in {'unread': {'secret'}, 'unlisted': {'closed'}, 'name': {'.migrate'},
                         'symlink': {'long-link'}, 'owner': {'other'}, 'time': {'other'},
                         'smb-name': {'what?'}, 'special': {'pipe'}}.items():
        same(paths(found, kind), wanted, kind)
    expect(paths(found, 'folded') in ({'name'}, {'Name'}), f'folded: {paths(found, "folded")}')
    same({line['text'] for line in found['notes']['owner-unnamed']['first']},
         {'user 12345', 'group 12345', 'user 2000'}, 'owners without a name')
    expect('root is squashed' in found['rights']['says'], found['rights'])
    nothing_new(NEW)


@case()
def local(args):
    """A tree with ACLs and attributes: what a block of ext4 does not hold is lost."""
    volume(OLD, fs='xfs')
    volume(NEW, fs='ext4')
    plain(OLD)
    for name, size in {'fits': 3000, 'does-not': 5000}.items():
        write(f'{OLD}/{name}')
        os.setxattr(f'{OLD}/{name}', 'user.large', b'x' * size)
    write(OLD + '/listed')
    os.setxattr(OLD + '/listed', 'system.posix_acl_access', ACL)
    found, _ = check(Migration(args.build, 'file://' + OLD), LOSSES)
    same(totals(found), {'xattr': 1}, f'losses {found["losses"]}')
    same(paths(found, 'xattr'), {'does-not'}, 'xattr')
    same((found['tree']['with_acl'], found['tree']['with_attributes']), (1, 2), 'objects with some')


@case()
def stops(args):
    """No room, no inodes, nobody there, and what is no volume."""
    volume(OLD)
    volume(NEW, '32M', mkfs=('-N', '32'))
    plain(OLD)
    write(OLD + '/large', 40 << 20)
    old = old_server()
    migration = Migration(args.build, f'nfs://{old.address}{OLD}')
    found, _ = check(migration, STOP)
    same(len(found['stops']), 2, f'reasons in {found["stops"]}')
    expect('Space' in found['stops'][0] and 'Inodes' in found['stops'][1], found['stops'])
    expect(found['target']['mkfs'].startswith('mkfs.ext4 -I 256 -i '), found['target'])
    for name, said in {'nothing': 'no such group', 'ftp://x/y': 'not a URL of a source',
                       f'nfs://{old.address}/elsewhere': 'elsewhere'}.items():
        _, error = check(migration, STOP, '--output', BASE, name=name)
        expect(said in error and error.count('\n') == 1, f'{name}: {error!r}')


@case()
def killed(args):
    """It goes on where it was, again and again, and counts nothing twice; one at a time."""
    volume(OLD)
    volume(NEW)
    for d in range(300):
        os.mkdir(f'{OLD}/{d}')
        for i in range(5):
            write(f'{OLD}/{d}/{i}', 10)
    migration = Migration(args.build, f'nfs://{old_server().address}{OLD}')
    for kill in (signal.SIGKILL, signal.SIGTERM):
        before = os.stat(STATE).st_mtime_ns if os.path.exists(STATE) else 0
        run = start(migration, '--requests', '100')
        wait_for('something is kept', lambda: os.path.exists(STATE) and
                 os.stat(STATE).st_mtime_ns > before, process=run)
        if kill == signal.SIGKILL:
            _, said = check(migration, STOP)
            expect('another check of it is under way' in said, said)
        run.send_signal(kill)
        _, said = run.communicate(timeout=60)
        same(run.returncode, -signal.SIGKILL if kill == signal.SIGKILL else STOP, 'status')
    expect('goes on where it was' in said, said)
    found, said = check(migration, GO)
    expect('goes on where an earlier run was' in said, said)
    same((found['tree']['files'], found['tree']['directories'], found['tree']['bytes']),
         (1500, 1 + len(os.listdir(OLD)), 15000), 'counts')
    same(found['measured']['runs'], 3, 'runs')


def smb_tree(root):
    plain(root)
    os.unlink(root + '/some/link')      # which smbd follows
    write(root + '/what?')
    write(root + '/secret')


@case(short=True)
def smb(args):
    """An old SMB server: what its listings hide is told, and descriptors are looked at."""
    volume(OLD)
    volume(NEW, mkfs=('-I', '256'))
    smb_tree(OLD)
    old = smbd.old_smbd(OLD)
    old.smbclient('put /etc/hostname streamed', 'put /etc/hostname streamed:comment', share='old',
                  user='root')
    migration = Migration(args.build, f'smb://root@{old.address}/old', smb_password_file=password(),
                          smb_modes='descriptor')
    found, _ = check(migration, LOSSES)
    same(found['tree']['files'], 34, 'files')
    same(found['tree']['with_acl'], found['tree']['asked'], 'objects with a descriptor')
    same((found['owners']['SID ' + smbd.SID + '-1000'], {owner[:6] for owner in found['owners']}), (37, {'SID S-'}), 'owners')
    expect(found['losses']['source']['total'] == 1, f'short names: {found["losses"]["source"]}')
    same(found['target']['inode_size_needed'], 512, 'the size of inodes')
    expect(-60 < found['clock']['ahead_at_least'] < found['clock']['ahead_at_most'] < 60,
           f'the clock: {found["clock"]}')
    expect(found['target']['bytes_for_stubs'] > 0, 'blocks of stubs')
    url, _ = check(migration, LOSSES, '--password-file', password(), '--output', BASE,
                   name=migration.source)
    same(totals(url), totals(found), 'losses by the URL')
    _, said = check(migration, STOP, '--password-file', password(), '--output', BASE,
                    name=f'smb://root@{old.address}/wrong')
    expect('no share "wrong"; it shares old: correct the URL' in said, f'a wrong share: {said}')


def root_that_folds(args, fs, **guest):
    disk = BASE + '/disk'
    with open(disk, 'wb') as image:
        image.truncate(512 << 20)
    status = uml.run([os.path.dirname(os.path.abspath(__file__)) + '/guest/folding.py', args.build, fs],
                     timeout=300, disks=[disk], network=False, **guest)
    same(status, 0, 'exit status of the guest')


@case(guest=True)
def i13_root_that_ignores_case(args):
    root_that_folds(args, 'xfs')


@case(guest=qemu.CURRENT, long=True)    # User-Mode Linux is built without CONFIG_UNICODE
def i13_root_that_folds_names(args):
    root_that_folds(args, 'ext4', kind=qemu.Guest, suite=qemu.CURRENT)


if __name__ == '__main__':
    main()
