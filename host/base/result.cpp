#include "host/base/result.hpp"

#include <system_error>

namespace wattrig {

Error system_error(std::string message, int os_error) {
    message += ": ";
    message += std::generic_category().message(os_error);  // strerror is not safe between threads
    return {ErrorKind::system, std::move(message), os_error};
}

}  // namespace wattrig
