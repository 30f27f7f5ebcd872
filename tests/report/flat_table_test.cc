#include "report/flat_table.h"

#include <doctest/doctest.h>

using namespace penstock;

TEST_CASE("keys become columns, nested ones behind their object's key") {
  Json row = Json::object();
  append_flat(
      row,
      Json::object().set("schema_version", 1).set("a", 1).set("b", Json::object().set("c", true)),
      "x_");
  append_flat(row, Json::object().set("empty", Json()).set("text", "q"));
  CHECK(flat_table({row}).csv() == "x_a,x_b_c,empty,text\r\n1,true,,q\r\n");
}

TEST_CASE("plain values of an array are joined, objects in one are left out") {
  Json row = Json::object();
  append_flat(row, Json::object()
                       .set("cuts", Json::array().push(0).push(2).push(3))
                       .set("none", Json::array())
                       .set("ranks", Json::array().push(Json::object().set("a", 1))));
  CHECK(flat_table({row}).csv() == "cuts,none\r\n0 2 3,\r\n");
}

TEST_CASE("rows may lack what others have") {
  const Json first = Json::object().set("a", 1);
  const Json second = Json::object().set("b", "x").set("a", 2);
  CHECK(flat_table({first, second}).csv() == "a,b\r\n1,\r\n2,x\r\n");
}

TEST_CASE("without rows there is no table") { CHECK(flat_table({}).csv().empty()); }
