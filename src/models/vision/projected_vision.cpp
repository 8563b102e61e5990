#include "models/vision/projected_vision.h"

#include "base/error.h"
#include "base/text.h"
#include "ops/index.h"
#include "ops/reduction.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

// Blocks of side x side rows of each picture [pictures * grid.count(), width] as their mean.
Tensor mean_of_blocks(const Tensor& rows, GridSize grid, int64_t side) {
  const int64_t pictures = rows.dim(0) / grid.count(), width = rows.dim(1);
  const Tensor cut = reshape(rows, {pictures * grid.rows / side, side, grid.columns / side, side, width});
  return reshape(mean(cut, {1, 3}), {-1, width});
}

}  // namespace

ProjectedVision::ProjectedVision(VitConfig tower, ProjectorConfig projector, const PictureTokens& tokens,
                                 WeightLoader& loader)
    : tower_(std::move(tower), loader), projector_(std::move(projector)) {
  const ArenaPause keep;
  const VitConfig& vit = tower_.config();
  const ProjectorConfig& to = projector_;
  facts_.family = to.family;
  facts_.tokens = tokens;
  facts_.channels = vit.channels;
  facts_.patch_side = vit.patch;
  facts_.join = to.join;
  facts_.takes_patches = vit.flat_patches;
  facts_.values = vit.patch_values();
  if (!vit.flat_patches) {
    facts_.height = vit.grid.rows * vit.patch;
    facts_.width = vit.grid.columns * vit.patch;
  }
  const int64_t joined = to.pooled > 0 ? vit.width : vit.width * to.join * to.join;
  if (!to.norm.empty()) norm_ = loader.norm(to.norm, to.norm_kind, joined, to.eps, true, true, to.norm_offset);
  if (!to.flat.empty()) {
    const Tensor weight = loader.vector(to.flat, {joined, to.hidden});
    if (weight.defined()) in_.weight = transpose(weight, 0, 1).contiguous();
    return;
  }
  in_ = loader.linear(to.in, to.out.empty() ? to.hidden : to.inner, joined, to.bias);
  if (!to.out.empty()) out_ = loader.linear(to.out, to.hidden, to.inner, to.bias);
}

Tensor ProjectedVision::project(const Tensor& rows, GridSize grid) const {
  const ProjectorConfig& to = projector_;
  const Tensor joined = to.pooled > 0  ? mean_of_blocks(rows, grid, to.join)
                        : to.join == 1 ? rows
                                       : join_blocks(rows, grid, to.join);
  const Tensor x = in_(norm_(joined).contiguous());
  return out_.defined() ? out_(activate(to.activation, x)) : x;
}

int64_t ProjectedVision::rows_of(const VisionInput& input) const {
  check(input);
  const int64_t each = projector_.join * projector_.join;
  if (facts_.takes_patches) return input.values.dim(0) / each;
  const int64_t extra = projector_.drops_class ? 0 : tower_.config().extra_rows();
  return input.values.dim(0) * (extra + tower_.config().grid.count() / each);
}

InputEmbeddings ProjectedVision::encode(const VisionInput& input) const {
  check(input);
  Arena arena;
  const ArenaScope scope(arena);
  const VitConfig& vit = tower_.config();
  std::vector<GridSize> grids;
  Tensor patches = input.values;
  if (facts_.takes_patches) {
    grids.assign(static_cast<size_t>(input.frames), {input.rows, input.columns});
  } else {
    grids = tower_.grids_of(input.values);
    patches = patches_of(input.values, vit.patch);
  }
  Tensor x = tower_.run(patches, grids, projector_.layers);
  if (projector_.takes_norm) x = tower_.post_norm()(x);
  const GridSize grid = grids.front();
  if (projector_.drops_class && vit.extra_rows() > 0) {
    const auto pictures = std::ssize(grids);
    const Tensor apart = reshape(x, {pictures, vit.extra_rows() + grid.count(), vit.width});
    x = reshape(narrow(apart, 1, vit.extra_rows(), grid.count()), {pictures * grid.count(), vit.width});
  }
  const Tensor rows = project(x, grid);
  const ArenaPause keep;
  InputEmbeddings seen;
  seen.rows = rows.clone();
  seen.is_whole = projector_.is_whole;
  return seen;
}

}  // namespace wick
