# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of other Debian suites than this machine's, from its own package sources with the suite's
name put in; apt checks them as it does its own."""
import contextlib
import glob
import os
import re
import tempfile

from sandbox import Failure, sh


def codename():
    with open('/etc/os-release') as lines:
        found = re.search(r'^VERSION_CODENAME="?(\w+)', lines.read(), re.M)
    if not found:
        raise Failure('/etc/os-release has no VERSION_CODENAME: this runs on Debian only')
    return found.group(1)


def one_line(types, options, uri, suites, components, here, wanted):
    """The entries for the suite wanted, if it is one of this machine's Debian release."""
    release = wanted.removesuffix('-backports')
    if wanted == 'sid':     # a mirror that follows it no longer is enough: its index ends after a week
        options = '[' + ' '.join(['check-valid-until=no', *options.strip('[] ').split()]) + '] '
    if 'deb' not in types or 'main' not in components:
        return
    for suite in suites:
        if suite == here:
            for name in dict.fromkeys((release, wanted)):
                yield f'deb {options}{uri} {name} main'
        elif suite in (here + '-updates', here + '-security') and release != 'sid':
            yield f'deb {options}{uri} {suite.replace(here, release)} main'


def deb822(text, here, wanted):
    for stanza in re.split(r'\n\s*\n', re.sub(r'^#.*\n?', '', text, flags=re.M)):
        fields = {k.lower(): v.split() for k, v in
                  re.findall(r'^(\S+):((?:.*\n?)(?:[ \t].*\n?)*)', stanza, re.M)}
        if fields.get('enabled', ['yes'])[0] == 'no' or 'uris' not in fields:
            continue
        signed = fields.get('signed-by', [])
        options = f'[signed-by={signed[0]}] ' if len(signed) == 1 else ''
        for uri in fields['uris']:
            yield from one_line(fields.get('types', []), options, uri, fields.get('suites', []),
                                fields.get('components', []), here, wanted)


def classic(text, here, wanted):
    for line in text.splitlines():
        found = re.match(r'\s*deb\s+(\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)', line)
        if found:
            yield from one_line(['deb'], found[1] or '', found[2], [found[3]], found[4].split(), here,
                                wanted)


def sources(wanted):
    here, lines = codename(), []
    for path in glob.glob('/etc/apt/sources.list.d/*.sources'):
        with open(path) as file:
            lines += deb822(file.read(), here, wanted)
    for path in ['/etc/apt/sources.list', *glob.glob('/etc/apt/sources.list.d/*.list')]:
        if os.path.exists(path):
            with open(path) as file:
                lines += classic(file.read(), here, wanted)
    if not lines:
        raise Failure(f'no source of {here} in /etc/apt: nothing to derive that of {wanted} from')
    return ''.join(line + '\n' for line in dict.fromkeys(lines))


@contextlib.contextmanager
def apt(suite):
    """What apt-get and apt-cache are to be told, so that they know the packages of a suite, and no
    others.  Needs the network."""
    with tempfile.TemporaryDirectory() as work:
        with open(work + '/sources.list', 'w') as out:
            out.write(sources(suite))
        settings = {'APT::Sandbox::User': 'root', 'APT::Default-Release': suite, 'Dir::State': work,
                    'Dir::State::status': '/dev/null', 'Dir::Cache': work,
                    'Dir::Etc::SourceList': work + '/sources.list', 'Dir::Etc::SourceParts': '-',
                    'Dir::Etc::Preferences': '-', 'Dir::Etc::PreferencesParts': '-'}
        options = ['-q', *(word for k, v in settings.items() for word in ('-o', f'{k}={v}'))]
        sh('apt-get', *options, 'update')
        yield options


def unpack(options, package, where):
    """options: of apt()."""
    with tempfile.TemporaryDirectory() as scratch:
        sh('apt-get', *options, 'download', package, cwd=scratch)
        file, = glob.glob(scratch + '/*.deb')
        sh('dpkg', '-x', file, where)
