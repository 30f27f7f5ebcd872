// One of two types of one name: the one that comes later is refused.
#pragma once

struct Price {
  int ns = 0;
};
