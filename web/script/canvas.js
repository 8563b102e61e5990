// A canvas that is as sharp as the screen and calls draw(context, width, height) when its size or the scheme changes.
import {el, darkScheme} from './dom.js';

export class Canvas {
  constructor(attributes, onResize) {
    this.element = el('canvas', attributes);
    this.context = this.element.getContext('2d');
    this.width = this.height = 0;
    this.onResize = onResize;
    new ResizeObserver(([entry]) => this.fit(entry.contentRect)).observe(this.element);
    darkScheme.addEventListener('change', () => this.onResize());
  }

  fit({width, height}) {
    const scale = devicePixelRatio || 1;
    if (width === this.width && height === this.height && scale === this.scale) return;
    Object.assign(this, {width, height, scale});
    this.element.width = Math.round(width * scale);
    this.element.height = Math.round(height * scale);
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.onResize();
  }
}

// Calls step(seconds) each frame while it returns true.
export class Animation {
  constructor(step) {
    this.step = step;
    this.frame = 0;
  }

  start() {
    if (this.frame) return;
    this.last = performance.now();
    const tick = (now) => {
      const seconds = Math.min(0.1, Math.max(0, (now - this.last) / 1000));
      this.last = now;
      this.frame = this.step(seconds) ? requestAnimationFrame(tick) : 0;
    };
    this.frame = requestAnimationFrame(tick);
  }
}
