#include "core/files/read_sample_lengths.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

SampleLengths read(const std::string& text) { return read_sample_lengths(text, "l.csv"); }

std::string refused(const std::string& text) {
  return tests::refusal_of([&] { (void)read(text); });
}

bool says(const std::string& message, const std::string& part) {
  CAPTURE(message);
  return message.find(part) != std::string::npos;
}

using Samples = std::vector<SampleLength>;

TEST_CASE("One integer a line is one sample, blank lines are none") {
  const SampleLengths lengths = read("82\r\n\n 7 \n16777216");
  CHECK(lengths.samples == Samples{{82, 0}, {7, 0}, {16777216, 0}});
  CHECK_FALSE(lengths.pairs);
}

TEST_CASE("Two integers are encoder and decoder, and a target may be empty") {
  const SampleLengths lengths = read("69,45\n52, 0\n");
  CHECK(lengths.samples == Samples{{69, 45}, {52, 0}});
  CHECK(lengths.pairs);
}

TEST_CASE("Columns are found by name, wherever they stand, and other columns are skipped") {
  const Samples both{{69, 45}, {52, 22}};
  CHECK(read("task,input_tokens,target_tokens\naqua,69,45\n\"a, \"\"b\"\"\",52,22\n").samples ==
        both);
  CHECK(read("generated_tokens,context_tokens\n45,69\n22,52\n").samples == both);
  const SampleLengths one = read("\xEF\xBB\xBFid,tokens\n0,69\n1,52\n");
  CHECK(one.samples == Samples{{69, 0}, {52, 0}});
  CHECK_FALSE(one.pairs);
}

TEST_CASE("JSON Lines give lengths as numbers, pairs, or lists of token ids") {
  CHECK(read("{\"text\": \"hello\", \"tokens\": 3}\n{\"length\": 2}\n{\"input_ids\": [5, 6]}\n")
            .samples == Samples{{3, 0}, {2, 0}, {2, 0}});
  CHECK(read("[3, 2]\n{\"encoder\": [1, 2, 3], \"decoder\": []}\n").samples ==
        Samples{{3, 2}, {3, 0}});
  CHECK(read("{\"tokens\": 9, \"input_tokens\": 3, \"target_tokens\": 2}\n").samples ==
        Samples{{3, 2}});
}

TEST_CASE("What is no length is refused with its line, its value and what is expected") {
  CHECK(says(refused(""), "l.csv:0: there are no samples"));
  CHECK(says(refused("\n\n"), "there are no samples"));
  CHECK(says(refused("tokens\n"), "l.csv:1: there are no samples below"));
  CHECK(says(refused("5\n0\n"),
             "l.csv:2: expected a number of tokens from 1 to 16777216, got "
             "\"0\""));
  CHECK(says(refused("5\n16777217\n"), "got \"16777217\""));
  CHECK(says(refused("5\n-3\n"), "got \"-3\""));
  CHECK(says(refused("5\n7.5\n"), "got \"7.5\""));
  CHECK(says(refused("5\n99999999999999999999\n"), "got \"99999999999999999999\""));
  CHECK(says(refused("1,2,3\n"), "expected one or two lengths, got 3 cells"));
  CHECK(says(refused("5\n6,7\n"), "l.csv:2: two lengths here, and one in the lines above"));
  CHECK(says(refused("6,7\n5\n"), "l.csv:2: one length here, and two in the lines above"));
  CHECK(says(refused("text\nhello\n"), "no column says how long the samples are"));
  CHECK(says(refused("a,tokens\n1\n"), "expected 2 cells, as the columns have names, got 1"));
  CHECK(says(refused("text,tokens\n\"a,5\n"), "a quote is not closed"));
  CHECK(says(refused("{\"tokens\": 5}\n{\"text\": \"a\"}\n"), "l.csv:2: no field says"));
  CHECK(says(refused("{\"tokens\": \"5\"}\n"), "tokens: expected a number of tokens"));
  CHECK(says(refused("{\"tokens\": 5}\n{\"tokens\": \n"), "l.csv:2:"));
  CHECK(says(refused("[\n1,\n2]\n"), "one JSON value over several lines is not JSON Lines"));
  CHECK(says(refused("[1, 2, 3]\n"), "expected [encoder, decoder]"));
  CHECK(says(refused("{\"input_ids\": []}\n"), "got \"0\""));
}

}  // namespace
}  // namespace penstock
