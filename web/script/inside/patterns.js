// Attention patterns as the server packs them: of each head, of each row, a byte for each key that it can see.
export class Patterns {
  constructor({heads, tokens, patterns}) {
    this.heads = heads;
    this.tokens = tokens.length;
    const text = atob(patterns);
    this.bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) this.bytes[i] = text.charCodeAt(i);
    this.perHead = (this.tokens * (this.tokens + 1)) / 2;
  }

  // index: of `heads`. From 0 to 1; 0 where nothing can be seen.
  at(index, query, key) {
    return key > query ? 0 : this.bytes[index * this.perHead + (query * (query + 1)) / 2 + key] / 255;
  }

  // [tokens, tokens] from 0 to 1; not a number where nothing can be seen.
  matrix(index) {
    const values = new Float32Array(this.tokens * this.tokens).fill(NaN);
    let at = index * this.perHead;
    for (let query = 0; query < this.tokens; ++query) {
      for (let key = 0; key <= query; ++key) values[query * this.tokens + key] = this.bytes[at++] / 255;
    }
    return values;
  }

  // The strongest edges of a head: at most `perQuery` of each query, none below `least`.
  edges(index, perQuery = 4, least = 0.06) {
    const edges = [];
    for (let query = 0; query < this.tokens; ++query) {
      const row = [];
      for (let key = 0; key <= query; ++key) {
        const weight = this.at(index, query, key);
        if (weight >= least) row.push({query, key, weight});
      }
      row.sort((one, other) => other.weight - one.weight);
      edges.push(...row.slice(0, perQuery));
    }
    return edges;
  }
}
