#include "studies/change_terms.h"

#include <algorithm>

#include "core/values/term_names.h"

namespace penstock {
namespace {

constexpr const char* kAttention = "attention";  // has no weights, hence no part of W
constexpr const char* kRouting = "routing";      // likewise

double ns(Duration duration) { return static_cast<double>(duration.count()); }

Duration sum_of(const Measurement& m, Duration TimeTerm::*time) {
  Duration sum{};
  for (const TimeTerm& term : m.terms) sum += term.*time;
  return sum;
}

// What a time becomes when a part of it is multiplied. Calibration multiplies times, not terms: the
// part keeps its share.
double ratio(Duration part, Duration whole, double factor) {
  return whole > Duration{} ? 1.0 + ns(part) / ns(whole) * (factor - 1.0) : 1.0;
}

void scale(Timing& timing, double by) { timing.median = scaled(timing.median, by); }

void scale_backward(Measurement& m, double by, bool weights_too) {
  if (m.input_gradient && m.weight_gradient) {
    const Duration both = m.input_gradient->median + m.weight_gradient->median;
    const double more = (by - 1.0) * ns(both);
    if (weights_too) scale(*m.weight_gradient, by);
    const double input = ns(m.input_gradient->median);
    if (input > 0.0) {
      scale(*m.input_gradient, std::max(weights_too ? by : 1.0 + more / input, 0.0));
    }
  }
  if (!m.fused_backward) return;
  scale(*m.fused_backward, by);
  if (m.weight_gradient_share && !weights_too && by > 0.0) {
    m.weight_gradient_share = std::min(*m.weight_gradient_share / by, 1.0);
  }
}

// A step of the ring is hidden by its part of attention.
void scale_ring(RingTraffic& ring, double factor) {
  ring.beside_forward = scaled(ring.beside_forward, factor);
  ring.beside_backward = scaled(ring.beside_backward, factor);
  if (ring.beside_recompute) ring.beside_recompute = scaled(*ring.beside_recompute, factor);
}

void scale_term(Measurement& m, const std::string& name, double factor) {
  const auto term = std::find_if(m.terms.begin(), m.terms.end(),
                                 [&](const TimeTerm& one) { return one.name == name; });
  if (term == m.terms.end()) return;
  scale(m.forward, ratio(term->forward, sum_of(m, &TimeTerm::forward), factor));
  scale_backward(m, ratio(term->backward, sum_of(m, &TimeTerm::backward), factor),
                 name != kAttention && name != kRouting);
  scale(m.recompute_time, ratio(term->recompute, sum_of(m, &TimeTerm::recompute), factor));
  term->forward = scaled(term->forward, factor);
  term->backward = scaled(term->backward, factor);
  term->recompute = scaled(term->recompute, factor);
  if (name == kAttention && m.ring) scale_ring(*m.ring, factor);
}

}  // namespace

void scale_term(ModelProfile& profile, const std::string& name, double factor) {
  for (SectionType& type : profile.section_types) {
    for (Measurement& m : type.measurements) scale_term(m, name, factor);
  }
}

std::vector<std::string> term_names(const ModelProfile& profile) {
  std::vector<std::string> names;
  for (const SectionType& type : profile.section_types) {
    for (const Measurement& m : type.measurements) {
      for (const TimeTerm& term : m.terms) {
        if (is_habit(term.name)) continue;
        if (std::find(names.begin(), names.end(), term.name) == names.end()) {
          names.push_back(term.name);
        }
      }
    }
  }
  return names;
}

}  // namespace penstock
