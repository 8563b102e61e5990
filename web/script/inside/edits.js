// What is changed inside the model, and what the answer is then: beside what it is without.
import {announce, el, iconButton} from '../dom.js';
import {lookInside} from '../api.js';
import {percent} from '../format.js';
import {visible} from '../tokens.js';

export class EditsCard {
  // changed(): there are other edits, or the maps are to show the other run.
  constructor({complain, changed}) {
    Object.assign(this, {complain, changed});
    this.edits = []; // {label, edit, cell}, {label, steer} or {label, features}
    this.list = el('ul', {class: 'edit-list', 'aria-label': 'Edits'});
    this.hint = el('p', {class: 'hint'}, 'Choose a cell to zero or patch it, and the answer changes here.');
    this.vector = el('select', {'aria-label': 'Steering vector'});
    this.strength = el('input', {type: 'number', step: 'any', value: '4', 'aria-label': 'Strength'});
    this.steering = el(
      'form',
      {
        class: 'picks steering',
        hidden: true,
        onsubmit: (event) => {
          event.preventDefault();
          this.steer(this.vector.value, this.strength.valueAsNumber);
        },
      },
      el('label', {}, 'Steer by ', this.vector),
      el('label', {}, 'times ', this.strength),
      el('button', {class: 'quiet small'}, 'Add'),
    );
    this.plain = el('div', {class: 'outcome'});
    this.edited = el('div', {class: 'outcome', 'aria-live': 'polite'});
    this.kl = el('p', {class: 'hint'});
    this.run = el(
      'select',
      {'aria-label': 'Run', onchange: () => this.changed()},
      el('option', {value: 'plain'}, 'as it is'),
      el('option', {value: 'edited'}, 'with the edits'),
    );
    this.runField = el('p', {class: 'picks', hidden: true}, el('label', {}, 'Maps show the run ', this.run));
    this.element = el(
      'section',
      {class: 'card edits', hidden: true, 'data-card': 'answer'},
      el('div', {class: 'card-head'}, el('h2', {}, 'Answer'), this.kl),
      this.hint,
      this.list,
      this.steering,
      this.runField,
      el('div', {class: 'outcomes'}, this.plain, this.edited),
    );
  }

  // body and source: the text and the second one (or null), as requests carry them.
  start(body, source, signal) {
    Object.assign(this, {body, source, signal, edits: []});
    this.element.hidden = false;
    this.run.value = 'plain';
    return this.answer();
  }

  // Vectors that the server was started with (--steering).
  offerVectors(names) {
    this.steering.hidden = !names.length;
    this.vector.replaceChildren(...names.map((name) => el('option', {value: name}, name)));
  }

  steer(vector, strength) {
    if (!Number.isFinite(strength)) return this.strength.focus();
    this.edits.push({label: `steered by ${vector} × ${strength}`, steer: {vector, strength}});
    return this.answer();
  }

  // The edits, as requests carry them.
  get changes() {
    const edits = this.edits.flatMap(({edit}) => edit ?? []);
    const steer = this.edits.flatMap(({steer: each}) => each ?? []);
    const features = this.edits.flatMap(({features: each}) => each ?? []);
    const needsSource = edits.some(({kind}) => kind === 'patch');
    return {
      edits,
      ...(steer.length ? {steer} : {}),
      ...(features.length ? {features} : {}),
      ...(needsSource ? {source: this.source} : {}),
    };
  }

  // Those of the run that the maps show.
  get shownChanges() {
    return this.edits.length && this.run.value === 'edited' ? this.changes : {};
  }

  add(label, edit, cell = null) {
    this.edits.push({label, edit, cell});
    return this.answer();
  }

  addFeatures(label, features) {
    this.edits.push({label, features});
    return this.answer();
  }

  remove(index) {
    this.edits.splice(index, 1);
    this.list.querySelectorAll('button')[Math.min(index, this.edits.length - 1)]?.focus();
    return this.answer();
  }

  async answer() {
    this.showList();
    this.changed();
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    const stop = () => abort.abort();
    this.signal.addEventListener('abort', stop);
    this.element.classList.add('waiting');
    const body = {...this.body, ...this.changes, max_tokens: 24, top: 6};
    try {
      const outcomes = await lookInside('run', body, abort.signal);
      if (!abort.signal.aborted) this.show(outcomes);
    } catch (error) {
      if (!abort.signal.aborted) this.complain(error.message);
    }
    this.signal.removeEventListener('abort', stop);
    if (this.abort === abort) this.element.classList.remove('waiting');
  }

  showList() {
    this.hint.hidden = this.edits.length > 0;
    this.runField.hidden = !this.edits.length;
    this.list.replaceChildren(
      ...this.edits.map(({label}, index) =>
        el('li', {}, el('span', {}, label), iconButton('close', `Take back: ${label}`, () => this.remove(index))),
      ),
    );
  }

  show({plain, edited, kl}) {
    const isEdited = this.edits.length > 0;
    this.fill(this.plain, 'As it is', plain);
    this.fill(this.edited, 'With the edits', edited);
    this.edited.hidden = !isEdited;
    this.kl.textContent = isEdited ? `KL ${kl.toFixed(3)} nats` : '';
    if (isEdited) announce(`With the edits: ${edited.text || edited.next[0].text}`);
  }

  fill(box, title, {text, next}) {
    box.replaceChildren(
      el('h3', {}, title),
      el('p', {class: 'continuation'}, text || '(the end)'),
      el(
        'ol',
        {class: 'next-tokens', 'aria-label': `${title}: likeliest next tokens`},
        next.map(({text: piece, probability}) => {
          const fill = el('span', {class: 'fill'});
          fill.style.width = `${100 * probability}%`;
          return el(
            'li',
            {},
            el('span', {class: 'text'}, visible(piece)),
            el('span', {class: 'track'}, fill),
            el('span', {class: 'p'}, percent(probability)),
          );
        }),
      ),
    );
  }
}
