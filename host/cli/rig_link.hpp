#pragma once
// A link to a real rig by the name given on the command line. Main thread.

#include <memory>
#include <string>

#include "host/base/result.hpp"
#include "host/rig/link.hpp"

namespace wattrig::cli {

// "usb", "usb:SERIAL", "tcp:HOST:PORT" (its token from WATTRIG_TOKEN).
Result<std::unique_ptr<rig::Link>> connect_rig(const std::string& rig);
// Greets the rig and runs its self-test: one sentence when all is well.
Result<std::string> self_test_of(const std::string& rig);

}  // namespace wattrig::cli
