#include "server/api/microscope/inside_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/base64.h"
#include "base/json_write.h"
#include "base/text.h"
#include "interp/probes/vocab_row.h"
#include "server/api/generation/token_logprobs.h"

namespace wick {
namespace {

template <typename Value>
void append_list(std::string& out, std::span<const Value> values) {
  out += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i) out += ',';
    if (std::isfinite(static_cast<double>(values[i]))) {
      fmt::format_to(std::back_inserter(out), "{:.6g}", values[i]);
    } else {
      out += "null";
    }
  }
  out += ']';
}

void append_ints(std::string& out, std::span<const int64_t> values) {
  out += '[';
  for (size_t i = 0; i < values.size(); ++i) out += cat(i ? "," : "", values[i]);
  out += ']';
}

void append_texts(std::string& out, const std::vector<std::string>& texts) {
  out += '[';
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i) out += ',';
    append_json_text(out, texts[i]);
  }
  out += ']';
}

std::span<const float> numbers(const Tensor& tensor) {
  return {tensor.data<float>(), static_cast<size_t>(tensor.numel())};
}

}  // namespace

void append_numbers(std::string& out, std::span<const float> values) { append_list(out, values); }
void append_numbers(std::string& out, std::span<const double> values) { append_list(out, values); }

std::string token_json(int32_t token, const Tokenizer& tokenizer) {
  std::string out = cat(R"({"id":)", token, R"(,"text":)");
  append_json_text(out, shown_token(token, tokenizer));
  return out += '}';
}

std::string text_json(std::span<const int32_t> tokens, const Tokenizer& tokenizer) {
  std::string out = R"("tokens":)";
  append_ints(out, std::vector<int64_t>(tokens.begin(), tokens.end()));
  std::vector<std::string> pieces;
  for (const int32_t token : tokens) pieces.push_back(shown_token(token, tokenizer));
  out += R"(,"pieces":)";
  append_texts(out, pieces);
  return out;
}

std::string lens_json(const LensMap& map, std::span<const int32_t> tokens, const LensOptions& options,
                      const Tokenizer& tokenizer) {
  std::vector<int64_t> ids;
  std::vector<double> probabilities, entropies, kls, followed;
  std::vector<int64_t> ranks;
  std::set<int32_t> seen;
  for (const LensCell& cell : map.cells) {
    for (const LensToken& token : cell.top) {
      ids.push_back(token.token);
      probabilities.push_back(token.probability);
      seen.insert(token.token);
    }
    for (const LensToken& token : cell.follow) {
      followed.push_back(token.probability);
      ranks.push_back(token.rank);
    }
    entropies.push_back(cell.entropy);
    kls.push_back(cell.kl);
  }
  std::string out = cat("{", text_json(tokens, tokenizer), R"(,"points":)");
  append_texts(out, map.points);
  out += R"(,"positions":)";
  append_ints(out, map.positions);
  out += cat(R"(,"top":)", map.cells.empty() ? 0 : map.cells.front().top.size(), R"(,"ids":)");
  append_ints(out, ids);
  out += R"(,"probabilities":)";
  append_numbers(out, probabilities);
  out += R"(,"entropy":)";
  append_numbers(out, entropies);
  out += R"(,"kl":)";
  append_numbers(out, kls);
  if (!options.follow.empty()) {
    out += R"(,"follow":{"ids":)";
    append_ints(out, std::vector<int64_t>(options.follow.begin(), options.follow.end()));
    out += R"(,"probabilities":)";
    append_numbers(out, followed);
    out += R"(,"ranks":)";
    append_ints(out, ranks);
    out += '}';
  }
  out += R"(,"texts":{)";
  for (const int32_t token : seen) {
    if (out.back() != '{') out += ',';
    out += cat("\"", token, "\":");
    append_json_text(out, shown_token(token, tokenizer));
  }
  return out += "}}\n";
}

std::string attention_json(const Tensor& patterns, int layer, std::span<const int> heads,
                           std::span<const int32_t> tokens, const Tokenizer& tokenizer) {
  const int64_t rows = patterns.dim(1), context = patterns.dim(2);
  std::string bytes;
  bytes.reserve(heads.size() * static_cast<size_t>(rows * (rows + 1) / 2));
  for (const int head : heads) {
    for (int64_t row = 0; row < rows; ++row) {
      const float* values = patterns.data<float>() + (head * rows + row) * context;
      for (int64_t key = 0; key <= std::min(row, context - 1); ++key) {
        bytes += static_cast<char>(std::lround(255 * std::clamp(values[key], 0.f, 1.f)));
      }
    }
  }
  std::string out = cat("{", text_json(tokens, tokenizer), R"(,"layer":)", layer, R"(,"heads":)");
  append_ints(out, std::vector<int64_t>(heads.begin(), heads.end()));
  return out += cat(R"(,"patterns":")", encode_base64(bytes), "\"}\n");
}

std::string norms_json(const Tensor& norms, std::span<const int32_t> tokens, const Tokenizer& tokenizer) {
  std::string out = cat("{", text_json(tokens, tokenizer), R"(,"layers":)", norms.dim(0) - 1, R"(,"norms":)");
  append_numbers(out, numbers(norms));
  return out += "}\n";
}

std::string heads_json(const HeadScores& scores, std::span<const int32_t> tokens, const Tokenizer& tokenizer) {
  std::string out = cat("{", text_json(tokens, tokenizer), R"(,"layers":)", scores.previous.dim(0), R"(,"heads":)",
                        scores.previous.dim(1), R"(,"previous":)");
  append_numbers(out, numbers(scores.previous));
  out += R"(,"duplicate":)";
  append_numbers(out, numbers(scores.duplicate));
  out += R"(,"induction":)";
  append_numbers(out, numbers(scores.induction));
  return out += "}\n";
}

std::vector<std::string> labels_of(const LinearProbe& probe) {
  if (!probe.labels.empty()) return probe.labels;
  std::vector<std::string> labels;
  for (int64_t i = 0; i < probe.classes(); ++i) labels.push_back(cat("class ", i));
  return labels;
}

std::string probe_json(const LinearProbe& probe, const Tensor& probabilities, std::span<const int32_t> tokens,
                       const Tokenizer& tokenizer) {
  std::string out = cat("{", text_json(tokens, tokenizer), R"(,"point":)");
  append_json_text(out, probe.point);
  out += R"(,"labels":)";
  append_texts(out, labels_of(probe));
  out += R"(,"probabilities":)";
  append_numbers(out, numbers(probabilities));
  return out += "}\n";
}

std::string features_json(const SparseAutoencoder& sae, const FeatureRows& rows, std::span<const int64_t> follow,
                          std::span<const int32_t> tokens, const Tokenizer& tokenizer) {
  std::string out = cat("{", text_json(tokens, tokenizer), R"(,"point":)");
  append_json_text(out, sae.hook_name());
  out += cat(R"(,"features":)", sae.features(), R"(,"strongest":[)");
  for (const std::vector<SaeFeature>& row : rows.strongest) {
    std::vector<int64_t> ids;
    std::vector<float> values;
    for (const SaeFeature& feature : row) {
      ids.push_back(feature.feature);
      values.push_back(feature.value);
    }
    if (out.back() != '[') out += ',';
    out += R"({"ids":)";
    append_ints(out, ids);
    out += R"(,"values":)";
    append_numbers(out, values);
    out += '}';
  }
  out += ']';
  if (!follow.empty()) {
    out += R"(,"follow":{"ids":)";
    append_ints(out, follow);
    out += R"(,"values":)";
    append_numbers(out, rows.followed);
    out += '}';
  }
  return out += "}\n";
}

std::string next_tokens_json(std::span<const float> logits, int64_t top, const Tokenizer& tokenizer) {
  const VocabRow row(logits);
  std::string out = "[";
  for (const int32_t token : row.best(top)) {
    if (out.size() > 1) out += ',';
    out += cat(R"({"id":)", token, R"(,"text":)");
    append_json_text(out, shown_token(token, tokenizer));
    out += fmt::format(R"(,"probability":{:.6g}}})", row.probability(token));
  }
  return out += ']';
}

}  // namespace wick
