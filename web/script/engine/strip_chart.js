// What the last passes computed: tokens of prompts and of answers, stacked, moving from right to left.
import {reducedMotion} from '../dom.js';
import {Animation, Canvas} from '../canvas.js';
import {css, stateColors} from '../palette.js';

const stride = 7; // pixels per pass
const thickness = 5;

export class StripChart {
  constructor() {
    this.canvas = new Canvas({class: 'strip-chart', role: 'img', 'aria-label': 'Tokens in each pass'}, () =>
      this.animation.start(),
    );
    this.element = this.canvas.element;
    this.animation = new Animation((seconds) => this.step(seconds));
    this.passes = []; // {prefill, decode}, the newest last
    this.budget = 0;
    this.shift = 0; // pixels the newest has yet to come in
    this.scale = 8; // tokens over the full height
  }

  show({batch, budget, counters}) {
    this.budget = budget ?? 0;
    if (counters.steps === this.steps) batch = {prefill: 0, decode: 0}; // no pass since
    this.steps = counters.steps;
    this.passes.push({prefill: batch.prefill, decode: batch.decode});
    if (this.passes.length > 600) this.passes.splice(0, 200);
    this.shift = reducedMotion.matches ? 0 : Math.min(this.shift + stride, 3 * stride);
    this.animation.start();
  }

  step(seconds) {
    this.shift = Math.max(0, this.shift - seconds * Math.max(20, 6 * this.shift));
    const shown = this.passes.slice(-Math.ceil(this.canvas.width / stride) - 1);
    const most = Math.max(8, ...shown.map(({prefill, decode}) => prefill + decode)) * 1.15;
    this.scale += (most - this.scale) * (reducedMotion.matches ? 1 : Math.min(1, 5 * seconds));
    this.draw(shown);
    return this.shift > 0 || Math.abs(most - this.scale) > 0.5;
  }

  draw(shown) {
    const {context, width, height} = this.canvas;
    const colors = stateColors();
    context.clearRect(0, 0, width, height);
    const pixels = (tokens) => (tokens / this.scale) * (height - 14);
    this.drawScale(context, width, height, pixels, colors);
    shown.forEach(({prefill, decode}, index) => {
      const x = width - stride * (shown.length - index) + this.shift;
      const lower = pixels(decode);
      const upper = pixels(prefill);
      context.fillStyle = css(colors.decode);
      context.fillRect(x, height - lower, thickness, lower);
      context.fillStyle = css(colors.prefill);
      context.fillRect(x, height - lower - upper - (lower && upper ? 1 : 0), thickness, upper);
      if (!lower && !upper) {
        context.fillStyle = css(colors.grid);
        context.fillRect(x, height - 2, thickness, 2);
      }
    });
  }

  // The budget where it fits, else a round number.
  drawScale(context, width, height, pixels, colors) {
    const round = 10 ** Math.floor(Math.log10(this.scale / 1.2));
    const level = this.budget && this.budget <= this.scale ? this.budget : round * Math.floor(this.scale / 1.2 / round);
    const y = Math.round(height - pixels(level)) + 0.5;
    context.strokeStyle = css(colors.budget);
    context.globalAlpha = 0.5;
    context.setLineDash([2, 4]);
    context.beginPath();
    context.moveTo(0, y);
    context.lineTo(width, y);
    context.stroke();
    context.globalAlpha = 1;
    context.fillStyle = css(colors.budget);
    context.font = '11px system-ui, sans-serif';
    context.fillText(level === this.budget ? `budget ${level}` : String(level), 2, y - 3);
  }
}
