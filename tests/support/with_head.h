#pragma once

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "embed/classifier.h"
#include "formats/safetensors/safetensors_writer.h"
#include "support/sentence_folder.h"
#include "tensor/create.h"

namespace wick {

using Row = std::vector<double>;

// A fixture with a head on it, whose encoder's names have a prefix, as transformers saves it.
class WithHead {
 public:
  WithHead(const std::string& family, const std::string& architecture, std::vector<NamedTensor> head,
           const std::string& settings = "", const std::string& labels = R"({"0": "good", "1": "bad", "2": "odd"})")
      : head_(std::move(head)) {
    const auto from = family_folder(family);
    const std::string prefix = cat(family == "modernbert"    ? "model"
                                   : family == "xlm-roberta" ? "roberta"
                                                             : family,
                                   ".");
    const Checkpoint base = Checkpoint::open(from / "model.safetensors");
    std::vector<NamedTensor> all = head_;
    for (const TensorEntry& entry : base.entries()) {
      all.push_back({prefix + entry.name, base.get(entry).to_dtype(DType::kF32).contiguous()});
    }
    folder.write("model.safetensors", safetensors_bytes(all));
    std::ifstream in(from / "config.json");
    std::string config{std::istreambuf_iterator<char>(in), {}};
    const size_t list = config.find("\"architectures\"");
    const size_t end = config.find(']', list);
    config.replace(list, end + 1 - list,
                   cat(R"("architectures": [")", architecture, R"("], "id2label": )", labels, settings));
    folder.write("config.json", config);
  }
  std::shared_ptr<const Classifier> load() const { return Classifier::load(folder.path()); }

  // weight x + bias, or without one.
  Row linear(const std::string& name, const Row& x) const {
    const Tensor& weight = find(name + ".weight");
    Row out;
    for (int64_t i = 0; i < weight.dim(0); ++i) {
      double sum = has(name + ".bias") ? find(name + ".bias").data<float>()[i] : 0;
      for (size_t j = 0; j < x.size(); ++j) sum += x[j] * weight.data<float>()[static_cast<size_t>(i) * x.size() + j];
      out.push_back(sum);
    }
    return out;
  }
  bool has(const std::string& name) const {
    return std::any_of(head_.begin(), head_.end(), [&](const NamedTensor& one) { return one.name == name; });
  }
  const Tensor& find(const std::string& name) const {
    return std::find_if(head_.begin(), head_.end(), [&](const NamedTensor& one) { return one.name == name; })->values;
  }

  TinySentences folder;

 private:
  std::vector<NamedTensor> head_;
};

// A tensor of a head, always the same for its name.
inline NamedTensor made(const std::string& name, const Shape& shape) {
  return {name, randn(shape, std::hash<std::string>{}(name) % 1000)};
}

}  // namespace wick
