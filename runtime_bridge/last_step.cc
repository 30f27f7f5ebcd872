// The rule, and why it never yields a mixture.
//
// A step t of any rank is: barrier, forwards and backwards, reductions, NORM (a sum over all
// ranks), updates, a gather of what was measured, next barrier. Weights change in the updates only.
//
//   - A rank that is past the barrier of t + 1 shows that all ranks had come to it, so all have
//     finished t. Survivors are therefore in the same step or in two that follow each other, and
//     whoever is in the earlier one has finished it.
//   - A rank that has the sums of NORM(t) shows that all ranks gave their share, and a rank gives
//     its share when its own gradients of t are reduced. So every survivor has all that its updates
//     of t need, but perhaps for the three numbers, which it can be told. All can finish t.
//   - Where nobody has the sums and updates wait for them, nobody has updated anything in t: all
//     hold the state of t finished steps.
//   - Where updates do not wait for the norm, a rank may have updated when another still lacks
//     gradients that only the lost one had. Then nobody can go on or back: there is no such step.
//   - With ZeRO-1 an update is complete when the weights were gathered from all holders, which
//     needs every rank; what was begun and not gathered can neither be finished nor undone.
//
// So: let t* be the most steps that any survivor has committed to (its updates are complete, or it
// has the norm that they wait for). Each survivor must be there, or be able to finish the one step
// that it lacks, or the answer is that there is none.
#include "runtime_bridge/last_step.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <limits>

#include "core/values/json_fields.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr int kMostRank = 1 << 20;

bool is_complete(const StepStanding& standing) {
  return standing.updates > 0 && standing.updated == standing.updates;
}

// Steps that this rank will not take back.
std::int64_t committed(const StepStanding& standing) {
  const bool commits = is_complete(standing) || (standing.norm_first && standing.norm);
  return standing.step + (commits ? 1 : 0);
}

// Empty when its state is, or can be made, that of `next_step` finished steps.
std::string obstacle(const StepStanding& standing, std::int64_t next_step, bool norm_is_known) {
  const std::string step = std::to_string(standing.step);
  if (next_step == standing.step) {
    if (standing.updated > 0) return "has updated a part of its weights in step " + step;
    if (standing.changed_by_forward) {
      return "has changed buffers of its sections (such as running means) in step " + step;
    }
    return "";
  }
  if (next_step != standing.step + 1) return "is still in step " + step;
  if (is_complete(standing)) return "";
  if (!standing.can_finish) {
    return "had begun to update the weights of step " + step + ", and cannot end that alone";
  }
  if (!standing.reduced || !norm_is_known) return "lacks reduced gradients of step " + step;
  return "";
}

// All bits of a number, as text.
std::string bits_of(double value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(value)));
  return text.data();
}

double number_of_bits(const JsonReader& reader) {
  const std::string text = reader.string();
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
  if (error != std::errc() || end != text.data() + text.size()) reader.expected("16 digits");
  return std::bit_cast<double>(bits);
}

Json json_of_bits(double value) { return bits_of(value); }

template <class Fields>
void norm_of(Fields& fields, FieldsOf<Fields, std::optional<NormShare>>& norm) {
  if (!fields.holds("loss", norm.has_value())) return;
  if constexpr (Fields::kReads) norm.emplace();
  fields.as("squared_norm", norm->squared_norm, json_of_bits, number_of_bits);
  fields.as("loss", norm->loss, json_of_bits, number_of_bits);
  fields.as("not_finite", norm->not_finite, json_of_bits, number_of_bits);
}

// Nothing where it cannot be read; what else stands there is not looked at.
template <class Value>
std::optional<Value> read_if_sound(const std::string& text, const std::string& name) {
  try {
    const Json json = parse_json(text, name);
    JsonReader reader(json, name);
    ReadFields fields(reader);
    Value value;
    fields_of(fields, value);
    return value;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, StepStanding>& standing) {
  fields("step", standing.step);
  fields("reduced", standing.reduced);
  fields("norm_first", standing.norm_first);
  fields("updates", standing.updates);
  fields("updated", standing.updated);
  fields("can_finish", standing.can_finish);
  fields("changed_by_forward", standing.changed_by_forward);
  fields("plan", standing.plan);
  fields("mirrored", standing.mirrored, kNotMirrored, kMost);
  norm_of(fields, standing.norm);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, LastStep>& last) {
  fields("next_step", last.next_step);
  fields("ranks", last.ranks, 0, kMostRank);
  fields("mirrored", last.mirrored);
  fields("why_not", last.why_not);
  norm_of(fields, last.norm);
}

std::string write_standing(const StepStanding& standing) { return to_text(json_of(standing)); }

std::optional<StepStanding> read_standing(const std::string& text) {
  return read_if_sound<StepStanding>(text, "standing");
}

std::string write_last_step(const LastStep& last) { return to_text(json_of(last)); }

std::optional<LastStep> read_last_step(const std::string& text) {
  return read_if_sound<LastStep>(text, "last step");
}

LastStep last_common_step(const std::map<int, StepStanding>& survivors) {
  LastStep last;
  for (const auto& [rank, standing] : survivors) {
    last.ranks.push_back(rank);
    last.next_step = std::max(last.next_step, committed(standing));
    if (standing.plan != survivors.begin()->second.plan) {
      last.why_not = "the plan of the run was just being changed";
    }
  }
  for (const auto& [rank, standing] : survivors) {
    if (standing.step + 1 == last.next_step && standing.norm) last.norm = standing.norm;
  }
  for (const auto& [rank, standing] : survivors) {
    if (!last.why_not.empty()) break;
    const std::string what = obstacle(standing, last.next_step, last.norm.has_value());
    if (!what.empty()) {
      last.why_not =
          "the survivors have no step in common: rank " + std::to_string(rank) + ' ' + what;
    }
  }
  return last;
}

}  // namespace penstock
