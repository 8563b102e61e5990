// The microphone writes into a field: what is said is put behind what stands there.
import {announce, el, icon} from '../dom.js';
import {listSpeechModels} from '../api.js';
import {Dictation} from '../dictation.js';

export class VoiceInput {
  // write(text): the field's text; read(): what it has. complain(sentence).
  constructor({read, write, complain}) {
    Object.assign(this, {read, write, complain});
    this.label = el('span', {}, 'Voice');
    this.button = el('button', {type: 'button', class: 'tool voice', onclick: () => this.toggle()});
    this.show(false);
  }

  show(isOn) {
    const label = isOn ? 'Stop listening' : 'Voice input';
    this.button.classList.toggle('on', isOn);
    this.button.setAttribute('aria-label', label);
    this.button.dataset.on = String(isOn);
    this.button.title = label;
    this.button.replaceChildren(icon(isOn ? 'stop' : 'microphone'), this.label);
  }

  stop() {
    this.dictation?.stop();
  }

  async toggle() {
    if (this.isOn) return this.stop();
    this.isOn = true;
    this.complain('');
    this.show(true);
    try {
      const [model] = await listSpeechModels();
      if (!model) throw new Error('The server has no model for speech.');
      await this.listen(model.id);
    } catch (error) {
      this.complain(error.message);
    }
    this.dictation = null;
    this.isOn = false;
    this.show(false);
  }

  listen(model) {
    let before = this.read().trimEnd();
    const joined = (text) => [before, text.trim()].filter(Boolean).join(' ');
    this.dictation = new Dictation(model, {
      guess: (text) => this.write(joined(text)),
      segment: ({text}) => this.write((before = joined(text))),
    });
    announce('Listening.');
    return this.dictation.run();
  }
}
