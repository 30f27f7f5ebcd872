#include "report/contention_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/screen.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kShown = 5;

// "5.3 % longer"
std::string against_alone(const ContentionEffect& effect) {
  const auto alone = static_cast<double>(effect.step_time_alone.count());
  if (effect.step_time == effect.step_time_alone || alone <= 0.0) return "no longer";
  const double share = static_cast<double>(effect.step_time.count()) / alone - 1.0;
  return share > 0.0 ? percent(share) + " longer" : percent(-share) + " shorter";
}

std::string full_links(const ContentionEffect& effect, Screen screen) {
  if (effect.delays.empty()) return "  no link was ever full\n";
  TextTable table({{"  full link", true, 0}, {"transfers delayed by"}});
  for (std::size_t i = 0; i < std::min(kShown, effect.delays.size()); ++i) {
    table.add({"  " + effect.delays[i].link, to_text(effect.delays[i].delay)});
  }
  std::string out = table.text(screen.width());
  if (effect.delays.size() > kShown) {
    out += fmt::format("  and {} more\n", effect.delays.size() - kShown);
  }
  return out;
}

}  // namespace

std::string contention_text(const ContentionEffect& effect, const std::string& cluster,
                            Screen screen) {
  std::string out = "\nContention on " + cluster + '\n';
  out += fmt::format("  {:<22}{}\n", "step, transfers alone", to_text(effect.step_time_alone));
  out += fmt::format("  {:<22}{}, {}\n", "step, links shared", to_text(effect.step_time),
                     against_alone(effect));
  return out + full_links(effect, screen);
}

Json to_json(const ContentionEffect& effect) {
  Json delays = Json::array();
  for (const LinkDelay& delay : effect.delays) {
    delays.push(
        Json::object().set("link", delay.link).set("delay_ns", std::int64_t{delay.delay.count()}));
  }
  return Json::object()
      .set("step_time_alone_ns", std::int64_t{effect.step_time_alone.count()})
      .set("step_time_ns", std::int64_t{effect.step_time.count()})
      .set("delays", std::move(delays));
}

}  // namespace penstock
