// The interlock's matrix on loop devices: no case writes, and each refusal names its reason. Needs root; skipped, visibly,
// without. Stacked devices that this kernel may lack (dm, md, LVM, bcache) are shown to the checks in a /sys of the test's own,
// beside a real device node, so the real claim and the real libblkid still work.

#include "host/target/interlock.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "host/target/target.hpp"
#include "tests/target/scratch.hpp"

namespace wattrig::target {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::size_t mebi = 1u << 20;

void put(std::string& image, std::size_t offset, const std::string& bytes) { image.replace(offset, bytes.size(), bytes); }
std::string little(std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
}

// An image of a disk and its loop device. On purpose the image is not zeros: a device that was merely used holds no signature.
class Disk {
  public:
    explicit Disk(std::string image = std::string(16 * mebi, 'u'), const std::string& options = "") {
        file_ = folder_.write("backing", image);
        if (geteuid() == 0) device_ = output_of("losetup --find --show " + options + " " + file_);
    }
    Disk(const Disk&) = delete;
    Disk& operator=(const Disk&) = delete;
    ~Disk() {
        for (auto it = undo_.rbegin(); it != undo_.rend(); ++it) command(*it);
        if (!device_.empty()) command("losetup --detach " + device_);
    }
    [[nodiscard]] bool ready() const { return !device_.empty(); }
    [[nodiscard]] const std::string& device() const { return device_; }
    [[nodiscard]] std::string name() const { return device_.substr(5); }
    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] std::string serial() const { return "loop:" + file_; }
    [[nodiscard]] const ScratchFolder& folder() const { return folder_; }
    bool run(const std::string& line, const std::string& undo = "") {
        const bool done = command(line);
        if (done && !undo.empty()) undo_.push_back(undo);
        return done;
    }
    // A partition that the kernel knows, without a table on the disk.
    bool add_partition(int number = 1, int start = 2048, int sectors = 16384) {
        const std::string which = device_ + " " + std::to_string(number);
        // A partition of an earlier test may have been busy when it was to be removed; this loop device is ours now.
        command("delpart " + which);
        return run("addpart " + which + " " + std::to_string(start) + " " + std::to_string(sectors),
                   "for i in 1 2 3 4 5 6 7 8; do delpart " + which + " && break; sleep 0.1; done");
    }
    [[nodiscard]] std::string contents() const {
        sync();
        return ScratchFolder::read(file_);
    }
    // Refused with these words, and not a byte of the image changed.
    void expect_refused(const WriteRequest& request, const testing::Matcher<std::string>& words, const Machine& machine = {}) {
        const std::string before = contents();
        const auto permit = WritePermit::ask(request, machine);
        ASSERT_FALSE(permit) << "the interlock let it pass";
        EXPECT_EQ(permit.error().kind, ErrorKind::bad_input);
        EXPECT_THAT(permit.error().message, AllOf(HasSubstr("refused: "), words));
        EXPECT_TRUE(contents() == before) << "the device was changed";
    }
    [[nodiscard]] WriteRequest request(bool overwrite = false) const {
        return {.path = device_, .serial = serial(), .overwrite_data = overwrite, .direct = true};
    }

  private:
    ScratchFolder folder_;
    std::string file_, device_;
    std::vector<std::string> undo_;
};

constexpr const char* cannot_here = "needs root, loop devices and the tools of util-linux and e2fsprogs";

// A /sys and /proc with one disk that has the number of a real loop device.
class FakeTree {
  public:
    explicit FakeTree(const Disk& disk) : root_(disk.folder().file("tree")), disk_(disk.name()) {
        struct stat status{};
        stat(disk.device().c_str(), &status);
        number_ = std::to_string(major(status.st_rdev)) + ":" + std::to_string(minor(status.st_rdev));
        write("sys/block/" + disk_ + "/dev", number_);
        write("sys/block/" + disk_ + "/device/serial", "S1234");
        fs::create_directories(root_ + "/sys/dev/block");
        fs::create_directory_symlink("../../block/" + disk_, root_ + "/sys/dev/block/" + number_);
        write("proc/swaps", "Filename Type Size Used Priority\n");
        write("proc/1/mountinfo", "");
    }
    void write(const std::string& name, const std::string& text) const {
        const fs::path place = root_ + "/" + name;
        fs::create_directories(place.parent_path());
        std::ofstream(place) << text;
    }
    void hold(const std::string& part, const std::string& holder) const {
        write("sys/block/" + disk_ + "/" + part + "holders/" + holder, "");
    }
    [[nodiscard]] Machine machine() const { return {.root = root_}; }
    [[nodiscard]] const std::string& number() const { return number_; }

  private:
    std::string root_, disk_, number_;
};

TEST(Interlock, WritesWhatIsFreeAndNamed) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    auto permit = WritePermit::ask(disk.request());
    ASSERT_TRUE(permit) << permit.error().message;
    EXPECT_EQ(open(disk.device().c_str(), O_RDONLY | O_EXCL), -1) << "the permit holds the device";
    auto descriptor = permit->begin_writing();
    ASSERT_TRUE(descriptor) << descriptor.error().message;
    void* block = nullptr;
    ASSERT_EQ(posix_memalign(&block, 4096, 4096), 0);
    std::memset(block, 'w', 4096);
    EXPECT_EQ(pwrite(*descriptor, block, 4096, 8192), 4096);
    free(block);
    EXPECT_EQ(disk.contents().substr(8192, 4096), std::string(4096, 'w'));
    EXPECT_EQ(*permit->begin_writing(), *descriptor);
}

TEST(Interlock, WithoutTheSecondLookNothingCanBeWritten) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    auto permit = WritePermit::ask(disk.request());
    ASSERT_TRUE(permit);
    EXPECT_EQ(pwrite(permit->read_descriptor(), "x", 1, 0), -1);
}

TEST(Interlock, MountedWholeDisk) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    const std::string point = disk.folder().file("mount");
    fs::create_directory(point);
    if (!(disk.run("mkfs.ext4 -q " + disk.device()) &&
          disk.run("mount -o ro " + disk.device() + " " + point, "umount " + point)))
        GTEST_SKIP() << cannot_here;
    disk.expect_refused(disk.request(true), AllOf(HasSubstr("mount check"), HasSubstr(point), HasSubstr("umount")));
}

TEST(Interlock, DiskWithAMountedPartition) {
    Disk disk;
    if (!(disk.ready() && disk.add_partition())) GTEST_SKIP() << cannot_here;
    const std::string point = disk.folder().file("mount"), part = disk.device() + "p1";
    fs::create_directory(point);
    if (!(disk.run("mkfs.ext4 -q " + part) && disk.run("mount -o ro " + part + " " + point, "umount " + point)))
        GTEST_SKIP() << cannot_here;
    disk.expect_refused(disk.request(true), AllOf(HasSubstr("mount check"), HasSubstr(disk.name() + "p1"), HasSubstr(point)));
}

TEST(Interlock, PartitionOfADiskWithAnotherOneMounted) {
    Disk disk;
    if (!(disk.ready() && disk.add_partition())) GTEST_SKIP() << cannot_here;
    if (!(disk.add_partition(2, 20480, 8192))) GTEST_SKIP() << cannot_here;
    const std::string point = disk.folder().file("mount"), part = disk.device() + "p1";
    fs::create_directory(point);
    if (!(disk.run("mkfs.ext4 -q " + part) && disk.run("mount -o ro " + part + " " + point, "umount " + point)))
        GTEST_SKIP() << cannot_here;
    WriteRequest request = disk.request(true);
    request.path = disk.device() + "p2";
    disk.expect_refused(request, AllOf(HasSubstr("mount check"), HasSubstr(disk.name() + "p1")));
}

TEST(Interlock, MountedPartitionItself) {
    Disk disk;
    if (!(disk.ready() && disk.add_partition())) GTEST_SKIP() << cannot_here;
    const std::string point = disk.folder().file("mo unt"), part = disk.device() + "p1";
    fs::create_directory(point);
    if (!(disk.run("mkfs.ext4 -q " + part) && disk.run("mount -o ro " + part + " '" + point + "'", "umount '" + point + "'")))
        GTEST_SKIP() << cannot_here;
    WriteRequest request = disk.request(true);
    request.path = part;
    disk.expect_refused(request, AllOf(HasSubstr("mount check"), HasSubstr(point)));
}

TEST(Interlock, MountedInAnotherNamespace) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    const std::string point = disk.folder().file("mount");
    fs::create_directory(point);
    if (!(disk.run("mkfs.ext4 -q " + disk.device()))) GTEST_SKIP() << cannot_here;
    std::array<int, 2> told{};
    ASSERT_EQ(pipe(told.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
        char answer = 'n';
        if (unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            mount(disk.device().c_str(), point.c_str(), "ext4", MS_RDONLY, nullptr) == 0)
            answer = 'y';
        if (write(told[1], &answer, 1) != 1) _exit(1);
        pause();
        _exit(0);
    }
    char answer = 'n';
    ASSERT_EQ(read(told[0], &answer, 1), 1);
    if (answer == 'y') {
        EXPECT_FALSE(command("grep -q " + point + " /proc/self/mountinfo")) << "the mount is not hidden";
        disk.expect_refused(disk.request(true), AllOf(HasSubstr("mount check"), HasSubstr(std::to_string(child))));
        // And when that namespace cannot be seen, the kernel's claim still refuses.
        const FakeTree blind(disk);
        WriteRequest request = disk.request(true);
        request.serial = "S1234";
        disk.expect_refused(request, HasSubstr("exclusive check"), blind.machine());
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(told[0]);
    close(told[1]);
    if (answer != 'y') GTEST_SKIP() << "mount namespaces are not allowed here";
}

TEST(Interlock, SwapOnAPartition) {
    Disk disk;
    if (!(disk.ready() && disk.add_partition())) GTEST_SKIP() << cannot_here;
    const std::string part = disk.device() + "p1";
    if (!(disk.run("mkswap " + part) && disk.run("swapon " + part, "swapoff " + part))) GTEST_SKIP() << cannot_here;
    disk.expect_refused(disk.request(true), AllOf(HasSubstr("swap check"), HasSubstr("swapoff " + part)));
}

TEST(Interlock, SwapThatIsNotInUseIsContents) {
    Disk disk;
    if (!(disk.ready() && disk.run("mkswap " + disk.device()))) GTEST_SKIP() << cannot_here;
    disk.expect_refused(disk.request(), AllOf(HasSubstr("contents check"), HasSubstr("swap"), HasSubstr("--overwrite-data")));
}

TEST(Interlock, FilesystemWithoutMount) {
    Disk disk;
    if (!(disk.ready() && disk.run("mkfs.ext4 -q -L precious " + disk.device()))) GTEST_SKIP() << cannot_here;
    disk.expect_refused(disk.request(), AllOf(HasSubstr("contents check"), HasSubstr("ext4 'precious'")));
    EXPECT_TRUE(WritePermit::ask(disk.request(true))) << "--overwrite-data allows it";
}

// GPT as UEFI 2.10 section 5.3 gives it: a protective MBR, a header in the second and one in the last block.
std::string protective_mbr(std::string image) {
    put(image, 446, std::string("\0\0\2\0\xEE\xFF\xFF\xFF", 8) + little(1, 4) + little(image.size() / 512 - 1, 4));
    put(image, 510, "\x55\xAA");
    return image;
}

std::uint32_t crc32(const std::string& text) {
    std::uint32_t crc = ~0u;
    for (const char c : text) {
        crc ^= static_cast<unsigned char>(c);
        for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

std::string gpt_image() {
    std::string image = protective_mbr(std::string(16 * mebi, '\0'));
    const std::uint64_t last = image.size() / 512 - 1;
    const std::string entries(128 * 128, '\0');
    const auto header = [&](std::uint64_t own, std::uint64_t other, std::uint64_t table) {
        const auto with_crc = [&](std::uint32_t crc) {
            return "EFI PART" + little(0x10000, 4) + little(92, 4) + little(crc, 4) + little(0, 4) + little(own, 8) +
                   little(other, 8) + little(34, 8) + little(last - 33, 8) + std::string(16, 'g') + little(table, 8) +
                   little(128, 4) + little(128, 4) + little(crc32(entries), 4);
        };
        return with_crc(crc32(with_crc(0)));
    };
    put(image, 512, header(1, last, 2));
    put(image, last * 512, header(last, 1, last - 32));
    return image;
}

TEST(Interlock, GptWithoutPartitions) {
    Disk disk(gpt_image());
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    disk.expect_refused(disk.request(), AllOf(HasSubstr("contents check"), HasSubstr("a partition table (gpt)")));
    EXPECT_TRUE(WritePermit::ask(disk.request(true)));
}

TEST(Interlock, GptWhoseFirstHeaderIsLost) {
    std::string image = gpt_image();
    put(image, 0, std::string(1024, '\0'));
    Disk disk(image);
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    disk.expect_refused(disk.request(), AllOf(HasSubstr("contents check"), HasSubstr("gpt")));
}

TEST(Interlock, DosPartitionTable) {
    std::string image(16 * mebi, '\0');
    put(image, 446, std::string("\0\0\2\0\x83\0\0\0", 8) + little(2048, 4) + little(16384, 4));
    put(image, 510, "\x55\xAA");
    Disk disk(image);
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    disk.expect_refused(disk.request(), AllOf(HasSubstr("contents check"), HasSubstr("a partition table (dos)")));
}

TEST(Interlock, LvmPhysicalVolumeWithoutTheKernelsLvm) {
    std::string image(16 * mebi, '\0');
    // Label in sector 1: LABELONE, sector, CRC (blkid accepts a bad one as such), offset, type; then a UUID and the size.
    std::string label =
        "LABELONE" + little(1, 8) + little(0, 4) + little(32, 4) + "LVM2 001" + std::string(32, 'P') + little(image.size(), 8);
    put(image, 512, label);
    Disk disk(image);
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    disk.expect_refused(disk.request(), AllOf(HasSubstr("contents check"), HasSubstr("LVM2_member")));
}

TEST(Interlock, MemberOfARaidWithoutTheKernelsMd) {
    std::string image(16 * mebi, '\0');
    // md version 1.2, 4 KiB from the start: magic, major version, ..., its own place in sectors at byte 144.
    std::string super(1024, '\0');
    put(super, 0, little(0xA92B4EFC, 4) + little(1, 4));
    put(super, 144, little(8, 8));
    put(super, 16, std::string(16, 'R'));
    put(super, 32, "array");
    std::uint64_t sum = 0;  // md's own checksum over 256 + 2 * max_dev bytes
    for (std::size_t i = 0; i < 256; i += 4)
        for (int byte = 0; byte < 4; ++byte)
            sum += static_cast<std::uint64_t>(static_cast<unsigned char>(super[i + static_cast<std::size_t>(byte)]))
                   << (8 * byte);
    put(super, 216, little((sum & 0xFFFFFFFF) + (sum >> 32), 4));
    put(image, 4096, super);
    Disk disk(image);
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    disk.expect_refused(disk.request(), AllOf(HasSubstr("contents check"), HasSubstr("linux_raid_member")));
}

struct Holder {
    const char *name, *file, *text, *words;
};
void PrintTo(const Holder& holder, std::ostream* out) { *out << holder.name; }

class InterlockHolder : public testing::TestWithParam<Holder> {};

TEST_P(InterlockHolder, IsNamed) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    const Holder& holder = GetParam();
    const FakeTree tree(disk);
    WriteRequest request = disk.request(true);
    request.serial = "S1234";
    EXPECT_TRUE(WritePermit::ask(request, tree.machine())) << "free until it is held";
    tree.hold("", holder.name);
    if (*holder.file) tree.write(std::string("sys/block/") + holder.name + "/" + holder.file, holder.text);
    if (std::string(holder.file) == "dm/uuid") tree.write(std::string("sys/block/") + holder.name + "/dm/name", "vg-data");
    disk.expect_refused(request, AllOf(HasSubstr("holder check"), HasSubstr(holder.words)), tree.machine());
}
INSTANTIATE_TEST_SUITE_P(All, InterlockHolder,
                         testing::Values(Holder{"dm-0", "dm/uuid", "LVM-abc", "the LVM volume vg-data"},
                                         Holder{"dm-1", "dm/uuid", "CRYPT-LUKS2-abc", "cryptsetup close vg-data"},
                                         Holder{"dm-2", "dm/uuid", "mpath-3600", "multipath device vg-data"},
                                         Holder{"dm-3", "", "", "dmsetup remove dm-3"},
                                         Holder{"md127", "", "", "mdadm --stop /dev/md127"},
                                         Holder{"bcache0", "", "", "the cache device bcache0"}));

TEST(Interlock, HolderOfAPartition) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    const FakeTree tree(disk);
    tree.write("sys/block/" + disk.name() + "/" + disk.name() + "p1/partition", "1");
    tree.hold(disk.name() + "p1/", "md0");
    WriteRequest request = disk.request(true);
    request.serial = "S1234";
    disk.expect_refused(request, AllOf(HasSubstr("holder check"), HasSubstr(disk.name() + "p1 belongs to the RAID array md0")),
                        tree.machine());
}

TEST(Interlock, LoopDeviceOnTop) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    const std::string upper = output_of("losetup --find --show " + disk.device());
    if (!(!upper.empty())) GTEST_SKIP() << cannot_here;
    disk.expect_refused(disk.request(true), AllOf(HasSubstr("holder check"), HasSubstr("losetup --detach " + upper)));
    command("losetup --detach " + upper);
}

TEST(Interlock, OtherPathOfTheSameDriveIsInUse) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    const FakeTree tree(disk);
    tree.write("sys/block/" + disk.name() + "/wwid", "naa.5000");
    tree.write("sys/block/sdz/wwid", "naa.5000");
    tree.write("sys/block/sdz/dev", "65:144");
    tree.write("proc/77/mountinfo", "30 1 65:144 / /data rw - ext4 /dev/sdz rw\n");
    WriteRequest request = disk.request(true);
    request.serial = "S1234";
    disk.expect_refused(request, AllOf(HasSubstr("multipath check"), HasSubstr("sdz"), HasSubstr("/data")), tree.machine());
}

TEST(Interlock, HeldByAnotherProgram) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    const int other = open(disk.device().c_str(), O_RDONLY | O_EXCL);
    ASSERT_GE(other, 0);
    disk.expect_refused(disk.request(true), HasSubstr("exclusive check"));
    close(other);
}

TEST(Interlock, WrongAndMissingSerial) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    WriteRequest request = disk.request(true);
    request.serial = "S5GX";
    disk.expect_refused(request, AllOf(HasSubstr("serial check"), HasSubstr("'S5GX' was typed"), HasSubstr(disk.serial())));
    request.serial = disk.serial().substr(0, disk.serial().size() - 1);
    disk.expect_refused(request, HasSubstr("serial check"));
    request.serial = "";
    disk.expect_refused(request, HasSubstr("--destroy SERIAL"));
}

TEST(Interlock, DeviceWithoutASerialIsNeverWritten) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    WriteRequest request = disk.request(true);
    request.serial = "";
    disk.expect_refused(request, HasSubstr("reports no serial number"),
                        {.root = "", .identity = [](const std::string&) { return std::string(); }});
}

TEST(Interlock, SerialChangesBetweenCheckAndWrite) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    const std::string before = disk.contents();
    std::string serial = "first";
    WriteRequest request = disk.request(true);
    request.serial = "first";
    auto permit = WritePermit::ask(request, {.root = "", .identity = [&](const std::string&) { return serial; }});
    ASSERT_TRUE(permit) << permit.error().message;
    serial = "second";
    const auto descriptor = permit->begin_writing();
    ASSERT_FALSE(descriptor);
    EXPECT_THAT(descriptor.error().message,
                AllOf(HasSubstr("before the first write"), HasSubstr("was 'first' and is now 'second'")));
    EXPECT_TRUE(disk.contents() == before);
}

TEST(Interlock, SizeChangesBetweenCheckAndWrite) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    auto permit = WritePermit::ask(disk.request(true));
    ASSERT_TRUE(permit);
    fs::resize_file(disk.file(), 8 * mebi);
    if (!(disk.run("losetup --set-capacity " + disk.device()))) GTEST_SKIP() << cannot_here;
    const auto descriptor = permit->begin_writing();
    ASSERT_FALSE(descriptor);
    EXPECT_THAT(descriptor.error().message, HasSubstr("changed its size"));
}

TEST(Interlock, ReadOnlyDevice) {
    Disk disk(std::string(16 * mebi, 'u'), "--read-only");
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    disk.expect_refused(disk.request(true), AllOf(HasSubstr("read-only check"), HasSubstr("blockdev --setrw")));
}

TEST(Interlock, LinksAreFollowedToTheDevice) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    const std::string by_id = disk.folder().file("disk/by-id/nvme-MODEL_S1234");
    fs::create_directories(disk.folder().file("disk/by-id"));
    fs::create_symlink(disk.device(), by_id);
    fs::create_symlink("by-id/nvme-MODEL_S1234", disk.folder().file("disk/mine"));
    for (const std::string& path : {by_id, disk.folder().file("disk/mine")}) {
        WriteRequest request = disk.request();
        request.path = path;
        const auto permit = WritePermit::ask(request);
        ASSERT_TRUE(permit) << permit.error().message;
        EXPECT_EQ(permit->disk(), disk.name());
        request.serial = "other";
        disk.expect_refused(request, HasSubstr("serial check"));
    }
    fs::create_symlink("/dev/gone", disk.folder().file("disk/dangling"));
    WriteRequest request = disk.request();
    request.path = disk.folder().file("disk/dangling");
    disk.expect_refused(request, HasSubstr("leads to nothing"));
}

TEST(Interlock, FileAndOtherThingsAreNoDevices) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    for (const std::string& path : {disk.file(), std::string("/dev/null"), std::string("/dev"), std::string("/dev/nothing")}) {
        WriteRequest request = disk.request(true);
        request.path = path;
        disk.expect_refused(request, HasSubstr("path check"));
    }
}

TEST(Interlock, DeviceMadeOfOthers) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    const FakeTree tree(disk);
    tree.write("sys/block/" + disk.name() + "/slaves/sda", "");
    WriteRequest request = disk.request(true);
    request.serial = "S1234";
    disk.expect_refused(request, HasSubstr("made of other devices"), tree.machine());
}

TEST(Interlock, UserWithoutRightsGetsASentence) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    const pid_t child = fork();
    if (child == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
        const auto permit = WritePermit::ask(disk.request(true));
        _exit(!permit && permit.error().message.find("permission check") != std::string::npos &&
                      permit.error().message.find("group") != std::string::npos
                  ? 0
                  : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Interlock, TargetOpensForWritingOnlyAfterTheSecondLook) {
    Disk disk;
    if (!(disk.ready())) GTEST_SKIP() << cannot_here;
    auto target = Target::open({.path = disk.device(), .write = true, .destroy = disk.serial()});
    ASSERT_TRUE(target) << target.error().message;
    const int reading = target->descriptor();
    EXPECT_EQ(fcntl(reading, F_GETFL) & O_ACCMODE, O_RDONLY);
    ASSERT_TRUE(target->begin_writing());
    EXPECT_EQ(fcntl(target->descriptor(), F_GETFL) & O_ACCMODE, O_RDWR);
}

// --- controllers, in a tree alone

TEST(InterlockController, NamespacesAreResolvedThroughMultipath) {
    ScratchFolder folder;
    folder.write("sys/class/nvme/nvme0/nvme0n1/x", "");
    folder.write("sys/class/nvme/nvme0/nvme0n2/x", "");
    folder.write("sys/class/nvme/nvme1/nvme3c1n1/x", "");
    folder.write("sys/class/nvme/nvme2/nvme3c2n1/x", "");
    folder.write("sys/class/nvme/nvme2/ng3n1/x", "");
    const std::string root = folder.file("").substr(0, folder.file("").size() - 1);
    EXPECT_THAT(disks_of_controller(root, "nvme0"), testing::ElementsAre("nvme0n1", "nvme0n2"));
    EXPECT_THAT(disks_of_controller(root, "nvme2"), testing::ElementsAre("nvme3n1"));
    EXPECT_THAT(controllers_of_disk(root, "nvme3n1"), testing::ElementsAre("nvme1", "nvme2"));
}

TEST(InterlockController, OneMountedNamespaceRefusesTheController) {
    ScratchFolder folder;
    const std::string root = folder.file("").substr(0, folder.file("").size() - 1);
    folder.write("sys/class/nvme/nvme0/nvme0n1/x", "");
    folder.write("sys/block/nvme0n1/dev", "259:0");
    folder.write("proc/9/mountinfo", "30 1 259:0 / /home rw - ext4 /dev/nvme0n1 rw\n");
    const auto free = check_unused(root, "nvme0n1");
    ASSERT_FALSE(free);
    EXPECT_THAT(free.error().message, AllOf(HasSubstr("mount check"), HasSubstr("/home")));
    EXPECT_FALSE(ControllerPermit::ask("nvme0", {.path = "", .serial = "S"}, {.root = root}));
    EXPECT_FALSE(ControllerPermit::ask("nvme7", {.path = "", .serial = "S"}, {.root = root}));
}

}  // namespace
}  // namespace wattrig::target
