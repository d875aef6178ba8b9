#include "host/runner/recorder.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>

namespace wattrig::runner {
namespace {

// Turns records into calls of the recording's writer; made when the start comes. The first error is kept, the rest is dropped.
class Applier {
  public:
    explicit Applier(std::string path) : path_(std::move(path)) {}

    void apply(const Record& record) {
        std::visit([this](const auto& part) { write(part); }, record);
    }
    void flush() {
        if (writer_) keep(writer_->flush());
    }
    Result<void> finish() {
        if (writer_) keep(writer_->finish());
        writer_.reset();
        if (const auto error = failure()) return *error;
        return {};
    }
    // Any thread.
    [[nodiscard]] std::optional<Error> failure() const {
        const std::lock_guard lock(mutex_);
        return error_;
    }

  private:
    void write(const recording::RecordingStart& start) {
        assert(!writer_);
        auto made = recording::RecordingWriter::create(path_, start);
        if (made)
            writer_ = std::move(*made);
        else
            keep(made.error());
    }
    void write(const FrameRecord& frame) {
        if (writer_) writer_->append_frame({frame.bytes.data(), frame.size}, frame.arrival);
    }
    void write(const rig::Exchange& exchange) {
        if (writer_) writer_->append_exchange(exchange);
    }
    void write(const KnotRecord& knot) {
        if (writer_) writer_->append_knot(knot.knot, knot.boot_id);
    }
    void write(const TextRecord& text) {
        if (!writer_) return;
        const std::string words(text.text.data(), text.size);
        if (text.trouble)
            writer_->append_trouble(text.when, words);
        else
            writer_->append_marker(text.when, words);
    }
    void keep(const Result<void>& done) {
        if (done) return;
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = done.error();
    }

    std::string path_;
    std::unique_ptr<recording::RecordingWriter> writer_;
    mutable std::mutex mutex_;
    std::optional<Error> error_;
};

class DirectRecorder final : public Recorder {
  public:
    explicit DirectRecorder(const std::string& path) : applier_(path) {}
    void put(const Record& record) override {
        applier_.apply(record);
        if (++puts_ % puts_per_flush == 0) applier_.flush();
    }
    Result<void> finish() override { return applier_.finish(); }
    std::optional<Error> failure() const override { return applier_.failure(); }
    std::uint64_t dropped() const override { return 0; }

  private:
    static constexpr std::uint64_t puts_per_flush = 4096;  // about 9 s of blocks

    Applier applier_;
    std::uint64_t puts_ = 0;
};

class ThreadedRecorder final : public Recorder {
  public:
    explicit ThreadedRecorder(const std::string& path) : applier_(path), ring_(capacity), thread_([this] { run(); }) {}
    ~ThreadedRecorder() override { join(); }
    void put(const Record& record) override { ring_.push(record); }
    Result<void> finish() override {
        join();
        return applier_.finish();
    }
    std::optional<Error> failure() const override { return applier_.failure(); }
    std::uint64_t dropped() const override { return ring_.dropped(); }

  private:
    static constexpr std::size_t capacity = 4096;  // records; 434 blocks come in a second

    void join() {
        if (!thread_.joinable()) return;
        ending_.store(true, std::memory_order_release);
        waiter_.wake();
        thread_.join();
    }
    void run() {
        constexpr int turns_per_flush = 10;  // each 0.4 s, so that with a late turn a kill still costs less than a second
        Record record;
        for (int turn = 0;; ++turn) {
            // Read before the ring is drained: what was put before the end was wanted is then seen.
            const bool last = ending_.load(std::memory_order_acquire);
            while (ring_.pop(record)) applier_.apply(record);
            if (last) return;
            if (turn % turns_per_flush == turns_per_flush - 1) applier_.flush();
            waiter_.wait_until(wait_clock_now() + std::chrono::milliseconds(40));
        }
    }

    Applier applier_;  // the thread's until it is joined, but for failure()
    SpscRing<Record> ring_;
    Waiter waiter_;
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

}  // namespace

Record frame_record(std::span<const std::uint8_t> bytes, HostTime arrival) {
    Record record(std::in_place_type<FrameRecord>);
    auto& frame = std::get<FrameRecord>(record);
    assert(bytes.size() <= frame.bytes.size());
    frame.arrival = arrival;
    frame.size = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(frame.bytes.data(), bytes.data(), bytes.size());
    return record;
}

Record text_record(bool trouble, HostTime when, const std::string& text) {
    Record record(std::in_place_type<TextRecord>);
    auto& made = std::get<TextRecord>(record);
    made.trouble = trouble;
    made.when = when;
    made.size = static_cast<std::uint32_t>(std::min(text.size(), made.text.size()));
    std::memcpy(made.text.data(), text.data(), made.size);
    return record;
}

std::unique_ptr<Recorder> make_direct_recorder(const std::string& path) { return std::make_unique<DirectRecorder>(path); }
std::unique_ptr<Recorder> make_threaded_recorder(const std::string& path) { return std::make_unique<ThreadedRecorder>(path); }

}  // namespace wattrig::runner
