#pragma once
// The rig's side of a run: session, recording and the figure for the terminal, without a thread or a clock. The capture thread
// or the virtual loop calls it.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/power/calibration.hpp"
#include "host/rig/session.hpp"
#include "host/runner/recorder.hpp"

namespace wattrig::runner {

// What the main thread may know of the capture.
struct CaptureStatus {
    rig::SessionState session;
    std::optional<protocol::Info> info;
    std::optional<protocol::SelfTestReport> self_test;
    std::optional<double> watts;        // mean over the last quarter of a second
    std::vector<std::string> troubles;  // since the last call of status(); at most `most_troubles` are kept
    std::uint64_t trouble_count = 0;    // of the whole run
};

class Capture final : public rig::SessionSink {
  public:
    static constexpr std::size_t most_troubles = 50;

    // All are the caller's and outlive this. `start` gives the pair of clock readings for the recording; its info is filled in.
    Capture(rig::Link& link, const power::Calibration& calibration, Recorder& recorder, recording::RecordingStart start);
    ~Capture() override;

    // Capture thread (or event loop):
    void start(HostTime now);
    void poll(HostTime now);
    [[nodiscard]] HostTime next_event() const;
    // Waits on the link, when it can wait by itself; else false, at once. wake(): any thread.
    bool wait_until(HostTime until);
    void wake();
    void stop(HostTime now);  // asks the rig to end its stream; poll goes on until stopped()
    [[nodiscard]] bool stopped() const;
    void marker(HostTime when, const std::string& text);

    // Any thread; takes the new troubles away.
    CaptureStatus status();

    void on_frame(const rig::Frame& frame, HostTime arrival) override;
    void on_block(const rig::BlockView& block, HostTime arrival) override;
    void on_exchange(const rig::Exchange& exchange) override;
    void on_knot(const rig::ClockKnot& knot, std::uint32_t boot_id) override;
    void on_trouble(const std::string& sentence, HostTime when) override;

  private:
    void put(const Record& record);
    void publish();

    rig::Link& link_;
    const power::Calibration& calibration_;
    Recorder& recorder_;
    recording::RecordingStart start_;
    bool recording_ = false;     // the start has been put
    std::vector<Record> early_;  // troubles before the rig has said who it is
    bool stop_wanted_ = false;
    std::optional<rig::BlockView> reference_;  // a quarter of a second back; its views into the frame are cleared
    std::optional<double> watts_;

    std::mutex mutex_;  // held for a copy of the status alone
    CaptureStatus status_;

    rig::Session session_;  // calls this, so it stands after what the callbacks use
};

}  // namespace wattrig::runner
