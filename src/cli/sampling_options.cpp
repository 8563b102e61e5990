#include "cli/sampling_options.h"

#include <charconv>
#include <limits>
#include <random>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

constexpr char kSwitch[] = "on|off";
constexpr float kPlainTemperature = 0.8f, kPlainTopP = 0.95f;

template <typename T>
T number(std::string_view text) {
  T value{};
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(in_quotes(text), " is no ", std::is_integral_v<T> ? "whole " : "", "number"));
  }
  return value;
}

bool yes_or_no(const std::string& text) {
  if (text == "on" || text == "yes" || text == "true" || text == "1") return true;
  if (text == "off" || text == "no" || text == "false" || text == "0") return false;
  throw Error(ErrorCode::kInvalidArgument, cat(in_quotes(text), " is neither on nor off"));
}

template <auto Member>
void set_member(SamplingParams& params, const std::string& text) {
  using T = std::decay_t<decltype(params.*Member)>;
  if constexpr (std::is_same_v<T, bool>) {
    params.*Member = yes_or_no(text);
  } else {
    params.*Member = number<T>(text);
  }
}
template <auto Member>
std::string get_member(const SamplingParams& params) {
  if constexpr (std::is_same_v<std::decay_t<decltype(params.*Member)>, bool>) return params.*Member ? "on" : "off";
  return cat(params.*Member);
}

void add_bias(SamplingParams& params, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) throw Error(ErrorCode::kInvalidArgument, cat("is ID=VALUE, not ", in_quotes(text)));
  params.logit_bias.emplace_back(number<int32_t>(std::string_view(text).substr(0, equals)),
                                 number<float>(std::string_view(text).substr(equals + 1)));
}
std::string show_bias(const SamplingParams& params) {
  std::string text;
  for (const auto& [token, bias] : params.logit_bias) text += cat(text.empty() ? "" : " ", token, "=", bias);
  return text.empty() ? "none" : text;
}

#define WICK_SETTING(name, flags, kind, help, member) \
  { name, flags, kind, help, set_member<&SamplingParams::member>, get_member<&SamplingParams::member> }

constexpr SamplingSetting kSettings[] = {
    WICK_SETTING("temperature", "-t,--temperature", "NUMBER", "0: always the most likely token; higher: bolder",
                 temperature),
    WICK_SETTING("top-k", "--top-k", "COUNT", "Only the most likely tokens; 0: all", top_k),
    WICK_SETTING("top-p", "--top-p", "SHARE", "Only the most likely tokens that make up this share", top_p),
    WICK_SETTING("min-p", "--min-p", "SHARE", "Only tokens this likely relative to the most likely one", min_p),
    WICK_SETTING("typical", "--typical", "SHARE", "Only the most typical tokens that make up this share", typical_p),
    WICK_SETTING("repeat-penalty", "--repeat-penalty", "NUMBER", "Above 1: tokens seen before become less likely",
                 repetition_penalty),
    WICK_SETTING("repeat-window", "--repeat-window", "COUNT", "Last tokens that penalties look at; -1: all",
                 penalty_window),
    WICK_SETTING("frequency-penalty", "--frequency-penalty", "NUMBER", "Off a token's logit per time it was generated",
                 frequency_penalty),
    WICK_SETTING("presence-penalty", "--presence-penalty", "NUMBER", "Off a token's logit once it was generated",
                 presence_penalty),
    WICK_SETTING("dry-multiplier", "--dry-multiplier", "NUMBER", "DRY, against repeated runs of tokens; 0: off",
                 dry_multiplier),
    WICK_SETTING("dry-base", "--dry-base", "NUMBER", "DRY: growth per token of the run", dry_base),
    WICK_SETTING("dry-length", "--dry-length", "COUNT", "DRY: runs up to this long are free", dry_allowed_length),
    WICK_SETTING("dry-window", "--dry-window", "COUNT", "DRY: last tokens to search; -1: all", dry_window),
    WICK_SETTING("xtc-probability", "--xtc-probability", "SHARE", "XTC: how often the top choices are left out",
                 xtc_probability),
    WICK_SETTING("xtc-threshold", "--xtc-threshold", "SHARE", "XTC: what counts as a top choice", xtc_threshold),
    WICK_SETTING("mirostat", "--mirostat", kSwitch, "Mirostat 2, which aims at a constant surprise", mirostat),
    WICK_SETTING("mirostat-tau", "--mirostat-tau", "NUMBER", "Mirostat: the surprise, in bits per token", mirostat_tau),
    WICK_SETTING("mirostat-eta", "--mirostat-eta", "NUMBER", "Mirostat: how quickly it learns", mirostat_eta),
    {"logit-bias", "--logit-bias", "ID=VALUE", "Added to a token's logit; may be repeated", add_bias, show_bias},
    WICK_SETTING("seed", "--seed", "NUMBER", "The same seed gives the same answer; otherwise a random one", seed),
};

#undef WICK_SETTING

// Sets one value and checks its range, as far as that needs no model.
void try_setting(const SamplingSetting& setting, const std::string& text) {
  SamplingParams scratch;
  try {
    setting.set(scratch, text);
  } catch (const Error& error) {
    throw Error(error.code(), cat(setting.name, ": ", error.what()));
  }
  check_sampling_params(scratch, std::numeric_limits<int32_t>::max());
}

uint64_t random_seed() {
  std::random_device device;
  return device();  // 32 bits: short enough to type again
}

}  // namespace

std::span<const SamplingSetting> sampling_settings() { return kSettings; }

void SamplingChoice::add_options(CLI::App& command) {
  for (const SamplingSetting& setting : kSettings) {
    if (std::string_view(setting.kind) == kSwitch) {
      command
          .add_flag_callback(
              setting.flags, [this, &setting] { chosen_.emplace_back(&setting, "on"); }, setting.help)
          ->group("Sampling");
      continue;
    }
    const bool repeats = std::string_view(setting.name) == "logit-bias";
    CLI::Option* option = command.add_option_function<std::vector<std::string>>(
        setting.flags,
        [this, &setting](const std::vector<std::string>& texts) {
          for (const std::string& text : texts) {
            try {
              try_setting(setting, text);
            } catch (const Error& error) {
              throw CLI::ValidationError(cat("--", setting.name), error.what());
            }
            chosen_.emplace_back(&setting, text);
          }
        },
        setting.help);
    option->type_name(setting.kind)->group("Sampling")->expected(1);
    option->multi_option_policy(repeats ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::TakeLast);
  }
}

void SamplingChoice::set(std::string_view name, const std::string& text) {
  std::vector<std::string_view> names = {"max-tokens"};  // which /set takes, too
  for (const SamplingSetting& setting : kSettings) {
    names.emplace_back(setting.name);
    if (setting.name != name) continue;
    try_setting(setting, text);
    chosen_.emplace_back(&setting, text);
    return;
  }
  const std::string_view near = nearest(name, names);
  throw Error(ErrorCode::kInvalidArgument,
              cat("there is no setting ", in_quotes(name),
                  near.empty() ? "; /show lists them" : cat("; did you mean ", near, "?")));
}

SamplingParams SamplingChoice::params_for(const TextModel& model, bool draws) {
  SamplingParams params = draws ? model.recommended() : SamplingParams();
  if (!draws) {
    params.temperature = 0;
  } else if (!model.recommends()) {
    params.temperature = kPlainTemperature;
    params.top_p = kPlainTopP;
  }
  if (!random_seed_) random_seed_ = random_seed();
  params.seed = *random_seed_;
  for (const auto& [setting, text] : chosen_) setting->set(params, text);
  check_sampling_params(params, model.model().facts().vocabulary);
  return params;
}

}  // namespace wick
