#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/weight_loader.h"

namespace wick {

// How files name the parts of residual vector quantisers.
enum class BookNames : uint8_t {
  kTransformers,  // "layers.0.codebook.embed_sum", "cluster_usage"
  kMoshi,         // "vq.layers.0._codebook.embedding_sum", "cluster_usage"
  kEncodec,       // "layers.0.codebook.embed": as it is
};

// Rows to codes and back: each codebook takes the nearest of its vectors from what the ones before have left.
class ResidualQuantizer {
 public:
  // `outer`: width of the rows if projections stand around the books; 0: there are none.
  ResidualQuantizer(WeightLoader& loader, BookNames names, const std::string& prefix, int64_t books, int64_t entries,
                    int64_t width, int64_t outer, bool encodes);

  int64_t width() const { return width_; }  // of the rows that the books hold
  // Codes of `count` books from `first` on of rows of `stride` codes each.
  Tensor decode(std::span<const int32_t> codes, int64_t stride, int64_t first, int64_t count) const;
  // Into the same places.
  void encode(const Tensor& rows, std::span<int32_t> codes, int64_t stride, int64_t first, int64_t count) const;

 private:
  struct Book {
    Tensor vectors;  // f32 [entries, width]
    Tensor halves;   // [1, entries]: half of their squares
  };
  std::vector<Book> books_;
  Linear in_, out_;
  int64_t width_;
  Device device_;
};

// Throws Error(kInvalidArgument) naming the first code that is none of `entries`, or a count that is no whole number of
// frames.
void check_codes(std::span<const int32_t> codes, int64_t books, int64_t entries);

}  // namespace wick
