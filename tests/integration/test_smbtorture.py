#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samba's own tests of an SMB server, on a share of stubs, on one that is half migrated, and after
the end: what passes on a plain share with the same settings passes there.

smbtorture.list names what passes on a plain share of the packaged Samba; those marked "short" are
run always, the others with --long."""
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import smbd                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, Host, volume                                  # noqa: E402
from servers import stack                                               # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = HERE + '/smbtorture.list'
PLAIN = BASE + '/plain'
SECONDS = 90                            # for a test


def fill(root):
    """Some work for the crawler; everybody may make names in the root."""
    rng = random.Random(3)
    os.chmod(root, 0o777)
    for n in range(20):
        os.mkdir(f'{root}/dir{n}')
        for m in range(20):
            with open(f'{root}/dir{n}/file{m}', 'wb') as out:
                out.write(rng.randbytes(rng.choice((0, 100, 5000, 300000))))


def chosen(args):
    with open(LIST) as file:
        lines = [line.split() for line in file if line[0] != '#']
    return [name for kind, name in lines if kind == 'short' or args.long]


def torture(server, name):
    """(whether it passed, its output)"""
    argv = ['smbtorture', f'//{server.address}/{smbd.SHARE}', '-s', smbd.client_config(),
            f'-Ualice%{smbd.PASSWORD}', name]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS)
    except subprocess.TimeoutExpired as late:
        return False, (late.stdout or b'').decode(errors='replace') + '\n(no end)'
    return done.returncode == 0, done.stdout.decode(errors='replace')


def plain_server():
    volume(PLAIN, '2G')
    fill(PLAIN)
    share = PLAIN, {'vfs objects': smbd.STACK.replace('migrate ', '')}
    return smbd.Smbd('plain', {smbd.SHARE: share}, host=Host('plain')).start()


def all_pass(server, plain, names, stage):
    """A test that fails on the plain share too, now, says nothing of ours."""
    start, failed = time.monotonic(), []
    for name in names:
        passed, output = torture(server, name)
        if passed:
            continue
        if torture(plain, name)[0]:
            failed.append(name)
            print(f'---- {stage}: {name}\n{output[-3000:]}')
        else:
            print(f'{stage}: {name} fails on the plain share too')
    print(f'{stage}: {len(names)} tests, {len(failed)} failed '
          f'({time.monotonic() - start:.1f} s)', flush=True)
    return [f'{stage}: {name}' for name in failed]


@case()
def from_stubs_to_the_end(args):
    names = chosen(args)
    plain = plain_server()
    _, migration = stack(args.build, fill, '2G')
    migration.attach()
    server = migration.start_smbd()
    failed = all_pass(server, plain, names, 'stubs')
    migration.ctl('throttle', argument='%d' % (1000 if args.long else 20000))
    crawler = migration.start_crawler()
    failed += all_pass(server, plain, names, 'half migrated')
    same(crawler.poll(), None, 'status of the crawler')
    migration.ctl('throttle', argument='0')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    migration.ctl('finalize')
    failed += all_pass(server, plain, names, 'after the end')
    expect(not failed, f'{len(failed)} tests: {", ".join(failed)}')


@case(long=True)
def the_list_is_right(args):
    """What is in the list passes on the plain share."""
    plain = plain_server()
    bad = [name for name in chosen(args) if not torture(plain, name)[0]]
    expect(not bad, f'fail on the plain share: {" ".join(bad)}')


if __name__ == '__main__':
    sys.exit(main())
