#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""migratectl metrics, as a real Prometheus sees it, and as node_exporter's text file; the alerts and the
dashboard that are shipped know only what there is."""
import http.client
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, Process, sh, wait_for                         # noqa: E402
from servers import REPO, VOLUME, stack                                 # noqa: E402

SHIPPED = REPO + '/packaging/monitoring'
RULES = SHIPPED + '/quickmigrate.rules.yml'
PORT, PROMETHEUS = 9934, 9090
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
    """In node_exporter's place: what the text file would have now."""
    class Endpoint(http.server.BaseHTTPRequestHandler):
        def do_GET(self):               # pylint: disable=invalid-name
            self.send_response(200)
            self.send_header('Content-Type', 'text/plain; version=0.0.4')
            self.end_headers()
            self.wfile.write(metrics(migration).stdout.encode())

        def log_message(self, *_):      # pylint: disable=arguments-differ
            pass
    server = http.server.ThreadingHTTPServer(('127.0.0.1', PORT), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def get(path):
    """Of Prometheus."""
    link = http.client.HTTPConnection('127.0.0.1', PROMETHEUS, timeout=60)
    link.request('GET', path)
    reply = link.getresponse()
    return reply.status, reply.read().decode()


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
             lambda: listens(PROMETHEUS) and get('/-/ready')[0] == 200,
             process=server)
    return server


def query(expression, kind='query', **more):
    """What Prometheus makes of it: a list of (labels, value)."""
    words = urllib.parse.urlencode({'query': expression, **more})
    status, text = get(f'/api/v1/{kind}?{words}')
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
    same(text, metrics(migration).stdout, 'in the file, and printed')
    refused = metrics(migration, '--textfile', BASE + '/none', check=False)
    same((refused.returncode, refused.stderr.count('\n')), (1, 1), refused.stderr)
    expect(BASE + '/none' in refused.stderr, refused.stderr)


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


@case(short=True)
def of_two_volumes(args):
    migration = world(args)
    start_endpoint(migration)
    in_a_text_file(migration)
    in_a_real_prometheus(migration)


@case()
def alerts(_):
    sh('promtool', 'check', 'rules', RULES)
    sh('promtool', 'test', 'rules', REPO + '/tests/integration/alerts.yml')


if __name__ == '__main__':
    sys.exit(main())
