#include "host/cli/commands.hpp"

#include "host/cli/console.hpp"

namespace wattrig::cli {

int exit_code_of(const Error& error) {
    switch (error.kind) {
        case ErrorKind::bad_input: return exit_usage;
        case ErrorKind::system: return exit_failed;
        case ErrorKind::device_refused:
        case ErrorKind::link_broke: return exit_device;
        case ErrorKind::interrupted: return exit_interrupted;
    }
    return exit_failed;
}

int refuse(const Error& error) {
    print_error(error.message);
    return exit_code_of(error);
}

std::string program_version() { return WATTRIG_VERSION; }

}  // namespace wattrig::cli
