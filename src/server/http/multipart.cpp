#include "server/http/multipart.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr size_t kMostParts = 64, kMostHeader = 8 << 10, kMostBoundary = 200;

Error wrong(const std::string& what) { return {ErrorCode::kInvalidArgument, cat("the form is damaged: ", what)}; }

// The parameter of a field: `name` in `form-data; name="file"; filename="a.wav"`. Empty when it is not there.
std::string parameter(std::string_view field, std::string_view wanted) {
  size_t at = field.find(';');
  while (at != std::string_view::npos && at < field.size()) {
    const size_t equals = field.find('=', at + 1);
    if (equals == std::string_view::npos) return {};
    const std::string name = lower_ascii(trimmed(field.substr(at + 1, equals - at - 1), kBlanks));
    std::string value;
    size_t end = equals + 1;
    if (end < field.size() && field[end] == '"') {
      for (++end; end < field.size() && field[end] != '"'; ++end) {
        if (field[end] == '\\' && end + 1 < field.size()) ++end;
        value += field[end];
      }
      end = field.find(';', end);
    } else {
      end = field.find(';', equals);
      value = trimmed(field.substr(equals + 1, end == std::string_view::npos ? end : end - equals - 1), kBlanks);
    }
    if (name == wanted) return value;
    at = end;
  }
  return {};
}

FormPart read_header(std::string_view header) {
  FormPart part;
  while (!header.empty()) {
    const size_t end = std::min(header.find("\r\n"), header.size());
    const std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 2, header.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string name = lower_ascii(trimmed(line.substr(0, colon), kBlanks));
    const std::string_view value = trimmed(line.substr(colon + 1), kBlanks);
    if (name == "content-type") part.content_type = value;
    if (name != "content-disposition") continue;
    part.name = parameter(value, "name");
    part.file_name = parameter(value, "filename");
  }
  if (part.name.empty()) throw wrong("a part has no name");
  return part;
}

}  // namespace

std::string multipart_boundary(std::string_view content_type) {
  const std::string kind = lower_ascii(trimmed(content_type.substr(0, content_type.find(';')), kBlanks));
  return kind == "multipart/form-data" ? parameter(content_type, "boundary") : std::string();
}

std::vector<FormPart> parse_multipart(std::string_view body, std::string_view boundary) {
  if (boundary.empty() || boundary.size() > kMostBoundary) throw wrong("its boundary is empty or too long");
  const std::string line = cat("--", boundary), delimiter = cat("\r\n", line);
  // What stands before the first boundary has no meaning.
  size_t at = body.starts_with(line) ? line.size() : body.find(delimiter);
  if (at == std::string_view::npos) throw wrong("its boundary does not come");
  if (!body.starts_with(line)) at += delimiter.size();
  std::vector<FormPart> parts;
  while (!body.substr(at).starts_with("--")) {
    at = body.find("\r\n", at);
    if (at == std::string_view::npos) throw wrong("it ends behind a boundary");
    at += 2;
    const bool has_header = !body.substr(at).starts_with("\r\n");
    const size_t header_end = has_header ? body.find("\r\n\r\n", at) : at;
    if (header_end == std::string_view::npos) throw wrong("the header of a part does not end");
    if (header_end - at > kMostHeader) throw wrong(cat("the header of a part is longer than ", kMostHeader, " bytes"));
    if (parts.size() == kMostParts) throw wrong(cat("it has more than ", kMostParts, " parts"));
    FormPart part = read_header(body.substr(at, header_end - at));
    const size_t begin = header_end + (has_header ? 4 : 2);
    const size_t end = body.find(delimiter, begin);
    if (end == std::string_view::npos) throw wrong(cat("the part '", part.name, "' does not end"));
    part.body = body.substr(begin, end - begin);
    parts.push_back(std::move(part));
    at = end + delimiter.size();
  }
  return parts;
}

}  // namespace wick
