# SPDX-License-Identifier: GPL-3.0-or-later
"""What both protocols have in common for the executor.

A door is one client of one server.  Its calls take handles (bytes), and who asks: (uid, gid, other
gids).  They give dictionaries: 'status' the NFS status; 'seen' a list of (what, handle, Attr or
None, what it was before or None) in the order of the reply; and what the operation is about: 'fh',
'data', 'eof', 'access', 'entries' ...  Only what is comparable between two servers goes under a
key that compare.py compares."""
import collections
import select
import time

# change: None in v3; rdev: of devices only.
Attr = collections.namedtuple('Attr', 'type mode nlink uid gid size used rdev fileid atime mtime '
                                      'ctime change')


class Door:
    busy_status = ()

    def __init__(self, server, unblock, minor=0, patience=60):
        """unblock() is called after a call was answered "ask again" a few times."""
        self.server, self.unblock, self.minor, self.patience = server, unblock, minor, patience
        self.delays = 0
        self.connect()

    @staticmethod
    def result(status):
        return {'status': status, 'seen': []}

    def walk(self, names, who):
        """Name by name: (status, how many were found, the handle of the last)."""
        fh = self.root
        for depth, name in enumerate(names):
            got = self.lookup(fh, name, who)
            if got['status']:
                return got['status'], depth, None
            fh = got['fh']
        return 0, len(names), fh

    def patiently(self, once):
        end, tries = time.monotonic() + self.patience, 0
        while True:
            status, reply = once()
            if status not in self.busy_status or time.monotonic() > end:
                return status, reply
            self.delays += 1
            tries += 1
            if tries == 2:
                self.unblock()
            select.select([], [], [], min(0.005 * tries, 0.05))
