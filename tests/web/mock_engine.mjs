// An engine that only pretends: requests come, are read in chunks, write, share a beginning, and leave cached blocks.

const blockTokens = 16;
const maxRunning = 7;

export class MockEngine {
  constructor(total = 1100) {
    this.interval = 120;
    this.total = total;
    this.uses = new Uint8Array(total);
    this.cached = new Uint8Array(total);
    this.sequences = [];
    this.nextRequest = 1;
    this.seed = 5;
    this.fixed = null; // a snapshot to send instead
    this.counters = {
      prompt_tokens: 0,
      reused_tokens: 0,
      generated_tokens: 0,
      prefix_hits: 0,
      prefix_evictions: 0,
      preemptions: 0,
      steps: 0,
    };
    this.common = this.take(10); // a system message that many requests begin with
    for (const block of this.common) this.cached[block] = 1;
    for (let step = 0; step < 120; ++step) this.step();
  }

  random() {
    return (this.seed = (Math.imul(this.seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  }

  next() {
    if (this.fixed) return this.fixed;
    this.step();
    return this.snapshot();
  }

  free(block) {
    return this.uses[block] === 0 && !this.cached[block];
  }

  take(count) {
    const taken = [];
    for (const reuseCached of [false, true]) {
      for (let block = 0; block < this.total && taken.length < count; ++block) {
        if (this.uses[block] || (this.cached[block] && !reuseCached)) continue;
        if (this.cached[block]) ++this.counters.prefix_evictions;
        this.cached[block] = 0;
        this.uses[block] = 1;
        taken.push(block);
      }
    }
    return taken;
  }

  step() {
    if (this.random() < 0.16 && this.sequences.length < 11) this.arrive();
    let budget = 256;
    this.batch = {prefill: 0, decode: 0, seconds: 0.02 + 0.02 * this.random()};
    const running = this.sequences.slice(0, maxRunning);
    for (const sequence of running) {
      if (sequence.phase === 'waiting') this.admit(sequence);
      if (sequence.phase === 'decode') this.write(sequence);
    }
    budget -= this.batch.decode;
    for (const sequence of running) if (sequence.phase === 'prefill') budget = this.read(sequence, budget);
    for (const sequence of this.sequences) sequence.age += 0.12;
    this.sequences = this.sequences.filter((sequence) => sequence.generated < sequence.goal || this.leave(sequence));
    ++this.counters.steps;
  }

  arrive() {
    this.sequences.push({
      request: this.nextRequest++,
      choice: 0,
      phase: 'waiting',
      generated: 0,
      age: 0,
      computed: 0,
      blocks: [],
      priority: this.random() < 0.15 ? 'high' : 'normal',
      prompt: 80 + Math.floor(1100 * this.random() ** 2),
      goal: 60 + Math.floor(300 * this.random()),
    });
  }

  admit(sequence) {
    sequence.phase = 'prefill';
    this.counters.prompt_tokens += sequence.prompt;
    if (sequence.prompt < 200) return;
    for (const block of this.common) ++this.uses[block];
    sequence.blocks = [...this.common];
    sequence.computed = this.common.length * blockTokens;
    this.counters.reused_tokens += sequence.computed;
    ++this.counters.prefix_hits;
  }

  grow(sequence) {
    const wanted = Math.ceil((sequence.computed + sequence.generated) / blockTokens) - sequence.blocks.length;
    if (wanted > 0) sequence.blocks.push(...this.take(wanted));
  }

  read(sequence, budget) {
    const tokens = Math.min(budget, 96, sequence.prompt - sequence.computed);
    sequence.computed += tokens;
    this.batch.prefill += tokens;
    if (sequence.computed === sequence.prompt) sequence.phase = 'decode';
    this.grow(sequence);
    return budget - tokens;
  }

  write(sequence) {
    const tokens = 1 + Math.floor(3 * this.random());
    sequence.generated += tokens;
    this.batch.decode += tokens;
    this.counters.generated_tokens += tokens;
    this.grow(sequence);
  }

  leave(sequence) {
    for (const block of sequence.blocks) {
      --this.uses[block];
      if (this.uses[block] === 0 && this.random() < 0.8) this.cached[block] = 1;
    }
    return false;
  }

  snapshot() {
    const runs = [];
    const tally = [0, 0, 0, 0];
    for (let block = 0; block < this.total; ++block) {
      const state = this.uses[block] > 1 ? 3 : this.uses[block] === 1 ? 2 : this.cached[block] ? 1 : 0;
      ++tally[state];
      if (runs.length && runs[runs.length - 1][0] === state) ++runs[runs.length - 1][1];
      else runs.push([state, 1]);
    }
    const waiting = this.sequences.filter(({phase}) => phase === 'waiting').length;
    return {
      model: 'ember',
      waiting,
      running: this.sequences.length - waiting,
      paused: 0,
      context: 2048,
      block_tokens: blockTokens,
      blocks: {total: this.total, free: tally[0], cached: tally[1], runs},
      pressure: (tally[2] + tally[3]) / this.total,
      budget: 256,
      batch: this.batch,
      sequences: this.sequences.map(({goal, ...sequence}) => sequence),
      counters: {...this.counters},
    };
  }
}
