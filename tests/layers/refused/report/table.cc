#include <string>

#include <boost/beast/http.hpp>
#include <cuda_runtime.h>
#include <nlohmann/json.hpp>

#include "core/values/evaluation.h"
#include "rows.h"
