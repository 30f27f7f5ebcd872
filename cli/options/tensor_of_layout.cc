#include "cli/options/tensor_of_layout.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/words/parse.h"
#include "costmodel/price_stages.h"
#include "studies/contradictions.h"

namespace penstock {
namespace {

// Of an estimate: the heads that TP divides; 0 of a profile.
int heads_of(const Question& question) {
  return question.estimated ? question.estimated->model.heads : 0;
}

std::string why_no_tensor(const Question& question, int tensor, const std::vector<int>& degrees) {
  const int heads = heads_of(question);
  if (heads > 0 && heads % tensor != 0) {
    return fmt::format("TP = {} does not divide the {} attention heads of {}", tensor, heads,
                       question.profile.value.name);
  }
  return fmt::format("TP = {}: {} has times for TP = {} only{}", tensor,
                     question.profile.value.name, fmt::join(degrees, ", "),
                     tensor_reason(question, tensor));
}

// The nearest that can be instead.
std::string help_for_tensor(const Question& question, int tensor, const std::vector<int>& degrees) {
  const int heads = heads_of(question);
  if (heads == 0 || heads % tensor == 0) {
    const auto nearest = std::min_element(degrees.begin(), degrees.end(), [tensor](int a, int b) {
      return std::abs(a - tensor) < std::abs(b - tensor);
    });
    return nearest == degrees.end() ? "write one of these"
                                    : fmt::format("TP={} is the nearest", *nearest);
  }
  int below = tensor, above = tensor;
  while (heads % below != 0) --below;
  while (above < heads && heads % above != 0) ++above;
  return above <= heads ? fmt::format("write TP={} or TP={}", below, above)
                        : fmt::format("write TP={}", below);
}

}  // namespace

void refuse_tensor(const Question& question, const Plan& plan) {
  const auto degrees = measured_tensor_degrees(question.profile.value, plan.device);
  if (degrees.empty() || std::binary_search(degrees.begin(), degrees.end(), plan.tensor)) return;
  bad_option("--layout", why_no_tensor(question, plan.tensor, degrees),
             help_for_tensor(question, plan.tensor, degrees));
}

}  // namespace penstock
