// Light colouring of code, line by line: comments, strings, numbers, keywords, calls and type names.
import {el} from '../dom.js';
import {languages} from './languages.js';

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const anyOf = (texts) => (texts.length ? texts.map(escape).join('|') : '(?!)');

function scanner({line, block, strings, long}) {
  const quoted = strings.map((mark) => `${mark}(?:\\\\.|[^${mark}\\\\])*${mark}?`);
  return new RegExp(
    [
      `(?<span>${anyOf([...Object.keys(block), ...Object.keys(long)])})`,
      `(?<comment>(?:${anyOf(line)}).*)`,
      `(?<string>${quoted.join('|') || '(?!)'})`,
      '(?<number>\\b\\d[\\w.]*)',
      '(?<word>[\\p{L}_$][\\p{L}\\p{N}_$]*)',
    ].join('|'),
    'gu',
  );
}

export class Highlighter {
  constructor(language) {
    this.language = languages.get(language) ?? null;
    this.isDiff = language === 'diff' || language === 'patch';
    this.inside = null; // {end, kind} of a comment or string that goes over several lines
    if (this.language) this.scanner = this.language.scanner ??= scanner(this.language);
  }

  // Nodes for the next line.
  line(text) {
    if (this.isDiff && /^[-+]/.test(text))
      return [el('span', {class: text[0] === '+' ? 'hl-string' : 'hl-removed'}, text)];
    if (!this.language) return [text];
    const nodes = [];
    let at = 0;
    while (at < text.length) {
      if (this.inside) {
        const end = text.indexOf(this.inside.end, at);
        const stop = end < 0 ? text.length : end + this.inside.end.length;
        nodes.push(el('span', {class: this.inside.kind}, text.slice(at, stop)));
        at = stop;
        if (end >= 0) this.inside = null;
        continue;
      }
      at = this.plain(text, at, nodes);
    }
    return nodes;
  }

  // Up to the end of the line, or to where something over several lines begins.
  plain(text, from, nodes) {
    let done = from;
    this.scanner.lastIndex = from;
    for (let found; (found = this.scanner.exec(text));) {
      const kind = this.kindOf(found, text);
      if (!kind) continue;
      if (found.index > done) nodes.push(text.slice(done, found.index));
      if (kind === 'span') return this.enter(found[0], found.index, text, nodes);
      nodes.push(el('span', {class: kind}, found[0]));
      done = found.index + found[0].length;
    }
    if (done < text.length) nodes.push(text.slice(done));
    return text.length;
  }

  enter(mark, at, text, nodes) {
    const {block, long} = this.language;
    const isComment = mark in block;
    this.inside = {end: isComment ? block[mark] : long[mark], kind: isComment ? 'hl-comment' : 'hl-string'};
    nodes.push(el('span', {class: this.inside.kind}, mark));
    return at + mark.length;
  }

  kindOf({groups, index, 0: all}, text) {
    if (groups.span) return 'span';
    if (groups.comment) return 'hl-comment';
    if (groups.string)
      return /^\s*:/.test(text.slice(index + all.length, index + all.length + 8)) ? 'hl-name' : 'hl-string';
    if (groups.number) return 'hl-number';
    const {keywords, ignoreCase} = this.language;
    if (keywords.has(ignoreCase ? all.toLowerCase() : all)) return 'hl-keyword';
    if (text[index + all.length] === '(') return 'hl-name';
    return /^\p{Lu}\p{L}*\p{Ll}/u.test(all) ? 'hl-type' : null;
  }
}
