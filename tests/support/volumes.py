# SPDX-License-Identifier: GPL-3.0-or-later
"""Many volumes of one configuration."""
import json
import os
import subprocess

from harness import same
from sandbox import BASE, Process, volume, wait_for

TREES = BASE + '/trees'
RUN = '/run/quickmigrate'


class Volumes:
    """Volumes of one configuration, each with a small tree of its own on this machine."""

    def __init__(self, build, names, defaults='', **groups):
        self.build, self.source = build, f'file://{TREES}/old'
        self.config = BASE + '/quickmigrate.conf'
        self.retrievers = {}
        volume(TREES)
        os.makedirs(RUN, mode=0o755, exist_ok=True)
        for name in names:
            for side in ('old', 'new'):
                os.makedirs(f'{TREES}/{side}/{name}')
            for n in range(3):
                with open(f'{TREES}/old/{name}/file{n}', 'wb') as file:
                    file.write(os.urandom(100000))
        self.configure(names, f'[defaults]\n{defaults}\n', **groups)

    def configure(self, names, text='', **groups):
        for name in names:
            text += (f'[volume {name}]\nroot = {TREES}/new/{name}\nsource = {self.source}/{name}\n'
                     f'report = {BASE}/{name}.report\njournal = {BASE}/{name}.journal\n'
                     f'{groups.get(name, "")}\n')
        with open(self.config, 'w') as file:
            file.write(text)

    def program(self, name):
        return f'{self.build}/{"retriever" if name == "migrate-retriever" else "ctl"}/{name}'

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
