/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page: all volumes, or one of them.  What changes is written into the elements that are there. */
/* global cockpit */
import { actions, canSkip, paths, reasons, remedy, retry, skip } from './actions.js';
import { button, bytes, count, followTheme, make, pf, put, putList, say } from './parts.js';
import { answers, askMore, calendarText, doorsText, guardText, journalText, limitsText, mark, measure, needs, next, rank,
         rateText, remainingText, roomText, state, watch } from './volumes.js';

const PATHS = 5;                // of each reason are shown
const page = document.getElementById('page');
let volumes = [], view = null;

function heading(text) {
    return make('h1', { class: pf('title', '2xl') }, text);
}

/* What is the same on a volume's card and on its page: { element, show(volume) }. */
function summary(name) {
    const list = make('ul', { class: 'needs', 'aria-label': `What ${name} needs` });
    const bar = make('progress', { max: 100, 'aria-label': `How much of ${name} is whole` });
    const text = make('span'), then = make('p', { class: 'next' });
    const measured = make('div', { class: 'measure' }, bar, text);

    return {
        element: make('div', {}, list, measured, then),
        show: volume => {
            const whole = measure(volume);

            putList(list, needs(volume));
            measured.hidden = !whole;
            if (whole && whole.part !== null)
                bar.value = whole.part;
            else
                bar.removeAttribute('value');
            put(text, whole ? [whole.text, rateText(volume), remainingText(volume, false)].filter(one => one).join(', ') : '');
            put(then, `Next: ${next(volume)}`);
        },
    };
}

/* ---- all volumes ---- */

function card(name) {
    const said = make('span', { class: 'state' });
    const sum = summary(name);
    const element = make('li', { 'data-volume': name },
                         make('div', { class: 'head' }, make('h2', {}, button(name, () => cockpit.location.go([name]), 'link')), said),
                         sum.element);

    return { element, show: volume => {
        element.className = `card ${mark(volume)}`;
        put(said, state(volume));
        sum.show(volume);
    } };
}

/* Only what stands at a wrong place is moved, and what has the focus keeps it. */
function arrange(list, elements) {
    const focus = document.activeElement;
    let at = list.firstElementChild;

    for (const element of elements) {
        if (element === at)
            at = at.nextElementSibling;
        else
            list.insertBefore(element, at);
    }
    if (list.contains(focus) && document.activeElement !== focus)
        focus.focus();
}

function overview() {
    const cards = new Map();
    const filter = make('input', { type: 'search', id: 'filter', class: pf('form-control'), oninput: () => show() });
    const only = make('input', { type: 'checkbox', id: 'only', onchange: () => show() });
    const sum = make('p', { id: 'sum' });
    const list = make('ul', { class: 'cards', 'aria-label': 'Volumes' });

    function wanted(volume) {
        const text = filter.value.toLowerCase();

        return (!only.checked || needs(volume).length > 0) &&
               (!text || volume.volume.name.toLowerCase().includes(text) || state(volume).includes(text));
    }

    function show() {
        const names = new Set(volumes.map(volume => volume.volume.name));
        const sorted = [...volumes].sort((a, b) => rank(a) - rank(b) || a.volume.name.localeCompare(b.volume.name));

        for (const [name, { element }] of cards) {
            if (!names.has(name)) {
                element.remove();
                cards.delete(name);
            }
        }
        for (const volume of sorted) {
            const name = volume.volume.name;

            if (!cards.has(name))
                cards.set(name, card(name));
            cards.get(name).show(volume);
            cards.get(name).element.hidden = !wanted(volume);
        }
        arrange(list, sorted.map(volume => cards.get(volume.volume.name).element));
        const shown = volumes.filter(wanted).length, help = volumes.filter(volume => needs(volume).length).length;

        put(sum, volumes.length ? `${help ? count(help, 'volume') + (help === 1 ? ' needs you' : ' need you') : 'Nothing needs you'}; ` +
                                  `${shown} of ${count(volumes.length, 'volume')} ${shown === 1 ? 'is' : 'are'} shown.`
                                : 'There is no volume in the configuration yet; see quickmigrate.conf(5).');
    }

    page.replaceChildren(heading('File server migration'), sum,
                         make('div', { class: 'bar' },
                              make('div', {}, make('label', { for: 'filter' }, 'Name or state'), filter),
                              make('div', {}, only, make('label', { for: 'only' }, 'Only what needs you'))),
                         list);
    return show;
}

/* ---- one volume ---- */

/* Each name keeps its direction of writing to itself. */
function pathNames(path) {
    return path.split('/').flatMap((one, n) => n ? ['/', make('bdi', {}, one)] : [make('bdi', {}, one)]);
}

function failure(name, { reason, errno, count: objects }, opened, load) {
    const list = make('ul', { class: 'paths', 'aria-label': `Failed: ${reason}` });
    const several = reason === 'other reasons';         // as the retriever calls what it has no more room to tell apart
    const shown = make('details', { open: opened.has(reason), ontoggle: () => {
        opened[shown.open ? 'add' : 'delete'](reason);
        if (shown.open && !list.childElementCount)
            fill();
    } }, make('summary', {}, count(objects, 'object')), list);

    async function fill() {
        try {
            const found = await paths(name, reason, PATHS);

            list.replaceChildren(...found.map(path => make('li', {}, ...pathNames(path))), ...(found.length < objects ? [make('li', {}, '...')] : []));
        } catch (error) {
            putList(list, [error.message]);
        }
    }

    if (several)
        return make('li', { class: 'card help' }, make('p', {}, `${count(objects, 'object')} for other reasons: see migratectl errors ${name}`));
    return make('li', { class: 'card help' }, make('p', { class: 'name' }, reason), remedy(errno) ? make('p', {}, remedy(errno)) : null, shown,
                make('div', { class: 'bar' },
                     button('Retry', () => retry(name, reason, load), 'secondary', { 'aria-label': `Retry: ${reason}` }),
                     canSkip(errno) ? button('Skip', () => skip(name, reason, load), 'secondary', { 'aria-label': `Skip: ${reason}` }) : null));
}

function failures(name) {
    const list = make('ul', { class: 'cards', 'aria-label': 'What failed, by reason' });
    const part = make('section', { 'aria-label': 'Failures', hidden: true }, make('h2', {}, 'What failed, by reason'), list);
    let known = -1, opened = null;

    async function load() {
        try {
            const found = await reasons(name);

            opened = opened || new Set(found.slice(0, 3).map(one => one.reason));
            part.hidden = !found.length;
            list.replaceChildren(...found.map(one => failure(name, one, opened, load)));
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

/* [label, what of a volume that answers] */
const FACTS = [
    ['Old server', ({ volume }) => volume.source || ''],
    ['Root', ({ volume }) => volume.root || ''],
    ['Data', ({ counters, namespace }) => `${bytes(counters.bytes_whole)} of ${namespace.complete ? '' : 'at least '}${bytes(counters.bytes_found)}`],
    ['Files', ({ counters, namespace }) => `${counters.files_whole} of ${namespace.complete ? '' : 'at least '}${counters.files_found}`],
    ['Remaining', remainingText],
    ['Clients that wait', ({ now }) => String(now.demand_waiting)],
    ['Free space', roomText],
    ['Guard', guardText],
    ['Journal', journalText],
    ['Doors', doorsText],
    ['Limits', limitsText],
    ['Calendar', calendarText],
    ['Could not be carried over', ({ counters }) => String(counters.losses)],
];

function facts() {
    const rows = FACTS.map(([label, of]) => ({ of, term: make('dt', {}, label), value: make('dd') }));

    return { element: make('section', { class: 'card', 'aria-label': 'Facts' },
                           make('dl', { class: 'facts' }, ...rows.flatMap(({ term, value }) => [term, value]))),
             show: volume => {
                 for (const { of, term, value } of rows) {
                     put(value, answers(volume) ? of(volume) : '');
                     term.hidden = value.hidden = !value.textContent;
                 }
             } };
}

function details(name) {
    const said = make('span', { class: 'state', id: 'state' });
    const sum = summary(name), failed = failures(name), all = facts();
    const first = make('section', { 'aria-label': 'Now' }, sum.element);
    const bar = make('div', { class: 'bar', role: 'group', 'aria-label': 'Actions' });
    const buttons = actions.map(one => ({ one, element: button(one.label, () => {
        const volume = current(name);

        if (volume)
            one.open(name, volume);
    }, one.danger ? 'danger' : 'secondary') }));

    first.append(bar);
    bar.append(...buttons.map(({ element }) => element));
    page.replaceChildren(make('nav', { 'aria-label': 'Back' }, button('All volumes', () => cockpit.location.go([]), 'link')),
                         make('div', { class: 'head' }, heading(name), said), first, failed.part, all.element);
    return () => {
        const volume = current(name);

        if (!volume)
            return;
        first.className = `card ${mark(volume)}`;
        put(said, state(volume));
        sum.show(volume);
        all.show(volume);
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
    askMore(found, cockpit.location.path[0]);
}, message => say(`migratectl: ${message}; it is tried again`));
cockpit.addEventListener('locationchanged', navigate);
followTheme();
navigate();
