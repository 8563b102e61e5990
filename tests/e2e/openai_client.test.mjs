// OpenAI's own client against `wick serve` with Ember, whose sure-fire answers are in models/ember/README.md.
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {before, test} from 'node:test';

import {model, serve, sum, sumAnswer} from './wick_server.mjs';

const {default: OpenAI} = await import(join(process.env.WICK_CLIENT, 'index.mjs'));

const connect = (url, apiKey = 'none') => new OpenAI({baseURL: `${url}/v1`, apiKey, maxRetries: 0});

let client;
before(async () => {
  client = connect(await serve());
});

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Get the weather of a city',
    parameters: {
      type: 'object',
      properties: {city: {type: 'string', description: 'The name of the city'}},
      required: ['city'],
    },
  },
};
const chat = (more) => client.chat.completions.create({model, messages: sum, temperature: 0, ...more});

test('a chat', async () => {
  const answer = await chat();
  assert.equal(answer.choices[0].message.content, sumAnswer);
  assert.equal(answer.choices[0].finish_reason, 'stop');
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
});

test('a chat as a stream, with usage', async () => {
  let text = '', usage = null;
  for await (const chunk of await chat({stream: true, stream_options: {include_usage: true}})) {
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, sumAnswer);
  assert.ok(usage.completion_tokens > 5);
});

test('the client\'s own collecting of a stream', async () => {
  const stream = client.chat.completions.stream({model, messages: sum, temperature: 0});
  assert.equal(await stream.finalContent(), sumAnswer);
});

test('tools: a call, its answer, and one that is forced', async () => {
  const question = [{role: 'user', content: 'What is the weather in Lyon?'}];
  const first = await chat({messages: question, tools: [weather]});
  assert.equal(first.choices[0].finish_reason, 'tool_calls');
  const call = first.choices[0].message.tool_calls[0];
  assert.deepEqual(JSON.parse(call.function.arguments), {city: 'Lyon'});
  const second = await chat({
    messages: [...question, first.choices[0].message,
               {role: 'tool', tool_call_id: call.id, content: '{"temperature": 12, "sky": "cloudy"}'}],
    tools: [weather],
  });
  assert.equal(second.choices[0].message.content, 'In Lyon it is cloudy and 12 degrees.');
  const forced = await chat({tools: [weather], tool_choice: 'required'});
  assert.equal(forced.choices[0].message.tool_calls[0].function.name, 'get_weather');
});

test('tools as a stream', async () => {
  const stream = client.chat.completions.stream(
      {model, messages: [{role: 'user', content: 'What is the weather in Lyon?'}], temperature: 0, tools: [weather]});
  const message = await stream.finalMessage();
  assert.equal(message.tool_calls[0].function.name, 'get_weather');
  assert.deepEqual(JSON.parse(message.tool_calls[0].function.arguments), {city: 'Lyon'});
});

test('a JSON schema', async () => {
  const schema = {
    type: 'object',
    properties: {name: {type: 'string'}, age: {type: 'integer'}},
    required: ['name', 'age'],
    additionalProperties: false,
  };
  const answer = await chat({
    messages: [{role: 'user', content: 'Give me JSON with name and age: Tom is 7 years old.'}],
    response_format: {type: 'json_schema', json_schema: {name: 'person', strict: true, schema}},
  });
  assert.deepEqual(JSON.parse(answer.choices[0].message.content), {name: 'Tom', age: 7});
});

test('log-probabilities', async () => {
  const answer = await chat({logprobs: true, top_logprobs: 3});
  const content = answer.choices[0].logprobs.content;
  assert.equal(content.map((entry) => entry.token).join(''), sumAnswer);
  assert.ok(content.every((entry) => entry.logprob <= 0 && entry.top_logprobs.length === 3));
});

test('n and seed', async () => {
  const ask = () => chat({messages: [{role: 'user', content: 'Tell me a story.'}], temperature: 1.5, n: 2, seed: 5,
                          max_tokens: 12});
  const [once, again] = [await ask(), await ask()];
  const texts = (answer) => answer.choices.map((choice) => choice.message.content);
  assert.equal(texts(once).length, 2);
  assert.notEqual(texts(once)[0], texts(once)[1]);
  assert.deepEqual(texts(once), texts(again));
});

test('stop, max_tokens and logit_bias', async () => {
  assert.equal((await chat({stop: ['= 6']})).choices[0].message.content, '348 + 275 ');
  assert.equal((await chat({max_tokens: 2})).choices[0].finish_reason, 'length');
  const first = (await chat({logprobs: true, max_tokens: 1})).choices[0].logprobs.content[0].token;
  const url = client.baseURL.replace(/\/v1$/, '');
  const tokenized = await fetch(`${url}/tokenize`, {method: 'POST', body: JSON.stringify({content: first})});
  const token = (await tokenized.json()).tokens[0];
  const other = await chat({logprobs: true, max_tokens: 1, logit_bias: {[token]: -100}});
  assert.notEqual(other.choices[0].logprobs.content[0].token, first);
});

test('completions with echo', async () => {
  const prompt = 'Once upon a time';
  const answer = await client.completions.create({model, prompt, echo: true, max_tokens: 5, temperature: 0,
                                                  logprobs: 1});
  assert.ok(answer.choices[0].text.startsWith(prompt));
  assert.equal(answer.choices[0].logprobs.tokens.join(''), answer.choices[0].text);
});

test('responses', async () => {
  const answer = await client.responses.create({model, input: sum[0].content, temperature: 0});
  assert.equal(answer.output_text, sumAnswer);
  assert.equal(answer.status, 'completed');
  const call = await client.responses.create(
      {model, input: 'What is the weather in Lyon?', temperature: 0, tools: [{type: 'function', ...weather.function}]});
  assert.equal(call.output[0].type, 'function_call');
  assert.deepEqual(JSON.parse(call.output[0].arguments), {city: 'Lyon'});
});

test('responses as a stream', async () => {
  let text = '', last = '';
  const events = await client.responses.create({model, input: sum[0].content, temperature: 0, stream: true});
  for await (const event of events) {
    if (event.type === 'response.output_text.delta') text += event.delta;
    last = event.type;
  }
  assert.equal(text, sumAnswer);
  assert.equal(last, 'response.completed');
  const collected = await client.responses.stream({model, input: sum[0].content, temperature: 0}).finalResponse();
  assert.equal(collected.output[0].content[0].text, sumAnswer);
});

test('responses in the background as a stream that is taken up again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wick-journal-'));
  const keeper = connect(await serve('--journal', join(folder, 'journal')));
  const asked = {model, input: sum[0].content, temperature: 0, background: true};
  const seen = [];
  for await (const event of await keeper.responses.create({...asked, stream: true})) {
    seen.push(event);
    if (seen.length === 6) break; // goes away
  }
  const {id} = seen[0].response;
  for await (const event of await keeper.responses.retrieve(id, {stream: true, starting_after: 5})) seen.push(event);
  assert.deepEqual(seen.map((event) => event.sequence_number), seen.map((_, index) => index));
  assert.deepEqual(seen.slice(0, 2).map((event) => event.type), ['response.created', 'response.queued']);
  const text = seen.filter((event) => event.type === 'response.output_text.delta').map((event) => event.delta).join('');
  assert.equal(text, sumAnswer);
  assert.equal(seen.at(-1).type, 'response.completed');
  assert.deepEqual((await keeper.responses.retrieve(id)).output, seen.at(-1).response.output);
  const whole = await keeper.responses.stream({response_id: id}).finalResponse();
  assert.equal(whole.output[0].content[0].text, sumAnswer);
  rmSync(folder, {recursive: true});
});

test('responses that are kept and continued', async () => {
  const first = await client.responses.create({model, input: 'My name is Zoe.', temperature: 0});
  assert.deepEqual((await client.responses.retrieve(first.id)).output, first.output);
  const second = await client.responses.create(
      {model, input: 'What is my name?', previous_response_id: first.id, temperature: 0,
       include: ['message.output_text.logprobs'], top_logprobs: 1});
  assert.match(second.output_text, /Zoe/);
  assert.equal(second.previous_response_id, first.id);
  assert.equal(second.output[0].content[0].logprobs.map((entry) => entry.token).join(''), second.output_text);
  const items = [];
  for await (const item of client.responses.inputItems.list(second.id, {order: 'asc', limit: 2})) items.push(item);
  assert.deepEqual(items.map((item) => item.role), ['user', 'assistant', 'user']);
  await client.responses.delete(first.id);
  await assert.rejects(client.responses.retrieve(first.id), OpenAI.NotFoundError);
});

test('tools that are allowed', async () => {
  const other = {...weather, function: {...weather.function, name: 'get_time'}};
  const allowed = {mode: 'required', tools: [{type: 'function', function: {name: 'get_time'}}]};
  const answer = await chat({messages: [{role: 'user', content: 'What is the weather in Lyon?'}], tools: [weather, other],
                             tool_choice: {type: 'allowed_tools', allowed_tools: allowed}});
  assert.equal(answer.choices[0].message.tool_calls[0].function.name, 'get_time');
});

test('responses in the background', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wick-journal-'));
  const keeper = connect(await serve('--journal', folder));
  const headers = {'Idempotency-Key': 'one'};
  const request = {model, input: sum[0].content, temperature: 0, background: true};
  const first = await keeper.responses.create(request, {headers});
  assert.equal(first.status, 'queued');
  let now = first;
  while (now.status === 'queued' || now.status === 'in_progress') now = await keeper.responses.retrieve(first.id);
  assert.equal(now.status, 'completed');
  assert.equal(now.output[0].content[0].text, sumAnswer);
  assert.equal((await keeper.responses.create(request, {headers})).id, first.id);
  assert.equal((await keeper.responses.cancel(first.id)).status, 'completed');
  await keeper.responses.delete(first.id);
  await assert.rejects(keeper.responses.retrieve(first.id), OpenAI.NotFoundError);
  await assert.rejects(client.responses.create(request), /--journal/);
  rmSync(folder, {recursive: true});
});

test('models', async () => {
  const ids = [];
  for await (const entry of client.models.list()) ids.push(entry.id);
  assert.deepEqual(ids, [model, 'ember-asr']);
  assert.equal((await client.models.retrieve(model)).object, 'model');
});

test('errors', async () => {
  await assert.rejects(chat({model: 'other'}), OpenAI.NotFoundError);
  await assert.rejects(chat({temperature: 3}), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, 'temperature');
    assert.match(error.message, /temperature is 3, allowed is 0 to 2/);
    return true;
  });
});

test('keys', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wick-keys-'));
  writeFileSync(join(folder, 'keys'), 'me: secret\n');
  const url = await serve('--api-keys', join(folder, 'keys'));
  rmSync(folder, {recursive: true});
  await assert.rejects(connect(url).models.list(), OpenAI.AuthenticationError);
  assert.equal((await connect(url, 'secret').models.list()).data[0].id, model);
});

test('a full queue', async () => {
  const small = connect(await serve('--max-running', '1', '--max-waiting', '1'));
  const endless = (content) => small.chat.completions.create(
      {model, messages: [{role: 'user', content}], stream: true, ignore_eos: true, max_tokens: 3000});
  const streams = [await endless('Tell me a story.')];  // it runs: its head has come
  const waiting = endless('Tell me another story.').catch((error) => error);
  let refused = null;
  for (let i = 0; i < 20 && !refused; ++i) {  // until the other one stands in the queue
    const attempt = new AbortController();
    const answer = small.chat.completions.create(
        {model, messages: sum, stream: true}, {signal: attempt.signal}).catch((error) => error);
    const soon = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 200, null))]);
    if (soon instanceof OpenAI.RateLimitError) refused = soon;
    attempt.abort();
  }
  assert.ok(refused, 'nobody was turned away');
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  streams.forEach((stream) => stream.controller.abort());
  const second = await waiting;
  second.controller?.abort();
});
