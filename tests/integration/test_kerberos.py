#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An old SMB server to which the retriever logs on with Kerberos: the whole way, with tickets that
end, go and come back meanwhile; and every way in which they are of no use, each with one clear
line."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import kdc                                                              # noqa: E402
import ntsd                                                             # noqa: E402
import smbd                                                             # noqa: E402
import smbfiles                                                         # noqa: E402
import smbtree                                                          # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, LOGS, Process, sh, wait_for                   # noqa: E402
from servers import NEW, OLD, VOLUME, Migration, volume                 # noqa: E402
from smbsource import confined_workers, finish, is_own_user, refusal, workers        # noqa: E402

HOST = 'old.test'
PORT = 4450
CCACHE, BACK = BASE + '/ccache', BASE + '/rollback-ccache'
KEYTAB, ROOT = BASE + '/old.keytab', BASE + '/root.keytab'      # the old server's, the user's
SETTINGS = {'smb_ccache': CCACHE, 'smb_modes': 'open'}
WHAT = ntsd.OWNER | ntsd.GROUP | ntsd.DACL


def fill(root, files=60, size=5000):
    for d in range(3):
        os.mkdir(f'{root}/dir-{d}')
        for i in range(files // 3):
            with open(f'{root}/dir-{d}/file-{i}', 'wb') as out:
                out.write(os.urandom(size + i))


def world(args, make=fill, port=445, user='root', **settings):
    """(the realm, the old server, Migration)"""
    volume(OLD, '1G')
    volume(NEW, '1G')
    make(OLD)
    realm = kdc.Kdc().start()
    realm.add('root', ROOT)
    realm.add(f'cifs/{HOST}', KEYTAB)
    old = smbd.old_smbd(OLD, port=port, realm=kdc.REALM, kerberos_method='dedicated keytab',
                        dedicated_keytab_file='FILE:' + KEYTAB)
    realm.name(old.address, HOST, 'alias.test')
    where = HOST if port == 445 else f'{HOST}:{port}'
    migration = Migration(args.build, f'smb://{user}@{where}/old', **SETTINGS, **settings)
    return realm, old, migration


def get_ticket(life='1h'):
    kdc.kinit('root', ROOT, CCACHE, '-l', life)


def said(words):
    with open(LOGS + '/retriever.log') as log:
        return [line for line in log if words in line]


def lose_connections(migration):
    for pid in workers(migration):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@case(short=True)
def whole(args):
    """Encrypted, signed, at another port; with descriptors; by workers without any rights."""
    realm, old, migration = world(args, port=PORT, smb_encryption='required',
                                  smb_signing='required')
    files = smbfiles.Files(old.session('root'))
    paths = [f'dir-{d}/file-{i}' for d in range(3) for i in range(4)]
    for n, path in enumerate(paths):
        files.set_security(path, ntsd.descriptor(
            None, None, [ntsd.ace(ntsd.DENY, 0, ntsd.WRITE, f'S-1-5-21-1-2-3-{n}'),
                         ntsd.ace(ntsd.ALLOW, 0, ntsd.FULL, ntsd.EVERYONE)], control=ntsd.PROTECTED))
    get_ticket()
    migration.start_retriever()
    migration.attach()
    status = subprocess.run(['smbstatus', '-s', old.config], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    expect('AES' in status, f'not encrypted: {status}')
    for fields in confined_workers(migration).values():
        expect(is_own_user(fields), f'ids: {fields["Uid"]}, {fields["Gid"]}')
    new = smbfiles.Files(migration.start_smbd().session('root'))
    for path in paths:
        same(ntsd.read(new.security(path, WHAT)), ntsd.read(files.security(path, WHAT)), path)
    migration.crawl()
    finish(migration)


@case()
def tickets_end_and_come_back(args):
    """Nothing is lost, each time it is said what is wrong, and it goes on."""
    realm, _, migration = world(args, lambda root: fill(root, 390, 100000), bandwidth='150K')
    get_ticket()
    migration.start_retriever()
    migration.attach()
    crawler = migration.start_crawler()
    wait_for('it has begun', lambda: int(migration.status()['files_whole']) > 3)

    def breaks(words, happen, mend):
        """Until connections are made anew nobody notices."""
        happen()
        lose_connections(migration)
        wait_for(f'it is said that {words!r}', lambda: said(words), process=crawler)
        mend()
        before = int(migration.status()['files_whole'])
        wait_for('it goes on', lambda: int(migration.status()['files_whole']) > before)

    # the server ends sessions with their tickets
    get_ticket('5s')
    lose_connections(migration)
    wait_for('it is said that the tickets expired', lambda: said('tickets expired at'),
             process=crawler)
    get_ticket()
    wait_for('it goes on', lambda: said('connected again'))
    # the new ones are used
    shutil.move(CCACHE, CCACHE + '.away')
    breaks('is not there: get a ticket', lambda: None,
           lambda: shutil.move(CCACHE + '.away', CCACHE))
    breaks('did not accept the ticket', lambda: realm.new_keys(f'cifs/{HOST}', BASE + '/later'),
           lambda: (shutil.copy(BASE + '/later', KEYTAB), get_ticket()))
    realm.stop()
    breaks('no KDC of the realm answers', lambda: None, realm.start)
    same(migration.errors(), {}, 'errors')
    migration.configure(source=f'smb://root@{HOST}/old', **SETTINGS)    # the rest at once
    migration.retriever.stop()
    migration.start_retriever()
    same(crawler.wait(300), 0, 'exit status of the crawler')
    finish(migration)


@case()
def what_is_wrong_is_said(args):
    realm, old, migration = world(args, lambda root: fill(root, 3))

    def refused(words, source=f'smb://root@{HOST}/old'):
        migration.configure(source=source, **SETTINGS)
        line = refusal(migration)
        print(line)
        expect(words in line, f'{words!r} is not in {line!r}')

    refused('is not there: get a ticket')
    get_ticket('2s')
    wait_for('the ticket ends', lambda: not kdc.valid(CCACHE))
    refused('tickets expired at')
    get_ticket()
    refused('by their names', f'smb://root@{old.address}/old')
    refused('has tickets of root@QM.TEST, not of alice', f'smb://alice@{HOST}/old')
    refused('knows no server of that name', 'smb://root@alias.test/old')
    refused('no share "missing"', f'smb://root@{HOST}/missing')
    realm.new_keys(f'cifs/{HOST}', BASE + '/later')
    get_ticket()
    refused('did not accept the ticket of root')
    shutil.copy(BASE + '/later', KEYTAB)
    stranger = realm.add('stranger', BASE + '/stranger.keytab')
    kdc.kinit('stranger', stranger, CCACHE)
    refused('that the server knows the user', f'smb://stranger@{HOST}/old')
    with open(CCACHE, 'wb') as out:
        out.write(b'\5\4\0')
    refused('no ticket cache')
    get_ticket()
    migration.configure(source=f'smb://root@{HOST}/old', **SETTINGS)
    migration.start_retriever()


@case()
def the_way_back(args):
    """With tickets of another user, who may write; they are missing, somebody else's, too old, and
    end while the old server is followed."""
    realm, old, migration = world(args, user='bob', rollback_source=f'smb://root@{HOST}/old',
                                  rollback_ccache=BACK)
    smbd.users()
    sh('net', '-s', old.config, 'sam', 'rights', 'grant', 'bob', 'SeSecurityPrivilege')
    smbtree.may_audit(old)
    old.configure({'old': (OLD, {**smbtree.SHARE, 'admin users': 'bob', 'read list': 'bob'})})
    old.restart()
    reader = realm.add('bob', BASE + '/bob.keytab')
    kdc.kinit('bob', reader, CCACHE)
    migration.start_retriever()
    migration.start_journal()
    migration.attach()
    new = smbfiles.Files(migration.start_smbd().session('root'))
    new.mkdir('made')
    new.write('made/file', b'made' * 100000)
    new.write('dir-0/file-0', b'changed')
    new.read('dir-1/file-1')            # an unfinished one is found by its path
    new.rename('dir-1/file-1', 'made/renamed')
    new.unlink('dir-2/file-2')

    def refused(words):
        said = migration.rollback(may_fail=True)
        expect(words in said and said.count('\n') == 1, f'{words!r} is not in {said!r}')

    refused('is not there: get a ticket')
    kdc.kinit('bob', reader, BACK)
    refused('has tickets of bob@QM.TEST, not of root')
    kdc.kinit('root', ROOT, BACK, '-l', '2s')
    wait_for('the ticket ends', lambda: not kdc.valid(BACK))
    refused('tickets expired at')
    realm.stop()
    refused('tickets expired at')
    realm.start()
    kdc.kinit('root', ROOT, BACK)
    plan = migration.rollback('--plan')
    same([plan[key] for key in ('made', 'renamed', 'removed')], [2, 1, 1], 'the plan')
    done = migration.rollback()
    same([done['conflicts'], done['losses']], [[], []], 'conflicts and losses')
    migration.crawl()
    same(tree(OLD), tree(NEW), 'the trees')

    kdc.kinit('root', ROOT, BACK, '-l', '5s')
    follower = Process('follower', [migration.program('migratectl'), '--config', migration.config,
                                    '--yes', '--follow', 'rollback', VOLUME])
    wait_for('the ticket ends', lambda: not kdc.valid(BACK), process=follower)
    new.write('dir-0/file-3', b'followed')
    wait_for('it is said that the tickets expired',
             lambda: 'tickets expired at' in log('follower'), process=follower)
    kdc.kinit('root', ROOT, BACK)
    wait_for('it goes on', lambda: tree(OLD).get('dir-0/file-3') == b'followed', process=follower)
    same(follower.stop(), 0, 'its exit status')


def log(name):
    with open(f'{LOGS}/{name}.log') as file:
        return file.read()


def tree(root):
    """{path: its bytes} of all files."""
    found = {}
    for path, directories, files in os.walk(root):
        directories[:] = [name for name in directories if name not in ('.migrate', 'lost+found')]
        for name in files:
            with open(f'{path}/{name}', 'rb') as file:
                found[os.path.relpath(f'{path}/{name}', root)] = file.read()
    return found


if __name__ == '__main__':
    sys.exit(main())
