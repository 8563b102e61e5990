#include "cli/search/search_index.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/ascii.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/search/passages.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kAtOnce = 128;     // passages between two commits of their vectors
constexpr size_t kCandidates = 100;  // of each list
constexpr double kRankOffset = 60;   // of reciprocal rank fusion
constexpr size_t kSnippetBytes = 200;

// What FTS5 is asked: any of the words, each in quotes, so that nothing in a query is read as its syntax.
std::string words_of(std::string_view query) {
  std::string asked, word;
  const auto take = [&] {
    if (!word.empty()) asked += cat(asked.empty() ? "" : " OR ", "\"", word, "\"");
    word.clear();
  };
  for (const char c : query) {
    const bool is_letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           static_cast<unsigned char>(c) >= 0x80;
    if (is_letter) {
      word += c;
    } else {
      take();
    }
  }
  take();
  return asked;
}

// The beginning of a passage, on one line.
std::string beginning_of(std::string_view text) {
  size_t end = std::min(text.size(), kSnippetBytes);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + (end < text.size() ? "…" : "");
}

// Its text, where it is one.
std::optional<std::string> text_of(const fs::path& path) {
  const auto file = MappedFile::open(path);
  const std::string text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  if (text.find('\0') != std::string::npos || !is_utf8(text)) return std::nullopt;
  return text;
}

}  // namespace

SearchIndex::SearchIndex(fs::path folder, const fs::path& index, std::shared_ptr<const Embedder> embedder,
                         uint64_t model)
    : folder_(std::move(folder)), embedder_(std::move(embedder)) {
  std::error_code failed;
  if (!fs::is_directory(folder_, failed)) throw Error(ErrorCode::kIo, cat(folder_, ": is no folder"));
  fs::create_directories(index, failed);
  if (failed)
    throw Error(ErrorCode::kIo, cat(index, ": cannot be made: ", failed.message(), "; --index names another"));
  lock_ = FileLock::try_lock(index / "lock");
  if (!lock_) throw Error(ErrorCode::kIo, cat(index, ": is being used by another process"));
  store_ = std::make_unique<Sqlite>(index / "texts.sqlite");
  store_->run("PRAGMA journal_mode = WAL");
  store_->run("PRAGMA synchronous = NORMAL");
  if (const int64_t version = store_->integer("PRAGMA user_version").value_or(0); version == 0) {
    store_->transaction([&] {
      store_->run("CREATE TABLE files(id INTEGER PRIMARY KEY, path TEXT UNIQUE, size INTEGER, changed INTEGER)");
      store_->run("CREATE TABLE passages(id INTEGER PRIMARY KEY, file INTEGER, line INTEGER, vector INTEGER)");
      store_->run("CREATE INDEX passages_of ON passages(file)");
      store_->run("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'unicode61 remove_diacritics 2')");
      store_->run(cat("PRAGMA user_version = ", kVersion));
    });
  } else if (version != kVersion) {
    throw Error(ErrorCode::kUnsupported,
                cat(index, ": was made by another version of Wick; remove it, and it is made again"));
  }
  if (!embedder_) return;
  vectors_ = std::make_unique<VectorFile>(index / "vectors", model, embedder_->dimensions());
  // Those of another model, and those that were lost with their file.
  store_->run("UPDATE passages SET vector = NULL WHERE vector >= ?1 OR ?1 = 0", {vectors_->count()});
}

void SearchIndex::remove_file(int64_t id) {
  store_->run("DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE file = ?)", {id});
  store_->run("DELETE FROM passages WHERE file = ?", {id});
  store_->run("DELETE FROM files WHERE id = ?", {id});
}

void SearchIndex::add_file(const std::string& path, const std::string& text, int64_t size, int64_t changed) {
  store_->run("INSERT INTO files(path, size, changed) VALUES(?, ?, ?)", {path, size, changed});
  const int64_t file = store_->last_id();
  for (const Passage& passage : passages_of(text)) {
    store_->run("INSERT INTO passages(file, line) VALUES(?, ?)", {file, passage.line});
    store_->run("INSERT INTO words(rowid, text) VALUES(?, ?)", {store_->last_id(), passage.text});
  }
}

void SearchIndex::read_files(Change& change) {
  struct Known {
    int64_t id = 0, size = 0, changed = 0;
  };
  std::map<std::string, Known> known;
  store_->each("SELECT id, path, size, changed FROM files", {}, [&](const Sqlite::Row& row) {
    known[row.text(1)] = {row.integer(0), row.integer(2), row.integer(3)};
  });
  for (const TextFile& file : text_files(folder_)) {
    ++change.files;
    const auto before = known.find(file.path);
    const bool was_there = before != known.end();
    const Known old = was_there ? before->second : Known();
    if (was_there) known.erase(before);
    if (was_there && old.size == file.size && old.changed == file.changed) continue;
    std::optional<std::string> text;
    try {
      text = text_of(folder_ / file.path);
    } catch (const Error&) {  // it went, or may not be read
      --change.files;
    }
    store_->transaction([&] {
      if (was_there) remove_file(old.id);
      add_file(file.path, text.value_or(""), file.size, file.changed);
    });
    if (text) ++change.read;
  }
  for (const auto& [path, old] : known) {
    store_->transaction([&, id = old.id] { remove_file(id); });
    ++change.removed;
  }
}

// So many at a time: vectors reach the disk before the passages say that they have them.
void SearchIndex::embed_passages(Change& change, const std::function<void(int64_t, int64_t)>& done) {
  std::vector<int64_t> left;
  store_->each("SELECT id FROM passages WHERE vector IS NULL ORDER BY id", {},
               [&](const Sqlite::Row& row) { left.push_back(row.integer(0)); });
  std::set<int64_t> taken;
  store_->each("SELECT vector FROM passages WHERE vector IS NOT NULL", {},
               [&](const Sqlite::Row& row) { taken.insert(row.integer(0)); });
  const EmbedOptions options{prompt({"passage", "document", "search_document", "retrieval.passage"}), true};
  int64_t next = 0;
  for (size_t begin = 0; begin < left.size();) {
    const size_t end = std::min(left.size(), begin + static_cast<size_t>(kAtOnce));
    std::vector<EncoderInput> inputs;
    std::vector<int64_t> numbers;  // of each passage
    for (size_t i = begin; i < end; ++i) {
      std::string text;
      store_->each("SELECT text FROM words WHERE rowid = ?", {left[i]},
                   [&](const Sqlite::Row& row) { text = row.text(0); });
      try {
        inputs.push_back(embedder_->read(text, options));
      } catch (const Error& error) {  // nothing that the model knows as text
        if (error.code() != ErrorCode::kInvalidArgument) throw;
        numbers.push_back(-1);
        continue;
      }
      while (taken.count(next)) ++next;
      numbers.push_back(next++);
    }
    const Tensor made = embedder_->embed(inputs);
    const float* from = made.data<float>();
    for (const int64_t number : numbers) {
      if (number < 0) continue;
      std::vector<float> vector(from, from + made.dim(1));
      from += made.dim(1);
      normalize(vector);  // products are cosines
      vectors_->write(number, vector);
    }
    vectors_->flush();
    store_->transaction([&] {
      for (size_t i = begin; i < end; ++i) {
        store_->run("UPDATE passages SET vector = ? WHERE id = ?", {numbers[i - begin], left[i]});
      }
    });
    begin = end;
    change.embedded = static_cast<int64_t>(end);
    if (done) done(change.embedded, std::ssize(left));
  }
}

SearchIndex::Change SearchIndex::update(const std::function<void(int64_t, int64_t)>& done) {
  Change change;
  read_files(change);
  if (embedder_) embed_passages(change, done);
  change.passages = store_->integer("SELECT count(*) FROM passages").value_or(0);
  return change;
}

std::string SearchIndex::prompt(std::initializer_list<const char*> names) const {
  const auto& known = embedder_->settings().prompts;
  for (const char* name : names) {
    if (const auto found = known.find(name); found != known.end()) return found->second;
  }
  return {};
}

std::vector<int64_t> SearchIndex::by_words(const std::string& query, size_t most) const {
  std::vector<int64_t> ids;
  const std::string words = words_of(query);
  if (words.empty()) return ids;
  store_->each("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?",
               {words, static_cast<int64_t>(most)}, [&](const Sqlite::Row& row) { ids.push_back(row.integer(0)); });
  return ids;
}

std::vector<int64_t> SearchIndex::by_meaning(const std::string& query, size_t most) const {
  std::vector<int64_t> passage_of(static_cast<size_t>(vectors_->count()), -1);
  std::vector<bool> counts(passage_of.size(), false);
  store_->each("SELECT id, vector FROM passages WHERE vector IS NOT NULL", {}, [&](const Sqlite::Row& row) {
    const int64_t number = row.integer(1);
    if (number < 0 || number >= std::ssize(passage_of)) return;
    passage_of[static_cast<size_t>(number)] = row.integer(0);
    counts[static_cast<size_t>(number)] = true;
  });
  const EmbedOptions options{prompt({"query", "search_query", "retrieval.query"}), true};
  const EncoderInput input = embedder_->read(query, options);
  const Tensor vector = embedder_->embed(std::span(&input, 1));
  const std::span to(vector.data<float>(), static_cast<size_t>(vector.dim(1)));
  std::vector<int64_t> ids;
  for (const VectorFile::Near& near : vectors_->nearest(to, most, counts)) {
    ids.push_back(passage_of[static_cast<size_t>(near.number)]);
  }
  return ids;
}

Found SearchIndex::passage(int64_t id, const std::string& words) const {
  Found found;
  store_->each(
      "SELECT files.path, passages.line, words.text FROM passages JOIN files ON files.id = passages.file JOIN words ON "
      "words.rowid = passages.id WHERE passages.id = ?",
      {id}, [&](const Sqlite::Row& row) {
        found.path = row.text(0);
        found.line = row.integer(1);
        found.snippet = beginning_of(row.text(2));
      });
  if (words.empty()) return found;
  store_->each("SELECT snippet(words, 0, '', '', '…', 32) FROM words WHERE words MATCH ? AND rowid = ?", {words, id},
               [&](const Sqlite::Row& row) { found.snippet = row.text(0); });
  return found;
}

std::vector<Found> SearchIndex::search(const std::string& query, size_t most, By by) const {
  if (trimmed(query).empty()) throw Error(ErrorCode::kInvalidArgument, "the query is empty");
  const size_t candidates = std::max(most, kCandidates);
  struct Ranks {
    std::optional<int64_t> words, meaning;
  };
  std::map<int64_t, Ranks> ranks;
  if (by != By::kMeaning) {
    const auto ids = by_words(query, candidates);
    for (size_t i = 0; i < ids.size(); ++i) ranks[ids[i]].words = static_cast<int64_t>(i + 1);
  }
  if (by != By::kWords && embedder_) {
    const auto ids = by_meaning(query, candidates);
    for (size_t i = 0; i < ids.size(); ++i) ranks[ids[i]].meaning = static_cast<int64_t>(i + 1);
  }
  const auto score = [](const Ranks& of) {
    const auto part = [](const std::optional<int64_t>& rank) {
      return rank ? 1 / (kRankOffset + static_cast<double>(*rank)) : 0;
    };
    return part(of.words) + part(of.meaning);
  };
  std::vector<std::pair<int64_t, Ranks>> order(ranks.begin(), ranks.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto& a, const auto& b) { return score(a.second) > score(b.second); });
  if (order.size() > most) order.resize(most);
  const std::string words = words_of(query);
  std::vector<Found> found;
  for (const auto& [id, of] : order) {
    found.push_back(passage(id, of.words ? words : ""));
    std::replace(found.back().snippet.begin(), found.back().snippet.end(), '\n', ' ');
    found.back().score = score(of);
    found.back().word_rank = of.words;
    found.back().vector_rank = of.meaning;
  }
  return found;
}

}  // namespace wick
