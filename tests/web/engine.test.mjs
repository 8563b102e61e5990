import assert from 'node:assert/strict';
import {suite, until} from './support.mjs';

const onPage = suite();

const snapshot = (changes = {}) => ({
  model: 'ember',
  waiting: 1,
  running: 2,
  paused: 0,
  context: 2048,
  block_tokens: 16,
  blocks: {
    total: 200,
    free: 150,
    cached: 20,
    runs: [
      [3, 5],
      [2, 25],
      [1, 20],
      [0, 150],
    ],
  },
  pressure: 0.15,
  budget: 256,
  batch: {prefill: 96, decode: 2, seconds: 0.03},
  sequences: [
    {
      request: 7,
      choice: 0,
      phase: 'decode',
      priority: 'normal',
      prompt: 100,
      computed: 140,
      generated: 40,
      age: 2.5,
      blocks: [0, 1, 2, 3, 4, ...Array.from({length: 10}, (_, at) => 5 + at)],
    },
    {
      request: 8,
      choice: 1,
      phase: 'prefill',
      priority: 'high',
      prompt: 300,
      computed: 96,
      generated: 0,
      age: 0.25,
      blocks: [0, 1, 2, 3, 4, ...Array.from({length: 15}, (_, at) => 15 + at)],
    },
    {
      request: 9,
      choice: 0,
      phase: 'waiting',
      priority: 'normal',
      prompt: 1234,
      computed: 0,
      generated: 0,
      age: 61,
      blocks: [],
    },
  ],
  counters: {
    prompt_tokens: 2000,
    reused_tokens: 500,
    generated_tokens: 12345,
    prefix_hits: 4,
    prefix_evictions: 6,
    preemptions: 1,
    steps: 99,
  },
  ...changes,
});

// How much of a canvas is painted, from 0 to 1, and the colour of a point.
const painted = (page, selector) =>
  page.run((wanted) => {
    const canvas = document.querySelector(wanted);
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 3; at < data.length; at += 4) count += data[at] > 0;
    return count / (data.length / 4);
  }, selector);

onPage('its numbers are those of the server', {hash: '#engine'}, async (page, mock) => {
  mock.engine.fixed = snapshot();
  await page.waitFor(() => document.querySelectorAll('.sequence').length === 3);
  const facts = await page.run(() =>
    Object.fromEntries(
      [...document.querySelectorAll('[data-fact]')].map((fact) => [fact.dataset.fact, fact.textContent]),
    ),
  );
  assert.deepEqual(facts, {
    running: '2',
    waiting: '1',
    paused: '0',
    decode: '0',
    prefill: '0',
    hits: '25.0 %',
    pressure: '15.0 %',
  });
  assert.equal(
    await page.run(() => document.querySelector('.block-grid').getAttribute('aria-label')),
    'Blocks of the KV cache: 30 used, 20 cached, 150 free; 16 tokens each',
  );
  assert.deepEqual(await page.texts('.sequence .name'), ['#7', '#8.1', '#9']);
  assert.deepEqual(await page.texts('.sequence .phase'), ['decode', 'prefill, high', 'waiting']);
  assert.deepEqual(await page.texts('.sequence .numbers'), ['100 + 40', '96 of 300 prefilled', '0 of 1,234 prefilled']);
  assert.deepEqual(await page.texts('.sequence .age'), ['2.5 s', '250 ms', '1 min 1 s']);
  assert.match(
    await page.text('.totals'),
    /99 passes, 2,000 prompt tokens \(500 from the prefix cache\), 12,345 generated, 6 blocks evicted, 1 preemptions/,
  );
});

onPage('the grid shows who holds which block', {hash: '#engine', reducedMotion: true}, async (page, mock) => {
  mock.engine.fixed = snapshot();
  await page.waitFor(() => document.querySelectorAll('.sequence').length === 3);
  // A pixel in the middle of each cell's left half; shared cells have a hole in their middle.
  const colors = await page.waitFor(() => {
    const canvas = document.querySelector('.block-grid');
    const context = canvas.getContext('2d');
    const columns = Math.floor(canvas.clientWidth / 20);
    const at = (block) =>
      [...context.getImageData(20 * (block % columns) + 5, 20 * Math.floor(block / columns) + 10, 1, 1).data].join();
    const hue = (index) => {
      const probe = document.createElement('span');
      probe.style.color = document.querySelectorAll('.sequence')[index].style.getPropertyValue('--owner');
      document.body.append(probe);
      const value = getComputedStyle(probe).color.match(/\d+/g).join();
      probe.remove();
      return `${value},255`;
    };
    const seen = {
      shared: at(0),
      seven: at(5),
      sevenToo: at(14),
      eight: at(15),
      cached: at(30),
      free: at(199),
      owners: [hue(0), hue(1)],
    };
    return seen.seven === seen.owners[0] && seen;
  });
  assert.equal(colors.sevenToo, colors.seven);
  assert.equal(colors.eight, colors.owners[1]);
  assert.notEqual(colors.eight, colors.seven);
  assert.equal(new Set([colors.shared, colors.seven, colors.eight, colors.cached]).size, 4);
  assert.equal(colors.free, '0,0,0,0'); // a dot in the middle alone
  const before = await painted(page, '.block-grid');
  mock.engine.fixed = snapshot({blocks: {total: 200, free: 0, cached: 0, runs: [[2, 200]]}});
  await page.waitFor(() => document.querySelector('.block-grid').getAttribute('aria-label').includes('200 used'));
  await page.waitFor((old) => {
    const canvas = document.querySelector('.block-grid');
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, at) => at % 4 === 3 && value > 0).length / (data.length / 4) > 2 * old;
  }, before);
});

onPage('it moves with the engine', {hash: '#engine'}, async (page, mock) => {
  await page.waitFor(() => document.querySelectorAll('.sequence').length > 3);
  await page.waitFor(() => parseFloat(document.querySelector('[data-fact="decode"]').textContent) > 0);
  const before = await page.text('.totals');
  await page.waitFor((old) => document.querySelector('.totals').textContent !== old, before);
  assert.ok((await painted(page, '.block-grid')) > 0.05);
  assert.ok((await painted(page, '.strip-chart')) > 0.001);
  await page.screenshot('engine');
  await page.run(() => document.querySelector('#view-engine').scrollTo(0, 10000));
  await page.screenshot('engine-passes');
});

onPage('it listens only while it is looked at', {hash: '#engine'}, async (page, mock) => {
  await page.waitFor(() => document.querySelectorAll('.sequence').length > 3);
  await until(() => mock.watching === 1);
  await page.click('#tab-chat');
  await until(() => mock.watching === 0);
  const before = await page.text('.totals');
  await page.click('#tab-engine');
  await page.waitFor((old) => document.querySelector('.totals').textContent !== old, before);
});

onPage('a sequence can be picked out, and an idle engine says so', {hash: '#engine'}, async (page, mock) => {
  mock.engine.fixed = snapshot();
  await page.waitFor(() => document.querySelectorAll('.sequence').length === 3);
  await page.tabTo('.sequence');
  await page.press('Enter');
  assert.deepEqual(
    await page.run(() => [...document.querySelectorAll('.sequence')].map((row) => row.getAttribute('aria-pressed'))),
    ['true', 'false', 'false'],
  );
  mock.engine.fixed = snapshot({sequences: [], running: 0, waiting: 0});
  await page.waitFor(() => document.querySelectorAll('.sequence').length === 0);
  assert.equal(await page.run(() => document.querySelector('.idle').hidden), false);
});

onPage('a large cache is drawn, too', {hash: '#engine'}, async (page, mock) => {
  const total = 100003;
  mock.engine.fixed = snapshot({
    blocks: {
      total,
      free: total - 30000,
      cached: 0,
      runs: [
        [2, 30000],
        [0, total - 30000],
      ],
    },
  });
  await page.waitFor(() => document.querySelector('.block-grid').getAttribute('aria-label')?.includes('30,000 used'));
  await page.waitFor(() => {
    const canvas = document.querySelector('.block-grid');
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, Math.floor(canvas.height / 5));
    return data.filter((value, at) => at % 4 === 3 && value > 0).length / (data.length / 4) > 0.5;
  });
});

// Pixels that are painted at all, however faintly.
const specks = (page) =>
  page.run(() => {
    const canvas = document.querySelector('.block-grid');
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 3; at < data.length; at += 4) if (data[at]) ++count;
    return count;
  });

for (const scale of [1, 1.25]) {
  onPage(`what was drawn leaves no lines at ${scale} pixels each`, {hash: '#engine', scale}, async (page, mock) => {
    const total = 12000; // cells of less than five pixels
    const all = (state, free) => ({blocks: {total, free, cached: 0, runs: [[state, total]]}, sequences: []});
    const settled = async (wanted) => {
      mock.engine.fixed = snapshot(wanted);
      const text = `${wanted.blocks.free.toLocaleString('en-US')} free`;
      await page.waitFor((shown) => document.querySelector('.block-grid').ariaLabel.includes(shown), text);
      await new Promise((resolve) => setTimeout(resolve, 2500)); // colours and sizes have eased
      return specks(page);
    };
    const before = await settled(all(0, total));
    assert.ok((await settled(all(2, 0))) > 2 * before);
    assert.equal(await settled(all(0, total)), before);
  });
}
