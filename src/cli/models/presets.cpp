#include "cli/models/presets.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/read_text.h"
#include "cli/sampling_options.h"

namespace wick {
namespace {

// Options of run and chat that a preset may set, beside those of sampling.
constexpr std::string_view kOptions[] = {"system",       "max-tokens", "stop",        "context",   "kv",
                                         "quantize",     "threads",    "device",      "template",  "speculate",
                                         "draft-tokens", "grammar",    "json-schema", "json-mode", "ignore-end"};

std::vector<std::string_view> allowed_keys() {
  std::vector<std::string_view> keys = {"model"};
  keys.insert(keys.end(), std::begin(kOptions), std::end(kOptions));
  for (const SamplingSetting& setting : sampling_settings()) keys.emplace_back(setting.name);
  return keys;
}

Error bad_line(const std::string& source, int line, const std::string& what) {
  return {ErrorCode::kBadFile, cat(source, ":", line, ": ", what)};
}

std::string near_text(std::string_view word, const std::vector<std::string_view>& words) {
  const std::string_view near = nearest(word, words);
  return near.empty() ? std::string() : cat("; did you mean ", near, "?");
}

Preset preset_of(const ConfigTable& table, const std::string& source) {
  if (table.name.size() != 2 || table.name[0] != "presets") {
    const bool has_no_table = table.name.empty();
    throw bad_line(
        source, has_no_table ? table.entries.front().line : table.line,
        cat(has_no_table ? in_quotes(table.entries.front().key) : cat("the table ", in_quotes(table.name[0])),
            " is not known; a preset begins with [presets.NAME]"));
  }
  Preset preset;
  preset.name = table.name[1];
  preset.model = "ember";
  preset.source = source;
  const auto allowed = allowed_keys();
  for (const ConfigEntry& entry : table.entries) {
    if (std::find(allowed.begin(), allowed.end(), entry.key) == allowed.end()) {
      throw bad_line(source, entry.line, cat("a preset has no ", in_quotes(entry.key), near_text(entry.key, allowed)));
    }
    if (entry.is_list && entry.key != "stop" && entry.key != "logit-bias") {
      throw bad_line(source, entry.line, cat(entry.key, " is one value, not a list"));
    }
    if (entry.key == "model") {
      preset.model = entry.values.front();
    } else {
      preset.options.push_back(entry);
    }
  }
  return preset;
}

}  // namespace

void Preset::apply(CLI::App& command) const {
  for (const ConfigEntry& entry : options) {
    CLI::Option* option = command.get_option_no_throw(cat("--", entry.key));
    if (!option || option->count() > 0 || entry.values.empty()) continue;
    const bool is_switch = option->get_items_expected_max() == 0;
    if (is_switch && entry.values.front() == "false") continue;
    try {
      if (is_switch && entry.values.front() != "true") {
        throw Error(ErrorCode::kBadFile, cat(in_quotes(entry.values.front()), " is neither true nor false"));
      }
      for (const std::string& value : entry.values) option->add_result(value);
      option->run_callback();
    } catch (const std::exception& error) {  // of CLI11, or of a setting
      throw bad_line(source, entry.line, cat(entry.key, ": ", error.what()));
    }
  }
}

std::vector<Preset> parse_presets(std::string_view text, const std::string& source) {
  std::vector<Preset> presets;
  for (const ConfigTable& table : parse_config(text, source)) {
    if (table.name.empty() && table.entries.empty()) continue;  // what stands before the first table
    presets.push_back(preset_of(table, source));
  }
  return presets;
}

const std::vector<Preset>& user_presets() {
  static const std::vector<Preset> presets = [] {
    const std::filesystem::path path = config_path();
    std::error_code ignored;
    if (path.empty() || !std::filesystem::exists(path, ignored)) return std::vector<Preset>();
    return parse_presets(read_text(path.string()), path.string());
  }();
  return presets;
}

const Preset* find_preset(std::string_view name) {
  for (const Preset& preset : user_presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

}  // namespace wick
