#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/executor.h"
#include "graph/import.h"
#include "tensor/reuse_pool.h"

namespace wick::graph {

struct GraphOptions {
  int64_t memory_limit = int64_t{8} << 30;  // bytes of all values at one time, without the weights in the file
  bool optimize = true;
  std::set<std::string, std::less<>> keep;  // values that passes leave as they are, to be watched or replaced
};

struct Port {
  std::string name;
  ValueType type;
};

using NamedValues = std::map<std::string, Value, std::less<>>;

// An ONNX file that is ready to run. Shapes are found while it runs, so any that the nodes accept will do.
class GraphModel {
 public:
  // Throws Error(kBadFile) or Error(kUnsupported) naming the node or the tensor, with the path before.
  static std::unique_ptr<GraphModel> open(const std::filesystem::path& path, const GraphOptions& options = {});
  static std::unique_ptr<GraphModel> read(std::shared_ptr<const MappedFile> file, const GraphOptions& options = {});

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const Graph& graph() const { return imported_.graph; }
  const Imported& imported() const { return imported_; }
  int64_t most_bytes() const { return pool_.most_bytes(); }

  // One run at a time; others wait. Throws Error naming the input or the node at fault. What it gives is its own.
  NamedValues run(const NamedValues& inputs, const RunOptions& options = {});

 private:
  explicit GraphModel(const GraphOptions& options) : pool_(options.memory_limit) {}
  void load(const OnnxModel& model, const GraphOptions& options);

  std::mutex mutex_;
  ReusePool pool_;
  Imported imported_;
  std::vector<Port> inputs_, outputs_;
};

// Sentences about nodes that could not be run: no such operator, an attribute that is not known.
std::vector<std::string> check_model(const OnnxModel& model);

}  // namespace wick::graph
