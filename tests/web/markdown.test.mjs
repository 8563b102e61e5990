import assert from 'node:assert/strict';
import {hostile} from './mock_answers.mjs';
import {suite} from './support.mjs';

const onPage = suite();

// The HTML that text becomes when drawn after each piece of so many characters; 0: at once.
function drawn(page, text, piece = 0) {
  return page.run(
    async (source, size) => {
      const {MarkdownStream} = await import('/script/markdown/markdown.js');
      const area = document.createElement('div');
      const stream = new MarkdownStream(area);
      for (let at = 0; size && at < source.length; at += size) {
        stream.tail += source.slice(at, at + size);
        stream.draw(false);
      }
      if (!size) stream.tail = source;
      stream.end();
      return area.innerHTML.replace(/<button.*?<\/button>/g, '');
    },
    text,
    piece,
  );
}

const link = (href, text) => `<a href="${href}" rel="noopener noreferrer" target="_blank">${text}</a>`;
const code = (language, content) =>
  `<figure class="code"><figcaption><span>${language}</span></figcaption><pre tabindex="0"><code>${content}</code></pre></figure>`;

const cases = [
  ['one\ntwo', '<p>one<br>two</p>'],
  ['**a *b* c** `x*y*` ~~gone~~', '<p><strong>a <em>b</em> c</strong> <code>x*y*</code> <del>gone</del></p>'],
  ['2 * 3 * 4, snake_case_name, \\*not\\*', '<p>2 * 3 * 4, snake_case_name, *not*</p>'],
  ['***both*** and **open', '<p><strong><em>both</em></strong> and **open</p>'],
  ['*a **b* c**', '<p><em>a **b</em> c**</p>'],
  ['`` a ` b `` and `open', '<p><code>a ` b</code> and `open</p>'],
  ['# A\n## B ##\n####### no', '<h3>A</h3><h4>B</h4><p>####### no</p>'],
  ['a\n\n---\n\nb', '<p>a</p><hr><p>b</p>'],
  [
    '- a\n- b\n  - c\n  - d\n- e',
    '<ul><li><p>a</p></li><li><p>b</p><ul><li><p>c</p></li><li><p>d</p></li></ul></li><li><p>e</p></li></ul>',
  ],
  ['3. a\n4. b\n  - c', '<ol start="3"><li><p>a</p></li><li><p>b</p><ul><li><p>c</p></li></ul></li></ol>'],
  ['1. a\n\n2. b', '<ol class="loose"><li><p>a</p></li><li><p>b</p></li></ol>'],
  ['- a\n\ntext', '<ul><li><p>a</p></li></ul><p>text</p>'],
  ['> a\n> - b', '<blockquote><p>a</p><ul><li><p>b</p></li></ul></blockquote>'],
  [
    '[a *b*](https://x.org/y_z) <https://x.org> https://x.org/a_b, (https://x.org).',
    `<p>${link('https://x.org/y_z', 'a <em>b</em>')} ${link('https://x.org/', 'https://x.org')} ` +
      `${link('https://x.org/a_b', 'https://x.org/a_b')}, (${link('https://x.org/', 'https://x.org')}).</p>`,
  ],
  ['[a](/local) [b](ftp://x) [c] (d)', '<p>[a](/local) [b](ftp://x) [c] (d)</p>'],
  ['![cat](https://x.org/cat.png)', `<p>${link('https://x.org/cat.png', 'cat')}</p>`],
  ['![a](x) !b', '<p>![a](x) !b</p>'],
  [
    '[a [b](https://x.org)](https://y.org)',
    `<p>[a ${link('https://x.org/', 'b')}](${link('https://y.org/', 'https://y.org')})</p>`,
  ],
  ['```\n<b>\n\n  x\n```\nafter', `${code('text', '&lt;b&gt;\n\n  x\n')}<p>after</p>`],
  [
    '~~~~js\n```\n~~~\n~~~~',
    code('js', '<span class="hl-string">```</span>\n<span class="hl-string">~~~</span>\n').replace(
      '<span class="hl-string">```</span>',
      '<span class="hl-string">`</span><span class="hl-string">`</span><span class="hl-string">`</span>',
    ),
  ],
  [
    '```python\nx = """a\nb""" # c\ndef f(): return 1\n',
    code(
      'python',
      'x = <span class="hl-string">"""</span><span class="hl-string">a</span>\n' +
        '<span class="hl-string">b"""</span> <span class="hl-comment"># c</span>\n<span class="hl-keyword">def</span> ' +
        '<span class="hl-name">f</span>(): <span class="hl-keyword">return</span> <span class="hl-number">1</span>\n',
    ),
  ],
  [
    '| a | b |\n|:-:|--:|\n| `x\\|y` | 2 |\n| 3 |',
    '<div class="table-scroll" tabindex="0" role="region" aria-label="Table"><table><thead><tr>' +
      '<th class="center" scope="col">a</th><th class="right" scope="col">b</th></tr></thead><tbody><tr><td class="center">' +
      '<code>x|y</code></td><td class="right">2</td></tr><tr><td class="center">3</td><td class="right"></td></tr></tbody></table></div>',
  ],
  ['&lt;b&gt; &amp;amp; &copy;', '<p>&lt;b&gt; &amp;amp; &amp;copy;</p>'],
];

onPage('Markdown becomes the elements it should', {}, async (page) => {
  for (const [source, expected] of cases) assert.equal(await drawn(page, source), expected, source);
});

const awkward = [
  ...cases.map(([source]) => source),
  cases.map(([source]) => source).join('\n\n'),
  hostile,
  '- a\n\n  ```cpp\n  int x = 1; /* two\n  lines */\n  ```\n- b\n\n1\n\n1. c\n\n   more\n2. d\n> q\n> > r\n\n```\nopen `` ` ``` code\n``',
  'text\n```js\nlet a\n```\n```py\nb\n```\n| x |\n|---|\n',
  '🔥 **é🔥** _日本語_ `🔥`\n\n* 🔥\n* ñ',
];

onPage('the same comes out however the text is cut', {}, async (page) => {
  for (const source of awkward) {
    const whole = await drawn(page, source);
    for (const piece of [1, 2, 3, 7]) assert.equal(await drawn(page, source, piece), whole, `${piece}: ${source}`);
  }
});

onPage('what is finished is not touched again', {}, async (page) => {
  const facts = await page.run(async () => {
    const {MarkdownStream} = await import('/script/markdown/markdown.js');
    const area = document.createElement('div');
    const stream = new MarkdownStream(area);
    let longest = 0;
    let touched = 0;
    const feed = (text) => {
      for (let at = 0; at < text.length; at += 50) {
        stream.tail += text.slice(at, at + 50);
        stream.draw(false);
        longest = Math.max(longest, stream.tail.length);
      }
    };
    feed('# Title\n\nFirst.\n\nSecond.\n\n');
    const early = [...area.children].slice(0, 2);
    new MutationObserver((records) => {
      touched += records.filter(({target}) => early.some((node) => node.contains(target))).length;
    }).observe(area, {subtree: true, childList: true, characterData: true, attributes: true});
    feed('A paragraph of some length that says little.\n\n'.repeat(2000));
    feed(`\`\`\`cpp\n${'int value = 1;  // a line\n'.repeat(4000)}\`\`\`\n\nEnd.`);
    stream.end();
    await Promise.resolve();
    return {
      longest,
      touched,
      still: early.every((node, index) => area.children[index] === node),
      blocks: area.children.length,
      lines: area.querySelector('code').textContent.split('\n').length,
    };
  });
  assert.deepEqual(
    {...facts, longest: facts.longest < 400},
    {longest: true, touched: 0, still: true, blocks: 2005, lines: 4001},
  );
});

onPage('texts made to be slow are not', {}, async (page) => {
  // Each of these takes minutes when marks are searched for again and again.
  for (const unit of [
    '**a ',
    '[a',
    '[a](',
    '`'.repeat(3) + 'x' + '``',
    '*_~~',
    '> ',
    '- ',
    '| ',
    '![',
    '<',
    '&',
    '_a_ *',
    'http://',
  ]) {
    const text = unit.repeat(Math.ceil(60000 / unit.length));
    assert.ok((await drawn(page, text)).length >= 0.5 * text.replaceAll(/[>|\- ]/g, '').length, unit);
  }
});
