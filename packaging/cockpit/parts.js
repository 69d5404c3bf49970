/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements, and how numbers are said.  Text is always text: names and reasons come from an old
 * server, and are never read as HTML, nor do they steer how what stands beside them is shown. */

/* PatternFly's class, by whichever name this release of Cockpit has it. */
export function pf(component, ...modifiers) {
    return [`pf-c-${component}`, `pf-v5-c-${component}`, `pf-v6-c-${component}`,
            ...modifiers.map(name => `pf-m-${name}`)].join(' ');
}

/* What is not seen, or turns the direction of writing, as its number. */
export function inert(text) {
    return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
                        c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/* An element with attributes (or handlers, as onclick) and children: elements, texts, null. */
export function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);

    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith('on'))
            element.addEventListener(name.slice(2), value);
        else if (value !== null && value !== false)
            element.setAttribute(name, value === true ? '' : value);
    }
    element.append(...children.filter(child => child !== null).map(child => typeof child === 'string' ? inert(child) : child));
    return element;
}

export function button(text, onclick, kind = 'secondary', attributes = {}) {
    return make('button', { type: 'button', class: pf('button', kind), onclick, ...attributes },
                make('span', { class: pf('button').replace(/(\S+)/g, '$1__text') }, text));
}

/* Only what is new is written, so that focus and selection stay. */
export function put(element, text) {
    const shown = inert(text);

    if (element.textContent !== shown)
        element.textContent = shown;
}

/* A list of texts; without any it is not there. */
export function putList(list, texts) {
    list.hidden = !texts.length;
    while (list.children.length > texts.length)
        list.lastChild.remove();
    texts.forEach((text, n) => put(list.children[n] || list.appendChild(make('li')), text));
}

/* As Cockpit's own pages do: what its menu says, or else what the browser prefers. */
export function followTheme() {
    const preference = matchMedia('(prefers-color-scheme: dark)');
    const show = () => {
        const style = localStorage.getItem('shell:style') || 'auto';
        const dark = style === 'dark' || (style === 'auto' && preference.matches);

        for (const name of ['dark', 'pf-theme-dark', 'pf-v5-theme-dark', 'pf-v6-theme-dark'])
            document.documentElement.classList.toggle(name, dark);
    };

    preference.addEventListener('change', show);
    addEventListener('storage', show);
    addEventListener('cockpit-style', show);
    show();
}

/* "1 volume", "2 volumes" */
export function count(n, what) {
    return `${n} ${what}${n === 1 ? '' : 's'}`;
}

export function say(text) {
    put(document.getElementById('spoken'), text);
}

export function bytes(n) {
    const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
    let unit = 0;

    for (; n >= 1024 && unit < units.length - 1; unit++)
        n /= 1024;
    return unit ? `${n.toFixed(1)} ${units[unit]}` : `${n} bytes`;
}

export function span(seconds) {
    const [d, h, min] = [seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60].map(Math.floor);

    if (d)
        return `${d} d ${h} h`;
    if (h)
        return `${h} h ${min} min`;
    return min ? `${min} min ${seconds % 60} s` : `${seconds} s`;
}
