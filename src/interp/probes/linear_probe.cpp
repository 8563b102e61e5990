#include "interp/probes/linear_probe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/text.h"
#include "formats/checkpoint.h"
#include "formats/safetensors/safetensors_writer.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/optimizer.h"
#include "ops/softmax.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr const char *kPoint = "wick.point", *kRow = "wick.row", *kLabels = "wick.labels";

Error bad_probe(const std::string& what) { return {ErrorCode::kInvalidArgument, cat("probe: ", what)}; }

void check(const Tensor& rows, std::span<const int64_t> labels, int64_t classes, const ProbeOptions& options) {
  if (rows.rank() != 2 || rows.dim(0) != static_cast<int64_t>(labels.size()) || rows.numel() == 0) {
    throw bad_probe(cat("the rows are ", rows.shape(), " for ", labels.size(), " labels"));
  }
  if (classes < 2) throw bad_probe(cat(classes, " classes are asked for, expected at least 2"));
  for (const int64_t label : labels) {
    if (label < 0 || label >= classes) throw bad_probe(cat("label ", label, " is outside 0 to ", classes - 1));
  }
  if (options.steps < 1) throw bad_probe(cat(options.steps, " steps are asked for"));
  if (!(options.test_share >= 0 && options.test_share < 1)) {
    throw bad_probe(cat("a test share of ", options.test_share, " is asked for, expected 0 to 1"));
  }
  const std::vector<float> values = rows.to_vector<float>();
  if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) {
    throw bad_probe("the rows have values that are not finite");
  }
}

struct Split {
  std::vector<int64_t> train, test;
};

Split split(int64_t rows, const ProbeOptions& options) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  const std::vector<double> keys = rand({rows}, options.seed, DType::kF64).to_vector<double>();
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)]; });
  const auto tests = std::min(static_cast<int64_t>(static_cast<double>(rows) * options.test_share), rows - 1);
  return {{order.begin() + tests, order.end()}, {order.begin(), order.begin() + tests}};
}

Tensor as_tensor(const std::vector<int64_t>& values) {
  return from_vector(values, {static_cast<int64_t>(values.size())});
}

// The mean and spread of each column, so that every value of a row counts alike while training.
struct Scale {
  std::vector<double> mean, spread;

  explicit Scale(const Tensor& rows) : mean(static_cast<size_t>(rows.dim(1))), spread(mean.size()) {
    const std::vector<float> values = rows.to_vector<float>();
    const auto count = static_cast<double>(rows.dim(0));
    for (size_t i = 0; i < values.size(); ++i) mean[i % mean.size()] += values[i] / count;
    for (size_t i = 0; i < values.size(); ++i) {
      const double off = values[i] - mean[i % mean.size()];
      spread[i % mean.size()] += off * off / count;
    }
    for (double& x : spread) x = x > 1e-12 ? std::sqrt(x) : 1;
  }
  Tensor apply(const Tensor& rows) const {
    std::vector<float> values = rows.to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>((values[i] - mean[i % mean.size()]) / spread[i % mean.size()]);
    }
    return from_vector(values, rows.shape());
  }
};

double accuracy(const LinearProbe& probe, const Tensor& rows, const std::vector<int64_t>& which,
                std::span<const int64_t> labels) {
  if (which.empty()) return 0;
  const std::vector<int64_t> predictions = probe.classify(index_select(rows, 0, as_tensor(which)));
  int64_t right = 0;
  for (size_t i = 0; i < which.size(); ++i) right += predictions[i] == labels[static_cast<size_t>(which[i])];
  return static_cast<double>(right) / static_cast<double>(which.size());
}

}  // namespace

LinearProbe LinearProbe::train(const Tensor& given, std::span<const int64_t> labels, int64_t classes,
                               const ProbeOptions& options, ProbeReport* report) {
  const Tensor rows = given.to_device(Device::cpu()).to_dtype(DType::kF32).contiguous();
  check(rows, labels, classes, options);
  const Split parts = split(rows.dim(0), options);
  std::vector<int64_t> targets;
  for (const int64_t row : parts.train) targets.push_back(labels[static_cast<size_t>(row)]);
  const Tensor train_rows = index_select(rows, 0, as_tensor(parts.train)), wanted = as_tensor(targets);
  const Scale scale(train_rows);
  const Tensor inputs = scale.apply(train_rows);

  const EnableGrad grad;
  const Var weight(zeros({rows.dim(1), classes})), bias(zeros({classes}));
  AdamW optimizer({weight, bias}, {.learning_rate = options.learning_rate, .weight_decay = options.weight_decay});
  double loss = 0;
  for (int64_t step = 0; step < options.steps; ++step) {
    const Tensor now = cross_entropy(add(matmul(inputs, weight), bias), wanted);
    loss = now.item();
    optimizer.step(backward(now));
  }
  // Mean and spread are worked into the weights: the probe takes rows as they are.
  const std::vector<double> trained = weight.tensor().detach().to_vector<double>();
  std::vector<double> biases = bias.tensor().detach().to_vector<double>();
  std::vector<float> weights(trained.size());
  const auto width = static_cast<size_t>(rows.dim(1)), count = static_cast<size_t>(classes);
  for (size_t i = 0; i < width; ++i) {
    for (size_t c = 0; c < count; ++c) {
      const double own = trained[i * count + c] / scale.spread[i];
      weights[c * width + i] = static_cast<float>(own);
      biases[c] -= own * scale.mean[i];
    }
  }
  LinearProbe probe(from_vector(weights, {classes, rows.dim(1)}),
                    from_vector(std::vector<float>(biases.begin(), biases.end()), {classes}));
  if (report) {
    *report = {static_cast<int64_t>(parts.train.size()), static_cast<int64_t>(parts.test.size()),
               accuracy(probe, rows, parts.train, labels), accuracy(probe, rows, parts.test, labels), loss};
  }
  return probe;
}

Tensor LinearProbe::probabilities(const Tensor& rows) const {
  if (rows.rank() != 2 || rows.dim(1) != weight_.dim(1)) {
    throw bad_probe(cat("the rows are ", rows.shape(), ", expected [n, ", weight_.dim(1), "]"));
  }
  return softmax(add(matmul(rows.to_dtype(DType::kF32), transpose(weight_, 0, 1)), bias_), -1);
}

std::vector<int64_t> LinearProbe::classify(const Tensor& rows) const {
  const std::vector<float> shares = probabilities(rows).to_vector<float>();
  const auto count = static_cast<size_t>(classes());
  std::vector<int64_t> predictions;
  for (size_t row = 0; row < shares.size(); row += count) {
    const auto begin = shares.begin() + static_cast<int64_t>(row);
    predictions.push_back(std::max_element(begin, begin + classes()) - begin);
  }
  return predictions;
}

void LinearProbe::save(const std::filesystem::path& path) const {
  Metadata metadata;
  metadata.set_text(kPoint, point);
  if (row) metadata.set_text(kRow, to_string(*row));
  std::string list = "[";
  for (const std::string& label : labels) {
    if (list.size() > 1) list += ",";
    append_json_text(list, label);
  }
  if (!labels.empty()) metadata.set_text(kLabels, list + "]");
  SafetensorsWriter writer(path, {{"weight", DType::kF32, weight_.shape()}, {"bias", DType::kF32, bias_.shape()}},
                           metadata);
  writer.write("weight", weight_);
  writer.write("bias", bias_);
  writer.finish();
}

LinearProbe LinearProbe::load(const std::filesystem::path& path) {
  const Checkpoint file = Checkpoint::open(path);
  const auto read = [&](const char* name, int rank) {
    const TensorEntry* entry = file.find(name);
    if (!entry) throw Error(ErrorCode::kBadFile, cat(path, ": there is no '", name, "' of a probe"));
    if (entry->shape.rank() != rank || !entry->dtype || !is_float(*entry->dtype) || entry->shape.numel() == 0) {
      throw Error(ErrorCode::kBadFile,
                  cat(path, ": '", name, "' is ", entry->type, " ", entry->shape, ", expected numbers of rank ", rank));
    }
    return file.get(*entry).to_dtype(DType::kF32).clone();
  };
  LinearProbe probe(read("weight", 2), read("bias", 1));
  if (probe.weight_.dim(0) != probe.bias_.dim(0) || probe.classes() < 2) {
    throw Error(ErrorCode::kBadFile,
                cat(path, ": 'weight' is ", probe.weight_.shape(), " and 'bias' ", probe.bias_.shape()));
  }
  if (file.metadata().find(kPoint)) probe.point = file.metadata().text(kPoint);
  if (file.metadata().find(kRow)) {
    const std::string& word = file.metadata().text(kRow);
    probe.row = text_row_named(word);
    if (!probe.row) throw Error(ErrorCode::kBadFile, cat(path, ": ", kRow, " is '", word, "', expected last or mean"));
  }
  if (file.metadata().find(kLabels)) {
    const std::string source = cat(path, ": ", kLabels);
    probe.labels = Json::parse(file.metadata().text(kLabels), source).to<std::vector<std::string>>();
    if (static_cast<int64_t>(probe.labels.size()) != probe.classes()) {
      throw Error(ErrorCode::kBadFile,
                  cat(source, " has ", probe.labels.size(), " names for ", probe.classes(), " classes"));
    }
  }
  return probe;
}

}  // namespace wick
