// The tour in docs/interpretability.md. tests/docs/run_commands checks that the document shows this code and its
// output.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "engine/text/conversation.h"
#include "interp/attribution.h"
#include "interp/language_interp.h"
#include "interp/patching.h"
#include "interp/probes/logit_lens.h"
#include "interp/run_with_cache.h"
#include "interp/steering.h"

using namespace wick;

namespace {

const std::shared_ptr<const TextModel> ember = TextModel::ember();
const LanguageInterp model({ember, &ember->model()});  // any LanguageModel; here the one inside Ember

// A question as a chat puts it, with the beginning of the answer.
std::vector<int32_t> asked(const std::string& question, const std::string& answer = "") {
  Conversation conversation(ember, {.context = 64});
  conversation.add("user", question);
  std::vector<int32_t> tokens = conversation.prompt().tokens;
  for (const int token : ember->tokenizer().encode(answer)) tokens.push_back(token);
  return tokens;
}
// Rounded to a tenth, without a sign before zero.
double tenths(double x) { return std::round(10 * x) / 10 + 0.0; }
int32_t token_of(const std::string& word) { return ember->tokenizer().encode(word).front(); }

const std::vector<int32_t> france = asked("What is the capital of France?", "The capital of France is");
const std::vector<int32_t> spain = asked("What is the capital of Spain?", "The capital of Spain is");
const int32_t paris = token_of(" Paris"), madrid = token_of(" Madrid");

void captures() {
  CaptureOptions options;
  options.points = {"blocks.*.hook_resid_post", "blocks.7.attn.hook_pattern"};
  options.positions = {8, -1};             // " France" and the last token
  options.most_bytes = int64_t{64} << 20;  // beyond this, options.spill names a file
  const CachedRun run = run_with_cache(model, france, options);
  const Tensor pattern = run.cache.at("blocks.7.attn.hook_pattern");  // [heads, 2, 20]
  const Tensor logits = run.logits.front();                           // [1, vocabulary]: of the last token
  std::printf("pattern %s, logits %s\n", to_string(pattern.shape()).c_str(), to_string(logits.shape()).c_str());
}

void lens() {
  LensOptions options;
  options.positions = {-1};
  options.follow = {paris};
  const LensMap map = logit_lens(model, france, options);
  for (size_t i = 0; i < map.points.size(); ++i) {
    const LensCell& cell = map.at(i, 0);  // also: cell.top, cell.entropy, cell.kl
    std::printf("%-24s Paris %.1f\n", map.points[i].c_str(), cell.follow[0].probability);
  }
}

void attribution() {
  AttributionOptions options;
  options.by_head = true;
  Attribution parts = attribute_logit(model, france, {paris, madrid}, options);
  std::sort(parts.parts.begin(), parts.parts.end(),
            [](const Contribution& a, const Contribution& b) { return std::abs(a.value) > std::abs(b.value); });
  std::printf("Paris is %.1f above Madrid; of that", parts.logit);
  for (const Contribution& part : std::span(parts.parts).first(3)) {
    std::printf(" %s: %.1f", to_string(part).c_str(), part.value);
  }
  std::printf("\n");
}

void patching() {
  const Metric metric = Metric::logit_difference(paris, madrid);
  const SweepMap map = patch_sweep(model, france, spain, HookPoint::kResidPre, {}, metric);
  for (const size_t position : {8, 18, 19}) {
    std::printf("%-8s", ember->tokenizer().decode(std::span(&france[position], 1)).c_str());
    for (size_t layer = 0; layer < map.layers.size(); ++layer)
      std::printf(" %.1f", tenths(map.restored(layer, position)));
    std::printf("\n");
  }
}

void heads() {
  SweepCells cells;
  cells.by_head = true;
  cells.by_position = false;
  const SweepMap map =
      patch_sweep(model, france, spain, HookPoint::kAttnZ, cells, Metric::logit_difference(paris, madrid));
  std::printf("heads of layer 7:");
  for (size_t head = 0; head < 4; ++head) std::printf(" %.1f", tenths(map.restored(7, 0, head)));
  std::printf("\n");
}

void steering() {
  const std::vector<std::vector<int32_t>> unknown = {asked("Who wrote Hamlet?"), asked("Who painted the Mona Lisa?"),
                                                     asked("When did the war end?"), asked("How tall is the tower?")};
  const std::vector<std::vector<int32_t>> known = {
      asked("What is the capital of Spain?"), asked("What is the capital of Japan?"),
      asked("What is the capital of Peru?"), asked("What is the capital of Italy?")};
  const SteeringVector vector = steering_vector(model, unknown, known, "blocks.2.hook_resid_post");
  GenerateParams params;
  params.sampling.temperature = 0;
  params.max_new_tokens = 4;
  vector.apply(params.hooks, 1.5);  // in prefill and in decode
  std::printf("%s\n", Generator(ember).generate(asked("What is the capital of France?"), params).text.c_str());
}

}  // namespace

int main() {
  captures();
  lens();
  patching();
  heads();
  attribution();
  steering();
}
