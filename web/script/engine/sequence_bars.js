// The queue and the running sequences: one bar each, for how much of the prompt is prefilled and what was generated.
import {el} from '../dom.js';
import {count, duration} from '../format.js';
import {css, ownerColor} from '../palette.js';

const maxRows = 60;

export class SequenceBars {
  // onHighlight(request or null): the row a person looks at.
  constructor(onHighlight) {
    this.onHighlight = onHighlight;
    this.rows = new Map();
    this.pinned = null;
    this.list = el('ul', {class: 'sequences'});
    this.idle = el('p', {class: 'idle'}, 'Nothing is running. Ask something in Chat, then come back and watch.');
    this.more = el('p', {class: 'hint', hidden: true});
    this.element = el('div', {}, this.list, this.idle, this.more);
  }

  show({sequences}) {
    const shown = sequences.slice(0, maxRows);
    const longest = Math.max(1, ...shown.map(({prompt, generated}) => prompt + generated));
    const keys = new Set();
    for (const sequence of shown) {
      const key = `${sequence.request}/${sequence.choice}`;
      keys.add(key);
      const row = this.rows.get(key) ?? this.addRow(key, sequence.request);
      this.updateRow(row, sequence, longest);
    }
    for (const [key, row] of this.rows) if (!keys.has(key)) this.removeRow(key, row);
    this.order(shown);
    this.idle.hidden = sequences.length > 0;
    this.more.hidden = sequences.length <= maxRows;
    this.more.textContent = `and ${count(sequences.length - maxRows)} more`;
  }

  addRow(key, request) {
    const part = (name) => el('span', {class: name});
    const row = {
      request,
      name: part('name'),
      phase: part('phase'),
      read: part('read'),
      unread: part('unread'),
      written: part('written'),
      numbers: part('numbers'),
      age: part('age'),
    };
    row.bar = el('span', {class: 'bar', 'aria-hidden': 'true'}, row.unread, row.read, row.written);
    row.button = el(
      'button',
      {
        type: 'button',
        class: 'sequence',
        'aria-pressed': 'false',
        onclick: () => this.pin(request),
        onpointerenter: () => this.onHighlight(request),
        onpointerleave: () => this.onHighlight(this.pinned),
        onfocus: () => this.onHighlight(request),
        onblur: () => this.onHighlight(this.pinned),
      },
      row.name,
      row.phase,
      row.bar,
      row.numbers,
      row.age,
    );
    row.element = el('li', {class: 'entering'}, row.button);
    requestAnimationFrame(() => row.element.classList.remove('entering'));
    row.button.style.setProperty('--owner', css(ownerColor(request)));
    this.list.append(row.element);
    this.rows.set(key, row);
    return row;
  }

  updateRow(row, {request, choice, phase, priority, prompt, computed, generated, age}, longest) {
    const share = (tokens) => `${((100 * tokens) / longest).toFixed(2)}%`;
    const read = Math.min(computed, prompt);
    row.name.textContent = choice ? `#${request}.${choice}` : `#${request}`;
    row.phase.textContent = priority === 'normal' ? phase : `${phase}, ${priority}`;
    row.button.dataset.phase = phase;
    row.unread.style.width = share(prompt);
    row.read.style.width = share(read);
    row.written.style.left = share(prompt);
    row.written.style.width = share(generated);
    row.numbers.textContent =
      read < prompt ? `${count(read)} of ${count(prompt)} prefilled` : `${count(prompt)} + ${count(generated)}`;
    row.age.textContent = duration(age);
  }

  // Moves only what stands in the wrong place, so that focus stays.
  order(shown) {
    let at = this.list.firstElementChild;
    for (const {request, choice} of shown) {
      const {element} = this.rows.get(`${request}/${choice}`);
      if (element === at) at = at.nextElementSibling;
      else this.list.insertBefore(element, at);
    }
  }

  removeRow(key, row) {
    this.rows.delete(key);
    if (this.pinned === row.request) this.pin(row.request);
    if (row.button.matches(':hover, :focus')) this.onHighlight(this.pinned);
    row.element.remove();
  }

  pin(request) {
    this.pinned = this.pinned === request ? null : request;
    for (const row of this.rows.values()) row.button.setAttribute('aria-pressed', String(row.request === this.pinned));
    this.onHighlight(this.pinned);
  }
}
