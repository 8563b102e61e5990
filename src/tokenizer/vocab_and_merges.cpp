#include "tokenizer/vocab_and_merges.h"

#include "base/error.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

constexpr std::string_view kQwenPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kByteLevel =
    R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":)";

std::string contents_of(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

void append_merges(std::string& out, const std::string& text, const std::filesystem::path& path) {
  bool is_first = true;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    if (!is_utf8(line) || line.find(' ') == std::string_view::npos) {
      throw Error(ErrorCode::kBadFile,
                  cat(path, ": a line is no merge of two pieces: ", in_quotes(line.substr(0, 80))));
    }
    if (!is_first) out += ',';
    append_json_text(out, line);
    is_first = false;
  }
}

void append_added(std::string& out, const Json& config) {
  const Json* added = config.find("added_tokens_decoder");
  if (!added || added->is_null()) return;
  bool is_first = true;
  for (const auto& [id, token] : added->as_object()) {
    if (id.empty() || id.size() > 9 || id.find_first_not_of("0123456789") != std::string::npos) {
      throw Error(ErrorCode::kBadFile, cat(added->place(), " has a token with the number ", in_quotes(id)));
    }
    out += cat(is_first ? "" : ",", R"({"id":)", std::stol(id), R"(,"content":)");
    append_json_text(out, token.at("content").as_text());
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
      out += cat(",\"", flag, "\":", token.get(flag, false) ? "true" : "false");
    }
    out += '}';
    is_first = false;
  }
}

}  // namespace

std::string join_vocab_and_merges(const std::filesystem::path& folder) {
  const Json config = Json::load(folder / "tokenizer_config.json");
  std::string kind = config.get("tokenizer_class", std::string());
  if (kind.ends_with("Fast")) kind.resize(kind.size() - 4);
  const bool is_qwen = kind == "Qwen2Tokenizer";
  if (!is_qwen && kind != "GPT2Tokenizer") {
    throw Error(ErrorCode::kUnsupported, cat(folder,
                                             ": there is no tokenizer.json, and vocab.json with merges.txt are "
                                             "read for Qwen2Tokenizer and GPT2Tokenizer, not for ",
                                             in_quotes(kind)));
  }
  const std::string vocabulary = contents_of(folder / "vocab.json");
  std::string out = R"({"version":"1.0","added_tokens":[)";
  append_added(out, config);
  out += cat(R"(],"normalizer":)", is_qwen ? R"({"type":"NFC"})" : "null", R"(,"pre_tokenizer":)");
  if (is_qwen) {
    out += R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":)";
    append_json_text(out, kQwenPattern);
    out += cat(R"(},"behavior":"Isolated","invert":false},)", kByteLevel, "false}]}");
  } else {
    out += cat(kByteLevel, "true}");
  }
  out +=
      cat(R"(,"post_processor":null,"decoder":)", kByteLevel, is_qwen ? "false}" : "true}",
          R"(,"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"",)",
          R"("end_of_word_suffix":"","fuse_unk":false,"byte_fallback":false,"vocab":)", vocabulary, R"(,"merges":[)");
  append_merges(out, contents_of(folder / "merges.txt"), folder / "merges.txt");
  return out + "]}}";
}

}  // namespace wick
