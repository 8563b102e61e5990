#include "interp/activation_cache.h"

#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "formats/safetensors/safetensors_writer.h"

namespace wick {
namespace {

constexpr std::string_view kTexts = "wick.texts";
constexpr std::string_view kPositions = "wick.positions.";  // and the number of a text
constexpr int64_t kMostTexts = 1 << 20;

Error bad_file(const std::filesystem::path& path, const std::string& what) {
  return {ErrorCode::kBadFile, cat(path, ": ", what)};
}

// Empty unless all of it is a number from 0 to `most`.
std::optional<int64_t> number(std::string_view text, int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) return std::nullopt;
  return value;
}

std::string joined(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t value : numbers) text += cat(text.empty() ? "" : " ", value);
  return text;
}

std::vector<int64_t> split(const std::filesystem::path& path, const std::string& text) {
  std::vector<int64_t> numbers;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const auto value = number(std::string_view(text).substr(begin, end - begin), int64_t{1} << 40);
    if (!value) throw bad_file(path, cat("its positions are '", text.substr(0, 80), "', expected numbers"));
    numbers.push_back(*value);
    begin = end + 1;
  }
  return numbers;
}

}  // namespace

std::string stored_name(std::string_view name, size_t text, size_t texts) {
  return texts == 1 ? std::string(name) : cat(text, "/", name);
}

ActivationCache::ActivationCache(std::vector<std::vector<int64_t>> positions)
    : positions_(std::move(positions)), rows_(positions_.size()) {}

const std::map<std::string, Tensor, std::less<>>& ActivationCache::of(size_t text) const {
  if (text >= rows_.size()) {
    throw Error(ErrorCode::kInvalidArgument, cat("text ", text, " is asked for, there are ", rows_.size()));
  }
  return rows_[text];
}

void ActivationCache::add(std::string name, size_t text, Tensor values) {
  of(text);
  rows_[text].insert_or_assign(std::move(name), std::move(values));
}

std::vector<std::string> ActivationCache::names(size_t text) const {
  std::vector<std::string> names;
  for (const auto& [name, values] : of(text)) names.push_back(name);
  return names;
}

bool ActivationCache::has(std::string_view name, size_t text) const { return of(text).find(name) != of(text).end(); }

Tensor ActivationCache::at(std::string_view name, size_t text) const {
  const auto& rows = of(text);
  const auto found = rows.find(name);
  if (found != rows.end()) return found->second;
  std::string have;
  for (const auto& [known, values] : rows) have += cat(have.empty() ? "" : ", ", known);
  throw Error(ErrorCode::kInvalidArgument,
              cat("'", name, "' of text ", text, " was not captured; there is ", have.empty() ? "nothing" : have));
}

const std::vector<int64_t>& ActivationCache::positions(size_t text) const {
  of(text);
  return positions_[text];
}

int64_t ActivationCache::bytes() const {
  int64_t sum = 0;
  for (const auto& rows : rows_) {
    for (const auto& [name, values] : rows) sum += bytes_of(values.dtype(), values.numel());
  }
  return sum;
}

void ActivationCache::save(const std::filesystem::path& path) const {
  std::vector<TensorSpec> specs;
  Metadata metadata;
  metadata.set_text(std::string(kTexts), cat(texts()));
  for (size_t text = 0; text < texts(); ++text) {
    metadata.set_text(cat(kPositions, text), joined(positions_[text]));
    for (const auto& [name, values] : rows_[text]) {
      specs.push_back({stored_name(name, text, texts()), values.dtype(), values.shape()});
    }
  }
  SafetensorsWriter writer(path, std::move(specs), metadata);
  for (size_t text = 0; text < texts(); ++text) {
    for (const auto& [name, values] : rows_[text]) writer.write(stored_name(name, text, texts()), values);
  }
  writer.finish();
}

ActivationCache ActivationCache::load(const std::filesystem::path& path) {
  const Checkpoint file = Checkpoint::open(path);
  const auto text_of = [&](const std::string& key) {
    if (!file.metadata().find(key)) throw bad_file(path, cat("has no '", key, "' and so holds no captures"));
    return file.metadata().text(key);
  };
  const std::string count = text_of(std::string(kTexts));
  const auto texts = number(count, kMostTexts);
  if (!texts) throw bad_file(path, cat("'", kTexts, "' is '", count.substr(0, 80), "', expected a number of texts"));
  std::vector<std::vector<int64_t>> positions;
  for (int64_t i = 0; i < *texts; ++i) positions.push_back(split(path, text_of(cat(kPositions, i))));
  ActivationCache cache(std::move(positions));
  for (const TensorEntry& entry : file.entries()) {
    std::string_view name = entry.name;
    int64_t text = 0;
    if (*texts != 1) {
      const size_t slash = name.find('/');
      const auto index = number(name.substr(0, slash), *texts - 1);
      if (slash == std::string_view::npos || !index) {
        throw bad_file(path, cat("tensor '", name, "' belongs to none of its ", *texts, " texts"));
      }
      text = *index;
      name.remove_prefix(slash + 1);
    }
    cache.add(std::string(name), static_cast<size_t>(text), file.get(entry));
  }
  return cache;
}

}  // namespace wick
