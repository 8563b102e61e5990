import assert from 'node:assert/strict';
import {hostile} from './mock_answers.mjs';
import {suite} from './support.mjs';

const onPage = suite({pace: 1});

const harmless = () => ({
  pwned: window.pwned ?? null,
  elements: document.querySelectorAll(
    '.answer :is(script, iframe, img, style, object, embed, form, input, b, i, svg:not(.icon, .flame))',
  ).length,
  handlers: [...document.querySelectorAll('.answer *')]
    .flatMap((element) => [...element.attributes])
    .filter(({name}) => name.startsWith('on') || name === 'style').length,
  links: [...document.querySelectorAll('.answer a')].map(({href}) => href),
});

onPage('HTML and addresses in a model’s text do nothing', {}, async (page) => {
  await page.say('hostile');
  await page.answered();
  await page.click('.reasoning summary');
  await page.waitFor(() => document.querySelector('.reasoning .body').textContent.length > 100);
  assert.deepEqual(await page.run(harmless), {
    pwned: null,
    elements: 0,
    handlers: 0,
    links: ['https://example.org/a?b=1&c=2', 'https://example.org/a?b=1&c=2'],
  });
  const text = await page.text('.answer > .body');
  for (const shown of [
    '<img src=x onerror="window.pwned=1">',
    '<script>window.pwned=2</script>',
    '[click](javascript:window.pwned=3)',
    '</code></pre><script>window.pwned=13</script>',
    '<style>body{display:none}</style>',
    '<b> stays text',
    'bold <i>x</i>',
  ]) {
    assert.ok(text.includes(shown), shown);
  }
  assert.equal(
    await page.run(() =>
      [...document.querySelectorAll('.answer a')].every(
        ({rel, target}) => rel === 'noopener noreferrer' && target === '_blank',
      ),
    ),
    true,
  );
  await page.screenshot('chat-hostile');
});

onPage('nor as tokens, in questions, or in titles', {}, async (page) => {
  await page.click('.tool[aria-pressed]');
  await page.say(hostile);
  await page.answered();
  assert.equal((await page.run(harmless)).pwned, null);
  assert.equal(await page.count('.question :is(script, img, iframe)'), 0);
  assert.equal(await page.count('.entry *'), 0);
  assert.equal(await page.text('.said'), hostile.replaceAll('\t', '\t').trim());
});

onPage('the policy is in force', {}, async (page) => {
  const blocked = await page.run(async () => {
    const violations = [];
    document.addEventListener('securitypolicyviolation', ({effectiveDirective}) => violations.push(effectiveDirective));
    const attempts = [
      () => {
        const script = document.createElement('script');
        script.textContent = 'window.pwned = 1';
        document.body.append(script);
      },
      () => {
        document.createElement('div').innerHTML = '<p>x</p>';
      },
      () => {
        const style = document.createElement('style');
        style.textContent = 'p { color: red }';
        document.head.append(style);
      },
      () => {
        const image = document.createElement('img');
        image.src = 'http://192.0.2.1/x.png';
        document.body.append(image);
      },
    ];
    for (const attempt of attempts) {
      try {
        attempt();
      } catch {
        /* refused */
      }
    }
    await fetch('http://192.0.2.1/').catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 50));
    return [...new Set(violations)].sort();
  });
  assert.deepEqual(blocked, ['connect-src', 'img-src', 'require-trusted-types-for', 'style-src-elem']);
  assert.equal(await page.run(() => window.pwned ?? null), null);
  assert.ok(page.problems.length >= 4);
  page.problems = []; // these were asked for
  page.requests = page.requests.filter((request) => !request.startsWith('http://192.0.2.1/'));
});
