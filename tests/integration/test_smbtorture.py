#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samba's own tests of an SMB server, on a share of stubs, on one that is half migrated, and after
the end: what passes on a plain share with the same settings passes there.

smbtorture.list names what passes on a plain share of the packaged Samba; those marked "short" are
run always, the others with --long.  Those marked "again" fail now and then on a plain share of a
busy machine, too (2 of 64, 1 of 8): they have three tries.

Every test has a share of its own, a directory that nobody has looked into and that has files and a
directory: tests do not meet, and most of their time they wait, so that many run at once."""
import concurrent.futures
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import sandbox                                                          # noqa: E402
import smbd                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, Host, volume                                  # noqa: E402
from servers import NEW, VOLUME, stack                                  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = HERE + '/smbtorture.list'
PLAIN = BASE + '/plain'
STAGES = 'stubs', 'half migrated', 'after the end'
SECONDS = 600                           # for a test, on a machine with much else to do
SECONDS_OF_A_TRY = 60
AT_ONCE = 8
# Settings of shares for tests that want them.
MORE = {'kernel-oplocks': {'kernel oplocks': 'yes'},
        'acls-ignore-sysacl': {'acl_xattr:ignore system acls': 'yes'}}
UNKNOWN = 'Unknown torture operation'


def fill(root, stages, names):
    """A directory for each test in each stage; everybody may make names there."""
    rng = random.Random(3)
    for path in (f'{root}/{stage}/{name}' for stage in stages for name in names):
        os.makedirs(path + '/dir')
        os.chmod(path, 0o777)
        for name in ('file0', 'file1', 'dir/file'):
            with open(f'{path}/{name}', 'wb') as out:
                out.write(rng.randbytes(rng.choice((0, 100, 5000, 70000))))


def shares(root, stage, names, settings):
    return {name: (f'{root}/{stage}/{name}', {**settings, **MORE.get(name.split('.')[1], {})})
            for name in names}


def name_here(name):
    """4.25 has some by other names."""
    words = name.split('.')
    if sandbox.sh('smbd', '--version').split()[1] >= '4.25':
        if words[1] == 'acls':
            words[1] = 'acls-ignore-sysacl' if words[2].endswith('DENY1') else 'acls-with-sysacl'
        elif words[1] == 'mangle':
            words[1:] = 'name-mangling', 'mangle'
    return '.'.join(words)


def chosen(args):
    """{name: how often it is tried}"""
    with open(LIST) as file:
        lines = [line.split() for line in file if line[0] != '#']
    return {name_here(name): 3 if more else 1
            for kind, name, *more in lines if kind == 'short' or args.long}


def torture(server, name, seconds=SECONDS):
    """(whether it passed, its output)"""
    argv = ['smbtorture', f'//{server.address}/{name}', '-s', smbd.client_config(),
            f'-Ualice%{smbd.PASSWORD}', name]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        return False, (late.stdout or b'').decode(errors='replace') + '\n(no end)'
    return done.returncode == 0, done.stdout.decode(errors='replace')


def torture_all(server, names):
    """{name: output} of what failed."""
    def tries(name):
        for _ in range(names[name]):
            result = torture(server, name, SECONDS if names[name] == 1 else SECONDS_OF_A_TRY)
            if result[0]:
                break
        return result

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = pool.map(tries, names)
        return {name: output for name, (passed, output) in zip(names, results) if not passed}


def plain_server(names, fs=None, modules=smbd.STACK):
    volume(PLAIN, '2G', fs)
    fill(PLAIN, ['plain'], names)
    settings = {'vfs objects': modules.replace('migrate ', '')}
    return smbd.Smbd('plain', shares(PLAIN, 'plain', names, settings), host=Host('plain')).start()


def all_pass(server, plain, names, stage):
    """A test that fails on the plain share too, now, says nothing of ours; but it has to be one."""
    start, failed = time.monotonic(), []
    for name, output in torture_all(server, names).items():
        if UNKNOWN in output or torture(plain, name)[0]:
            failed.append(name)
            print(f'---- {stage}: {name}\n{output[-3000:]}')
        else:
            print(f'{stage}: {name} fails on the plain share too')
    print(f'{stage}: {len(names)} tests, {len(failed)} failed '
          f'({time.monotonic() - start:.1f} s)', flush=True)
    return [f'{stage}: {name}' for name in failed]


def stages_pass(args, names, fs=None, modules=smbd.STACK):
    plain = plain_server(names, fs, modules)
    _, migration = stack(args.build, lambda root: fill(root, STAGES, names), '2G', fs)
    migration.attach()
    server = migration.start_smbd()
    failed = []

    def run(stage):
        layer = smbd.layer(VOLUME, migration.socket, modules)
        server.configure(shares(NEW, stage, names, layer))
        server.restart()
        failed.extend(all_pass(server, plain, names, stage))

    run('stubs')
    migration.ctl('throttle', argument='10000')
    crawler = migration.start_crawler()
    run('half migrated')
    same(crawler.poll(), None, 'status of the crawler')
    migration.ctl('throttle', argument='0')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    migration.ctl('finalize')
    run('after the end')
    expect(not failed, f'{len(failed)} tests: {", ".join(failed)}')


@case()
def from_stubs_to_the_end(args):
    stages_pass(args, chosen(args))


@case(long=True)
def on_btrfs(args):
    """Where extents can be shared and files compressed."""
    names = {name: n for name, n in chosen(args).items() if name.startswith('smb2.ioctl.')}
    stages_pass(args, names, 'btrfs', smbd.STACK + ' btrfs')


@case(long=True)
def the_list_is_right(args):
    """What is in the list passes on the plain share."""
    names = chosen(args)
    bad = torture_all(plain_server(names), names)
    expect(not bad, f'fail on the plain share: {" ".join(bad)}')


if __name__ == '__main__':
    sys.exit(main())
