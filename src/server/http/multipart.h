#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wick {

// One part of a form. The body lies in the request's.
struct FormPart {
  std::string name, file_name, content_type;
  std::string_view body;
};

// The boundary in "multipart/form-data; boundary=x"; empty for another type or none.
std::string multipart_boundary(std::string_view content_type);

// The parts of a multipart/form-data body (RFC 7578). Throws Error(kInvalidArgument) saying what is wrong: a boundary
// that does not come, a part without a name, more than 64 parts, a header of more than 8 KiB.
std::vector<FormPart> parse_multipart(std::string_view body, std::string_view boundary);

}  // namespace wick
