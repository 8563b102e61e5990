#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// How the bytes of a tensor differ between Hugging Face (HF) files and GGUF files of the same model.
enum class ByteChange : uint8_t {
  kSame,
  // q and k of families whose GGUF rotates neighbouring pairs: the rows of each head are [2, head_dim / 2] in HF and
  // [head_dim / 2, 2] in GGUF. The count of heads is the query's or the key's.
  kRotaryQuery,
  kRotaryKey,
  kPlusOne,            // GGUF = HF + 1 (norms of Gemma)
  kTransposed,         // GGUF = HF with its last two dimensions swapped (Conv1D of GPT-2, experts of gpt-oss)
  kQkvPerHead,         // fused rows: HF [heads, 3, head_dim], GGUF [3, heads, head_dim]
  kQkvPerGroup,        // fused rows: HF [kv_heads, heads / kv_heads + 2, head_dim], GGUF all q, all k, all v
  kNegativeExp,        // GGUF = -exp(HF) (A_log of Mamba)
  kDropMiddle,         // HF [n, 1, k], GGUF [n, k]
  kColumn,             // HF [n], GGUF [n, 1]
  kNegativeExpColumn,  // both (A_log of Mamba 2)
  kGroupedRow,         // HF [n], GGUF [groups, n / groups]
  // One HF tensor holds what GGUF keeps in two: gate and up of all experts, or keys and values of latent attention.
  kFirstHalf,         // HF [experts, 2 * n, k] or [2 * n, k], GGUF rows [0, n)
  kSecondHalf,        // rows [n, 2 * n)
  kEvenOfTransposed,  // HF [experts, k, 2 * n], GGUF [experts, n, k] from the even columns
  kOddOfTransposed,
  kFirstHalfOfTransposed,  // from columns [0, n)
  kSecondHalfOfTransposed,
  kEven,  // HF [experts, 2 * n], GGUF [experts, n] from the even columns
  kOdd,
  kLatentKeys,    // HF [heads * (key + value), rank], GGUF [heads, rank, key]
  kLatentValues,  // GGUF [heads, value, rank]
};

// A name found in the table. HF numbers experts one by one (experts.3.gate_proj) where GGUF stacks them into one tensor
// (ffn_gate_exps); an HF name without the number (experts.gate_proj) means the stack.
struct NameMatch {
  std::string name;  // on the other side
  ByteChange change = ByteChange::kSame;
  std::optional<int> expert;  // the HF name is this slice of the GGUF tensor
};

// The table of one architecture, given by its GGUF name or its HF model_type.
// Thread-safe. An unknown architecture or name gives nothing.
std::vector<NameMatch> gguf_matches(std::string_view architecture, std::string_view hf_name);  // best first
std::vector<NameMatch> hf_matches(std::string_view architecture, std::string_view gguf_name);

// Another HF name for what `hf_name` asks for: bring its tensor into GGUF's layout by `change`, take the slice of
// `expert` if there is one, and bring that into the layout of `hf_name` by `back`.
struct HfAlias {
  std::string name;
  ByteChange change = ByteChange::kSame, back = ByteChange::kSame;
  std::optional<int> expert;
};
std::vector<HfAlias> hf_aliases(std::string_view architecture, std::string_view hf_name);

// True when one HF tensor holds several GGUF tensors and this is one of them.
bool is_part(ByteChange change);

// The first match: "model.layers.0.self_attn.q_proj.weight" <-> "blk.0.attn_q.weight".
std::optional<std::string> gguf_name(std::string_view architecture, std::string_view hf_name);
std::optional<std::string> hf_name(std::string_view architecture, std::string_view gguf_name);

}  // namespace wick
