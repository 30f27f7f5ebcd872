#include "core/values/trainer_table.h"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("plans are made for a version of a trainer; its default goes by the plain name") {
  CHECK(trainer_names() == std::vector<std::string>{"penstock", "pytorch", "torchtitan",
                                                    "torchtitan@0.1", "torchtitan@head", "megatron",
                                                    "deepspeed"});
  CHECK(trainer_named("torchtitan") == Trainer::kTorchtitan);
  CHECK(trainer_named("torchtitan@0.2") == Trainer::kTorchtitan);
  CHECK(trainer_named("torchtitan@head") == Trainer::kTorchtitanHead);
  CHECK(trainer_named("pytorch@2.5") == Trainer::kPytorch);
  CHECK(trainer_named("megatron-bridge") == Trainer::kMegatron);
  CHECK(trainer_named("megatron-bridge@0.6") == Trainer::kMegatron);
  CHECK(trainer_named("deepspeed@0.19") == Trainer::kDeepspeed);
  for (const char* none : {"", "@", "penstock@", "penstock@1", "megatron@", "megatron@0.19",
                           "varuna", "varuna@1.0", "torchtitan@0.2@0.2"}) {
    CHECK_FALSE(trainer_named(none).has_value());
  }
}

TEST_CASE("every trainer that plans are made for has a name of its own that finds it") {
  std::set<std::string_view> names;
  for (const TrainerRow& row : trainer_table()) {
    REQUIRE_FALSE(row.versions.empty());
    CHECK(find_trainer_row(row.name) == &row);
    for (const TrainerVersion& version : row.versions) {
      if (!version.planned) continue;
      const std::string_view name = name_of(*version.planned);
      CHECK(trainer_named(name) == version.planned);
      names.insert(name);
    }
  }
  CHECK(names.size() == trainer_names().size());
}

}  // namespace
}  // namespace penstock
