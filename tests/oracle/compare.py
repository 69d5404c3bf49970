# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares what the migrating side and the plain side said, operation by operation.

Everything is compared exactly but for times of the day, which are classed (set or carried over:
equal to the nanosecond; of now: of now on both sides) and must move on both sides or on neither;
handles, inode numbers and change attributes, of which only the sameness and the moving counts; and
the facts in EXCEPTIONS, each of which is a method of that name and is as narrow as it can be."""
import os
import select
import stat
import time

DIR, REG = 2, 1
LARGEST_DIR = 1 << 20                   # bytes, of what these trees have
NODES = 3, 4, 6, 7                      # devices, sockets, fifos
STALE = 70
SETTLE = 20                             # seconds for what comes when it comes
PARTIAL, UNFILLED, EXTENTS, DIRTY = 2, 3, 1, 0x80    # of a record (common/record.h)
EXACT = ('status', 'count', 'eof', 'committed', 'access', 'target', 'missing', 'denied', 'offset',
         'confirm', 'close', 'closed', 'delegation', 'fsinfo', 'pathconf')

EXCEPTIONS = {
    'became_whole':
        'ctime and the change attribute of an object move once when it becomes whole '
        '(docs/reference.md, What clients see): Linux lets nobody set ctime. ',
    'returned':
        'Likewise when a directory that was whole gets a record, because something unfinished is to '
        'get a name in it.  It becomes whole again later.',
    'names_to_come':
        'The link count of a file that has several names in the source counts those that are '
        'here, and one more while it has a name in .migrate.',
    'directories_to_come':
        'An SMB server does not say how many directories are in one: it has one link until it is '
        'filled.',
    'links_of_directories':
        'btrfs does not count the directories in one: until it is filled it has as many links as on '
        'the old server.',
    'space_to_come':
        'The space used by an unfinished file is what it will take at most.',
    'space_behind_the_end':
        'Space behind the end of an unfinished file is not counted.',
    'directory_size':
        'A directory has a size of the new file system, and takes what that takes.',
    'removed_is_held':
        'The handle of a removed file holds as long as somebody has the file open: here the '
        'retriever or the module may, where no client does; and a file that waits in .migrate for '
        'more of its names has one there.',
    'nodes_by_handle':
        'Ganesha 4.3 does not always get the attributes of a device, socket or fifo that MDCACHE '
        'has forgotten: a reply may lack them.',
    'atime_seen_late':
        'MDCACHE guesses atime at reads, and sees that of the file system when it asks again for '
        'another reason: one side may show now, and the other still what both showed last.',
    'xfs_preallocates':
        'xfs keeps space behind what grows, in holes too.',
    'btrfs_fills_a_block':
        'btrfs gives a block of zeros to a size that grows from within a block: here that of a file '
        'of which the old server listed another one.',
    'name_came':
        'ctime of a file with several names in the source also moves when one more of them is '
        'made, or is not needed in .migrate any more (docs/reference.md, What clients see).',
    'name_seen_late':
        "Ganesha 4.3 does not always ask for a directory's attributes after a LINK or a RENAME "
        'into it: one side may show those of before for a while.',
    'change_plus_one':
        'MDCACHE adds 1 to a change attribute that a SETATTR did not move, and forgets it when it '
        'asks again.',
    'record_copied':
        'A tool that copies an extended attribute to a file on the server moves its ctime.',
    'refused_over_smb':
        'What smbd tries and the kernel refuses moves ctime of an unfinished object, because the '
        'record has been stored by then.',
    'unlinked_over_smb':
        'ctime of an unfinished file does not move when a client of SMB takes its last name while '
        'one of NFS has it open.',
    'whole_in_between':
        'Of questions that were asked side by side one may see the object when it has become whole, '
        'and another one, which is compared later, before that.',
    'root_finalized':
        "Removing .migrate moves the root's ctime once more.",
    'missing_is_data':
        'SEEK sees what is missing as data, so holes of the source only when they are here.',
    'unfinished_by_stat':
        'Times, links and space of an unfinished object, as a program of this machine is told them, '
        'are those of the new file system (docs/reference.md, Backups and local access).',
    'zeros_are_holes':
        'Blocks of the source that are all zeros become holes (docs/reference.md, What is carried '
        'over).',
    'changed_while_listed':
        'A name that comes or goes while a directory is listed page by page may be in the listing or not.',
}


class Difference(Exception):
    """tag: what differs, the same whenever the same thing differs."""

    def __init__(self, tag, text):
        super().__init__(text)
        self.tag = tag


def short(value):
    text = repr(value)
    return text if len(text) < 160 else f'{text[:100]} ... {text[-40:]} ({len(value)})'


class Seen:
    """What is known of an object: its last attributes on both sides."""

    def __init__(self, migrated):
        self.migrated = migrated        # handle
        self.last = None                # (Attr, Attr)
        self.named = None               # its mtimes before a name was put into it, if one side
                                        # still shows that
        self.named_again = False        # ... and one more name, before both sides showed that
        self.atime = None               # the last that both showed
        self.whole = False              # true when it became whole (the times then), or always was
        self.placed = False             # true when something got a name in it; then the times of its mark
        self.came = set()               # its ctimes when one more of its names came


class Comparer:
    """disk: Disk; begin: ns, when the sequence began; ask_again(handle): the Attr that the
    migrating side has now, or None."""

    def __init__(self, disk, begin, ask_again):
        self.disk, self.begin, self.ask_again = disk, begin, ask_again
        self.objects = {}               # handle on the plain side -> Seen
        self.back = {}                  # and back
        self.used = {}                  # exceptions: how often
        self.smb_too = False            # there are clients of SMB
        self.smb_source = False         # the old server speaks SMB
        self.by_smb = set()             # inodes of the migrating side that clients of SMB have used
                                        # since clients of NFS saw them last
        self.marked = set()             # inodes of the plain side's directories in which, or below
                                        # which, clients of SMB have placed something
        self.together = False           # what is compared was asked side by side
        self.listings = []              # (a listing under way, the names that have changed since)

    def exception(self, name):
        assert name in EXCEPTIONS, name
        self.used[name] = self.used.get(name, 0) + 1
        return True

    def removed_is_held(self, op, m, p):
        """Stale on the plain side; on this one an object without a name, asked for by handle."""
        if p.get('status') != STALE or not str(op.get('at')).startswith('@'):
            return False
        attr = self.ask_again(m['at'])
        return (attr is None or not self.disk.has_name(attr.fileid)) and self.exception(
            'removed_is_held')

    def operation(self, op, m, p):
        if self.removed_is_held(op, m, p):
            return
        for key in EXACT:
            if key in ('eof', 'offset') and op['op'] == 'seek':
                continue
            if m.get(key) != p.get(key):
                raise Difference(key, f'{key} {short(m.get(key))}, not {short(p.get(key))}')
        if m.get('data') != p.get('data'):
            self.data(m['data'], p['data'])
        if op['op'] == 'seek' and p.get('status') == 0:
            self.seek(op, m, p)
        if bool(m.get('fh')) != bool(p.get('fh')):
            raise Difference('fh', f'handle {short(m.get("fh"))}, not {short(p.get("fh"))}')
        named = {'link': 'directory', 'rename': 'to directory'}.get(op['op'])
        self.attributes(m['seen'], p['seen'], named if p.get('status') == 0 else None)
        for (key, m_atomic, m_then, m_now), (_, p_atomic, p_then, p_now) in zip(
                m.get('changes', ()), p.get('changes', ())):
            if m_atomic != p_atomic or m_then == m_now and p_then != p_now:
                raise Difference('changes', f'{key}: atomic {m_atomic} from {m_then} to {m_now}, '
                                            f'not {p_atomic} from {p_then} to {p_now}')
        self.page(op, m, p)
        if p.get('status') == 0:
            self.names_change({op[key].encode('latin-1') for key in ('name', 'to_name')
                               if key in op and op['op'] != 'lookup'})
        if op['op'] in ('rename', 'link') and 'missing' not in p:
            self.placed(op['to'])

    def placed(self, directory):
        """Something got, or was to get, a name in a directory (its path), which may be marked again, with all
        above it: PLACE."""
        marked = self.disk.upwards(directory)
        for seen in self.objects.values():
            if seen.last and seen.last[0].type == DIR and seen.last[1].fileid in marked:
                seen.whole, seen.placed = False, True
        return marked

    def placed_over_smb(self, directory):
        """Maybe in one that no client of NFS has seen yet."""
        self.marked |= self.placed(directory)

    @staticmethod
    def data(m, p):
        if m is None or p is None or len(m) != len(p):
            raise Difference('data', f'data {short(m)}, not {short(p)}')
        at = next(i for i, (a, b) in enumerate(zip(m, p)) if a != b)
        zeros = ', zeros' if not any(m[at:at + 64]) else ''
        raise Difference('data', f'data differs from byte {at} of {len(p)} on{zeros}: '
                                 f'{m[at:at + 16].hex()}, not {p[at:at + 16].hex()}')

    def seek(self, op, m, p):
        if (m['eof'], m['offset']) == (p['eof'], p['offset']):
            return
        if self.missing_is_data(op, m, p) or self.zeros_are_holes(op, m, p):
            return
        raise Difference('seek', f'eof {m["eof"]} offset {m["offset"]}, not eof {p["eof"]} offset '
                                 f'{p["offset"]}')

    @staticmethod
    def more_data(op, m, p):
        """Whether m sees data no later, and a hole no sooner, than p."""
        if op['hole']:
            return m['offset'] >= p['offset']
        return p['eof'] or not m['eof'] and m['offset'] <= p['offset']

    def missing_is_data(self, op, m, p):
        seen = self.objects.get(p['seen'][-1][1])
        return (seen and self.disk.unfinished(seen.last[0].fileid) and self.more_data(op, m, p) and
                self.exception('missing_is_data'))

    def zeros_are_holes(self, op, m, p):
        seen = self.objects.get(p['seen'][-1][1])
        if not seen or not self.disk.of_source(seen.last[1].fileid) or not self.more_data(op, p, m):
            return False
        if op['hole']:                  # as large as a block, at least
            begin, end = m['offset'], min(p['offset'], (m['offset'] | 4095) + 1)
        else:
            begin, end = p['offset'], None if m['eof'] else m['offset']
        return (self.disk.zeros(seen.last[1].fileid, begin, end) and
                self.exception('zeros_are_holes'))

    # ---- attributes ---------------------------------------------------------------------------

    def attributes(self, m, p, named=None):
        """Of two lists of (what, handle, Attr or None, before or None)."""
        if [s[0] for s in m] != [s[0] for s in p]:
            raise Difference('seen', f'attributes of {[s[0] for s in m]}, not {[s[0] for s in p]}')
        for (what, m_fh, m_attr, m_before), (_, p_fh, p_attr, p_before) in zip(m, p):
            self.before(what, p_fh, m_before, p_before)
            if (m_attr is None) != (p_attr is None):
                if (m_attr or p_attr).type in NODES and self.exception('nodes_by_handle'):
                    continue
                raise Difference('seen', f'{what}: attributes {short(m_attr)}, not '
                                         f'{short(p_attr)}')
            if p_attr is not None and p_fh is not None:
                self.object(what, m_fh, p_fh, m_attr, p_attr, what == named)

    def before(self, what, fh, m, p):
        """What v3 says an object was before the operation: size, mtime, ctime.  Where that is what
        was seen last on the plain side, so it must be here; ctime is for moved()."""
        seen = self.objects.get(fh)
        if (m is None) != (p is None):
            raise Difference('before', f'{what}: was {m}, not {p}')
        if m is None or not seen or not seen.last or seen.named:
            return
        last_m, last_p = seen.last
        if (p[0], p[1]) == (last_p.size, last_p.mtime) and (
                m[1] != last_m.mtime or last_m.type == REG and m[0] != last_m.size):
            raise Difference('before', f'{what}: was {m}, and seen last as {last_m}')

    def object(self, what, m_fh, p_fh, m, p, named=False):
        seen = self.objects.get(p_fh)
        if seen is None and m_fh not in self.back:
            seen = self.objects[p_fh] = Seen(m_fh)
            self.back[m_fh] = p_fh
            seen.atime = self.disk.source.get(p.fileid, (None,))[0]
            # what was made by a client is whole from the start
            seen.whole = (p.ctime >= self.begin and not self.disk.of_source(p.fileid) and
                          not (m.type == DIR and p.fileid in self.marked))
        if seen is None or seen.migrated != m_fh:
            raise Difference('identity', f'{what}: handle {m_fh.hex()} is not the object that it '
                                         f'is on the plain side')

        def say(key, x, y):
            raise Difference(key, f'{what}: {key} {x}, not {y}')

        for key in ('type', 'mode', 'uid', 'gid', 'rdev'):
            if getattr(m, key) != getattr(p, key):
                say(key, *((oct(v) if key == 'mode' else v)
                           for v in (getattr(m, key), getattr(p, key))))
        if m.size != p.size and not self.directory_size(m):
            say('size', m.size, p.size)
        if m.nlink != p.nlink and not self.names_to_come(m, p, seen):
            say('nlink', m.nlink, p.nlink)
        if m.type == REG and not self.space_to_come(m_fh, m, p):
            say('used', m.used, p.used)
        if named:
            seen.named_again = bool(seen.named)
            seen.named = tuple(a.mtime for a in seen.last) if seen.last else (None, None)
        if not self.name_seen_late(seen, m, p, say):
            self.time('mtime', m.mtime, p.mtime, say)
            self.moved(seen, m, p, say)
        if not self.atime_seen_late(seen, m.atime, p.atime):
            self.time('atime', m.atime, p.atime, say)
        seen.last = m, p

    def directory_size(self, m):
        return m.type == DIR and m.size <= LARGEST_DIR and self.exception('directory_size')

    def names_to_come(self, m, p, seen=None):
        # MDCACHE may keep that
        kept = seen and (not seen.last or m.nlink == seen.last[0].nlink)
        if getattr(m, 'type', None) == DIR:
            if not self.disk.of_source(p.fileid):
                return False
            return (self.smb_source and m.nlink == 1 and (kept or not self.disk.finalized) and
                    self.exception('directories_to_come') or
                    p.nlink == 1 and (kept or not self.disk.finalized) and
                    self.exception('links_of_directories'))
        return (self.disk.of_source(p.fileid, several=True) and 1 <= m.nlink <= p.nlink + 1 and
                (kept or not self.disk.finalized) and self.exception('names_to_come'))

    def space_to_come(self, fh, m, p):
        """As much as on the plain side, but for what file systems round; up to the size where
        data is missing.  The module lets MDCACHE keep what a fill moves for a second."""
        slack = self.disk.slack
        end = time.monotonic() + SETTLE
        while abs(m.used - p.used) > slack:
            if m.used > max(m.size, p.used) + slack:
                return False
            if p.used < m.used and self.disk.unfinished(m.fileid):
                return self.exception('space_to_come')
            if p.used > p.size + slack and m.used + slack >= p.size and \
                    self.disk.unfinished(m.fileid):
                return self.exception('space_behind_the_end')
            m = self.ask_again(fh)
            if not m or time.monotonic() > end:
                return False
            select.select([], [], [], 0.05)
        return True

    def of_now(self, ns):
        return self.begin <= ns <= self.disk.now() + 10**9

    def time(self, key, m, p, say):
        if m != p and not (self.of_now(m) and self.of_now(p)):
            say(key, m, p)

    def name_seen_late(self, seen, m, p, say):
        if not seen.named:
            return False
        late = [attr.mtime == then or then is None and not self.of_now(attr.mtime)
                for attr, then in zip((m, p), seen.named)]
        if late == [False, False]:
            # where two names were put into it, one side may show the first of them yet
            seen.named = (m.mtime, p.mtime) if seen.named_again else None
            seen.named_again = False
            self.time('mtime', m.mtime, p.mtime, say)
        return self.exception('name_seen_late')

    def atime_seen_late(self, seen, m, p):
        if m == p and not self.of_now(m):
            seen.atime = p
        return ((m == seen.atime and self.of_now(p) or p == seen.atime and self.of_now(m)) and
                self.exception('atime_seen_late'))

    def moved(self, seen, m, p, say):
        if not seen.last:
            return
        last_m, last_p = seen.last
        moved = m.mtime != last_m.mtime, p.mtime != last_p.mtime
        if moved[0] != moved[1]:
            say('mtime moved', *moved)
        if m.fileid in self.disk.touched and self.exception('record_copied'):
            return
        for key in ('ctime', 'change') if p.change is not None else ('ctime',):
            before, now = getattr(last_m, key), getattr(m, key)
            moved = now != before, getattr(p, key) != getattr(last_p, key)
            if key == 'change' and self.change_plus_one(moved, now, before, p, last_p):
                continue
            if moved == (False, True) and self.unlinked_over_smb(m, p):
                continue
            if moved == (False, True) or moved == (True, False) and not (
                    self.became_whole(seen, m, p, now < before) or
                    self.name_came(seen, m, p, now < before) or
                    self.refused_over_smb(m, now < before)):
                say(f'{key} moved', f'{moved[0]} (from {before} to {now}; state '
                    f'{self.disk.state(m.fileid)}, was whole: {bool(seen.whole)})', moved[1])
        self.by_smb.discard(m.fileid)

    def change_plus_one(self, moved, now, before, p, last_p):
        return (moved[0] != moved[1] and
                abs(now - before if moved[0] else p.change - last_p.change) == 1 and
                self.exception('change_plus_one'))

    def became_whole(self, seen, m, p, back):
        now = m.ctime, m.change
        if now in (seen.whole, seen.placed):    # the other of the two
            return True
        if self.disk.finalized and m.fileid == self.disk.root and not back:
            return self.exception('root_finalized')
        if back and self.together and self.disk.of_source(p.fileid):
            return self.exception('whole_in_between')
        if not back and self.disk.returned(m.fileid):
            seen.whole, seen.placed = False, False      # and becomes whole again
            return self.exception('returned')
        if back or seen.whole or self.disk.state(m.fileid) and not self.disk.returned(m.fileid):
            return False
        if seen.placed is True:         # MDCACHE may show that it was marked when it is whole again
            seen.placed = now
            return self.exception('returned')
        seen.whole = now
        return self.exception('became_whole')

    def refused_over_smb(self, m, back):
        return (m.fileid in self.by_smb and not back and self.disk.state(m.fileid) and
                self.exception('refused_over_smb'))

    def unlinked_over_smb(self, m, p):
        return (m.fileid in self.by_smb and m.nlink == 0 and m.type == REG and
                self.disk.of_source(p.fileid) and self.exception('unlinked_over_smb'))

    def name_came(self, seen, m, p, back):
        """Once for each name, and once when it is not needed in .migrate any more."""
        if back or not self.disk.of_source(p.fileid, several=True):
            return False
        seen.came.add(m.ctime)
        return len(seen.came) <= self.disk.several[p.fileid] + 1 and self.exception('name_came')

    # ---- listings -----------------------------------------------------------------------------

    def page(self, op, m, p):
        if 'listing' in p:
            if not any(listing is p['listing'] for listing, _ in self.listings):
                self.listings.append((p['listing'], set()))
            if p['listing'].eof:
                self.listing(op, m['listing'], p['listing'])
                self.listings[:] = [one for one in self.listings if one[0] is not p['listing']]

    def names_change(self, names):
        for _, changed in self.listings:
            changed |= names

    def changed_while_listed(self, listing, names):
        """Those of the names (bytes) that may be in it or not."""
        changed = next((changed for one, changed in self.listings if one is listing), set()) & names
        if changed:
            self.exception('changed_while_listed')
        return changed

    def listing(self, op, m, p):
        names = []
        for cursor in (m, p):
            names.append([entry[0] for entry in cursor.entries])
            if len(set(names[-1])) != len(names[-1]):
                twice = sorted({n for n in names[-1] if names[-1].count(n) > 1})
                raise Difference('listing', f'{short(twice)} twice')
        m_by, p_by = ({entry[0]: entry for entry in cursor.entries} for cursor in (m, p))
        odd = set(m_by) ^ set(p_by)
        if op['op'] == 'pages':
            odd -= self.changed_while_listed(p, odd)
        if odd:
            only = {n: 'missing' if n in p_by else 'too much' for n in sorted(odd)}
            raise Difference('listing', f'names: {short(only)}')
        if op['op'] != 'list':
            return
        for name in sorted(set(m_by) & set(p_by)):
            _, _, m_id, m_attr, m_fh = m_by[name]
            _, _, p_id, p_attr, p_fh = p_by[name]
            if (m_fh is None) != (p_fh is None):
                raise Difference('listing', f'{name!r}: handle {m_fh}, not {p_fh}')
            self.attributes([(repr(name), m_fh, m_attr, None)], [(repr(name), p_fh, p_attr, None)])
            if m_attr and m_attr.fileid != m_id:
                raise Difference('listing', f'{name!r}: fileid {m_id}, and {m_attr.fileid} in its '
                                            'attributes')


class Disk:
    """What the comparison may look up behind the servers: which objects are unfinished, and which
    of the plain side's are of the source."""

    def __init__(self, migrated, plain, clock):
        self.migrated, self.plain, self.now = os.fsencode(migrated), os.fsencode(plain), clock
        self.slack = 128 << 10
        self.root, self.finalized = os.stat(self.migrated).st_ino, False
        self.touched = set()            # inodes of the migrating side, see record_copied
        self.source, self.several = {}, {}      # inode -> (atime, mtime); how many names it has
        self.born = set()               # inodes of which a creation time is stored
        for path in paths(self.plain):
            st = os.lstat(path)
            self.source[st.st_ino] = st.st_atime_ns, st.st_mtime_ns
            if st.st_nlink > 1 and not stat.S_ISDIR(st.st_mode):
                self.several[st.st_ino] = st.st_nlink
            if not stat.S_ISLNK(st.st_mode) and 'user.DOSATTRIB' in os.listxattr(path):
                self.born.add(st.st_ino)

    def of_source(self, fileid, several=False):
        return fileid in (self.several if several else self.source)

    def record(self, fileid):
        """The migrated object's record; b'' if it has none, None if it has no name."""
        for path in paths(self.migrated):
            try:
                if os.lstat(path).st_ino == fileid:
                    return os.getxattr(path, 'security.migrate', follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError:
                return b''
        return None

    def state(self, fileid):
        """The state in the record (common/record.h), or 0, or None."""
        record = self.record(fileid)
        return record[1] if record else 0 if record is not None else None

    def all_missing(self, fileid):
        """Whether it is a file without a byte of data."""
        record = self.record(fileid)
        return (bool(record) and record[1] == PARTIAL and
                not (record[2] & EXTENTS or record[2] & DIRTY) and
                fileid not in self.touched)

    def returned(self, fileid):
        """Whether it is a directory that was whole before it got this record."""
        record = self.record(fileid)
        return bool(record) and bool(record[3] & 2)

    def zeros(self, fileid, begin, end):
        """Whether the plain object has nothing else from begin to end (None: its end)."""
        for path in paths(self.plain):
            if os.lstat(path).st_ino == fileid:
                with open(path, 'rb') as f:         # mounted noatime
                    f.seek(begin)
                    return not any(f.read(-1 if end is None else max(0, end - begin)))
        return True                             # it has no name any more

    def is_gone(self, fileid):
        """Whether the plain object has no name."""
        return not any(os.lstat(path).st_ino == fileid for path in paths(self.plain))

    def has_name(self, fileid):
        """Whether clients can find the migrated object."""
        private = self.migrated + b'/.migrate/'
        return any(not path.startswith(private) and os.lstat(path).st_ino == fileid
                   for path in paths(self.migrated) if os.path.lexists(path))

    def same_place(self, migrated, plain):
        """Whether the two inodes have the same names, as far as they are here, or none any more."""
        a, b = ({os.path.relpath(path, root) for path in paths(root)
                 if os.path.lexists(path) and os.lstat(path).st_ino == fileid}
                for root, fileid in ((self.migrated, migrated), (self.plain, plain)))
        here = {path for path in a if not path.startswith(b'.migrate/')}
        return bool(here) == bool(b) and here <= b

    def upwards(self, path):
        """Inodes of a directory of the plain side and of all above it; of all directories if it is not to be
        found under that name."""
        found, at = [self.plain], self.plain
        for name in filter(None, path.encode('latin-1').split(b'/')):
            at = os.path.join(at, name)
            found.append(at)
        if not os.path.isdir(at):
            found = [base for base, _, _ in os.walk(self.plain)]
        return {os.lstat(base).st_ino for base in found}

    def names_in(self, fileid):
        """Of the plain directory."""
        return next((set(dirs + files) for base, dirs, files in os.walk(self.plain)
                     if os.lstat(base).st_ino == fileid), set())

    def unfinished(self, fileid):
        """What has no name any more may be."""
        return self.state(fileid) != 0


def paths(root):
    yield root
    for base, dirs, files in os.walk(root):
        for name in dirs + files:
            yield os.path.join(base, name)
