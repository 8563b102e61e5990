// A patching sweep: one cell of the first text's run at a time is put into the second's. Filled layer by layer.
import {announce, el} from '../dom.js';
import {watchInside} from '../api.js';
import {CellGrid} from './cell_grid.js';
import {fixed} from '../format.js';
import {visible} from '../tokens.js';

const points = [
  ['hook_resid_pre', 'the residual stream'],
  ['hook_attn_out', 'what attention adds'],
  ['hook_mlp_out', 'what the MLP adds'],
  ['attn.hook_z', 'the outputs of heads'],
];

export class PatchingCard {
  // pick(point, layer, column, by, at): a cell was chosen.
  constructor({pick}) {
    this.notice = el('p', {class: 'notice', role: 'alert', hidden: true});
    this.point = el(
      'select',
      {'aria-label': 'What is put in'},
      points.map(([value, text]) => el('option', {value}, text)),
    );
    this.by = el(
      'select',
      {'aria-label': 'What a cell is'},
      el('option', {value: 'position'}, 'by position'),
      el('option', {value: 'head'}, 'by head'),
    );
    this.by.addEventListener('change', () => {
      if (this.by.value === 'head') this.point.value = 'attn.hook_z';
    });
    this.start = el('button', {type: 'button', class: 'quiet small', onclick: () => this.sweep()}, 'Sweep');
    const stop = () => this.abort.abort();
    this.stop = el('button', {type: 'button', class: 'quiet small', hidden: true, onclick: stop}, 'Stop');
    this.progress = el('progress', {max: '1', hidden: true, 'aria-label': 'The sweep'});
    this.hint = el('p', {class: 'hint'}, 'Write a second prompt of as many tokens to compare with.');
    this.grid = new CellGrid({
      label: 'How much each cell restores the first prompt’s answer',
      describe: (row, column) => this.explain(row, column),
      pick: (row, column, at) => this.map && pick(this.map.point, this.layerOf(row), column, this.map.by, at),
    });
    this.element = el(
      'section',
      {class: 'card', hidden: true, 'data-card': 'patching'},
      el(
        'div',
        {class: 'card-head'},
        el('h2', {}, 'Patching'),
        el('p', {class: 'picks'}, this.point, this.by, this.start, this.stop),
      ),
      this.hint,
      this.notice,
      this.progress,
      this.grid.element,
    );
  }

  // clean and corrupted: texts as requests carry them; corrupted may be null.
  prepare(model, clean, corrupted) {
    this.abort?.abort();
    Object.assign(this, {model, clean, corrupted, map: null});
    this.complain('');
    this.element.hidden = false;
    this.grid.element.hidden = true;
    this.start.hidden = !corrupted;
    this.point.hidden = this.by.hidden = !corrupted;
    this.hint.textContent = corrupted
      ? 'Runs the second prompt again and again, each time with one cell of the first put in.'
      : 'Write a second prompt of as many tokens to compare with.';
  }

  complain(text) {
    this.notice.hidden = !text;
    this.notice.textContent = text;
    if (text) this.notice.scrollIntoView({block: 'nearest'});
  }

  async sweep() {
    this.complain('');
    const abort = (this.abort = new AbortController());
    this.start.hidden = true;
    this.stop.hidden = this.progress.hidden = false;
    this.progress.removeAttribute('value');
    const body = {
      model: this.model,
      clean: this.clean,
      corrupted: this.corrupted,
      point: this.point.value,
      by: this.by.value,
    };
    try {
      for await (const event of watchInside('patch', body, abort.signal)) this.take(event);
      announce('The sweep is done.');
    } catch (error) {
      if (!abort.signal.aborted) this.complain(error.message);
    }
    if (this.abort !== abort) return;
    this.start.hidden = !this.corrupted;
    this.stop.hidden = this.progress.hidden = true;
  }

  layerOf(row) {
    return this.map.layers[this.map.layers.length - 1 - row];
  }

  take(event) {
    if (event.type === 'begin') this.begin(event);
    if (event.type !== 'layer') return;
    const {map} = this;
    const row = map.layers.length - 1 - map.layers.indexOf(event.layer);
    map.raw.set(event.layer, event.values);
    const span = map.clean.value - map.corrupted.value;
    const parts = event.values.map((value) => (span ? (value - map.corrupted.value) / span : 0));
    map.parts.set(event.layer, parts);
    // 0 restores nothing (the middle), 1 all of it.
    this.grid.showRow(row, parts.map((part) => 0.5 + 0.5 * part));
    this.progress.value = map.raw.size / map.layers.length;
  }

  begin(event) {
    const columns = event.by === 'head' ? event.heads : event.positions;
    const map = (this.map = {...event, columns, raw: new Map(), parts: new Map()});
    const {metric} = event;
    this.hint.textContent =
      metric.kind === 'kl'
        ? 'Both prompts lead to the same answer; the colours tell how near the distribution comes to the first’s.'
        : `By ${metric.kind.replaceAll('_', ' ')} of “${visible(metric.token.text)}” and ` +
          `“${visible(metric.other.text)}”: ${event.clean.value.toFixed(2)} with the first prompt, ` +
          `${event.corrupted.value.toFixed(2)} with the second. ` +
          'Orange: the cell brings the first answer back.';
    this.grid.show({
      rows: event.layers.length,
      columns: columns.length,
      values: new Float32Array(event.layers.length * columns.length).fill(NaN),
      scale: 'diverging',
      text: (row, column) => {
        const part = map.parts.get(this.layerOf(row))?.[column];
        return part === undefined ? '' : fixed(part, 2);
      },
      rowLabel: (row) => String(this.layerOf(row)),
      columnLabel: (column) => (event.by === 'head' ? `head ${columns[column]}` : event.clean.pieces[columns[column]]),
    });
  }

  explain(row, column) {
    const {map} = this;
    const layer = this.layerOf(row);
    const at = map.columns[column];
    const part = map.parts.get(layer)?.[column];
    const where =
      map.by === 'head'
        ? [['head', `${layer}.${at}`]]
        : [
            ['layer', String(layer)],
            [`token ${at}`, `${visible(map.clean.pieces[at])} for ${visible(map.corrupted.pieces[at])}`],
          ];
    if (part === undefined) return [...where, ['', 'not yet']];
    return [...where, ['restored', `${fixed(100 * part, 1)} %`], ['value', fixed(map.raw.get(layer)[column], 3)]];
  }
}
