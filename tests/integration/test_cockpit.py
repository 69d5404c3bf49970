#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page in Cockpit, with a real Cockpit, a real browser and real migrations."""
import contextlib
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'support'))
from browser import Browser                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, Process, layered, wait_for                    # noqa: E402
from servers import REPO, old_server                                    # noqa: E402
from volumes import TREES, Volumes                                      # noqa: E402

PAGE = REPO + '/packaging/cockpit'
CONFIG = '/etc/quickmigrate'
HOSTILE = '<img src=x onerror=document.title=1>'
STEERING = '"\'\u202egpj.\x1b[31m\u05d0'
CARD = 'li[data-volume="{}"]'
FAILED = '[aria-label=Failures]'


def begin(args, names, **kw):
    """The volumes, with a configuration where the page looks for it; migratectl and systemctl in the
    path.  No systemd runs here: its place is taken by a program that notes what it was told."""
    v = Volumes(args.build, names, **kw)
    programs = BASE + '/programs'
    os.mkdir(programs)
    os.symlink(v.program('migratectl'), programs + '/migratectl')
    with open(programs + '/systemctl', 'w') as out:
        out.write(f'#!/bin/sh\necho "$@" >>{BASE}/systemctl\n')
    os.chmod(programs + '/systemctl', 0o755)
    layered('/etc')
    os.makedirs(CONFIG, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(CONFIG + '/quickmigrate.conf')
    os.symlink(v.config, CONFIG + '/quickmigrate.conf')
    return v, Browser(PAGE, programs)


def picture(args, browser, name):
    if args.pictures:
        os.makedirs(args.pictures, exist_ok=True)
        browser.driver.save_screenshot(f'{args.pictures}/{name}.png')


def do(browser, name, wanted, **fields):
    """Opens the dialog of an action by its button, looks at what it says, and starts it."""
    browser.button(name).click()
    browser.until('the dialog is there', lambda: browser.find('dialog'))
    expect(wanted in browser.text('dialog'), f'{name} says: {browser.text("dialog")}')
    for field, value in fields.items():
        box = browser.find(f'dialog #field-{field}')
        box.clear()
        box.send_keys(value)
    browser.find('dialog .bar button').click()


def close(browser):
    browser.until('it is done', lambda: browser.button('Close', 'dialog').is_displayed())
    browser.button('Close', 'dialog').click()
    browser.until('the dialog is gone', lambda: not browser.all('dialog'))


@case(short=True)
def a_migration(args):
    """From attach to finalize, as somebody does who looks at the page only."""
    v, shown = begin(args, ['projects', 'archive'])
    v.start('projects')
    with shown as browser:
        browser.until('both volumes are there', lambda: len(browser.all('li[data-volume]')) == 2)
        browser.until('one is shown', lambda: 'unattached' in browser.text(CARD.format('projects')))
        browser.until('the other has no retriever', lambda: 'no retriever' in browser.text(CARD.format('archive')))
        expect('1 volume needs you' in browser.text('#sum'), browser.text('#sum'))
        same(order(browser), ['archive', 'projects'], 'what needs somebody is first')
        browser.button('projects').click()
        browser.until('its page is there', lambda: browser.text('h1') == 'projects')
        browser.until('its actions are there', lambda: browser.button('Attach'))
        do(browser, 'Attach', 'clients can be switched')
        close(browser)
        browser.until('it is attached', lambda: browser.text('#state') == 'migrating')
        do(browser, 'Bring everything', 'Starts the crawler')
        close(browser)
        do(browser, 'Throttle', 'What clients wait for is not limited', bytes='7M')
        close(browser)
        browser.until('the throttle is shown', lambda: '7.0 MiB/s (by throttle)' in browser.text('dl'))
        same(v.status('projects')['now']['bandwidth'], 7 << 20, 'the throttle')
        do(browser, 'Throttle', 'What clients wait for is not limited', bytes='many')
        browser.until('it is refused', lambda: browser.text('dialog [role=alert]') or
                      'no number' in browser.text('dialog'))
        browser.press('ESCAPE')
        browser.until('the dialog is gone', lambda: not browser.all('dialog'))
        do(browser, 'Pause', 'Clients are served as before')
        close(browser)
        browser.until('it can be resumed', lambda: browser.button('Resume'))
        same(v.status('projects')['now']['paused'], True, 'paused')
        do(browser, 'Resume', 'goes on')
        close(browser)
        v.crawl('projects')
        browser.until('it is whole, without anything done', lambda: browser.text('#state') == 'whole')
        browser.until('by one measure', lambda: '100 % of 293.0 KiB' in browser.text('.measure'))
        expect('Compare contents, then finalize' in browser.text('.next'), browser.text('main'))
        browser.until('what else is known', lambda: 'Free space' in browser.text('dl'))
        expect('Journal' in browser.text('dl'), browser.text('dl'))
        do(browser, 'Verify', 'counts what is unfinished')
        browser.until('what it says is shown', lambda: 'all whole' in browser.text('dialog pre'))
        close(browser)
        do(browser, 'Finalize', 'removes all that the migration keeps')
        close(browser)
        browser.until('it is finished', lambda: browser.text('#state') == 'finished')
        with open(BASE + '/systemctl') as said:
            same(said.read(), '--no-block start migrate-crawler@projects.service\n', 'what systemd was told')
        same(browser.complaints(), [], 'complaints of the browser')


def with_secrets():
    for name in ('a', HOSTILE, STEERING):
        os.makedirs(f'{TREES}/old/projects/{name}')
        for number in range(2):
            path = f'{TREES}/old/projects/{name}/{number}'
            with open(path, 'w') as out:
                out.write(name)
            os.chmod(path, 0o600)
            os.chown(path, 1000, 1000)


def order(browser):
    return [card.get_attribute('data-volume') for card in browser.all('li[data-volume]')]


# What goes beyond the edge.
BEYOND = """
return [...document.querySelectorAll('body, body *')]
        .filter(one => one.getClientRects().length)
        .filter(one => one.getBoundingClientRect().right > innerWidth || one.scrollWidth > innerWidth)
        .map(one => one.outerHTML.slice(0, 300));
"""


def narrow(browser):
    """On a phone nothing scrolls sideways."""
    browser.width(360)
    same(browser.driver.execute_script('return innerWidth'), 360, 'the width')
    same(browser.driver.execute_script(BEYOND), [], 'what goes beyond the edge')
    browser.width(None)


def press(browser, name):
    """A button of the failures, which may be drawn anew at any time."""
    def pressed():
        [b for b in browser.all(FAILED + ' button') if b.text == name][0].click()
        return True
    browser.until(f'{name} is pressed', pressed)


def background(browser):
    return browser.driver.execute_script(
        'return getComputedStyle(document.querySelector(".good, .bad, #migration-page body")).backgroundColor')


def choose_dark(browser):
    browser.driver.execute_script('localStorage.setItem("shell:style", "dark"); dispatchEvent(new Event("storage"))')


# What the retriever could say, and what is said of it.
SAID = """
const done = arguments[0];
Promise.all([import('./volumes.js'), import('./actions.js'), import('./parts.js')]).then(([v, a, p]) => {
    const volume = (state, counters, now = {}, more = {}) => ({
        volume: { name: 'v', state }, namespace: { complete: true }, rest: {},
        now: { crawlers: 1, bytes_per_second: 0, ...now },
        counters: { bytes_found: 1000, bytes_whole: 450, files_found: 9, files_whole: 8, errors: 0, ...counters },
        ...more });
    const guarded = { guard: { wanted: true, guarded: true } };
    const all = {
        silent: { volume: { name: 'v', state: 'no retriever' } },
        zeros: volume('migrating', {}, {}, { doors: { without_layer: 'smbd' } }),
        away: volume('migrating', {}, { source_away_seconds: 70 }),
        failed: volume('migrating', { errors: 2 }),
        full: volume('migrating', {}, {}, { room: { avail: 500, size: 1000 } }),
        bare: volume('migrating', {}, {}, { guard: { wanted: true, guarded: false } }),
        paused: volume('migrating', {}, { paused: true }),
        good: volume('migrating', {}, {}, { ...guarded, room: { avail: 551 }, journal: { complete: true } }),
        begun: volume('unattached', {}),
        whole: volume('whole', { bytes_whole: 1000, files_whole: 9 }),
    };
    const empty = volume('migrating', { bytes_found: 0, bytes_whole: 0 });
    const nearly = volume('migrating', { bytes_whole: 1000 });

    done({ order: Object.keys(all).sort((a, b) => v.rank(all[a]) - v.rank(all[b])),
           needs: Object.keys(all).filter(key => v.needs(all[key]).length),
           measures: [all.good, empty, nearly, all.whole].map(one => v.measure(one).text), none: v.measure(all.begun),
           skips: [13, 28, 122, 5, 121].filter(a.canSkip), room: a.remedy(28), inert: p.inert('a\\u202eb\\u0007') });
}, error => done(String(error)));
"""


@case()
def what_is_said(args):
    """Of each state: what comes first, what is a need, one measure, and what cannot be skipped."""
    v, shown = begin(args, ['projects'])
    with shown as browser:
        same(browser.driver.execute_async_script(SAID), {
            'order': ['silent', 'zeros', 'away', 'failed', 'full', 'bare', 'paused', 'good', 'begun', 'whole'],
            'needs': ['silent', 'zeros', 'away', 'failed', 'full', 'bare'],
            'measures': ['45 % of 1000 bytes', '88.8 % of 9 files', '99.9 % of 1000 bytes', '100 % of 1000 bytes'],
            'none': None, 'skips': [13, 121], 'room': 'Make room on the new server, then retry.',
            'inert': 'a\\u202eb\\u0007'}, 'what is said')
        light = background(browser)
        browser.prefer('dark')
        browser.until('it is dark', lambda: background(browser) != light)
        browser.prefer('light')
        browser.until('it is light', lambda: background(browser) == light)
        choose_dark(browser)
        browser.until('it is dark as Cockpit is', lambda: background(browser) != light)


@case()
def a_page_of_a_check(args):
    """In a file of its own: on a phone nothing scrolls sideways, names are text, and it can be dark."""
    v, shown = begin(args, ['projects'])
    with_secrets()
    v.ctl('check', 'projects')
    with shown as browser:
        browser.driver.get(f'file://{BASE}/projects-check.html')
        same(browser.text('h1')[:5], 'Check', 'the page')
        expect(HOSTILE in browser.text('body'), browser.text('body'))
        expect(not re.search('[\0-\x08\x0b-\x1f\u202e]', browser.text('body')), browser.text('body'))
        same(browser.all('img'), [], 'elements made of names')
        picture(args, browser, 'check')
        narrow(browser)
        light = background(browser)
        browser.prefer('dark')
        browser.until('it is dark', lambda: background(browser) != light)
        picture(args, browser, 'check-dark')
        same(browser.complaints(), [], 'complaints of the browser')


@case()
def failures(args):
    """By reason: retried, and given up; nothing of the old server's is read as HTML, or steers what is shown."""
    v, shown = begin(args, ['archive', 'music', 'plans', 'projects'], defaults='guard = no')
    with_secrets()
    host = old_server(f'{TREES}/old', export='Squash = Root_Squash; Attr_Expiration_Time = 0;').address
    v.source = f'nfs://{host}{TREES}/old'
    v.configure(['archive', 'music', 'plans', 'projects'], '[defaults]\nguard = no\n')
    v.start('archive', 'music', 'plans', 'projects')
    v.ctl('attach', 'archive', 'music', 'projects')
    v.crawl('archive')
    crawl = [v.program('migrate-crawler'), 'projects']
    Process('crawler', crawl).wait(120)
    with shown as browser:
        browser.until('failures are counted', lambda: '6 objects failed' in browser.text(CARD.format('projects')))
        same(order(browser), ['projects', 'music', 'plans', 'archive'], 'from what needs somebody to what is whole')
        same([card.get_attribute('data-volume') for card in browser.all('li.help')], ['projects'], 'what is marked')
        narrow(browser)
        browser.button('projects').click()
        browser.until('the reason is there', lambda: 'no_root_squash' in browser.text(FAILED))
        browser.until('with paths', lambda: len(browser.all('.paths li')) == 6)
        expect(HOSTILE in browser.text('.paths'), browser.text('.paths'))
        expect(not re.search('[\0-\x08\x0b-\x1f\u202e]', browser.text('main')), browser.text('main'))
        browser.until('all is known', lambda: 'Free space' in browser.text('dl'))
        narrow(browser)
        row = browser.text(FAILED + ' summary')
        same(row, '6 objects', 'the reason')
        os.chmod(f'{TREES}/old/projects/a/0', 0o644)
        press(browser, 'Retry')
        browser.until('the dialog has the reason', lambda: 'no_root_squash' in browser.text('dialog'))
        browser.find('dialog .bar button').click()
        close(browser)
        Process('crawler-again', crawl).wait(120)
        browser.until('one less', lambda: browser.text(FAILED + ' summary') == '5 objects')
        press(browser, 'Skip')
        narrow(browser)
        browser.find('dialog .bar button').click()
        browser.until('a reason is asked for', lambda: 'Say why' in browser.text('dialog'))
        browser.find('dialog input').send_keys(HOSTILE)
        browser.find('dialog .bar button').click()
        close(browser)
        browser.until('nothing failed any more', lambda: not browser.find(FAILED).is_displayed())
        do(browser, 'Report', 'could not be carried over')
        browser.until('the report has the name as text', lambda: HOSTILE in browser.text('dialog pre'))
        close(browser)
        same(browser.all('img'), [], 'elements made of names')
        expect(browser.driver.title == 'File server migration', browser.driver.title)
        same(browser.complaints(), [], 'complaints of the browser')


@case()
def two_hundred(args):
    """Shown and filtered; all of it by keyboard alone; and each control has a name that is spoken."""
    names = [f'v{n:03}' for n in range(200)]
    v, shown = begin(args, names, defaults='guard = no', v000='limits = 00:00-24:00 9/s')
    v.start(*names[:3])
    v.ctl('attach', *names[1:3])
    v.crawl('v001')
    with shown as browser:
        browser.until('all are there', lambda: '200 of 200 volumes' in browser.text('#sum'))
        browser.press('END')
        browser.until('it is scrolled', lambda: browser.driver.execute_script('return scrollY') > 1000)
        browser.find('#filter').send_keys('v00')
        browser.until('they are filtered', lambda: '10 of 200 volumes' in browser.text('#sum'))
        same(len([card for card in browser.all('li[data-volume]') if card.is_displayed()]), 10, 'cards')
        browser.press('TAB')
        same(browser.focus(), 'Only what needs you', 'the next one')
        browser.press('SPACE')
        browser.until('only those', lambda: '7 of 200 volumes' in browser.text('#sum'))
        browser.press('SPACE')
        browser.until('all again', lambda: '10 of 200 volumes' in browser.text('#sum'))
        browser.press('TAB')
        same(browser.focus(), 'v003', 'the first volume')
        while browser.focus() != 'v000':
            browser.press('TAB')
        browser.press('ENTER')
        browser.until('its page is there', lambda: browser.text('h1') == 'v000')
        browser.until('its calendar is shown', lambda: '00:00-24:00 9/s' in browser.text('dl'))
        browser.until('its actions are there', lambda: browser.button('Schedule'))
        unnamed(browser)
        while browser.focus() != 'Schedule':
            browser.press('TAB')
        browser.press('ENTER')
        browser.until('the field has the focus', lambda: browser.focus() == 'Limits')
        browser.press('nonsense', 'TAB', 'ENTER')
        browser.until('it is refused', lambda: 'limits' in browser.text('dialog [role=alert]'))
        unnamed(browser, 'dialog')              # what is behind it is out of reach
        box = browser.find('#field-limits')
        box.clear()
        box.send_keys('Mon-Fri 08:00-18:00 5M')
        browser.press('TAB', 'ENTER')
        wait_for('systemd is told', lambda: os.path.exists(BASE + '/systemctl'))
        with open(CONFIG + '/quickmigrate.conf') as file:
            text = file.read()
        expect('[volume v000]\nlimits = Mon-Fri 08:00-18:00 5M\n' in text and '9/s' not in text, text[:500])
        same(text.count('[volume '), 200, 'volumes of the configuration')
        browser.press('ESCAPE')
        same(browser.complaints(), [], 'complaints of the browser')


@case(long=True)
def pictures(args):
    """Those of the guide, into --pictures DIR."""
    names = ['archive', 'homes', 'music', 'plans', 'projects']
    v, shown = begin(args, names)
    for n in range(40):
        for name in 'music', 'homes':
            with open(f'{TREES}/old/{name}/more{n}', 'wb') as out:
                out.write(os.urandom(1000000))
    for folder, files in ('drawings', 7), ('mail', 3):
        os.mkdir(f'{TREES}/old/projects/{folder}')
        for n in range(files):
            with open(f'{TREES}/old/projects/{folder}/{2019 + n}.zip', 'wb') as out:
                os.fchmod(out.fileno(), 0o600)
                out.write(bytes(50000))
    v.source = f'nfs://{old_server(TREES + "/old", export="Squash = Root_Squash;").address}{TREES}/old'
    v.configure(names)
    v.start(*names)
    v.ctl('attach', 'archive', 'homes', 'music', 'projects')
    guards = [Process(f'guard-{name}', [f'{args.build}/guard/migrate-guard', name])
              for name in ('homes', 'music', 'projects')]
    v.crawl('archive')
    v.ctl('throttle', 'music', '1M')
    Process('crawler-homes', [v.program('migrate-crawler'), '--metadata-only', 'homes']).wait(120)
    v.ctl('pause', 'homes')
    Process('crawler', [v.program('migrate-crawler'), 'projects']).wait(120)
    Process('crawler-music', [v.program('migrate-crawler'), 'music'])
    with shown as browser:
        browser.until('it moves', lambda: '% of' in browser.text(CARD.format('music')))
        browser.until('failures are counted', lambda: '10 objects failed' in browser.text(CARD.format('projects')))
        browser.driver.set_window_size(1100, 860)
        picture(args, browser, 'volumes')
        browser.button('projects').click()
        browser.until('with paths', lambda: len(browser.all('.paths li')) == 6)
        browser.until('all is known', lambda: 'Free space' in browser.text('dl'))
        browser.driver.set_window_size(1100, 1260)
        picture(args, browser, 'failures')
        choose_dark(browser)
        picture(args, browser, 'dark')
        browser.width(360)
        picture(args, browser, 'phone')
    for guard in guards:
        guard.stop()


def unnamed(browser, within='body'):
    for element in browser.all(', '.join(f'{within} {tag}' for tag in
                                         ('button', 'input', 'progress', 'section', 'table', 'pre'))):
        if element.is_displayed():
            expect(element.accessible_name, f'nothing is spoken of {element.get_attribute("outerHTML")[:200]}')


def options(parser):
    parser.add_argument('--pictures', metavar='DIR', help='where pictures of the page are put')


if __name__ == '__main__':
    sys.exit(main(options))
