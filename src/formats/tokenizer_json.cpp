#include "formats/tokenizer_json.h"

#include <algorithm>
#include <optional>

#include "base/json_reader.h"
#include "base/mapped_file.h"
#include "base/utf8.h"

namespace wick {
namespace {

constexpr int64_t kMaxTokens = 10'000'000;

class Parser {
 public:
  Parser(std::string_view text, const std::string& source) : text_(text), source_(source), reader_(text, source) {}

  TokenizerJson parse() {
    reader_.begin_object();
    for (std::string name; reader_.next_name(name);) {
      reader_.set_place("", "", name);
      if (name == "added_tokens") {
        read_added();
      } else if (name == "model") {
        read_model();
      } else if (name == "normalizer") {
        out_.normalizer = value(name);
      } else if (name == "pre_tokenizer") {
        out_.pre_tokenizer = value(name);
      } else if (name == "post_processor") {
        out_.post_processor = value(name);
      } else {
        reader_.skip();
      }
    }
    reader_.finish();
    if (!has_model_) throw bad("'model' is missing");
    return std::move(out_);
  }

 private:
  Error bad(const std::string& what) const { return {ErrorCode::kBadFile, cat(source_, ": ", what)}; }

  // The next value as a document of its own.
  Json value(std::string_view name) {
    const size_t start = reader_.position();
    reader_.skip();
    return Json::parse(text_.substr(start, reader_.position() - start), cat(source_, ": '", name, "'"));
  }

  char next_character() const {
    const size_t at = text_.find_first_not_of(" \t\r\n", reader_.position());
    return at == std::string_view::npos ? '\0' : text_[at];
  }

  int64_t checked_id(int64_t id, std::string_view token) const {
    if (id >= 0 && id < kMaxTokens) return id;
    throw bad(cat("the token ", in_quotes(token), " has the id ", id));
  }

  void read_added() {
    const Json list = value("added_tokens");
    for (const Json& item : list.as_array()) {
      const std::string& text = item.at("content").as_text();
      out_.added.push_back({checked_id(item.at("id").as_int(), text), text, item.get("special", false)});
    }
  }

  void read_model() {
    has_model_ = true;
    std::optional<TokenizerJson::Model> model;
    reader_.begin_object();
    for (std::string name; reader_.next_name(name);) {
      reader_.set_place("model", "", name);
      if (name == "type") {
        model = model_named(reader_.text());
      } else if (name == "vocab") {
        read_vocab();
      } else if (name == "merges") {
        read_merges();
      } else if (name == "byte_fallback") {
        out_.byte_fallback = value(name).as_bool();
      } else if (name == "ignore_merges") {
        out_.ignore_merges = value(name).as_bool();
      } else if (name == "unk_token") {
        const Json unknown = value(name);
        if (!unknown.is_null()) out_.unknown = unknown.as_text();
      } else {
        reader_.skip();
      }
    }
    // Files from before the field was written are BPE when they have merges.
    out_.model = model.value_or(out_.merges.empty() ? TokenizerJson::Model::kWordPiece : TokenizerJson::Model::kBpe);
  }

  TokenizerJson::Model model_named(const std::string& name) const {
    for (const auto model : {TokenizerJson::Model::kBpe, TokenizerJson::Model::kWordPiece,
                             TokenizerJson::Model::kUnigram, TokenizerJson::Model::kWordLevel}) {
      if (to_string(model) == name) return model;
    }
    throw bad(cat("'model.type' is ", in_quotes(name), ", expected BPE, WordPiece, Unigram or WordLevel"));
  }

  void read_vocab() {
    if (next_character() == '[') {  // Unigram: [[token, score], ...]
      reader_.begin_list();
      for (; reader_.next_item(); ++out_.model_tokens) reader_.skip();
      return;
    }
    reader_.begin_object();
    for (std::string token; reader_.next_name(token); ++out_.model_tokens) {
      const int64_t id = checked_id(reader_.integer(), token);
      out_.tokens.push_back({id, token});
    }
  }

  void read_merges() {
    reader_.begin_list();
    while (reader_.next_item()) {
      if (next_character() != '[') {
        out_.merges.push_back(reader_.text());
        continue;
      }
      std::string parts[2];
      size_t count = 0;
      reader_.begin_list();
      for (; reader_.next_item(); ++count) {
        if (count == 2) throw bad(cat("merge ", out_.merges.size(), " has more than two parts"));
        parts[count] = reader_.text();
      }
      if (count != 2) throw bad(cat("merge ", out_.merges.size(), " has ", count, " parts, expected 2"));
      out_.merges.push_back(cat(parts[0], " ", parts[1]));
    }
  }

  std::string_view text_;
  const std::string& source_;
  JsonReader reader_;
  TokenizerJson out_;
  bool has_model_ = false;
};

}  // namespace

std::string_view to_string(TokenizerJson::Model model) {
  switch (model) {
    case TokenizerJson::Model::kBpe: return "BPE";
    case TokenizerJson::Model::kWordPiece: return "WordPiece";
    case TokenizerJson::Model::kUnigram: return "Unigram";
    case TokenizerJson::Model::kWordLevel: return "WordLevel";
  }
  return "";
}

TokenizerJson TokenizerJson::parse(std::string_view text, const std::string& source) {
  return Parser(text, source).parse();
}

TokenizerJson TokenizerJson::load(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

int64_t TokenizerJson::size() const {
  int64_t end = model_tokens;
  for (const Token& token : tokens) end = std::max(end, token.id + 1);
  for (const Added& token : added) end = std::max(end, token.id + 1);
  return end;
}

}  // namespace wick
