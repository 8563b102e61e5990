// A model that can be looked into, made up: numbers that depend on the text alone, in the shapes of docs/server.md.
const words = [' the', ' of', ' Paris', ' Madrid', ' a', ' capital', '.', ' France', '<b>x</b>', '\n'];

// From 0 to 1, always the same for the same numbers.
function noise(...numbers) {
  let hash = 17;
  for (const number of numbers) hash = (Math.imul(hash ^ (number + 0x9e37), 0x85ebca6b) >>> 0) ^ (hash >>> 13);
  return ((hash >>> 0) % 10007) / 10007;
}

export class MockInside {
  constructor({layers = 4, heads = 3, isOpen = true, isChat = false, steering = [], probes = [], autoencoders = []} = {}) {
    Object.assign(this, {layers, heads, isOpen, isChat, steering, probes, autoencoders, requests: [], open: 0, pace: 1});
  }

  about(model) {
    if (!this.isOpen) return {inspect: false, message: 'Start the server with --inspect to look into its models.'};
    return {
      inspect: true,
      steering: this.steering,
      probes: this.probes,
      autoencoders: this.autoencoders,
      limits: {tokens: 512, cells: 20000},
      model: {
        id: model,
        layers: this.layers,
        heads: this.heads,
        chat: this.isChat,
        attention_layers: [...Array(this.layers).keys()],
      },
    };
  }

  textOf({prompt, messages, tokens: given}) {
    if (given) return {tokens: given, pieces: given.map((id) => `t${id}`)};
    const text = prompt ?? messages[0].content;
    const pieces = text.match(/\s?[^\s]+|\s/g) ?? [];
    return {tokens: pieces.map((piece) => piece.length), pieces};
  }

  lens(body) {
    const {tokens, pieces} = this.textOf(body);
    const points = [...Array(this.layers).keys()].map((layer) => `blocks.${layer}.hook_resid_pre`);
    points.push(`blocks.${this.layers - 1}.hook_resid_post`);
    const top = 3;
    const ids = [];
    const probabilities = [];
    const entropy = [];
    const kl = [];
    points.forEach((_, layer) =>
      tokens.forEach((token, position) => {
        const shift = body.edits?.length ?? 0; // every edit turns each cell by one word
        const first = shift + Math.floor(noise(layer > this.layers / 2 ? 99 : layer, position) * words.length);
        const sure = 0.15 + (0.8 * layer * noise(position, 5)) / this.layers;
        for (let at = 0; at < top; ++at) {
          ids.push((first + at) % words.length);
          probabilities.push(sure / (at + 1) ** 2);
        }
        entropy.push(6 * (1 - sure));
        kl.push((4 * (this.layers - layer)) / this.layers);
      }),
    );
    const texts = Object.fromEntries(words.map((word, id) => [id, word]));
    const lens = {tokens, pieces, points, positions: tokens.map((_, at) => at), top, ids, probabilities, entropy, kl, texts};
    if (!body.follow) return lens;
    for (const id of body.follow) texts[id] ??= `w${id}`;
    const cells = points.length * tokens.length;
    const each = (value) => Array.from({length: cells}, (_, cell) => body.follow.map((id) => value(cell, id))).flat();
    lens.follow = {
      ids: body.follow,
      probabilities: each((cell, id) => noise(cell, id)),
      ranks: each((cell) => cell),
    };
    return lens;
  }

  // Head 0 looks at the token before, head 1 at the first token, the others about.
  attention(body) {
    const {tokens, pieces} = this.textOf(body);
    const count = tokens.length;
    const bytes = Buffer.alloc((this.heads * count * (count + 1)) / 2);
    let at = 0;
    for (let head = 0; head < this.heads; ++head) {
      for (let query = 0; query < count; ++query) {
        const goal = head === 0 ? query - 1 : head === 1 ? 0 : Math.floor(noise(head, query, body.layer) * query);
        for (let key = 0; key <= query; ++key) {
          const share = key === Math.max(0, goal) ? 0.8 : 0.2 / Math.max(1, query);
          bytes[at++] = Math.round(255 * share);
        }
      }
    }
    const heads = [...Array(this.heads).keys()];
    return {tokens, pieces, layer: body.layer, heads, patterns: bytes.toString('base64')};
  }

  norms(body) {
    const {tokens, pieces} = this.textOf(body);
    const norms = [];
    for (let layer = 0; layer <= this.layers; ++layer) {
      const most = body.edits?.length ? 20 : 40;
      tokens.forEach((_, at) => norms.push((at === 0 ? most : 3) * (layer + 1) * (1 + noise(layer, at))));
    }
    return {tokens, pieces, layers: this.layers, norms};
  }

  headScores(body) {
    const {tokens, pieces} = this.textOf(body);
    const scores = (seed) => [...Array(this.layers * this.heads).keys()].map((at) => noise(at, seed) ** 3);
    return {
      tokens,
      pieces,
      layers: this.layers,
      heads: this.heads,
      previous: scores(1),
      duplicate: scores(2),
      induction: scores(3),
    };
  }

  // Every edit turns the answer by one word.
  run(body) {
    const {tokens, pieces} = this.textOf(body);
    const outcome = (shift) => ({
      text: `${words[(2 + shift) % words.length]}${shift ? '' : ' of course'}`,
      next: [0, 1, 2, 3].map((at) => ({
        id: (2 + shift + at) % words.length,
        text: words[(2 + shift + at) % words.length],
        probability: 0.6 / (at + 1) ** 2,
      })),
    });
    const shift = body.edits?.length ?? 0;
    return {tokens, pieces, plain: outcome(0), edited: outcome(shift), kl: 0.7 * shift};
  }

  probe(body) {
    const {tokens, pieces} = this.textOf(body);
    const {point, labels} = this.probes.find(({name}) => name === body.probe);
    const probabilities = tokens.flatMap((_, at) => [0.25 + at / 4, 0.75 - at / 4, ...labels.slice(2).map(() => 0)]);
    return {tokens, pieces, point, labels, probabilities};
  }

  // Token n has feature 100 + n, and all but the first have feature 7; an edit of features takes 7 away.
  features(body) {
    const {tokens, pieces} = this.textOf(body);
    const {point, features} = this.autoencoders.find(({name}) => name === body.autoencoder);
    const strongest = tokens.map((_, at) =>
      at && !body.features ? {ids: [7, 100 + at], values: [4 + at, 1.5]} : {ids: [100 + at], values: [1.5]},
    );
    return {tokens, pieces, point, features, strongest};
  }

  async patch(body, response) {
    const clean = this.textOf(body.clean);
    const corrupted = this.textOf(body.corrupted);
    if (clean.tokens.length !== corrupted.tokens.length) {
      return `the clean text has ${clean.tokens.length} tokens and the corrupted one ${corrupted.tokens.length}`;
    }
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    ++this.open;
    response.on('close', () => --this.open);
    const send = (event) => response.write(`data: ${JSON.stringify(event)}\n\n`);
    const layers = [...Array(this.layers).keys()];
    const isByHead = body.by === 'head';
    send({
      type: 'begin',
      point: body.point,
      by: body.by,
      layers,
      positions: isByHead ? [] : clean.tokens.map((_, at) => at),
      heads: isByHead ? [...Array(this.heads).keys()] : [],
      metric: {kind: 'logit_difference', position: -1, token: {id: 2, text: ' Paris'}, other: {id: 3, text: ' Madrid'}},
      clean: {...clean, value: 4},
      corrupted: {...corrupted, value: -2},
    });
    for (const layer of layers) {
      await new Promise((resolve) => setTimeout(resolve, this.pace));
      if (response.destroyed) return null;
      const columns = isByHead ? this.heads : clean.tokens.length;
      const values = [...Array(columns).keys()].map((at) => -2 + 6 * noise(layer, at) ** 2 - 0.5 * noise(at));
      send({type: 'layer', layer, values});
    }
    send({type: 'done'});
    response.end('data: [DONE]\n\n');
    return null;
  }

  async streamLens(body, response) {
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    const send = (event) => response.write(`data: ${JSON.stringify(event)}\n\n`);
    for (let done = 0; done < this.layers; ++done) {
      send({type: 'progress', done, total: this.layers});
      await new Promise((resolve) => setTimeout(resolve, this.pace));
    }
    send({type: 'lens', ...this.lens(body)});
    response.end('data: [DONE]\n\n');
  }

  // The answer to a path, or undefined.
  async answer(pathname, body, response) {
    this.requests.push({pathname, body});
    if (pathname === '/v1/wick/patch') {
      const problem = await this.patch(body, response);
      return problem && {error: problem};
    }
    if (body.stream) {
      await this.streamLens(body, response);
      return null;
    }
    const answers = {
      lens: 'lens',
      attention: 'attention',
      norms: 'norms',
      heads: 'headScores',
      run: 'run',
      probe: 'probe',
      features: 'features',
    };
    const method = answers[pathname.split('/').pop()];
    return {json: this[method](body)};
  }
}
