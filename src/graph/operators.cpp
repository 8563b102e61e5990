#include "graph/operators.h"

#include <algorithm>
#include <map>

#include "base/utf8.h"

namespace wick::graph {
namespace {

using Table = std::map<std::string_view, const Operator*, std::less<>>;

Table make_table(std::initializer_list<Operators> families) {
  Table table;
  for (const Operators family : families) {
    for (const Operator& entry : family) table[entry.name] = &entry;
  }
  return table;
}

const Table& table_of(std::string_view domain) {
  static const Table kOnnx =
      make_table({activation_operators(),  attention_operators(), control_operators(),   convolution_operators(),
                  elementwise_operators(), index_operators(),     learning_operators(),  matmul_operators(),
                  norm_operators(),        pool_operators(),      quantised_operators(), random_operators(),
                  recurrent_operators(),   reduce_operators(),    resize_operators(),    sequence_operators(),
                  shape_operators(),       signal_operators(),    text_operators(),      vision_operators()});
  static const Table kPreview = make_table({learning_preview_operators()});
  static const Table kClassic = make_table({classic_operators()});
  static const Table kMicrosoft = make_table({microsoft_operators()});
  static const Table kNone;
  if (domain.empty()) return kOnnx;
  if (domain == "ai.onnx.preview.training") return kPreview;
  if (domain == "ai.onnx.ml") return kClassic;
  if (domain == "com.microsoft") return kMicrosoft;
  return kNone;
}

bool is_word(std::string_view words, std::string_view word) {
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

const Operator* find_operator(std::string_view domain, std::string_view name) {
  const Table& table = table_of(domain);
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

std::vector<const Operator*> all_operators(std::string_view domain) {
  std::vector<const Operator*> operators;
  for (const auto& entry : table_of(domain)) operators.push_back(entry.second);
  return operators;
}

void bind_operators(Graph& graph, std::vector<std::string>& problems) {
  for (Node& node : graph.nodes) {
    node.implementation = find_operator(node.domain, node.op);
    if (!node.implementation) {
      problems.push_back(
          cat(describe(node), ": Wick has no operator of this name", node.domain.empty() ? "" : " and domain"));
    }
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph) bind_operators(*attribute.graph, problems);
      if (!node.implementation || is_word(node.implementation->attributes, attribute.name)) continue;
      problems.push_back(cat(describe(node), ": attribute ", in_quotes(attribute.name), " is not known"));
    }
  }
}

}  // namespace wick::graph
