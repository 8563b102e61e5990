#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/tokenizer_marian.h"
#include "tokenizer/tokenizer_parts.h"
#include "tokenizer/vocab_and_merges.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> find_in_folder(const fs::path& folder) {
  for (const char* name : {"tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"}) {
    if (fs::is_regular_file(folder / name)) return folder / name;
  }
  if (fs::is_regular_file(folder / "vocab.json") && fs::is_regular_file(folder / "merges.txt")) {
    return folder / "merges.txt";
  }
  std::vector<fs::path> found;
  for (const auto& item : fs::directory_iterator(folder)) {
    if (item.path().extension() == ".tiktoken") found.push_back(item.path());
  }
  std::sort(found.begin(), found.end());
  if (found.empty()) return std::nullopt;
  return found.front();
}

// Tokenizers of some models number the pieces of a SentencePiece model anew, by rules in their code alone.
void check_numbers(const fs::path& file) {
  constexpr std::string_view kRenumbering[] = {"Camembert", "M2M100",  "MBart", "MBart50",
                                               "Nllb",      "Pegasus", "XGLM",  "XLMRoberta"};
  const Json config = TokenizerFiles::load(file.parent_path()).tokenizer_config;
  const std::string name = config.is_object() ? config.get("tokenizer_class", "") : "";
  const bool renumbers = std::any_of(std::begin(kRenumbering), std::end(kRenumbering),
                                     [&](std::string_view one) { return name.starts_with(cat(one, "Tokenizer")); });
  if (!renumbers && file.filename() != "sentencepiece.bpe.model") return;
  throw Error(ErrorCode::kUnsupported,
              cat(file, name.empty() ? "" : cat(" (", name, ")"),
                  ": the model has numbers of its own for these pieces, which a tokenizer.json would tell"));
}

// The roles of tokens are named beside the tokenizer, not in it.
void read_roles(TokenizerParts& parts, const fs::path& folder) {
  const TokenizerFiles files = TokenizerFiles::load(folder);
  SpecialIds& ids = parts.special_ids;
  for (const auto& [key, id] : {std::pair<std::string_view, std::optional<int>*>{"bos_token", &ids.bos},
                                {"eos_token", &ids.eos},
                                {"pad_token", &ids.pad},
                                {"unk_token", &ids.unk}}) {
    const std::string piece = files.special(key);
    const int found = piece.empty() ? Vocabulary::kNone : parts.vocabulary->find(piece);
    if (found != Vocabulary::kNone) *id = found;
  }
}

}  // namespace

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  fs::path file = path;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    const auto found = find_in_folder(path);
    if (!found && is_marian_folder(path)) return load_marian(path);
    if (!found) {
      throw Error(
          ErrorCode::kIo,
          cat(path, ": holds no tokenizer.json, tokenizer.model or *.tiktoken file, nor vocab.json with merges.txt"));
    }
    file = *found;
  }
  if (file.filename() == "merges.txt") {
    const fs::path folder = file.parent_path();
    Tokenizer tokenizer = from_json(join_vocab_and_merges(folder), (folder / "vocab.json").string());
    read_roles(*std::const_pointer_cast<TokenizerParts>(tokenizer.parts_), folder);
    return tokenizer;
  }
  const auto mapped = MappedFile::open(file);
  const std::string_view bytes(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
  const std::string name = file.string();
  // A JSON object starts with '{'; SentencePiece's first field is 0x0A and a length.
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && bytes[first] == '{';
  const bool is_model = file.extension() == ".model" && !is_json && !bytes.empty() && bytes[0] == '\n';
  if (is_model) check_numbers(file);
  Tokenizer tokenizer = is_json    ? from_json(bytes, name)
                        : is_model ? from_sentencepiece(bytes, name)
                                   : from_tiktoken(bytes, "", name);
  // Nobody else has seen the parts yet.
  read_roles(*std::const_pointer_cast<TokenizerParts>(tokenizer.parts_), file.parent_path());
  return tokenizer;
}

}  // namespace wick
