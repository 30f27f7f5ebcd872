// One HTML file that shows a result and needs nothing else, not even a network: the page's own
// files, the data as JSON, and the timelines packed (docs/report.md, "The file").
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"

namespace penstock {

// What does not go well as JSON: gzip in base64, in a script element of its own.
struct PagePayload {
  std::string id;  // of the element: letters, digits and '-'
  std::string text;
};

std::string report_page(const std::string& title, const Json& data,
                        const std::vector<PagePayload>& payloads);

// JSON as it may stand inside of a script element: every '<' is written as \u003c.
std::string embedded_json(const Json& data);

}  // namespace penstock
