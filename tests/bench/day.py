# SPDX-License-Identifier: GPL-3.0-or-later
"""A day of an office on a file server, made from a seed: a tree, what its users did on the days before,
from which the times of its files follow, and what they open on the day of the switch."""
import bisect
import itertools
import random

USERS, HOME, TEAM = 200, 30, 8          # users; directories of each; users of a team
SHARED = 100                            # directories of a team
HISTORY = 60                            # days before the switch that are played; all else is older
WORKDAYS = 5                            # of 7
DAY = 86400
SET = 10                                # directories in a working set
KEPT = 0.75                             # of a working set from one workday to the next
STRAY = 0.12                            # of the opens: anywhere that the user may go
SERIES = 0.3                            # of the opens: the next file of the directory, by name
WRITES = 0.2                            # of the opens change the file
OPENS = 20                              # of a user on a day
SEARCHED = 0.03                         # of the opens in history: by nobody's interest, anywhere


class Zipf:
    def __init__(self, n, exponent=1.0):
        self.sums = list(itertools.accumulate(1 / (i + 1) ** exponent for i in range(n)))

    def __call__(self, chance):
        return bisect.bisect(self.sums, chance.random() * self.sums[-1])


class Day:
    """.directories: of [path, ...files' numbers]; .size, .atime, .mtime (seconds before the switch) by
    number of file; .opens: (part of the day, user, file) in order."""

    def __init__(self, files, seed, atimes='relatime'):
        self.chance = random.Random(seed)
        self.zipfs = {}
        self.make_tree(files)
        self.size = [min(int(self.chance.lognormvariate(8.6, 1.4)), 1 << 20) for _ in range(self.files)]
        # what nobody touches in the days that are played was made, and read last, in the years before
        self.mtime = [DAY * (HISTORY + self.chance.expovariate(1 / 500)) for _ in range(self.files)]
        self.atime = [max(m * self.chance.random(), DAY * HISTORY) for m in self.mtime]
        self.atimes = atimes
        self.sets = [[] for _ in range(USERS)]
        for day in range(HISTORY, 0, -1):
            if day % 7 < WORKDAYS:
                for part, _, file in self.play(SEARCHED):
                    self.touch(file, (day - 0.35 - part / 3) * DAY)
        self.opens = self.play(0)

    def zipf(self, n):
        if n not in self.zipfs:
            self.zipfs[n] = Zipf(n)
        return self.zipfs[n]

    def make_tree(self, files):
        """Homes and the teams' shares; sizes of directories are lognormal, scaled to the number of files."""
        paths = [f'home/u{u:03}/d{d:02}' for u in range(USERS) for d in range(HOME)]
        paths += [f'team/t{t:03}/p{d:02}' for t in range(USERS // TEAM) for d in range(SHARED)]
        weights = [self.chance.lognormvariate(0, 1) for _ in paths]
        scale, number, self.directories = files / sum(weights), itertools.count(), []
        for path, weight in zip(paths, weights):
            self.directories.append((path, [next(number) for _ in range(max(1, round(weight * scale)))]))
        self.files = next(number)
        self.place = [d for d, (_, of) in enumerate(self.directories) for _ in of]
        homes = USERS * HOME
        self.reach = []
        for u in range(USERS):
            own = list(range(u * HOME, (u + 1) * HOME))
            first = homes + u // TEAM * SHARED
            shared = list(range(first, first + SHARED))
            of = own + shared
            self.chance.shuffle(of)
            self.reach.append(of)
        # each directory has favourites of its own
        self.ranks = [self.chance.sample(of, len(of)) for _, of in self.directories]

    def path(self, file):
        return f'{self.directories[self.place[file]][0]}/f{file:06}'

    def anywhere(self, user):
        """A directory that the user may enter: some he comes back to, most are of old work."""
        reach = self.reach[user]
        return reach[self.zipf(len(reach))(self.chance)]

    def next_set(self, user):
        old = self.sets[user]
        kept = [d for d in old if self.chance.random() < KEPT]
        while len(kept) < SET:
            d = self.anywhere(user)
            if d not in kept:
                kept.append(d)
        self.sets[user] = kept

    def play(self, searched):
        chance, opens = self.chance, []
        for user in range(USERS):
            self.next_set(user)
            last = None
            for _ in range(OPENS):
                what = chance.random()
                if what < searched:
                    file = chance.randrange(self.files)
                elif last is not None and what < searched + SERIES:
                    of = self.directories[self.place[last]][1]
                    file = of[(of.index(last) + 1) % len(of)]
                else:
                    stray = chance.random() < STRAY
                    d = self.anywhere(user) if stray else self.sets[user][self.zipf(SET)(chance)]
                    ranks = self.ranks[d]
                    file = ranks[self.zipf(len(ranks))(chance)]
                last = file
                opens.append((user, file))
        # each user's opens keep their order, at times of the day that are his
        times = [sorted(chance.random() for _ in range(OPENS)) for _ in range(USERS)]
        return sorted((times[n // OPENS][n % OPENS], user, file) for n, (user, file) in enumerate(opens))

    def touch(self, file, ago):
        """Read, and perhaps written then, `ago` seconds before the switch."""
        atime, mtime = self.atime[file], self.mtime[file]
        if self.atimes == 'strictatime' or self.atimes == 'relatime' and (
                atime >= mtime or atime - ago >= DAY):
            self.atime[file] = ago
        if self.chance.random() < WRITES:
            self.mtime[file] = ago
