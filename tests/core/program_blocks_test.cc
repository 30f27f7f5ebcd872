#include "core/files/program_blocks.h"

#include <random>

#include <doctest/doctest.h>

#include "tests/watched.h"

namespace penstock {
namespace {

std::vector<ListedAction> list_of(const std::vector<std::string>& names) {
  std::vector<ListedAction> list;
  for (const std::string& name : names) {
    const std::optional<ListedAction> action = action_named(name);
    REQUIRE_MESSAGE(action.has_value(), name);
    list.push_back(*action);
  }
  return list;
}

// "3 x +1 [0F0 0SEND_F0] [0NORM]"
std::string text_of(const std::vector<Block>& blocks) {
  std::string text;
  for (const Block& block : blocks) {
    if (!text.empty()) text += " ";
    if (block.repeat > 1) {
      text += std::to_string(block.repeat) + " x " + std::to_string(block.advance) + " ";
    }
    std::string names;
    for (const ListedAction& action : block.actions) {
      names += (names.empty() ? "" : " ") + name_of(action);
    }
    text += "[" + names + "]";
  }
  return text;
}

std::vector<ListedAction> expanded(const std::vector<Block>& blocks) {
  std::vector<ListedAction> list;
  for (const Block& block : blocks) expand(block, list);
  return list;
}

TEST_CASE("a name is read as it is written") {
  for (const char* name : {"0F0",
                           "12F345",
                           "0I1",
                           "0W1",
                           "7B0",
                           "7R0",
                           "1SEND_F2",
                           "1RECV_F2",
                           "1SEND_B2",
                           "1RECV_B2",
                           "0UNSHARD",
                           "0RESHARD",
                           "3TIED_REDUCE",
                           "3REDUCE_GRAD",
                           "0NORM",
                           "0OPT",
                           "0LOAD",
                           "0STORE",
                           "65534F4294967294",
                           "(0F7;7B3)OVERLAP_F_B"}) {
    const std::optional<ListedAction> action = action_named(name);
    REQUIRE_MESSAGE(action.has_value(), name);
    CHECK(name_of(*action) == name);
  }
}

TEST_CASE("what is not wholly a name is none") {
  for (const char* text : {"",
                           "F",
                           "0",
                           "00",
                           "F0",
                           "0F",
                           "0F-1",
                           "-1F0",
                           "0F0 ",
                           " 0F0",
                           "0F0x",
                           "0f0",
                           "0FORWARD0",
                           "00F0",
                           "0F00",
                           "0F01",
                           "0NORM0",
                           "0OPT1",
                           "NORM",
                           "65535F0",
                           "99999999999F0",
                           "0F4294967295",
                           "0F99999999999",
                           "0SEND_F",
                           "0SEND0",
                           "0F0F0",
                           "0x1F0",
                           "(0F7;7B3)",
                           "(0F7;7B3)OVERLAP_F_B ",
                           "(0F7;7B3OVERLAP_F_B",
                           "(0F7)OVERLAP_F_B",
                           "(;)OVERLAP_F_B",
                           "(0F7;)OVERLAP_F_B",
                           "(0F07;7B3)OVERLAP_F_B",
                           "(7B3;0F7)OVERLAP_F_B",
                           "(0F7;7I3)OVERLAP_F_B",
                           "(0F7; 7B3)OVERLAP_F_B",
                           "(0F7;7B3;7B4)OVERLAP_F_B",
                           "((0F7;7B3)OVERLAP_F_B;7B4)OVERLAP_F_B"}) {
    CHECK_MESSAGE(!action_named(text).has_value(), text);
  }
}

TEST_CASE("warm-up, steady state and drain become blocks") {
  // Rank 0 of two, 1F1B without transfers, six micro-batches.
  const auto list = list_of({"0F0", "0F1", "0B0", "0F2", "0B1", "0F3", "0B2", "0F4", "0B3", "0F5",
                             "0B4", "0B5", "0NORM", "0OPT"});
  const std::vector<Block> blocks = compress(list, 48);
  CHECK(text_of(blocks) == "[0F0] 5 x 1 [0F1 0B0] [0B5 0NORM 0OPT]");
  CHECK(expanded(blocks) == list);
}

TEST_CASE("two or three names are not worth a block") {
  const auto list = list_of({"0F0", "0F1", "0F2", "0F3", "0B0"});
  CHECK(text_of(compress(list, 48)) == "[0F0 0F1 0F2 0F3 0B0]");
}

TEST_CASE("micro-batches may run backwards and by more than one") {
  const auto list =
      list_of({"0B8", "0B6", "0B4", "0B2", "0B0", "1F0", "1F3", "1F6", "1F9", "1F12"});
  const std::vector<Block> blocks = compress(list, 48);
  CHECK(text_of(blocks) == "5 x -2 [0B8] 5 x 3 [1F0]");
  CHECK(expanded(blocks) == list);
}

TEST_CASE("the members of a pair stay together and advance together") {
  const auto list =
      list_of({"0F1", "(0F2;3B0)OVERLAP_F_B", "(3F1;0B0)OVERLAP_F_B", "(0F3;3B1)OVERLAP_F_B",
               "(3F2;0B1)OVERLAP_F_B", "(0F4;3B2)OVERLAP_F_B", "(3F3;0B2)OVERLAP_F_B", "3B3"});
  const std::vector<Block> blocks = compress(list, 48);
  CHECK(text_of(blocks) == "[0F1] 3 x 1 [(0F2;3B0)OVERLAP_F_B (3F1;0B0)OVERLAP_F_B] [3B3]");
  CHECK(expanded(blocks) == list);
}

TEST_CASE("pairs repeat only with the same backward, at the same distance") {
  // Five pairs that repeat, then one that does not go on.
  for (const std::string last : {"(0F6;3B4)OVERLAP_F_B", "(0F6;2B5)OVERLAP_F_B",
                                 "(0F7;3B5)OVERLAP_F_B", "0F6", "(1F6;3B5)OVERLAP_F_B"}) {
    std::vector<std::string> names;
    for (int m = 1; m <= 5; ++m) {
      names.push_back("(0F" + std::to_string(m) + ";3B" + std::to_string(m - 1) + ")OVERLAP_F_B");
    }
    names.push_back(last);
    const auto list = list_of(names);
    CHECK(text_of(compress(list, 48)) == "5 x 1 [(0F1;3B0)OVERLAP_F_B] [" + last + "]");
    CHECK(expanded(compress(list, 48)) == list);
  }
}

TEST_CASE("a longer period that covers more wins over a short one") {
  // Interleaving: two of one chunk, two of the other, over and over. At the front, a period of one
  // matches once; its multiple four goes on to the end.
  std::vector<std::string> names;
  for (int m = 0; m < 12; m += 2) {
    for (const char* stage : {"0F", "2F"}) {
      names.push_back(stage + std::to_string(m));
      names.push_back(stage + std::to_string(m + 1));
    }
  }
  const std::vector<Block> blocks = compress(list_of(names), 48);
  CHECK(text_of(blocks) == "6 x 2 [0F0 0F1 2F0 2F1]");
}

TEST_CASE("a period longer than allowed is written out") {
  const auto list = list_of({"0F0", "0B0", "0I0", "0W0", "0R0", "0F1", "0B1", "0I1", "0W1", "0R1"});
  CHECK(compress(list, 4).size() == 1);
  CHECK(text_of(compress(list, 5)) == "2 x 1 [0F0 0B0 0I0 0W0 0R0]");
}

TEST_CASE("actions without micro-batches repeat too") {
  const std::vector<ListedAction> list(6, *action_named("0LOAD"));
  const std::vector<Block> blocks = compress(list, 48);
  CHECK(text_of(blocks) == "6 x 0 [0LOAD]");
  CHECK(expanded(blocks) == list);
}

TEST_CASE("an empty list has no blocks") { CHECK(compress({}, 48).empty()); }

TEST_CASE("any list comes back as it was") {
  std::mt19937 engine(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(engine() % n); };
  for (int round = 0; round < testing::draws(300); ++round) {
    std::vector<ListedAction> list;
    while (list.size() < 80) {
      // A short piece, repeated a few times with some advance.
      std::vector<ListedAction> piece;
      for (std::uint32_t i = 0; i <= below(4); ++i) {
        const auto kind = below(5) == 0 ? ActionKind::kLoad : static_cast<ActionKind>(below(3));
        const std::uint32_t m = kind == ActionKind::kLoad ? kNoMicroBatch.value : below(9);
        piece.push_back({m, static_cast<std::uint16_t>(below(2)), kind});
      }
      const std::uint32_t repeat = 1 + below(6);
      expand({repeat, below(3), piece}, list);
    }
    CHECK(expanded(compress(list, 1 + below(60))) == list);
  }
}

TEST_CASE("a long steady state takes a handful of blocks") {
  std::vector<ListedAction> list;
  for (std::uint32_t m = 0; m < 200'000; ++m) {
    list.push_back({m, 3, ActionKind::kForward});
    list.push_back({m, 3, ActionKind::kFusedBackward});
  }
  CHECK(text_of(compress(list, 6000)) == "200000 x 1 [3F0 3B0]");
}

}  // namespace
}  // namespace penstock
