# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients that do not wait for long, and one that looks how quick the server is meanwhile."""
import math
import multiprocessing
import queue
import threading
import time

import nfs3
from harness import expect
from xdr import RpcError

# Ganesha alone keeps files open that were read: what is left is the door's.
NO_CACHE = ('MDCACHE { FD_LWMark_Percent = 0; FD_HWMark_Percent = 1; LRU_Run_Interval = 1; '
            'Reaper_Work_Per_Lane = 5000; }')


class Impatient:
    """Reads files, many at once: who is told to ask again asks for another file, and for that one
    not before its turn comes again.  files: [(handle, content)]; what is answered is compared."""

    def __init__(self, connect, files, streams=64, pause=0.1):
        self.connect, self.files, self.streams = connect, files, streams
        self.pause = pause              # of a stream whose call was answered at once
        self.turns = queue.Queue()
        self.next = 0
        self.asked = set()              # numbers of files
        self.given_up = self.served = self.lost = 0
        self.errors = {}                # NFS status -> count
        self.wrong = []
        self.done = threading.Event()
        self.client = connect()

    def run(self, seconds):
        """Until then; with the calls under way answered."""
        end = time.monotonic() + seconds
        for _ in range(self.streams):
            self.turns.put(0)
        waiting = []
        while (now := time.monotonic()) < end:
            try:
                waiting.append(self.turns.get(timeout=max(0, min([end, *waiting]) - now)))
            except queue.Empty:
                pass
            for due in [due for due in waiting if due <= now]:
                waiting.remove(due)
                self.ask()
        self.done.set()

    def thread(self, seconds):
        thread = threading.Thread(target=self.run, args=(seconds,), daemon=True)
        thread.start()
        return thread

    def ask(self):
        number = self.next % len(self.files)
        self.next += 1
        self.asked.add(number)
        handle, content = self.files[number]
        begun = time.monotonic()

        def answered(future):
            try:
                self.look(future.result(), number)
            except RpcError:
                self.lost += 1
            quick = time.monotonic() - begun < self.pause
            self.turns.put(time.monotonic() + self.pause if quick else 0)

        try:
            self.client.start(nfs3.READ, self.client.read_args(handle, 0, len(content) + 1)) \
                .add_done_callback(answered)
        except RpcError:
            self.lost += 1
            self.client = self.connect()
            self.turns.put(0)

    def look(self, reply, number):
        status = reply.u32()
        if status == nfs3.JUKEBOX:
            self.given_up += 1
        elif status:
            self.errors[status] = self.errors.get(status, 0) + 1
        else:
            self.served += 1
            if self.client.read_reply(reply)[0] != self.files[number][1]:
                self.wrong.append(number)

    def all_served(self, patience=120):
        """Everything that was asked for comes in the end, as it is on the old server."""
        client = self.connect()
        client.patience = patience
        numbers = sorted(self.asked)
        for at in range(0, len(numbers), self.streams):
            some = numbers[at:at + self.streams]
            futures = [client.start(nfs3.READ, client.read_args(
                self.files[n][0], 0, len(self.files[n][1]) + 1)) for n in some]
            for n, future in zip(some, futures):
                reply = future.result(patience)
                handle, content = self.files[n]
                status = reply.u32()
                expect(status in (0, nfs3.JUKEBOX), f'file {n}: status {status}')
                data = client.read_reply(reply)[0] if not status else \
                    client.read(handle, 0, len(content) + 1)[0]
                expect(data == content, f'file {n} is {data[:20]!r}..., not {content[:20]!r}...')
        expect(not self.wrong, f'files with other bytes: {self.wrong[:20]}')
        client.close()
        return len(numbers)


class Witness:
    """A client in a process of its own that reads a normal file, again and again."""

    def __init__(self, connect, name, every=0.005):
        here, there = multiprocessing.get_context('fork').Pipe()
        self.pipe = here
        self.process = multiprocessing.get_context('fork').Process(
            target=self.body, args=(connect, name, every, there), daemon=True)
        self.process.start()
        there.close()
        here.recv()                     # it has begun
        self.phases = [('quiet', time.monotonic())]

    @staticmethod
    def body(connect, name, every, pipe):
        client = connect()
        fh, _ = client.walk(name)
        pipe.send('begun')
        calls, failures = [], []
        while not pipe.poll(every):
            begun = time.monotonic()
            try:
                status, _ = client.once(nfs3.READ, client.read_args(fh, 0, 1000))
            except RpcError as error:
                failures.append((begun, str(error)))
                client = connect()
                continue
            if status:
                failures.append((begun, f'status {status}'))
            calls.append((begun, time.monotonic() - begun))
        pipe.send((calls, failures))

    def phase(self, name):
        self.phases.append((name, time.monotonic()))

    def finish(self):
        """{phase: seconds of its calls, sorted}; what failed is in .failures."""
        self.pipe.send('end')
        calls, self.failures = self.pipe.recv()
        self.process.join()
        ends = [begun for _, begun in self.phases[1:]] + [math.inf]
        self.calls = {name: sorted(took for begun, took in calls if start <= begun < end)
                      for (name, start), end in zip(self.phases, ends)}
        return self.calls

    def p99(self, phase):
        calls = self.calls[phase]
        return calls[len(calls) * 99 // 100]

    def figures(self, phase):
        return (f'p99_ratio={self.p99(phase) / self.p99("quiet"):.2f} '
                f'p99_ms={self.p99("quiet") * 1000:.2f},{self.p99(phase) * 1000:.2f} '
                f'slowest_ms={self.calls[phase][-1] * 1000:.0f}')
