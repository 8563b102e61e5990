#include "base/text.h"
#include "cli/inspect/inspect_report.h"
#include "tokenizer/tokenizer_document.h"
#include "tokenizer/tokenizer_files.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string known_text(const Metadata& metadata, std::string_view key) {
  return metadata.find(key) ? metadata.text(key) : "";
}

std::optional<TokenizerSummary> of_gguf(const Metadata& metadata) {
  const std::string model = known_text(metadata, "tokenizer.ggml.model");
  if (model.empty()) return std::nullopt;
  TokenizerSummary summary;
  summary.kind = model == "gpt2"    ? "BPE, byte-level"
                 : model == "llama" ? "SentencePiece"
                 : model == "bert"  ? "WordPiece"
                 : model == "t5"    ? "Unigram"
                                    : model;
  const std::string pre = known_text(metadata, "tokenizer.ggml.pre");
  if (!pre.empty() && pre != "default") summary.kind += cat(", words as ", pre);
  if (metadata.find("tokenizer.ggml.tokens")) summary.size = metadata.array("tokenizer.ggml.tokens").count;
  return summary;
}

std::optional<TokenizerSummary> of_folder(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder / "tokenizer.json", ignored)) {
    const TokenizerDocument tokenizer = TokenizerDocument::load(folder / "tokenizer.json");
    std::string kind(to_string(tokenizer.model()));
    if (tokenizer.model() == TokenizerDocument::Model::kBpe) {
      kind += tokenizer.byte_fallback() ? ", as SentencePiece" : ", byte-level";
    }
    return TokenizerSummary{kind, tokenizer.vocab_size()};
  }
  constexpr std::pair<const char*, const char*> kOthers[] = {
      {"tokenizer.model", "SentencePiece (tokenizer.model)"},
      {"spiece.model", "SentencePiece (spiece.model)"},
      {"vocab.json", "BPE (vocab.json, merges.txt)"},
      {"vocab.txt", "WordPiece (vocab.txt)"},
  };
  for (const auto& [name, kind] : kOthers) {
    if (fs::exists(folder / name, ignored)) return TokenizerSummary{kind, 0};
  }
  return std::nullopt;
}

}  // namespace

std::optional<TokenizerSummary> summarise_tokenizer(const Checkpoint& checkpoint) {
  return checkpoint.kind() == Checkpoint::Kind::kGguf ? of_gguf(checkpoint.metadata()) : of_folder(checkpoint.folder());
}

std::optional<std::string> find_chat_template(const Checkpoint& checkpoint) {
  if (checkpoint.kind() != Checkpoint::Kind::kGguf) {
    const TokenizerFiles files = TokenizerFiles::load(checkpoint.folder());
    const TemplateSource* usual = files.find_template("default");
    return usual ? std::optional<std::string>(usual->text) : std::nullopt;
  }
  const Metadata& metadata = checkpoint.metadata();
  if (!metadata.find("tokenizer.chat_template")) return std::nullopt;
  return metadata.text("tokenizer.chat_template");
}

}  // namespace wick
