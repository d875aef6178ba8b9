#pragma once
// The rig beside a real target: none, simulated, replayed or on the network. Main thread, except what link() hands out.

#include <memory>
#include <string>
#include <vector>

#include "host/base/result.hpp"
#include "host/cli/arguments.hpp"
#include "host/io/engine.hpp"
#include "host/power/calibration.hpp"
#include "host/rig/link.hpp"

namespace wattrig::cli {

class LiveRig {
  public:
    static Result<std::unique_ptr<LiveRig>> connect(const RunArguments& arguments);
    virtual ~LiveRig() = default;
    virtual rig::Link* link() { return nullptr; }  // null: no rig
    [[nodiscard]] virtual const power::Calibration* calibration() const { return nullptr; }
    [[nodiscard]] virtual bool follows_operations() const { return false; }  // simulated: wants the taps
    virtual void set_taps(const std::vector<io::OperationTap*>&) {}
    [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }          // before the run
    [[nodiscard]] virtual std::vector<std::string> closing_warnings() const { return {}; }  // after it
};

}  // namespace wattrig::cli
