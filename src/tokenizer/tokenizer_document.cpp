#include "tokenizer/tokenizer_document.h"

#include <simdjson.h>

#include <algorithm>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

using simdjson::dom::element;
using Model = TokenizerDocument::Model;

constexpr size_t kMaxTokenBytes = size_t{1} << 20;
constexpr Model kModels[] = {Model::kBpe, Model::kUnigram, Model::kWordPiece, Model::kWordLevel};

}  // namespace

struct TokenizerDocument::Contents {
  simdjson::dom::parser parser;
  element root, model;
};

TokenizerDocument::TokenizerDocument(std::string_view json, std::string source)
    : source_(std::move(source)), contents_(std::make_unique<Contents>()) {
  const simdjson::padded_string padded(json);
  element& root = contents_->root;
  if (const auto error = contents_->parser.parse(padded).get(root)) {
    throw bad(cat("not valid JSON: ", simdjson::error_message(error)));
  }
  if (!root.is_object()) throw bad("is not a JSON object");
  if (root["model"].get(contents_->model) || !contents_->model.is_object()) {
    throw bad("'model' is missing or no object");
  }
  read_settings();
  model_ = read_model();
}

TokenizerDocument::~TokenizerDocument() = default;
TokenizerDocument::TokenizerDocument(TokenizerDocument&&) noexcept = default;

TokenizerDocument TokenizerDocument::load(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return {{reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()}, path.string()};
}

Error TokenizerDocument::bad(std::string_view what) const { return {ErrorCode::kBadFile, cat(source_, ": ", what)}; }

void TokenizerDocument::read_settings() {
  std::string json = "{";
  const simdjson::dom::object members = contents_->model.get_object().value_unsafe();
  for (const auto& [key, value] : members) {
    if (value.is_array() || value.is_object()) continue;
    if (json.size() > 1) json += ',';
    json += cat("\"", key, "\":", simdjson::minify(value));
  }
  settings_ = Json::parse(json + "}", cat(source_, ": 'model'"));
}

Model TokenizerDocument::read_model() const {
  if (const Json* type = settings_.find("type")) {
    for (const Model model : kModels) {
      if (to_string(model) == type->as_text()) return model;
    }
    throw Error(ErrorCode::kUnsupported, cat(source_, ": there is no tokenizer model ", in_quotes(type->as_text())));
  }
  // Files from before the field was written.
  element member;
  if (!contents_->model["merges"].get(member)) return Model::kBpe;
  if (!contents_->model["vocab"].get(member) && member.is_array()) return Model::kUnigram;
  return settings_.find("continuing_subword_prefix") ? Model::kWordPiece : Model::kWordLevel;
}

size_t TokenizerDocument::piece_count() const {
  element vocab;
  if (contents_->model["vocab"].get(vocab)) return 0;
  // simdjson itself counts up to 16 million.
  return vocab.is_array()    ? vocab.get_array().value_unsafe().size()
         : vocab.is_object() ? vocab.get_object().value_unsafe().size()
                             : 0;
}

void TokenizerDocument::each_piece(FunctionRef<void(std::string_view, int64_t, double)> use) const {
  if (model_ == Model::kUnigram) {
    simdjson::dom::array entries;
    if (contents_->model["vocab"].get(entries)) throw bad("'model.vocab' is missing or no list");
    int64_t id = 0;
    for (const element item : entries) {
      simdjson::dom::array pair;
      std::string_view piece;
      double score = 0;
      if (item.get(pair) || pair.size() != 2 || pair.at(0).get(piece) || pair.at(1).get(score)) {
        throw bad(cat("'model.vocab': entry ", id, " is not a piece and its score"));
      }
      use(piece, id++, score);
    }
    return;
  }
  simdjson::dom::object entries;
  if (contents_->model["vocab"].get(entries)) throw bad("'model.vocab' is missing or no object");
  for (const auto& [piece, value] : entries) {
    int64_t id = 0;
    if (value.get(id)) throw bad(cat("'model.vocab': the id of ", in_quotes(piece), " is no whole number"));
    use(piece, id, 0);
  }
}

size_t TokenizerDocument::merge_count() const {
  simdjson::dom::array merges;
  if (contents_->model["merges"].get(merges)) return 0;
  return merges.size() == 0xFFFFFF ? 0 : merges.size();  // simdjson counts no further
}

void TokenizerDocument::each_merge(FunctionRef<void(std::string_view, std::string_view)> use) const {
  simdjson::dom::array merges;
  if (contents_->model["merges"].get(merges)) throw bad("'model.merges' is missing or no list");
  size_t rank = 0;
  for (const element item : merges) {
    std::string_view left, right;
    if (!item.get(left)) {
      const size_t space = left.find(' ');
      if (space == std::string_view::npos || left.find(' ', space + 1) != std::string_view::npos) {
        throw bad(cat("merge ", rank, ": ", in_quotes(left), " is not two pieces with a blank between them"));
      }
      right = left.substr(space + 1);
      left = left.substr(0, space);
    } else {
      simdjson::dom::array pair;
      if (item.get(pair) || pair.size() != 2 || pair.at(0).get(left) || pair.at(1).get(right)) {
        throw bad(cat("merge ", rank, " is not two pieces"));
      }
    }
    use(left, right);
    ++rank;
  }
}

std::vector<AddedToken> TokenizerDocument::added_tokens() const {
  std::vector<AddedToken> tokens;
  const Json list = part("added_tokens");
  if (list.is_null()) return tokens;
  const size_t pieces = piece_count();
  // Leaves room for holes, but not for an id that would fill the memory.
  const auto limit = static_cast<int64_t>(2 * (pieces + list.as_array().size()) + 65536);
  for (const Json& item : list.as_array()) {
    AddedToken token;
    token.content = item.at("content").as_text();
    if (token.content.size() > kMaxTokenBytes) throw bad(cat(item.place(), ": the content is too long"));
    const int64_t id = item.at("id").as_int();
    if (id < 0 || id >= limit) {
      throw Error(ErrorCode::kBadFile, cat(item.at("id").place(), ": the id ", id, " of ", in_quotes(token.content),
                                           " is far beyond the vocabulary of ", pieces));
    }
    token.id = static_cast<int>(id);
    token.single_word = item.get("single_word", false);
    token.lstrip = item.get("lstrip", false);
    token.rstrip = item.get("rstrip", false);
    token.special = item.get("special", false);
    token.normalized = item.get("normalized", !token.special);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

int64_t TokenizerDocument::vocab_size() const {
  int64_t end = 0;
  each_piece([&](std::string_view piece, int64_t id, double) {
    if (id < 0 || id >= INT32_MAX) throw bad(cat("'model.vocab': ", in_quotes(piece), " has the id ", id));
    end = std::max(end, id + 1);
  });
  for (const AddedToken& token : added_tokens()) end = std::max<int64_t>(end, token.id + 1);
  return end;
}

Json TokenizerDocument::part(std::string_view name) const {
  element member;
  if (contents_->root[name].get(member)) return {};
  return Json::parse(simdjson::minify(member), cat(source_, ": '", name, "'"));
}

std::string_view to_string(Model model) {
  switch (model) {
    case Model::kBpe: return "BPE";
    case Model::kUnigram: return "Unigram";
    case Model::kWordPiece: return "WordPiece";
    case Model::kWordLevel: return "WordLevel";
  }
  return "";
}

}  // namespace wick
