#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many volumes: what they have in common in the configuration, and commands for several of them."""
import json
import os
import pty
import re
import struct
import subprocess
import sys
import fcntl
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import BASE, Process, volume, wait_for                     # noqa: E402
from servers import Stalled                                             # noqa: E402
import tree                                                             # noqa: E402

TREES = '/mnt/trees'
RUN = '/run/quickmigrate'
NO_RETRIEVER = 3


class Volumes:
    """Volumes of one configuration, each with a small tree of its own on this machine."""

    def __init__(self, build, names, defaults='', **groups):
        self.build = build
        self.config = BASE + '/quickmigrate.conf'
        self.retrievers = {}
        volume(TREES)
        os.makedirs(RUN, mode=0o755, exist_ok=True)
        text = f'[defaults]\n{defaults}\n'
        for name in names:
            for side in ('old', 'new'):
                os.makedirs(f'{TREES}/{side}/{name}')
            for n in range(3):
                with open(f'{TREES}/old/{name}/file{n}', 'wb') as file:
                    file.write(os.urandom(100000))
            text += (f'[volume {name}]\nroot = {TREES}/new/{name}\nsource = '
                     f'file://{TREES}/old/{name}\nreport = {BASE}/{name}.report\njournal = '
                     f'{BASE}/{name}.journal\n{groups.get(name, "")}\n')
        with open(self.config, 'w') as file:
            file.write(text)

    def program(self, name):
        return f'{self.build}/{"ctl" if name == "migratectl" else name.split("-")[1]}/{name}'

    def start(self, *names):
        for name in names:
            self.retrievers[name] = Process(f'retriever-{name}', [
                self.program('migrate-retriever'), '--config', self.config, name])
        for name in names:
            wait_for(f'{name} listens', lambda: os.path.exists(f'{RUN}/{name}.sock'),
                     process=self.retrievers[name])

    def crawl(self, *names):
        for name in names:
            same(Process(f'crawler-{name}', [self.program('migrate-crawler'), name]).wait(120), 0,
                 f'exit status of the crawler of {name}')

    def run(self, *argv, **kw):
        return subprocess.run([self.program('migratectl'), '--config', self.config, *argv],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300, check=False, **kw)

    def ctl(self, *argv, status=0):
        done = self.run(*argv)
        same(done.returncode, status, f'migratectl {" ".join(argv)}: {done.stdout}{done.stderr}')
        return (done.stdout + done.stderr).replace('\u00a0', ' ')

    def status(self, name):
        return json.loads(self.ctl('status', '--json', name))


@case()
def several_at_once(args):
    """Waves, names and all of them: each has a line, and one that fails does not stop the others."""
    v = Volumes(args.build, ['a', 'b', 'c', 'd'], 'wave = 1\nbandwidth = 3M', c='wave = 2',
                d='wave = 2\nbandwidth = 0')
    v.start('a', 'b', 'c', 'd')
    same([v.status(n)['now']['bandwidth'] for n in 'abcd'], [3 << 20, 3 << 20, 3 << 20, 0],
         'bandwidth of [defaults]')
    expect('no volume' in v.ctl('pause', '--wave=3', status=2), 'a wave that is none')
    expect('no such volume' in v.ctl('pause', 'a', 'x', status=2), 'a name that is none')
    same(v.ctl('attach', '--wave=1').count('attached; clients'), 2, 'volumes of a wave')
    same([v.status(n)['volume']['state'] for n in 'abcd'],
         ['migrating', 'migrating', 'unattached', 'unattached'], 'states')

    v.retrievers['b'].stop()
    text = v.ctl('pause', 'c', 'b', 'a', 'c', status=NO_RETRIEVER)
    same([line.split(':')[0] for line in text.splitlines()], ['c', 'a', 'migratectl'],
         'a line each, and what is wrong')
    expect('migrate-retriever@b' in text, text)
    v.start('b')
    same([v.status(n)['now']['paused'] for n in 'abcd'], [True, False, True, False], 'pauses')
    same(len(v.ctl('resume', '--all').splitlines()), 4, 'lines of resume')
    same([v.status(n)['now']['paused'] for n in 'abcd'], [False] * 4, 'pauses')
    same(len(v.ctl('throttle', '--wave=2', '7M').splitlines()), 2, 'lines of throttle')
    same(len(v.ctl('throttle', 'a', 'b', '0').splitlines()), 2, 'lines of throttle')
    same([v.status(n)['now']['bandwidth'] for n in 'abcd'], [0, 0, 7 << 20, 7 << 20], 'bandwidth')
    same(len(v.ctl('retry', '--wave=1').splitlines()), 2, 'lines of retry')
    v.ctl('retry', '--all', 'a', status=2)
    v.ctl('pause', '--all', '--wave=1', status=2)
    v.ctl('trace', '--all', status=2)
    v.ctl('errors', 'a', 'b', status=2)
    v.ctl('errors', '--summary', 'a', 'b')

    v.crawl('a')
    text = v.ctl('verify', 'a', 'b', status=1)
    expect('a: 4 objects, all whole' in text and 'b: ' in text, text)
    text = v.ctl('finalize', '--wave=1', status=1)
    expect(text.startswith('finalize of 2 volumes, one after the other: a, b\n'), text)
    expect('a: finished' in text, 'a, though b is not whole')
    no_differences(tree.compare(f'{TREES}/old/a', f'{TREES}/new/a'))


def screen_of(v, rows, columns, *argv, until):
    """What a terminal is sent until that has come."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
    text = b''
    with subprocess.Popen([v.program('migratectl'), '--config', v.config, *argv],
                          stdin=slave, stdout=slave, stderr=slave) as watch:
        os.close(slave)
        while until not in text:
            text += os.read(master, 65536)
        watch.terminate()
    os.close(master)
    return text.decode().replace('\u00a0', ' ')


@case()
def an_overview_of_200(args):
    """A line each and the sums; one that hangs is shown as such, and holds up nobody."""
    names = [f'v{n:03d}' for n in range(200)]
    running = names[:20]
    v = Volumes(args.build, names, 'wave = rest', **{name: 'wave = first' for name in running})
    v.start(*running)
    v.ctl('attach', '--wave=first')
    v.ctl('pause', 'v003')
    v.crawl('v004')
    lines = v.ctl('status', status=NO_RETRIEVER).splitlines()
    same(len(lines), 202, 'lines')
    same([line.split()[0] for line in lines[180:184]], ['v003', 'v000', 'v001', 'v002'], 'order')
    expect(re.match(r'v003 +migrating .* paused$', lines[180]), lines[180])
    expect(re.match(r'v004 +whole +3 of 3 +293\.0 KiB of 293\.0 KiB$', lines[199]), lines[199])
    same(lines[200], '200 volumes, 180 without a retriever, 1 paused, 18 moving, 1 whole', 'sums')
    same(len(v.ctl('status', '--wave=first').splitlines()), 22, 'lines of a wave')

    with Stalled(v.retrievers['v005']):
        began = time.monotonic()
        text = v.ctl('status', '--wave=first', status=NO_RETRIEVER)
        print(f'20 volumes, one of which hangs: {time.monotonic() - began:.1f} s')
        expect(re.match(r'v005 +no answer from the retriever for \d+ s\nv003 ', text), text)
        list_ = json.loads(v.run('status', '--json', '--wave=first').stdout)
        same([s['volume']['state'] for s in list_[3:7]],
             ['migrating', 'whole', 'no answer from the retriever', 'migrating'], 'states')
        text = screen_of(v, 10, 60, 'status', '--watch', '--wave=first', until=b'no answer')
        frame = text.split('\033[J')[-1].splitlines()
        expect(len(frame) <= 10, f'{len(frame)} lines on a terminal of 10')
        expect(max(len(line) for line in frame) <= 60, 'a line is wider than the terminal')
        expect(any(re.match(r'\.\.\. and \d+ more', line) for line in frame), text)
    v.crawl(*[name for name in running if name not in ('v003', 'v004')])
    v.ctl('resume', 'v003')
    v.crawl('v003')
    expect('20 volumes, 20 whole' in v.ctl('status', '--watch', '--wave=first'), 'the end')


if __name__ == '__main__':
    sys.exit(main())
