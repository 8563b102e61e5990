// Runs every case of the "ops" fixtures (what PyTorch computes in f64) on every device: outputs and gradients.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "base/json.h"
#include "formats/checkpoint.h"
#include "ops/ops.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/fixtures.h"
#include "tensor/create.h"

namespace wick {
namespace {

using Inputs = std::vector<Tensor>;
using Outputs = std::vector<Tensor>;
using Run = std::function<Outputs(const Inputs& in, const Json& attrs)>;

Run unary(Tensor (*op)(const Tensor&)) {
  return [op](const Inputs& in, const Json&) -> Outputs { return {op(in[0])}; };
}
Run binary(Tensor (*op)(const Tensor&, const Tensor&)) {
  return [op](const Inputs& in, const Json&) -> Outputs { return {op(in[0], in[1])}; };
}
Run reduction(Tensor (*op)(const Tensor&, std::span<const int64_t>, bool)) {
  return [op](const Inputs& in, const Json& a) -> Outputs {
    const auto dims = a.find("dims") ? a.at("dims").to<std::vector<int64_t>>() : std::vector{a.at("dim").as_int()};
    return {op(in[0], dims, a.get("keepdim", false))};
  };
}
Run along(Tensor (*op)(const Tensor&, int64_t)) {
  return [op](const Inputs& in, const Json& a) -> Outputs { return {op(in[0], a.at("dim").as_int())}; };
}
Outputs attention(const Inputs& in, bool causal) {
  AttentionOptions options;
  options.causal = causal;
  return {scaled_dot_product_attention(in[0], in[1], in[2], options)};
}
Outputs padded(const Inputs& in, const Json& a, PadMode mode) {
  return {pad(in[0], a.at("dim").as_int(), a.at("left").as_int(), a.at("right").as_int(), mode)};
}
Shape shape_attr(const Json& a, std::string_view name) {
  return Shape(std::span<const int64_t>(a.at(name).to<std::vector<int64_t>>()));
}
Tensor bias_of(const Inputs& in) { return in.size() > 2 ? in[2] : Tensor(); }
Outputs convolved1d(const Inputs& in, const Json& a) {
  const Conv1dOptions options{a.get<int64_t>("stride", 1), a.get<int64_t>("padding", 0), a.get<int64_t>("dilation", 1),
                              a.get<int64_t>("groups", 1)};
  return {conv1d(in[0], in[1], bias_of(in), options)};
}
Outputs convolved2d(const Inputs& in, const Json& a) {
  const Conv2dOptions options{a.get<int64_t>("stride", 1), a.get<int64_t>("padding", 0), a.get<int64_t>("dilation", 1),
                              a.get<int64_t>("groups", 1)};
  return {conv2d(in[0], in[1], bias_of(in), options)};
}
template <typename Options>
Options transpose_options(const Json& a) {
  return {a.get<int64_t>("stride", 1), a.get<int64_t>("padding", 0), a.get<int64_t>("output_padding", 0),
          a.get<int64_t>("dilation", 1), a.get<int64_t>("groups", 1)};
}
Pair2d size_attr(const Json& a) {
  const auto size = a.at("size").to<std::vector<int64_t>>();
  return {size.at(0), size.at(1)};
}

const std::map<std::string, Run>& runs() {
  static const std::map<std::string, Run> table = {
      {"add", binary(add)},
      {"sub", binary(sub)},
      {"mul", binary(mul)},
      {"div", binary(div)},
      {"pow", binary(pow)},
      {"maximum", binary(maximum)},
      {"minimum", binary(minimum)},
      {"eq", binary(eq)},
      {"ne", binary(ne)},
      {"lt", binary(lt)},
      {"le", binary(le)},
      {"gt", binary(gt)},
      {"ge", binary(ge)},
      {"neg", unary(neg)},
      {"abs", unary(abs)},
      {"exp", unary(exp)},
      {"log", unary(log)},
      {"sqrt", unary(sqrt)},
      {"sqr", unary(sqr)},
      {"recip", unary(recip)},
      {"relu", unary(relu)},
      {"gelu", unary(gelu)},
      {"gelu_tanh", unary(gelu_tanh)},
      {"silu", unary(silu)},
      {"sigmoid", unary(sigmoid)},
      {"softplus", unary(softplus)},
      {"tanh", unary(tanh)},
      {"sin", unary(sin)},
      {"cos", unary(cos)},
      {"erf", unary(erf)},
      {"floor", unary(floor)},
      {"ceil", unary(ceil)},
      {"round", unary(round)},
      {"sum", reduction(sum)},
      {"mean", reduction(mean)},
      {"max", reduction(max)},
      {"min", reduction(min)},
      {"softmax", along(softmax)},
      {"log_softmax", along(log_softmax)},
      {"cumsum", along(cumsum)},
      {"matmul", binary(matmul)},
      {"embedding", binary(embedding)},
      {"argmax", [](const Inputs& in, const Json& a) -> Outputs { return {argmax(in[0], a.at("dim").as_int())}; }},
      {"argmin", [](const Inputs& in, const Json& a) -> Outputs { return {argmin(in[0], a.at("dim").as_int())}; }},
      {"var", [](const Inputs& in, const Json& a) -> Outputs { return {var(in[0], {a.at("dim").as_int()})}; }},
      {"matmul_transposed",
       [](const Inputs& in, const Json&) -> Outputs { return {matmul(in[0], transpose(in[1], 0, 1))}; }},
      {"sdpa", [](const Inputs& in, const Json&) { return attention(in, false); }},
      {"sdpa_causal", [](const Inputs& in, const Json&) { return attention(in, true); }},
      {"sdpa_gqa", [](const Inputs& in, const Json&) { return attention(in, true); }},
      {"layer_norm",
       [](const Inputs& in, const Json& a) -> Outputs { return {layer_norm(in[0], in[1], in[2], a.get("eps", 0.f))}; }},
      {"rms_norm",
       [](const Inputs& in, const Json& a) -> Outputs { return {rms_norm(in[0], in[1], a.get("eps", 0.f))}; }},
      {"group_norm",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {group_norm(in[0], a.at("groups").as_int(), in[1], in[2], a.get("eps", 0.f))};
       }},
      {"cross_entropy", [](const Inputs& in, const Json&) -> Outputs { return {cross_entropy(in[0], in[1])}; }},
      {"gather",
       [](const Inputs& in, const Json& a) -> Outputs { return {gather(in[0], a.at("dim").as_int(), in[1])}; }},
      {"scatter",
       [](const Inputs& in, const Json& a) -> Outputs { return {scatter(in[0], a.at("dim").as_int(), in[1], in[2])}; }},
      {"scatter_add",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {scatter_add(in[0], a.at("dim").as_int(), in[1], in[2])};
       }},
      {"index_select",
       [](const Inputs& in, const Json& a) -> Outputs { return {index_select(in[0], a.at("dim").as_int(), in[1])}; }},
      {"index_add",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {index_add(in[0], a.at("dim").as_int(), in[1], in[2])};
       }},
      {"cat", [](const Inputs& in, const Json& a) -> Outputs { return {concat(in, a.at("dim").as_int())}; }},
      {"stack", [](const Inputs& in, const Json& a) -> Outputs { return {stack(in, a.at("dim").as_int())}; }},
      {"narrow",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {narrow(in[0], a.at("dim").as_int(), a.at("start").as_int(), a.at("length").as_int())};
       }},
      {"chunk",
       [](const Inputs& in, const Json& a) { return chunk(in[0], a.at("chunks").as_int(), a.at("dim").as_int()); }},
      {"permute",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {permute(in[0], std::span<const int64_t>(a.at("dims").to<std::vector<int64_t>>()))};
       }},
      {"transpose",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {transpose(in[0], a.at("dim0").as_int(), a.at("dim1").as_int())};
       }},
      {"reshape_of_transposed",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {reshape(transpose(in[0], 0, 1), shape_attr(a, "shape"))};
       }},
      {"broadcast_as",
       [](const Inputs& in, const Json& a) -> Outputs { return {broadcast_as(in[0], shape_attr(a, "shape"))}; }},
      {"where", [](const Inputs& in, const Json&) -> Outputs { return {where(in[0], in[1], in[2])}; }},
      {"clamp",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {clamp(in[0], a.at("min").as_number(), a.at("max").as_number())};
       }},
      {"pad", [](const Inputs& in, const Json& a) { return padded(in, a, PadMode::kZero); }},
      {"pad_reflect", [](const Inputs& in, const Json& a) { return padded(in, a, PadMode::kReflect); }},
      {"flip",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {flip(in[0], a.at("dims").to<std::vector<int64_t>>())};
       }},
      {"sort",
       [](const Inputs& in, const Json& a) -> Outputs {
         const Sorted out = sort(in[0], a.at("dim").as_int());
         return {out.values, out.indices};
       }},
      {"topk",
       [](const Inputs& in, const Json& a) -> Outputs {
         const Sorted out = topk(in[0], a.at("k").as_int(), a.at("dim").as_int());
         return {out.values, out.indices};
       }},
      {"tril", [](const Inputs& in, const Json& a) -> Outputs { return {tril(in[0], a.at("diagonal").as_int())}; }},
      {"conv1d", convolved1d},
      {"conv2d", convolved2d},
      {"conv_transpose1d",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {conv_transpose1d(in[0], in[1], bias_of(in), transpose_options<ConvTranspose1dOptions>(a))};
       }},
      {"conv_transpose2d",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {conv_transpose2d(in[0], in[1], bias_of(in), transpose_options<ConvTranspose2dOptions>(a))};
       }},
      {"avg_pool2d",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {avg_pool2d(in[0], a.at("kernel").as_int(), a.at("stride").as_int())};
       }},
      {"max_pool2d",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {max_pool2d(in[0], a.at("kernel").as_int(), a.at("stride").as_int())};
       }},
      {"upsample_nearest2d",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {upsample_nearest2d_by(in[0], a.at("scale").as_int())};
       }},
      {"upsample_bilinear2d",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {upsample_bilinear2d(in[0], size_attr(a), a.get("align_corners", false))};
       }},
      {"upsample_bicubic2d",
       [](const Inputs& in, const Json& a) -> Outputs {
         return {upsample_bicubic2d(in[0], size_attr(a), a.get("align_corners", false))};
       }},
      {"lstm_like_gate", [](const Inputs& in, const Json&) -> Outputs { return {mul(sigmoid(in[0]), tanh(in[1]))}; }},
  };
  return table;
}

// Sums over many products may differ by more than one rounding.
double output_tolerance(const std::string& op) {
  for (const char* summing : {"sum", "mean", "var", "softmax", "cumsum", "matmul", "sdpa", "norm", "conv", "pool",
                              "upsample", "cross_entropy"}) {
    if (op.find(summing) != std::string::npos) return 1e-5;
  }
  return 2e-6;
}

void run_case(const Checkpoint& data, const Json& spec, Device device) {
  const std::string name = spec.at("name").as_text(), op = spec.at("op").as_text();
  SCOPED_TRACE(name);
  const auto run = runs().find(op);
  ASSERT_NE(run, runs().end()) << "no op called " << op;
  const auto field = [&](const std::string& part) { return data.get(name + "/" + part).to_device(device); };
  std::vector<Var> vars;
  Inputs inputs;
  for (int i = 0; i < spec.at("inputs").as_int(); ++i) {
    const std::string part = "in" + std::to_string(i);
    Tensor input = field(part);
    if (data.find(name + "/grad_" + part)) input = vars.emplace_back(input).tensor();
    inputs.push_back(input);
  }
  const Outputs outputs = run->second(inputs, spec.at("attrs"));
  ASSERT_EQ(static_cast<int64_t>(outputs.size()), spec.at("outputs").as_int());
  for (size_t i = 0; i < outputs.size(); ++i) {
    expect_close(outputs[i], field("out" + std::to_string(i)), output_tolerance(op), "out" + std::to_string(i));
  }
  if (vars.empty()) return;
  const Gradients grads = backward(outputs[0], field("grad_out"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string part = "grad_in" + std::to_string(i);
    if (data.find(name + "/" + part)) expect_close(grads.of(inputs[i]), field(part), 1e-5, part);
  }
}

class OpsFixture : public OnEveryDevice {};

TEST_P(OpsFixture, MatchesPyTorch) {
  const auto folders = fixture_folders("ops");
  ASSERT_FALSE(folders.empty());
  for (const auto& folder : folders) {
    const auto data = Checkpoint::open(folder / "reference.safetensors");
    const Json cases = Json::load(folder / "reference.json");
    EXPECT_GE(cases.at("cases").as_array().size(), 1u);
    for (const Json& spec : cases.at("cases").as_array()) run_case(data, spec, device());
  }
}

WICK_ON_EVERY_DEVICE(OpsFixture);

}  // namespace
}  // namespace wick
