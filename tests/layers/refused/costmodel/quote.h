// A name that another header has given away: refused.
#pragma once

struct Price {
  double usd = 0.0;
};
