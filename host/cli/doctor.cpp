#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "host/cli/commands.hpp"
#include "host/cli/console.hpp"
#include "host/cli/output.hpp"
#include "host/cli/rig_link.hpp"
#include "host/report/escape.hpp"
#include "host/rig/usb_discovery.hpp"
#include "host/suites/text.hpp"
#include "host/target/host_facts.hpp"

namespace wattrig::cli {
namespace {

enum class Verdict { ok, warning, failed };
struct Finding {
    Verdict verdict;
    std::string what;
    std::string words;
};

const char* word(Verdict verdict) {
    switch (verdict) {
        case Verdict::ok: return "ok";
        case Verdict::warning: return "warn";
        case Verdict::failed: return "FAIL";
    }
    return "";
}

Finding direct_io_here() {
    // A file without a name: nothing is left behind, whatever happens.
    const int descriptor = open(".", O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
    if (descriptor >= 0) {
        close(descriptor);
        return {Verdict::ok, "O_DIRECT in this folder", "works"};
    }
    if (errno == EINVAL || errno == EOPNOTSUPP)
        return {Verdict::warning, "O_DIRECT in this folder", "not possible here: use another filesystem, or --buffered"};
    return {Verdict::warning, "O_DIRECT in this folder", fmt::format("not tried: {}", std::strerror(errno))};
}

Finding locked_memory() {
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur == RLIM_INFINITY) return {Verdict::ok, "locked memory", "no limit"};
    const std::string size = suites::format_size(limit.rlim_cur);
    if (limit.rlim_cur >= (64u << 20)) return {Verdict::ok, "locked memory", size};
    return {Verdict::warning, "locked memory", size + ": too little to register buffers at depth; raise `ulimit -l`"};
}

Finding open_files() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return {limit.rlim_cur >= 256 ? Verdict::ok : Verdict::warning, "open files", std::to_string(limit.rlim_cur)};
}

// A rig that can be used is greeted and tests itself.
Finding rig_finding(const rig::UsbFinding& found) {
    const Verdict verdict = found.verdict == rig::UsbVerdict::ok        ? Verdict::ok
                            : found.verdict == rig::UsbVerdict::warning ? Verdict::warning
                                                                        : Verdict::failed;
    if (found.serial.empty()) return {verdict, "rigs on USB", found.words};
    auto tested = self_test_of("usb:" + found.serial);
    if (!tested) return {Verdict::failed, "rigs on USB", found.words + ": " + tested.error().message};
    return {verdict, "rigs on USB", found.words + ": " + *tested};
}

}  // namespace

int doctor(const DoctorArguments& arguments) {
    if (arguments.install_udev_rule) return install_rule();
    if (!arguments.restore.empty()) return restore_drive_settings(arguments.restore);
    std::vector<Finding> findings;
    findings.push_back({Verdict::ok, "wattrig", program_version()});
    for (const std::string& line : drive_settings_left_changed("wattrig-runs"))
        findings.push_back({Verdict::failed, "drive settings", line});
    const target::HostFacts facts = target::read_host_facts(nullptr);
    const auto fact = [&](const char* key) { return facts.find(key).value_or("not told by this machine"); };
    findings.push_back({Verdict::ok, "kernel", fact("kernel.release")});
    findings.push_back({Verdict::ok, "CPU", fact("cpu.model")});
    if (const auto available = facts.find("io_uring.available"))
        findings.push_back(*available == "yes" || *available == "true"
                               ? Finding{Verdict::ok, "io_uring", "works"}
                               : Finding{Verdict::failed, "io_uring", *available + ": real drives cannot be tested here"});
    findings.push_back(direct_io_here());
    findings.push_back(locked_memory());
    findings.push_back(open_files());
    findings.push_back({Verdict::ok, "clock source", fact("clock.source")});
    findings.push_back({Verdict::ok, "CPU governor", fact("cpu.governor")});
    for (const rig::UsbFinding& found : rig::explain(rig::survey_usb())) findings.push_back(rig_finding(found));
    for (const std::string& warning : facts.warnings) findings.push_back({Verdict::warning, "machine", warning});

    bool failed = false;
    nlohmann::json json = nlohmann::json::array();
    std::string text;
    for (const Finding& finding : findings) {
        failed = failed || finding.verdict == Verdict::failed;
        json.push_back({{"verdict", word(finding.verdict)}, {"what", finding.what}, {"words", finding.words}});
        text += fmt::format("{:4}  {:24}  {}\n", word(finding.verdict), finding.what,
                            report::terminal_safe(finding.words, utf8_wanted()));
    }
    if (arguments.json)
        print_json(json);
    else
        print_text(text);
    return failed ? exit_failed : exit_ok;
}

}  // namespace wattrig::cli
