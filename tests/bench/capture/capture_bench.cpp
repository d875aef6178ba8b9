// What the capture of one rig costs: processor time of its thread and calls of operator new for each block in the steady state,
// beside a reader that does one read call for each sample. The rig is the firmware's meter on a thread of its own at the real
// rate; its "USB" are sockets that keep packets apart, so libusb and usbfs are not in the figure, a system call for each
// transfer is. Usage: capture_bench [SECONDS]. Exit code 1 above 2 % of a core or with an allocation for each block.
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "firmware/core/meter.hpp"
#include "firmware/protocol/frame.hpp"
#include "host/rig/usb_link.hpp"
#include "host/runner/capture.hpp"
#include "tests/rig/count_allocations.hpp"

namespace {

using namespace wattrig;
using namespace std::chrono_literals;

struct Sockets {  // [0] host, [1] rig
    int samples[2], commands[2];
    Sockets() {
        const int type = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;
        if (socketpair(AF_UNIX, type, 0, samples) != 0 || socketpair(AF_UNIX, type, 0, commands) != 0) std::abort();
    }
};

class SocketDevice final : public rig::UsbDevice {
  public:
    explicit SocketDevice(const Sockets& sockets) : sockets_(sockets) {}
    void prepare(rig::UsbTransfer&) override {}
    void release(rig::UsbTransfer&) override {}
    rig::UsbStatus submit(rig::UsbTransfer& t) override {
        if (t.endpoint == protocol::usb::endpoint_commands_out) {
            if (::send(sockets_.commands[0], t.buffer.data(), t.buffer.size(), MSG_NOSIGNAL) < 0) return rig::UsbStatus::failed;
            sent_[sent_count_++ % sent_.size()] = &t;
            return rig::UsbStatus::completed;
        }
        queue(t.endpoint).push(&t);
        return rig::UsbStatus::completed;
    }
    void cancel(rig::UsbTransfer& t) override {
        if (t.endpoint == protocol::usb::endpoint_commands_out) return;
        t.status = rig::UsbStatus::cancelled;
        t.actual = 0;
        cancelled_ = true;
    }
    rig::UsbStatus clear_halt(std::uint8_t) override { return rig::UsbStatus::completed; }
    void handle_events(Nanoseconds) override {
        for (; sent_done_ < sent_count_; ++sent_done_) {
            rig::UsbTransfer& t = *sent_[sent_done_ % sent_.size()];
            t.status = rig::UsbStatus::completed;
            t.actual = t.buffer.size();
            t.done(t);
        }
        for (const std::uint8_t endpoint : {protocol::usb::endpoint_replies_in, protocol::usb::endpoint_samples_in}) {
            Ring& ring = queue(endpoint);
            while (ring.used > 0) {
                rig::UsbTransfer& t = *ring.front();
                ssize_t size = 0;
                if (!cancelled_) {
                    size = recv(endpoint == protocol::usb::endpoint_samples_in ? sockets_.samples[0] : sockets_.commands[0],
                                t.buffer.data(), t.buffer.size(), 0);
                    if (size <= 0) break;
                    t.status = rig::UsbStatus::completed;
                    t.actual = static_cast<std::size_t>(size);
                }
                ring.pop();
                t.done(t);
            }
        }
    }
    [[nodiscard]] std::vector<rig::UsbDescriptor> descriptors() const override {
        return {{sockets_.samples[0], false}, {sockets_.commands[0], false}};
    }

  private:
    struct Ring {
        std::array<rig::UsbTransfer*, 16> at{};
        std::size_t first = 0, used = 0;
        void push(rig::UsbTransfer* t) { at[(first + used++) % at.size()] = t; }
        [[nodiscard]] rig::UsbTransfer* front() const { return at[first]; }
        void pop() {
            first = (first + 1) % at.size();
            --used;
        }
    };
    Ring& queue(std::uint8_t endpoint) { return endpoint == protocol::usb::endpoint_samples_in ? samples_ : replies_; }
    const Sockets& sockets_;
    Ring samples_, replies_;
    std::array<rig::UsbTransfer*, 16> sent_{};
    std::size_t sent_count_ = 0, sent_done_ = 0;
    bool cancelled_ = false;
};

class SocketSystem final : public rig::UsbSystem {
  public:
    explicit SocketSystem(const Sockets& sockets) : sockets_(sockets) {}
    Result<std::vector<rig::UsbRig>> list(bool) override { return std::vector<rig::UsbRig>{}; }
    Result<std::unique_ptr<rig::UsbDevice>> open(const std::string&) override {
        return std::unique_ptr<rig::UsbDevice>(std::make_unique<SocketDevice>(sockets_));
    }

  private:
    const Sockets& sockets_;
};

std::int64_t clock_ns(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// The rig: a sample each 30.72 us of real time, in pieces of half a millisecond.
void run_rig(const Sockets& sockets, const std::atomic<bool>& end) {
    firmware::MeterConfig config{};
    config.info.board_id = 0xffff'0001;
    config.info.boot_id = 5;
    config.info.rails = 1;
    config.always_flags = protocol::block_simulated;
    const auto meter = std::make_unique<firmware::Meter>(config);
    const std::int64_t begin = clock_ns(CLOCK_MONOTONIC_RAW);
    std::uint64_t sample = 0;
    std::array<std::uint8_t, protocol::maximum_frame_bytes> bytes;
    while (!end) {
        std::this_thread::sleep_for(500us);
        const auto now_us = static_cast<std::uint64_t>(clock_ns(CLOCK_MONOTONIC_RAW) - begin) / 1000;
        // Behind after a pause of the machine: a few blocks a turn, so that the ring does not run over.
        for (int turn = 0; turn < 600 && sample * 768 / 25 <= now_us; ++turn, ++sample)
            meter->on_adc_sample(sample * 768 / 25,
                                 {{5'000'000, 0}, {1'000'000 + static_cast<std::int32_t>(sample % 1000), 0}, 128});
        for (ssize_t size; (size = recv(sockets.commands[1], bytes.data(), bytes.size(), 0)) > 0;)
            meter->on_command(now_us, std::span(bytes).first(static_cast<std::size_t>(size)));
        meter->poll(now_us);
        for (std::size_t size; (size = meter->take_reply(now_us, bytes)) > 0;)
            std::ignore = send(sockets.commands[1], bytes.data(), size, MSG_NOSIGNAL);
        for (auto frame = meter->front_frame(); !frame.empty(); frame = meter->front_frame()) {
            if (send(sockets.samples[1], frame.data(), frame.size(), MSG_NOSIGNAL) < 0) break;
            meter->pop_frame();
        }
    }
}

// One read call a sample: what a simple reader of a serial port does.
double naive_share(double seconds) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    std::atomic<bool> end{false};
    std::thread rig([&] {
        const std::int64_t begin = clock_ns(CLOCK_MONOTONIC_RAW);
        std::int64_t sample = 0;
        const char bytes[7 * 64]{};
        while (!end) {
            std::this_thread::sleep_for(500us);
            // 64 samples at most in one write, as a USB packet would hand them over; never blocks for long: the reader reads.
            for (std::int64_t due = (clock_ns(CLOCK_MONOTONIC_RAW) - begin) / 30'720; sample < due;) {
                const std::int64_t count = std::min<std::int64_t>(due - sample, 64);
                if (write(ends[1], bytes, static_cast<std::size_t>(7 * count)) < 0) break;
                sample += count;
            }
        }
        close(ends[1]);
    });
    const std::int64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), wall = clock_ns(CLOCK_MONOTONIC);
    std::int64_t sum = 0;
    char sample[7];
    while (clock_ns(CLOCK_MONOTONIC) - wall < static_cast<std::int64_t>(seconds * 1e9))
        for (int k = 0; k < 1000 && read(ends[0], sample, 7) == 7; ++k) sum += sample[0];
    const double share =
        static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) / static_cast<double>(clock_ns(CLOCK_MONOTONIC) - wall);
    end = true;
    while (read(ends[0], sample, 7) > 0) sum += sample[0];
    rig.join();
    close(ends[0]);
    return sum == 1 ? 0 : share;
}

}  // namespace

int main(int count, char** values) {
    const double seconds = count > 1 ? std::atof(values[1]) : 10;
    const std::string path = (std::filesystem::temp_directory_path() / ("capture-bench-" + std::to_string(getpid()))).string();
    const Sockets sockets;
    std::atomic<bool> end{false};
    std::thread rig([&] { run_rig(sockets, end); });
    auto link = rig::UsbLink::open(std::make_unique<SocketSystem>(sockets), {});
    if (!link) return 2;
    const power::Calibration calibration = power::nominal_calibration(power::FrontEnd{});
    auto recorder = runner::make_threaded_recorder(path);
    bool good = false;
    {
        runner::Capture capture(**link, calibration, *recorder, {});
        capture.start(real_host_time());
        const auto pass = [&](double wanted) {
            const HostTime until = real_host_time() + from_seconds(wanted);
            for (HostTime now; (now = real_host_time()) < until;) {
                capture.poll(now);
                capture.wait_until(std::min(capture.next_event(), until));
            }
        };
        pass(16);  // past the clock's burst
        const auto blocks = capture.status().session.blocks;
        const std::int64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), wall = clock_ns(CLOCK_MONOTONIC);
        const std::uint64_t before = test::allocations;
        pass(seconds);
        const std::uint64_t allocated = test::allocations - before;
        const double share = static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) /
                             static_cast<double>(clock_ns(CLOCK_MONOTONIC) - wall);
        const runner::CaptureStatus status = capture.status();
        const auto taken = static_cast<double>(status.session.blocks - blocks);
        std::printf(
            "capture: %.2f %% of a core, %.0f blocks/s, %.3f allocations a block (%llu in all), %llu lost, %llu exchanges\n",
            share * 100, taken / seconds, static_cast<double>(allocated) / taken, static_cast<unsigned long long>(allocated),
            static_cast<unsigned long long>(status.session.lost_samples),
            static_cast<unsigned long long>(status.session.exchanges));
        good = share <= 0.02 && static_cast<double>(allocated) < 0.5 * taken && taken > 400 * seconds;
        capture.stop(real_host_time());
        pass(0.2);
    }
    std::ignore = recorder->finish();
    end = true;
    rig.join();
    link->reset();
    std::filesystem::remove(path);
    std::printf("one read call a sample: %.2f %% of a core\n", naive_share(std::min(seconds, 5.0)) * 100);
    return good ? 0 : 1;
}
