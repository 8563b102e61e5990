// Builds elements. Text is always set as text, never parsed as HTML.

const svgSpace = 'http://www.w3.org/2000/svg';

// el('button', {class: 'quiet', onclick: send}, 'Send'). Children are nodes, strings or lists of them; null is skipped.
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) setAttribute(element, key, value);
  append(element, children);
  return element;
}

function setAttribute(element, key, value) {
  if (value === null || value === undefined || value === false) return;
  if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
  else if (key === 'value' || key === 'checked') element[key] = value;
  else element.setAttribute(key, value === true ? '' : value);
}

function append(element, children) {
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
}

const icons = {
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7Z',
  copy: 'M9 9h10v10H9ZM5 15V5h10',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  again: 'M19 12a7 7 0 1 1-2.2-5.1M19 4v4.5h-4.5',
  edit: 'M5 19l.8-3.6L16 5.2l2.8 2.8L8.6 18.2Z',
  list: 'M5 7h14M5 12h14M5 17h9',
  tune: 'M5 8h8M17 8h2M5 16h2M11 16h8M15 6v4M9 14v4',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  fit: 'M4 6v12M20 6v12M8 12h8M10 9l-3 3 3 3M14 9l3 3-3 3',
  trash: 'M5 7h14M9 7V5h6v2M7 7l1 12h8l1-12',
  export: 'M12 4v10M8 10l4 4 4-4M5 19h14',
  close: 'M6 6l12 12M18 6L6 18',
  down: 'M12 5v14M6 13l6 6 6-6',
  microphone: 'M12 4a2.5 2.5 0 0 1 2.5 2.5v5a2.5 2.5 0 0 1-5 0v-5A2.5 2.5 0 0 1 12 4ZM6.5 11.5a5.5 5.5 0 0 0 11 0M12 17v3',
  auto: 'M12 4a8 8 0 1 0 0 16ZM12 4a8 8 0 0 1 0 16',
  light: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M5.6 18.4 7 17M17 7l1.4-1.4',
  dark: 'M19 14.5A7.5 7.5 0 0 1 9.5 5a7.5 7.5 0 1 0 9.5 9.5Z',
  clip: 'M8 12.5l6-6a3 3 0 0 1 4.2 4.2l-7.7 7.7a4.5 4.5 0 0 1-6.4-6.4L11 5',
  left: 'M14 6l-6 6 6 6',
  right: 'M10 6l6 6-6 6',
  import: 'M12 14V4M8 8l4-4 4 4M5 19h14',
  link: 'M10 14l4-4M8 11l-2 2a3.5 3.5 0 0 0 5 5l2-2M16 13l2-2a3.5 3.5 0 0 0-5-5l-2 2',
  tint: 'M5 18h14M7 14h3M11 10h4M14 6h4',
};

export function icon(name) {
  const svg = document.createElementNS(svgSpace, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', `icon icon-${name}`);
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(svgSpace, 'path');
  path.setAttribute('d', icons[name]);
  svg.append(path);
  return svg;
}

// A button that shows an icon and says its name to screen readers and in a tooltip.
export function iconButton(name, label, onclick, attributes = {}) {
  return el(
    'button',
    {type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick, ...attributes},
    icon(name),
  );
}

export function flame() {
  const copy = document.querySelector('.brand .flame').cloneNode(true);
  copy.setAttribute('class', 'flame burning');
  return copy;
}

// Said by screen readers, seen by nobody.
export function announce(text) {
  document.getElementById('status').textContent = text;
}

export function copyButton(getText, label = 'Copy') {
  const button = iconButton('copy', label, async () => {
    const copied = await copyText(getText());
    button.replaceChildren(icon(copied ? 'check' : 'close'));
    announce(copied ? 'Copied.' : 'The browser did not allow copying.');
    setTimeout(() => button.replaceChildren(icon('copy')), 1500);
  });
  return button;
}

// The clipboard of a page served over plain HTTP from another machine is closed; a selection still copies there.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el('textarea', {class: 'unseen', value: text});
    const focused = document.activeElement;
    document.body.append(area);
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    focused?.focus();
    return copied;
  }
}

export const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');

// Whether colours are those of the night: as the system has it, unless somebody chose. Event 'change'.
class Scheme extends EventTarget {
  constructor() {
    super();
    this.system = matchMedia('(prefers-color-scheme: dark)');
    this.system.addEventListener('change', () => this.chosen ?? this.dispatchEvent(new Event('change')));
  }

  get matches() {
    return this.chosen ?? this.system.matches;
  }

  // true, false, or undefined for the system's.
  choose(isDark) {
    this.chosen = isDark;
    document.getElementById('dark').media = isDark === undefined ? this.system.media : isDark ? 'all' : 'not all';
    this.dispatchEvent(new Event('change'));
  }
}

export const darkScheme = new Scheme();
