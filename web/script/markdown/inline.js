// Markdown inside one paragraph, as DOM nodes. Each character is looked at a bounded number of times.
import {el} from '../dom.js';

const maxOpen = 64; // marks that wait for their other half
const schemes = new Set(['http:', 'https:', 'mailto:']);
const entities = {amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: '\u00a0'};
const elements = {'**': 'strong', __: 'strong', '*': 'em', _: 'em', '~~': 'del'};
const plain = /[^\\`*_~[\]!<&\nhH]+/y;
const address = /https?:\/\/[^\s<>"'`|]+/iy;
const isPunctuation = (character) => /[\p{P}\p{S}]/u.test(character);
const isBracket = ({mark}) => mark.endsWith('[');
const isSpace = (character) => character === '' || /\s/.test(character);

// The address if following it is harmless, else null.
export function safeAddress(text) {
  try {
    const url = new URL(text);
    return schemes.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

function link(address, children) {
  return el('a', {href: address, rel: 'noopener noreferrer', target: '_blank'}, children);
}

// With openEnd, marks that are still open at the end count as closed there: more text is on its way.
export function renderInline(text, openEnd = false) {
  const parser = new InlineParser(text);
  parser.run(openEnd);
  const fragment = document.createDocumentFragment();
  for (const node of parser.finish(openEnd)) fragment.append(node);
  return fragment;
}

class InlineParser {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.frames = [{mark: '', nodes: []}]; // the outermost, then one per mark that waits for its other half
    this.missing = new Set(); // lengths of backtick runs that have no partner further on
  }

  get top() {
    return this.frames[this.frames.length - 1];
  }
  put(node) {
    this.top.nodes.push(node);
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    return pattern.exec(this.text);
  }

  run(openEnd) {
    while (this.at < this.text.length) {
      const found = this.match(plain);
      if (found) {
        this.put(found[0]);
        this.at += found[0].length;
      } else {
        this.special(this.text[this.at], openEnd);
      }
    }
  }

  special(character, openEnd) {
    switch (character) {
      case '\\':
        return this.escape();
      case '`':
        return this.code(openEnd);
      case '*':
      case '_':
        return this.emphasis(character);
      case '~':
        return this.strike();
      case '[':
        return this.open('[', 1);
      case '!':
        return this.image();
      case ']':
        return this.closeBracket();
      case '<':
        return this.angle();
      case '&':
        return this.entity();
      case '\n':
        return this.lineBreak(1);
      default:
        return this.bareAddress();
    }
  }

  literal(length) {
    this.put(this.text.slice(this.at, this.at + length));
    this.at += length;
  }

  lineBreak(length) {
    this.put(el('br'));
    this.at += length;
  }

  escape() {
    const next = this.text[this.at + 1] ?? '';
    if (next === '\n') return this.lineBreak(2);
    if (!/[!-/:-@[-`{-~]/.test(next)) return this.literal(1);
    this.put(next);
    this.at += 2;
  }

  code(openEnd) {
    const run = this.match(/`+/y)[0];
    const start = this.at + run.length;
    let end = -1;
    if (!this.missing.has(run.length)) {
      const closer = new RegExp(`(?<!\`)\`{${run.length}}(?!\`)`, 'g');
      closer.lastIndex = start;
      end = closer.exec(this.text)?.index ?? -1;
    }
    if (end < 0) {
      this.missing.add(run.length);
      if (!openEnd) return this.literal(run.length);
      end = this.text.length;
    }
    let content = this.text.slice(start, end).replaceAll('\n', ' ');
    if (/^ .*[^ ].* $/.test(content)) content = content.slice(1, -1);
    this.put(el('code', {}, content));
    this.at = Math.min(end + run.length, this.text.length);
  }

  emphasis(character) {
    let length = 1;
    while (this.text[this.at + length] === character) ++length;
    const before = this.text[this.at - 1] ?? '';
    const after = this.text[this.at + length] ?? '';
    const opens = !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before));
    const closes = !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after));
    const inWord = character === '_';
    const canOpen = opens && (!inWord || !closes || isPunctuation(before));
    const canClose = closes && (!inWord || !opens || isPunctuation(after));
    let left = length;
    while (canClose && left > 0) {
      const frame = this.findLast(({mark}) => mark !== '' && mark[0] === character && mark.length <= left);
      if (frame < 0) break;
      left -= this.frames[frame].mark.length;
      this.close(frame);
    }
    this.at += length - left;
    if (!canOpen || left > 3) return this.literal(left);
    if (left >= 2) this.open(character.repeat(2), 2);
    if (left % 2) this.open(character, 1);
  }

  strike() {
    if (!this.text.startsWith('~~', this.at)) return this.literal(1);
    const frame = this.findLast(({mark}) => mark === '~~');
    if (frame < 0) return this.open('~~', 2);
    this.at += 2;
    this.close(frame);
  }

  // Shown as a link: the page loads nothing from elsewhere.
  image() {
    if (this.text[this.at + 1] !== '[') return this.literal(1);
    this.open('![', 2);
  }

  closeBracket() {
    const frame = this.findLast(isBracket);
    const target = /\]\(\s*<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?:\s+"[^"]*")?\s*\)/y;
    const found = frame < 0 ? null : this.match(target);
    const href = found && safeAddress(found[1]);
    if (!href) {
      this.literal(1);
      if (frame >= 0) this.dissolve(frame);
      return;
    }
    this.at += found[0].length;
    while (this.frames.length - 1 > frame) this.dissolve(this.frames.length - 1);
    const {nodes} = this.frames.pop();
    this.put(link(href, nodes));
    // No link inside a link.
    for (let outer; (outer = this.findLast(isBracket)) > 0;) this.dissolve(outer);
  }

  angle() {
    const found = this.match(/<((?:https?:\/\/|mailto:)[^\s<>]+)>/iy);
    const href = found && safeAddress(found[1]);
    if (!href) return this.literal(1);
    this.put(link(href, [found[1]]));
    this.at += found[0].length;
  }

  entity() {
    const found = this.match(/&(amp|lt|gt|quot|#39|nbsp);/y);
    if (!found) return this.literal(1);
    this.put(entities[found[1]]);
    this.at += found[0].length;
  }

  bareAddress() {
    const found = /\w/.test(this.text[this.at - 1] ?? '') ? null : this.match(address);
    if (!found) return this.literal(1);
    let shown = found[0].replace(/[.,;:!?*_~\]]+$/, '');
    if (shown.endsWith(')') && !shown.includes('(')) shown = shown.slice(0, -1);
    const href = this.findLast(isBracket) < 0 ? safeAddress(shown) : null;
    this.put(href ? link(href, [shown]) : shown);
    this.at += shown.length;
  }

  open(mark, length) {
    this.at += length;
    if (this.frames.length > maxOpen) this.put(mark);
    else this.frames.push({mark, nodes: []});
  }

  findLast(wanted) {
    for (let index = this.frames.length - 1; index > 0; --index) if (wanted(this.frames[index])) return index;
    return -1;
  }

  // What stands above lost its other half.
  close(index) {
    while (this.frames.length - 1 > index) this.dissolve(this.frames.length - 1);
    const {mark, nodes} = this.frames.pop();
    this.put(el(elements[mark], {}, nodes));
  }

  // Its mark was only text.
  dissolve(index) {
    const [{mark, nodes}] = this.frames.splice(index, 1);
    const below = this.frames[index - 1].nodes;
    below.push(mark);
    for (const node of nodes) below.push(node);
  }

  finish(openEnd) {
    while (this.frames.length > 1) {
      const {mark, nodes} = this.top;
      if (openEnd && mark in elements && nodes.length) this.close(this.frames.length - 1);
      else this.dissolve(this.frames.length - 1);
    }
    return this.top.nodes;
  }
}
