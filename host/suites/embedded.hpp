#pragma once
// The suites that ship inside the program: host/suites/methods/*.json, put into the library by embed.cmake. Any thread.

#include <span>
#include <string_view>

namespace wattrig::suites {

struct EmbeddedSuite {
    std::string_view name;  // of the file, without .json; equal to "name" inside (a test sees to it)
    std::string_view json;
};
std::span<const EmbeddedSuite> embedded_suites();  // sorted by name

}  // namespace wattrig::suites
