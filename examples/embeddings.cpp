// Embeddings of sentences: a hook catches what leaves a layer while the model reads, and the rows are averaged. The
// nearer two sentences are to the model, the nearer the cosine of their embeddings is to 1.
#include <wick/tensor.h>
#include <wick/text.h>

#include <cstdio>

using wick::Tensor;

Tensor embed(wick::TextGenerator& generator, const char* sentence) {
  const char* layer = "blocks.5.hook_resid_post";
  wick::HookCache seen;
  wick::TextOptions options;
  options.hooks.capture(layer);
  options.capture = &seen;
  options.max_tokens = 0;  // read the prompt, write nothing
  generator.generate(sentence, options);
  return mean(seen.at(layer), {0});  // [tokens, hidden] -> [hidden]
}

int main() {
  wick::TextGenerator generator(wick::Model::ember());
  const char* sentences[] = {"The dog sleeps in the garden.", "The cat sleeps in the garden.", "What is 12 plus 30?"};
  for (const char* one : sentences) {
    for (const char* other : sentences) {
      const Tensor a = embed(generator, one), b = embed(generator, other);
      std::printf("%6.3f", (sum(a * b) / sqrt(sum(a * a) * sum(b * b))).item());
    }
    std::printf("  %s\n", one);
  }
}
