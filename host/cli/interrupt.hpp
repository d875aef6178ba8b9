#pragma once
// Ctrl-C and a polite kill: the first ends the phase cleanly, the second ends the program at once.

#include "host/io/engine.hpp"

namespace wattrig::cli {

// Installs the handlers for SIGINT and SIGTERM; the flag they set. `run`: say that a phase is being ended, which may take a
// while.
io::StopFlag& catch_interrupts(bool run = true);

}  // namespace wattrig::cli
