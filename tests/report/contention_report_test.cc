#include "report/contention_report.h"

#include <doctest/doctest.h>

#include "report/screen.h"

namespace penstock {
namespace {

TEST_CASE("what shared links cost, and which were full") {
  ContentionEffect effect;
  effect.step_time_alone = Duration{8'000'000};
  effect.step_time = Duration{10'000'000};
  effect.delays = {{"devices 0-7 to network", Duration{4'000'000}},
                   {"device 3 from nvlink", Duration{7'000}}};
  CHECK(contention_text(effect, "two nodes", Screen{}) ==
        "\nContention on two nodes\n"
        "  step, transfers alone 8 ms\n"
        "  step, links shared    10 ms, 25.0 % longer\n"
        "  full link               transfers delayed by\n"
        "  devices 0-7 to network                  4 ms\n"
        "  device 3 from nvlink                    7 us\n");
  CHECK(to_text(to_json(effect)) ==
        R"({
  "step_time_alone_ns": 8000000,
  "step_time_ns": 10000000,
  "delays": [
    {"link": "devices 0-7 to network", "delay_ns": 4000000},
    {"link": "device 3 from nvlink", "delay_ns": 7000}
  ]
})");
}

TEST_CASE("no contention is said, and many links are cut to five") {
  ContentionEffect effect;
  effect.step_time_alone = effect.step_time = Duration{5};
  CHECK(contention_text(effect, "c", Screen{}) ==
        "\nContention on c\n"
        "  step, transfers alone 5 ns\n"
        "  step, links shared    5 ns, no longer\n"
        "  no link was ever full\n");
  effect.delays.assign(7, {"wire", Duration{1}});
  CHECK(contention_text(effect, "c", Screen{}).ends_with("  and 2 more\n"));
}

}  // namespace
}  // namespace penstock
