// The blocks of the KV cache as a grid. A free block is a dot, a cached one a small square, a used one a full
// square in the hue of its request; shared blocks glow. Colours and sizes ease to where they belong.
import {reducedMotion} from '../dom.js';
import {Animation, Canvas} from '../canvas.js';
import {css, ownerColor, stateColors} from '../palette.js';

const maxCells = 12000; // beyond, a cell stands for several blocks
const maxSide = 20;
const settled = 0.4;
const sizes = [0.26, 0.6, 1, 1]; // by state: free, cached, used, shared
const names = ['free', 'cached', 'used', 'shared'];

export class BlockGrid {
  constructor() {
    this.canvas = new Canvas({class: 'block-grid', role: 'img', 'aria-label': 'Blocks of the KV cache'}, () =>
      this.layout(),
    );
    this.element = this.canvas.element;
    this.animation = new Animation((seconds) => this.step(seconds));
    this.count = 0; // cells
    this.perCell = 1; // blocks
    this.states = new Uint8Array(0);
    this.owners = new Map(); // block -> requests
    this.highlighted = null;
    this.element.addEventListener('pointermove', (event) => this.explain(event));
  }

  // snapshot: of /v1/engine.
  show({blocks, sequences}) {
    if (blocks.total !== this.states.length) this.resize(blocks.total);
    let at = 0;
    for (const [state, count] of blocks.runs) this.states.fill(state, at, (at += count));
    this.owners.clear();
    for (const {request, blocks: held} of sequences) {
      for (const block of held ?? []) {
        const requests = this.owners.get(block);
        if (requests) requests.push(request);
        else this.owners.set(block, [request]);
      }
    }
    this.aim();
  }

  highlight(request) {
    if (request === this.highlighted) return;
    this.highlighted = request;
    this.aim();
  }

  resize(total) {
    this.states = new Uint8Array(total);
    this.perCell = Math.max(1, Math.ceil(total / maxCells));
    this.count = Math.ceil(total / this.perCell);
    this.now = new Float32Array(4 * this.count); // r, g, b, size; as drawn
    this.goal = new Float32Array(4 * this.count);
    this.previous = new Uint8Array(this.count).fill(255);
    this.layout();
  }

  // The largest cells that fit the canvas, of whole pixels of the screen: clearing part of one would leave a line.
  layout() {
    const {width, height, scale} = this.canvas;
    if (!this.count || !width) return;
    let pixels = Math.floor(maxSide * scale);
    const fits = (side) => Math.floor(width / side) * Math.floor(height / side) >= this.count;
    while (pixels > 2 && !fits(pixels / scale)) --pixels;
    const side = pixels / scale;
    this.side = side;
    this.columns = Math.max(1, Math.floor(width / side));
    this.aim(true);
  }

  // A cell of several blocks shows the one that is used most.
  cellState(cell) {
    let best = 0;
    let block = cell * this.perCell;
    for (let at = block; at < Math.min(this.states.length, (cell + 1) * this.perCell); ++at) {
      if (this.states[at] > best) {
        best = this.states[at];
        block = at;
      }
    }
    return [best, block];
  }

  aim(atOnce = false) {
    const colors = stateColors();
    const hues = new Map();
    for (let cell = 0; cell < this.count; ++cell) {
      const [state, block] = this.cellState(cell);
      const requests = this.owners.get(block);
      let color = colors[names[state]];
      if (state === 2 && requests) {
        if (!hues.has(requests[0])) hues.set(requests[0], ownerColor(requests[0]));
        color = hues.get(requests[0]);
      }
      const isDimmed = this.highlighted !== null && !requests?.includes(this.highlighted);
      this.goal.set(isDimmed ? color.map((value, part) => 0.25 * value + 0.75 * colors.free[part]) : color, 4 * cell);
      this.goal[4 * cell + 3] = sizes[state];
      if (state >= 2 && this.previous[cell] < 2) this.now.set(colors.spark, 4 * cell); // lit anew
      this.previous[cell] = state;
    }
    const jumps = atOnce || reducedMotion.matches;
    if (jumps) this.now.set(this.goal);
    this.redraw ||= jumps;
    this.animation.start();
  }

  step(seconds) {
    const {context, width, height} = this.canvas;
    if (!width) return false;
    if (this.redraw) context.clearRect(0, 0, width, height);
    const part = 1 - Math.exp(-seconds * 6);
    let isMoving = false;
    for (let cell = 0; cell < this.count; ++cell) {
      const moves = this.ease(4 * cell, part);
      if (moves || this.redraw) this.drawCell(context, cell);
      isMoving ||= moves;
    }
    this.redraw = false;
    return isMoving;
  }

  ease(at, part) {
    let moves = false;
    for (let index = at; index < at + 4; ++index) {
      const rest = this.goal[index] - this.now[index];
      if (rest === 0) continue;
      const isSize = index === at + 3;
      if (Math.abs(rest) * (isSize ? 255 : 1) < settled) this.now[index] = this.goal[index];
      else this.now[index] += part * rest;
      moves = true;
    }
    return moves;
  }

  drawCell(context, cell) {
    const {side, columns, now} = this;
    const x = side * (cell % columns);
    const y = side * Math.floor(cell / columns);
    const gap = side >= 6 ? Math.max(1, 0.14 * side) : side > 3 ? 0.5 : 0;
    const size = (side - gap) * now[4 * cell + 3];
    const inset = (side - size) / 2;
    context.clearRect(x, y, side, side);
    context.fillStyle = css(now.subarray(4 * cell, 4 * cell + 3));
    if (side >= 8) {
      context.beginPath();
      context.roundRect(x + inset, y + inset, size, size, Math.min(3, size / 3));
      context.fill();
    } else {
      context.fillRect(x + inset, y + inset, size, size);
    }
    if (this.previous[cell] === 3 && side >= 8) {
      // shared: not by colour alone
      context.clearRect(x + side / 2 - 1.5, y + side / 2 - 1.5, 3, 3);
    }
  }

  explain({offsetX, offsetY}) {
    if (!this.side) return;
    const column = Math.floor(offsetX / this.side);
    const cell = Math.floor(offsetY / this.side) * this.columns + column;
    if (column >= this.columns || cell >= this.count) return this.element.removeAttribute('title');
    const [state, block] = this.cellState(cell);
    const requests = this.owners.get(block) ?? [];
    this.element.title = `block ${block}: ${names[state]}${requests.length ? `, by request ${requests.join(', ')}` : ''}`;
  }
}
