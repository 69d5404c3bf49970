/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements, and how numbers are said.  Text is always text: names and reasons come from an old
 * server, and are never read as HTML. */

/* PatternFly's class, by whichever name this release of Cockpit has it. */
export function pf(component, ...modifiers) {
    return [`pf-c-${component}`, `pf-v5-c-${component}`, `pf-v6-c-${component}`,
            ...modifiers.map(name => `pf-m-${name}`)].join(' ');
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
    element.append(...children.filter(child => child !== null));
    return element;
}

export function button(text, onclick, kind = 'secondary', attributes = {}) {
    return make('button', { type: 'button', class: pf('button', kind), onclick, ...attributes },
                make('span', { class: pf('button').replace(/(\S+)/g, '$1__text') }, text));
}

/* Only what is new is written, so that focus and selection stay. */
export function put(element, text) {
    if (element.textContent !== text)
        element.textContent = text;
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
