#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other people's test suites over the kernel's NFS client, in a guest: on a copy of the old tree
behind plain VFS, and on a volume of stubs.  What passes on the one passes on the other."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tree                                     # noqa: E402
from harness import case, expect, main          # noqa: E402
from pair import RESULTS, Pair                  # noqa: E402
from sandbox import sh                          # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
CRATES = os.path.join(HERE, '..', 'support', 'crates')

SUITES = ('fsx', 'pjdfstest', 'adopted', 'stress')          # adopted: pjdfstest with adopt.c

POOL_FILES, POOL_DIRECTORIES = 400, 1500        # what pjdfstest makes; adopt.c says if it is more

# Sizes of operations, and of the file.  With small operations the file keeps missing ranges for
# long, with large ones each operation goes across several.
FSX = {'small': (64, 4096, 4 << 20), 'medium': (64, 128 << 10, 8 << 20),
       'large': (64, 4 << 20, 16 << 20)}
FSX_WEIGHTS = {
    'close_open': 1, 'read': 10, 'write': 10, 'mapread': 10, 'mapwrite': 10, 'invalidate': 1,
    'truncate': 1, 'fsync': 1, 'fdatasync': 1, 'sendfile': 3, 'posix_fadvise': 1,
    'copy_file_range': 3}
FSX_WEIGHTS_V42 = {'posix_fallocate': 2, 'punch_hole': 3}
FSX_BEFORE = 60                         # operations on the old server that make the file

# What stress-ng has for files and NFS too; the second list takes up to half a minute each.
STRESSORS = 'copy-file dentry dir fcntl filename flock getdent hdd lockf open rename utime'
SLOW_STRESSORS = ('access chdir chmod chown dirdeep dirmany dnotify dup fallocate fiemap fpunch '
                  'fsize fstat handle inotify io iomix lease link locka lockofd mknod symlink '
                  'sync-file touch xattr')


def fsx_config(version, kind):
    least, most, size = FSX[kind]
    weights = FSX_WEIGHTS | (FSX_WEIGHTS_V42 if version == '4.2' else {})
    return '\n'.join([f'flen = {size}', '[opsize]', f'min = {least}', f'max = {most}',
                      '[weights]', *(f'{k} = {v}' for k, v in weights.items())]) + '\n'


class Suites:
    """One run of all of them, by one version of NFS."""

    def __init__(self, args, version):
        self.args, self.version = args, version
        self.args.suite = args.suite or SUITES
        self.pair = Pair(args.build, self.fill, version, bandwidth='1M')

    def fill(self, root):
        """The old tree: something to crawl, and for each suite a directory with siblings."""
        random = self.args.random
        tree.make(root, 300, self.args.seed, 4 << 20)
        os.makedirs(root + '/desk/pool')
        for directory in SUITES:
            os.mkdir(f'{root}/desk/{directory}')
            for n in range(200):
                with open(f'{root}/desk/{directory}/sibling{n}', 'wb') as file:
                    file.write(random.randbytes(random.randrange(5000)))
        for n in range(POOL_FILES):
            with open(f'{root}/desk/pool/file{n}', 'wb') as file:
                file.write(random.randbytes(random.randrange(1, 100000)))
        for n in range(POOL_DIRECTORIES):
            os.mkdir(f'{root}/desk/pool/dir{n}')
        for kind in FSX:
            config = f'{RESULTS}/{kind}.toml'
            with open(config, 'w') as out:
                out.write(fsx_config(self.version, kind))
            for seed in self.seeds():
                before = FSX_BEFORE if kind != 'small' else 40 * FSX_BEFORE
                sh(self.args.crates + '/fsx', '-f', config, '-S', seed, '-N', before,
                   f'{root}/desk/fsx/{kind}.{seed}.{before}')
        os.utime(root, ns=(10**18, 10**18))

    def seeds(self):
        return range(self.args.seed, self.args.seed + (30 if self.args.long else 3))

    def run(self):
        self.pair.run(
            [HERE + '/guest/suites.sh'], 9000 if self.args.long else 1000, CRATES=self.args.crates,
            SUITES=' '.join(self.args.suite),
            PRELOAD=os.path.abspath(self.args.build) + '/tests/integration',
            STRESSORS=STRESSORS + (' ' + SLOW_STRESSORS if self.args.long else ''),
            FSX_OPERATIONS='300' if self.args.long else '30')

    def compare(self):
        """What passed and what failed is the same."""
        plain, stubs = ({}, {})
        for name, verdicts in (('plain', plain), ('stubs', stubs)):
            with open(f'{RESULTS}/{name}') as file:
                verdicts.update(line.split() for line in file)
        for verdict in sorted(set(plain.values())):
            names = [n for n, v in plain.items() if v == verdict]
            print(f'{len(names)} {verdict}', *(names if verdict != 'ok' else []))
        for suite in self.args.suite:
            expect(any(v == 'ok' and n.startswith(suite + ':') for n, v in plain.items()),
                   f'nothing of {suite} passes on plain VFS')
        wrong = [name for name in sorted(plain | stubs) if plain.get(name) != stubs.get(name)]
        expect(not wrong, 'the suites differ:\n' + '\n'.join(
            f'{name}: {stubs.get(name)} on stubs, {plain.get(name)} on plain VFS\n{printed(name)}'
            for name in wrong))


def printed(name):
    """The end of what was printed on stubs by or about a test."""
    suite, test = name.split(':', 1)
    log = {'fsx': test, 'stress': f'stress-{test}'}.get(suite, suite)
    with open(f'{RESULTS}/log/stubs/{log}') as file:
        lines = file.read().splitlines()
    if log == suite:            # a log of all tests
        at = next((n for n, line in enumerate(lines) if line.startswith(test + ' ')), 0)
        lines = lines[at:at + 6]
    return '\n'.join('    ' + line for line in lines[-15:])


def suites(args, version, crawled):
    run = Suites(args, version)
    try:
        crawler = run.pair.migration.start_crawler() if crawled else None
        run.run()
        run.compare()
        run.pair.finish(crawler, {b'/desk/pjdfstest', b'/desk/adopted'})    # random names
    finally:
        if args.keep_logs:
            shutil.copytree(RESULTS, f'{args.keep_logs}/suites-{version}', dirs_exist_ok=True)


@case(guest=True)
def v3(args):
    suites(args, '3', False)


@case(guest=True, long=True)
def v3_crawled(args):
    suites(args, '3', True)


@case(guest=True, long=True)
def v4_2(args):
    suites(args, '4.2', False)


@case(guest=True)
def v4_2_crawled(args):
    suites(args, '4.2', True)


def options(parser):
    parser.set_defaults(crates=crates)
    parser.add_argument('--suite', action='append', choices=SUITES, help='not all of them')


if __name__ == '__main__':
    crates = sh(CRATES).strip()
    sys.exit(main(options))
