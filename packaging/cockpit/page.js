/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page: all volumes, or one of them.  What changes is written into the elements that are there. */
/* global cockpit */
import { actions, reasons, retry, skip } from './actions.js';
import { button, bytes, make, pf, put, say } from './parts.js';
import { answers, calendarText, limitsText, needsHelp, portion, progressText, rateText, remainingText, state,
         watch } from './volumes.js';

const page = document.getElementById('page');
let volumes = [], view = null;

function heading(text) {
    return make('h1', { class: pf('title', '2xl') }, text);
}

function progress(label) {
    const bar = make('progress', { max: 100, 'aria-label': label });

    return { bar, show: volume => {
        const part = portion(volume);

        if (part === null)
            bar.removeAttribute('value');
        else
            bar.value = part;
        bar.hidden = !progressText(volume) || !answers(volume);
    } };
}

function table(caption, heads) {
    const body = make('tbody', { class: pf('table').replace(/(\S+)/g, '$1__tbody') });

    return { body, table: make('table', { class: 'rows ' + pf('table', 'grid-md') }, make('caption', {}, caption),
                               make('thead', {}, make('tr', {}, ...heads.map(head => make('th', { scope: 'col' }, head)))), body) };
}

/* ---- all volumes ---- */

function row(name) {
    const cells = Object.fromEntries(['state', 'text', 'rate', 'rest', 'errors'].map(key => [key, make('td', { class: key === 'errors' ? 'number' : 'text' })]));
    const part = progress(`How much of ${name} is whole`);
    const words = make('span');

    cells.text.append(part.bar, ' ', words);
    return {
        element: make('tr', { 'data-volume': name },
                      make('th', { scope: 'row' }, button(name, () => cockpit.location.go([name]), 'link')),
                      ...Object.values(cells)),
        show: volume => {
            put(cells.state, state(volume));
            part.show(volume);
            put(words, progressText(volume));
            put(cells.rate, rateText(volume));
            put(cells.rest, remainingText(volume));
            put(cells.errors, answers(volume) ? String(volume.counters.errors) : '');
        },
    };
}

function overview() {
    const rows = new Map();
    const filter = make('input', { type: 'search', id: 'filter', class: pf('form-control'), oninput: () => show() });
    const only = make('input', { type: 'checkbox', id: 'only', onchange: () => show() });
    const sum = make('p', { id: 'sum' });
    const list = table('Volumes', ['Volume', 'State', 'Whole', 'Rate', 'Remaining', 'Failed']);

    function wanted(volume) {
        const text = filter.value.toLowerCase();

        return (!only.checked || needsHelp(volume)) &&
               (!text || volume.volume.name.toLowerCase().includes(text) || state(volume).includes(text));
    }

    function show() {
        const names = new Set(volumes.map(volume => volume.volume.name));

        for (const [name, { element }] of rows) {
            if (!names.has(name)) {
                element.remove();
                rows.delete(name);
            }
        }
        for (const volume of volumes) {
            const name = volume.volume.name;

            if (!rows.has(name)) {
                rows.set(name, row(name));
                list.body.append(rows.get(name).element);
            }
            rows.get(name).show(volume);
            rows.get(name).element.hidden = !wanted(volume);
        }
        const shown = volumes.filter(wanted).length, help = volumes.filter(needsHelp).length;

        put(sum, volumes.length ? `${shown} of ${volumes.length} volumes are shown; ${help} need somebody.`
                                : 'There is no volume in the configuration yet; see quickmigrate.conf(5).');
    }

    page.replaceChildren(heading('File server migration'),
                         make('div', { class: 'bar' },
                              make('div', {}, make('label', { for: 'filter' }, 'Name or state'), filter),
                              make('div', {}, only, make('label', { for: 'only' }, 'Only what needs somebody'))),
                         sum, list.table);
    return show;
}

/* ---- one volume ---- */

function failures(name) {
    const list = table('What failed, by reason', ['Objects', 'Reason', 'Actions']);
    const part = make('section', { class: 'part', 'aria-label': 'Failures', hidden: true }, list.table);
    let known = -1;

    async function load() {
        try {
            const found = await reasons(name);

            part.hidden = !found.length;
            list.body.replaceChildren(...found.map(({ reason, count }) => make('tr', {},
                make('td', { class: 'number' }, String(count)), make('td', { class: 'text' }, reason),
                make('td', {}, button('Retry', () => retry(name, reason, load), 'secondary', { 'aria-label': `Retry: ${reason}` }), ' ',
                     button('Skip', () => skip(name, reason, load), 'secondary', { 'aria-label': `Skip: ${reason}` })))));
        } catch (error) {
            say(`The list of failures of ${name}: ${error.message}`);
        }
    }

    return { part, show: volume => {
        const errors = answers(volume) ? volume.counters.errors : 0;

        if (errors !== known) {
            known = errors;
            load();
        }
    } };
}

function details(name) {
    const labels = ['State', 'Old server', 'Root', 'Whole', 'Data', 'Rate', 'Remaining', 'Clients that wait', 'Limits', 'Calendar', 'Could not be carried over'];
    const values = Object.fromEntries(labels.map(label => [label, make('dd')]));
    const part = progress(`How much of ${name} is whole`);
    const failed = failures(name);
    const bar = make('div', { class: 'bar', role: 'group', 'aria-label': 'Actions' });
    const buttons = actions.map(one => ({ one, element: button(one.label, () => {
        const volume = current(name);

        if (volume)
            one.open(name, volume);
    }, one.danger ? 'danger' : 'secondary') }));

    bar.append(...buttons.map(({ element }) => element));
    page.replaceChildren(make('nav', { 'aria-label': 'Back' }, button('All volumes', () => cockpit.location.go([]), 'link')),
                         heading(name), part.bar,
                         make('dl', { class: 'facts' }, ...labels.flatMap(label => [make('dt', {}, label), values[label]])),
                         bar, failed.part);
    return () => {
        const volume = current(name);

        if (!volume)
            return;
        const { volume: facts, counters, now } = volume;

        put(values.State, state(volume));
        put(values['Old server'], (facts.source || '') + (now && now.source_away_seconds ? ` (away for ${now.source_away_seconds} s)` : ''));
        put(values.Root, facts.root || '');
        put(values.Whole, progressText(volume));
        put(values.Data, counters ? `${bytes(counters.bytes_whole)} of ${volume.namespace.complete ? '' : 'at least '}${bytes(counters.bytes_found)}` : '');
        put(values.Rate, rateText(volume));
        put(values.Remaining, remainingText(volume));
        put(values['Clients that wait'], now ? String(now.demand_waiting) : '');
        put(values.Limits, now ? limitsText(volume) : '');
        put(values.Calendar, now ? calendarText(volume) : '');
        put(values['Could not be carried over'], counters ? String(counters.losses) : '');
        part.show(volume);
        for (const { one, element } of buttons)
            element.hidden = !answers(volume) || !one.in.includes(state(volume)) || (one.when && !one.when(volume));
        failed.show(volume);
    };
}

function current(name) {
    return volumes.find(volume => volume.volume.name === name);
}

function navigate() {
    const [name] = cockpit.location.path;

    view = name ? details(name) : overview();
    view();
    page.focus();
}

watch(found => {
    for (const volume of found) {
        const before = current(volume.volume.name);

        if (before && state(before) !== state(volume))
            say(`${volume.volume.name}: ${state(volume)}`);
    }
    volumes = found;
    view();
}, message => say(`migratectl: ${message}; it is tried again`));
cockpit.addEventListener('locationchanged', navigate);
navigate();
