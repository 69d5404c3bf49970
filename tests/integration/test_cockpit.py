#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page in Cockpit, with a real Cockpit, a real browser and real migrations."""
import contextlib
import os
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
ROW = 'tr[data-volume="{}"]'


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
        browser.until('both volumes are there', lambda: len(browser.all('tbody tr')) == 2)
        browser.until('one is shown', lambda: 'unattached' in browser.text(ROW.format('projects')))
        browser.until('the other has no retriever', lambda: 'no retriever' in browser.text(ROW.format('archive')))
        expect('1 need somebody' in browser.text('#sum'), browser.text('#sum'))
        browser.button('projects').click()
        browser.until('its page is there', lambda: browser.text('h1') == 'projects')
        browser.until('its actions are there', lambda: browser.button('Attach'))
        do(browser, 'Attach', 'clients can be switched')
        close(browser)
        browser.until('it is attached', lambda: 'migrating' in browser.text('dl'))
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
        picture(args, browser, 'volume')
        v.crawl('projects')
        browser.until('it is whole, without anything done', lambda: 'whole' in browser.text('dl'))
        expect('100 %' in browser.text('dl'), browser.text('dl'))
        do(browser, 'Verify', 'counts what is unfinished')
        browser.until('what it says is shown', lambda: 'all whole' in browser.text('dialog pre'))
        close(browser)
        do(browser, 'Finalize', 'removes all that the migration keeps')
        close(browser)
        browser.until('it is finished', lambda: 'finished' in browser.text('dl'))
        with open(BASE + '/systemctl') as said:
            same(said.read(), '--no-block start migrate-crawler@projects.service\n', 'what systemd was told')
        same(browser.complaints(), [], 'complaints of the browser')


def with_secrets():
    for name in ('a', HOSTILE):
        os.makedirs(f'{TREES}/old/projects/{name}')
        for number in range(2):
            path = f'{TREES}/old/projects/{name}/{number}'
            with open(path, 'w') as out:
                out.write(name)
            os.chmod(path, 0o600)
            os.chown(path, 1000, 1000)


@case()
def failures(args):
    """By reason: retried, and given up; nothing of the old server's is read as HTML."""
    v, shown = begin(args, ['projects'])
    with_secrets()
    host = old_server(f'{TREES}/old', export='Squash = Root_Squash; Attr_Expiration_Time = 0;').address
    v.source = f'nfs://{host}{TREES}/old'
    v.configure(['projects'])
    v.start('projects')
    v.ctl('attach', 'projects')
    crawl = [v.program('migrate-crawler'), 'projects']
    Process('crawler', crawl).wait(120)
    with shown as browser:
        browser.until('failures are counted', lambda: browser.all(ROW.format('projects') + ' td')[-1].text == '4')
        browser.button('projects').click()
        browser.until('the reason is there', lambda: 'no_root_squash' in browser.text('section'))
        picture(args, browser, 'failures')
        row = browser.text('section tbody tr')
        expect(row.startswith('4 '), row)
        os.chmod(f'{TREES}/old/projects/a/0', 0o644)
        retry = [b for b in browser.all('section button') if b.text == 'Retry'][0]
        retry.click()
        browser.until('the dialog has the reason', lambda: 'no_root_squash' in browser.text('dialog'))
        browser.find('dialog .bar button').click()
        close(browser)
        Process('crawler-again', crawl).wait(120)
        browser.until('three are left', lambda: browser.text('section tbody tr').startswith('3 '))
        skip = [b for b in browser.all('section button') if b.text == 'Skip'][0]
        skip.click()
        browser.find('dialog .bar button').click()
        browser.until('a reason is asked for', lambda: 'Say why' in browser.text('dialog'))
        browser.find('dialog input').send_keys(HOSTILE)
        browser.find('dialog .bar button').click()
        close(browser)
        browser.until('nothing failed any more', lambda: not browser.find('section').is_displayed())
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
    v, shown = begin(args, names, v000='limits = 00:00-24:00 9/s')
    v.start(*names[:3])
    v.ctl('attach', *names[1:3])
    v.crawl('v001')
    with shown as browser:
        browser.until('all are there', lambda: '200 of 200 volumes' in browser.text('#sum'))
        picture(args, browser, 'volumes')
        browser.find('#filter').send_keys('v00')
        browser.until('they are filtered', lambda: '10 of 200 volumes' in browser.text('#sum'))
        same(len([r for r in browser.all('tbody tr') if r.is_displayed()]), 10, 'rows')
        browser.press('TAB')
        same(browser.focus(), 'Only what needs somebody', 'the next one')
        browser.press('SPACE')
        browser.until('only those', lambda: '7 of 200 volumes' in browser.text('#sum'))
        browser.press('SPACE')
        browser.until('all again', lambda: '10 of 200 volumes' in browser.text('#sum'))
        browser.press('TAB')
        same(browser.focus(), 'v000', 'the first volume')
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


def unnamed(browser, within='body'):
    for element in browser.all(', '.join(f'{within} {tag}' for tag in
                                         ('button', 'input', 'progress', 'section', 'table', 'pre'))):
        if element.is_displayed():
            expect(element.accessible_name, f'nothing is spoken of {element.get_attribute("outerHTML")[:200]}')


def options(parser):
    parser.add_argument('--pictures', metavar='DIR', help='where pictures of the page are put')


if __name__ == '__main__':
    sys.exit(main(options))
