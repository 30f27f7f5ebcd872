#include "core/values/json_fields.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {

namespace testing {
struct Wheel {
  int spokes = 1;
  std::vector<Duration> turns;
  bool operator==(const Wheel&) const = default;
};
enum class Colour { kRed, kGreen };
struct Cart {
  std::string name;
  std::vector<Wheel> wheels;
  std::optional<double> load;
  std::string note;
  Colour colour = Colour::kRed;
  double heat = 0.0;
  std::uint64_t number = 0;
  Bytes size{};
  Duration since{};
  bool added_later = true;
  std::string plan, plan_hash;
  int inner = 0;
  bool operator==(const Cart&) const = default;
};

constexpr std::array<std::string_view, 2> kColours{"red", "green"};

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, Wheel>& wheel) {
  fields("spokes", wheel.spokes, 1, 9);
  fields("turns_ns", wheel.turns, 1, 100);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, Cart>& cart) {
  fields.format("test.cart/1");
  fields("name", cart.name);
  fields("wheels", cart.wheels);
  fields.if_any("load", cart.load, 0.0, 2.0);
  fields.if_any("note", cart.note);
  fields.word("colour", cart.colour, kColours);
  fields.or_null("heat", cart.heat, -1.0);
  fields.unless_zero("number", cart.number);
  fields("size_bytes", cart.size);
  fields.time("since", cart.since);
  fields.later("added_later", cart.added_later);
  if (fields.holds("plan_hash", !cart.plan_hash.empty())) {
    fields("plan", cart.plan);
    fields("plan_hash", cart.plan_hash);
  }
  fields.part("part", [&](auto& part) { part("inner", cart.inner); });
}
}  // namespace testing

namespace {

using testing::Cart;
using testing::Colour;
using testing::Wheel;

Cart read(const std::string& text) {
  const Json json = parse_json(text, "c.json");
  return read_json<Cart>(JsonReader(json, "c.json"));
}

std::string refused(std::string text, const std::string& part, const std::string& by) {
  text.replace(text.find(part), part.size(), by);
  return tests::message_of([&] { static_cast<void>(read(text)); });
}

constexpr const char* kLeast =
    R"({"format": "test.cart/1", "name": "a", "wheels": [], "colour": "red", "heat": 0, )"
    R"("size_bytes": 0, "since_us": 2, "part": {"inner": 0}})";

TEST_CASE("one list of fields writes an object in its order and reads it back") {
  Cart cart;
  cart.name = "a";
  cart.wheels = {Wheel{3, {Duration{5}, Duration{7}}}};
  cart.load = 1.5;
  cart.note = "n";
  cart.colour = Colour::kGreen;
  cart.heat = std::numeric_limits<double>::infinity();
  cart.number = 4;
  cart.size = {8};
  cart.since = Duration{9};
  cart.plan = "p";
  cart.plan_hash = "h";
  cart.inner = 6;
  const std::string text = to_text(json_of(cart), 1000);
  CHECK(text ==
        R"({"format": "test.cart/1", "name": "a", "wheels": [{"spokes": 3, "turns_ns": [5, 7]}], )"
        R"("load": 1.5, "note": "n", "colour": "green", "heat": null, "number": 4, )"
        R"("size_bytes": 8, "since_ns": 9, "added_later": true, "plan": "p", "plan_hash": "h", )"
        R"("part": {"inner": 6}})");
  cart.heat = -1.0;  // what null is read as
  CHECK(read(text) == cart);
}

TEST_CASE("what may be left out keeps its value, and a time its unit") {
  Cart least;
  least.name = "a";
  least.since = std::chrono::microseconds(2);
  CHECK(read(kLeast) == least);
}

TEST_CASE("what is out of bounds, of another format, unknown or alone is refused") {
  const auto with_wheel = [](const std::string& wheel) {
    return refused(kLeast, "\"wheels\": []", "\"wheels\": [" + wheel + "]");
  };
  CHECK(with_wheel(R"({"spokes": 10, "turns_ns": []})")
            .find("/wheels/0/spokes: expected an integer") != std::string::npos);
  CHECK(with_wheel(R"({"spokes": 1, "turns_ns": [0]})").find("/wheels/0/turns_ns/0: ") !=
        std::string::npos);
  CHECK(refused(kLeast, "cart/1", "cart/2").find("expected \"test.cart/1\"") != std::string::npos);
  CHECK(refused(kLeast, "\"red\"", "\"blue\"")
            .find("/colour: expected one of red, green, got \"blue\"") != std::string::npos);
  CHECK(refused(kLeast, "\"inner\"", "\"outer\"").find("inner") != std::string::npos);
  CHECK(refused(kLeast, "\"name\"", "\"plan_hash\": \"h\", \"name\"").find("\"plan\"") !=
        std::string::npos);
  CHECK(refused(kLeast, "\"name\"", "\"load\": 3, \"name\"").find("/load: ") != std::string::npos);
}

}  // namespace
}  // namespace penstock
