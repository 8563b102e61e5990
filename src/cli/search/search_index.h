#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/search/sqlite.h"
#include "cli/search/vector_file.h"
#include "embed/embedder.h"
#include "hub/file_lock.h"

namespace wick {

struct Found {
  std::string path;  // relative to the folder
  int64_t line = 0;
  std::string snippet;
  double score = 0;
  std::optional<int64_t> word_rank, vector_rank;  // from 1, in the lists that were put together
};

// The texts of a folder, to be searched by their words (SQLite's FTS5) and, with a model, by what they mean. What is
// known lies in a folder of its own: "texts.sqlite" has files, passages and words, "vectors" what the model made of
// them. An update looks at files whose size or time has changed, and goes on where an earlier one was interrupted.
class SearchIndex {
 public:
  // `embedder` null: words alone. `model`: what its vectors depend on; others are computed again. Throws Error(kIo)
  // while another process updates the same index.
  SearchIndex(std::filesystem::path folder, const std::filesystem::path& index,
              std::shared_ptr<const Embedder> embedder, uint64_t model);

  struct Change {
    int64_t files = 0, read = 0, removed = 0;  // there are; were new or different; are gone
    int64_t passages = 0, embedded = 0;
  };
  // `done` hears how many of how many passages have their vectors.
  Change update(const std::function<void(int64_t done, int64_t all)>& done = {});

  enum class By : uint8_t { kBoth, kWords, kMeaning };
  // The best passages, the best first: by both lists, a passage counts 1 / (60 + its rank) in each. Throws
  // Error(kInvalidArgument) for empty queries.
  std::vector<Found> search(const std::string& query, size_t most, By by = By::kBoth) const;

 private:
  void read_files(Change& change);
  void embed_passages(Change& change, const std::function<void(int64_t, int64_t)>& done);
  void add_file(const std::string& path, const std::string& text, int64_t size, int64_t changed);
  void remove_file(int64_t id);
  std::vector<int64_t> by_words(const std::string& query, size_t most) const;
  std::vector<int64_t> by_meaning(const std::string& query, size_t most) const;
  Found passage(int64_t id, const std::string& words) const;
  std::string prompt(std::initializer_list<const char*> names) const;

  std::filesystem::path folder_;
  std::optional<FileLock> lock_;
  std::shared_ptr<const Embedder> embedder_;
  std::unique_ptr<Sqlite> store_;
  std::unique_ptr<VectorFile> vectors_;
};

}  // namespace wick
