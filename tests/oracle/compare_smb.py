# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares what SMB clients of the two sides were told: compare.py's counterpart.  What may differ
is in EXCEPTIONS, beside those of compare.py that are about the file system."""
import select
import time

import compare
import door_smb
import generate_smb
import smb2
from compare import Comparer, Difference, Seen, short

EXACT = ('status', 'steps', 'missing', 'action', 'oplock', 'maximal', 'lease', 'contexts', 'told',
         'count', 'standard', 'info', 'sd', 'copied', 'closed', 'data', 'names',
         'reread', 'granted')
TOO_FEW = 'BUFFER_TOO_SMALL', 'BUFFER_OVERFLOW'  # of bytes for the ranges; the second from Samba 4.21 on
REMOTE_STORAGE = 0x100
CREATED = 2

EXCEPTIONS = {
    'offline': 'A file has FILE_ATTRIBUTE_OFFLINE until its data is whole.',
    'remote_storage': 'The file system says that it supports remote storage.',
    'btime_of_ctime': 'Where no creation time is stored, Samba 4.17 shows the oldest of the times, '
                      "with the nanoseconds of the inode's ctime.",
    'ctime_shown': 'Samba shows the ctime from 4.23 on, not the mtime in its place.  It moves as it does '
                   'over NFS, where it is compared.',
    'btime_guessed': 'And which of the times are the oldest when it is stored depends on what smbd has '
                     'asked for before.',
    'btime_of_now': 'Where its times are in the future, that of a file that was unfinished when smbd asked '
                    'for them is of now.',
    'atime_in_future': 'A read moves an atime that is earlier than the mtime, which in the file system is of '
                       'now for what is unfinished.',
    'copy_reads': 'What is copied on the server is read where data was missing, and may be shared '
                  'without that where it was not.',
    'link_reads': 'smbd reads a symbolic link that is opened as such when it has its attributes, and '
                  'asks for these once more when the link was not there.',
    'stale_errno': 'Where Samba 4.17 may not set attributes or descriptors it says so by what errno '
                   'was left by something else.',
    'durable_refused': 'An unfinished file gets no durable handle: the cookie would hold what a '
                       'fill changes.',
    'missing_is_data': 'What is missing counts as allocated.',
    'archive_lost': 'After a write smbd does not mind if it may not set ATTRIBUTE_ARCHIVE, as when '
                    'that comes too late: with a hold of a second.  Samba 4.24 sets it before it '
                    'refuses to write to a directory.',
    'stream_links': 'A stream has the link count of what it is of, which .migrate and names to come '
                    'count in.',
    'zeros_are_holes': 'Blocks of the source that are all zeros become holes.',
    'cut_short': 'Samba 4.17 ends some listings early when they are taken up again after a while.',
}
compare.EXCEPTIONS.update({k: v for k, v in EXCEPTIONS.items() if k not in compare.EXCEPTIONS})


class SmbComparer(Comparer):
    """ask_again(key): the Attr that the migrating side shows now, or None; again(op): what it says
    to the operation now; sides: for what servers say by themselves."""

    def __init__(self, disk, begin, ask_again, again, sides):
        super().__init__(disk, begin, ask_again)
        self.again, self.sides = again, sides
        self.copied = set()             # what was copied from
        self.nfs_too = False            # there are clients of NFS
        self.births = False             # the old server tells when its objects were made
        self.short_hold = False         # requests come to its end
        self.stores = False             # the shares keep creation times
        self.shows_ctime = False        # the plain side's server does

    def operation(self, op, m, p):
        if p.get('action') == CREATED and p.get('seen'):
            self.forget(m.get('seen', ()), p['seen'])
        for key in EXACT:
            if m.get(key) != p.get(key) and not self.stale_errno(op, key, m, p) and \
                    not self.fewer_ranges(op, key, m, p):
                if key == 'data':
                    self.data(m.get('data'), p.get('data'))
                raise Difference(key, f'{key} {short(m.get(key))}, not {short(p.get(key))}')
        if m.get('durable') != p.get('durable'):
            self.durable_refused(op, m, p)
        elif m.get('reconnected') != p.get('reconnected'):
            raise Difference('reconnected', f'{m.get("reconnected")}, not {p.get("reconnected")}')
        self.attributes(m['seen'], p['seen'], stream=bool(op.get('stream')))
        self.copied.add(p.get('source'))
        if 'ranges' in p:
            self.ranges(op, m, p)
        if 'streams' in p:
            self.streams(m, p)
        if 'fs' in p:
            self.file_system(m['fs'], p['fs'])
        self.page(op, m, p)
        self.names_change({name.encode('utf-8', 'surrogatepass') for name in p.get('names', ())})
        self.said(op)

    def stale_errno(self, op, key, m, p):
        """Both failed at the same step, with the object open."""
        a, b = (side.get('steps') or [''] for side in (m, p))
        return (op['op'] in ('smb_set', 'smb_sd') and key in ('status', 'steps') and
                p.get('status') == 'OBJECT_NAME_NOT_FOUND' and ('slot' in op or p['seen']) and
                [s == 'SUCCESS' for s in a] == [s == 'SUCCESS' for s in b] and
                self.exception('stale_errno'))

    def fewer_ranges(self, op, key, m, p):
        """They fit into what they are to fit into: what is missing is one range."""
        if op['op'] != 'smb_ranges' or key not in ('status', 'steps') or \
                p.get('status') not in TOO_FEW or m.get('status') != 'SUCCESS':
            return False
        return (self.disk.unfinished(m['fileid']) or
                self.again(op).get('steps') == p['steps']) and self.exception('missing_is_data')

    # ---- objects --------------------------------------------------------------------------------

    def attributes(self, m, p, named=None, stream=False):
        if [s[0] for s in m] != [s[0] for s in p]:
            raise Difference('seen', f'attributes of {[s[0] for s in m]}, not {[s[0] for s in p]}')
        # what a close said is of after all else that the operation asked
        for (what, m_key, m_attr, _), (_, p_key, p_attr, _) in sorted(
                zip(m, p), key=lambda pair: pair[0][0] == 'closed'):
            if (m_key is None) != (p_key is None):
                raise Difference('seen', f'{what}: file id {m_key}, not {p_key}')
            self.object(what, None if stream else m_key, None if stream else p_key, m_attr, p_attr)

    def object(self, what, m_fh, p_fh, m, p, named=False):
        def say(key, x, y):
            raise Difference(key, f'{what}: {key} {x}, not {y}')

        if m.dos is not None:
            self.dos(m_fh, m, p, say)
        for key in ('size', 'nlink'):
            x, y = getattr(m, key), getattr(p, key)
            if x != y and not (key == 'nlink' and (self.names_to_come(m, p) if m_fh else
                                                   self.stream_links(m, p))):
                say(key, x, y)
        directory = p.dos is not None and p.dos & smb2.A_DIRECTORY
        if m.used is not None and not directory and not self.space_to_come(m_fh, m, p):
            say('used', m.used, p.used)
        if m.mtime is None:
            return
        if p_fh is not None:
            self.known(what, m_fh, p_fh, m, p, say)
        self.time('mtime', m.mtime, p.mtime, say)
        if not (self.copy_reads(p_fh, m, p) or self.link_reads(m, p) or self.atime_in_future(m, p)):
            self.time('atime', m.atime, p.atime, say)
        if not self.btime_of_ctime(m_fh and self.objects.get(p_fh), m, p):
            self.time('btime', m.btime, p.btime, say)

    def known(self, what, m_fh, p_fh, m, p, say):
        seen = self.objects.get(p_fh)
        if (seen.migrated if seen else p_fh) != (m_fh if seen else self.back.get(m_fh, p_fh)):
            if self.disk.same_place(m.fileid, p.fileid):        # inode numbers are used again
                self.forget([(what, m_fh, m, None)], [(what, p_fh, p, None)])
                seen = None
        if seen is None and m_fh not in self.back:
            seen = self.objects[p_fh] = Seen(m_fh)
            seen.seconds = {t // 10**9 for t in (p.mtime, p.atime, self.disk.source.get(
                p.fileid, (0, 0))[1])}
            self.back[m_fh] = p_fh
            seen.whole = not self.disk.of_source(p.fileid)
        if seen is None or seen.migrated != m_fh:
            raise Difference('identity', f'{what}: the file id {m.fileid} is not of the object '
                                         f'that {p.fileid} is on the plain side: '
                                         f'{seen and seen.migrated}, {self.back.get(m_fh)}')
        if (m.ctime, p.ctime) != (m.mtime, p.mtime):
            if not self.ctime_shown(p):
                say('ctime', m.ctime, p.ctime)
            m, p = m._replace(ctime=m.mtime), p._replace(ctime=p.mtime)
        self.moved(seen, m, p, say)
        seen.last = m, p

    def forget(self, m, p):
        """What was known of these inode numbers was of objects that are gone."""
        for _, key, _, _ in p:
            seen = self.objects.pop(key, None)
            if seen:
                self.back.pop(seen.migrated, None)
        for _, key, _, _ in m:
            self.objects.pop(self.back.pop(key, None), None)

    def dos(self, m_fh, m, p, say):
        if not m.dos & smb2.OFFLINE and m_fh and not p.dos & smb2.A_DIRECTORY:
            self.became_online(m, p, say)
        if m.dos == p.dos:
            return
        without = m.dos & ~smb2.OFFLINE or smb2.A_NORMAL
        if without != p.dos and self.archive_lost(without, p.dos):
            without = p.dos
        offline = m.dos & smb2.OFFLINE
        if without != p.dos or offline and (p.dos & smb2.A_DIRECTORY or not self.offline(m_fh, m, p)):
            say('dos', hex(m.dos), hex(p.dos))

    def archive_lost(self, m, p):
        return (self.short_hold and p == (m | smb2.A_ARCHIVE) & ~smb2.A_NORMAL != m and
                self.exception('archive_lost'))

    def became_online(self, m, p, say):
        seen = self.objects.get(door_smb.key_of(p.fileid))
        if not seen or not seen.whole:
            if m.size and self.disk.all_missing(m.fileid):
                say('dos', f'{hex(m.dos)} of a file without data', hex(p.dos))
            if seen and self.disk.state(m.fileid) == 0:
                seen.whole = True

    def ctime_shown(self, p):
        self.shows_ctime |= p.ctime != p.mtime
        return self.shows_ctime and self.exception('ctime_shown')

    def stream_links(self, m, p):
        return not self.disk.finalized and 1 <= m.nlink <= p.nlink + 1 and self.exception('stream_links')

    def copy_reads(self, p_fh, m, p):
        return (p_fh in self.copied and self.disk.of_source(p.fileid) and self.of_now(m.atime) and
                m.atime != p.atime and self.exception('copy_reads'))

    def link_reads(self, m, p):
        return (p.dos is not None and p.dos & smb2.A_REPARSE and self.disk.of_source(p.fileid) and
                self.of_now(m.atime) and not self.of_now(p.atime) and self.exception('link_reads'))

    def atime_in_future(self, m, p):
        return (m.atime > self.disk.now() + 10**9 and self.of_now(p.atime) and
                self.disk.of_source(p.fileid) and self.exception('atime_in_future'))

    def btime_of_ctime(self, seen, m, p):
        """Once it was stored, the others may move; not where that was on the old server."""
        if seen and self.births and self.disk.of_source(p.fileid) or self.stores and p.fileid in self.disk.born:
            return False
        a, b, *others = (t // 10**9 for t in (m.btime, p.btime, p.mtime, p.atime))
        if a == b and self.nfs_too:     # which sets times that are not seen here
            return self.exception('btime_of_ctime')
        if seen:
            seen.seconds.update(others)
            others = seen.seconds
        if m.btime == p.btime or b not in others and (a != b or seen):
            return False
        return (a == b and self.exception('btime_of_ctime') or
                a in others and self.exception('btime_guessed') or
                self.of_now(m.btime) and p.btime > self.disk.now() and self.disk.of_source(p.fileid) and
                self.exception('btime_of_now'))

    def offline(self, m_fh, m, p):
        """It is of the source, was not whole when it was last seen, and if it is now, that is shown.  Of a
        stream's file the number is not known."""
        seen = self.objects.get(door_smb.key_of(p.fileid))
        if self.disk.finalized or m_fh and (not self.disk.of_source(p.fileid) or seen and seen.whole):
            return False
        if m_fh and self.disk.state(m.fileid) == 0:
            now = self.ask_again(m_fh)
            if now.dos & smb2.OFFLINE if now else self.disk.has_name(m.fileid):
                return False
        return self.exception('offline')

    def space_to_come(self, fh, m, p):
        if fh is None:
            return abs(m.used - p.used) <= self.disk.slack or m.used <= m.size + self.disk.slack
        # it was unfinished then, whatever it is now; or its inode number may be another's
        if p.used < m.used <= p.size + self.disk.slack and \
                ((m.dos or 0) & smb2.OFFLINE or self.disk.is_gone(p.fileid)):
            return self.exception('space_to_come')
        return super().space_to_come(fh, m, p)

    def durable_refused(self, op, m, p):
        """It was unfinished then: it was shown so, or is, or is not any more and gets one."""
        _, _, attr, _ = m['seen'][0]
        if m.get('durable') or self.disk.finalized or not self.disk.of_source(p['seen'][0][2].fileid) or not (
                attr.dos & smb2.OFFLINE or self.disk.unfinished(attr.fileid) or self.again(op).get('durable')):
            raise Difference('durable', f'durable {m.get("durable")}, not {p.get("durable")}')
        self.exception('durable_refused')

    # ---- ranges, streams, the file system -------------------------------------------------------

    def ranges(self, op, m, p):
        end = time.monotonic() + compare.SETTLE
        fileid = p['fileid']
        while m['ranges'] != p['ranges']:
            extra, lacking = without(m['ranges'], p['ranges']), without(p['ranges'], m['ranges'])
            zeros = not lacking or self.disk.of_source(fileid) and all(
                self.disk.zeros(fileid, b, e) for b, e in lacking)
            if zeros and (not extra or self.disk.unfinished(m['fileid'])):
                self.exception('missing_is_data' if extra else 'zeros_are_holes')
                return
            if time.monotonic() > end:
                raise Difference('ranges', f'ranges {short(m["ranges"])}, not '
                                           f'{short(p["ranges"])}')
            m = self.again(op)
            if 'ranges' not in m:
                raise Difference('ranges', f'then {m}')

    def streams(self, m, p):
        a, b = ([(name, size) for name, size, _ in side['streams']] for side in (m, p))
        if a != b:
            raise Difference('streams', f'streams {short(a)}, not {short(b)}')
        for (name, _, x), (_, size, y) in zip(m['streams'], p['streams']):
            if name != '::$DATA' and x != y:
                raise Difference('streams', f'{name}: space {x}, not {y}')

    def file_system(self, m, p):
        level, data = m
        if level == 5 and data != p[1]:
            flags = int.from_bytes(data[:4], 'little')
            data = (flags & ~REMOTE_STORAGE).to_bytes(4, 'little') + data[4:]
            self.exception('remote_storage')
        if data != p[1]:
            raise Difference('fs', f'level {level}: {data.hex()}, not {p[1].hex()}')

    # ---- listings -------------------------------------------------------------------------------

    def listing(self, op, m, p):
        m_by, p_by = ({name: rest for name, *rest in side.entries} for side in (m, p))
        for by, side in ((m_by, m), (p_by, p)):
            if len(by) != len(side.entries) and op['op'] == 'smb_list':
                raise Difference('listing', 'a name twice')
        odd = set(m_by) ^ set(p_by)
        if op['op'] == 'smb_pages':
            coded = {n.encode('utf-8', 'surrogatepass'): n for n in odd}
            odd -= {coded[n] for n in self.changed_while_listed(p, set(coded))}
            if odd and self.cut_short(m, p, odd):
                return
        if odd:
            only = {n: 'missing' if n in p_by else 'too much' for n in sorted(odd)}
            raise Difference('listing', f'names: {short(only)}')
        if op['op'] != 'smb_list':
            return
        for name in sorted(set(m_by) & set(p_by) - {'..'}):
            (m_attr, m_more), (p_attr, p_more) = m_by[name], p_by[name]
            if m_more != p_more:
                raise Difference('listing', f'{name!r}: {m_more}, not {p_more}')
            if m_attr.mtime is not None:
                self.object(repr(name), door_smb.key_of(m_attr.fileid),
                            door_smb.key_of(p_attr.fileid), m_attr, p_attr)

    def cut_short(self, m, p, odd):
        """Both, after as many names, each of which is one of that directory; or short for one that SMB cannot
        show."""
        opened = getattr(p, 'opened', None)
        if not (m.cut and p.cut and len(m.entries) == len(p.entries) and opened):
            return False
        names = self.disk.names_in(opened.fileid)
        fit = {n.decode() for n in names if generate_smb.fits(n.decode('latin-1'))}
        strange = {n for n in odd if n not in fit}
        return (len(strange) <= len(names) - len(fit) and all('~' in n for n in strange) and
                self.exception('cut_short'))

    # ---- what servers say by themselves ---------------------------------------------------------

    def said(self, op):
        """Breaks and notifications come when they come: on both sides alike, after a while."""
        if not any(side.breaks or side.watches for side in self.sides):
            return
        end = time.monotonic() + compare.SETTLE
        while True:
            events = [side.events() for side in self.sides]
            breaks = [sorted(map(str, side.breaks)) for side in self.sides]
            if events[0] == events[1] and breaks[0] == breaks[1]:
                break
            if time.monotonic() > end:
                if breaks[0] != breaks[1]:
                    raise Difference('breaks', f'breaks {short(breaks[0])}, not {short(breaks[1])}')
                raise Difference('events', f'events {short(events[0])}, not {short(events[1])}')
            select.select([], [], [], 0.02)
        for side in self.sides:
            side.breaks.clear()
            for watch in side.watches.values():
                watch.compared()


def without(some, others):
    """(begin, end) of what is in ranges of (offset, length), and not in others."""
    out = []
    for begin, length in some:
        left = [(begin, begin + length)]
        for b, n in others:
            left = [piece for x, y in left for piece in ((x, min(y, b)), (max(x, b + n), y))
                    if piece[0] < piece[1]]
        out += left
    return out
