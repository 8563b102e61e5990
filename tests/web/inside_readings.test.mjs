// Probes and sparse autoencoders of the server, read at each token of a text.
import assert from 'node:assert/strict';
import {cellPoint, clickAt} from './cells.mjs';
import {suite, until} from './support.mjs';

const probes = [
  {name: 'kind', point: 'blocks.2.hook_resid_post', labels: ['kind', 'unkind']},
  {name: 'tongue', point: 'blocks.1.hook_resid_post', labels: ['English', 'a rather long label', 'other']},
];
const autoencoders = [{name: 'small', point: 'blocks.3.hook_resid_pre', features: 512}];
const onPage = suite({inside: {layers: 4, heads: 3, probes, autoencoders}});
const inside = {hash: '#inside'};

const bodiesOf = (mock, what) =>
  mock.inside.requests.filter(({pathname}) => pathname.endsWith(`/${what}`)).map(({body}) => body);
async function look(page, mock) {
  await page.goto(`${mock.url}/#inside?prompt=one+two+three`);
  await page.waitFor(
    () =>
      document.querySelector('[data-card="features"] .cell-grid:not([hidden])') &&
      document.querySelectorAll('.next-tokens li').length > 0 &&
      document.querySelector('.inside-bar .stop').hidden,
  );
}
async function hover(page, card, row, column) {
  await page.run((selector) => document.querySelector(selector).scrollIntoView({block: 'center'}), card);
  // What the scrolling hides is shown by the next move.
  await until(async () => {
    await page.send('Input.dispatchMouseEvent', {type: 'mouseMoved', x: 2, y: 2});
    await page.send('Input.dispatchMouseEvent', {type: 'mouseMoved', ...(await cellPoint(page, card, row, column))});
    return page.run(() => document.querySelector('.cell-popover:not([hidden])') !== null);
  });
  return page.text('.cell-popover');
}

onPage('a probe tells its classes at each token, and another can be chosen', inside, async (page, mock) => {
  await look(page, mock);
  assert.deepEqual(bodiesOf(mock, 'probe').map(({probe, prompt}) => [probe, prompt]), [['kind', 'one two three']]);
  assert.match(await page.text('[data-card="probe"]'), /blocks\.2\.hook_resid_post/);
  const said = await hover(page, '[data-card="probe"]', 0, 2);
  assert.match(said, /token 2.*three.*kind.*75\.0 %.*unkind.*25\.0 %/s);
  await page.screenshot('inside-readings');
  await page.run(() => {
    const choice = document.querySelector('select[aria-label="Probe"]');
    choice.value = 'tongue';
    choice.dispatchEvent(new Event('change'));
  });
  await page.waitFor(() => /blocks\.1\./.test(document.querySelector('[data-card="probe"]').textContent));
  assert.equal(bodiesOf(mock, 'probe').at(-1).probe, 'tongue');
});

onPage('a feature is ablated from its cell, and the maps follow', inside, async (page, mock) => {
  await look(page, mock);
  // The strongest first: 7 at the last token.
  const said = await hover(page, '[data-card="features"]', 0, 2);
  assert.match(said, /feature 7.*6\.000/s);
  await clickAt(page, await cellPoint(page, '[data-card="features"]', 0, 2));
  await page.waitFor(() => document.querySelector('.cell-menu'));
  assert.equal((await page.texts('.cell-menu button'))[2], 'Steer by it × 6');
  await page.screenshot('inside-feature-menu');
  await page.click('.cell-menu button');
  await until(() => bodiesOf(mock, 'run').at(-1).features);
  assert.deepEqual(bodiesOf(mock, 'run').at(-1).features, [
    {autoencoder: 'small', features: [7], kind: 'ablate', positions: [2]},
  ]);
  await page.run(() => {
    const run = document.querySelector('select[aria-label="Run"]');
    run.value = 'edited';
    run.dispatchEvent(new Event('change'));
  });
  await until(() => bodiesOf(mock, 'features').at(-1).features);
  await page.waitFor(() => !document.querySelector('.inside-main.waiting'));
  assert.doesNotMatch(await hover(page, '[data-card="features"]', 0, 2), /feature 7/);
});
