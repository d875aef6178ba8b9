// Filesystems and block devices that a test must make itself: skipped, visibly, where it may not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "host/target/target.hpp"
#include "tests/target/scratch.hpp"

namespace wattrig::target {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t mebi = 1u << 20;

class Mount {
  public:
    Mount(const std::string& place, const std::string& options) : place_(place) {
        std::filesystem::create_directories(place);
        mounted_ = geteuid() == 0 && command("mount " + options + " " + place);
    }
    Mount(const Mount&) = delete;
    Mount& operator=(const Mount&) = delete;
    ~Mount() {
        if (mounted_) command("umount " + place_);
    }
    [[nodiscard]] bool mounted() const { return mounted_; }

  private:
    std::string place_;
    bool mounted_ = false;
};

class LoopDevice {
  public:
    explicit LoopDevice(const std::string& file) {
        if (geteuid() == 0) device_ = output_of("losetup --find --show " + file);
    }
    LoopDevice(const LoopDevice&) = delete;
    LoopDevice& operator=(const LoopDevice&) = delete;
    ~LoopDevice() {
        if (!device_.empty()) command("losetup --detach " + device_);
    }
    [[nodiscard]] const std::string& device() const { return device_; }

  private:
    std::string device_;
};

TEST(MountedTarget, FullFilesystemIsRefusedBeforeItFillsUp) {
    ScratchFolder folder;
    const Mount mount(folder.file("small"), "-t tmpfs -o size=16m tmpfs");
    if (!mount.mounted()) GTEST_SKIP() << "mounting a tmpfs is not allowed here";
    const std::string path = folder.file("small/x.bin");
    const auto target = Target::open({.path = path, .size = 16 * mebi});
    ASSERT_FALSE(target);
    EXPECT_THAT(target.error().message,
                HasSubstr("no space: 16.8 MB (16777216 bytes) asked, 16.8 MB available, of which 838860 bytes are left free"));
    EXPECT_FALSE(std::filesystem::exists(path));
    const auto fits = Target::open({.path = path, .size = 8 * mebi});
    ASSERT_TRUE(fits) << fits.error().message;
    EXPECT_EQ(fits->info().filesystem, "tmpfs");
    EXPECT_TRUE(fits->info().written_in_full);
    EXPECT_THAT(fits->info().warnings, testing::Contains(HasSubstr("lives in memory")));
}

TEST(MountedTarget, NearlyFullFilesystemIsWarnedOf) {
    ScratchFolder folder;
    const Mount mount(folder.file("small"), "-t tmpfs -o size=16m tmpfs");
    if (!mount.mounted()) GTEST_SKIP() << "mounting a tmpfs is not allowed here";
    folder.write("small/ballast", std::string(14 * mebi, 'b'));
    const auto target = Target::open({.path = folder.file("small/x.bin"), .size = mebi});
    ASSERT_TRUE(target) << target.error().message;
    EXPECT_THAT(target->info().warnings, testing::Contains(HasSubstr("% full")));
}

TEST(MountedTarget, ReadOnlyFilesystemIsSaidAsSuch) {
    ScratchFolder folder;
    const Mount mount(folder.file("fixed"), "-t tmpfs -o ro,size=16m tmpfs");
    if (!mount.mounted()) GTEST_SKIP() << "mounting a tmpfs is not allowed here";
    const auto target = Target::open({.path = folder.file("fixed/x.bin"), .size = mebi});
    ASSERT_FALSE(target);
    EXPECT_THAT(target.error().message, HasSubstr("mounted read-only"));
}

TEST(MountedTarget, FilesystemWithoutDirectAccessLeavesNoFileBehind) {
    ScratchFolder folder;
    const Mount mount(folder.file("ram"), "-t ramfs ramfs");
    if (!mount.mounted()) GTEST_SKIP() << "mounting a ramfs is not allowed here";
    const std::string path = folder.file("ram/x.bin");
    const auto target = Target::open({.path = path, .size = mebi});
    if (!target) {
        EXPECT_THAT(target.error().message, testing::AnyOf(HasSubstr("--buffered"), HasSubstr("no space")));
        EXPECT_FALSE(std::filesystem::exists(path));
    }
}

TEST(BlockDevice, IsReadAndNeverWritten) {
    ScratchFolder folder;
    const std::string backing = folder.file("backing");
    {
        ASSERT_TRUE(Target::open({.path = backing, .size = 4 * mebi, .keep = true}));
    }
    const LoopDevice loop(backing);
    if (loop.device().empty()) GTEST_SKIP() << "loop devices cannot be set up here";
    const std::string before = ScratchFolder::read(backing);
    {
        const auto target = Target::open({.path = loop.device(), .size = 2 * mebi});
        ASSERT_TRUE(target) << target.error().message;
        const TargetInfo& info = target->info();
        EXPECT_EQ(info.kind, TargetKind::block_device);
        EXPECT_EQ(info.size, 4 * mebi);
        EXPECT_EQ(info.logical_block, 512u);
        EXPECT_FALSE(info.created);
        EXPECT_FALSE(info.written_in_full) << "nobody can know";
        EXPECT_EQ("/dev/" + info.device, loop.device());
        EXPECT_THAT(info.warnings, testing::Contains(HasSubstr("is a virtual disk")));
        void* memory = nullptr;
        ASSERT_EQ(posix_memalign(&memory, 4096, 4096), 0);
        EXPECT_EQ(pread(target->descriptor(), memory, 4096, 4096), 4096);
        EXPECT_EQ(std::string(static_cast<const char*>(memory), 4096), before.substr(4096, 4096));
        EXPECT_EQ(pwrite(target->descriptor(), memory, 4096, 0), -1) << "opened for reading only";
        free(memory);
        const auto listed = list_block_devices();
        EXPECT_TRUE(std::any_of(listed.begin(), listed.end(),
                                [&](const TargetInfo& one) { return one.path == loop.device() && one.size == 4 * mebi; }));
    }
    const auto writing = Target::open({.path = loop.device(), .write = true, .overwrite_data = true});
    ASSERT_FALSE(writing);
    EXPECT_THAT(writing.error().message,
                HasSubstr("serial check: writing needs the drive's serial number typed with --destroy SERIAL"));
    const auto small = Target::open({.path = loop.device(), .size = 8 * mebi});
    ASSERT_FALSE(small);
    EXPECT_THAT(small.error().message, HasSubstr("has 4.2 MB (4194304), the plan needs 8.4 MB (8388608)"));
    EXPECT_EQ(ScratchFolder::read(backing), before);
}

TEST(BlockDevice, EmptyLoopDevicesAreNotListed) {
    for (const auto& device : list_block_devices()) EXPECT_GT(device.size, 0u) << device.path;
}

}  // namespace
}  // namespace wattrig::target
