#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two commands of ./quickstart: the demonstration, whole and interrupted, and a real volume set
up on a machine without systemd (its /etc, /usr and /var under a layer of the sandbox's)."""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from debs import packages                                               # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import BASE, layered, sh, volume, wait_for                 # noqa: E402
from smbd import PASSWORD, old_smbd                                     # noqa: E402
from servers import OLD, REPO, old_server                               # noqa: E402

ROOT = BASE + '/srv/projects'
os.environ['PATH'] += ':/usr/local/sbin:/usr/local/bin'     # which a cron job's lacks


def demonstration(args, *more, **kw):
    return subprocess.Popen([REPO + '/demo/show.py', '--build', args.build, *more],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, **kw)


@case()
def shows_the_whole_way(args):
    show = demonstration(args)
    output, _ = show.communicate(timeout=600)
    print(output)
    same(show.returncode, 0, 'exit status')
    for line in ('11 gone', 'first byte', '100 %', 'were the same in the copy', 'are the same',
                 'still good', 'both servers are the same', ', offline', 'Samba without the module', 'Summary'):
        expect(line in output, f'"{line}" is not in the output')


def running():
    return {pid for pid in os.listdir('/proc') if pid.isdigit() and state(pid) not in 'ZX'}


def state(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rpartition(')')[2].split()[0]
    except OSError:
        return 'X'


def ended_by(args, number, status):
    with open('/proc/self/mounts') as file:
        mounts = file.read()
    before = running()
    show = demonstration(args)
    for line in show.stdout:
        if line.startswith('6.'):
            break
    show.send_signal(number)
    show.communicate(timeout=120)
    same(show.returncode, status, 'exit status')
    wait_for('nothing is left running', lambda: running() <= before)
    with open('/proc/self/mounts') as file:
        same(file.read(), mounts, 'mounts')


@case(short=True)
def interrupted(args):
    ended_by(args, signal.SIGINT, 130)


@case()
def killed(args):
    ended_by(args, signal.SIGKILL, -signal.SIGKILL)


def set_up(args, source, root, *options):
    return subprocess.run([REPO + '/demo/setup.py', '--packages', packages(args.build), *options,
                           source, root],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300)


def status():
    return json.loads(sh('migratectl', '--json', 'status', 'projects'))


def wait_until_whole():
    wait_for('the migration is done', lambda: status()['volume']['state'] == 'whole', 300)


def fresh_machine():
    layered('/etc', '/usr', '/var/lib', '/var/log')
    for path in ('/etc/quickmigrate/quickmigrate.conf', '/run/systemd/system'):
        if os.path.isfile(path):
            os.unlink(path)


@case()
def sets_up_a_volume(args):
    fresh_machine()
    volume(OLD)
    volume(BASE + '/srv')
    tree.make(OLD, 1500, args.seed, 4 << 20)
    done = set_up(args, f'file://{OLD}', ROOT)
    same([done.returncode, done.stdout.count('\n')], [1, 1], f'it can be written: {done.stdout}')
    expect('is not mounted read-only' in done.stdout, done.stdout)
    sh('mount', '-o', 'remount,bind,ro', OLD)
    done = set_up(args, f'file://{OLD}', ROOT)
    print(done.stdout)
    same(done.returncode, 0, 'exit status')
    for line in ('Name = MIGRATE', 'migratectl finalize projects', ROOT):
        expect(line in done.stdout, f'"{line}" is not in the output')

    wait_until_whole()
    no_differences(tree.compare(OLD, ROOT))
    again = set_up(args, f'file://{OLD}', ROOT)
    same(again.returncode, 0, 'exit status of a second run')
    sh('migratectl', 'verify', 'projects')
    sh('migratectl', 'finalize', 'projects')
    same(tree.records(ROOT), [], 'objects with a record')

    other = set_up(args, 'file:///etc', ROOT, '--read-only')
    same(other.returncode, 1, 'exit status for another source in the same directory')
    expect('another volume already' in other.stdout and other.stdout.count('\n') == 1,
           f'not one line that says why: {other.stdout}')


@case()
def waits_for_a_read_only_export(args):
    """What is made on the old server after a directory was listed would be missed."""
    fresh_machine()
    volume(OLD)
    volume(BASE + '/srv')
    tree.make(OLD, 300, args.seed, 1 << 20)
    server = old_server()
    source = f'nfs://{server.address}{OLD}'
    done = set_up(args, source, ROOT)
    same([done.returncode, done.stdout.count('\n')], [1, 1], f'it can be written: {done.stdout}')
    expect('lets this machine write' in done.stdout, done.stdout)
    expect(not os.path.exists(ROOT), 'something was done')
    server.export = 'Access_Type = RO;'
    server.configure('Name = VFS;')
    server.restart()
    done = set_up(args, source, ROOT)
    expect('the crawler brings the data' in done.stdout, done.stdout)

    wait_until_whole()


@case()
def sets_up_a_volume_of_an_smb_server(args):
    fresh_machine()
    volume(OLD)
    volume(BASE + '/srv')
    names = [f'{d}/file {n}' for d in ('one', 'two') for n in range(50)]
    for path in names:
        os.makedirs(os.path.dirname(f'{OLD}/{path}'), exist_ok=True)
        with open(f'{OLD}/{path}', 'w') as out:
            out.write(path * 100)
    source = f'smb://root@{old_smbd(OLD).address}/old'
    done = set_up(args, source, ROOT)
    expect('does not tell' in done.stdout and done.returncode == 1, done.stdout)
    done = set_up(args, source, ROOT, '--read-only')
    same(done.returncode, 1, 'exit status without a password')
    expect('/etc/quickmigrate/projects.password' in done.stdout and done.stdout.count('\n') == 1,
           f'not one line that says where a password belongs: {done.stdout}')
    with open('/etc/quickmigrate/projects.password', 'w') as out:
        os.fchmod(out.fileno(), 0o600)
        out.write(PASSWORD + '\n')
    done = set_up(args, source, ROOT, '--read-only')
    expect('--smb-modes=open' in done.stdout and done.returncode == 1, done.stdout)
    done = set_up(args, source, ROOT, '--read-only', '--smb-modes=open')
    print(done.stdout)
    same(done.returncode, 0, 'exit status')
    for line in ('vfs objects = migrate', 'migrate:volume = projects', 'migratectl finalize projects'):
        expect(line in done.stdout, f'"{line}" is not in the output')
    wait_until_whole()
    for path in names:
        with open(f'{ROOT}/{path}') as file:
            same(file.read(), path * 100, path)


@case()
def refuses_nonsense(args):
    fresh_machine()
    volume(OLD)
    volume(ROOT)
    open(ROOT + '/something', 'w').close()
    before = running()
    with open('/etc/fstab', 'a') as fstab:
        fstab.write(f'/dev/none {BASE}/none ext4 defaults 0 0\n')
    for source, root in (('http://x/y', '/srv/x'), ('smb://host/share', '/srv/x'),
                         (f'file://{OLD}', 'relative'), (f'file://{OLD}', '/srv-not-there/x'),
                         (f'file://{OLD}', BASE + '/none/x'),
                         ('file:///does/not/exist', ROOT), (f'file://{OLD}', ROOT)):
        done = set_up(args, source, root, '--read-only')
        print(done.stdout)
        same(done.returncode, 1, f'exit status for {source} {root}')
        expect(done.stdout.startswith('quickstart: ') and done.stdout.count('\n') == 1,
               f'not one line that says why: {done.stdout}')
    expect(running() <= before, 'something was left running')
    with open('/etc/quickmigrate/quickmigrate.conf') as config:
        expect('\n[volume' not in config.read(), 'a volume was left in the configuration')
    os.unlink(ROOT + '/something')
    same(set_up(args, f'file://{OLD}', ROOT, '--read-only').returncode, 0, 'exit status')


def archive(suite, packages, *more):
    """An archive of one suite, for apt: the line of sources.list.  packages: stanzas."""
    where = f'{BASE}/apt/dists/{suite}'
    text = ''.join(f'{one}Filename: {n}.deb\nSize: 1\nSHA256: {"0" * 64}\n\n'
                   for n, one in enumerate(packages))
    os.makedirs(where + '/main/binary-amd64')
    with open(where + '/main/binary-amd64/Packages', 'w') as out:
        out.write(text)
    with open(where + '/Release', 'w') as out:
        print(f'Suite: {suite}', f'Codename: {suite}', 'Components: main', 'Architectures: amd64', *more,
              'SHA256:', f' {hashlib.sha256(text.encode()).hexdigest()} {len(text)} main/binary-amd64/Packages',
              sep='\n', file=out)
    return f'deb [trusted=yes arch=amd64] file:{BASE}/apt {suite} main\n'


@case()
def goes_with_servers_of_backports(args):
    """What the build needs of a server's own libraries is of the server's version, and all else of the
    release."""
    fresh_machine()
    work = BASE + '/apt'
    old, new = '1', '2~bpo13+1'

    def stanza(name, version, source, depends=None):
        return (f'Package: {name}\nSource: {source}\nVersion: {version}\nArchitecture: amd64\n'
                'Maintainer: Nobody <nobody@example.org>\nDescription: nothing\n'
                + (f'Depends: {depends}\n' if depends else ''))

    def suite(version):
        return [stanza(*one) for one in (
            ('server', version, 'served', f'server-lib (= {version})'), ('server-lib', version, 'served'),
            ('server-dev', version, 'served', f'server-lib (= {version})'), ('tool', version, 'tools'))]

    lines = archive('stable', suite(old))
    lines += archive('stable-backports', suite(new), 'NotAutomatic: yes', 'ButAutomaticUpgrades: yes')
    settings = {'Dir::State': work, 'Dir::State::status': work + '/dpkg/status', 'Dir::Cache': work,
                'Dir::Etc::SourceList': work + '/sources.list', 'Dir::Etc::SourceParts': '/dev/null',
                'Dir::Etc::PreferencesParts': '/dev/null', 'APT::Architecture': 'amd64',
                'APT::Sandbox::User': 'root', 'APT::Get::Simulate': 'true'}
    for name, text in (('sources.list', lines), ('packages', '[build]\nserver\nserver-dev\ntool\n'),
                       ('apt.conf', ''.join(f'{key} "{value}";\n' for key, value in settings.items()))):
        with open(f'{work}/{name}', 'w') as out:
            out.write(text)
    shutil.copy(REPO + '/tests/support/install-packages', work)
    os.makedirs(work + '/dpkg')
    for version in (old, new):
        with open(work + '/dpkg/status', 'w') as out:
            for one in suite(version)[:2]:
                out.write(one.replace('Maintainer:', 'Status: install ok installed\nMaintainer:') + '\n')
        output = sh(work + '/install-packages', 'build',
                    env={**os.environ, 'APT_CONFIG': work + '/apt.conf', 'DPKG_ADMINDIR': work + '/dpkg'})
        print(output)
        same(sorted(re.findall(r'^Inst (\S+) (?:\[.*?\] )?\((\S+)', output, re.M)),
             [('server-dev', version), ('tool', old)], f'what is installed beside a server {version}')


if __name__ == '__main__':
    sys.exit(main())
