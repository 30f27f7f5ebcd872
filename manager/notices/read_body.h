// Reading what a metadata service answers. Unlike our own files these may hold keys that we do not
// know: a cloud may add some, and a notice that is refused is a machine lost unannounced.
#pragma once

#include <string>
#include <string_view>

#include "core/values/error.h"
#include "core/values/json.h"
#include "manager/notices/cloud_notice.h"

namespace penstock {

// At most 60 characters, printable ones only: part of a log line.
std::string shortened(std::string_view text);
// Printable ASCII without blanks, not empty, at most `most` characters: may be sent as a header.
bool is_header_text(std::string_view text, std::size_t most);
// "AWS metadata /latest/...: answered 500", or why there was no answer.
std::string trouble_of(const HttpReply& reply, std::string_view cloud, std::string_view path);
// The string under a key of an object; "" where there is none.
std::string text_at(const Json& json, std::string_view key);

// What `read` makes of a JSON object; trouble where the body is none.
template <class Read>
NoticesRead read_json_body(const std::string& body, const std::string& source, const Read& read) {
  try {
    const Json json = parse_json(body, source);
    if (json.kind() != Json::Kind::kObject)
      return {{}, source + ": the answer is not a JSON object"};
    return read(json);
  } catch (const Error& error) {
    return {{}, shortened(error.what())};
  }
}

}  // namespace penstock
