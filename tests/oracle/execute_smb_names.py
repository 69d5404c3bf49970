# SPDX-License-Identifier: GPL-3.0-or-later
"""execute_smb.py's operations on names, listings, attributes and security descriptors."""
import struct

import door_smb
import smb2
from execute import Missing


NO_LISTING = {'missing': 'listing'}
RESTART, SINGLE = 1, 2


class Listing:
    """One under way.  cookies: not of SMB."""

    def __init__(self, opened, op):
        self.opened, self.op = opened, op
        self.entries, self.eof, self.first = [], False, True
        self.cut = False                # ended when it was taken up again


def rename_data(to, replace):
    raw = to.encode('utf-16-le')
    return struct.pack('<B7xQI', replace, 0, len(raw)) + raw


class SmbNames:
    # ---- names ----------------------------------------------------------------------------------

    def do_smb_create(self, op, door, out):
        """Opens, in any way, and closes."""
        session = door.session(op.get('who', 0))
        reply, = door.ask(session, self.create_request(op))
        if not self.step(out, reply):
            return
        fid = door_smb.created(reply, out)
        self.step(out, door.ask(session, smb2.close(fid, False))[0])

    def do_smb_rename(self, op, door, out):
        to = self.path_of({**op, 'stream': None}, 'to')
        self.act(op, door, out, lambda fid: smb2.set_info(
            fid, smb2.INFO_FILE, door_smb.RENAME, rename_data(to, op.get('replace', False))),
            smb2.DELETE | smb2.READ_ATTRIBUTES)

    def do_smb_link(self, op, door, out):
        to = self.path_of({**op, 'stream': None}, 'to')
        self.act(op, door, out, lambda fid: smb2.set_info(
            fid, smb2.INFO_FILE, door_smb.LINK, rename_data(to, op.get('replace', False))),
            smb2.WRITE_ATTRIBUTES | smb2.READ_ATTRIBUTES)

    def do_smb_delete(self, op, door, out):
        """Sets or takes back the disposition; a close then does it."""
        self.act(op, door, out, lambda fid: smb2.set_info(
            fid, smb2.INFO_FILE, door_smb.DISPOSITION, bytes([op.get('on', True)])), smb2.DELETE)

    # ---- listings -------------------------------------------------------------------------------

    def do_smb_list(self, op, door, out):
        """All of a directory."""
        opened = self.open_for(op, door, out, smb2.READ_DATA | smb2.READ_ATTRIBUTES)
        if opened:
            self.more(Listing(opened, op), 10**6, out)
            self.step(out, self.close_open(opened))

    def do_smb_pages(self, op, _door, out):
        """Some more of a directory that is open."""
        opened = self.opened(op)
        if op.get('start') or not opened.enumerating:
            if not op.get('start'):
                raise Missing(NO_LISTING)
            opened.enumerating = Listing(opened, op)
        before = len(opened.enumerating.entries)
        self.more(opened.enumerating, op['pages'], out)
        opened.enumerating.cut = opened.enumerating.eof and before == len(
            opened.enumerating.entries)

    def more(self, listing, pages, out):
        opened, op = listing.opened, listing.op
        while pages and not listing.eof:
            pages -= 1
            flags = (SINGLE if op.get('single') else 0) | (RESTART if listing.first else 0)
            reply, = opened.door.ask(opened.session, smb2.query_directory(
                opened.fid, op['level'], op.get('pattern', '*'), flags, op.get('largest', 65536)))
            listing.first = False
            if reply.status == smb2.NO_MORE_FILES:
                listing.eof = True
                break
            if reply.status:            # how many there are depends on the order of names
                self.step(out, reply)
                return
            listing.entries += door_smb.listed(op['level'], smb2.output(reply))
        out['listing'] = listing

    # ---- attributes -----------------------------------------------------------------------------

    def do_smb_info(self, op, door, out):
        more = bytes.fromhex(op.get('data', ''))
        reply = self.act(op, door, out, lambda fid: smb2.query_info(
            fid, smb2.INFO_FILE, op['level'], more, largest=op.get('largest', 65536)),
            smb2.READ_ATTRIBUTES | (smb2.READ_EA if op['level'] == door_smb.FULL_EA else 0))
        if reply and reply.status == smb2.SUCCESS:
            door_smb.information(op['level'], smb2.output(reply), out, out['fileid'])

    def do_smb_fs(self, op, door, out):
        reply = self.act({**op, 'at': ''}, door, out, lambda fid: smb2.query_info(
            fid, smb2.INFO_FS, op['level']), smb2.READ_ATTRIBUTES)
        if reply:
            out['fs'] = op['level'], smb2.output(reply)

    def do_smb_set(self, op, door, out):
        """Basic attributes; a time is given in ns, or as 0 (as it is), -1 or -2 (stop and go on
        moving by itself)."""
        def value(key):
            at = op['new'].get(key, 0)
            return at if at <= 0 else door_smb.nttime(at)
        data = struct.pack('<qqqqII', *(value(k) for k in ('btime', 'atime', 'mtime', 'ctime')),
                           op['new'].get('dos', 0), 0)
        self.act(op, door, out, lambda fid: smb2.set_info(
            fid, smb2.INFO_FILE, door_smb.BASIC, data), smb2.WRITE_ATTRIBUTES |
            smb2.READ_ATTRIBUTES)

    def do_smb_size(self, op, door, out):
        level = door_smb.ALLOCATION if op.get('allocation') else door_smb.END_OF_FILE
        self.act(op, door, out, lambda fid: smb2.set_info(
            fid, smb2.INFO_FILE, level, struct.pack('<Q', op['size'])),
            smb2.WRITE_DATA | smb2.READ_ATTRIBUTES)

    def do_smb_ea(self, op, door, out):
        data = smb2.ea_list([(n.encode(), v.encode()) for n, v in op['ea']])
        self.act(op, door, out, lambda fid: smb2.set_info(
            fid, smb2.INFO_FILE, door_smb.FULL_EA, data), smb2.WRITE_EA | smb2.READ_ATTRIBUTES)

    def do_smb_sd(self, op, door, out):
        """Asks for a security descriptor, or sets it."""
        access = smb2.READ_CONTROL | (smb2.SYSTEM_SECURITY if op['what'] & 8 else 0)
        if 'sd' not in op:
            reply = self.act(op, door, out, lambda fid: smb2.query_info(
                fid, smb2.INFO_SECURITY, 0, additional=op['what']), access)
            if reply:
                out['sd'] = smb2.output(reply)
            return
        access |= smb2.WRITE_DAC | (smb2.WRITE_OWNER if op['what'] & 3 else 0)
        self.act(op, door, out, lambda fid: smb2.set_info(
            fid, smb2.INFO_SECURITY, 0, bytes.fromhex(op['sd']), op['what']), access)




