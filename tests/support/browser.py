# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Cockpit with the page out of packaging/cockpit, in a real browser (headless Chromium)."""
import os
import socket

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from sandbox import BASE, Process, wait_for

PAGE = 'http://127.0.0.1:{}/cockpit/@localhost/quickmigrate/index.html'
PORT = 9090


class Browser:
    """with Browser(page's directory, programs' directory) as browser: the page is shown."""

    def __init__(self, directory, programs):
        packages = BASE + '/data/cockpit'
        os.makedirs(packages)
        os.symlink(directory, packages + '/quickmigrate')
        self.environment = {**os.environ, 'XDG_DATA_HOME': BASE + '/data', 'HOME': BASE,
                            'PATH': f'{programs}:{os.environ["PATH"]}'}

    def __enter__(self):
        cockpit = Process('cockpit', ['/usr/lib/cockpit/cockpit-ws', '--no-tls', '--address=127.0.0.1',
                                      f'--port={PORT}', '--local-session=cockpit-bridge'],
                          env=self.environment)
        wait_for('cockpit listens', self.listens, process=cockpit)
        options = webdriver.ChromeOptions()
        options.binary_location = '/usr/bin/chromium'
        for option in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
                       '--window-size=1280,900', f'--user-data-dir={BASE}/chromium'):
            options.add_argument(option)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
        self.driver = webdriver.Chrome(options=options, service=Service(
            '/usr/bin/chromedriver', service_args=[f'--log-path={BASE}/chromedriver.log']))
        self.driver.get(PAGE.format(PORT))
        self.until('the page is there', lambda: self.text('h1'))
        return self

    def __exit__(self, *_):
        self.driver.quit()

    @staticmethod
    def listens():
        with socket.socket() as test:
            return test.connect_ex(('127.0.0.1', PORT)) == 0

    def until(self, what, condition, seconds=30):
        """Elements may be gone between two looks."""
        def tried():
            try:
                return condition()
            except (WebDriverException, AssertionError, IndexError):
                return False
        wait_for(what, tried, seconds=seconds)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.find(selector).text

    def button(self, name, within='body'):
        """That is shown, by what is spoken of it."""
        found = [b for b in self.find(within).find_elements(By.TAG_NAME, 'button')
                 if b.is_displayed() and b.accessible_name == name]
        assert len(found) == 1, f'{len(found)} buttons are called {name}'
        return found[0]

    def press(self, *keys):
        self.driver.switch_to.active_element.send_keys(*(getattr(Keys, key, key) for key in keys))

    def focus(self):
        """What is spoken of the element that has it."""
        return self.driver.switch_to.active_element.accessible_name

    def width(self, pixels):
        """Of a phone's screen; None: as before."""
        if pixels:
            self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
                'width': pixels, 'height': 740, 'deviceScaleFactor': 1, 'mobile': True})
        else:
            self.driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})

    def prefer(self, scheme):
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {
            'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})

    def complaints(self):
        """Without those of Cockpit's own style sheet: 337 looks for its fonts in a wrong place."""
        return [entry['message'] for entry in self.driver.get_log('browser')
                if entry['level'] == 'SEVERE' and 'favicon' not in entry['message'] and
                '/system/assets/fonts/' not in entry['message']]
