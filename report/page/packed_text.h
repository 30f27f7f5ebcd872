// Bytes as text that a browser unpacks by itself: gzip, then base64.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// A gzip file (RFC 1952) without time, name or system: the same bytes for the same input.
std::string gzip(std::string_view bytes);

// RFC 4648, with padding, on one line.
std::string base64(std::string_view bytes);

}  // namespace penstock
