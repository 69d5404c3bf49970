#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets a migration up for real: installs the packages, writes the configuration, starts the retriever,
attaches, starts the crawler, and says what is left to do.  May be run again."""
import argparse
import configparser
import getpass
import glob
import json
import os
import re
import resource
import select
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests',
                                'support'))
import nfs3                                                         # noqa: E402
import xdr                                                          # noqa: E402

CONFIG = '/etc/quickmigrate/quickmigrate.conf'
RUN, LOGS = '/run/quickmigrate', '/var/log/quickmigrate'
DESCRIPTORS = 65536                     # as LimitNOFILE of the retriever's unit


class Refused(Exception):
    """One line for the user."""


def run(*argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Refused(f'{" ".join(argv)}: {done.stdout.strip() or done.returncode}')
    return done.stdout


def install(directory):
    packages = [path for path in sorted(glob.glob(directory + '/*.deb')) if '-dbgsym_' not in path]
    if not packages:
        raise Refused(f'{directory} has no packages: run packaging/build')
    os.environ['DEBIAN_FRONTEND'] = 'noninteractive'
    run('apt-get', '-q', '-y', '--no-install-recommends', '--reinstall', '--allow-downgrades',
        'install', *packages)


def volume_name(root):
    name = re.sub(r'[^A-Za-z0-9._-]', '-', os.path.basename(root)).strip('.-')[:64]
    return name or 'volume'


def check(source, root):
    if not re.match(r'nfs://[^/]+/.|smb://[^/@]+@[^/@]+/.|file:///.', source):
        raise Refused(f'{source}: the source is nfs://host[:port]/path, '
                      'smb://user@host[:port]/share[/path] or file:///path')
    if not root.startswith('/'):
        raise Refused(f'{root}: the directory on this server must be an absolute path')


def password_file(source, name):
    """Of an SMB server's user: the file that is there, or made of what is typed."""
    path = f'/etc/quickmigrate/{name}.password'
    if os.path.exists(path):
        return path
    if not sys.stdin.isatty():
        raise Refused(f'write the password of {source} into a file with: install -m 600 /dev/stdin {path}, '
                      'then the password, Enter and Ctrl-D; and run this again')
    password = getpass.getpass(f'password for {source}: ')
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w') as out:
        out.write(password + '\n')
    return path


def smb_modes(given):
    if given or not sys.stdin.isatty():
        return given
    print('Which permission bits are objects to get here?  "open": clients come by SMB alone, and the\n'
          'descriptors decide; "descriptor": there are others, and none has more than by these.')
    return input('smb-modes (open or descriptor): ').strip()


def configure(source, root, modes):
    """Adds the volume's group; its name, and the file's size before if there was none."""
    name = volume_name(root)
    group = f'volume {name}'
    config = configparser.RawConfigParser(delimiters=('=',), comment_prefixes=('#',))
    config.optionxform = str
    config.read(CONFIG)
    if config.has_section(group):
        there = {key: config.get(group, key, fallback=None) for key in ('root', 'source')}
        if there != {'root': root, 'source': source}:
            raise Refused(f'{CONFIG}: [{group}] is another volume already (root = {there["root"]}, '
                          f'source = {there["source"]}): remove or rename that group')
        return name, None
    os.makedirs(os.path.dirname(CONFIG), exist_ok=True)
    more = ''
    if source.startswith('smb:'):
        more = f'smb-password-file = {password_file(source, name)}\n'
        chosen = smb_modes(modes)
        if chosen not in ('open', 'descriptor'):
            raise Refused('say what permission bits objects get here: --smb-modes=open or '
                          '--smb-modes=descriptor (smb-modes in quickmigrate.conf(5))')
        more += f'smb-modes = {chosen}\n'
    with open(CONFIG, 'a') as out:      # appended: comments and other volumes stay as they are
        before = out.tell()
        out.write(f'\n[{group}]\nroot = {root}\nsource = {source}\n{more}')
    return name, before


def make_root(root):
    """Where a file system is to be mounted first, nothing is made below."""
    with open('/etc/fstab') as lines:
        points = [f[1] for f in map(str.split, lines) if len(f) > 2 and not f[0].startswith('#')]
    for point in points:
        if point != '/' and (root + '/').startswith(point.rstrip('/') + '/') and \
                not os.path.ismount(point):
            raise Refused(f'{point} is not mounted, and {root} belongs there: mount it')
    above = os.path.dirname(root)
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    if not os.path.isdir(root) and os.stat(above).st_dev == os.stat('/').st_dev:
        raise Refused(f'{root} would be on the file system of /: mount the one that is meant, or make '
                      'that directory yourself')
    os.makedirs(root, exist_ok=True)


# ---- the old server ----------------------------------------------------------------------------

def can_be_written(source):
    """In words: why the old server may still be written, as far as it tells; or None."""
    url = urllib.parse.urlsplit(source)
    path = urllib.parse.unquote(url.path)
    if url.scheme == 'smb':
        return 'an SMB server does not tell whether its clients may still write'
    if url.scheme == 'file':
        try:
            read_only = os.statvfs(path).f_flag & os.ST_RDONLY
        except OSError as error:
            raise Refused(f'{path}: {error.strerror}') from error
        return None if read_only else f'{path} is not mounted read-only'
    options = dict(urllib.parse.parse_qsl(url.query))
    try:
        client = nfs3.Client(url.hostname, path, port=url.port,
                             mount_port=int(options.get('mountport', 0)) or None, timeout=10)
        allowed = client.access(client.root, nfs3.ACCESS_EXTEND)
    except (OSError, EOFError, ValueError, xdr.RpcError, nfs3.NfsError) as error:
        return f'the old server does not tell whether clients may still write ({error})'
    return 'the old server lets this machine write there' if allowed else None


def ask_for_read_only(source):
    """What is made there after a directory was listed here would be missed."""
    why = can_be_written(source)
    if not why:
        return
    if not sys.stdin.isatty():
        raise Refused(f'{why}: make it read-only for everybody and run this again, with --read-only if '
                      'that cannot be seen from here')
    if input(f'{why}.\nIs it read-only for everybody else (yes or no)? ').strip() != 'yes':
        raise Refused('make the old server read-only, and run this again')


# ---- starting ----------------------------------------------------------------------------------

def systemd_runs():
    return os.path.isdir('/run/systemd/system')


def answers(name):
    return subprocess.run(['migratectl', 'status', name], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def allow_descriptors():
    """As the retriever's unit does: sudo may leave 1024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, DESCRIPTORS), most))


def start(program, name):
    """Without systemd: in the background, in a session of its own, with a log."""
    os.makedirs(LOGS, exist_ok=True)
    os.makedirs(RUN, mode=0o711, exist_ok=True)
    log = f'{LOGS}/{program}-{name}.log'
    with open(log, 'ab') as out:
        process = subprocess.Popen([program, name], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=out, start_new_session=True,
                                   preexec_fn=allow_descriptors)
    with open(f'{RUN}/{program}-{name}.pid', 'w') as out:
        out.write(f'{process.pid}\n')
    return process, log


def wait_until_it_answers(name, process=None, log=None):
    end = time.monotonic() + 60
    while not answers(name):
        if process and process.poll() is not None or time.monotonic() > end:
            raise Refused('the retriever does not start: ' + last_line(name, log))
        select.select([], [], [], 0.1)


def wait_until_it_watches(name, process):
    """The journal.  Where it cannot, the volume goes without: status says so."""
    def watches():
        status = run('migratectl', '--json', 'status', name)
        return json.loads(status).get('journal', {}).get('running')

    while process.poll() is None and not watches():
        select.select([], [], [], 0.1)


def last_line(name, log):
    if log is None:
        return f'see journalctl -u migrate-retriever@{name}'
    with open(log, errors='replace') as lines:
        return ([line.strip() for line in lines if line.strip()] or [f'{log} is empty'])[-1]


def attach(name, added_at):
    """The retriever runs, and the volume is attached.  Else it is as if nobody had tried: the group
    that was added to the configuration there is gone again."""
    started, unit = [], f'migrate-retriever@{name}.service'
    try:
        if systemd_runs():
            run('systemctl', 'daemon-reload')
            run('systemctl', 'enable', '--now', unit)
            wait_until_it_answers(name)
        elif not answers(name):
            process, log = start('migrate-retriever', name)
            started.append(process)
            wait_until_it_answers(name, process, log)
            started.append(start('migrate-journal', name)[0])
            wait_until_it_watches(name, started[-1])
        # A directory with other things in it looks like one whose migration is finished.
        state = json.loads(run('migratectl', '--json', 'status', name))['volume']['state']
        if state in ('unattached', 'finished', 'copying', 'copied'):
            run('migratectl', 'attach', name)
    except BaseException:
        for process in started:
            process.terminate()
            process.wait()
        if added_at is not None:
            if systemd_runs():
                subprocess.run(['systemctl', 'disable', '--now', unit], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            os.truncate(CONFIG, added_at)
        raise


def start_crawler(name):
    if systemd_runs():
        run('systemctl', 'enable', '--now', f'migrate-crawler@{name}.service')
    else:
        start('migrate-crawler', name)


NEXT = '''
The volume "{name}" is attached: what {source} has
can be had through the {door} below, and the crawler brings the data.  Until it is
finalized, let no local program touch {root}: it would find holes where
data is missing, and directories without their names.
(To copy a volume before its clients are switched, "migratectl copy" comes before "attach": see
"Copy first" in the administrator's guide, /usr/share/doc/quickmigrate.)

{export}

3. Watch:                        migratectl status --watch {name}
   What failed, and again:       migratectl errors {name}; migratectl retry {name}
   Slow down, stop, go on:       migratectl throttle {name} 50M; migratectl pause {name}; ... resume

4. When everything is whole:     migratectl verify {name}; migratectl finalize {name}
   {without}: {stop}; apt purge quickmigrate
'''

NFS = '''\
1. Export the volume.  In /etc/ganesha/ganesha.conf (then: systemctl restart nfs-ganesha):

     EXPORT {{
         Export_Id = 1;                  # a number that no other export has
         Path = "{root}";
         Pseudo = "/{name}";
         Access_Type = RW;
         Squash = No_Root_Squash;        # as the old server had it
         FSAL {{
             Name = MIGRATE;
             Volume = "{name}";
             FSAL {{ Name = VFS; }}
         }}
     }}

2. Let the clients mount this export instead of the old one, this server's /{name} with NFSv4 and
   {root} with NFSv3.'''
WITHOUT_NFS = '''Then let the export say "FSAL {{ Name = VFS; }}" alone and restart nfs-ganesha: the clients'
   file handles stay good.  At last'''

SMB = '''\
1. Share the volume.  In /etc/samba/smb.conf (then: systemctl restart smbd):

     [global]
         kernel change notify = no
     [{name}]
         path = {root}
         read only = no
         vfs objects = migrate streams_xattr acl_xattr
         acl_xattr:ignore system acls = yes
         migrate:volume = {name}

2. Let the clients connect to this server's share {name} instead of the old one.'''
WITHOUT_SMB = 'Then take "migrate" out of "vfs objects" and restart smbd.  At last'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--packages', required=True, help='the directory of the packages')
    parser.add_argument('--read-only', action='store_true',
                        help='nobody can write to the old server any more')
    parser.add_argument('--smb-modes', help='as in quickmigrate.conf(5)')
    parser.add_argument('source')
    parser.add_argument('root')
    args = parser.parse_args()
    root = os.path.normpath(args.root)
    try:
        check(args.source, root)
        if not args.read_only:
            ask_for_read_only(args.source)
        make_root(root)
        install(args.packages)
        name, added_at = configure(args.source, root, args.smb_modes)
        attach(name, added_at)
        start_crawler(name)
    except Refused as refused:
        print(f'quickstart: {refused}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\nquickstart: interrupted; run it again to go on', file=sys.stderr)
        return 130
    stop = f'migratectl commit {name}; ' + (
        f'systemctl disable --now migrate-retriever@{name} migrate-crawler@{name}'
        if systemd_runs() else f'end the process in {RUN}/migrate-retriever-{name}.pid')
    names = {'name': name, 'root': root}
    smb = args.source.startswith('smb:')
    print(NEXT.format(source=args.source, stop=stop, **names,
                      door='SMB share' if smb else 'NFS export',
                      export=(SMB if smb else NFS).format(**names),
                      without=(WITHOUT_SMB if smb else WITHOUT_NFS).format(**names)))
    print(run('migratectl', 'status', name))
    return 0


if __name__ == '__main__':
    sys.exit(main())
