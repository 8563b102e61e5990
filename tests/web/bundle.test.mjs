// The page as cmake/bundle_web.cmake joins it: does what the page of many files does, with few requests.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {after, test} from 'node:test';
import {gunzipSync} from 'node:zlib';
import {suite} from './support.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'wick-bundle-'));
after(() => rmSync(folder, {recursive: true}));

const joinPage = (from, to) =>
  execFileSync('cmake', [`-DFROM=${from}`, `-DTO=${to}`, '-P', join(root, 'cmake/bundle_web.cmake')], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
joinPage(join(root, 'web'), join(folder, 'page'));
const onPage = suite({pace: 1, files: join(folder, 'page')});

onPage('every view works, and five requests are enough', {}, async (page, mock) => {
  const files = page.requests.filter((request) => !request.includes('/v1/') && request.startsWith(mock.url));
  assert.ok(files.length <= 5, files.join());
  await page.say('explain');
  await page.answered();
  assert.ok((await page.text('.answer > .body')).includes('In short'));
  await page.click('#tab-inside');
  await page.waitFor(() => document.querySelector('.inside-closed').hidden);
  await page.click('.offers .suggestion');
  await page.waitFor(() => document.querySelectorAll('.next-tokens li').length > 0);
  await page.click('#tab-engine');
  await page.waitFor(() => document.querySelectorAll('.sequence').length > 0);
  await page.click('#tab-transcribe');
  await page.click('.transcribe .suggestion');
  await page.waitFor(() => document.querySelectorAll('.segment:not(.open)').length === 2);
});

test('packed files hold the same', () => {
  for (const name of ['index.html', 'page.css', 'dark.css', 'page.js', 'microphone_worklet.js', 'flame.svg']) {
    const file = join(folder, 'page', name);
    assert.deepEqual(gunzipSync(readFileSync(`${file}.gz`)), readFileSync(file), name);
  }
});

// What cannot be joined is refused, not left as it is.
for (const [name, line, said] of [
  ['a default import', "import thing from './dom.js';", /import or export of a form that is not joined/],
  ['a star import', "import * as thing from './dom.js';", /import or export of a form that is not joined/],
  ['a default export', 'export default 1;', /import or export of a form that is not joined/],
  ['a list of exports', 'export {listModels};', /import or export of a form that is not joined/],
  ['an import on demand', "const later = () => import('./dom.js');", /import or export of a form that is not joined/],
  ['a circle', "import {ChatView} from './chat/chat.js';", /imports itself/],
  ['a file that is not there', "import {thing} from './thing.js';", /thing.js/],
]) {
  test(`${name} is refused`, () => {
    const web = join(folder, 'web');
    rmSync(web, {recursive: true, force: true});
    cpSync(join(root, 'web'), web, {recursive: true});
    const file = join(web, 'script/api.js');
    writeFileSync(file, `${line}\n${readFileSync(file)}`);
    assert.throws(() => joinPage(web, join(folder, 'broken')), (error) => said.test(error.stderr.replace(/\s+/g, ' ')));
  });
}
