#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""migratectl metrics, as a real Prometheus sees it: by HTTP, by node_exporter's text file; the alerts
and the dashboard that are shipped know only what there is."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, Process, sh, wait_for                         # noqa: E402
from servers import REPO, VOLUME, stack                                 # noqa: E402

SHIPPED = REPO + '/packaging/monitoring'
RULES = SHIPPED + '/quickmigrate.rules.yml'
PORT, PROMETHEUS = 9934, 9090
OPEN = 'application/openmetrics-text'
OTHER = 'other'                         # a volume without a retriever


def fill(root):
    for i in range(20):
        os.mkdir(f'{root}/{i}')
        for k in range(5):
            with open(f'{root}/{i}/{k}', 'wb') as out:
                out.write(os.urandom(10000))


def world(args):
    _, migration = stack(args.build, fill)
    os.mkdir(BASE + '/other')
    with open(migration.config, 'a') as out:
        out.write(f'[volume {OTHER}]\nroot={BASE}/other\nsource=nfs://192.0.2.1/other\n'
                  f'socket={BASE}/other.sock\n')
    return migration


def metrics(migration, *options, check=True):
    return subprocess.run([migration.program('migratectl'), '--config', migration.config, *options,
                           'metrics'], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=check)


def listens(port):
    with socket.socket() as test:
        return test.connect_ex(('127.0.0.1', port)) == 0


def start_endpoint(migration):
    """As migrate-metrics.socket has it."""
    endpoint = Process('endpoint', [
        'systemd-socket-activate', '--accept', '--inetd', '-l', f'127.0.0.1:{PORT}',
        migration.program('migratectl'), '--config', migration.config, '--http', 'metrics'])
    wait_for('the endpoint listens', lambda: listens(PORT), process=endpoint)


def get(path, method='GET', accept='text/plain', port=PORT):
    link = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
    link.request(method, path, headers={'Accept': accept})
    reply = link.getresponse()
    return reply.status, reply.getheader('Content-Type'), reply.read().decode()


def start_prometheus():
    config = BASE + '/prometheus.yml'
    with open(config, 'w') as out:
        json.dump({'global': {'scrape_interval': '2s', 'scrape_timeout': '2s',
                              'evaluation_interval': '2s'}, 'rule_files': [RULES],
                   'scrape_configs': [{'job_name': 'quickmigrate', 'scrape_interval': '5s',
                                       'scrape_timeout': '5s',
                                       'static_configs': [{'targets': [f'127.0.0.1:{PORT}']}]}]}, out)
    server = Process('prometheus', [
        'prometheus', f'--config.file={config}', f'--storage.tsdb.path={BASE}/prometheus',
        f'--web.listen-address=127.0.0.1:{PROMETHEUS}', '--log.level=warn'])
    wait_for('Prometheus is ready',
             lambda: listens(PROMETHEUS) and get('/-/ready', port=PROMETHEUS)[0] == 200,
             process=server)
    return server


def query(expression, kind='query', **more):
    """What Prometheus makes of it: a list of (labels, value)."""
    words = urllib.parse.urlencode({'query': expression, **more})
    status, _, text = get(f'/api/v1/{kind}?{words}', port=PROMETHEUS)
    same(status, 200, f'status of {expression}: {text}')
    return [(found['metric'], found['value'][1]) for found in json.loads(text)['data']['result']]


def lint(text):
    done = subprocess.run(['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True,
                          timeout=60, check=False)
    same((done.returncode, done.stderr), (0, ''), f'what promtool says of {text}')


def values(expression):
    return {labels['volume']: float(value) for labels, value in query(expression)}


def in_a_text_file(migration):
    place = BASE + '/node-exporter'
    os.mkdir(place)
    with open(place + '/quickmigrate.prom', 'w') as former:
        former.write('the former one')
    metrics(migration, '--textfile', place)
    same(os.listdir(place), ['quickmigrate.prom'], 'files')
    with open(place + '/quickmigrate.prom') as file:
        text = file.read()
    same(os.stat(file.name).st_mode & 0o777, 0o644, 'mode')
    lint(text)
    expect('# TYPE quickmigrate_fetched_bytes_total counter\n' in text, text)
    expect('# EOF' not in text, text)
    refused = metrics(migration, '--textfile', BASE + '/none', check=False)
    same((refused.returncode, refused.stderr.count('\n')), (1, 1), refused.stderr)
    expect(BASE + '/none' in refused.stderr, refused.stderr)


def by_http(migration):
    status, kind, text = get('/metrics?x=1', accept=f'{OPEN};version=1.0.0,text/plain;q=0.5')
    same((status, kind), (200, f'{OPEN}; version=1.0.0; charset=utf-8'), 'OpenMetrics')
    same(text, metrics(migration).stdout, 'by HTTP, and printed')
    expect(text.endswith('\n# EOF\n'), text)
    status, kind, text = get('/metrics')
    same((status, kind), (200, 'text/plain; version=0.0.4; charset=utf-8'), 'the older format')
    lint(text)
    same([get('/')[0], get('/metrics', 'POST')[0]], [404, 405], 'what there is not')
    for request in (b'\n', b'GET /metrics\r\n\r\n', b'x' * 100000, b'GET /metrics HTTP/1.1\r\n' +
                    b'a: b\r\n' * 200 + b'\r\n'):
        with socket.create_connection(('127.0.0.1', PORT)) as link:
            try:
                link.sendall(request)
                link.shutdown(socket.SHUT_WR)
                said = link.recv(100)
            except ConnectionError:             # it did not listen to the end
                continue
            expect(said.startswith(b'HTTP/1.1 400 '), f'{request[:20]}: {said}')


def in_a_real_prometheus(migration):
    server = start_prometheus()
    wait_for('the endpoint was scraped', lambda: query('up == 1'), process=server)
    same(values('quickmigrate_up'), {VOLUME: 1, OTHER: 0}, 'who answers')
    same([labels['state'] for labels, _ in query('quickmigrate_state == 1')], ['unattached'], 'state')
    same(query('quickmigrate_waiting_requests{volume="%s"}' % OTHER), [], 'of who does not answer')
    same(query('quickmigrate_guarded'), [({'__name__': 'quickmigrate_guarded', 'volume': VOLUME,
                                           'instance': f'127.0.0.1:{PORT}', 'job': 'quickmigrate'},
                                          '0')], 'labels')

    migration.attach()
    migration.crawl()
    status = migration.status()
    wait_for('it is whole', lambda: query('quickmigrate_state{state="whole"} == 1'), process=server)
    for name, key in (('files_whole', 'files_whole'), ('found_bytes', 'bytes_found'),
                      ('fetched_bytes_total', 'bytes_fetched'), ('failed_objects', 'errors')):
        same(values('quickmigrate_' + name), {VOLUME: status[key]}, name)
    wait_for('an alert says so', lambda: query('ALERTS{alertname="QuickmigrateWhole"}'),
             process=server)

    dashboard(migration)
    migration.retriever.send_signal(signal.SIGSTOP)         # who hangs holds nobody up
    text = metrics(migration).stdout
    migration.retriever.send_signal(signal.SIGCONT)
    expect(f'quickmigrate_up{{volume="{VOLUME}"}} 0\n' in text and '_files_whole' not in text, text)


def dashboard(migration):
    """Each of its panels finds what it shows."""
    with open(SHIPPED + '/quickmigrate-dashboard.json') as file:
        panels = json.load(file)['panels']
    expect(len(panels) > 5, 'there are panels')
    known = set(re.findall(r'^# TYPE (\S+)', metrics(migration).stdout, re.M))
    optional = {'quickmigrate_journal_changed_objects', 'quickmigrate_rollback_lag_seconds'}
    for panel in panels:
        for target in panel['targets']:
            expression = target['expr'].replace('$volume', '.*')
            found = query(expression)
            names = set(re.findall(r'quickmigrate_\w+', expression))
            if names & optional or '[5m]' in expression:        # too young for a rate
                continue
            expect(found, f'{panel["title"]}: {expression} finds nothing of {known}')


@case()
def of_two_volumes(args):
    migration = world(args)
    start_endpoint(migration)
    in_a_text_file(migration)
    by_http(migration)
    in_a_real_prometheus(migration)


@case()
def alerts(_):
    sh('promtool', 'check', 'rules', RULES)
    sh('promtool', 'test', 'rules', REPO + '/tests/integration/alerts.yml')


if __name__ == '__main__':
    sys.exit(main())
