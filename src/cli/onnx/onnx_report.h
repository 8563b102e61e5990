#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph_model.h"

namespace wick {

// What `wick onnx inspect` and `wick onnx run --profile` say, as text.
std::string describe_model(const OnnxModel& model, const graph::Imported& imported,
                           const std::vector<std::string>& problems, bool nodes);
// One line per operator, or per node, the slowest first. `runs`: the seconds are divided by it.
std::string profile_table(const std::map<const graph::Node*, graph::NodeTime>& times, int runs, bool by_node);
// For chrome://tracing: the first call of each node.
std::string profile_trace(const std::map<const graph::Node*, graph::NodeTime>& times);
// "f32 [2, 3]" and the least, mean and most of its numbers, or the first of its texts.
std::string summary(const graph::Value& value);

}  // namespace wick
