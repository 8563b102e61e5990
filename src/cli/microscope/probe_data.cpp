#include "cli/microscope/probe_data.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/chat/prompt_lines.h"

namespace wick {
namespace {

struct Example {
  std::string text, label;
  bool has_label = false;
};

Example read_json(const std::string& line, const std::string& place) {
  const Json json = Json::parse(line, place);
  Example example{json.at("text").as_text(), "", false};
  const Json* label = json.find("label");
  if (!label || label->is_null()) return example;
  example.has_label = true;
  example.label = label->is_text()   ? label->as_text()
                  : label->is_bool() ? cat(label->as_bool())
                  : label->is_int()  ? cat(label->as_int())
                                     : cat(label->as_number());
  return example;
}

// The label is behind the last tab.
Example read_tabbed(const std::string& line) {
  const size_t tab = line.rfind('\t');
  if (tab == std::string::npos) return {line, "", false};
  return {line.substr(0, tab), line.substr(tab + 1), true};
}

}  // namespace

ProbeData ProbeData::load(const std::string& path, bool labelled) {
  ProbeData data;
  size_t number = 0;
  for (const std::string& line : read_lines(path)) {
    const std::string place = cat(path, ": line ", ++number, " with text");
    Example example = line.starts_with('{') ? read_json(line, place) : read_tabbed(line);
    if (labelled && !example.has_label) {
      throw Error(ErrorCode::kBadFile, cat(place, " has no label; expected text, a tab and a label, or a JSON object"));
    }
    if (example.text.empty()) throw Error(ErrorCode::kBadFile, cat(place, " has a label and no text"));
    data.texts.push_back(std::move(example.text));
    if (!example.has_label) continue;
    const auto known = std::find(data.names.begin(), data.names.end(), example.label);
    data.labels.push_back(known - data.names.begin());
    if (known == data.names.end()) data.names.push_back(example.label);
  }
  if (!data.labels.empty() && data.labels.size() != data.texts.size()) {
    throw Error(ErrorCode::kBadFile,
                cat(path, ": ", data.labels.size(), " of ", data.texts.size(), " lines have a label, the others none"));
  }
  return data;
}

double ProbeData::largest_share() const {
  int64_t most = 0;
  for (int64_t label = 0; label < std::ssize(names); ++label) {
    most = std::max<int64_t>(most, std::count(labels.begin(), labels.end(), label));
  }
  return labels.empty() ? 0 : static_cast<double>(most) / static_cast<double>(labels.size());
}

}  // namespace wick
