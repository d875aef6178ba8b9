#pragma once
// Errors of the world outside, as values. Our own bugs are asserts; exceptions come only from RAII constructors and libraries
// and are caught in cli.

#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace wattrig {

enum class ErrorKind {
    bad_input,       // the user, or a file from elsewhere, asked for something that cannot be
    system,          // the operating system refused: errno in `os_error`
    device_refused,  // drive or rig answered, and the answer was no
    link_broke,      // the rig's link is gone or silent
    interrupted,     // the user asked to stop
};

// One clear sentence: what was expected, what came, where, what to do.
struct Error {
    ErrorKind kind = ErrorKind::bad_input;
    std::string message;
    int os_error = 0;
};

// Found by boost::system::result when value() is called on an error: that is a bug of ours, never of the world.
[[noreturn]] inline void throw_exception_from_error(const Error& error, const boost::source_location&) {
    throw std::logic_error("value() of an error: " + error.message);
}

template <class T>
using Result = boost::system::result<T, Error>;

inline Error bad_input(std::string message) { return {ErrorKind::bad_input, std::move(message), 0}; }
inline Error device_refused(std::string message) { return {ErrorKind::device_refused, std::move(message), 0}; }
inline Error link_broke(std::string message) { return {ErrorKind::link_broke, std::move(message), 0}; }
// Appends ": <text of errno>" to the message.
Error system_error(std::string message, int os_error);

}  // namespace wattrig
