// How one begins to look inside: examples, the chat template, prefixes, links, fingers and vectors.
import assert from 'node:assert/strict';
import {suite, until} from './support.mjs';

const onPage = suite({inside: {layers: 4, heads: 3, isChat: true, steering: ['calm', 'loud']}});
const inside = {hash: '#inside'};

const isOpen = (page) => page.waitFor(() => document.querySelector('.inside-closed').hidden && !document.querySelector('#inside-chat').disabled);
const isDone = (page) =>
  page.waitFor(
    () =>
      document.querySelector('[data-card="lens"] .cell-grid:not([hidden])') &&
      document.querySelectorAll('.next-tokens li').length > 0 &&
      document.querySelector('.inside-bar .stop').hidden,
  );
const bodyOf = (mock, what) => mock.inside.requests.filter(({pathname}) => pathname.endsWith(what)).at(-1).body;

onPage('a click on an example is enough, and chat models are asked through their template', inside, async (page, mock) => {
  await isOpen(page);
  assert.equal(await page.run(() => document.querySelector('#inside-chat').checked), true);
  const [placeholder] = await page.run(() => [document.querySelector('#inside-prompt').placeholder]);
  assert.equal(placeholder, (await page.texts('.offers .suggestion'))[0]); // one that runs
  await page.screenshot('inside-empty');
  await page.click('.offers .suggestion');
  await isDone(page);
  assert.equal(await page.text('.continuation'), ' Paris of course');
  // The question in its template, then the prefix: as tokens.
  assert.deepEqual(bodyOf(mock, 'run').tokens, [1000, 4, 3, 4, 8, 3, 8, 1001, 3, 8, 3]);
  assert.equal(bodyOf(mock, 'run').prompt, undefined);
  assert.deepEqual(bodyOf(mock, 'lens').follow, [6, 7]); // " Paris", " Madrid"
  assert.equal(await page.run(() => document.querySelector('.offers').hidden), true);
  const shades = await page.run(() => [...document.querySelector('select[aria-label="Colour"]').options].map((o) => o.text));
  assert.equal(shades.length, 5);
  await page.run(() => {
    const shade = document.querySelector('select[aria-label="Colour"]');
    shade.value = 'follow-1';
    shade.dispatchEvent(new Event('change'));
  });
  await page.run(() => document.querySelector('[data-card="lens"] .cell-window').focus());
  await page.press('ArrowRight');
  assert.match(await page.text('#status'), /\(#\d+\): [\d.<]+ %/);
});

onPage('a question without prefix is a conversation, a prompt without template is text', inside, async (page, mock) => {
  await isOpen(page);
  await page.click('#inside-prompt');
  await page.type('Who are you?');
  await page.press('Enter');
  await isDone(page);
  assert.deepEqual(bodyOf(mock, 'run').messages, [{role: 'user', content: 'Who are you?'}]);
  await page.click('#inside-chat');
  await page.click('.inside-form .primary');
  await until(() => bodyOf(mock, 'run').prompt === 'Who are you?');
  await isDone(page);
  // What somebody chose stays when the model is asked about anew.
  await page.click('#tab-chat');
  await page.click('#tab-inside');
  assert.equal(await page.run(() => document.querySelector('#inside-chat').checked), false);
});

onPage('a link carries what is looked into', inside, async (page, mock) => {
  await isOpen(page);
  await page.click('#inside-chat');
  await page.click('#inside-prompt');
  await page.type('One & two? #3');
  await page.click('#inside-other');
  await page.type('<b>');
  await page.click('.inside-form .primary');
  await isDone(page);
  const address = await page.run(() => location.href);
  assert.match(address, /#inside\?prompt=One\+%26\+two/);
  const before = mock.inside.requests.length;
  await page.goto(address);
  await isDone(page);
  assert.ok(mock.inside.requests.length > before);
  assert.equal(bodyOf(mock, 'run').prompt, 'One & two? #3');
  assert.equal(await page.run(() => document.querySelector('#inside-other').value), '<b>');
  assert.equal(await page.run(() => document.querySelector('#tab-inside').ariaSelected), 'true');
  // While the page is open, too.
  await page.run(() => (location.hash = '#inside?prompt=other+words&chat=0'));
  await until(() => bodyOf(mock, 'run').prompt === 'other words');
  await isDone(page);
});

onPage('texts that do not fit are told of where the sweep is', {...inside, height: 600}, async (page) => {
  await page.goto(`${await page.run(() => location.origin)}/#inside?prompt=one+two&other=one&chat=0`);
  await isDone(page);
  await page.click('[data-card="patching"] .small');
  await page.waitFor(() => !document.querySelector('[data-card="patching"] .notice').hidden);
  const box = await page.run(() => {
    const {top, bottom} = document.querySelector('[data-card="patching"] .notice').getBoundingClientRect();
    return {top, bottom, height: innerHeight};
  });
  assert.ok(box.top >= 0 && box.bottom <= box.height, JSON.stringify(box));
});

onPage('a vector steers the answer, and can be taken back', inside, async (page, mock) => {
  await page.goto(`${mock.url}/#inside?prompt=one+two&chat=0`);
  await isDone(page);
  await page.run(() => {
    document.querySelector('select[aria-label="Steering vector"]').value = 'loud';
    document.querySelector('input[aria-label="Strength"]').value = '-2.5';
  });
  await page.click('.steering button');
  await until(() => bodyOf(mock, 'run').steer);
  assert.deepEqual(bodyOf(mock, 'run').steer, [{vector: 'loud', strength: -2.5}]);
  assert.deepEqual(await page.texts('.edit-list li span'), ['steered by loud × -2.5']);
  await page.screenshot('inside-steering');
  await page.click('.edit-list button');
  await until(() => !bodyOf(mock, 'run').steer);
});

const phone = {...inside, width: 360, height: 740, scale: 2, touch: true};
onPage('a finger reads a cell first and chooses it with the second touch', phone, async (page, mock) => {
  await page.goto(`${mock.url}/#inside?prompt=one+two&chat=0`);
  await isDone(page);
  const point = await page.run(() => {
    const window = document.querySelector('[data-card="lens"] .cell-window');
    window.scrollIntoView({block: 'center'});
    const {left, top} = window.getBoundingClientRect();
    return {x: left + 70, y: top + 90};
  });
  const touch = async () => {
    await page.send('Input.dispatchTouchEvent', {type: 'touchStart', touchPoints: [point]});
    await page.send('Input.dispatchTouchEvent', {type: 'touchEnd', touchPoints: []});
  };
  await touch();
  await page.waitFor(() => /entropy/.test(document.querySelector('.cell-popover:not([hidden])')?.textContent));
  assert.equal(await page.count('.cell-menu'), 0);
  await page.screenshot('phone-inside-values');
  await touch();
  await page.waitFor(() => document.querySelector('.cell-menu'));
  const heights = await page.run(() => [...document.querySelectorAll('.cell-menu button')].map((b) => b.offsetHeight));
  assert.ok(heights.every((height) => height >= 40), heights.join());
});
