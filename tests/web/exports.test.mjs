// What `wick lens`, `wick attn` and `wick probe` write with --html, in the browser. WICK_PROGRAM is the program.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {Browser} from './chromium.mjs';

const program = process.env.WICK_PROGRAM;
const folder = mkdtempSync(join(tmpdir(), 'wick-exports-'));
const shared = {};

before(async () => {
  if (!program) return;
  shared.browser = await Browser.launch();
  shared.server = createServer((request, response) => {
    response.writeHead(200, {'Content-Type': 'text/html'}).end(readFileSync(join(folder, request.url.slice(1))));
  });
  await new Promise((resolve) => shared.server.listen(0, '127.0.0.1', resolve));
  shared.url = `http://127.0.0.1:${shared.server.address().port}`;
});
after(async () => {
  await shared.browser?.close();
  shared.server?.closeAllConnections();
  shared.server?.close();
  rmSync(folder, {recursive: true});
});

function onExport(name, command, body) {
  test(name, {skip: !program && 'WICK_PROGRAM is not set', timeout: 90000}, async () => {
    const file = `${command[0]}-${name.replace(/\W+/g, '-')}.html`;
    execFileSync(program, [...command, '--html', join(folder, file)], {stdio: 'ignore'});
    const page = await shared.browser.newPage({});
    try {
      await page.load(`${shared.url}/${file}`);
      await body(page);
      await page.screenshot(`export-${name.replace(/\W+/g, '-')}`);
      assert.deepEqual(page.problems, []);
    } finally {
      await page.close();
    }
  });
}

// Of each table that is shaded: whether its header covers its first cell, and how its rows are named.
const tables = () =>
  [...document.querySelectorAll('table.heat')].map((table) => {
    table.scrollIntoView();
    const cell = table.tBodies[0].rows[0].cells[1].getBoundingClientRect();
    const heads = [...table.tHead.rows].map((row) => row.cells[1].getBoundingClientRect());
    return {
      isCovered: heads.some(({bottom}) => bottom > cell.top + 0.5),
      headsMeet: heads.every(({top}, at) => at === 0 || top > heads[at - 1].bottom - 1),
      rows: [...table.tBodies[0].rows].map((row) => row.cells[0].textContent),
    };
  });

function check(found) {
  assert.ok(found.length > 0);
  for (const {isCovered, headsMeet, rows} of found) {
    assert.equal(isCovered, false);
    assert.equal(headsMeet, true);
    assert.equal(rows.at(-1), '0'); // as in Inside, layers rise
    assert.equal(rows.at(-2), '1');
  }
}

onExport('the lens', ['lens', '-p', 'The red fox ran'], async (page) => check(await page.run(tables)));
onExport('head scores', ['attn', '--random', '12', '--scores'], async (page) => check(await page.run(tables)));
onExport('heads that lead to the answer', ['lens', '-p', 'The red fox ran', '--attribution', 'head'], async (page) =>
  check(await page.run(tables)),
);
const ask = (place) => `What is the capital of ${place}?`;
const sweep = ['patch', '-p', ask('France'), '-c', ask('Spain'), '--prefix', 'The capital is', '--by-head'];
onExport('a sweep of heads', sweep, async (page) => check(await page.run(tables)));


const labelled = ['cat', 'dog', 'cow', 'fox', 'hen', 'owl'].flatMap((name, at) => [
  `I see a ${name}\tsee`,
  `The ${name} ran ${at}\trun`,
]);
writeFileSync(join(folder, 'labelled.tsv'), `${labelled.join('\n')}\n`);
const probe = ['probe', '--data', join(folder, 'labelled.tsv'), '--steps', '20'];
onExport('probes', probe, async (page) => check(await page.run(tables)));
