#pragma once
// Ctrl-C and a polite kill: the first ends the phase cleanly, the second ends the program at once.

#include "host/io/engine.hpp"

namespace wattrig::cli {

// Installs the handlers for SIGINT and SIGTERM, once; the flag they set.
io::StopFlag& catch_interrupts();

}  // namespace wattrig::cli
