#include "media/processors/image_processor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "media/picture_files.h"
#include "media/processors/picture_sizes.h"
#include "media/processors/picture_tiles.h"
#include "support/errors.h"
#include "support/fixtures.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

ImageProcessorConfig config_of(const std::string& json) {
  return ImageProcessorConfig::of_json(Json::parse(json, "config"));
}
ImageProcessor processor_of(const std::string& json) { return ImageProcessor(config_of(json)); }

using Size = std::pair<int, int>;

// What transformers 5 computes for pictures of height x width.
struct SizeRow {
  int height, width, new_height, new_width;
};

TEST(PictureSizes, FollowTheRulesOfTransformers) {
  struct Rule {
    const char* json;
    std::vector<SizeRow> rows;
  };
  const Rule rules[] = {
      {R"({"image_processor_type": "CLIPImageProcessor"})",
       {
           {480, 640, 224, 298},
           {97, 133, 224, 307},
           {3000, 4000, 224, 298},
           {1080, 1920, 224, 398},
           {50, 900, 224, 4032},
           {1000, 333, 672, 224},
           {14, 14, 224, 224},
           {512, 513, 224, 224},
           {2048, 64, 7168, 224},
           {777, 1555, 224, 448},
       }},
      {R"({"image_processor_type": "SamImageProcessor"})",
       {
           {480, 640, 768, 1024},
           {97, 133, 747, 1024},
           {3000, 4000, 768, 1024},
           {1080, 1920, 576, 1024},
           {50, 900, 57, 1024},
           {1000, 333, 1024, 341},
           {14, 14, 1024, 1024},
           {512, 513, 1022, 1024},
           {2048, 64, 1024, 32},
           {777, 1555, 512, 1024},
       }},
      {R"({"image_processor_type": "Siglip2ImageProcessor"})",
       {
           {480, 640, 224, 288},
           {97, 133, 224, 288},
           {3000, 4000, 224, 288},
           {1080, 1920, 192, 336},
           {50, 900, 64, 1024},
           {1000, 333, 448, 144},
           {14, 14, 256, 256},
           {512, 513, 256, 256},
           {2048, 64, 1360, 48},
           {777, 1555, 176, 368},
       }},
  };
  for (const Rule& rule : rules) {
    const ImageProcessorConfig config = config_of(rule.json);
    for (const SizeRow& row : rule.rows) {
      EXPECT_EQ(size_by_rule(config, row.height, row.width), Size(row.new_height, row.new_width))
          << config.kind << ": " << row.height << " x " << row.width;
    }
  }
  ImageProcessorConfig pixtral = ImageProcessorConfig::of_kind("PixtralImageProcessor");
  pixtral.edge = 1540;
  pixtral.patch = 14;
  pixtral.merge = 2;
  const SizeRow of_pixtral[] = {
      {480, 640, 504, 644}, {97, 133, 112, 140},    {3000, 4000, 1176, 1540}, {1080, 1920, 868, 1540},
      {50, 900, 56, 924},   {1000, 333, 1008, 336}, {14, 14, 28, 28},         {512, 513, 532, 532},
      {2048, 64, 1540, 56}, {777, 1555, 784, 1540},
  };
  for (const SizeRow& row : of_pixtral) {
    EXPECT_EQ(size_by_rule(pixtral, row.height, row.width), Size(row.new_height, row.new_width)) << row.height;
  }
}

TEST(PictureSizes, FitBudgetsAsQwenDoes) {
  struct Row {
    int height, width, old_height, old_width, new_height, new_width;  // Qwen2-VL, Qwen3-VL
  };
  const Row rows[] = {
      {480, 640, 476, 644, 480, 640},      {97, 133, 84, 140, 224, 320},   {3000, 4000, 840, 1148, 3008, 4000},
      {1080, 1920, 728, 1316, 1088, 1920}, {50, 900, 56, 896, 64, 1088},   {1000, 333, 1008, 336, 992, 320},
      {14, 14, 56, 56, 256, 256},          {512, 513, 504, 504, 512, 512}, {2048, 64, 2044, 56, 2048, 64},
      {777, 1555, 700, 1400, 768, 1568},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(size_in_budget(row.height, row.width, 28, 3136, 1003520), Size(row.old_height, row.old_width))
        << row.height;
    EXPECT_EQ(size_in_budget(row.height, row.width, 32, 65536, 16777216), Size(row.new_height, row.new_width))
        << row.height;
  }
  struct Video {
    int frames, height, width, new_height, new_width;
  };
  const Video videos[] = {
      {2, 480, 640, 480, 640}, {3, 97, 133, 192, 256},   {5, 3000, 4000, 320, 448}, {16, 1080, 1920, 160, 288},
      {4, 50, 900, 64, 896},   {7, 1000, 333, 576, 192}, {8, 14, 14, 128, 128},     {9, 512, 513, 288, 288},
      {33, 2048, 64, 864, 32}, {64, 777, 1555, 64, 128},
  };
  for (const Video& row : videos) {
    EXPECT_EQ(video_size_in_budget(row.frames, row.height, row.width, 32, 2, 128 * 1024, 768 * 1024),
              Size(row.new_height, row.new_width))
        << row.frames << ": " << row.height;
  }
  EXPECT_ERROR(size_in_budget(10, 2001, 28, 3136, 1003520), kInvalidArgument,
               "a picture of 2001 x 10 is more than 200 times as long as wide");
}

TEST(PictureSizes, GridsAreThoseOfTransformers) {
  const SizeRow internvl[] = {
      {480, 640, 3, 4},  {97, 133, 3, 4}, {3000, 4000, 3, 4}, {1080, 1920, 2, 4}, {50, 900, 1, 12},
      {1000, 333, 3, 1}, {14, 14, 1, 1},  {512, 513, 1, 1},   {2048, 64, 12, 1},  {777, 1555, 2, 4},
  };
  for (const SizeRow& row : internvl) {
    EXPECT_EQ(nearest_grid(row.height, row.width, 448, 448, 1, 12), Size(row.new_height, row.new_width)) << row.height;
  }
  struct Row {
    int height, width, a, b, c, d;
  };
  const Row next[] = {
      // the resolution, and the size inside it
      {480, 640, 672, 672, 504, 672},   {97, 133, 336, 672, 336, 461},  {3000, 4000, 672, 672, 505, 672},
      {1080, 1920, 672, 672, 378, 672}, {50, 900, 336, 1008, 57, 1008}, {1000, 333, 1008, 336, 1008, 336},
      {14, 14, 336, 672, 336, 336},     {512, 513, 672, 672, 671, 672}, {2048, 64, 1008, 336, 1008, 32},
      {777, 1555, 336, 1008, 336, 673},
  };
  const std::vector<Size> points = ImageProcessorConfig::of_kind("LlavaNextImageProcessor").pinpoints;
  for (const Row& row : next) {
    const Size best = best_resolution(row.height, row.width, points);
    EXPECT_EQ(best, Size(row.a, row.b)) << row.height;
    EXPECT_EQ(size_inside(row.height, row.width, best), Size(row.c, row.d)) << row.height;
  }
  const Row idefics[] = {
      // before and behind the rounding to tiles
      {480, 640, 1536, 2048, 1536, 2048},   {97, 133, 1494, 2048, 1536, 2048},  {3000, 4000, 1536, 2048, 1536, 2048},
      {1080, 1920, 1152, 2048, 1536, 2048}, {50, 900, 114, 2048, 512, 2048},    {1000, 333, 2048, 682, 2048, 1024},
      {14, 14, 2048, 2048, 2048, 2048},     {512, 513, 2044, 2048, 2048, 2048}, {2048, 64, 2048, 64, 2048, 512},
      {777, 1555, 1024, 2048, 1024, 2048},
  };
  for (const Row& row : idefics) {
    const Size size = size_for_splitting(row.height, row.width, 2048);
    EXPECT_EQ(size, Size(row.a, row.b)) << row.height;
    EXPECT_EQ(size_in_whole_tiles(size.first, size.second, 512), Size(row.c, row.d)) << row.height;
  }
}

TEST(ImageProcessor, CutsLfm2PicturesAsTransformersDoes) {
  struct Row {
    int height, width, is_large, rows, columns, whole_height, whole_width;
  };
  const Row rows[] = {
      {480, 640, 0, 0, 0, 416, 576}, {97, 133, 0, 0, 0, 224, 320},   {1080, 1920, 1, 2, 4, 384, 672},
      {50, 900, 0, 0, 0, 64, 1088},  {1000, 333, 0, 0, 0, 864, 288}, {14, 14, 0, 0, 0, 256, 256},
      {512, 513, 0, 0, 0, 512, 512}, {2048, 64, 0, 0, 0, 2048, 64},  {777, 1555, 1, 2, 4, 352, 704},
  };
  const ImageProcessorConfig config = ImageProcessorConfig::of_kind("Lfm2VlImageProcessor");
  for (const Row& row : rows) {
    SCOPED_TRACE(cat(row.height, " x ", row.width));
    PixelValues out;
    const auto tiles = cut_into_tiles(config, plain_picture(row.width, row.height, 1, 2, 3), out);
    EXPECT_EQ(out.tile_rows, row.rows);
    EXPECT_EQ(out.tile_columns, row.columns);
    EXPECT_EQ(std::ssize(tiles), row.is_large ? row.rows * row.columns + 1 : 1);
    EXPECT_EQ(Size(tiles.back().height, tiles.back().width), Size(row.whole_height, row.whole_width));
    if (row.is_large) {
      EXPECT_EQ(Size(tiles[0].height, tiles[0].width), Size(512, 512));
    }
  }
}

// One number of a safetensors file of the references, which lists its tensors in JSON.
struct Reference {
  explicit Reference(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    uint64_t length = 0;
    std::memcpy(&length, all.data(), sizeof(length));
    header = Json::parse(all.substr(8, length), "reference");
    data = all.substr(8 + length);
  }
  template <typename T>
  std::vector<T> get(const std::string& name) const {
    const auto range = header.at(name).at("data_offsets").to<std::vector<size_t>>();
    std::vector<T> out((range[1] - range[0]) / sizeof(T));
    std::memcpy(out.data(), data.data() + range[0], range[1] - range[0]);
    return out;
  }
  Json header = Json::parse("{}", "none");
  std::string data;
};

void expect_equal_numbers(const Tensor& actual, const std::vector<float>& expected, double tolerance) {
  const auto values = actual.to_vector<float>();
  ASSERT_EQ(values.size(), expected.size());
  double most = 0;
  for (size_t i = 0; i < values.size(); ++i) most = std::max<double>(most, std::abs(values[i] - expected[i]));
  EXPECT_LE(most, tolerance);
}

TEST(ImageProcessor, IsThatOfTheReference) {
  WICK_NEEDS_FIXTURE("image-processors");
  const auto folder = fixture_folders("image-processors").at(0);
  const Reference reference(folder / "reference.safetensors");
  Picture picture = plain_picture(133, 97, 0, 0, 0);
  const auto pixels = reference.get<uint8_t>("pixels");
  ASSERT_EQ(pixels.size(), picture.rgb.size());
  picture.rgb.assign(pixels.begin(), pixels.end());

  const ImageProcessor clip = processor_of(
      R"({"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 64}, "crop_size": {"height": 64, "width": 64}})");
  const PixelValues of_clip = clip.process(picture);
  EXPECT_EQ(of_clip.values.shape(), Shape({1, 3, 64, 64}));
  expect_equal_numbers(of_clip.values, reference.get<float>("clip_pixel_values"), 0);

  const ImageProcessor qwen = processor_of(R"({"image_processor_type": "Qwen2VLImageProcessorFast", "patch_size": 16,
      "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "size": {"shortest_edge": 1024, "longest_edge": 16777216}})");
  const PixelValues of_qwen = qwen.process(picture);
  EXPECT_EQ(of_qwen.values.shape(), Shape({48, 1536}));
  const auto grid = reference.get<int64_t>("qwen3vl_grid_thw");
  ASSERT_EQ(of_qwen.grids.size(), 1u);
  EXPECT_EQ((std::vector<int64_t>{of_qwen.grids[0].time, of_qwen.grids[0].height, of_qwen.grids[0].width}), grid);
  expect_equal_numbers(of_qwen.values, reference.get<float>("qwen3vl_pixel_values"), 0);
  // Two frames that are alike are what a picture is.
  const std::vector<Picture> frames = {picture, picture};
  const PixelValues of_video = qwen.process_video(frames, 1024, 1 << 24, true);
  expect_equal_numbers(of_video.values, reference.get<float>("qwen3vl_pixel_values"), 0);

  try {
    EXPECT_EQ(load_picture(folder / "picture.png").rgb, picture.rgb);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
  }
}

float value_at(const PixelValues& values, int64_t tile, int64_t channel, int64_t y, int64_t x) {
  const Shape& shape = values.values.shape();
  return values.values.data<float>()[((tile * shape[1] + channel) * shape[2] + y) * shape[3] + x];
}

TEST(ImageProcessor, NormalisesAndPads) {
  const PixelValues sam = processor_of(R"({"image_processor_type": "SamImageProcessor", "size": {"longest_edge": 32},
      "pad_size": {"height": 32, "width": 40}})")
                              .process(plain_picture(20, 10, 10, 20, 30));
  EXPECT_EQ(sam.values.shape(), Shape({1, 3, 32, 40}));
  EXPECT_EQ(Size(sam.height, sam.width), Size(16, 32));
  EXPECT_EQ(Size(sam.picture_height, sam.picture_width), Size(10, 20));
  EXPECT_NEAR(value_at(sam, 0, 2, 15, 31), (30 / 255.0 - 0.406) / 0.225, 1e-6);
  EXPECT_EQ(value_at(sam, 0, 2, 16, 31), 0);
  EXPECT_EQ(value_at(sam, 0, 2, 15, 32), 0);
  const PixelValues vit =
      processor_of(R"({"feature_extractor_type": "ViTFeatureExtractor", "size": 12, "do_normalize": false})")
          .process(plain_picture(20, 10, 10, 20, 30));
  EXPECT_EQ(vit.values.shape(), Shape({1, 3, 12, 12}));
  EXPECT_NEAR(value_at(vit, 0, 1, 3, 3), 20 / 255.0, 1e-7);
  const PixelValues bytes =
      processor_of(R"({"image_processor_type": "ViTImageProcessor", "size": {"height": 4, "width": 6},
      "do_normalize": false, "do_rescale": false})")
          .process(plain_picture(20, 10, 10, 20, 30));
  EXPECT_EQ(bytes.values.shape(), Shape({1, 3, 4, 6}));
  EXPECT_EQ(value_at(bytes, 0, 2, 3, 5), 30);
  const PixelValues dino =
      processor_of(R"({"image_processor_type": "DINOv3ViTImageProcessorFast", "size": {"height": 8, "width": 8}})")
          .process(drawn_picture());
  // The middle of a gradient stays what it was, in numbers between bytes.
  EXPECT_NEAR(value_at(dino, 0, 0, 4, 4), (10 * 13 / 255.0 - 0.485) / 0.229, 1e-5);
  const PixelValues padded = processor_of(R"({"image_processor_type": "LlavaImageProcessor", "do_pad": true,
      "size": {"shortest_edge": 24}, "crop_size": 24})")
                                 .process(plain_picture(24, 10, 10, 20, 30));
  EXPECT_NEAR(value_at(padded, 0, 0, 6, 3), (122 / 255.0 - 0.48145466) / 0.26862954, 1e-6);
  EXPECT_NEAR(value_at(padded, 0, 0, 7, 3), (10 / 255.0 - 0.48145466) / 0.26862954, 1e-6);
}

// A picture of exactly the size of its tiles: each tile has its own colour.
Picture squares(int rows, int columns, int side) {
  Picture picture = plain_picture(columns * side, rows * side, 0, 0, 0);
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x)
      picture.row(y)[3 * x] = static_cast<uint8_t>(10 * (y / side * columns + x / side) + 5);
  }
  return picture;
}

std::vector<int> reds(const PixelValues& values, double mean, double std) {
  std::vector<int> out;
  for (int64_t tile = 0; tile < values.tiles(); ++tile) {
    const int64_t middle = values.values.dim(2) / 4;
    out.push_back(static_cast<int>(std::lround((value_at(values, tile, 0, middle, middle) * std + mean) * 255)));
  }
  return out;
}

TEST(ImageProcessor, TilesComeInTheOrderOfTheFamilies) {
  const PixelValues internvl =
      processor_of(R"({"image_processor_type": "GotOcr2ImageProcessor", "crop_to_patches": true,
      "size": {"height": 32, "width": 32}, "image_mean": 0.5, "image_std": 0.5})")
          .process(squares(2, 3, 32));
  EXPECT_EQ(internvl.values.shape(), Shape({7, 3, 32, 32}));
  EXPECT_EQ(Size(internvl.tile_rows, internvl.tile_columns), Size(2, 3));
  EXPECT_TRUE(internvl.has_overview);
  auto colours = reds(internvl, 0.5, 0.5);
  colours.pop_back();
  EXPECT_EQ(colours, (std::vector<int>{5, 15, 25, 35, 45, 55}));

  const PixelValues smol =
      processor_of(R"({"image_processor_type": "SmolVLMImageProcessor", "size": {"longest_edge": 96},
      "max_image_size": {"longest_edge": 32}})")
          .process(squares(2, 3, 32));
  EXPECT_EQ(smol.values.shape(), Shape({7, 3, 32, 32}));
  EXPECT_EQ(Size(smol.tile_rows, smol.tile_columns), Size(2, 3));
  colours = reds(smol, 0.5, 0.5);
  colours.pop_back();
  EXPECT_EQ(colours, (std::vector<int>{5, 15, 25, 35, 45, 55}));
  const PixelValues unsplit =
      processor_of(R"({"image_processor_type": "SmolVLMImageProcessor", "size": {"longest_edge": 96},
      "max_image_size": {"longest_edge": 32}, "do_image_splitting": false})")
          .process(squares(2, 3, 32));
  EXPECT_EQ(unsplit.values.shape(), Shape({1, 3, 32, 32}));
  EXPECT_EQ(unsplit.tile_rows, 0);

  const PixelValues next =
      processor_of(R"({"image_processor_type": "LlavaNextImageProcessor", "size": {"shortest_edge": 32},
      "crop_size": {"height": 32, "width": 32}, "image_grid_pinpoints": [[32, 64], [64, 32], [64, 96]], "image_mean": 0.5,
      "image_std": 0.5})")
          .process(squares(2, 3, 32));
  EXPECT_EQ(next.values.shape(), Shape({7, 3, 32, 32}));
  colours = reds(next, 0.5, 0.5);
  colours.erase(colours.begin());  // the whole comes first
  EXPECT_EQ(colours, (std::vector<int>{5, 15, 25, 35, 45, 55}));

  const ImageProcessor gemma = processor_of(R"({"image_processor_type": "Gemma3ImageProcessor", "do_pan_and_scan": true,
      "size": {"height": 32, "width": 32}, "pan_and_scan_min_crop_size": 16, "pan_and_scan_max_num_crops": 4,
      "pan_and_scan_min_ratio_to_activate": 1.2})");
  const PixelValues scanned = gemma.process(squares(1, 3, 32));
  EXPECT_EQ(scanned.values.shape(), Shape({4, 3, 32, 32}));
  colours = reds(scanned, 0.5, 0.5);
  colours.erase(colours.begin());
  EXPECT_EQ(colours, (std::vector<int>{5, 15, 25}));
  EXPECT_EQ(gemma.process(squares(7, 8, 4)).values.shape(), Shape({1, 3, 32, 32}));  // nearly square
  EXPECT_EQ(gemma.process(squares(1, 3, 9)).values.shape(), Shape({1, 3, 32, 32}));  // crops would be too small
}

TEST(ImageProcessor, PatchesLieAsTheTowersWantThem) {
  // SigLIP 2: row by row, colours together.
  const PixelValues rows = processor_of(R"({"image_processor_type": "Siglip2ImageProcessor", "patch_size": 4,
      "max_num_patches": 24, "do_normalize": false, "do_rescale": false})")
                               .process(drawn_picture());
  EXPECT_EQ(rows.values.shape(), Shape({24, 48}));
  ASSERT_EQ(rows.grids.size(), 1u);
  EXPECT_EQ(Size(rows.grids[0].height, rows.grids[0].width), Size(4, 6));
  const auto* values = rows.values.data<float>();
  const Picture drawn = drawn_picture();
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 24; ++x) {
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(values[(y / 4 * 6 + x / 4) * 48 + (y % 4 * 4 + x % 4) * 3 + c], drawn.row(y)[3 * x + c]);
      }
    }
  }
  // Qwen-VL: squares of 2 x 2 patches; three frames, the last twice.
  const ImageProcessor qwen = processor_of(R"({"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 4,
      "min_pixels": 64, "max_pixels": 4096, "do_normalize": false, "do_rescale": false})");
  std::vector<Picture> frames(3, drawn);
  for (uint8_t& byte : frames[2].rgb) byte = static_cast<uint8_t>(255 - byte);
  const PixelValues video = qwen.process_video(frames, 64, 4096, false);
  EXPECT_EQ(video.values.shape(), Shape({48, 96}));
  EXPECT_EQ(video.grids[0].time, 2);
  values = video.values.data<float>();
  for (int frame = 0; frame < 4; ++frame) {
    for (int y = 0; y < 16; ++y) {
      for (int x = 0; x < 24; ++x) {
        const int patch = ((y / 8 * 3 + x / 8) * 2 + y / 4 % 2) * 2 + x / 4 % 2;
        for (int c = 0; c < 3; ++c) {
          const float value = values[(frame / 2 * 24 + patch) * 96 + ((c * 2 + frame % 2) * 4 + y % 4) * 4 + x % 4];
          ASSERT_EQ(value, frames[static_cast<size_t>(std::min(frame, 2))].row(y)[3 * x + c]);
        }
      }
    }
  }
  EXPECT_ERROR(qwen.process_video(std::vector<Picture>{drawn, plain_picture(3, 3, 0, 0, 0)}, 64, 4096, true),
               kInvalidArgument, "a video has frames of 24 x 16 and of 3 x 3");
}

TEST(ImageProcessor, FilesOfFoldersAreFound) {
  const TempFolder folder;
  EXPECT_FALSE(ImageProcessorConfig::is_in(folder.path()));
  std::ofstream(folder.path() / "preprocessor_config.json")
      << R"({"image_processor_type": "PixtralImageProcessor", "patch_size": {"height": 14, "width": 14}, "size": {"longest_edge": 1540}})";
  std::ofstream(folder.path() / "processor_config.json")
      << R"({"patch_size": 14, "spatial_merge_size": 2, "processor_class": "PixtralProcessor"})";
  EXPECT_TRUE(ImageProcessorConfig::is_in(folder.path()));
  const ImageProcessorConfig pixtral = ImageProcessorConfig::load(folder.path());
  EXPECT_EQ(pixtral.patch * pixtral.merge, 28);
  EXPECT_EQ(pixtral.edge, 1540);
  std::ofstream(folder.path() / "processor_config.json")
      << R"({"processor_class": "InternVLProcessor", "image_processor": {"image_processor_type": "GotOcr2ImageProcessorFast", "size": {"height": 448, "width": 448}}})";
  const ImageProcessorConfig internvl = ImageProcessorConfig::load(folder.path());
  EXPECT_EQ(internvl.height, 448);
  EXPECT_EQ(internvl.cut, CutRule::kTiles);
}

TEST(ImageProcessor, WhatIsNotUnderstoodIsRefused) {
  struct Row {
    const char* json;
    ErrorCode code;
    const char* sentence;
  };
  for (const Row& row : {
           Row{R"({"size": 3})", ErrorCode::kBadFile, "has no 'image_processor_type'"},
           Row{R"({"image_processor_type": "FuyuImageProcessor"})", ErrorCode::kUnsupported,
               "the image processor 'FuyuImageProcessor' is not supported; known: CLIPImageProcessor, "},
           Row{R"({"image_processor_type": "CLIPImageProcessor", "size": {"longest_edge": 7}})",
               ErrorCode::kUnsupported, "'size' has 'longest_edge', which CLIPImageProcessor does not take"},
           Row{R"({"image_processor_type": "ViTImageProcessor", "size": {"shortest_edge": 7, "longest_edge": 9}})",
               ErrorCode::kUnsupported, "is not one of {height, width}, {shortest_edge} and {longest_edge}"},
           Row{R"({"image_processor_type": "ViTImageProcessor", "size": 100000})", ErrorCode::kBadFile,
               "'size' is 100000, expected 1 to"},
           Row{R"({"image_processor_type": "ViTImageProcessor", "resample": 6})", ErrorCode::kBadFile,
               "'resample' is 6, expected 0 to 5"},
           Row{R"({"image_processor_type": "ViTImageProcessor", "image_mean": [1, 2]})", ErrorCode::kBadFile,
               "has 2 numbers, expected 3"},
           Row{R"({"image_processor_type": "ViTImageProcessor", "image_std": [1, 0, 1]})", ErrorCode::kBadFile,
               "has a 0"},
           Row{R"({"image_processor_type": "ViTImageProcessor", "rescale_factor": 0})", ErrorCode::kBadFile,
               "expected more than 0"},
           Row{R"({"image_processor_type": "LlavaNextImageProcessor", "image_grid_pinpoints": []})",
               ErrorCode::kBadFile, "is empty"},
           Row{R"({"image_processor_type": "Lfm2VlImageProcessor", "min_tiles": 5, "max_tiles": 4})",
               ErrorCode::kBadFile, "wants at least 5 tiles and at most 4"},
       }) {
    SCOPED_TRACE(row.json);
    expect_error([&] { config_of(row.json); }, row.code, row.sentence);
  }
  EXPECT_ERROR(
      processor_of(R"({"image_processor_type": "Qwen2VLImageProcessor", "min_pixels": 9000, "max_pixels": 10})"),
      kInvalidArgument, "at least 9000 pixels and at most 10");
  const ImageProcessor clip = processor_of(R"({"image_processor_type": "CLIPImageProcessor"})");
  EXPECT_ERROR(clip.process(Picture()), kInvalidArgument, "a picture of 0 x 0");
  EXPECT_ERROR(clip.process(plain_picture(1, 90000, 1, 2, 3)), kInvalidArgument,
               "a picture of 1 x 90000 would become one of 224 x 20160000 for this model");
}

}  // namespace
}  // namespace wick
