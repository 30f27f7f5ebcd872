#include "report/page/report_page.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "report/page/page_files.h"

namespace penstock {
namespace {

int count(std::string_view text, std::string_view part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++found;
  }
  return found;
}

TEST_CASE("JSON cannot end the element that it stands in") {
  const Json data = Json::object().set("model", "</script><img src=x onerror=alert(1)>");
  const std::string text = embedded_json(data);
  CHECK(text.find('<') == std::string::npos);
  CHECK(parse_json(text, "data") == data);
}

TEST_CASE("the page holds title, data and payloads once, and no placeholder") {
  const Json data = Json::object().set("model", "{{SCRIPT}} {{STYLE}}");
  const std::string page = report_page("a <b> & {{STYLE}}", data, {{"timeline-0", "QUJD"}});
  CHECK(count(page, "<title>a &lt;b> &amp; {{STYLE}}</title>") == 1);
  CHECK(count(page, R"(<script type="application/octet-stream" id="timeline-0">QUJD</script>)") ==
        1);
  CHECK(count(page, R"({"model": "{{SCRIPT}} {{STYLE}}"}</script>)") == 1);
  CHECK(count(page, "{{TITLE}}") + count(page, "{{BODY_DATA}}") == 0);
  CHECK(page.ends_with("</html>\n"));
}

TEST_CASE("nothing of the page comes from elsewhere") {
  const std::string page = report_page("", Json::object(), {});
  CHECK(count(page, "default-src 'none'") == 1);
  CHECK(count(page, " src=\"http") + count(page, " href=\"http") + count(page, "@import") == 0);
  CHECK(page_files().styles.size() >= 1);
  CHECK(page_files().scripts.size() >= 1);
}

}  // namespace
}  // namespace penstock
