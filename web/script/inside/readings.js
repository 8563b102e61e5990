// What probes and sparse autoencoders that the server was started with read at each token.
import {el} from '../dom.js';
import {lookInside} from '../api.js';
import {CellGrid} from './cell_grid.js';
import {fixed, percent} from '../format.js';
import {visible} from '../tokens.js';

// A card with one grid, of whichever thing is chosen.
class ReadingCard {
  constructor({card, title, choice, hint, label, pick}) {
    this.choice = el('select', {'aria-label': choice, onchange: () => this.reload()});
    this.where = el('p', {class: 'hint'});
    this.grid = new CellGrid({label, describe: (row, column) => this.describe(row, column), pick});
    this.element = el(
      'section',
      {class: 'card', hidden: true, 'data-card': card},
      el(
        'div',
        {class: 'card-head'},
        el('h2', {}, title),
        el('p', {class: 'picks'}, el('label', {}, `${choice}: `, this.choice)),
      ),
      el('p', {class: 'hint'}, hint),
      this.where,
      this.grid.element,
    );
  }

  // things: [{name, point, ...}], as the server lists them.
  offer(things) {
    this.things = things;
    this.element.hidden = true;
    this.choice.replaceChildren(...things.map(({name}) => el('option', {value: name}, name)));
  }

  // body: the text and its changes, as requests carry them.
  async load(body, signal, complain) {
    if (!this.things?.length) return;
    Object.assign(this, {body, signal, complain});
    const name = this.choice.value;
    const answer = await this.ask(name);
    if (this.choice.value !== name) return; // another was chosen meanwhile
    this.where.textContent = `It reads ${answer.point}.`;
    this.element.hidden = false;
    this.show(answer);
  }

  async reload() {
    try {
      await this.load(this.body, this.signal, this.complain);
    } catch (error) {
      if (!this.signal.aborted) this.complain(error.message);
    }
  }
}

export class ProbeCard extends ReadingCard {
  constructor() {
    super({
      card: 'probe',
      title: 'Probe',
      choice: 'Probe',
      hint: 'What a linear classifier of the hidden states says at each token.',
      label: 'Probe: classes from top to bottom, tokens from left to right',
    });
  }

  ask(probe) {
    return lookInside('probe', {...this.body, probe}, this.signal);
  }

  show(reading) {
    this.reading = reading;
    const {labels, pieces} = reading;
    const values = new Float32Array(labels.length * pieces.length);
    for (let row = 0; row < labels.length; ++row) {
      for (let column = 0; column < pieces.length; ++column) {
        values[row * pieces.length + column] = this.probability(row, column) ?? NaN;
      }
    }
    this.grid.show({
      rows: labels.length,
      columns: pieces.length,
      values,
      text: (row, column) => fixed(this.probability(row, column), 2),
      rowLabel: (row) => this.grid.cut(labels[row]),
      columnLabel: (column) => pieces[column],
    });
  }

  probability(row, column) {
    return this.reading.probabilities[column * this.reading.labels.length + row];
  }

  describe(_, column) {
    const {labels, pieces} = this.reading;
    return [
      [`token ${column}`, visible(pieces[column])],
      ...labels.map((label, row) => [label, percent(this.probability(row, column) ?? 0)]),
    ];
  }
}

const top = 20; // features that are asked for of each token
const mostRows = 32;

export class FeaturesCard extends ReadingCard {
  // pick({autoencoder, feature, position, value, most}, at): a cell was chosen.
  constructor({pick}) {
    super({
      card: 'features',
      title: 'Features',
      choice: 'Autoencoder',
      hint: `The features of a sparse autoencoder that are strongest somewhere in the text. Empty: not among the ${top} strongest of the token.`,
      label: 'Features: the strongest from top to bottom, tokens from left to right',
      pick: (row, column, at) => {
        const {feature, values, most} = this.rows[row];
        pick({autoencoder: this.choice.value, feature, position: column, value: values.get(column) ?? 0, most}, at);
      },
    });
  }

  ask(autoencoder) {
    return lookInside('features', {...this.body, autoencoder, top}, this.signal);
  }

  show({pieces, strongest}) {
    const features = new Map();
    strongest.forEach(({ids, values}, position) =>
      ids.forEach((feature, at) => {
        const row = features.get(feature) ?? {feature, values: new Map(), most: 0};
        row.values.set(position, values[at]);
        row.most = Math.max(row.most, values[at]);
        features.set(feature, row);
      }),
    );
    this.pieces = pieces;
    this.rows = [...features.values()].sort((a, b) => b.most - a.most || a.feature - b.feature).slice(0, mostRows);
    const most = this.rows[0]?.most ?? 1;
    const values = new Float32Array(this.rows.length * pieces.length).fill(NaN);
    this.rows.forEach((row, at) =>
      row.values.forEach((value, position) => {
        values[at * pieces.length + position] = value / most;
      }),
    );
    this.grid.show({
      rows: this.rows.length,
      columns: pieces.length,
      values,
      text: (row, column) => fixed(this.rows[row].values.get(column), 2),
      rowLabel: (row) => String(this.rows[row].feature),
      columnLabel: (column) => pieces[column],
    });
  }

  describe(row, column) {
    const {feature, values, most} = this.rows[row];
    return [
      [`token ${column}`, visible(this.pieces[column])],
      [`feature ${feature}`, values.has(column) ? fixed(values.get(column), 3) : 'weaker'],
      ['its strongest', fixed(most, 3)],
    ];
  }
}
