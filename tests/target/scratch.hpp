#pragma once
// A folder of a test's own, removed with all in it; and commands that need root, for filesystems and loop devices.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace wattrig::target {

class ScratchFolder {
  public:
    ScratchFolder() {
        // Not /tmp: that may live in memory, where no extents can be told.
        std::string name = std::filesystem::current_path().string() + "/target_test_XXXXXX";
        path_ = mkdtemp(name.data()) ? name : "";
        EXPECT_FALSE(path_.empty()) << name;
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    ~ScratchFolder() {
        std::error_code error;
        if (!path_.empty()) std::filesystem::remove_all(path_, error);
    }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
    std::string write(const std::string& name, const std::string& text) const {
        const std::filesystem::path place = file(name);
        std::filesystem::create_directories(place.parent_path());
        std::ofstream(place, std::ios::binary) << text;
        return place.string();
    }
    static std::string read(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

  private:
    std::string path_;
};

inline bool command(const std::string& line) { return std::system((line + " >/dev/null 2>&1").c_str()) == 0; }

inline std::string output_of(const std::string& line) {
    std::string text;
    if (FILE* pipe = popen((line + " 2>/dev/null").c_str(), "r")) {
        for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) text += static_cast<char>(c);
        pclose(pipe);
    }
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

}  // namespace wattrig::target
