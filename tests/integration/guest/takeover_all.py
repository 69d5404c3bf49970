#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: programs that hold files and directories of the old server open, and go on with them
while the server behind the address becomes another one.  Arguments and talk: going_on.py."""
import mmap
import os
import sqlite3
import subprocess

from going_on import GIT, LINK, MORE, TOP, Program, begin, get_on, mount, say

BELOW, SWITCHES = MORE


class Reader(Program):
    """Of one file, which stays open."""

    def open(self):
        self.file = os.open(TOP + '/dir/open', os.O_RDONLY)
        self.content = os.pread(self.file, 1 << 20, 0)
        assert len(self.content) == 1 << 20

    def round(self, n):
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_DONTNEED)
        at = n * 4096 % (1 << 20)
        assert os.pread(self.file, 4096, at) == self.content[at:at + 4096], f'bytes at {at}'
        assert os.fstat(self.file).st_size == 1 << 20


class Writer(Program):
    """Appends to a file, which stays open, and reads it by its name."""

    def open(self):
        self.file = open(TOP + '/dir/log', 'a+b', buffering=0)
        self.size = os.fstat(self.file.fileno()).st_size

    def round(self, n):
        line = f'{n:7d}\n'.encode()
        self.file.write(line)
        os.fsync(self.file.fileno())
        self.size += len(line)
        with open(TOP + '/dir/log', 'rb') as again:
            again.seek(-len(line), os.SEEK_END)
            assert again.read() == line and again.tell() == self.size, f'line {n}'


class Mapper(Program):
    """Changes a file through memory."""

    def open(self):
        self.file = open(TOP + '/dir/mapped', 'r+b')
        self.memory = mmap.mmap(self.file.fileno(), 1 << 16)

    def round(self, n):
        self.memory[n * 512 % (1 << 16)] = n % 255 + 1
        self.memory.flush()
        assert os.pread(self.file.fileno(), 1, n * 512 % (1 << 16))[0] == n % 255 + 1


class Walker(Program):
    """Works in a directory that it holds open."""

    def open(self):
        self.directory = os.open(f'{TOP}/{BELOW}/more', os.O_RDONLY | os.O_DIRECTORY)
        self.numbers = self.look()

    def look(self):
        return {entry.name: entry.inode() for entry in os.scandir(self.directory)}

    def round(self, n):
        numbers = self.look()
        assert {name: numbers.get(name) for name in self.numbers} == self.numbers, 'numbers of names'
        for name, number in self.numbers.items():
            assert os.stat(name, dir_fd=self.directory).st_ino == number, f'the number of {name}'
        os.mkdir('made', dir_fd=self.directory)
        os.rename('made', 'other', src_dir_fd=self.directory, dst_dir_fd=self.directory)
        os.rmdir('other', dir_fd=self.directory)


class Database(Program):
    """One connection for all of the time."""

    def open(self):
        self.connection = sqlite3.connect(TOP + '/dir/base.sqlite', check_same_thread=False)
        self.connection.execute('create table if not exists t (n integer)')
        self.connection.commit()
        self.rows = self.count()

    def count(self):
        return self.connection.execute('select count(*), total(n) from t').fetchone()

    def round(self, n):
        self.connection.execute('insert into t values (?)', (n,))
        self.connection.commit()
        self.rows = self.rows[0] + 1, self.rows[1] + n
        assert self.count() == self.rows
        assert self.connection.execute('pragma integrity_check').fetchone() == ('ok',)


class Versions(Program):
    """git, in a repository of the old server's, from a shell that stays in it."""

    def open(self):
        self.shell = subprocess.Popen(['sh', '-e'], cwd=TOP + '/repository', stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      env=GIT)

    def round(self, n):
        self.shell.stdin.write(f'echo {n} >>file; git add file; git commit -qm {n}; git fsck --strict; '
                               'git status --porcelain; pwd; echo end\n')
        self.shell.stdin.flush()
        lines = []
        while not lines or lines[-1] != 'end':
            line = self.shell.stdout.readline()
            assert line, f'the shell ended: {lines}'
            lines.append(line.strip())
        assert lines[-2:] == [TOP + '/repository', 'end'], lines


def main():
    mount()
    os.chdir(f'{TOP}/{BELOW}')
    say('mounted')
    programs = begin((Reader, Writer, Mapper, Walker, Database, Versions))
    for _ in range(int(SWITCHES)):
        for program in programs:
            program.gap = 0
        say('ready')
        LINK.readline()
        get_on(programs, 3)
        assert os.getcwd() == f'{TOP}/{BELOW}' and 'more' in os.listdir('.'), 'the working directory'
        say(f'{programs[0].gap:.3f}')
    for program in programs:
        program.check()
    os.chdir('/')
    say('after')


main()
