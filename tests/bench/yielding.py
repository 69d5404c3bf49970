# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `yield`: what somebody else who uses the old server feels of the background."""
import random
import time

import nfs3
from cold import DELAY, EXPORT, SlowServer
from measure import Running, median, table

WAYS = {'it does not yield': 0, 'yield-ms = 100 (default)': 100, 'yield-ms = 20': 20}
THREADS = 4             # of the old server: what waits for one of them is slow
LARGE, BLOCK = 128 << 20, 4096


class Neighbour:
    """Reads blocks of a large file on the old server, one after the other, each for the first time
    since its caches were cold."""

    def __init__(self, server):
        self.client = nfs3.Client(server.address, EXPORT, port=2049)
        self.fh, _ = self.client.walk('large')
        self.random = random.Random(2)
        self.left = []

    def read(self):
        """ms."""
        if not self.left:
            self.left = self.random.sample(range(LARGE // BLOCK), LARGE // BLOCK)
        begun = time.monotonic()
        self.client.read(self.fh, self.left.pop() * BLOCK, BLOCK)
        return (time.monotonic() - begun) * 1000

    def reads(self, seconds):
        end, took = time.monotonic() + seconds, []
        while time.monotonic() < end:
            took.append(self.read())
        return took


def p99(took):
    return sorted(took)[len(took) * 99 // 100]


def beside(args, server, neighbour, yield_ms, seconds):
    """(the neighbour's times, MB that came a second) while the crawler works."""
    with Running(args.build, f'nfs://{server.address}{EXPORT}/long', yield_ms=yield_ms) as m:
        server.ask('cold')
        m.attach()
        crawler = m.start_crawler()
        neighbour.reads(seconds / 4)            # the window finds its size
        begun, before = time.monotonic(), int(m.status()['bytes_fetched'])
        took = neighbour.reads(seconds)
        came = int(m.status()['bytes_fetched']) - before
        rate = came / 1e6 / (time.monotonic() - begun)
        crawler.stop()
    return took, rate


def run(args):
    seconds = 8 if args.quick else 30
    server = SlowServer(100, LARGE)
    server.ask(f'run echo {THREADS} >/proc/fs/nfsd/threads')
    neighbour = Neighbour(server)
    took, rates = {'alone': []}, {'alone': [0]}
    for _ in range(args.runs):
        server.ask('cold')
        took['alone'] += neighbour.reads(seconds / 2)
        for name, yield_ms in WAYS.items():
            times, rate = beside(args, server, neighbour, yield_ms, seconds)
            took.setdefault(name, []).extend(times)
            rates.setdefault(name, []).append(rate)
    server.stop()
    table(f'A block, {DELAY} ms of the disk, read by somebody else beside the crawler; {THREADS} nfsd',
          ['', 'median ms', 'p99 ms', 'MB/s of the crawler'],
          [[name, f'{median(times):.1f}', f'{p99(times):.1f}', f'{median(rates[name]):.1f}']
           for name, times in took.items()])
    never, usual, low = WAYS
    alone = median(took['alone'])
    print(f'yield without={median(took[never]) / alone:.1f} default={median(took[usual]) / alone:.1f} '
          f'low={median(took[low]) / alone:.1f} '
          f'rate_default={median(rates[usual]) / median(rates[never]):.2f} '
          f'rate_low={median(rates[low]) / median(rates[never]):.2f}')
