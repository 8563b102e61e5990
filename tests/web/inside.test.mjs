import assert from 'node:assert/strict';
import {cellPoint, clickAt} from './cells.mjs';
import {beyondTheEdge, suite, until} from './support.mjs';

const onPage = suite({inside: {layers: 5, heads: 3}});
const inside = {hash: '#inside'};

const fill = (page, id, text) =>
  page.run(
    (wanted, value) => {
      document.getElementById(wanted).value = value;
    },
    id,
    text,
  );

async function look(page, prompt = 'The capital of France is', other = '') {
  await page.waitFor(() => document.querySelector('.inside-form') && document.querySelector('.inside-closed').hidden);
  await fill(page, 'inside-prompt', prompt);
  await fill(page, 'inside-other', other);
  await page.click('.inside-form .primary');
  await page.waitFor(
    () =>
      document.querySelector('[data-card="lens"] .cell-grid:not([hidden])') &&
      document.querySelectorAll('.head').length > 0 &&
      document.querySelectorAll('.next-tokens li').length > 0 &&
      document.querySelector('.inside-bar .stop').hidden,
  );
}

onPage('a prompt is seen from the inside', inside, async (page, mock) => {
  await look(page);
  assert.equal(await page.run(() => document.querySelector('.inside .notice').hidden), true);
  const asked = mock.inside.requests.map(({pathname}) => pathname.split('/').pop());
  for (const what of ['lens', 'norms', 'heads', 'attention', 'run']) assert.ok(asked.includes(what), what);
  const {body} = mock.inside.requests.find(({pathname}) => pathname.endsWith('lens'));
  assert.equal(body.prompt, 'The capital of France is');
  assert.match(await page.text('[data-card="answer"] .continuation'), /Paris of course/);
  // What a cell holds, on hover.
  const point = await cellPoint(page, '[data-card="lens"]', 0, 1);
  await page.send('Input.dispatchMouseEvent', {type: 'mouseMoved', ...point});
  await page.waitFor(() => document.querySelector('.cell-popover:not([hidden])'));
  const said = await page.text('.cell-popover');
  assert.match(said, /token 1.*capital.*layer.*out.*entropy/s);
  await page.screenshot('inside');
  await page.send('Input.dispatchMouseEvent', {type: 'mouseMoved', x: 2, y: 2});
  await page.run(() => document.querySelector('[data-card="attention"]').scrollIntoView());
  await page.screenshot('inside-attention');
});

onPage('a lens that takes long tells how far it is', inside, async (page, mock) => {
  mock.inside.pace = 250;
  await fill(page, 'inside-prompt', 'The capital of France is');
  await page.click('.inside-form .primary');
  await page.waitFor(() => document.querySelector('[data-card="lens"] progress:not([hidden])')?.value > 0.3);
  assert.equal(await page.run(() => document.querySelector('[data-card="lens"] .cell-grid').hidden), true);
  await page.screenshot('inside-waiting');
  await page.waitFor(() => document.querySelector('[data-card="lens"] .cell-grid:not([hidden])'));
  await page.waitFor(() => document.querySelector('[data-card="lens"] progress').hidden);
});

onPage('a cell is zeroed and the answer changes, and back', inside, async (page, mock) => {
  await look(page);
  await clickAt(page, await cellPoint(page, '[data-card="lens"]', 2, 1));
  await page.waitFor(() => document.querySelector('.cell-menu'));
  // No second prompt, so nothing to patch from.
  assert.deepEqual(await page.texts('.cell-menu button'), [
    'Zero what enters layer 3',
    'Zero what attention 3 adds',
    'Zero what MLP 3 adds',
  ]);
  await page.screenshot('inside-menu');
  await page.click('.cell-menu button');
  await page.waitFor(() => document.querySelectorAll('.edit-list li').length === 1);
  await page.waitFor(() => /Madrid/.test(document.querySelectorAll('.continuation')[1]?.textContent));
  const {edits} = mock.inside.requests.filter(({pathname}) => pathname.endsWith('run')).at(-1).body;
  assert.deepEqual(edits, [{site: 'blocks.3.hook_resid_pre', kind: 'zero', positions: [1]}]);
  assert.match(await page.text('[data-card="answer"] .card-head'), /KL 0\.700 nats/);
  await page.screenshot('inside-edited');
  await page.click('.edit-list button');
  await page.waitFor(() => document.querySelectorAll('.edit-list li').length === 0);
  await page.waitFor(() => document.querySelectorAll('.outcome')[1].hidden);
});

// What the popover says of a cell of the lens.
async function cellSays(page, row, column) {
  await page.send('Input.dispatchMouseEvent', {type: 'mouseMoved', x: 2, y: 2});
  const point = await cellPoint(page, '[data-card="lens"]', row, column);
  await page.send('Input.dispatchMouseEvent', {type: 'mouseMoved', ...point});
  await page.waitFor(() => document.querySelector('.cell-popover:not([hidden])'));
  return page.text('.cell-popover');
}

const showRun = (page, value) =>
  page.run((wanted) => {
    const run = document.querySelector('select[aria-label="Run"]');
    run.value = wanted;
    run.dispatchEvent(new Event('change'));
  }, value);

const mapsAre = (page, run) =>
  page.waitFor((wanted) => document.querySelector(`.inside-main[data-run="${wanted}"]:not(.waiting)`), run);

onPage('the maps show the run as it is or with the edits', inside, async (page, mock) => {
  await look(page, 'The capital of France is', 'The capital of Spain is');
  const runIsOffered = () => page.run(() => !document.querySelector('select[aria-label="Run"]').closest('p').hidden);
  assert.equal(await runIsOffered(), false);
  const plain = await cellSays(page, 0, 1);
  await clickAt(page, await cellPoint(page, '[data-card="lens"]', 2, 1));
  await page.waitFor(() => document.querySelectorAll('.cell-menu button').length === 6);
  await page.click('.cell-menu button:nth-of-type(4)');
  await page.waitFor(() => document.querySelectorAll('.edit-list li').length === 1);
  assert.equal(await runIsOffered(), true);
  assert.equal(await cellSays(page, 0, 1), plain); // until the other run is asked for
  await showRun(page, 'edited');
  await mapsAre(page, 'edited');
  for (const what of ['lens', 'norms', 'heads', 'attention']) {
    const {body} = mock.inside.requests.filter(({pathname}) => pathname.endsWith(what)).at(-1);
    assert.deepEqual(body.edits, [{site: 'blocks.3.hook_resid_pre', kind: 'patch', positions: [1]}], what);
    assert.deepEqual(body.source, {prompt: 'The capital of Spain is'}, what);
  }
  assert.notEqual(await cellSays(page, 0, 1), plain);
  await page.screenshot('inside-edited-run');
  await showRun(page, 'plain');
  await mapsAre(page, 'plain');
  assert.equal(await cellSays(page, 0, 1), plain);
  // Taking the last edit back leaves nothing to choose.
  await showRun(page, 'edited');
  await mapsAre(page, 'edited');
  await page.click('.edit-list button');
  await mapsAre(page, 'plain');
  assert.equal(await runIsOffered(), false);
  assert.equal(await cellSays(page, 0, 1), plain);
});

onPage('attention is cut by edge and by head, as a matrix and as arcs', inside, async (page, mock) => {
  await look(page);
  await page.click('[data-card="attention"] .head:nth-child(2)');
  assert.match(await page.text('[data-card="attention"] .picks > .hint'), /Layer 0, head 1/);
  await page.run(() => {
    const window = [...document.querySelectorAll('[data-card="attention"] .cell-window')].find(
      (one) => one.getAttribute('aria-label').startsWith('Attention pattern'),
    );
    window.focus();
  });
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowRight']) await page.press(key);
  assert.match(await page.text('#status'), /·France \(3\): looks at; ·capital \(1\): /);
  await page.press('Enter');
  await page.waitFor(() => document.querySelector('.cell-menu'));
  await page.press('Enter');
  await page.waitFor(() => document.querySelectorAll('.edit-list li').length === 1);
  await page.click('[data-card="attention"] .picks .small');
  await page.waitFor(() => document.querySelectorAll('.edit-list li').length === 2);
  await until(() => mock.inside.requests.at(-1).body.edits?.length === 2);
  assert.deepEqual(mock.inside.requests.at(-1).body.edits, [
    {site: 'blocks.0.attn.hook_attn_scores', kind: 'knockout', queries: [3], keys: [1], heads: [1]},
    {site: 'blocks.0.attn.hook_z', kind: 'zero', heads: [1]},
  ]);
  await page.run(() => {
    const form = document.querySelector('[data-card="attention"] select[aria-label="Form"]');
    form.value = 'arcs';
    form.dispatchEvent(new Event('change'));
  });
  await page.waitFor(() => !document.querySelector('.arcs').hidden);
  await page.run(() => document.querySelector('.arcs').focus());
  await page.press('ArrowRight');
  await page.press('ArrowRight');
  assert.match(await page.text('#status'), /capital looks at .*The 80/);
  await page.screenshot('inside-arcs');
});

onPage('a sweep fills a map, and its cells patch the answer', inside, async (page, mock) => {
  await look(page, 'The capital of France is', 'The capital of Spain is');
  await page.click('[data-card="patching"] .small');
  await page.waitFor(() => document.querySelector('[data-card="patching"] progress').hidden);
  const {body} = mock.inside.requests.find(({pathname}) => pathname.endsWith('patch'));
  assert.deepEqual(body, {
    model: 'ember',
    clean: {prompt: 'The capital of France is'},
    corrupted: {prompt: 'The capital of Spain is'},
    point: 'hook_resid_pre',
    by: 'position',
  });
  assert.match(await page.text('[data-card="patching"] .hint'), /4\.00 with the first prompt, -2\.00 with the second/);
  await clickAt(page, await cellPoint(page, '[data-card="patching"]', 1, 3));
  await page.waitFor(() => document.querySelectorAll('.cell-menu button').length === 2);
  await page.screenshot('inside-patching');
  await page.press('ArrowDown');
  await page.press('Enter');
  await until(() => mock.inside.requests.at(-1).body.edits?.length === 1);
  const run = mock.inside.requests.at(-1).body;
  assert.deepEqual(run.edits, [{site: 'blocks.3.hook_resid_pre', kind: 'patch', positions: [3]}]);
  assert.deepEqual(run.source, {prompt: 'The capital of Spain is'});
});

onPage('a sweep can be stopped, and texts that do not fit are told', inside, async (page, mock) => {
  mock.inside.pace = 200;
  await look(page, 'one two three', 'one two four');
  await page.click('[data-card="patching"] .small');
  await until(() => mock.inside.open === 1);
  await page.click('[data-card="patching"] .small:not([hidden])');
  await until(() => mock.inside.open === 0);
  mock.inside.pace = 1;
  await page.waitFor(() => document.querySelector('[data-card="patching"] progress').hidden);
  assert.equal(await page.run(() => document.querySelector('.inside .notice').hidden), true);
  await look(page, 'one two three', 'one two');
  await page.click('[data-card="patching"] .small');
  await page.waitFor(() => !document.querySelector('[data-card="patching"] .notice').hidden);
  assert.equal(await page.text('[data-card="patching"] .notice'), 'the clean text has 3 tokens and the corrupted one 2.');
});

onPage('by keyboard alone, with the focus where it was', inside, async (page, mock) => {
  await look(page);
  await page.run(() => document.querySelector('#inside-prompt').focus());
  await page.tabTo('[data-card="lens"] .cell-window');
  await page.waitFor(() => document.querySelector('.cell-popover:not([hidden])'));
  await page.press('ArrowRight');
  await page.press('Enter');
  await page.waitFor(() => document.activeElement.matches('.cell-menu button'));
  await page.press('Escape');
  assert.equal(await page.run(() => document.activeElement.matches('[data-card="lens"] .cell-window')), true);
  await page.press('Enter');
  await page.press('Enter');
  await until(() => mock.inside.requests.at(-1).body.edits?.length === 1);
  assert.deepEqual(mock.inside.requests.at(-1).body.edits[0].positions, [1]);
});

const phone = {...inside, width: 360, height: 740, scale: 2, touch: true};
onPage('nothing of the inside reaches beyond a phone’s edge', phone, async (page) => {
  await look(page, 'The capital of France is', 'The capital of Spain is');
  assert.equal(await page.run(() => innerWidth), 360); // not zoomed out to fit something wider
  assert.deepEqual(await beyondTheEdge(page), []);
  await page.screenshot('phone-inside');
  await page.run(() => document.querySelector('[data-card="lens"]').scrollIntoView());
  await page.screenshot('phone-inside-lens');
});

onPage('the dark inside', {...inside, dark: true}, async (page) => {
  await look(page, 'The capital of France is', 'The capital of Spain is');
  await page.click('[data-card="patching"] .small');
  await page.waitFor(() => document.querySelector('[data-card="patching"] progress').hidden);
  await page.run(() => document.querySelector('#view-inside').scrollTo(0, 0));
  await page.screenshot('dark-inside');
  await page.run(() => document.querySelector('[data-card="patching"]').scrollIntoView());
  await page.screenshot('dark-inside-patching');
});

onPage('what a text says is never markup', inside, async (page) => {
  await look(page, '<img src=x onerror=alert(1)> <b>bold</b>');
  await page.run(() => document.querySelector('[data-card="lens"] .cell-window').focus());
  for (let step = 0; step < 6; ++step) await page.press('ArrowDown');
  assert.equal(await page.count('.inside img, .inside b, .cell-popover img, .cell-popover b'), 0);
});
