#pragma once
// The rig's stream on a thread of its own: columns to the viewers through a bounded ring, and frames to a recording while one
// is asked for. Nothing that a viewer does reaches this thread but short commands.

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/base/spsc_ring.hpp"
#include "host/live/feed.hpp"
#include "host/power/calibration.hpp"
#include "host/rig/session.hpp"
#include "host/runner/recorder.hpp"
#include "host/runner/wait.hpp"

namespace wattrig::live {

struct CaptureState {
    rig::SessionState session;
    std::optional<protocol::Info> info;
    std::vector<std::string> troubles;  // since the last call, at most 20
};

class Capture final : public rig::SessionSink {
  public:
    // `link` and `calibration` are the caller's and outlive this. The thread runs from here on.
    Capture(rig::Link& link, const power::Calibration& calibration);
    ~Capture() override;

    // Viewers' thread:
    bool pop(Column& column) { return columns_.pop(column); }
    [[nodiscard]] std::uint64_t dropped_columns() const { return columns_.dropped(); }
    CaptureState state();
    // From the next frame on into `recorder`, with the exchanges of the last minute in front, so that its clock is known from
    // its first sample. False, and nothing done, while the rig has not said who it is.
    bool start_recording(runner::Recorder& recorder);
    void stop_recording();  // returns when nothing more goes to the recorder
    void mark(const std::string& text);
    void end();  // asks the rig to stop, waits for it at most a second

    void on_frame(const rig::Frame& frame, HostTime arrival) override;
    void on_block(const rig::BlockView& block, HostTime arrival) override;
    void on_exchange(const rig::Exchange& exchange) override;
    void on_knot(const rig::ClockKnot& knot, std::uint32_t boot_id) override;
    void on_trouble(const std::string& sentence, HostTime when) override;

  private:
    struct Mark {
        HostTime when;
        std::string text;
    };
    void run();
    void take_orders();
    void publish();

    rig::Link& link_;
    ColumnMaker maker_;
    SpscRing<Column> columns_{4096};  // 40 s
    rig::Session session_;

    // The capture's thread alone.
    runner::Recorder* recorder_ = nullptr;
    std::deque<rig::Exchange> exchanges_;

    std::mutex mutex_;  // all below, held for copies alone
    std::condition_variable done_;
    CaptureState state_;
    runner::Recorder* wanted_ = nullptr;
    bool change_wanted_ = false;
    std::vector<Mark> marks_;

    std::atomic<bool> ending_{false};
    runner::Waiter waiter_;
    std::thread thread_;
};

}  // namespace wattrig::live
