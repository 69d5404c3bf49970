#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's NFS client, in a guest, and people's programs on it, while the crawler runs."""
import os
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tree                                                             # noqa: E402
import uml                                                              # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import BASE, sh                                            # noqa: E402
from servers import NEW, OLD, stack                               # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def desk(root, random):
    """What the guest's programs use: a repository, a database, files."""
    os.mkdir(root + '/desk')
    with open(root + '/desk/big', 'wb') as file:
        file.write(random.randbytes(24 << 20))
    with open(root + '/desk/mapped', 'wb') as file:
        file.write(random.randbytes(300000))
    with open(root + '/desk/text', 'w') as file:
        file.writelines(f'line {n}\n' for n in range(20000))
    git = ['git', '-c', 'user.name=n', '-c', 'user.email=e@example.org',
           '-c', 'init.defaultBranch=main']
    source = root + '/desk/source'
    subprocess.run([*git, 'init', '-q', source], check=True)
    for n in range(40):
        with open(f'{source}/file{n}.c', 'w') as file:
            file.write(f'/* {n} */\n' + random.randbytes(2000).hex())
    subprocess.run([*git, '-C', source, 'add', '.'], check=True)
    subprocess.run([*git, '-C', source, 'commit', '-qm', 'first'], check=True)
    subprocess.run([*git, 'clone', '-q', '--bare', source, root + '/desk/repository.git'],
                   check=True)
    database = sqlite3.connect(root + '/desk/data.sqlite')
    database.execute('create table t (x integer, y text)')
    database.executemany('insert into t values (?, ?)', ((n, 'y' * 100) for n in range(5000)))
    database.commit()
    database.close()


def client(args, options, export, tag):
    def fill(root):
        tree.make(root, 700, args.seed, 4 << 20)
        desk(root, args.random)
        os.utime(root, ns=(10**18, 10**18))

    _, migration = stack(args.build, fill, bandwidth='2M')
    listing = BASE + '/shared/listing'
    os.mkdir(os.path.dirname(listing))
    with open(listing, 'w', errors='surrogateescape') as out:
        out.write(sh(HERE + '/guest/listing.sh', OLD, errors='surrogateescape'))
    migration.attach()
    migration.start_server()
    crawler = migration.start_crawler()
    status = uml.run([HERE + '/guest/client.sh', options, export, OLD, listing, tag], timeout=550,
                     shares=[OLD, os.path.dirname(listing)], memory=1536)
    same(status, 0, 'exit status of the guest')
    still = crawler.poll() is None
    print('the crawler was', 'still running' if still else 'done before the programs')
    migration.ctl('throttle', argument='0')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    migration.ctl('finalize')
    same(tree.records(NEW), [], 'objects with a record')
    check = sqlite3.connect(f'file:{NEW}/desk/data.sqlite?mode=ro', uri=True)
    same(check.execute('pragma integrity_check').fetchone(), ('ok',), 'the database at the end')
    expect(check.execute('select count(*) from t').fetchone()[0] >= 5600, 'rows are missing')
    sh('git', '-c', 'safe.directory=*', '-C', NEW + '/desk/repository.git', 'fsck')
    no_differences(tree.compare(OLD, NEW, leave_out={b'/desk'}))
    for name in ('big', 'mapped'):
        sh('cmp', f'{OLD}/desk/{name}', f'{NEW}/desk/{name}')


@case(guest=True)
def kernel_v3(args):
    client(args, 'vers=3,proto=tcp,nolock', NEW, 'v3')


@case(guest=True, short=True)
def kernel_v4_2(args):
    client(args, 'vers=4.2', '/export', 'v42')


@case(guest=True, long=True)
def kernel_v4_0(args):
    client(args, 'vers=4.0', '/export', 'v40')


@case(guest=True, long=True)
def kernel_v4_1(args):
    client(args, 'vers=4.1', '/export', 'v41')


if __name__ == '__main__':
    sys.exit(main())
