#include "models/load_parts.h"

#include "base/error.h"
#include "base/text.h"
#include "tensor/arena.h"

namespace wick {

std::string file_name(const WeightSource& source) {
  const auto& files = source.checkpoint().files();
  return files.empty() ? "the model" : files.front()->path().string();
}

PreflightReport preflight_parts(const WeightSource& source, std::span<const std::string> stacks,
                                FunctionRef<void(WeightLoader&)> build) {
  WeightLoader listing = WeightLoader::listing();
  build(listing);
  if (stacks.empty()) return preflight(source, listing.wanted(), "no layers.", false);
  PreflightReport report;
  std::vector<std::string> unused;
  for (const std::string& layers : stacks) {
    report = preflight(source, listing.wanted(), layers, false);  // differs only in what is unused
    unused.insert(unused.end(), report.unused.begin(), report.unused.end());
  }
  report.unused = std::move(unused);
  return report;
}

void load_parts(const WeightSource& source, const ModelOptions& options, std::span<const std::string> stacks,
                FunctionRef<void(WeightLoader&)> build) {
  const ArenaPause keep;
  const PreflightReport report = preflight_parts(source, stacks, build);
  if (!report.ok()) throw Error(ErrorCode::kBadFile, cat(file_name(source), ": ", report.sentence()));
  WeightLoader loader(source, options);
  int64_t total = 0;
  for (const TensorEntry& entry : source.checkpoint().entries()) total += entry.bytes;
  loader.expect_total(total);
  build(loader);
  const bool reads_files = options.quantize == "auto" && options.device == Device::cpu();
  for (const auto& file : source.checkpoint().files()) {
    if (reads_files) file->map_if_in_memory();
  }
  if (options.progress) options.progress(total, total);
}

}  // namespace wick
