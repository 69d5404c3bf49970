# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: what programs have in common that go on while the server behind the address of their
mount becomes another one.  By a connection to PORT of its host the guest says what it is at, and hears
when to go on; a line each.

    PROGRAM PORT SERVER EXPORT [its own...]
"""
import os
import socket
import subprocess
import sys
import threading
import time

PORT, SERVER, EXPORT, *MORE = sys.argv[1:]
TOP = '/mnt/top'
OPTIONS = ('vers=3,proto=tcp,mountproto=tcp,nolock,port=2049,mountport=20048,hard,timeo=50,'
           'acregmin=1,acregmax=1,acdirmin=1,acdirmax=1')
EBADHANDLE = 521                # what a server may say of handles that another one has made
GIT = {**os.environ, 'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_AUTHOR_NAME': 'n', 'GIT_AUTHOR_EMAIL': 'e',
       'GIT_COMMITTER_NAME': 'n', 'GIT_COMMITTER_EMAIL': 'e', 'HOME': '/'}
LINK = socket.create_connection((os.environ['VM_HOST'], int(PORT))).makefile('rw')


def say(line):
    LINK.write(line + '\n')
    LINK.flush()


def mount(where=TOP, what=EXPORT, options=OPTIONS):
    os.makedirs(where)
    subprocess.run(['mount', '-t', 'nfs', '-o', options, f'{SERVER}:{what}', where], check=True)


MOVED = threading.Condition()           # a program has got on, or ended


class Program(threading.Thread):
    """Does the same thing again and again; at least once after it is told to end."""

    def __init__(self):
        super().__init__(daemon=True)
        self.gap, self.error, self.stop, self.rounds = 0, None, threading.Event(), 0
        self.began = threading.Event()
        self.start()
        self.began.wait()

    def run(self):
        try:
            self.open()
            last = time.monotonic()
            while True:
                ending = self.stop.is_set()
                self.round(self.rounds)
                now = time.monotonic()
                self.began.set()
                with MOVED:
                    self.gap, last = max(self.gap, now - last), now
                    self.rounds += 1
                    MOVED.notify_all()
                if ending:
                    break
        except Exception as error:          # told by check()
            self.began.set()
            with MOVED:
                self.error = error
                MOVED.notify_all()

    def open(self):
        pass

    def check(self):
        self.stop.set()
        self.join()
        if self.error:
            raise RuntimeError(f'{type(self).__name__}, round {self.rounds}') from self.error


def begin(kinds):
    """A program of each."""
    programs = [kind() for kind in kinds]
    for program in programs:
        if program.error:
            raise RuntimeError(f'{type(program).__name__} did not begin') from program.error
    return programs


def get_on(programs, rounds, since=0):
    """Each of them does so many rounds, and it is that time by then."""
    before = [program.rounds for program in programs]
    with MOVED:
        MOVED.wait_for(lambda: any(p.error for p in programs) or time.monotonic() >= since and all(
            p.rounds >= n + rounds for p, n in zip(programs, before)))
    for program in programs:
        if program.error:
            raise RuntimeError(f'{type(program).__name__}, round {program.rounds}') from program.error
