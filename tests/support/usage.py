# SPDX-License-Identifier: GPL-3.0-or-later
"""What processes hold while a test does something else: descriptors, memory, threads."""
import collections
import os
import threading

from sandbox import Failure

MIB = 1 << 20
PAGE = os.sysconf('SC_PAGE_SIZE')

Sample = collections.namedtuple('Sample', 'descriptors memory threads work')


def sample(pid, work=0):
    """Now; memory: bytes that are resident and its own (no file's pages)."""
    with open(f'/proc/{pid}/statm') as file:
        resident, shared = map(int, file.read().split()[1:3])
    return Sample(len(os.listdir(f'/proc/{pid}/fd')), (resident - shared) * PAGE,
                  len(os.listdir(f'/proc/{pid}/task')), work)


def child(process):
    """The pid of the program that a wrapper (strace) has started."""
    with open(f'/proc/{process.pid}/task/{process.pid}/children') as file:
        return int(file.read().split()[0])


class Usage:
    """Of the processes {name: pid}, from `with` to its end.  work(): how much of the work is done that they are
    to bear without growing: what is seen is put in order by that, as a busy machine is slow at times."""

    def __init__(self, work, every=0.2, **pids):
        self.pids, self.every, self.work = pids, every, work
        self.samples = {name: [] for name in pids}
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    def run(self):
        while True:
            for name, pid in self.pids.items():
                try:
                    self.samples[name].append(sample(pid, self.work()))
                except OSError:                 # it has ended
                    pass
            if self.done.wait(self.every):
                return

    def most(self, what, name=None):
        return max(getattr(s, what) for n, samples in self.samples.items() if name in (None, n)
                   for s in samples)

    def growth(self, what, name):
        """From the most in the second third of the work to the most in the last."""
        end = self.samples[name][-1].work
        seen = [[], [], []]
        for one in self.samples[name]:
            seen[min(3 * one.work // max(end, 1), 2)].append(getattr(one, what))
        if not seen[1]:                 # it was over before anything could grow
            return 0
        return max(seen[2]) - max(seen[1])

    def bounded(self, descriptors, memory, slack=32, memory_slack=8 * MIB):
        """No more than that many descriptors and bytes above the first sample; and no growth from
        the middle to the end but the slack."""
        wrong = []
        for name, samples in self.samples.items():
            for what, bound, more in (('descriptors', descriptors, slack),
                                      ('memory', memory, memory_slack)):
                first, growth = getattr(samples[0], what), self.growth(what, name)
                most = self.most(what, name)
                if most > first + bound:
                    wrong.append(f'{name}: {what} from {first} to {most}, more than {bound} above')
                if growth > more:
                    wrong.append(f'{name}: {what} grew by {growth} from the middle to the end')
        if wrong:
            raise Failure('; '.join(wrong))

    def figures(self):
        """For a closing line."""
        return (f'descriptors_max={self.most("descriptors")} memory_growth=' +
                ','.join(f'{name}:{(s[-1].memory - s[0].memory) / MIB:.1f}MiB'
                         for name, s in self.samples.items()))
