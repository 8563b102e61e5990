// What the mock model says, by the question's first word.

function random(seed) {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

const bytesOf = (text) => [...Buffer.from(text)];
const entry = (token, p) => ({token, logprob: Math.log(p), bytes: bytesOf(token)});

// Words with the space before them, roughly as a tokenizer cuts.
export function tokenize(text) {
  return text.match(/ ?[\p{L}]{1,7}|\p{N}{1,3}|\n+| +(?= )|[^\p{L}\p{N}\n]/gu) ?? [];
}

function logprobsOf(token, next) {
  const p = next() < 0.7 ? 0.85 + 0.149 * next() : 0.08 + 0.6 * next();
  let rest = 1 - p;
  const others = [' the', ' a', ' so', ',', ' light', ' small']
    .filter((other) => other !== token)
    .slice(0, 4)
    .map((other) => {
      const share = rest * (0.4 + 0.3 * next());
      rest -= share;
      return entry(other, share);
    });
  const top = [entry(token, p), ...others].sort((one, other) => other.logprob - one.logprob);
  return {...entry(token, p), top_logprobs: top};
}

function say(text, {reasoning = '', seed = 1, logprobs = true} = {}) {
  const next = random(seed);
  const part = (name) => (token) => ({delta: {[name]: token}, logprobs: logprobs ? [logprobsOf(token, next)] : null});
  return [...tokenize(reasoning).map(part('reasoning_content')), ...tokenize(text).map(part('content'))];
}

const tour = `Paged attention keeps keys and values in **blocks** of 16 tokens. A sequence finds its own through a *block table*, so memory is taken only as a text grows.

### Why it pays

1. No sequence reserves its whole context at once.
2. Blocks of a common beginning are **shared**:
   - the system message,
   - earlier turns of a conversation.
3. A full pool is a number, not a surprise.

| layout     | waste      | sharing |
|:-----------|-----------:|:-------:|
| one piece  | up to 96 % | no      |
| paged      | under 4 %  | yes     |

\`\`\`cpp
// Empty when the pool is full: the scheduler then waits or preempts.
std::optional<BlockTable> try_allocate(const Sequence& sequence) {
  const int64_t wanted = (sequence.tokens() + 15) / 16;
  if (wanted > pool.free()) return std::nullopt;
  return pool.take(wanted);  // "taken" until the sequence ends
}
\`\`\`

> A block is to a cache what a page is to memory.

In short: \`pages\` for keys, and see [the paper](https://arxiv.org/abs/2309.06180).`;

const thoughts =
  'The person asks for an explanation. I should begin with the idea, then say why it pays, show a little code and end with one sentence to keep.';

export const hostile = `<img src=x onerror="window.pwned=1"><script>window.pwned=2</script>

[click](javascript:window.pwned=3) [data](data:text/html,<script>window.pwned=4</script>) [upper](JaVaScRiPt:window.pwned=5) [tab](java\tscript:window.pwned=6) ![x](javascript:window.pwned=7) [good](https://example.org/a?b=1&c=2)

<javascript:window.pwned=8> <a href="javascript:window.pwned=9">x</a> [ref]: javascript:window.pwned=10

# <svg onload=window.pwned=11>

\`\`\`html"><img src=x onerror=window.pwned=12>
</code></pre><script>window.pwned=13</script>
\`\`\`

| a | <iframe src="javascript:window.pwned=14"></iframe> |
|---|---|
| \`<b>\` | <style>body{display:none}</style> |

- <img src=x onerror=window.pwned=15>
> <details open ontoggle=window.pwned=16>

&lt;b&gt; stays text, **bold <i>x</i>**`;

function* forever() {
  for (let at = 0; ; ++at) yield* say(`word ${at} `);
}

const haiku = 'A small flame leans in;\nwax forgets its careful shape.\nThe room keeps the light.';

export function answerFor(question, number) {
  const [word] = question.toLowerCase().split(/\W/, 1);
  switch (word) {
    case 'refuse':
      return {status: 400, body: {message: 'temperature is 9 but must be between 0 and 5'}};
    case 'proxy':
      return {status: 502, body: '<html><body><h1>Bad gateway</h1></body></html>'};
    case 'break':
      return {parts: say('This will not'), error: 'the engine ran out of memory'};
    case 'hostile':
      return {parts: say(hostile, {reasoning: hostile})};
    case 'forever':
      return {parts: forever()};
    case 'plain':
      return {parts: say('Just text.', {logprobs: false})};
    case 'cut':
      return {parts: say('This answer ends too'), finish: 'length'};
    case 'number':
      return {parts: say(`Answer number ${number}.`, {seed: number})};
    case 'tool':
      return {
        finish: 'tool_calls',
        parts: ['{"city":', '"Ghent"}'].map((text, at) => ({
          delta: {
            tool_calls: [
              {
                index: 0,
                ...(at ? {} : {id: 'call_1', type: 'function'}),
                function: {...(at ? {} : {name: 'weather'}), arguments: text},
              },
            ],
          },
        })),
      };
    case 'write':
      return {parts: say(haiku, {seed: 7})};
    default:
      return {parts: say(tour, {reasoning: thoughts, seed: 3})};
  }
}
