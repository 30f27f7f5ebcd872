#include "report/page/report_page.h"

#include <cstddef>
#include <limits>
#include <string_view>

#include "core/values/error.h"
#include "report/page/page_files.h"

namespace penstock {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string joined_files(const std::vector<std::string_view>& files) {
  std::string text;
  for (const std::string_view file : files) {
    text += file;
    if (!text.ends_with('\n')) text += '\n';
  }
  return text;
}

std::string data_elements(const Json& data, const std::vector<PagePayload>& payloads) {
  std::string text =
      R"(<script type="application/json" id="report-data">)" + embedded_json(data) + "</script>\n";
  for (const PagePayload& payload : payloads) {
    text += R"(<script type="application/octet-stream" id=")" + payload.id + "\">" + payload.text +
            "</script>\n";
  }
  return text;
}

// Appends `html` up to a placeholder, and what stands for it; the rest is left in `html`.
void fill(std::string& page, std::string_view& html, std::string_view placeholder,
          std::string_view text) {
  const std::size_t at = html.find(placeholder);
  if (at == std::string_view::npos) {
    throw Error(ErrorKind::kInternal,
                "page.html lacks " + std::string(placeholder) + ", or has it in another order");
  }
  page += html.substr(0, at);
  page += text;
  html.remove_prefix(at + placeholder.size());
}

}  // namespace

std::string embedded_json(const Json& data) {
  std::string text;
  for (const char c : to_text(data, std::numeric_limits<int>::max())) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string report_page(const std::string& title, const Json& data,
                        const std::vector<PagePayload>& payloads) {
  const PageFiles files = page_files();
  std::string_view html = files.html;
  std::string page;
  fill(page, html, "{{TITLE}}", escaped(title));
  fill(page, html, "{{STYLE}}", joined_files(files.styles));
  fill(page, html, "{{BODY_DATA}}", data_elements(data, payloads));
  fill(page, html, "{{SCRIPT}}", joined_files(files.scripts));
  return page.append(html);
}

}  // namespace penstock
