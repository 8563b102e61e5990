// Stands in for `wick serve`: the files of web/ under the server's own policy, and the API with scripted answers.
import {createServer} from 'node:http';
import {readFileSync} from 'node:fs';
import {extname, join, normalize} from 'node:path';
import {fileURLToPath} from 'node:url';
import {answerFor} from './mock_answers.mjs';
import {MockEngine} from './mock_engine.mjs';
import {MockInside} from './mock_inside.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const example = join(root, 'models/ember-asr/samples/06.wav');
const types = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.wav': 'audio/wav',
};

// The constant of the server, so that the page is tested under the policy it will have.
function readPolicy() {
  const header = readFileSync(join(root, 'src/server/web_page.h'), 'utf8');
  const [, literals] = /kContentSecurityPolicy\s*=\s*([^;]*(?:"[^"]*"\s*)+);/.exec(header);
  return [...literals.matchAll(/"([^"]*)"/g)].map(([, text]) => text).join('');
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class MockServer {
  // key: what requests must carry; empty: nothing. pace: milliseconds per token.
  // files: the folder of the page, as it is written or as it is joined.
  static async start({key = '', pace = 4, port = 0, inside = {}, files = join(root, 'web')} = {}) {
    const mock = new MockServer();
    Object.assign(mock, {
      key,
      pace,
      files,
      policy: readPolicy(),
      engine: new MockEngine(),
      inside: new MockInside(inside),
      requests: [],
      open: 0,
      watching: 0,
    });
    mock.models = [
      {
        id: 'ember',
        object: 'model',
        created: 1763200000,
        owned_by: 'wick',
        status: 'ready',
        progress: 1,
        context: 2048,
      },
      {id: 'ember-asr', object: 'model', created: 0, owned_by: 'wick', status: 'unloaded', task: 'transcription'},
    ];
    mock.server = createServer((request, response) => mock.route(request, response).catch(() => response.destroy()));
    await new Promise((resolve) => mock.server.listen(port, '127.0.0.1', resolve));
    mock.url = `http://127.0.0.1:${mock.server.address().port}`;
    return mock;
  }

  close() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  async route(request, response) {
    const {pathname, searchParams} = new URL(request.url, this.url);
    if (!pathname.startsWith('/v1/') && pathname !== '/tokenize') return this.sendFile(pathname, response);
    if (this.key && request.headers.authorization !== `Bearer ${this.key}`) {
      const message = request.headers.authorization
        ? 'The API key is not known'
        : 'This server needs an API key in the Authorization header';
      return this.sendError(response, 401, message);
    }
    if (this.isStuck) return;
    if (pathname === '/v1/models') return this.sendJson(response, 200, {object: 'list', data: this.models});
    if (pathname === '/v1/engine') return this.sendEngine(response);
    if (pathname === '/v1/wick') return this.sendJson(response, 200, this.inside.about(searchParams.get('model')));
    if (pathname.startsWith('/v1/wick/')) return this.lookInside(pathname, request, response);
    if (pathname === '/tokenize') return this.tokenize(request, response);
    if (pathname === '/v1/audio/transcriptions') return this.transcribe(request, response);
    if (pathname === '/v1/chat/completions' && request.method === 'POST') return this.chat(request, response);
    return this.sendError(response, 404, `There is no ${pathname}`);
  }

  sendFile(pathname, response) {
    const path = normalize(pathname === '/' ? '/index.html' : pathname);
    let body;
    try {
      body = readFileSync(path === '/example.wav' ? example : join(this.files, path));
    } catch {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {'Content-Type': types[extname(path)], 'Content-Security-Policy': this.policy}).end(body);
  }

  sendJson(response, status, value) {
    response.writeHead(status, {'Content-Type': 'application/json'}).end(JSON.stringify(value));
  }

  sendError(response, status, message) {
    this.sendJson(response, status, {error: {message, type: 'invalid_request_error', param: null, code: null}});
  }

  async chat(request, response) {
    let text = '';
    for await (const part of request) text += part;
    const body = JSON.parse(text);
    this.requests.push(body);
    const question = body.messages[body.messages.length - 1].content;
    const answer = answerFor(question, this.requests.length);
    if (answer.status) {
      if (typeof answer.body === 'string')
        response.writeHead(answer.status, {'Content-Type': 'text/html'}).end(answer.body);
      else this.sendError(response, answer.status, answer.body.message);
      return;
    }
    ++this.open;
    response.on('close', () => --this.open);
    await this.stream(response, body, answer);
  }

  async stream(response, {model, messages, stream_options: options}, {parts, usage, error, finish = 'stop'}) {
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    const send = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
    const head = {id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1763200000, model: model || 'ember'};
    const chunk = (delta, rest = {}) =>
      send({...head, choices: [{index: 0, delta, finish_reason: null, logprobs: null, ...rest}]});
    chunk({role: 'assistant', content: ''});
    let tokens = 0;
    for (const {delta, logprobs} of parts) {
      if (response.destroyed) return;
      chunk(delta, {logprobs: logprobs ? {content: logprobs} : null});
      if (++tokens % 2 === 0 && this.pace) await pause(2 * this.pace);
    }
    if (error) {
      send({error: {message: error}});
      response.end();
      return;
    }
    chunk({}, {finish_reason: finish});
    const prompt = messages.reduce((sum, {content}) => sum + Math.ceil((content ?? '').length / 3), 8);
    if (options?.include_usage) {
      send({
        ...head,
        choices: [],
        usage: {
          prompt_tokens: prompt,
          completion_tokens: tokens,
          total_tokens: prompt + tokens,
          prompt_tokens_details: {cached_tokens: messages.length > 2 ? 16 * Math.floor(prompt / 20) : 0},
          ...usage,
        },
        timings: {cache_n: 0, prompt_n: prompt, prompt_per_second: 1234, predicted_n: tokens, predicted_per_second: 56.7},
      });
    }
    response.end('data: [DONE]\n\n');
  }

  async lookInside(pathname, request, response) {
    let text = '';
    for await (const part of request) text += part;
    const answer = await this.inside.answer(pathname, JSON.parse(text), response);
    if (answer?.error) this.sendError(response, 400, answer.error);
    else if (answer) this.sendJson(response, 200, answer.json);
  }

  // A token is a word; its id the length. A question stands between two more.
  async tokenize(request, response) {
    let text = '';
    for await (const part of request) text += part;
    const {content, messages} = JSON.parse(text);
    const {tokens} = this.inside.textOf({prompt: content ?? messages[0].content});
    this.sendJson(response, 200, {tokens: content === undefined ? [1000, ...tokens, 1001] : tokens});
  }

  // "silence" and "broken" in the form stand for such recordings.
  async transcribe(request, response) {
    let form = '';
    for await (const part of request) form += part;
    this.requests.push(form);
    if (form.includes('broken')) return this.sendError(response, 400, 'talk.wav: this is no sound');
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    const send = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
    const texts = form.includes('silence') ? [] : ['Hello there.', 'This is <b>not</b> markup.'];
    for (const [id, text] of texts.entries()) {
      for (const word of text.split(' ')) {
        send({type: 'transcript.text.delta', delta: `${word} `});
        await pause(2 * this.pace);
      }
      send({type: 'transcript.text.segment', id, start: 62.5 * id, end: 62.5 * id + 1.25, text});
    }
    send({type: 'transcript.text.done', text: texts.join(' '), usage: {type: 'duration', seconds: 64}});
    response.end();
  }

  async sendEngine(response) {
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    ++this.watching;
    response.on('close', () => --this.watching);
    while (!response.destroyed) {
      response.write(`data: ${JSON.stringify(this.engine.next())}\n\n`);
      await pause(this.engine.interval);
    }
  }
}

// node tests/web/mock_server.mjs [port]: to look at the page by hand.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mock = await MockServer.start({port: Number(process.argv[2] ?? 8080), pace: 20});
  console.log(`the page with a mock behind it: ${mock.url}`);
}
