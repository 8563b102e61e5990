#include "embed/hidden_rows.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "engine/compute_mutex.h"
#include "interp/language_interp.h"

namespace wick {
namespace {

constexpr int64_t kMostPositions = 1 << 15;  // of models made for any length

class EncoderRows final : public HiddenRows {
 public:
  explicit EncoderRows(std::unique_ptr<TextEncoder> encoder) : encoder_(std::move(encoder)), passes_(*encoder_) {}

  int64_t hidden() const override { return encoder_->config().hidden; }
  int64_t vocabulary() const override { return encoder_->config().vocabulary; }
  int64_t positions() const override { return encoder_->config().positions; }
  const TextEncoder* encoder() const override { return encoder_.get(); }
  void encode(std::span<const EncoderInput> texts, FunctionRef<void(size_t, std::span<const float>)> each,
              const std::function<void(int64_t)>& done) const override {
    passes_.encode(texts, each, done);
  }

 private:
  std::unique_ptr<TextEncoder> encoder_;
  EncoderPasses passes_;
};

// A language model's rows behind the last norm, by its hook.
class DecoderRows final : public HiddenRows {
 public:
  explicit DecoderRows(std::shared_ptr<const LanguageModel> model)
      : model_(std::move(model)), interp_(model_, {.around_pass = take_turn}) {}

  int64_t hidden() const override { return model_->facts().hidden; }
  int64_t vocabulary() const override { return model_->facts().vocabulary; }
  int64_t positions() const override {
    return model_->facts().max_context > 0 ? model_->facts().max_context : kMostPositions;
  }
  void encode(std::span<const EncoderInput> texts, FunctionRef<void(size_t, std::span<const float>)> each,
              const std::function<void(int64_t)>& done) const override {
    constexpr size_t kAtOnce = 64;  // texts between two calls of `done`; the passes are shorter
    const std::string point = hook_name(HookPoint::kFinalNorm, -1);
    for (size_t begin = 0; begin < texts.size(); begin += kAtOnce) {
      const size_t end = std::min(begin + kAtOnce, texts.size());
      std::vector<HookSpec> specs(end - begin);
      std::vector<InterpText> batch;
      for (size_t i = begin; i < end; ++i) {
        specs[i - begin].call(point, [i, &each](const Tensor& rows, const HookMoment&) {
          const Tensor host = rows.to_device(Device::cpu()).contiguous();
          each(i, {host.data<float>(), static_cast<size_t>(host.numel())});
          return rows;
        });
        batch.push_back({texts[i].tokens, &specs[i - begin]});
      }
      interp_.forward(batch, LogitRows::kNone, [](size_t, const Tensor&) {});
      if (done) done(static_cast<int64_t>(end));
    }
  }

 private:
  static void take_turn(FunctionRef<void()> pass) {
    const std::lock_guard turn(compute_mutex());
    pass();
  }

  std::shared_ptr<const LanguageModel> model_;
  LanguageInterp interp_;
};

}  // namespace

std::unique_ptr<HiddenRows> rows_of(std::unique_ptr<TextEncoder> encoder) {
  return std::make_unique<EncoderRows>(std::move(encoder));
}
std::unique_ptr<HiddenRows> rows_of(std::unique_ptr<LanguageModel> model) {
  return std::make_unique<DecoderRows>(std::move(model));
}

}  // namespace wick
