#include "hub/gguf_choice.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/text.h"
#include "formats/split_name.h"

namespace wick {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view stem(std::string_view name) { return name.substr(0, name.rfind('.')); }

bool is_model(std::string_view path) {
  const std::string_view name = base_name(path);
  return (name.ends_with(".gguf") && !name.starts_with("mmproj")) ||
         (name.starts_with("ggml-") && name.ends_with(".bin"));
}

// "Q4_K_M", "IQ2_XS", "BF16", ...: where such a word begins, up to the end of the name.
std::string type_in(std::string_view name) {
  static constexpr std::string_view kBegins[] = {"Q", "IQ", "TQ", "MXFP", "F16", "FP16", "BF16", "F32"};
  const std::string text = upper(name);
  for (size_t at = 0; at < text.size(); ++at) {
    if (at > 0 && is_letter_or_digit(text[at - 1])) continue;
    for (const std::string_view begin : kBegins) {
      const size_t after = at + begin.size();
      const bool has_digits = std::isdigit(static_cast<unsigned char>(begin.back())) != 0;
      if (!std::string_view(text).substr(at).starts_with(begin)) continue;
      if (has_digits || (after < text.size() && std::isdigit(static_cast<unsigned char>(text[after])) != 0)) {
        return text.substr(at);
      }
    }
  }
  return "";
}

bool holds_word(std::string_view text, std::string_view word) {
  const std::string in = upper(text), what = upper(word);
  for (size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) {
    const size_t end = at + what.size();
    const auto continues = [](char c) { return is_letter_or_digit(c) || c == '_'; };
    if ((at == 0 || !continues(in[at - 1])) && (end == in.size() || !continues(in[end]))) return true;
  }
  return false;
}

}  // namespace

std::vector<GgufModelFiles> gguf_models(const std::vector<NamedSize>& files) {
  std::map<std::string, GgufModelFiles> models;  // by the name without the number of the part
  std::vector<NamedSize> sorted = files;
  std::sort(sorted.begin(), sorted.end(), [](const NamedSize& a, const NamedSize& b) { return a.name < b.name; });
  for (const NamedSize& file : sorted) {
    if (!is_model(file.name)) continue;
    const std::string_view name = base_name(file.name);
    const auto split = parse_split_name(name);
    const std::string_view plain = split ? std::string_view(split->stem) : stem(name);
    const std::string_view folder = std::string_view(file.name).substr(0, file.name.size() - name.size());
    GgufModelFiles& model = models[cat(folder, plain, split ? cat("/", split->count) : std::string())];
    model.files.push_back(file.name);
    model.bytes += file.bytes;
    model.type = type_in(plain);
  }
  std::vector<GgufModelFiles> all;
  all.reserve(models.size());
  for (auto& [key, model] : models) all.push_back(std::move(model));
  return all;
}

std::vector<GgufModelFiles> gguf_models_of(const std::vector<GgufModelFiles>& models, std::string_view variant) {
  std::vector<GgufModelFiles> found;
  for (const GgufModelFiles& model : models) {
    if (upper(variant) == model.type || holds_word(stem(model.files.front()), variant)) found.push_back(model);
  }
  return found;
}

std::string gguf_suffix(const GgufModelFiles& model, const std::vector<GgufModelFiles>& all) {
  if (!model.type.empty() && gguf_models_of(all, model.type).size() == 1) return cat(":", model.type);
  return cat("/", model.files.front());
}

}  // namespace wick
