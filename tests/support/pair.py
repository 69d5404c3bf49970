# SPDX-License-Identifier: GPL-3.0-or-later
"""A volume of stubs beside a plain copy of the same tree behind a plain server, for a guest that
mounts both.  What one does, the other must do."""
import os
import time

import smbd
import tree
import uml
from harness import no_differences, same
from sandbox import BASE, Host, sh
from servers import NEW, OLD, Ganesha, stack, volume

PLAIN = BASE + '/plain'
RESULTS = BASE + '/results'             # shared with the guest
OPTIONS = {('3', False): 'vers=3,proto=tcp,mountproto=tcp,nolock',
           ('3', True): 'vers=3,proto=tcp,mountproto=tcp', ('4.1', False): 'vers=4.1',
           ('4.2', False): 'vers=4.2',
           ('smb', False): f'vers=3.1.1,username=root,password={smbd.PASSWORD},nosharesock'}


class Pair:
    def __init__(self, build, fill, version, nlm=False, **settings):
        """fill(path) makes the old tree.  version: the guest's, '3', '4.1', '4.2' or 'smb'.  nlm: version
        3 has locks; the guest needs a statd then.  settings: of the volume."""
        self.env = {'OPTIONS': OPTIONS[version, nlm], 'RESULTS': RESULTS}
        self.begin = time.time_ns()
        os.makedirs(RESULTS, exist_ok=True)
        _, self.migration = stack(build, fill, **settings)
        volume(PLAIN)
        sh('cp', '-a', OLD + '/.', PLAIN)
        host = Host('plain')
        sh(*host.prefix, 'ip', 'route', 'add', uml.NETWORK, 'via', host.peer)
        with open('/proc/sys/net/ipv4/ip_forward', 'w') as forward:
            forward.write('1')
        self.migration.attach()
        if version == 'smb':
            share = PLAIN, {'vfs objects': smbd.STACK.replace('migrate ', '')}
            self.plain = smbd.Smbd('plain', {smbd.SHARE: share}, host=host).start()
            self.migration.start_smbd()
            self.env.update(PLAIN=f'//{self.plain.address}/{smbd.SHARE}', STUBS=smbd.SHARE)
            return
        exports = (PLAIN, NEW) if version == '3' else ('/export', '/export')
        self.plain = Ganesha('plain', PLAIN, host=host, nlm=nlm).start()
        self.migration.start_server(nlm=nlm)
        self.env.update(PLAIN=f'{self.plain.address}:{exports[0]}', STUBS=exports[1])

    def run(self, command, timeout, **env):
        """In a guest, with the mounts' OPTIONS; they are of $PLAIN and, by NFS, $VM_HOST:$STUBS, by
        SMB //$VM_HOST/$STUBS."""
        same(uml.run(command, timeout=timeout, shares=[RESULTS], memory=1536,
                     env={**self.env, **env}), 0, 'exit status of the guest')

    def finish(self, crawler=None, leave_out=()):
        """The migration goes to its end, and the trees are the same."""
        self.migration.ctl('throttle', argument='0')
        if crawler:
            print('the crawler was', 'still running' if crawler.poll() is None else 'done')
            same(crawler.wait(300), 0, 'exit status of the crawler')
        else:
            self.migration.crawl()
        self.migration.ctl('finalize')
        same(tree.records(NEW), [], 'objects with a record')
        no_differences(tree.compare(
            PLAIN, NEW, any_mtime=lambda st: st.st_mtime_ns >= self.begin, slack=1 << 30,
            leave_out=leave_out))
