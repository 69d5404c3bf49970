# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests/bench/run, tests/oracle/run and tests/oracle/planted are told by the same options, and
the build that they use."""
import argparse
import os
import pwd
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONFIGURE = ['cmake', '--preset', 'default', '-G', 'Ninja']
BUILD = ['cmake', '--build', 'build']


def parser(description, output, jobs=1, jobs_help='side by side (default: 1)'):
    """Options of all.  output: what --output writes; jobs: the default."""
    options = argparse.ArgumentParser(description=description,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--seed', type=int, default=1, metavar='N',
                         help='what chance decides is decided by this (default: 1)')
    options.add_argument('--jobs', type=int, default=jobs, metavar='N', help=jobs_help)
    options.add_argument('--quick', action='store_true',
                         help='small and once: only whether it works')
    options.add_argument('--output', metavar='DIR', help=output)
    return options


def add_build(options):
    """Options of what runs the programs of one build."""
    options.add_argument('--build', metavar='DIR',
                         help='a build to take as it is (default: build, brought up to date first)')
    options.add_argument('--module', metavar='DIR',
                         help='the build of modules that the other lacks')
    options.add_argument('--repeat', type=int, metavar='N', help='how often each thing is done')
    options.add_argument('--show-logs', action='store_true',
                         help="the programs' logs, of what fails or differs")
    options.add_argument('--keep-logs', metavar='DIR', help='where all logs are copied in the end')


def owner():
    """Keywords of subprocess: as the tree's owner, who may have used sudo."""
    uid, gid = os.stat(TOP).st_uid, os.stat(TOP).st_gid
    if os.geteuid() or uid == 0:
        return {}
    home = pwd.getpwuid(uid).pw_dir
    return {'user': uid, 'group': gid, 'extra_groups': [], 'env': {**os.environ, 'HOME': home}}


def bring_up_to_date(jobs):
    """build/, by the preset; ends the program with the command that failed."""
    env = owner().get('env', dict(os.environ))
    if shutil.which('ccache'):
        env.setdefault('CMAKE_C_COMPILER_LAUNCHER', 'ccache')
    configured = os.path.exists(f'{TOP}/build/CMakeCache.txt')
    for command in ([] if configured else [CONFIGURE]) + [[*BUILD, '--parallel', str(jobs)]]:
        done = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, **{**owner(), 'env': env})
        if done.returncode:
            sys.exit(f'{done.stdout}{" ".join(command)} (in {TOP}): exit {done.returncode}')


def find_build(args):
    """args.build is a build from then on, by its absolute path."""
    if not args.build:
        bring_up_to_date(max(args.jobs, os.cpu_count()))
        args.build = f'{TOP}/build'
    args.build = os.path.abspath(args.build)
    if not os.path.exists(f'{args.build}/CMakeCache.txt'):
        sys.exit(f'{args.build} is no build; this makes one in {TOP}/build: '
                 f'{" ".join(CONFIGURE)} && {" ".join(BUILD)}')
