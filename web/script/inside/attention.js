// The attention of one layer: small pictures of its heads, and one head as a matrix or as arcs. A map of all heads
// tells which are worth a look.
import {darkScheme, el} from '../dom.js';
import {lookInside} from '../api.js';
import {Arcs} from './arcs.js';
import {CellGrid} from './cell_grid.js';
import {heatColors, stepOf} from './heat.js';
import {Patterns} from './patterns.js';
import {percent} from '../format.js';
import {visible} from '../tokens.js';

const kinds = [
  ['previous', 'the token before'],
  ['duplicate', 'the same token earlier'],
  ['induction', 'what followed it earlier'],
];

export class AttentionCard {
  // pickEdge(layer, head, query, key, point), pickHead(layer, head, point): something was chosen to be cut.
  constructor({pickEdge, pickHead, complain}) {
    Object.assign(this, {pickHead, complain});
    this.head = 0;
    this.layer = el('select', {'aria-label': 'Layer', onchange: () => this.load()});
    this.kind = el(
      'select',
      {'aria-label': 'What heads look at', onchange: () => this.showScores()},
      kinds.map(([value, text]) => el('option', {value}, text)),
    );
    this.form = el(
      'select',
      {'aria-label': 'Form', onchange: () => this.showHead()},
      el('option', {value: 'matrix'}, 'matrix'),
      el('option', {value: 'arcs'}, 'arcs'),
    );
    this.heads = el('div', {class: 'head-list', role: 'group', 'aria-label': 'Heads'});
    this.caption = el('p', {class: 'hint'});
    this.cut = el(
      'button',
      {type: 'button', class: 'quiet small', hidden: true, onclick: (event) => this.cutHead(event)},
      'Zero this head',
    );
    this.scores = new CellGrid({
      label: 'Scores of all heads',
      describe: (row, column) => this.describeScore(row, column),
      pick: (row, column) => this.open(this.layers - 1 - row, column),
    });
    this.matrix = new CellGrid({
      label: 'Attention pattern: rows look at columns',
      square: true,
      describe: (row, column) => this.describeEdge(row, column),
      pick: (row, column, point) => column <= row && pickEdge(Number(this.layer.value), this.head, row, column, point),
    });
    this.arcs = new Arcs();
    this.element = this.build();
    darkScheme.addEventListener('change', () => this.showHeads());
  }

  build() {
    return el(
      'section',
      {class: 'card', hidden: true, 'data-card': 'attention'},
      el(
        'div',
        {class: 'card-head'},
        el('h2', {}, 'Attention'),
        el('p', {class: 'picks'}, el('label', {}, 'Layer ', this.layer), el('label', {}, 'as ', this.form)),
      ),
      el('p', {class: 'hint'}, el('label', {}, 'How much of its attention each head spends on ', this.kind)),
      this.scores.element,
      this.heads,
      el('p', {class: 'picks'}, this.caption, this.cut),
      this.matrix.element,
      this.arcs.element,
    );
  }

  // body: the text, as requests carry it. facts: of the model.
  async start(body, facts, signal) {
    Object.assign(this, {body, signal, layers: facts.layers});
    this.element.hidden = !facts.heads;
    if (!facts.heads) return;
    const old = this.layer.value;
    const layers = facts.attention_layers.map(String);
    this.layer.replaceChildren(...layers.map((layer) => el('option', {value: layer}, layer)));
    if (layers.includes(old)) this.layer.value = old;
    this.head = Math.min(this.head, facts.heads - 1);
    this.numbers = await lookInside('heads', body, signal);
    this.showScores();
    await this.load();
  }

  showScores() {
    const {layers, heads} = this.numbers;
    const scores = this.numbers[this.kind.value];
    const values = new Float32Array(layers * heads);
    for (let layer = 0; layer < layers; ++layer) {
      for (let head = 0; head < heads; ++head) {
        values[(layers - 1 - layer) * heads + head] = scores[layer * heads + head];
      }
    }
    this.scores.show({
      rows: layers,
      columns: heads,
      values,
      text: (row, column) => `${Math.round(100 * values[row * heads + column])} %`,
      rowLabel: (row) => String(layers - 1 - row),
      columnLabel: (column) => String(column),
    });
  }

  describeScore(row, column) {
    const layer = this.layers - 1 - row;
    const at = layer * this.numbers.heads + column;
    return [
      ['head', `${layer}.${column}`],
      ...kinds.map(([name, text]) => [text, percent(this.numbers[name][at])]),
    ];
  }

  open(layer, head) {
    this.head = head;
    if (Number(this.layer.value) === layer) return this.showHead();
    this.layer.value = String(layer);
    return this.load();
  }

  async load() {
    const layer = Number(this.layer.value);
    try {
      const answer = await lookInside('attention', {...this.body, layer}, this.signal);
      if (Number(this.layer.value) !== layer) return; // another was asked for since
      this.pieces = answer.pieces;
      this.patterns = new Patterns(answer);
      this.showHeads();
    } catch (error) {
      if (!this.signal.aborted) this.complain(error.message);
    }
  }

  showHeads() {
    if (!this.patterns) return;
    this.heads.replaceChildren(
      ...this.patterns.heads.map((head, index) => {
        const canvas = el('canvas', {width: '56', height: '56', 'aria-hidden': 'true'});
        this.sketch(canvas, index);
        return el(
          'button',
          {
            type: 'button',
            class: 'head',
            'aria-label': `Head ${head}`,
            onclick: () => {
              this.head = index;
              this.showHead();
            },
          },
          canvas,
          String(head),
        );
      }),
    );
    this.showHead();
  }

  // The strongest attention that falls on each pixel.
  sketch(canvas, index) {
    const side = canvas.width;
    const {tokens} = this.patterns;
    const best = new Float32Array(side * side);
    for (let query = 0; query < tokens; ++query) {
      const row = Math.floor((query * side) / tokens);
      for (let key = 0; key <= query; ++key) {
        const at = row * side + Math.floor((key * side) / tokens);
        best[at] = Math.max(best[at], this.patterns.at(index, query, key));
      }
    }
    if (tokens < side) this.spread(best, side, tokens);
    const colors = heatColors('sequential');
    const context = canvas.getContext('2d');
    const image = context.createImageData(side, side);
    best.forEach((value, cell) => {
      const step = 3 * stepOf(value);
      image.data.set([colors[step], colors[step + 1], colors[step + 2], 255], 4 * cell);
    });
    context.putImageData(image, 0, 0);
  }

  spread(best, side, tokens) {
    const source = best.slice();
    const first = (at) => Math.floor((Math.floor((at * tokens) / side) * side) / tokens);
    for (let row = 0; row < side; ++row) {
      for (let column = 0; column < side; ++column) {
        best[row * side + column] = source[first(row) * side + first(column)];
      }
    }
  }

  showHead() {
    [...this.heads.children].forEach((button, index) => {
      button.setAttribute('aria-pressed', String(index === this.head));
    });
    const {tokens} = this.patterns;
    const isMatrix = this.form.value === 'matrix';
    this.cut.hidden = false;
    this.caption.textContent = `Layer ${this.layer.value}, head ${this.head}: ${
      isMatrix ? 'each row is a token and what it looks at; choose a cell to cut it' : 'each token and what it looks at'
    }.`;
    this.arcs.element.hidden = isMatrix;
    if (isMatrix) {
      this.matrix.show({
        rows: tokens,
        columns: tokens,
        values: this.patterns.matrix(this.head),
        rowLabel: (row) => this.matrix.short(this.pieces[row], 52),
        columnLabel: (column) => this.pieces[column],
      });
    } else {
      this.matrix.element.hidden = true;
      this.arcs.show(this.pieces, this.patterns.edges(this.head));
    }
  }

  cutHead(event) {
    const box = event.target.getBoundingClientRect();
    this.pickHead(Number(this.layer.value), this.head, {x: box.left, y: box.bottom});
  }

  describeEdge(query, key) {
    if (key > query) return [];
    return [
      [`${visible(this.pieces[query])} (${query})`, `looks at`],
      [`${visible(this.pieces[key])} (${key})`, percent(this.patterns.at(this.head, query, key))],
    ];
  }
}
