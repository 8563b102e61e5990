// Hands the microphone's sound on as 16-bit samples, a tenth of a second at a time.
class Microphone extends AudioWorkletProcessor {
  constructor() {
    super();
    this.samples = new Int16Array(Math.round(sampleRate / 10));
    this.filled = 0;
  }

  process([[channel]]) {
    for (const value of channel ?? []) {
      this.samples[this.filled++] = Math.max(-1, Math.min(1, value)) * 32767;
      if (this.filled < this.samples.length) continue;
      this.port.postMessage(this.samples.slice().buffer);
      this.filled = 0;
    }
    return true;
  }
}

registerProcessor('microphone', Microphone);
