# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares what programs of the machine are told; compare.py with what stat(2) says of what is
unfinished, which nobody can be asked about."""
from compare import Comparer


class LocalComparer(Comparer):
    def object(self, what, m_fh, p_fh, m, p, named=False):
        unfinished = m.change
        if m.fileid == self.disk.root and not self.disk.finalized:      # and .migrate in it
            m = m._replace(nlink=p.nlink)
        if unfinished and self.exception('unfinished_by_stat'):
            m = m._replace(nlink=p.nlink, used=p.used, atime=p.atime, mtime=p.mtime, ctime=p.ctime)
        super().object(what, m_fh, p_fh, m._replace(change=None), p._replace(change=None), named)
        if unfinished:
            self.objects[p_fh].last = None      # from there on it is not known what moved

    def name_seen_late(self, seen, m, p, say):
        return False

    def atime_seen_late(self, seen, m, p):
        return self.together or super().atime_seen_late(seen, m, p)
