# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `morning`: what those who open files on the first day feel, for each order of the crawler."""
import os
import queue
import random
import threading
import time

import nfs3
from day import Day
from measure import Running, median, table
from sandbox import sh, volume
from servers import NEW, OLD, old_server
from yielding import p99

ORDERS = ('namespace-first', 'depth-first', 'recent-first')     # the first one is the default
CLIENTS = 8
CRAWL = 2               # so many days the background would need for all
RECORD = 'security.migrate'


def make_tree(day, path):
    now, noise = time.time(), random.Random(1).randbytes(2 << 20)
    for directory, files in day.directories:
        os.makedirs(f'{path}/{directory}')
        for file in files:
            name = f'{path}/{day.path(file)}'
            with open(name, 'wb') as out:
                start = file % (1 << 20)
                out.write(noise[start:start + day.size[file]])
            os.utime(name, (now - day.atime[file], now - day.mtime[file]))


def is_stub(path):
    """Whether bytes of it are missing here; it may have no name yet."""
    try:
        os.getxattr(path, RECORD)
        st = os.stat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return st.st_blocks * 512 < st.st_size


class Replay:
    """The day's opens at their times, by a few clients: .took, ms of each; .stubs, how many met one."""

    def __init__(self, server, day, seconds):
        self.server, self.day, self.seconds = server, day, seconds
        self.took, self.stubs, self.late = [], 0, 0
        self.lock, self.queue = threading.Lock(), queue.Queue()

    def run(self):
        self.begun = time.monotonic()
        threads = [threading.Thread(target=self.serve) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for part, _, file in self.day.opens:
            due = self.begun + part * self.seconds
            time.sleep(max(0, due - time.monotonic()))
            self.queue.put((due, file))
        for _ in threads:
            self.queue.put(None)
        for thread in threads:
            thread.join()
        return self

    def serve(self):
        client = self.server.client()
        while (job := self.queue.get()) is not None:
            due, file = job
            path, size = self.day.path(file), self.day.size[file]
            stub = is_stub(f'{NEW}/{path}')
            begun = time.monotonic()
            handle, _ = client.walk(path)
            if size:
                client.read(handle, 0, min(size, 65536))
            took = (time.monotonic() - begun) * 1000
            with self.lock:
                self.took.append(took)
                self.stubs += stub
                self.late = max(self.late, begun - due)


def morning(args, server, day, order, seconds):
    """(share of opens that met a stub, their times, bytes that the background brought, how late a
    client was)."""
    bandwidth = int(sum(day.size) / CRAWL / seconds)
    with Running(args.build, f'nfs://{server.address}{OLD}', crawler_order=order,
                 bandwidth=bandwidth) as m:
        m.attach()
        m.start_server()
        crawler = m.start_crawler()
        replay = Replay(m.server, day, seconds).run()
        came = int(m.status()['bytes_fetched'])
        crawler.stop()
        m.server.stop()
    return replay, came


def run(args):
    files, seconds, kinds = (20000, 20, ('relatime',)) if args.quick else (60000, 60, ('relatime', 'noatime'))
    rows, ratios = [], {}
    for kind in kinds:
        for turn in range(args.runs):
            day = Day(files, f'{args.seed}/{turn}', kind)
            volume(OLD)
            make_tree(day, OLD)
            server = old_server()
            of = {}
            for order in ORDERS:
                replay, came = morning(args, server, day, order, seconds)
                took, opens = sorted(replay.took), len(replay.took)
                of[order] = replay.stubs
                rows.append([f'{kind} {turn}: {order}', f'{replay.stubs / opens:.3f}', f'{median(took):.1f}',
                             f'{p99(took):.0f}', f'{took[opens * 999 // 1000]:.0f}', f'{took[-1]:.0f}',
                             f'{came / sum(day.size):.2f}', f'{replay.late:.1f}'])
            for order in ORDERS[1:]:
                ratios.setdefault((kind, order), []).append(of[ORDERS[0]] / max(1, of[order]))
            server.stop()
            sh('umount', OLD)
    table(f'{files} files, {len(day.opens)} opens of a day in {seconds} s, all in the background would take '
          f'{CRAWL} days', ['atimes, seed, order', 'stubs', 'p50 ms', 'p99', 'p99.9', 'longest', 'came', 'late s'],
          rows)
    print('morning', *(f'{kind}_{order.replace("-", "_")}={median(values):.2f}'
                       for (kind, order), values in ratios.items()))
