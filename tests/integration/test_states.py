#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""States after a crash: short scenarios are run once in a guest, whose disks are recorded; states that a power cut
could leave are derived (tests/support/states.py), and in each of them the file system and the programs recover,
and nothing is lost that was acknowledged before (guest/states_scenarios.py)."""
import contextlib
import os
import pickle
import random
import shutil
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'support'), os.path.join(HERE, 'guest')]
import sandbox                                              # noqa: E402
import states                                               # noqa: E402
import uml                                                  # noqa: E402
import volatile                                             # noqa: E402
from harness import case, expect, main, same                # noqa: E402
from sandbox import BASE, LOGS, SCRATCH, Process, sh        # noqa: E402
from servers import OLD                                     # noqa: E402
import states_scenarios as scenarios                        # noqa: E402

SIZE, OLD_SIZE = 384 << 20, 64 << 20


def old_tree(scenario, args):
    """An image that guest and host see alike."""
    fd = os.open(SCRATCH, os.O_TMPFILE | os.O_RDWR, 0o600)
    os.truncate(fd, OLD_SIZE)
    sh(*sandbox.MKFS['ext4'], f'/proc/self/fd/{fd}', pass_fds=(fd,))
    with states.mounted('ext4', fd, OLD):
        os.rmdir(OLD + '/lost+found')
        scenario.fill(OLD, args.random)
    return fd


def record(scenario, args, name, fs, others, old):
    """What a guest does to the disks."""
    log = []
    disks = [volatile.Disk(SCRATCH, SIZE, args.random, log, n) for n in range(len(scenario.disks))]
    status = uml.run([f'{HERE}/guest/states_scenarios.py', args.build, name, fs, others],
                     disks=[old] * scenario.has_old, memory=1024,
                     env={'DISK': ' '.join(f'{disk.port} {disk.size}' for disk in disks),
                          'CONTROL': str(disks[0].control_port)})
    for disk in disks:
        disk.close()
    same(status, 0, 'exit status of the guest')
    return log


def end_all():
    """As a power cut does, but for what has to be waited for."""
    for process in Process.all:
        process.stop(9)
    Process.all.clear()
    for name in os.listdir('/run/quickmigrate'):
        path = '/run/quickmigrate/' + name
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    for name in os.listdir(LOGS):
        os.unlink(f'{LOGS}/{name}')


def problems_of(scenario, build, told):
    try:
        return scenario.check(scenario.migration(build), told)
    except sandbox.Failure as failure:
        return [str(failure)]
    except Exception:
        return [traceback.format_exc()]


def recover(scenario, build, fs, state):
    """What is wrong."""
    with contextlib.ExitStack() as mounts:
        try:
            for where, blocks in zip(scenario.disks, state.disks):
                fd = states.image(blocks, SIZE)
                mounts.callback(os.close, fd)
                mounts.enter_context(states.mounted(fs, fd, where))
        except sandbox.Failure as failure:
            problems = [f'the file system does not recover: {failure}']
        else:
            problems = problems_of(scenario, build, state.told)
        if problems:
            print(f'{state.name}, acknowledged: {state.told[-3:]}')
            print('\n'.join(map(str, problems[:20])))
            sandbox.show_logs(out=sys.stdout)
        end_all()
    return problems


def worker(scenario, args, fs, log, old, drawn):
    """Its exit status."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child

    def body():
        chance, bad = random.Random(args.seed), 0
        with (states.mounted('ext4', old, OLD, '-o', 'ro') if scenario.has_old else contextlib.nullcontext()):
            for at, share in drawn:
                state = states.state(log, at, share, chance, len(scenario.disks))
                bad += bool(recover(scenario, args.build, fs, state))
                if bad > 5:
                    break
        return min(bad, 100)
    os._exit(sandbox.private(body))


def recorded(scenario, args, name, fs, others):
    """(the old tree's image, the record), of --record if that is there."""
    if args.record and os.path.exists(args.record):
        with open(args.record, 'rb') as file:
            log, image = pickle.load(file)
        old = os.open(SCRATCH, os.O_TMPFILE | os.O_RDWR, 0o600)
        os.pwrite(old, image, 0)
        return old, log
    old = old_tree(scenario, args) if scenario.has_old else -1
    log = record(scenario, args, name, fs, others, old)
    if args.record:
        with open(args.record, 'wb') as file:
            pickle.dump((log, os.pread(old, OLD_SIZE, 0) if scenario.has_old else b''), file)
    return old, log


def every_state(args, name, fs, others):
    scenario = scenarios.SCENARIOS[name]()
    old, log = recorded(scenario, args, name, fs, others)
    if args.at:
        drawn = [(at, share) for at in args.at for share in (0, 0.5, 1)]
    else:
        drawn = states.draw(log, args.states or (120 if args.long else 10), args.random)
    print(f'{name} on {fs}, {others}: {len(log)} entries, {len(states.moments(log))} ends; {len(drawn)} states')
    # two of one UUID that are mounted at once cannot be, or the second gets another
    count = 1 if fs == 'btrfs' else args.jobs
    children = [worker(scenario, args, fs, log, old, drawn[n::count]) for n in range(count)]
    failed = [child for child in children if os.waitpid(child, 0)[1]]
    expect(not failed, 'states after a crash are wrong')


def make_cases():
    """In a night each scenario on each file system, alone and among other programs that sync; else once, in turn on
    ext4 and, among others, on one that is drawn."""
    for number, name in enumerate(scenarios.SCENARIOS):
        def add(fs, others, long, name=name):
            def run(args):
                every_state(args, name, fs or sandbox.FS, others)
            run.__name__ = '_'.join(filter(None, (name, fs, others)))
            case(guest=True, long=long)(run)
        add(None, 'among', number % 2 == 0)
        for fs in ('ext4', 'xfs', 'btrfs'):
            for others in ('alone', 'among'):
                add(fs, others, number % 2 == 1 or (fs, others) != ('ext4', 'alone'))


make_cases()


def options(parser):
    parser.add_argument('--states', type=int, help='how many of each scenario')
    parser.add_argument('--record', metavar='FILE', help='keeps what a guest did there, or takes it from there')
    parser.add_argument('--at', type=int, action='append', help='only the states before that entry of the record')
    parser.add_argument('--jobs', type=int, default=2, help='so many side by side (default %(default)s)')


if __name__ == '__main__':
    sys.exit(main(options))
