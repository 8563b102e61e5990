// Rates from counters: the difference over the last seconds.
const windowSeconds = 3;

export class Rates {
  constructor() {
    this.samples = [];
  }

  // counters: {prompt_tokens, generated_tokens, …}; now in seconds.
  add(counters, now) {
    const last = this.samples[this.samples.length - 1];
    if (last && counters.steps < last.counters.steps) this.samples = []; // the engine began anew
    this.samples.push({counters, now});
    while (this.samples.length > 2 && now - this.samples[1].now >= windowSeconds) this.samples.shift();
  }

  perSecond(name) {
    const first = this.samples[0];
    const last = this.samples[this.samples.length - 1];
    if (!first || last.now <= first.now) return 0;
    return (last.counters[name] - first.counters[name]) / (last.now - first.now);
  }
}
