#include "cli/options/gpu_counts.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

using namespace penstock;

namespace {

using Counts = std::vector<int>;

std::string refusal(const char* text) {
  return tests::message_of([&] { static_cast<void>(gpu_counts(text)); });
}

}  // namespace

TEST_CASE("a list of numbers and ranges is ascending, each number once; one number is none") {
  CHECK_FALSE(gpu_counts("64"));
  CHECK(gpu_counts("8..11") == Counts{8, 9, 10, 11});
  CHECK(gpu_counts("8..30:8") == Counts{8, 16, 24});
  CHECK(gpu_counts("16, 4,8..24:8") == Counts{4, 8, 16, 24});
}

TEST_CASE("a range in another writing is answered in ours") {
  const auto write = [](const char* typed, const char* ours) {
    CAPTURE(typed);
    CHECK(refusal(typed) == "--gpus: '" + std::string(typed) +
                                "' is not how a range is written\nhelp: write " + ours);
  };
  write("8-64", "8..64");
  write("8:64:8", "8..64:8");
  write("8..64..2", "8..64:2");
  write("8-64:8", "8..64:8");
  write("8..16..32", "8,16,32");  // ascending: they are all that is meant
  write("8:8:64", "8..64:8");     // the step in the middle
  CHECK(refusal("8 16").find("write them with commas: 8,16") != std::string::npos);
  CHECK(refusal("4,8-16").find("write 8..16") != std::string::npos);
  CHECK(refusal("8..4").find("write 4..8") != std::string::npos);
  CHECK(refusal("1..99999").find("take larger steps") != std::string::npos);
  for (const char* number : {"64", "-4", "1.5", "8-", "x"}) {
    CAPTURE(number);
    CHECK_FALSE(gpu_counts(number));  // its parser's to answer
  }
}

TEST_CASE("GPUs of several types are a cluster file") {
  CHECK(refusal("32xH100,32xA100").find("--cluster FILE") != std::string::npos);
}

TEST_CASE("a number with what is counted is written with the options that take both") {
  const auto write = [](const char* typed, const char* options) {
    CAPTURE(typed);
    CHECK(refusal(typed).find("write " + std::string(options)) != std::string::npos);
  };
  write("8 H100", "--device h100-sxm --gpus 8");
  write("h100:8", "--device h100-sxm --gpus 8");
  write("2x8xH100", "--device h100-sxm --gpus 16");  // 2 nodes of 8
  write("2 nodes", "--nodes 2 instead of --gpus");
  write("16 cards", "--gpus 16");
  std::string factors;
  for (int i = 0; i < 30000; ++i) factors += "1x";
  CHECK(refusal((factors + "H").c_str()).find("is not a number of GPUs") != std::string::npos);
}
