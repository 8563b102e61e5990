// A block of code that grows line by line: coloured, with its language and a copy button.
import {el, copyButton} from '../dom.js';
import {Highlighter} from './highlight.js';

export class CodeView {
  constructor(language) {
    this.lines = [];
    this.partial = '';
    this.highlighter = new Highlighter(language);
    this.growing = document.createTextNode(''); // the line that is not complete
    this.code = el('code', {}, this.growing);
    this.element = el(
      'figure',
      {class: 'code'},
      el(
        'figcaption',
        {},
        el('span', {}, language || 'text'),
        copyButton(() => this.text, 'Copy the code'),
      ),
      el('pre', {tabindex: '0'}, this.code),
    );
  }

  get text() {
    return this.partial ? [...this.lines, this.partial].join('\n') : this.lines.join('\n');
  }

  addLine(line) {
    this.growing.before(...this.highlighter.line(line), '\n');
    this.lines.push(line);
    this.setPartial('');
  }

  setPartial(text) {
    this.partial = text;
    this.growing.data = text;
  }

  end() {
    if (!this.partial) return;
    const line = this.partial;
    this.addLine(line);
  }
}
