#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Debian packages: built of a clean tree, checked by lintian, installed, used, and removed, in
layers over this machine's /etc, /usr and /var."""
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from debs import OF_DPKG, build, packages                               # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import BASE, Process, layered, sh, volume, wait_for        # noqa: E402
from servers import OLD                                                 # noqa: E402

NEW = BASE + '/srv'
CONF = '/etc/quickmigrate/quickmigrate.conf'


def dpkg(*argv, fails=False):
    done = subprocess.run(['dpkg', '--force-confdef', *argv], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if bool(done.returncode) != fails:
        raise AssertionError(f'dpkg {argv}: {done.returncode}: {done.stdout}')
    return done.stdout


def files():
    found = set()
    for top in ('/etc', '/usr', '/var'):
        for path, below, names in os.walk(top):
            if path == '/var':
                below.remove('tmp')     # where others make what they like
            found.update(os.path.join(path, name) for name in names)
            found.add(path)
    return {path for path in found if not OF_DPKG.match(path)}


def running():
    return {pid for pid in os.listdir('/proc') if pid.isdigit()}


@case()
def installed_used_and_removed(args):
    """Removal is refused while a volume is unfinished; a purge leaves nothing."""
    directory = packages(args.build)
    print(sh('lintian', '--fail-on', 'error,warning', *glob.glob(directory + '/*.changes')))
    main_ones = [path for path in glob.glob(directory + '/*.deb') if 'dbgsym' not in path]
    same(len(main_ones), 4, f'packages besides dbgsym in {directory}')
    layered('/etc', '/usr', '/var')
    shutil.rmtree('/var/lib/quickmigrate', ignore_errors=True)      # of a machine that has used it
    before, processes = files(), running()
    dpkg('-i', *main_ones)
    same(running() - processes - {str(os.getpid())}, set(), 'installing starts nothing')
    expect(os.path.exists('/usr/share/cockpit/quickmigrate/manifest.json'), 'the page in Cockpit')
    same({path for path in before if not os.path.lexists(path)}, set(), 'what is gone')

    volume(OLD)
    volume(NEW)
    tree.make(OLD, 300, args.seed, 1 << 20)
    with open(CONF, 'a') as out:
        out.write(f'[volume projects]\nroot = {NEW}\nsource = file://{OLD}\n')
    os.makedirs('/run/quickmigrate', exist_ok=True)
    retriever = Process('retriever', ['/usr/sbin/migrate-retriever', 'projects'])
    wait_for('the retriever answers', lambda: subprocess.run(
        ['migratectl', 'status', 'projects'], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL).returncode == 0, process=retriever)
    sh('migratectl', 'attach', 'projects')
    for package in 'quickmigrate-samba', 'quickmigrate-ganesha':
        expect('the volume projects is not finished' in dpkg('-r', package, fails=True), package)
    dpkg('-i', *main_ones)                          # an upgrade asks nothing
    expect(f'source = file://{OLD}' in open(CONF).read(), 'the configuration stayed')
    same(Process('crawler', ['/usr/sbin/migrate-crawler', 'projects']).wait(100), 0, 'the crawler')
    no_differences(tree.compare(OLD, NEW))
    sh('migratectl', 'finalize', 'projects')
    retriever.stop()
    dpkg('-P', 'cockpit-quickmigrate', 'quickmigrate-samba', 'quickmigrate-ganesha', 'quickmigrate')
    same(files() - before, {'/var/lib/quickmigrate' + name for name in ('', '/projects.report', '/projects.report.history')},
         'what is left: the reports')


@case(long=True)
def reproducible(args):
    """Two builds of one commit are the same bytes."""
    one, two = build(BASE + '/one'), build(BASE + '/two')
    for name in os.listdir(one):
        if name.endswith('.deb'):
            sh('cmp', f'{one}/{name}', f'{two}/{name}')


if __name__ == '__main__':
    sys.exit(main())
