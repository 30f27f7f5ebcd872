#include "manager/notices/read_body.h"

#include <algorithm>

namespace penstock {

std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string result(text.substr(0, kMost));
  for (char& character : result) {
    if (character < ' ' || character > '~') character = '?';
  }
  return text.size() > kMost ? result + "..." : result;
}

bool is_header_text(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most &&
         std::ranges::all_of(text, [](char one) { return one > ' ' && one <= '~'; });
}

std::string trouble_of(const HttpReply& reply, std::string_view cloud, std::string_view path) {
  return std::string(cloud) + " metadata " + std::string(path) + ": " +
         (reply.status == 0 ? reply.trouble : "answered " + std::to_string(reply.status));
}

std::string text_at(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  return found != nullptr && found->kind() == Json::Kind::kString ? found->text() : "";
}

}  // namespace penstock
