// A heat map of rows and columns that stays quick at any size: its colours are one bitmap with a pixel per cell, and
// only what the scrolled window shows is drawn. The arrow keys move a cursor, Enter picks its cell.
import {announce, el, iconButton} from '../dom.js';
import {Canvas} from '../canvas.js';
import {heatColors, isLight, stepOf} from './heat.js';
import {visible} from '../tokens.js';

const widths = [1, 2, 3, 4, 6, 9, 13, 18, 26, 40, 56, 76, 100, 130, 170];
const textWidth = 40; // from here on cells show their text
const byTouch = matchMedia('(pointer: coarse)');
const rowHeight = byTouch.matches ? 36 : 22;
const gutter = 46; // row labels
const tallest = 560;
const font = '12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const labelFont = '11px system-ui, sans-serif';

const popover = el('div', {class: 'token-popover cell-popover', hidden: true, 'aria-hidden': 'true'});

export class CellGrid {
  // describe(row, column): what a popover lists, as [name, value] pairs. pick(row, column, point): a cell is chosen.
  constructor({label, describe, pick, square = false}) {
    Object.assign(this, {describe, pick, square, label});
    this.rows = this.columns = 0;
    this.marks = new Set(); // 'row,column' of cells with a frame
    this.bitmap = document.createElement('canvas');
    this.canvas = new Canvas({class: 'cell-canvas', 'aria-hidden': 'true'}, () => this.paint());
    this.space = el('div', {class: 'cell-space'});
    this.window = el(
      'div',
      {class: 'cell-window', tabindex: '0', role: 'group', 'aria-roledescription': 'heat map', 'aria-label': label},
      this.space,
      this.canvas.element,
    );
    this.tools = el(
      'div',
      {class: 'cell-tools'},
      iconButton('minus', 'Smaller cells', () => this.zoom(-1)),
      iconButton('plus', 'Larger cells', () => this.zoom(1)),
      iconButton('fit', 'Fit the width', () => this.fitWidth()),
    );
    this.element = el('div', {class: 'cell-grid', hidden: true}, this.window, this.tools);
    new ResizeObserver(() => this.resize()).observe(this.window);
    this.listen();
  }

  listen() {
    const {window} = this;
    window.addEventListener('scroll', () => this.schedule(), {passive: true});
    document.addEventListener('scroll', () => this.hovered && this.leave(), {passive: true, capture: true});
    window.addEventListener('pointermove', (event) => event.pointerType === 'touch' || this.point(event));
    window.addEventListener('pointerleave', (event) => this.leave(event));
    window.addEventListener('click', (event) => {
      const cell = this.cellAt(event);
      if (!cell) return;
      const isSame = cell.row === this.cursor?.row && cell.column === this.cursor?.column;
      this.cursor = cell;
      // A finger cannot hover: its first touch tells what the cell holds, the second one chooses it.
      if (event.pointerType === 'touch' && !(isSame && this.wasTold)) return this.tell(event);
      this.choose({x: event.clientX, y: event.clientY});
    });
    window.addEventListener('keydown', (event) => this.press(event));
    window.addEventListener('focus', () => this.moveCursor(0, 0, window.matches(':focus-visible')));
    window.addEventListener('blur', () => this.leave());
  }

  // values: a Float32Array of parts from 0 to 1, row by row from the top. text(row, column), rowLabel(row) and
  // columnLabel(column) give what is written.
  show({rows, columns, values, scale = 'sequential', text = () => '', rowLabel, columnLabel}) {
    const isNew = rows !== this.rows || columns !== this.columns;
    Object.assign(this, {rows, columns, values, scale, text, rowLabel, columnLabel});
    this.shortened = new Map();
    this.element.hidden = !rows || !columns;
    if (isNew) {
      this.cursor = null;
      this.hovered = null;
      this.start();
    }
    this.paint();
  }

  // New values for one row, while others are still to come.
  showRow(row, values) {
    this.values.set(values, row * this.columns);
    this.paint();
  }

  mark(cells) {
    this.marks = new Set(cells.map(([row, column]) => `${row},${column}`));
    this.schedule();
  }

  // Text that can be read if there is any, else all of it at once.
  start() {
    const fit = this.fitting();
    this.size = this.square || widths[fit] >= textWidth ? fit : widths.indexOf(56);
    this.layout();
  }

  get room() {
    return Math.max(1, this.window.clientWidth - gutter);
  }
  get cellWidth() {
    return widths[this.size];
  }
  get cellHeight() {
    return this.square ? this.cellWidth : Math.min(rowHeight, Math.max(6, this.cellWidth));
  }
  get header() {
    if (this.cellWidth >= textWidth) return 20;
    return this.cellWidth >= 9 ? 74 : 18;
  }

  fitting() {
    const most = this.square ? Math.min(this.room, tallest - 80) : this.room;
    let best = 0;
    widths.forEach((width, index) => {
      if (width * this.columns <= most) best = index;
    });
    return best;
  }

  fitWidth() {
    this.size = this.fitting();
    this.layout();
  }

  // Keeps the middle where it is.
  zoom(step) {
    const middle = (this.window.scrollLeft + this.room / 2) / this.cellWidth;
    const across = this.window.scrollTop / this.cellHeight;
    this.size = Math.min(widths.length - 1, Math.max(0, this.size + step));
    this.layout();
    this.window.scrollLeft = middle * this.cellWidth - this.room / 2;
    this.window.scrollTop = across * this.cellHeight;
  }

  layout() {
    if (!this.rows) return;
    const width = gutter + this.columns * this.cellWidth;
    const height = this.header + this.rows * this.cellHeight;
    this.space.style.width = `${width}px`;
    this.space.style.height = `${height}px`;
    this.window.style.height = `${Math.min(tallest, height + (width > this.window.clientWidth ? 14 : 0))}px`;
    const {cellWidth, cellHeight, header} = this;
    Object.assign(this.element.dataset, {cellWidth, cellHeight, header}); // for tests and style sheets
    this.resize();
  }

  resize() {
    const {clientWidth, clientHeight} = this.window;
    this.canvas.element.style.width = `${clientWidth}px`;
    this.canvas.element.style.height = `${clientHeight}px`;
    if (this.size === undefined && this.rows && clientWidth) this.start();
    this.schedule();
  }

  // The bitmap anew: values or the scheme have changed.
  paint() {
    if (!this.rows) return;
    const {bitmap, rows, columns, values} = this;
    const colors = (this.colors = heatColors(this.scale));
    if (bitmap.width !== columns || bitmap.height !== rows) Object.assign(bitmap, {width: columns, height: rows});
    const context = bitmap.getContext('2d');
    const image = context.createImageData(columns, rows);
    for (let cell = 0; cell < rows * columns; ++cell) {
      const value = values[cell];
      if (Number.isNaN(value)) continue; // stays empty
      const step = 3 * stepOf(value);
      image.data[4 * cell] = colors[step];
      image.data[4 * cell + 1] = colors[step + 1];
      image.data[4 * cell + 2] = colors[step + 2];
      image.data[4 * cell + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    this.schedule();
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.draw();
    });
  }

  draw() {
    const {context, width, height} = this.canvas;
    if (!this.rows || !width || !this.colors) return;
    const style = getComputedStyle(this.window);
    const ink = style.getPropertyValue('--ink');
    const soft = style.getPropertyValue('--soft');
    const paper = style.getPropertyValue('--paper');
    const {cellWidth, cellHeight, header} = this;
    const {scrollLeft, scrollTop} = this.window;
    const first = Math.max(0, Math.floor(scrollLeft / cellWidth));
    const last = Math.min(this.columns, Math.ceil((scrollLeft + width - gutter) / cellWidth));
    const top = Math.max(0, Math.floor(scrollTop / cellHeight));
    const bottom = Math.min(this.rows, Math.ceil((scrollTop + height - header) / cellHeight));
    const x = (column) => gutter + column * cellWidth - scrollLeft;
    const y = (row) => header + row * cellHeight - scrollTop;

    context.clearRect(0, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(gutter, header, width - gutter, height - header);
    context.clip();
    context.imageSmoothingEnabled = false;
    const across = last - first;
    const down = bottom - top;
    if (across > 0 && down > 0) {
      context.drawImage(
        this.bitmap,
        first,
        top,
        across,
        down,
        x(first),
        y(top),
        across * cellWidth,
        down * cellHeight,
      );
    }
    if (cellWidth >= 9) {
      context.fillStyle = paper;
      for (let column = first; column <= last; ++column) context.fillRect(x(column) - 0.5, header, 1, height);
      for (let row = top; row <= bottom; ++row) context.fillRect(gutter, y(row) - 0.5, width, 1);
    }
    if (cellWidth >= textWidth && !this.square) this.drawTexts(context, first, last, top, bottom, x, y);
    this.drawFrames(context, x, y, ink);
    context.restore();
    this.drawLabels(context, {first, last, top, bottom, x, y, soft, ink, width, height});
  }

  drawTexts(context, first, last, top, bottom, x, y) {
    const {colors, values, columns, cellWidth, cellHeight} = this;
    context.font = font;
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    for (const light of [true, false]) {
      context.fillStyle = light ? '#241d17' : '#fffaf3';
      for (let row = top; row < bottom; ++row) {
        for (let column = first; column < last; ++column) {
          const value = values[row * columns + column];
          if (Number.isNaN(value) || isLight(colors, stepOf(value)) !== light) continue;
          const text = this.short(this.text(row, column), cellWidth - 8);
          if (text) context.fillText(text, x(column) + 4, y(row) + cellHeight / 2 + 0.5);
        }
      }
    }
  }

  // All characters are equally wide, or nearly.
  short(text, width) {
    const most = Math.floor(width / 7.3);
    const shown = visible(text);
    return shown.length <= most ? shown : `${shown.slice(0, Math.max(1, most - 1))}…`;
  }

  // As much of a row's label as there is room for.
  cut(text) {
    const shown = visible(text);
    return shown.length <= 7 ? shown : `${shown.slice(0, 6)}…`;
  }

  drawFrames(context, x, y, ink) {
    const {cellWidth, cellHeight} = this;
    const frame = ({row, column}, thickness) => {
      context.lineWidth = thickness;
      context.strokeRect(
        x(column) + thickness / 2,
        y(row) + thickness / 2,
        Math.max(3, cellWidth - thickness),
        Math.max(3, cellHeight - thickness),
      );
    };
    context.strokeStyle = ink;
    context.setLineDash([3, 2]);
    for (const mark of this.marks) {
      const [row, column] = mark.split(',').map(Number);
      frame({row, column}, 2);
    }
    context.setLineDash([]);
    if (this.hovered) frame(this.hovered, 1);
    if (this.cursor && document.activeElement === this.window) frame(this.cursor, 2);
  }

  drawLabels(context, {first, last, top, bottom, x, y, soft, ink, width, height}) {
    const {cellWidth, cellHeight, header} = this;
    const lit = this.hovered ?? (document.activeElement === this.window ? this.cursor : null);
    context.font = labelFont;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    const everyRow = Math.max(1, Math.ceil(13 / cellHeight));
    context.save();
    context.beginPath();
    context.rect(0, header - 6, gutter, height - header + 6);
    context.clip();
    for (let row = top; row < bottom; ++row) {
      if (row % everyRow && row !== lit?.row) continue;
      context.fillStyle = row === lit?.row ? ink : soft;
      context.fillText(this.rowLabel(row), gutter - 6, y(row) + cellHeight / 2);
    }
    context.restore();
    context.save();
    context.beginPath();
    context.rect(gutter, 0, width - gutter, header);
    context.clip();
    context.textAlign = 'left';
    if (cellWidth >= textWidth) context.font = font;
    const every = cellWidth >= 9 ? 1 : Math.ceil(48 / cellWidth);
    for (let column = first; column < last; ++column) {
      if (column % every) continue;
      context.fillStyle = column === lit?.column ? ink : soft;
      if (cellWidth >= textWidth) {
        context.fillText(this.short(this.columnLabel(column), cellWidth - 6), x(column) + 4, header / 2);
      } else if (cellWidth >= 9) {
        context.save();
        context.translate(x(column) + cellWidth / 2, header - 4);
        context.rotate(-Math.PI / 2);
        context.fillText(this.short(this.columnLabel(column), 76), 0, 0);
        context.restore();
      } else {
        context.fillText(String(column), x(column), header / 2);
      }
    }
    context.restore();
  }

  cellAt({clientX, clientY}) {
    const box = this.canvas.element.getBoundingClientRect();
    const across = clientX - box.left;
    const down = clientY - box.top;
    if (across < gutter || down < this.header || across > box.width || down > box.height) return null;
    const column = Math.floor((across - gutter + this.window.scrollLeft) / this.cellWidth);
    const row = Math.floor((down - this.header + this.window.scrollTop) / this.cellHeight);
    if (row >= this.rows || column >= this.columns) return null;
    return {row, column};
  }

  point(event) {
    const cell = this.cellAt(event);
    if (cell?.row === this.hovered?.row && cell?.column === this.hovered?.column) return;
    this.hovered = cell;
    this.schedule();
    if (cell) showPopover(this.describe(cell.row, cell.column), event.clientX, event.clientY);
    else hidePopover();
  }

  leave(event) {
    this.hovered = null;
    if (event?.pointerType !== 'touch') hidePopover();
    this.schedule();
  }

  press(event) {
    const steps = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
    const far = {Home: [0, -this.columns], End: [0, this.columns], PageUp: [-this.rows, 0], PageDown: [this.rows, 0]};
    const step = steps[event.key] ?? far[event.key];
    if (step) {
      event.preventDefault();
      this.moveCursor(...step, true);
    } else if (event.key === '+' || event.key === '-') {
      this.zoom(event.key === '+' ? 1 : -1);
    } else if ((event.key === 'Enter' || event.key === ' ') && this.cursor) {
      event.preventDefault();
      this.choose(this.pointOf(this.cursor));
    } else if (event.key === 'Escape') {
      hidePopover();
    }
  }

  moveCursor(down, across, tells) {
    if (!this.rows) return;
    const {row, column} = this.cursor ?? {row: 0, column: 0};
    const within = (value, count) => Math.min(count - 1, Math.max(0, value));
    this.cursor = {row: within(row + down, this.rows), column: within(column + across, this.columns)};
    this.reveal(this.cursor);
    this.schedule();
    if (!tells) return;
    const said = this.describe(this.cursor.row, this.cursor.column);
    announce(said.map(([name, value]) => `${name}: ${value}`).join('; '));
    const {x, y} = this.pointOf(this.cursor);
    showPopover(said, x, y);
  }

  reveal({row, column}) {
    const {window, cellWidth, cellHeight, header} = this;
    const height = window.clientHeight - header;
    window.scrollLeft = Math.max(
      Math.min(window.scrollLeft, column * cellWidth),
      (column + 1) * cellWidth - this.room,
    );
    window.scrollTop = Math.max(Math.min(window.scrollTop, row * cellHeight), (row + 1) * cellHeight - height);
  }

  pointOf({row, column}) {
    const box = this.canvas.element.getBoundingClientRect();
    return {
      x: box.left + gutter + (column + 0.5) * this.cellWidth - this.window.scrollLeft,
      y: box.top + this.header + (row + 1) * this.cellHeight - this.window.scrollTop,
    };
  }

  tell({clientX, clientY}) {
    this.wasTold = true;
    this.schedule();
    const pairs = this.describe(this.cursor.row, this.cursor.column);
    showPopover(this.pick ? [...pairs, ['touch again', 'to choose']] : pairs, clientX, clientY);
  }

  choose(point) {
    this.wasTold = false;
    hidePopover();
    this.schedule();
    this.pick?.(this.cursor.row, this.cursor.column, point);
  }
}

export function showPopover(pairs, x, y) {
  if (!pairs.length) return hidePopover();
  popover.replaceChildren(
    el(
      'dl',
      {},
      pairs.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
    ),
  );
  document.body.append(popover);
  popover.hidden = false;
  const size = popover.getBoundingClientRect();
  popover.style.left = `${Math.min(Math.max(8, x + 14), innerWidth - size.width - 8)}px`;
  const below = y + 16;
  popover.style.top = `${below + size.height < innerHeight - 8 ? below : Math.max(8, y - size.height - 16)}px`;
}

// Where its cell has gone, a popover tells nothing.
const goes = ({target}) => target.classList?.contains('cell-window') || hidePopover();
addEventListener('scroll', goes, {capture: true, passive: true});

export function hidePopover() {
  popover.hidden = true;
}
