// Attention as arcs over the text: from each token to those it looks at, the stronger the bolder. The token under the
// pointer or the cursor shows its own arcs alone. Only what the scrolled window shows is drawn.
import {announce, el} from '../dom.js';
import {Canvas} from '../canvas.js';
import {heatColors, stepOf} from './heat.js';
import {percent} from '../format.js';
import {visible} from '../tokens.js';

const font = '12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const letter = 7.3;
const gap = 10;
const rising = 0.42; // of an arc's width
const baseline = 26; // pixels under the arcs for the text
const tallest = 240;

export class Arcs {
  constructor() {
    this.canvas = new Canvas({class: 'cell-canvas', 'aria-hidden': 'true'}, () => this.schedule());
    this.space = el('div', {class: 'cell-space'});
    this.element = el(
      'div',
      {
        class: 'cell-window arcs',
        tabindex: '0',
        role: 'group',
        'aria-roledescription': 'arcs over tokens',
        'aria-label': 'Attention as arcs',
        hidden: true,
      },
      this.space,
      this.canvas.element,
    );
    this.height = tallest;
    new ResizeObserver(() => this.resize()).observe(this.element);
    this.element.addEventListener('scroll', () => this.schedule(), {passive: true});
    this.element.addEventListener('pointermove', (event) => this.choose(this.tokenAt(event)));
    this.element.addEventListener('pointerleave', () => this.choose(null));
    this.element.addEventListener('keydown', (event) => this.press(event));
    this.pieces = [];
    this.edges = [];
  }

  show(pieces, edges) {
    this.pieces = pieces.map((piece) => {
      const text = visible(piece);
      return text.length > 14 ? `${text.slice(0, 13)}…` : text;
    });
    this.edges = edges;
    this.chosen = null;
    let x = gap;
    this.lefts = this.pieces.map((piece) => {
      const left = x;
      x += piece.length * letter + gap;
      return left;
    });
    const widest = edges.reduce((most, {query, key}) => Math.max(most, this.lefts[query] - this.lefts[key]), 0);
    this.height = Math.min(tallest, baseline + 24 + rising * widest);
    this.space.style.width = `${x}px`;
    this.space.style.height = `${this.height}px`;
    this.element.style.height = `${this.height + 14}px`;
    this.resize();
    this.schedule();
  }

  resize() {
    this.canvas.element.style.width = `${this.element.clientWidth}px`;
    this.canvas.element.style.height = `${this.height}px`;
    this.schedule();
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.draw();
    });
  }

  middle(token) {
    return this.lefts[token] + (this.pieces[token].length * letter) / 2 - this.element.scrollLeft;
  }

  draw() {
    const {context, width} = this.canvas;
    const {height} = this;
    if (!width || !this.lefts?.length) return;
    const style = getComputedStyle(this.element);
    const colors = heatColors('sequential');
    context.clearRect(0, 0, width, height);
    const ground = height - baseline;
    const chosen = this.chosen;
    for (const {query, key, weight} of this.edges) {
      if (chosen !== null && chosen !== undefined && query !== chosen && key !== chosen) continue;
      const from = this.middle(query);
      const to = this.middle(key);
      if (from < 0 || to > width) continue;
      const step = 3 * stepOf(0.35 + 0.65 * weight);
      context.strokeStyle = `rgb(${colors[step]} ${colors[step + 1]} ${colors[step + 2]})`;
      context.globalAlpha = Math.min(1, 0.25 + weight);
      context.lineWidth = 0.75 + 2.5 * weight;
      context.beginPath();
      if (query === key) {
        context.arc(from, ground - 6, 5, 0, 2 * Math.PI);
      } else {
        const rise = Math.min(ground - 8, 12 + rising * (from - to));
        context.moveTo(from, ground - 2);
        context.bezierCurveTo(from, ground - 2 - 1.32 * rise, to, ground - 2 - 1.32 * rise, to, ground - 2);
      }
      context.stroke();
    }
    context.globalAlpha = 1;
    context.font = font;
    context.textBaseline = 'middle';
    this.pieces.forEach((piece, token) => {
      const left = this.lefts[token] - this.element.scrollLeft;
      if (left > width || left + piece.length * letter < 0) return;
      context.fillStyle = style.getPropertyValue(token === chosen ? '--flame' : '--ink');
      context.fillText(piece, left, height - baseline / 2);
    });
  }

  tokenAt({clientX}) {
    const x = clientX - this.element.getBoundingClientRect().left + this.element.scrollLeft;
    let token = 0;
    while (token + 1 < this.lefts.length && this.lefts[token + 1] - gap / 2 <= x) ++token;
    return token;
  }

  choose(token) {
    if (token === this.chosen) return;
    this.chosen = token;
    this.schedule();
  }

  press(event) {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step || !this.pieces.length) return;
    event.preventDefault();
    const token = Math.min(this.pieces.length - 1, Math.max(0, (this.chosen ?? -1) + step));
    this.choose(token);
    const left = this.lefts[token];
    const right = left + this.pieces[token].length * letter;
    const {element} = this;
    element.scrollLeft = Math.max(Math.min(element.scrollLeft, left - gap), right + gap - element.clientWidth);
    const seen = this.edges.filter(({query}) => query === token);
    const list = seen.map(({key, weight}) => `${this.pieces[key]} ${percent(weight)}`).join(', ');
    announce(`${this.pieces[token]} looks at ${list || 'nothing in particular'}`);
  }
}
