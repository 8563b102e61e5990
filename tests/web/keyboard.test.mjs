import assert from 'node:assert/strict';
import {suite} from './support.mjs';

const onPage = suite();

onPage('a conversation by keyboard alone', {}, async (page, mock) => {
  assert.equal(await page.run(() => document.activeElement.id), 'message');
  await page.type('number');
  await page.press('Enter', {shift: true});
  await page.type('one');
  assert.equal(await page.count('.question'), 0);
  await page.press('Enter');
  await page.answered();
  assert.deepEqual(await page.texts('.said'), ['number\none']);
  // The focus stays where one writes.
  await page.type('forever');
  await page.press('Enter');
  await page.waitFor(() => document.querySelector('.answer.live')?.textContent.includes('word 3'));
  await page.press('Enter'); // nothing is sent while an answer arrives
  await page.press('Escape');
  await page.waitFor(() => !document.querySelector('.answer.live'));
  assert.match(await page.text('.answer:last-child .facts'), /^emberStopped\./);
  await page.press('ArrowUp');
  assert.equal(await page.run(() => document.activeElement.value), 'forever');
  await page.press('Escape');
  assert.equal(await page.run(() => document.activeElement.getAttribute('aria-label')), 'Edit and send again');
  const before = mock.requests.length;
  await page.tabTo('.answer:last-child [aria-label="Answer again"]');
  await page.press('Enter');
  await page.waitFor(() => document.querySelector('.answer.live'));
  await page.press('Escape');
  await page.answered();
  assert.equal(mock.requests.length, before + 1);
});

onPage('Tab passes everything, shows where it is, and is never caught', {}, async (page) => {
  await page.say('explain');
  await page.answered();
  await page.click('.tool[aria-controls="parameters"]');
  const seen = [];
  let leaves = false;
  for (let step = 0; step < 80 && !leaves; ++step) {
    await page.press('Tab');
    const at = await page.run(() => {
      const element = document.activeElement;
      if (element === document.body) return null;
      const style = getComputedStyle(element);
      const shows = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
      const box = element.getBoundingClientRect();
      return {
        name: element.id || element.getAttribute('aria-label') || element.className || element.tagName,
        shows: shows || element.closest('.composer:focus-within') !== null,
        visible: box.width > 0 && box.height > 0,
      };
    });
    leaves = at === null || at.name === seen[0]?.name;
    if (!leaves) seen.push(at);
  }
  assert.ok(leaves, `went round: ${seen.map(({name}) => name).join(', ')}`);
  assert.deepEqual(
    seen.filter(({shows, visible}) => !shows || !visible),
    [],
  );
  // Tab begins behind the field that has the focus, in the panel, and comes round to the header and the rest.
  const names = seen.map(({name}) => name).join('|');
  for (const wanted of ['p-temperature', 'p-priority']) assert.ok(names.includes(wanted), wanted);
});

onPage('the header comes first, then the conversation, then the field', {}, async (page) => {
  await page.say('plain');
  await page.answered();
  await page.run(() => {
    document.activeElement.blur();
    document.body.tabIndex = -1;
    document.body.focus();
  });
  const order = [];
  for (let step = 0; step < 30; ++step) {
    await page.press('Tab');
    order.push(
      await page.run(
        () =>
          ['[role="tab"]', '.model-picker select', '.history *', '.thread', '.answer *', '#message', '.tool'].find(
            (selector) => document.activeElement.matches(selector),
          ) ?? '',
      ),
    );
  }
  const groups = order.filter((group, at) => group && group !== order[at - 1]);
  assert.deepEqual(
    groups.slice(0, 7).filter((group, at) => groups.indexOf(group) === at),
    ['[role="tab"]', '.model-picker select', '.history *', '.thread', '.answer *', '#message', '.tool'].filter(
      (group) => groups.slice(0, 7).includes(group),
    ),
  );
  assert.ok(
    order.indexOf('#message') > order.indexOf('.thread') && order.indexOf('.thread') > order.indexOf('[role="tab"]'),
  );
});

onPage('tabs follow the arrow keys and the address', {}, async (page, mock) => {
  await page.run(() => document.querySelector('#tab-chat').focus());
  for (const view of ['transcribe', 'inside', 'engine']) {
    await page.press('ArrowRight');
    await page.waitFor((id) => !document.querySelector(`#view-${id}`).hidden, view);
  }
  assert.equal(await page.run(() => document.activeElement.id), 'tab-engine');
  assert.equal(await page.run(() => document.querySelector('#tab-engine').getAttribute('aria-selected')), 'true');
  assert.equal(await page.run(() => document.querySelector('#view-chat').hidden), true);
  assert.equal(await page.run(() => location.hash), '#engine');
  await page.press('ArrowRight');
  await page.waitFor(() => !document.querySelector('#view-chat').hidden);
  await page.goto(`${mock.url}/#engine`);
  await page.waitFor(() => !document.querySelector('#view-engine').hidden);
});

onPage('panels open and close by keyboard and give the focus back', {}, async (page) => {
  await page.tabTo('.tool[aria-controls="parameters"]');
  await page.press('Enter');
  assert.equal(await page.run(() => document.activeElement.id), 'p-system');
  await page.press('Escape');
  assert.equal(await page.run(() => document.activeElement.getAttribute('aria-controls')), 'parameters');
  assert.equal(await page.run(() => document.querySelector('#parameters').hidden), true);
});

onPage('screen readers hear that an answer is there, not each word', {}, async (page) => {
  await page.say('number');
  await page.answered();
  assert.match(await page.text('#status'), /^Answered: Answer number \d+\.$/);
  assert.equal(await page.run(() => document.querySelector('.thread').closest('[aria-live]')), null);
});
