// The live view of the engine: what it computes, for whom, and where it keeps it.
import {el} from '../dom.js';
import {watchEngine} from '../api.js';
import {BlockGrid} from './block_grid.js';
import {SequenceBars} from './sequence_bars.js';
import {StripChart} from './strip_chart.js';
import {Rates} from './rates.js';
import {settings} from '../store.js';
import {count, duration, percent, rate} from '../format.js';

const facts = [
  ['running', 'running'],
  ['waiting', 'waiting'],
  ['paused', 'paused'],
  ['decode', 'decode tokens/s'],
  ['prefill', 'prefill tokens/s'],
  ['hits', 'prefix cache hits'],
  ['pressure', 'KV blocks in use'],
];

export class EngineView {
  constructor(picker) {
    this.id = 'engine';
    this.title = 'Engine';
    this.grid = new BlockGrid();
    this.bars = new SequenceBars((request) => this.grid.highlight(request));
    this.chart = new StripChart();
    this.values = Object.fromEntries(facts.map(([name]) => [name, el('dd', {'data-fact': name}, '–')]));
    this.blocks = el('p', {class: 'hint'});
    this.batch = el('p', {class: 'hint'});
    this.totals = el('p', {class: 'hint totals'});
    this.notice = el('p', {class: 'notice', role: 'status', hidden: true});
    this.element = this.build();
    document.addEventListener('visibilitychange', () => this.connectOrNot());
    picker.addEventListener('change', () => this.connectOrNot());
  }

  build() {
    const key = (name, text) => el('span', {class: `key ${name}`}, text);
    return el(
      'div',
      {class: 'engine'},
      el('h1', {class: 'unseen'}, 'Engine'),
      this.notice,
      el(
        'dl',
        {class: 'facts-row'},
        facts.map(([name, text]) => el('div', {}, el('dt', {}, text), this.values[name])),
      ),
      el(
        'section',
        {class: 'card'},
        el('div', {class: 'card-head'}, el('h2', {}, 'KV cache'), this.blocks),
        this.grid.element,
        el(
          'p',
          {class: 'keys'},
          key('used', 'one request, by hue'),
          key('shared', 'shared'),
          key('cached', 'cached'),
          key('free', 'free'),
        ),
      ),
      el(
        'section',
        {class: 'card'},
        el(
          'div',
          {class: 'card-head'},
          el('h2', {}, 'Sequences'),
          el('p', {class: 'hint'}, 'prompt + generated tokens, age'),
        ),
        this.bars.element,
      ),
      el(
        'section',
        {class: 'card'},
        el('div', {class: 'card-head'}, el('h2', {}, 'Forward passes'), this.batch),
        this.chart.element,
        el('p', {class: 'keys'}, key('prefill', 'prefill'), key('decode', 'decode')),
      ),
      this.totals,
    );
  }

  show() {
    this.isShown = true;
    this.connectOrNot();
  }

  hide() {
    this.isShown = false;
    document.body.classList.remove('computing');
    this.connectOrNot();
  }

  // Listens only while somebody looks.
  connectOrNot() {
    const wanted = this.isShown && !document.hidden ? settings.model : '';
    if (wanted === (this.connected ?? '')) return;
    this.abort?.abort();
    this.connected = wanted;
    if (wanted) this.listen(wanted);
  }

  async listen(model) {
    const abort = (this.abort = new AbortController());
    this.rates = new Rates();
    while (!abort.signal.aborted) {
      try {
        for await (const snapshot of watchEngine(model, abort.signal)) {
          if (abort.signal.aborted) return;
          this.showNotice('');
          this.update(snapshot);
        }
      } catch (error) {
        if (abort.signal.aborted) return;
        this.showNotice(error.message);
      }
      await new Promise((resolve) => setTimeout(resolve, 1500));
    }
  }

  showNotice(text) {
    this.notice.hidden = !text;
    if (this.notice.textContent !== text) this.notice.textContent = text;
  }

  update(snapshot) {
    const {counters, blocks, batch} = snapshot;
    this.rates.add(counters, performance.now() / 1000);
    const set = (name, text) => {
      this.values[name].textContent = text;
    };
    for (const name of ['running', 'waiting', 'paused']) set(name, count(snapshot[name]));
    set('decode', rate(this.rates.perSecond('generated_tokens')));
    set('prefill', rate(this.rates.perSecond('prompt_tokens')));
    set('hits', counters.prompt_tokens ? percent(counters.reused_tokens / counters.prompt_tokens) : '–');
    set('pressure', percent(snapshot.pressure));
    this.showBlocks(snapshot);
    this.batch.textContent = `${count(batch.prefill)} prefill + ${count(batch.decode)} decode tokens in ${duration(batch.seconds)}`;
    this.totals.textContent =
      `Since the start: ${count(counters.steps)} passes, ${count(counters.prompt_tokens)} prompt tokens ` +
      `(${count(counters.reused_tokens)} from the prefix cache), ${count(counters.generated_tokens)} generated, ` +
      `${count(counters.prefix_evictions)} blocks evicted, ${count(counters.preemptions)} preemptions.`;
    this.bars.show(snapshot);
    this.chart.show(snapshot);
    document.body.classList.toggle('computing', snapshot.running > 0);
    this.grid.show({blocks, sequences: snapshot.sequences});
  }

  showBlocks({blocks, block_tokens: tokens}) {
    const used = blocks.total - blocks.free - blocks.cached;
    const parts = `${count(used)} used, ${count(blocks.cached)} cached, ${count(blocks.free)} free`;
    const text = `${parts}; ${count(tokens)} tokens each`;
    this.blocks.textContent = text;
    this.grid.element.setAttribute('aria-label', `Blocks of the KV cache: ${text}`);
  }
}
