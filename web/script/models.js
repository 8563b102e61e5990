// The list of models and the picker in the header. Asking for the list again and again tells whether the server is there.
import {announce, el} from './dom.js';
import {connection, listModels} from './api.js';
import {settings, saveSettings} from './store.js';

const notes = {
  loading: ({progress}) => ` · loading ${Math.floor(100 * (progress ?? 0))} %`,
  unloaded: () => ' · not loaded',
  failed: () => ' · failed',
};

const patience = 5000; // milliseconds a server has to answer
const states = {
  ready: 'The model is ready.',
  loading: 'The model is being loaded.',
  unloaded: 'The model is loaded with the first request.',
};

export class ModelPicker extends EventTarget {
  constructor(container) {
    super();
    this.models = [];
    this.error = '';
    this.select = el('select', {'aria-label': 'Model', onchange: () => this.choose(this.select.value)});
    this.progress = el('progress', {max: '1', hidden: true, 'aria-label': 'Loading the model'});
    this.dot = el('span', {class: 'dot', role: 'img'});
    container.append(this.dot, this.select, this.progress);
    document.addEventListener('visibilitychange', () => document.hidden || this.refresh());
    connection.addEventListener('gone', () => this.isAsking || this.refresh());
  }

  get current() {
    return this.models.find(({id}) => id === settings.model) ?? null;
  }

  choose(id) {
    settings.model = id;
    saveSettings();
    this.show();
  }

  async refresh() {
    clearTimeout(this.timer);
    this.isAsking = true;
    const before = this.error;
    try {
      this.models = await listModels(AbortSignal.timeout(patience));
      this.error = this.models.length ? '' : 'The server has no model.';
    } catch (error) {
      this.error = error.message;
    }
    this.isAsking = false;
    if (before && !this.error) announce('The server is back.');
    if (!this.current && this.models.length)
      settings.model = (this.models.find(({status}) => status === 'ready') ?? this.models[0]).id;
    this.show();
    const isLoading = this.models.some(({status}) => status === 'loading');
    if (!document.hidden) this.timer = setTimeout(() => this.refresh(), this.error ? 1500 : isLoading ? 700 : 4000);
  }

  show() {
    const options = this.models.map((model) => [model.id, model.id + (notes[model.status]?.(model) ?? '')]);
    // An open list would close if its options were replaced.
    if (options.map(([id]) => id).join('\n') !== [...this.select.options].map(({value}) => value).join('\n')) {
      this.select.replaceChildren(...options.map(([id]) => el('option', {value: id})));
    }
    options.forEach(([, text], index) => {
      this.select.options[index].text = text;
    });
    this.select.value = settings.model;
    const status = this.error ? 'failed' : (this.current?.status ?? 'ready');
    this.dot.className = `dot ${status}`;
    this.dot.title = this.trouble || states[status];
    this.dot.setAttribute('aria-label', this.dot.title);
    this.progress.hidden = status !== 'loading';
    this.progress.value = this.current?.progress ?? 0;
    this.select.title = this.trouble;
    this.dispatchEvent(new Event('change'));
  }

  // One sentence, or nothing when the model can be asked.
  get trouble() {
    if (this.error) return this.error;
    if (this.current?.status === 'failed')
      return this.current.error || `The model ${this.current.id} could not be loaded.`;
    return '';
  }
}
