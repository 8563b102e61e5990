#include "formats/safetensors/safetensors_index.h"

#include <algorithm>
#include <map>

#include "base/json_reader.h"
#include "base/utf8.h"

namespace wick {
namespace {

// A shard lies beside the index: a name that leads elsewhere is an attempt to read another file.
void check_shard_name(const std::string& name, const std::filesystem::path& path) {
  const bool leads_away = name.find_first_of("/\\") != std::string::npos || name.find("..") != std::string::npos ||
                          name.find('\0') != std::string::npos;
  if (name.empty() || name == "." || leads_away) {
    throw bad_file(path, cat("the shard name ", in_quotes(name), " is not a plain file name"));
  }
}

class IndexReader {
 public:
  IndexReader(std::string_view text, const std::filesystem::path& path) : path_(path), json_(text, path.string()) {}

  SafetensorsIndex read() {
    bool has_map = false;
    json_.set_place("the index", "", "");
    json_.begin_object();
    for (std::string name; json_.next_name(name);) {
      if (name != "weight_map") {
        json_.skip();
        continue;
      }
      if (has_map) throw bad_file(path_, "the name 'weight_map' is given twice");
      has_map = true;
      read_map();
    }
    json_.finish();
    if (!has_map) throw bad_file(path_, "'weight_map' is missing");
    if (index_.items.empty()) throw bad_file(path_, "'weight_map' names no tensor");
    sort();
    return std::move(index_);
  }

 private:
  void read_map() {
    json_.set_place("", "", "weight_map");
    json_.begin_object();
    for (std::string tensor; json_.next_name(tensor);) {
      json_.set_place("", "weight_map", tensor);
      const auto [shard, is_new] = shards_.try_emplace(json_.text(), shards_.size());
      if (is_new) check_shard_name(shard->first, path_);
      index_.items.emplace_back(tensor, shard->second);
    }
  }

  void sort() {
    std::vector<size_t> places(shards_.size());  // by order of appearance
    for (const auto& [name, appeared] : shards_) {
      places[appeared] = index_.shards.size();
      index_.shards.push_back(name);
    }
    for (auto& [tensor, shard] : index_.items) shard = places[shard];
    std::sort(index_.items.begin(), index_.items.end());
    for (size_t i = 1; i < index_.items.size(); ++i) {
      const std::string& name = index_.items[i].first;
      if (name == index_.items[i - 1].first) throw bad_file(path_, cat("tensor ", in_quotes(name), " is listed twice"));
    }
  }

  const std::filesystem::path& path_;
  JsonReader json_;
  std::map<std::string, size_t> shards_;
  SafetensorsIndex index_;
};

}  // namespace

SafetensorsIndex read_safetensors_index(const MappedFile& file) {
  const auto bytes = file.bytes();
  return IndexReader({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.path()).read();
}

void check_index(const SafetensorsIndex& index, const std::filesystem::path& index_path,
                 const std::vector<FileContents>& contents) {
  std::vector<std::pair<std::string_view, size_t>> found;
  for (size_t shard = 0; shard < contents.size(); ++shard) {
    for (const TensorEntry& entry : contents[shard].entries) found.emplace_back(entry.name, shard);
  }
  std::sort(found.begin(), found.end());
  const auto place = [&](size_t shard) { return in_quotes(index.shards[shard]); };
  for (size_t i = 1; i < found.size(); ++i) {
    if (found[i].first == found[i - 1].first) {
      const auto [first, second] = std::pair(found[i - 1].second, found[i].second);
      throw bad_file(
          index_path,
          cat("tensor ", in_quotes(found[i].first),
              first == second ? " is listed twice in " : cat(" is both in ", place(first), " and in "), place(second)));
    }
  }
  size_t at = 0;
  for (const auto& [name, shard] : index.items) {
    if (at < found.size() && found[at].first < name) break;  // not in the index: reported below
    if (at == found.size() || found[at].first != name) {
      throw bad_file(index_path, cat("tensor ", in_quotes(name), " is not in ", place(shard)));
    }
    if (found[at].second != shard) {
      throw bad_file(index_path,
                     cat("tensor ", in_quotes(name), " is in ", place(found[at].second), ", not in ", place(shard)));
    }
    ++at;
  }
  if (at < found.size()) {
    throw bad_file(index_path,
                   cat("tensor ", in_quotes(found[at].first), " of ", place(found[at].second), " is not in the index"));
  }
}

}  // namespace wick
