// Coordinate descent on the logarithm of each term: raise and lower it by a factor while that
// lowers the loss, then shrink the factor. The loss is Huber's, of the logarithm of predicted over
// measured, every profile weighing the same whatever its number of rows. How good the fit is, is
// told by leaving out profiles and devices in turn, never by the rows it was fitted to.
//
// Terms and errors are rounded to three decimals (floors to microseconds) as they are handed over,
// so that a file says no more than the fit knows.
#include "estimator/fit_efficiency.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/values/error.h"
#include "estimator/measured_rows.h"

namespace penstock {
namespace {

using Row = MeasuredRow;
using Pointers = std::vector<const Row*>;

// A group of devices has a share of the peak of its own; the other terms hold for all.
using Group = std::pair<std::string, std::string_view>;  // generation, width
Group group_of(const Row& row) { return {row.device->generation, width_name(row.arithmetic)}; }

struct Model {
  EfficiencyTerms shared;        // its products: of groups without one
  std::vector<double> products;  // by group; 0: none

  [[nodiscard]] EfficiencyTerms terms_for(const Row& row) const {
    EfficiencyTerms terms = shared;
    const double own = products[static_cast<std::size_t>(row.group)];
    if (own > 0.0) terms.products = own;
    return terms;
  }
};

double estimate(const Row& row, Direction direction, const EfficiencyTerms& terms) {
  const bool forward = direction == Direction::kForward;
  const EfficiencyCurve curve{"", "", true, terms, {}};
  const Rates rates =
      rates_of(*row.device, row.peak, curve, row.kernel, row.sequence_length, row.head_width);
  return times_of(forward ? row.counts.forward : row.counts.backward, direction,
                  row.role == SectionRole::kLayer ? Place::kLayer : Place::kEnd, rates)
      .sum();
}

// Squared up to here, linear beyond, so that a time that went wrong does not decide.
constexpr double kHuber = 0.3;
// What embedding and head weigh in a profile, where layers weigh 1.
constexpr double kWeightOfEnd = 0.3;

double huber(double error) {
  const double size = std::abs(error);
  return size < kHuber ? size * size : kHuber * (2.0 * size - kHuber);
}

// Sum over profiles of the mean loss of their layers' and ends' times; every profile counts alike.
class Loss {
 public:
  explicit Loss(const Pointers& rows) {
    std::map<std::pair<int, SectionRole>, int> counts;
    for (const Row* row : rows) ++counts[{row->profile, row->role}];
    weighted_.reserve(rows.size());
    for (const Row* row : rows) {
      const double weight = row->role == SectionRole::kLayer ? 1.0 : kWeightOfEnd;
      weighted_.emplace_back(row, weight / counts.at({row->profile, row->role}));
    }
  }

  [[nodiscard]] double operator()(const Model& model) const {
    double sum = 0.0;
    for (const auto& [row, weight] : weighted_) {
      const EfficiencyTerms terms = model.terms_for(*row);
      sum += weight * (term(*row, Direction::kForward, row->forward_s, terms) +
                       term(*row, Direction::kBackward, row->backward_s, terms));
    }
    return sum;
  }

 private:
  static double term(const Row& row, Direction direction, double measured,
                     const EfficiencyTerms& terms) {
    return huber(std::log(estimate(row, direction, terms) / measured));
  }

  std::vector<std::pair<const Row*, double>> weighted_;
};

// Each term in turn is raised and lowered by a factor while that helps; then the factor shrinks.
// Six terms and a loss without valleys inside valleys need nothing better.
class Fit {
 public:
  // Of `groups` groups, or with one share for all of them.
  Fit(const Pointers& rows, int groups, bool by_group) : loss_(rows) {
    model_.products.resize(static_cast<std::size_t>(groups));
    model_.shared = {.products = 0.6,
                     .memory = 0.8,
                     .link = 0.5,
                     .forward_floor_s = 1e-3,
                     .backward_floor_s = 1e-3,
                     .end_floor = 0.5};
    terms_ = {&model_.shared.memory, &model_.shared.link, &model_.shared.end_floor,
              &model_.shared.forward_floor_s, &model_.shared.backward_floor_s};
    if (by_group) {
      for (const Row* row : rows) model_.products[static_cast<std::size_t>(row->group)] = 0.6;
      for (double& share : model_.products) {
        if (share > 0.0) terms_.push_back(&share);
      }
    } else {
      terms_.push_back(&model_.shared.products);
    }
  }
  Fit(const Fit&) = delete;
  Fit& operator=(const Fit&) = delete;

  Model run() {
    best_ = loss_(model_);
    for (double step = 0.3; step > 1e-3;) {
      bool better = false;
      for (double* term : terms_) {
        better = improve(*term, 1.0 + step) || improve(*term, 1.0 / (1.0 + step)) || better;
      }
      if (!better) step /= 2.0;
    }
    use_mean_for_others();
    return model_;
  }

 private:
  void use_mean_for_others() {
    double sum = 0.0;
    int count = 0;
    for (const double share : model_.products) {
      if (share <= 0.0) continue;
      sum += share;
      ++count;
    }
    if (count > 0) model_.shared.products = sum / count;
  }

  bool improve(double& term, double factor) {
    const double before = term;
    term = std::min(term * factor, 1.0);
    const double loss = loss_(model_);
    if (loss < best_ - 1e-12) return best_ = loss, true;
    term = before;
    return false;
  }

  Loss loss_;
  Model model_;
  std::vector<double*> terms_;
  double best_ = 0.0;
};

// Embeddings are not fitted to: their published backward leaves out the gradient of the table.
Pointers fitted(const std::vector<Row>& rows, const std::vector<EfficiencyCase>& cases,
                const std::function<bool(const Row&)>& takes) {
  Pointers chosen;
  for (const Row& row : rows) {
    if (row.role == SectionRole::kEmbedding || !takes(row)) continue;
    if (row.forward_s <= 0.0 || row.backward_s <= 0.0) continue;
    if (cases[static_cast<std::size_t>(row.profile)].in_fit) chosen.push_back(&row);
  }
  return chosen;
}

// measured / predicted - 1 of whole passes.
struct Deviation {
  int group = 0;
  double value = 0.0;
};

std::vector<Deviation> deviations(const std::vector<Row>& rows, const Model& model,
                                  const std::function<bool(const Row&)>& takes) {
  struct Sum {
    double measured = 0.0, predicted = 0.0;
    int group = 0;
  };
  std::map<int, Sum> sums;
  for (const Row& row : rows) {
    if (!takes(row)) continue;
    const EfficiencyTerms terms = model.terms_for(row);
    Sum& sum = sums[row.pass];
    sum.measured += row.sections * (row.forward_s + row.backward_s);
    sum.predicted += row.sections * (estimate(row, Direction::kForward, terms) +
                                     estimate(row, Direction::kBackward, terms));
    sum.group = row.group;
  }
  std::vector<Deviation> out;
  out.reserve(sums.size());
  for (const auto& [pass, sum] : sums) {
    out.push_back({sum.group, sum.measured / sum.predicted - 1.0});
  }
  return out;
}

// Entry number ceil(share * N) in ascending order.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::min(std::max<std::size_t>(rank, 1), values.size()) - 1];
}

std::vector<double> sizes(const std::vector<Deviation>& deviations) {
  std::vector<double> out;
  out.reserve(deviations.size());
  for (const Deviation& deviation : deviations) out.push_back(std::abs(deviation.value));
  return out;
}

// Three decimals, so that the file says no more than is known.
double rounded(double value) { return std::floor(value * 1000.0 + 0.5) / 1000.0; }

LeftOut left_out(std::string what, const std::vector<Deviation>& deviations, bool in_fit) {
  std::vector<double> values;
  values.reserve(deviations.size());
  for (const Deviation& deviation : deviations) values.push_back(deviation.value);
  LeftOut left;
  left.what = std::move(what);
  left.passes = static_cast<std::int64_t>(deviations.size());
  left.median = rounded(quantile(sizes(deviations), 0.5));
  left.nine_of_ten = rounded(quantile(sizes(deviations), 0.9));
  left.largest = rounded(quantile(sizes(deviations), 1.0));
  left.bias = rounded(quantile(values, 0.5));
  left.in_fit = in_fit;
  return left;
}

// What nine of ten lie within, one in twenty beyond either side.
ErrorBand band_of(const std::vector<Deviation>& deviations) {
  std::vector<double> values;
  values.reserve(deviations.size());
  for (const Deviation& deviation : deviations) values.push_back(deviation.value);
  return {rounded(std::max(-quantile(values, 0.05), 0.0)),
          rounded(std::max(quantile(values, 0.95), 0.0))};
}

EfficiencyTerms rounded(EfficiencyTerms terms) {
  for (double* share : {&terms.products, &terms.memory, &terms.link, &terms.end_floor}) {
    *share = rounded(*share);
  }
  for (double* floor : {&terms.forward_floor_s, &terms.backward_floor_s}) {
    *floor = rounded(*floor * 1000.0) / 1000.0;  // microseconds
  }
  return terms;
}

class EfficiencyFit {
 public:
  EfficiencyFit(const std::vector<EfficiencyCase>& cases, const std::vector<DeviceSheet>& devices)
      : cases_(cases), rows_(measured_rows(cases, devices)) {
    std::set<Group> groups;
    for (const Row& row : rows_) groups.insert(group_of(row));
    groups_.assign(groups.begin(), groups.end());
    for (Row& row : rows_) {
      const auto place = std::lower_bound(groups_.begin(), groups_.end(), group_of(row));
      row.group = static_cast<int>(place - groups_.begin());
    }
    by_group_.resize(groups_.size());
  }

  Efficiency run() {
    refuse_too_few();
    leave_out_profiles();
    leave_out_devices();
    add_curves();
    return std::move(result_);
  }

 private:
  static bool all(const Row&) { return true; }
  Model fit(bool by_group, const std::function<bool(const Row&)>& takes) const {
    return Fit(fitted(rows_, cases_, takes), static_cast<int>(groups_.size()), by_group).run();
  }

  void refuse_too_few() const {
    std::set<int> profiles;
    std::set<std::string> devices;
    for (const Row* row : fitted(rows_, cases_, all)) {
      profiles.insert(row->profile);
      devices.insert(row->device->name);
    }
    if (profiles.size() < 2 || devices.size() < 2) {
      throw_bad_input(
          "two profiles and two devices at least are needed to leave one out; add more "
          "cases with in_fit true");
    }
  }

  // Curves of known generations are asked about models they have not seen.
  void leave_out_profiles() {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const auto of_profile = [&](const Row& row) { return row.profile == static_cast<int>(i); };
      const Model model = fit(true, [&](const Row& row) { return !of_profile(row); });
      const std::vector<Deviation> found = deviations(rows_, model, of_profile);
      result_.left_out.push_back(left_out("profile " + cases_[i].name, found, cases_[i].in_fit));
      if (!cases_[i].in_fit) continue;
      for (const Deviation& deviation : found) {
        by_group_[static_cast<std::size_t>(deviation.group)].push_back(deviation);
      }
    }
  }

  // The curve of "any" is asked about devices it has not seen.
  void leave_out_devices() {
    std::set<std::string> names;
    for (const Row* row : fitted(rows_, cases_, all)) names.insert(row->device->name);
    for (const std::string& name : names) {
      const auto of_device = [&](const Row& row) { return row.device->name == name; };
      const Model model = fit(false, [&](const Row& row) { return !of_device(row); });
      const std::vector<Deviation> found = deviations(rows_, model, [&](const Row& row) {
        return of_device(row) && cases_[static_cast<std::size_t>(row.profile)].in_fit;
      });
      result_.left_out.push_back(left_out("device " + name, found, true));
      of_devices_.insert(of_devices_.end(), found.begin(), found.end());
    }
  }

  // Devices that nobody measured are not trusted with more than the least of those measured with
  // numbers of that width, or of all.
  [[nodiscard]] double least_share(const Model& grouped, std::string_view width) const {
    double of_width = 1.0, of_all = 1.0;
    bool found = false;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      const double share = grouped.products[group];
      if (share <= 0.0) continue;
      of_all = std::min(of_all, share);
      if (groups_[group].second != width) continue;
      of_width = std::min(of_width, share);
      found = true;
    }
    return found ? of_width : of_all;
  }

  void add_curves() {
    const Model any = fit(false, all), grouped = fit(true, all);
    for (const std::string_view width : {"half", "tensorfloat32", "float32"}) {
      EfficiencyTerms terms = any.shared;
      terms.products = least_share(grouped, width);
      result_.curves.push_back(
          {"any", std::string(width), true, rounded(terms), band_of(of_devices_)});
    }
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      if (grouped.products[group] <= 0.0) continue;
      EfficiencyTerms terms = grouped.shared;
      terms.products = grouped.products[group];
      result_.curves.push_back({groups_[group].first, std::string(groups_[group].second), true,
                                rounded(terms), band_of(by_group_[group])});
    }
  }

  const std::vector<EfficiencyCase>& cases_;
  std::vector<Row> rows_;
  Efficiency result_;
  std::vector<Group> groups_;  // ascending
  std::vector<std::vector<Deviation>> by_group_;
  std::vector<Deviation> of_devices_;  // of those that were left out
};

}  // namespace

Efficiency fit_efficiency(const std::vector<EfficiencyCase>& cases,
                          const std::vector<DeviceSheet>& devices) {
  return EfficiencyFit(cases, devices).run();
}

}  // namespace penstock
