// The logit lens as a grid, what each layer would say at each token, and the length of the residual stream below it.
import {el} from '../dom.js';
import {watchInside} from '../api.js';
import {CellGrid} from './cell_grid.js';
import {percent} from '../format.js';
import {visible} from '../tokens.js';

const shades = [
  ['probability', 'probability'],
  ['entropy', 'entropy'],
  ['kl', 'distance to the answer'],
];

// "blocks.3.hook_resid_pre" -> "3"; what leaves the last layer is "out".
const layerName = (point, isLast) => (isLast ? 'out' : (/^blocks\.(\d+)\./.exec(point)?.[1] ?? point));

export class LensCard {
  // pick(point, position, at): a cell was chosen.
  constructor({pick}) {
    this.shade = el(
      'select',
      {'aria-label': 'Colour', onchange: () => this.draw()},
    );
    this.offerShades([]);
    this.progress = el('progress', {hidden: true, 'aria-label': 'How much of the lens is there'});
    this.grid = new CellGrid({
      label: 'Logit lens: layers from bottom to top, tokens from left to right',
      describe: (row, column) => this.describe(row, column),
      pick: (row, column, at) => pick(this.pointOf(row), this.lens.positions[column], at),
    });
    this.element = el(
      'section',
      {class: 'card', hidden: true, 'data-card': 'lens'},
      el(
        'div',
        {class: 'card-head'},
        el('h2', {}, 'Logit lens'),
        el('p', {class: 'picks'}, el('label', {}, 'Colour: ', this.shade)),
      ),
      el('p', {class: 'hint'}, 'What the model would say next if it ended at this layer. The top row is its answer.'),
      this.progress,
      this.grid.element,
    );
  }

  // Tokens that are followed are further colours.
  offerShades(pieces) {
    const {value} = this.shade;
    const followed = pieces.map((piece, at) => [`follow-${at}`, `probability of “${visible(piece)}”`]);
    this.shade.replaceChildren(...[...shades, ...followed].map(([name, text]) => el('option', {value: name}, text)));
    this.shade.value = value;
    if (!this.shade.value) this.shade.value = 'probability';
  }

  // body: the text and its changes, as requests carry them.
  async load(body, signal) {
    this.element.hidden = this.progress.hidden = false;
    this.progress.value = 0;
    try {
      for await (const event of watchInside('lens', {...body, top: 5, stream: true}, signal)) {
        if (event.type === 'lens') this.show(event);
        else this.progress.value = event.done / event.total;
      }
    } finally {
      this.progress.hidden = true;
    }
  }

  show(lens) {
    this.lens = lens;
    this.offerShades((lens.follow?.ids ?? []).map((id) => lens.texts[id] ?? String(id)));
    this.draw();
  }

  // Rows from the top are points from the last.
  pointOf(row) {
    return this.lens.points[this.lens.points.length - 1 - row];
  }

  cellOf(row, column) {
    return (this.lens.points.length - 1 - row) * this.lens.positions.length + column;
  }

  draw() {
    const {lens} = this;
    const rows = lens.points.length;
    const columns = lens.positions.length;
    const kind = this.shade.value;
    const followed = /^follow-(\d+)$/.exec(kind)?.[1];
    const numbers = followed
      ? (cell) => lens.follow.probabilities[cell * lens.follow.ids.length + Number(followed)]
      : kind === 'probability'
        ? (cell) => lens.probabilities[cell * lens.top]
        : (cell) => lens[kind][cell];
    const most =
      followed || kind === 'probability' ? 1 : lens[kind].reduce((best, value) => Math.max(best, value), 1e-6);
    const values = new Float32Array(rows * columns);
    for (let row = 0; row < rows; ++row) {
      for (let column = 0; column < columns; ++column) {
        values[row * columns + column] = numbers(this.cellOf(row, column)) / most;
      }
    }
    this.grid.show({
      rows,
      columns,
      values,
      text: (row, column) => lens.texts[lens.ids[this.cellOf(row, column) * lens.top]],
      rowLabel: (row) => layerName(this.pointOf(row), row === 0),
      columnLabel: (column) => lens.pieces[lens.positions[column]],
    });
  }

  describe(row, column) {
    const {lens} = this;
    const cell = this.cellOf(row, column);
    const position = lens.positions[column];
    const pairs = [[`token ${position}`, visible(lens.pieces[position])]];
    pairs.push(['layer', layerName(this.pointOf(row), row === 0)]);
    for (let at = cell * lens.top; at < (cell + 1) * lens.top; ++at) {
      pairs.push([visible(lens.texts[lens.ids[at]]), percent(lens.probabilities[at])]);
    }
    (lens.follow?.ids ?? []).forEach((id, at) => {
      const place = cell * lens.follow.ids.length + at;
      pairs.push([`${visible(lens.texts[id])} (#${lens.follow.ranks[place] + 1})`, percent(lens.follow.probabilities[place])]);
    });
    pairs.push(['entropy', `${lens.entropy[cell].toFixed(2)} nats`], ['KL', `${lens.kl[cell].toFixed(2)} nats`]);
    return pairs;
  }

  // Frames around the cells that are edited.
  mark(edits) {
    if (!this.lens) return;
    const cells = edits
      .filter(({cell}) => cell)
      .map(({cell: {point, position}}) => [
        this.lens.points.length - 1 - this.lens.points.indexOf(point),
        this.lens.positions.indexOf(position),
      ]);
    this.grid.mark(cells.filter(([row, column]) => row >= 0 && row < this.lens.points.length && column >= 0));
  }
}

export class NormsCard {
  constructor() {
    this.grid = new CellGrid({
      label: 'Length of the residual stream: layers from bottom to top, tokens from left to right',
      describe: (row, column) => this.describe(row, column),
    });
    this.element = el(
      'section',
      {class: 'card', hidden: true, 'data-card': 'norms'},
      el('div', {class: 'card-head'}, el('h2', {}, 'Residual norms')),
      el('p', {class: 'hint'}, 'The length of each token’s vector as it enters a layer; colours are logarithmic.'),
      this.grid.element,
    );
  }

  show({layers, norms, pieces}) {
    Object.assign(this, {layers, norms, pieces});
    this.element.hidden = false;
    const columns = pieces.length;
    const logs = norms.map((norm) => Math.log(Math.max(norm ?? 0, 1e-6)));
    const low = logs.reduce((best, value) => Math.min(best, value), Infinity);
    const high = logs.reduce((best, value) => Math.max(best, value), -Infinity);
    const values = new Float32Array(norms.length);
    for (let row = 0; row <= layers; ++row) {
      for (let column = 0; column < columns; ++column) {
        values[row * columns + column] = (logs[(layers - row) * columns + column] - low) / Math.max(high - low, 1e-6);
      }
    }
    this.grid.show({
      rows: layers + 1,
      columns,
      values,
      text: (row, column) => this.norm(row, column),
      rowLabel: (row) => (row === 0 ? 'out' : String(layers - row)),
      columnLabel: (column) => pieces[column],
    });
  }

  norm(row, column) {
    const value = this.norms[(this.layers - row) * this.pieces.length + column];
    return value === null ? '' : Number(value.toPrecision(3)).toString();
  }

  describe(row, column) {
    return [
      [`token ${column}`, visible(this.pieces[column])],
      ['layer', row === 0 ? 'out' : String(this.layers - row)],
      ['length', this.norm(row, column)],
    ];
  }
}
