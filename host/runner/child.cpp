#include "host/runner/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "host/runner/wait.hpp"

extern char** environ;

namespace wattrig::runner {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_mark = 300;
constexpr Nanoseconds grace = 2s;

// A socket in a folder of its own, which nobody else can enter.
class MarkSocket {
  public:
    static Result<MarkSocket> open() {
        const char* runtime = std::getenv("XDG_RUNTIME_DIR");
        std::string folder =
            std::string(runtime != nullptr && std::strlen(runtime) < 60 ? runtime : "/tmp") + "/wattrig-XXXXXX";
        if (::mkdtemp(folder.data()) == nullptr)
            return system_error("cannot make a folder for the socket of marks: " + folder, errno);
        MarkSocket made(folder);
        made.file_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = made.path();
        std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
        if (made.file_ < 0 || ::bind(made.file_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            return system_error("cannot make the socket for marks " + path, errno);
        return made;
    }
    MarkSocket(MarkSocket&& other) noexcept : folder_(std::move(other.folder_)), file_(std::exchange(other.file_, -1)) {
        other.folder_.clear();
    }
    MarkSocket& operator=(MarkSocket&&) = delete;
    ~MarkSocket() {
        if (file_ >= 0) ::close(file_);
        std::error_code ignored;
        if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
    }
    [[nodiscard]] std::string path() const { return folder_ + "/mark"; }
    [[nodiscard]] int file() const { return file_; }
    void take(std::vector<Mark>& marks, const std::function<void(const Mark&)>& marked) const {
        std::array<char, 1024> message;
        for (;;) {
            const ssize_t size = ::recv(file_, message.data(), message.size(), 0);
            if (size < 0) return;
            const auto mark = parse_mark({message.data(), static_cast<std::size_t>(size)}, wait_clock_now());
            if (!mark) continue;
            marks.push_back(*mark);
            marked(*mark);
        }
    }

  private:
    explicit MarkSocket(std::string folder) : folder_(std::move(folder)) {}
    std::string folder_;
    int file_ = -1;
};

Result<pid_t> start(const std::vector<std::string>& command, const std::string& socket) {
    std::vector<std::string> environment;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (std::strncmp(*entry, "WATTRIG_MARK_SOCKET=", 20) != 0) environment.emplace_back(*entry);
    environment.push_back("WATTRIG_MARK_SOCKET=" + socket);
    std::vector<char*> arguments, variables;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    for (const std::string& entry : environment) variables.push_back(const_cast<char*>(entry.c_str()));
    variables.push_back(nullptr);
    // What this program ignores or catches is nothing for the command to inherit.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t defaults, none;
    sigemptyset(&defaults);
    for (const int number : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, number);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    pid_t child = 0;
    const int error = ::posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(), variables.data());
    posix_spawnattr_destroy(&attributes);
    if (error != 0) return Error{ErrorKind::device_refused, command[0] + ": cannot be started: " + std::strerror(error), error};
    return child;
}

}  // namespace

std::optional<Mark> parse_mark(std::string_view message, HostTime now) {
    constexpr std::string_view head = "wattrig-mark 1 ";
    if (!message.starts_with(head)) return std::nullopt;
    message.remove_prefix(head.size());
    std::int64_t ns = 0;
    const auto [end, error] = std::from_chars(message.data(), message.data() + message.size(), ns);
    if (error != std::errc() || end == message.data() + message.size() || *end != ' ') return std::nullopt;
    message.remove_prefix(static_cast<std::size_t>(end - message.data()) + 1);
    Mark mark;
    mark.when = HostTime(Nanoseconds(ns));
    if (ns < 0 || mark.when > now || now - mark.when > Nanoseconds(60s)) return std::nullopt;
    for (const char c : message.substr(0, longest_mark))
        mark.text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    while (!mark.text.empty() && mark.text.back() == ' ') mark.text.pop_back();
    return mark.text.empty() ? std::nullopt : std::optional(std::move(mark));
}

Result<CommandOutcome> run_child(const std::vector<std::string>& command, const io::StopFlag* stop,
                                 const std::function<void()>& each, const std::function<void(const Mark&)>& marked) {
    auto socket = MarkSocket::open();
    if (!socket) return socket.error();
    CommandOutcome outcome;
    outcome.begin = wait_clock_now();
    const auto child = start(command, socket->path());
    if (!child) return child.error();
    // Readable when the child ends. Without pidfd (before Linux 5.3) the poll's own time has to do.
    const int ended = static_cast<int>(::syscall(SYS_pidfd_open, *child, 0));
    HostTime ask_at = HostTime::max();
    int status = 0;
    for (;;) {
        pollfd waits[] = {{socket->file(), POLLIN, 0}, {ended, POLLIN, 0}};
        ::poll(waits, ended >= 0 ? 2 : 1, ended >= 0 ? 200 : 10);
        socket->take(outcome.marks, marked);
        const pid_t done = ::waitpid(*child, &status, WNOHANG);
        if (done == *child || (done < 0 && errno != EINTR)) break;
        const HostTime now = wait_clock_now();
        if (stop != nullptr && stop->load(std::memory_order_relaxed)) {
            // Ctrl-C reached it as well; a polite kill of this program did not.
            if (ask_at == HostTime::max()) ask_at = now + grace;
            if (now >= ask_at) {
                ::kill(*child, SIGTERM);
                ask_at = now + grace;
            }
        }
        each();
    }
    outcome.end = wait_clock_now();
    if (ended >= 0) ::close(ended);
    socket->take(outcome.marks, marked);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
}

}  // namespace wattrig::runner
