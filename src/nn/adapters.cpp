#include "nn/adapters.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "nn/linear.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/view.h"

namespace wick {
namespace {

thread_local const AdapterPass* pass_under_way = nullptr;

}  // namespace

AdapterPass::AdapterPass(std::vector<AdaptedRows> rows, int64_t tokens, int64_t kept)
    : rows_(std::move(rows)), tokens_(tokens), kept_(kept), outer_(pass_under_way) {
  pass_under_way = rows_.empty() ? nullptr : this;
}

AdapterPass::~AdapterPass() { pass_under_way = outer_; }

const AdapterPass* AdapterPass::current() { return pass_under_way; }

const Tensor& AdapterPass::index(const AdaptedRows& rows, int64_t count) const {
  if (count == tokens_) return rows.all;
  if (count == kept_) return rows.kept;
  throw Error(ErrorCode::kShape,
              cat("adapters: ", count, " rows in a pass of ", tokens_, " tokens and ", kept_, " logits"));
}

const LoraDelta* LinearAdapters::find(int64_t adapter) const {
  const auto found =
      std::find_if(deltas_.begin(), deltas_.end(), [&](const LoraDelta& delta) { return delta.adapter == adapter; });
  return found == deltas_.end() ? nullptr : &*found;
}

Tensor LinearAdapters::add_to(const Tensor& y, const Tensor& x, const Linear& linear) const {
  const AdapterPass* pass = AdapterPass::current();
  Tensor out = y;
  if (!pass || deltas_.empty()) return out;
  for (const AdaptedRows& rows : pass->rows()) {
    const Tensor& index = pass->index(rows, x.dim(0));
    if (index.defined() && index.numel() == 0) continue;
    const Tensor input = (index.defined() ? take_rows(x, index) : x).to_dtype(DType::kF32);
    for (const int64_t adapter : rows.adapters) {
      const LoraDelta* delta = find(adapter);
      if (!delta) continue;
      Tensor more = matmul(matmul(input, transpose(delta->a, 0, 1)), transpose(delta->b, 0, 1));
      if (delta->gain.defined()) {
        const Tensor plain = Linear{linear.weight, {}, linear.input_order, {}}(LinearInput{input}, {});
        more = sub(mul(wick::add(plain, more), delta->gain), plain);
      }
      out = index.defined() ? index_add(out, 0, index, more) : wick::add(out, more);
    }
  }
  return out;
}

}  // namespace wick
