// Shows Markdown while it arrives. Finished blocks are left alone; only the last ones are parsed again, and of them only
// what changed is replaced. Open code blocks grow line by line. When drawing takes long, it happens less often.
import {el} from '../dom.js';
import {renderInline} from './inline.js';
import {parseBlocks, openFence, closesFence, codeLine} from './blocks.js';
import {CodeView} from './code_view.js';

const drawingShare = 8; // waits this many times as long as the last drawing took

export class MarkdownStream {
  constructor(container, onDraw = () => {}) {
    this.container = container;
    this.onDraw = onDraw;
    this.tail = ''; // not final yet
    this.views = []; // of the blocks in the tail
    this.code = null; // an open code block: {view, opening}
    this.timer = 0;
    this.frame = 0;
    this.cost = 0;
  }

  write(text) {
    this.tail += text;
    if (this.timer || this.frame) return;
    const draw = () => {
      this.timer = 0;
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        const start = performance.now();
        this.draw(false);
        this.cost = performance.now() - start;
        this.onDraw();
      });
    };
    if (this.cost < 2) draw();
    else this.timer = setTimeout(draw, this.cost * drawingShare);
  }

  end() {
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    this.timer = this.frame = 0;
    this.draw(false); // leaves an open code block to drawCode
    this.draw(true);
    this.onDraw();
  }

  draw(final) {
    while (this.code ? this.drawCode(final) : this.drawBlocks(final)) {
      /* what follows a code block, or begins one */
    }
  }

  // True when there is more behind the code.
  drawCode(final) {
    const {view, opening} = this.code;
    let from = 0;
    for (let end; (end = this.tail.indexOf('\n', from)) >= 0; from = end + 1) {
      const line = this.tail.slice(from, end);
      if (!closesFence(line, opening)) {
        view.addLine(codeLine(line, opening));
        continue;
      }
      this.tail = this.tail.slice(end + 1);
      this.leaveCode();
      return true;
    }
    this.tail = this.tail.slice(from);
    if (final && !closesFence(this.tail, opening)) view.setPartial(codeLine(this.tail, opening));
    else if (!/^ {0,3}[`~]+[ \t]*$/.test(this.tail)) view.setPartial(codeLine(this.tail, opening));
    if (final) (this.leaveCode(), (this.tail = ''));
    return false;
  }

  leaveCode() {
    this.code.view.end();
    this.code = null;
    this.views = [];
  }

  // True when an open code block begins at the end.
  drawBlocks(final) {
    const lines = this.tail.split('\n');
    const blocks = parseBlocks(lines);
    this.views = patchBlocks(this.container, this.views, blocks, !final);
    if (final) return false;
    // The line that is still growing decides nothing.
    let last = blocks.length - 1;
    while (last >= 0 && blocks[last].start >= lines.length - 1) --last;
    if (last < 0) return false;
    const block = blocks[last];
    const opensCode = last === blocks.length - 1 && block.kind === 'code' && !block.closed;
    if (opensCode) {
      const view = new CodeView(block.language);
      this.views[last].node.replaceWith(view.element);
      this.code = {view, opening: openFence(lines[block.start])};
    }
    this.tail = lines.slice(opensCode ? block.start + 1 : block.start).join('\n');
    this.views = this.views.slice(last);
    return opensCode;
  }
}

export function renderMarkdown(container, text) {
  const stream = new MarkdownStream(container);
  stream.tail = text;
  stream.end();
}

// Makes the last children of parent, those of views, show the blocks. The last block is still growing if open.
function patchBlocks(parent, views, blocks, open, depth = 0) {
  const next = blocks.map((block, index) => {
    const grows = open && index === blocks.length - 1;
    const view = views[index];
    if (view && view.source === block.source && view.grows === grows) return view;
    if (view && update(view, block, grows, depth)) return {...view, source: block.source, grows};
    const made = {kind: block.kind, source: block.source, grows, ...build(block, grows, depth)};
    if (view) view.node.replaceWith(made.node);
    else parent.append(made.node);
    return made;
  });
  for (const {node} of views.slice(blocks.length)) node.remove();
  return next;
}

function build(block, grows, depth) {
  switch (block.kind) {
    case 'heading':
      return {node: el(`h${Math.min(6, block.level + 2)}`, {}, renderInline(block.text, grows))};
    case 'rule':
      return {node: el('hr')};
    case 'code':
      return buildCode(block);
    case 'table':
      return {node: buildTable(block, grows)};
    case 'quote': {
      const node = el('blockquote');
      return {node, views: patchBlocks(node, [], parseBlocks(block.lines, depth + 1), grows, depth + 1)};
    }
    case 'list': {
      const node = el(block.ordered ? 'ol' : 'ul', {start: block.ordered && block.first !== 1 ? block.first : null});
      const view = {node, ordered: block.ordered, first: block.first, items: []};
      patchItems(view, block, grows, depth);
      return view;
    }
    default:
      return {node: el('p', {}, renderInline(block.text, grows))};
  }
}

// False when the block has to be built anew.
function update(view, block, grows, depth) {
  if (view.kind !== block.kind) return false;
  switch (block.kind) {
    case 'paragraph':
      view.node.replaceChildren(renderInline(block.text, grows));
      return true;
    case 'list':
      if (view.ordered !== block.ordered || view.first !== block.first) return false;
      patchItems(view, block, grows, depth);
      return true;
    case 'quote':
      view.views = patchBlocks(view.node, view.views, parseBlocks(block.lines, depth + 1), grows, depth + 1);
      return true;
    default:
      return false;
  }
}

function patchItems(view, block, grows, depth) {
  view.node.classList.toggle('loose', block.loose);
  block.items.forEach((lines, index) => {
    const open = grows && index === block.items.length - 1;
    const source = lines.join('\n');
    const item = view.items[index] ?? {node: view.node.appendChild(el('li')), source: null, views: []};
    if (item.source !== source || item.open !== open) {
      item.views = patchBlocks(item.node, item.views, parseBlocks(lines, depth + 1), open, depth + 1);
      item.source = source;
      item.open = open;
    }
    view.items[index] = item;
  });
  for (const {node} of view.items.splice(block.items.length)) node.remove();
}

function buildCode(block) {
  const view = new CodeView(block.language);
  for (const line of block.lines) view.addLine(line);
  view.end();
  return {node: view.element};
}

function buildTable({header, align, rows}, grows) {
  const row = (name, open) => (texts) =>
    el(
      'tr',
      {},
      texts.map((text, column) => {
        const cell = el(name, {class: align[column] === 'left' ? null : align[column]}, renderInline(text, open));
        if (name === 'th') cell.scope = 'col';
        return cell;
      }),
    );
  return el(
    'div',
    {class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': 'Table'},
    el('table', {}, el('thead', {}, row('th', false)(header)), el('tbody', {}, rows.map(row('td', grows)))),
  );
}
