#include <algorithm>
#include <cmath>

#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/binary.h"
#include "ops/layers/matmul.h"
#include "ops/rearrange.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

// One of the functions that gates go through.
struct Gate {
  std::string name;
  float alpha = 0, beta = 0;
  float operator()(float x) const {
    if (name == "Sigmoid") return 1 / (1 + std::exp(-x));
    if (name == "Tanh") return std::tanh(x);
    if (name == "Relu") return x > 0 ? x : 0;
    if (name == "Affine") return alpha * x + beta;
    if (name == "LeakyRelu") return x < 0 ? alpha * x : x;
    if (name == "ThresholdedRelu") return x > alpha ? x : 0;
    if (name == "ScaledTanh") return alpha * std::tanh(beta * x);
    if (name == "HardSigmoid") return std::clamp(alpha * x + beta, 0.0f, 1.0f);
    if (name == "Elu") return x < 0 ? alpha * std::expm1(x) : x;
    if (name == "Softsign") return x / (1 + std::fabs(x));
    return std::log1p(std::exp(x));  // Softplus
  }
};

std::vector<Gate> gates_of(OpRun& run, const std::vector<std::string>& usual, int directions) {
  const auto* given = run.node().find("activations");
  std::vector<std::string> names = given ? given->strings : std::vector<std::string>();
  if (names.empty()) {
    for (int d = 0; d < directions; ++d) names.insert(names.end(), usual.begin(), usual.end());
  }
  if (names.size() != usual.size() * static_cast<size_t>(directions))
    throw bad_input(cat(names.size(), " activations"));
  const auto alphas = run.floats("activation_alpha"), betas = run.floats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  std::vector<Gate> gates;
  for (const std::string& name : names) {
    struct Known {
      std::string_view name;
      float alpha, beta;
      bool has_alpha, has_beta;
    };
    constexpr Known kKnown[] = {{"Sigmoid", 0, 0, false, false},      {"Tanh", 0, 0, false, false},
                                {"Relu", 0, 0, false, false},         {"Affine", 1, 0, true, true},
                                {"LeakyRelu", 0.01f, 0, true, false}, {"ThresholdedRelu", 1, 0, true, false},
                                {"ScaledTanh", 1, 1, true, true},     {"HardSigmoid", 0.2f, 0.5f, true, true},
                                {"Elu", 1, 0, true, false},           {"Softsign", 0, 0, false, false},
                                {"Softplus", 0, 0, false, false}};
    const auto* known =
        std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return k.name == name; });
    if (known == std::end(kKnown)) throw not_offered(cat("the activation '", name, "'"));
    Gate gate{name, known->alpha, known->beta};
    if (known->has_alpha && next_alpha < alphas.size()) gate.alpha = alphas[next_alpha++];
    if (known->has_beta && next_beta < betas.size()) gate.beta = betas[next_beta++];
    gates.push_back(gate);
  }
  return gates;
}

// What all three have in common. x [steps, batch, in]; W [directions, gates * hidden, in]; R [.., hidden];
// B [directions, 2 * gates * hidden].
struct Setup {
  Tensor x, w, r, b;
  std::vector<int64_t> lengths;  // by sequence
  int64_t steps = 0, batch = 0, in = 0, hidden = 0;
  int directions = 1;
  bool first_backward = false, batch_first = false;
  float clip = 0;  // 0: none
};

Setup setup_of(OpRun& run, int gates) {
  Setup s;
  s.batch_first = run.get("layout", int64_t{0}) != 0;
  s.x = run.tensor(0).to_dtype(DType::kF32), s.w = run.tensor(1).to_dtype(DType::kF32),
  s.r = run.tensor(2).to_dtype(DType::kF32);
  if (s.x.rank() != 3 || s.w.rank() != 3 || s.r.rank() != 3)
    throw Error(ErrorCode::kShape, cat("X is ", s.x.shape(), ", W ", s.w.shape(), ", R ", s.r.shape()));
  if (s.batch_first) s.x = transpose(s.x, 0, 1);
  s.steps = s.x.dim(0), s.batch = s.x.dim(1), s.in = s.x.dim(2), s.hidden = s.r.dim(2);
  const std::string direction = run.get("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    throw bad_input(cat("direction is '", direction, "'"));
  s.directions = direction == "bidirectional" ? 2 : 1;
  s.first_backward = direction == "reverse";
  s.clip = run.get("clip", 0.0f);
  const Shape w{s.directions, gates * s.hidden, s.in}, r{s.directions, gates * s.hidden, s.hidden},
      b{s.directions, 2 * gates * s.hidden};
  if (run.has(3)) s.b = run.tensor(3).to_dtype(DType::kF32).contiguous();
  if (s.w.shape() != w || s.r.shape() != r || (s.b.defined() && s.b.shape() != b)) {
    throw Error(ErrorCode::kShape,
                cat("W is ", s.w.shape(), " and R ", s.r.shape(), ", expected ", w, " and ", r, ", or B is not ", b));
  }
  if (run.has("hidden_size") && run.needed("hidden_size") != s.hidden)
    throw Error(ErrorCode::kShape, cat("hidden_size is ", run.needed("hidden_size"), ", R ", s.r.shape()));
  s.lengths = run.has(4) ? run.ints(4) : std::vector<int64_t>(static_cast<size_t>(s.batch), s.steps);
  if (std::ssize(s.lengths) != s.batch)
    throw Error(ErrorCode::kShape, cat(s.lengths.size(), " lengths for ", s.batch, " sequences"));
  for (const int64_t length : s.lengths) {
    if (length < 0 || length > s.steps) throw bad_input(cat("a length of ", length, " for ", s.steps, " steps"));
  }
  return s;
}

// [directions, batch, hidden]; zeros when left out.
Tensor state_of(OpRun& run, const Setup& s, int input) {
  const Shape shape{s.directions, s.batch, s.hidden};
  if (!run.has(input)) return zeros(shape);
  const Tensor state = s.batch_first ? transpose(run.tensor(input), 0, 1) : run.tensor(input);
  if (state.shape() != shape) throw Error(ErrorCode::kShape, cat("a state of ", state.shape(), ", expected ", shape));
  return state.to_dtype(DType::kF32).clone();
}

Tensor part(const Tensor& x, int64_t index) { return squeeze(narrow(x, 0, index, 1), 0); }

// Runs all steps of all directions. step(direction, from_input [batch, gates * hidden], from_hidden, h, sequence)
// writes the new state of one sequence; products with `r` are given.
template <typename Step>
Tensor run_steps(const Setup& s, const Tensor& hidden, int gates, Step step) {
  const Tensor all = zeros({s.steps, s.directions, s.batch, s.hidden});
  const int64_t width = gates * s.hidden;
  for (int d = 0; d < s.directions; ++d) {
    const bool backward = d == 1 || s.first_backward;
    Tensor inputs = matmul(reshape(s.x, {s.steps * s.batch, s.in}), transpose(part(s.w, d), 0, 1));
    if (s.b.defined()) inputs = add(inputs, narrow(part(s.b, d), 0, 0, width));
    const Tensor recurrent = transpose(part(s.r, d), 0, 1);
    const Tensor state = part(hidden, d);
    float* h = state.mutable_data<float>();
    for (int64_t t = 0; t < s.steps; ++t) {
      const Tensor products = matmul(state, recurrent);
      for (int64_t b = 0; b < s.batch; ++b) {
        if (t >= s.lengths[b]) continue;
        const int64_t at = backward ? s.lengths[b] - 1 - t : t;
        step(d, b, inputs.data<float>() + (at * s.batch + b) * width, products.data<float>() + b * width,
             h + b * s.hidden);
        std::copy_n(h + b * s.hidden, s.hidden,
                    all.mutable_data<float>() + ((at * s.directions + d) * s.batch + b) * s.hidden);
      }
    }
  }
  return all;
}

void finish(OpRun& run, const Setup& s, const Tensor& all, const Tensor& hidden) {
  const ElementType type = run.type(0);
  run.set(0, store(s.batch_first ? permute(all, {2, 0, 1, 3}).contiguous() : all, type));
  run.set(1, store(s.batch_first ? transpose(hidden, 0, 1).contiguous() : hidden, type));
}

float clipped(const Setup& s, float x) { return s.clip > 0 ? std::clamp(x, -s.clip, s.clip) : x; }

// The second half of B: that of R.
const float* recurrent_bias(const Setup& s, int direction, int64_t width, const std::vector<float>& none) {
  return s.b.defined() ? s.b.data<float>() + (2 * direction + 1) * width : none.data();
}

void rnn_op(OpRun& run) {
  const Setup s = setup_of(run, 1);
  const auto gates = gates_of(run, {"Tanh"}, s.directions);
  const Tensor hidden = state_of(run, s, 5);
  const std::vector<float> none(static_cast<size_t>(s.hidden));
  const Tensor all = run_steps(s, hidden, 1, [&](int d, int64_t, const float* x, const float* r, float* h) {
    const float* bias = recurrent_bias(s, d, s.hidden, none);
    for (int64_t i = 0; i < s.hidden; ++i) h[i] = gates[d](clipped(s, x[i] + r[i] + bias[i]));
  });
  finish(run, s, all, hidden);
}

void lstm_op(OpRun& run) {  // gates: input, output, forget, cell
  const Setup s = setup_of(run, 4);
  const auto gates = gates_of(run, {"Sigmoid", "Tanh", "Tanh"}, s.directions);
  const Tensor hidden = state_of(run, s, 5), cells = state_of(run, s, 6);
  const bool coupled = run.get("input_forget", int64_t{0}) != 0;
  Tensor peepholes;
  if (run.has(7)) {
    peepholes = run.tensor(7).to_dtype(DType::kF32).contiguous();
    if (peepholes.shape() != Shape{s.directions, 3 * s.hidden})
      throw Error(ErrorCode::kShape, cat("P is ", peepholes.shape()));
  }
  const int64_t n = s.hidden;
  const std::vector<float> none(static_cast<size_t>(4 * n));
  const Tensor all = run_steps(s, hidden, 4, [&](int d, int64_t b, const float* x, const float* r, float* h) {
    const float* bias = recurrent_bias(s, d, 4 * n, none);
    const float* peep = peepholes.defined() ? peepholes.data<float>() + d * 3 * n : none.data();
    float* c = cells.mutable_data<float>() + (d * s.batch + b) * n;
    const Gate &f = gates[3 * d], &g = gates[3 * d + 1], &last = gates[3 * d + 2];
    const auto sum = [&](int64_t gate, int64_t i) { return x[gate * n + i] + r[gate * n + i] + bias[gate * n + i]; };
    for (int64_t i = 0; i < n; ++i) {
      const float in = f(clipped(s, sum(0, i) + peep[i] * c[i]));
      const float forget = coupled ? 1 - in : f(clipped(s, sum(2, i) + peep[2 * n + i] * c[i]));
      const float cell = forget * c[i] + in * g(clipped(s, sum(3, i)));
      const float out = f(clipped(s, sum(1, i) + peep[n + i] * cell));
      c[i] = cell;
      h[i] = out * last(cell);
    }
  });
  finish(run, s, all, hidden);
  run.set(2, store(s.batch_first ? transpose(cells, 0, 1).contiguous() : cells, run.type(0)));
}

void gru_op(OpRun& run) {  // gates: update, reset, hidden
  Setup s = setup_of(run, 3);
  const auto gates = gates_of(run, {"Sigmoid", "Tanh"}, s.directions);
  const Tensor hidden = state_of(run, s, 5);
  const bool reset_behind = run.get("linear_before_reset", int64_t{0}) != 0;
  const int64_t n = s.hidden;
  const std::vector<float> none(static_cast<size_t>(3 * n));
  std::vector<float> update(static_cast<size_t>(n)), reset_state(static_cast<size_t>(n));
  const Tensor recurrent = s.r.contiguous();
  const Tensor all = run_steps(s, hidden, 3, [&](int d, int64_t, const float* x, const float* r, float* h) {
    const float* bias = recurrent_bias(s, d, 3 * n, none);
    const Gate &f = gates[2 * d], &g = gates[2 * d + 1];
    for (int64_t i = 0; i < n; ++i) {
      update[i] = f(clipped(s, x[i] + r[i] + bias[i]));
      const float reset = f(clipped(s, x[n + i] + r[n + i] + bias[n + i]));
      reset_state[i] = reset_behind ? reset : reset * h[i];
    }
    const float* rows = recurrent.data<float>() + (3 * d + 2) * n * n;
    std::vector<float> next(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      float total = 0;
      if (reset_behind) {
        total = reset_state[i] * (r[2 * n + i] + bias[2 * n + i]);
      } else {
        for (int64_t j = 0; j < n; ++j) total += reset_state[j] * rows[i * n + j];
        total += bias[2 * n + i];
      }
      const float made = g(clipped(s, x[2 * n + i] + total));
      next[i] = (1 - update[i]) * made + update[i] * h[i];
    }
    std::copy(next.begin(), next.end(), h);
  });
  finish(run, s, all, hidden);
}

constexpr Operator kOperators[] = {
    {"GRU", gru_op,
     "activation_alpha activation_beta activations clip direction hidden_size layout linear_before_reset "
     "output_sequence"},
    {"LSTM", lstm_op,
     "activation_alpha activation_beta activations clip direction hidden_size input_forget layout output_sequence"},
    {"RNN", rnn_op, "activation_alpha activation_beta activations clip direction hidden_size layout output_sequence"},
};

}  // namespace

Operators recurrent_operators() { return kOperators; }

}  // namespace wick::graph
