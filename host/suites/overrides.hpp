#pragma once
// "key=value" of the command line, applied to a suite before it is planned. Internal to host/suites.

#include <string>
#include <utility>
#include <vector>

#include "host/suites/document.hpp"

namespace wattrig::suites {

// Keys are our names or fio's; a value may be a list "1,4" or, for depth and workers, a doubling range "1..256". A parameter
// that a sweep varies gets the new values there; otherwise every I/O step takes the value, or is swept over the list innermost.
void apply_overrides(Document& document, const std::vector<std::pair<std::string, std::string>>& overrides,
                     Diagnosis& diagnosis);

}  // namespace wattrig::suites
