// Light colouring of code, line by line: comments, strings, numbers, keywords, calls and type names.
import {el} from './dom.js';

const words = (text) => new Set(text.split(' '));
const c = {
  line: ['//'], block: {'/*': '*/'}, strings: ['"', "'"], long: {},
  keywords: words('alignas alignof and asm auto bool break case catch char class concept const consteval constexpr continue '
    + 'co_await co_return co_yield default delete do double else enum explicit export extern false float for friend goto if '
    + 'inline int long mutable namespace new noexcept not nullptr operator or override private protected public register '
    + 'requires return short signed sizeof static static_assert struct switch template this throw true try typedef typename '
    + 'union unsigned using virtual void volatile while final abstract byte extends implements import instanceof interface '
    + 'native package super synchronized throws transient var record null string object foreach in is internal namespace '
    + 'readonly ref sealed when where yield async await func defer go map chan range select type fallthrough let fn impl '
    + 'trait mod pub use crate self Self mut match move dyn loop unsafe as fun val data companion suspend guard protocol')};
const javascript = {
  line: ['//'], block: {'/*': '*/'}, strings: ['"', "'"], long: {'`': '`'},
  keywords: words('async await break case catch class const continue debugger default delete do else enum export extends '
    + 'false finally for from function get if implements import in instanceof interface let new null of private protected '
    + 'public readonly return set static super switch this throw true try type typeof undefined var void while with yield as')};
const python = {
  line: ['#'], block: {}, strings: ['"', "'"], long: {'"""': '"""', "'''": "'''"},
  keywords: words('False None True and as assert async await break case class continue def del elif else except finally for '
    + 'from global if import in is lambda match nonlocal not or pass raise return self try while with yield')};
const shell = {
  line: ['#'], block: {}, strings: ['"', "'"], long: {},
  keywords: words('if then else elif fi for while until do done case esac in function return local export set unset echo cd '
    + 'sudo source exit trap readonly declare true false end def module require include extend begin rescue ensure unless nil '
    + 'yield self puts attr_accessor use my our sub foreach')};
const sql = {
  line: ['--'], block: {'/*': '*/'}, strings: ["'", '"'], long: {}, ignoreCase: true,
  keywords: words('select from where insert into values update set delete create table index view drop alter add primary key '
    + 'foreign references not null unique default check and or in is like between exists join left right inner outer full on '
    + 'group by having order asc desc limit offset union all distinct as case when then else end with begin commit rollback')};
const lua = {
  line: ['--'], block: {'--[[': ']]', '{-': '-}'}, strings: ['"', "'"], long: {'[[': ']]'},
  keywords: words('and break do else elseif end false for function goto if in local nil not or repeat return then true until '
    + 'while module where import data type class instance let of case deriving newtype qualified')};
const data = {line: [], block: {}, strings: ['"'], long: {}, keywords: words('true false null')};
const settings = {line: ['#', ';'], block: {}, strings: ['"', "'"], long: {}, keywords: words('true false null yes no on off')};
const markup = {line: [], block: {'<!--': '-->'}, strings: ['"', "'"], long: {}, keywords: new Set()};
const styles = {line: [], block: {'/*': '*/'}, strings: ['"', "'"], long: {}, keywords: words('important')};

const languages = {
  c, 'c++': c, cpp: c, cc: c, h: c, hpp: c, cuda: c, java: c, kotlin: c, swift: c, rust: c, rs: c, go: c, cs: c, csharp: c,
  scala: c, zig: c, js: javascript, javascript, jsx: javascript, ts: javascript, tsx: javascript, typescript: javascript,
  mjs: javascript, py: python, python, python3: python, sh: shell, bash: shell, shell, zsh: shell, console: shell, rb: shell,
  ruby: shell, perl: shell, make: shell, makefile: shell, cmake: shell, dockerfile: shell, sql, lua, haskell: lua, hs: lua,
  json: data, jsonc: c, yaml: settings, yml: settings, toml: settings, ini: settings, html: markup, xml: markup, svg: markup,
  css: styles, scss: c,
};

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const anyOf = (texts) => (texts.length ? texts.map(escape).join('|') : '(?!)');

function scanner({line, block, strings, long}) {
  const quoted = strings.map((mark) => `${mark}(?:\\\\.|[^${mark}\\\\])*${mark}?`);
  return new RegExp([
    `(?<span>${anyOf([...Object.keys(block), ...Object.keys(long)])})`,
    `(?<comment>(?:${anyOf(line)}).*)`,
    `(?<string>${quoted.join('|')})`,
    '(?<number>\\b\\d[\\w.]*)',
    '(?<word>[\\p{L}_$][\\p{L}\\p{N}_$]*)',
  ].join('|'), 'gu');
}

export class Highlighter {
  constructor(language) {
    this.language = languages[language] ?? null;
    this.isDiff = language === 'diff' || language === 'patch';
    this.inside = null;  // {end, kind} of a comment or string that goes over several lines
    if (this.language) this.scanner = this.language.scanner ??= scanner(this.language);
  }

  // Nodes for the next line.
  line(text) {
    if (this.isDiff && /^[-+]/.test(text)) return [el('span', {class: text[0] === '+' ? 'hl-string' : 'hl-removed'}, text)];
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
    if (groups.string) return /^\s*:/.test(text.slice(index + all.length, index + all.length + 8)) ? 'hl-name' : 'hl-string';
    if (groups.number) return 'hl-number';
    const {keywords, ignoreCase} = this.language;
    if (keywords.has(ignoreCase ? all.toLowerCase() : all)) return 'hl-keyword';
    if (text[index + all.length] === '(') return 'hl-name';
    return /^\p{Lu}\p{L}*\p{Ll}/u.test(all) ? 'hl-type' : null;
  }
}
