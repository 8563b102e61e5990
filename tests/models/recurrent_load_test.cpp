// Recurrent models from GGUF, under other settings, and from files that do not fit.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "support/compare.h"
#include "support/errors.h"
#include "support/hybrid_models.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

const std::vector<int32_t> kTokens = {3, 17, 0, 39, 8, 8, 21, 30, 5, 11, 2};

std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string fixture_config(const std::string& family) { return read_text(family_folder(family) / "config.json"); }

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) throw std::out_of_range(std::string(from));
  return text.replace(at, from.size(), to);
}

Tensor logits_of(const std::filesystem::path& path, const std::vector<int32_t>& tokens = kTokens) {
  const TestModel model(path);
  return TestSequence(model).run(model, tokens);
}

constexpr std::string_view kMamba2Groups = R"({"model_type": "mamba2", "hidden_size": 24, "num_hidden_layers": 1,
    "state_size": 5, "conv_kernel": 3, "expand": 2, "num_heads": 6, "head_dim": 8, "n_groups": 2, "vocab_size": 40,
    "use_bias": true, "tie_word_embeddings": true, "time_step_limit": [0.4, 0.9]})";

// The same in plain double arithmetic, straight from the formulas.
class PlainMamba2 {
 public:
  explicit PlainMamba2(const std::filesystem::path& folder) : checkpoint_(Checkpoint::open(folder)) {}

  std::vector<double> logits(const std::vector<int32_t>& tokens) {
    const auto embed = at("backbone.embeddings.weight");
    const std::string layer = "backbone.layers.0.", mixer = layer + "mixer.";
    const auto conv = at(mixer + "conv1d.weight"), conv_bias = at(mixer + "conv1d.bias"), a_log = at(mixer + "A_log");
    const auto d = at(mixer + "D"), dt_bias = at(mixer + "dt_bias");
    std::vector<double> state(6 * 8 * 5), result;
    std::vector<std::vector<double>> past(2, std::vector<double>(68));
    for (const int32_t token : tokens) {
      const std::vector<double> x(embed.begin() + token * 24, embed.begin() + (token + 1) * 24);
      const auto parts = linear(norm(x, layer + "norm.weight", 1), mixer + "in_proj", true);
      past.emplace_back(parts.begin() + 48, parts.begin() + 48 + 68);
      std::vector<double> xbc(68), y(48);
      for (size_t c = 0; c < 68; ++c) {
        double sum = conv_bias[c];
        for (size_t i = 0; i < 3; ++i) sum += conv[c * 3 + i] * past[past.size() - 3 + i][c];
        xbc[c] = silu(sum);
      }
      for (size_t head = 0; head < 6; ++head) {
        const double dt = std::clamp(std::log1p(std::exp(parts[48 + 68 + head] + dt_bias[head])), 0.4, 0.9);
        for (size_t i = 0; i < 8; ++i) {
          const double input = xbc[head * 8 + i];
          double& out = y[head * 8 + i] = d[head] * input;
          for (size_t n = 0; n < 5; ++n) {
            double& h = state[(head * 8 + i) * 5 + n];
            const size_t group = head / 3 * 5;
            h = std::exp(-dt * std::exp(a_log[head])) * h + dt * xbc[48 + group + n] * input;
            out += xbc[58 + group + n] * h;
          }
          out *= silu(parts[head * 8 + i]);
        }
      }
      auto after = linear(norm(y, mixer + "norm.weight", 2), mixer + "out_proj", true);
      for (size_t i = 0; i < 24; ++i) after[i] += x[i];
      const auto row = linear(norm(after, "backbone.norm_f.weight", 1), "backbone.embeddings", false);
      result.insert(result.end(), row.begin(), row.end());
    }
    return result;
  }

 private:
  static double silu(double x) { return x / (1 + std::exp(-x)); }
  std::vector<double> at(const std::string& name) const { return checkpoint_.get(name).to_vector<double>(); }
  std::vector<double> linear(const std::vector<double>& x, const std::string& name, bool bias) const {
    const auto weight = at(name + ".weight");
    std::vector<double> y = bias ? at(name + ".bias") : std::vector<double>(weight.size() / x.size());
    for (size_t i = 0; i < weight.size(); ++i) y[i / x.size()] += weight[i] * x[i % x.size()];
    return y;
  }
  std::vector<double> norm(std::vector<double> x, const std::string& name, size_t groups) const {
    const auto weight = at(name);
    const size_t size = x.size() / groups;
    for (size_t group = 0; group < groups; ++group) {
      double squares = 0;
      for (size_t i = 0; i < size; ++i) squares += x[group * size + i] * x[group * size + i];
      const double scale = 1 / std::sqrt(squares / static_cast<double>(size) + 1e-5);
      for (size_t i = 0; i < size; ++i) x[group * size + i] *= scale * weight[group * size + i];
    }
    return x;
  }

  Checkpoint checkpoint_;
};

TEST(RecurrentLoad, Mamba2InGroups) {
  const TempFolder temp;
  write_random_checkpoint(temp.path(), std::string(kMamba2Groups));
  const std::vector<double> expected = PlainMamba2(temp.path()).logits(kTokens);
  const Tensor logits = logits_of(temp.path());
  EXPECT_LE(relative_error(logits, from_vector(expected, logits.shape())), 2e-6);
}

TEST(RecurrentLoad, GgufGivesTheSameLogits) {
  for (const std::string family : {"mamba", "mamba2"}) {
    SCOPED_TRACE(family);
    const TempFolder temp;
    const auto folder = family_folder(family);
    write_gguf(folder, temp.path() / "model.gguf");
    EXPECT_LE(relative_error(logits_of(temp.path() / "model.gguf"), logits_of(folder)), 1e-4);
  }
  const TempFolder temp;  // groups, but none of the settings that GGUF has no key for
  write_random_checkpoint(temp.path(), replaced(replaced(std::string(kMamba2Groups), "\"use_bias\": true, ", ""),
                                                ", \"time_step_limit\": [0.4, 0.9]", ""));
  write_gguf(temp.path(), temp.path() / "model.gguf");
  EXPECT_LE(relative_error(logits_of(temp.path() / "model.gguf"), logits_of(temp.path())), 1e-4);
}

TEST(RecurrentLoad, WeightsCanBeQuantisedAtLoad) {
  for (const std::string family : {"mamba", "mamba2", "rwkv"}) {
    SCOPED_TRACE(family);
    ModelOptions options;
    options.quantize = "q8_0";
    const TestModel model(family_folder(family), options);
    const TestModel plain(family_folder(family));
    EXPECT_LT(model.model->facts().weight_bytes, plain.model->facts().weight_bytes);
    const Tensor expected = TestSequence(plain).run(plain, kTokens);
    const double error = relative_error(TestSequence(model).run(model, kTokens), expected);
    EXPECT_LE(error, 0.02);
    EXPECT_GT(error, 1e-5);
  }
}

TEST(RecurrentLoad, SettingsUnderOtherSpellings) {
  const std::string spelled = R"({"model_type": "mamba", "d_model": 40, "n_layer": 2, "d_state": 3, "d_conv": 1,
      "expand": 1.5, "time_step_rank": "auto", "use_bias": true, "use_conv_bias": false, "vocab_size": 40,
      "tie_word_embeddings": false})";
  const std::string usual = R"({"model_type": "mamba", "hidden_size": 40, "num_hidden_layers": 2, "state_size": 3,
      "conv_kernel": 1, "intermediate_size": 60, "time_step_rank": 3, "use_bias": true, "use_conv_bias": false,
      "vocab_size": 40, "tie_word_embeddings": false, "layer_norm_epsilon": 1e-5})";
  const TempFolder a, b;
  write_random_checkpoint(a.path(), spelled);
  write_random_checkpoint(b.path(), usual);
  expect_identical(logits_of(a.path()), logits_of(b.path()), "the same model");
  const TestModel model(a.path());
  EXPECT_EQ(model.model->new_state().tensors[1].shape(), Shape({3, 60}));
}

TEST(RecurrentLoad, InfinityAsPythonWritesIt) {
  const TempFolder a, b;
  const std::string limit = "[0.4, 0.9]";
  write_random_checkpoint(a.path(), replaced(std::string(kMamba2Groups), limit, R"([0, {"__float__": "Infinity"}])"));
  write_random_checkpoint(b.path(), replaced(std::string(kMamba2Groups), limit, "[0, 1e30]"));
  const Tensor expected = logits_of(b.path());
  expect_identical(logits_of(a.path()), expected, "as an object");
  std::ofstream(a.path() / "config.json")
      << replaced(std::string(kMamba2Groups), limit, R"([0, Infinity], "note \" Infinity": "NaN")");
  expect_identical(logits_of(a.path()), expected, "as a word");
}

TEST(RecurrentLoad, RwkvWithAnInnerSizeOfItsOwn) {
  const std::string config = R"({"model_type": "rwkv", "hidden_size": 40, "num_hidden_layers": 2, "vocab_size": 40,
      "attention_hidden_size": 72, "intermediate_size": null, "rescale_every": 1, "tie_word_embeddings": true})";
  const TempFolder temp;
  write_random_checkpoint(temp.path(), config);
  const TestModel model(temp.path());
  const Tensor whole = TestSequence(model).run(model, kTokens);
  TestSequence sequence(model);
  for (size_t i = 0; i < kTokens.size(); ++i) {
    const Tensor row = whole.with_layout(whole.layout().narrow(0, static_cast<int64_t>(i), 1)).contiguous();
    expect_identical(sequence.run(model, std::span(kTokens).subspan(i, 1)), row, cat("token ", i));
  }
}

TEST(RecurrentLoad, SettingsOutOfRangeAreNamed) {
  struct Case {
    std::string family, from, to, message;
  };
  const Case cases[] = {
      {"mamba", "\"state_size\": 8", "\"state_size\": 0", "state_size is 0"},
      {"mamba", "\"conv_kernel\": 4", "\"conv_kernel\": -4", "conv_kernel is -4"},
      {"mamba", "\"hidden_size\": 64,", "", "has no 'hidden_size'"},
      {"mamba", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 2000000000", "num_hidden_layers is 2000000000"},
      {"mamba", "\"time_step_rank\": 4", "\"time_step_rank\": \"many\"", "time_step_rank' is text"},
      {"mamba", "\"layer_norm_epsilon\": 1e-05", "\"layer_norm_epsilon\": -1", "a norm epsilon of -1"},
      {"mamba2", "\"expand\": 2", "\"expand\": -1", "expand is -1"},
      {"mamba2", "\"num_heads\": 8", "\"num_heads\": 9", "num_heads 9 of head_dim 16"},
      {"mamba2", "\"n_groups\": 1", "\"n_groups\": 3", "n_groups 3"},
      {"mamba2", "0.0,", "0.0, 1,", "time_step_limit' is not two numbers"},
      {"mamba2", "0.0,", "\"low\",", "time_step_limit[0]' is text"},
      {"rwkv", "\"attention_hidden_size\": 64", "\"attention_hidden_size\": 0", "attention_hidden_size is 0"},
      {"rwkv", "\"intermediate_size\": 160", "\"intermediate_size\": 1e12", "intermediate_size is 1000000000000"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.to);
    const TempFolder temp;
    copy_model(family_folder(test.family), temp.path(), test.from, test.to);
    EXPECT_ERROR(TestModel(temp.path()), kBadFile, test.message);
  }
}

TEST(RecurrentLoad, TensorsThatDoNotFitAreNamed) {
  for (const std::string family : {"mamba", "mamba2", "rwkv"}) {
    SCOPED_TRACE(family);
    const bool rwkv = family == "rwkv";
    const std::string name = rwkv ? "rwkv.blocks.1.attention.key.weight" : "backbone.layers.1.mixer.in_proj.weight";
    const Checkpoint checkpoint = Checkpoint::open(family_folder(family));
    const auto write = [&](const std::filesystem::path& to, const std::string& new_name, const Tensor& instead) {
      std::vector<std::pair<std::string, Tensor>> tensors;
      for (const TensorEntry& entry : checkpoint.entries()) {
        const bool hit = entry.name == name;
        tensors.emplace_back(hit ? new_name : entry.name, hit && instead.defined() ? instead : checkpoint.get(entry));
      }
      if (new_name == name && !instead.defined()) tensors.emplace_back(name + "_more", zeros({4}));
      write_checkpoint(to, fixture_config(family), tensors);
    };
    const TempFolder temp;
    write(temp.path(), rwkv ? "rwkv.blocks.1.attention.kay.weight" : "backbone.layers.1.mixer.in_prog.weight", {});
    EXPECT_ERROR(TestModel(temp.path()), kBadFile, cat("tensor '", name, "'"));
    EXPECT_ERROR(TestModel(temp.path()), kBadFile, "did you mean");
    write(temp.path(), name, zeros({7, 64}, DType::kBF16));
    EXPECT_ERROR(TestModel(temp.path()), kBadFile, "is [7, 64], but the settings make it [");
    write(temp.path(), name, {});
    EXPECT_ERROR(TestModel(temp.path()), kBadFile, "_more' is there, but nothing in the settings uses it");
  }
}

}  // namespace
}  // namespace wick
