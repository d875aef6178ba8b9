#pragma once
// Names of the files that belong to a recording. Thread rule: pure functions.

#include <string>

namespace wattrig::recording {

// "dir/power.wrt" -> "dir/power.sum"
inline std::string summary_path(const std::string& recording) {
    const std::size_t dot = recording.rfind('.');
    const std::size_t slash = recording.rfind('/');
    const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash);
    const std::string stem = has_ending && recording.substr(dot) != ".sum" ? recording.substr(0, dot) : recording;
    return stem + ".sum";
}

}  // namespace wattrig::recording
