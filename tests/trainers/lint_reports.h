// Short ways to lint a text in a test.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/core/messages.h"
#include "trainers/lint/lint.h"

namespace penstock {

// The codes of the findings, in order, each with its line: "E010:3".
inline std::vector<std::string> found(const LintReport& report) {
  std::vector<std::string> codes;
  for (const LintFinding& finding : report.findings) {
    codes.push_back(finding.code + ':' + std::to_string(finding.line));
  }
  return codes;
}

inline const LintFinding& only(const LintReport& report) {
  REQUIRE(report.findings.size() == 1);
  return report.findings.front();
}

// Why a rule was not judged; empty when it was.
inline std::string gap(const LintReport& report, const std::string& code) {
  for (const LintGap& gap : report.not_judged) {
    if (gap.code == code) return gap.why;
  }
  return "";
}

// The message of the Error that `call` throws; empty when it throws none.
template <class Call>
std::string refusal(const Call& call) {
  return tests::refusal_of([&] { call(); });
}

// Files beside the text, of a folder that is made up.
inline LintRequest with_files(const std::map<std::string, std::string>& files) {
  LintRequest request;
  request.beside = [files](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return {};
    return found->second;
  };
  return request;
}

}  // namespace penstock
