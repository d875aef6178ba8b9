#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "host/target/extents.hpp"
#include "host/target/target.hpp"
#include "tests/target/scratch.hpp"

namespace wattrig::target {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t mebi = 1u << 20;

std::string refusal(const TargetRequest& request) {
    const auto target = Target::open(request);
    EXPECT_FALSE(target) << request.path;
    return target ? "" : target.error().message;
}

// Bits a byte: 8 for data that cannot be compressed byte by byte.
double entropy(const std::string& data) {
    std::map<char, double> counts;
    for (const char c : data) ++counts[c];
    double bits = 0;
    for (const auto& [c, n] : counts)
        bits -= n / static_cast<double>(data.size()) * std::log2(n / static_cast<double>(data.size()));
    return bits;
}

TEST(FileTarget, IsMadeInFullWithIncompressibleDataAndRemoved) {
    ScratchFolder folder;
    const std::string path = folder.file("scratch.bin");
    double last = 0;
    {
        const auto target = Target::open({.path = path, .write = true, .size = 8 * mebi + 5, .fill_progress = [&](double done) {
                                              EXPECT_GT(done, last);
                                              last = done;
                                          }});
        ASSERT_TRUE(target) << target.error().message;
        const TargetInfo& info = target->info();
        EXPECT_EQ(info.kind, TargetKind::file);
        EXPECT_EQ(info.size, 8 * mebi + 4096) << "rounded up to whole blocks";
        EXPECT_TRUE(info.created);
        EXPECT_TRUE(info.written_in_full);
        EXPECT_TRUE(info.direct);
        EXPECT_GE(info.logical_block, 512u);
        EXPECT_GE(info.physical_block, info.logical_block);
        EXPECT_FALSE(info.filesystem.empty());
        struct stat status{};
        ASSERT_EQ(stat(path.c_str(), &status), 0);
        EXPECT_GE(static_cast<std::uint64_t>(status.st_blocks) * 512, info.size) << "no holes";
        EXPECT_EQ(map_extents(target->descriptor(), info.size).unmapped, 0u);
        EXPECT_NE(fcntl(target->descriptor(), F_GETFL) & O_DIRECT, 0);
        const std::string data = ScratchFolder::read(path);
        EXPECT_GT(entropy(data), 7.99);
        EXPECT_NE(data.substr(0, mebi), data.substr(mebi, mebi)) << "nor may blocks repeat: drives may deduplicate";
    }
    EXPECT_DOUBLE_EQ(last, 1);
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(FileTarget, IsKeptOnRequestAndUsedAgainWithoutAQuestion) {
    ScratchFolder folder;
    const std::string path = folder.file("scratch.bin");
    {
        ASSERT_TRUE(Target::open({.path = path, .write = true, .size = 2 * mebi, .keep = true}));
    }
    ASSERT_TRUE(std::filesystem::exists(path));
    const std::string before = ScratchFolder::read(path);
    {
        bool filled = false;
        const auto target =
            Target::open({.path = path, .write = true, .size = mebi, .fill_progress = [&](double) { filled = true; }});
        ASSERT_TRUE(target) << target.error().message;
        EXPECT_FALSE(target->info().created);
        EXPECT_TRUE(target->info().written_in_full);
        EXPECT_EQ(target->info().size, 2 * mebi);
        EXPECT_FALSE(filled);
    }
    EXPECT_TRUE(std::filesystem::exists(path)) << "a file that was there before stays";
    EXPECT_EQ(ScratchFolder::read(path), before);
}

TEST(FileTarget, GrowsAFileOfOursAndKeepsWhatIsThere) {
    ScratchFolder folder;
    const std::string path = folder.file("scratch.bin");
    {
        ASSERT_TRUE(Target::open({.path = path, .size = 2 * mebi, .keep = true}));
    }
    const std::string before = ScratchFolder::read(path);
    const auto target = Target::open({.path = path, .size = 5 * mebi});
    ASSERT_TRUE(target) << target.error().message;
    EXPECT_EQ(target->info().size, 5 * mebi);
    EXPECT_TRUE(target->info().written_in_full);
    const std::string after = ScratchFolder::read(path);
    EXPECT_EQ(after.substr(0, before.size()), before);
    EXPECT_GT(entropy(after.substr(before.size())), 7.99);
}

TEST(FileTarget, NeverWritesToSomebodysFile) {
    ScratchFolder folder;
    const std::string text(3 * mebi, 'p');
    const std::string path = folder.write("photos.tar", text);
    EXPECT_THAT(refusal({.path = path, .write = true, .size = mebi}), HasSubstr("holds 3.1 MB that wattrig did not write"));
    EXPECT_THAT(refusal({.path = path, .write = true}), HasSubstr("--overwrite-data"));
    EXPECT_THAT(refusal({.path = path, .size = 10 * mebi}), HasSubstr("a file that wattrig did not make is not grown"));
    EXPECT_THAT(refusal({.path = path, .size = 10 * mebi, .overwrite_data = true}), HasSubstr("is not grown"))
        << "reads grow nothing";
    {
        const auto reading = Target::open({.path = path, .size = 2 * mebi});
        ASSERT_TRUE(reading) << reading.error().message;
        EXPECT_EQ(fcntl(reading->descriptor(), F_GETFL) & O_ACCMODE, O_RDONLY);
    }
    EXPECT_EQ(ScratchFolder::read(path), text);
    {
        const auto allowed = Target::open({.path = path, .write = true, .size = mebi, .overwrite_data = true});
        ASSERT_TRUE(allowed) << allowed.error().message;
        EXPECT_EQ(fcntl(allowed->descriptor(), F_GETFL) & O_ACCMODE, O_RDWR);
    }
    EXPECT_EQ(ScratchFolder::read(path), text) << "opening alone changes nothing";
    EXPECT_THAT(refusal({.path = path, .write = true}), HasSubstr("did not write")) << "the flag makes it not ours for ever";
}

TEST(FileTarget, EmptyFilesMayBeFilled) {
    ScratchFolder folder;
    const std::string path = folder.write("empty", "");
    EXPECT_THAT(refusal({.path = path}), HasSubstr("is empty"));
    {
        ASSERT_TRUE(Target::open({.path = path, .write = true, .size = mebi}));
    }
    EXPECT_EQ(std::filesystem::file_size(path), mebi) << "it was there before the run: not removed";
}

TEST(FileTarget, ReadsOfHolesAreToldOfAndNotCalledWritten) {
    ScratchFolder folder;
    const std::string path = folder.write("sparse", "");
    ASSERT_EQ(truncate(path.c_str(), 4 * mebi), 0);
    const auto target = Target::open({.path = path, .size = 4 * mebi});
    ASSERT_TRUE(target) << target.error().message;
    EXPECT_FALSE(target->info().written_in_full);
    EXPECT_THAT(target->info().warnings, testing::Contains(HasSubstr("never written")));
}

TEST(FileTarget, PreallocatedSpaceIsNotWritten) {
    ScratchFolder folder;
    const std::string path = folder.write("reserved", "");
    const int descriptor = open(path.c_str(), O_RDWR);
    if (fallocate(descriptor, 0, 0, 4 * mebi) != 0) {
        close(descriptor);
        GTEST_SKIP() << "this filesystem cannot reserve space";
    }
    const ExtentMap map = map_extents(descriptor, 4 * mebi);
    close(descriptor);
    if (!map.unwritten_known) GTEST_SKIP() << "this filesystem cannot tell reserved from written";
    EXPECT_EQ(map.unmapped, 4 * mebi);
}

TEST(FileTarget, AFileOfOursThatWasCutOffOrPunchedIsFilledAgain) {
    ScratchFolder folder;
    const std::string path = folder.file("scratch.bin");
    int asked = 0;
    const auto stopped = Target::open({.path = path, .size = 8 * mebi, .stop_requested = [&] { return ++asked > 3; }});
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().kind, ErrorKind::interrupted);
    EXPECT_FALSE(std::filesystem::exists(path)) << "half a file is of no use to anybody";

    {
        ASSERT_TRUE(Target::open({.path = path, .size = 2 * mebi, .keep = true}));
    }
    if (getxattr(path.c_str(), "user.wattrig", nullptr, 0) <= 0) GTEST_SKIP() << "no extended attributes here";
    ASSERT_EQ(truncate(path.c_str(), mebi), 0);
    ASSERT_EQ(truncate(path.c_str(), 2 * mebi), 0);
    const auto again = Target::open({.path = path, .size = 2 * mebi});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(again->info().written_in_full);
    EXPECT_EQ(fcntl(again->descriptor(), F_GETFL) & O_ACCMODE, O_RDWR);
}

TEST(FileTarget, AFileThatTookThePlaceOfOursIsNotRemoved) {
    ScratchFolder folder;
    const std::string path = folder.file("scratch.bin");
    {
        const auto target = Target::open({.path = path, .size = mebi});
        ASSERT_TRUE(target);
        std::filesystem::remove(path);
        folder.write("scratch.bin", "somebody else's");
    }
    EXPECT_EQ(ScratchFolder::read(path), "somebody else's");
}

TEST(FileTarget, RefusalsSayWhatToDo) {
    ScratchFolder folder;
    EXPECT_THAT(refusal({.path = ""}), HasSubstr("no target given"));
    EXPECT_THAT(refusal({.path = folder.file("")}), HasSubstr("is a directory; give a file in it, such as"));
    EXPECT_THAT(refusal({.path = folder.file("none/x.bin"), .size = mebi}),
                HasSubstr("its directory " + folder.file("none") + " does not exist"));
    EXPECT_THAT(refusal({.path = folder.file("x.bin")}),
                HasSubstr("does not exist, and the suite does not say how large it must be"));
    EXPECT_THAT(refusal({.path = folder.write("f", "x") + "/x.bin", .size = mebi}), HasSubstr("a part of this path is a file"));
    EXPECT_THAT(refusal({.path = "/dev/zero"}),
                HasSubstr("/dev/zero: is a character device; expected a regular file or a block device"));
    EXPECT_THAT(refusal({.path = "/dev/nvme99n9", .size = mebi}),
                HasSubstr("there is no such device, and no file is made in /dev"));
    EXPECT_THAT(refusal({.path = folder.file("x.bin"), .size = std::uint64_t{1} << 62}),
                HasSubstr("larger than any filesystem"));
    const std::string pipe = folder.file("pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT(refusal({.path = pipe}), HasSubstr("is neither a regular file nor a block device"));
    const std::string dangling = folder.file("link");
    std::filesystem::create_symlink("/nowhere", dangling);
    EXPECT_THAT(refusal({.path = dangling, .size = mebi}), HasSubstr("is a symbolic link to nothing"));
}

TEST(FileTarget, NoSpaceNamesAskedAndAvailable) {
    ScratchFolder folder;
    const auto target = Target::open({.path = folder.file("x.bin"), .size = std::uint64_t{1} << 50});
    ASSERT_FALSE(target);
    const Error error = target.error();
    EXPECT_EQ(error.os_error, ENOSPC);
    EXPECT_THAT(error.message, HasSubstr("(1125899906842624 bytes) asked, "));
    EXPECT_THAT(error.message, HasSubstr(" available, of which "));
    EXPECT_FALSE(std::filesystem::exists(folder.file("x.bin")));
}

TEST(FileTarget, WithoutDirectAccessBufferedIsOffered) {
    // procfs has no O_DIRECT on any kernel.
    EXPECT_THAT(refusal({.path = "/proc/version"}), HasSubstr("no direct I/O (O_DIRECT)"));
    EXPECT_THAT(refusal({.path = "/proc/version"}), HasSubstr("--buffered"));
}

TEST(FileTarget, NoPermissionIsSaidAsSuch) {
    if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
    ScratchFolder folder;
    const std::string path = folder.write("secret", "x");
    std::filesystem::permissions(path, std::filesystem::perms::none);
    EXPECT_THAT(refusal({.path = path}), HasSubstr("no permission to read it"));
}

TEST(FileTarget, BufferedIsPossibleAndWarnedOf) {
    ScratchFolder folder;
    const auto target = Target::open({.path = folder.file("x.bin"), .direct = false, .size = mebi});
    ASSERT_TRUE(target) << target.error().message;
    EXPECT_EQ(fcntl(target->descriptor(), F_GETFL) & O_DIRECT, 0);
    EXPECT_FALSE(target->info().direct);
    EXPECT_THAT(target->info().warnings, testing::Contains(HasSubstr("page cache")));
}

TEST(FileTarget, MovesAsAWhole) {
    ScratchFolder folder;
    const std::string path = folder.file("x.bin");
    auto opened = Target::open({.path = path, .size = mebi});
    ASSERT_TRUE(opened);
    Target target = std::move(*opened);
    {
        auto other = Target::open({.path = folder.file("y.bin"), .size = mebi});
        ASSERT_TRUE(other);
        target = std::move(*other);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(std::filesystem::exists(folder.file("y.bin")));
    EXPECT_EQ(target.info().path, folder.file("y.bin"));
}

}  // namespace
}  // namespace wattrig::target
