// gather, scatter, index_select, index_add and triangles against the reference.
#include "support/kernel_cases.h"

namespace wick {
namespace {

Tensor random_indices(const Shape& shape, int64_t below, uint64_t seed) {
  return floor(mul(rand(shape, seed, DType::kF64), static_cast<double>(below))).to_dtype(DType::kI64);
}

TEST(IndexKernels, GatherAndScatter) {
  for (const DType dtype : all_dtypes()) {
    for (const Tensor& x : awkward_views(9, 21, 1, dtype)) {
      for (const int64_t dim : {0, 1}) {
        const Shape shape = dim == 0 ? Shape{30, 20} : Shape{8, 50};
        const Tensor index = random_indices(shape, x.dim(dim), 2);
        const Tensor turned = transpose(random_indices({shape[1], shape[0]}, x.dim(dim), 3), 0, 1);
        const Tensor same = broadcast_as(random_indices(dim == 0 ? Shape{30, 1} : Shape{1, 50}, x.dim(dim), 4), shape);
        const Tensor src = sample(shape, 5, dtype),
                     src_turned = transpose(sample({shape[1], shape[0]}, 6, dtype), 0, 1);
        for (const Tensor& places : {index, turned, same}) {
          for (const Tensor& values : {src, src_turned}) {
            expect_like_reference([&](const Inputs& in) { return gather(in[0], dim, in[1]); }, {x, places}, 0,
                                  "gather");
            expect_like_reference([&](const Inputs& in) { return scatter(in[0], dim, in[1], in[2]); },
                                  {x, places, values}, 0, "scatter");
            expect_like_reference([&](const Inputs& in) { return scatter_add(in[0], dim, in[1], in[2]); },
                                  {x, places, values}, 0, "scatter_add");
          }
        }
      }
    }
  }
}

TEST(IndexKernels, SelectAndAdd) {
  for (const DType dtype : all_dtypes()) {
    const Tensor x = sample({6, 11, 13}, 1, dtype);
    for (const Tensor& view : {x, permute(x, {2, 0, 1}), flip(x, {0, 2})}) {
      for (const int64_t dim : {0, 1, 2}) {
        const Tensor index = random_indices({17}, view.dim(dim), 2);
        const Tensor src = sample(view.shape().with(static_cast<int>(dim), 17), 3, dtype);
        expect_like_reference([&](const Inputs& in) { return index_select(in[0], dim, in[1]); }, {view, index}, 0,
                              "index_select");
        expect_like_reference([&](const Inputs& in) { return index_select(in[0], dim, in[1]); },
                              {view, flip(index, {0})}, 0, "index_select");
        expect_like_reference([&](const Inputs& in) { return index_add(in[0], dim, in[1], in[2]); }, {view, index, src},
                              0, "index_add");
      }
    }
  }
  EXPECT_EQ(index_select(zeros({3, 4}), 0, zeros({0}, DType::kI64)).numel(), 0);
}

TEST(IndexKernels, SameBitsForAnyNumberOfThreads) {
  const Tensor x = sample({40, 3000}, 1, DType::kF32), src = sample({500, 3000}, 2, DType::kF32);
  const Tensor index = random_indices({500}, 40, 3), places = random_indices({500, 3000}, 40, 4);
  expect_same_for_any_threads([&] { return index_add(x, 0, index, src); }, "index_add");
  expect_same_for_any_threads([&] { return scatter_add(x, 0, places, src); }, "scatter_add");
  expect_same_for_any_threads([&] { return scatter(x, 0, places, src); }, "scatter");
  expect_same_for_any_threads([&] { return gather(x, 0, places); }, "gather");
}

TEST(IndexKernels, Triangles) {
  for (const DType dtype : all_dtypes()) {
    for (const Tensor& x : awkward_views(9, 13, 1, dtype)) {
      for (const int64_t diagonal : {-20, -9, -1, 0, 1, 5, 13, 20}) {
        expect_like_reference([&](const Inputs& in) { return tril(in[0], diagonal); }, {x}, 0, "tril");
        expect_like_reference([&](const Inputs& in) { return triu(in[0], diagonal); }, {x}, 0, "triu");
      }
    }
  }
  expect_like_reference([](const Inputs& in) { return tril(in[0], 0); }, {sample({2, 3, 40, 700}, 1, DType::kF32)}, 0,
                        "tril");
}

}  // namespace
}  // namespace wick
