#include "formats/fused_weights.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/layout_copy.h"

namespace wick {
namespace {

struct FusedName {
  std::string_view whole;
  FusedRows rows;
  std::string_view parts[3];
};
constexpr FusedName kFused[] = {
    {"self_attn.qkv_proj.", FusedRows::kQkv, {"self_attn.q_proj.", "self_attn.k_proj.", "self_attn.v_proj."}},
    {"self_attn.in_projs.0.", FusedRows::kThirds, {"self_attn.q_proj.", "self_attn.k_proj.", "self_attn.v_proj."}},
    {"self_attn.in_proj_", FusedRows::kThirds, {"self_attn.q_proj.", "self_attn.k_proj.", "self_attn.v_proj."}},
    {"mlp.gate_up_proj.", FusedRows::kHalves, {"mlp.gate_proj.", "mlp.up_proj.", ""}},
    {"mlp.gated_layers.", FusedRows::kHalves, {"mlp.gate_layers.", "mlp.up_layers.", ""}},
    {"self_attention.query_key_value.",
     FusedRows::kQkvPerGroup,
     {"self_attention.q_proj.", "self_attention.k_proj.", "self_attention.v_proj."}},
    {"attention.query_key_value.",
     FusedRows::kQkvPerHead,
     {".attention.q_proj.", ".attention.k_proj.", ".attention.v_proj."}},
    {"self_attn.query_key_value.",
     FusedRows::kQkvPerHead,
     {"self_attn.q_proj.", "self_attn.k_proj.", "self_attn.v_proj."}},
    {"attn.Wqkv.", FusedRows::kQkv, {".attn.q_proj.", ".attn.k_proj.", ".attn.v_proj."}},
    {"attn.qkv_proj.", FusedRows::kQvkQuarters, {".attn.q_proj.", ".attn.k_proj.", ".attn.v_proj."}},
    {"attn.c_attn.", FusedRows::kQkvColumns, {".attn.q_proj.", ".attn.k_proj.", ".attn.v_proj."}},
};

std::optional<std::string> replaced(std::string_view name, std::string_view from, std::string_view to) {
  const size_t place = name.find(from);
  if (from.empty() || place == std::string_view::npos) return std::nullopt;
  return cat(name.substr(0, place), to, name.substr(place + from.size()));
}

}  // namespace

std::vector<FusedPart> fused_wholes(std::string_view part_name) {
  std::vector<FusedPart> wholes;
  for (const FusedName& row : kFused) {
    for (int i = 0; i < 3; ++i) {
      // A part that begins with a dot keeps it, so that "attn." does not match "self_attn.".
      const bool dot = row.parts[i].starts_with(".");
      auto whole = replaced(part_name, row.parts[i], dot ? cat(".", row.whole) : std::string(row.whole));
      if (whole) wholes.push_back({std::move(*whole), row.rows, i});
    }
  }
  return wholes;
}

std::vector<std::string> fused_parts(std::string_view whole_name) {
  std::vector<std::string> parts;
  for (const FusedName& row : kFused) {
    if (row.rows != FusedRows::kQkv && row.rows != FusedRows::kHalves) continue;
    for (const std::string_view part : row.parts) {
      if (auto name = replaced(whole_name, row.whole, part); name && !part.empty()) parts.push_back(std::move(*name));
    }
  }
  return parts;
}

Tensor take_part(const Tensor& whole, FusedRows rows, int index, const HeadCounts& counts, std::string_view name) {
  Tensor x = whole;
  if (rows == FusedRows::kQkvColumns && x.rank() == 2) x = x.with_layout(x.layout().transpose(0, 1));
  if (x.rank() == 0) throw Error(ErrorCode::kBadFile, cat(name, " is a single number"));
  if (rows == FusedRows::kHalves || rows == FusedRows::kThirds) {
    const int64_t parts = rows == FusedRows::kHalves ? 2 : 3;
    if (x.dim(0) % parts != 0) {
      throw Error(ErrorCode::kBadFile, cat(name, " is ", x.shape(), ", expected rows that divide by ", parts));
    }
    return narrow_rows(x, 0, index * (x.dim(0) / parts), x.dim(0) / parts);
  }
  const int64_t heads = counts.heads, kv_heads = rows == FusedRows::kQkvPerHead ? heads : counts.kv_heads;
  const int64_t slots = heads + 2 * kv_heads;
  if (heads <= 0 || kv_heads <= 0 || heads % kv_heads != 0 || x.dim(0) % slots != 0) {
    throw Error(ErrorCode::kBadFile, cat(name, " is ", x.shape(), ", expected rows that ", heads, " query and twice ",
                                         kv_heads, " key heads share"));
  }
  const int64_t dim = x.dim(0) / slots, group = heads / kv_heads;
  const int64_t part_rows = (index == 0 ? heads : kv_heads) * dim;
  if (rows == FusedRows::kQkv || rows == FusedRows::kQkvColumns) {
    return narrow_rows(x, 0, index == 0 ? 0 : (heads + (index - 1) * kv_heads) * dim, part_rows);
  }
  if (rows == FusedRows::kQvkQuarters) {
    if (heads % 4 != 0) throw Error(ErrorCode::kBadFile, cat(name, " has ", heads, " heads, expected a multiple of 4"));
    const int64_t quarter = heads / 4 * dim, place = index == 0 ? 0 : 3 - index;
    return gather_rows(x, part_rows,
                       [=](int64_t row) { return (row / quarter * 3 + place) * quarter + row % quarter; });
  }
  return gather_rows(x, part_rows, [=](int64_t row) {
    const int64_t head = row / dim, i = row % dim;
    const int64_t slot =
        index == 0 ? head / group * (group + 2) + head % group : head * (group + 2) + group + index - 1;
    return slot * dim + i;
  });
}

}  // namespace wick
