// Text files that go along with a message.
import {el, icon, iconButton} from '../dom.js';

const most = 256 << 10; // bytes of all files of a message
const size = (text) => new TextEncoder().encode(text).length;

export function sizeOf(text) {
  const bytes = size(text);
  return bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`;
}

// What the model reads: the question, then each file between fences that it does not hold itself.
export function withFiles(content, files) {
  const parts = files.map(({name, text}) => {
    const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({length}) => length));
    const fence = '`'.repeat(longest + 1);
    return `${name}:\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
  });
  return [content, ...parts].filter(Boolean).join('\n\n');
}

export class Attachments {
  // complain(sentence), changed(): files came or went.
  constructor({complain, changed}) {
    Object.assign(this, {complain, changed});
    this.files = [];
    this.input = el('input', {
      type: 'file',
      class: 'unseen',
      tabindex: '-1',
      multiple: true,
      'aria-label': 'Text files',
      onchange: () => this.add(this.input.files),
    });
    this.list = el('ul', {class: 'attached', 'aria-label': 'Attached files', hidden: true});
  }

  choose() {
    this.input.click();
  }

  async add(chosen) {
    const files = [...chosen];
    this.input.value = ''; // the same file may be chosen again
    for (const file of files) {
      const text = await this.read(file);
      if (text !== null) this.files.push({name: file.name, text});
    }
    this.show();
  }

  async read(file) {
    const others = this.files.reduce((sum, {text}) => sum + size(text), 0);
    if (others + file.size > most) return this.refuse(`${file.name} does not fit: files may have ${most >> 10} KiB together.`);
    try {
      const text = new TextDecoder('utf-8', {fatal: true}).decode(await file.arrayBuffer());
      if (!text.includes('\0')) return text;
    } catch {
      /* other bytes than text */
    }
    return this.refuse(`${file.name} is no text in UTF-8.`);
  }

  refuse(sentence) {
    this.complain(sentence);
    return null;
  }

  // Hands the files over.
  take() {
    const {files} = this;
    this.files = [];
    this.show();
    return files;
  }

  show() {
    this.list.hidden = !this.files.length;
    this.list.replaceChildren(
      ...this.files.map(({name, text}, index) =>
        el(
          'li',
          {},
          icon('clip'),
          el('span', {}, `${name}, ${sizeOf(text)}`),
          iconButton('close', `Remove ${name}`, () => {
            this.files.splice(index, 1);
            this.show();
          }),
        ),
      ),
    );
    this.changed();
  }

  // Files that are dropped on the area are attached.
  acceptDrops(area) {
    const over = (isOver) => (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      area.classList.toggle('over', isOver);
      if (event.type === 'drop') this.add(event.dataTransfer.files);
    };
    area.addEventListener('dragover', over(true));
    area.addEventListener('dragleave', over(false));
    area.addEventListener('drop', over(false));
  }
}
