// Cuts lines of Markdown into blocks. A block: {kind, start, end, source, ...}; start and end count lines.
const maxDepth = 12;
const blank = /^\s*$/;
const fence = /^( {0,3})(`{3,}|~{3,})[ \t]*([^`]*)$/;
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const rule = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const quote = /^ {0,3}> ?/;
const item = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;
const tableRule = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

const startsTable = (lines, at) =>
  lines[at].includes('|') && at + 1 < lines.length && lines[at + 1].includes('|') && tableRule.test(lines[at + 1]);
const startsBlock = (lines, at) =>
  fence.test(lines[at]) ||
  heading.test(lines[at]) ||
  rule.test(lines[at]) ||
  quote.test(lines[at]) ||
  item.test(lines[at]) ||
  startsTable(lines, at);

export function parseBlocks(lines, depth = 0) {
  const blocks = [];
  for (let at = 0; at < lines.length;) {
    if (blank.test(lines[at])) {
      ++at;
      continue;
    }
    const block = parseBlock(lines, at, depth);
    block.start = at;
    block.source = lines.slice(at, block.end).join('\n');
    blocks.push(block);
    at = block.end;
  }
  return blocks;
}

function parseBlock(lines, at, depth) {
  const line = lines[at];
  if (fence.test(line)) return codeBlock(lines, at);
  const title = heading.exec(line);
  if (title)
    return {
      kind: 'heading',
      level: title[1].length,
      text: (title[2] ?? '').replace(/[ \t]+#+[ \t]*$/, ''),
      end: at + 1,
    };
  if (rule.test(line)) return {kind: 'rule', end: at + 1};
  if (depth < maxDepth && quote.test(line)) return quoteBlock(lines, at);
  if (depth < maxDepth && item.test(line)) return listBlock(lines, at);
  if (startsTable(lines, at)) return tableBlock(lines, at);
  let end = at + 1;
  while (end < lines.length && !blank.test(lines[end]) && (depth >= maxDepth || !startsBlock(lines, end))) ++end;
  return {
    kind: 'paragraph',
    text: lines
      .slice(at, end)
      .map((text) => text.trim())
      .join('\n'),
    end,
  };
}

// What opens a code block; null when the line does not.
export function openFence(line) {
  const found = fence.exec(line);
  return found && {indent: found[1].length, mark: found[2], language: found[3].trim().split(/\s/, 1)[0].toLowerCase()};
}

export function closesFence(line, {mark}) {
  const found = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line);
  return found !== null && found[1][0] === mark[0] && found[1].length >= mark.length;
}

export function codeLine(line, {indent}) {
  let cut = 0;
  while (cut < indent && line[cut] === ' ') ++cut;
  return line.slice(cut);
}

function codeBlock(lines, at) {
  const opening = openFence(lines[at]);
  let end = at + 1;
  while (end < lines.length && !closesFence(lines[end], opening)) ++end;
  const closed = end < lines.length;
  const code = lines.slice(at + 1, end).map((line) => codeLine(line, opening));
  return {kind: 'code', language: opening.language, lines: code, closed, end: closed ? end + 1 : end};
}

function quoteBlock(lines, at) {
  let end = at;
  while (end < lines.length && quote.test(lines[end])) ++end;
  return {kind: 'quote', lines: lines.slice(at, end).map((line) => line.replace(quote, '')), end};
}

const isOrdered = (mark) => mark.length > 1;
const indentOf = (line) => line.length - line.trimStart().length;

// An item holds the lines indented at least as far as its text; a nested item may be indented by two alone.
function listBlock(lines, at) {
  const [, indent, mark] = item.exec(lines[at]);
  const base = indent.length;
  const list = {kind: 'list', ordered: isOrdered(mark), first: parseInt(mark, 10), loose: false, items: []};
  let width = 0;
  let end = at;
  for (let sawBlank = false; end < lines.length; ++end) {
    const line = lines[end];
    const found = item.exec(line);
    const inner = list.items.length > 0 && (indentOf(line) >= width || (found && found[1].length >= base + 2));
    const last = list.items[list.items.length - 1];
    if (blank.test(line)) {
      sawBlank = true;
      last.push('');
      continue;
    }
    if (inner) {
      last.push(line.slice(Math.min(indentOf(line), width)));
    } else if (found && isOrdered(found[2]) === list.ordered && !rule.test(line)) {
      width = found[1].length + found[2].length + (found[3].length > 4 ? 1 : Math.max(1, found[3].length));
      list.items.push([line.slice(width)]);
    } else if (!sawBlank && !startsBlock(lines, end)) {
      last.push(line.trimStart());
    } else {
      break;
    }
    if (sawBlank) list.loose = true;
    sawBlank = false;
  }
  for (const content of list.items) while (content.length > 1 && content[content.length - 1] === '') content.pop();
  return {...list, end};
}

// Bars inside code or behind a backslash do not part cells.
function cells(line) {
  const row = [];
  let cell = '';
  let inCode = false;
  const text = line.trim().replace(/^\|/, '');
  for (let at = 0; at < text.length; ++at) {
    if (text[at] === '`') inCode = !inCode;
    if (text[at] === '\\' && text[at + 1] === '|') cell += text[++at];
    else if (text[at] === '|' && !inCode) (row.push(cell.trim()), (cell = ''));
    else cell += text[at];
  }
  if (cell.trim()) row.push(cell.trim());
  return row;
}

function tableBlock(lines, at) {
  const header = cells(lines[at]);
  const align = cells(lines[at + 1]).map((rule) =>
    rule.endsWith(':') ? (rule.startsWith(':') ? 'center' : 'right') : 'left',
  );
  let end = at + 2;
  while (end < lines.length && lines[end].includes('|') && !blank.test(lines[end])) ++end;
  const rows = lines
    .slice(at + 2, end)
    .map(cells)
    .map((row) => header.map((_, column) => row[column] ?? ''));
  return {kind: 'table', header, align, rows, end};
}
