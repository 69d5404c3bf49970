#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets a migration up for real: installs the build, writes the configuration, starts the retriever,
attaches, starts the crawler, and says what is left to do.  May be run again."""
import argparse
import configparser
import getpass
import json
import os
import re
import select
import shutil
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


class Refused(Exception):
    """One line for the user."""


def run(*argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Refused(f'{" ".join(argv)}: {done.stdout.strip() or done.returncode}')
    return done.stdout


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
        raise Refused(f'write the password of {source} into {path} (for root alone: mode 600), and '
                      'run this again')
    password = getpass.getpass(f'password for {source}: ')
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w') as out:
        out.write(password + '\n')
    return path


def configure(source, root):
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
        more = f'smb-password-file = {password_file(source, name)}\nsmb-modes = open\n'
    with open(CONFIG, 'a') as out:      # appended: comments and other volumes stay as they are
        before = out.tell()
        out.write(f'\n[{group}]\nroot = {root}\nsource = {source}\n{more}')
    return name, before


# ---- the old server ----------------------------------------------------------------------------

def writable(source):
    """Whether the old server would still let names be made in the source, as far as it says so."""
    url = urllib.parse.urlsplit(source)
    if url.scheme != 'nfs':
        return False
    options = dict(urllib.parse.parse_qsl(url.query))
    try:
        client = nfs3.Client(url.hostname, urllib.parse.unquote(url.path), port=url.port,
                             mount_port=int(options.get('mountport', 0)) or None, timeout=10)
        return client.access(client.root, nfs3.ACCESS_EXTEND) != 0
    except (OSError, EOFError, ValueError, xdr.RpcError, nfs3.NfsError):
        return False            # the retriever, which can do more, will say what is wrong


# ---- starting ----------------------------------------------------------------------------------

def systemd_runs():
    return os.path.isdir('/run/systemd/system')


def answers(name):
    return subprocess.run(['migratectl', 'status', name], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def start(program, name):
    """Without systemd: in the background, in a session of its own, with a log."""
    os.makedirs(LOGS, exist_ok=True)
    os.makedirs(RUN, mode=0o711, exist_ok=True)
    log = f'{LOGS}/{program}-{name}.log'
    with open(log, 'ab') as out:
        process = subprocess.Popen([program, name], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=out, start_new_session=True)
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
can be had through the {door} below.  Until it is finalized, let no local program touch
{root}: it would find holes where data is missing, and directories without their names.
(To copy a volume before its clients are switched, "migratectl copy" comes before "attach": see
"Plan a migration" in docs/admin-guide.md.)
{crawler}
1. Make the old server's export read-only.  What is made there later may be missed: a directory is
   listed once.

{export}

4. Watch:                        migratectl status --watch {name}
   What failed, and again:       migratectl errors {name}; migratectl retry {name}
   Slow down, stop, go on:       migratectl throttle {name} 50M; migratectl pause {name}; ... resume

5. When everything is whole:     migratectl verify {name}; migratectl finalize {name}
   {without}: {stop}.
'''

NFS = '''\
2. Export the volume.  In /etc/ganesha/ganesha.conf (then: systemctl restart nfs-ganesha):

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

3. Let the clients mount this export instead of the old one, this server's /{name} with NFSv4 and
   {root} with NFSv3.'''
WITHOUT_NFS = '''Then let the export say "FSAL {{ Name = VFS; }}" alone and restart nfs-ganesha: the clients'
   file handles stay good.  At last'''

SMB = '''\
2. Share the volume.  In /etc/samba/smb.conf (then: systemctl restart smbd):

     [global]
         kernel change notify = no
     [{name}]
         path = {root}
         read only = no
         vfs objects = migrate streams_xattr acl_xattr
         acl_xattr:ignore system acls = yes
         migrate:volume = {name}

3. Let the clients connect to this server's share {name} instead of the old one.'''
WITHOUT_SMB = 'Then take "migrate" out of "vfs objects" and restart smbd.  At last'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--build', required=True)
    parser.add_argument('source')
    parser.add_argument('root')
    args = parser.parse_args()
    root = os.path.normpath(args.root)
    try:
        check(args.source, root)
        run('cmake', '--install', args.build)
        os.makedirs(root, exist_ok=True)
        if not shutil.which('migratectl'):
            raise Refused('migratectl was installed outside of PATH')
        name, added_at = configure(args.source, root)
        attach(name, added_at)
        open_for_writing = writable(args.source)
        if not open_for_writing:
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
    begin = (f'systemctl enable --now migrate-crawler@{name}' if systemd_runs()
             else f'migrate-crawler {name}')
    if open_for_writing:
        crawler = ('\nThe old server still lets this machine write there, so the crawler is not '
                   'started yet.\n')
        later = f'  Then start the crawler:\n   {begin}'
    else:
        crawler, later = '\nThe crawler brings the data.\n', ''
    names = {'name': name, 'root': root}
    smb = args.source.startswith('smb:')
    print(NEXT.format(source=args.source, stop=stop, crawler=crawler, **names,
                      door='SMB share' if smb else 'NFS export',
                      export=(SMB if smb else NFS).format(**names) + later,
                      without=(WITHOUT_SMB if smb else WITHOUT_NFS).format(**names)))
    print(run('migratectl', 'status', name))
    return 0


if __name__ == '__main__':
    sys.exit(main())
