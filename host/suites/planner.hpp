#pragma once
// From a checked suite to the flat list of steps. Internal to host/suites.

#include "host/suites/document.hpp"
#include "host/suites/plan.hpp"

namespace wattrig::suites {

// `overridden`: scores whose cells the overrides took away are left out with a note; otherwise that is a refusal.
Plan expand(const Document& document, const Surroundings& surroundings, bool overridden, bool all_rounds, Diagnosis& diagnosis);

// The plan as JSON for run.json: the suite's own text, what the user changed, and every step with every parameter.
std::string resolved_json(const Plan& plan, const Document& document,
                          const std::vector<std::pair<std::string, std::string>>& overrides);

}  // namespace wattrig::suites
