#include "estimator/model_flops.h"

#include <doctest/doctest.h>

#include "tests/estimator/models.h"

using namespace penstock;

// Llama-3-8B, 8192 tokens: 6 x (32 x 218,103,808 + 128,256 x 4096) = 45,027,950,592 per token for
// the products, and 32 layers x 6 x 8192 / 2 x 2 x 4096 = 6,442,450,944 for the visible half of the
// scores.
TEST_CASE("products count six times, visible scores three, and lookups nothing") {
  const Architecture model = tests::shipped_model("llama-3-8b");
  CHECK(model_flops(model, 8192) ==
        doctest::Approx((45'027'950'592.0 + 6'442'450'944.0) * 8192).epsilon(1e-12));
}
