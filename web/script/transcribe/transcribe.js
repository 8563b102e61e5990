// Speech to text: a file that is dropped or chosen, or the microphone.
import {announce, copyButton, el, icon} from '../dom.js';
import {listSpeechModels, streamTranscription} from '../api.js';
import {clock, inFormat, saveFile} from './subtitles.js';
import {duration} from '../format.js';
import {Dictation} from '../dictation.js';
import {suggestionList} from '../suggestions.js';

export class TranscribeView {
  constructor() {
    this.id = 'transcribe';
    this.title = 'Transcribe';
    this.segments = [];
    this.models = el('select', {'aria-label': 'Speech model'});
    this.input = el('input', {
      type: 'file',
      class: 'unseen',
      accept: 'audio/*,video/*',
      'aria-label': 'Recording',
      onchange: () => this.input.files[0] && this.transcribe(this.input.files[0]),
    });
    this.zone = this.buildZone();
    this.record = el('button', {type: 'button', class: 'quiet record', onclick: () => this.toggleDictation()});
    this.cancel = el('button', {type: 'button', class: 'quiet', hidden: true, onclick: () => this.stop()}, 'Stop');
    this.notice = el('p', {class: 'notice', role: 'alert', hidden: true});
    this.facts = el('p', {class: 'hint'});
    this.player = el('audio', {controls: true, hidden: true, preload: 'metadata'});
    this.list = el('ol', {class: 'segments', 'aria-live': 'polite', 'aria-label': 'Transcript'});
    this.tools = el('div', {class: 'transcript-tools', hidden: true}, this.buildTools());
    this.offers = el('div', {}, suggestionList(['Try a short recording'], () => this.tryExample()));
    this.element = this.build();
    this.showRecording(false);
  }

  build() {
    return el(
      'div',
      {class: 'transcribe'},
      el('h1', {class: 'unseen'}, 'Transcribe'),
      this.zone,
      el('div', {class: 'transcribe-bar'}, this.record, this.cancel, el('label', {}, 'Model ', this.models)),
      this.offers,
      this.notice,
      this.player,
      el(
        'section',
        {class: 'card'},
        el('div', {class: 'card-head'}, el('h2', {}, 'Transcript'), this.facts, this.tools),
        this.list,
      ),
    );
  }

  buildZone() {
    const zone = el(
      'label',
      {class: 'drop-zone'},
      icon('export'),
      el('strong', {}, 'Drop a recording here'),
      el('span', {class: 'hint'}, 'or choose a file: sound, or a video with sound'),
      this.input,
    );
    const over = (isOver) => (event) => {
      event.preventDefault();
      zone.classList.toggle('over', isOver);
    };
    zone.addEventListener('dragover', over(true));
    zone.addEventListener('dragleave', over(false));
    zone.addEventListener('drop', (event) => {
      over(false)(event);
      const [file] = event.dataTransfer.files;
      if (file) this.transcribe(file);
    });
    return zone;
  }

  buildTools() {
    const save = (kind) =>
      el(
        'button',
        {type: 'button', class: 'quiet', onclick: () => saveFile(inFormat(kind, this.segments), `${this.name}.${kind}`)},
        kind,
      );
    return [copyButton(() => inFormat('txt', this.segments), 'Copy the text'), save('txt'), save('srt'), save('vtt')];
  }

  async show() {
    if (this.models.options.length) return;
    try {
      const models = await listSpeechModels();
      this.models.replaceChildren(...models.map(({id}) => el('option', {value: id}, id)));
      if (!models.length) this.complain('The server has no model for speech.');
    } catch (error) {
      this.complain(error.message);
    }
  }

  hide() {}

  complain(text) {
    this.notice.hidden = !text;
    this.notice.textContent = text;
  }

  // Empties the transcript for a new recording.
  begin(name) {
    this.stop();
    this.complain('');
    this.offers.hidden = true;
    this.name = name.replace(/\.[^.]*$/, '') || 'transcript';
    this.segments = [];
    this.list.replaceChildren();
    this.tools.hidden = true;
    this.open = null;
    this.facts.textContent = name;
  }

  async tryExample() {
    try {
      const answer = await fetch('/example.wav');
      if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
      await this.transcribe(new File([await answer.blob()], 'example.wav', {type: 'audio/wav'}));
    } catch (error) {
      this.complain(error.message);
    }
  }

  async transcribe(file) {
    this.begin(file.name);
    this.play(file);
    const abort = (this.abort = new AbortController());
    this.cancel.hidden = false;
    const form = new FormData();
    form.append('file', file);
    form.append('response_format', 'verbose_json');
    if (this.models.value) form.append('model', this.models.value);
    const start = performance.now();
    try {
      for await (const event of streamTranscription(form, abort.signal)) this.take(event, start);
    } catch (error) {
      if (!abort.signal.aborted) this.complain(error.message);
    }
    if (this.abort === abort) this.cancel.hidden = true;
    this.input.value = ''; // the same file may be chosen again
  }

  take(event, start) {
    if (event.type === 'transcript.text.delta') {
      this.showOpen((this.open?.text ?? '') + event.delta);
    } else if (event.type === 'transcript.text.segment') {
      this.addSegment(event);
    } else if (event.type === 'transcript.text.done') {
      const seconds = (performance.now() - start) / 1000;
      const times = event.usage.seconds / Math.max(seconds, 0.001);
      this.facts.textContent = this.segments.length
        ? `${duration(event.usage.seconds)} of sound in ${duration(seconds)}, ${times.toFixed(1)} times real time`
        : 'Nobody speaks in this recording.';
      announce(this.facts.textContent);
    }
  }

  play(file) {
    if (this.player.src) URL.revokeObjectURL(this.player.src);
    this.player.src = URL.createObjectURL(file);
    this.player.hidden = false;
  }

  // Text that may still change.
  showOpen(text) {
    if (!this.open) {
      this.open = {text: '', element: el('li', {class: 'segment open'}, el('span', {class: 'time'}), el('p'))};
      this.list.append(this.open.element);
    }
    this.open.text = text;
    this.open.element.lastChild.textContent = text.trim();
  }

  addSegment({start, end, text}) {
    this.open?.element.remove();
    this.open = null;
    if (!text) return;
    this.segments.push({start, end, text});
    const seek = el(
      'button',
      {type: 'button', class: 'time', title: 'Play from here', onclick: () => this.seek(start)},
      clock(start),
    );
    this.list.append(el('li', {class: 'segment'}, seek, el('p', {}, text)));
    this.tools.hidden = false;
  }

  seek(time) {
    if (this.player.hidden) return;
    this.player.currentTime = time;
    this.player.play().catch(() => {}); // a format that the browser cannot play
  }

  stop() {
    this.abort?.abort();
    this.cancel.hidden = true;
    this.dictation?.stop();
  }

  showRecording(isOn) {
    this.record.classList.toggle('on', isOn);
    this.record.setAttribute('aria-pressed', String(isOn));
    this.record.replaceChildren(icon(isOn ? 'stop' : 'microphone'), isOn ? ' Stop' : ' Microphone');
  }

  async toggleDictation() {
    if (this.dictation) {
      this.dictation.stop();
      return;
    }
    this.begin('dictation');
    this.player.hidden = true;
    this.facts.textContent = 'Listening …';
    this.showRecording(true);
    this.dictation = new Dictation(this.models.value, {
      guess: (text) => this.showOpen(text),
      segment: (segment) => this.addSegment(segment),
    });
    try {
      await this.dictation.run();
      this.facts.textContent = this.segments.length ? '' : 'Nobody spoke.';
    } catch (error) {
      this.facts.textContent = '';
      this.complain(error.message);
    }
    this.dictation = null;
    this.showRecording(false);
  }
}
