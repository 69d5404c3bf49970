# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates of the sandbox's own, and RPC-with-TLS (RFC 9289) before a server that has none."""
import contextlib
import queue
import select
import socket
import ssl
import struct

from proxy import read_record
from sandbox import BASE, sh

AUTH_TLS = 7
EXTENSIONS = f'{BASE}/extensions'
ENDED = f'{BASE}/ended'
CA = f'''[ca]
default_ca = ended
[ended]
database = {ENDED}.index
new_certs_dir = {BASE}
rand_serial = yes
policy = any
[any]
commonName = supplied
'''


class Authority:
    """Whom only those trust who know of it."""

    def __init__(self, name='ca'):
        self.key, self.certificate = f'{BASE}/{name}.key', f'{BASE}/{name}.crt'
        sh('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
           '-keyout', self.key, '-out', self.certificate, '-subj', f'/CN={name}', '-days', '30')

    def certify(self, name, *alternatives, ended=False):
        """(certificate, key) of a host, which is called so; "IP:ADDRESS" or "DNS:NAME"."""
        key, request, certificate = (f'{BASE}/{name}.{end}' for end in ('key', 'csr', 'crt'))
        with open(EXTENSIONS, 'w') as out:
            out.write('subjectAltName=' + ','.join(alternatives or [f'DNS:{name}']) + '\n')
        sh('openssl', 'req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
           '-keyout', key, '-out', request, '-subj', f'/CN={name}')
        if ended:                       # newer releases of x509 make none
            with open(ENDED, 'w') as out:
                out.write(CA)
            open(ENDED + '.index', 'w').close()
            sh('openssl', 'ca', '-batch', '-config', ENDED, '-in', request, '-cert', self.certificate,
               '-keyfile', self.key, '-md', 'sha256', '-startdate', '20200101000000Z',
               '-enddate', '20200102000000Z', '-extfile', EXTENSIONS, '-notext', '-out', certificate)
        else:
            sh('openssl', 'x509', '-req', '-in', request, '-CA', self.certificate, '-CAkey', self.key,
               '-CAcreateserial', '-out', certificate, '-days', '30', '-extfile', EXTENSIONS)
        return certificate, key


class TlsProxy:
    """Before the NFS service of a server (servers.Ganesha with port and announced): lets nobody in
    without TLS."""

    def __init__(self, server, certificate, key, clients=None):
        """clients: the certificate of an authority, of which theirs have to be."""
        self.server = server
        self.present(certificate, key, clients)
        self.began = 0              # connections that are by TLS
        self.starttls = b'STARTTLS'
        self.behind = b''           # sent after that in the clear
        self.connections = set()
        ready = queue.Queue()
        server.host.thread(lambda: self.listen(ready))
        ready.get()

    def present(self, certificate, key, clients=None):
        """From the next connection on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(['sunrpc'])
        if clients:
            context.load_verify_locations(clients)
            context.verify_mode = ssl.CERT_REQUIRED
        self.context = context

    def listen(self, ready):
        with socket.create_server((self.server.address, self.server.announced)) as listener:
            ready.put(None)
            while True:
                client, _ = listener.accept()
                self.server.host.thread(lambda client=client: self.serve(client))

    def serve(self, client):
        with contextlib.suppress(OSError), client:
            record = read_record(client)
            if not record:
                return
            xid, flavour = struct.unpack_from('>4xI20xI', record)
            if flavour != AUTH_TLS:
                client.sendall(struct.pack('>6I', 1 << 31 | 20, xid, 1, 1, 1, 5))   # AUTH_TOOWEAK
                return
            text = self.starttls
            client.sendall(struct.pack('>6I', 1 << 31 | 20 + 4 + len(text), xid, 1, 0, 0, len(text)) +
                           text + struct.pack('>I', 0) + self.behind)
            with self.context.wrap_socket(client, server_side=True) as secure, \
                    socket.create_connection((self.server.address, self.server.port)) as inner:
                self.began += 1
                self.connections.add(secure)
                relay(secure, inner)
                self.connections.discard(secure)

    def reset(self):
        """The connections there are end."""
        for secure in list(self.connections):
            with contextlib.suppress(OSError):
                secure.shutdown(socket.SHUT_RDWR)


def relay(secure, inner):
    """Until one of them ends.  By one thread: TLS takes no two at once."""
    waiting = {secure: bytearray(), inner: bytearray()}         # to be sent
    other = {secure: inner, inner: secure}
    for sock in waiting:
        sock.setblocking(False)
    while True:
        reads = [sock for sock in waiting if len(waiting[other[sock]]) < 1 << 20]
        ready = [sock for sock in reads if sock is secure and secure.pending()]
        if not ready:
            ready, _, _ = select.select(reads, [sock for sock in waiting if waiting[sock]], [])
        for sock in ready:
            with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError):
                data = sock.recv(1 << 16)
                if not data:
                    return
                waiting[other[sock]] += data
        for sock, data in waiting.items():
            with contextlib.suppress(BlockingIOError, ssl.SSLWantWriteError):
                if data:
                    del data[:sock.send(bytes(data[:1 << 16]))]
