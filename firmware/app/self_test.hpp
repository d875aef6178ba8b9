#pragma once
// The self-test that the core asks for: a quarter of a second with the ADC's inputs shorted and on its test signal.
//
// Thread rule: main loop, while not streaming.

#include "firmware/protocol/protocol.hpp"

namespace wattrig::firmware {

[[nodiscard]] protocol::Status run_self_test(protocol::SelfTestReport& report, void (*while_waiting)());

}  // namespace wattrig::firmware
