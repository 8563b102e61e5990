// wick see: what models of pictures make of them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/models/named_model.h"
#include "cli/shared_options.h"
#include "cli/terminal/terminal.h"
#include "formats/npy_writer.h"
#include "formats/safetensors/safetensors_writer.h"
#include "media/image/png_writer.h"
#include "vision/picture_reader.h"
#include "vision/segmenter.h"

namespace wick {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct SeeArguments {
  std::string model, output, device = "cpu", pattern = "This is a photo of {}.";
  std::vector<std::string> images, labels, texts, points, outside, boxes;
  int64_t top = 5;
  int threads = 0;
  bool json = false;
};

void add_model_options(CLI::App& command, SeeArguments& arguments) {
  command.add_option("MODEL", arguments.model, "A Hugging Face folder of CLIP, SigLIP, ViT, DINOv2 or SAM")->required();
  command.add_option("IMAGE", arguments.images, "Pictures; - is standard input")->required();
  add_threads_option(command, arguments.threads);
  add_device_option(command, arguments.device);
  command.add_flag("--json", arguments.json, "Print JSON, one object per picture");
}

std::unique_ptr<PictureReader> load_reader(const SeeArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  ModelOptions options;
  options.device = device_named(arguments.device);
  options.notice = warn;
  return PictureReader::load(model_path(arguments.model), options);
}

std::vector<Picture> load_pictures(const SeeArguments& arguments) {
  std::vector<Picture> pictures;
  for (const std::string& path : arguments.images) pictures.push_back(load_picture(path));
  return pictures;
}

void print_json(const OrderedJson& json) {
  std::cout << json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
}

std::span<const float> row_of(const Tensor& rows, int64_t row) {
  return {rows.data<float>() + row * rows.dim(1), static_cast<size_t>(rows.dim(1))};
}

OrderedJson numbers(std::span<const float> values) {
  OrderedJson list = OrderedJson::array();
  for (const float value : values) list.push_back(value);
  return list;
}

int see_embed(const SeeArguments& arguments) {
  const auto reader = load_reader(arguments);
  const Tensor vectors = reader->embed(load_pictures(arguments)).contiguous();
  if (!arguments.output.empty()) {
    const NamedTensor tensor{"embeddings", vectors};
    const bool is_npy = arguments.output.ends_with(".npy");
    if (!is_npy && !arguments.output.ends_with(".safetensors")) {
      throw Error(ErrorCode::kInvalidArgument, cat(arguments.output, ": vectors are written to .npy or .safetensors"));
    }
    const std::string bytes = is_npy ? npy_bytes(vectors) : safetensors_bytes({&tensor, 1});
    OutputFile file(arguments.output);
    file.write_at(0, std::as_bytes(std::span(bytes)));
    file.finish();
    return 0;
  }
  for (int64_t i = 0; i < vectors.dim(0); ++i) {
    const std::string& path = arguments.images[static_cast<size_t>(i)];
    if (arguments.json) {
      print_json({{"image", path}, {"embedding", numbers(row_of(vectors, i))}});
      continue;
    }
    std::string line;
    for (const float value : row_of(vectors, i)) line += fmt::format("{}{:.4f}", line.empty() ? "" : " ", value);
    fmt::print("{}\n", line);
  }
  return 0;
}

// "This is a photo of {}." with a label in it.
std::string in_pattern(const std::string& pattern, const std::string& label) {
  const size_t place = pattern.find("{}");
  if (place == std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument, cat("the pattern ", in_quotes(pattern), " has no {} for a label"));
  }
  return pattern.substr(0, place) + label + pattern.substr(place + 2);
}

int see_classify(const SeeArguments& arguments) {
  const auto reader = load_reader(arguments);
  const std::vector<Picture> pictures = load_pictures(arguments);
  std::vector<std::string> labels = arguments.labels;
  Tensor chances;
  if (labels.empty()) {
    chances = reader->classify(pictures);
    labels = reader->model().labels();
  } else {
    std::vector<std::string> texts;
    for (const std::string& label : labels) texts.push_back(in_pattern(arguments.pattern, label));
    chances = reader->classify(pictures, texts);
  }
  chances = chances.contiguous();
  for (int64_t i = 0; i < chances.dim(0); ++i) {
    const std::string& path = arguments.images[static_cast<size_t>(i)];
    const std::span<const float> row = row_of(chances, i);
    std::vector<size_t> order(row.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return row[a] > row[b]; });
    order.resize(std::min(order.size(), static_cast<size_t>(arguments.top)));
    OrderedJson found = OrderedJson::array();
    if (!arguments.json && arguments.images.size() > 1) fmt::print("{}\n", printable(path));
    for (const size_t label : order) {
      if (arguments.json) {
        found.push_back({{"label", labels[label]}, {"probability", row[label]}});
      } else {
        fmt::print("{:6.2f}%  {}\n", row[label] * 100, printable(labels[label]));
      }
    }
    if (arguments.json) print_json({{"image", path}, {"labels", std::move(found)}});
  }
  return 0;
}

float cosine_of(std::span<const float> a, std::span<const float> b) {
  double product = 0, first = 0, second = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * b[i];
    first += static_cast<double>(a[i]) * a[i];
    second += static_cast<double>(b[i]) * b[i];
  }
  return static_cast<float>(product / std::max(std::sqrt(first * second), 1e-30));
}

// How alike pictures and texts are, each with each.
int see_compare(const SeeArguments& arguments) {
  const auto reader = load_reader(arguments);
  const Tensor pictures = reader->embed(load_pictures(arguments)).contiguous();
  std::vector<std::span<const float>> rows;
  std::vector<std::string> names = arguments.images;
  for (int64_t i = 0; i < pictures.dim(0); ++i) rows.push_back(row_of(pictures, i));
  Tensor texts;
  if (!arguments.texts.empty()) {
    texts = reader->embed_texts(arguments.texts).contiguous();
    for (int64_t i = 0; i < texts.dim(0); ++i) rows.push_back(row_of(texts, i));
    names.insert(names.end(), arguments.texts.begin(), arguments.texts.end());
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    OrderedJson alike = OrderedJson::array();
    std::string line = fmt::format("{:>2}", i + 1);
    for (const std::span<const float> other : rows) {
      const float value = cosine_of(rows[i], other);
      alike.push_back(value);
      line += fmt::format("  {:5.2f}", value);
    }
    if (arguments.json) {
      print_json({{"name", names[i]}, {"cosines", std::move(alike)}});
    } else {
      fmt::print("{}  {}\n", line, printable(names[i], 40));
    }
  }
  return 0;
}

// "120,80": so many numbers. Throws Error.
std::vector<float> numbers_of(const std::string& text, size_t count, const char* what) {
  std::vector<float> numbers;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    char* stop = nullptr;
    numbers.push_back(std::strtof(part.c_str(), &stop));
    if (part.empty() || *stop != '\0' || !std::isfinite(numbers.back())) {
      throw Error(ErrorCode::kInvalidArgument, cat(in_quotes(text), " is no ", what));
    }
    at = end + 1;
  }
  if (numbers.size() != count) throw Error(ErrorCode::kInvalidArgument, cat(in_quotes(text), " is no ", what));
  return numbers;
}

int see_segment(const SeeArguments& arguments) {
  if (arguments.images.size() != 1) {
    throw Error(ErrorCode::kInvalidArgument, cat("masks are made of one picture, not of ", arguments.images.size()));
  }
  SamPrompt prompt;
  for (const std::string& text : arguments.points) {
    const std::vector<float> at = numbers_of(text, 2, "point X,Y");
    prompt.points.push_back({at[0], at[1], true});
  }
  for (const std::string& text : arguments.outside) {
    const std::vector<float> at = numbers_of(text, 2, "point X,Y");
    prompt.points.push_back({at[0], at[1], false});
  }
  for (const std::string& text : arguments.boxes) {
    const std::vector<float> at = numbers_of(text, 4, "box LEFT,TOP,RIGHT,BOTTOM");
    prompt.boxes.push_back({at[0], at[1], at[2], at[3]});
  }
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  ModelOptions options;
  options.device = device_named(arguments.device);
  options.notice = warn;
  const auto segmenter = Segmenter::load(model_path(arguments.model), options);
  const Segmenter::Seen seen = segmenter->see(load_picture(arguments.images.front()));
  const std::vector<PictureMask> masks = segmenter->segment(seen, prompt);
  const double pixels = static_cast<double>(seen.width) * seen.height;
  for (const PictureMask& mask : masks) {
    const double share = static_cast<double>(mask.area()) / pixels;
    if (arguments.json) {
      print_json({{"iou", mask.iou}, {"area", mask.area()}, {"share", share}});
    } else {
      fmt::print("{:5.1f}% of the picture, with an expected IoU of {:.2f}\n", share * 100, mask.iou);
    }
  }
  if (arguments.output.empty()) return 0;
  const std::string bytes = png_bytes(masks.front().inside, seen.width, seen.height);
  OutputFile file(arguments.output);
  file.write_at(0, std::as_bytes(std::span(bytes)));
  file.finish();
  return 0;
}

}  // namespace

void add_see(CLI::App& app, Action& action) {
  CLI::App* see =
      app.add_subcommand("see", "Vectors, labels and masks of pictures, with CLIP, SigLIP, ViT, DINOv2 and SAM");
  see->require_subcommand(1);
  const auto add = [&](const char* name, const char* about, int (*run)(const SeeArguments&)) {
    CLI::App* command = see->add_subcommand(name, about);
    const auto arguments = std::make_shared<SeeArguments>();
    add_model_options(*command, *arguments);
    command->callback([&action, arguments, run] { action = [arguments, run] { return run(*arguments); }; });
    return std::pair(command, arguments);
  };
  const auto [embed, embed_arguments] = add("embed", "A vector for each picture", see_embed);
  embed->add_option("-o,--output", embed_arguments->output, "Write the vectors to a .npy or .safetensors file")
      ->type_name("FILE");
  const auto [classify, classify_arguments] = add("classify", "What each picture shows", see_classify);
  classify
      ->add_option("--labels", classify_arguments->labels,
                   "What it may show, separated by commas, for CLIP and SigLIP; without: the model's own labels")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("LABELS");
  classify
      ->add_option("--pattern", classify_arguments->pattern,
                   "The text that a label is put in (\"This is a photo of {}.\")")
      ->type_name("TEXT");
  classify->add_option("--top", classify_arguments->top, "How many labels are shown (default: 5)")
      ->check(count_from(1))
      ->type_name("COUNT");
  const auto [compare, compare_arguments] = add("compare", "How alike pictures are, and texts", see_compare);
  compare
      ->add_option("--text", compare_arguments->texts, "A text to compare with, for CLIP and SigLIP; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("TEXT");
  const auto [segment, segment_arguments] = add("segment", "What lies at a point or in a box, with SAM", see_segment);
  const auto add_places = [](CLI::App& command, const char* name, std::vector<std::string>& to, const char* about,
                             const char* type) {
    command.add_option(name, to, about)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name(type);
  };
  add_places(*segment, "--point", segment_arguments->points, "A pixel of what is meant; may be repeated", "X,Y");
  add_places(*segment, "--outside", segment_arguments->outside, "A pixel that is not part of it; may be repeated",
             "X,Y");
  add_places(*segment, "--box", segment_arguments->boxes, "A box around it; may be repeated", "LEFT,TOP,RIGHT,BOTTOM");
  segment->add_option("-o,--output", segment_arguments->output, "Write the best mask as a PNG, white where it is")
      ->type_name("FILE");
  see->footer(
      "Examples:\n"
      "  wick see classify models/clip-vit-base-patch32 photo.jpg --labels \"a cat,a dog,a car\"\n"
      "  wick see classify models/vit-base-patch16-224 *.jpg --top 1\n"
      "  wick see compare models/siglip-base-patch16-224 a.jpg b.jpg --text \"a red bicycle\"\n"
      "  wick see segment models/sam-vit-base photo.jpg --point 320,240 -o mask.png\n"
      "  wick see embed models/dinov2-small *.png -o vectors.npy");
}

}  // namespace wick
