// What happens inside a model while it reads a text: the logit lens, attention, norms and patching. Cells can be zeroed
// or patched, and the answer changes.
import {el, flame} from '../dom.js';
import {aboutInside, lookInside} from '../api.js';
import {AttentionCard} from './attention.js';
import {closeMenu, openMenu} from './cell_menu.js';
import {EditsCard} from './edits.js';
import {hidePopover} from './cell_grid.js';
import {InsideForm} from './inside_form.js';
import {LensCard, NormsCard} from './lens.js';
import {PatchingCard} from './patching.js';
import {FeaturesCard, ProbeCard} from './readings.js';
import {settings} from '../store.js';
import {visible} from '../tokens.js';

export class InsideView {
  constructor(picker) {
    this.id = 'inside';
    this.title = 'Inside';
    this.notice = el('p', {class: 'notice', role: 'alert', hidden: true});
    const complain = (text) => this.complain(text);
    this.edits = new EditsCard({complain, changed: () => this.turn()});
    this.lens = new LensCard({pick: (...cell) => this.pickCell(...cell)});
    this.attention = new AttentionCard({
      complain,
      pickEdge: (...edge) => this.pickEdge(...edge),
      pickHead: (...head) => this.pickHead(...head),
    });
    this.norms = new NormsCard();
    this.probe = new ProbeCard();
    this.features = new FeaturesCard({pick: (...cell) => this.pickFeature(...cell)});
    this.patching = new PatchingCard({pick: (...cell) => this.pickPatched(...cell)});
    this.form = new InsideForm({start: () => this.start(), stop: () => this.abort?.abort()});
    this.closed = this.buildClosed();
    this.maps = el(
      'div',
      {class: 'inside-main'},
      this.lens.element,
      this.attention.element,
      this.norms.element,
      this.probe.element,
      this.features.element,
      this.patching.element,
    );
    this.element = el(
      'div',
      {class: 'inside'},
      el('h1', {class: 'unseen'}, 'Inside'),
      this.closed,
      this.form.element,
      this.notice,
      el('div', {class: 'inside-columns'}, this.maps, this.edits.element),
    );
    picker.addEventListener('change', () => this.isShown && this.show());
  }

  buildClosed() {
    return el(
      'div',
      {class: 'inside-closed', hidden: true},
      flame(),
      el('h2', {}, 'The inside is closed'),
      el('p', {}, 'This server does not let one look into its models. Start it with the option that does:'),
      el('pre', {}, el('code', {}, 'wick serve --inspect')),
      el('p', {class: 'hint'}, 'Whoever may use the server may then also see and change what its models compute.'),
    );
  }

  async show() {
    this.isShown = true;
    await this.ask();
    if (this.isWanted && this.facts) this.start();
  }

  // A link to a prompt.
  open(query) {
    this.form.state = new URLSearchParams(query);
    this.isWanted = true;
    if (this.isShown) this.show();
  }

  hide() {
    this.isShown = false;
    hidePopover();
    closeMenu();
  }

  complain(text) {
    this.notice.hidden = !text;
    this.notice.textContent = text;
  }

  // Whether there is anything to look into, once per model.
  ask() {
    const {model} = settings;
    if (!model || this.facts?.id === model) return null;
    if (this.asking?.model !== model) this.asking = {model, answer: this.askAbout(model)};
    return this.asking.answer;
  }

  async askAbout(model) {
    try {
      const about = await aboutInside(model);
      if (model !== settings.model) return; // another was chosen meanwhile
      this.closed.hidden = about.inspect;
      this.form.element.hidden = !about.inspect;
      this.facts = about.model ?? null;
      if (about.inspect) this.form.offerChat(Boolean(about.model.chat));
      this.edits.offerVectors(about.steering ?? []);
      this.probe.offer(about.probes ?? []);
      this.features.offer(about.autoencoders ?? []);
      this.limit = about.limits?.tokens;
      this.complain('');
    } catch (error) {
      this.complain(error.message);
    }
    if (this.asking.model === model) this.asking = null;
  }

  async start() {
    if (!this.form.fields.prompt.value) return this.form.fields.prompt.focus();
    this.isWanted = false;
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    const {signal} = abort;
    this.complain('');
    this.form.setRunning(true);
    document.body.classList.add('computing');
    history.replaceState(null, '', `#${this.id}?${this.form.state}`);
    this.form.link.hidden = false;
    try {
      await this.ask();
      await this.look(signal);
    } catch (error) {
      if (!signal.aborted) this.complain(error.message);
    }
    if (this.abort !== abort) return;
    this.form.setRunning(false);
    document.body.classList.remove('computing');
  }

  async look(signal) {
    const {text, other, follow} = await this.form.read(settings.model, signal);
    this.body = {model: settings.model, ...text};
    this.follow = follow.length ? {follow} : {};
    this.patching.prepare(settings.model, text, other);
    this.hasOther = other !== null;
    this.shown = null; // nothing to turn while the maps are drawn
    const answered = this.edits.start(this.body, other, signal);
    await this.draw();
    await answered;
  }

  // The maps of the run that is to be seen; whatever else is being drawn gives way.
  async draw() {
    this.drawing?.abort();
    const drawing = (this.drawing = new AbortController());
    const {signal} = drawing;
    const stop = () => drawing.abort();
    this.abort.signal.addEventListener('abort', stop);
    const changes = this.edits.shownChanges;
    const body = {...this.body, ...changes};
    this.shown = JSON.stringify(changes);
    this.maps.classList.add('waiting');
    try {
      await this.lens.load({...body, ...this.follow}, signal);
      this.lens.mark(this.edits.edits);
      this.maps.dataset.run = changes.edits ? 'edited' : 'plain';
      this.norms.show(await lookInside('norms', body, signal));
      const complain = (text) => this.complain(text);
      await this.probe.load(body, signal, complain);
      await this.features.load(body, signal, complain);
      await this.attention.start(body, this.facts, signal);
    } catch (error) {
      if (!signal.aborted) this.complain(error.message);
    }
    this.abort.signal.removeEventListener('abort', stop);
    if (this.drawing === drawing) this.maps.classList.remove('waiting');
  }

  // Edits came or went, or the other run is to be seen.
  turn() {
    this.lens.mark(this.edits.edits);
    if (this.shown !== null && this.shown !== JSON.stringify(this.edits.shownChanges)) this.draw();
  }

  token(position) {
    return `“${visible(this.lens.lens.pieces[position])}” (${position})`;
  }

  // What can be done at one point of one token.
  actions(sites, position, cell = null) {
    const action = (label, kind, is) =>
      sites.map(([site, name]) => [
        label(name),
        () => this.edits.add(`${name} at ${this.token(position)} is ${is}`, {site, kind, positions: [position]}, cell),
      ]);
    const zeros = action((name) => `Zero ${name}`, 'zero', 'zero');
    if (!this.hasOther) return zeros;
    return zeros.concat(action((name) => `Patch ${name} from the second prompt`, 'patch', 'the second prompt’s'));
  }

  pickCell(point, position, at) {
    const layer = /^blocks\.(\d+)\.(.*)$/.exec(point);
    const name = layer[2] === 'hook_resid_post' ? `what leaves layer ${layer[1]}` : `what enters layer ${layer[1]}`;
    const sites = [[point, name]];
    if (layer[2] === 'hook_resid_pre') {
      sites.push([`blocks.${layer[1]}.hook_attn_out`, `what attention ${layer[1]} adds`]);
      sites.push([`blocks.${layer[1]}.hook_mlp_out`, `what MLP ${layer[1]} adds`]);
    }
    openMenu(`Layer ${layer[1]}, token ${this.token(position)}`, this.actions(sites, position, {point, position}), at);
  }

  pickEdge(layer, head, query, key, at) {
    const cut = (heads, name) => [
      `Cut it in ${name}`,
      () =>
        this.edits.add(`${this.token(query)} no longer sees ${this.token(key)} in ${name}`, {
          site: `blocks.${layer}.attn.hook_attn_scores`,
          kind: 'knockout',
          queries: [query],
          keys: [key],
          heads,
        }),
    ];
    openMenu(
      `${this.token(query)} looks at ${this.token(key)}`,
      [cut([head], `head ${layer}.${head}`), cut([], `all heads of layer ${layer}`)],
      at,
    );
  }

  pickHead(layer, head) {
    this.edits.add(`head ${layer}.${head} is zero`, {site: `blocks.${layer}.attn.hook_z`, kind: 'zero', heads: [head]});
  }

  // One feature: taken away or pushed, as strong as it ever is in this text.
  pickFeature({autoencoder, feature, position, most}, at) {
    const name = `feature ${feature} of ${autoencoder}`;
    const change = (label, is, kind, more) => [
      label,
      () => this.edits.addFeatures(`${name} ${is}`, {autoencoder, features: [feature], kind, ...more}),
    ];
    const here = this.token(position);
    const strength = Number(most.toPrecision(3));
    openMenu(
      `${name[0].toUpperCase()}${name.slice(1)}, token ${here}`,
      [
        change(`Ablate it at ${here}`, `is ablated at ${here}`, 'ablate', {positions: [position]}),
        change('Ablate it everywhere', 'is ablated', 'ablate', {}),
        change(`Steer by it × ${strength}`, `steers × ${strength}`, 'steer', {strength}),
      ],
      at,
    );
  }

  pickPatched(point, layer, column, by, at) {
    const site = `blocks.${layer}.${point}`;
    if (by === 'head') {
      const head = `head ${layer}.${column}`;
      const edit = (kind, is) => () => this.edits.add(`${head} is ${is}`, {site, kind, heads: [column]});
      const actions = [
        ['Zero it', edit('zero', 'zero')],
        ['Patch it from the second prompt', edit('patch', 'the second prompt’s')],
      ];
      openMenu(`Head ${layer}.${column}`, actions, at);
      return;
    }
    const name = {
      hook_resid_pre: `what enters layer ${layer}`,
      hook_attn_out: `what attention ${layer} adds`,
      hook_mlp_out: `what MLP ${layer} adds`,
      'attn.hook_z': `the heads of layer ${layer}`,
    }[point];
    openMenu(`Layer ${layer}, token ${this.token(column)}`, this.actions([[site, name]], column), at);
  }
}
