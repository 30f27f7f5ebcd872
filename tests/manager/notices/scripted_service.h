// A metadata service of a test: answers by method and path, and remembers what it was asked.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "manager/port/http_call.h"
#include "manager/utc_time.h"

namespace penstock {

struct ScriptedService {
  std::map<std::string, HttpReply> answers;  // by "GET /path"
  std::vector<HttpCall> calls;

  HttpExchange exchange() {
    return [this](const HttpCall& call) -> HttpReply {
      calls.push_back(call);
      const auto found = answers.find(call.method + " " + call.path);
      return found == answers.end() ? HttpReply{404, {}, "", ""} : found->second;
    };
  }
  [[nodiscard]] int count(const std::string& method) const {
    int found = 0;
    for (const HttpCall& call : calls) found += call.method == method ? 1 : 0;
    return found;
  }
};

inline UtcTime utc(const std::string& text) { return *parse_utc_time(text); }

}  // namespace penstock
